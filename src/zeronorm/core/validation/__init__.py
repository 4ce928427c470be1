"""Every check of what a user passes to an estimator, and every message.

A message names the parameter, the rule, what was got and the remedy. Checks of the storage of X are
in `designs`.
"""

from .budgets import *  # noqa: F403
from .data import *  # noqa: F403
from .folds import *  # noqa: F403
from .labels import *  # noqa: F403
from .lazy import *  # noqa: F403
from .numbers import *  # noqa: F403
from .survival import *  # noqa: F403
