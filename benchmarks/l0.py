"""The best k features, package by package: objective and seconds at exactly k features.

    python benchmarks/l0.py                       all instances; hours, most of them fastsparsegams
    python benchmarks/l0.py --sets 500x500,madelon --k 10 --methods zeronorm,abess --repeats 1
    python benchmarks/l0.py --sets mice --keep    measured again, the rest of the file stays
    python benchmarks/l0.py --big                 the 5000 x 100000 problem, beside what is there

    min_{u, b}  1/2 ||u||^2 + C sum_i log(1 + exp(-y_i (x_i'u + b)))   subject to  ||u||_0 <= k

Two values of C: 0.1, and 1e6 / n, where the ridge is next to nothing (1e-6 beside a mean loss).
Every package is given the matching ridge. Only its support counts: all are refitted here by one
Newton iteration of this script's own, and compared by the objective divided by C n, the mean loss
plus ||u||^2 / (2 C n). Where the data separate the loss can be made as small as one likes: at the
large C objectives below 1e-6 are ties, and no difference is taken relative to less than that.

What the seconds hold: one complete fit from the standardised X (dense, float64, column order), all
conversions included, imports and the first call on a tiny problem not. zeronorm standardises again,
certifies and refits within its seconds, the others select only. Packages take turns in processes of
their own and hold the data only during their turn. `_l0_peers.py` says what each of them is asked.

The drawn instances: X standard normal, the columns of those named "ar" correlated as an AR(1)
process with 0.9, K coefficients +-U(0.5, 1.5), intercept 0.3, labels from the logistic model; two
seeds each. L0Learn takes no part: its Python package has no file that pip could install here, and
its R package is not among Debian's. fastsparsegams is made from L0Learn and has its local search.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.signal import lfilter
from scipy.special import expit

import _common as common
import _l0_peers as peers
import _protocol as protocol

SIZES = (5, 10, 20)
REGIMES: dict[str, Callable[[int], float]] = {"0.1": lambda _: 0.1, "1e6/n": lambda n: 1e6 / n}
FLOOR = 1e-6  # of a mean loss: below it all separating supports are as good
EQUAL = 1e-7  # relative difference of objectives that are the same
WORSE = 1e-3  # the most that zeronorm may be worse than the best of the others
METHODS = ("zeronorm", "abess", "abess_full", "skscope", "fastsparsegams")
THREADED = ("zeronorm", "abess")
ATTEMPTS = 3  # a process that dies is started again
BIG = {"n": 5000, "p": 100_000, "informative": 300, "variance": 2.0}
BIG_SIZES = (10, 50, 300)

Data = tuple[np.ndarray, np.ndarray, "np.ndarray | None"]  # X, y, informative features


# ---------------------------------------------------------------------------------------- sets


def standardise(X: np.ndarray) -> np.ndarray:
    """Return standardised columns, constant ones dropped."""
    std = X.std(0)
    return np.asfortranarray(((X - X.mean(0)) / np.where(std > 0, std, 1.0))[:, std > 0])


def drawn(n: int, p: int, K: int, rho: float, seed: int) -> Callable[[Path], Data]:
    """Return a reader of an instance as the docstring describes it."""

    def read(_: Path) -> Data:
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((n, p))
        if rho:
            X[:, 1:] *= np.sqrt(1.0 - rho**2)
            X = lfilter([1.0], [1.0, -rho], X, axis=1)
        truth = np.sort(rng.choice(p, K, replace=False))
        w = rng.choice([-1.0, 1.0], K) * rng.uniform(0.5, 1.5, K)
        y = np.where(rng.random(n) < expit(X[:, truth] @ w + 0.3), 1.0, -1.0)
        return standardise(X), y, truth

    return read


def real(name: str) -> Callable[[Path], Data]:
    """Return a reader of a set."""

    def read(folder: Path) -> Data:
        data = protocol.arrays(folder, name)
        X = data["X"].toarray() if sp.issparse(data["X"]) else data["X"]
        return standardise(X.astype(np.float64)), np.where(data["y"] > 0, 1.0, -1.0), None

    return read


SHAPES = {
    "500x500": (500, 500, 10, 0.0),
    "500x1000": (500, 1000, 10, 0.0),
    "1000x1500": (1000, 1500, 10, 0.0),
    "500x1000ar": (500, 1000, 10, 0.9),
    "1000x1500ar": (1000, 1500, 20, 0.9),
}
SEEDS = (90001, 90002)
SETS: dict[str, Callable[[Path], Data]] = {
    **{f"{name}:{seed}": drawn(*shape, seed) for name, shape in SHAPES.items() for seed in SEEDS},
    **{
        name: real(name)
        for name in ("leukemia_golub_split", "prostate_ge", "mice", "madelon", "arcene", "basehock")
    },
}


def chosen(names: str) -> list[str]:
    """Return the sets of a list with commas; a shape stands for all its seeds."""
    result = []
    for name in names.split(","):
        found = [one for one in SETS if name in (one, one.partition(":")[0])]
        if not found:
            sys.exit(f"--sets: unknown set {name!r}; there are: {', '.join([*SHAPES, *SETS])}.")
        result += found
    return result


# --------------------------------------------------------------------------------------- refit


def refit(Z: np.ndarray, y: np.ndarray, C: float) -> tuple[float, bool]:
    """Return the least objective over C n on the columns Z, and whether its model separates y.

    Newton's method with step halving, until rounding ends it.
    """
    n, k = Z.shape
    A = np.hstack([Z, np.ones((n, 1))])
    ridge = np.append(np.full(k, 1.0 / C), 0.0)
    theta = np.zeros(k + 1)

    def value(t: np.ndarray) -> float:
        return float(np.logaddexp(0.0, -y * (A @ t)).sum() + 0.5 * (ridge * t) @ t)

    current = value(theta)
    for _ in range(300):
        s = expit(-y * (A @ theta))
        gradient = ridge * theta - A.T @ (y * s)
        H = (A.T * (s * (1.0 - s))) @ A + np.diag(ridge)
        H[-1, -1] += 1e-14 * n  # all rows saturated: the intercept has no curvature
        unit = 1.0 / np.sqrt(np.diag(H))
        step = unit * np.linalg.solve(H * unit[:, None] * unit, unit * gradient)
        length = 1.0
        while (new := value(theta - length * step)) >= current and length > 1e-12:
            length *= 0.5
        if new >= current:
            break
        decrease, theta, current = current - new, theta - length * step, new
        if decrease < 1e-15 * current:
            break
    return current / n, bool((y * (A @ theta)).min() > 0)


# --------------------------------------------------------------------------------- contestants


class Contestant:
    """A method with a number of threads, in a process that is started again when it died."""

    def __init__(self, method: str, threads: int, options: Any, module: ModuleType = peers) -> None:
        self.method, self.threads = method, threads
        self.name = method if threads == 1 else f"{method}, {threads} threads"
        self.version = ""
        folder = common.peer_folder(options.peers)
        self._script = Path(str(module.__file__)).name
        self._python = common.interpreter(module.METHODS[method][0], folder)
        self._process: common.Peer | None = None
        self._data: dict[str, Any] = {}
        self._gb = 0.0

    def load(self, gb: float = 0.0, **data: Any) -> dict[str, Any]:
        """Hand over the data, with a bound on the address space if given."""
        self._data, self._gb = data, gb
        if self._process is None or not self._process.alive:
            if self._python is None:
                raise common.PeerError("not installed")
            process = common.Peer(self.method, self._python, self.threads, self._script)
            self._process = process
            self.version = process.ask(120.0, op="version")["version"]
            process.ask(120.0, op="warm")
            if gb:
                process.ask(120.0, op="limit", gb=gb)
        return self._process.ask(120.0, op="load", **data)

    def fit(self, limit: float, **request: Any) -> dict[str, Any]:
        """Fit; a crash is tried again in a new process with the same data."""
        for attempt in range(ATTEMPTS):
            if self._process is None or not self._process.alive:
                self.load(self._gb, **self._data)
            assert self._process is not None
            try:
                return self._process.ask(limit, op="fit", **request) | {"crashes": attempt}
            except common.PeerError as error:
                crashed = "ended with code" in str(error)
                if not crashed or self._gb or attempt == ATTEMPTS - 1:
                    raise
        raise AssertionError

    def drop(self) -> None:
        """Let it free the data."""
        if self._process is not None and self._process.alive:
            self._process.ask(120.0, op="drop")

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()
            self._process = None


# ------------------------------------------------------------------------------------ measuring


@dataclass
class Entry:
    """What a contestant did on one problem."""

    support: list[int] = field(default_factory=list)
    how: str = ""
    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    peak_mb: float = 0.0
    crashes: int = 0
    error: str = ""

    def take(self, reply: dict[str, Any]) -> None:
        """Add a reply."""
        self.support, self.how = reply["support"], reply["how"]
        self.seconds += reply["seconds"]
        self.cpu += reply["cpu"]
        self.peak_mb = max(self.peak_mb, reply["peak_mb"])
        self.crashes += reply["crashes"]


def measure(name: str, contestants: list[Contestant], options: Any) -> Iterator[dict[str, Any]]:
    """Yield a record for every size and C on one set."""
    X, y, truth = SETS[name](common.data_folder(options.data))
    n, p = X.shape
    problems = [(k, regime) for regime in options.regimes for k in options.sizes]
    entries = {(one.name, *problem): Entry() for one in contestants for problem in problems}
    with tempfile.TemporaryDirectory() as temporary, common.log(f"{name}, {n} x {p}"):
        common.save_problem(Path(temporary), X, y)
        for turn in range(options.repeats):
            for one in contestants:
                try:
                    one.load(path=temporary)
                except common.PeerError as error:
                    for problem in problems:
                        entries[one.name, *problem].error = str(error)
                    continue
                for k, regime in problems:
                    entry = entries[one.name, k, regime]
                    if entry.error or (turn and max(entry.seconds) > options.long):
                        continue
                    try:
                        C = REGIMES[regime](n)
                        entry.take(one.fit(options.limit, k=k, C=C, repeats=5))
                    except common.PeerError as error:
                        entry.error = str(error)
                one.drop()
    for k, regime in problems:
        rows = [judged(one, entries[one.name, k, regime], X, y, k, regime) for one in contestants]
        record = {"set": name, "n": n, "p": p, "k": k, "regime": regime, "rows": rows}
        if truth is not None:
            record["informative"] = truth.tolist()
        yield record


def judged(
    one: Contestant, entry: Entry, X: np.ndarray, y: np.ndarray, k: int, regime: str
) -> dict[str, Any]:
    """Return what a contestant did, with the objective of its support."""
    row = {"name": one.name, "method": one.method, "threads": one.threads, "version": one.version}
    row |= vars(entry) | {"objective": None, "separates": None, "median": None}
    support = np.unique(entry.support)
    if support.size == k and entry.seconds:
        C = REGIMES[regime](len(y))
        row["objective"], row["separates"] = refit(X[:, support], y, C)
        row["median"] = common.median(entry.seconds)
    elif not entry.error:
        row["error"] = f"{support.size} features"
    return row


def big(contestants: list[Contestant], options: Any) -> Iterator[dict[str, Any]]:
    """Yield CPU seconds and memory of one fit of every size on the 5000 x 100000 problem."""
    data = protocol.Synthetic(**BIG)
    y, truth = data.labels(), data.truth[0]
    for one in contestants:
        # An address space holds more than what is resident: libraries, stacks, unused heaps.
        bound = 0.0 if one.method == "zeronorm" else options.gb
        for k in BIG_SIZES:
            record: dict[str, Any] = {"name": one.name, "k": k, "error": ""}
            with common.log(f"5000 x 100000, k = {k}, {one.name}"):
                try:
                    loaded = one.load(bound, synthetic=BIG)
                    reply = one.fit(options.big_limit, k=k, C=0.1, repeats=1)
                    support = np.unique(reply["support"])
                    Z = data.columns(support)
                    record |= {
                        "version": one.version,
                        "seconds": reply["seconds"][0],
                        "cpu": reply["cpu"][0],
                        "peak_mb": reply["peak_mb"],
                        "x_mb": loaded["x_mb"],
                        "how": reply["how"],
                        "found": int(np.isin(support, truth).sum()),
                        "features": int(support.size),
                        "objective": refit((Z - Z.mean(0)) / Z.std(0), y, 0.1)[0],
                        "support": support.tolist(),
                    }
                except common.PeerError as error:
                    record["error"] = f"{error}, under {bound:.0f} GB" if bound else str(error)
                finally:
                    one.close()
            yield record


# -------------------------------------------------------------------------------------- reports


def duel(record: dict[str, Any]) -> dict[str, Any] | None:
    """Return zeronorm beside the best of the others; None where one of the two is missing."""
    ours = [r for r in record["rows"] if r["method"] == "zeronorm" and r["objective"] is not None]
    others = [r for r in record["rows"] if r["method"] != "zeronorm"]
    others = [r for r in others if r["objective"] is not None]
    if not ours or not others:
        return None
    best = min(others, key=lambda r: r["objective"])
    value, peer = max(r["objective"] for r in ours), best["objective"]
    floor = FLOOR if record["regime"] == "1e6/n" else 0.0
    tie = max(value, peer) <= floor
    difference = 0.0 if tie else (value - peer) / max(peer, floor)
    return {
        "difference": difference,
        "best": best["name"],
        "separated": ours[0]["separates"] and best["separates"],
    }


def seconds(record: dict[str, Any], name: str) -> float | None:
    """Return the seconds of a contestant."""
    found = [r["median"] for r in record["rows"] if r["name"] == name]
    return found[0] if found else None


def ratios(records: list[dict[str, Any]], ours: str, peer: str) -> list[float]:
    """Return the seconds of zeronorm over those of another, where both have some."""
    pairs = [(seconds(record, ours), seconds(record, peer)) for record in records]
    return [a / b for a, b in pairs if a and b]


def geometric(values: list[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(values)))) if values else np.nan


def label(record: dict[str, Any]) -> str:
    """Return the name of a problem."""
    return f"{record['set']}, k = {record['k']}, C = {record['regime']}"


def judge(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what was asked beside what was measured."""
    duels = [(label(record), one) for record in records if (one := duel(record))]
    # A problem on which zeronorm ran past the limit is a lost one.
    ours = [[r for r in x["rows"] if r["method"] == "zeronorm"] for x in records]
    failed = sum(bool(rows) and all(r["objective"] is None for r in rows) for rows in ours)
    total = len(duels) + failed
    worst = max(duels, key=lambda one: one[1]["difference"], default=None)
    there = bool(duels)
    above = sum(one["difference"] > WORSE for _, one in duels)
    better = sum(one["difference"] < -EQUAL for _, one in duels)
    equal = sum(abs(one["difference"]) <= EQUAL for _, one in duels)
    bars = [
        common.bar(
            "objective beside the best of the others",
            "never worse by more than 0.1 %",
            f"at most {100 * worst[1]['difference']:+.3f} % ({worst[0]}: {worst[1]['best']}); "
            f"worse by more than 0.1 % in {above} of {total}, no result in {failed}"
            if worst
            else "-",
            above + failed == 0 if there else None,
        ),
        common.bar(
            "objective better than the best of the others or equal",
            "in at least 9 of 10",
            f"{better + equal} of {total} (better in {better}, equal in {equal})",
            better + equal >= 0.9 * total if there else None,
        ),
    ]
    for suffix, threads in (("", "1 thread"), (", 2 threads", "2 threads")):
        found = ratios(records, f"zeronorm{suffix}", f"abess{suffix}")
        bars.append(
            common.bar(
                f"seconds of zeronorm / abess, geometric mean, {threads}",
                "at most 0.5",
                f"{geometric(found):.2f} ({min(found):.2f} to {max(found):.2f})" if found else "-",
                geometric(found) <= 0.5 if found else None,
            )
        )
    for peer in ("abess_full", "skscope", "fastsparsegams"):
        if found := ratios(records, "zeronorm", peer):
            bars.append(
                common.bar(
                    f"seconds of zeronorm / {peer}, geometric mean, 1 thread",
                    "nothing",
                    f"{geometric(found):.2f} ({min(found):.2f} to {max(found):.2f})",
                    None,
                )
            )
    return bars


