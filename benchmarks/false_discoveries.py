"""Whether the false discovery rate is what it says, with which power, and how long it takes.

    python benchmarks/false_discoveries.py [--draws N] [--parts LIST [--keep]]

Settings: 200 data sets (`--draws`) of 200 rows and 500 features of each law, at a level of 0.1;
the mean share of false discoveries and its standard error, and the mean share of the features with
an effect that are found. Effects are of 0.4 and any sign at 20 features drawn anew, errors of
variance 1, unless the name of the setting says otherwise. A feature is false where it has no
effect given all others, however correlated it is. Beside `FalseDiscoverySelector`: the procedure of
Benjamini and Hochberg on t-tests of single features; of the first six settings Gaussian
equicorrelated model-X knockoffs with the true covariance of the features, by differences of lasso
coefficients at a penalty from three folds, with the offset of 1; and, where features are
correlated, votes alone, without stand-ins.

Samples that are not alike: data sets of about 200 rows and 500 features, with 20 effects of
0.4; of two populations, whose genotypes differ (F_ST of 0.15) and whose trait differs by 2, found
without covariates, beside the population, and beside the first principal component of X; of
families of three, who share half of the variance of features and errors; of three measurements of
each person, half of the features constant in a person and half of the sample alone, with errors
that share 0.7; and of six times, with correlations of 0.8^|t - s|: found as if rows were
independent, and with families and persons as groups.

Nothing there: the share of data sets of 100 rows and 300 features, without any effect, with
discoveries. Votes: of as many, the mean number of features with so many votes, beside
`expected_false`.

Size: seconds, passes over X of the experiments and memory of its own of a process that fits float32
data of 200 rows in a mapped file, with five effects of 1. The file is not in memory at the start;
later passes may find it there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from scipy import linalg, special, stats
from sklearn.linear_model import LassoCV

import _common as common
import _dependent
from memory import anonymous
from zeronorm.data import as_design
from zeronorm.data.operations import center_scale
from zeronorm.inference import false_discoveries
from zeronorm.inference.false_discoveries import (
    Dummies,
    Experiments,
    FalseDiscoverySelector,
    expected_false,
)

ROWS, FEATURES, EFFECTS, LEVEL = 200, 500, 20, 0.1
SIZES = (100_000, 1_000_000, 5_000_000)
FIRST = 1000  # of the draws: the power of stand-ins was chosen by earlier ones
PARTS = "settings,dependent,null,size"
NULL = (100, 300)
Found = np.ndarray


def autoregressive(correlation: float) -> np.ndarray:
    """Return the covariance of a chain of features."""
    return np.asarray(linalg.toeplitz(correlation ** np.arange(FEATURES)))


def blocks(correlation: float) -> np.ndarray:
    """Return the covariance of features in tens."""
    ten = np.full((10, 10), correlation) + (1.0 - correlation) * np.eye(10)
    return np.asarray(np.kron(np.eye(FEATURES // 10), ten))


# Of every setting the covariance of the features, and what is special; the first six are those
# that were asked for.
SETTINGS: dict[str, tuple[np.ndarray, str]] = {
    "independent": (np.eye(FEATURES), ""),
    "chain, 0.5": (autoregressive(0.5), ""),
    "blocks of ten, 0.5": (blocks(0.5), ""),
    "errors of t, 3 degrees": (np.eye(FEATURES), "heavy errors"),
    "5 effects of 0.8, 25 of 0.2": (np.eye(FEATURES), "mixed"),
    "two classes, logistic": (np.eye(FEATURES), "classes"),
    "chain, 0.8": (autoregressive(0.8), ""),
    "blocks of ten, 0.8": (blocks(0.8), ""),
    "features of t, 3 degrees": (np.eye(FEATURES), "heavy features"),
    "features and errors of t": (np.eye(FEATURES), "heavy features, heavy errors"),
    "the same, normal scores of y": (np.eye(FEATURES), "heavy features, heavy errors, scores"),
}


def drawn(name: str, draw: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X, y and the mask of the features with an effect."""
    covariance, special_of = SETTINGS[name]
    rng = np.random.default_rng([FIRST + draw, *name.encode()])

    def heavy(*shape: int) -> np.ndarray:
        return rng.standard_t(3, shape) / np.sqrt(3.0)

    if "heavy features" in special_of:
        X = heavy(ROWS, FEATURES)
    else:
        X = rng.standard_normal((ROWS, FEATURES)) @ np.linalg.cholesky(covariance).T
    sizes = np.full(EFFECTS, 0.4)
    if special_of == "mixed":
        sizes = np.repeat([0.8, 0.2], [5, 25])
    places = rng.choice(FEATURES, sizes.size, replace=False)
    effects = np.zeros(FEATURES)
    effects[places] = sizes * rng.choice([-1.0, 1.0], sizes.size)
    y = X @ effects
    if special_of == "classes":
        y = (rng.random(ROWS) < special.expit(3.0 * y)).astype(float)
    else:
        y += heavy(ROWS) if "heavy errors" in special_of else rng.standard_normal(ROWS)
    if "scores" in special_of:
        y = stats.norm.ppf(stats.rankdata(y) / (ROWS + 1))
    return X, y, effects != 0


