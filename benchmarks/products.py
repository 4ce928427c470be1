"""All pairs of features: seconds of the best of all products, and of fits, as they grow.

    python benchmarks/products.py [--tiny]

1,000 samples of balanced zeros and ones (int8), centred; the target is an exclusive or of two
features, of which 10 % are flipped. The search for the best ten products of all pairs: of all
("every"), and of those with at least 0.6 of the planted score ("above"), on two threads; wall and
CPU seconds, the part of the multiplications that was done, and from the largest size what 100,000
features take (4,999,950,000 products), by the number of products. Then fits of one feature by
`BudgetClassifier`, certified over all products.
"""

from __future__ import annotations

import resource
import time
from typing import Any

import numpy as np

import _common as common
from zeronorm import BudgetClassifier, Interactions

SAMPLES = 1000
GOAL = 100_000


def planted(p: int) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Return features, a target and the pair that it is an exclusive or of."""
    rng = np.random.default_rng(p)
    X = np.asfortranarray(rng.integers(0, 2, (SAMPLES, p), np.int8))
    a, b = sorted(rng.choice(p, 2, replace=False).tolist())
    y = X[:, a] ^ X[:, b]
    return X, np.where(rng.random(SAMPLES) < 0.1, 1 - y, y), [a, b]


def measure(p: int, fit: bool) -> list[dict[str, Any]]:
    """Return the seconds of searches, and of a fit if asked, of all products of p features."""
    X, y, pair = planted(p)
    design = Interactions(X, center="mean", n_threads=2)
    v = y - y.mean()
    rows: list[dict[str, Any]] = []
    least = 0.0
    for what in ("every", "above"):
        wall, cpu = time.perf_counter(), time.process_time()
        found = design.best(v, 10, least=least)
        least = 0.6 * abs(float(found.scores[0]))
        rows.append({
            "features": p, "products": p * (p - 1) // 2, "what": what,
            "wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu,
            "share": found.share, "found": found.pairs[0].tolist() == pair,
        })  # fmt: skip
    if fit:
        wall, cpu = time.perf_counter(), time.process_time()
        model = BudgetClassifier(1, n_threads=2, calibrate=False).fit(design, y)
        rows.append({
            "features": p, "products": p * (p - 1) // 2, "what": "fit",
            "wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu,
            "share": 1.0, "found": design.factors(model.support_)[0].tolist() == pair,
        })  # fmt: skip
    return rows


def main() -> None:
    """Measure, and write the results."""
    parser = common.parser(__doc__)
    parser.add_argument("--tiny", action="store_true", help="does it run")
    options = parser.parse_args()
    sizes = (200, 400) if options.tiny else (2000, 5000, 10_000, 20_000)
    rows: list[dict[str, Any]] = []
    for p in sizes:
        with common.log(f"{p} features"):
            rows += measure(p, fit=p <= 5000)
    lines = [
        [
            f"{row['features']:,}", f"{row['products']:,}", row["what"], f"{row['wall']:.2f} s",
            f"{row['cpu']:.2f} s", f"{row['share']:.0%}", "yes" if row["found"] else "no",
        ]
        for row in rows
    ]  # fmt: skip
    table = common.table(
        ["features", "products", "what", "wall", "CPU", "multiplied", "planted pair first"], lines
    )
    pairs = GOAL * (GOAL - 1) // 2
    largest = [row for row in rows if row["features"] == sizes[-1] and row["what"] != "fit"]
    ends = [
        f"{row['what']}: {row['wall'] * pairs / row['products'] / 60:.1f} minutes"
        for row in largest
    ]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    text = [
        "# Products of all pairs",
        __doc__.split("\n\n", 2)[2].strip(),
        table,
        f"Extrapolated to {GOAL:,} features, {pairs:,} products, by their number, for one search "
        f"over {SAMPLES:,} samples: {'; '.join(ends)}. Peak memory of the run: {peak:,.0f} MB.",
    ]
    data = {"machine": common.machine(), "rows": rows}
    common.write(options.results, "products", data, "\n\n".join(text))


if __name__ == "__main__":
    main()
