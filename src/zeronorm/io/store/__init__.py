"""A store: data as blocks of columns on disk, which scans map where they lie."""

from ...data.zarr import BlockError, StoreError
from .check import Damage, StoreCheck, check_store
from .conversion import Conversion, convert

__all__ = [
    "BlockError",
    "Conversion",
    "Damage",
    "StoreCheck",
    "StoreError",
    "check_store",
    "convert",
]
