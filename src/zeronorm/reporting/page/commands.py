"""The commands and code that make a page and what it says again, and the versions of these."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any

from sklearn.base import clone

from ..._version import __version__
from ..documents.trust import has_bounds

_LIBRARIES = ("numpy", "scipy", "scikit-learn")


class _Word(str):
    """A variable of code, as a parameter."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def code_of_model(estimator: Any, read: str, *, together: bool = False) -> str:
    """Return the code that fits the model of a size again.

    read : the line that has the data. together : whether samples are in groups.
    """
    one, size = clone(estimator), estimator.size_
    data = "X, y, groups=groups" if together else "X, y"
    if together:
        read += "\n# groups: the group of every sample"
    if getattr(one, "feature_groups", None) is not None:
        read += "\n# feature_groups: the group of every feature, as --group-file has it"
        one.set_params(feature_groups=_Word("feature_groups"))
    if not isinstance(size, tuple):
        budget = "n_groups" if estimator.n_features is None else "n_features"
        one.set_params(**{budget: int(size)})
    return f"from zeronorm import {type(one).__name__}\n{read}\nmodel = {one!r}.fit({data})"


def code_of_report(
    estimator: Any, file: str, cv: int | None, n_pairs: int, time_limit: float, *, together: bool
) -> list[tuple[str, str]]:
    """Return what the code of a page from Python is for, and the code."""
    given = f"{file!r}, cv={cv}, n_pairs={n_pairs}, time_limit={time_limit:g}"
    given += ", groups=groups" if together else ""
    read = "# X, y: the samples and their target, as arrays"
    found = [
        ("The model", code_of_model(estimator, read, together=together)),
        (
            "This page",
            f"from zeronorm import report\nreport(model, X, y, {given})",
        ),
    ]
    if has_bounds(estimator) and len(estimator._paths) == 1:
        found.append(
            (
                "The certificate of the list, and its check in plain NumPy, without a solver",
                "from zeronorm import certify, verify\nverify(X, y, certify(model, X, y))",
            )
        )
        found.append(
            ("Longer in search of a better list",
             "from zeronorm import prove\nprove(model, X, y, gap=0, time_limit=600)")
        )  # fmt: skip
    return found


def versions() -> dict[str, str]:
    """Return the versions of what is at work."""
    found = {"zeronorm": __version__, "Python": platform.python_version()}
    return found | {name: version(name) for name in _LIBRARIES}
