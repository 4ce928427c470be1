"""Accuracy of exactly k features: the protocol of the specification, rerun on new splits.

    python benchmarks/quality.py                        every set of the protocol that is here
    python benchmarks/quality.py --sets unseen          sets that no default was chosen on
    python benchmarks/quality.py --sets relathe,arcene --repeats 2 --methods zeronorm,l1_exact

Every method selects k columns from training rows, on the same standardised columns; all end with
the same L2 refit (C by approximate leave-one-out; `_protocol.refit`) but zeronorm, whose own refit
follows the same rule. Results are kept in .cache/quality.jsonl, a line per set, split, k and
method, so that a rerun computes only what is missing; lines of zeronorm are valid for the sources
they were made with (`--reuse` takes older ones).
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import _common as common
import _protocol as protocol

SIZES = (5, 10, 20, 50, 100)
METHODS = ("zeronorm", "l1_exact", "abess", "minimax_published", "marginal")
EXTRA = ("zeronorm_direct",)
OURS = ("zeronorm", "minimax_published", *EXTRA)
NAMES = {
    "zeronorm": "BudgetClassifier",
    "zeronorm_direct": "MinimaxLogisticRegression",
    "minimax_published": "minimax as published",
    "l1_exact": "l1, exactly k",
    "abess": "abess",
    "marginal": "marginal correlation",
}
Row = dict[str, Any]


# ------------------------------------------------------------------------------------ one task


def run_task(
    data: Path, name: str, seed: int, method: str, sizes: list[int], limit: float, abess: str | None
) -> list[Row]:
    """Return a row for every size of one method on one split."""
    problem = protocol.problem(data, name, seed)
    usable = [k for k in sizes if k <= problem.select.shape[1]]
    if method == "abess":
        rows = _abess(problem, usable, limit, abess)
    elif method == "l1_exact":
        rows = _l1(problem, usable)
    elif method == "marginal":
        order = np.argsort(-protocol.correlation(problem.select, problem.y), kind="stable")
        rows = [{"k": k, **protocol.judge(problem, order[:k])} for k in usable]
    else:
        rows = [_ours(problem, method, k) for k in usable]
    rows += [{"k": k, "skipped": "fewer columns than k"} for k in sizes if k not in usable]
    code = common.code_digest() if method in OURS else ""
    return [{"set": name, "seed": seed, "method": method, "code": code, **row} for row in rows]


def _l1(problem: protocol.Problem, sizes: list[int]) -> list[Row]:
    seconds, _, path = common.clock(lambda: protocol.l1_path(problem.select, problem.y, max(sizes)))
    rows = []
    for k in sizes:
        support, own = path.exactly(k)
        row = {"k": k, "seconds": seconds, "own": own, **protocol.judge(problem, support)}
        rows.append(row)
    return rows


def _abess(
    problem: protocol.Problem, sizes: list[int], limit: float, python: str | None
) -> list[Row]:
    if python is None:
        return [{"k": k, "skipped": "abess is not installed"} for k in sizes]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, common.Peer("abess", python) as peer:
        common.save_problem(Path(folder), problem.select, problem.y)
        peer.ask(op="load", path=folder)
        failure = ""
        for k in sizes:
            if failure:
                rows.append({"k": k, "skipped": f"not run: a smaller k was {failure}"})
                continue
            try:
                reply = peer.ask(limit, op="fit", k=k)
            except common.PeerError as error:
                failure = str(error)
                rows.append({"k": k, "skipped": failure})
                continue
            support = np.array(reply["support"], dtype=np.int64)
            rows.append(
                {
                    "k": k,
                    "seconds": reply["seconds"],
                    "own": int(support.size),
                    **protocol.judge(problem, _top_up(problem, support, k)),
                }
            )
    return rows


def _top_up(problem: protocol.Problem, support: np.ndarray, k: int) -> np.ndarray:
    if support.size >= k:
        return support[:k]
    order = np.argsort(-protocol.correlation(problem.select, problem.y), kind="stable")
    rest = order[~np.isin(order, support)]
    return np.concatenate([support, rest[: k - support.size]])


def _ours(problem: protocol.Problem, method: str, k: int) -> Row:
    from zeronorm import BudgetClassifier
    from zeronorm.published import MinimaxLogisticRegression

    X, y = problem.user, problem.y
    if method == "minimax_published":
        # The paper scales nothing itself: it gets the standardised columns as they are.
        model = MinimaxLogisticRegression.as_published(k).set_params(n_threads=1)
        seconds, _, _ = common.clock(lambda: model.fit(problem.select, y))
        return {"k": k, "seconds": seconds, **protocol.judge(problem, model.support_)}
    # Calibration changes no decision and no order: the seconds are those of the selection.
    if method == "zeronorm_direct":
        model = MinimaxLogisticRegression(k, calibrate=False, n_threads=1)
    else:
        model = BudgetClassifier(k, calibrate=False, n_threads=1)
    seconds, _, _ = common.clock(lambda: model.fit(X, y))
    decision = np.asarray(model.decision_function(problem.test))
    return {
        "k": k,
        "seconds": seconds,
        "accuracy": protocol.accuracy(decision, problem.y_test),
        "auc": protocol.auc(decision, problem.y_test),
        # The same support under the common refit: shows that no refit is favoured.
        "accuracy_common": protocol.judge(problem, model.support_)["accuracy"],
    }


# --------------------------------------------------------------------------------------- cache


class Cache:
    """Rows by set, seed, k and method; ours only for the present sources unless `reuse`."""

    def __init__(self, path: Path, reuse: bool, refresh: set[str]) -> None:
        self.path = path
        self.code = common.code_digest()
        self.rows: dict[tuple[str, int, int, str], Row] = {}
        self._fresh = refresh
        if path.exists():
            for line in path.read_text().splitlines():
                row = json.loads(line)
                present = row["code"] in ("", self.code)
                if reuse or present:
                    self._keep(row, stored=True)
                if reuse and not present:
                    common.reuse(path.name)

    def _keep(self, row: Row, stored: bool = False) -> None:
        if not (stored and row["method"] in self._fresh):
            self.rows[row["set"], row["seed"], row["k"], row["method"]] = row

    def add(self, rows: list[Row]) -> None:
        """Keep new rows, in memory and in the file."""
        with self.path.open("a") as file:
            for row in rows:
                file.write(json.dumps(row) + "\n")
                self._keep(row)

    def fail(self, name: str, seed: int, method: str, sizes: list[int], why: str) -> None:
        """Keep for the report of this run, not in the file, that a task failed."""
        for k in sizes:
            row = {"set": name, "seed": seed, "method": method, "k": k, "skipped": why[:200]}
            self._keep(row)

    def missing(self, name: str, seed: int, method: str, sizes: list[int]) -> list[int]:
        """Return the sizes not yet computed."""
        return [k for k in sizes if (name, seed, k, method) not in self.rows]


def compute(
    cache: Cache, names: list[str], methods: list[str], sizes: list[int], options: Any
) -> None:
    """Run what is missing, the largest sets first, and keep it in the cache."""
    python = common.interpreter("abess", common.peer_folder(options.peers))
    data = common.data_folder(options.data)
    tasks = []
    for name in names:
        for method in methods:
            for seed in protocol.seeds(name, options.repeats):
                todo = cache.missing(name, seed, method, sizes)
                if todo:
                    tasks.append((data, name, seed, method, todo, options.limit, python))
    if not tasks:
        return
    # Each process gets one BLAS thread; the tasks are what runs in parallel.
    os.environ.update(dict.fromkeys(common.THREAD_VARIABLES, "1"))
    start = time.perf_counter()
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        pending = {pool.submit(run_task, *task): task for task in tasks}
        for done, future in enumerate(as_completed(pending), 1):
            _, name, seed, method, *_ = pending[future]
            try:
                cache.add(future.result())
                word = ""
            except Exception as error:
                word = f"  FAILED: {type(error).__name__}: {error}"
                cache.fail(name, seed, method, pending[future][4], word.strip())
            spent = time.perf_counter() - start
            print(f"{spent:6.0f} s  {done}/{len(tasks)}  {name} {seed} {method}{word}", flush=True)


# ------------------------------------------------------------------------------------- summary


class Table:
    """Means over splits, sets and sizes of the rows of a cache."""

    def __init__(self, rows: list[Row], sizes: list[int], metric: str) -> None:
        self.sizes = sizes
        self.values: dict[tuple[str, str], dict[tuple[int, int], float]] = defaultdict(dict)
        for row in rows:
            if metric in row:
                self.values[row["set"], row["method"]][row["seed"], row["k"]] = row[metric]

    def sets(self) -> list[str]:
        """Return the names of the sets, in the order of the protocol."""
        present = {name for name, _ in self.values}
        return [name for name in protocol.SETS if name in present]

    def mean(self, name: str, method: str, k: int) -> float:
        """Return the mean over splits."""
        found = [v for (_, size), v in self.values[name, method].items() if size == k]
        return float(np.mean(found)) if found else float("nan")

    def differences(self, name: str, a: str, b: str, k: int | None = None) -> np.ndarray:
        """Return a minus b, one value per split: the mean over the sizes both have."""
        one, two = self.values[name, a], self.values[name, b]
        by_seed = defaultdict(list)
        for key in one.keys() & two.keys():
            if k is None or key[1] == k:
                by_seed[key[0]].append(one[key] - two[key])
        return np.array([np.mean(v) for _, v in sorted(by_seed.items())])

    def paired(
        self, a: str, b: str, kinds: set[str] | None = None, k: int | None = None
    ) -> dict[str, Any]:
        """Return mean and standard error over sets of the mean difference a - b, W/L, sig."""
        means, significant = [], [0, 0]
        for name in self.sets():
            if kinds is not None and protocol.SETS[name].kind not in kinds:
                continue
            d = self.differences(name, a, b, k)
            if d.size == 0:
                continue
            mean = float(d.mean())
            means.append(mean)
            if d.size > 1:
                # Random 70/30 splits overlap: Nadeau and Bengio's correction.
                error = np.sqrt(d.var(ddof=1) * (1 / d.size + 0.43))
                significant[0] += mean > 2 * error
                significant[1] += mean < -2 * error
        values = np.array(means)
        return {
            "sets": len(means),
            "mean": float(values.mean()) if len(means) else float("nan"),
            "error": float(values.std(ddof=1) / np.sqrt(len(means)))
            if len(means) > 1
            else float("nan"),
            "wins": int((values > 1e-12).sum()),
            "losses": int((values < -1e-12).sum()),
            "significant": significant,
        }

    def ranks(self, methods: list[str], k: int) -> tuple[dict[str, float], int]:
        """Return the mean rank of each method (1 is best) over the sets where all have a value."""
        from scipy.stats import rankdata

        ranks = []
        for name in self.sets():
            values = np.array([self.mean(name, m, k) for m in methods])
            if np.isfinite(values).all():
                ranks.append(rankdata(-np.round(values, 12)))
        if not ranks:
            return dict.fromkeys(methods, float("nan")), 0
        return dict(zip(methods, np.mean(ranks, axis=0).tolist(), strict=True)), len(ranks)


def _signed(d: dict[str, Any]) -> str:
    if d["sets"] == 0:
        return "-"
    error = "" if np.isnan(d["error"]) else f" ± {d['error']:.4f}"
    return f"{d['mean']:+.4f}{error}"


def summarise(rows: list[Row], methods: list[str], sizes: list[int]) -> tuple[dict[str, Any], str]:
    """Return the figures and the Markdown text of one group of sets."""
    tables = {metric: Table(rows, sizes, metric) for metric in ("accuracy", "auc")}
    accuracy = tables["accuracy"]
    count = len(accuracy.sets())
    pairs = [(m, "l1_exact") for m in methods if m != "l1_exact"]
    if "abess" in methods:
        pairs += [(m, "abess") for m in methods if m in OURS]
    figures: dict[str, Any] = {"pairs": [], "by_size": {}, "by_kind": {}, "ranks": {}, "sets": {}}
    out = []
    for a, b in pairs:
        d, e = accuracy.paired(a, b), tables["auc"].paired(a, b)
        figures["pairs"].append({"a": a, "b": b, "accuracy": d, "auc": e})
        out.append(
            [
                f"{NAMES[a]} - {NAMES[b]}",
                d["sets"],
                _signed(d),
                f"{d['wins']}/{d['losses']}",
                f"{d['significant'][0]}/{d['significant'][1]}",
                _signed(e),
                f"{e['wins']}/{e['losses']}",
            ]
        )
    header = ["paired difference", "sets", "accuracy", "W/L", "sig", "AUC", "W/L"]
    text = ["## Mean over sizes, splits and sets", common.table(header, out)]

    for label, b in (("l1_exact", "l1_exact"), ("abess", "abess")):
        others = [m for m in methods if m != b and (b == "l1_exact" or m in OURS)]
        if b not in methods or not others:
            continue
        figures["by_size"][b] = {m: {k: accuracy.paired(m, b, k=k) for k in sizes} for m in others}
        lines = [[NAMES[m], *(_signed(figures["by_size"][b][m][k]) for k in sizes)] for m in others]
        text += [
            f"### Accuracy minus {NAMES[label]}, by size",
            common.table(["method", *(f"k = {k}" for k in sizes)], lines),
        ]
        kinds = sorted({protocol.SETS[name].kind for name in accuracy.sets()})
        figures["by_kind"][b] = {
            m: {kind: accuracy.paired(m, b, {kind}) for kind in kinds} for m in others
        }
        lines = []
        for m in others:
            cells = [figures["by_kind"][b][m][kind] for kind in kinds]
            lines.append([NAMES[m], *(f"{_signed(d)} ({d['wins']}/{d['losses']})" for d in cells)])
        sizes_of = [
            f"{kind} ({sum(protocol.SETS[n].kind == kind for n in accuracy.sets())})"
            for kind in kinds
        ]
        text += [
            f"### Accuracy minus {NAMES[label]}, by type of set (W/L)",
            common.table(["method", *sizes_of], lines),
        ]

    lines = []
    for k in sizes:
        ranks, used = accuracy.ranks(methods, k)
        figures["ranks"][k] = {"sets": used, **ranks}
        lines.append([k, used, *(f"{ranks[m]:.2f}" for m in methods)])
    text += [
        f"### Mean rank of {len(methods)} (1 is best), sets where all ran",
        common.table(["k", "sets", *(NAMES[m] for m in methods)], lines),
    ]

    lines = []
    for name in accuracy.sets():
        splits = len({seed for m in methods for seed, _ in accuracy.values[name, m]})
        cells = []
        figures["sets"][name] = {"splits": splits}
        for m in methods:
            values = [accuracy.mean(name, m, k) for k in sizes]
            figures["sets"][name][m] = values
            cells.append(" ".join("  -  " if np.isnan(v) else f"{v:.3f}" for v in values))
        lines.append([name, splits, *cells])
    text += [
        f"### Accuracy of every set, k = {' '.join(map(str, sizes))}",
        common.table(["set", "splits", *(NAMES[m] for m in methods)], lines),
    ]
    return figures | {"count": count}, "\n\n".join(text)


CAVEATS = """The data set is the unit of replication: differences are paired on the same split, \
averaged over sizes and splits, and given as mean ± standard error over sets. W/L counts sets \
above / below zero; "sig" those more than 2 corrected standard errors away \
(variance x (1/J + 0.43) over J splits, because 70/30 splits overlap). Standard errors over sets \
are somewhat optimistic: splits of one set share rows, and glioma, mice and hapmap3 give several \
related tasks. Test sets of microarrays have 9 to 60 rows, so single differences below 0.02 to \
0.04 mean nothing; a set with one given split has no error of its own. All methods but \
BudgetClassifier end with the same refit; BudgetClassifier's own follows the same rule. Features \
missing from a short answer are topped up: l1 in order of entry and then by correlation, abess by \
correlation."""


