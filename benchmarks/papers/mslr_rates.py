"""Theorems 2 to 4 of Tan, Tsang and Wang (IEEE TNNLS 24(10), 2013): what converges, and how fast.

The paper: over T blocks S_t of features f(alpha) = max_t f_t(alpha) is minimised over (0, C)^n,
f_t = 1/2 |X_t'(alpha y)|^2 + sum_i alpha_i log alpha_i + (C - alpha_i) log(C - alpha_i), and
F(alpha, q) = 1/q log sum_t exp(q f_t) is f up to log(T) / q. alpha^k is the point after k sweeps of
Algorithm 2, each at its own q_k.

* Theorem 2: alpha^k converges to the minimum of f.
* Lemma 6: at a fixed q a sweep leaves at most the share kappa_q of F(alpha^k, q) - min F, with
  kappa_q = 1 - 1/eta_q, eta_q = q L (|E|^2 q L + 2)^2 n C / (4 min_i |E_i|^2), L = K + 2 K^2, where
  K bounds f_t and its first two derivatives, and E has the rows of all blocks and of the identity.
* Theorem 3: from some k0 on
  f(alpha^k) - f* <= kappa_(q_k)^(k - k0) (f(alpha^k0) - f*) + 2 log(T) / q_k.
* Theorem 4: Algorithm 1 reaches the optimum over all features where its inner problems are solved.

Here: the blocks are those of ten iterations of Algorithm 1, r = 5, without an intercept, C = 10 as
in the paper and C = 0.1; f* by newton, to a certified gap of about 1e-13. A sweep is the compiled
one, with every coordinate to its minimum (|p'| <= 1e-12), all coordinates in a random order. K is
the largest value along the sweeps, which makes kappa smaller than any that is allowed, so that what
keeps it keeps the theorem's; for q < 1, where the paper's bound of the curvature is not said, q L
is L. Errors are relative to n C log 2, the objective without features.

Two schedules of q: the paper's, 1/100 times 5/3 after every sweep (up to 1e15), from alpha =
C/1000 and from C/2, as the paper's start is lost; and ours, q times 5/3 once |gradient of F|^2 C/8,
which bounds F - min F, is at most log(T) / q. By Proposition 2 the error is then at most
2 log(T) / q.

Theorem 4 with newton to 1e-8, until the certified outer gap is 1e-6, for r = 2 and r = 10. Where
the first block already has the optimum, nothing is smoothed, and only Theorem 4 is looked at.

    python benchmarks/papers/mslr_rates.py             # two minutes
    python benchmarks/papers/mslr_rates.py --full      # more sets, more sweeps
    python benchmarks/papers/mslr_rates.py --tiny      # seconds: does the script run
"""

from __future__ import annotations

import contextlib
import importlib
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

import _mslr as mslr
from _mslr import SETS, Curve, Panel, Row, common
from zeronorm.data import as_design
from zeronorm.solvers import CuttingPlane, Task, cutting_plane, newton, run

# The function of this name hides the module in its package.
smoothing = importlib.import_module("zeronorm.published.solvers.smoothing")

BLOCKS, BLOCK = 10, 5
WEIGHTS = (10.0, 0.1)
STARTS = (1e-3, 0.5)  # of C
FIRST_Q, GROWTH, LARGEST_Q = 1 / 100, 5 / 3, 1e15
LEFT = (1e-1, 1e-2, 1e-3)  # 2 log(T) / q of the fixed q, relative
REACHED = 1e-6  # relative errors that count as the optimum
OUTER_BLOCKS = (2, 10)
ROWS, COLUMNS, TRUE = 200, 2000, 20  # of drawn data
BY_SIZE = {
    "tiny": "leukemia",
    "small": "leukemia,pcmac,rcv1_small,mice,arabidopsis",
    "full": "leukemia,leukemia_rows,pcmac,rcv1_small,mice,arabidopsis,mil_image,mnist10k",
}
SWEEPS = {"tiny": 60, "small": 400, "full": 1000}  # of the published schedule
MORE = {"tiny": 300, "small": 3000, "full": 20_000}  # of the others
ITERATIONS = {"tiny": 30, "small": 400, "full": 1000}
COLOURS = ("tab:blue", "tab:red", "tab:green", "tab:orange", "tab:purple", "tab:brown", "tab:gray",
           "tab:olive", "tab:cyan", "tab:pink", "black", "gold")  # fmt: skip