def benjamini_hochberg(X: np.ndarray, y: np.ndarray) -> Found:
    """Return what the tests of single features find."""
    r = stats.zscore(X).T @ stats.zscore(y) / y.size
    t = r * np.sqrt((y.size - 2) / (1.0 - r**2))
    adjusted = stats.false_discovery_control(2.0 * stats.t.sf(np.abs(t), y.size - 2))
    return np.flatnonzero(adjusted <= LEVEL)


def knockoffs(X: np.ndarray, y: np.ndarray, covariance: np.ndarray, seed: int) -> Found:
    """Return what equicorrelated knockoffs find (Candes, Fan, Janson and Lv, 2018)."""
    rng = np.random.default_rng([seed, 5])
    s = min(1.0, 2.0 * float(np.linalg.eigvalsh(covariance)[0])) * 0.999
    part = s * np.linalg.inv(covariance)
    conditional = 2.0 * s * np.eye(FEATURES) - s * part
    noise = rng.standard_normal(X.shape) @ np.linalg.cholesky(conditional).T
    both = np.hstack([X, X - X @ part + noise])
    order = rng.permutation(both.shape[1])  # ties of the path favour neither
    lasso = LassoCV(alphas=12, eps=0.03, cv=3, tol=1e-3).fit(both[:, order], y)
    size = np.zeros(both.shape[1])
    size[order] = np.abs(lasso.coef_)
    w = size[:FEATURES] - size[FEATURES:]
    for threshold in np.sort(np.abs(w[w != 0])):
        if (1 + (w <= -threshold).sum()) <= LEVEL * max(1, (w >= threshold).sum()):
            return np.flatnonzero(w >= threshold)
    return np.empty(0, np.int64)


def without_stand_ins(X: np.ndarray, y: np.ndarray) -> Found:
    """Return what votes alone find."""
    kept = false_discoveries.stand_ins
    nothing = lambda _, some: (np.zeros(some.size), np.full(some.size, -1))  # noqa: E731
    false_discoveries.stand_ins = nothing
    try:
        return FalseDiscoverySelector(LEVEL).fit(X, y).support_
    finally:
        false_discoveries.stand_ins = kept


def setting(name: str, draws: int) -> dict[str, Any]:
    """Return the false discovery rates and the powers of all methods."""
    covariance = SETTINGS[name][0]
    methods: dict[str, Callable[..., Found]] = {
        "dummies": lambda X, y, _: FalseDiscoverySelector(LEVEL).fit(X, y).support_,
        "Benjamini-Hochberg": lambda X, y, _: benjamini_hochberg(X, y),
    }
    if name in list(SETTINGS)[:6]:
        methods["knockoffs"] = lambda X, y, draw: knockoffs(X, y, covariance, draw)
    if np.count_nonzero(covariance) > FEATURES:
        methods["votes alone"] = lambda X, y, _: without_stand_ins(X, y)
    false: dict[str, list[float]] = {one: [] for one in methods}
    power: dict[str, list[float]] = {one: [] for one in methods}
    for draw in range(draws):
        X, y, active = drawn(name, draw)
        for one, find in methods.items():
            found = find(X, y, draw)
            false[one].append(float((~active[found]).sum()) / max(1, found.size))
            power[one].append(float(active[found].sum() / active.sum()))
    return {
        "setting": name,
        "draws": draws,
        "methods": {
            one: {
                "fdr": float(np.mean(false[one])),
                "error": float(np.std(false[one], ddof=1) / np.sqrt(draws)),
                "power": float(np.mean(power[one])),
            }
            for one in methods
        },
    }