def summary(records: list[dict[str, Any]]) -> str:
    """Return how zeronorm compares with each of the others."""
    body = []
    methods = dict.fromkeys(r["method"] for record in records for r in record["rows"])
    for regime in REGIMES:
        part = [record for record in records if record["regime"] == regime]
        for method in methods:
            if method == "zeronorm":
                continue
            found = []
            for record in part:
                rows = [r for r in record["rows"] if r["method"] in ("zeronorm", method)]
                if one := duel(record | {"rows": rows}):
                    found.append(one["difference"])
            if found:
                body.append(
                    [
                        regime,
                        method,
                        sum(d < -EQUAL for d in found),
                        sum(abs(d) <= EQUAL for d in found),
                        sum(EQUAL < d <= WORSE for d in found),
                        sum(d > WORSE for d in found),
                        f"{100 * float(np.median(found)):+.3f} %",
                        f"{geometric(ratios(part, 'zeronorm', method)):.2f}",
                    ]
                )
    header = [
        "C",
        "beside",
        "zeronorm better",
        "equal",
        "worse by up to 0.1 %",
        "worse by more",
        "median difference",
        "seconds / its seconds",
    ]
    return common.table(header, body)


def objectives(records: list[dict[str, Any]]) -> str:
    """Return the table of objectives, a line for every problem."""
    names = list(dict.fromkeys(r["name"] for x in records for r in x["rows"] if r["threads"] == 1))
    body = []
    for record in records:
        rows = {r["name"]: r for r in record["rows"]}
        one = duel(record)
        line: list[Any] = [record["set"], record["k"], record["regime"]]
        for name in names:
            row = rows.get(name)
            mark = "*" if row and row["separates"] else ""
            line.append(f"{row['objective']:.6g}{mark}" if row and row["objective"] else "-")
        line.append(f"{100 * one['difference']:+.3f} % ({one['best']})" if one else "-")
        if "informative" in record:
            truth = record["informative"]
            hits = (
                str(np.isin(rows[name]["support"], truth).sum()) if name in rows else "-"
                for name in names
            )
            line.append(f"{' / '.join(hits)} of {len(truth)}")
        else:
            line.append("-")
        body.append(line)
    header = ["set", "k", "C", *names, "zeronorm beside the best other", "informative features"]
    return common.table(header, body)


