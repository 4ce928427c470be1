"""l1-regularised logistic regression, package by package: seconds to a relative gap.

    python benchmarks/l1.py                      everything
    python benchmarks/l1.py --small              five small problems, about 5 minutes
    python benchmarks/l1.py --sets s1,mice --methods zeronorm,skglm,snapml --repeats 3
    python benchmarks/l1.py --methods zeronorm --solvers auto,newglmnet --name l1_solvers
    python benchmarks/l1.py --constants --sets s1     how the constants C were found

    min_w ||w||_1 + C sum_i log(1 + exp(-y_i x_i'w)),    no intercept, from w = 0

What the seconds hold: one complete fit from the user's X (CSR, or dense in column order), all
conversions included, imports and compilation not: the first call on a tiny problem of the same
kind has a column of its own. Every package has a grid of its own tolerances, in half decades; the
seconds to a gap g are the median at the loosest tolerance with (f - f*) / f(0) <= g, where f is
computed here, in float64, f* is the best value found by anyone, zeronorm at 1e-10 included, and
f(0) = C n log 2. Decades are tried from the loosest on, then the half decade before the first that
qualifies. Packages take turns in processes of their own, and hold the data only during their turn.
A fit of more than 10 s is measured once.

Every package is asked for the same C, written down in SETS: the value at which adelie's path comes
nearest to the wanted number of features (--constants). scikit-learn has no "newton-cd" solver up to
release 1.9.1, so it takes part with liblinear and saga.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import entr, expit

import _common as common
import _l1_peers as peers
import _protocol as protocol

GAPS = (1e-3, 1e-6)
LONG = 10.0  # seconds
SEED = 90001


def decades(loosest: int, tightest: int) -> tuple[float, ...]:
    """Return 10^-loosest ... 10^-tightest in half decades."""
    return tuple(10.0 ** (-k / 2) for k in range(2 * loosest, 2 * tightest + 1))


GRIDS = {
    "zeronorm": decades(0, 9),
    "liblinear": decades(-1, 8),
    "sklearn_liblinear": decades(-1, 8),
    "sklearn_saga": decades(1, 7),
    "snapml": decades(0, 9),
    "celer": decades(1, 9),
    "skglm": decades(0, 7),
    "blitzl1": decades(0, 9),
    "adelie": decades(1, 14),
    "adelie_path": decades(1, 14),
    "glmnet": decades(1, 14),
    "glmnet_path": decades(1, 14),
}
THREADED = ("zeronorm", "snapml", "adelie", "adelie_path")  # the others have one thread
REFERENCES = {"zeronorm": 1e-10, "celer": 1e-9, "skglm": 1e-7, "blitzl1": 1e-9}  # tolerances


# ---------------------------------------------------------------------------------------- sets


@dataclass(frozen=True)
class Set:
    """Data, and C for each wanted number of features."""

    text: str
    read: Callable[[Path], tuple[Any, np.ndarray]]
    C: dict[int, float]


def text_like(n: int, p: int, draws: int) -> Callable[[Path], tuple[Any, np.ndarray]]:
    """Return a reader of a sparse X: columns by a power law, rows of unit length.

    `draws` entries a row before repeated columns are merged. The labels depend on 2000 columns,
    taken as often as they occur, through a logistic model whose margins have deviation 3.
    """

    def read(_: Path) -> tuple[sp.csr_matrix, np.ndarray]:
        rng = np.random.default_rng(SEED)
        share = np.cumsum(1.0 / (np.arange(p) + 20.0))
        found = np.searchsorted(share, rng.random(n * draws) * share[-1])
        column = rng.permutation(p)[np.minimum(found, p - 1)]
        code = np.unique(np.repeat(np.arange(n), draws) * p + column)
        row, column = np.divmod(code, p)
        value = rng.exponential(size=code.size) + 0.2
        value /= np.sqrt(np.bincount(row, value**2, minlength=n))[row]
        X = sp.csr_matrix((value, (row, column)), shape=(n, p))
        w = np.zeros(p)
        w[np.unique(rng.choice(column, 2000))] = 1.0
        w *= rng.standard_normal(p)
        margin = X @ w
        margin *= 3.0 / margin.std()
        return X, np.where(margin + rng.logistic(size=n) > 0, 1.0, -1.0)

    return read


def gaussian(n: int, p: int, dtype: type) -> Callable[[Path], tuple[Any, np.ndarray]]:
    """Return a reader of a gaussian X whose labels depend on 300 columns."""

    def read(_: Path) -> tuple[np.ndarray, np.ndarray]:
        data = protocol.Synthetic(n, p, informative=300, variance=2.0, seed=SEED)
        return data.matrix("F", dtype), data.labels()

    return read


def standardised(name: str) -> Callable[[Path], tuple[Any, np.ndarray]]:
    """Return a reader of a dense set with standardised columns, constant ones dropped."""

    def read(folder: Path) -> tuple[np.ndarray, np.ndarray]:
        data = protocol.arrays(folder, name)
        X = data["X"].astype(float)
        std = X.std(0)
        X = ((X - X.mean(0)) / np.where(std > 0, std, 1.0))[:, std > 0]
        return np.asfortranarray(X), np.where(data["y"] > 0, 1.0, -1.0)

    return read


def rows(name: str, unit: bool = False) -> Callable[[Path], tuple[Any, np.ndarray]]:
    """Return a reader of a sparse set, as it is or binarised with rows of unit length."""

    def read(folder: Path) -> tuple[sp.csr_matrix, np.ndarray]:
        data = protocol.arrays(folder, name)
        X = protocol.unit_rows(data["X"]) if unit else sp.csr_matrix(data["X"], dtype=float)
        return X, np.where(data["y"] > 0, 1.0, -1.0)

    return read


D3 = {50: 0.006103, 300: 0.01664, 1000: 0.03212}
D4 = {50: 0.01247, 300: 0.01976, 1000: 0.05299}
SETS = {
    "s1": Set(
        "sparse, drawn",
        text_like(20_000, 50_000, 77),
        {50: 0.06414, 300: 0.5009, 2000: 2.615},
    ),
    "s2": Set(
        "sparse, drawn",
        text_like(10_000, 1_350_000, 487),
        {50: 0.1825, 300: 1.001, 2000: 5.055},
    ),
    "news20ng": Set(
        "sparse, binarised, unit rows",
        rows("news20ng", unit=True),
        {50: 0.07933, 300: 0.5128, 2000: 11.38},
    ),
    "d3": Set("gaussian, float64", gaussian(5000, 20_000, np.float64), D3),
    "d3f": Set("gaussian, float32", gaussian(5000, 20_000, np.float32), D3),
    "d4": Set("gaussian, float64", gaussian(2000, 100_000, np.float64), D4),
    "d4f": Set("gaussian, float32", gaussian(2000, 100_000, np.float32), D4),
    "leukemia_golub_split": Set(
        "microarray, standardised", standardised("leukemia_golub_split"), {20: 0.4437}
    ),
    "mice": Set("genotypes, standardised", standardised("mice"), {50: 0.03334, 300: 0.08653}),
    "arcene": Set("dense, standardised", standardised("arcene"), {50: 0.1069}),
    "a9a": Set("sparse, binary", rows("a9a"), {20: 0.007135, 80: 0.3428}),
    "w8a": Set("sparse, binary", rows("w8a"), {50: 0.008124, 200: 0.288}),
}
SMALL = {"s1": (300,), "leukemia_golub_split": (20,), "mice": (50,), "arcene": (50,), "a9a": (20,)}


@dataclass(frozen=True)
class Task:
    """One problem: a set and a C."""

    name: str
    wanted: int
    X: Any
    y: np.ndarray
    C: float

    @property
    def zero(self) -> float:
        """Objective at w = 0."""
        return float(self.C * len(self.y) * np.log(2.0))

    def objective(self, w: np.ndarray) -> float:
        """Return f(w), in float64 whatever X is."""
        return float(np.abs(w).sum() + self.C * np.logaddexp(0.0, -self._margins(w)).sum())

    def bound(self, w: np.ndarray) -> float:
        """Return the dual value at the feasible point of w, a lower bound on f*."""
        s = expit(-self._margins(w))
        v = self.C * self.y * s
        if sp.issparse(self.X):
            largest = np.abs(self.X.T @ v).max()
        else:
            largest = max(np.abs(v @ part).max() for _, part in self._blocks())
        s /= max(1.0, float(largest))
        return float(self.C * (entr(s) + entr(1.0 - s)).sum())

    def _margins(self, w: np.ndarray) -> np.ndarray:
        if sp.issparse(self.X):
            return self.y * (self.X @ w)
        total = np.zeros(len(self.y))
        for start, part in self._blocks():
            total += part @ w[start : start + part.shape[1]]
        return self.y * total

    def _blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        for start in range(0, self.X.shape[1], 2000):
            yield start, self.X[:, start : start + 2000].astype(np.float64, copy=False)


# --------------------------------------------------------------------------------- contestants


class Contestant:
    """A method with a number of threads: started when needed, and again after it was ended."""

    def __init__(self, method: str, threads: int, folder: Path | None) -> None:
        self.method, self.threads = method, threads
        self.name = method if threads == 1 else f"{method}, {threads} threads"
        self.version = ""
        self.first: dict[str, float] = {}  # seconds of the first call, by kind of data
        self._environment = peers.METHODS[method.partition(":")[0]][0]
        self._python = common.interpreter(self._environment, folder)
        self._process: common.Peer | None = None
        self._warm: set[str] = set()

    def ask(self, limit: float, **request: Any) -> dict[str, Any]:
        """Send a request; a process that did not survive it is forgotten."""
        if self._process is None:
            if self._python is None:
                raise common.PeerError("not installed")
            self._process = common.Peer(self.method, self._python, self.threads, "_l1_peers.py")
            self._warm = set()
            try:
                self.version = self._process.ask(120.0, op="version")["version"]
            except common.PeerError:
                self.close()
                raise
        try:
            return self._process.ask(limit, **request)
        except common.PeerError:
            if not self._process.alive:
                self._process = None
            raise

    def load(self, folder: Path, X: Any) -> None:
        """Hand over the data, after a first call on a tiny problem of the same kind."""
        kind = f"{'sparse' if sp.issparse(X) else 'dense'} {X.dtype}"
        if self._process is None or kind not in self._warm:
            reply = self.ask(120.0, op="warm", dtype=str(X.dtype), sparse=sp.issparse(X))
            self.first.setdefault(kind, reply["first"])
            self._warm.add(kind)
        self.ask(120.0, op="load", path=str(folder))

    @property
    def running(self) -> bool:
        """Whether there is a process."""
        return self._process is not None

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()
            self._process = None


# ------------------------------------------------------------------------------------ measuring


@dataclass
class Cell:
    """The fits of one contestant at one tolerance."""

    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    objectives: list[float] = field(default_factory=list)
    nonzeros: int = 0
    peak_mb: float = 0.0

    @property
    def f(self) -> float:
        """The median objective."""
        return common.median(self.objectives)


@dataclass
class Entry:
    """One contestant on one task."""

    cells: dict[float, Cell] = field(default_factory=dict)
    error: str = ""

    def loosest(self, value: float) -> float | None:
        """Return the loosest tolerance whose objective is at most the value."""
        return max((tol for tol, cell in self.cells.items() if cell.f <= value), default=None)


class Race:
    """All contestants on one task."""

    def __init__(self, task: Task, folder: Path, options: Any) -> None:
        self.task, self.folder, self.options = task, folder, options
        self.best, self.lower = np.inf, -np.inf
        self.found_by = ""
        self.entries: dict[str, Entry] = {}

    def reference(self, contestants: list[Contestant]) -> None:
        """Find f* to a certified 1e-8, by the first of the contestants that gets there."""
        for one in contestants:
            with contextlib.suppress(common.PeerError):
                one.load(self.folder, self.task.X)
                w, _ = self._fit(one, REFERENCES[one.method], 1, 4 * self.options.limit)
                self._note(self.task.objective(w), f"{one.name} (reference)")
                self.lower = max(self.lower, self.task.bound(w))
                one.ask(120.0, op="drop")
            if self.best - self.lower <= 1e-8 * self.task.zero:
                break

    def turn(self, one: Contestant, number: int) -> None:
        """Give a contestant its turn: over its whole grid, or again where it matters."""
        entry = self.entries.setdefault(one.name, Entry())
        if entry.error and not entry.cells:
            return
        try:
            if number == 0:
                one.load(self.folder, self.task.X)
                self._scout(one, entry)
                one.ask(120.0, op="drop")
                return
            again = {tol for g in GAPS if (tol := entry.loosest(self.goal(g))) is not None}
            again = {tol for tol in again if common.median(entry.cells[tol].seconds) < LONG}
            if again:
                one.load(self.folder, self.task.X)
                # The first fit of a turn finds cold caches: not always the same one.
                for tol in sorted(again, reverse=number % 2 == 0):
                    self._run(one, entry, tol)
                one.ask(120.0, op="drop")
        except common.PeerError as error:
            entry.error = str(error)

    def goal(self, gap: float) -> float:
        """Return the objective at a relative gap."""
        return float(self.best + gap * self.task.zero)

    def _scout(self, one: Contestant, entry: Entry) -> None:
        grid = GRIDS[one.method.partition(":")[0]]
        enough = self.lower + GAPS[-1] * self.task.zero
        for tol in grid[::2]:
            try:
                self._run(one, entry, tol)
            except common.PeerError as error:
                entry.error = f"{error} at tolerance {tol:.0e}"
                if not one.running:  # the limit ends a process
                    one.load(self.folder, self.task.X)
                break
            if entry.cells[tol].f <= enough:
                break
        for gap in GAPS:
            tol = entry.loosest(self.goal(gap))
            if tol is not None and (k := grid.index(tol)) > 0 and grid[k - 1] not in entry.cells:
                self._run(one, entry, grid[k - 1])

    def _run(self, one: Contestant, entry: Entry, tol: float) -> None:
        w, reply = self._fit(one, tol, 5, self.options.limit)
        cell = entry.cells.setdefault(tol, Cell())
        cell.seconds += reply["seconds"]
        cell.cpu += reply["cpu"]
        cell.objectives.append(self.task.objective(w))
        cell.nonzeros = int(np.count_nonzero(w))
        cell.peak_mb = max(cell.peak_mb, reply["peak_mb"])
        self._note(cell.objectives[-1], one.name)

    def _fit(
        self, one: Contestant, tol: float, repeats: int, limit: float
    ) -> tuple[np.ndarray, dict[str, Any]]:
        out = self.folder / "w.npy"
        reply = one.ask(limit, op="fit", C=self.task.C, tol=tol, out=str(out), repeats=repeats)
        w = np.load(out).astype(np.float64)
        if w.shape != (self.task.X.shape[1],) or not np.isfinite(w).all():
            raise common.PeerError(f"returned weights of shape {w.shape}, or not finite")
        return w, reply

    def _note(self, f: float, name: str) -> None:
        if f < self.best:
            self.best, self.found_by = f, name

    def record(self, contestants: list[Contestant]) -> dict[str, Any]:
        """Return everything measured on the task."""
        task = self.task
        kind = f"{'sparse' if sp.issparse(task.X) else 'dense'} {task.X.dtype}"
        result = []
        for one in contestants:
            entry = self.entries[one.name]
            cells = entry.cells
            row: dict[str, Any] = {
                "name": one.name,
                "method": one.method,
                "threads": one.threads,
                "version": one.version,
                "first_call": one.first.get(kind),
                "error": entry.error,
                "peak_mb": max((cell.peak_mb for cell in cells.values()), default=None),
                "gap": min(((c.f - self.best) / task.zero for c in cells.values()), default=None),
                "cells": {f"{tol:.3e}": vars(cell) for tol, cell in cells.items()},
            }
            for gap in GAPS:
                tol = entry.loosest(self.goal(gap))
                row[f"{gap:.0e}"] = None
                if tol is not None:
                    row[f"{gap:.0e}"] = {
                        "tol": tol,
                        "seconds": common.median(cells[tol].seconds),
                        "cpu": common.median(cells[tol].cpu),
                        "runs": len(cells[tol].seconds),
                        "nonzeros": cells[tol].nonzeros,
                    }
            result.append(row)
        return {
            "set": task.name,
            "text": SETS[task.name].text,
            "n": task.X.shape[0],
            "p": task.X.shape[1],
            "entries": int(task.X.nnz if sp.issparse(task.X) else task.X.size),
            "wanted": task.wanted,
            "C": task.C,
            "zero": task.zero,
            "best": self.best,
            "found_by": self.found_by,
            "certified": (self.best - self.lower) / task.zero,
            "rows": result,
        }


def measure(
    name: str,
    wanted: list[int],
    contestants: list[Contestant],
    references: list[Contestant],
    options: Any,
) -> Iterator[dict[str, Any]]:
    """Yield the record of every task of a set."""
    X, y = SETS[name].read(common.data_folder(options.data))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        common.save_problem(folder, X, y)
        for k in wanted:
            race = Race(Task(name, k, X, y, SETS[name].C[k]), folder, options)
            with common.log(f"{name}, {k} features"):
                race.reference(references)
                for number in range(options.repeats):
                    for one in contestants:
                        race.turn(one, number)
            yield race.record(contestants)


# -------------------------------------------------------------------------------------- reports


def task_name(record: dict[str, Any]) -> str:
    """Return the name of a task."""
    return f"{record['set']}, {record['wanted']} features"


def tables(records: list[dict[str, Any]]) -> str:
    """Return a Markdown table for every task, fastest to the last gap first."""
    header = [
        "package",
        "version",
        *(title for g in GAPS for title in (f"s to {g:.0e}", "x best")),
        "CPU s",
        "runs",
        "non-zeros",
        "MB above the data",
        "first call s",
        "note",
    ]
    parts = []
    for record in records:
        keys = [f"{g:.0e}" for g in GAPS]
        best = {
            key: min((r[key]["seconds"] for r in record["rows"] if r[key]), default=np.nan)
            for key in keys
        }
        body = []
        for row in sorted(record["rows"], key=_order):
            cells = []
            for key in keys:
                one = row[key]
                cells += (
                    ["-", "-"]
                    if one is None
                    else [
                        f"{one['seconds']:.4f}",
                        f"{one['seconds'] / best[key]:.1f}",
                    ]
                )
            last = row[keys[-1]] or row[keys[0]]
            cells += (
                ["-", "-", "-"]
                if last is None
                else [f"{last['cpu']:.4f}", last["runs"], last["nonzeros"]]
            )
            cells.append("-" if row["peak_mb"] is None else f"{row['peak_mb']:.0f}")
            cells.append("-" if row["first_call"] is None else f"{row['first_call']:.2f}")
            body.append([row["name"], row["version"], *cells, _note(row)])
        parts.append(
            f"### {task_name(record)}\n\n{record['text']}; {record['n']} x {record['p']}, "
            f"{record['entries']} entries, C = {record['C']:.6g}. f* = {record['best']:.10g} by "
            f"{record['found_by']}, certified within {max(record['certified'], 0):.0e} of "
            f"f(0).\n\n" + common.table(header, body)
        )
    return "\n\n".join(parts)


def _order(row: dict[str, Any]) -> tuple[float, ...]:
    """Return the key by which rows are sorted: the tightest gap first."""
    return tuple(row[f"{g:.0e}"]["seconds"] if row[f"{g:.0e}"] else np.inf for g in GAPS[::-1])


def _note(row: dict[str, Any]) -> str:
    """Return why a row has no figure, or what went wrong beside its figures."""
    if row["error"]:
        return str(row["error"]).replace("|", "/")
    if any(row[f"{g:.0e}"] is None for g in GAPS):
        return f"not reached at its tightest tolerance (gap {row['gap']:.0e})"
    return ""


def duels(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return, for every task and gap, the best of the others beside zeronorm (first solver).

    Where no other package took part, the others are zeronorm's other solvers.
    """
    result = []
    for record in records:
        rows = record["rows"]
        ours = [r for r in rows if r["method"].startswith("zeronorm")]
        ours = [r for r in ours if r["method"] == ours[0]["method"]]
        others = [r for r in rows if not r["method"].startswith("zeronorm")]
        others = others or [r for r in rows if r["method"] != ours[0]["method"]]
        for key in (f"{g:.0e}" for g in GAPS):
            duel: dict[str, Any] = {
                "task": task_name(record),
                "gap": key,
                "there": any(r["cells"] for r in ours),
            }
            for threads in (1, 2):
                duel[f"ours_{threads}"] = _best([r for r in ours if r["threads"] == threads], key)
                duel[f"peer_{threads}"] = _best([r for r in others if r["threads"] <= threads], key)
            result.append(duel)
    return result


