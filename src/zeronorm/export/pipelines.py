"""Steps of scikit-learn before a model: kept as they are, or stated in SQL column by column."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

# Scikit-learn is imported on use: without it a model that was loaded can be exported too.

Step = tuple[str, Any]
REFUSED = "\0"  # on both sides of the number of a refusal; no text has it


def parts_of(model: Any) -> tuple[list[Step], Any]:
    """Return the steps before a model, and the model; no steps where it is not in a pipeline.

    A search stands for its best estimator. A threshold around a pipeline becomes one around its
    last step.
    """
    from sklearn.pipeline import Pipeline

    inner: Any = getattr(model, "estimator_", None)
    if type(inner).__name__ == "FrozenEstimator":
        inner = inner.estimator
    if isinstance(inner, Pipeline):
        steps, last = parts_of(inner)
        model = copy.copy(model)
        model.estimator = model.estimator_ = last
        return steps, model
    if hasattr(model, "best_estimator_"):
        return parts_of(model.best_estimator_)
    if not isinstance(model, Pipeline):
        return [], model
    steps, last = parts_of(model.steps[-1][1])
    before = [one for one in model.steps[:-1] if not _passes(one[1])]
    return [*before, *steps], last


def joined(steps: Sequence[Step], last: Any) -> Any:
    """Return a pipeline of fitted steps and a last one, whose names are no others'."""
    from sklearn.pipeline import Pipeline

    names: list[str] = []
    for name in [*(name for name, _ in steps), "model"]:
        names.append(name if name not in names else f"{name}-{len(names)}")
    return Pipeline([*zip(names, [*(step for _, step in steps), last], strict=True)])


def _passes(step: Any) -> bool:
    """Return whether a step leaves the columns as they are."""
    identity = type(step).__name__ == "FunctionTransformer" and step.func is None
    return step is None or step == "passthrough" or identity


def _is_own(step: Any) -> bool:
    """Return whether a step is of this package, or has a part that is."""
    params = step.get_params(deep=True).values() if hasattr(step, "get_params") else ()
    return any(type(one).__module__.split(".")[0] == "zeronorm" for one in (step, *params))


def of_sklearn_alone(step: Step) -> Step:
    """Return a fitted step that can be read where this package is not installed.

    Raises
    ------
    ValueError
        Where a part of it is of this package, unless it does nothing but select columns.
    """
    from scipy.sparse import csr_array
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_selection import SelectorMixin

    name, made = step
    if not _is_own(made):
        return step
    if not isinstance(made, SelectorMixin):
        raise ValueError(
            f"model must have steps of scikit-learn, or selectors, before its last one; got "
            f"{type(made).__name__} in step {name!r}, which needs zeronorm. Export the steps "
            "behind it, and transform the data in Python."
        )
    mask = made.get_support()
    chosen = [("features", "passthrough", np.flatnonzero(mask).tolist())]
    return name, ColumnTransformer(chosen, sparse_threshold=0.0).fit(csr_array((1, mask.size)))


# Columns in SQL: each is an expression over the columns of the table.


def input_names(steps: Sequence[Step]) -> list[str]:
    """Return the names of the columns of the table; x and their numbers where they have none."""
    first = steps[0][1]
    names = getattr(first, "feature_names_in_", None)
    if names is None:
        return [f"x{column}" for column in range(first.n_features_in_)]
    return [str(name) for name in names]