def timings(records: list[dict[str, Any]]) -> str:
    """Return the table of seconds, a line for every problem."""
    names = list(dict.fromkeys(r["name"] for record in records for r in record["rows"]))
    body = []
    for record in records:
        line: list[Any] = [record["set"], record["k"], record["regime"]]
        line += ["-" if (s := seconds(record, name)) is None else f"{s:.4f}" for name in names]
        for suffix in ("", ", 2 threads"):
            ratio = ratios([record], f"zeronorm{suffix}", f"abess{suffix}")
            line.append(f"{ratio[0]:.2f}" if ratio else "-")
        body.append(line)
    shares = ["zeronorm / abess", "the same, 2 threads"]
    return common.table(["set", "k", "C", *names, *shares], body)


def troubles(records: list[dict[str, Any]]) -> str:
    """Return what went wrong, and how sizes were reached where a size cannot be asked for."""
    lines = []
    for name in dict.fromkeys(r["name"] for record in records for r in record["rows"]):
        found = [(label(x), r) for x in records for r in x["rows"] if r["name"] == name]
        errors: dict[str, list[str]] = {}
        for where, row in found:
            if row["error"]:
                errors.setdefault(row["error"], []).append(where)
        lines += [
            f"- {name}: {error.replace('|', '/')}: on {len(where)} problems"
            + (f" ({'; '.join(where)})" if len(where) <= 6 else "")
            for error, where in errors.items()
        ]
        if crashes := sum(row["crashes"] for _, row in found):
            lines.append(f"- {name}: died {crashes} times, and was started again each time")
        if cuts := [where for where, row in found if "cut from" in row["how"]]:
            lines.append(f"- {name}: no model of {len(cuts)} paths had k features: cut from more")
    return "\n".join(lines) or "Nothing went wrong."