Sets = dict[str, tuple[Any, np.ndarray]]


@contextlib.contextmanager
def exact_minima() -> Iterator[None]:
    """Let sweeps minimise over every coordinate to rounding, as the theorems suppose."""
    before = smoothing.ACCURACY, smoothing.RATIO
    smoothing.ACCURACY, smoothing.RATIO = 1e-12, 0.0
    try:
        yield
    finally:
        smoothing.ACCURACY, smoothing.RATIO = before


def task_of(X: Any, y: np.ndarray) -> Task:
    """Return the problem on columns as they are, without an intercept."""
    return Task.of(as_design(X, n_threads=1), y, intercept=False)


class Inner:
    """The last inner problem of ten iterations, its optimum, and a point that sweeps move."""

    def __init__(self, X: Any, y: np.ndarray, C: float) -> None:
        seen: list[Any] = []

        def watched(blocks: Any, state: Any, tol: float) -> Any:
            seen[:] = [blocks, state]
            return newton(blocks, state, tol)

        plane = CuttingPlane(BLOCK, BLOCKS, watched, inner_tol=1e-9, tol=1e-12)
        run(cutting_plane(task_of(X, y), None, plane, C=C), n_threads=1)
        self.blocks, self.C, self.y = seen[0], C, y
        self.Z, self.E = self.blocks.Z.dense(), self.blocks.membership
        best = newton(*seen, 1e-13)
        # f* is minus the optimum of the primal problem, f without its constant n C log C.
        self.optimum, self.gap = -best.objective, (best.objective - best.bound) / self.scale
        self.T = self.E.shape[1]
        square = self.Z**2 @ self.E  # |z_it|^2
        self.largest = max(self._norm(self.Z[:, part > 0]) for part in self.E.T)
        self.edges = self._norm(self.Z * np.sqrt(self.E.sum(axis=1))) + 1.0  # |E|^2
        self.least = float(square.sum(axis=1).min()) + 1.0  # min |E_i|^2
        self.begin(STARTS[0])

    @staticmethod
    def _norm(A: np.ndarray) -> float:
        return float(np.linalg.norm(A, 2)) ** 2

    @property
    def scale(self) -> float:
        """The objective without features."""
        return float(self.blocks.scale)

    def begin(self, share: float) -> None:
        """Start at alpha = share C."""
        self.rows = smoothing._SmoothedRows(self.blocks, np.random.default_rng(0))
        self.alpha = np.full(self.y.size, share * self.C)
        self.rest = self.C - self.alpha
        self._refresh()

    def sweep(self, q: float) -> None:
        """Minimise over every coordinate once."""
        self.rows.sweep(q, self.alpha, self.rest, self.scores, self.level)
        self._refresh()

    def _refresh(self) -> None:
        self.scores = self.Z.T @ (self.alpha * self.y)
        self.level = 0.5 * (self.E.T @ self.scores**2)
        a, c = self.alpha, self.rest
        self.entropy = float((a * np.log(a / self.C) + c * np.log(c / self.C)).sum())

    def error(self) -> float:
        """Return f - f*, relative."""
        return (float(self.level.max()) + self.entropy - self.optimum) / self.scale

    def _shares(self, q: float) -> tuple[np.ndarray, float]:
        top = float(self.level.max())
        weight = np.exp(q * (self.level - top))
        return weight / weight.sum(), top + math.log(weight.sum()) / q

    def value(self, q: float) -> float:
        """Return F, without the constant."""
        return self._shares(q)[1] + self.entropy

    def left(self, q: float) -> float:
        """Return a bound of F - min F: its curvature is at least 4 / C."""
        d = self.E @ self._shares(q)[0]
        slope = self.y * (self.Z @ (d * self.scores)) + np.log(self.alpha / self.rest)
        return float(slope @ slope) * self.C / 8.0

    def bound(self) -> float:
        """Return what K is at least, from the values and derivatives of all f_t here."""
        constant = self.y.size * self.C * math.log(self.C)
        values = np.abs(self.level + self.entropy + constant).max()
        part = self.y[:, None] * (self.Z @ (self.E * self.scores[:, None]))
        slope = part + np.log(self.alpha / self.rest)[:, None]
        bend = (self.C / (self.alpha * self.rest)).max()
        return float(max(values, np.linalg.norm(slope, axis=0).max(), self.largest, bend))

    def log_eta(self, q: float, K: float) -> float:
        """Return log10 of eta_q."""
        steep = max(q, 1.0) * (K + 2.0 * K * K)
        rest = self.y.size * self.C / (4.0 * self.least)
        return math.log10(steep) + 2.0 * math.log10(self.edges * steep + 2.0) + math.log10(rest)