def report(cache: Cache, methods: list[str], sizes: list[int], options: Any) -> None:
    """Write quality.json and quality.md from what the cache holds."""
    rows = [
        row
        for (name, seed, k, method), row in cache.rows.items()
        if method in methods and k in sizes and name in protocol.SETS
    ]
    figures: dict[str, Any] = {"machine": common.machine(), "sizes": sizes, "methods": methods}
    text = ["# Accuracy at exactly k features", CAVEATS]
    groups = {
        "named": ("# Sets of the protocol", False),
        "unseen": ("# Sets that no default was chosen on", True),
    }
    bars = []
    parts = []
    for key, (title, unseen) in groups.items():
        part = [r for r in rows if protocol.SETS[r["set"]].unseen == unseen]
        if not part:
            continue
        figures[key], words = summarise(part, methods, sizes)
        parts += [title, words]
        for pair in figures[key]["pairs"]:
            if pair["a"] == "zeronorm" and pair["b"] in ("l1_exact", "abess"):
                d = pair["accuracy"]
                if d["sets"]:
                    bars.append(
                        common.bar(
                            f"BudgetClassifier - {NAMES[pair['b']]}, {key} sets ({d['sets']})",
                            "not below zero beyond one standard error",
                            f"{_signed(d)}, W/L {d['wins']}/{d['losses']}",
                            bool(d["mean"] >= -np.nan_to_num(d["error"])),
                        )
                    )
    figures["bars"] = bars
    skipped: dict[tuple[str, str, str], set[tuple[int, int]]] = defaultdict(set)
    for r in rows:
        if "skipped" in r:
            skipped[r["set"], r["method"], r["skipped"]].add((r["k"], r["seed"]))
    notes = [
        f"{name}, {NAMES[method]}, k = {', '.join(map(str, sorted({k for k, _ in which})))}, "
        f"{len({seed for _, seed in which})} split(s): {why}"
        for (name, method, why), which in sorted(skipped.items())
    ]
    figures["skipped"] = notes
    absent = [n for n in protocol.SETS if n not in {r["set"] for r in rows}]
    figures["sets_not_run"] = absent
    gaps = [abs(r["accuracy"] - r["accuracy_common"]) for r in rows if "accuracy_common" in r]
    if bars:
        text.append(common.bars_table(bars))
    text += parts
    if notes:
        text.append("## Not run\n\n" + "\n".join(f"- {note}" for note in notes))
    if absent:
        text.append("Sets without results here: " + ", ".join(absent) + ".")
    if gaps:
        figures["refit_difference"] = {"mean": float(np.mean(gaps)), "max": float(np.max(gaps))}
        text.append(
            f"BudgetClassifier's own refit against the common one on the same supports: mean "
            f"absolute difference in accuracy {np.mean(gaps):.5f}, largest {np.max(gaps):.4f}."
        )
    seconds: dict[str, list[float]] = defaultdict(list)
    for r in rows:
        if "seconds" in r:
            seconds[r["method"]].append(r["seconds"])
    text.append(
        "Median seconds of a selection (one thread, other work beside it; l1: all sizes at once): "
        + ", ".join(f"{NAMES[m]} {np.median(v):.3f}" for m, v in seconds.items())
        + "."
    )
    figures["rows"] = sorted(rows, key=lambda r: (r["set"], r["seed"], r["method"], r["k"]))
    common.write(options.results, options.name, figures, "\n\n".join(text))


