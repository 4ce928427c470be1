"""Certificates: how far a model of k features can be from the best one, and how long that takes.

    python benchmarks/certificates.py                            all instances; 40 minutes
    python benchmarks/certificates.py --sets golub --k 5 --C 0.1 --keep
                                                 measured again, the rest of the file stays
    python benchmarks/certificates.py --draw --before OLD.json
                                                 beside what another version measured here

    min_{u, b}  1/2 ||u||^2 + C sum_i log(1 + exp(-y_i (x_i'u + b)))   subject to  ||u||_0 <= k

on standardised columns, C = 0.1 (the default of the selection) and, for gene expression, C = 1 and
C = 10. On each instance, one after the other, with all threads that there are:

- the fit: `L0LogisticRegression(n_features=k, C=C)`, whose own certificate costs one scan;
- certify: `zeronorm.certify`, the bound of the convex relaxation over all features;
- 1 %: `zeronorm.prove(gap=0.01)`, which begins with that bound and goes on by branch and bound;
- proof: `zeronorm.prove(gap=0)`, from the beginning again, where the gap of 1 % was reached (where
  it was not, no proof can be had in the same time).

Each of the two searches has a time limit, and the certificate of each call is recomputed from the
data by `zeronorm.verify`, which replays the tree node by node, to ten digits. A certificate that
does not verify ends the script with an error.

The small instances are parts of two sets with few enough supports to fit them all, by a Newton
iteration of the benchmarks' own (`l0.py`).

The hard sets are there to show where proofs end: genotypes (mice) and text (basehock) have about
2000 rows, and the columns of madelon and arcene are partly there to mislead.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import _common as common
import _protocol as protocol
import zeronorm
from l0 import refit, standardise
from zeronorm.core.results import Certificate, Proof, Status
from zeronorm.published import L0LogisticRegression

NAME = "certificates"
GENES = ("leukemia_golub_split", "prostate_ge", "colon_alon", "ma_gordon", "golub")
HARD = ("mice", "madelon", "basehock", "arcene")
SIZES, DEFAULT_C, LARGE_CS = (5, 8, 10), 0.1, (1.0, 10.0)
WANTED = 0.01
LIMIT = 60.0  # seconds within which everything is asked
# What is asked of some sets and sizes at some C: at most a gap, on so many of the instances.
ASKED = (
    ("gene expression", GENES, SIZES, 0.1, WANTED, 15),
    ("gene expression", GENES, SIZES, 0.1, 0.0, 3),
    ("gene expression", GENES, SIZES, 1.0, 0.0, 15),
    ("gene expression", GENES, SIZES, 10.0, 0.05, 10),
    ("text, basehock", ("basehock",), (5, 10), 0.1, 0.1, 2),
    ("madelon and arcene", ("madelon", "arcene"), (5, 10), 0.1, 0.03, 4),
)
SMALL = (("madelon", 20, 3), ("golub", 40, 3))  # set, its first columns, k
SAME = 1e-9  # relative difference of equal objectives
PROVEN = 1e-9  # a gap that counts as none

Row = dict[str, Any]


@dataclass(frozen=True)
class Instance:
    """A set with a size and a C."""

    name: str
    k: int
    C: float


def read(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return X, dense, and y of a set; rows without a label are dropped."""
    data = protocol.arrays(folder, name)
    X, y = data["X"], np.asarray(data["y"])
    if np.unique(y).size > 2:
        X, y = X[np.flatnonzero(y != 0)], y[y != 0]
    X = X.toarray() if sp.issparse(X) else X
    return np.asfortranarray(X, dtype=np.float64), np.where(y > 0, 1.0, -1.0)


# ------------------------------------------------------------------------------------ measuring


def verified(X: np.ndarray, y: np.ndarray, certificate: Certificate) -> float:
    """Return the seconds of the verifier, which raises ValueError at a false certificate."""
    return common.clock(lambda: zeronorm.verify(certificate, X, y))[0]


def search(X: np.ndarray, y: np.ndarray, prove: Callable[[], Proof]) -> Row:
    """Return how a search for a proof went."""
    seconds, _, proof = common.clock(prove)
    certificate, end = proof.certificate, proof.history[-1]
    return {
        "status": proof.status.name,
        "reached": proof.status in (Status.GAP, Status.OPTIMAL),
        "seconds": seconds,
        "nodes": end.n_nodes,
        "gap": certificate.gap,
        "proven": certificate.proven,
        "objective": certificate.objective,
        "bound": certificate.bound,
        "support": certificate.support,
        "improved": proof.improved,
        "verify_seconds": verified(X, y, certificate),
        "history": [[row.seconds, row.n_nodes, row.objective, row.bound] for row in proof.history],
    }


