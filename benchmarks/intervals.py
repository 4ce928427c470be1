"""Whether intervals by errors out of fold have the share of new rows that they say.

    python benchmarks/intervals.py
    python benchmarks/intervals.py --sets tecator,boston --splits 4

`zeronorm predict --interval 0.9` puts around a prediction the absolute error of rank
ceil(0.9 (n + 1)) of the n rows out of fold of its selection. Nothing bounds from below how many
new rows are inside: CV+ (Barber, Candes, Ramdas, Tibshirani 2021) has such a bound, and keeps the
models of all folds for it.

Every split takes 70 % of the rows to select 5 features (half the columns, where there are no 10)
in the whole and in 5 folds, and counts the other rows inside, at shares of 0.8 and 0.9. Beside it
stands the same rule by the errors of the training rows, which have chosen the features.

Asked before the sets were looked at: of the mean over sets, the share inside is no less than the
nominal one by more than 0.02, and of no set by more than 0.08, the noise of 20 splits of few rows.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, cross_val_predict

import _by_sets as by_sets
import _common as common
import refit
import selection_C
import targets
from zeronorm import BudgetRegressor
from zeronorm.persistence.records import half_width, summarize_errors

K, FOLDS, SPLITS = 5, 5, 20
SHARES = (0.8, 0.9)
SETS = {
    name: selection_C.SETS[name] for name in (
        "tecator", "cookie", "gasoline", "riboflavin", "trim32", "boston", "birthwt", "diabetes",
        "yeast:9")
}  # fmt: skip


def measure(folder: Path, name: str, splits: int) -> list[dict[str, Any]]:
    """Return a row for every split: which share of new rows is inside, and how wide that is."""
    refit.SETS[name] = SETS[name]
    problem = refit.read(folder, name)
    rows = []
    for seed in range(splits):
        train, test = refit._split(problem, np.random.default_rng(seed))
        few, new = problem.rows(train), problem.rows(test)
        k = min(K, max(problem.X.shape[1] // 2, 1))
        model = BudgetRegressor(k, n_threads=1)
        y, truth = targets.target(few), targets.target(new)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            folds = KFold(FOLDS, shuffle=True, random_state=seed)
            apart = y - cross_val_predict(model, few.X, y, cv=folds)
            model.fit(few.X, y)
        errors = np.abs(truth - model.predict(new.X))
        scale = float(np.std(truth))
        for share in SHARES:
            row = {"set": name, "seed": seed, "n": len(y), "share": share}
            for kind, own in (("out of fold", apart), ("training", y - model.predict(few.X))):
                half = half_width(summarize_errors(own), share)
                row[kind] = float(np.mean(errors <= half))
                row[f"{kind}, width"] = half / scale
            rows.append(row)
    return rows


def report(rows: list[dict[str, Any]]) -> str:
    """Return the verdict and the table."""
    names = list(dict.fromkeys(row["set"] for row in rows))
    lines, bars = [], []

    def mean(share: float, kind: str, name: str | None = None) -> float:
        own = [one[kind] for one in rows if one["share"] == share and name in (None, one["set"])]
        return float(np.mean(own))

    for name in names:
        n = next(row["n"] for row in rows if row["set"] == name)
        cells = [
            text
            for share in SHARES
            for text in (
                f"{mean(share, 'out of fold', name):.3f}",
                f"{mean(share, 'training', name):.3f}",
                f"{mean(share, 'out of fold, width', name):.2f}",
            )
        ]
        lines.append([name, str(n), *cells])
    for share in SHARES:
        least = min(mean(share, "out of fold", name) for name in names)
        average = float(np.mean([mean(share, "out of fold", name) for name in names]))
        bars += [
            common.bar(f"{share}: mean over sets", f">= {share - 0.02:.2f}", f"{average:.3f}",
                       average >= share - 0.02),
            common.bar(f"{share}: least of the sets", f">= {share - 0.08:.2f}", f"{least:.3f}",
                       least >= share - 0.08),
        ]  # fmt: skip
    heads = ["set", "training rows"]
    for share in SHARES:
        heads += [f"{share:g}: inside", "by training errors", "half width, s.d. of the target"]
    text = "# Intervals by errors out of fold\n\n" + common.bars_table(bars)
    return text + "\n\nShare of new rows inside, mean over splits.\n\n" + common.table(heads, lines)


def main() -> int:
    """Run, print, and write the results."""
    return by_sets.run(common.parser(__doc__), "intervals", SETS, SPLITS, measure, report)


if __name__ == "__main__":
    common.one_thread()
    sys.exit(main())