def _best(rows: list[dict[str, Any]], key: str) -> tuple[float, str] | None:
    """Return the seconds and the name of the fastest row; None when none reached the gap."""
    return min(((r[key]["seconds"], r["name"]) for r in rows if r[key]), default=None)


def _ratio(duel: dict[str, Any], threads: int) -> float | None:
    ours, peer = duel[f"ours_{threads}"], duel[f"peer_{threads}"]
    return peer[0] / ours[0] if ours and peer else None


def summary(found: list[dict[str, Any]]) -> str:
    """Return the table of duels."""
    body = []
    for duel in found:
        ratios = [_ratio(duel, threads) for threads in (1, 2)]
        show = [
            "-" if one is None else f"{one[0]:.4f}"
            for one in (duel["peer_2"], duel["ours_1"], duel["ours_2"])
        ]
        body.append(
            [
                duel["task"],
                duel["gap"],
                duel["peer_2"][1] if duel["peer_2"] else "none reached it",
                *show,
                *("-" if r is None else f"{r:.2f}" for r in ratios),
            ]
        )
    header = [
        "problem",
        "gap",
        "best peer",
        "its s",
        "zeronorm s, 1 thread",
        "zeronorm s, 2 threads",
        "ratio, 1 thread",
        "ratio, 2 threads",
    ]
    return common.table(header, body)


