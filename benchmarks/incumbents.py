"""Models of exactly k features beside those of every cheap and every other way to choose them.

    python benchmarks/incumbents.py
    python benchmarks/incumbents.py --sets blocks:90001 --methods zeronorm,elimination_1 --keep
    python benchmarks/incumbents.py --tiny

    min_{u, b}  1/2 ||u||^2 + C sum_i log(1 + exp(-y_i (x_i'u + b)))   subject to  ||u||_0 <= k

`l0.py` compares packages for this problem, this script everything that one would try: elimination
by ridge models with C of 0.01, 0.1, 1 and 10, the l1 path and that of the elastic net, each cut to
k features, abess and skscope. The fifty instances were written down before any of them was run: ten
sets, each with (k, C) = (5, 0.1), (20, 0.1), (10, 1), (5, 10) and (20, 10).

- colon_alon, prostate_ge: gene expression;
- basehock, pcmac: text;
- arcene, madelon: mass spectra and drawn columns, partly there to mislead;
- ar: the drawn instance of `bounded.py` of 1,000 x 1,000, correlations 0.5^|i - j|;
- 500x1000ar:90001: one of `l0.py`, correlations 0.9^|i - j|;
- blocks:90001, blocks:90002: 500 x 1024 with block noise. The columns of each of 64 blocks of 16
  share a normal noise of standard deviation 3 beside a standard normal part of their own; the sum
  of the own parts of eight columns, of different blocks, and logistic noise has its largest 12 % as
  one class. A column alone tells little of its class, two of a block tell more: that is what
  elimination finds, and what an earlier version of the search did not.

Only supports count: all are refitted here (`l0.refit`), from the same standardised columns. The
verdict is of four of ours: the search of `L0LogisticRegression`, four such searches, 32 of them,
and the default of `BudgetClassifier`; none may be worse than the best of the others by more than
0.1 %. Packages run in processes of their own; `_l0_peers.py` says what each of them is asked.
Seconds have conversions in them but not imports; those of elimination are of one elimination for
all k.

Below them, 300 features of text: 9,000 documents of news20ng, words and pairs of words in at least
6 of them, two classes, C = 0.1, as it is for a user, standardised, one thread.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import _common as common
import _l0_peers as peers
import _protocol as protocol
import bounded
import l0
from zeronorm import BudgetClassifier, methods
from zeronorm.published import L0LogisticRegression

NAME = "incumbents"
PROBLEMS = ((5, 0.1), (20, 0.1), (10, 1.0), (5, 10.0), (20, 10.0))
OURS = ("zeronorm", "zeronorm_starts", "zeronorm_many", "zeronorm_budget")
METHODS = tuple(one for one in peers.METHODS if one != "fastsparsegams")
ASKED = "never worse by more than 0.1 %"
TEXT_SIZE, TEXT_ROWS, LEAST_DOCUMENTS = 300, 9000, 6
TEXT_LIMIT = 5.0  # "a few seconds"

Row = dict[str, Any]


def blocks(seed: int) -> Callable[[Path], l0.Data]:
    """Return a reader of an instance with block noise."""

    def read(_: Path) -> l0.Data:
        rng = np.random.default_rng(seed)
        n, count, width, K = 500, 64, 16, 8
        own = rng.standard_normal((n, count * width))
        X = own + 3.0 * np.repeat(rng.standard_normal((n, count)), width, axis=1)
        places = rng.choice(count, K, replace=False) * width + rng.integers(width, size=K)
        score = own[:, places].sum(axis=1) + rng.logistic(size=n)
        y = np.where(score > np.quantile(score, 0.88), 1.0, -1.0)
        return l0.standardise(X), y, np.sort(places)

    return read


def chain(_: Path) -> l0.Data:
    """Return the instance of `bounded.py`."""
    X, y = bounded.chain(1000, False)
    return l0.standardise(X), np.where(y > 0, 1.0, -1.0), None


SETS: dict[str, Callable[[Path], l0.Data]] = {
    **{name: l0.real(name) for name in ("colon_alon", "prostate_ge", "basehock", "pcmac")},
    **{name: l0.real(name) for name in ("arcene", "madelon")},
    "ar": chain,
    "500x1000ar:90001": l0.SETS["500x1000ar:90001"],
    **{f"blocks:{seed}": blocks(seed) for seed in l0.SEEDS},
}


# ------------------------------------------------------------------------------------ measuring


def measure(name: str, contestants: list[l0.Contestant], options: Any) -> Iterator[Row]:
    """Yield the problems of a set."""
    X, y, _ = SETS[name](common.data_folder(options.data))
    rows: dict[tuple[int, float], list[Row]] = {problem: [] for problem in PROBLEMS}
    with tempfile.TemporaryDirectory() as temporary:
        common.save_problem(Path(temporary), X, y)
        for one in contestants:
            with common.log(f"{name}, {X.shape[0]} x {X.shape[1]}, {one.method}"):
                missing = loaded(one, temporary)
                for problem in PROBLEMS:
                    found = missing or asked(one, *problem, options)
                    if not found["error"]:
                        least, separates = l0.refit(X[:, found["support"]], y, problem[1])
                        found |= {"objective": least, "separates": separates}
                    rows[problem].append(found)
                if not missing:
                    one.drop()
    for (k, C), found in rows.items():
        yield {"set": name, "n": len(y), "p": X.shape[1], "k": k, "C": C, "rows": found}


def loaded(one: l0.Contestant, folder: str) -> Row:
    """Hand over the data; return why that is not possible."""
    try:
        one.load(path=folder)
    except common.PeerError as error:
        return {"method": one.method, "objective": None, "error": str(error), "version": ""}
    return {}


def asked(one: l0.Contestant, k: int, C: float, options: Any) -> Row:
    """Return the support of a method, or why there is none."""
    row: Row = {"method": one.method, "objective": None, "error": ""}
    try:
        reply = one.fit(options.limit, k=k, C=C, repeats=1)
    except common.PeerError as error:
        return row | {"error": str(error), "version": one.version}
    support = np.unique(reply["support"])
    if support.size != k:
        row["error"] = f"{support.size} features"
    row |= {"support": support.tolist(), "seconds": reply["seconds"][0], "how": reply["how"]}
    return row | {"version": one.version}


def text(folder: Path) -> list[Row]:
    """Return the seconds of models of 300 features of text."""
    from sklearn.model_selection import train_test_split

    data = protocol.arrays(folder, "news20ng")
    y = np.where(data["y"] > 0, 1, -1)
    rows, _ = train_test_split(
        np.arange(y.size), train_size=TEXT_ROWS, stratify=y, random_state=protocol.FIRST_SEED
    )
    X = protocol.unit_rows(data["X"][np.sort(rows)])
    documents = np.bincount(X.indices, minlength=X.shape[1])
    X, y = sp.csc_matrix(X[:, np.flatnonzero(documents >= LEAST_DOCUMENTS)]), y[np.sort(rows)]
    options: dict[str, Any] = {"calibrate": False, "n_threads": 1}
    found = []
    for name, model in (
        ("zeronorm_budget", BudgetClassifier(TEXT_SIZE, **options)),
        ("zeronorm", L0LogisticRegression(TEXT_SIZE, **options)),
        ("zeronorm, splicing", BudgetClassifier(
            TEXT_SIZE, method=methods.L0(solver="splicing"), **options)),
    ):  # fmt: skip
        with common.log(f"text, {X.shape[0]} x {X.shape[1]}, k = {TEXT_SIZE}, {name}"):
            wall, cpu, _ = common.clock(lambda model=model: model.fit(X, y))  # type: ignore[misc]
        found.append({
            "name": name, "n": X.shape[0], "p": X.shape[1], "seconds": wall, "cpu": cpu,
            "phases": model.seconds_, "scans": model.n_scans_,
            "objective": model.certificate_.objective,
        })  # fmt: skip
    return found


# -------------------------------------------------------------------------------------- reports


def label(record: Row) -> str:
    """Return the name of a problem."""
    return f"{record['set']}, k = {record['k']}, C = {record['C']:g}"


def above(record: Row, ours: str) -> tuple[float, str] | None:
    """Return how far a model of ours is above the best of the others, and whose that is."""
    done = {row["method"]: row["objective"] for row in record["rows"] if row["objective"]}
    others = {name: value for name, value in done.items() if name not in OURS}
    if ours not in done or not others:
        return None
    best = min(others, key=lambda name: others[name])
    return done[ours] / others[best] - 1.0, best


def judge(records: list[Row], texts: list[Row]) -> list[Row]:
    """Return what was asked beside what was measured."""
    bars = []
    whole = len(SETS) * len(PROBLEMS)
    for ours in OURS:
        found = [(label(record), *one) for record in records if (one := above(record, ours))]
        if not found:
            continue
        where, worst, best = max(found, key=lambda one: one[1])
        worse = sum(one[1] > l0.WORSE for one in found)
        better = sum(one[1] < -l0.EQUAL for one in found)
        bars.append(
            common.bar(
                f"objective of {ours} beside the best of the others",
                ASKED,
                f"at most {100 * worst:+.3f} % ({where}: {best}); worse by more than 0.1 % on "
                f"{worse} of {len(found)}, better on {better}",
                worse == 0 if len(found) == whole else None,
            )
        )
    for row in texts:
        bars.append(
            common.bar(
                f"{TEXT_SIZE} of {row['p']:,} words, {row['n']:,} documents, {row['name']}",
                "a few seconds",
                f"{row['cpu']:.1f} s of CPU, {row['seconds']:.1f} s",
                row["cpu"] <= TEXT_LIMIT,
            )
        )
    return bars


def against(records: list[Row]) -> str:
    """Return how often each of ours is better, equal or worse than each of the others."""
    body = []
    for other in dict.fromkeys(row["method"] for one in records for row in one["rows"]):
        if other in OURS:
            continue
        line = [other]
        for ours in OURS:
            gaps = []
            for record in records:
                rows = [row for row in record["rows"] if row["method"] in (ours, other)]
                if one := above(record | {"rows": rows}, ours):
                    gaps.append(one[0])
            better = sum(gap < -l0.EQUAL for gap in gaps)
            worse = sum(gap > l0.WORSE for gap in gaps)
            line.append(f"{better} / {len(gaps) - better - worse} / {worse}" if gaps else "-")
        body.append(line)
    return common.table(["beside", *OURS], body)


def objectives(records: list[Row]) -> str:
    """Return the objectives of ours, and how far the others are above the best of all."""
    names = list(dict.fromkeys(row["method"] for one in records for row in one["rows"]))
    body = []
    for record in records:
        done = {row["method"]: row for row in record["rows"]}
        least = min(row["objective"] or np.inf for row in record["rows"])
        line: list[Any] = [record["set"], record["k"], f"{record['C']:g}", f"{least:.6g}"]
        for name in names:
            row = done.get(name)
            if row is None or not row["objective"]:
                line.append("-" if row is None else row["error"].replace("|", "/"))
                continue
            share = row["objective"] / least - 1.0
            line.append("best" if share <= l0.EQUAL else f"+{100 * share:.3g} %")
        body.append(line)
    return common.table(["set", "k", "C", "objective / (C n)", *names], body)


def seconds(records: list[Row]) -> str:
    """Return the median and largest seconds of each."""
    spent: dict[str, list[float]] = {}
    for record in records:
        for row in record["rows"]:
            if row["objective"] and row["how"] != peers.KEPT:
                spent.setdefault(f"{row['method']} {row['version']}", []).append(row["seconds"])
    body = [[name, f"{common.median(s):.3f}", f"{max(s):.2f}"] for name, s in spent.items()]
    return common.table(["method, version of its package", "median, s", "largest, s"], body)


def texts_table(texts: list[Row]) -> str:
    """Return where the seconds of the text go."""
    body = [
        [row["name"], f"{row['cpu']:.2f}", f"{row['seconds']:.2f}", row["scans"],
         ", ".join(f"{name} {value:.2f}" for name, value in row["phases"].items()),
         f"{row['objective']:.6g}"]
        for row in texts
    ]  # fmt: skip
    return common.table(["method", "CPU s", "s", "scans", "phases, s", "objective"], body)


def report(records: list[Row], texts: list[Row], about: dict[str, Any], options: Any) -> None:
    """Write what there is so far."""
    bars = judge(records, texts)
    parts = [
        "# Models of k features beside all other ways to choose them",
        (__doc__ or "").split("\n\n", 2)[2].strip(),
        common.bars_table(bars),
        "Problems on which ours is better / as good up to 0.1 % / worse:",
        against(records),
        "## Objectives",
        "Above the best of the row.",
        objectives(records),
        "## Seconds",
        seconds(records),
    ]
    if texts:
        parts += [f"## {TEXT_SIZE} features of text", texts_table(texts)]
    figures = {"machine": about, "bars": bars, "records": records, "text": texts}
    common.write(options.results, NAME, figures, "\n\n".join(parts))


def main() -> None:
    """Measure and write incumbents.json and .md."""
    parser = common.parser(__doc__)
    parser.add_argument("--sets", default=",".join([*SETS, "text"]), help='"text" is the last one')
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--limit", type=float, default=200.0, help="CPU seconds for one fit")
    parser.add_argument(
        "--keep", action="store_true", help="keep other sets and methods of the file"
    )
    parser.add_argument("--tiny", action="store_true", help="does it run: two sets")
    options = parser.parse_args()
    names, chosen = options.sets.split(","), options.methods.split(",")
    if options.tiny:
        names = ["colon_alon", "blocks:90001"]
    for option, given, there in (("sets", names, [*SETS, "text"]), ("methods", chosen, METHODS)):
        if unknown := [one for one in given if one not in there]:
            sys.exit(f"--{option}: unknown {unknown[0]!r}; there are: {', '.join(there)}.")
    common.one_thread()
    about = common.machine()
    before = common.earlier(options.results, NAME) if options.keep else {}
    records, texts = before.get("records", []), before.get("text", [])
    contestants = [l0.Contestant(method, 1, options) for method in chosen]
    order = list(SETS)
    for name in names:
        if name == "text":
            texts = text(common.data_folder(options.data))
            continue
        known = {(one["k"], one["C"]): one for one in records if one["set"] == name}
        records = [one for one in records if one["set"] != name]
        for fresh in measure(name, contestants, options):
            old = known.get((fresh["k"], fresh["C"]), {"rows": []})["rows"]
            fresh["rows"] += [row for row in old if row["method"] not in chosen]
            fresh["rows"].sort(key=lambda row: METHODS.index(row["method"]))
            records.append(fresh)
    for one in contestants:
        one.close()
    records.sort(key=lambda one: order.index(one["set"]))
    report(records, texts, about, options)


if __name__ == "__main__":
    main()
