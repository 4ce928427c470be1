"""The verifier: recomputes all that a certificate says, from the data, in plain NumPy.

It shares no code with the solvers and takes nothing on trust: what it proves, with its rounding, is
a theorem in docs/theory/certificate.md. It imports NumPy, SciPy and `core` alone, so that it works
where solvers, estimators and kernels do not. (The room is not named as its function is: as an
attribute of the package `verify` is the function.)
"""

from .form import CertificateError, UndecidedError, check_form
from .recomputation import RTOL, verify

__all__ = ["RTOL", "CertificateError", "UndecidedError", "check_form", "verify"]
