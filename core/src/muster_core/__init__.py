"""What Muster's constructs, runtime and command line agree on."""

__version__ = "0.1.0"
