"""Muster's runtime: one process per node that brings a multi-node job up and down together."""

__version__ = "0.1.0"
