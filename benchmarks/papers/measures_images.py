"""Fig. 5 and Fig. 2 (b): images retrieved for F1 by few instances, and what training takes.

The paper: 2000 natural scene images, five categories, each against the rest. An image is a bag of 9
instances with 15 features; the MILES embedding of 1200 training bags (60 %) has 10,800 features.
Test F1 against the number of selected features. FS^F1 and FS^hamming with C = 10 n (c = 10 here)
vary B; SVM-RFE has C = 5, l1-SVM a grid of C, l1-bmrm-F1 lambda in [1e-7, 1e2], a relative gap of
0.1 and at most 1000 rounds. All results are curves. Fig. 2 (b) is the training time on Desert. The
number of splits, the width sigma of the similarity, any scaling of the features, and when the outer
layer of FS ended are not said.

Here: the same images, random splits (SPLITS), the same for all methods. sigma is the embedding's
default, the median distance of training instances; similarities are not scaled. Seconds are CPU
seconds of one thread for a fit from the embedded matrix in memory.

FS^measure            the published problem over the blocks (`refit=False`), to a gap of 1e-3, with
                      a free intercept, as is the default here. The number of features is
                      T B: T = 5 blocks as in the other reruns, and T = 20 smaller ones (of one
                      feature at least), as more blocks are nearer to the optimum over all features.
  , no b              without the intercept, as the paper writes the problem
  , two-layer         the same by the published algorithm, for its time; Desert, first split
  , threshold         the threshold tuned for F1 on out-of-fold scores of 3 folds, each with its own
                      selection: is it the training for F1 that helps, or its threshold
FS^F1, defaults       `MeasureClassifier("f1", k)`: standardised columns, C = 0.1, 10 blocks, refit
SVM-RFE               half of the features leave above 4000, a tenth above 100, then one. Fits on
                      more than 120 features are exact, the others LIBLINEAR's. Seconds are those of
                      one elimination through all sizes.
l1-SVM                `L1SVM` for the grid of C in the tables
l1-bmrm-F1            `L1Bmrm`, C = 1 / lambda for F1 in percent, the best point after ROUNDS rounds
                      at most (not 1000: a round costs more the more there are); first split. A best
                      point without features has no place in the curves.
logistic, threshold   what users do today: scikit-learn's `SelectKBest` with the F statistic,
                      logistic regression (C = 1), threshold tuned as above

The number of features of l1 methods follows from C; in the tables by size their F1 and seconds are
interpolated between the numbers reached in the same split, and means are over the splits with
such numbers on both sides (no standard error: one split). Where FS has no features at all, as
nothing lowers its objective, its F1 is counted as it is: FS^F1 labels all images positive then,
FS^hamming none.

    python benchmarks/papers/measures_images.py                # about half an hour
    python benchmarks/papers/measures_images.py --splits 1     # minutes
    python benchmarks/papers/measures_images.py --tiny         # seconds: does the script run
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression

from _mslr import Curve, Panel, at, common, draw, protocol, split
from baselines import L1SVM, SVMRFE, L1Bmrm
from measures_quality import Linear, best_threshold, folds, mean_error
from zeronorm import MeasureClassifier
from zeronorm.estimators import MilesEmbedding
from zeronorm.measures import parse_measure
from zeronorm.published import TwoLayerClassifier

Row = dict[str, Any]
SIZES = (10, 20, 50, 100, 200)
FEW = 100  # the paper's "less than 100 features"
SPLITS = 3
C, RFE_C = 10.0, 5.0
L1_CS = (0.03, 0.05, 0.1, 0.2, 0.4, 0.8, 1.5)
BMRM_CS = (0.1, 0.2, 0.5, 1.0, 10.0)
BMRM_TOL, ROUNDS = 0.1, 150
BLOCKS = (5, 20)
BY_WEIGHT = ("l1-SVM", "l1-bmrm-F1")  # C is asked for, not the number of features
OPTIONS: Row = {"standardize": False, "n_threads": 1}


@dataclass(frozen=True)
class Task:
    """One category of one split: embedded training and test bags, labels of +-1."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    seed: int

    def f1(self, model: Linear) -> float:
        """Return F1 on the test bags."""
        return parse_measure("f1").score(self.y_test.astype(float), model.scores(self.X_test))


