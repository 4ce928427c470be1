"""What files of models and of certificates share: arrays in a zip archive, and how they begin.

An archive has a checksum, and what is no sound one is refused at once. The metadata begin with
versions and the features; the classes are an array.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import math
import os
import re
import shlex
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._version import __version__
from ..core.files import FileError, PathLike, Require, check_fields, quote
from ..core.ranking import numbered
from ..core.types import FloatArray, IndexArray
from ..io.npy import is_text, read_npy
from ..io.source import check_path
from ..io.table import ROLES

_FORMAT = re.compile(rb'"format": ([0-9]{1,9})[,}]')  # of the metadata
_TRAILER = re.compile(rb"zeronorm (model|certificate) ([0-9]{1,9}) sha256 ([0-9a-f]{64})\Z")


class ModelFileError(FileError):
    """A file is not a sound model file; the message says what is wrong with it."""


class CertificateFileError(FileError):
    """A file is not a sound certificate file; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class FileKind:
    """What tells the archives of models and of certificates apart."""

    name: str  # in the archive comment, and in messages
    version: int  # the format of new files
    max_size: int  # bytes
    error: type[FileError]
    oldest: int = 1  # the oldest format that is read

    def requirement(self, where: str) -> Require:
        """Return a function that refuses a file where a condition does not hold."""

        def require(condition: bool, message: str) -> None:
            if not condition:
                raise self.error(f"{where}: {message}.")

        return require


