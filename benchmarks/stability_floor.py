"""Below how many fits fifty pairs of half-samples cannot go, and where their time goes.

    python benchmarks/stability_floor.py [--sets LIST]

All figures are seconds of processor time on one thread, or these over those of one fit of the same
estimator. A half makes as many passes as the selection does; the passes of all halves are merged,
so that each is one product X'V with 100 vectors, which are zero on the rows of the other halves.
Floor: that product as the BLAS makes it of numbers in memory, in float32 and in float64 (of sparse
data as SciPy does), times the passes, over one fit. No implementation that scans all features for
every half by such products goes below it, whatever it does beside them; half of the factors are
zero, at random places, and no product of BLAS leaves those out. Own: the same product by the
package, whose sums have the same bits however many vectors share a pass. Of the 50 pairs the time
is split into the passes, the means and deviations of all columns on all halves (as much arithmetic
as two more passes), and the rest, what each half does with few columns: the best ones of a scan,
the fits on them, elimination. Own work of a fit: that rest of one fit, as a share of it. One by
one: 100 times the fit of one half that shares nothing, without the folds that calibrate
probabilities.
"""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from threadpoolctl import threadpool_limits

import _common as common
import stability as of_stability
import zeronorm.inference.stability as half_choices
from zeronorm import BudgetClassifier, BudgetRegressor, read_plink
from zeronorm.data import as_design
from zeronorm.inference.stability import StabilitySelection

SETS = "golub,riboflavin,numbers,classes,rcv1_small,genotypes"
HALVES, REPEATS = 100, 5


class Passes(logging.Handler):
    """Counts the passes over the data that solvers make."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Count a pass."""
        self.count += str(record.msg).startswith("pass ")