Models = dict[float, tuple[Linear, Row]]  # by size or C: a model, and what else to record
Train = Callable[[np.ndarray, np.ndarray, float], Models]


def linear(model: Any) -> Linear:
    """Return the features with a weight, and the weights."""
    w = np.ravel(model.coef_)
    support = np.flatnonzero(np.abs(w) > 1e-9 * np.abs(w).max())
    return Linear(support, w[support], float(np.ravel(model.intercept_)[0]))


def measure_trained(
    key: str, blocks: int, make: type[MeasureClassifier] = MeasureClassifier, **options: Any
) -> Train:
    """Return how the published problem is fitted."""

    def train(X: np.ndarray, y: np.ndarray, k: float) -> Models:
        model = make(
            key, int(k), C=C, refit=False, block_size=max(1, int(k) // blocks), max_blocks=blocks,
            **OPTIONS, **options,
        ).fit(X, y)  # fmt: skip
        last = model.path_.history[-1]
        share = last.extra["outer_bound"] / last.objective
        return {k: (linear(model), {"gap": model.path_.gap, "share": share})}

    return train


def plain(make: Callable[[float], Any]) -> Train:
    """Return how an estimator is fitted, made for its size or C."""
    return lambda X, y, knob: {knob: (linear(make(knob).fit(X, y)), {})}


def eliminated(make: Callable[[list[int]], SVMRFE], sizes: Sequence[int]) -> Train:
    """Return how one elimination gives the models of all sizes."""

    def train(X: np.ndarray, y: np.ndarray, _: float) -> Models:
        model = make(list(sizes)).fit(X, y)
        found = {k: model.path_[k] for k in sizes}
        return {
            float(k): (Linear(one.support, np.asarray(one.coef), float(one.intercept)), {})
            for k, one in found.items()
        }

    return train


def bundle(rounds: int) -> Train:
    """Return how l1-bmrm-F1 is fitted."""

    def train(X: np.ndarray, y: np.ndarray, weight: float) -> Models:
        model = L1Bmrm("f1", C=weight, tol=BMRM_TOL, max_iter=rounds, **OPTIONS).fit(X, y)
        boxed = model.path_.history[-1].extra["boxed"]
        extra = {"gap": model.gap_, "rounds": model.n_iter_, "boxed": boxed}
        return {weight: (linear(model), extra)}

    return train


def logistic(X: np.ndarray, y: np.ndarray, k: float) -> Models:
    """Return logistic regression on the features with the largest F statistic."""
    support = SelectKBest(f_classif, k=int(k)).fit(X, y).get_support(indices=True)
    model = LogisticRegression(max_iter=1000).fit(X[:, support], y)
    return {k: (Linear(support, model.coef_[0], float(model.intercept_[0])), {})}


def with_threshold(train: Train, seed: int) -> Train:
    """Return how the same is fitted with a threshold tuned for F1 on folds."""

    def tuned(X: np.ndarray, y: np.ndarray, knob: float) -> Models:
        out = np.empty(y.size)
        for rows, left in folds(y, seed):
            out[left] = train(X[rows], y[rows], knob)[knob][0].scores(X[left])
        model, extra = train(X, y, knob)[knob]
        threshold = best_threshold(out, y)
        return {knob: (Linear(model.support, model.coef, model.intercept - threshold), extra)}

    return tuned


@dataclass(frozen=True)
class Method:
    """A way to train; `once`: in the first split only, `desert`: on the first category only."""

    train: Callable[[int], Train]  # by the seed of the split
    colour: str
    knobs: Sequence[float]
    once: bool = False
    desert: bool = False
    dashed: bool = False


def methods(sizes: Sequence[int], rounds: int) -> dict[str, Method]:
    """Return all methods by name."""

    def always(train: Train) -> Callable[[int], Train]:
        return lambda seed: train

    few, many = BLOCKS
    hamming = measure_trained("hamming", few)
    elimination = eliminated(lambda k: SVMRFE(k, C=RFE_C, **OPTIONS), sizes)
    l1 = plain(lambda weight: L1SVM(C=weight, **OPTIONS))
    defaults = plain(lambda k: MeasureClassifier("f1", int(k), n_threads=1))
    two_layer = measure_trained("f1", few, TwoLayerClassifier)
    return {
        f"FS^F1, {few} blocks": Method(always(measure_trained("f1", few)), "tab:red", sizes),
        f"FS^F1, {many} blocks": Method(
            always(measure_trained("f1", many)), "tab:red", sizes, dashed=True
        ),
        f"FS^F1, {few} blocks, no b": Method(
            always(measure_trained("f1", few, fit_intercept=False)), "tab:brown", sizes
        ),
        f"FS^F1, {few} blocks, two-layer": Method(
            always(two_layer), "tab:pink", sizes, once=True, desert=True
        ),
        f"FS^hamming, {few} blocks": Method(always(hamming), "tab:blue", sizes),
        f"FS^hamming, {many} blocks": Method(
            always(measure_trained("hamming", many)), "tab:blue", sizes, dashed=True
        ),
        f"FS^hamming, {few} blocks, no b": Method(
            always(measure_trained("hamming", few, fit_intercept=False)), "tab:olive", sizes
        ),
        f"FS^hamming, {few} blocks, threshold": Method(
            lambda seed: with_threshold(hamming, seed), "tab:cyan", sizes
        ),
        "FS^F1, defaults": Method(always(defaults), "black", sizes),
        "SVM-RFE": Method(always(elimination), "tab:green", (0.0,)),
        "l1-SVM": Method(always(l1), "tab:orange", L1_CS),
        "l1-bmrm-F1": Method(always(bundle(rounds)), "tab:purple", BMRM_CS, once=True),
        "logistic, threshold": Method(
            lambda seed: with_threshold(logistic, seed), "tab:gray", sizes
        ),
    }  # fmt: skip


def measure(task: Task, label: str, name: str, method: Method) -> list[Row]:
    """Return the rows of a method, one for each size or C."""
    rows = []
    train = method.train(task.seed)
    for knob in method.knobs:
        with common.log(f"{task.seed}, {label}, {name}, {knob:g}"):
            _, cpu, found = common.clock(partial(train, task.X, task.y, float(knob)))
        for point, (model, extra) in found.items():
            rows.append(
                {"seed": task.seed, "category": label, "method": name, "point": point,
                 "features": model.support.size, "f1": task.f1(model), "cpu": cpu, **extra}
            )  # fmt: skip
    return rows


class Images:
    """The bags of all images, and their labels."""

    def __init__(self, folder: Path, tiny: bool) -> None:
        stored = protocol.arrays(folder, "miml_scene")
        order = np.argsort(stored["bag"], kind="stable")
        n_bags, n_features = stored["y"].shape[0], stored["X"].shape[1]
        self.bags = stored["X"][order].reshape(n_bags, -1, n_features).astype(np.float64)
        self.y = np.where(stored["y"] > 0, 1, -1)
        self.labels = [str(label) for label in stored["labels"]]
        if tiny:
            keep = np.arange(0, n_bags, 8)
            self.bags, self.y, self.labels = self.bags[keep], self.y[keep], self.labels[:2]

    def embedded(self, seed: int) -> tuple[Any, Callable[[int], Task]]:
        """Return the fitted embedding of a split, and its tasks by the number of the category."""
        train, test = split(self.y.shape[0], 0.6, seed)
        embedding = MilesEmbedding(n_threads=1).fit(list(self.bags[train]))
        X = embedding.transform(list(self.bags[train]))
        X_test = embedding.transform(list(self.bags[test]))
        return embedding, lambda number: Task(
            X, self.y[train, number], X_test, self.y[test, number], seed
        )  # fmt: skip


# -------------------------------------------------------------------------------------- report


def placed(rows: Iterable[Row]) -> list[tuple[float, Row]]:
    """Return the rows with their places on the axis of features.

    The number that was asked for, or what came of C where it is not 0.
    """
    by_weight = [(float(row["features"]), row) for row in rows if row["method"] in BY_WEIGHT]
    by_count = [(float(row["point"]), row) for row in rows if row["method"] not in BY_WEIGHT]
    return by_count + [(x, row) for x, row in by_weight if x > 0]


def within(rows: Sequence[Row], value: str) -> tuple[np.ndarray, np.ndarray]:
    """Return (numbers of features, values) of one method, category and split, growing."""
    pairs = sorted((x, row[value]) for x, row in placed(rows))
    return np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs], float)


