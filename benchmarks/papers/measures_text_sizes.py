"""Figs. 6 and 7: F1, Rec@2p and PRBEP of rare classes of text against B and the number of features.

The paper: Sector and News20, one class against the rest, macro-averages. Fig. 6: the improvement of
FS^measure over FS^hamming, and over SVM^measure, which has all features, as B grows. Fig. 7: F1
against the average number of selected features of FS^measure, SVM-RFE and l1-SVM. There are no
numbers but those of the curves.

Here: the rows, the split and C = 0.1 of `measures_text.py`, which says why News20 stands for Sector
as well; FS are the published models over blocks
of B features, exactly 5 B of them, where the paper had as many blocks as its outer layer took.
SVM^measure is taken from the results of `measures_text.py`, with the best of its C on the test
rows. SVM-RFE: C = 5, as the paper chose for both FGM and it; half of the features leave while there
are more than 4000, then a tenth, below 100 one; the paper's scheme is that of an earlier paper.
l1-SVM: a grid of C, as many features as come, which differ between classes. Both are the squared
hinge of LIBLINEAR, trained for accuracy, with a free (SVM-RFE: penalised) intercept; F1 is that of
the sign of the scores. So they are also judged by PRBEP, which needs no threshold.

    python benchmarks/papers/measures_text_sizes.py              # one split, all classes
    python benchmarks/papers/measures_text_sizes.py --tiny       # seconds: does the script run
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from _mslr import Curve, Panel, common, draw, protocol
from baselines import L1SVM, SVMRFE
from measures import normalised, split
from measures_text import (
    MEASURES,
    C,
    Claim,
    Problem,
    Row,
    Scores,
    claims_table,
    count,
    cpu_minutes,
    difference,
    trained,
)

BUDGETS = (2, 5, 10, 25, 50, 100, 250)
BLOCKS = 5
RFE_C = 5.0
L1_CS = (0.1, 0.3, 1.0, 3.0, 10.0)
COLOURS = {"F1": "tab:red", "Rec@2p": "tab:blue", "PRBEP": "tab:green"}
METHODS = {"FS^measure": "tab:red", "FS^hamming": "tab:orange", "SVM-RFE": "tab:blue",
           "l1-SVM": "tab:green"}  # fmt: skip


def eliminated(problem: Problem, sizes: Sequence[int]) -> tuple[dict[int, Scores], float]:
    """Return the test scores of SVM-RFE for every size, and the CPU seconds of the elimination."""
    model = SVMRFE(list(sizes), C=RFE_C, standardize=False, n_threads=1)
    _, cpu, _ = common.clock(lambda: model.fit(problem.X, problem.y))
    scores = {}
    for k in sizes:
        columns = []
        for path in model._paths:
            one = path[k]
            columns.append(problem.X_test[:, one.support] @ one.coef + one.intercept)
        scores[k] = np.column_stack(columns)
    return scores, cpu


def measure_all(
    problem: Problem,
    budgets: Sequence[int],
    cs: Sequence[float],
    before: Sequence[Row],
) -> Iterator[list[Row]]:
    """Yield the rows so far, one per fit and measure: the values of the classes.

    before : rows of an earlier run, which are not measured again.
    """
    rows = list(before)
    if rows:
        yield rows
    there = {(row["method"], row["knob"]) for row in before}

    def add(method: str, knob: float, scores: Scores, n_features: float, cpu: float,
            measures: Sequence[str] = tuple(MEASURES)) -> None:  # fmt: skip
        for measure in measures:
            values = problem.judge(scores, measure)
            rows.append({"method": method, "knob": knob, "measure": measure, "cpu": cpu,
                         "features": n_features, "values": values})  # fmt: skip

    for budget in budgets:
        for method in ("FS^measure", "FS^hamming"):
            if (method, budget) in there:
                continue
            keys = MEASURES if method == "FS^measure" else {"hamming": "hamming"}
            for measure, key in keys.items():
                with common.log(f"{method}, {key}, B = {budget}"):
                    _, cpu, model = common.clock(
                        lambda key=key, budget=budget: trained(
                            problem, key, BLOCKS * budget, C, False
                        )
                    )
                judged = [measure] if measure in MEASURES else list(MEASURES)
                add(method, budget, model.decision_function(problem.X_test), count(model), cpu,
                    judged)  # fmt: skip
            yield rows
    for weight in cs:
        if ("l1-SVM", weight) in there:
            continue
        model = L1SVM(C=weight, standardize=False, n_threads=1)
        with common.log(f"l1-SVM, C = {weight:g}"):
            _, cpu, _ = common.clock(lambda model=model: model.fit(problem.X, problem.y))
        add("l1-SVM", weight, model.decision_function(problem.X_test), count(model), cpu)
        yield rows
    sizes = [BLOCKS * budget for budget in budgets]
    if ("SVM-RFE", sizes[0]) not in there:
        with common.log("SVM-RFE"):
            scores, cpu = eliminated(problem, sizes)
        for k in sizes:
            add("SVM-RFE", k, scores[k], k, cpu)
        yield rows


def table_of_sizes(rows: Sequence[Row]) -> str:
    """Return Fig. 7 as a table: a line per fit."""
    body = []
    for method in METHODS:
        for knob in dict.fromkeys(row["knob"] for row in rows if row["method"] == method):
            mine = {row["measure"]: row for row in rows if (row["method"], row["knob"])
                    == (method, knob)}  # fmt: skip
            name = {"l1-SVM": f"l1-SVM, C = {knob:g}", "SVM-RFE": method}
            body.append(
                [name.get(method, f"{method}, B = {knob}"),
                 distinct(row["features"] for row in mine.values()),
                 *(f"{np.mean(mine[measure]['values']):.2f}" for measure in MEASURES),
                 distinct(row["cpu"] for row in mine.values())]
            )  # fmt: skip
    return common.table(["method", "features", *MEASURES, "CPU s"], body)


def distinct(values: Iterable[float]) -> str:
    """Return the numbers that differ."""
    return " / ".join(f"{value:.0f}" for value in dict.fromkeys(values))


def gains(rows: Sequence[Row], full: Sequence[Row], over: str) -> dict[str, dict[int, np.ndarray]]:
    """Return measure -> B -> the improvement of FS^measure for every class.

    over : "FS^hamming", or "SVM^measure", whose rows are `full`.
    """
    result: dict[str, dict[int, np.ndarray]] = {}
    base = {(row["knob"], row["measure"]): row["values"] for row in rows if row["method"] == over}
    base |= {(None, row["measure"]): row["values"] for row in full if row["method"] == over}
    for row in rows:
        knob = row["knob"] if over == "FS^hamming" else None
        other = base.get((knob, row["measure"]))
        if row["method"] == "FS^measure" and other and len(other) == len(row["values"]):
            mine = np.array(row["values"]) - np.array(other)
            result.setdefault(row["measure"], {})[row["knob"]] = mine
    return result


def table_of_gains(found: dict[str, dict[int, np.ndarray]]) -> str:
    """Return Fig. 6 as a table: a line per measure."""
    budgets = list(next(iter(found.values())))
    body = [
        [measure, *(difference(found[measure][budget]) for budget in budgets)] for measure in found
    ]
    return common.table(["", *(f"B = {budget}" for budget in budgets)], body)


def mean_curve(rows: Sequence[Row], method: str, measure: str) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers of features, growing, and the means over the classes."""
    mine = [row for row in rows if (row["method"], row["measure"]) == (method, measure)]
    mine.sort(key=lambda row: float(row["features"]))
    return (np.array([row["features"] for row in mine], float),
            np.array([np.mean(row["values"]) for row in mine], float))  # fmt: skip


