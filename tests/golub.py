"""The leukaemia data of Golub et al., which are among the examples."""

from pathlib import Path

import numpy as np

from zeronorm.datasets import Dataset

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "data"
GOLUB = str(FOLDER / "golub.npz")


def load_golub(return_X_y=False):
    """Return the data as `zeronorm.datasets` returns its own."""
    with np.load(GOLUB) as file:
        if return_X_y:
            return file["X"], file["y"]
        X, y, names, descriptions = (file[name] for name in file.files)
    about = (FOLDER / "ATTRIBUTION.txt").read_text(encoding="utf-8")
    return Dataset(X, y, names.tolist(), descriptions.tolist(), "y", about)