def published(inner: Inner, share: float, sweeps: int) -> Row:
    """Sweep with the paper's schedule; return what the theorems say of it."""
    inner.begin(share)
    q, K = FIRST_Q, inner.bound()
    errors, qs, falls, inside = [inner.error()], [q], True, True
    for _ in range(sweeps):
        before = inner.value(q)
        inner.sweep(q)
        falls &= inner.value(q) <= before + 1e-12 * max(inner.scale, abs(before))
        inside &= bool((inner.alpha > 0).all() and (inner.rest > 0).all())
        K = max(K, inner.bound())
        errors.append(inner.error())
        q = min(q * GROWTH, LARGEST_Q)
        qs.append(q)
    left = 2.0 * math.log(inner.T) / (np.array(qs) * inner.scale)
    found = np.array(errors)
    # Of q_k, the share that the theorem leaves of the error at k0, over all k: 1 - (k - k0) / eta.
    lost = max(math.log10(max(k, 1)) - inner.log_eta(q, K) for k, q in enumerate(qs))
    k0 = next(
        (k for k in range(len(qs)) if (found[k:] <= found[k] * (1.0 - 10.0**lost) + left[k:]
                                       + 1e-13).all()), None)  # fmt: skip
    below = np.flatnonzero(found <= left + 1e-13)
    above = int(below[-1]) + 1 if below.size else 0  # the first of those that stay above
    return {
        "start": share, "errors": errors, "left": left.tolist(), "falls": falls,
        "inside": inside, "k0": k0, "lost": lost,
        "above": above if above < found.size else None, "last": errors[-1],
        "still": int(np.flatnonzero(found > 1.001 * found[-1])[-1]) + 1,
    }  # fmt: skip


def resolved(inner: Inner, sweeps: int) -> Row:
    """Sweep with q growing once the smoothed problem is solved to log(T) / q."""
    inner.begin(STARTS[0])
    q = math.log(inner.T) / (0.1 * inner.scale)
    errors, ratios = [inner.error()], []
    for _ in range(sweeps):
        inner.sweep(q)
        errors.append(inner.error())
        if inner.left(q) <= math.log(inner.T) / q:
            ratios.append(errors[-1] * inner.scale * q / (2.0 * math.log(inner.T)))
            if errors[-1] <= REACHED:
                break
            q *= GROWTH
    return {"errors": errors, "last": errors[-1], "ratio": max(ratios, default=math.nan)}


def fixed(inner: Inner, left: float, sweeps: int) -> Row:
    """Sweep at one q until F is within 1e-13 of its minimum; return what sweeps leave of it."""
    q = 2.0 * math.log(inner.T) / (left * inner.scale)
    inner.begin(STARTS[0])
    values, K = [inner.value(q)], inner.bound()
    open_ = math.inf
    while len(values) <= sweeps and open_ > 1e-13:
        inner.sweep(q)
        values.append(inner.value(q))
        K = max(K, inner.bound())
        open_ = inner.left(q) / inner.scale
    errors = (np.array(values) - values[-1]) / inner.scale
    shares = [after / before for before, after in pairwise(errors) if before > 1e-9]
    ended = open_ <= 1e-13
    return {
        "left": left, "q": q, "sweeps": len(values) - 1, "ended": ended, "errors": errors.tolist(),
        "share": max(shares, default=0.0) if ended else None,
        "log_eta": inner.log_eta(q, K), "error": inner.error(), "ratio": inner.error() / left,
    }  # fmt: skip


