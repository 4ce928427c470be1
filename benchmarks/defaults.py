"""What a user gets without an option, beside the simple methods, at k = 5, 10 and 20 features.

    python benchmarks/defaults.py                       the development half
    python benchmarks/defaults.py --half confirming     the other half, once
    python benchmarks/defaults.py --targets counts --sets drawn --methods default,lasso_k
    python benchmarks/defaults.py --methods default,each --sets chop,nki70

Classes, regression, counts, several responses and survival. The sets, splits and seeds are those of
`_defaults_sets.py`, in two halves by source; they were committed before any fit on the confirming
half, which is run once. `_defaults_methods.py` says what the methods are, `_defaults_figures.py`
what the figures are.

What is asked, of each target and each half
-------------------------------------------
A difference is the figure of the default minus that of another method of exactly k features, so
turned that more is better; that of a set is the mean over k and splits. The rivals are the
package's own l1, l0 and minimax, abess, lasso-k, elastic-net-k and single scores. The figures are
the log-loss (classes), R^2 (regression, several responses), the explained share of the deviance
(counts), and the partial log-likelihood of an event, the C-index and the integrated Brier score
(survival).

1. The default fits wherever it is asked to.
2. No mean difference is below zero: one-sided paired t-tests over sets at 5 %, after Holm over the
   rivals and figures of the target.
3. No mean difference is below -.02 (log-loss, R^2, share of the deviance), -.05 (partial
   log-likelihood of an event) or -.01 (C-index).
4. R^2 of the default in the mean of a set is never below -.05.
5. Its integrated Brier score in the mean of a set is never above Kaplan-Meier's by more than .005.

Shown and not judged: accuracy, AUC, the deviance of a row (its unit is another one for each set of
counts), the lasso of any size, how alike the sets of features of two splits are (Jaccard index,
mean over pairs), how many of the features that drawn sets were drawn by are found, CPU seconds of
all sizes. One process, one thread. Results are kept in `.cache/defaults.jsonl` for the same code,
so that a run that was ended goes on.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import _common as common
import _defaults_figures
import _defaults_methods as methods
import _defaults_ridge
import _defaults_sets as sets
import _sources as sources

DEFAULT, ANY_SIZE = "default", "lasso_cv"
COMPARED = [name for name in methods.METHODS if name != "each"]
JUDGED = {
    "classes": ("log_loss",),
    "regression": ("r2",),
    "counts": ("d2",),
    "responses": ("r2",),
    "survival": ("loglik", "c_index", "brier"),
}
SHOWN = {"classes": ("accuracy", "auc"), "counts": ("deviance",)}
LESS_IS_BETTER = {"log_loss", "brier", "deviance"}
LIMITS = {"log_loss": 0.02, "r2": 0.02, "d2": 0.02, "loglik": 0.05, "c_index": 0.01}
LEAST_R2, MOST_EXCESS, LEVEL = -0.05, 0.005, 0.05
WORDS = {
    "log_loss": "log-loss", "r2": "R^2", "d2": "share of deviance", "loglik": "log-likelihood",
    "c_index": "C-index", "brier": "Brier", "accuracy": "accuracy", "auc": "AUC",
    "deviance": "deviance of a row",
}  # fmt: skip
Row = dict[str, Any]


# -------------------------------------------------------------------------------------- measuring


def code_of(method: str) -> str:
    """Return a digest of what a row of a method depends on."""
    files = [module.__file__ for module in (_defaults_figures, _defaults_ridge, methods, sets)]
    parts = [sources.digest(Path(file)) for file in files if file]
    return "-".join([*parts, common.code_digest() if method in methods.OURS else ""])


class Cache:
    """The rows of the present code, in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.code = {method: code_of(method) for method in methods.METHODS}
        self.rows: dict[tuple[Any, ...], Row] = {}
        for line in path.read_text().splitlines() if path.exists() else ():
            row = json.loads(line)
            if row.pop("code") == self.code.get(row["method"]):
                self.rows[self._key(row)] = row

    @staticmethod
    def _key(row: Row) -> tuple[Any, ...]:
        return tuple(row[name] for name in ("half", "target", "set", "seed", "method"))

    def get(self, key: Row) -> Row | None:
        """Return the row of a half, target, set, seed and method, if it is there."""
        return self.rows.get(self._key(key))

    def add(self, row: Row) -> None:
        """Keep a row."""
        self.rows[self._key(row)] = row
        with self.path.open("a") as file:
            file.write(json.dumps(row | {"code": self.code[row["method"]]}) + "\n")


