"""The loss of a model in its file: a name and numbers. No file has anything imported.

A loss of one's own goes by the name of its class, and whoever loads the model passes the object.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from ..core.files import Require, check_fields

_LOSS = {"name": str, "class": (str, type(None)), "parameters": dict}
_PLAIN = (bool, int, float, str, type(None))


def _known() -> dict[str, type]:
    """Return the losses of this package that are not of labels, by name."""
    # On use: certificates are read, and verified, without.
    from ..losses import OF_NUMBERS, Cox

    return {one.name: type(one) for one in OF_NUMBERS} | {"cox": Cox, "cox_efron": Cox}


def describe_loss(loss: Any) -> dict[str, Any]:
    """Return the record of a loss: its name, the name of its class where it is not of this package.

    Raises
    ------
    TypeError
        Where another program could not import the class, or a parameter is no number or text.
    """
    kind = type(loss)
    own = _known().get(loss.name) is not kind
    if own:
        _check_importable(kind)
    return {
        "name": str(loss.name),
        "class": f"{kind.__module__}.{kind.__qualname__}" if own else None,
        "parameters": _parameters(loss),
    }


def _check_importable(kind: type) -> None:
    """Refuse a class that is not found where it says it is."""
    found: Any = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        found = getattr(found, name, None)
    if found is not kind:
        raise TypeError(
            "loss must be of a class at the top level of a module, so that whoever loads the model "
            f"can import it; got {kind.__module__}.{kind.__qualname__}. Define it in a module."
        )


def _parameters(loss: Any) -> dict[str, Any]:
    """Return what a loss is stated with: the fields of a dataclass, else its attributes."""
    names = [one.name for one in fields(loss)] if is_dataclass(loss) else [*vars(loss)]
    found = {}
    for name in names:
        value = getattr(loss, name)
        value = value.item() if isinstance(value, np.generic) else value
        if type(value) not in _PLAIN or (type(value) is float and not math.isfinite(value)):
            raise TypeError(
                "loss must be stated with finite numbers and text to be saved; got "
                f"{name}={value!r:.60} of {type(loss).__name__}."
            )
        found[name] = value
    return found


def check_loss_record(record: Any, require: Require) -> None:
    """Check what `describe_loss` returns."""
    check_fields("loss", record, _LOSS, require)
    plain = all(type(value) in _PLAIN for value in record["parameters"].values())
    require(plain, "the parameters of the loss must be numbers or text")


def loss_in(record: Mapping[str, Any], losses: Iterable[Any], require: Require) -> Any:
    """Return the loss of a record: one of this package, or one of those that were passed."""
    name, kind = record["name"], record["class"]
    if kind is None:
        known = _known()
        require(name in known, f"the loss must be one of {', '.join(known)}")
        problem = ""
        try:
            return known[name](**record["parameters"])
        except (TypeError, ValueError) as error:
            problem = str(error)
        require(False, f"the parameters of the loss {name} are wrong ({problem.rstrip('.')})")
    for loss in losses:
        if describe_loss(loss) == record:
            return loss
    stated = ", ".join(f"{key}={value!r}" for key, value in record["parameters"].items())
    call = f"{kind.rpartition('.')[2]}({stated})"
    require(
        False,
        f"its loss is {call} of {kind!r}, which is not of zeronorm, and nothing is imported that a "
        f"file names; import it, and load the model with losses=[{call}]",
    )
