"""A store: data as blocks of columns on disk, which scans map where they lie."""

from ...data.store import BlockError, StoreError
from .writing import Conversion, Damage, StoreCheck, check_store, write_store

__all__ = [
    "BlockError",
    "Conversion",
    "Damage",
    "StoreCheck",
    "StoreError",
    "check_store",
    "write_store",
]
