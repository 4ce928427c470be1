"""The version of the package, which all layers may name."""

__version__ = "0.1.0"
