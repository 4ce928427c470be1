"""Training for F1 and PRBEP, measured: labellings, whole fits, text; beside what was asked.

    python benchmarks/measures.py                      all parts
    python benchmarks/measures.py --parts labelling,fit

labelling   the most violated labelling (`Measure.cut`) of a million scores, 10 % positives, against
            np.argsort of the same doubles, in turn; of scores that know nothing of the labels, of
            some that nearly separate them, and of equal ones, which need no sorting
fit         a whole fit, X gaussian float32 of 5000 x 5000, 10 % positives, 30 informative features,
            5 blocks of 10, C = 1, gap 1e-3: the default against the published two-layer algorithm
            whose programs over the cuts are solved by Clarabel, and by the native method, in turn;
            one thread. `refit=False`: all three return the solution over the blocks
news        news20ng, binarised, rows of unit norm: F1 with 300 of 1,625,866 features, 2 threads
classes     news20_multiclass, counts, rows of unit norm: F1 of 20 classes one against the rest,
            1250 features of each in blocks of 250, C = 0.1; 2 threads

Objectives and bounds are those of the problem over the blocks that a fit has generated, which may
differ; the gap is relative to the objective without features. The published algorithm has a limit
of CPU seconds, and of 2000 programs for one block: where one is hit, or the gap is not reached, the
ratio is "more than".
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

import _common as common
import _protocol as protocol
from _conic import solve_by_clarabel
from zeronorm import MeasureClassifier
from zeronorm.measures import parse_measure
from zeronorm.solvers import MeasureRequest, MeasureTask, select_by_measure
from zeronorm.solvers.measures import Master, solve_master

Part = tuple[dict[str, Any], list[dict[str, Any]], str]
SEED = protocol.FIRST_SEED
MEASURES = ("f1", "prbep")


# ----------------------------------------------------------------------------------- labelling


def labelling(options: Any) -> Part:
    """Time labellings of a million rows against one sort."""
    n = options.rows
    rng = np.random.default_rng(SEED)
    y = np.where(rng.random(n) < 0.1, 1.0, -1.0)
    noise = rng.standard_normal(n)
    scores = {"gaussian": noise, "separating": noise + 1.5 * y, "all zero": np.zeros(n)}
    measures = {key: parse_measure(key) for key in MEASURES}
    records, body, bars = [], [], []
    for name, z in scores.items():
        calls: dict[str, Callable[[], Any]] = {"argsort": lambda z=z: np.argsort(z)}
        for key, measure in measures.items():
            calls[key] = lambda z=z, measure=measure: measure.cut(z, y)
        found = common.interleave(calls, options.turns)
        records.append({"scores": name, "n": n, "seconds": found})
        middle = {key: common.median(values) for key, values in found.items()}
        ratios = {key: middle[key] / middle["argsort"] for key in MEASURES}
        body.append(
            [name, *(f"{1e3 * middle[key]:.0f}" for key in calls),
             *(f"{ratios[key]:.2f}" for key in MEASURES)]
        )  # fmt: skip
        if name != "all zero":
            bars += [
                common.bar(f"labelling for {key}, {name} scores / np.argsort", "at most 2",
                           f"{ratios[key]:.2f}", ratios[key] <= 2.0)
                for key in MEASURES
            ]  # fmt: skip
    header = ["scores", "np.argsort, ms", *(f"{key}, ms" for key in MEASURES)]
    header += [f"{key} / argsort" for key in MEASURES]
    return {"records": records}, bars, common.table(header, body)


# ----------------------------------------------------------------------------------------- fit


class OverLimitError(RuntimeError):
    """A fit used more CPU seconds than it may."""


def by_clarabel(
    grams: np.ndarray, delta: np.ndarray, g: np.ndarray, C: float, tol: float
) -> Master:
    """Solve the program over the cuts by Clarabel to 1e-8, its default."""
    return Master(*solve_by_clarabel(grams, delta, g, C))


class Timed(MeasureClassifier):
    """A training with a master of one's choice, and a limit of CPU seconds."""

    master: Any = staticmethod(solve_master)
    limit = np.inf

    def _select(self, task: Any, sizes: tuple[int, ...], **more: Any) -> Any:
        end = time.process_time() + self.limit
        self.programs = self.program_seconds = 0

        def master(*program: Any) -> Master:
            begin = time.process_time()
            if begin > end:
                raise OverLimitError
            found = self.master(*program)
            self.programs += 1
            self.program_seconds += time.process_time() - begin
            return found

        return select_by_measure(
            MeasureTask(task, parse_measure(self.measure), self._loss_weight()), sizes,
            MeasureRequest(
                self.block_size, self.max_blocks, self.tol, refit=False, published=self._published
            ),
            master=master,
        )  # fmt: skip


class Published(Timed):
    """The published algorithm."""

    _published = True