def claims(rows: Sequence[Row], full: Sequence[Row]) -> list[Claim]:
    """Return what the paper says of the figures, and what is so here."""
    result: list[Claim] = []
    over = gains(rows, full, "FS^hamming")
    ranges = {
        measure: [float(np.mean(one)) for one in found.values()] for measure, found in over.items()
    }
    result.append(
        ("FS^measure is above FS^hamming for all measures and B",
         "; ".join(f"{key} {min(v):+.1f} to {max(v):+.1f}" for key, v in ranges.items()),
         all(min(values) > 0 for values in ranges.values()))
    )  # fmt: skip
    over = gains(rows, full, "SVM^measure")
    for measure, found in over.items():
        means = {budget: float(np.mean(one)) for budget, one in found.items()}
        text = ", ".join(f"B = {budget}: {value:+.1f}" for budget, value in means.items())
        if measure == "F1":
            result.append(("FS^F1 is above SVM^F1 for all B", text, min(means.values()) > 0))
        else:
            values = list(means.values())
            result.append(
                (f"{measure} is poor with few features and approaches SVM^measure with many", text,
                 bool(values[0] < 0 and all(np.diff(values) > 0)))
            )  # fmt: skip
    for method, claim, least in (
        ("l1-SVM", "FS^F1 outperforms l1-SVM in F1", 0.0),
        ("SVM-RFE", "FS^F1 is comparable to SVM-RFE in F1 (here: within a point) or better", -1.0),
    ):
        for measure in ("F1", "PRBEP"):
            x, ours = mean_curve(rows, "FS^measure", measure)
            theirs = mean_curve(rows, method, measure)
            if not theirs[0].size:
                continue
            both = (x >= theirs[0][0] - 1) & (x <= theirs[0][-1] + 1)
            more = ours[both] - np.interp(np.log(x[both]), np.log(theirs[0]), theirs[1])
            text = ", ".join(
                f"{k:.0f} features: {d:+.1f}" for k, d in zip(x[both], more, strict=True)
            )
            if measure == "F1":
                result.append((claim, text, bool(np.all(more > least))))
            else:
                result.append((f"(the same by PRBEP: FS^PRBEP over {method})", text, None))
    return result