def measure(X: np.ndarray, y: np.ndarray, instance: Instance, time_limit: float) -> Row:
    """Return all figures of one instance."""
    model = L0LogisticRegression(n_features=instance.k, C=instance.C, calibrate=False)
    fit_seconds = common.clock(lambda: model.fit(X, y))[0]
    certify_seconds, _, known = common.clock(lambda: zeronorm.certify(model, X, y))
    row: Row = {
        "set": instance.name,
        "n": X.shape[0],
        "p": X.shape[1],
        "k": instance.k,
        "C": instance.C,
        "fit": {
            "seconds": fit_seconds,
            "gap": model.certificate_.gap,
            "objective": model.certificate_.objective,
            "support": model.certificate_.support,
            "verify_seconds": verified(X, y, model.certificate_),
        },
        "certify": {
            "seconds": certify_seconds,
            "gap": known.gap,
            "candidates": known.candidates,
            "fixed_in": known.fixed_in,
            "verify_seconds": verified(X, y, known),
        },
    }
    for key, gap in (("gap", WANTED), ("proof", 0.0)):
        row[key] = search(
            X, y, lambda gap=gap: zeronorm.prove(  # type: ignore[misc]
                model, X, y, gap=gap, time_limit=time_limit
            ),
        )  # fmt: skip
        if not row[key]["reached"]:
            break
    return row


def small(X: np.ndarray, y: np.ndarray, name: str, p: int, k: int) -> Row:
    """Return a proof beside the enumeration of all supports."""
    X = np.asfortranarray(X[:, :p])
    model = L0LogisticRegression(n_features=k, C=DEFAULT_C, calibrate=False).fit(X, y)
    found = search(X, y, lambda: zeronorm.prove(model, X, y, gap=0, n_threads=1))
    Z = standardise(X)
    supports = list(combinations(range(Z.shape[1]), k))

    def enumerate_all() -> tuple[float, tuple[int, ...]]:
        return min((refit(Z[:, some], y, DEFAULT_C)[0], some) for some in supports)

    seconds, _, (least, best) = common.clock(enumerate_all)
    optimum = least * DEFAULT_C * len(y)
    same = abs(found["objective"] - optimum) <= SAME * optimum
    return {
        "set": name,
        "n": len(y),
        "p": p,
        "k": k,
        "supports": len(supports),
        "enumerate_seconds": seconds,
        "optimum": optimum,
        "best": list(best),
        "proof": found,
        "same": bool(same and found["proven"]),
    }


def measured(instances: Sequence[Instance], options: Any) -> Iterator[Row]:
    """Yield the figures of the instances, reading each set once."""
    folder = common.data_folder(options.data)
    for name in dict.fromkeys(one.name for one in instances):
        X, y = read(folder, name)
        for one in instances:
            if one.name == name:
                with common.log(f"{name}, k = {one.k}, C = {one.C:g}"):
                    row = measure(X, y, one, options.time_limit)
                yield row


# -------------------------------------------------------------------------------------- reports


def percent(value: float) -> str:
    """Return a share as a percentage, with digits for small ones; 0 where it counts as none."""
    if value <= PROVEN:
        return "0"
    return f"{100 * value:.2f} %" if value > 5e-5 else f"{100 * value:.0g} %"


def time(value: float) -> str:
    """Return seconds."""
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def span(seconds: float) -> str:
    """Return a long time in its largest unit."""
    units = (("years", 365.25 * 86400), ("days", 86400), ("hours", 3600))
    for name, size in units:
        if seconds >= 2 * size:
            return f"{seconds / size:.2g} {name}"
    return f"{seconds / 60:.2g} min"


def last(row: Row) -> Row:
    """Return the search that proved more: that for a proof may end above a gap of 1 %."""
    found: Row = min(
        (row[key] for key in ("proof", "gap") if key in row), key=lambda one: one["gap"]
    )
    return found


def judge(rows: list[Row], smalls: list[Row], before: Row | None) -> list[Row]:
    """Return what was asked beside what was measured."""
    bars = [bar for asked in ASKED if (bar := asked_bar(rows, *asked)) is not None]
    if before is not None:
        bars.append(faster(rows, before))
    calls = [row[key] for row in rows for key in ("fit", "certify", "gap", "proof") if key in row]
    calls += [row["proof"] for row in smalls]
    return [
        *bars,
        common.bar(
            "certificates that the verifier confirms",
            "all",
            f"{len(calls)} of {len(calls)}",
            True if calls else None,
        ),
        common.bar(
            "proven optimum beside all supports, small instances",
            "the same",
            f"the same on {sum(row['same'] for row in smalls)} of {len(smalls)}",
            all(row["same"] for row in smalls) if smalls else None,
        ),
    ]