Curves = dict[tuple[str, str, int], tuple[np.ndarray, np.ndarray]]


def curves_of(rows: Sequence[Row], value: str) -> Curves:
    """Return the curve of every method, category and split."""
    grouped: dict[tuple[str, str, int], list[Row]] = {}
    for row in rows:
        grouped.setdefault((row["method"], row["category"], row["seed"]), []).append(row)
    return {key: within(mine, value) for key, mine in grouped.items()}


def unique(rows: Sequence[Row], key: str) -> list[Any]:
    """Return the values of a column in the order of their first appearance."""
    return list(dict.fromkeys(row[key] for row in rows))


def by_size(rows: Sequence[Row], category: str | None, sizes: Sequence[int]) -> str:
    """Return F1 in percent by method and size; None: the mean over the categories."""
    curves, body = curves_of(rows, "f1"), []
    categories = [category] if category else unique(rows, "category")
    for method in unique(rows, "method"):
        line = [method]
        for k in sizes:
            values = []
            for seed in unique(rows, "seed"):
                keys = [(method, one, seed) for one in categories]
                found = [at(curves[key], k) if key in curves else None for key in keys]
                if None not in found:
                    values.append(float(np.mean(found)))  # type: ignore[arg-type]
            line.append(mean_error(values) if values else "-")
        if set(line[1:]) != {"-"}:
            body.append(line)
    return common.table(["method", *(f"k = {k}" for k in sizes)], body)


