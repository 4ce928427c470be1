"""What --json prints is what its schema says: every command, on data of every kind."""

import json
import signal

import msgspec
import numpy as np
import pytest
import typer.testing

from conftest import COMMAND, write_csv
from golub import GOLUB, load_golub
from zeronorm import cli
from zeronorm.estimators import folds as _folded
from zeronorm.reporting import records

jsonschema = pytest.importorskip("jsonschema")

TARGETS = "two,three,number,count,years,days,dead,level,other"
SCORED = ("--cv", 3, "--no-save")
PLAIN = ("--no-cv", "--no-save")
SURVIVAL = ("--time", "days", "--event", "dead")
# By what they show: the arguments, in their order, as some need the files of others.
WHOLE = ("two.csv", "--target", "two", "--group-file", "groups.tsv")
CASES = {
    "classes": ("select", GOLUB, "-k", "2,3", "--cv", 3, "--permutations", 2, "--no-save"),
    "criterion": ("select", GOLUB, "-k", 3, "--rule", "bic", *PLAIN),
    "stability": ("select", GOLUB, "-k", 3, "--stability", 2, *PLAIN),
    "folds": ("cv", GOLUB, "-k", "1:3", "--cv", 3),
    "discoveries": ("number", "discover"),
    "discoveries beside": ("number", "discover", "--covariates", "city", "--blocks", "level"),
    "no discoveries": ("other", "discover", "--fdr", 0.001),
    "proof": ("select", GOLUB, "-k", 2, "--prove", "--no-cv", "-o", "m.npz"),
    "verify": ("verify", "m.certificate.npz", GOLUB),
    "predict": ("predict", "m.npz", GOLUB, "--proba"),
    "no score": ("predict", "m.npz", "bare.csv"),
    "model": ("info", "m.npz"),
    "data": ("info", GOLUB),
    "a table": ("info", "all.csv"),
    "installation": ("info",),
    "classes each": ("three", "select", "--per-class", *SCORED, "--certificate", "c.npz"),
    "verify each": ("three", "verify", "c.npz"),
    "classes that share": ("three", "select", "--cv", 3, "-o", "three.npz"),
    "predict several": ("three", "predict", "three.npz", "--proba"),
    "ordered": ("level", "select", "--task", "ordered", "--cv", 3, "-o", "level.npz"),
    "predict ordered": ("level", "predict", "level.npz", "--proba"),
    "numbers": ("number", "select", "--cv", 3, "-o", "number.npz", "--certificate", "n.npz"),
    "verify numbers": ("number", "verify", "n.npz"),
    "predict numbers": ("number", "predict", "number.npz"),
    "text": ("number", "select", "--keep-text", *PLAIN),
    "named text": ("number", "select", "--covariates", "city", *PLAIN),
    "quantile": ("number", "select", "--loss", "quantile:0.9", *PLAIN),
    "responses": ("number,other", "select", "--cv", 3, "-o", "both.npz"),
    "evaluate responses": ("number,other", "evaluate", "both.npz"),
    "counts": ("count", "select", "--exposure", "years", "--cv", 3, "-o", "count.npz"),
    "predict counts": ("count", "predict", "count.npz", "--exposure", "years"),
    "survival": (None, "select", *SURVIVAL, "--cv", 3, "-o", "s.npz"),
    "predict survival": (None, "predict", "s.npz", *SURVIVAL, "--times", "1,2"),
    "survival model": ("info", "s.npz"),
    "evaluate": ("evaluate", "m.npz", GOLUB),
    "predict by a threshold": ("predict", "m.npz", GOLUB, "--threshold", 0.3),
    "evaluate by a threshold": ("evaluate", "m.npz", GOLUB, "--threshold", 0.3),
    "evaluate several": ("three", "evaluate", "three.npz"),
    "evaluate ordered": ("level", "evaluate", "level.npz"),
    "evaluate numbers": ("number", "evaluate", "number.npz"),
    "evaluate counts": ("count", "evaluate", "count.npz", "--exposure", "years"),
    "evaluate survival": (None, "evaluate", "s.npz", *SURVIVAL),
    "report": ("report", "m.npz", GOLUB, "--pairs", 2, "--time-limit", 0, "-o", "m.html"),
    "certify": ("certify", "X95735_at,M27891_at", GOLUB, "--certificate", "l.npz"),
    "prove": ("prove", "X95735_at,M23197_at", GOLUB),
    "near optimal": ("prove", "X95735_at,M23197_at", GOLUB, "--within", 0.1, "--limit", 3),
    "certify numbers": ("number", "certify", "x0,x1"),
    "groups": ("two", "select", "--groups", 2, "--group-file", "groups.tsv", *SCORED),
    "whole groups": ("select", *WHOLE, "--features", "all", "--groups", "1,2", "--stability", 2,
                     "--no-save", "--no-calibrate"),
    "certify groups": ("certify", "g1,g2", WHOLE[0], *WHOLE[1:]),
    "prove groups": ("prove", "g1,g2", WHOLE[0], *WHOLE[1:]),
    "measure": ("two", "select", "--measure", "f1", *SCORED),
    "covariates": ("two", "select", "--covariates", "x4,x5", "--force", "x0", *SCORED),
    "signs": ("two", "select", "--method", "l0", "--signs", "all=+", *PLAIN),
    "greedy": ("two", "select", "--method", "greedy", *PLAIN),
    "path": ("path", GOLUB, "--points", 5),
    "path with folds": ("two", "path", "--points", 5, "--cv", 3, "-o", "p.csv"),
    "path of classes": ("three", "path", "--points", 4, "--cv", 3),
    "path of survival": (None, "path", *SURVIVAL, "--points", 4, "--cv", 3),
    "path of counts": ("count", "path", "--loss", "poisson", "--points", 4),
    "store": ("convert", "two.csv", "two.zarr", "--target", "two"),
    "check": ("info", "two.zarr", "--check"),
}  # fmt: skip


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    """What every case prints, by its name."""
    rng = np.random.default_rng(0)
    n = 60
    X = np.round(rng.standard_normal((n, 8)), 3)
    z = X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(n)
    columns = {f"x{j}": X[:, j] for j in range(8)}
    years = rng.uniform(1, 3, n).round(2)
    columns |= {
        "two": np.where(z > 0, "yes", "no"),
        "three": np.array(["a", "b", "c"])[np.digitize(z, [-0.6, 0.6])],
        "level": np.digitize(z, [-0.6, 0.6]),
        "number": z,
        "other": X[:, 2] + z,
        "count": rng.poisson(years * np.exp(0.3 * z)),
        "years": years,
        "days": np.exp(-z) + 0.01,
        "dead": (rng.random(n) < 0.8).astype(int),
        "city": np.array(["Oslo", "Rome", "Lima"])[rng.integers(0, 3, n)],
    }
    folder = tmp_path_factory.mktemp("schema")
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(typer.testing, "_get_command", lambda app: COMMAND)
        write_csv("all.csv", columns)
        write_csv("two.csv", {k: columns[k] for k in [*list(columns)[:8], "two"]})
        (folder / "groups.tsv").write_text("".join(f"x{j}\tg{j // 2}\n" for j in range(8)))
        golub = load_golub()
        write_csv("bare.csv", {name: golub.X[:3, j] for j, name in enumerate(golub.feature_names)})
        for name, case in CASES.items():
            found[name] = document_of(called(case, columns))
    return found


