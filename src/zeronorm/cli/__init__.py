"""The command `zeronorm`: select features, verify certificates, predict, look at models and paths.

Results go to stdout, everything else to stderr. A command takes a record of its options
(`options`), calls the package, gathers what came out in a document and prints it as JSON or for
people (`reporting`). A command is imported when it is named, and heavy modules in the commands, so
that --help is there at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any

import typer

from .messages import Command, Group

# The module of each command, and what --help says of it, which is its first line.
COMMANDS = {
    "select": (
        "select",
        "Select exactly K features, fit the model, measure it, certify it and write it.",
    ),
    "cv": (
        "select",
        "Say how well each number of features does on rows held out of their selection.",
    ),
    "discover": (
        "discover",
        "Find the features that have an effect, with a bound on the share of false ones.",
    ),
    "verify": ("verify", "Check a certificate with the data, in plain NumPy."),
    "certify": (
        "certify",
        "Say how far a list of features, from anywhere, can be from the best of its length.",
    ),
    "prove": (
        "certify",
        "Search for a better list of features of this length, or prove that there is none.",
    ),
    "path": (
        "path",
        "Follow the l1 regularisation path: which features enter as C grows, and which C to "
        "choose.",
    ),
    "predict": ("predict", "Predict with a model; with its target in DATA, say how well."),
    "evaluate": (
        "evaluate",
        "Say how good a model is on rows whose target is known, and how sure that is.",
    ),
    "report": (
        "report",
        "Show what is known of a model, or write it as a page: with DATA how sure each feature is.",
    ),
    "convert": (
        "convert",
        "Write data as a store: blocks of columns on disk, which may be larger than memory.",
    ),
    "info": ("info", "Show what a model file or data hold, or versions here; export a model."),
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


class _Imported(Mapping[str, Any]):
    """The commands by their names, each imported and made when it is first asked for."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        if name not in self._made:
            one = typer.Typer(add_completion=False)
            module = import_module(f".{COMMANDS[name][0]}", __name__)
            one.command(name, cls=Command)(getattr(module, name))
            self._made[name] = made = typer.main.get_command(one)
            made.daily = DAILY  # type: ignore[attr-defined]
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Commands(Group):
    """The command group, which knows its commands by name."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.commands = _Imported()  # type: ignore[assignment]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a line for each command."""
        for panel, names in PANELS.items():
            with formatter.section(panel):
                formatter.write_dl([(name, COMMANDS[name][1]) for name in names])


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
