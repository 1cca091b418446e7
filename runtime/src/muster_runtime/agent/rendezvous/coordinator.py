"""The main node's side of the group: gathers the members, decides how the job ends."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Mapping

from muster_core.contract import EXIT_TEMPFAIL, Failure
from muster_runtime.agent.blame import SETTLE, Blame
from muster_runtime.agent.errors import ProtocolError
from muster_runtime.agent.loop import Loop, now
from muster_runtime.agent.rendezvous.admission import Member, Rules, sound
from muster_runtime.agent.rendezvous.authentication import job_key
from muster_runtime.agent.rendezvous.door import Door
from muster_runtime.agent.rendezvous.group import (
    FAILURE_GRACE,
    SUCCESS,
    End,
    Log,
    Place,
    failed,
    node_failure,
    terminated,
)
from muster_runtime.agent.rendezvous.messages import (
    BEAT,
    CAUSE_PLACE,
    CAUSE_STARTED,
    DONE,
    FAILED,
    LEAVE,
    START,
    STOP,
    TERMINATE,
    Message,
    encode,
    failure_of,
    printable,
)
from muster_runtime.agent.rendezvous.protocol import CoordinatorSession
from muster_runtime.agent.rendezvous.roster import Facts, Roster, compact, make_roster, nodes_text

if TYPE_CHECKING:
    from muster_runtime.agent.rendezvous.connection import Connection

PROGRESS = 10.0
"""Seconds between two lines that name who is waited for."""

_LEAST_ROOM = 128
_SHORTEST_GRACE = 0.5
_LAST_WORDS = 2.0  # seconds beyond the grace for a member to say that its processes are gone
_OVERDUE_BEATS = 2.5  # a peer silent for so many beats may be the cause of a symptom


class Coordinator:
    """The group, on the main node.

    Args:
        loop: where everything is served.
        log: takes sentences.
        place: the main node's.
        shared: what its launcher tells the others'.

    Raises:
        NetworkError: the rendezvous port cannot be had.
    """

    def __init__(self, loop: Loop, log: Log, place: Place, shared: Mapping[str, int]) -> None:
        node, config, me = place
        self._loop = loop
        self._log = log
        self._node = node
        self._timeouts = config.timeouts
        self._shared = shared
        self._me = me
        self._members: dict[int, Member] = {}
        self._facts = {me.node: me}
        self._codes: dict[int, int] = {}
        self._blame = Blame()
        self._blamed_at = 0.0
        self._end: End | None = None
        self._roster: Roster | None = None
        key = job_key(config.secret, node.job, node.attempt)
        self._door = Door(
            loop,
            log,
            (me.address, config.rendezvous_port),
            lambda: CoordinatorSession(key, node.job, node.attempt),
            self._admit,
            room=max(_LEAST_ROOM, 2 * node.nodes),
        )
        self._rules = Rules(me, node.nodes)
        self._beat = loop.call_every(config.timeouts.beat, self._tick)

    @property
    def end(self) -> End | None:
        """How the job ends, once that is decided."""
        return self._end

    @property
    def roster(self) -> Roster | None:
        """Every node, once all have joined."""
        return self._roster

    def codes(self) -> Mapping[int, int]:
        """Give the exit codes of the nodes whose processes are gone."""
        return self._codes

    def facts(self) -> Mapping[int, Facts]:
        """Give what is known of the nodes that have joined, those that were lost included."""
        return self._facts

    # --- joining ------------------------------------------------------------------------------

    def join(self) -> None:
        """Wait until every node has joined, or the job has ended."""
        self._complete()
        progress = self._loop.call_every(PROGRESS, self._tell_progress)
        in_time = self._loop.run(lambda: bool(self._roster or self._end), self._timeouts.rendezvous)
        progress.cancel()
        if not in_time:
            self._report_missing()

    def _missing(self) -> list[int]:
        known = {self._me.node, *self._members}
        return [index for index in range(self._node.nodes) if index not in known]

    def _tell_progress(self) -> None:
        missing = self._missing()
        self._log(
            f"waiting for nodes: {self._node.nodes - len(missing)}/{self._node.nodes}, missing {compact(missing)}"
        )

    def _report_missing(self) -> None:
        missing = self._missing()
        reason = (
            f"{nodes_text(missing)} of {self._node.nodes} did not join within {self._timeouts.rendezvous:g} s"
        )
        told = [self._door.refusals[index] for index in missing if index in self._door.refusals]
        if told:
            reason += f"; turned away: {told[0]}"
        self._decide(
            failed(node_failure(missing[0] if len(missing) == 1 else None, "", EXIT_TEMPFAIL, reason), 0.0)
        )

    def _admit(self, connection: Connection, message: Message) -> None:
        fields = message.fields
        facts = Facts(
            fields["node"], printable(fields["address"]), printable(fields["host"]), fields["slots"]
        )
        candidate = Member(connection, facts, fields["container"])
        problem = self._rules.problem_of(candidate, self._members, started=bool(self._roster or self._end))
        if problem:
            cause = CAUSE_STARTED if self._roster else CAUSE_PLACE
            self._door.refuse(connection, cause, f"{facts.host} {facts.address}: {problem}")
            return
        known = self._members.pop(facts.node, None)
        if known is not None:
            known.connection.close()
        self._facts[facts.node] = facts
        self._members[facts.node] = candidate
        connection.listen(
            lambda message: self._hear(facts, message),
            lambda error: self._lose(facts, error),
        )
        self._complete()

    def _complete(self) -> None:
        if self._missing() or self._end is not None:
            return
        self._roster = make_roster(self._facts, self._me.node, self._shared)
        nodes = [node._asdict() for node in self._roster.nodes]
        self._tell(encode(START, nodes=nodes, shared=self._shared))

    # --- while the job runs -------------------------------------------------------------------

    def _tell(self, body: bytes) -> None:
        for member in list(self._members.values()):
            member.connection.send(body)

    def _hear(self, facts: Facts, message: Message) -> None:
        if message.kind == FAILED:
            self.report(sound(failure_of(message.fields["failure"]), facts.node))
        elif message.kind == TERMINATE:
            self._terminate(facts, message.fields["signal"])
        elif message.kind == DONE:
            self._codes[facts.node] = message.fields["code"]

    def _lose(self, facts: Facts, error: ProtocolError) -> None:
        member = self._members.pop(facts.node, None)
        if member is not None:
            self._door.let_go(member.connection)
        if self._end is not None or facts.node in self._codes:
            return
        if self._roster is None:
            self._log(f"node {facts.node} left before the start: {error}")
            return
        reason = f"node {facts.node} ({facts.host} {facts.address}) was lost: {error}"
        self.report(node_failure(facts.node, facts.host, EXIT_TEMPFAIL, reason))

    def _silence(self, member: Member) -> float:
        return now() - max(member.connection.heard, self._loop.stalled_at)

    def _tick(self) -> None:
        for member in list(self._members.values()):
            silence = self._silence(member)
            if silence > self._timeouts.peer:
                member.connection.close()
                self._lose(member.facts, ProtocolError(f"silent for {silence:.0f} s"))
        self._tell(encode(BEAT))

    def report(self, failure: Failure) -> None:
        """Take a failure of any node; the first one ends the job."""
        if self._end is not None:
            return
        if not self._blame.waits:
            self._blamed_at = now()
        self._blame.add(failure)
        if self._blame.first is not None:
            self._settle()
        else:
            self._loop.call_later(SETTLE, self._settle)

    def _settle(self) -> None:
        overdue = _OVERDUE_BEATS * self._timeouts.beat
        if self._blame.waits and any(self._silence(member) > overdue for member in self._members.values()):
            self._loop.call_later(SETTLE, self._settle)  # it may be the cause
            return
        self._blame.settle()
        if self._blame.first is not None:
            grace = max(_SHORTEST_GRACE, FAILURE_GRACE - (now() - self._blamed_at))
            self._decide(failed(self._blame.first, grace))

    def terminate(self, number: int) -> None:
        """End the job, as the main node was asked to."""
        self._terminate(self._me, number)

    def _terminate(self, facts: Facts, number: int) -> None:
        try:
            name = signal.Signals(number).name
        except ValueError:
            name, number = f"signal {number}", signal.SIGTERM
        self._decide(terminated(facts.node, facts.host, number, name, self._timeouts.grace))

    def _decide(self, end: End) -> None:
        if self._end is None:
            self._end = end
            self._tell(encode(STOP, **end._asdict()))

    def hurry(self) -> None:
        """End the grace on every node."""
        if self._end is not None:
            self._end = self._end._replace(grace=0.0)
            self._tell(encode(STOP, **self._end._asdict()))

    # --- leaving ------------------------------------------------------------------------------

    def done(self, code: int) -> None:
        """Note that the main node's own processes are gone."""
        self._codes[self._me.node] = code

    def leave(self) -> End:
        """Wait for the others' processes, let them go, and go last."""
        progress = self._loop.call_every(PROGRESS, self._tell_waiting)
        if not self._loop.run(lambda: bool(self._end or self._all_done()), self._timeouts.flush):
            self._report_unfinished()
        if self._end is None:
            self._end = SUCCESS
        self._loop.run(self._all_gone, self._end.grace + _LAST_WORDS)
        progress.cancel()
        self._tell(encode(LEAVE))
        self._loop.run(lambda: not self._members, _LAST_WORDS)
        return self._end

    def _working(self) -> list[int]:
        return [index for index in self._members if index not in self._codes]

    def _all_gone(self) -> bool:
        return not self._working()

    def _all_done(self) -> bool:
        return self._all_gone() and not self._blame.waits

    def _tell_waiting(self) -> None:
        if self._working():
            self._log(f"waiting at the exit barrier for {nodes_text(self._working())}")

    def _report_unfinished(self) -> None:
        working = self._working()
        reason = f"{nodes_text(working)} did not finish within {self._timeouts.flush:g} s of the main node"
        self._decide(failed(node_failure(working[0], "", EXIT_TEMPFAIL, reason), FAILURE_GRACE))

    def close(self) -> None:
        """Close the port and every connection."""
        self._beat.cancel()
        self._door.close()
        for member in self._members.values():
            member.connection.close()