def beside(rows: Sequence[Row], a: str, b: str, sizes: Sequence[int]) -> tuple[list[float], float]:
    """Return F1 of a less that of b, in percent, by category, and the standard error of their mean.

    Means over the splits and sizes that both have; the error is over the splits.
    """
    curves = curves_of(rows, "f1")
    by_split: dict[int, list[float]] = {}
    by_category: dict[str, list[float]] = {}
    for category in unique(rows, "category"):
        for seed in unique(rows, "seed"):
            keys = (a, category, seed), (b, category, seed)
            if any(key not in curves for key in keys):
                continue
            for k in sizes:
                ours, theirs = (at(curves[key], k) for key in keys)
                if ours is not None and theirs is not None:
                    difference = 100.0 * (ours - theirs)
                    by_split.setdefault(seed, []).append(difference)
                    by_category.setdefault(category, []).append(difference)
    means = np.array([np.mean(values) for values in by_split.values()])
    error = float(means.std(ddof=1) / np.sqrt(means.size)) if means.size > 1 else np.nan
    return [float(np.mean(values)) for values in by_category.values()], error


def claims(rows: Sequence[Row], sizes: Sequence[int]) -> str:
    """Return what the paper says of Fig. 5 beside the differences here."""
    below = [k for k in sizes if k < FEW]
    few, many = (f"{n} blocks" for n in BLOCKS)
    bare = f"{few}, no b"
    pairs = []
    for blocks in (few, many, bare):
        f1, hamming = f"FS^F1, {blocks}", f"FS^hamming, {blocks}"
        pairs += [
            (f1, "l1-SVM", below, "significantly improved, below 100", 5),
            (hamming, "l1-SVM", below, "significantly improved, below 100", 5),
            (f1, "l1-SVM", sizes, "significantly improved", 5),
            (hamming, "l1-SVM", sizes, "significantly improved", 5),
            (f1, hamming, sizes, "better on four of five", 4),
            (f1, "SVM-RFE", sizes, "better on four of five", 4),
            (f1, "l1-bmrm-F1", sizes, "competitive", 0),
        ]
    pairs.append(("SVM-RFE", "l1-SVM", sizes, "better on three of five", 3))
    for blocks in (few, many, bare):
        f1 = f"FS^F1, {blocks}"
        pairs.append((f1, f"FS^hamming, {few}, threshold", sizes, "-", 0))
        pairs.append((f1, "logistic, threshold", sizes, "-", 0))
    pairs.append(("FS^F1, defaults", f"FS^F1, {many}", sizes, "-", 0))
    pairs.append(("FS^F1, defaults", "l1-SVM", sizes, "-", 0))
    body = []
    for a, b, which, words, needed in pairs:
        found, error = beside(rows, a, b, which)
        if not found:
            continue
        won = sum(value > 0 for value in found)
        mean = float(np.mean(found))
        holds = "-"
        if len(found) == 5 and needed and not np.isnan(error):
            # "Significantly improved": by more than two standard errors on the whole.
            good = won >= needed if needed < 5 else mean > 2.0 * error
            holds = "yes" if good else "**no**"
        spread = "" if np.isnan(error) else f" ± {error:.1f}"
        body.append([a, b, ", ".join(map(str, which)), words, f"{won} of {len(found)}",
                     f"{mean:+.1f}{spread}", holds])  # fmt: skip
    header = ["F1 of", "against", "k", "the paper", "categories above", "difference", "holds"]
    return common.table(header, body)