def main() -> None:
    """Compute what is missing and write the report."""
    parser = common.parser(__doc__)
    parser.add_argument("--sets", default="named", help="named, unseen, all, or names with commas")
    parser.add_argument("--repeats", type=int, default=None, help="at most so many random splits")
    parser.add_argument("--methods", default=",".join(METHODS), help=f"also: {', '.join(EXTRA)}")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="k, with commas")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument(
        "--limit", type=float, default=60.0, help="CPU seconds for one fit of abess"
    )
    parser.add_argument("--reuse", action="store_true", help="take results of older sources")
    parser.add_argument("--refresh", default="", help="methods to compute again")
    parser.add_argument("--compute-only", action="store_true", help="fill the cache, no report")
    parser.add_argument("--name", default="quality", help="name of the result files")
    options = parser.parse_args()
    methods, sizes = options.methods.split(","), [int(k) for k in options.sizes.split(",")]
    unknown = [m for m in methods if m not in NAMES]
    if unknown:
        sys.exit(f"--methods: unknown method {unknown[0]!r}; there are: {', '.join(NAMES)}.")
    refresh = set(filter(None, options.refresh.split(",")))
    cache = Cache(common.cache_folder() / "quality.jsonl", options.reuse, refresh)
    compute(cache, protocol.choose(options.sets), methods, sizes, options)
    if not options.compute_only:
        report(cache, methods, sizes, options)


if __name__ == "__main__":
    main()
