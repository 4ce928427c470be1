"""What stability selection costs, and whether its numbers mean what they say.

    python benchmarks/stability.py [--draws N] [--parts LIST [--keep]]

Time: seconds of 50 pairs of half-samples over those of one fit of the same estimator (the median
of fits before and after), among all features and among the 200 of the largest scores of each half
(`screen=200`); in brackets the same of processor seconds, which other work on the machine changes
less. Eight times was the aim. Bounds: data sets (60) of a known law, 25 pairs each; the
probability p_j of each feature from 600 samples of half the size; the mean number of stable
features with p_j at most `low`, beside the three bounds; the mean frequency less p_j, in standard
errors, the largest of all features. Index: of two data sets the share of 95 % intervals, of 10
pairs each, that have the index of 600 pairs, with halves as if they were independent, as the
package has it, and with pairs as terms. Screening, of 10 pairs: the share of what halves choose
among all features that they choose among the screened, too, and the largest difference of a
frequency.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import _common as common
from zeronorm import BudgetClassifier, BudgetRegressor, write_store
from zeronorm.inference.stability import Stability, StabilitySelection

ROWS, FEATURES, K = 60, 100, 5
HALVES, PAIRS, FEW_PAIRS = 600, 25, 10
ASSUMPTIONS = ("none", "unimodal", "r-concave")
Draw = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]


def numbers(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Five of 100 independent features count, some more than others."""
    X = rng.standard_normal((n, FEATURES))
    return X, X[:, :K] @ np.linspace(0.2, 1.0, K) + rng.standard_normal(n)


