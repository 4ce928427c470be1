"""Names of data that are no files: the stem of genotypes, the demo set."""

from __future__ import annotations

from pathlib import Path


def is_genotypes(data: str) -> bool:
    """Return whether DATA means .bed files: by its suffix, or as the stem of some."""
    return data.endswith(".bed") or (not Path(data).exists() and Path(f"{data}.bed").exists())


def is_golub(data: str) -> bool:
    """Return whether data are the built-in ones."""
    return data == "golub" and not Path(data).exists()