def judge(found: list[dict[str, Any]]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the geometric means and the bars."""
    there = [duel for duel in found if duel["there"]]
    means: dict[str, Any] = {}
    for threads in (1, 2):
        ratios = [r for duel in found if (r := _ratio(duel, threads)) is not None]
        means[str(threads)] = float(np.exp(np.mean(np.log(ratios)))) if ratios else None
    missed = [f"{d['task']} to {d['gap']}" for d in there if not d["ours_2"]]
    slow = [
        (1 / ratio, f"{d['task']} to {d['gap']}")
        for d in there
        if (ratio := _ratio(d, 2)) is not None and d["ours_2"][0] > 0.02
    ]
    worst = max(slow, default=(0.0, "no row"))
    asked = common.bar(
        "geometric mean of best peer / zeronorm, 2 threads",
        "at least 2",
        "-" if means["2"] is None else f"{means['2']:.2f} (1 thread: {means['1'] or 0:.2f})",
        None if means["2"] is None else means["2"] >= 2,
    )
    never = common.bar(
        "zeronorm, 2 threads / best peer, the worst row where zeronorm needs more than 20 ms",
        "at most 1.5, on every row",
        f"{worst[0]:.2f} ({worst[1]}); above 1.5 on {sum(s[0] > 1.5 for s in slow)} of "
        f"{len(slow)} rows; not reached on {len(missed)}" + (f": {missed}" if missed else "")
        if there
        else "-",
        None if not there else worst[0] <= 1.5 and not missed,
    )
    return means, [asked, never]


def constants(names: list[str], options: Any) -> None:
    """Print, for every wanted number of features, the C at which adelie's path comes nearest."""
    adelie = Contestant("adelie", 1, common.peer_folder(options.peers))
    for name in names:
        X, y = SETS[name].read(common.data_folder(options.data))
        least = 1 / float(np.abs(X.T @ (0.5 * y).astype(X.dtype)).max())
        wanted = sorted(SETS[name].C)
        with tempfile.TemporaryDirectory() as temporary:
            common.save_problem(Path(temporary), X, y)
            del X
            adelie.ask(120.0, op="load", path=temporary)
            coarse = least * 1.15 ** np.arange(1, 80)
            counts = np.array(_path(adelie, coarse, 3 * wanted[-1] // 2 + 50))
            found = {}
            for k in wanted:
                upper = min(int(np.searchsorted(counts, k)), len(counts) - 1)
                low = coarse[upper - 1] if upper else least
                path = [*coarse[:upper], *np.geomspace(low, coarse[upper], 18)[1:]]
                fine = np.array(_path(adelie, path, 2 * k + 50))
                nearest = int(np.argmin(np.abs(fine - k)))
                found[k] = (float(f"{path[nearest]:.4g}"), int(fine[nearest]))
            adelie.ask(120.0, op="drop")
        print(name, {k: c for k, (c, _) in found.items()}, "chosen", [m for _, m in found.values()])
    adelie.close()


def _path(adelie: Contestant, C: Any, most: int) -> list[int]:
    reply = adelie.ask(120.0, op="path", C=list(map(float, C)), most=most)
    return list(reply["nonzeros"])


def main() -> None:
    """Measure and write l1.json and .md."""
    parser = common.parser(__doc__)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--methods", default=",".join(peers.METHODS), help="packages to run")
    parser.add_argument("--solvers", default="auto", help="of zeronorm; the bars are the first's")
    parser.add_argument("--repeats", type=int, default=5, help="turns, the scouting one included")
    parser.add_argument("--limit", type=float, default=60.0, help="CPU seconds for one fit")
    parser.add_argument("--small", action="store_true", help="five small problems, 3 turns")
    parser.add_argument("--constants", action="store_true", help="find the constants C and stop")
    parser.add_argument("--name", default="l1", help="name of the result files")
    parser.add_argument(
        "--keep", action="store_true", help="keep the other problems that the result file has"
    )
    options = parser.parse_args()
    names, methods = options.sets.split(","), options.methods.split(",")
    for option, given, known in (("sets", names, SETS), ("methods", methods, peers.METHODS)):
        if unknown := [one for one in given if one not in known]:
            sys.exit(f"--{option}: unknown {unknown[0]!r}; there are: {', '.join(known)}.")
    if options.constants:
        return constants(names, options)
    wanted = {name: list(SETS[name].C) for name in names}
    if options.small:
        wanted = {name: list(one) for name, one in SMALL.items()}
        options.repeats = min(options.repeats, 3)
        options.limit = min(options.limit, 5.0)
    folder = common.peer_folder(options.peers)
    ours = ["zeronorm" if s == "auto" else f"zeronorm:{s}" for s in options.solvers.split(",")]
    contestants = [
        Contestant(one, threads, folder)
        for method in methods
        for one in (ours if method == "zeronorm" else [method])
        for threads in ((1, 2) if method in THREADED else (1,))
    ]
    named = {one.name: one for one in contestants}
    references = [named.get(method) or Contestant(method, 1, folder) for method in REFERENCES]
    about = common.machine()
    records = common.kept(options.results, options.name) if options.keep else []
    for name, sizes in wanted.items():
        for record in measure(name, sizes, contestants, references, options):
            records = [one for one in records if task_name(one) != task_name(record)] + [record]
            records.sort(key=lambda one: (list(SETS).index(one["set"]), one["wanted"]))
            report(records, about, options)
    for one in contestants + references:
        one.close()


def report(records: list[dict[str, Any]], about: dict[str, Any], options: Any) -> None:
    """Write what there is so far: a run may be ended, and keeps what it measured."""
    found = duels(records)
    means, bars = judge(found)
    asked = ["## Asked beside measured", common.bars_table(bars)]
    among_solvers = options.methods == "zeronorm"  # nothing was asked of their ratios
    text = [
        "# l1-regularised logistic regression, "
        + ("solver by solver" if among_solvers else "package by package"),
        (__doc__ or "").split("\n\n", 2)[2].strip(),
        *([] if among_solvers else asked),
        "## Summary",
        "Ratio = seconds of the best peer / seconds of zeronorm; with one thread against the best "
        "of one thread, with two against the best of any.",
        summary(found),
        "## Problem by problem",
        f"Medians of {options.repeats} turns (a fit below {peers.QUICK} s up to 5 times a turn), "
        f"seconds on the clock; CPU s, runs and non-zeros are those of the tightest gap reached. "
        f"At most {options.limit:.0f} s of CPU for one fit. MB is the peak of resident memory "
        "above the loaded data, conversions included.",
        tables(records),
    ]
    figures = {
        "machine": about,
        "bars": [] if among_solvers else bars,
        "geometric_mean": means,
        "records": records,
    }
    common.write(options.results, options.name, figures, "\n\n".join(text))


if __name__ == "__main__":
    main()
