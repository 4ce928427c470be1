"""Proofs beside those of other packages, and models beside those of packages without proofs.

    python benchmarks/rivals.py
    python benchmarks/rivals.py --sets "ar 1000;trim32, k = 5" --time-limit 5 --keep
    python benchmarks/rivals.py --tiny     objectives and bounds beside all supports of 18 columns

    min_{u, b}  1/2 ||u||^2 + C sum_i f(y_i, x_i'u + b)   subject to  ||u||_0 <= k

f half the square for numbers and the logistic loss for classes. Those named "ar" are the drawn
instances of `bounded.py` (n = p, correlations 0.5^|i - j|, ten coefficients of 1, C = 1, k = 10),
the others gene expression. Columns are standardised and numbers centred beforehand, so that b = 0
is the best for numbers, and packages with an intercept and without one have the same problem.
`_rival_peers.py` says how each package is asked for it, and how its bound becomes one of this
problem. Only supports count: all objectives are those of a refit by this script, and the gap is
(objective - bound) / objective of this refit and the bound; where the model has not k features, of
the best refit of all.

Two kinds of proof. `zeronorm` and `l0bnb` prove among models whose coefficients are at most M:
M = 2 for the drawn ones, and for real ones, where nothing is known, 1.2 times the largest one of
our best model, which is l0bnb's own rule. `zeronorm_free` and `okridge` prove among all models.

l0bnb has a penalty l0 ||u||_0 in place of a size. With the objectives f_k of the best models that
we find (four searches by exchanges), its optimum has k features for penalties between f_k - f_{k+1}
and f_{k-1} - f_k, and then proves the same: it is told the geometric mean of the two and the model
of k - 1 features, to start from, and the seconds that this takes are not counted. Where there is no
penalty between, none has k features. `l0bnb_path`
is what its user does instead, and returns no bound.

Every package has the same time limit and the same threads, in a process of its own; a search for a
proof ends at a gap of 1e-4. Seconds hold everything from the standardised X, conversions included,
but not imports, nor the first call on a tiny problem. The bounds of others are as they state them,
but for one check: a bound above the best objective of this script, among models of the same
coefficients, is false and said to be. Ours are replayed by `zeronorm.verify` as well in
`bounded.py` and `certificates.py`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import _common as common
import _protocol as protocol
import _rival_peers as peers
import bounded
import l0
from zeronorm import BudgetRegressor, methods

NAME = "rivals"
GAP = 1e-4  # a search ends there
MULTIPLE = 1.2  # of the largest coefficient, where no bound is known
SAME = 1e-6  # relative difference of equal objectives
TIMES = (1.0, 5.0)  # seconds at which gaps are told
OPPONENTS = (("zeronorm", ("l0bnb",)), ("zeronorm_free", ("okridge",)))  # of the same kind

Row = dict[str, Any]
Data = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Instance:
    """Data and a problem."""

    name: str
    read: Callable[[Path], Data]
    numbers: bool
    k: int
    C: float
    most: float | None = None  # the largest coefficient; None: from our best model


def drawn(n: int, numbers: bool, _: Path) -> Data:
    """Return an instance of `bounded.py`."""
    return bounded.chain(n, numbers)


def small(seed: int, numbers: bool, _: Path) -> Data:
    """Return an instance with few enough supports of three features to fit them all."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 18))
    X[:, 1:] += 0.8 * X[:, :-1]
    y = X[:, [2, 7, 12]] @ [1.0, -1.0, 1.0] + 2.0 * rng.standard_normal(40)
    return X, y if numbers else (y > 0).astype(int)


def real(name: str, folder: Path) -> Data:
    """Return a set as it is."""
    data = protocol.arrays(folder, name)
    return data["X"].astype(np.float64), np.asarray(data["y"], np.float64)