class SQLColumns:
    """Columns of a table as SQL, as steps of scikit-learn change them.

    What cannot be written is refused by `__getitem__`: a model reads some of the columns alone.
    """

    def __init__(self, written: Callable[..., str], steps: Sequence[Step]) -> None:
        """Follow the columns of `input_names` through fitted steps.

        written : how names (with the mark '"'), texts (with "'") and numbers are written; raises
            ValueError for what cannot be.
        """
        self._write = written
        self._refused: list[ValueError] = []
        self._known: dict[str, Callable[[Any, list[str]], list[str]]] = {
            "StandardScaler": self._standardized,
            "MinMaxScaler": self._between,
            "MaxAbsScaler": self._over_largest,
            "RobustScaler": self._robust,
            "SimpleImputer": self._imputed,
            "MissingIndicator": self._missing,
            "OneHotEncoder": self._one_hot,
            "OrdinalEncoder": self._numbered,
            "ColumnTransformer": self._by_columns,
            "FeatureUnion": self._side_by_side,
        }
        columns = [self._written(name) for name in input_names(steps)]
        for step in steps:
            columns = self.after(step, columns)
        self._columns = columns

    def __getitem__(self, place: int) -> str:
        """Return a column after all steps, as an expression."""
        column = self._columns[place]
        if REFUSED in column:
            raise self._refused[int(column.split(REFUSED)[1])]
        return column

    def _written(self, value: Any, mark: str = '"') -> str:
        """Return a name, a text or a number as SQL; or where its refusal is."""
        try:
            return self._write(value, mark)
        except ValueError as error:
            return self._refusal(error)

    def _refusal(self, error: ValueError) -> str:
        self._refused.append(error)
        return f"{REFUSED}{len(self._refused) - 1}{REFUSED}"

    def after(self, step: Step, columns: list[str]) -> list[str]:
        """Return the columns after a fitted step.

        Raises
        ------
        ValueError
            Where SQL cannot state it.
        """
        from sklearn.feature_selection import SelectorMixin

        name, made = step
        if _passes(made):
            return columns
        module = type(made).__module__.split(".")[0]
        if module == "sklearn" and type(made).__name__ == "Pipeline":
            for inner in made.steps:
                columns = self.after(inner, columns)
            return columns
        if module in ("sklearn", "zeronorm") and isinstance(made, SelectorMixin):
            return [columns[place] for place in np.flatnonzero(made.get_support())]
        change = self._known.get(type(made).__name__) if module == "sklearn" else None
        if change is None:
            raise ValueError(
                f"SQL can state the steps {', '.join(self._known)} and selectors of features; got "
                f"{type(made).__name__} in step {name!r}. Use to_sklearn(model), or pass "
                "model[-1] and a table of the columns that the steps make."
            )
        return change(made, columns)

    def _moved(self, column: str, shift: Any, scale: Any) -> str:
        """Return (column - shift) / scale; None: no shift, or no scale."""
        if shift is not None and shift != 0:
            column = f"({column} - {self._written(float(shift))})"
        if scale is not None and scale != 1:
            column = f"({column} / {self._written(float(scale))})"
        return column

    def _all_moved(self, columns: list[str], shifts: Any, scales: Any) -> list[str]:
        none = [None] * len(columns)
        pairs = zip(none if shifts is None else shifts, none if scales is None else scales,
                    strict=True)  # fmt: skip
        return [self._moved(one, *pair) for one, pair in zip(columns, pairs, strict=True)]

    def _clipped(self, column: str, least: float, most: float) -> str:
        low, high = self._written(float(least)), self._written(float(most))
        below, above = f"WHEN {column} < {low} THEN {low}", f"WHEN {column} > {high} THEN {high}"
        return f"(CASE {below} {above} ELSE {column} END)"

    def _standardized(self, step: Any, columns: list[str]) -> list[str]:
        return self._all_moved(
            columns, step.mean_ if step.with_mean else None, step.scale_ if step.with_std else None
        )

    def _robust(self, step: Any, columns: list[str]) -> list[str]:
        return self._all_moved(
            columns,
            step.center_ if step.with_centering else None,
            step.scale_ if step.with_scaling else None,
        )

    def _over_largest(self, step: Any, columns: list[str]) -> list[str]:
        found = self._all_moved(columns, None, step.scale_)
        clip = getattr(step, "clip", False)  # from scikit-learn 1.9 on
        return [self._clipped(one, -1.0, 1.0) for one in found] if clip else found

    def _between(self, step: Any, columns: list[str]) -> list[str]:
        found = [
            f"({one} * {self._written(float(scale))} + {self._written(float(least))})"
            for one, scale, least in zip(columns, step.scale_, step.min_, strict=True)
        ]
        return [self._clipped(one, *step.feature_range) for one in found] if step.clip else found

    def _value(self, value: Any) -> str:
        """Return a number or a text as SQL."""
        if isinstance(value, (bool, np.bool_)) or not isinstance(
            value, (str, int, float, np.number)
        ):
            return self._refusal(
                ValueError(
                    "SQL must have columns of numbers and texts before the model; got the value "
                    f"{value!r:.60}. Convert the column, or use to_sklearn."
                )
            )
        return (
            self._written(str(value), "'")
            if isinstance(value, str)
            else self._written(float(value))
        )

    def _where_missing(self, column: str, marks: Any) -> str:
        """Return the condition that a value is what an imputer takes for missing."""
        return f"{column} IS NULL" if _is_missing(marks) else f"{column} = {self._value(marks)}"

    def _imputed(self, step: Any, columns: list[str]) -> list[str]:
        found = []
        keeps = step.strategy == "constant" or step.keep_empty_features
        for one, value in zip(columns, step.statistics_.tolist(), strict=True):
            if _is_missing(value) and not keeps:
                continue  # without a value in training; scikit-learn leaves it out
            where = self._where_missing(one, step.missing_values)
            found.append(f"(CASE WHEN {where} THEN {self._value(value)} ELSE {one} END)")
        return found + ([] if step.indicator_ is None else self._missing(step.indicator_, columns))

    def _missing(self, step: Any, columns: list[str]) -> list[str]:
        where = [self._where_missing(columns[j], step.missing_values) for j in step.features_]
        return [f"(CASE WHEN {one} THEN 1E0 ELSE 0E0 END)" for one in where]

    def _is(self, column: str, level: Any) -> str:
        """Return the condition that a value is a level of a category."""
        return f"{column} IS NULL" if _is_missing(level) else f"{column} = {self._value(level)}"

    def _one_hot(self, step: Any, columns: list[str]) -> list[str]:
        _refuse_infrequent(step)
        found = []
        drops = [None] * len(columns) if step.drop_idx_ is None else step.drop_idx_
        for column, levels, drop in zip(columns, step.categories_, drops, strict=True):
            known = [self._is(column, level) for level in levels.tolist()]
            # A text that the encoder refuses is NULL, and so are its predictions.
            end = (
                f"WHEN {' OR '.join(known)} THEN 0E0"
                if step.handle_unknown == "error"
                else "ELSE 0E0"
            )
            found += [
                f"(CASE WHEN {one} THEN 1E0 {end} END)"
                for place, one in enumerate(known)
                if drop is None or place != drop
            ]
        return found

    def _numbered(self, step: Any, columns: list[str]) -> list[str]:
        _refuse_infrequent(step)
        unknown = step.unknown_value if step.handle_unknown == "use_encoded_value" else None
        end = "" if _is_missing(unknown) else f" ELSE {self._value(unknown)}"
        found = []
        for column, levels in zip(columns, step.categories_, strict=True):
            codes = [
                (self._is(column, level),
                 step.encoded_missing_value if _is_missing(level) else float(place))
                for place, level in enumerate(levels.tolist())
            ]  # fmt: skip
            whens = [
                f"WHEN {where} THEN {'NULL' if _is_missing(code) else self._value(code)}"
                for where, code in codes
            ]
            found.append(f"(CASE {' '.join(whens)}{end} END)")
        return found

    def _by_columns(self, step: Any, columns: list[str]) -> list[str]:
        names = getattr(step, "feature_names_in_", np.empty(0, object)).tolist()
        weights = step.transformer_weights or {}
        found = []
        for name, made, chosen in step.transformers_:
            if isinstance(made, str) and made == "drop":
                continue
            own = [columns[place] for place in _places(chosen, names, len(columns))]
            if own:
                found += self._weighted(self.after((name, made), own), weights.get(name))
        return found

    def _side_by_side(self, step: Any, columns: list[str]) -> list[str]:
        weights = step.transformer_weights or {}
        return [
            one
            for name, made in step.transformer_list
            if not (isinstance(made, str) and made == "drop")
            for one in self._weighted(self.after((name, made), columns), weights.get(name))
        ]

    def _weighted(self, columns: list[str], weight: Any) -> list[str]:
        if weight is None:
            return columns
        return [f"({self._written(float(weight))} * {one})" for one in columns]


def _is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN or pandas' mark of what is missing."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def _refuse_infrequent(step: Any) -> None:
    """Raise ValueError where an encoder has put rare levels into one."""
    rare = getattr(step, "infrequent_categories_", [])
    if any(one is not None for one in rare):
        raise ValueError(
            f"SQL can state an encoder of all its levels; got {type(step).__name__} with "
            "infrequent ones in one. Use to_sklearn."
        )


def _places(chosen: Any, names: list[str], n_columns: int) -> list[int]:
    """Return the places of columns that a fitted ColumnTransformer names in any of its ways."""
    if isinstance(chosen, slice):
        start, stop = chosen.start, chosen.stop
        if isinstance(start, str) or isinstance(stop, str):  # by name, the last one included
            start = None if start is None else names.index(start)
            stop = None if stop is None else names.index(stop) + 1
        return list(range(n_columns))[slice(start, stop, chosen.step)]
    if isinstance(chosen, (str, int, np.integer)):
        chosen = [chosen]
    values = np.asarray(chosen)
    if values.dtype == bool:
        return np.flatnonzero(values).tolist()
    return [names.index(one) if isinstance(one, str) else range(n_columns)[one]
            for one in values.tolist()]  # fmt: skip
