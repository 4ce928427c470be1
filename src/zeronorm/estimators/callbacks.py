"""Callbacks of scikit-learn, whose API is experimental: used where it exists."""

from __future__ import annotations

from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks as with_callbacks

    CALLER_OF_FIT = 5  # the `stacklevel` of warnings by `_fit`
except ImportError:  # pragma: no cover - scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef,unused-ignore]
        """Stand-in where scikit-learn has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Return the method unchanged."""
        return method

    CALLER_OF_FIT = 4
