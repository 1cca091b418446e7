"""Images without a container engine: noted when the CDK builds them, laid out when a node starts."""

from muster_cli.local.images.node_root import NodeRoot
from muster_cli.local.images.registry import LocalImage, check_map, resolve

__all__ = ["LocalImage", "NodeRoot", "check_map", "resolve"]
