"""Output of a command: notes, errors and progress on stderr, its document on stdout; exit codes.

The codes are 0, 2 for bad input or usage (one line, no traceback unless --debug), 130 for Ctrl-C,
1 for anything unexpected, and those that commands have for their answers. The table of all is in
docs/guide/command-line.md.
"""

from __future__ import annotations

import io
import json
import os
import re
import stat
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, cast

import typer
from typer.core import TyperCommand, TyperGroup

from ..core.errors import Named, Parameter, message_of
from ..core.messages import Doubt, LeakWarning, offered, one_line, show

if TYPE_CHECKING:
    from ..core.results import Progressed
    from ..io.table import Dataset
    from ..reporting.records import Document
    from .options import OutputOptions

INTERRUPTED = 130  # the exit code


# Parameters and the options that set them; others have the same words.
OPTIONS = {
    "n_features": "--features",
    "n_groups": "--groups",
    "feature_groups": "--group-file",
    "forced_features": "--force",
    "criterion": "--rule",
    "pos_label": "--positive",
    "fit_intercept": "--intercept",
    "multi_class": "--shared",
    "groups": "--cv-groups",
    "refit_C": "--refit-c",
    "n_threads": "--threads",
    "X": "DATA",
    "y": "the target",
}
_SAME = (
    "covariates", "method", "gap", "max_abs_coef", "time_limit", "measure", "loss", "signs",
    "ties", "C", "calibrate", "class_weight", "standardize", "cv", "scoring", "l1_ratio",
    "max_features", "tol", "rtol", "checkpoint", "offset", "encoding", "overwrite", "blocks",
    "dtype",
)  # fmt: skip
OPTIONS |= {name: f"--{name.replace('_', '-')}" for name in _SAME}


class OptionWords(Named):
    """The words of a command: options stand for parameters, and names for columns."""

    def parameter(self, one: Parameter) -> str:
        """Return the option of a parameter, with its value where it has one."""
        option = OPTIONS.get(one.name)
        if option is None:
            return super().parameter(one)
        match one.values:
            case [bool() as value]:
                return option if value else option.replace("--", "--no-")
            case [value]:
                return f"{option} {value}"
            case _:
                return option

    def in_python(self, text: str) -> str:
        """Leave out what only Python offers."""
        return ""


class Command(TyperCommand):
    """A command that refuses an option given twice, or with its opposite: the last would win.

    -h shows its arguments and the options of every day on one screen, --help all.
    """

    daily: Collection[str] = ()
    _is_brief = False

    def get_params(self, ctx: Any) -> Any:
        """Return all options and arguments; newer versions of typer write <bool> for a flag."""
        found: list[Any] = super().get_params(ctx)
        for one in found:
            if getattr(one, "is_flag", False):
                one.display_type_rich = lambda ctx: ""
        return found

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage; newer versions of typer write {DATA}."""
        return [one.strip("{}") for one in super().collect_usage_pieces(ctx)]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        if not self._is_brief:
            super().format_help(ctx, formatter)
            return
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        rows: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        one: Any
        for one in self.params:
            said = re.split(r"[.;] ", one.help or "")[0].rstrip(".")
            if one.param_type_name == "argument":
                rows["Arguments"].append((one.metavar or one.name.upper(), said))
            elif one.name in self.daily:
                value = "" if getattr(one, "is_flag", False) else f" {one.metavar}"
                short = [name for name in one.opts if not name.startswith("--")]
                long = next(name for name in one.opts if name.startswith("--"))
                rows["Options"].append((", ".join([*short, long]) + value, said))
        for title, found in rows.items():
            with formatter.section(title):
                formatter.write_dl(found)
        with formatter.indentation():
            formatter.write_text("--help shows all options.")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        self._is_brief = "-h" in args
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
            code = INTERRUPTED
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
                words = OptionWords(getattr(error, "columns", None))
                say(f"Error: {one_line(message_of(error).said(words))}")
                return 2
            say(
                f"Error: unexpected {type(error).__name__}: {one_line(error)} "
                "(--debug shows where; please report it)."
            )
            return 1
        if code == INTERRUPTED:  # also what newer versions of typer make of Ctrl-C
            say("Interrupted.")
        return code if isinstance(code, int) else 0


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


def _silence(stream: TextIO) -> None:
    """Send a stream to nowhere, and with it what waits for the flush at the very end."""
    with suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


def _open_closed_streams() -> None:
    """Open the standard streams that the caller has closed, as shells do by >&-, to nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def show_document(
    document: Any, options: OutputOptions, report: Callable[[Any, bool], None]
) -> None:
    """Print a document, one of `reporting.records`, as JSON, or its notes and the report of it."""
    if options.as_json:
        print_json(document)
        return
    say_notes(document.notes, options.quiet)
    blank = "" if options.quiet else "\n"
    typer.echo(blank, nl=False)
    report(document, options.quiet)
    typer.echo(blank, nl=False)


