"""newGLMNET, GLMNET and CDN: the share of exponentials, and seconds to given gaps.

The notes on Yuan, Ho and Lin (JMLR 13, 2012) say: exponentials and logarithms take most of a cycle
of CDN (Table 1: 73.0 % on epsilon, 66.6 % on webspam); GLMNET is slower than CDN, as it is slow
far from the optimum and fast near it; newGLMNET is faster than both; its line search costs little;
its inner problems take many sweeps early and one late.

Here: min_w ||w||_1 + C sum_i log(1 + exp(-y_i x_i'w)), no intercept, C for a given number of
features (benchmarks/l1.py). epsilon (400,000 x 2,000, dense) and webspam (350,000 x 16,609,143)
are not at hand: a dense drawn set and text stand for them.

"exp/log" of a cycle of CDN is what its time has beyond that of the same cycle with the squared
hinge, which reads the same columns without exponentials and logarithms: the median of several
turns. Ours keeps margins and not their exponentials, so that a visit costs an exponential a row,
too. "exp/log" of newGLMNET is the time in value, gradient and curvature of the loss. Seconds are
CPU seconds of one thread from X in memory by column, the scan that certifies every iteration among
them; a gap is (f - f*) / f(0), f* the best value found by anyone. CDN and newGLMNET shrink, GLMNET
does not. A claim holds on a set by at least 5 %. The published rule ends a run where the sum of the
violations of the optimality conditions, over the features that are not shrunk, is at most a share
of the first one; ours where the certified gap is at most such a share of the objective at 0.

    python benchmarks/papers/newglmnet.py            # the sets at hand, 5 minutes
    python benchmarks/papers/newglmnet.py --full     # larger drawn sets too, an hour
    python benchmarks/papers/newglmnet.py --tiny     # seconds: does the script run

With --keep it measures only what the results lack, and it writes after every set, so that a run
that was ended goes on.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from _mslr import Curve, Panel, common, draw, pick
from l1 import SETS, Task, gaussian
from zeronorm.data import as_design
from zeronorm.losses import Logistic, SquaredHinge
from zeronorm.published.solvers import L1_SOLVERS
from zeronorm.published.solvers.newglmnet import NU
from zeronorm.solvers import L1Problem, run
from zeronorm.solvers.l1.problem import Penalty
from zeronorm.solvers.l1.solvers import MAX_HALVINGS, SIGMA, Run, largest_steps
from zeronorm.solvers.problem import Risk

Row = dict[str, Any]
SOLVERS = {"cdn": ("CDN", "tab:blue"), "glmnet": ("GLMNET", "tab:red"),
           "newglmnet": ("newGLMNET", "tab:green")}  # fmt: skip
GAPS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6)
RULES = {"violations": "published", "gap": "ours"}
SHARES = (1e-2, 1e-4)  # at which both rules end
STOPPED = ("cdn", "newglmnet")
EARLY, LATE = 1e-2, 1e-6
LEAST = 1e-8  # the gap at which a run ends
NOISE = 0.95
TURNS = 5
DENSE = "dense"  # stands for epsilon
SMALL = (("leukemia_golub_split", 20), ("mice", 50), ("a9a", 80), ("w8a", 200), ("news20ng", 300),
         (DENSE, 0))  # fmt: skip
FULL = (*SMALL, ("s1", 300), ("s2", 300), ("d3", 300))
TINY = (("tiny", 0),)
DRAWN = {"tiny": (60, 200, 0.5), DENSE: (4000, 2000, 0.01)}  # rows, columns, C


def task_of(name: str, wanted: int, folder: Path | None) -> Task:
    """Return a problem, X in memory by column."""
    if name in DRAWN:
        n, p, C = DRAWN[name]
        X, y = gaussian(n, max(p, 300), np.float64)(Path())
        return Task(name, wanted, X, y, C)
    assert folder is not None
    X, y = SETS[name].read(folder)
    return Task(name, wanted, X if isinstance(X, np.ndarray) else X.tocsc(), y,
                SETS[name].C[wanted])  # fmt: skip


def posed(task: Task, loss: Any = None) -> L1Problem:
    """Return the problem as the solvers take it."""
    design = as_design(task.X, n_threads=1)
    m = design.shape[1]
    penalty = Penalty(np.ones(m), np.zeros(m), np.full(m, -np.inf), np.full(m, np.inf))
    risk = Risk(task.y, np.full(task.y.size, task.C), loss or Logistic(), False)
    return L1Problem(design, risk, penalty, float(task.y.size))


def first_cycle(problem: L1Problem) -> Callable[[], None]:
    """Return a call that does the first cycle of CDN."""
    record = Run(problem, 1e-4, 1)
    columns = record.all_columns()
    rows, steps = problem.penalty.rows(), largest_steps(problem, columns)
    risk = problem.risk

    def cycle() -> None:
        columns.call(
            "newton_cycle", risk.y, risk.weight, rows, risk.loss.kernel, NU, SIGMA, steps,
            MAX_HALVINGS, 0, np.arange(columns.size), np.zeros(columns.size), np.zeros(risk.y.size),
        )  # fmt: skip

    return cycle


@contextmanager
def patched(owner: type, calls: dict[str, Callable[..., Any]]) -> Iterator[None]:
    """Put calls in the place of methods for a while."""
    original = {name: getattr(owner, name) for name in calls}
    try:
        for name, call in calls.items():
            setattr(owner, name, call)
        yield
    finally:
        for name, call in original.items():
            setattr(owner, name, call)


def shares(task: Task) -> Row:
    """Return the first cycle of CDN with its share of exponentials, and that of newGLMNET."""
    calls = {
        "logistic": first_cycle(posed(task)),
        "hinge": first_cycle(posed(task, SquaredHinge())),
    }
    seconds = common.interleave(calls, TURNS)
    total, without = (common.median(seconds[name]) for name in calls)
    spent = 0.0

    def timed(name: str) -> Callable[..., Any]:
        call = getattr(Risk, name)

        def timing(*arguments: Any) -> Any:
            nonlocal spent
            begin = time.process_time()
            value = call(*arguments)
            spent += time.process_time() - begin
            return value

        return timing

    names = ("value_gradient", "curvature", "conjugate")
    with patched(Risk, {name: timed(name) for name in names}):
        begin = time.process_time()
        run(L1_SOLVERS["newglmnet"](posed(task), tol=1e-6, max_iter=1000))
        whole = time.process_time() - begin
    return {"cycle": total, "exp": max(total - without, 0.0), "newglmnet": whole,
            "newglmnet_exp": spent}  # fmt: skip


class OverLimitError(Exception):
    """A run took longer than it may."""


def trace(task: Task, solver: str, limit: float) -> Row:
    """Return seconds, objectives and sweeps of every iteration, until `limit` seconds."""
    rows: list[list[float]] = []
    accept, begin = Run.accept, time.process_time()

    def accepted(self: Run, *arguments: Any) -> None:
        accept(self, *arguments)
        step = self.history[-1]
        rows.append([time.process_time() - begin, step.objective, step.extra.get("sweeps", 1)])
        if rows[-1][0] > limit:
            raise OverLimitError

    try:
        with patched(Run, {"accept": accepted}):
            begin = time.process_time()
            solved = run(L1_SOLVERS[solver](posed(task), tol=LEAST, max_iter=100_000))
        status = solved.status.name
    except OverLimitError:
        status = f"over {limit:g} s"
    seconds, objective, sweeps = map(list, zip(*rows, strict=True))
    return {"status": status, "seconds": seconds, "objective": objective, "sweeps": sweeps}


def stops(task: Task, optimum: float) -> list[Row]:
    """Return where the published rule ends a run, and where ours does."""
    found = []
    for name, share, rule in product(STOPPED, SHARES, RULES):
        begin = time.process_time()
        solved = run(L1_SOLVERS[name](posed(task), tol=share, max_iter=10_000, stop=rule))
        seconds = time.process_time() - begin
        found.append({
            "solver": name, "share": share, "rule": rule, "seconds": seconds,
            "iterations": len(solved.history) - 1, "features": int(solved.support.size),
            "gap": (solved.objective - optimum) / task.zero,
        })  # fmt: skip
    return found


def measured(task: Task, limit: float) -> Row:
    """Return the record of one set."""
    best = run(L1_SOLVERS["auto"](posed(task), tol=1e-11, max_iter=1000))
    traces = {name: trace(task, name, limit) for name in SOLVERS}
    optimum = min(best.objective, *(min(one["objective"]) for one in traces.values()))
    for one in traces.values():
        lowest = np.minimum.accumulate(one.pop("objective"))
        one["gap"] = [float(f"{gap:.3g}") for gap in (lowest - optimum) / task.zero]
        one["seconds"] = [round(value, 5) for value in one["seconds"]]
    n, m = task.X.shape
    return {"set": task.name, "wanted": task.wanted, "n": n, "m": m, "C": task.C,
            "features": best.support.size, "shares": shares(task), "traces": traces,
            "stops": stops(task, optimum)}  # fmt: skip


# ------------------------------------------------------------------------------------- claims


def reached(one: Row, gap: float) -> float:
    """Return the seconds to a gap; inf where it was not reached."""
    return next((s for s, g in zip(one["seconds"], one["gap"], strict=True) if g <= gap), np.inf)


def shown(value: float, text: str = ".3g") -> str:
    """Return a number, or that there is none."""
    return f"{value:{text}}" if np.isfinite(value) else "-"


def halves(one: Row) -> tuple[float, float]:
    """Return the mean sweeps of inner problems in the first half of the iterations, the second."""
    sweeps = one["sweeps"][1:]
    middle = max(len(sweeps) // 2, 1)
    return float(np.mean(sweeps[:middle])), float(np.mean(sweeps[middle:] or [0]))


def claims(records: Sequence[Row]) -> list[Row]:
    """Return the claims of the notes, each with the sets where it is seen."""
    found: list[Row] = []

    def claim(text: str, value: Callable[[Row], tuple[str, bool | None]]) -> None:
        values = [value(one) for one in records]
        holds = [good for _, good in values if good is not None]
        found.append({"claim": text, "measured": [said for said, _ in values],
                      "holds": sum(holds), "of": len(holds)})  # fmt: skip

    def part(key: str, whole: str) -> Callable[[Row], float]:
        return lambda one: one["shares"][key] / one["shares"][whole]

    cdn_share, new_share = part("exp", "cycle"), part("newglmnet_exp", "newglmnet")
    claim("Table 1: exponentials and logarithms take most of the first cycle of CDN",
          lambda one: (f"{100 * cdn_share(one):.0f} %", cdn_share(one) > 0.5))  # fmt: skip

    def smaller(one: Row) -> tuple[str, bool | None]:
        return f"{100 * new_share(one):.0f} %", new_share(one) < cdn_share(one) * NOISE

    claim("they take a smaller share of newGLMNET", smaller)

    def faster(first: str, second: str, gap: float, above: float = np.inf) -> Callable[..., Any]:
        def value(one: Row) -> tuple[str, bool | None]:
            a, b = (
                reached(one["traces"][name], gap)
                - (reached(one["traces"][name], above) if np.isfinite(above) else 0.0)
                for name in (first, second)
            )
            a, b = (np.inf if np.isnan(x) else x for x in (a, b))
            if not (np.isfinite(a) or np.isfinite(b)):
                return "-", None
            return f"{shown(a)} against {shown(b)} s", a < b * NOISE

        return value

    claim(f"GLMNET is slower than CDN (to a gap of {LATE:g})", faster("cdn", "glmnet", LATE))
    claim(f"GLMNET is slow early: CDN is sooner at {EARLY:g}", faster("cdn", "glmnet", EARLY))
    claim(f"GLMNET is fast late: from {EARLY:g} to {LATE:g} it takes less time than CDN",
          faster("glmnet", "cdn", LATE, EARLY))  # fmt: skip
    for gap in (EARLY, 1e-4, LATE):
        for other in ("cdn", "glmnet"):
            claim(f"newGLMNET is faster than {SOLVERS[other][0]} (to a gap of {gap:g})",
                  faster("newglmnet", other, gap))  # fmt: skip

    def sweeps(one: Row) -> tuple[str, bool | None]:
        early, late = halves(one["traces"]["newglmnet"])
        return f"{early:.1f}, then {late:.1f}", early > late

    claim("newGLMNET sweeps more in early inner problems than in late ones", sweeps)

    def fails(one: Row) -> tuple[str, bool | None]:
        last = one["traces"]["glmnet"]["gap"][-1]
        return f"{one['traces']['glmnet']['status']} at {last:.0e}", last > LATE

    claim(f"GLMNET has no guarantee: it ends above a gap of {LATE:g}", fails)
    return found


def report(records: Sequence[Row], found: Sequence[Row], options: Any) -> str:
    """Return the tables."""
    title, _, about = (__doc__ or "").strip().partition("\n")
    text = [f"# {title.rstrip('.')}", about.strip(), "## What the notes say"]
    text.append("Measured values are in the order of the sets: "
                + ", ".join(one["set"] for one in records) + ".")  # fmt: skip
    lines = []
    for one in found:
        verdict = {0: "no", one["of"]: "yes"}.get(one["holds"], "in part")
        lines.append([one["claim"], "; ".join(one["measured"]),
                      f"**{verdict}** ({one['holds']} of {one['of']})"])  # fmt: skip
    text.append(common.table(["what", "measured, by set", "holds"], lines))
    text.append("## The first cycle of CDN, and newGLMNET to 1e-6")
    lines = []
    for one in records:
        part = one["shares"]
        lines.append([
            one["set"], f"{one['n']} x {one['m']}", one["features"], f"{part['cycle']:.3g}",
            f"{part['exp']:.3g} ({100 * part['exp'] / part['cycle']:.1f} %)",
            f"{part['newglmnet']:.3g}",
            f"{part['newglmnet_exp']:.3g} "
            f"({100 * part['newglmnet_exp'] / part['newglmnet']:.1f} %)",
        ])  # fmt: skip
    text.append(common.table(
        ["set", "size", "features of the optimum", "CDN, a cycle, s", "exp/log", "newGLMNET, s",
         "exp/log"], lines))  # fmt: skip
    text.append(f"## CPU seconds to a gap\n\nA run ends at a gap of {LEAST:g}, or after "
                f"{options.limit:g} s.")  # fmt: skip
    lines = [
        [one["set"], SOLVERS[name][0], *(shown(reached(trace, gap)) for gap in GAPS),
         len(trace["gap"]) - 1, trace["status"]]
        for one in records for name, trace in one["traces"].items()
    ]  # fmt: skip
    text.append(common.table(["set", "solver", *(f"{gap:g}" for gap in GAPS), "iterations", "end"],
                             lines))  # fmt: skip
    lines = [
        [one["set"], SOLVERS[row["solver"]][0], f"{row['share']:g}", RULES[row["rule"]],
         row["iterations"], f"{row['seconds']:.3g}", f"{row['gap']:.1e}", row["features"]]
        for one in records for row in one.get("stops", [])
    ]  # fmt: skip
    if lines:
        text.append("## The published stop beside ours")
        text.append(common.table(["set", "solver", "share", "rule", "iterations", "CPU s", "gap",
                                  "features"], lines))  # fmt: skip
    panels = [
        Panel(f"{one['set']} ({one['n']} x {one['m']})", "CPU seconds", "gap", [
            Curve(SOLVERS[name][0], trace["seconds"], np.maximum(trace["gap"], 1e-9),
                  SOLVERS[name][1], "") for name, trace in one["traces"].items()], log=True)
        for one in records
    ]  # fmt: skip
    if draw(options.results / "newglmnet.png", "Gap against seconds", panels):
        text.append("![Gap against seconds](newglmnet.png)")
    return "\n\n".join(text)


def save(options: Any, machine: Row, records: Sequence[Row]) -> None:
    """Write the files of what there is."""
    found = claims(records)
    figures = {"machine": machine, "claims": found, "records": records}
    common.write(options.results, "newglmnet", figures, report(records, found, options))


def main() -> None:
    """Measure and write newglmnet.json, .md and .png."""
    parser = common.parser(__doc__)
    parser.set_defaults(results=common.RESULTS / "papers")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--full", action="store_true", help="larger drawn sets too")
    how.add_argument("--tiny", action="store_true", help="seconds: does the script run")
    parser.add_argument("--keep", action="store_true", help="measure only what the results lack")
    parser.add_argument("--limit", type=float, default=60.0, help="CPU seconds for a run")
    parser.add_argument("--sets", default=",".join(name for name, _ in SMALL), help="with commas")
    options = parser.parse_args()
    common.one_thread()
    sets = dict(TINY if options.tiny else FULL if options.full else SMALL)
    if not (options.tiny or options.full):
        sets = {name: sets[name] for name in pick("--sets", options.sets, sets)}
    folder = None if set(sets) <= set(DRAWN) else common.data_folder(options.data)
    records = common.kept(options.results, "newglmnet") if options.keep else []
    machine = common.machine()
    lacking = [name for name in sets if name not in {one["set"] for one in records}]
    for name in lacking:
        with common.log(name):
            records.append(measured(task_of(name, sets[name], folder), options.limit))
        if options.keep and name != lacking[-1]:
            save(options, machine, records)
    save(options, machine, records)


if __name__ == "__main__":
    sys.exit(main())
