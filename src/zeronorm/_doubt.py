"""Notes that are told even where only results are asked for."""


class Doubt(str):
    """A note that the answer may not be worth what it seems, or lacks a part that was asked for."""

    __slots__ = ()