def seconds(rows: Sequence[Row], sizes: Sequence[int]) -> str:
    """Return the CPU seconds by method and size, medians over the splits."""
    curves, body = curves_of(rows, "cpu"), []
    for method in unique(rows, "method"):
        line = [method]
        for k in sizes:
            found = [at(curve, k) for key, curve in curves.items() if key[0] == method]
            there = [value for value in found if value is not None]
            line.append(f"{np.median(there):.2f}" if there else "-")
        body.append(line)
    return common.table(["method", *(f"k = {k}" for k in sizes)], body)


def time_claims(rows: Sequence[Row], sizes: Sequence[int]) -> str:
    """Return what the paper says of Fig. 2 (b) beside the ratios here, medians over the splits."""
    curves, body = curves_of(rows, "cpu"), []
    f1 = f"FS^F1, {BLOCKS[0]} blocks"
    pairs = [(f1, "l1-SVM", "slower"), (f"{f1}, two-layer", "l1-SVM", "slower")]
    for other in ("SVM-RFE", "l1-bmrm-F1"):
        pairs += [(other, f1, "much slower"), (other, f"{f1}, two-layer", "much slower")]
    for a, b, words in pairs:
        line = []
        for k in sizes:
            ratios = []
            for (method, category, seed), curve in curves.items():
                other_curve = curves.get((b, category, seed))
                if method == a and other_curve is not None:
                    ours, theirs = at(curve, k), at(other_curve, k)
                    if ours is not None and theirs is not None:
                        ratios.append(ours / theirs)
            line.append(float(np.median(ratios)) if ratios else np.nan)
        there = [ratio for ratio in line if not np.isnan(ratio)]
        if there:
            holds = "yes" if min(there) > 1.0 else "**no**"
            cells = ["-" if np.isnan(ratio) else f"{ratio:.1f}" for ratio in line]
            body.append([a, b, *cells, words, holds])
    header = ["seconds of", "over those of", *(f"k = {k}" for k in sizes), "the paper"]
    return common.table([*header, "above 1 at all k"], body)


