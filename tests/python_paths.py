"""Ways in Python: those of the solvers, which larger problems take, for small ones; the twins."""

import sys
from dataclasses import replace

import reference_kernels
from zeronorm._kernels import _native
from zeronorm.losses import Cox, Gamma, Huber, LeastSquares, Poisson, Quantile
from zeronorm.solvers import branch_and_bound, quadratic, relaxation, ridge_fits


def without_solvers(monkeypatch):
    """Leave the compiled solvers out, and the compiled formulas of losses that have others."""
    for loss in (Gamma, Huber, LeastSquares, Poisson, Quantile):
        monkeypatch.setattr(loss, "kernel", -1)  # as that of a loss of a user's own
    monkeypatch.setattr(Cox, "compiled_dual", False)
    for limit in ("KERNEL_GRAM", "KERNEL_WIDE"):
        monkeypatch.setattr(ridge_fits, limit, -1.0)
    monkeypatch.setattr(
        ridge_fits, "RIDGE_OUTPUTS", replace(ridge_fits.RIDGE_OUTPUTS, kernel_system=-1.0)
    )
    monkeypatch.setattr(quadratic, "QUADRATIC", replace(quadratic.QUADRATIC, most_compiled=-1))
    for module in (relaxation, branch_and_bound):
        monkeypatch.setattr(module, "is_plain", lambda *_: False)


def with_twins(monkeypatch):
    """Put the twins in place of the kernels, in every module that calls them."""
    twins = {name: one for name, one in vars(reference_kernels).items() if callable(one)}
    modules = [one for name, one in sys.modules.items() if name.split(".")[0] == "zeronorm"]
    for name, twin in twins.items():
        kernel = getattr(_native, name)
        for module in modules:
            if module is not _native and vars(module).get(name) is kernel:
                monkeypatch.setattr(module, name, twin)
