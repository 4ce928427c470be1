"""Exactly k features for numbers, counts, survival times and several outputs, by package.

    python benchmarks/targets.py
    python benchmarks/targets.py --sets chop,nki70 --repeats 1 --splits 2
    python benchmarks/targets.py --splits 0 --time-limit 1 --name targets_seconds
    python benchmarks/targets.py --sets srbct,glioma --keep    these anew, the others as they were
    python benchmarks/targets.py --time-limit 0                all fits anew, proofs as they were

    min_{u, b}  1/2 ||u||^2 + C sum_i f(y_i, x_i'u + b)   subject to  ||u||_0 <= k,     C = 0.1

on standardised columns, f half the deviance (for survival times Cox's partial likelihood). Where a
row has several outputs (classes, responses), u_j is the row of its coefficients. Three
questions: what objective and what seconds does each package's support of all rows cost; how good is
it on new rows, selected on two thirds of the rows and judged by the same refit (ours, C by
approximate leave-one-out or by folds); how far can our supports be from the best, by `certify` and
by `prove` within a minute.

Only supports count: all are refitted here by L-BFGS on formulas of this script. What the seconds
hold: one complete fit from the standardised X (dense, float64, column order), all conversions
included, imports and the first call on tiny problems not. Bars have CPU seconds, which the load of
the machine changes less; tables have wall seconds. zeronorm standardises again, certifies
and refits within its seconds. Packages of penalties (adelie, skglm) follow their path to the first
solution with k features or more, and give the k largest of it. Packages take turns in processes of
their own. `_target_peers.py` says what each of them is asked.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

import _common as common
import _protocol as protocol

C = 0.1
SIZES = (5, 10)
SECONDS = ("seconds", "cpu_seconds")  # of the wall, of the process
FIT_LIMIT = 30.0  # seconds that the fits of a method for one size may take
EQUAL = 1e-6  # relative difference of objectives that are the same
OURS = ("zeronorm", "zeronorm_raw", "zeronorm_l0", "zeronorm_l0_4")
METHODS = (*OURS, "abess", "abess_0", "adelie", "skglm")
ENVIRONMENT = {**dict.fromkeys(OURS, "zeronorm"), "abess_0": "abess"}


@dataclass(frozen=True)
class Problem:
    """One set as all packages get it."""

    family: str  # "gaussian", "poisson", "cox", "multinomial" or "multigaussian"
    X: np.ndarray  # (n, p) as it is
    y: np.ndarray  # (n,), or (n, 2) of time and event, or (n, responses)
    offset: np.ndarray | None = None

    def rows(self, index: np.ndarray) -> Problem:
        """Return some rows."""
        offset = None if self.offset is None else self.offset[index]
        return Problem(self.family, self.X[index], self.y[index], offset)


def survival(name: str) -> Callable[[Path], Problem]:
    """Return a reader of times and events."""

    def read(folder: Path) -> Problem:
        data = protocol.arrays(folder, name)
        y = np.column_stack([data["time"], data["event"]]).astype(np.float64)
        return Problem("cox", data["X"].astype(np.float64), y)

    return read


def numbers(name: str) -> Callable[[Path], Problem]:
    """Return a reader of a numeric target, the first one where there are several."""

    def read(folder: Path) -> Problem:
        data = protocol.arrays(folder, name)
        y = np.asarray(data["y"] if "y" in data else data["Y"], np.float64)
        return Problem("gaussian", data["X"].astype(np.float64), y if y.ndim == 1 else y[:, 0])

    return read


def classes(name: str, key: str = "X") -> Callable[[Path], Problem]:
    """Return a reader of several classes."""

    def read(folder: Path) -> Problem:
        data = protocol.arrays(folder, name)
        y = np.unique(data["y"], return_inverse=True)[1]
        return Problem("multinomial", data[key].astype(np.float64), y)

    return read


def responses(name: str, key: str = "y") -> Callable[[Path], Problem]:
    """Return a reader of several responses, each standardised: their units are not comparable."""

    def read(folder: Path) -> Problem:
        data = protocol.arrays(folder, name)
        y = np.asarray(data[key], np.float64)
        return Problem("multigaussian", data["X"].astype(np.float64), (y - y.mean(0)) / y.std(0))

    return read


def rates(folder: Path) -> Problem:
    """Return murders in communities, with log(population) as offset; sizes are no features."""
    data = protocol.arrays(folder, "communities_counts")
    keep = ~np.isin(data["names"], ["population", "numbUrban"])
    offset = np.log(data["exposure"] / 1e5)
    return Problem("poisson", data["X"][:, keep].astype(np.float64), data["y"] * 1.0, offset)


def counts(folder: Path) -> Problem:
    """Return the drawn counts of glmnet's vignette."""
    data = protocol.arrays(folder, "poisson_example")
    return Problem("poisson", data["X"].astype(np.float64), data["y"].astype(np.float64))