def reached(rows: Sequence[Row], method: str, columns: Sequence[str]) -> str:
    """Return what came of every C, means over splits and categories: a column by name."""
    mine, body = [row for row in rows if row["method"] == method], []
    for point in unique(mine, "point"):
        group = [row for row in mine if row["point"] == point]
        counts = [row["features"] for row in group]
        line = [f"{point:g}", f"{np.mean(counts):.0f}", f"{min(counts)} to {max(counts)}",
                f"{100.0 * np.mean([row['f1'] for row in group]):.1f}",
                f"{np.mean([row['cpu'] for row in group]):.2f}"]  # fmt: skip
        line += [f"{np.mean([row[key] for row in group]):.3g}" for key in columns]
        if "gap" in columns:
            line.append(f"{sum(row['gap'] <= BMRM_TOL for row in group)} of {len(group)}")
        body.append(line)
    header = ["C", "features", "from, to", "F1", "CPU s", *columns]
    return common.table([*header, "converged"] if "gap" in columns else header, body)


def panels(rows: Sequence[Row], known: dict[str, Method], first: str) -> list[Panel]:
    """Return F1 against features for every category, and seconds on the first."""

    def drawn(mine: Sequence[Row], value: str, factor: float) -> list[Curve]:
        result = []
        for name, method in known.items():
            points: dict[float, list[tuple[float, float]]] = {}
            for x, row in placed([row for row in mine if row["method"] == name]):
                points.setdefault(row["point"], []).append((x, factor * row[value]))
            xy = sorted(tuple(np.mean(group, axis=0)) for group in points.values())
            if xy:
                x, y = zip(*xy, strict=True)
                result.append(Curve(name, x, y, method.colour, dashed=method.dashed))
        return result

    result = []
    for category in unique(rows, "category"):
        mine = [row for row in rows if row["category"] == category]
        one = Panel(category, "# selected features", "test F1 (%)", drawn(mine, "f1", 100.0))
        result.append(one)
    mine = [row for row in rows if row["category"] == first]
    time_panel = drawn(mine, "cpu", 1.0)
    title = f"training, {first}"
    return [*result, Panel(title, "# selected features", "CPU s", time_panel, log=True)]


def report(rows: list[Row], about: Row, options: Any, context: Row) -> None:
    """Write what there is so far."""
    sizes, known = context["sizes"], context["methods"]
    rows = [row for name in known for row in rows if row["method"] == name]
    first = rows[0]["category"]
    # An elimination is one fit: its seconds are in the row of every size.
    minutes = sum(cpu for *_, cpu in {(*_which(row), row["cpu"]) for row in rows}) / 60.0
    title, _, rest = (__doc__ or "").strip().partition("\n")
    paper, here, descriptions, counts, _ = rest.strip().split("\n\n")
    text = [
        f"# {title.rstrip('.')}",
        paper,
        here.replace("SPLITS", str(len(unique(rows, "seed")))),
        "```\n" + descriptions.replace("ROUNDS", str(context["rounds"])) + "\n```",
        counts,
        f"{context['n_train']} training and {context['n_test']} test bags, "
        f"{context['n_features']} features, sigma {context['sigma']:.0f} in the first split; "
        f"embedding {context['embedding_cpu']:.1f} CPU s per split. "
        f"{minutes:.0f} CPU minutes of training. F1 in percent, mean ± standard error over splits.",
    ]  # fmt: skip
    if draw(options.results / "measures_images.png", "Figs. 5 and 2 (b)",
            panels(rows, known, first), 3):  # fmt: skip
        text.append("![Figs. 5 and 2 (b)](measures_images.png)")
    text += [
        "## What the paper says of Fig. 5",
        "Differences of F1 in percent, means over the splits, categories and sizes that both have, "
        "± standard error over splits; a category is above where its mean is. \"Significantly\": "
        "by more than two standard errors. What the paper does not compare is there for its own "
        "sake.",
        claims(rows, sizes),
        "## F1, mean over the categories",
        by_size(rows, None, sizes),
    ]  # fmt: skip
    for category in unique(rows, "category"):
        mine = [row for row in rows if row["category"] == category]
        text += [f"## {category}", by_size(mine, category, sizes)]
    text += [
        f"## CPU seconds of training, {first}, medians over splits",
        seconds([row for row in rows if row["category"] == first], sizes),
        time_claims([row for row in rows if row["category"] == first], sizes),
        "## l1-SVM by C, all categories and splits",
        reached(rows, "l1-SVM", ()),
        "## l1-bmrm-F1 by C, all categories, first split",
        "The paper: it does not converge in 1000 rounds, selects similar numbers of features (98 "
        "on Desert) as lambda decreases, performs competitively and is unstable.",
        reached(rows, "l1-bmrm-F1", ("gap", "rounds", "boxed")),
        "## Models without features",
        empty(rows, sizes),
        "## Lower bound over all features / objective",
        "How far the blocks are from all features: 1 would be the optimum of the published "
        "problem over all of them.",
        shares(rows, sizes),
    ]
    run = {key: value for key, value in context.items() if key != "methods"}
    fixed = {"C": C, "rfe_C": RFE_C, "blocks": BLOCKS}
    figures = {"machine": about, "options": {**fixed, **run}, "records": rows}
    common.write(options.results, "measures_images", figures, "\n\n".join(text))