def seconds(work: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Return the least processor seconds of some runs."""
    found = []
    for _ in range(repeats):
        begin = time.process_time()
        work()
        found.append(time.process_time() - begin)
    return min(found)


def vectors(n: int) -> np.ndarray:
    """Return a vector for each half of 50 pairs, 0 on the rows of the other half."""
    rng = np.random.default_rng(0)
    found = np.zeros((n, HALVES))
    for pair in range(HALVES // 2):
        order = rng.permutation(n)
        for half, rows in enumerate((order[: n // 2], order[n // 2 : n // 2 * 2])):
            found[rows, 2 * pair + half] = rng.standard_normal(rows.size)
    return found


def products(X: Any, V: np.ndarray) -> dict[str, float]:
    """Return the seconds of X'V in both types, of numbers in memory."""
    found = {}
    for name, kind in (("float32", np.float32), ("float64", np.float64)):
        x: Any = X.astype(kind)
        x = sp.csc_array(x) if sp.issparse(x) else x
        v = V.astype(kind)
        found[name] = seconds(lambda x=x, v=v: x.T @ v)  # type: ignore[misc]
    return found


def pairs(model: Any, X: Any, y: np.ndarray) -> dict[str, Any]:
    """Return the seconds of 50 pairs, those of the moments of all halves, and the passes."""
    log, handler = logging.getLogger("zeronorm.solvers.driver"), Passes()
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    spent: list[float] = []
    own: Any = half_choices  # whose sums of columns are timed
    measured = own.measured

    def timed(parts: Any) -> Any:
        begin = time.process_time()
        found = measured(parts)
        spent.append(time.process_time() - begin)
        return found

    own.measured = timed
    try:
        whole = seconds(lambda: StabilitySelection(model).fit(X, y), 3)
    finally:
        own.measured = measured
        log.removeHandler(handler)
        log.setLevel(logging.NOTSET)
    return {"pairs": whole, "moments": sum(spent) / 3, "passes": handler.count / 3}


def own_work(model: Any, X: Any, y: np.ndarray, design: Any) -> float:
    """Return the share of a fit that is neither products with all columns nor their moments."""
    kind, spent = type(design), [0.0]

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            begin = time.process_time()
            found = function(*given)
            spent[0] += time.process_time() - begin
            return found

        return call

    before = {name: getattr(kind, name) for name in ("correlate", "moments")}
    for name, function in before.items():
        setattr(kind, name, timed(function))
    try:
        begin = time.process_time()
        for _ in range(REPEATS):
            model.fit(X, y)
        whole = time.process_time() - begin
    finally:
        for name, function in before.items():
            setattr(kind, name, function)
    return 1.0 - spent[0] / whole


def measured(name: str, storage: str, model: Any, X: Any, y: np.ndarray) -> dict[str, Any]:
    """Return what the floor of a data set is, and where the time of 50 pairs goes."""
    model.set_params(n_threads=1)
    design, numbers = as_design(X, n_threads=1), X
    if storage == ".bed":
        numbers = design.gather(slice(0, design.shape[1])).astype(np.float32)
    n, p = design.shape
    V, half = vectors(n), np.random.default_rng(1).permutation(n)[: n // 2]
    half.sort()
    rows, alone = design[half], clone(model)
    if "calibrate" in alone.get_params():
        alone.set_params(calibrate=False)
    model.fit(X, y)  # what a first fit reads and compiles is not of the figures
    return {
        "set": name, "storage": storage, "shape": f"{n} x {p}",
        "fit": seconds(lambda: model.fit(X, y)),
        "own_work": own_work(model, X, y, design),
        "half": seconds(lambda: alone.fit(rows, y[half])),
        "product": products(numbers, V),
        "own": seconds(lambda: design.correlate(V, 0, p)),
        **pairs(model, X, y),
    }  # fmt: skip


def sets(names: list[str], folder: Path, scratch: Path) -> Iterator[dict[str, Any]]:
    """Yield the figures of the data sets."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 20_000), dtype=np.float32)
    y = X[:, :10].sum(axis=1) + rng.standard_normal(1000)
    for name in names:
        if name == "golub":
            yield measured(name, "dense", BudgetClassifier(10), *common.golub())
        elif name == "numbers":
            yield measured("normal numbers", "dense", BudgetRegressor(10), X, y)
        elif name == "classes":
            yield measured("two classes", "dense", BudgetClassifier(10), X, y > 0)
        elif name == "genotypes":
            copies = rng.binomial(2, rng.uniform(0.1, 0.5, 20_000)[:, None], (20_000, 1000))
            target = copies[:10].sum(axis=0) + 2 * rng.standard_normal(1000)
            path = of_stability.plink(scratch / "g", copies)
            yield measured(name, ".bed", BudgetRegressor(10), read_plink(path).X, target)
        else:
            own = of_stability.real(folder, name)
            model = BudgetRegressor(10) if name == "riboflavin" else BudgetClassifier(20)
            yield measured(name, "sparse" if sp.issparse(own[0]) else "dense", model, *own)


def table(found: list[dict[str, Any]]) -> str:
    """Return the figures as Markdown."""
    heads = [
        "set", "storage", "size", "one fit, s", "passes", "X'V in float32, s", "in float64, s",
        "own, s", "floor in float32", "in float64", "50 pairs", "their passes", "moments",
        "the rest", "own work of a fit, %", "one by one",
    ]  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for one in found:
        fit, product = one["fit"], one["product"]
        passes = one["passes"] * one["own"]
        times = [
            one["passes"] * product["float32"],
            one["passes"] * product["float64"],
            one["pairs"],
            passes,
            one["moments"],
            one["pairs"] - one["moments"] - passes,
        ]
        last = [f"{100 * one['own_work']:.0f}", f"{HALVES * one['half'] / fit:.1f}"]
        cells = [one["set"], one["storage"], one["shape"], f"{fit:.4f}", f"{one['passes']:g}"]
        cells += [f"{value:.4f}" for value in (*product.values(), one["own"])]
        lines.append(
            f"| {' | '.join([*cells, *(f'{value / fit:.1f}' for value in times), *last])} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure, print and write the results."""
    parser = common.parser(__doc__)
    parser.add_argument("--sets", default=SETS, help="which data, with commas between")
    options = parser.parse_args()
    machine, folder = common.machine(), common.data_folder(options.data)
    with tempfile.TemporaryDirectory() as scratch, threadpool_limits(1):
        found = list(sets(options.sets.split(","), folder, Path(scratch)))
    about = __doc__.split("\n\n", 2)[2].strip()
    text = "\n\n".join(["# The floor of stability selection", about, table(found)])
    common.write(options.results, "stability_floor", {"machine": machine, "sets": found}, text)


if __name__ == "__main__":
    main()
