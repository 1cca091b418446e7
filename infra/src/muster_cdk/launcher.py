"""What the job says to the runtime: the command that starts every node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from muster_cdk.coercion import to_strings, to_text
from muster_core.contract import LAUNCHER_FLAG, LAUNCHERS, RUN, RUNTIME_COMMAND, TORCH, LauncherOption
from muster_core.rules.launcher import argument_of

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Launcher:
    """How the training is started on the nodes; made by a method such as :meth:`torch`.

    Attributes:
        name: The launcher's name in the contract.
        options: Its options by argument; None means not given.
        program: The program and its arguments.
    """

    name: str
    options: Mapping[str, int | bool | None]
    program: tuple[str, ...]

    @classmethod
    def torch(
        cls,
        program: str,
        *args: str,
        nproc_per_node: int | None = None,
        master_port: int | None = None,
        module: bool = False,
        no_python: bool = False,
    ) -> Launcher:
        """One process per accelerator with torchrun's environment, in ranks that follow the node index.

        Args:
            program: The training program in the image, such as ``train.py``.
            *args: The program's arguments, each a str.
            nproc_per_node: Processes per node. Default: one per accelerator.
            master_port: TCP port of the process group's store. Default: 29500.
            module: Whether ``program`` is a Python module, as in ``python -m``. Default: False.
            no_python: Whether ``program`` is started directly, not by the Python interpreter. Default: False.

        Returns:
            The launcher. Its values are judged together with the job that it is given to.

        Raises:
            TypeError: The program or an argument is not a str.
        """
        options = {
            "nproc_per_node": nproc_per_node,
            "master_port": master_port,
            "module": module,
            "no_python": no_python,
        }
        return cls(TORCH.name, options, (to_text(program, "program"), *to_strings(args, "args")))

    @property
    def command(self) -> tuple[str, ...]:
        """The container's command."""
        options = [text for option in LAUNCHERS[self.name].options for text in self._written(option)]
        return (*RUNTIME_COMMAND, RUN, LAUNCHER_FLAG, self.name, *options, "--", *self.program)

    def _written(self, option: LauncherOption) -> tuple[str, ...]:
        value = self.options.get(argument_of(option))
        if value is None or value is False:
            return ()
        return (option.flag,) if option.kind == "switch" else (option.flag, str(value))