def correlated(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw the same of features in tens with correlations of 0.8."""
    common_part = np.repeat(rng.standard_normal((n, FEATURES // 10)), 10, axis=1)
    X = np.sqrt(0.8) * common_part + np.sqrt(0.2) * rng.standard_normal((n, FEATURES))
    return X, X[:, ::10][:, :K] @ np.linspace(0.2, 1.0, K) + rng.standard_normal(n)


def classes(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes of n/3 and 2n/3 rows, that differ in the means of five features."""
    y = (np.arange(n) < n // 3).astype(int)
    X = rng.standard_normal((n, FEATURES))
    X[:, :K] += y[:, None] * np.linspace(0.3, 1.5, K)
    return X, y


LAWS: dict[str, tuple[Draw, Any]] = {
    "numbers": (numbers, BudgetRegressor(K)),
    "correlated": (correlated, BudgetRegressor(K)),
    "classes": (classes, BudgetClassifier(K, calibrate=False)),
}


def bounds(name: str, draws: int) -> dict[str, Any]:
    """Return how many features of low probability are stable, and how frequencies err."""
    draw, model = LAWS[name]
    rng = np.random.default_rng([1, *name.encode()])
    chosen = np.zeros((HALVES, FEATURES), bool)
    for row in chosen:
        row[model.fit(*draw(rng, ROWS // 2)).support_] = True
    probability = chosen.mean(axis=0)
    frequency = np.zeros((draws, FEATURES))
    for own in frequency:
        found = StabilitySelection(model, PAIRS).fit(*draw(rng, ROWS)).stability_
        own[found.features] = found.frequency
    spread = frequency.var(axis=0, ddof=1) / draws + probability * (1 - probability) / HALVES
    error = (frequency.mean(axis=0) - probability) / np.sqrt(np.maximum(spread, 1e-12))
    rows = []
    for low in (K / FEATURES, 0.2):
        inside = probability <= low
        for threshold in (0.54, 0.6, 0.7, 0.8):
            # Reached as the package counts: the least multiple of 1 / (2 B).
            stable = (frequency[:, inside] >= threshold - 1e-9).sum(axis=1)
            rows.append(
                {
                    "low": low,
                    "threshold": threshold,
                    "mean": float(stable.mean()),
                    "error": float(stable.std(ddof=1) / np.sqrt(draws)),
                    **{
                        one: found.expected_low(threshold, low=low, assume=one)
                        for one in ASSUMPTIONS
                    },
                }
            )
    return {
        "law": name,
        "draws": draws,
        "low_features": int((probability <= K / FEATURES).sum()),
        "largest_error": float(np.abs(error).max()),
        "rows": rows,
    }


def index(name: str) -> dict[str, Any]:
    """Return how often intervals have the index of many more pairs of the same rows."""
    draw, model = LAWS[name]
    X, y = draw(np.random.default_rng(7), ROWS)
    whole = StabilitySelection(model, HALVES).fit(X, y).stability_
    inside, of_pairs = [], []
    for first in range(0, 2 * HALVES, 2 * FEW_PAIRS):
        part = replace(whole, chosen=whole.chosen[first : first + 2 * FEW_PAIRS])
        low, high = part.index_interval()
        inside.append(low <= whole.index <= high)
        reach = 1.96 * _error_of_pairs(part)
        of_pairs.append(abs(part.index - whole.index) <= reach)
    return {
        "law": name,
        "index": whole.index,
        "intervals": len(inside),
        "inside": float(np.mean(inside)),
        "of_pairs": float(np.mean(of_pairs)),
    }


def _error_of_pairs(found: Stability) -> float:
    """Return the standard error of the index with pairs as terms: their halves are dependent."""
    terms = found._index_and_terms()[1].reshape(-1, 2).mean(axis=1)
    return float(2.0 / len(terms) * np.sqrt(((terms - terms.mean()) ** 2).sum()))


def screening(name: str, model: Any, X: Any, y: np.ndarray, size: int) -> dict[str, Any]:
    """Return how alike the choices are among all and among the screened features."""
    whole, part = (
        StabilitySelection(model, FEW_PAIRS, screen=one).fit(X, y).stability_
        for one in (None, size)
    )
    sets = [[set(one.features[row]) for row in one.chosen] for one in (whole, part)]
    shared = [len(a & b) / whole.n_chosen for a, b in zip(*sets, strict=True)]
    frequency = np.zeros((2, X.shape[1]))
    frequency[0, whole.features], frequency[1, part.features] = whole.frequency, part.frequency
    return {
        "set": name,
        "screen": size,
        "features": int(X.shape[1]),
        "shared": float(np.mean(shared)),
        "frequency": float(np.abs(np.diff(frequency, axis=0)).max()),
        "index": whole.index,
        "index_screened": part.index,
    }


def real(folder: Path, name: str) -> tuple[Any, np.ndarray]:
    """Return a data set of the collection."""
    with np.load(folder / name / "arrays.npz", allow_pickle=False) as file:
        y, X = file["y"], file.get("X", None)
    return (sp.load_npz(folder / name / "X.npz") if X is None else X), y


def timed(name: str, storage: str, model: Any, X: Any, y: np.ndarray) -> dict[str, Any]:
    """Return the seconds of a fit and of both ways of stability selection."""

    def seconds(estimator: Any) -> np.ndarray:
        begin = time.perf_counter(), time.process_time()
        estimator.fit(X, y)
        return np.array([time.perf_counter() - begin[0], time.process_time() - begin[1]])

    seconds(model)
    fits = [seconds(model) for _ in range(3)]
    whole = seconds(StabilitySelection(model))
    fits += [seconds(model) for _ in range(3)]
    screened = seconds(StabilitySelection(model, screen=200))
    fits += [seconds(model) for _ in range(3)]
    fit = np.median(fits, axis=0)
    return {
        "set": name,
        "storage": storage,
        "shape": f"{len(y)} x {model.n_features_in_}",
        "fit": fit.tolist(),
        "whole": whole.tolist(),
        "screened": screened.tolist(),
    }


def times(folder: Path, scratch: Path) -> Iterator[dict[str, Any]]:
    """Yield the seconds on data of every storage."""
    rng = np.random.default_rng(0)
    yield timed("golub", "dense", BudgetClassifier(10), *common.golub())
    yield timed("rcv1_small", "sparse", BudgetClassifier(20), *real(folder, "rcv1_small"))
    X = rng.standard_normal((1000, 20_000), dtype=np.float32)
    y = X[:, :10].sum(axis=1) + rng.standard_normal(1000)
    yield timed("normal numbers", "dense", BudgetRegressor(10), X, y)
    yield timed("two classes", "dense", BudgetClassifier(10), X, y > 0)
    copies = rng.binomial(2, rng.uniform(0.1, 0.5, 100_000)[:, None], (100_000, 1000))
    y = copies[:10].sum(axis=0) + 2 * rng.standard_normal(1000)
    yield timed("genotypes", ".bed", BudgetRegressor(10), plink(scratch / "g", copies), y)
    X = rng.standard_normal((1000, 200_000), dtype=np.float32)
    y = X[:, :10].sum(axis=1) + rng.standard_normal(1000)
    write_store(X, scratch / "store")
    yield timed("normal numbers", "store", BudgetRegressor(10), scratch / "store", y)


def plink(path: Path, copies: np.ndarray) -> Path:
    """Write genotypes, (variants, samples) copies of an allele, as PLINK files; return the .bed."""
    code = np.array([3, 2, 0], np.uint8)[copies].reshape(len(copies), -1, 4)
    packed = (code << np.array([0, 2, 4, 6], np.uint8)).sum(axis=2, dtype=np.uint8)
    path.with_suffix(".bed").write_bytes(b"\x6c\x1b\x01" + packed.tobytes())
    path.with_suffix(".bim").write_text(
        "".join(f"1\tv{j}\t0\t{j + 1}\tA\tG\n" for j in range(len(copies)))
    )
    path.with_suffix(".fam").write_text(
        "".join(f"f i{i} 0 0 0 -9\n" for i in range(copies.shape[1]))
    )
    return path.with_suffix(".bed")


def table(found: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    lines = [
        "| set | storage | size | one fit, s | 50 pairs, s | times one fit | screened, s | times |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in found["times"]:
        fit, whole, screened = (np.array(one[name]) for name in ("fit", "whole", "screened"))
        ratios = [f"{a:.1f} ({b:.1f})" for a, b in (whole / fit, screened / fit)]
        lines.append(
            f"| {one['set']} | {one['storage']} | {one['shape']} | {fit[0]:.3f} | {whole[0]:.2f} | "
            f"{ratios[0]} | {screened[0]:.2f} | {ratios[1]} |"
        )
    lines.append("\n| law | low | threshold | stable | none | unimodal | r-concave |")
    lines.append("|---|---|---|---|---|---|---|")
    lines += [
        f"| {law['law']} | {one['low']:g} | {one['threshold']:g} | {one['mean']:.3f} ± "
        f"{one['error']:.3f} | " + " | ".join(f"{one[assume]:.3g}" for assume in ASSUMPTIONS) + " |"
        for law in found["bounds"]
        for one in law["rows"]
    ]
    for law in found["bounds"]:
        lines.append(
            f"\nFrequencies of {law['law']}: the largest of {FEATURES} differences from p_j is "
            f"{law['largest_error']:.1f} standard errors; {law['low_features']} features have p_j "
            f"of at most {K / FEATURES:g}."
        )
    lines.append("\n| law | index | intervals | with the index | with pairs as terms |")
    lines.append("|---|---|---|---|---|")
    lines += [
        f"| {one['law']} | {one['index']:.3f} | {one['intervals']} | {one['inside']:.1%} | "
        f"{one['of_pairs']:.1%} |"
        for one in found["index"]
    ]
    lines.append("\n| set | features | screen | shared | largest difference | index | screened |")
    lines.append("|---|---|---|---|---|---|---|")
    lines += [
        f"| {one['set']} | {one['features']} | {one['screen']} | {one['shared']:.1%} | "
        f"{one['frequency']:.2f} | {one['index']:.3f} | {one['index_screened']:.3f} |"
        for one in found["screening"]
    ]
    return "\n".join(lines)


PARTS = "times,bounds,index,screening"


def main() -> None:
    """Measure, print and write the results."""
    parser = common.parser(__doc__)
    parser.add_argument("--draws", type=int, default=60, help="data sets of every law")
    parser.add_argument("--parts", default=PARTS, help="what to measure, with commas between")
    parser.add_argument("--keep", action="store_true", help="keep the other parts as they are")
    options = parser.parse_args()
    machine, folder = common.machine(), common.data_folder(options.data)
    found: dict[str, Any] = {}
    if options.keep:
        kept = common.earlier(options.results, "stability")
        found = {name: kept[name] for name in PARTS.split(",") if name in kept}
    parts = options.parts.split(",")
    if "times" in parts:
        with tempfile.TemporaryDirectory() as scratch:
            found["times"] = list(times(folder, Path(scratch)))
    if "bounds" in parts:
        found["bounds"] = [bounds(name, options.draws) for name in LAWS]
    if "index" in parts:
        found["index"] = [index(name) for name in ("numbers", "classes")]
    if "screening" in parts:
        sets = (
            ("golub", BudgetClassifier(10), *common.golub()),
            ("riboflavin", BudgetRegressor(10), *real(folder, "riboflavin")),
            ("arcene", BudgetClassifier(10), *real(folder, "arcene")),
            ("rcv1_small", BudgetClassifier(20), *real(folder, "rcv1_small")),
        )
        found["screening"] = [screening(*one, size) for one in sets for size in (200, 1000)]
    about = __doc__.split("\n\n", 2)[2].strip()
    text = "\n\n".join(["# Stability selection", about, table(found)])
    common.write(options.results, "stability", {"machine": machine, **found}, text)


if __name__ == "__main__":
    main()
