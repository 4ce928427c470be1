"""Fig. 8: how sensitive is MSLR to C.

The paper: Arxiv astro-ph, MSLR with C = 5, 10 and 20, l1-LR as the baseline; accuracy and training
time against the number of features.

Here: pcmac for astro-ph (with `--full` also news20ng), and beyond the paper's three values
C = 0.1, 1 and 100, dashed in the figure. Everything else as in Figs. 6 and 7. `--methods` takes
MSLR variants and l1.

    python benchmarks/papers/mslr_sensitivity.py            # small
    python benchmarks/papers/mslr_sensitivity.py --full
"""

from __future__ import annotations

import sys
from dataclasses import replace

import _mslr as mslr
from _mslr import METHODS, SETS, Curve, Method, Panel, Row

DEFAULT = "newton,published,l1"
PAPER_C, MORE_C = (5.0, 10.0, 20.0), (0.1, 1.0, 100.0)
SOLVERS = {"newton": "newton", "published": "smoothing-published", "smoothing": "smoothing"}
BY_SIZE = {"tiny": "pcmac", "small": "pcmac", "full": "pcmac,news20ng"}
COLOURS = dict(
    zip((*PAPER_C, *MORE_C), ("tab:red", "tab:orange", "tab:pink", "tab:green", "tab:olive",
                              "tab:purple"), strict=True)
)  # fmt: skip


def with_C(key: str, C: float) -> Method:  # noqa: N802
    """Return the method with another C."""
    select = mslr.by_minimax("MinimaxLogisticRegression", SOLVERS[key], C)
    return replace(METHODS[key], label=f"{METHODS[key].label}, C = {C:g}", select=select)


def main() -> None:
    """Measure and write mslr_sensitivity.json, .md and .png."""
    chosen = mslr.options(__doc__, DEFAULT, seeds=2, full_seeds=5, limit=60.0)
    names = mslr.pick("--sets", chosen.sets or BY_SIZE[chosen.size], SETS)
    folder = mslr.folder_of(chosen.data, names)
    keys = mslr.pick("--methods", ",".join(chosen.keys), [*SOLVERS, "l1"])
    values = PAPER_C if chosen.size == "tiny" else tuple(COLOURS)
    rows: list[Row] = []
    text, panels = [mslr.introduction(__doc__, chosen)], []
    for name in names:
        one = SETS[name]
        sizes = one.sizes if chosen.size != "tiny" else one.sizes[:3]
        for seed in range(mslr.FIRST_SEED, mslr.FIRST_SEED + (1 if one.given else chosen.seeds)):
            data = one.load(name, folder, seed)
            for key in keys:
                for C in values if key != "l1" else (None,):
                    method = METHODS[key] if C is None else with_C(key, C)
                    rows += mslr.measure(data, {key: method}, sizes, chosen, seed=seed, weight=C)
        here = [row for row in rows if row["set"] == name]
        for key in keys:
            for C in values if key != "l1" else (None,):
                mine = [row for row in here if row["method"] == key and row["weight"] == C]
                label = METHODS[key].label + ("" if C is None else f", C = {C:g}")
                text += [f"## {name}: {label}", mslr.rows_table(mine, [key])]
        panels += [
            Panel(f"{name}: {METHODS[key].label}", "# selected features", y,
                  _lines(here, key, values, value, factor), log)
            for key in keys if key != "l1"
            for y, value, factor, log in (
                ("test accuracy (%)", "accuracy", 100.0, False),
                ("selection time (s)", "seconds", 1.0, True),
            )
        ]  # fmt: skip
    title = "Fig. 8: sensitivity of MSLR to C"
    if mslr.draw(chosen.results / "mslr_sensitivity.png", title, panels, columns=2):
        text.insert(1, "![Fig. 8](mslr_sensitivity.png)")
    figures = mslr.record(chosen, runs=rows)
    mslr.common.write(chosen.results, "mslr_sensitivity", figures, "\n\n".join(text))
    chosen.kept.close()


def _lines(
    rows: list[Row], key: str, values: tuple[float, ...], value: str, factor: float
) -> list[Curve]:
    """Return a line per C, and the baseline."""
    lines = mslr.method_curves(rows, ["l1"], value, factor)
    for C in values:
        x, y = mslr.curve(rows, value, method=key, weight=C)
        if x.size:
            lines.append(Curve(f"C = {C:g}", x, factor * y, COLOURS[C], dashed=C in MORE_C))
    return lines


if __name__ == "__main__":
    sys.exit(main())
