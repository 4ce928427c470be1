"""50 features of 10 groups among 50,000 features: seconds and recovery, package by package.

    python benchmarks/bilevel.py                     10 minutes
    python benchmarks/bilevel.py --sizes 1000x5000 --methods zeronorm,celer --repeats 1

X standard normal, n = 1000 rows, groups of 100 columns; 10 groups drawn at random, in each 5
features drawn at random with coefficients +-U(0.5, 1.5), noise of standard deviation 1. The support
can be recovered exactly, and is by several packages: the question is how soon. Where knowing the
groups matters, see `bilevel_quality.py`.

zeronorm, OMP and abess are told the numbers of features or of groups. The others have a penalty
instead. From the smallest penalty whose model is empty it goes down by a tenth at a time, and the
first model with at least 50 features of at least 10 groups is taken: who knows both numbers would
do the same. Two times are reported: "path", that search with warm starts, and "fit", a cold fit at
the penalty that the search found, as if it had been known. Both are compared: a user who does not
know the penalty has to search it. asgl has no warm start: its penalty is found by
`baselines`, which solves the same problem, and its "path" is not measured. Group
lasso selects whole groups, so that its features cannot be exact.
`_bilevel_peers.py` says what each is asked, and to what tolerance: their own.

What the seconds hold: one complete call from X (dense, float64, column order), all conversions
included; imports and the first call on a tiny problem not (the compilation of skglm is listed
apart). zeronorm standardises, selects and refits within its seconds. CPU seconds of the process,
one thread; packages take turns in processes of their own and hold the data only during their turn.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import _bilevel_peers as peers
import _common as common
from _bilevel import Drawn, draw, largest_penalty, recovery
from baselines import sparse_group_lasso_path

SIZES = "1000x50000"
N_GROUPS, PER_GROUP, GROUP = 10, 5, 100
STEPS, FACTOR = 45, 0.9  # of the path of penalties
ASKED = {"celer": 20.0, "skglm": 20.0, "groupyr": 20.0, "asgl": 20.0, "adelie": 5.0}
SEED = 90001
WHAT = {
    "zeronorm": "features in groups",
    "omp": "features",
    "abess": "features",
    "abess_groups": "groups",
    "adelie": "group lasso",
    "celer": "group lasso",
    "skglm": "group lasso",
    "groupyr": "sparse group lasso",
    "asgl": "sparse group lasso",
}


class Contestant:
    """A package in its process, and what it did."""

    def __init__(self, method: str, options: Any) -> None:
        self.method, self.options = method, options
        self.row: dict[str, Any] = {
            "method": method, "version": "", "error": "", "cpu": [], "seconds": [],
            "peak_mb": 0.0, "support": [], "penalty": None, "path_cpu": None, "place": None,
        }  # fmt: skip
        self._process: common.Peer | None = None

    def ask(self, limit: float, **request: Any) -> dict[str, Any]:
        """Send a request to the process, which is started where there is none."""
        if self._process is None or not self._process.alive:
            folder = common.peer_folder(self.options.peers)
            python = common.interpreter(peers.METHODS[self.method][0], folder)
            if python is None:
                raise common.PeerError("not installed")
            self._process = common.Peer(self.method, python, 1, "_bilevel_peers.py")
            self.row["version"] = self._process.ask(120.0, op="version")["version"]
            calls = self._process.ask(300.0, op="warm")
            self._process.ask(120.0, op="limit", gb=self.options.gb)
            self.row["compilation"] = max(0.0, calls["first"][1] - calls["second"][1])
        return self._process.ask(limit, **request)

    def turn(self, folder: str, turn: int) -> None:
        """Fit once, before that find the penalty."""
        row, limit = self.row, self.options.limit
        if row["error"] or (turn and max(row["cpu"]) > self.options.long):
            return
        budgets = {"k": N_GROUPS * PER_GROUP, "g": N_GROUPS}
        try:
            self.ask(120.0, op="load", path=folder)
            if self.method in peers.PENALISED and row["penalty"] is None:
                self.search(budgets)
            found = self.ask(limit, op="fit", penalty=row["penalty"], **budgets)
            row["cpu"].append(found["cpu"])
            row["seconds"].append(found["seconds"])
            row["peak_mb"] = max(row["peak_mb"], found["peak_mb"])
            row["support"] = found["support"]
            self.ask(120.0, op="drop")
        except common.PeerError as error:
            row["error"] = str(error)

    def search(self, budgets: dict[str, int]) -> None:
        """Go down the path of penalties; that of asgl is known."""
        row = self.row
        if self.method == "asgl":
            row["penalty"] = self.options.sparse_penalty
            return
        penalties = self.options.penalties[self.method == "groupyr"]
        reply = self.ask(self.options.limit, op="path", penalties=penalties, **budgets)
        if reply["place"] < 0:
            raise common.PeerError(f"too few features or groups at all {len(penalties)} penalties")
        row["path_cpu"], row["place"] = reply["cpu"], reply["place"]
        row["penalty"] = penalties[reply["place"]]

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()


def sparse_penalty(data: Drawn, scores: np.ndarray, steps: np.ndarray) -> float:
    """Return the first penalty of the sparse group lasso with enough features and groups.

    Found by our own solver, a few penalties at a time: those below would take long.
    """
    penalties = largest_penalty(scores, data.groups, peers.L1_SHARE) * steps
    for part in np.array_split(penalties, steps.size // 5):
        path = sparse_group_lasso_path(
            data.X, data.y, data.groups, l1_ratio=peers.L1_SHARE,
            penalties=data.y.size * part, standardize=False, tol=1e-4,
        )  # fmt: skip
        for penalty, coef in zip(part, path.coef.toarray(), strict=True):
            if peers.enough(coef, data.groups, N_GROUPS * PER_GROUP, N_GROUPS):
                return float(penalty)
    raise RuntimeError(f"too few features or groups at all {steps.size} penalties")


def measure(size: str, options: Any) -> dict[str, Any]:
    """Return the record of a size: a row for every package."""
    n, p = map(int, size.split("x"))
    data = draw(n, p, GROUP, N_GROUPS, PER_GROUP, seed=SEED)
    scores = np.abs(data.X.T @ (data.y - data.y.mean())) / n
    steps = FACTOR ** np.arange(STEPS)
    options.penalties = [
        (largest_penalty(scores, data.groups, share) * steps).tolist()
        for share in (0.0, peers.L1_SHARE)
    ]
    options.sparse_penalty = None
    if "asgl" in options.methods:
        options.sparse_penalty = sparse_penalty(data, scores, steps)
    contestants = [Contestant(method, options) for method in options.methods]
    with tempfile.TemporaryDirectory() as temporary:
        common.save_problem(Path(temporary), data.X, data.y)
        np.save(Path(temporary) / "groups.npy", data.groups)
        for turn in range(options.repeats):
            for one in contestants:
                with common.log(f"{size}, turn {turn + 1}, {one.method}"):
                    one.turn(temporary, turn)
    for one in contestants:
        one.close()
        support = np.array(one.row.pop("support"), dtype=np.int64)
        one.row |= recovery(data, support) if one.row["cpu"] else {}
    return {"size": size, "n": n, "p": p, "rows": [one.row for one in contestants]}


# -------------------------------------------------------------------------------------- reports


def ratio(record: dict[str, Any], method: str) -> float | None:
    """Return the median over the turns of the CPU seconds of a package over those of zeronorm."""
    rows = {row["method"]: row for row in record["rows"]}
    ours, theirs = (rows.get(name, {}).get("cpu", []) for name in ("zeronorm", method))
    pairs = [a / b for a, b in zip(theirs, ours, strict=False)]
    return common.median(pairs) if pairs else None


def exact(row: dict[str, Any]) -> bool:
    """Return whether a package found the features and no others."""
    return not (row["feature_fp"] or row["feature_fn"])


def judge(record: dict[str, Any], limit: float) -> list[dict[str, Any]]:
    """Return what was asked beside what was measured."""
    rows = {row["method"]: row for row in record["rows"]}
    bars = []
    ours = rows.get("zeronorm")
    if ours and ours["cpu"]:
        text = f"{ours['feature_fp']} false, {ours['feature_fn']} missing"
        bars.append(common.bar("support of zeronorm", "exact", text, exact(ours)))
    for method, asked in ASKED.items():
        found = ratio(record, method)
        text = f"{found:.1f}" if found else rows.get(method, {}).get("error", "")
        met = None if found is None else found >= asked
        if found is None and ours and ours["cpu"] and text.startswith("over"):
            least = limit / common.median(ours["cpu"])
            text, met = f"more than {least:.0f} ({text})", True if least >= asked else None
        name = f"CPU seconds of {method} / zeronorm"
        bars.append(common.bar(f"{name}, one fit", f"at least {asked:g}", text, met))
        path = rows.get(method, {}).get("path_cpu")
        if ours and ours["cpu"] and path is not None:
            times = path / common.median(ours["cpu"])
            bars.append(
                common.bar(f"{name}, path", f"at least {asked:g}", f"{times:.1f}", times >= asked)
            )
    for method in ("omp", "abess"):
        if found := ratio(record, method):
            name = f"CPU seconds of {method} / zeronorm"
            bars.append(common.bar(name, "nothing", f"{found:.1f}", None))
    return bars


def rows_table(record: dict[str, Any]) -> str:
    """Return the table of a size."""
    body = []
    for row in record["rows"]:
        name = f"{row['method']} {row['version']}"
        if not row["cpu"]:
            body.append([name, WHAT[row["method"]], row["error"], *["-"] * 7])
            continue
        path = "-" if row["path_cpu"] is None else f"{row['path_cpu']:.2f}"
        found = ratio(record, row["method"])
        body.append(
            [
                name,
                WHAT[row["method"]],
                f"{common.median(row['cpu']):.2f}",
                f"{common.median(row['seconds']):.2f}",
                path,
                "-" if found is None else f"{found:.1f}",
                f"{row['compilation']:.1f}",
                f"{row['peak_mb']:.0f}",
                f"{row['features']} ({row['feature_fp']}, {row['feature_fn']})",
                f"{row['groups']} ({row['group_fp']}, {row['group_fn']})",
            ]
        )
    return common.table(
        ["package", "selects", "fit, CPU s", "fit, s", "path, CPU s", "/ zeronorm",
         "compilation s", "MB beyond X", "features (false, missing)", "groups (false, missing)"],
        body,
    )  # fmt: skip


def main() -> None:
    """Measure and write bilevel.json and .md."""
    parser = common.parser(__doc__)
    parser.add_argument("--sizes", default=SIZES, help="rows x columns, with commas")
    parser.add_argument("--methods", default=",".join(peers.METHODS), help="packages to run")
    parser.add_argument("--repeats", type=int, default=3, help="turns")
    parser.add_argument("--limit", type=float, default=120.0, help="CPU seconds for one request")
    parser.add_argument("--long", type=float, default=30.0, help="CPU s of a fit made only once")
    parser.add_argument("--gb", type=float, default=10.0, help="address space of a package")
    options = parser.parse_args()
    common.one_thread()
    options.methods = options.methods.split(",")
    if unknown := [one for one in options.methods if one not in peers.METHODS]:
        sys.exit(f"--methods: unknown {unknown[0]!r}; there are: {', '.join(peers.METHODS)}.")
    about = common.machine()
    records: list[dict[str, Any]] = []
    for size in options.sizes.split(","):
        records.append(measure(size, options))
        report(records, about, options)


def report(records: list[dict[str, Any]], about: dict[str, Any], options: Any) -> None:
    """Write what there is so far."""
    title, _, rest = (__doc__ or "").strip().partition("\n")
    text = [f"# {title.rstrip('.')}", rest.split("\n\n", 1)[1].strip()]
    bars = judge(records[0], options.limit)
    text += [f"## Asked beside measured, {records[0]['size']}", common.bars_table(bars)]
    for record in records:
        text += [
            f"## {record['n']} rows, {record['p']} features",
            f"Medians of {options.repeats} turns; a fit above {options.long:.0f} s of CPU in one "
            f"turn; at most {options.limit:.0f} s of CPU for a fit or a path, and "
            f"{options.gb:.0f} GB of address space.",
            rows_table(record),
        ]
    figures = {"machine": about, "bars": bars, "records": records}
    common.write(options.results, "bilevel", figures, "\n\n".join(text))


if __name__ == "__main__":
    main()
