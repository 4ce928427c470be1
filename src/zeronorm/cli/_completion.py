"""The command `zeronorm completion`.

The shell asks this very command for what may stand next, with the question in its environment; the
answer comes from what --help is made of, so that no heavy module is imported for it.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Annotated, Any

import typer

NAME = "zeronorm"
VARIABLE = "_ZERONORM_COMPLETE"  # where shells say what they want
SHELLS = ("bash", "zsh", "fish")


def completion(
    shell: Annotated[str, typer.Argument(metavar="SHELL", help=f"One of {', '.join(SHELLS)}.")],
) -> None:
    """Print the script by which bash, zsh or fish complete commands and options."""
    if shell not in SHELLS:
        raise ValueError(f"SHELL must be one of {', '.join(SHELLS)}; got {shell!r}.")
    script = _typers().get_completion_script
    typer.echo(script(prog_name=NAME, complete_var=VARIABLE, shell=shell))


def prepare() -> None:
    """Make ready to answer a shell, where one asks."""
    if VARIABLE in os.environ:
        _typers().completion_init()


def _typers() -> Any:
    """Return typer's module of completion, which is imported only for it."""
    return import_module("typer.completion")
