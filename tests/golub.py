"""The leukaemia data of Golub et al., which are among the examples."""

from pathlib import Path

import numpy as np

from zeronorm.io import Dataset

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "data"
GOLUB = str(FOLDER / "golub.npz")


def load_golub(return_X_y=False):
    """Return the data as `zeronorm.datasets` returns its own."""
    with np.load(GOLUB) as file:
        if return_X_y:
            return file["X"], file["y"]
        X, y, names, descriptions = (file[name] for name in file.files)
    return Dataset(X, y, names.tolist(), "y", descriptions=descriptions.tolist())
