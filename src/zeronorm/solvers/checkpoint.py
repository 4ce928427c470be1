"""Checkpoints: a killed fit goes on, and ends with the same bits.

A solver is a generator of scans, and between them it computes the same bits every time. So a
checkpoint is a journal of the answers: the scores X'v of every pass over the data, 8 bytes for each
feature and vector, which is little beside the data that a pass reads (8 / n bytes for each of its
entries, of n rows). A fit that is started again begins at its beginning; where a pass would read
the data and its answer is in the file, the answer is taken from there. What is computed between
passes, on the selected features, is computed again.

An answer is known by its vector and its data: by a digest of the checksums of the data's bytes, a
pass at the beginning of a fit, in which every value of X counts. What is not in the file
is read from the data. To be of use it has to be of this fit, so that parameters, target, weights
and data are compared, and other ones refused by name.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Self, TypeAlias

import numpy as np

from .._kernels import crc32c
from .._version import __version__
from ..core.files import PathLike, quote
from ..core.journal import CheckpointError, JournalFile
from ..core.types import Design, FloatArray
from ..data.operations import scan, values_of
from ..data.views import lowered

# Where the answers to scans may be kept: what the driver asks before it reads the data.
#
# The solvers know nothing of it. Between their scans they compute the same bits every time, so that
# a fit is known by the answers to its scans.

# What a run is told apart by: names and values of all that it depends on, but for the data.
Identity: TypeAlias = Callable[[], Mapping[str, str]]


class ScanJournal:
    """Keeps nothing: every scan reads the data."""

    def begin(self, identity: Identity) -> None:
        """Begin a run of a solver."""

    def scores(self, base: Design, vectors: FloatArray, designs: Sequence[Design]) -> FloatArray:
        """Return X'v of the columns of `base`, (n_features, m).

        vectors : (n_samples, m). designs : those whose scans these are, wrappers of `base`.
        """
        return scan(base, vectors)


current: ContextVar[ScanJournal] = ContextVar("journal", default=ScanJournal())  # noqa: B039

UNTOLD = {"n_threads", "checkpoint"}  # parameters that change no result
LONGEST = 60  # of a value that messages show


class Checkpoint(ScanJournal):
    """Keep the fits inside a `with` in a file, so that killed ones go on.

    All passes over the data inside are kept, of one fit or of several after each other: the fits of
    this package, `cross_validate`, `l1_path`, `certify`, `prove`. The same program, run again with
    the same file, goes on where it was killed and ends with the same bits. The file stays until it
    is deleted; a complete one gives the fit again without a pass over the data, but for the ones
    that know them again and find the scales of its columns.

    Parameters
    ----------
    path : path-like
        A file that need not be there yet. It grows by 8 bytes for every feature and vector of a
        pass, each on the disk before the fit goes on.

    Raises
    ------
    CheckpointError
        A ValueError: where the file is no checkpoint, is damaged or in use, and in a fit where it
        is of other parameters or data.

    Warns
    -----
    UserWarning
        Where the file cannot grow, of a full disk for instance: the fit goes on without it, and
        what it holds stays.

    Examples
    --------
    >>> import tempfile, zeronorm
    >>> from pathlib import Path
    >>> from zeronorm.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> file = Path(tempfile.mkdtemp()) / "demo.checkpoint"
    >>> with zeronorm.Checkpoint(file):
    ...     model = zeronorm.BudgetClassifier(5).fit(X, y)
    >>> with zeronorm.Checkpoint(file) as checkpoint:  # as after a kill
    ...     again = zeronorm.BudgetClassifier(5).fit(X, y)
    >>> checkpoint.n_known == model.n_scans_
    True
    """

    def __init__(self, path: PathLike) -> None:
        self.path = path

    def __enter__(self) -> Self:
        """Open the file, or make it."""
        self._file = JournalFile(self.path)
        self.n_known = sum(one.about.get("kind") == "scan" for one in self._file.records)
        self._at = 0  # how many records were asked for
        self._full = False  # whether the file cannot grow
        self._digests: dict[int, tuple[Design, str]] = {}  # the design keeps its id its own
        self._token = current.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        current.reset(self._token)
        self._digests.clear()
        self._file.close()

    def begin(self, identity: Identity) -> None:
        """Begin a run: the next one in the file has to be the same."""
        self._digests.clear()
        about = {"zeronorm": __version__, **identity()}
        known = self._next("run")
        if known is None:
            self._keep({"kind": "run", "identity": about}, np.empty(0))
            return
        there = known.about.get("identity")
        if there != about:
            raise CheckpointError(
                f"{self.path}: the checkpoint of another fit: {_differences(there, about)}. Give "
                "what it was begun with, or name another file."
            )
        self._at += 1

    def scores(self, base: Design, vectors: FloatArray, designs: Sequence[Design]) -> FloatArray:
        """Return X'v from the file, or from the data."""
        data = sorted({self._digest_of(base, design) for design in designs})
        about = {"kind": "scan", "data": data, "vectors": _digest(vectors)}
        shape = (base.shape[1], vectors.shape[1])
        known = self._next("scan")
        if known is not None:
            there = known.about.get("data")
            if not isinstance(there, list) or not set(there) & set(data):
                raise CheckpointError(
                    f"{self.path}: the checkpoint of a fit to other data: values, rows, columns or "
                    "the type of X differ. Give what it was begun with, or name another file."
                )
            if dict(known.about) == about and known.size == 8 * shape[0] * shape[1]:
                self._at += 1
                return self._file.values(known).reshape(shape)
            self._file.cut(self._at)  # as after a proof that ran into its time limit
        scores = scan(base, vectors)
        self._keep(about, scores)
        return scores

    def _next(self, kind: str) -> Any:
        """Return the next record, None where the file ends; leave out the rest of another run."""
        records = self._file.records
        if self._at < len(records) and records[self._at].about.get("kind") != kind:
            self._file.cut(self._at)
        return records[self._at] if self._at < len(records) else None

    def _keep(self, about: Mapping[str, Any], values: FloatArray) -> None:
        if self._full:
            return
        try:
            self._file.append(about, values)
            self._at += 1
        except OSError as error:
            self._full = True
            warnings.warn(
                f"{self.path}: the checkpoint cannot grow ({error.strerror or error}); the fit "
                "goes on without it, and what it holds stays.",
                stacklevel=2,
            )

    def _digest_of(self, base: Design, design: Design) -> str:
        if id(design) not in self._digests:
            self._digests[id(design)] = design, _digest_of(base, design)
        return self._digests[id(design)][1]