def big_text(records: list[dict[str, Any]]) -> str:
    """Return the table of the large problem."""
    body = []
    for r in sorted(records, key=lambda r: r["k"]):
        if r["error"]:
            body.append([r["k"], r["name"], *["-"] * 5, r["error"]])
            continue
        body.append(
            [
                r["k"],
                f"{r['name']} {r['version']}",
                f"{r['cpu']:.2f}",
                f"{r['seconds']:.2f}",
                f"{r['peak_mb']:.0f}",
                f"{r['objective']:.6f}",
                f"{r['found']} of {r['features']}",
                r["how"],
            ]
        )
    header = ["k", "package", "CPU s", "s", "MB beyond X", "objective", "informative", "how"]
    return (
        "X gaussian float32 in column order (2000 MB), labels by the sign of 300 columns, C = 0.1; "
        "one fit each, in a process of its own. The others have a bound on their address space and "
        "on their seconds of CPU; what does not fit is listed.\n\n" + common.table(header, body)
    )


def report(
    records: list[dict[str, Any]],
    large: list[dict[str, Any]],
    about: dict[str, Any],
    options: Any,
) -> None:
    """Write what there is so far: a run may be ended, and keeps what it measured."""
    bars = judge(records)
    text = [
        "# The best k features, package by package",
        (__doc__ or "").split("\n\n", 2)[2].strip(),
        "## Asked beside measured",
        common.bars_table(bars),
        "## Package by package",
        "On how many problems zeronorm's objective is better, equal or worse; the median of "
        "(zeronorm - it) / it; and the geometric mean of the seconds, one thread each.",
        summary(records),
        "## Objectives",
        "Of the refitted supports; * marks a model that separates the classes. The informative "
        "features found are in the order of the packages.",
        objectives(records),
        "## Seconds",
        f"On the clock, medians of {options.repeats} turns (a fit below {peers.QUICK} s five "
        f"times a turn, one above {options.long:.0f} s in one turn); at most "
        f"{options.limit:.0f} s of CPU for a fit.",
        timings(records),
        "## Trouble",
        troubles(records),
    ]
    if large:
        text += ["## 10, 50 and 300 of 100,000 features", big_text(large)]
    figures = {"machine": about, "bars": bars, "records": records, "big": large}
    common.write(options.results, "l0", figures, "\n\n".join(text))


