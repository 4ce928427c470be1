"""The parameters of an estimator, as the fields of its class."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar, dataclass_transform, get_type_hints

_Estimator = TypeVar("_Estimator")


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
def with_parameters(cls: type[_Estimator]) -> type[_Estimator]:
    """Make the fields of a class, and of its bases, the parameters of its `__init__`.

    They are passed by name, but for fields with kw_only=False. Estimators are equal where they are
    the same object, and scikit-learn has the repr. The annotations of `__init__` are types, not
    text: that of a base has names which the module of the class need not know.
    """
    made = dataclass(eq=False, repr=False, kw_only=True)(cls)
    begin: Any = made.__init__
    types = get_type_hints(made)
    begin.__annotations__ = {
        name: types.get(name, text) for name, text in begin.__annotations__.items()
    }
    return made
