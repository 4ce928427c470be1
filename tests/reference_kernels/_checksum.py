"""CRC-32C, the checksum of a block of a store."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_CASTAGNOLI = 0x82F63B78  # its bits the other way round


def crc32c(bytes: NDArray[np.uint8], value: int) -> int:
    """Return the checksum of what `value` is that of, followed by these bytes."""
    rest = value ^ 0xFFFFFFFF
    for byte in bytes.tolist():
        rest ^= byte
        for _ in range(8):
            rest = (rest >> 1) ^ (_CASTAGNOLI if rest & 1 else 0)
    return rest ^ 0xFFFFFFFF
