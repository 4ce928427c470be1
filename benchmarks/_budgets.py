"""Large budgets: the default beside the pool, minimax and l1, on new rows; a part of `main_job.py`.

Every draw has 4,000 new rows for the accuracy. Designs are gaussian, columns independent or AR(.7)
in their order, labels the sign of Xw or drawn from a logistic model of it with the standard
deviation of the margins that is stated. All methods end with the same refit and the same scaling.
The seeds of the draws are 8000, 8001, ...; the rule of the default (`RIVAL_SHARE` and so on in
`estimators/budget.py`) was made on the seeds 0 to 3 of the small designs and 0 of the large,
and its last number (no pool from k = n/20 on) after a look at ten more of each.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import _common as common
from zeronorm import BudgetClassifier

FIRST_SEED, NEW_ROWS = 8000, 4000
METHODS = ("auto", "pool", "minimax", "l1")


@dataclass(frozen=True)
class Design:
    """How rows are drawn, and the budgets that are tried."""

    n: int
    p: int
    informative: int
    correlation: float
    spread: float | None  # of the margins of a logistic model; None: labels are the sign of Xw
    sizes: tuple[int, ...]
    draws: int

    @property
    def name(self) -> str:
        """What the tables call it."""
        noise = "noiseless" if self.spread is None else f"margins of SD {self.spread:g}"
        columns = "independent" if self.correlation == 0 else f"AR({self.correlation:g})"
        return f"{self.n:,} x {self.p:,}, {self.informative} informative, {columns}, {noise}"

    def draw(self, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return X, y of all rows, those for the accuracy last, and the informative features."""
        rng = np.random.default_rng(seed)
        rows = self.n + NEW_ROWS
        X = np.asfortranarray(rng.standard_normal((rows, self.p), dtype=np.float32))
        if self.correlation:
            rest = np.float32(np.sqrt(1 - self.correlation**2))
            for j in range(1, self.p):
                X[:, j] = np.float32(self.correlation) * X[:, j - 1] + rest * X[:, j]
        true = np.sort(rng.choice(self.p, self.informative, replace=False))
        margins = X[:, true].astype(float) @ rng.standard_normal(true.size)
        if self.spread is None:
            return X, (margins > 0).astype(int), true
        margins *= self.spread / margins.std()
        return X, (rng.random(rows) < 1 / (1 + np.exp(-margins))).astype(int), true


SMALL = (5, 30, 60, 100, 150, 250)
DESIGNS = (
    Design(5000, 40_000, 300, 0.0, None, (50, 300, 600, 800), 2),
    Design(1000, 5000, 60, 0.0, None, SMALL, 10),
    Design(1000, 5000, 60, 0.7, None, SMALL, 10),
    Design(1000, 5000, 60, 0.0, 3.0, SMALL, 10),
    Design(1000, 5000, 60, 0.0, 1.2, SMALL, 10),
)


def measured(design: Design, k: int, seed: int) -> list[dict[str, Any]]:
    """Return what each method does on a draw."""
    X, y, true = design.draw(seed)
    train, new = slice(None, design.n), slice(design.n, None)
    data = np.asfortranarray(X[train])
    found = []
    for method in METHODS:
        begin = time.process_time()
        model = BudgetClassifier(k, method=method, n_threads=1).fit(data, y[train])
        seconds = time.process_time() - begin
        right = float(model.score(X[new], y[new]))
        hits = int(np.isin(model.support_, true).sum())
        found.append(
            {
                "method": method, "chosen": model.method_, "accuracy": right, "found": hits,
                "cpu": seconds, "seed": seed, "k": k,
            }
        )  # fmt: skip
    return found


def budgets(options: Any) -> tuple[dict[str, Any], list[dict[str, Any]], str]:
    """Measure the default at budgets from small to a quarter of the rows."""
    figures, bars, text = [], [], ["## Large budgets: the default beside its candidates"]
    for design in DESIGNS:
        draws = 1 if options.small else design.draws
        rows = []
        for k in design.sizes:
            with common.log(f"{design.name}, k = {k}"):
                parts = [measured(design, k, FIRST_SEED + number) for number in range(draws)]
            accuracy = np.array([[one["accuracy"] for one in part] for part in parts])
            gain = accuracy[:, :1] - accuracy[:, 1:]
            error = gain.std(axis=0, ddof=1) / np.sqrt(draws) if draws > 1 else np.zeros(3)
            best = int(np.argmax(accuracy[:, 1:].mean(axis=0)))
            cpu = np.median([[one["cpu"] for one in part] for part in parts], axis=0)
            hits = np.mean([[one["found"] for one in part] for part in parts], axis=0)
            chosen = [part[0]["chosen"] for part in parts]
            rows.append(
                [
                    k,
                    " ".join(f"{one:.3f}" for one in accuracy.mean(axis=0)),
                    f"{gain.mean(axis=0)[best]:+.3f} ± {error[best]:.3f} ({METHODS[1 + best]})",
                    " ".join(f"{one:.0f}" for one in hits),
                    " ".join(f"{one:.2f}" for one in cpu),
                    f"{cpu[0] / cpu[1:].min():.1f}",
                    ", ".join(f"{name} {chosen.count(name)}" for name in dict.fromkeys(chosen)),
                ]
            )
            bars.append(
                common.bar(
                    f"{design.name}, k = {k}: accuracy minus the best of pool, minimax and l1",
                    "not below minus one standard error",
                    f"{gain.mean(axis=0)[best]:+.3f} ± {error[best]:.3f}",
                    bool(gain.mean(axis=0)[best] >= -error[best]),
                )
            )
            figures += [one for part in parts for one in part]
        head = ["k", "accuracy: default, pool, minimax, l1", "default minus the best"]
        head += ["true found", "CPU s", "default / fastest", "chosen, draws"]
        text += [f"### {design.name} ({draws} draws)", common.table(head, rows)]
    named = {"designs": [asdict(design) for design in DESIGNS], "rows": figures}
    return named, bars, "\n\n".join(text)
