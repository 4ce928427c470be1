"""What goes to stdout, a document as JSON or the report of it; the cells of CSV files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import typer

from .messages import say_notes


class Shown(Protocol):
    """Options that say how a document is shown."""

    @property
    def as_json(self) -> bool:
        """Whether as JSON."""

    @property
    def quiet(self) -> bool:
        """Whether without what can be left out."""


SCHEMA = 1  # The version of documents/schema.json: another one where a key goes or means otherwise.


def show_document(
    document: Mapping[str, Any],
    options: Shown,
    report: Callable[[Mapping[str, Any], bool], None],
) -> None:
    """Print a document as JSON, or its notes and the report of it."""
    if options.as_json:
        print_json(document)
        return
    say_notes(document["notes"], options.quiet)
    blank = "" if options.quiet else "\n"
    typer.echo(blank, nl=False)
    report(document, options.quiet)
    typer.echo(blank, nl=False)


def print_json(document: Mapping[str, Any]) -> None:
    """Print a document as JSON, with the version of its schema."""
    typer.echo(json.dumps({"schema": SCHEMA, **document}, indent=2, allow_nan=False))