@contextmanager
def recorded(path: PathLike | None) -> Iterator[None]:
    """Keep what is inside in a file; None: nowhere, or where somebody around it keeps it."""
    if path is None:
        yield
        return
    with Checkpoint(path):
        yield


@contextmanager
def resumable(path: PathLike | None, notes: list[str]) -> Iterator[None]:
    """Keep what is inside in a file, as `recorded`, and note what was in it already."""
    if path is None:
        yield
        return
    with Checkpoint(path) as checkpoint:
        if checkpoint.n_known:
            notes.append(f"went on from {path}, which has {checkpoint.n_known} passes")
        yield


def identity_of(run: str, parameters: Mapping[str, Any], **data: Any) -> dict[str, str]:
    """Return what a run is told apart by.

    run : its name. parameters : as of an estimator. data : arrays, or None.
    """
    found = {"estimator": run}
    for name, value in parameters.items():
        if name in UNTOLD:
            continue
        text = value if isinstance(value, str) else _text(value)
        whole = isinstance(value, str | int | float | bool | tuple | list | None)
        found[name] = text if whole and len(text) <= LONGEST else _digest(text, value)
    for name, array in data.items():
        found[name] = _digest(array)
    return found


def _differences(there: Any, here: Mapping[str, str]) -> str:
    """Return in words what of two identities differs."""
    there = there if isinstance(there, dict) else {}
    names = [name for name in (*here, *there) if there.get(name) != here.get(name)]
    found = []
    for name in dict.fromkeys(names):
        values = [str(one.get(name, "nothing")) for one in (there, here)]
        shown = not any(value.startswith("sha256 ") for value in values)
        end = f" ({quote(values[0])} there, {quote(values[1])} here)" if shown else ""
        found.append(f"{name} differs{end}")
    return ", ".join(found[:5])


def _digest_of(base: Design, design: Design) -> str:
    """Return a digest of the shape and the type, of all values, of means and scales.

    Values are checksums of their bytes. Of a design that does not have them at hand, computed or
    on other machines, they are the scores of a drawn vector, in which every value counts beyond
    the rounding of a sum.
    """
    n_samples, n_features = base.shape
    seen: Any = _checksums(base)
    if not seen:
        drawn = np.random.default_rng(0).standard_normal(n_samples)
        starts = range(0, n_features, base.block)
        parts = [base.correlate(drawn, j, min(j + base.block, n_features)) for j in starts]
        seen = np.concatenate(parts)
    _, wrappers, v = lowered(design, np.ones(design.shape[0]))
    own = [_checksums(wrapper) for wrapper, _ in wrappers]
    lifted = np.ones((n_features, *v.shape[1:]))
    for wrapper, v in reversed(wrappers):
        lifted = wrapper.lift(lifted, v, 0, wrapper.shape[1])
    return _digest(type(base).__name__, base.shape, base.scan_error, seen, lifted, own)


def _checksums(design: Design) -> list[tuple[str, int, int]]:
    """Return the type, the size and the checksum of the arrays that hold the values of a design."""
    parts = ((part, part.reshape(-1).view(np.uint8)) for part in values_of(design))
    return [(part.dtype.str, part.size, crc32c(numbers, 0)) for part, numbers in parts]


def _digest(*values: Any) -> str:
    """Return the SHA-256 of arrays and of what else has a text."""
    found = hashlib.sha256()
    for value in values:
        if hasattr(value, "__array__"):
            array = np.asarray(value)
            found.update(f"{array.dtype.str}{array.shape}".encode())
            if array.dtype.hasobject:
                found.update(repr(array.tolist()).encode())
            else:
                found.update(np.ascontiguousarray(array.T).tobytes())
        else:
            found.update(_text(value).encode())
    return f"sha256 {found.hexdigest()}"


def _text(value: Any) -> str:
    """Return the repr of a value, without addresses, which differ in another process."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
