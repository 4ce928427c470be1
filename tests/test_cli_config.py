"""Files of options: what --save-config writes, and what --config makes of it."""

import json
import os
import tomllib
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import get_args, get_origin, get_type_hints

import pytest
import typer

import zeronorm
from zeronorm import cli
from zeronorm.cli._config import config_text, options_of, read_config

SELECT = ("select", "golub", "-k", "2,3", "--no-calibrate", "--cv", 3, "--force", "X95735_at")
STRANGE = 'a "b" \\ \n\t\x7f \u2603 \U0001f600 = # [x]'


def document_of(text):
    document = json.loads(text)
    del document["seconds"]
    return document


def context_of(command):
    found = typer.main.get_command(cli.app).commands[command]
    return found.make_context(command, [], resilient_parsing=True)


def test_a_saved_run_is_repeated(run):
    """The file would leave something out, or say it otherwise."""
    first = run(*SELECT, "--no-save", "--json", "--save-config", "run.toml")
    again = run("select", "--config", "run.toml")
    assert again.stderr == ""
    assert document_of(again.stdout) == document_of(first.stdout)
    assert tomllib.loads(Path("run.toml").read_text())["zeronorm"] == zeronorm.__version__
    run("select", "--config", "run.toml", "--save-config", "again.toml")
    assert Path("again.toml").read_text() == Path("run.toml").read_text()


def test_other_commands_have_it(run):
    """Only select could be repeated."""
    run("select", "golub", "-k", 2, "--no-cv", "-o", "m.npz")
    for command in (("predict", "m.npz", "golub", "--proba"), ("path", "golub", "--points", 5)):
        first = run(*command, "--json", "--save-config", "c.toml").stdout
        again = run(command[0], "--config", "c.toml").stdout
        a, b = json.loads(first), json.loads(again)
        for one in (a, b):
            one.pop("seconds", None)
        assert a == b


@pytest.mark.parametrize("command", sorted({*cli.COMMANDS} - {"completion"}))
def test_every_option_survives(tmp_path, command):
    """An option of some type would come back as another value, or be refused."""
    record = getattr(import_module(f"zeronorm.cli._{command}"), f"{command.title()}Options")
    types = get_type_hints(record)
    options = options_of(context_of(command), types)
    assert {one.field for one in options.values()} == {one.name for one in fields(record)}
    examples = {str: STRANGE, Path: Path("ä b/c.npz"), int: -7, float: 1e-300, bool: True}

    def example(hint):
        kinds = [hint]
        if get_origin(hint) is not list:  # of an argument that is a list
            kinds = [kind for kind in get_args(hint) or (hint,) if kind is not type(None)]
        many = get_args(kinds[0])
        return [STRANGE, ""] if many else examples[kinds[0]]

    given = record(**{name: example(hint) for name, hint in types.items()})
    file = tmp_path / "all.toml"
    file.write_bytes(config_text(command, options, given).encode())
    values = read_config(file, command, options).values
    assert values == {
        name: str(value) if isinstance(value := getattr(given, name), Path) else value
        for name in types
    }


def test_the_line_wins_and_it_is_said(run):
    """A file would silently overrule what was typed, or be overruled."""
    run(*SELECT, "--no-save", "--save-config", "run.toml")
    result = run("select", "--config", "run.toml", "-k", 4, "--json", "--cv", 3)
    assert json.loads(result.stdout)["chosen"] == 4
    notes = result.stderr.splitlines()
    assert notes[0] == 'Note: --features is "4", as the line says, in place of "2,3" of run.toml.'
    assert "--json is true" in notes[1]
    assert len(notes) == 2  # --cv says the same


def test_another_version_is_said(run):
    """Other defaults would give another model without a word."""
    run("info", "--save-config", "i.toml")
    text = Path("i.toml").read_text()
    Path("i.toml").write_text(text.replace(f'"{zeronorm.__version__}"', '"0.0.1"'))
    assert "saved by zeronorm 0.0.1; this is" in run("info", "--config", "i.toml").stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("featres = 3", "c.toml, line 2: 'featres' must be an option of zeronorm select. Did you"),
        ("[options]\ncv = 3", "c.toml, line 2: 'options' must be an option of zeronorm select"),
        ("cv = '5'", "c.toml, line 2: cv must be a whole number; got '5'. For example: cv = 5"),
        ("cv = true", "c.toml, line 2: cv must be a whole number; got True"),
        ("gap = '1'", "c.toml, line 2: gap must be a number; got '1'"),
        ("prove = 1", "c.toml, line 2: prove must be true or false; got 1"),
        ("features = 2.0", 'c.toml, line 2: features must be text in quotes; got 2.0. For'),
        ("force = [1.5]", "c.toml, line 2: force must be text in quotes, or a list of these; got"),
        ("target = ['a']", "c.toml, line 2: target must be text in quotes; got ['a']"),
        ('command = "path"', "c.toml, line 2: the options of zeronorm path; got zeronorm select"),
        ("cv = ", "--config c.toml must be TOML in UTF-8: Invalid value (at line 2"),
        ("cv = 3\ncv = 4", "--config c.toml must be TOML in UTF-8: Cannot overwrite a value"),
    ],
)  # fmt: skip
def test_what_is_no_option_is_refused_with_its_line(fails, text, message):
    """A mistyped key would be left out without a word."""
    Path("c.toml").write_text(f'data = "golub"\n{text}\n')
    assert message in fails("select", "--config", "c.toml")


def test_bytes_that_are_no_text_are_refused(fails):
    """A file of another kind would end in a traceback."""
    Path("c.toml").write_bytes(b"\xff\xfe")
    assert "must be TOML in UTF-8" in fails("select", "--config", "c.toml")
    assert "none.toml: No such file" in fails("select", "--config", "none.toml")
    assert "options in UTF-8" in fails("select", "a\udcff.csv", "--save-config", "d.toml")


def test_numbers_are_text_and_numbers(run):
    """A file written by hand would have to quote what nobody quotes."""
    lines = ('data = "golub"', "features = 2", "no-cv = true", "C = 1", "save = false")
    Path("c.toml").write_text("\n".join(lines))
    document = json.loads(run("select", "--config", "c.toml", "--json").stdout)
    assert (document["chosen"], document["parameters"]["C"]) == (2, 1.0)


def test_files_of_options_are_toml_and_written_at_the_end(fails):
    """A file would be lost to a slip, or tell of a run that never was."""
    assert "--save-config must end in .toml; got golub.csv." in fails(
        "select", "golub", "--save-config", "golub.csv"
    )
    assert "no such directory" in fails("select", "golub", "--save-config", "none/c.toml")
    fails("select", "golub", "-k", 0, "--save-config", "c.toml")
    assert os.listdir() == []
