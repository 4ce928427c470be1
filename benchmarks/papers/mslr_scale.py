"""Fig. 1: does l1-LR suffer from the scale variation of the true weights.

The paper: X 4096 x 8192 gaussian, half of the rows train; 300 non-zero weights w_i = +-v_i^tau with
v ~ U(0, 1), scaled to max |w| = 1; y = sign(Xw). tau = 0 gives |w_i| in {0, 1}, a large tau a long
tail. l1-LR and MSLR are compared by test accuracy and by the number of true features among those
selected, for every tau.

Here: the same, and WLR and GLR, which the paper has in its other figures. How l1-LR was brought to
300 features is not said; we bisect log C until it has 300 within 2 %, and the other methods then
select exactly as many as l1-LR did. Small: 1024 x 2048 with 75 non-zeros, three draws.

    python benchmarks/papers/mslr_scale.py          # small
    python benchmarks/papers/mslr_scale.py --full   # the paper's size
"""

from __future__ import annotations

import sys

import numpy as np

import _mslr as mslr
from _mslr import Curve, Data, Panel, Row

TAUS = (0.0, 0.1, 0.5, 1.0, 2.0, 3.0, 5.0)
SIZES = {"tiny": (256, 512, 19), "small": (1024, 2048, 75), "full": (4096, 8192, 300)}
DEFAULT = "l1-search,newton,published,smoothing,wlr,glr,glr-ridge,truth,minimax,budget"


def weights(m: int, informative: int, tau: float, seed: int) -> np.ndarray:
    """Return w (m,): +-v^tau on random features, the largest |w| scaled to one."""
    rng = np.random.default_rng([seed, 1])
    v = 1.0 - rng.random(informative)  # in (0, 1]: no true weight is zero
    w = np.zeros(m)
    features = rng.choice(m, informative, replace=False)
    w[features] = rng.choice((-1.0, 1.0), informative) * (v / v.max()) ** tau
    return w


def draw(size: tuple[int, int, int], tau: float, seed: int) -> Data:
    """Return one problem; every tau has the same X, features and signs."""
    n, m, informative = size
    rng = np.random.default_rng([seed, 0])
    X = rng.standard_normal((m, n), dtype=np.float32).T
    w = weights(m, informative, tau, seed)
    used = np.flatnonzero(w)
    y = np.where(X[:, used].astype(np.float64) @ w[used] >= 0, 1.0, -1.0)
    half = n // 2
    return Data(f"tau={tau:g}", np.asfortranarray(X[:half]), y[:half], X[half:], y[half:], w)


def main() -> None:
    """Measure and write mslr_scale.json, .md and .png."""
    chosen = mslr.options(__doc__, DEFAULT, seeds=3, limit=300.0)
    size = SIZES[chosen.size]
    taus = TAUS if chosen.size != "tiny" else (0.0, 5.0)
    rows: list[Row] = []
    for tau in taus:
        for seed in range(mslr.FIRST_SEED, mslr.FIRST_SEED + chosen.seeds):
            data = draw(size, tau, seed)
            k = size[2]
            for key in sorted(chosen.keys, key=lambda key: key != "l1-search"):  # it comes first
                found = mslr.measure(data, [key], (k,), chosen, seed=seed, tau=tau)
                rows += found
                if key == "l1-search":
                    k = found[0].get("n_features") or k
    figures = mslr.record(chosen, shape=size, runs=rows)
    text = [mslr.introduction(__doc__, chosen), f"{size[0]} x {size[1]}, {size[2]} true features."]
    for tau in taus:
        here = [row for row in rows if row["tau"] == tau]
        text += [f"## tau = {tau:g}", mslr.rows_table(here, chosen.keys)]
    panels = [_distribution(size, taus)]
    for value, label, factor in (
        ("accuracy", "test accuracy (%)", 100.0),
        ("recovered", "# recovered true features", 1.0),
    ):
        panels.append(
            Panel(
                label, "tau", label, [_line(key, rows, taus, value, factor) for key in chosen.keys]
            )
        )
    title = "Fig. 1: influence of the scale variation of w"
    if mslr.draw(chosen.results / "mslr_scale.png", title, panels):
        text.insert(2, "![Fig. 1](mslr_scale.png)")
    mslr.common.write(chosen.results, "mslr_scale", figures, "\n\n".join(text))
    chosen.kept.close()


def _line(key: str, rows: list[Row], taus: tuple[float, ...], value: str, factor: float) -> Curve:
    method = mslr.METHODS[key]
    points = []
    for tau in taus:
        values = [row[value] for row in mslr.ok(rows, method=key, tau=tau)]
        points.append(factor * float(np.mean(values)) if values else np.nan)
    return Curve(method.label, taus, points, method.colour, method.marker)


def _distribution(size: tuple[int, int, int], taus: tuple[float, ...]) -> Panel:
    """Return Fig. 1(a): the sorted non-zero |w| of the first draw."""
    curves = []
    for position, tau in enumerate(taus):
        w = np.abs(weights(size[1], size[2], tau, mslr.FIRST_SEED))
        grey = str(0.75 * position / max(len(taus) - 1, 1))
        curves.append(
            Curve(f"|w|, tau = {tau:g}", range(size[2]), np.sort(w[w > 0]), grey, "", dashed=True)
        )
    return Panel("(a) non-zero |w|, sorted", "rank", "|w|", curves)


if __name__ == "__main__":
    sys.exit(main())
