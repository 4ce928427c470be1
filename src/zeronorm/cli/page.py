"""The page of `zeronorm report` and of select --report: its checks, its writing, its commands."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer.models import ArgumentInfo

from ..io.input import is_demo
from ..io.samples import SampleFile
from ..persistence import write_file
from ..reporting.page.figures import figures_of
from ..reporting.page.html import code_of_model, render, versions
from .files import check_folder, refuse_overwriting
from .options import OutputOptions, ReadingOptions, options_of

if TYPE_CHECKING:
    from ..reporting.documents.trust import Question
    from ..reporting.records import ModelFound, Trust
    from .messages import Work
    from .options import ReportOptions, SelectOptions


def check_page(
    path: Path, option: str, options: Any, others: Sequence[Path], *, draws: bool = True
) -> None:
    """Refuse a page that cannot be written, before any work.

    others : files that the same run writes. draws : whether it has pictures.
    """
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"{option} {path} must be a page, by its name: NAME.html.")
    if draws and find_spec("matplotlib") is None:
        raise ValueError(
            f'{option} draws with the package matplotlib: pip install "zeronorm[plots]".'
        )
    check_folder(path, option)
    for source in (options.target, getattr(options, "model", None), *(options.samples or ())):
        refuse_overwriting([path], options.data, source, option=option)
    for other in others:
        if path.resolve() == other.resolve():
            raise ValueError(f"{option} {path} is another file of this run; name another.")


def write_page(
    path: Path,
    question: Question,
    known: Trust,
    halves: int,
    limit: float,
    commands: Sequence[tuple[str, str]],
    work: Work,
) -> Trust:
    """Compute what is not known yet of a selection, write the page, and return all that is known.

    halves, limit : pairs of half-samples, and seconds of each search; 0 for none.
    """
    import matplotlib

    matplotlib.use("agg")

    with work.timed("report"):
        trust, proofs = question.answered(known, halves, limit, work.progress.phase)
        work.progress.phase("Drawing")
        figures = figures_of(question, trust, proofs)
        facts = _facts(question.selection.data.source)
        write_file(path, render(question.selection, trust, figures, commands, facts))
    return trust


def commands_of(
    command: str, options: SelectOptions | ReportOptions, question: Question, model: Path | None
) -> list[tuple[str, str]]:
    """Return what makes the page again, what verifies the certificate, and the model in Python.

    command : select or report. model : its file.
    """
    found = [("This page", command_line(command, options))]
    chosen = question.chosen
    data, flags = shlex.quote(options.data), _options_of_data(options)
    plain = _options_of_data(options, "keep")  # a certificate knows what was left out
    plain, flags = (f" {one}" if one else "" for one in (plain, flags))
    if model is not None:
        file, certified = shlex.quote(str(model)), chosen.certificates[0] is not None
        if certified and options.group_file is not None:
            flags += f" --group-file {shlex.quote(str(options.group_file))}"
        if certified and len(chosen.certificates) == 1:
            found.append(
                (
                    "The certificate of the feature set, and its check in plain NumPy",
                    f"zeronorm certify {file} {data}{flags} --certificate list.npz\n"
                    f"zeronorm verify list.npz {data}{plain}",
                )
            )
            found.append(
                ("A longer search for a better feature set",
                 f"zeronorm prove {file} {data}{flags} --gap 0 --time-limit 600")
            )  # fmt: skip
        beside = " --samples NEW.tsv" if _is_beside(options, chosen) else ""
        found.append(
            ("New samples",
             f"zeronorm predict {file} NEW.csv{beside}\nzeronorm evaluate {file} NEW.csv{beside}")
        )  # fmt: skip
    read = "# X, y: the samples and their target, as arrays"
    if is_demo(options.data):
        read = "from zeronorm.datasets import load_demo\n\nX, y = load_demo(return_X_y=True)"
    found.append(("The model in Python", code_of_model(question.estimator, chosen, read)))
    return found


def _is_beside(options: SelectOptions | ReportOptions, model: ModelFound) -> bool:
    """Return whether a model has a column of the tables of the samples."""
    names = [row.name for row in (*model.features, *model.covariates)]
    sources = {*names, *(name.partition("=")[0] for name in names)}  # of text, batch of batch=C
    return any(
        name in sources
        for path in options.samples or ()
        for name in SampleFile.read(path, options.encoding).header
    )


def _facts(data: str) -> dict[str, str]:
    """Return the versions of what was at work, and the digest of the data."""
    import hashlib

    found = versions()
    path = Path(data)
    if path.is_file():
        with path.open("rb") as file:
            found["SHA-256 of the data"] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


# Options that say which rows and columns of DATA are meant, as certify and verify have them.
_OF_DATA = {one.name for one in fields(ReadingOptions)} - {
    *(one.name for one in fields(OutputOptions)), "missing", "encoding", "by_position", "transpose",
}  # fmt: skip


def command_line(command: str, options: Any, *, only: tuple[str, ...] | None = None) -> str:
    """Return a command with the options that are not as they are by default.

    only : of all options those of these names; the arguments are left out then.
    """
    arguments, flags = [], []
    of_output = [one.name for one in fields(OutputOptions)]
    infos = {name: one.__metadata__[0] for name, one in options_of(type(options)).items()}
    for one in fields(options):
        if one.name in of_output or one.name not in infos:
            continue
        if only is not None and one.name not in only:
            continue
        value, info = getattr(options, one.name), infos[one.name]
        if isinstance(info, ArgumentInfo):
            arguments += [] if value is None else [shlex.quote(str(value))]
        elif value != one.default:
            # typer keeps the first name of an annotated option where its default would be.
            names = getattr(info, "default", None), *(getattr(info, "param_decls", None) or ())
            flags += _flags(one.name, tuple(map(str, names)), value)
    words = ["zeronorm", *command.split(), *arguments, *flags]
    return " ".join(words)


def _flags(name: str, names: tuple[str, ...], value: Any) -> list[str]:
    """Return an option and its value, once for each of several values."""
    flag = next((one for one in names if one.startswith("--")), "--" + name.replace("_", "-"))
    if isinstance(value, bool):
        yes, _, no = flag.partition("/")
        return [yes if value else no or "--no-" + yes.removeprefix("--")]
    values = value if isinstance(value, list) else [value]
    return [part for one in values for part in (flag, shlex.quote(str(one)))]


def _options_of_data(options: Any, *but: str) -> str:
    """Return the options that say which rows and columns are meant, as typed, but for some."""
    wanted = _OF_DATA - {*but}
    known = tuple(one.name for one in fields(options) if one.name in wanted)
    return command_line("", options, only=known).removeprefix("zeronorm").strip()
