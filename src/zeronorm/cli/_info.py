"""The command `zeronorm info`."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from typing import Any

from ._options import InfoOptions
from ._output import print_json
from ._takes import takes


@takes(InfoOptions)
def info(options: InfoOptions) -> None:
    """Show what a model file holds, or versions and threads of this installation."""
    import numpy as np

    from .. import persistence
    from .reports._model import print_installation, print_model

    if options.model is None:
        installation = _describe_installation()
        if options.as_json:
            print_json(installation)
        else:
            print_installation(installation)
        return
    loaded = persistence.load(options.model)
    if not options.as_json:
        print_model(options.model, loaded)
        return
    document = {
        **loaded.metadata,
        "classes": getattr(loaded, "classes_", np.empty(0)).tolist(),
        "support": loaded.support_.tolist(),
        "features": loaded.columns.tolist(),  # of the coefficients: covariates are among them
        "coef": loaded.coef.tolist(),
        "intercept": loaded.intercept_.tolist(),
    }
    print_json(document)


def _describe_installation() -> dict[str, Any]:
    """Return versions, kernels and threads."""
    from .. import __version__, _kernels

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "zeronorm": __version__,
        "kernels": "native" if _kernels.HAS_COMPILED_SOLVERS else "reference (NumPy)",
        "threads": cores,
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "scipy": version("scipy"),
        "scikit-learn": version("scikit-learn"),
        "platform": platform.platform(),
    }
