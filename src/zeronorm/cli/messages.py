"""What goes to stderr: notes and errors, one line each, and the exit codes.

The codes are 0, 2 for bad input or usage (one line, no traceback unless --debug), 130 for Ctrl-C,
1 for anything unexpected, and those that commands have for their answers. The table of all is in
docs/guide/command-line.md.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TextIO

import typer
from typer.core import TyperCommand, TyperGroup

from ..core.messages import Doubt as Doubt
from ..core.messages import offered, one_line
from .names import in_options


class Command(TyperCommand):
    """A command that refuses an option given twice, or with its opposite: the last would win."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments."""
        if not ctx.resilient_parsing:  # of tab completion
            *_, order = self.make_parser(ctx).parse_args(list(args))
            for option, times in Counter(order).items():
                ways = [max(option.opts, key=len), *option.secondary_opts]
                is_same = getattr(option, "is_flag", False) and len({*ways} & {*args}) < 2
                if times > 1 and not (is_same or option.multiple):
                    raise ValueError(f"{' or '.join(ways)} is given {times} times; say it once.")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command, whose messages offer what its options do, and no others."""
        with offered({name for one in self.params for name in (*one.opts, *one.secondary_opts)}):
            return super().invoke(ctx)


class Group(TyperGroup):
    """The command group: one line per error, and the exit codes."""

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run, and exit with the code unless `standalone_mode` is False."""
        code = self._guarded(*args, **extra)
        if standalone_mode:
            sys.exit(code)
        return code

    def _guarded(self, *args: Any, **extra: Any) -> int:
        debug = "--debug" in (extra.get("args") or (args[0] if args else None) or sys.argv[1:])
        _open_closed_streams()
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # names that the terminal cannot show
                stream.reconfigure(errors="backslashreplace")
        code: Any = 0
        extra |= {"standalone_mode": False, "prog_name": "zeronorm"}
        try:
            with readers_may_leave():
                code = super().main(*args, **extra)
        except (KeyboardInterrupt, typer.Abort):
            code = 130
        except Exception as error:
            if debug:
                raise
            usage = getattr(error, "format_message", None)  # a UsageError of typer
            if usage is not None:
                context, text = getattr(error, "ctx", None), one_line(usage())
                end = "" if text.endswith((".", "?")) else "."
                see = "" if context is None else f" See {context.command_path} --help."
                say(f"Error: {text}{end}{see}")
                return 2
            if isinstance(error, MemoryError):
                say(f"Error: not enough memory. {one_line(error)}".rstrip())
                return 2
            if isinstance(error, OSError) and error.strerror:
                say(f"Error: {one_line(error.filename or 'file')}: {error.strerror}.")
                return 2
            if isinstance(error, (ValueError, OSError)):
                say(f"Error: {one_line(in_options(str(error)))}")
                return 2
            say(
                f"Error: unexpected {type(error).__name__}: {one_line(error)} "
                "(--debug shows where; please report it)."
            )
            return 1
        if code == 130:  # also what newer versions of typer make of Ctrl-C
            say("Interrupted.")
        return code if isinstance(code, int) else 0


@contextmanager
def readers_may_leave() -> Iterator[None]:
    """Print to stdout; what its reader, as `head`, does not want any more is dropped."""
    try:
        yield
    except (BrokenPipeError, SystemExit) as error:
        # Both typer and rich make a SystemExit of a pipe whose reader wanted no more.
        if not isinstance(error.__context__ or error, BrokenPipeError):
            raise
        _silence(sys.stdout)


def say_notes(notes: Sequence[str], quiet: bool = False) -> None:
    """Write what a user should know about the work, a line each; quiet leaves doubts alone."""
    for note in notes:
        if not quiet or isinstance(note, Doubt):
            say(f"Note: {one_line(note)}.")


def say(message: str) -> None:
    """Write one line to stderr; where that cannot be written to, the work goes on all the same."""
    try:
        typer.echo(message, err=True)
    except OSError:
        _silence(sys.stderr)


def _silence(stream: TextIO) -> None:
    """Send a stream to nowhere, and with it what waits for the flush at the very end."""
    with suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


def _open_closed_streams() -> None:
    """Open the standard streams that the caller has closed, as shells do by >&-, to nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