def outer(X: Any, y: np.ndarray, r: int, C: float, iterations: int) -> Row:
    """Run Algorithm 1 to the optimum over all features; return its certified gaps."""
    plane = CuttingPlane(r, iterations, newton, inner_tol=1e-8, tol=REACHED)
    result = run(cutting_plane(task_of(X, y), None, plane, C=C), n_threads=1).result
    scale = C * y.size * math.log(2.0)
    values = [step.objective for step in result.history]
    # The bound that a step holds was found before it: it belongs to the value before.
    bounds = [step.extra["outer_bound"] for step in result.history[1:]] + [result.bounds["outer"]]
    gaps = (np.array(values) - np.maximum.accumulate(bounds)) / scale
    sizes = [step.n_features for step in result.history]
    first = {f"{at:g}": int((gaps <= at).argmax()) + 1 for at in (1e-1, 1e-2, 1e-3, REACHED)
             if (gaps <= at).any()}  # fmt: skip
    tenth = min(BLOCKS, len(gaps)) - 1
    return {
        "r": r, "C": C, "iterations": len(gaps), "status": result.status.name, "first": first,
        "gaps": gaps.tolist(), "last": float(gaps[-1]), "features": sizes[-1],
        "gap_10": float(gaps[tenth]), "features_10": sizes[tenth],
    }  # fmt: skip


def drawn(seed: int) -> tuple[Any, np.ndarray]:
    """Return a normal matrix, and labels by a few of its columns."""
    rng = np.random.default_rng([mslr.FIRST_SEED, seed])
    X = rng.standard_normal((ROWS, COLUMNS))
    y = np.where(X[:, :TRUE] @ rng.standard_normal(TRUE) > 0, 1.0, -1.0)
    return np.asfortranarray(X), y


def measure(sets: Sets, size: str) -> list[Row]:
    """Return a row for every set and C."""
    rows: list[Row] = []
    for name, (X, y) in sets.items():
        for C in WEIGHTS:
            with common.log(f"{name}, C = {C:g}"):
                row: Row = {"set": name, "C": C, "n": len(y), "m": X.shape[1]}
                row["outer"] = [outer(X, y, r, C, ITERATIONS[size]) for r in OUTER_BLOCKS]
                inner = Inner(X, y, C)
                row |= {"gap": inner.gap, "blocks": inner.T}
                if inner.T > 1:
                    row |= {
                        "published": [published(inner, share, SWEEPS[size]) for share in STARTS],
                        "resolved": resolved(inner, MORE[size]),
                        "fixed": [fixed(inner, left, MORE[size]) for left in LEFT],
                    }
                rows.append(row)
    return rows


# --------------------------------------------------------------------------------------- report


def spread(values: Sequence[float], form: str = ".0e") -> str:
    """Return the least and the largest of some numbers."""
    if not values:
        return "-"
    least, most = (format(one, form) for one in (min(values), max(values)))
    return least if least == most else f"{least} to {most}"


def claims(rows: Sequence[Row]) -> list[list[str]]:
    """Return what the theorems say, what was measured, and the verdict."""
    smoothed = [row for row in rows if row["blocks"] > 1]
    runs = [run for row in smoothed for run in row["published"]]
    own = [row["resolved"] for row in smoothed]
    at_q = [one for row in smoothed for one in row["fixed"]]
    ended = [one for one in at_q if one["ended"]]
    outers = [one for row in rows for one in row["outer"]]
    solved = [one for one in outers if one["last"] <= REACHED]
    above = [run["above"] for run in runs if run["above"] is not None]
    first = max((run["k0"] for run in runs if run["k0"] is not None), default="-")
    cases: list[tuple[str, str, Sequence[Row], Callable[[Row], bool]]] = [
        ("Theorem 2: alpha^k converges to the minimum (error 1e-6), published schedule of q",
         f"errors left {spread([run['last'] for run in runs])}; none falls after sweep "
         f"{max((run['still'] for run in runs), default='-')}",
         runs, lambda run: run["last"] <= REACHED),
        ("Lemmas 3, 4 of it: alpha^k stays inside (0, C), F(alpha^k, q_k) never rises",
         f"in {sum(run['falls'] and run['inside'] for run in runs)} of {len(runs)} runs",
         runs, lambda run: run["falls"] and run["inside"]),
        ("Theorem 2 with q growing once the smoothed problem is solved (ours)",
         f"errors left {spread([one['last'] for one in own])}; error / (2 log(T) / q) at most "
         f"{max((one['ratio'] for one in own), default=math.nan):.2f}",
         own, lambda one: one["ratio"] <= 1.0),
        ("Lemma 6 of Theorem 3: at a fixed q every sweep leaves at most kappa_q of the error",
         f"a sweep leaves at most {spread([one['share'] for one in ended], '.2g')}; kappa_q is 1 - "
         f"10^-{min((one['log_eta'] for one in ended), default=math.nan):.0f} or more",
         ended, lambda one: one["share"] <= 1.0 - 10.0 ** -one["log_eta"]),
        ("Theorem 3: its inequality, for all k from a k0 on, published schedule",
         f"k0 at most {first}; its right side keeps all but 10^"
         f"{max((run['lost'] for run in runs), default=math.nan):.0f} of the error at k0",
         runs, lambda run: run["k0"] is not None),
        ("Theorem 3: a fixed q leaves an error of at most 2 log(T) / q",
         f"error / (2 log(T) / q) at most {max(one['ratio'] for one in ended):.2f}" if ended
         else "-", ended, lambda one: one["ratio"] <= 1.0),
        ("Theorem 3: so the error comes down to 2 log(T) / q_k, published schedule",
         f"above it for good from sweep {spread(above, 'd')} on",
         runs, lambda run: run["above"] is None),
        ("Theorem 4: Algorithm 1 reaches the optimum over all features (certified gap 1e-6)",
         f"after {spread([one['iterations'] for one in solved], 'd')} iterations; gap after ten "
         f"{spread([one['gap_10'] for one in outers])}",
         outers, lambda one: one["last"] <= REACHED),
    ]  # fmt: skip
    found = []
    for text, measured, some, good in cases:
        holds = sum(map(good, some))
        word = "-" if not some else "yes" if holds == len(some) else "in part" if holds else "no"
        found.append([text, measured, f"**{word}** ({holds} of {len(some)})" if some else word])
    return found