def panels(rows: Sequence[Row], full: Sequence[Row]) -> list[Panel]:
    """Return Fig. 7, the same by PRBEP, and both sides of Fig. 6."""
    result = []
    for measure in ("F1", "PRBEP"):
        curves = []
        for method, colour in METHODS.items():
            x, y = mean_curve(rows, method, measure)
            if x.size:
                curves.append(Curve(method, x, y, colour))
        title = "Fig. 7: F1" if measure == "F1" else "the same by PRBEP"
        result.append(Panel(title, "# selected features", f"test {measure} (%)", curves))
    for over in ("FS^hamming", "SVM^measure"):
        curves = [
            Curve(measure, list(found), [float(np.mean(one)) for one in found.values()],
                  COLOURS[measure], "s")
            for measure, found in gains(rows, full, over).items()
        ]  # fmt: skip
        if curves:
            result.append(Panel(f"Fig. 6: over {over}", "B", "improvement (points)", curves))
    return result


def main() -> None:
    """Measure and write measures_text_sizes.json, .md and .png."""
    parser = common.parser(__doc__)
    parser.set_defaults(results=common.RESULTS / "papers")
    parser.add_argument("--tiny", action="store_true", help="seconds: does the script run")
    parser.add_argument("--keep", action="store_true", help="do not measure again what is there")
    options = parser.parse_args()
    common.one_thread()
    warnings.simplefilter("ignore")
    about = common.machine()
    data = protocol.arrays(common.data_folder(options.data), "news20_multiclass")
    X, y = normalised(data["X"]), data["y"]
    budgets, cs = BUDGETS, L1_CS
    if options.tiny:
        rows = np.arange(1500)[y[:1500] <= 3]
        X, y, budgets, cs = X[rows], y[rows], (2, 10), (1.0, 10.0)
    train, test = split(y.size)
    title, _, rest = (__doc__ or "").strip().partition("\n")
    full = common.kept(parser.get_default("results"), "measures_text")
    before = common.kept(options.results, "measures_text_sizes") if options.keep else []
    for found in measure_all(Problem(X, y, train, test), budgets, cs, before):
        text = [f"# {title.rstrip('.')}", rest.split("\n\n    python")[0].strip()]
        if draw(options.results / "measures_text_sizes.png", "Figs. 6 and 7: News20",
                panels(found, full), 2):  # fmt: skip
            text.append("![Figs. 6 and 7](measures_text_sizes.png)")
        text += [
            f"{train.size} training and {test.size} test rows, {np.unique(y).size} classes; "
            f"{cpu_minutes(found):.1f} CPU minutes of all fits.",
            "## The paper's claims",
            "Differences of macro-averages in points; l1-SVM interpolated between its sizes, on "
            "the logarithm.",
            claims_table(claims(found, full)),
            "## Fig. 7",
            "CPU seconds are of all classes; those of SVM-RFE of the elimination that has all "
            "sizes. FS^measure is three fits, one for each measure.",
            table_of_sizes(found),
        ]
        for over in ("FS^hamming", "SVM^measure"):
            more = gains(found, full, over)
            if more:
                text += [f"## Fig. 6: FS^measure over {over} (classes won/lost)",
                         table_of_gains(more)]  # fmt: skip
        figures = {"machine": about, "records": found}
        common.write(options.results, "measures_text_sizes", figures, "\n\n".join(text))


if __name__ == "__main__":
    sys.exit(main())