def asked_bar(
    rows: list[Row],
    what: str,
    names: Sequence[str],
    sizes: Sequence[int],
    C: float,
    gap: float,
    least: int,
) -> Row | None:
    """Return what is asked of some instances; None where none of them was measured."""
    part = [row for row in rows if row["set"] in names and row["k"] in sizes and row["C"] == C]
    if not part:
        return None
    total = len(names) * len(sizes)
    near = [seconds for row in part if (seconds := reached(row, gap)) <= LIMIT]
    largest = max(last(row)["gap"] for row in part)
    kind = "proof of optimality" if gap == 0 else f"a gap of at most {100 * gap:g} %"
    how = "all" if least == total else f"at least {least}"
    return common.bar(
        f"{what}, C = {C:g}, k = {', '.join(map(str, sizes))}: {kind}",
        f"on {how} of {total}, within {LIMIT:g} s each",
        f"on {len(near)} of {len(part)}"
        + (f", the slowest in {time(max(near))} s" if near else "")
        + (f"; the largest gap {percent(largest)}" if len(near) < len(part) else ""),
        len(near) >= least if len(part) == total else None,
    )


def reached(row: Row, gap: float) -> float:
    """Return after how many seconds a search reached a gap; inf where none did."""
    if gap == 0:
        proof = row.get("proof")
        return float(proof["seconds"]) if proof is not None and proof["proven"] else math.inf
    seconds = [row["gap"]["seconds"]] if gap == WANTED and row["gap"]["reached"] else []
    for key in ("gap", "proof"):
        for passed, _, objective, bound in row.get(key, {"history": []})["history"]:
            if objective - bound <= gap * objective:
                seconds.append(passed)
                break
    return float(min(seconds, default=math.inf))


def far_table(rows: list[Row]) -> str:
    """Return how many nodes would reach what was asked and is not, if the gap fell on as before."""
    lines = []
    for _, names, sizes, C, gap, _ in ASKED:
        for row in rows:
            if row["set"] not in names or row["k"] not in sizes or row["C"] != C:
                continue
            if gap == 0 or reached(row, gap) < math.inf:
                continue
            course = [
                (seconds, n_nodes, (objective - bound) / objective)
                for seconds, n_nodes, objective, bound in last(row)["history"]
            ]
            seconds, n_nodes, end = course[-1]
            _, n_before, before = next(one for one in course if one[1] >= n_nodes / 10)
            far = [row["set"], row["k"], percent(gap), percent(row["certify"]["gap"]), n_nodes,
                   percent(end)]  # fmt: skip
            if before > end and n_nodes > max(n_before, 1):
                rate = (before - end) / math.log10(n_nodes / max(n_before, 1))
                tenfolds = min((end - gap) / rate, 300.0)
                far += [f"{100 * rate:.2f} points", f"{n_nodes * 10**tenfolds:.0e}",
                        span(seconds * 10**tenfolds)]  # fmt: skip
            lines.append([*far, "-", "-", "-"][:9])
    header = ["set", "k", "asked", "certify", "nodes", "gap at the end", "its fall by the last "
              "tenfold of nodes", "nodes at that rate", "time at that pace"]  # fmt: skip
    return common.table(header, lines) if lines else ""


def faster(rows: list[Row], before: Row) -> Row:
    """Return the time to a proof beside that of another version, where that one had it."""
    known = {(row["set"], row["k"], row["C"]): reached(row, 0.0) for row in rows}
    ratios = [
        known[key] / earlier
        for row in before["records"]
        if (earlier := reached(row, 0.0)) < math.inf
        and (key := (row["set"], row["k"], row["C"])) in known
    ]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan
    return common.bar(
        f"time to a proof where commit {before['commit'][:7]} had one, on one thread, "
        "on another day",
        "half, in the geometric mean",
        f"{mean:.2f} of it, over {len(ratios)} instances; at most "
        f"{max(ratios, default=math.nan):.2f}",
        mean <= 0.5,
    )


