"""Checks of signs for selections under a budget, and a warning where few features can have them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..core.errors import Message, Parameter, ParameterError
from ..core.results import Path
from ..methods import Method


def check_signed(signs: Any, groups: Any, method: Method) -> None:
    """Raise ValueError where coefficients cannot have signs, whatever the data are."""
    if signs is None:
        return
    if groups is not None:
        raise ParameterError(
            "signs",
            "are of single features, not of features in groups",
            Message("signs and ", Parameter("feature_groups")),
            "Leave one of them out.",
        )
    if not method.keeps_signs():
        raise ParameterError(
            "signs",
            "are kept by the methods 'pool' and 'l0', by exchanges or splicing",
            Message(Parameter.of("method", method)),
            "Use one of these.",
        )


def check_one_output(signs: np.ndarray | None) -> None:
    """Raise ValueError where features of several outputs shall have signs."""
    if signs is not None:
        raise ParameterError(
            "signs",
            "are of features with one coefficient; several classes or responses that share "
            "their features have one in each",
            "",
            Message("Use ", Parameter.of("multi_class", "ovr"), ", or a model for each response."),
        )


def absent_signs(paths: Sequence[Path], size: int, signs: Any) -> Iterator[Warning]:
    """Return the warning that signs leave fewer features than the budget a coefficient."""
    if signs is None:
        return
    used = min(int(np.count_nonzero(path[size].coef)) for path in paths)
    if used < size:
        yield UserWarning(
            Message(
                Parameter.of("n_features", size),
                f": with these signs only {used} of the features of the model "
                "have a coefficient that is not 0. The others would have the wrong sign: they "
                "are in the support, without an effect on predictions. Use a smaller ",
                Parameter("n_features"),
                ", or ",
                Parameter.of("signs", 0),
                " for features whose sign is not known.",
            )
        )
