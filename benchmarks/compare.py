"""Exactly k features on real data, package by package: seconds, memory, test accuracy.

    python benchmarks/compare.py
    python benchmarks/compare.py --sets relathe,news20ng --sizes 50 --threads 1

Every package runs in a process and an environment of its own; the packages take turns, so that
a row of the table compares figures of the same minutes. All select on the same columns and are
judged by the same refit (`_protocol.judge`), so that only the choice of features differs.

What the seconds hold. Ours: everything, from the user's matrix to the certified, refitted model,
and below 1000 rows the folds that calibrate its probabilities, unless it says "not calibrated".
The others: selection to size k, search included, from columns that are already standardised and in
the storage they prefer, without the refit. Nothing is left out silently: a package that is not
installed, fails, runs past the limit or returns fewer than k features says so in its row.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import _common as common
import _peers
import _protocol as protocol

SETS = (
    "leukemia_golub_split,prostate_ge,arcene,arabidopsis_ft16,"
    "mice:black,relathe,rcv1_small,news20ng"
)
NAMES = {
    "zeronorm": "zeronorm BudgetClassifier",
    "zeronorm_plain": "zeronorm BudgetClassifier, not calibrated",
    "zeronorm_minimax": "zeronorm MinimaxLogisticRegression",
    "zeronorm_published": "zeronorm minimax as published",
    "liblinear": "LIBLINEAR -s 6, search on C",
    "sklearn": "scikit-learn liblinear l1, search on C",
    "abess": "abess",
    "adelie": "adelie l1 path",
    "celer": "celer l1, warm search (no intercept)",
    "skglm": "skglm l1, warm search",
    "marginal": "marginal correlation",
}


def compare(name: str, sizes: list[int], methods: list[str], options: Any) -> list[dict[str, Any]]:
    """Return a record for every method and size on one set."""
    problem = protocol.problem(common.data_folder(options.data), name, protocol.seeds(name)[0])
    folder = common.peer_folder(options.peers)
    strength = np.argsort(-protocol.correlation(problem.select, problem.y), kind="stable")
    peers: dict[str, common.Peer] = {}
    about: dict[str, dict[str, Any]] = {}
    errors: dict[tuple[str, int], str] = {}
    replies: dict[tuple[str, int], list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        for kind in ("select", "user"):
            (Path(temporary) / kind).mkdir()
            common.save_problem(Path(temporary) / kind, getattr(problem, kind), problem.y)
        for method in methods:
            python = common.interpreter(_peers.METHODS[method][0], folder)
            # Ours standardises by itself; the published settings do not.
            own = method in ("zeronorm", "zeronorm_plain", "zeronorm_minimax")
            path = Path(temporary) / ("user" if own else "select")
            try:
                if python is None:
                    raise common.PeerError("not installed")
                peers[method] = common.Peer(method, python, options.threads)
                about[method] = peers[method].ask(op="version")
                about[method] |= peers[method].ask(options.limit, op="load", path=str(path))
            except common.PeerError as error:
                errors.update({(method, k): str(error) for k in sizes})
        for k in sizes:
            for turn in range(options.repeats + 1):
                for method in methods:
                    if (method, k) in errors:
                        continue
                    try:
                        reply = peers[method].ask(options.limit, op="fit", k=k)
                    except common.PeerError as error:
                        errors[method, k] = str(error)
                        later = [size for size in sizes if size > k]
                        errors.update({(method, j): f"smaller k: {error}" for j in later})
                        continue
                    if turn:  # the first one imports and compiles
                        replies.setdefault((method, k), []).append(reply)
        for peer in peers.values():
            peer.close()
    records = []
    for k in sizes:
        for method in methods:
            record: dict[str, Any] = {"set": name, "k": k, "method": method}
            if (method, k) in errors:
                records.append(record | {"error": errors[method, k]})
                continue
            got = replies[method, k]
            support = np.array(got[-1]["support"], dtype=np.int64)
            rest = strength[~np.isin(strength, support)][: k - support.size]
            records.append(
                record
                | {
                    "version": about[method]["version"],
                    "seconds": [r["seconds"] for r in got],
                    "median": common.median([r["seconds"] for r in got]),
                    "cpu": common.median([r["cpu"] for r in got]),
                    "prepare": about[method]["prepare"],
                    "peak_mb": max(r["peak_mb"] for r in got),
                    "found": int(support.size),
                    "how": got[-1]["how"],
                    **protocol.judge(problem, np.concatenate([support, rest])),
                }
            )
    return records


def tables(records: list[dict[str, Any]]) -> str:
    """Return a Markdown table for every set and size, fastest first."""
    parts = []
    for name, k in dict.fromkeys((r["set"], r["k"]) for r in records):
        rows = []
        part = [r for r in records if (r["set"], r["k"]) == (name, k)]
        for r in sorted(part, key=lambda r: r.get("median", np.inf)):
            if "error" in r:
                rows.append([NAMES[r["method"]], "", "-", "-", "-", "-", "-", r["error"]])
                continue
            short = "" if r["found"] == k else f"; found {r['found']}, topped up by correlation"
            rows.append(
                [
                    NAMES[r["method"]],
                    r["version"],
                    f"{r['median']:.4f}",
                    f"{min(r['seconds']):.4f}-{max(r['seconds']):.4f}",
                    f"{r['cpu']:.4f}",
                    f"{r['peak_mb']:.0f}",
                    f"{r['accuracy']:.4f}",
                    r["how"] + short,
                ]
            )
        header = ["package", "version", "s", "min-max", "CPU s", "MB", "accuracy", "how"]
        parts.append(f"### {name}, k = {k}\n\n" + common.table(header, rows))
    return "\n\n".join(parts)


def main() -> None:
    """Compare and write compare.json and .md."""
    parser = common.parser(__doc__)
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--sizes", default="20,100")
    parser.add_argument("--methods", default=",".join(NAMES))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1, help="threads of every package")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one fit")
    parser.add_argument("--name", default="compare", help="name of the result files")
    options = parser.parse_args()
    methods, sizes = options.methods.split(","), [int(k) for k in options.sizes.split(",")]
    unknown = [m for m in methods if m not in NAMES]
    if unknown:
        sys.exit(f"--methods: unknown method {unknown[0]!r}; there are: {', '.join(NAMES)}.")
    records = []
    for name in protocol.choose(options.sets):
        with common.log(name):
            records += compare(name, sizes, methods, options)
    about = common.machine() | {"threads": options.threads}
    text = [
        "# Exactly k features, package by package",
        (__doc__ or "").split("\n\n", 2)[2].strip(),
        f"Medians of {options.repeats} turns, {options.threads} thread(s); MB is the peak of "
        "resident memory beyond the loaded and converted data; accuracy on the first split of the "
        "protocol (given split where there is one), a single test set: on the microarrays one row "
        "is 2 to 3 points.",
        tables(records),
    ]
    figures = {"machine": about, "records": records}
    common.write(options.results, options.name, figures, "\n\n".join(text))


if __name__ == "__main__":
    main()
