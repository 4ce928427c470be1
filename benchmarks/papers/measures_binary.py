"""Figs. 2(a), 3 and 4: features for accuracy on binary text: how good, which, in what time.

The paper: News20.binary (11,997 and 7,999 rows, 1,355,191 features). Fig. 3: test accuracy against
the number of selected features of FS^hamming (C = n, c = 1 here), FGM and SVM-RFE (C = 5 for both)
and l1-SVM (several C), B = 2, 5, 10, 50, 100, 150, 200 and 250; Fig. 4: which features FS^hamming
selects as B grows; Fig. 2(a): training time, FS^F1 too. Its l1-bmrm-F1 did not end within two days.
There are no numbers but those of the curves.

Here: news20ng, the same corpus with its own features, binarised, rows of unit norm, older and newer
posts. The paper's other set, URL1 (20,000 rows of day 1 of the malicious URLs, 3,231,961 features),
is not at hand; the figures have one panel for each set, and news20ng, of 1,625,866 features, is the
nearer of both in rows and features alike. FS: blocks of B features until 5 B are in (5 blocks, or
more where they share features), the models over the blocks, to a gap of 1e-3; a feature is
selected if its weight is not zero. The paper does not say c of FS^F1: 1 too. As larger c are better
in Fig. 1, FS^hamming is there with c = 10 as well. FGM: blocks of as many features, SimpleMKL as
published; its model is a logistic refit, C = 5, on the selected features. SVM-RFE: one elimination
for all sizes, which begins with all columns that are not constant; half of the features leave while
there are more than 4000, then a tenth, below 100 one. l1-SVM is our own solver, to a gap of 1e-4,
and LIBLINEAR's with its default tolerance, 0.01. l1-bmrm-F1, our own too, was tried with c = 0.01
and 0.1, to ROUNDS of the paper's 1000 rounds; it keeps a number per round and column.

"Retrained": a linear SVM of LIBLINEAR, C = 5, on the selected features, the same code for all; it
tells the selection from the shrinkage of the model. CPU seconds are those of training on one
thread, without the retraining; of SVM-RFE those of the elimination until there are so many
features; of FGM the refit and the certificate are in it.

    python benchmarks/papers/measures_binary.py            # minutes
    python benchmarks/papers/measures_binary.py --tiny     # seconds: does the script run
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from _mslr import Curve, Panel, common, draw, protocol
from baselines import L1SVM, SVMRFE, L1Bmrm
from measures_text import Claim, claims_table
from zeronorm import MeasureClassifier
from zeronorm.measures import parse_measure
from zeronorm.published import FeatureGeneratingMachine

Row = dict[str, Any]
BUDGETS = (2, 5, 10, 50, 100, 150, 200, 250)
BLOCKS = 5
SVM_C = 5.0  # of FGM, SVM-RFE and the retraining
FS = {"FS^hamming": ("hamming", 1.0), "FS^hamming, c = 10": ("hamming", 10.0),
      "FS^F1": ("f1", 1.0)}  # fmt: skip
L1_CS = (0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1.0, 1.5)
BMRM_CS, ROUNDS = (0.01, 0.1), 500
FEW = 20  # features: "a small number" in the paper
COLOURS = {
    "FS^hamming": "tab:red",
    "FS^hamming, c = 10": "tab:pink",
    "FS^F1": "tab:orange",
    "FGM": "tab:purple",
    "SVM-RFE": "tab:blue",
    "l1-SVM": "tab:green",
    "l1-SVM (LIBLINEAR)": "tab:olive",
}


@dataclass(frozen=True)
class Problem:
    """Training and test rows, labels +-1."""

    X: sp.csr_matrix  # float32
    y: np.ndarray
    X_test: sp.csr_matrix
    y_test: np.ndarray

    def accuracy(self, scores: np.ndarray) -> float:
        """Return the test accuracy of scores, in percent."""
        return 100.0 * parse_measure("hamming").score(self.y_test, scores)

    def row(self, method: str, knob: float, coef: np.ndarray, b: float, cpu: float) -> Row:
        """Return the row of one linear model, coef (m,)."""
        support = np.flatnonzero(np.abs(coef) > 1e-9 * np.abs(coef).max())
        svm = LinearSVC(C=SVM_C, dual=support.size * 10 > self.y.size, tol=1e-3, random_state=0)
        svm.fit(self.X[:, support].astype(float), self.y)
        scores = self.X_test[:, support] @ coef[support] + b
        again = svm.decision_function(self.X_test[:, support].astype(float))
        return {"method": method, "knob": knob, "features": support.size, "cpu": cpu,
                "accuracy": self.accuracy(scores), "retrained": self.accuracy(again)}  # fmt: skip


def fitted(problem: Problem, method: str, knob: float, model: Any, X: Any) -> tuple[Row, Any]:
    """Fit a classifier; return its row, and its coefficients."""
    with common.log(f"{method}, {knob:g}"):
        _, cpu, _ = common.clock(lambda: model.fit(X, problem.y))
    coef = np.ravel(model.coef_)
    b = float(np.ravel(model.intercept_)[0]) if np.size(model.intercept_) else 0.0
    return problem.row(method, knob, coef, b, cpu), coef


def two_layer(key: str, weight: float, budget: int) -> MeasureClassifier:
    """Return FS for a measure with B features in each block."""
    return MeasureClassifier(
        key, BLOCKS * budget, C=weight, block_size=budget, max_blocks=BLOCKS, refit=False,
        standardize=False, n_threads=1,
    )  # fmt: skip


def eliminated(problem: Problem, sizes: Sequence[int]) -> list[Row]:
    """Return the rows of SVM-RFE: one elimination for all sizes."""
    model = SVMRFE(list(sizes), C=SVM_C, standardize=False, n_threads=1)
    with common.log("SVM-RFE"):
        _, cpu, _ = common.clock(lambda: model.fit(problem.X, problem.y))
    path = model.path_
    rows = []
    for k in sorted(sizes):
        later = sum(step.seconds["solve"] for step in path.history if step.n_features < k)
        coef = np.zeros(problem.X.shape[1])
        coef[path[k].support] = path[k].coef
        rows.append(problem.row("SVM-RFE", k, coef, float(path[k].intercept), cpu - later))
    return rows


def bundle(problem: Problem, weight: float, rounds: int) -> Row:
    """Return how far l1-bmrm-F1 comes."""
    model = L1Bmrm("f1", C=weight, standardize=False, max_iter=rounds, n_threads=1)
    with common.log(f"l1-bmrm-F1, {weight:g}"):
        _, cpu, _ = common.clock(lambda: model.fit(problem.X, problem.y))
    history = model.path_.history
    return {"method": "l1-bmrm-F1", "knob": weight, "rounds": len(history), "cpu": cpu,
            "features": int(np.count_nonzero(model.coef_)), "gap": model.gap_,
            "gaps": [step.extra["gap"] for step in history]}  # fmt: skip


def measure_all(
    problem: Problem, budgets: Sequence[int], cs: Sequence[float], rounds: int
) -> Iterator[tuple[list[Row], Row]]:
    """Yield the rows so far, and the shares of Fig. 4, after every method."""
    rows: list[Row] = []
    supports: list[np.ndarray] = []
    for method, (key, weight) in FS.items():
        for budget in budgets:
            model = two_layer(key, weight, budget)
            row, coef = fitted(problem, method, budget, model, problem.X)
            rows.append(row)
            if method == "FS^hamming":
                supports.append(np.flatnonzero(np.abs(coef) > 1e-9 * np.abs(coef).max()))
        shares = {
            "budgets": list(budgets),
            "sizes": [one.size for one in supports],
            "shares": [[np.isin(a, b).mean() for b in supports] for a in supports],
        }
        yield rows, shares
    rows_double = problem.X.astype(float)  # as LIBLINEAR wants them: not counted
    estimators: dict[str, Callable[[float], Any]] = {
        "FGM": lambda B: FeatureGeneratingMachine(
            BLOCKS * B, C=SVM_C, refit_C=SVM_C, block_size=B, max_blocks=BLOCKS,
            calibrate=False, solver="simplemkl", fit_intercept=False, standardize=False,
            n_threads=1,
        ),
        "l1-SVM": lambda C: L1SVM(C=C, standardize=False, n_threads=1),
        "l1-SVM (LIBLINEAR)": lambda C: LinearSVC(
            penalty="l1", dual=False, C=C, tol=0.01, random_state=0
        ),
    }  # fmt: skip
    for method, make in estimators.items():
        X = rows_double if "LIBLINEAR" in method else problem.X
        for knob in budgets if method == "FGM" else cs:
            rows.append(fitted(problem, method, knob, make(knob), X)[0])
        yield rows, shares
    rows += eliminated(problem, [BLOCKS * budget for budget in budgets])
    yield rows, shares
    for weight in BMRM_CS:
        rows.append(bundle(problem, weight, rounds))
        yield rows, shares


def curve(rows: Sequence[Row], method: str, value: str) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers of features, growing, and the values."""
    mine = sorted(
        (row for row in rows if row["method"] == method), key=lambda row: int(row["features"])
    )
    return (np.array([row["features"] for row in mine], float),
            np.array([row[value] for row in mine], float))  # fmt: skip


