"""Runs the jobs of the local cloud as AWS Batch runs them, with real processes."""

from __future__ import annotations

from muster_cli.local.executor.cleanup import cleanup
from muster_cli.local.executor.executor import Executor
from muster_cli.local.executor.settings import ExecutorSettings

__all__ = ["Executor", "ExecutorSettings", "cleanup"]
