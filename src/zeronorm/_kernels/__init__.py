"""The native kernels and compiled solvers; `_native.pyi` says what each of them does."""

from ._native import *  # noqa: F403