def empty(rows: Sequence[Row], sizes: Sequence[int]) -> str:
    """Return how many models of a size that was asked for have no features, and of what."""
    body = []
    for method in unique(rows, "method"):
        mine = [row for row in rows if row["method"] == method and row["method"] not in BY_WEIGHT]
        none = [row for row in mine if row["features"] == 0]
        if none:
            counts = [sum(row["point"] == k for row in none) for k in sizes]
            body.append([method, *counts, ", ".join(unique(none, "category"))])
    header = ["method", *(f"k = {k}" for k in sizes), "categories"]
    return common.table(header, body) if body else "None."


def shares(rows: Sequence[Row], sizes: Sequence[int]) -> str:
    """Return the mean of bound / objective of the published problem."""
    body = []
    for method in unique([row for row in rows if "share" in row], "method"):
        line = [method]
        for k in sizes:
            found = [row["share"] for row in rows if (row["method"], row["point"]) == (method, k)]
            line.append(f"{np.mean(found):.4f}" if found else "-")
        body.append(line)
    return common.table(["method", *(f"k = {k}" for k in sizes)], body)


def _which(row: Row) -> tuple[int, str, str]:
    """Return whose row it is."""
    return row["seed"], row["category"], row["method"]


def main() -> None:
    """Measure and write measures_images.json, .md and .png."""
    parser = common.parser(__doc__)
    parser.set_defaults(results=common.RESULTS / "papers")
    parser.add_argument("--tiny", action="store_true", help="seconds: does the script run")
    parser.add_argument("--splits", type=int, default=SPLITS, help="random splits")
    parser.add_argument("--keep", action="store_true", help="do not measure again what is there")
    options = parser.parse_args()
    common.one_thread()
    warnings.simplefilter("ignore")
    about = common.machine()
    images = Images(common.data_folder(options.data), options.tiny)
    sizes, rounds = ((5, 10), 5) if options.tiny else (SIZES, ROUNDS)
    known = methods(sizes, rounds)
    context: Row = {"sizes": sizes, "rounds": rounds, "methods": known}
    rows = common.kept(options.results, "measures_images") if options.keep else []
    there = {_which(row) for row in rows}
    for turn in range(1 if options.tiny else options.splits):
        seed = protocol.FIRST_SEED + turn
        _, cpu, (embedding, task_of) = common.clock(partial(images.embedded, seed))
        for number, label in enumerate(images.labels):
            task = task_of(number)
            for name, method in known.items():
                elsewhere = (method.once and turn > 0) or (method.desert and number > 0)
                if not elsewhere and (seed, label, name) not in there:
                    rows += measure(task, label, name, method)
            context.setdefault("sigma", embedding.sigma_)
            context.update(
                n_train=task.y.size, n_test=task.y_test.size, n_features=task.X.shape[1],
                embedding_cpu=cpu,
            )  # fmt: skip
            report(rows, about, options, context)


if __name__ == "__main__":
    sys.exit(main())
