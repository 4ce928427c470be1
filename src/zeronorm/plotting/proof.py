"""How a proof closes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.results import Proof
from .drawing import INK, ORANGE, chosen_model, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class ProofDisplay:
    """The objective of the best features found and the bound of all others, over time.

    What is between the two curves is what other features could still gain; where they meet, no
    better features of this number exist.

    Parameters
    ----------
    seconds, objective, bound : (n,) the course of the search
    k : the number of features
    proven : whether the search shows that none are better

    Attributes
    ----------
    ax_, figure_
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, *, seconds: Any, objective: Any, bound: Any, k: int, proven: bool) -> None:
        self.seconds = np.asarray(seconds)
        self.objective, self.bound = np.asarray(objective), np.asarray(bound)
        self.k, self.proven = k, proven

    @classmethod
    def from_proof(cls, proof: Proof, *, ax: Axes | None = None) -> ProofDisplay:
        """Draw what `prove` returned.

        ax : axes to draw on; None: a new figure.
        """
        if not isinstance(proof, Proof):
            raise TypeError(
                f"proof must be what zeronorm.prove returned, of one class; got {proof!r:.60}."
            )
        course = proof.history
        display = cls(
            seconds=[at.seconds for at in course],
            objective=[at.objective for at in course],
            bound=[at.bound for at in course],
            k=proof.support.size,
            proven=proof.certificate.proven,
        )
        return display.plot(ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> ProofDisplay:
        """Draw the proof of an estimator that was fitted with one, `proof_`.

        ax : axes to draw on; None: a new figure.
        """
        proof = getattr(chosen_model(estimator), "proof_", None)
        if proof is None:
            raise ValueError(
                "estimator must have been fitted with a proof (method=zeronorm.methods.L0("
                "gap=0)); it has none. Or pass what zeronorm.prove returns to from_proof."
            )
        return cls.from_proof(proof, ax=ax)

    def plot(self, *, ax: Axes | None = None) -> ProofDisplay:
        """Draw on given axes, or on those of a new figure, and return the display."""
        self.figure_, self.ax_ = new_axes(ax)
        ax = self.ax_
        ax.fill_between(
            self.seconds, self.bound, self.objective, step="post", color=ORANGE, alpha=0.18,
            linewidth=0, label="what others could gain",
        )  # fmt: skip
        ax.step(self.seconds, self.objective, where="post", color=ORANGE, label="best found")
        ax.step(self.seconds, self.bound, "--", where="post", color=INK, label="bound")
        ax.set_xlabel("seconds")
        ax.set_ylabel("objective")
        gap = max(0.0, (self.objective[-1] - self.bound[-1]) / abs(self.objective[-1]))
        what, are = ("feature", "is") if self.k == 1 else (f"{self.k} features", "are")
        exist = "exists" if self.k == 1 else "exist"
        ax.set_title(
            f"no better {what} {exist}" if self.proven
            else f"no {what} {are} better by more than {gap:.2%}",
            loc="left",
        )  # fmt: skip
        ax.legend(fontsize="small", frameon=False)
        return self


__all__ = ["ProofDisplay"]