def tables(rows: Sequence[Row]) -> list[str]:
    """Return the sections of the report: a table for each theorem."""
    second, third, fourth = [], [], []
    for row in rows:
        head = [row["set"], f"{row['n']} x {row['m']}", f"{row['C']:g}"]
        for one in row["outer"]:
            at = [one["first"].get(f"{gap:g}", "-") for gap in (1e-1, 1e-2, 1e-3, REACHED)]
            fourth.append([*head, one["r"], *at, one["features"], f"{one['last']:.0e}",
                           f"{one['gap_10']:.1e}", one["features_10"]])  # fmt: skip
        if row["blocks"] == 1:
            continue
        own = row["resolved"]
        lasts = [f"{one['last']:.1e} (from sweep {one['still']} on)" for one in row["published"]]
        second.append([
            *head, *lasts,
            f"{own['last']:.1e} after {len(own['errors']) - 1}", f"{own['ratio']:.2f}",
        ])  # fmt: skip
        for one in row["fixed"]:
            digit = math.log(0.1) / math.log(one["share"]) if one["share"] else None
            third.append([
                *head, f"{one['q']:.2g}", f"{one['left']:g}", f"{one['error']:.1e}",
                one["sweeps"] if one["ended"] else f"over {one['sweeps']}",
                "-" if one["share"] is None else f"{one['share']:.3f}",
                "-" if digit is None else f"{digit:.3g}", f"10^{one['log_eta']:.0f}",
            ])  # fmt: skip
    set_head = ["set", "size", "C"]
    return [
        "## Theorem 2: the error that is left",
        common.table([*set_head, *(f"published, from {share:g} C" for share in STARTS),
                      "ours, sweeps", "ours, error / (2 log(T)/q)"], second),
        "## Theorem 3: sweeps at a fixed q",
        common.table([*set_head, "q", "2 log(T)/q", "error left", "sweeps to 1e-13",
                      "largest share that a sweep leaves", "sweeps a digit", "eta"], third),
        "## Theorem 4: iterations to a certified gap",
        common.table([*set_head, "r", "0.1", "0.01", "0.001", f"{REACHED:g}", "features",
                      "last gap", "gap after 10", "features then"], fourth),
    ]  # fmt: skip


def exponents(rows: Sequence[Row]) -> str:
    """Return how the sweeps of a digit grow with q, where all fixed q were solved."""
    slopes = []
    for row in rows:
        some = [one for one in row.get("fixed", ()) if one["share"]]
        if len(some) == len(LEFT):
            digits = [-1.0 / math.log(one["share"]) for one in some[-2:]]
            slopes.append(math.log(digits[1] / digits[0]) / math.log(some[-1]["q"] / some[-2]["q"]))
    if not slopes:
        return "No problem was solved at all q."
    return (
        f"Between the two largest q the sweeps of a digit grow as q to the power of "
        f"{np.median(slopes):.2f} (median of {len(slopes)} problems, {spread(slopes, '.2f')}); eta "
        "grows as its third power. An error of e needs a q of about log(T) / e, and so about 1 / e "
        "sweeps: sublinear, as the text says, with another constant."
    )


