"""Figure 3: the running time of the projection onto few features in few groups.

The paper (Xiang, Yang and Ye, KDD 2014, Section 5.1): seconds of its dynamic programme (Algorithm
3, "SGHT") in the four scenarios of Table 2: more features; more groups and more of them selected;
more groups alone; more selected groups. p features in G groups of equal size, at most s1 features
in at most s2 groups. It reports curves only.

Here: the same 54 settings, v standard normal, groups contiguous or at random places ("scattered").
`dp` is the paper's programme and `auto` the default of `project_bilevel`, beside a plain
read of v (`np.sum`), soft thresholding of v, and `np.argpartition` of |v|, the usual way to the s1
largest values (|v| is made before). Groups are made before too. Seconds are CPU seconds of one
thread, medians of several turns of all methods one after the other; of the programme only as many
turns as fit into some seconds. Every result of `auto` is checked to keep the same sum of squares as
`dp`.

    python benchmarks/papers/bilevel_projection.py          # the sizes of the paper: minutes
    python benchmarks/papers/bilevel_projection.py --tiny   # seconds: does the script run
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from _mslr import Curve, Panel, common, draw
from zeronorm import Groups
from zeronorm.published import project_bilevel

Row = dict[str, Any]
SHARES = (0.2, 0.4, 0.6)
LAYOUTS = ("contiguous", "scattered")
COLOURS = {
    "dp": "tab:red",
    "auto": "tab:green",
    "argpartition": "tab:blue",
    "soft": "tab:orange",
    "read": "tab:grey",
}
LABELS = {
    "dp": "dynamic programme",
    "auto": "project_bilevel",
    "argpartition": "np.argpartition",
    "soft": "soft thresholding",
    "read": "plain read",
}
MARKERS = ("o", "s", "^")
X_NAMES = ("log10 of the features", "groups", "groups", "selected groups (%)")
AXES = (1.0, 5.0, 0.5, 5.0)  # where the seconds of the paper's four panels end
BUDGET = 1.0  # seconds after which the programme has no further turn
SHORT = 200_000  # features; of fewer, several calls are timed at a time
FEW_GROUPS, MANY_FEATURES = 200, 100_000
LARGE = {"p": 5_000_000, "groups": 100, "s1": 300, "s2": 60}


def settings(tiny: bool) -> list[Row]:
    """Return the settings of the four scenarios: x is the abscissa of its panel, line its curve."""
    part = 100 if tiny else 1
    found: list[Row] = []

    def add(scenario: int, p: int, groups: int, s1: int, s2: int, x: float, line: str) -> None:
        found.append({"scenario": scenario, "p": p // part, "groups": groups, "s1": s1, "s2": s2,
                      "x": x, "line": line})  # fmt: skip

    for p in (1_000, 10_000, 100_000, 1_000_000, 5_000_000):
        for share in SHARES:
            s2 = round(share * 100)
            add(1, max(p, 1000 * part), 100, 5 * s2, s2, float(np.log10(p)), f"s2 = {share:g} G")
    for groups in (10, 50, 100, 150, 200):
        for share in SHARES:
            s2 = round(share * groups)
            add(2, 1_000_000, groups, 5 * s2, s2, groups, f"s2 = {share:g} G")
    for groups in (50, 100, 500, 1000, 5000, 10_000):
        add(3, 1_000_000, groups, 50, 5, groups, "s1 = 50, s2 = 5")
    for s2 in (10, 20, 30, 40, 50, 60):
        for times in (5, 10, 20):
            add(4, 1_000_000, 100, times * s2, s2, s2, f"s1 = {times} s2")
    return found


def seconds(call: Callable[[], Any], times: int) -> tuple[float, Any]:
    """Return the CPU seconds of the thread for a call, of several, and what it returned."""
    begin = time.thread_time()
    for _ in range(times):
        value = call()
    return (time.thread_time() - begin) / times, value


def measured(setting: Row, layout: str, turns: int) -> Row:
    """Return the medians of a setting."""
    p, n_groups = setting["p"], setting["groups"]
    s1, s2 = setting["s1"], setting["s2"]
    rng = np.random.default_rng([0, p, n_groups, s1])
    v = rng.standard_normal(p)
    labels = np.arange(p) * n_groups // p
    if layout == "scattered":
        rng.shuffle(labels)
    groups, size = Groups.of(labels, p), np.abs(v)
    del labels
    calls: dict[str, Callable[[], Any]] = {
        "read": lambda: np.sum(v),
        "auto": lambda: project_bilevel(v, s1, s2, groups),
        "argpartition": lambda: np.argpartition(size, max(p - s1, 0)),
        "soft": lambda: np.sign(v) * np.maximum(np.abs(v) - 1.0, 0.0),
        "dp": lambda: project_bilevel(v, s1, s2, groups, method="dp"),
    }
    spent: dict[str, list[float]] = {name: [] for name in calls}
    kept: dict[str, float] = {}
    for turn in range(turns + 1):  # the first one warms up
        for name, call in calls.items():
            if name == "dp" and sum(spent["dp"]) * (1 + 1 / max(len(spent["dp"]), 1)) > BUDGET:
                continue
            once, value = seconds(call, 1 if name == "dp" else max(1, SHORT // p))
            if turn > 0 or name == "dp":
                spent[name].append(once)
            if name in ("auto", "dp"):
                kept[name] = float(value @ value)
                assert np.count_nonzero(value) <= s1
                assert groups.of_features(np.flatnonzero(value)).size <= s2
    assert abs(kept["auto"] - kept["dp"]) <= 1e-12 * kept["dp"], setting
    medians = {name: common.median(values) for name, values in spent.items()}
    return {**setting, "layout": layout, **medians, "turns": turns, "dp_turns": len(spent["dp"])}


def ratios(rows: Sequence[Row], above: str, below: str) -> np.ndarray:
    """Return the ratios of two methods."""
    return np.array([row[above] / row[below] for row in rows])


def bars(rows: Sequence[Row]) -> list[Row]:
    """Return what was asked beside what was measured."""
    found = []
    for layout in LAYOUTS:
        here = [row for row in rows if row["layout"] == layout]
        faster = ratios(here, "dp", "auto")
        found.append(
            common.bar(
                f"dynamic programme / project_bilevel, {layout}: median over all settings",
                "at least 10",
                f"{np.median(faster):.0f} (from {faster.min():.1f} to {faster.max():.0f})",
                bool(np.median(faster) >= 10),
            )
        )
        large = [row for row in here if all(row[key] == LARGE[key] for key in LARGE)]
        reads = ratios(large, "auto", "read")
        found.append(
            common.bar(
                f"project_bilevel / plain read, {layout}, p = 5e6, G = 100, s1 = 300, s2 = 60",
                "at most 10",
                f"{reads[0]:.2f}" if large else "-",
                bool(reads[0] <= 10) if large else None,
            )
        )
        usual = [r for r in here if r["p"] >= MANY_FEATURES and r["groups"] <= FEW_GROUPS]
        against = ratios(usual, "argpartition", "auto")
        found.append(
            common.bar(
                f"np.argpartition / project_bilevel, {layout}, p >= 1e5, at most 200 groups",
                "above 1 everywhere",
                f"{against.min():.2f} to {against.max():.1f} ({len(usual)} settings)"
                if usual
                else "-",
                bool(against.min() > 1) if usual else None,
            )
        )
    return found


def claims(rows: Sequence[Row]) -> str:
    """Return what the paper says beside what was measured, contiguous groups."""
    here = [row for row in rows if row["layout"] == LAYOUTS[0]]
    table = []
    for scenario, end in enumerate(AXES, 1):
        part = [row for row in here if row["scenario"] == scenario]
        most = {name: max(row[name] for row in part) for name in ("dp", "auto")}
        table.append(
            [
                f"Figure 3, scenario {scenario}: seconds on an axis that ends at {end:g}",
                f"programme at most {most['dp']:.3f} s, project_bilevel {most['auto']:.4f} s",
            ]
        )
    third = [row for row in here if row["scenario"] == 3]
    for name in ("dp", "auto"):
        first, last = third[0][name], third[-1][name]
        table.append(
            [
                "scenario 3: a nearly flat curve, the number of groups is not a major factor "
                f"({LABELS[name]})",
                f"{first:.4f} s at G = {third[0]['groups']}, {last:.4f} s at G = "
                f"{third[-1]['groups']}: {last / first:.1f} times",
            ]
        )
    small = [row for row in here if row["s2"] <= 20]
    for name in ("dp", "auto"):
        relative = ratios(small, name, "soft")
        table.append(
            [
                f"with few features and groups competitive to soft thresholding ({LABELS[name]}, "
                f"s2 <= 20, {len(small)} settings)",
                f"median {np.median(relative):.2f} times its seconds, "
                f"{relative.min():.2f} to {relative.max():.1f}",
            ]
        )
    return str(common.table(["the paper", "measured"], table))


def runs_table(rows: Sequence[Row]) -> str:
    """Return the medians of some settings, in milliseconds, and ratios."""
    names = ("read", "auto", "argpartition", "soft", "dp")
    lines = [
        [
            f"{row['p']:.0e}".replace("e+0", "e"), row["groups"], row["s1"], row["s2"],
            row["layout"],
            *(f"{1000 * row[name]:.3g}" for name in names),
            f"{row['dp'] / row['auto']:.0f}", f"{row['argpartition'] / row['auto']:.1f}",
            f"{row['auto'] / row['read']:.1f}",
        ]
        for row in rows
    ]  # fmt: skip
    header = ["p", "G", "s1", "s2", "groups", *names, "dp/auto", "argpartition/auto", "auto/read"]
    return str(common.table(header, lines))


def panels(rows: Sequence[Row]) -> list[Panel]:
    """Return the four panels of Figure 3, contiguous groups."""
    found = []
    for scenario, x_name in enumerate(X_NAMES, 1):
        here = [r for r in rows if r["scenario"] == scenario and r["layout"] == LAYOUTS[0]]
        curves = []
        for marker, line in zip(MARKERS, dict.fromkeys(row["line"] for row in here), strict=False):
            part = [row for row in here if row["line"] == line]
            curves += [
                Curve(LABELS[name], [row["x"] for row in part], [row[name] for row in part], colour,
                      marker, dashed=name not in ("dp", "auto"))
                for name, colour in COLOURS.items()
            ]  # fmt: skip
        found.append(Panel(f"Scenario {scenario}", x_name, "seconds", curves, log=True))
    return found


def main() -> None:
    """Measure and write bilevel_projection.json, .md and .png."""
    parser = common.parser(__doc__)
    parser.set_defaults(results=common.RESULTS / "papers")
    parser.add_argument("--tiny", action="store_true", help="seconds: does the script run")
    parser.add_argument("--turns", type=int, default=5, help="turns of every setting")
    chosen = parser.parse_args()
    common.one_thread()
    gc.disable()  # a collection would cost more than the shortest calls
    machine = common.machine()
    rows = []
    for setting in settings(chosen.tiny):
        for layout in LAYOUTS:
            shown = ", ".join(f"{key} {setting[key]}" for key in LARGE)
            with common.log(f"scenario {setting['scenario']}: {shown}, {layout}"):
                rows.append(measured(setting, layout, 2 if chosen.tiny else chosen.turns))
    asked = bars(rows)
    title, _, about = (__doc__ or "").strip().partition("\n")
    text = [f"# {title.rstrip('.')}", about.strip()]
    figure = "Figure 3: seconds of the projection, contiguous groups"
    if draw(chosen.results / "bilevel_projection.png", figure, panels(rows), columns=2):
        text.append("![Figure 3](bilevel_projection.png)")
        text.append("Markers tell the curves of a panel apart, in the order of the tables below.")
    text += ["## Asked and measured", common.bars_table(asked)]
    text += ["## What the paper says", claims(rows)]
    text.append("The machine of the paper is not named; its seconds are no target.")
    for scenario in range(1, 5):
        text += [
            f"## Scenario {scenario}",
            "Milliseconds.",
            runs_table([row for row in rows if row["scenario"] == scenario]),
        ]
    figures = {"machine": machine, "options": {"tiny": chosen.tiny, "turns": chosen.turns},
               "bars": asked, "runs": rows}  # fmt: skip
    common.write(chosen.results, "bilevel_projection", figures, "\n\n".join(text))


if __name__ == "__main__":
    sys.exit(main())