SETS: dict[str, Callable[[Path], Problem]] = {
    **{name: survival(name) for name in ("chop", "nki70", "metastasis_gse7390", "cox_example")},
    **{name: numbers(name) for name in ("riboflavin", "gasoline", "tecator", "cookie", "trim32")},
    "communities_rates": rates,
    "poisson_example": counts,
    **{name: classes(name) for name in ("srbct", "lymphoma3", "glioma", "breast_tcga")},
    "h5ad_example": classes("h5ad_example", "X_scaled"),
    "tecator_3": responses("tecator", "Y"),
    "cookie_4": responses("cookie", "Y"),
    "yeast_18": responses("yeast_cellcycle"),
}


# ------------------------------------------------------------------------------------ formulas


def loss(problem: Problem, z: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the summed loss of margins, and its gradient."""
    y = problem.y
    if problem.offset is not None:
        z = z + problem.offset
    if problem.family in ("gaussian", "multigaussian"):
        return 0.5 * float(((y - z) ** 2).sum()), z - y
    if problem.family == "multinomial":
        shares = softmax(z, axis=1)
        own = np.arange(len(y)), y
        value = float((logsumexp(z, axis=1) - z[own]).sum())
        shares[own] -= 1.0
        return value, shares
    if problem.family == "poisson":
        saturated = np.where(y > 0, y * np.log(np.where(y > 0, y, 1.0)) - y, 0.0)
        mean = np.exp(np.minimum(z, 300.0))
        return float((mean - y * z + saturated).sum()), mean - y
    time, event = y.T
    value, gradient, largest = 0.0, np.zeros(len(z)), z.max()
    size = np.exp(z - largest)
    for t in np.unique(time[event > 0]):
        dead, risk = (event > 0) & (time == t), time >= t
        D, S = dead.sum(), size[risk].sum()
        value += D * (np.log(S / D) + largest) - z[dead].sum()
        gradient[risk] += D * size[risk] / S
        gradient[dead] -= 1.0
    return value, gradient


def standardise(X: np.ndarray) -> np.ndarray:
    """Return standardised columns, constant ones dropped."""
    std = X.std(0)
    usable = std > 1e-12 * np.abs(X).max(0)
    return np.asfortranarray((X[:, usable] - X[:, usable].mean(0)) / std[usable])


def objective(problem: Problem, Z: np.ndarray) -> float:
    """Return the least objective on some standardised columns."""
    shape = {"multinomial": (problem.y.max() + 1,), "multigaussian": problem.y.shape[1:]}
    outputs = shape.get(problem.family, ())

    def value(flat: np.ndarray) -> tuple[float, np.ndarray]:
        v = flat.reshape(-1, *outputs)
        f, g = loss(problem, Z @ v[1:] + v[0])
        gradient = np.concatenate([C * g.sum(0, keepdims=True), v[1:] + C * (Z.T @ g)])
        return 0.5 * float((v[1:] ** 2).sum()) + C * f, gradient.ravel()

    start = np.zeros((Z.shape[1] + 1) * int(np.prod(outputs)))
    if problem.family == "gaussian":
        start[0] = problem.y.mean()
    if problem.family == "poisson":
        exposure = len(problem.y) if problem.offset is None else np.exp(problem.offset).sum()
        start[0] = np.log(problem.y.sum() / exposure)
    found = minimize(value, start, jac=True, method="L-BFGS-B",
                     options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-10})  # fmt: skip
    return float(found.fun)


# ----------------------------------------------------------------------------------- measuring


def ours(problem: Problem, k: int, **options: Any) -> Any:
    """Return our fitted model."""
    from zeronorm import BudgetClassifier, BudgetRegressor, BudgetSurvivalAnalysis

    if problem.family == "cox":
        return BudgetSurvivalAnalysis(k, **options).fit(problem.X, target(problem))
    if problem.family == "multinomial":
        return BudgetClassifier(k, calibrate=False, **options).fit(problem.X, problem.y)
    squares = problem.family.endswith("gaussian")
    loss_name = "least_squares" if squares else problem.family
    model = BudgetRegressor(k, loss=loss_name, **options)
    return model.fit(problem.X, problem.y, offset=problem.offset)


def target(problem: Problem) -> np.ndarray:
    """Return y as our estimators take it."""
    if problem.family != "cox":
        return problem.y
    return np.rec.fromarrays([problem.y[:, 1] > 0, problem.y[:, 0]], names="event,time")


def score(problem: Problem, test: Problem, support: np.ndarray) -> float:
    """Return the score on new rows of the refit of a support.

    R^2, the share of the deviance, Harrell's C, or the share of rows in their own class.
    """
    few = Problem(problem.family, problem.X[:, support], problem.y, problem.offset)
    outputs = problem.family in ("multinomial", "multigaussian")
    model = ours(few, support.size, method="pool" if outputs else "l0")
    options = {} if test.offset is None else {"offset": test.offset}
    return float(model.score(test.X[:, support], target(test), **options))


def verified(problem: Problem, certificate: Any, options: dict[str, Any]) -> float:
    """Return to which rtol a certificate is verified: the default, or what rounding needs."""
    import zeronorm
    from zeronorm.verification import UndecidedError

    for rtol in (1e-10, 1e-9):
        try:
            zeronorm.verify(certificate, problem.X, target(problem), rtol=rtol, **options)
        except UndecidedError:
            continue
        return rtol
    raise RuntimeError("the certificate cannot be verified to 1e-9.")


def certified(problem: Problem, k: int, time_limit: float) -> dict[str, Any]:
    """Return the certified gaps of our default and of a proof in so many seconds, with seconds."""
    import zeronorm

    seconds, _, model = common.clock(lambda: ours(problem, k, C=C))
    options = {} if problem.offset is None else {"offset": problem.offset}
    wall, _, proof = common.clock(
        lambda: zeronorm.prove(
            model, problem.X, target(problem), gap=0.01, time_limit=time_limit, **options
        )
    )
    rtol = verified(problem, proof.certificate, options)
    return {
        "fit_gap": model.certificate_.gap,
        "fit_seconds": seconds,
        "gap": proof.certificate.gap,
        "seconds": wall,
        "status": proof.status.name,
        "rtol": rtol,
    }


def measure(name: str, options: Any) -> list[dict[str, Any]]:
    """Return a record for every size of one set."""
    problem = SETS[name](common.data_folder(options.data))
    n = len(problem.y)
    usable = problem.X.std(0) > 1e-12 * np.abs(problem.X).max(0)
    problem = Problem(problem.family, problem.X[:, usable], problem.y, problem.offset)
    peers = {one: _started(one, options) for one in options.methods}
    records = []
    with common.log(f"{name}, {n} x {problem.X.shape[1]}"):
        whole = {
            k: {one: {"seconds": [], "cpu_seconds": [], "error": ""} for one in peers}
            for k in options.sizes
        }  # by method
        with tempfile.TemporaryDirectory() as temporary:
            _save(Path(temporary), problem)
            for _ in range(options.repeats):
                for one, peer in peers.items():
                    _fit_all(peer, temporary, problem.family, {k: whole[k][one] for k in whole})
        Z = standardise(problem.X)
        splits = []
        for seed in range(options.splits):
            order = np.random.default_rng(seed).permutation(n)
            train, test = problem.rows(order[: 2 * n // 3]), problem.rows(order[2 * n // 3 :])
            found = {
                k: {one: {"seconds": [], "cpu_seconds": [], "error": ""} for one in peers}
                for k in options.sizes
            }
            with tempfile.TemporaryDirectory() as temporary:
                keep = _save(Path(temporary), train)
                for one, peer in peers.items():
                    _fit_all(peer, temporary, problem.family, {k: found[k][one] for k in found})
            for k in options.sizes:
                for entry in found[k].values():
                    if "support" in entry:
                        entry["score"] = score(train, test, keep[np.array(entry["support"])])
            splits.append(found)
        for k in options.sizes:
            rows = []
            for one in peers:
                entry = whole[k][one]
                row = {"method": one} | {key: entry[key] for key in ("error", *SECONDS)}
                row["objective"] = None
                if "support" in entry and len(entry["support"]) == k:
                    row["objective"] = objective(problem, Z[:, entry["support"]])
                scores = [split[k][one].get("score") for split in splits]
                row["scores"] = scores
                rows.append(row)
            record = {"set": name, "family": problem.family, "n": n, "p": problem.X.shape[1]}
            record |= {"k": k, "rows": rows}
            known = [one for one in options.known if (one["set"], one["k"]) == (name, k)]
            record["certified"] = (
                known[0]["certified"]
                if options.time_limit == 0
                else certified(problem, k, options.time_limit)
            )
            records.append(record)
    for peer in peers.values():
        if not isinstance(peer, str):
            peer.close()
    return records


def _save(folder: Path, problem: Problem) -> np.ndarray:
    """Write a problem where peers find it; return its columns that vary."""
    std = problem.X.std(0)
    keep = np.flatnonzero(std > 1e-12 * np.abs(problem.X).max(0))
    common.save_problem(folder, standardise(problem.X), problem.y)
    if problem.offset is not None:
        np.save(folder / "offset.npy", problem.offset)
    return keep


def _started(method: str, options: Any) -> Any:
    """Return the process of a method, or why there is none."""
    folder = common.peer_folder(options.peers)
    python = common.interpreter(ENVIRONMENT.get(method, method), folder)
    if python is None:
        return "not installed"
    peer = common.Peer(method, python, options.threads, "_target_peers.py")
    try:
        peer.ask(300.0, op="version")
        peer.ask(300.0, op="warm")
    except common.PeerError as error:
        return str(error)
    return peer


def _fit_all(peer: Any, folder: str, family: str, entries: dict[int, dict[str, Any]]) -> None:
    """Let a method fit all sizes, and keep what it did."""
    if isinstance(peer, str):
        for entry in entries.values():
            entry["error"] = peer
        return
    try:
        peer.ask(120.0, op="load", path=folder)
    except common.PeerError as error:
        for entry in entries.values():
            entry["error"] = str(error)
        return
    for k, entry in entries.items():
        if entry["error"]:
            continue
        try:
            reply = peer.ask(FIT_LIMIT, op="fit", k=k, family=family, C=C, repeats=5)
        except common.PeerError as error:
            entry["error"] = str(error)
            continue
        entry["support"] = reply["support"]
        for kind in SECONDS:
            entry[kind] = entry[kind] + list(reply[kind])
    if peer.alive:
        peer.ask(120.0, op="drop")


# ------------------------------------------------------------------------------------- reports


def best_peer(record: dict[str, Any]) -> float | None:
    """Return the best objective of the others."""
    found = [
        row["objective"]
        for row in record["rows"]
        if not row["method"].startswith("zeronorm") and row["objective"] is not None
    ]
    return min(found, default=None)


def row_of(record: dict[str, Any], method: str) -> dict[str, Any]:
    """Return the row of a method."""
    return next(row for row in record["rows"] if row["method"] == method)


def geometric(values: list[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(values)))) if values else float("nan")


def abess_of(record: dict[str, Any]) -> dict[str, Any]:
    """Return the better row of abess: with the ridge, or without."""
    rows = [row for row in record["rows"] if row["method"].startswith("abess")]
    known = [row for row in rows if row["objective"] is not None]
    return min(known, key=lambda row: float(row["objective"]), default=rows[0])


def seconds_bars(records: list[dict[str, Any]], method: str, what: str) -> list[dict[str, Any]]:
    """Return the CPU seconds of a method beside those of the fastest package for exactly k."""
    ratios: dict[str, list[float]] = {"one output": [], "several outputs": []}
    for record in records:
        peer, own = abess_of(record)["cpu_seconds"], row_of(record, method)["cpu_seconds"]
        if method == "zeronorm_raw":  # where nothing is calibrated it is the same
            own = own or row_of(record, "zeronorm")["cpu_seconds"]
        if peer and own:
            outputs = "several outputs" if record["family"].startswith("multi") else "one output"
            ratios[outputs].append(common.median(own) / common.median(peer))
    return [
        common.bar(
            f"{what} / abess, {outputs}, geometric mean", "at most 0.5",
            f"{geometric(some):.2f} ({min(some):.2f} to {max(some):.2f})",
            geometric(some) <= 0.5,
        )
        for outputs, some in ratios.items() if some
    ]  # fmt: skip


def bars_of(records: list[dict[str, Any]], methods: list[str]) -> list[dict[str, Any]]:
    """Return what was asked beside what was measured."""
    bars = []
    for method in ("zeronorm", "zeronorm_l0", "zeronorm_l0_4"):
        if method not in methods:
            continue
        away = []
        for record in records:
            best, own = best_peer(record), row_of(record, method)["objective"]
            if best is not None and own is not None:
                away.append(((own - best) / best, f"{record['set']}, k = {record['k']}"))
        if not away:
            continue
        worst = max(away)
        good = sum(one <= EQUAL for one, _ in away)
        bars.append(
            common.bar(
                f"objective of {method} beside the best of the others", "at most +0.1 %",
                f"{100 * worst[0]:+.3f} % ({worst[1]})", worst[0] <= 1e-3,
            )
        )  # fmt: skip
        bars.append(
            common.bar(
                f"objective of {method} better or equal", "nine of ten",
                f"{good} of {len(away)}", good >= 0.9 * len(away),
            )
        )  # fmt: skip
        bars += seconds_bars(records, method, f"CPU seconds of {method}")
    if "zeronorm_raw" in methods:
        what = "CPU seconds of zeronorm without calibration"
        bars += seconds_bars(records, "zeronorm_raw", what)
    shared = [one for one in records if (one["set"], one["k"]) == ("srbct", 10)]
    for record in shared:
        gap = record["certified"]["gap"]
        bars.append(
            common.bar(
                "certified gap of srbct, k = 10, four classes, within 60 s", "at most 1 %",
                f"{100 * gap:.2f} %", gap <= 0.01,
            )
        )  # fmt: skip
    cox = [record for record in records if record["family"] == "cox"]
    if cox:
        wide = [one for one in cox if one["certified"]["gap"] > 0.01]
        what = ", ".join(
            f"{one['set']} k = {one['k']}: {100 * one['certified']['gap']:.1f} %" for one in wide
        )
        bars.append(
            common.bar(
                "certified gap of survival models within 60 s", "at most 1 %",
                f"{len(cox) - len(wide)} of {len(cox)}" + (f" (not {what})" if what else ""),
                not wide,
            )
        )  # fmt: skip
    return bars


def tables(records: list[dict[str, Any]], methods: list[str]) -> str:
    """Return the tables of objectives with seconds, of scores, and of certificates."""
    body = []
    rows = []
    for record in records:
        known = [r["objective"] for r in record["rows"] if r["objective"] is not None]
        cells = [f"{record['set']} ({record['family']})", f"{record['n']} x {record['p']}"]
        cells.append(str(record["k"]))
        for method in methods:
            one = row_of(record, method)
            if one["objective"] is None:
                cells.append(one["error"][:40] or "-")
                continue
            more = 100 * (one["objective"] / min(known) - 1.0)
            seconds = common.median(one["seconds"])
            cells.append(f"{'best' if more < 1e-4 else f'+{more:.2f} %'}, {seconds:.3g} s")
        rows.append(cells)
    body += ["Objective above the best of the row, and median seconds.", ""]
    body += [common.table(["set", "size", "k", *methods], rows), ""]
    rows = []
    for record in records:
        cells = [record["set"], str(record["k"])]
        ours = np.array(row_of(record, methods[0])["scores"], float)
        for method in methods:
            scores = np.array(row_of(record, method)["scores"], float)
            if np.isnan(scores).all() or not scores.size:
                cells.append("-")
                continue
            away = scores - ours
            error = away.std(ddof=1) / np.sqrt(away.size) if away.size > 1 else np.nan
            text = f"{np.nanmean(scores):.3f}"
            cells.append(
                text if method == methods[0] else f"{text} ({away.mean():+.3f} +- {error:.3f})"
            )
        rows.append(cells)
    body += [
        "Score on new rows (R^2, share of the deviance, Harrell's C, accuracy), mean over splits; "
        "in brackets less ours, with its standard error over splits, which share rows.",
        "",
    ]
    body += [common.table(["set", "k", *methods], rows), ""]
    rows = [
        [
            one["set"], str(one["k"]), f"{100 * one['certified']['fit_gap']:.2f} %",
            f"{one['certified']['fit_seconds']:.2f}", f"{100 * one['certified']['gap']:.3f} %",
            f"{one['certified']['seconds']:.1f}", one["certified"]["status"],
            f"{one['certified']['rtol']:g}",
        ]
        for one in records
    ]  # fmt: skip
    body += [
        "Certificates of the default fit, and of `prove(gap=0.01, time_limit=...)` from there.",
        "",
    ]
    head = [
        "set",
        "k",
        "gap of the fit",
        "its seconds",
        "gap of the proof",
        "its seconds",
        "status",
        "verified to",
    ]
    body += [common.table(head, rows), ""]
    return "\n".join(body)


def main() -> None:
    """Run."""
    parser = common.parser(__doc__)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--time-limit", type=float, default=60.0, help="seconds of a proof; 0: keep"
    )
    parser.add_argument("--keep", action="store_true", help="keep the rows of other sets")
    parser.add_argument("--name", default="targets", help="of the results")
    options = parser.parse_args()
    options.sizes = [int(one) for one in options.sizes.split(",")]
    options.methods = options.methods.split(",")
    unknown = [name for name in options.sets.split(",") if name not in SETS]
    if unknown:
        sys.exit(f"--sets: unknown set {unknown[0]!r}; there are: {', '.join(SETS)}.")
    about = common.machine()
    options.known = common.kept(options.results, options.name)
    records = options.known if options.keep else []
    for name in options.sets.split(","):
        others = [one for one in records if one["set"] != name]
        records = sorted(
            [*others, *measure(name, options)], key=lambda one: [*SETS].index(one["set"])
        )
        bars = bars_of(records, options.methods)
        text = [
            "# Numbers, counts, survival times, classes and responses at exactly k features",
            "",
            common.bars_table(bars),
            "",
            tables(records, options.methods),
        ]
        data = {"machine": about, "bars": bars, "records": records}
        common.write(options.results, options.name, data, "\n".join(text))


if __name__ == "__main__":
    main()