def null(draws: int) -> dict[str, Any]:
    """Return how often there are discoveries where nothing has an effect, and the votes."""
    n, p = NULL
    found, votes = 0, np.zeros((3, 20))
    for draw in range(draws):
        rng = np.random.default_rng([draw, 9])
        X, y = rng.standard_normal((n, p)), rng.standard_normal(n)
        found += FalseDiscoverySelector(LEVEL, random_state=draw).fit(X, y).support_.size > 0
        design = center_scale(as_design(X), np.ones(n), center=True)
        dummies = [Dummies(np.random.default_rng([draw, one]), p) for one in range(20)]
        experiments = Experiments(design, design.scale > 0, y, dummies, n // 2)
        for entered in range(3):
            experiments.run(entered + 1)
            counts = experiments.votes(entered + 1)[1]
            votes[entered] += (counts[:, None] > np.arange(20)).sum(axis=0)
    share = found / draws
    return {
        "draws": draws,
        "share": share,
        "error": float(np.sqrt(share * (1.0 - share) / draws)),
        "votes": [
            {
                "entered": entered,
                "votes": least,
                "mean": float(votes[entered - 1, least - 1] / draws),
                "expected": expected_false(least, 20, entered),
            }
            for entered in (1, 2, 3)
            for least in (11, 15, 18, 20)
        ],
    }


CHILD = r"""
import json, sys, time
import numpy as np
from zeronorm.inference import false_discoveries
from zeronorm.inference.false_discoveries import Experiments
from zeronorm.inference.false_discoveries import FalseDiscoverySelector
made = []
class Counted(Experiments):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        made.append(self)
false_discoveries.Experiments = Counted
folder = sys.argv[1]
X, y = np.load(folder + "/x.npy", mmap_mode="r"), np.load(folder + "/y.npy")
begin = time.perf_counter()
found = FalseDiscoverySelector(0.1).fit(X, y).discoveries_
print(json.dumps({"seconds": time.perf_counter() - begin, "passes": made[0].n_passes,
    "found": found.found.tolist(), "entered": found.n_entered}))
"""


def size(p: int, folder: Path) -> dict[str, Any]:
    """Return what a fit of so many features takes."""
    rng = np.random.default_rng(p)
    X = np.lib.format.open_memmap(folder / "x.npy", "w+", np.float32, (ROWS, p), fortran_order=True)
    for start in range(0, p, 50_000):
        X[:, start : start + 50_000] = rng.standard_normal(
            (min(50_000, p - start), ROWS), np.float32
        ).T
    places = np.arange(5) * (p // 5) + 3
    y = X[:, places].sum(axis=1) + rng.standard_normal(ROWS)
    X.flush()
    del X
    np.save(folder / "y.npy", y)
    os.sync()
    with open(folder / "x.npy", "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(folder)], stdout=subprocess.PIPE, text=True
    )
    peak = 0.0
    while child.poll() is None:
        peak = max(peak, anonymous(child.pid))
        time.sleep(0.01)
    assert child.stdout is not None
    said = json.loads(child.stdout.read())
    right = len(set(said["found"]) & set(places.tolist()))
    return {"features": p, "peak": peak, "right": right, **said}


def shown(one: dict[str, float] | None) -> str:
    """Return a false discovery rate with its error, and the power."""
    if one is None:
        return ""
    return f"{one['fdr']:.3f} ± {one['error']:.3f}, {one['power']:.2f}"


def table(found: dict[str, Any]) -> Iterator[str]:
    """Yield the parts of the report."""
    if "settings" in found:
        names = ("dummies", "Benjamini-Hochberg", "knockoffs", "votes alone")
        rows = [
            [one["setting"], *(shown(one["methods"].get(name)) for name in names)]
            for one in found["settings"]
        ]
        yield common.table(["setting: share of false ones, power", *names], rows)
    if "dependent" in found:
        rows = [
            [one["setting"], one["draws"], method, shown(own)]
            for one in found["dependent"]
            for method, own in one["methods"].items()
        ]
        yield common.table(["samples", "data sets", "found", "share of false ones, power"], rows)
    if "null" in found:
        one = found["null"]
        yield (
            f"Nothing there: discoveries in {one['share']:.1%} ± {one['error']:.1%} of "
            f"{one['draws']} data sets."
        )
        yield common.table(
            ["dummies that entered", "votes of 20", "features, mean", "expected_false"],
            [
                [each["entered"], each["votes"], f"{each['mean']:.3f}", f"{each['expected']:.3f}"]
                for each in one["votes"]
            ],
        )
    if "size" in found:
        yield common.table(
            [
                "features",
                "seconds",
                "passes of experiments",
                "own memory, MB",
                "found",
                "of 5 right",
            ],
            [
                [
                    f"{one['features']:,}",
                    f"{one['seconds']:.1f}",
                    one["passes"],
                    f"{one['peak']:.0f}",
                    len(one["found"]),
                    one["right"],
                ]
                for one in found["size"]
            ],
        )


def main() -> None:
    """Measure, print and write the results."""
    parser = common.parser(__doc__)
    parser.add_argument("--draws", type=int, default=200, help="data sets of every setting")
    parser.add_argument("--parts", default=PARTS, help="what to measure, with commas between")
    parser.add_argument("--keep", action="store_true", help="keep the other parts as they are")
    options = parser.parse_args()
    machine = common.machine()
    found: dict[str, Any] = {}
    if options.keep:
        kept = common.earlier(options.results, "false_discoveries")
        found = {name: kept[name] for name in PARTS.split(",") if name in kept}
    parts = options.parts.split(",")
    if "settings" in parts:
        found["settings"] = []
        for name in SETTINGS:
            with common.log(name):
                found["settings"].append(setting(name, options.draws))
    if "dependent" in parts:
        with common.log("dependent samples"), ProcessPoolExecutor() as pool:
            found["dependent"] = [
                _dependent.measured(name, options.draws, pool) for name in _dependent.DEPENDENT
            ]
    if "null" in parts:
        found["null"] = null(5 * options.draws)
    if "size" in parts:
        found["size"] = []
        for p in SIZES:
            with tempfile.TemporaryDirectory() as folder, common.log(f"{p:,} features"):
                found["size"].append(size(p, Path(folder)))
    about = __doc__.split("\n\n", 2)[2].strip()
    text = "\n\n".join(["# False discoveries", about, *table(found)])
    common.write(options.results, "false_discoveries", {"machine": machine, **found}, text)


if __name__ == "__main__":
    main()
