"""A store: data as blocks of columns on disk, which scans map where they lie."""

from ..designs._zarr import BlockError, StoreError
from ._check import Damage, StoreCheck, check_store
from ._convert import Conversion, convert

__all__ = [
    "BlockError",
    "Conversion",
    "Damage",
    "StoreCheck",
    "StoreError",
    "check_store",
    "convert",
]