def print_json(document: Document) -> None:
    """Print a document as JSON; refuse NaN and infinity, for which the records have None."""
    from ..reporting.records import as_json

    typer.echo(json.dumps(as_json(document), indent=2, allow_nan=False))


# C0 but tabs and line ends, DEL and C1, and what turns the direction of text.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def standard_output() -> BinaryIO:
    """Return standard output for UTF-8 in whole pieces, escaped unless it is a regular file.

    On a terminal, or in a pipe to one, control characters would move the cursor, set the title or
    exchange what was printed before.
    """
    sys.stdout.flush()
    try:
        is_file = stat.S_ISREG(os.fstat(sys.stdout.fileno()).st_mode)
    except (OSError, ValueError):
        is_file = False
    if is_file:
        return sys.stdout.buffer
    return cast("BinaryIO", _Escaping(sys.stdout.buffer))


class _Escaping(io.RawIOBase):
    """A stream whose text is escaped, with a note where that changes anything."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._told = stream, False

    def write(self, data: Any) -> int:
        text = bytes(data).decode("utf-8", "backslashreplace")
        shown = _CONTROL.sub(lambda one: one[0].encode("unicode_escape").decode(), text)
        if shown != text and not self._told:
            self._told = True
            say_notes(
                ["control characters of names are escaped on standard output; a file keeps them"]
            )
        self._stream.write(shown.encode())
        return len(data)

    def flush(self) -> None:
        self._stream.flush()


@dataclass(frozen=True, slots=True)
class Work:
    """A command at work: its progress, the notes that it will print, the seconds of its phases."""

    progress: ProgressBar
    notes: list[str]
    seconds: dict[str, float]
    words: OptionWords

    def has_read(self, table: Dataset) -> None:
        """Take the notes of data, and the names of their columns for later messages."""
        self.notes.extend(table.notes)
        self.words.names = table.feature_names or ()

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Add the time that the block takes to the seconds of this name."""
        begin = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begin

    def fit(self, estimator: Any, X: Any, y: Any, **more: Any) -> None:
        """Fit; report how far it is, and take the seconds of its phases."""
        begin = time.perf_counter()
        estimator._report = self.progress.searched
        has_callbacks = hasattr(estimator, "set_callbacks")  # as newer scikit-learn has them
        if has_callbacks:
            estimator.set_callbacks(_FitCallback(self.progress))
        estimator.fit(X, y, **more)
        if has_callbacks:
            estimator.set_callbacks()
        rest = time.perf_counter() - begin
        for name, value in estimator.seconds_.items():
            if name != "total":
                self.seconds[name] = self.seconds.get(name, 0.0) + value
                rest -= value
        self.seconds["other"] = max(0.0, rest)


