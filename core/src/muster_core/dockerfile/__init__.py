"""Dockerfiles, read without a Docker engine.

:func:`parse` turns the text of a Dockerfile into stages and instructions, :func:`expand` replaces
variables as a build does, :class:`IgnoreRules` and :func:`context_files` say which files of a
folder a build sees. The constructs stage images with it, the local cloud follows them.
"""

from muster_core.dockerfile.context import context_files, ignore_file
from muster_core.dockerfile.expand import expand
from muster_core.dockerfile.ignore import IgnoreRules
from muster_core.dockerfile.model import Dockerfile, DockerfileError, Heredoc, Instruction, Stage
from muster_core.dockerfile.parser import parse

__all__ = [
    "Dockerfile",
    "DockerfileError",
    "Heredoc",
    "IgnoreRules",
    "Instruction",
    "Stage",
    "context_files",
    "expand",
    "ignore_file",
    "parse",
]
