"""Figs. 6 and 7: accuracy and training time on real data.

The paper: Leukemia, Arxiv astro-ph, news20, mil-image, SNP and epsilon; l1-LR, WLR, GLR, FGM-SVM,
FGM-LR and MSLR (C = 10, T_m = 10, r from 2 to 40); accuracy after retraining with linear LR, and
the training time on a logarithmic scale, against the number of features.

Here: Leukemia is the same data, mil-image is rebuilt from the same images, and the others are
stand-ins, of the same kind but smaller: the table says which stands for which. Small leaves out
news20ng; `--full` has all sets. A method over the limit is listed as such. Random splits are
repeated, given ones are not.

    python benchmarks/papers/mslr_real.py                      # small
    python benchmarks/papers/mslr_real.py --full --limit 600
    python benchmarks/papers/mslr_real.py --sets leukemia,pcmac --methods newton,l1
"""

from __future__ import annotations

import sys

import numpy as np

import _mslr as mslr
from _mslr import SETS, Panel, Row

DEFAULT = "newton,published,smoothing,fgm-lr,fgm-svm,l1,l1-tight,wlr,glr,glr-ridge,minimax,budget"
BY_SIZE = {
    "tiny": "leukemia,pcmac",
    "small": "leukemia,leukemia_rows,pcmac,rcv1_small,mil_image,mice,arabidopsis,mnist10k",
    "full": ",".join(SETS),
}


def main() -> None:
    """Measure and write mslr_real.json, .md and two figures."""
    chosen = mslr.options(__doc__, DEFAULT, seeds=2, full_seeds=3, limit=60.0)
    names = mslr.pick("--sets", chosen.sets or BY_SIZE[chosen.size], SETS)
    folder = mslr.folder_of(chosen.data, names)
    rows: list[Row] = []
    about: Row = {}
    text: list[str] = []
    for name in names:
        one = SETS[name]
        sizes = one.sizes if chosen.size != "tiny" else one.sizes[:3]
        for seed in range(mslr.FIRST_SEED, mslr.FIRST_SEED + (1 if one.given else chosen.seeds)):
            with mslr.common.log(f"reading {name}"):
                data = one.load(name, folder, seed)
            majority = max(np.mean(data.y_test > 0), np.mean(data.y_test < 0))
            about[name] = {
                "stands_for": one.stands_for,
                "about": one.about,
                "sparse": one.sparse,
                "n": data.X.shape[0],
                "m": data.X.shape[1],
                "n_test": len(data.y_test),
                "majority": majority,
            }
            rows += mslr.measure(data, chosen.keys, sizes, chosen, seed=seed)
            del data
        here = [row for row in rows if row["set"] == name]
        text += [f"## {name}, for the paper's {one.stands_for}"]
        text += [mslr.rows_table(here, chosen.keys)]
        figures = mslr.record(chosen, sets=about, runs=rows)
        whole = [mslr.introduction(__doc__, chosen), _sets_table(about), *text]
        # After every set: a long run that is ended keeps what it has.
        mslr.common.write(chosen.results, "mslr_real", figures, "\n\n".join(whole))
    for number, file, value, label, factor in (
        (6, "mslr_real.png", "accuracy", "test accuracy (%)", 100.0),
        (7, "mslr_real_time.png", "seconds", "selection time (s)", 1.0),
    ):
        panels = [
            Panel(f"{name} (for {SETS[name].stands_for})", "# selected features", label,
                  mslr.method_curves(rows, chosen.keys, value, factor, set=name), number == 7)
            for name in names
        ]  # fmt: skip
        if mslr.draw(chosen.results / file, f"Fig. {number}: {label}, real data", panels):
            whole.insert(number - 4, f"![Fig. {number}]({file})")
    mslr.common.write(chosen.results, "mslr_real", figures, "\n\n".join(whole))
    chosen.kept.close()


def _sets_table(about: Row) -> str:
    lines = [
        [
            name,
            one["stands_for"],
            f"{one['n']} + {one['n_test']}",
            one["m"],
            "sparse" if one["sparse"] else "dense",
            f"{one['majority']:.3f}",
            one["about"],
        ]
        for name, one in about.items()
    ]
    header = ["set", "the paper's", "rows", "features", "kind", "majority", "what it is"]
    return mslr.common.table(header, lines)


if __name__ == "__main__":
    sys.exit(main())
