"""The native functions, or with ZERONORM_KERNELS=reference the NumPy twins of the kernels alone.

There is nothing in between. The compiled solvers, those of `_native.pyi`, have no twin: their
callers ask `HAS_COMPILED_SOLVERS`, and go on in Python where there are none.
"""

import os
from typing import TYPE_CHECKING

_choice = os.environ.get("ZERONORM_KERNELS", "native")
if _choice not in ("native", "reference"):
    raise ImportError(
        f"ZERONORM_KERNELS must be 'native' or 'reference'; got {_choice!r}. "
        "Unset it for the native kernels."
    )

if TYPE_CHECKING:  # a kernel has the types of its twin
    from ._native import *  # noqa: F403
if TYPE_CHECKING or _choice == "reference":
    from .reference import *  # noqa: F403
else:
    from ._native import *  # noqa: F403

HAS_COMPILED_SOLVERS: bool = _choice == "native"
