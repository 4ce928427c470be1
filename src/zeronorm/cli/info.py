"""The command `zeronorm info`; with --format it is the export of a model."""

from __future__ import annotations

import platform
from collections.abc import Callable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from .. import persistence
from .._version import __version__
from ..core.parallel import allowed_cores
from ..data.store import is_store
from ..estimators import BudgetClassifier
from ..estimators.memory import estimate_of
from ..export import FORMATS
from ..io.input import is_demo, is_genotypes, read_table
from ..io.opening import as_design
from ..io.read import WITH_COLUMNS, read_request
from ..io.store import check_store
from ..io.table import TableRequest
from ..persistence import finite_or_none
from ..reporting.documents.data import coded_as_far_as_can_be, describe_columns, describe_file
from ..reporting.records import DamagedFile, DataFile, Document, Installation, StoreChecked
from ..reporting.text.data import (
    print_check,
    print_data,
    print_export,
    print_installation,
    print_model,
)
from ..reporting.warnings import RepeatedNames
from .files import check_folder, is_data, refuse_overwriting
from .messages import print_json, readers_may_leave, standard_output
from .options import InfoOptions

if TYPE_CHECKING:
    from ..io.table import Dataset


_OF_ONE_FORMAT = ("table", "key")  # of one format each


def info(options: InfoOptions) -> None:
    """Show what a model file or data hold, or versions here; export a model."""
    _check_export(options)
    if options.format is not None:
        _export(options)
        return

    if options.check:
        _check(options)
        return
    if options.model is None:
        _show(_describe_installation(), options.as_json, print_installation)
        return
    if is_data(options.model):
        _show(_describe_data(options, options.model), options.as_json, print_data)
        return
    loaded = persistence.load(options.model)
    if not options.as_json:
        print_model(options.model, loaded)
        return
    print_json(describe_file(loaded))


def _show(document: Document, as_json: bool, report: Callable[[Any], None]) -> None:
    (print_json if as_json else report)(document)


def _check_export(options: InfoOptions) -> None:
    """Refuse options of an export without --format, and what --format does not go with."""
    if options.format is None:
        for name in ("output", *_OF_ONE_FORMAT):
            if getattr(options, name) is not None:
                raise ValueError(f"--{name} is of an export; say --format, or leave it out.")
        return

    form = FORMATS.get(options.format)
    if form is None:
        raise ValueError(f"--format must be one of {', '.join(FORMATS)}; got {options.format!r}.")
    if options.as_json or options.check or options.model is None:
        other = "--json" if options.as_json else "--check" if options.check else ""
        raise ValueError(
            f"--format is of a model, and a report of its own; leave out {other}."
            if other
            else "--format needs a model; name a file that select wrote."
        )
    for name in _OF_ONE_FORMAT:
        if getattr(options, name) is not None and name not in form.options:
            own = next(key for key, one in FORMATS.items() if name in one.options)
            raise ValueError(f"--{name} is of --format {own}; got --format {options.format}.")
    if options.output is not None:
        check_folder(options.output)
        refuse_overwriting([options.output], options.model, None)


def _export(options: InfoOptions) -> None:

    assert options.format is not None
    assert options.model is not None
    form = FORMATS[options.format]
    model = persistence.load(options.model)
    given = {name: getattr(options, name) for name in form.options}
    text = form.make(model, **{name: value for name, value in given.items() if value is not None})
    written = text.encode("utf-8")
    if options.output is not None:
        persistence.write_file(options.output, written)
        print_export(options.model, options.format, options.output, len(written))
        return
    file = standard_output()
    file.write(written)
    file.flush()


def _check(options: InfoOptions) -> None:
    """Compare the blocks of a store with their checksums; exit with 1 where one is damaged."""
    path = options.model
    if path is None or not is_store(path):
        raise ValueError(
            f"--check is of a store, a directory that zeronorm convert wrote; got {path}. Name "
            "one, or leave out --check."
        )
    found = check_store(path)
    damage = [
        DamagedFile(
            file=str(one.file),
            columns=None if one.columns is None else list(one.columns),
            reason=one.reason,
        )
        for one in found.damage
    ]
    document = StoreChecked(source=str(path), files=found.files, damage=damage)
    with readers_may_leave():  # the exit code is the same whether anyone reads why
        _show(document, options.as_json, print_check)
    if found.damage:
        raise typer.Exit(1)


def _describe_data(options: InfoOptions, path: str) -> DataFile:
    """Return what a file of data holds, and what a selection from it will need."""
    if not (options.features.isdigit() and int(options.features)):
        raise ValueError(
            f"--features must be a whole number of at least 1; got {options.features!r}."
        )
    table = _as_it_stands(options, path)
    repeated = RepeatedNames()
    repeated.take(table)
    found, notes = None, (*table.notes, *repeated.notes())
    if table.form in WITH_COLUMNS:
        found = describe_columns(table)
        table = coded_as_far_as_can_be(path, table, found.columns)
    design = as_design(table.X)
    method: Any = options.method
    selection = BudgetClassifier(int(options.features), method=method, calibrate=False)
    estimate = estimate_of(design, selection)
    y = table.y
    return DataFile(
        source=path,
        n_samples=int(design.shape[0]),
        n_features=int(design.shape[1]),
        storage=design.storage,
        note=design.note,
        layers=list(table.layers),
        columns=list(table.known),
        table=found,
        classes=[] if y is None else np.unique(y)[:100].tolist(),
        features=int(options.features),
        method=options.method,
        memory={name: int(size) for name, size in estimate.parts.items()},
        total=int(estimate.total),
        available=finite_or_none(estimate.available),
        fits=bool(estimate.fits),
        notes=list(notes),
    )


def _as_it_stands(options: InfoOptions, path: str) -> Dataset:
    """Read data for a description, without encoding text or filling empty cells."""
    if is_genotypes(path) or is_demo(path):
        return read_table(
            path, None, layer=options.layer, encoding=options.encoding, decimal=options.decimal
        )
    request = TableRequest(
        layer=options.layer, encoding=options.encoding, decimal=options.decimal, is_part=True,
        feature_names=options.feature_names,
    )  # fmt: skip
    return read_request(path, request)


def _describe_installation() -> Installation:

    return Installation(
        zeronorm=__version__,
        threads=allowed_cores(),
        python=platform.python_version(),
        numpy=version("numpy"),
        scipy=version("scipy"),
        scikit_learn=version("scikit-learn"),
        platform=platform.platform(),
    )