def panels(rows: Sequence[Row]) -> list[Panel]:
    """Return the figure: a panel for each theorem, at C = 10."""
    floor = 1e-12
    some = [row for row in rows if row["C"] == WEIGHTS[0] and row["blocks"] > 1]
    found: dict[str, list[Curve]] = {"second": [], "third": [], "fourth": []}
    for row, colour in zip(some, COLOURS, strict=False):
        for run_, dashed in ((row["published"][0], False), (row["resolved"], True)):
            y = np.maximum(run_["errors"], floor)[: SWEEPS["small"] // 2]
            found["second"].append(Curve(row["set"], np.arange(y.size), y, colour, "", dashed))
        gaps = np.maximum(row["outer"][-1]["gaps"], floor)
        found["fourth"].append(
            Curve(row["set"], np.arange(1, gaps.size + 1), gaps, colour, "")
        )  # fmt: skip
        one = row["fixed"][-2]
        errors = np.maximum(one["errors"], floor)
        found["third"].append(Curve(row["set"], np.arange(errors.size), errors, colour, ""))
    return [
        Panel("2: error; published q, and ours (dashed)", "sweep", "f - f*, relative",
              found["second"], True),
        Panel(f"3: F - min F at the q of 2 log(T)/q = {LEFT[-2]:g}", "sweep", "relative",
              found["third"], True),
        Panel(f"4: certified outer gap, r = {OUTER_BLOCKS[-1]}", "iteration of Algorithm 1",
              "relative", found["fourth"], True),
    ]  # fmt: skip


def thinned(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with 30 points of every long curve, from the first to the last."""

    def thin(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: thin(one, name) for name, one in value.items()}
        if isinstance(value, list) and key in ("errors", "left", "gaps") and len(value) > 30:
            at = np.unique(np.geomspace(1, len(value), 30).round().astype(int)) - 1
            return {"at": at, "value": [float(f"{value[i]:.4g}") for i in at]}
        return [thin(one) for one in value] if isinstance(value, list) else value

    return [thin(row) for row in rows]


def main() -> None:
    """Measure and write mslr_rates.json, .md and .png."""
    parser = common.parser(__doc__)
    parser.set_defaults(results=common.RESULTS / "papers")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--full", action="store_true", help="more sets, more sweeps")
    how.add_argument("--tiny", action="store_true", help="seconds: does the script run")
    parser.add_argument("--seeds", type=int, default=2, help="draws of the normal matrix")
    parser.add_argument("--sets", default=None, help=f"with commas, of {', '.join(SETS)}")
    chosen = parser.parse_args()
    size = "full" if chosen.full else "tiny" if chosen.tiny else "small"
    names = mslr.pick("--sets", chosen.sets or BY_SIZE[size], SETS)
    common.one_thread()
    folder = mslr.folder_of(chosen.data, names)
    machine = common.machine()
    sets: Sets = {}
    for name in names:
        data = SETS[name].load(name, folder, mslr.FIRST_SEED)
        sets[name] = data.X, data.y
    for seed in range(1 if size == "tiny" else chosen.seeds):
        sets[f"drawn {seed}"] = drawn(seed)
    with exact_minima():
        rows = measure(sets, size)
    title, _, about = (__doc__ or "").strip().partition("\n")
    found = claims(rows)
    text = [f"# {title.rstrip('.')}", f"Size: **{size}**.", about.strip(),
            "## What the paper says", common.table(["what", "measured", "holds"], found),
            *tables(rows), exponents(rows)]  # fmt: skip
    if mslr.draw(chosen.results / "mslr_rates.png", "Theorems 2, 3 and 4, C = 10", panels(rows)):
        text.insert(3, "![Theorems 2 to 4](mslr_rates.png)")
    figures = {"machine": machine, "size": size, "claims": found, "records": thinned(rows)}
    common.write(chosen.results, "mslr_rates", figures, "\n\n".join(text))


if __name__ == "__main__":
    sys.exit(main())
