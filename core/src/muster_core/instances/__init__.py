"""Facts per EC2 instance type: every type with EFA or an accelerator.

The data is a file beside this module with source and date; ``scripts/refresh_instances.py``
makes it anew.
"""

from muster_core.instances.catalogue import UnknownInstanceTypeError, lookup, names, sources
from muster_core.instances.images import BatchImage
from muster_core.instances.memory import usable_memory, usable_of
from muster_core.instances.model import NEURON, NVIDIA, Accelerator, InstanceType, NetworkCard, Nvme, Source
from muster_core.instances.nics import (
    EFA,
    EFA_ONLY,
    INTERFACE,
    Nic,
    efa_devices,
    ips_per_node,
    neuron_device_paths,
    nics,
)

__all__ = [
    "EFA",
    "EFA_ONLY",
    "INTERFACE",
    "NEURON",
    "NVIDIA",
    "Accelerator",
    "BatchImage",
    "InstanceType",
    "NetworkCard",
    "Nic",
    "Nvme",
    "Source",
    "UnknownInstanceTypeError",
    "efa_devices",
    "ips_per_node",
    "lookup",
    "names",
    "neuron_device_paths",
    "nics",
    "sources",
    "usable_memory",
    "usable_of",
]
