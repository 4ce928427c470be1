"""Losses of the margins z = Xw + b.

Of labels -1 and 1: `Logistic`, `SquaredHinge`. Of numbers: `LeastSquares`, `Huber`, `Quantile`. Of
counts `Poisson`, of positive numbers `Gamma`, of survival times `Cox`, of ordered classes
`Ordinal`. `check_loss` tests one of your own, for which `NumericLoss` has all that follows from
functions of a row.

Every method takes `weight`, (n_samples,) not negative: the sample weight, times C where the problem
of the solver is Omega(u) + C sum_i s_i f(y_i, z_i). Rows of weight 0 have no part in anything. Dual
variables are v = -gradient in the margins, signed: v is the scan vector of the data. All forms are
stable for any finite margin.
"""

from .base import NumericLoss, balance, dual_bound, fit_intercept, has_compiled_dual
from .check import check_loss
from .covariates import Adjusted, adjusted, as_adjusted, rows_of, started, without_covariates
from .cox import Cox
from .labels import Logistic, SquaredHinge, probabilities
from .multi_output import LossOfOutputs, Multinomial, Responses
from .ordinal import Ordinal
from .regression import Gamma, Huber, LeastSquares, Poisson, Quantile

# The losses of numbers that go by their names, in estimators and in model files.
OF_NUMBERS = (LeastSquares(), Huber(), Quantile(), Poisson(), Gamma())

__all__ = [
    "OF_NUMBERS",
    "Adjusted",
    "Cox",
    "Gamma",
    "Huber",
    "LeastSquares",
    "Logistic",
    "LossOfOutputs",
    "Multinomial",
    "NumericLoss",
    "Ordinal",
    "Poisson",
    "Quantile",
    "Responses",
    "SquaredHinge",
    "adjusted",
    "as_adjusted",
    "balance",
    "check_loss",
    "dual_bound",
    "fit_intercept",
    "has_compiled_dual",
    "probabilities",
    "rows_of",
    "started",
    "without_covariates",
]
