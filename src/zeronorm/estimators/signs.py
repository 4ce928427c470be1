"""Checks of signs for selections under a budget, and a warning where few features can have them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..core.results import Path
from ..methods import Method


def check_signed(signs: Any, groups: Any, method: Method) -> None:
    """Raise ValueError where coefficients cannot have signs, whatever the data are."""
    if signs is None:
        return
    if groups is not None:
        raise ValueError(
            "signs are of single features, not of features in groups; got signs and "
            "feature_groups. Leave one of them out."
        )
    if not method.keeps_signs():
        raise ValueError(
            "signs are kept by the methods 'pool' and 'l0', by exchanges or splicing; got "
            f"method={method!r}. Use one of these."
        )


def check_one_output(signs: np.ndarray | None) -> None:
    """Raise ValueError where features of several outputs shall have signs."""
    if signs is not None:
        raise ValueError(
            "signs are of features with one coefficient; several classes or responses that share "
            "their features have one in each. Use multi_class='ovr', or a model for each response."
        )


def absent_signs(paths: Sequence[Path], size: int, signs: Any) -> Iterator[Warning]:
    """Return the warning that signs leave fewer features than the budget a coefficient."""
    if signs is None:
        return
    used = min(int(np.count_nonzero(path[size].coef)) for path in paths)
    if used < size:
        yield UserWarning(
            f"n_features={size}: with these signs only {used} of the features of the model have a "
            "coefficient that is not 0. The others would have the wrong sign: they are in the "
            "support, without an effect on predictions. Use a smaller n_features, or signs=0 for "
            "features whose sign is not known."
        )
