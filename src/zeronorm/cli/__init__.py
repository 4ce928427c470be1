"""The command `zeronorm`: select features, verify certificates, predict, look at models and paths.

Results go to stdout, everything else to stderr. A command takes a record of its options
(`_options`), calls the package, gathers what came out in a document and prints it as JSON or for
people (`reports`). Heavy modules are imported in the commands, so that --help is there at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

from ._convert import convert
from ._info import info
from ._messages import Group
from ._path import path
from ._predict import predict
from ._select import select
from ._verify import verify

app = typer.Typer(
    cls=Group,
    name="zeronorm",
    help="Exactly the features you ask for: budgeted feature selection with certificates.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command."""
    app()


def _version(value: bool) -> None:
    if value:
        from .. import __version__

        typer.echo(f"zeronorm {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for _command in (select, verify, path, predict, convert, info):
    app.command()(_command)
