"""The command `zeronorm completion`.

The shell asks this very command for what may stand next, with the question in its environment; the
answer comes from what --help is made of, so that no heavy module is imported for it.
"""

from __future__ import annotations

import os
from typing import Annotated

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
    from typer.completion import get_completion_script

    typer.echo(get_completion_script(prog_name=NAME, complete_var=VARIABLE, shell=shell))


def prepare() -> None:
    """Make ready to answer a shell, where one asks."""
    if VARIABLE in os.environ:
        from typer.completion import completion_init

        completion_init()
