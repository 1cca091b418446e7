"""What a run was asked for, and what its verdict will tell."""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING, Iterator, Mapping, NamedTuple, Sequence

from muster_core.contract import CONTRACT_VERSION, NodeRow, Verdict
from muster_runtime.agent.config import Config
from muster_runtime.agent.loop import now

if TYPE_CHECKING:
    from muster_runtime.agent.identity import Node
    from muster_runtime.agent.rendezvous.group import End, Group
    from muster_runtime.agent.rendezvous.roster import Facts


class Request(NamedTuple):
    """What ``muster-node run`` was asked for."""

    launcher: str
    options: Mapping[str, object]
    """The launcher's options that were given, by name in snake case."""
    timeouts: Mapping[str, str | None]
    """The time limits that were given, by the name of the field of Timeouts."""
    program: Sequence[str]
    environ: Mapping[str, str]


class Record:
    """Gathers what the verdict tells, as it becomes known."""

    def __init__(self, launcher: str) -> None:
        self._launcher = launcher
        self._phases: dict[str, float] = {}
        self.host = socket.gethostname()
        self.node: Node | None = None
        self.config = Config()
        self.me: Facts | None = None
        self._facts: Mapping[int, Facts] = {}
        self._codes: Mapping[int, int] = {}
        self._world_size = 0

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure a phase; a second time adds to the first."""
        begin = now()
        try:
            yield
        finally:
            self._phases[name] = round(self._phases.get(name, 0.0) + now() - begin, 3)

    def take(self, group: Group) -> None:
        """Keep what the group knows at its end."""
        self._facts = dict(group.facts())
        self._codes = dict(group.codes())
        self._world_size = group.roster.world_size if group.roster else 0

    def verdict(self, end: End) -> Verdict:
        """Make the verdict of a job that ended so; only the main node knows enough for it."""
        node = self.node
        return Verdict(
            contract=CONTRACT_VERSION,
            job=node.job if node else "",
            attempt=node.attempt if node else 0,
            outcome=end.outcome,
            code=end.code,
            first_failure=end.failure,
            phases=self._phases,
            nodes=[self._row(index) for index in range(node.nodes if node else 0)],
            launcher=self._launcher,
            world_size=self._world_size,
            simulated=self.config.local is not None,
        )

    def _row(self, index: int) -> NodeRow:
        own = self.me if self.me is not None and self.me.node == index else None
        facts = self._facts.get(index, own)
        address, host = (facts.address, facts.host) if facts else ("", "")
        return NodeRow(index=index, address=address, host=host, code=self._codes.get(index))