def called(case, columns):
    """Return the arguments of a case; one that begins with a target is on the table of all."""
    if case[0] in COMMAND.commands:
        return case
    target, command, *rest = case
    named = () if target is None else ("--target", target)
    data = ["all.csv", *named]
    taken = {*(target or "").split(","), *rest}
    others = [*TARGETS.split(","), "city"]
    dropped = [name for name in others if name not in taken]
    if "--keep-text" in rest:
        rest.remove("--keep-text")
        dropped.remove("city")
    of_model = ("predict", "evaluate")
    if command in (*of_model, "verify", "certify"):
        data.insert(0, rest.pop(0))
    if command == "select":
        rest += ["-k", 2] if "--groups" not in rest else ["-k", 3]
        rest += [] if {"--measure", "--groups"} & {*rest} else ["--no-calibrate"]
    if command not in of_model:
        rest += [part for name in dropped for part in ("--drop", name)]
    return (command, *data, *rest)


def document_of(arguments, code=0):
    command = [str(one) for one in arguments]
    if command[0] == "select" and GOLUB not in command and "--target" in command:
        named = command[command.index("--target") + 1]
        if named not in ("two", "three", "level"):
            command = [one for one in command if one != "--no-calibrate"]
    result = typer.testing.CliRunner().invoke(cli.app, [*command, "--json"])
    assert result.exit_code == code, (command, result.output)
    return command[0], json.loads(result.stdout)