class ProgressBar:
    """The progress of work: a bar on a terminal, after a second; else a line now and then.

    The lines are for the logs of batch jobs, on stderr.
    """

    seconds = 30.0  # from one line to the next

    def __init__(self, quiet: bool) -> None:
        self._wanted = not quiet and sys.stderr.isatty()
        self._by_line = not quiet and not self._wanted
        self._phase, self._count = "", ""
        self._end = threading.Event()
        self._teller: threading.Thread | None = None
        self._bar: Any = None
        self._task: Any = None
        self._timer: threading.Timer | None = None
        self._total: int | None = None
        self._unit = ["pass", "passes"]
        self._first: tuple[float, int] | None = None  # when how many units were told at first
        self._goal, self._gap = (0.0, float("inf")), 0.0

    def __enter__(self) -> ProgressBar:
        if self._wanted:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                Progress,
                SpinnerColumn,
                TextColumn,
                TimeElapsedColumn,
            )

            self._bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=30),
                TextColumn("{task.fields[count]}", markup=False),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task("", total=None, count="")
            self._timer = threading.Timer(1.0, self._bar.start)
            self._timer.daemon = True
            self._timer.start()
        elif self._by_line:
            self._teller = threading.Thread(target=self._tell, daemon=True)
            self._teller.start()
        return self

    def _tell(self) -> None:
        """Write a line now and then until the work ends."""
        begin = time.monotonic()
        while not self._end.wait(self.seconds):
            count = f": {self._count}" if self._count else ""
            say(f"{_clock(time.monotonic() - begin)}  {self._phase or 'Working'}{count}")

    def __exit__(self, *_: object) -> None:
        self._end.set()
        if self._teller is not None:
            self._teller.join()
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
            self._bar.stop()

    def phase(self, description: str, total: int | None = None, unit: str = "pass passes") -> None:
        """Begin a phase of work.

        total : how many units there are to do, if that is known. unit : one and several of them.
        """
        self._total, self._unit, self._first = total, unit.split(), None
        self._phase, self._count = show(description, 60), ""
        if self._bar is not None:
            self._bar.remove_task(self._task)  # rich forgets no total
            self._task = self._bar.add_task(self._phase, total=total, count="")

    def advance(self, done: int) -> None:
        """Report how many units are done in this phase: how many that is of all, the time left."""
        total = self._total if self._total is not None and done <= self._total else None
        of, unit = "" if total is None else f" of {total:,}", self._unit[(total or done) != 1]
        self._show(done, total, f"{done:,}{of} {unit}{self._left(done, total)}")

    def proving(self, gap: float, limit: float) -> None:
        """Set the gap and the seconds at which a branch and bound ends."""
        self._goal = gap, limit

    def searched(self, state: Progressed) -> None:
        """Report where a branch and bound stands: as far as the gap has closed, or the time gone.

        A gap closes ever more slowly, so that the time left is that of the limit.
        """
        if state.n_nodes == 0:
            self._gap = state.gap
        gap, limit = self._goal
        what = "node" if state.n_nodes == 1 else "nodes"
        wide = max(self._gap, state.gap) - gap
        share = max((wide + gap - state.gap) / wide if wide > 0 else 1.0, state.seconds / limit)
        count = f"{state.n_nodes:,} {what}, {state.seconds:.0f} s, gap {100 * state.gap:.2f}%"
        if limit < float("inf"):
            count += f", at most {_clock(limit - state.seconds)} left"
        self._show(min(share, 1.0), 1, count, description="Proving")

    def _show(self, done: float, total: int | None, count: str, **more: Any) -> None:
        self._phase, self._count = more.get("description", self._phase), count
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total, count=count, **more)

    def _left(self, done: int, total: int | None) -> str:
        """Return the share that is done, and the time left at the pace since the first report."""
        now = time.monotonic()
        if self._first is None:  # what an earlier run has done comes at once
            self._first = now, done
        if not total:
            return ""
        begin, before = self._first
        text = f", {100 * done // total}%"
        if done > before:
            text += f", {_clock((now - begin) * (total - done) / (done - before))} left"
        return text


def _clock(seconds: float) -> str:
    """Return a time as 1:02:03, or 2:03."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class _FitCallback:
    """Counts the scans of a fit, by scikit-learn's callback API."""

    def __init__(self, progress: ProgressBar) -> None:
        self._progress = progress
        self._passes = 0

    def setup(self, estimator: Any, context: Any) -> None:
        """Begin a fit."""
        self._passes = 0

    def on_fit_task_begin(self, estimator: Any, context: Any, **_: Any) -> None:
        """Do nothing at the beginning of a scan."""

    def on_fit_task_end(self, estimator: Any, context: Any, **_: Any) -> bool:
        """Count a scan; never ask to stop."""
        if context.task_name == "scan":
            self._passes += 1
            self._progress.advance(self._passes)
        return False

    def teardown(self, estimator: Any, context: Any) -> None:
        """End a fit."""


@contextmanager
def watched(options: OutputOptions) -> Iterator[Work]:
    """Watch the block; its seconds have their total at its end."""
    begin = time.perf_counter()
    seconds: dict[str, float] = {}
    words = OptionWords(None)
    with ProgressBar(options.quiet or options.as_json) as bar, _collected_warnings(words) as notes:
        try:
            yield Work(bar, notes, seconds, words)
        except ValueError as error:
            error.columns = words.names  # type: ignore[attr-defined]
            raise
    seconds["total"] = time.perf_counter() - begin


@contextmanager
def _collected_warnings(words: OptionWords) -> Iterator[list[str]]:
    """Yield a list that receives the texts of warnings, each once, in place of stderr."""
    notes: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        for kind in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
            warnings.simplefilter("ignore", kind)  # for programmers
        warnings.simplefilter("ignore", LeakWarning)  # notes say more: see `reporting.warnings`
        # The report says what a target was taken for, unless the user has said it.
        for text in (r"y has \d+ classes, all of them numbers", "The number of unique classes is"):
            warnings.filterwarnings("ignore", text)

        def keep(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
            text = one_line(message_of(message).said(words)).rstrip(".")
            if issubclass(category, UserWarning):  # also those of fits that did not converge
                text = Doubt(text)
            if text not in notes:
                notes.append(text)

        warnings.showwarning = keep
        yield notes