def instances() -> list[Instance]:
    """Return all of them."""
    found = [
        Instance(f"ar {n}", partial(drawn, n, True), True, 10, 1.0, 2.0) for n in (1000, 2000, 4000)
    ]
    for name, k, C in (("riboflavin", 5, 0.1), ("trim32", 5, 0.1)):
        found.append(Instance(f"{name}, k = {k}", partial(real, name), True, k, C))
    for n in (1000, 2000):
        found.append(Instance(f"ar {n}, classes", partial(drawn, n, False), False, 10, 1.0, 2.0))
    found.append(Instance("colon, classes", partial(real, "colon_alon"), False, 10, 0.1))
    return found


def prepared(instance: Instance, folder: Path) -> Data:
    """Return standardised columns, and centred numbers or -1 and +1."""
    X, y = instance.read(folder)
    y = y - y.mean() if instance.numbers else np.where(y > 0, 1.0, -1.0)
    return l0.standardise(X), y


# ------------------------------------------------------------------------------------ measuring


def refitted(instance: Instance, X: np.ndarray, y: np.ndarray, support: Any) -> tuple[float, float]:
    """Return the objective of a support, and its largest coefficient (0 for classes)."""
    Z = X[:, np.asarray(support, int)]
    if not instance.numbers:
        return l0.refit(Z, y, instance.C)[0] * instance.C * len(y), 0.0
    u = np.linalg.solve(Z.T @ Z + np.eye(Z.shape[1]) / instance.C, Z.T @ y)
    r = y - Z @ u
    return 0.5 * instance.C * float(r @ r) + 0.5 * float(u @ u), float(np.abs(u).max())


def told(instance: Instance, X: np.ndarray, y: np.ndarray) -> Row:
    """Return what no package finds out by itself: the penalty of k features, and M."""
    if not instance.numbers:
        return dict.fromkeys(("penalty", "window")) | {
            "most": instance.most, "smaller": [], "found": np.inf,
        }  # fmt: skip
    k = instance.k
    best, smaller = {}, []
    for size in (k - 1, k, k + 1):
        model = BudgetRegressor(
            size, C=instance.C, method=methods.L0(n_starts=4), standardize=False,
            fit_intercept=False,
        ).fit(X, y)  # fmt: skip
        best[size] = refitted(instance, X, y, model.support_)
        smaller = smaller or model.support_.tolist()
    low, high = ((best[a][0] - best[b][0]) / instance.C for a, b in ((k, k + 1), (k - 1, k)))
    most = MULTIPLE * best[k][1] if instance.most is None else instance.most
    penalty = float(np.sqrt(low * high)) if 0.0 < low < high else None
    return {
        "penalty": penalty, "most": most, "window": [low, high], "smaller": smaller,
        "found": best[k][0],
    }  # fmt: skip


def measure(instance: Instance, contestants: list[l0.Contestant], options: Any) -> Row:
    """Return what all packages did on an instance."""
    X, y = prepared(instance, common.data_folder(options.data))
    known = told(instance, X, y)
    request = {
        "family": "numbers" if instance.numbers else "classes",
        "k": instance.k, "C": instance.C, "most": known["most"], "penalty": known["penalty"],
        "smaller": known["smaller"], "gap": GAP, "seconds": options.time_limit,
    }  # fmt: skip
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        common.save_problem(Path(temporary), X, y)
        for one in contestants:
            if not instance.numbers and one.method in peers.NUMBERS_ONLY:
                continue
            if one.method == "zeronorm_free" and known["most"] is None:
                continue  # the same as zeronorm
            with common.log(f"{instance.name}, {one.method}"):
                rows.append(asked(one, temporary, request, options) | {"method": one.method})
    for row in rows:
        row["objective"], row["largest"] = np.inf, 0.0
        if len(row["support"]) == instance.k:
            row["objective"], row["largest"] = refitted(instance, X, y, row["support"])
    least = min(known["found"], *(row["objective"] for row in rows))
    for row in rows:
        if row["bound"] is not None:
            own = row["objective"] if np.isfinite(row["objective"]) else least
            row["gap"] = max(1.0 - row["bound"] / own, 0.0)
    result = {"name": instance.name, "n": len(y), "p": X.shape[1], "numbers": instance.numbers}
    return result | {"k": instance.k, "C": instance.C, **known, "rows": rows}