def pack(kind: FileKind, arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the bytes of a file."""
    buffer = io.BytesIO()
    blank = _trailer(kind, "0" * 64)
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, values in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(
                member, np.ascontiguousarray(values), (1, 0), allow_pickle=False
            )
            # A fixed time: equal models are equal files.
            archive.writestr(
                zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0)), member.getbuffer()
            )
        archive.comment = blank
    data = buffer.getbuffer()[: -len(blank)]
    return b"".join([data, _trailer(kind, hashlib.sha256(data).hexdigest())])


def _trailer(kind: FileKind, digest: str) -> bytes:
    return f"zeronorm {kind.name} {kind.version} sha256 {digest}".encode()


def is_archive(path: PathLike) -> bool:
    """Return whether a file ends as those of models and certificates do."""
    with check_path(path).open("rb") as file:
        file.seek(-min(200, os.path.getsize(path)), os.SEEK_END)
        return _TRAILER.search(file.read()) is not None


def unpack(
    kind: FileKind, where: str, data: bytes, members: Callable[[int], Sequence[str]]
) -> dict[str, NDArray[Any]]:
    """Return the arrays in the bytes of a file.

    members : their names, by how many there are.
    """
    require = kind.requirement(where)
    require(len(data) > 0, "the file is empty")
    require(
        not (data[:1] == b"\x80" and data[1:2] <= b"\x05"),
        "a pickle, which is never loaded; zeronorm.persistence writes files that are",
    )
    trailer = _TRAILER.search(data[-200:])
    if trailer is None:
        raise kind.error(f"{where}: not a {kind.name} file of zeronorm, or a truncated one.")
    digest = hashlib.sha256(memoryview(data)[: -len(trailer[0])]).hexdigest().encode()
    require(digest == trailer[3], "damaged: its checksum does not fit its content")
    found = trailer[1].decode()
    require(found == kind.name, f"a {found} file of zeronorm; a {kind.name} file is needed here")
    version = int(trailer[2])
    require(
        version <= kind.version,
        f"written by a newer zeronorm (format {version}, this one reads {kind.version}); upgrade "
        "with pip install -U zeronorm",
    )
    require(version >= kind.oldest, f"unknown format {version}")

    arrays: dict[str, NDArray[Any]] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            there = [info.filename for info in infos]
            names = members(len(there))
            require(
                there == [f"{name}.npy" for name in names],
                f"must hold the arrays {', '.join(names)}; it holds {quote(', '.join(there))}",
            )
            for name, info in zip(names, infos, strict=True):
                require(
                    info.compress_type == zipfile.ZIP_STORED
                    and info.file_size == info.compress_size <= len(data),
                    f"the array {name} must be stored without compression",
                )
                with archive.open(info) as stream:
                    arrays[name] = read_npy(f"{where}: {name}", stream, info.file_size)
                    stream.read(1)
    except kind.error:
        raise
    except FileError as refusal:
        raise kind.error(str(refusal)) from None
    except (zipfile.BadZipFile, OSError, EOFError, RuntimeError, ValueError) as failure:
        raise kind.error(f"{where}: damaged ({failure}).") from None
    # The checksum is of what stands before the trailer, and so is not of its number.
    said = _FORMAT.search(arrays["metadata"].tobytes())
    agree = said is None or int(said[1]) == version
    require(agree, f"damaged: its end says format {version}, its content another")
    return arrays


def read_file(kind: FileKind, path: PathLike) -> tuple[str, bytes]:
    """Return what messages call a file, and its content."""
    path = check_path(path)
    size = path.stat().st_size
    if size > kind.max_size:
        raise kind.error(f"{path}: too large for a {kind.name} file ({size} bytes).")
    try:
        return str(path), path.read_bytes()
    except OSError as failure:
        reason = failure.strerror or failure
        raise kind.error(f"{path}: cannot be read ({reason}).") from None


# The metadata: versions, the features.

VERSIONS = {
    "format": int,
    "zeronorm": str,
    "created": str,
}
FEATURES = {
    "n_features_in": int,
    "feature_names": (list, type(None)),
    "first_index": int,
    "target_name": (str, list, type(None)),
    "columns": dict,
}


def encode(metadata: Mapping[str, Any]) -> NDArray[Any]:
    """Return the metadata as an array."""
    return np.frombuffer(json.dumps(metadata, allow_nan=False).encode(), np.uint8)


def decode(raw: NDArray[Any], require: Require) -> dict[str, Any]:
    """Return the metadata, a JSON object."""
    require(raw.dtype == np.uint8 and raw.ndim == 1, "metadata must be bytes")
    metadata: Any = None
    reason = ""
    try:
        metadata = json.loads(raw.tobytes().decode("utf-8"))
    except (ValueError, RecursionError) as error:
        reason = str(error)
    require(not reason, f"metadata is not valid JSON ({quote(reason)})")
    require(isinstance(metadata, dict), "metadata must be a JSON object")
    return dict(metadata)


def describe_versions(kind: FileKind) -> dict[str, Any]:
    """Return the entries `VERSIONS`."""
    return {
        "format": kind.version,
        "zeronorm": __version__,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def describe_features(
    support: IndexArray,
    n_features: int,
    names: Sequence[Any] | None,
    first_index: int,
    target_name: str | Sequence[str] | None,
    columns: Mapping[str, str] | None,
    n_responses: int = 1,
) -> dict[str, Any]:
    """Return the entries `FEATURES`.

    names : of all features; those of the support are written.
    target_name : of several responses the name of each; None: they are numbered.
    columns : names of what else is no feature, by what it is.
    """
    if names is not None:
        if len(names) != n_features:
            raise ValueError(
                f"feature_names must have {n_features} names (the features of X); got {len(names)}."
            )
        names = [str(names[j]) for j in support]
        if len(set(names)) < len(names):
            raise ValueError("feature_names must be distinct; two selected features share one.")
    if n_responses > 1:
        target_name = _response_names(target_name, n_responses)
    elif not isinstance(target_name, str | None):
        raise ValueError(f"target_name must be one name for one target; got {target_name!r:.80}.")
    return {
        "n_features_in": n_features,
        "feature_names": names,
        "first_index": first_index,
        "target_name": target_name,
        "columns": dict(columns or {}),
    }


def _response_names(given: str | Sequence[str] | None, n_responses: int) -> list[str]:
    if given is None:
        return [f"response {number}" for number in range(1, n_responses + 1)]
    names = [] if isinstance(given, str) else [str(name) for name in given]
    if len(names) != n_responses or len(set(names)) < n_responses:
        raise ValueError(
            f"target_name must be a list of {n_responses} distinct names, one for each response; "
            f"got {given!r:.80}."
        )
    return names


def check_header(
    metadata: Mapping[str, Any], entries: Mapping[str, Any], kind: FileKind, require: Require
) -> None:
    """Check that the metadata have these entries, and what those of all files say."""
    check_fields("metadata", metadata, entries, require)
    known = kind.oldest <= metadata["format"] <= kind.version
    require(known, f"metadata says format {metadata['format']}")
    require(0 < metadata["n_features_in"] < 2**62, "n_features_in must be positive")
    require(metadata["first_index"] in (0, 1), "first_index must be 0 or 1")
    names = metadata["target_name"]
    require(
        not isinstance(names, list)
        or (all(isinstance(name, str) for name in names) and len({*names}) == len(names) > 1),
        "target_name must be a name, or those of two or more responses, distinct strings",
    )
    for what, name in metadata["columns"].items():
        known = what in ROLES or what in (
            "event_value", "layer", "missing", "id", "where", "row_numbers", "na", "dates",
        )  # fmt: skip
        require(
            known and isinstance(name, str),
            f"columns must be names by {', '.join(ROLES)}; got {quote(what)}",
        )
    try:
        shlex.split(metadata["columns"].get("row_numbers", ""))
    except ValueError:
        require(False, "columns has row_numbers that are no list of quoted names")


def names_in(metadata: Mapping[str, Any], k: int, require: Require) -> tuple[str, ...] | None:
    """Return the names of the k features of the support."""
    names = metadata["feature_names"]
    if names is None:
        return None
    require(
        len(names) == k and all(isinstance(name, str) for name in names) and len(set(names)) == k,
        f"feature_names must be {k} distinct strings",
    )
    return tuple(names)


def named_among(
    chosen: IndexArray, columns: IndexArray, names: Sequence[str] | None
) -> tuple[str, ...]:
    """Return the names of some of sorted columns; none where these have none."""
    if not names:
        return ()
    return tuple(names[place] for place in np.searchsorted(columns, chosen))


def check_record(what: str, record: Any, fields: Mapping[str, Any], require: Require) -> None:
    """Check an object with these fields, whose numbers are finite."""
    require(isinstance(record, dict), f"{what} must be a JSON object")
    check_fields(what, record, fields, require)
    finite = all(math.isfinite(value) for value in record.values() if type(value) is float)
    require(finite, f"{what} must be finite")


def count_responses(metadata: Mapping[str, Any]) -> int:
    """Return how many responses the target has."""
    names = metadata["target_name"]
    return len(names) if isinstance(names, list) else 1


# The classes, and the losses of labels.

LABELLED = ("logistic", "squared_hinge")
MULTINOMIAL, ORDINAL = "multinomial", "ordinal"  # the losses of several classes at once
OF_ALL = (MULTINOMIAL, ORDINAL)


def storable(classes: NDArray[Any]) -> NDArray[Any]:
    """Return class labels as numbers or str."""
    if classes.dtype.kind == "O" and all(isinstance(label, str) for label in classes):
        classes = classes.astype(str)
    if classes.dtype.kind not in "biufU":
        raise TypeError(
            f"class labels must be numbers or strings to be saved; got {classes.dtype}. Encode "
            "them as strings."
        )
    return classes


def weights_of_classes(
    labels: NDArray[Any], weight: FloatArray, class_weight: Any, order: NDArray[Any] | None
) -> tuple[NDArray[Any], FloatArray, int]:
    """Return the classes, the weight of each, and the number of rows of positive weight.

    order : of the labels; None: they are sorted.
    """
    from ..core.targets import class_factors

    rows = np.flatnonzero(weight > 0)
    factors = np.zeros(labels.size)
    factors[rows] = class_factors(class_weight, labels[rows], weight[rows])
    used = factors > 0
    classes, first = np.unique(labels[used], return_index=True)
    of_classes = factors[used][first]
    if order is not None:
        places = np.argsort(numbered(classes, order))
        classes, of_classes = classes[places], of_classes[places]
    return classes, of_classes, int(used.sum())


def check_classes(classes: NDArray[Any], require: Require, *, in_order: bool = False) -> None:
    """Check the array of the class labels; in_order: in an order of their own, not sorted."""
    require(
        classes.ndim == 1 and classes.size >= 2 and classes.dtype.kind in "biufU",
        "classes must be two or more numbers or strings",
    )
    require(classes.dtype.kind != "U" or is_text(classes), "classes must be valid text")
    if in_order:
        require(np.unique(classes).size == classes.size, "classes must be distinct")
        return
    ordered = all(a < b for a, b in itertools.pairwise(classes.tolist()))
    require(ordered, "classes must be distinct and sorted")


def count_scores(classes: NDArray[Any], n_responses: int = 1) -> int:
    """Return how many scores there are: one of two classes, without classes one per response."""
    if not classes.size:
        return n_responses
    return 1 if classes.size == 2 else classes.size
