"""A store: data as blocks of columns on disk, which scans map where they lie."""

from ..designs._zarr import StoreError
from ._convert import convert

__all__ = ["StoreError", "convert"]