class PublishedByClarabel(Published):
    """The published algorithm with Clarabel."""

    master = staticmethod(by_clarabel)


WAYS = {
    "auto": Timed,
    "published, Clarabel": PublishedByClarabel,
    "published, native": Published,
}


def drawn(n: int, m: int, informative: int) -> tuple[np.ndarray, np.ndarray]:
    """Return X and labels, a tenth positive."""
    rng = np.random.default_rng(SEED)
    X = np.asfortranarray(rng.standard_normal((m, n), dtype=np.float32).T)
    z = X[:, :informative] @ rng.choice([-1.0, 1.0], informative)
    z = z + 0.5 * float(z.std()) * rng.standard_normal(n)
    return X, np.where(z > np.quantile(z, 0.9), 1, -1)


def fit(options: Any) -> Part:
    """Time whole fits by three ways."""
    X, y = drawn(options.size, options.size, 30)
    records: list[dict[str, Any]] = []
    over: set[tuple[str, str]] = set()
    for turn in range(options.turns_fit):
        for measure in MEASURES:
            for way, kind in WAYS.items():
                if (measure, way) in over:
                    continue
                kind.limit = options.limit
                model = kind(
                    measure, 50, C=1.0, block_size=10, max_blocks=5, refit=False,
                    standardize=False, n_threads=1,
                )  # fmt: skip
                record: dict[str, Any] = {"measure": measure, "way": way, "turn": turn}
                with common.log(f"{measure}, {way}"):
                    try:
                        wall, cpu, _ = common.clock(lambda model=model: model.fit(X, y))
                        record |= {"wall": wall, "cpu": cpu} | _facts(model)
                        record["short"] = record["gap"] > 1.1 * model.tol
                    except OverLimitError:
                        over.add((measure, way))
                        record |= {"cpu": options.limit, "short": True}
                record |= {"programs": model.programs, "program_seconds": model.program_seconds}
                records.append(record)
    bars, body = [], []
    for measure in MEASURES:
        ours = _of(records, measure, "auto")
        base = common.median([one["cpu"] for one in ours])
        for way in WAYS:
            mine = _of(records, measure, way)
            cpu = common.median([one["cpu"] for one in mine])
            short = any(one["short"] for one in mine)
            more = "more than " if short else ""
            if way != "auto":
                ratio = common.median(
                    [a["cpu"] / b["cpu"] for a, b in zip(mine, ours, strict=False)]
                )
                asked = "at least 5" if "Clarabel" in way else "nothing"
                bars.append(
                    common.bar(f"CPU seconds of {way} / auto, {measure}", asked,
                               f"{more}{ratio:.1f}", ratio >= 5.0 or (None if short else False))
                )  # fmt: skip
            one = mine[0]
            body.append(
                [measure, way, f"{more}{cpu:.2f}", f"{more}{cpu / base:.1f}", one["programs"],
                 f"{one['program_seconds']:.2f}",
                 *((f"{one['objective']:.4f}", f"{one['bound']:.4f}", f"{one['gap']:.1e}",
                    one["informative"]) if "gap" in one else "----")]
            )  # fmt: skip
    header = ["measure", "way", "CPU s", "/ auto", "programs", "their CPU s", "objective", "bound",
              "gap", "informative of 30"]  # fmt: skip
    return {"records": records}, bars, common.table(header, body)


def _of(records: Sequence[dict[str, Any]], measure: str, way: str) -> list[dict[str, Any]]:
    return [one for one in records if (one["measure"], one["way"]) == (measure, way)]


def _facts(model: MeasureClassifier) -> dict[str, Any]:
    path = model.path_
    last = path.history[-1]
    return {
        "objective": last.objective,
        "bound": last.bound,
        "gap": path.gap,
        "blocks": len(path.history),
        "informative": int((model.support_ < 30).sum()),
    }


# ---------------------------------------------------------------------------------------- text


def news(options: Any) -> Part:
    """Time F1 with 300 features of news20ng."""
    data = protocol.arrays(common.data_folder(options.data), "news20ng")
    X, y = protocol.unit_rows(data["X"], np.float32), data["y"]
    train, test = data["train"], data["test"]
    records, body = [], []
    for rows, name in ((train, "training part"), (np.arange(y.size), "all rows")):
        for standardize in (True, False):
            model = MeasureClassifier("f1", 300, standardize=standardize, n_threads=2)
            with common.log(f"news20ng, {name}, standardize={standardize}"):
                wall, cpu, _ = common.clock(partial(model.fit, X[rows], y[rows]))
            score = model.score(X[test], y[test]) if rows is train else float("nan")
            gap = max(path.gap for path in model._paths)
            records.append(
                {"rows": name, "n": rows.size, "standardize": standardize, "wall": wall, "cpu": cpu,
                 "f1": score, "scans": model.n_scans_, "seconds": dict(model.seconds_), "gap": gap}
            )  # fmt: skip
            body.append([name, rows.size, standardize, f"{wall:.1f}", f"{cpu:.1f}", model.n_scans_,
                         f"{score:.4f}", f"{gap:.1e}"])  # fmt: skip
    worst = max(one["wall"] for one in records)
    bars = [
        common.bar("seconds of news20ng, F1, 300 features, 2 threads", "below 20", f"{worst:.1f}",
                   worst < 20.0)
    ]  # fmt: skip
    header = ["rows", "n", "standardize", "s", "CPU s", "scans", "F1 on the test part", "gap"]
    return {"records": records}, bars, common.table(header, body)


