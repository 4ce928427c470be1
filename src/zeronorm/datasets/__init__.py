"""Data that come with the package."""

from ..io.demo import load_demo

__all__ = ["load_demo"]
