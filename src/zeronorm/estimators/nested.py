"""Options of records, as of methods, losses and solvers, as parameters: "method__gap"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Self

from sklearn.base import BaseEstimator

from ..methods import METHODS


class NestedParameters(BaseEstimator):  # type: ignore[misc]
    """Base of estimators with parameters that are records, whose options searches can tune."""

    def _record_of(self, parameter: str, name: str) -> Any:
        """Return the record that a name stands for, as "l0" of the method; else None."""
        return METHODS[name]() if parameter == "method" and name in METHODS else None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; deep: options of records too, as "method__gap"."""
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            for name, value in [*params.items()]:
                params |= {f"{name}__{path}": option for path, option in _options(value)}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; "method__gap" is an option of the method, a record or a name."""
        own = super().get_params(deep=False)
        nested: dict[str, dict[str, Any]] = {}
        for key in [*params]:
            name, divided, path = key.partition("__")
            given = params.get(name, own.get(name))
            if divided and name in own and not hasattr(given, "get_params"):
                nested.setdefault(name, {})[path] = params.pop(key)
        super().set_params(**params)
        for name, values in nested.items():
            given = getattr(self, name)
            record = self._record_of(name, given) if isinstance(given, str) else given
            known = sorted(path for path, _ in _options(record))
            if not set(values) <= set(known):
                raise ValueError(f"{name}={given!r} has the options {known}; got {sorted(values)}.")
            super().set_params(**{name: _with_options(record, values)})
        return self


def _options(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the options of a record and of the records among these; none of other values."""
    if not is_dataclass(value) or isinstance(value, type) or hasattr(value, "get_params"):
        return
    for one in fields(value):
        if one.init:
            option = getattr(value, one.name)
            yield one.name, option
            yield from ((f"{one.name}__{path}", inner) for path, inner in _options(option))


def _with_options(record: Any, values: Mapping[str, Any]) -> Any:
    """Return a record with other options, those of records in it last."""
    record = replace(record, **{path: one for path, one in values.items() if "__" not in path})
    inner: dict[str, dict[str, Any]] = {}
    for path, one in values.items():
        name, divided, rest = path.partition("__")
        if divided:
            inner.setdefault(name, {})[rest] = one
    return replace(
        record,
        **{name: _with_options(getattr(record, name), own) for name, own in inner.items()},
    )