def check(instance: Instance, record: Row, folder: Path) -> None:
    """End the script where something contradicts the fits of all supports."""
    X, y = prepared(instance, folder)
    supports = combinations(range(X.shape[1]), instance.k)
    optimum = min(refitted(instance, X, y, some)[0] for some in supports)
    for row in record["rows"]:
        proven = row["bound"] is not None and row["gap"] <= GAP
        wrong = row["objective"] < optimum * (1.0 - SAME) or (
            row["bound"] is not None and row["bound"] > optimum * (1.0 + SAME)
        )
        if wrong or (proven and row["objective"] > optimum * (1.0 + 2.0 * GAP)):
            sys.exit(f"{instance.name}: {row['method']} contradicts the optimum {optimum}: {row}.")


def asked(one: l0.Contestant, folder: str, request: Row, options: Any) -> Row:
    """Return the reply of a package, or why there is none."""
    empty = {"support": [], "bound": None, "course": None, "seconds": None, "how": "", "error": ""}
    try:
        one.load(options.gb, path=folder)
        reply = one.fit(6.0 * options.threads * options.time_limit, **request)
    except common.PeerError as error:
        return empty | {"error": str(error), "version": one.version}
    one.drop()
    return empty | reply | {"version": one.version}


# -------------------------------------------------------------------------------------- reports


def reference(record: Row, method: str) -> float:
    """Return the least objective that a bound of this method must not exceed."""
    limit = record["most"] if method in ("zeronorm", "l0bnb") else None
    fair = [one["objective"] for one in record["rows"] if limit is None or one["largest"] <= limit]
    return min(fair)


def is_false(record: Row, row: Row) -> bool:
    """Return whether a bound is above an objective that exists."""
    return bool(row["bound"] > reference(record, row["method"]) * (1.0 + GAP))


def gap_at(row: Row, seconds: float) -> str:
    """Return the gap after some seconds, of the bound and the objective of that time."""
    then = [step for step in row["course"] or [] if step[0] <= seconds]
    if not then:
        return "-"
    _, objective, bound = then[-1]
    return percent(max(1.0 - bound / objective, 0.0))


def percent(value: float) -> str:
    """Return a share."""
    return f"{100 * value:.2f} %" if value > GAP else "proven"


def section(record: Row) -> str:
    """Return the table of an instance."""
    least = min(row["objective"] for row in record["rows"])
    body = []
    for row in record["rows"]:
        name = f"{row['method']} {row['version']}"
        if row["error"]:
            wall = "-" if row["seconds"] is None else f"{row['seconds']:.2f}"
            body.append([name, wall, "-", *["-"] * len(TIMES), "-", row["error"].replace("|", "/")])
            continue
        above = row["objective"] / least - 1.0 if np.isfinite(row["objective"]) else np.inf
        word = "best" if above <= SAME else f"+{100 * above:.3g} %"
        word = word if np.isfinite(above) else f"{len(row['support'])} features"
        end = "no bounds" if row["bound"] is None else percent(row["gap"])
        if row["bound"] is not None and is_false(record, row):
            end = "**false bound**"
        body.append(
            [name, f"{row['seconds']:.2f}", word, *(gap_at(row, t) for t in TIMES), end, row["how"]]
        )
    gaps = [*(f"gap at {t:g} s" for t in TIMES), "gap at the end"]
    table = common.table(["package", "s", "objective", *gaps, "how"], body)
    title = f"### {record['name']}: {record['n']} x {record['p']}, k = {record['k']}"
    notes = [f"C = {record['C']:g}"]
    if record["most"] is not None:
        notes.append(f"M = {record['most']:.3g}")
    if record["window"] is not None:
        low, high = record["window"]
        notes.append(f"penalties of {record['k']} features from {low:.3g} to {high:.3g}")
    return f"{title}\n\n{', '.join(notes)}.\n\n{table}"