def instances_table(rows: list[Row]) -> str:
    """Return a line for every instance."""
    body = []
    for row in rows:
        first, end = row["gap"], last(row)
        lower = row["fit"]["objective"] / end["objective"] - 1.0
        checks = [row[key]["verify_seconds"] for key in ("gap", "proof") if key in row]
        body.append(
            [
                row["set"], f"{row['n']} x {row['p']}", row["k"],
                time(row["fit"]["seconds"]), percent(row["fit"]["gap"]),
                percent(row["certify"]["gap"]),
                f"{row['certify']['candidates']} ({row['certify']['fixed_in']})",
                time(row["certify"]["seconds"]),
                f"{time(first['seconds'])} s, {first['nodes']}" if first["reached"] else "-",
                f"{time(end['seconds'])} s, {end['nodes']}",
                end["status"].lower().replace("_", " "),
                "**proven**" if end["proven"] else percent(end["gap"]),
                f"by {percent(lower)}" if end["improved"] else "no",
                time(max(checks)),
            ]
        )  # fmt: skip
    header = [
        "set", "n x p", "k", "fit, s", "its gap", "certify", "candidates (in every better model)",
        "certify, s", "to 1 %: s, nodes", "search: s, nodes", "ended by", "gap at the end",
        "a better support", "verify, s",
    ]  # fmt: skip
    return common.table(header, body)


def small_table(smalls: list[Row]) -> str:
    """Return the proofs beside the enumerations."""
    body = [
        [
            f"{row['set']}, first {row['p']} columns", row["k"], row["supports"],
            time(row["enumerate_seconds"]), f"{row['optimum']:.8g}",
            f"{row['proof']['objective']:.8g}", "yes" if row["same"] else "**no**",
            row["proof"]["nodes"], time(row["proof"]["seconds"]),
        ]
        for row in smalls
    ]  # fmt: skip
    header = [
        "set", "k", "supports", "enumeration, s", "least objective", "proven optimum", "the same",
        "nodes", "proof, s",
    ]  # fmt: skip
    return common.table(header, body)


