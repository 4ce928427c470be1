"""Figs. 3 and 4: accuracy, recovered features and time on synthetic data.

The paper: y = sign(Xw), X gaussian, 2000 test rows. Fig. 3: 5000 x 100,000 with 300 non-zero
w ~ N(0, 2); Fig. 4: 20,000 x 10,000 with 600 non-zero w ~ N(0, 10). l1-LR (C in [0.001, 4]), WLR,
GLR and MSLR (C = 10, T_m = 10, r varied) select 100 to 800 features; the accuracy is that of linear
LR with C = 5 on them. GroundTruth: the same with the k most informative true features.

Here: the same draws (float32), the same retraining. GroundTruth goes on with random false features
where k is larger than the number of true ones: the paper does not say how its curve goes on there.
Where LIBLINEAR's copies do not fit into memory, the table says so; "l1-LR (our path)" solves the
same problem by working sets on X as it is, and selects exactly k. Small: 1000 x 10,000 and
2000 x 1000, 60 non-zeros each, the numbers of features in proportion to them.

    python benchmarks/papers/mslr_synthetic.py                          # small
    python benchmarks/papers/mslr_synthetic.py --full --limit 600       # the paper's sizes
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

import _mslr as mslr
from _mslr import Data, Panel, Row
from _protocol import Synthetic

DEFAULT = "newton,published,smoothing,l1,l1-path,wlr,glr,glr-ridge,truth,minimax,budget"


@dataclass(frozen=True)
class Draw:
    """The size of one figure's data, and the paper's, which the numbers of features refer to."""

    n: int
    p: int
    informative: int
    variance: float
    paper: int  # true features there

    def sizes(self) -> list[int]:
        """Return 100, 200, ..., 800 in proportion to the number of true features."""
        return [round(k * self.informative / self.paper) for k in range(100, 801, 100)]

    def load(self, name: str, seed: int) -> Data:
        """Draw the data."""
        drawn = Synthetic(self.n, self.p, self.informative, self.variance, seed)
        w = np.zeros(self.p)
        features, values = drawn.truth
        w[features] = values
        X_test = np.empty((drawn.n_test, self.p), dtype=np.float32, order="F")
        for start in range(0, self.p, 1000):
            columns = np.arange(start, min(start + 1000, self.p))
            X_test[:, columns] = drawn.columns(columns, test=True)
        return Data(name, drawn.matrix(), drawn.labels(), X_test, drawn.labels(test=True), w)


DRAWS = {
    "tiny": {"fig3": Draw(200, 1000, 12, 2.0, 300), "fig4": Draw(400, 200, 12, 10.0, 600)},
    "small": {"fig3": Draw(1000, 10_000, 60, 2.0, 300), "fig4": Draw(2000, 1000, 60, 10.0, 600)},
    "full": {
        "fig3": Draw(5000, 100_000, 300, 2.0, 300),
        "fig4": Draw(20_000, 10_000, 600, 10.0, 600),
    },
}


def main() -> None:
    """Measure and write mslr_synthetic.json, .md and .png."""
    chosen = mslr.options(__doc__, DEFAULT, seeds=3, full_seeds=1, limit=120.0)
    draws = DRAWS[chosen.size]
    names = mslr.pick("--sets", chosen.sets or ",".join(draws), draws)
    rows: list[Row] = []
    shapes: Row = {}
    text, panels = [mslr.introduction(__doc__, chosen)], []
    for name in names:
        size = draws[name]
        shapes[name] = [size.n, size.p, size.informative]
        for seed in range(mslr.FIRST_SEED, mslr.FIRST_SEED + chosen.seeds):
            with mslr.common.log(f"drawing {name}"):
                data = size.load(name, seed)
            rows += mslr.measure(data, chosen.keys, size.sizes(), chosen, seed=seed)
            del data
        here = [row for row in rows if row["set"] == name]
        label = f"{size.n} x {size.p}, {size.informative} true"
        text += [f"## Fig. {name[-1]}: {label}", mslr.rows_table(here, chosen.keys)]
        panels += [
            Panel(f"Fig. {name[-1]}{part}: {label}", "# selected features", y,
                  mslr.method_curves(here, chosen.keys, value, factor), log)
            for part, y, value, factor, log in (
                ("(a)", "test accuracy (%)", "accuracy", 100.0, False),
                ("(b)", "# recovered true features", "recovered", 1.0, False),
                ("(c)", "selection time (s)", "seconds", 1.0, True),
            )
        ]  # fmt: skip
        figures = mslr.record(chosen, shapes=shapes, runs=rows)
        # After every set: a long run that is ended keeps what it has.
        mslr.common.write(chosen.results, "mslr_synthetic", figures, "\n\n".join(text))
    title = "Figs. 3 and 4: synthetic data"
    if mslr.draw(chosen.results / "mslr_synthetic.png", title, panels):
        text.insert(1, "![Figs. 3 and 4](mslr_synthetic.png)")
    mslr.common.write(chosen.results, "mslr_synthetic", figures, "\n\n".join(text))
    chosen.kept.close()


if __name__ == "__main__":
    sys.exit(main())
