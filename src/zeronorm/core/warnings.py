"""Doubts about results: notes that are told even where only results are asked for, and warnings."""


class Doubt(str):
    """A note that the answer may not be worth what it seems, or lacks a part that was asked for."""

    __slots__ = ()


class Leaked(Doubt):
    """A note that a selected column may say what it could not know: pages have it first."""

    __slots__ = ()


class LeakWarning(UserWarning):
    """A selected column may have been made from the target, or known only after it."""
