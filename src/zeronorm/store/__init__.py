"""A store: data as blocks of columns on disk, which scans map where they lie."""

from ..designs._zarr import BlockError, StoreError
from ._convert import Conversion, convert

__all__ = ["BlockError", "Conversion", "StoreError", "convert"]
