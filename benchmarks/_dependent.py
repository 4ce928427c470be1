"""Data sets of populations, families and repeated measurements, whose samples are not alike."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from zeronorm.inference.false_discoveries import FalseDiscoverySelector

LEVEL = 0.1
FEATURES, EFFECTS, FIRST = 500, 20, 1000
APART = 0.15  # F_ST: what of the variance of a genotype is between two populations
SHIFT = 2.0  # of the trait, in standard deviations of its errors
OVER_TIME = 0.8  # correlation of neighbours


@dataclass(frozen=True, eq=False)
class DataSet:
    """Features, target, which of the features have an effect, and what is known of the samples."""

    X: np.ndarray
    y: np.ndarray
    active: np.ndarray
    covariates: dict[str, np.ndarray]  # (n, q) each, by name
    groups: np.ndarray | None = None


def populations(rng: np.random.Generator, n: int = 200, classes: bool = False) -> DataSet:
    """Return genotypes of two populations that differ in them and in the trait."""
    which = np.arange(n) % 2
    ancestral = rng.uniform(0.1, 0.9, FEATURES)
    spread = (1.0 - APART) / APART
    frequency = rng.beta(ancestral * spread, (1.0 - ancestral) * spread, (2, FEATURES))
    X = rng.binomial(2, np.clip(frequency, 0.05, 0.95)[which]).astype(float)
    effects = _effects(rng)
    size = np.sqrt(0.5 * sum(X[which == one].var(axis=0) for one in (0, 1)))
    y = (X / size) @ effects + SHIFT * which
    if classes:
        y = (rng.random(n) < special.expit(3.0 * (y - y.mean()))).astype(float)
    else:
        y += rng.standard_normal(n)
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    component = np.linalg.svd(standard, full_matrices=False)[0][:, :1]
    beside = {"population": which[:, None].astype(float), "first component": component}
    return DataSet(X, y, effects != 0, beside)


def families(rng: np.random.Generator, n: int = 67, size: int = 3) -> DataSet:
    """Return siblings, who share half of their features and of what else acts."""
    family = np.repeat(np.arange(n), size)
    half = np.full((2, FEATURES), 0.5)
    return _in_blocks(rng, family, half, 0.5)


def measurements(rng: np.random.Generator, n: int = 67, size: int = 3) -> DataSet:
    """Return repeated measurements: half of the features are of the person, half of the sample."""
    own = np.repeat([1.0, 0.0], FEATURES // 2)
    return _in_blocks(rng, np.repeat(np.arange(n), size), np.stack([own, 1.0 - own]), 0.7)


def over_time(rng: np.random.Generator, n: int = 34, size: int = 6) -> DataSet:
    """Return measurements at six times, more alike the nearer they are."""
    times = np.arange(size)
    root = np.linalg.cholesky(OVER_TIME ** np.abs(np.subtract.outer(times, times)))
    both = (root @ rng.standard_normal((n, size, FEATURES + 1))).reshape(n * size, -1)
    effects = _effects(rng)
    y = both[:, 1:] @ effects + both[:, 0]
    return DataSet(both[:, 1:], y, effects != 0, {}, np.repeat(np.arange(n), size))


def _in_blocks(
    rng: np.random.Generator, block: np.ndarray, variance: np.ndarray, shared: float
) -> DataSet:
    """Return features with variances between blocks and within, and errors with a shared part."""
    n, n_blocks = block.size, int(block.max()) + 1
    between, within = np.sqrt(variance)
    X = between * rng.standard_normal((n_blocks, FEATURES))[block]
    X += within * rng.standard_normal((n, FEATURES))
    error = np.sqrt(shared) * rng.standard_normal(n_blocks)[block]
    error += np.sqrt(1.0 - shared) * rng.standard_normal(n)
    effects = _effects(rng)
    return DataSet(X, X @ effects + error, effects != 0, {}, block)


def _effects(rng: np.random.Generator) -> np.ndarray:
    effects = np.zeros(FEATURES)
    places = rng.choice(FEATURES, EFFECTS, replace=False)
    effects[places] = 0.4 * rng.choice([-1.0, 1.0], EFFECTS)
    return effects


# Of every setting what draws its data sets.
DEPENDENT = {
    "two populations": populations,
    "two populations, two classes": lambda rng: populations(rng, classes=True),
    "families of three": families,
    "three measurements of each person": measurements,
    "six times": over_time,
}


def drawn(name: str, draw: int) -> DataSet:
    """Return a data set of a setting."""
    return DEPENDENT[name](np.random.default_rng([FIRST + draw, *name.encode()]))


def shares(name: str, draw: int) -> dict[str, tuple[float, float]]:
    """Return the shares of false and of true features found in dependent samples, by method."""
    one = drawn(name, draw)
    p = one.X.shape[1]
    found = {"alone": FalseDiscoverySelector(LEVEL).fit(one.X, one.y).support_}
    for beside, columns in one.covariates.items():
        both = np.column_stack([one.X, columns])
        selector = FalseDiscoverySelector(LEVEL, covariates=[*range(p, both.shape[1])])
        found[f"beside {beside}"] = selector.fit(both, one.y).support_
    if one.groups is not None:
        selector = FalseDiscoverySelector(LEVEL)
        found["with groups"] = selector.fit(one.X, one.y, groups=one.groups).support_
    right = {method: one.active[own].sum() for method, own in found.items()}
    return {
        method: ((own.size - right[method]) / max(1, own.size), right[method] / one.active.sum())
        for method, own in found.items()
    }


def measured(name: str, draws: int, pool: Executor) -> dict[str, Any]:
    """Return the false discovery rates and the powers with and without what is known of samples."""
    each = list(pool.map(shares, [name] * draws, range(draws)))
    of = {method: np.array([one[method] for one in each]) for method in each[0]}
    return {"setting": name, "draws": draws, "methods": {
        method: dict(zip(("fdr", "power"), own.mean(axis=0).tolist(), strict=True))
        | {"error": float(own[:, 0].std(ddof=1) / np.sqrt(draws))}
        for method, own in of.items()
    }}  # fmt: skip


__all__ = ["DEPENDENT", "DataSet", "drawn", "measured"]
