"""Every check of what a user passes to an estimator, and every message.

A message names the parameter, the rule, what was got and the remedy. Checks of the storage of X are
in `designs`.
"""

from ._budgets import *  # noqa: F403
from ._data import *  # noqa: F403
from ._folds import *  # noqa: F403
from ._labels import *  # noqa: F403
from ._lazy import *  # noqa: F403
from ._numbers import *  # noqa: F403
from ._survival import *  # noqa: F403