def main() -> None:
    """Measure and write l0.json and .md."""
    parser = common.parser(__doc__)
    parser.add_argument("--sets", default=",".join(SETS), help="500x500 takes all its seeds")
    parser.add_argument("--k", default=",".join(map(str, SIZES)))
    parser.add_argument("--C", default=",".join(REGIMES), help=f"of {', '.join(REGIMES)}")
    parser.add_argument("--methods", default=",".join(METHODS), help="packages to run")
    parser.add_argument("--threads", default="1,2", help="of those that have threads")
    parser.add_argument("--repeats", type=int, default=3, help="turns")
    parser.add_argument("--limit", type=float, default=60.0, help="CPU seconds for one fit")
    parser.add_argument("--long", type=float, default=10.0, help="seconds of a fit made only once")
    parser.add_argument("--keep", action="store_true", help="keep what else the result file has")
    parser.add_argument("--big", action="store_true", help="only the large problem; keeps the rest")
    parser.add_argument("--gb", type=float, default=24.0, help="--big: memory of the others")
    parser.add_argument("--big-limit", type=float, default=300.0, help="--big: CPU s of a fit")
    options = parser.parse_args()
    names, methods = chosen(options.sets), options.methods.split(",")
    options.sizes, options.regimes = list(map(int, options.k.split(","))), options.C.split(",")
    options.threads = list(map(int, options.threads.split(",")))
    for option, given, known in (
        ("methods", methods, peers.METHODS),
        ("C", options.regimes, REGIMES),
    ):
        if unknown := [one for one in given if one not in known]:
            sys.exit(f"--{option}: unknown {unknown[0]!r}; there are: {', '.join(known)}.")
    about = common.machine()
    before = common.earlier(options.results, "l0") if options.keep or options.big else {}
    records = before.get("records", [])
    large = before.get("big", [])
    if options.big:
        for one in big([Contestant(method, 1, options) for method in methods], options):
            same = (one["name"], one["k"])
            large = [old for old in large if (old["name"], old["k"]) != same] + [one]
            report(records, large, about, options)
        return
    contestants = [
        Contestant(method, threads, options)
        for method in methods
        for threads in (options.threads if method in THREADED else (1,))
    ]
    order = list(SETS)
    for name in names:
        for record in measure(name, contestants, options):
            records = [one for one in records if label(one) != label(record)] + [record]
        records.sort(key=lambda r: (r["regime"], order.index(r["set"]), r["k"]))
        report(records, large, about, options)
    for one in contestants:
        one.close()


if __name__ == "__main__":
    main()