def classes(options: Any) -> Part:
    """Time 20 classes one against the rest."""
    data = protocol.arrays(common.data_folder(options.data), "news20_multiclass")
    X, y = normalised(data["X"]), data["y"]
    train, test = split(y.size)
    records, body = [], []
    with common.PeakMemory() as memory, common.log("news20_multiclass"):
        model = MeasureClassifier(
            "f1", 1250, block_size=250, C=0.1, standardize=False, n_threads=2
        )  # fmt: skip
        wall, cpu, _ = common.clock(lambda: model.fit(X[train], y[train]))
    score = model.score(X[test], y[test])
    gap = max(path.gap for path in model._paths)
    rows = data["X"][train]
    megabytes = (rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes) / 1e6
    records.append(
        {"n": train.size, "wall": wall, "cpu": cpu, "mb": memory.beyond, "X_mb": megabytes,
         "f1": score, "scans": model.n_scans_, "seconds": dict(model.seconds_), "gap": gap}
    )  # fmt: skip
    body.append(
        [train.size, f"{wall / 60:.2f}", f"{cpu / 60:.2f}", model.n_scans_, f"{memory.beyond:.0f}",
         f"{megabytes:.0f}", f"{score:.4f}", f"{gap:.1e}"]
    )  # fmt: skip
    bars = [
        common.bar("minutes of news20_multiclass, 20 classes, F1", "minutes, not hours",
                   f"{wall / 60:.1f}", wall < 3600.0)
    ]  # fmt: skip
    header = ["rows", "minutes", "CPU minutes", "scans", "MB beyond X", "MB of X",
              "mean F1 on the test rows", "largest gap"]  # fmt: skip
    return {"records": records}, bars, common.table(header, body)


def normalised(X: Any) -> sp.csr_matrix:
    """Return counts with rows of unit norm."""
    X = sp.csr_matrix(X, dtype=np.float32, copy=True)
    length = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data /= np.repeat(np.maximum(length, 1e-30), np.diff(X.indptr)).astype(np.float32)
    return X


def split(n: int, seed: int = SEED) -> tuple[np.ndarray, np.ndarray]:
    """Return random training and test rows, 4 to 1."""
    order = np.random.default_rng(seed).permutation(n)
    return np.sort(order[n // 5 :]), np.sort(order[: n // 5])


PARTS: dict[str, tuple[str, Callable[[Any], Part]]] = {
    "labelling": ("Labellings", labelling),
    "fit": ("Whole fits, 5000 x 5000", fit),
    "news": ("news20ng, 300 features", news),
    "classes": ("news20_multiclass, 20 classes", classes),
}


def main() -> None:
    """Measure and write measures.json and .md."""
    parser = common.parser(__doc__)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.set_defaults(keep=True)  # parts that are not measured stay
    parser.add_argument("--turns", type=int, default=7, help="of a labelling")
    parser.add_argument("--turns-fit", type=int, default=1, help="of a fit")
    parser.add_argument("--limit", type=float, default=240.0, help="CPU seconds of a fit")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of a labelling")
    parser.add_argument("--size", type=int, default=5000, help="rows and features of a fit")
    options = parser.parse_args()
    common.one_thread()
    chosen = options.parts.split(",")
    if unknown := [one for one in chosen if one not in PARTS]:
        sys.exit(f"--parts: unknown {unknown[0]!r}; there are: {', '.join(PARTS)}.")
    warnings.simplefilter("ignore")
    about = common.machine()
    before = common.kept(options.results, "measures") if set(chosen) != set(PARTS) else []
    kept = {one["part"]: one for one in before}
    for name in chosen:
        figures, bars, text = PARTS[name][1](options)
        kept[name] = {"part": name, "machine": about, "bars": bars, "text": text, **figures}
        parts = [kept[one] for one in PARTS if one in kept]
        document = [
            "# Training for F1 and PRBEP",
            (__doc__ or "").split("\n\n", 2)[2].strip(),
            "## Asked beside measured",
            common.bars_table([bar for part in parts for bar in part["bars"]]),
        ]
        for part in parts:
            document += [f"## {PARTS[part['part']][0]}", part["text"]]
        common.write(
            options.results, "measures", {"machine": about, "records": parts}, "\n\n".join(document)
        )


if __name__ == "__main__":
    main()