def judge(records: list[Row]) -> list[Row]:
    """Return what was asked beside what was measured."""
    worst, where = 0.0, "-"
    for record in records:
        rows = {row["method"]: row for row in record["rows"] if np.isfinite(row["objective"])}
        others = [row["objective"] for name, row in rows.items() if "zeronorm" not in name]
        if "zeronorm" in rows and others:
            above = rows["zeronorm"]["objective"] / min(others) - 1.0
            if above > worst:
                worst, where = above, record["name"]
    bars = [
        common.bar(
            "objective of zeronorm beside the best of the others",
            "never worse by more than 0.1 %",
            f"at most {100 * worst:+.3f} % ({where})",
            worst <= l0.WORSE if records else None,
        )
    ]
    for ours, others in OPPONENTS:
        for other in others:
            bars += opposed(records, ours, other)
    return bars


def opposed(records: list[Row], ours: str, other: str) -> list[Row]:
    """Return the gaps and seconds of two that prove the same."""
    nearer, total, ratios = 0, 0, []
    for record in records:
        rows = {row["method"]: row for row in record["rows"]}
        a, b = rows.get(ours), rows.get(other)
        if a is None or b is None or not record["numbers"]:
            continue
        total += 1
        gaps = [1.0 if one["error"] or is_false(record, one) else one["gap"] for one in (a, b)]
        nearer += gaps[0] <= max(gaps[1], GAP)
        if max(gaps) <= GAP:
            ratios.append(a["seconds"] / b["seconds"])
    span = f"{min(ratios):.3g} to {max(ratios):.3g}" if ratios else "-"
    return [
        common.bar(
            f"gap of {ours} at the end, beside {other}'s", "never larger",
            f"not larger on {nearer} of {total}", nearer == total if total else None,
        ),
        common.bar(
            f"seconds of {ours} / {other}'s, where both prove", "at most 1",
            f"{span} on {len(ratios)}", max(ratios) <= 1.0 if ratios else None,
        ),
    ]  # fmt: skip


def report(records: list[Row], about: dict[str, Any], options: Any) -> None:
    """Write what there is so far."""
    bars = judge(records)
    text = [
        "# Proofs and models, package by package",
        (__doc__ or "").split("\n\n", 2)[2].strip(),
        f"Time limit {options.time_limit:g} s, {options.threads} threads.",
        common.bars_table(bars),
        *(section(record) for record in records),
    ]
    figures = {"machine": about, "bars": bars, "records": records}
    common.write(options.results, NAME, figures, "\n\n".join(text))


def main() -> None:
    """Measure and write rivals.json and .md."""
    parser = common.parser(__doc__)
    every = instances()
    parser.add_argument("--sets", default=";".join(one.name for one in every), help="with ;")
    parser.add_argument("--methods", default=",".join(peers.METHODS))
    parser.add_argument("--time-limit", type=float, default=15.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--gb", type=float, default=16.0, help="address space of a package")
    parser.add_argument("--keep", action="store_true", help="keep what else the result file has")
    parser.add_argument("--tiny", action="store_true", help="is it right: small instances")
    options = parser.parse_args()
    names, chosen = options.sets.split(";"), options.methods.split(",")
    for given, there, option in (
        (names, [one.name for one in every], "sets"),
        (chosen, list(peers.METHODS), "methods"),
    ):
        if unknown := [one for one in given if one not in there]:
            sys.exit(f"--{option}: unknown {unknown[0]!r}; there are: {', '.join(there)}.")
    if options.tiny:
        every = [
            Instance(f"small {seed}, C = {C:g}", partial(small, seed, numbers), numbers, 3, C)
            for seed, (numbers, C) in enumerate(((True, 1.0), (True, 0.02), (False, 1.0)))
        ]
        names = [one.name for one in every]
    about = common.machine()
    kept = common.kept(options.results, NAME) if options.keep else []
    found = {record["name"]: record for record in kept}
    contestants = [l0.Contestant(one, options.threads, options, peers) for one in chosen]
    for instance in every:
        if instance.name in names:
            found[instance.name] = measure(instance, contestants, options)
            if options.tiny:
                check(instance, found[instance.name], common.data_folder(options.data))
    for one in contestants:
        one.close()
    report([found[one.name] for one in every if one.name in found], about, options)


if __name__ == "__main__":
    main()
