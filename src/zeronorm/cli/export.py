"""`zeronorm info MODEL --format NAME`: a model for other programs."""

from __future__ import annotations

from .options import InfoOptions
from .paths import check_folder, refuse_overwriting
from .standard_output import standard_output

OPTIONS = ("table", "key")  # of one format each


def check_export(options: InfoOptions) -> None:
    """Refuse options of an export without --format, and what --format does not go with."""
    if options.format is None:
        for name in ("output", *OPTIONS):
            if getattr(options, name) is not None:
                raise ValueError(f"--{name} is of an export; say --format, or leave it out.")
        return
    from ..export import FORMATS

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
    for name in OPTIONS:
        if getattr(options, name) is not None and name not in form.options:
            own = next(key for key, one in FORMATS.items() if name in one.options)
            raise ValueError(f"--{name} is of --format {own}; got --format {options.format}.")
    if options.output is not None:
        check_folder(options.output)
        refuse_overwriting([options.output], options.model, None)


def export(options: InfoOptions) -> None:
    """Write a model in the format that was asked for."""
    from .. import persistence
    from ..export import FORMATS
    from ..reporting.text.store import print_export

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
