"""Muster's command line and its local cloud."""

__version__ = "0.1.0"