def draw(path: Path, rows: list[Row]) -> bool:
    """Write gap against time; False, and a line that says so, without matplotlib."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
        from matplotlib.lines import Line2D
    except ImportError:
        print(f"no {path.name}: matplotlib is missing (pip install matplotlib)", file=sys.stderr)
        return False
    panels = [
        (f"gene expression, C = {DEFAULT_C}", GENES, DEFAULT_C),
        *((f"gene expression, C = {C:g}", GENES, C) for C in LARGE_CS),
        (f"hard sets, C = {DEFAULT_C}", HARD, DEFAULT_C),
    ]
    figure, axes = plt.subplots(
        1, 4, figsize=(18, 5.2), sharex=True, sharey=True, layout="constrained"
    )
    floor = 0.02  # percent: where a proof is drawn
    styles = {5: "-", 8: "--", 10: ":"}
    for axis, (title, names, C) in zip(axes, panels, strict=True):
        for number, name in enumerate(names):
            for row in rows:
                if row["set"] != name or row["C"] != C:
                    continue
                end = row.get("proof", row["gap"])
                line = np.array([(s, 100 * (p - d) / p) for s, _, p, d in end["history"]])
                line[:, 1] = np.maximum(line[:, 1], floor)
                colour = f"C{number}"
                axis.plot(
                    *line.T, styles.get(row["k"], "-."), color=colour, linewidth=1.4,
                    drawstyle="steps-post",
                )  # fmt: skip
                axis.plot(
                    *line[-1], "*" if end["proven"] else "o", color=colour,
                    markersize=10 if end["proven"] else 4,
                )  # fmt: skip
        axis.axhline(100 * WANTED, color="0.6", linewidth=0.8, zorder=0)
        axis.set(title=title, xlabel="seconds", xscale="log", yscale="log", ylim=(0.015, 120))
        axis.set_xticks([0.01, 0.1, 1, 10, 60], ["0.01", "0.1", "1", "10", "60"])
        axis.set_yticks([floor, 0.1, 1, 10, 100], ["proven", "0.1 %", "1 %", "10 %", "100 %"])
        axis.minorticks_off()
        axis.grid(alpha=0.25)
        handles = [Line2D([], [], color=f"C{i}", label=name) for i, name in enumerate(names)]
        axis.legend(
            handles=handles, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3
        )
    axes[0].set_ylabel("gap")
    keys = [
        Line2D([], [], color="0.3", linestyle=style, label=f"k = {k}")
        for k, style in styles.items()
    ]
    keys += [
        Line2D([], [], color="0.3", linestyle="", marker="*", markersize=10, label="optimal"),
        Line2D([], [], color="0.3", linestyle="", marker="o", markersize=4, label="time limit"),
    ]
    figure.legend(handles=keys, loc="outside lower center", ncols=len(keys), fontsize=9)
    figure.suptitle("How far the model can be from the best one of k features")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return True


def earlier_version(options: Any) -> Row | None:
    """Return what another version measured, of a file that is given or of the last results."""
    if options.before is not None:
        found = json.loads(options.before.read_text())
        return {"commit": found["made"][-1]["commit"], "records": found["records"]}
    file = options.results / f"{NAME}.json"
    return json.loads(file.read_text()).get("before") if file.exists() else None


def report(rows: list[Row], smalls: list[Row], about: Row, options: Any) -> None:
    """Write certificates.json, .md and .png."""
    before = earlier_version(options)
    bars = judge(rows, smalls, before)
    text = [
        "# Certificates",
        (__doc__ or "").split("\n\n", 2)[2].strip(),
        "## Asked beside measured",
        common.bars_table(bars),
    ]
    if far := far_table(rows):
        text += [
            "Where a search ended above what was asked: what that would take, if the gap fell by "
            "as much with every tenfold of the nodes as with the last one.",
            far,
        ]
    if rows and draw(options.results / f"{NAME}.png", rows):
        text.append(f"![gap against time]({NAME}.png)")
    text += [
        "## Instances",
        "Gaps are (objective - bound) / objective. Candidates: the features that `certify` cannot "
        "rule out, and how many of the model are in every better one. The search is that for a "
        "proof, or that for a gap of 1 % where the other proved less or was not made. A better "
        "support: how far the objective of the fit lies above that of the one found. Verify: the "
        f"longer of the two replays. (Time limit of each search: {options.time_limit:g} s.)",
    ]
    for C in dict.fromkeys(row["C"] for row in rows):
        text += [f"### C = {C:g}", instances_table([row for row in rows if row["C"] == C])]
    if smalls:
        text += [
            "## Beside enumeration",
            f"C = {DEFAULT_C}; every support is fitted, and the least objective taken.",
            small_table(smalls),
        ]
    figures = {"machine": about, "bars": bars, "records": rows, "small": smalls}
    if before:
        kept = ("set", "k", "C", "proof")
        records = [{key: row[key] for key in kept if key in row} for row in before["records"]]
        figures["before"] = {"commit": before["commit"], "records": records}
    common.write(options.results, NAME, figures, "\n\n".join(text))


def main() -> None:
    """Measure and write certificates.json, .md and .png."""
    parser = common.parser(__doc__)
    parser.add_argument("--sets", default=",".join(GENES + HARD))
    parser.add_argument("--k", default=",".join(map(str, SIZES)))
    parser.add_argument("--C", default=",".join(f"{C:g}" for C in (DEFAULT_C, *LARGE_CS)),
                        help="hard sets: only 0.1")  # fmt: skip
    parser.add_argument("--time-limit", type=float, default=LIMIT, help="seconds of each search")
    parser.add_argument("--keep", action="store_true", help="keep what else the result file has")
    parser.add_argument("--instances", action="store_true", help="only the small instances; keeps")
    parser.add_argument("--before", type=Path, help="results of another version, on this machine")
    parser.add_argument("--draw", action="store_true", help="only write the report again")
    options = parser.parse_args()
    known = GENES + HARD
    names = options.sets.split(",")
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"--sets: unknown {unknown[0]!r}; there are: {', '.join(known)}.")
    sizes, values = map(int, options.k.split(",")), list(map(float, options.C.split(",")))
    instances = [
        Instance(name, k, C)
        for k, name, C in sorted(
            ((k, name, C) for k in sizes for name in names for C in values),
            key=lambda one: (one[2], known.index(one[1]), one[0]),
        )
        if name in GENES or C == DEFAULT_C
    ]
    about = common.machine()
    keep = options.keep or options.instances or options.draw
    before = common.earlier(options.results, NAME) if keep else {}
    rows: list[Row] = before.get("records", [])
    smalls: list[Row] = before.get("small", [])
    if options.draw:
        report(rows, smalls, before["machine"], options)
        return
    if options.instances or not keep:
        folder = common.data_folder(options.data)
        smalls = []
        for name, p, k in SMALL:
            with common.log(f"{name}, first {p} columns, k = {k}"):
                smalls.append(small(*read(folder, name), name, p, k))
    if not options.instances:
        order = {name: number for number, name in enumerate(known)}
        for row in measured(instances, options):
            same = (row["set"], row["k"], row["C"])
            rows = [old for old in rows if (old["set"], old["k"], old["C"]) != same] + [row]
            rows.sort(key=lambda one: (one["C"], order[one["set"]], one["k"]))
            report(rows, smalls, about, options)
    report(rows, smalls, about, options)


if __name__ == "__main__":
    main()