def cpu() -> float:
    """Return the CPU seconds of this process and of those that it waited for."""
    return sum(os.times()[:4])


def measure(p: sets.Split, method: str) -> Row:
    """Return the figures of a method on a split, lists over k."""
    begin = cpu()
    try:
        models = methods.run(method, p)
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"[:300]}
    row: Row = {"k": p.sizes, "cpu": round(cpu() - begin, 3)}
    found = [_defaults_figures.figures(p, models[k]) for k in p.sizes]
    row |= {name: [round(one[name], 6) for one in found] for name in found[0]}
    row["support"] = [p.columns[models[k].support].tolist() for k in p.sizes]
    if p.truth is not None:
        hits = [np.isin(p.truth, one).sum() for one in row["support"]]
        row["true"] = [h / min(k, p.truth.size) for h, k in zip(hits, p.sizes, strict=True)]
    return row


def compute(cache: Cache, options: Any, folder: Path) -> list[Row]:
    """Return all rows that are asked for; those that are not in the cache are measured."""
    rows = []
    for target in options.parts:
        for name in sets.SETS[options.half][target]:
            if options.sets and not any(part in name for part in options.sets):
                continue
            for seed in sets.SEEDS[: options.splits]:
                p = None
                for method in options.methods:
                    if (target, method) in methods.REFUSED:
                        continue
                    key = {"half": options.half, "target": target, "set": name}
                    key |= {"seed": seed, "method": method}
                    row = cache.get(key)
                    if row is None:
                        p = p or sets.split(folder, options.half, target, name, seed)
                        with common.log(f"{target}, {name}, {seed}, {method}"):
                            row = key | measure(p, method)
                        if "failed" in row:
                            print(f"failed: {row['failed']}", file=sys.stderr)
                        else:
                            cache.add(row)
                    rows.append(row)
    return rows


def similarity(rows: list[Row]) -> list[Row]:
    """Return the Jaccard index of the features of two splits, mean over pairs and k."""
    found: dict[tuple[str, str, str], list[list[list[int]]]] = defaultdict(list)
    for row in rows:
        if "support" in row:
            found[row["target"], row["set"], row["method"]].append(row["support"])
    result = []
    for (target, name, method), splits in found.items():
        values = [
            len(set(a) & set(b)) / max(len(set(a) | set(b)), 1)
            for one, other in itertools.combinations(splits, 2)
            for a, b in zip(one, other, strict=True)
        ]
        if values:
            row = {"target": target, "set": name, "method": method}
            result.append(row | {"jaccard": round(float(np.mean(values)), 4)})
    return result


# ---------------------------------------------------------------------------------------- figures


class Figures:
    """The rows of one target of one half."""

    def __init__(self, rows: list[Row], alike: list[Row], target: str) -> None:
        self.target = target
        self.rows = [row for row in rows if row["target"] == target]
        self.alike = [row for row in alike if row["target"] == target]
        self.sets = list(dict.fromkeys(row["set"] for row in self.rows))
        self.methods = list(dict.fromkeys(row["method"] for row in self.rows))
        self._by = {(row["set"], row["seed"], row["method"]): row for row in self.rows}

    def of_set(self, name: str, method: str, figure: str, k: int | None = None) -> float:
        """Return the mean of a set over splits and k; NaN where there is none."""
        values = [
            value
            for (one, _, own), row in self._by.items()
            if (one, own) == (name, method) and figure in row
            for size, value in zip(row["k"], row[figure], strict=True)
            if k in (None, size)
        ]
        return float(np.mean(values)) if values else float("nan")

    def mean(self, method: str, figure: str) -> float:
        """Return the mean over sets."""
        values = np.array([self.of_set(name, method, figure) for name in self.sets])
        return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")

    def differences(self, figure: str, rival: str, k: int | None = None) -> np.ndarray:
        """Return the default minus a rival of each set, on splits where both have a model."""
        sign = -1.0 if figure in LESS_IS_BETTER else 1.0
        result = []
        for name in self.sets:
            values = []
            for seed in {row["seed"] for row in self.rows if row["set"] == name}:
                ours, other = (self._by.get((name, seed, m), {}) for m in (DEFAULT, rival))
                if figure in ours and figure in other:
                    each = zip(ours["k"], ours[figure], other[figure], strict=True)
                    values += [sign * (a - b) for size, a, b in each if k in (None, size)]
            if values:
                result.append(float(np.mean(values)))
        return np.array(result)

    def tests(self) -> list[dict[str, Any]]:
        """Return the difference to every rival in every judged figure, with Holm's p-values."""
        from scipy.stats import t

        found = []
        for rival in [m for m in self.methods if m != DEFAULT]:
            for figure in JUDGED[self.target]:
                d = self.differences(figure, rival)
                if d.size == 0:
                    continue
                error = float(d.std(ddof=1) / np.sqrt(d.size)) if d.size > 1 else float("nan")
                row = {"rival": rival, "figure": figure, "mean": float(d.mean()), "error": error}
                row |= {"sets": d.size, "wins": int((d > 1e-9).sum())}
                row |= {"losses": int((d < -1e-9).sum()), "p": 1.0}
                if d.size > 1 and error > 0:
                    row["p"] = float(t.cdf(d.mean() / error, d.size - 1))
                found.append(row)
        judged = sorted((r for r in found if _is_equal(r["rival"])), key=lambda row: row["p"])
        largest = 0.0
        for i, row in enumerate(judged):
            largest = max(largest, min(1.0, (len(judged) - i) * row["p"]))
            row["holm"] = largest
        return found


