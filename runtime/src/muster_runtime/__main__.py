"""``python -m muster_runtime``."""

from muster_runtime.cli import main

main()