@pytest.fixture(scope="module")
def schema():
    return json.loads(json.dumps(records.schema()))


def validator_of(schema, command):
    own = {"$ref": f"#/$defs/{command}", "$defs": schema["$defs"]}
    return jsonschema.Draft202012Validator(own)


def test_the_schema_is_one(schema):
    """A program could not read it."""
    jsonschema.Draft202012Validator.check_schema(schema)
    assert all("description" in one for one in schema["$defs"].values() if "properties" in one)
    commands = {ref["$ref"].removeprefix("#/$defs/") for ref in schema["anyOf"]}
    assert commands == {*cli.COMMANDS}


@pytest.mark.parametrize("case", CASES)
def test_documents_are_as_the_schema_says(documents, schema, case):
    """A key would be missing, or be there that nobody has described."""
    command, document = documents[case]
    errors = list(validator_of(schema, command).iter_errors(document))
    assert not errors, errors[0]
    jsonschema.Draft202012Validator(schema).validate(document)
    assert next(iter(document)) == "schema"


@pytest.mark.parametrize("case", CASES)
def test_a_document_is_the_encoding_of_a_record(documents, case):
    """A number would be read as another one, or a NaN be null without anybody having said so."""
    command, document = documents[case]
    kinds = records.DOCUMENTS[command]
    found = [kind for kind in kinds if set(document) - {"schema"} <= {*_names(kind)}]
    assert len(found) == 1
    record = msgspec.convert(document, found[0])
    assert records.as_json(record) == document
    assert msgspec.json.decode(msgspec.json.encode(record), type=found[0]) == record


def _names(kind):
    return [one.encode_name for one in msgspec.structs.fields(kind)]


def test_an_interrupt_is_in_the_schema(schema, tmp_path, monkeypatch):
    """What Ctrl-C leaves would be read as something else."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(_folded, "run_together", lambda *_: signal.raise_signal(signal.SIGINT))
        _, document = document_of(("select", GOLUB, "-k", "2,3"), code=130)
    finally:
        signal.signal(signal.SIGINT, previous)
    validator_of(schema, "select").validate(document)
    assert document["interrupted"]["during"] == "cross-validation"


@pytest.mark.parametrize("part", [("models", 0), ("data",), ("models", 0, "features", 0)])
def test_what_is_not_described_is_refused(documents, schema, part):
    """The test of the documents would pass whatever they hold."""
    _, document = documents["classes"]
    changed = json.loads(json.dumps(document))
    place = changed
    for key in part:
        place = place[key]
    place["unheard_of"] = 1
    assert not validator_of(schema, "select").is_valid(changed)
    lacking = json.loads(json.dumps(document))
    del lacking["models"][0]["certificates"]
    assert not validator_of(schema, "select").is_valid(lacking)
