"""The native functions, or with ZERONORM_KERNELS=reference the NumPy twins of the kernels alone.

There is nothing in between. The compiled solvers (`COMPILED_SOLVERS`) have no twin: their callers
ask `HAS_COMPILED_SOLVERS`, and go on in Python where there are none.
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
    from ._native import block_newton as block_newton
    from ._native import compare_left_out as compare_left_out
    from ._native import dense_eliminate as dense_eliminate
    from ._native import dense_exchange as dense_exchange
    from ._native import dense_ridge as dense_ridge
    from ._native import left_out_loss as left_out_loss
    from ._native import loss_at as loss_at
    from ._native import loss_conjugate as loss_conjugate
    from ._native import loss_scale as loss_scale
    from ._native import multinomial_at as multinomial_at
    from ._native import multinomial_conjugate as multinomial_conjugate
    from ._native import multinomial_hessian as multinomial_hessian
    from ._native import multinomial_inside as multinomial_inside
    from ._native import multinomial_ridge as multinomial_ridge
    from ._native import multinomial_scale as multinomial_scale
    from ._native import output_blocks as output_blocks
    from ._native import output_exchange as output_exchange
    from ._native import responses_ridge as responses_ridge
if TYPE_CHECKING or _choice == "reference":
    from .reference import *  # noqa: F403
else:
    from ._native import *  # noqa: F403

COMPILED_SOLVERS = (
    "block_newton", "compare_left_out", "dense_eliminate", "dense_exchange", "dense_ridge",
    "left_out_loss", "loss_at", "loss_conjugate", "loss_scale", "multinomial_at",
    "multinomial_conjugate", "multinomial_hessian", "multinomial_inside", "multinomial_ridge",
    "multinomial_scale", "output_blocks", "output_exchange", "responses_ridge",
)  # fmt: skip
HAS_COMPILED_SOLVERS: bool = _choice == "native"
