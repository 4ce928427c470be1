"""Fit a matrix that stays on disk: a memory map is read block by block, and no copy is made.

The file here is small so that the example is quick; for one larger than memory, say how many
features it shall have: `python examples/larger_than_memory.py 10_000_000` writes 40 GB.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from zeronorm import BudgetClassifier

n_samples, n_features = 1000, int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
rng = np.random.default_rng(0)

with tempfile.TemporaryDirectory() as folder:
    # One feature after another on disk: a scan then reads the file from start to end.
    path = Path(folder) / "features.npy"
    file = np.lib.format.open_memmap(path, "w+", np.float32, (n_features, n_samples))
    for start in range(0, n_features, 1000):
        stop = min(start + 1000, n_features)
        file[start:stop] = rng.standard_normal((stop - start, n_samples), dtype=np.float32)
    informative = rng.choice(n_features, 10, replace=False)
    y = np.where(file[informative].sum(axis=0) > 0, "yes", "no")
    file.flush()
    del file

    X = np.load(path, mmap_mode="r").T  # samples x features, still on disk
    model = BudgetClassifier(n_features=10).fit(X, y)
    megabytes = path.stat().st_size / 1e6
    found = np.isin(model.support_, informative).sum()
    print(f"{megabytes:.0f} MB on disk, {model.n_scans_} passes over it")
    print(f"{found} of the 10 informative features are among the 10 selected")
    del X
