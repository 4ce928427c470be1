"""Data of other libraries: frames, as narwhals has them, and arrays that are not in memory."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .errors import ParameterError
from .types import Design

# The types of columns that hold no numbers: how they are called, and the way out.
_DATES = "Take numbers from them, such as days, or read them by zeronorm.io.read_frame"
_WAYS = {
    "categories": (
        "Estimators with feature_groups take them: n_groups=5, feature_groups='columns' selects 5 "
        "columns, each as a whole. For any other encode them first: make_pipeline("
        "make_column_transformer((OneHotEncoder(), {columns}), remainder='passthrough'), estimator)"
    ),
    "text": (
        "Convert it where it is numbers written as text. Where it is categories, use "
        "OneHotEncoder in a ColumnTransformer, or n_groups=5, feature_groups='columns' for 5 "
        "columns, each as a whole"
    ),
    "dates": _DATES,
    "times": _DATES,
    "durations": "Convert them to numbers, such as seconds",
    "lists": "Give each of their values a column",
}


def frame_of(X: Any) -> Any:
    """Return a data frame in memory as a `narwhals.DataFrame`, None of anything else.

    Raises
    ------
    TypeError
        Where X is a table whose rows are not in memory, as a LazyFrame of polars.
    ValueError
        Where two columns have the same name.
    """
    if isinstance(X, np.ndarray | Sequence) or sp.issparse(X):
        return None
    module = type(X).__module__.partition(".")[0]
    if module in ("dask", "zeronorm"):  # which have columns by blocks
        return None
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    if module == "pyarrow" and type(X).__name__ == "RecordBatch":
        import pyarrow as pa

        X = pa.Table.from_batches([X])
    try:
        found = nw.from_native(nw.to_native(X, pass_through=True), pass_through=True)
        if isinstance(found, nw.DataFrame):
            found.columns  # noqa: B018  # names that occur twice are found here
            return found
    except DuplicateError as error:
        twice = str(error).partition("\n")[2].replace("\n", ",").replace("- ", "")
        raise ParameterError(
            "X", "must have unique column names", f"{twice or error}", "Rename all but one of them."
        ) from None
    if isinstance(found, nw.LazyFrame):
        way = "Call .collect() first" if module == "polars" else "Read it into memory first"
        raise TypeError(
            f"X must be a data frame in memory; got a {type(X).__name__} of {module}. {way}."
        )
    return None


def names_of(frame: Any) -> list[str] | None:
    """Return the names of the columns of a frame, None where they are no strings.

    Raises
    ------
    TypeError
        Where some of them are strings and others are not.
    """
    names = list(frame.columns)
    kinds = sorted({type(name).__name__ for name in names})
    if "str" in kinds and len(kinds) > 1:
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your "
            f"input has {kinds} as feature name / column name types; convert them to strings."
        )
    return names if kinds == ["str"] else None


def kinds_of(frame: Any) -> dict[Any, str]:
    """Return what the columns hold, by name: "numbers", "categories", "text", "dates", ..."""
    import narwhals as nw

    native = frame.to_native()
    types = set(getattr(native, "dtypes", ()))
    if types and all(isinstance(one, np.dtype) and one.kind in "fiu" for one in types):
        return dict.fromkeys(frame.columns, "numbers")  # soon, of columns by the thousand, too
    kinds: dict[Any, str] = {
        nw.Boolean: "booleans", nw.Categorical: "categories", nw.Enum: "categories",
        nw.String: "text", nw.Date: "dates", nw.Datetime: "dates", nw.Time: "times",
        nw.Duration: "durations", nw.List: "lists", nw.Array: "lists", nw.Struct: "lists",
        nw.Object: "objects",
    }  # fmt: skip
    wide = (nw.Decimal, nw.Int128, nw.UInt128)  # of NumPy float64 alone holds them
    schema = frame.schema
    known = {
        dtype: "wide numbers" if isinstance(dtype, wide)
        else "numbers" if dtype.is_numeric()
        else kinds.get(type(dtype), "others")
        for dtype in set(schema.values())
    }  # fmt: skip
    labels = categories_of_schema(getattr(native, "schema", None))
    found = {name: known[dtype] for name, dtype in schema.items()}
    return found | dict.fromkeys(labels, "categories")


def is_number(kind: str) -> bool:
    """Return whether a column of a kind of `kinds_of` has numbers."""
    return kind in ("numbers", "wide numbers", "booleans")


def categories_of_pandas(written: str | bytes, names: Collection[str]) -> list[str]:
    """Return the categorical columns by what pandas wrote about the columns of a Parquet file.

    Such files keep dictionaries of text alone. That the numbers of others are labels stands only
    there.
    """
    try:
        columns = json.loads(written).get("columns", [])
        found = [one["field_name"] for one in columns if one["pandas_type"] == "categorical"]
    except (ValueError, KeyError, TypeError, AttributeError):
        return []
    return [name for name in found if name in names]


def categories_of_schema(schema: Any) -> list[str]:
    """Return the columns in a schema of pyarrow that pandas has written as categorical."""
    metadata = getattr(schema, "metadata", None)
    if not isinstance(metadata, Mapping):
        return []
    return categories_of_pandas(metadata.get(b"pandas", b"{}"), schema.names)


def numbers_of(frame: Any) -> Any:
    """Return the numbers of a frame, (n_samples, n_columns): an array, or a CSC matrix.

    Booleans are 0 and 1, missing values NaN. A pandas frame whose columns are all sparse stays so.

    Raises
    ------
    ValueError
        Where columns hold text, categories, dates or durations; the message has the way out.
    """
    kinds = kinds_of(frame)
    _refuse(kinds)
    sparse = _sparse_of(frame.to_native())
    if sparse is not None:
        return sparse
    if all(kind == "numbers" for kind in kinds.values()):
        return frame.to_numpy()
    columns = [values_of(frame[:, place], kind) for place, kind in enumerate(kinds.values())]
    found: NDArray[Any] = np.empty(frame.shape, np.result_type(*columns), order="F")
    for place, values in enumerate(columns):
        found[:, place] = values
    return found


def _refuse(kinds: Mapping[Any, str]) -> None:
    """Raise ValueError where columns hold no numbers, with the way out."""
    first = next((kind for kind in kinds.values() if kind in _WAYS), None)
    if first is None:
        return
    names = [name for name, kind in kinds.items() if kind == first]
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    shown = f"{names[:3]!r:.200}"[:-1] + (", ...]" if len(names) > 3 else "]")
    raise ParameterError(
        "X",
        "must hold numbers",
        f"{first} in column {names[0]!r}{more}. {_WAYS[first].format(columns=shown)}",
    )


def values_of(column: Any, kind: str) -> NDArray[Any]:
    """Return a column as an array, of numbers where it holds any."""
    import narwhals as nw

    if kind == "wide numbers" or (kind == "booleans" and column.null_count()):
        column = column.cast(nw.Float64)
    return np.asarray(column.to_numpy())


def _sparse_of(frame: Any) -> Any:
    """Return a pandas frame whose columns are all sparse as a CSC matrix, None of anything else."""
    kinds = list(getattr(frame, "dtypes", ())) if hasattr(frame, "sparse") else []
    if not kinds or any(type(kind).__name__ != "SparseDtype" for kind in kinds):
        return None
    other = [kind.fill_value for kind in kinds if kind.fill_value != 0]
    if other:
        raise ParameterError(
            "X",
            "must have 0 as the fill value of all sparse columns",
            f"{other[0]!r}",
            "Use X.sparse.to_dense().",
        )
    return frame.sparse.to_coo().tocsc()


# Which X is not in memory: files, designs, and what other libraries have instead of arrays.


def out_of_core(X: Any) -> bool:
    """Return whether X is not to be loaded, nor searched for NaN, before a scan reads it."""
    return isinstance(X, str | Path | np.memmap | Design) or is_lazy(X)


def is_lazy(X: Any) -> bool:
    """Return whether X is data of another library that may not be in memory, known by what it has.

    An array with `shape`, `dtype` and slicing that hands out no memory of its own; AnnData; a group
    of arrays that are a sparse matrix. Data frames and what NumPy reads in place are none.
    """
    if isinstance(X, np.ndarray | np.generic | Design | Sequence | Path) or sp.issparse(X):
        return False
    if is_dask(X):
        return True
    kind = type(X)
    if hasattr(kind, "iloc") or hasattr(kind, "__array_interface__"):
        return False  # frames have their columns as attributes, of any names
    if is_annotated(X) or is_sparse_group(X):
        return True
    if not all(_has(X, name) for name in ("shape", "dtype", "__getitem__")):
        return False
    if getattr(_of(X, "variable"), "_in_memory", False):  # xarray
        return False
    try:
        np.dtype(_of(X, "dtype"))
    except TypeError:
        return False
    try:
        memoryview(X)
    except (TypeError, ValueError, BufferError):
        return True
    return False


def is_dask(X: Any) -> bool:
    """Return whether X is a Dask array, data frame or series."""
    return type(X).__module__.partition(".")[0] == "dask" and hasattr(X, "__dask_graph__")


def in_memory(values: Any) -> Any:
    """Return numbers of the samples: those of Dask computed, all others as they are."""
    return values.compute() if is_dask(values) else values


def is_annotated(X: Any) -> bool:
    """Return whether X is an AnnData: a matrix with the names of its samples and features."""
    return all(_has(X, name) for name in ("X", "obs", "obs_names", "var_names"))


def is_sparse_group(X: Any) -> bool:
    """Return whether X is a sparse matrix of a file: a group of its arrays, or AnnData's for it."""
    if _has(X, "group") and _has(X, "format"):
        return True
    return _has(X, "attrs") and _has(X, "keys") and "indptr" in X


def _has(X: Any, name: str) -> bool:
    """Return whether an object has an attribute, which those of closed files may not give."""
    try:
        return hasattr(X, name)
    except Exception:
        return True


def _of(X: Any, name: str) -> Any:
    """Return an attribute; None where there is none, or where it cannot be given any more."""
    try:
        return getattr(X, name, None)
    except Exception:
        return None
