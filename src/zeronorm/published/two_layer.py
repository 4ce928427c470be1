"""The two-layer algorithm for performance measures, as published."""

from __future__ import annotations

from ..estimators import MeasureClassifier


class TwoLayerClassifier(MeasureClassifier):
    """The published algorithm for the problem of `MeasureClassifier`, with its parameters.

    It begins every block without cuts, adds one cut per round and solves all problems to `tol`:
    slower, to the same gap. `block_size=B` without n_features, and with refit=False, is the problem
    of the paper over all features: blocks of B are added until none gains more than `tol`.

    References
    ----------
    Mao and Tsang, A feature selection method for multivariate performance measures, TPAMI 2013.

    Examples
    --------
    >>> from zeronorm.datasets import load_demo
    >>> from zeronorm.published import TwoLayerClassifier
    >>> X, y = load_demo(return_X_y=True)
    >>> TwoLayerClassifier("f1", n_features=3).fit(X, y).support_.size
    3
    >>> model = TwoLayerClassifier("f1", block_size=5, C=0.01, refit=False).fit(X, y)
    >>> bool(model.path_.gap <= model.tol)
    True
    """

    _published = True
