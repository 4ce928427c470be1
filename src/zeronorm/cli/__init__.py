"""The command `zeronorm`: select features, verify certificates, predict, look at models and paths.

Results go to stdout, everything else to stderr. A command takes a record of its options
(`options`), calls the package, gathers what came out in a document and prints it as JSON or for
people (`reporting`). A command is imported when it runs, so that --help is there at once: here is
the only import that waits.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any

import typer

from . import options
from .messages import Command, Group

# The module of each command, and the record of its options.
COMMANDS: dict[str, tuple[str, type[Any]]] = {
    "select": ("select", options.SelectOptions),
    "cv": ("select", options.CvOptions),
    "path": ("path", options.PathOptions),
    "discover": ("discover", options.DiscoverOptions),
    "predict": ("predict", options.PredictOptions),
    "evaluate": ("evaluate", options.EvaluateOptions),
    "report": ("report", options.ReportOptions),
    "certify": ("certify", options.CertifyOptions),
    "prove": ("certify", options.ProveOptions),
    "verify": ("verify", options.VerifyOptions),
    "convert": ("convert", options.ConvertOptions),
    "info": ("info", options.InfoOptions),
}
PANELS = {
    "Build": ("select", "cv", "path", "discover"),
    "Use": ("predict", "evaluate", "report"),
    "Trust": ("certify", "prove", "verify"),
    "Data": ("convert", "info"),
}
# The options that -h shows, of every command that has them.
DAILY = {
    *("features", "target", "samples", "drop", "where", "missing", "time", "event", "covariates"),
    *("groups", "group_file", "prove", "report", "output", "as_json", "gap", "time_limit"),
    *("fdr", "proba", "interval", "times", "max_features", "dtype"),
}


def _imported(name: str) -> Any:
    """Return a command that is imported when it runs, and so what it needs."""
    module, record = COMMANDS[name]

    def run(options: Any) -> None:
        getattr(import_module(f".{module}", __name__), name)(options)

    run.__doc__ = record.__doc__
    return options.takes(record)(run)


class _Imported(Mapping[str, Any]):
    """The commands by their names, each made when it is first asked for."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        if name not in self._made:
            one = typer.Typer(add_completion=False)
            one.command(name, cls=Command)(_imported(name))
            self._made[name] = made = typer.main.get_command(one)
            made.daily = DAILY  # type: ignore[attr-defined]
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def _summary(name: str) -> str:
    """Return what --help of all commands says of one."""
    return inspect.cleandoc(COMMANDS[name][1].__doc__ or "").partition("\n")[0]


class _Commands(Group):
    """The command group, which knows its commands by name."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.commands = _Imported()  # type: ignore[assignment]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a line for each command."""
        for panel, names in PANELS.items():
            with formatter.section(panel):
                formatter.write_dl([(name, _summary(name)) for name in names])


app = typer.Typer(
    cls=_Commands,
    name="zeronorm",
    help="Exactly the features you ask for: budgeted feature selection with certificates.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # without rich, whose import takes as long as everything else
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command."""
    app()


def _version(value: bool) -> None:
    if value:
        from .._version import __version__

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
