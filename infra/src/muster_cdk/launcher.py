"""What the job says to the runtime: the command that starts every node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import aws_cdk as cdk

from muster_cdk.coercion import to_strings, to_text
from muster_core.contract import LAUNCHER_FLAG, LAUNCHERS, RUN, RUNTIME_COMMAND, TORCH, LauncherOption
from muster_core.rules import is_token_number
from muster_core.rules.launcher import argument_of

if TYPE_CHECKING:
    from constructs import Construct

    from muster_core.instances import InstanceType

CORES_PER_DEVICE = 8
"""Most cores of a Neuron device: those of Trainium2."""
_PLACEHOLDER = "Ref::"


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

    def __post_init__(self) -> None:
        """Refuse what is no launcher; its values are judged together with the job.

        Raises:
            TypeError: The name is no str, the options are no dict, or the program is no sequence of str.
        """
        to_text(self.name, "name")
        if not isinstance(self.options, Mapping):
            raise TypeError(
                f"options must be a dict, got {type(self.options).__name__} {self.options!r}; change it"
            )
        object.__setattr__(self, "program", tuple(to_strings(self.program, "program")))

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
        known = LAUNCHERS[self.name].options if self.name in LAUNCHERS else ()  # the rules refuse others
        options = [text for option in known for text in self._written(option)]
        return (*RUNTIME_COMMAND, RUN, LAUNCHER_FLAG, self.name, *options, "--", *self.program)

    def _written(self, option: LauncherOption) -> tuple[str, ...]:
        value = self.options.get(argument_of(option))
        if value is None or value is False:
            return ()
        return (option.flag,) if option.kind == "switch" else (option.flag, str(value))


def warn_of_command(scope: Construct, launcher: Launcher, instance: InstanceType) -> None:
    """Say what is likely a mistake in a launcher, and may be meant.

    Args:
        scope: The job.
        launcher: Its launcher.
        instance: The type of its nodes.
    """
    processes = launcher.options.get("nproc_per_node")
    most = instance.gpus or instance.neuron_devices * CORES_PER_DEVICE
    if isinstance(processes, int) and processes > most and not is_token_number(processes):
        _warn_processes(scope, processes, instance, most)
    for text in launcher.program:
        if _PLACEHOLDER in text:
            _warn_placeholder(scope, text)


def _warn_processes(scope: Construct, processes: int, instance: InstanceType, most: int) -> None:
    unit = "GPUs" if instance.gpus else "Neuron cores at most"
    cdk.Annotations.of(scope).add_warning_v2(
        "muster-cdk:processesPerNode",
        f"nproc_per_node is more than the node has accelerators, got {processes}; {instance.name} has {most} {unit}, and "
        "processes that share one are slow or fail; lower it, or leave it out to get one for each",
    )


def _warn_placeholder(scope: Construct, text: str) -> None:
    cdk.Annotations.of(scope).add_warning_v2(
        "muster-cdk:commandPlaceholder",
        f"command holds a placeholder of AWS Batch, got {text!r}; the job definition has no parameters, so each submission "
        "must give this one and `muster submit` gives none; write the value, or read it from a variable in the program",
    )