def _is_equal(method: str) -> bool:
    """Return whether a method is a rival of exactly k features."""
    return method not in (DEFAULT, ANY_SIZE, "each")


def bars(f: Figures, tests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what is asked of a target beside what was measured."""
    failed = sum("failed" in row for row in f.rows if row["method"] == DEFAULT)
    result = [common.bar(f"{f.target}: the default fits", "always", f"{failed} fail", failed == 0)]
    judged = [row for row in tests if "holm" in row]
    below = [row for row in judged if row["holm"] < LEVEL]
    beyond = [row for row in judged if row["mean"] < -LIMITS.get(row["figure"], np.inf)]
    limits = ", ".join(f"-{LIMITS[g]:g} {WORDS[g]}" for g in JUDGED[f.target] if g in LIMITS)
    for what, asked, bad in (
        ("a mean difference below zero", f"none, {LEVEL:.0%} after Holm", below),
        ("a mean difference beyond the limit", f"none below {limits}", beyond),
    ):
        named = [f"{r['rival']} {WORDS[r['figure']]} {r['mean']:+.3f}" for r in bad]
        measured = ", ".join(named) or f"none of {len(judged)}"
        result.append(common.bar(f"{f.target}: {what}", asked, measured, not bad))
    for figure, asked, sign in (
        ("r2", f"R^2 of a set at least {LEAST_R2}", 1.0),
        ("brier_excess", f"Brier of a set at most Kaplan-Meier's + {MOST_EXCESS}", -1.0),
    ):
        values = {name: f.of_set(name, DEFAULT, figure) for name in f.sets}
        values = {name: value for name, value in values.items() if np.isfinite(value)}
        if values:
            worst = min(values, key=lambda name: sign * values[name])
            limit = LEAST_R2 if sign > 0 else -MOST_EXCESS
            met = sign * values[worst] >= limit
            measured = f"worst {worst}: {values[worst]:+.3f}"
            result.append(common.bar(f"{f.target}: the default alone", asked, measured, met))
    return result


# ----------------------------------------------------------------------------------------- report


def method_table(f: Figures, tests: list[dict[str, Any]]) -> str:
    """Return a row for each method: means over sets, and the default minus it."""
    judged, shown = JUDGED[f.target], SHOWN.get(f.target, ())
    header = ["method", *(WORDS[g] for g in (*judged, *shown))]
    header += [f"default minus it, {WORDS[g]}" for g in judged]
    body = []
    for method in f.methods:
        line = [method, *(f"{f.mean(method, g):.3f}" for g in (*judged, *shown))]
        for figure in judged:
            own = [r for r in tests if (r["rival"], r["figure"]) == (method, figure)]
            line.append(_difference(own[0]) if own else "-")
        alike = [row["jaccard"] for row in f.alike if row["method"] == method]
        line.append(f"{np.mean(alike):.2f}" if alike else "-")
        true = f.mean(method, "true")
        line.append("-" if np.isnan(true) else f"{true:.2f}")
        spent = [row["cpu"] for row in f.rows if row["method"] == method and "cpu" in row]
        body.append([*line, f"{np.mean(spent):.2f}" if spent else "-"])
    return common.table([*header, "Jaccard", "true found", "CPU s"], body)


def _difference(row: dict[str, Any]) -> str:
    test = f", p {row['holm']:.2g}" if row.get("holm", 1.0) < 1.0 else ""
    return f"{row['mean']:+.3f} ± {row['error']:.3f} ({row['wins']}/{row['losses']}{test})"


def size_table(f: Figures) -> str:
    """Return the default minus each method by k, in the first judged figure."""
    figure = JUDGED[f.target][0]
    body = []
    for method in [m for m in f.methods if m != DEFAULT]:
        line = [method]
        for k in sets.SIZES:
            d = f.differences(figure, method, k)
            error = d.std(ddof=1) / np.sqrt(d.size) if d.size > 1 else float("nan")
            line.append(f"{d.mean():+.3f} ± {error:.3f} ({d.size} sets)" if d.size else "-")
        body.append(line)
    header = [f"default minus it, {WORDS[figure]}", *(f"k = {k}" for k in sets.SIZES)]
    return common.table(header, body)


def set_table(f: Figures, figure: str) -> str:
    """Return a figure of every set."""
    body = [
        [name, *(f"{f.of_set(name, method, figure):.3f}" for method in f.methods)]
        for name in f.sets
    ]
    return common.table([f"{WORDS[figure]}", *f.methods], body)


def half_report(half: str, part: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
    """Return the bars and the text of a half."""
    verdicts: list[dict[str, Any]] = []
    text = []
    for target in sets.TARGETS:
        f = Figures(part["rows"], part["alike"], target)
        if not f.rows:
            continue
        tests = f.tests()
        if DEFAULT in f.methods:
            verdicts += bars(f, tests)
        splits = len({row["seed"] for row in f.rows})
        text += [
            f"### {target}: {len(f.sets)} sets, {splits} splits",
            *(method_table(f, tests), size_table(f)),
            *(set_table(f, figure) for figure in JUDGED[target]),
        ]
        failed = [row for row in f.rows if "failed" in row]
        lines = [f"- {r['method']}, {r['set']}, {r['seed']}: {r['failed']}" for r in failed]
        text += ["Failed:\n\n" + "\n".join(lines)] if lines else []
    said = f"## The {half} half (commit {(part['commit'] or 'none')[:8]})"
    return verdicts, "\n\n".join([said, common.bars_table(verdicts), *text])


def main() -> int:
    """Measure what is missing, and write the report of both halves."""
    parser = common.parser(__doc__)
    parser.add_argument("--half", default=sets.HALVES[0], choices=sets.HALVES)
    parser.add_argument("--targets", dest="parts", default=",".join(sets.TARGETS))
    parser.add_argument("--sets", default="", help="parts of names, with commas; default: all")
    parser.add_argument("--methods", default=",".join(COMPARED), help="also: each")
    parser.add_argument("--splits", type=int, default=len(sets.SEEDS))
    options = parser.parse_args()
    for name, known in (("parts", sets.TARGETS), ("methods", tuple(methods.METHODS))):
        given = getattr(options, name).split(",")
        setattr(options, name, given)
        unknown = [one for one in given if one not in known]
        if unknown:
            sys.exit(f"unknown {unknown[0]!r}; there are: {', '.join(known)}.")
    options.sets = [part for part in options.sets.split(",") if part]
    halves = dict(common.earlier(options.results, "defaults").get("halves", {}))
    if "confirming" in halves and options.half == "confirming":
        sys.exit("the confirming half is run once, and defaults.json has it already.")
    absent = [one for one in ("abess", "sksurv", "lifelines") if find_spec(one) is None]
    if absent:
        sys.exit(f"no {', '.join(absent)} here: pip install abess scikit-survival lifelines.")
    about = common.machine()
    cache = Cache(common.cache_folder() / "defaults.jsonl")
    rows = compute(cache, options, common.data_folder(options.data))
    kept = [{key: value for key, value in row.items() if key != "support"} for row in rows]
    halves[options.half] = {"commit": sources.COMMIT, "rows": kept, "alike": similarity(rows)}
    verdicts, text = {}, ["# What a user gets without an option, beside the simple methods"]
    text.append(
        "What is asked, and what the figures are, stands at the top of `benchmarks/defaults.py`. "
        "Means over k, splits and sets; differences ± standard error over sets (sets better / "
        "worse, and Holm's p-value of a one-sided test below zero where it is below 1)."
    )
    for half in [half for half in sets.HALVES if half in halves]:
        verdicts[half], words = half_report(half, halves[half])
        text.append(words)
    data = {"machine": about, "bars": verdicts, "halves": halves}
    common.write(options.results, "defaults", data, "\n\n".join(text))
    return 0


if __name__ == "__main__":
    common.one_thread()
    sys.exit(main())
