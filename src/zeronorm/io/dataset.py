"""Data as read: the table, the target, the groups of features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..core.groups import Groups
    from .table import Table


@dataclass(frozen=True, slots=True)
class Response:
    """The target of a task, and what belongs to it."""

    task: str
    # Labels; numbers, of several responses (n_samples, n_responses); a structured array of event,
    # time and maybe the stratum.
    y: Any
    offset: Any = None  # (n_samples,) of the margins
    guess: str | None = None  # why this task, where there may be doubts
    order: Any = None  # of ordered classes, the labels from the lowest to the highest
    groups: Any = None  # (n_samples,) samples with the same number are held out together

    @property
    def labelled(self) -> bool:
        """Whether the target is classes, ordered or not."""
        return self.task in ("classes", "ordered")


@dataclass(frozen=True, slots=True)
class Samples:
    """The data of a selection."""

    table: Table
    response: Response
    groups: Groups | None

    @property
    def y(self) -> Any:
        """The target, of ordered classes with their order."""
        order = self.response.order
        return self.response.y if order is None else Ordered(self.response.y, order)


@dataclass(frozen=True, slots=True)
class Ordered:
    """Labels with their order, as an ordered categorical of pandas has it."""

    labels: Any  # (n_samples,)
    categories: Any  # from the lowest to the highest
    ordered: bool = True

    @property
    def dtype(self) -> Ordered:
        """What has the order."""
        return self

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        """Return the labels."""
        return self.labels

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.labels)