def against(rows: Sequence[Row], one: str, other: str, value: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the sizes of one method, and its values less those of the other, interpolated.

    Where the sizes are within those of the other; on the logarithm of the number of features.
    """
    x, mine = curve(rows, one, value)
    sizes, theirs = curve(rows, other, value)
    both = (x >= sizes[0] - 1) & (x <= sizes[-1] + 1)
    return x[both], mine[both] - np.interp(np.log(x[both]), np.log(sizes), theirs)


def claims(rows: Sequence[Row], shares: Row) -> list[Claim]:
    """Return what the paper says of the figures, and what is so here."""
    result: list[Claim] = []
    methods = {row["method"] for row in rows}
    for value, name in (("accuracy", ""), ("retrained", ", retrained")):
        for one, other in (
            ("FS^hamming", "SVM-RFE"),
            ("FGM", "SVM-RFE"),
            ("FS^hamming", "l1-SVM"),
            ("FS^hamming, c = 10", "l1-SVM"),
            ("FS^hamming", "FGM"),
        ):
            if not {one, other} <= methods:
                continue
            x, more = against(rows, one, other, value)
            holds: bool | None
            text = ", ".join(f"{k:.0f}: {d:+.1f}" for k, d in zip(x, more, strict=True))
            if other == "SVM-RFE":
                few = more[x < FEW]
                holds = bool(few.min() > 0) if few.size else None
                claim = f"{one} is better than {other} with fewer than {FEW} features"
            elif other == "l1-SVM":
                holds = bool((more > 0).mean() > 0.5)
                claim = f"{one} is better than {other} in most of the range"
            else:
                holds = bool(np.abs(more).max() < 2.0)
                claim = f"{one} is comparable to {other} (here: within 2 points)"
            result.append((claim + name, text, holds))
    table = np.array(shares["shares"])
    next_ones = [table[i, i + 1] for i in range(len(table) - 1)]
    pairs = [table[i, j] for i, j in combinations(range(len(table)), 2)]
    result.append(
        ("most features selected with a small B are selected with a larger B",
         f"{100 * min(next_ones):.0f} to {100 * max(next_ones):.0f} % with the next B, "
         f"{100 * min(pairs):.0f} to {100 * max(pairs):.0f} % with any larger",
         min(pairs) > 0.5)
    )  # fmt: skip
    result.append(
        ("not all are (the selection is not monotone)",
         f"all are in {sum(share == 1.0 for share in pairs)} of {len(pairs)} pairs of B",
         min(pairs) < 1.0)
    )  # fmt: skip
    seconds = {method: curve(rows, method, "cpu")[1] for method in COLOURS if method in methods}

    def spent(names: Sequence[str]) -> str:
        return "; ".join(
            f"{name} {seconds[name].min():.1f} to {seconds[name].max():.1f} s" for name in names
        )

    ours = ["FS^hamming", "FS^F1"]
    for other in ("l1-SVM", "l1-SVM (LIBLINEAR)"):
        if other in seconds:
            slower = all(
                bool(np.median(seconds[name]) > np.median(seconds[other])) for name in ours
            )
            result.append((f"FS is slower than {other}", spent([*ours, other]), slower))
    if "SVM-RFE" in seconds:
        slowest = max(float(seconds[name].max()) for name in ours)
        result.append(
            ("FS is much faster than SVM-RFE", spent([*ours, "SVM-RFE"]),
             bool(2.0 * slowest < seconds["SVM-RFE"].min()))
        )  # fmt: skip
    for row in rows:
        if row["method"] == "l1-bmrm-F1":
            gaps, rounds = row["gaps"], row["rounds"]
            places = [at for at in (10, 50, 100) if at < rounds]
            text = "gap " + "".join(f"{gaps[at - 1]:.3f} after {at}, " for at in places)
            text += f"{row['gap']:.3f} after {rounds} rounds, {row['cpu']:.0f} s; "
            text += (
                f"{row['features']} features" if row["features"] else "its model has no features"
            )
            result.append(
                (f"l1-bmrm-F1 does not come to a gap of 0.1 in 1000 rounds (c = {row['knob']:g})",
                 text,
                 None if (rounds < 1000 and row["gap"] > 0.1) or not row["features"]
                 else row["gap"] > 0.1)
            )  # fmt: skip
    return result


def table_of_fits(rows: Sequence[Row]) -> str:
    """Return Figs. 2(a) and 3 as a table: a line per model."""
    knobs = {"SVM-RFE": "", "l1-SVM": "C = ", "l1-SVM (LIBLINEAR)": "C = "}
    body = [
        [row["method"], f"{knobs.get(row['method'], 'B = ')}{row['knob']:g}", row["features"],
         f"{row['accuracy']:.2f}", f"{row['retrained']:.2f}", f"{row['cpu']:.1f}"]
        for row in rows if "accuracy" in row
    ]  # fmt: skip
    header = ["method", "asked", "features", "test accuracy (%)", "retrained (%)", "CPU s"]
    return common.table(header, body)


def table_of_shares(shares: Row) -> str:
    """Return Fig. 4 as a table: the share of the features of a small B among those of a larger."""
    budgets, sizes = shares["budgets"], shares["sizes"]
    body = []
    for i, budget in enumerate(budgets[:-1]):
        cells = [f"{100 * shares['shares'][i][j]:.0f}" if j > i else "" for j in range(len(sizes))]
        body.append([f"B = {budget} ({sizes[i]})", *cells[1:]])
    return common.table(
        ["% of those of", *(f"in B = {b} ({s})" for b, s in zip(budgets[1:], sizes[1:],
                                                               strict=True))], body
    )  # fmt: skip


def panels(rows: Sequence[Row]) -> list[Panel]:
    """Return Fig. 3, the same retrained and with few features, and Fig. 2(a)."""
    result = []
    few = [row for row in rows if row["features"] <= 260]
    for title, value, label, some, log in (
        ("Fig. 3: test accuracy", "accuracy", "test accuracy (%)", rows, False),
        ("Fig. 3: up to 250 features", "accuracy", "test accuracy (%)", few, False),
        ("retrained alike", "retrained", "test accuracy (%)", rows, False),
        ("Fig. 2(a): training time", "cpu", "CPU seconds", rows, True),
    ):
        curves = []
        for method, colour in COLOURS.items():
            x, y = curve(some, method, value)
            if x.size and (value == "cpu" or method not in ("FS^F1", "l1-SVM (LIBLINEAR)")):
                curves.append(Curve(method, x, y, colour))
        result.append(Panel(title, "# selected features", label, curves, log))
    return result


def report(rows: Sequence[Row], shares: Row, about: Row, data: str, options: Any) -> None:
    """Write what there is so far; data says what it was measured on."""
    title, _, rest = (__doc__ or "").strip().partition("\n")
    text = [
        f"# {title.rstrip('.')}",
        rest.split("\n\n    python")[0].strip().replace("ROUNDS", str(options.rounds)),
    ]
    title = "Figs. 2(a) and 3: news20ng"
    if draw(options.results / "measures_binary.png", title, panels(rows), 2):
        text.append("![Figs. 2(a) and 3](measures_binary.png)")
    text += [
        data,
        "## The paper's claims",
        "Differences in points at numbers of features; the other method interpolated between its "
        "sizes, on the logarithm.",
        claims_table(claims(rows, shares)),
        "## Figs. 2(a) and 3",
        table_of_fits(rows),
        "## Fig. 4: features of FS^hamming with a small B that are selected with a larger B",
        "In parentheses how many are selected.",
        table_of_shares(shares),
    ]
    figures = {"machine": about, "data": data, "shares": shares, "records": rows}
    common.write(options.results, "measures_binary", figures, "\n\n".join(text))


def main() -> None:
    """Measure and write measures_binary.json, .md and .png."""
    parser = common.parser(__doc__)
    parser.set_defaults(results=common.RESULTS / "papers")
    parser.add_argument("--tiny", action="store_true", help="seconds: does the script run")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of l1-bmrm-F1")
    options = parser.parse_args()
    common.one_thread()
    warnings.simplefilter("ignore")
    about = common.machine()
    data = protocol.arrays(common.data_folder(options.data), "news20ng")
    X = sp.csr_matrix(protocol.unit_rows(data["X"], np.float32))
    y, train, test = np.where(data["y"] > 0, 1.0, -1.0), data["train"], data["test"]
    budgets, cs = BUDGETS, L1_CS
    if options.tiny:
        train, test = train[::20], test[::20]
        budgets, cs, options.rounds = (2, 10), (1.0, 5.0), 3
        X = X[:, np.unique(X[train].indices)]
    problem = Problem(X[train], y[train], X[test], y[test])
    text = (
        f"{train.size} training and {test.size} test rows, {X.shape[1]} columns, "
        f"{100 * (problem.y_test > 0).mean():.1f} % of the test rows positive."
    )
    for found, shares in measure_all(problem, budgets, cs, options.rounds):
        report(found, shares, about, text, options)


if __name__ == "__main__":
    sys.exit(main())
