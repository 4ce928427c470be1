"""Chosen variants along the genome."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import validate
from ..genome_view import correlations, drawn
from ._drawing import chosen_model


class GenomeDisplay:
    """How every variant correlates with the target, along the genome, with the chosen ones by name.

    Below are the coefficients of the chosen ones, see `zeronorm.genome_view.genome_view`, whose
    drawing this is: SVG without matplotlib, so that a million variants make no larger picture than
    ten thousand. Notebooks show it. `zoomed` shows a part of a chromosome.

    Parameters
    ----------
    variants : (p,) records of chromosome, name and position, as `read_plink(...).variants`
    scores : (p,) not negative
    model : a fitted model, whose first columns are the variants
    title : None: how many variants were chosen of how many

    Attributes
    ----------
    svg : the text of the picture, an SVG file
    """

    def __init__(self, *, variants: Any, scores: Any, model: Any, title: str | None = None) -> None:
        self.variants, self.scores = variants, np.asarray(scores, float)
        self.model, self.title = model, title
        self.svg = drawn(variants, model, self.scores, title)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        variants: Any,
        offset: Any = None,
        title: str | None = None,
    ) -> GenomeDisplay:
        """Draw a fitted estimator with a budget, or a search for one; one more scan of X.

        X, y, offset : of the fit; the first columns of X are the variants, `read_plink(...).X`,
            others are covariates.
        variants : of `read_plink`.
        """
        model = chosen_model(estimator)
        if len(variants) > model.n_features_in_:
            raise ValueError(
                f"variants must be those of the first columns of X, at most "
                f"{model.n_features_in_:,}; got {len(variants):,}."
            )
        scores = correlations(model, X, y, offset)[: len(variants)]
        return cls(variants=variants, scores=scores, model=model, title=title)

    def zoomed(self, around: int, n_variants: int = 200) -> GenomeDisplay:
        """Return the picture of a variant and those next to it on its chromosome.

        around : its column. n_variants : on each side.
        """
        if not validate.is_integer(around) or not 0 <= around < len(self.variants):
            raise ValueError(
                f"around must be the column of a variant, 0 to {len(self.variants) - 1}; got "
                f"{validate.shown(around)}."
            )
        n_variants = validate.check_iterations("n_variants", n_variants)
        own = np.flatnonzero(self.variants["chromosome"] == self.variants["chromosome"][around])
        own = own[np.argsort(self.variants["position"][own], kind="stable")]
        place = int(np.flatnonzero(own == around)[0])
        near = own[max(0, place - n_variants) : place + n_variants + 1]
        return GenomeDisplay(
            variants=self.variants[near],
            scores=self.scores[near],
            model=_Part(self.model, near),
            title=f"Around {self.variants['name'][around]}",
        )

    def _repr_svg_(self) -> str:
        return self.svg


class _Part:
    """A model of some of the columns: the chosen ones among them, and their coefficients."""

    def __init__(self, model: Any, columns: np.ndarray) -> None:
        self.support_ = np.flatnonzero(np.isin(columns, model.support_))
        self.coef_ = np.atleast_2d(model.coef_)[:, columns]


__all__ = ["GenomeDisplay"]
