"""What each group of features does to the scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..export._model import as_model, outputs
from ._coefficients import CoefficientsDisplay
from ._drawing import MOST_ROWS, chosen_model, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class GroupsDisplay(CoefficientsDisplay):
    """How much each group of a model moves the scores, a line for each group.

    Of a group g that is the standard deviation over the rows of what its features add,

        sd_i( sum_{j in g} coef_cj x_ij ),

    with a mark for each class or response c. Beside its name is how many of its features the model
    has.
    """

    @classmethod
    def from_estimator(  # type: ignore[override]  # which needs X
        cls, estimator: Any, X: Any, *, ax: Axes | None = None
    ) -> GroupsDisplay:
        """Draw a fitted estimator with groups, a search for budgets, or a loaded model.

        X : (n_samples, n_features) the rows over which groups vary.
        ax : axes to draw on; None: a new figure.
        """
        model = as_model(chosen_model(estimator) if hasattr(estimator, "fit") else estimator)
        of_columns = model.metadata["feature_groups"]
        if of_columns is None:
            raise ValueError("estimator must be of features in groups; it has none.")
        labels, code, sizes = np.unique(of_columns, return_inverse=True, return_counts=True)
        parts = model.contributions(X, X)[1]
        effects = np.array([
            parts[:, :, code == g].sum(axis=2).std(axis=0) for g in range(len(labels))
        ])  # fmt: skip
        order = np.argsort(-effects.max(axis=1), kind="stable")
        kept = order[:MOST_ROWS]
        display = cls(
            names=[
                f"{text(str(labels[g]))}: {sizes[g]} feature{'s' if sizes[g] > 1 else ''}"
                for g in kept
            ],
            coef=effects[kept].T,
            outputs=[text(name) for name in outputs(model)],
            unit="standard deviation of what the group adds to the score",
            n_left_out=len(order) - len(kept),
        )
        display.plot(ax=ax)
        return display


__all__ = ["GroupsDisplay"]
