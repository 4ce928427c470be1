"""Notes about data that hardly are what was meant, and text with NUL bytes."""

import csv
import json

import numpy as np
import pytest

from golub import GOLUB
from zeronorm.cli import predict as _predict

CHEAP = ("--no-cv", "--no-save")


def write_csv(path, columns):
    """Write columns by their names as CSV."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def notes_of(result):
    """Return the notes of a run as one text."""
    return " ".join(result.stderr.split())


def numbers(n=40, p=5, seed=0):
    """Return columns of normal numbers."""
    X = np.random.default_rng(seed).standard_normal((n, p))
    return {f"x{j}": X[:, j].tolist() for j in range(p)}


@pytest.mark.parametrize("copy", ["same", "scaled"])
def test_a_target_in_disguise_is_named(run, tmp_path, copy):
    """A model of the target by itself would be reported as a discovery."""
    columns = numbers()
    y = np.random.default_rng(1).standard_normal(40)
    columns["copy"] = (y if copy == "same" else 3 - 7 * y).tolist()
    write_csv(tmp_path / "d.csv", {**columns, "y": y.tolist()})
    found = run("select", "d.csv", "--target", "y", "-k", 2, *CHEAP)
    assert "column 'copy' is the target itself (correlation 1)" in notes_of(found)
    found = run("select", "d.csv", "--target", "y", "-k", 2, *CHEAP, "--drop", "copy")
    assert "itself" not in notes_of(found)


@pytest.mark.parametrize(("n_classes", "sure"), [(2, "correlation 1"), (3, "one value in each")])
def test_classes_in_disguise_are_named(run, tmp_path, n_classes, sure):
    """A column of codes of the classes would be reported as a discovery."""
    columns = numbers()
    code = np.arange(40) % n_classes
    columns["code"] = (10 * code).tolist()
    write_csv(tmp_path / "d.csv", {**columns, "y": [f"c{one}" for one in code]})
    found = run("select", "d.csv", "--target", "y", "-k", 2, *CHEAP)
    assert f"column 'code' is the target itself ({sure}" in notes_of(found)


@pytest.mark.parametrize("made", [np.exp, np.cbrt, lambda y: np.round(2 * y)])
def test_a_target_on_another_scale_is_named(run, tmp_path, made):
    """The logarithm of a price, or the price in steps, would be reported as its best predictor."""
    columns = numbers()
    y = np.random.default_rng(1).standard_normal(40)
    y *= 6 / np.ptp(y)
    columns["scale"] = made(y).tolist()
    write_csv(tmp_path / "d.csv", {**columns, "y": y.tolist()})
    found = run("select", "d.csv", "--target", "y", "-k", 2, *CHEAP)
    assert "column 'scale' is the target itself on another scale" in notes_of(found)
    columns["scale"][3], columns["scale"][7] = columns["scale"][7], columns["scale"][3]
    write_csv(tmp_path / "d.csv", {**columns, "y": y.tolist()})
    assert "itself" not in notes_of(run("select", "d.csv", "--target", "y", "-k", 2, *CHEAP))


def test_times_and_events_in_disguise_are_named(run, tmp_path):
    """A column of the state at the end would foretell who dies."""
    rng = np.random.default_rng(2)
    time, event = rng.exponential(size=60), np.arange(60) % 3 > 0
    columns = {**numbers(60), "days": time.tolist(), "died": event.astype(int).tolist()}
    columns |= {"state": (5 - 2 * event).tolist(), "years": np.sqrt(time).tolist()}
    write_csv(tmp_path / "d.csv", columns)
    survival = ("--time", "days", "--event", "died", *CHEAP)
    notes = notes_of(run("select", "d.csv", *survival, "-k", 7))
    assert "column 'state' is the event itself" in notes
    assert "column 'years' is the time itself on another scale" in notes


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_column_far_beyond_all_others_is_named(run, tmp_path, n_classes):
    """Doses that only patients get would be reported as what tells patients from controls."""
    rng = np.random.default_rng(3)
    code = np.arange(120) % n_classes
    columns = numbers(120)
    columns["x0"] = (rng.standard_normal(120) + code).tolist()
    columns["dose"] = (code + rng.uniform(0, 0.5, 120)).tolist()
    labels = [f"c{one}" for one in code]
    write_csv(tmp_path / "d.csv", {**columns, "y": labels})
    notes = notes_of(run("select", "d.csv", "--target", "y", "-k", 2, *CHEAP))
    assert "column 'dose' tells the classes apart without an error and no other comes near" in notes
    # Beside another one that nearly does so it is a finding as any.
    columns["near"] = (code + rng.uniform(0, 1.02, 120)).tolist()
    write_csv(tmp_path / "d.csv", {**columns, "y": labels})
    assert "apart" not in notes_of(run("select", "d.csv", "--target", "y", "-k", 2, *CHEAP))


def test_few_rows_are_no_evidence(run, tmp_path):
    """Among a million variants one is as the target by chance."""
    code = np.arange(12) % 2
    columns = {f"x{j}": np.random.default_rng(j).integers(0, 2, 12).tolist() for j in range(300)}
    columns["same"] = code.tolist()
    write_csv(tmp_path / "d.csv", {**columns, "y": [f"c{one}" for one in code]})
    assert "itself" not in notes_of(run("select", "d.csv", "--target", "y", "-k", 1, *CHEAP))


def test_genes_that_separate_classes_are_not_doubted(run):
    """In real data some columns do, and others nearly."""
    assert "apart" not in notes_of(run("select", GOLUB, "-k", "1:5", *CHEAP, "--rule", "all"))


def test_labels_alike_are_named(run, tmp_path):
    """A typing error would be a class of its own, and nobody would be told."""
    labels = ["ALL", "all", "AML", "A LL"] * 10
    write_csv(tmp_path / "d.csv", {**numbers(), "y": labels})
    found = run("select", "d.csv", "--target", "y", "-k", 2, *CHEAP)
    assert "the labels 'A LL', 'ALL', 'all' differ only in case or blanks" in notes_of(found)
    write_csv(tmp_path / "d.csv", {**numbers(), "y": ["ALL", "AML"] * 20})
    assert "differ only" not in notes_of(run("select", "d.csv", "--target", "y", "-k", 2, *CHEAP))


def test_doubled_names_are_told(run, fails, tmp_path):
    """Two columns of one name would be taken for one, or the wrong one for the target."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.standard_normal((40, 3)), np.arange(40) % 2])
    text = "\n".join(",".join(map(repr, row)) for row in rows.tolist())
    (tmp_path / "d.csv").write_text(f"a,b,a,y\n{text}\n")
    found = run("select", "d.csv", "--target", "y", "-k", 3, *CHEAP)
    assert "a (1 of 2)" in found.stdout
    assert "a (2 of 2)" in found.stdout
    (tmp_path / "e.csv").write_text(f"a,y,b,y\n{text}\n")
    assert "2 columns have the name 'y'" in fails("select", "e.csv", "--target", "y", "-k", 1)


@pytest.mark.parametrize("n_lines", [3, 30_000])
def test_nul_bytes_have_a_place(fails, tmp_path, n_lines):
    """A file of a million lines would be called damaged without a word where."""
    lines = ["a,b,y", *["1.5,2.5,p", "2.5,1.5,q"] * n_lines]
    lines[n_lines] = "1.0,2\0,p"
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    message = fails("select", "d.csv", "--target", "y", "-k", 1)
    assert f"d.csv: line {n_lines + 1}: a NUL byte" in message


def test_names_on_several_rows_are_told(run, tmp_path, monkeypatch):
    """A sample that was joined twice would count twice, in the score and in its error."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3)).round(3)
    names = [f"s{i}" for i in range(60)]
    y = np.where(X[:, 0] > 0, "a", "b")
    columns = {"id": names, **{f"x{j}": X[:, j].tolist() for j in range(3)}, "y": y.tolist()}
    write_csv(tmp_path / "once.csv", columns)
    twice = {name: [*column, *column[5:7]] for name, column in columns.items()}
    write_csv(tmp_path / "twice.csv", twice)
    rows = [dict(zip(twice, row, strict=True)) for row in zip(*twice.values(), strict=True)]
    (tmp_path / "twice.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = ("--target", "y", "--id", "id", "-k", 1, "--no-cv", "-o", "m.npz")
    said = (
        "Note: 2 names stand on several rows, as on the samples 6 and 61: each row counts as a "
        "sample of its own.\n"
    )
    assert said in run("select", "twice.csv", *given).stderr
    assert "several rows" not in run("select", "once.csv", *given).stderr
    monkeypatch.setattr(_predict, "_BLOCK", 100)  # of JSON lines several blocks
    for data in ("twice.csv", "twice.jsonl"):
        for command in ("predict", "evaluate"):
            assert run(command, "m.npz", data).stderr.count(said) == 1
            assert "several rows" not in run(command, "m.npz", "once.csv").stderr
        assert run("predict", "m.npz", data, "-o", "p.csv").stderr == said


def test_doubts_survive_quiet(run, tmp_path):
    """A script that asks for results only would get one that is worth nothing without a word."""
    columns = numbers()
    code = np.arange(40) % 2
    columns["code"] = code.tolist()
    columns["word"] = ["up" if one > 0 else "down" for one in columns["x1"]]
    names = [f"s{i // 2}" for i in range(40)]
    write_csv(tmp_path / "d.csv", {"id": names, **columns, "y": np.where(code, "b", "a").tolist()})
    given = ("--target", "y", "--id", "id", "-k", 1, *CHEAP)
    loud = notes_of(run("select", "d.csv", *given))
    quiet = notes_of(run("select", "d.csv", *given, "--quiet"))
    routine = "of text as categories"
    assert routine in loud
    assert routine not in quiet
    assert "column 'code' is the target itself" in quiet
    assert "20 names stand on several rows" in quiet


def test_warnings_of_fits_survive_quiet(run):
    """A fit that warns in Python would be silent where a script runs the command."""
    given = (GOLUB, "--method", "l0", "-C", 1e4, "-k", 4, *CHEAP)
    assert "The 4 features separate the classes" in run("select", *given, "--quiet").stderr


def test_what_is_in_doubt_of_given_rows_survives_quiet(run, tmp_path):
    """The score of the rows of the training, or none, would pass for that of new ones."""
    columns = {**numbers(), "y": (np.arange(40) % 2).tolist()}
    write_csv(tmp_path / "d.csv", columns)
    run("select", "d.csv", "--target", "y", "-k", 1, "--no-cv", "--quiet", "-o", "m.npz")
    quiet = run("evaluate", "m.npz", "d.csv", "--target", "y", "--quiet").stderr
    assert "these seem to be the same samples" in quiet
    write_csv(tmp_path / "n.csv", {**columns, "y": ["other"] * 40})
    for more in ((), ("-o", "p.csv")):
        said = run("predict", "m.npz", "n.csv", "--target", "y", "--quiet", *more).stderr
        assert "no accuracy: the model does not know the classes" in said


def test_rows_of_one_sample_with_starts_are_meant_so(run, tmp_path):
    """Covariates that change over time have a row for every interval, with one name."""
    rng = np.random.default_rng(1)
    n = 40
    x = rng.standard_normal(n).round(3)
    rows = {
        "id": np.repeat(np.arange(n), 2),
        "start": np.tile([0, 1], n),
        "stop": np.tile([1, 2], n) + np.repeat(rng.random(n).round(3), 2),
        "died": np.stack([np.zeros(n, int), (x > 0).astype(int)], 1).ravel(),
        "x": np.repeat(x, 2),
        "z": rng.standard_normal(2 * n).round(3),
    }
    write_csv(tmp_path / "a.csv", rows)
    given = ("--time", "stop", "--event", "died", "--id", "id", "-k", 1, "--no-cv", "-o", "m.npz")
    assert "several rows" not in run("select", "a.csv", "--start", "start", *given).stderr


def test_replicates_are_held_out_together(run, tmp_path):
    """A model of noise would know each sample that it is scored on by another row of it."""
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((30, 40)), rng.standard_normal(30)
    noise = 1e-4 * rng.standard_normal((2, 30, 40))
    rows = [
        ",".join([f"S{i}", repr(float(y[i])), *map(repr, (X[i] + noise[turn, i]).tolist())])
        for i in range(30)
        for turn in range(2)
    ]
    head = ",".join(["id", "y", *(f"x{j}" for j in range(40))])
    (tmp_path / "twice.csv").write_text("\n".join([head, *rows]) + "\n")
    (tmp_path / "once.csv").write_text("\n".join([head, *rows[::2]]) + "\n")
    asked = ("--target", "y", "--id", "id", "-k", 25, "-C", 1e6, "--task", "numbers", "--json")
    twice = json.loads(run("select", "twice.csv", *asked, "--no-save").stdout)
    assert "samples of one name are held out together: 30 groups" in " ".join(twice["notes"])
    assert twice["models"][0]["cross_validation"]["mean"] < 0
    path = run("path", "twice.csv", "--target", "y", "--id", "id", "--loss", "least_squares",
               "--cv", 5, "--points", 5, "--json").stdout  # fmt: skip
    assert json.loads(path)["parameters"]["cv"] == 5
    assert "held out together" in " ".join(json.loads(path)["notes"])
    once = json.loads(run("select", "once.csv", *asked, "--no-save").stdout)
    assert "held out together" not in " ".join(once["notes"])
    kinds = json.loads(
        run(
            "cv", "twice.csv", "--target", "y", "--id", "id", "-k", 2, "--drop", "x0", "--json"
        ).stdout
    )
    assert "held out together" in " ".join(kinds["notes"])


def test_text_that_determines_the_classes_is_told(run, tmp_path):
    """By its column, of which the levels are features; other text is not."""
    rng = np.random.default_rng(0)
    kind = [*"abc"] * 15
    u, v = rng.standard_normal((2, 45)).tolist()
    text, name = [f"{one}x" for one in kind], [f"n{place % 20}" for place in range(45)]
    columns = {"u": u, "v": v, "text": text, "name": name, "kind": kind}
    write_csv(tmp_path / "d.csv", columns)
    given = ("select", "d.csv", "--target", "kind", *CHEAP, "--json", "-k", 3)
    (told,) = [one for one in json.loads(run(*given).stdout)["notes"] if "determines" in one]
    assert told.startswith("column 'text' alone determines the target (each of its levels has one")
    notes = json.loads(run(*given, "--drop", "text").stdout)["notes"]
    assert not any("determines" in note for note in notes)


@pytest.mark.slow
def test_the_page_holds_out_replicates_together(run, tmp_path, monkeypatch):
    """Curves of a page would flatter a model of replicates as its score does not."""
    pytest.importorskip("matplotlib")
    from zeronorm.reporting.page import figures as _figures

    rng = np.random.default_rng(2)
    X, code = np.repeat(rng.standard_normal((20, 6)), 2, axis=0), np.repeat(np.arange(20) % 2, 2)
    names = [f"S{i // 2}" for i in range(40)]
    columns = {f"x{j}": X[:, j].tolist() for j in range(6)}
    write_csv(tmp_path / "d.csv", {"id": names, **columns, "y": np.where(code, "b", "a").tolist()})
    seen = []
    known = _figures.splits

    def noted(labels, weight, cv, *arguments, groups):
        seen.append((cv, groups))
        return known(labels, weight, cv, *arguments, groups=groups)

    monkeypatch.setattr(_figures, "splits", noted)
    given = ("--target", "y", "--id", "id", "-k", 2, "--cv", 4, "--no-save")
    run("select", "d.csv", *given, "--report", "page.html", "--stability", 2)
    ((folds, groups),) = seen
    assert folds == 4
    assert len(set(zip(names, np.asarray(groups).tolist(), strict=True))) == 20


@pytest.mark.parametrize(
    ("rare", "message"),
    [
        (["S0", "S0", "S1", "S1"], "2 folds instead of 5: the class b has 2 samples"),
        (["S0", "S0", "S0", "S0"], "no cross-validation: the class b has one sample"),
    ],
)
def test_a_class_of_few_replicated_samples(run, tmp_path, rare, message):
    """Folds without a class would end the command after the fit, or say nothing of its rows."""
    rng = np.random.default_rng(1)
    names = [*rare, *(f"T{i // 2}" for i in range(40))]
    columns = {f"x{j}": rng.standard_normal(44).tolist() for j in range(3)}
    write_csv(tmp_path / "r.csv", {"id": names, **columns, "y": [*"bbbb", *("a" * 40)]})
    given = ("select", "r.csv", "--target", "y", "--id", "id", "-k", 1, "--no-save", "--json")
    for more in ((), ("--measure", "f1")):
        document = json.loads(run(*given, *more).stdout)
        assert message in document["notes"]
        validation = document["models"][0]["cross_validation"]
        assert (validation is None) == message.startswith("no ")


def test_numbers_of_few_replicated_samples(run, tmp_path):
    """More folds than samples would tear the rows of one apart."""
    rng = np.random.default_rng(1)
    columns = {f"x{j}": rng.standard_normal(12).tolist() for j in range(3)}
    columns["y"] = np.repeat([1.5, 2.5, 4.25], 4).tolist()
    write_csv(tmp_path / "r.csv", {"id": [f"S{i // 4}" for i in range(12)], **columns})
    given = ("--target", "y", "--id", "id", "-k", 1, "--task", "numbers", "--no-save", "--json")
    document = json.loads(run("select", "r.csv", *given).stdout)
    assert "no cross-validation: held-out numbers must differ" in document["notes"]


@pytest.mark.parametrize("levels", [2, 3])
def test_values_that_a_model_never_saw_are_told_in_quiet(run, tmp_path, levels):
    """A new batch would be scored as another one, and a script would not hear of it."""
    rng = np.random.default_rng(0)
    names = np.array([f"B{j}" for j in range(1, levels + 1)])
    batch = names[np.arange(60) % levels]
    X = rng.standard_normal((60, 3))
    y = np.where(X[:, 0] + (batch == "B2") > 0.3, "sick", "well")
    columns = {**{f"x{j}": X[:, j] for j in range(3)}, "batch": batch, "y": y}
    write_csv(tmp_path / "d.csv", columns)
    given = ("--target", "y", "-q", "--no-cv", "-o", "m.npz")
    if levels == 2:
        run("select", "d.csv", *given, "-k", 2, "--force", "batch=B2")
    else:
        run("select", "d.csv", *given, "-k", 2, "--force", "batch=B2", "--force", "x0")
    for name, label in {"new": "B9", "base": "B1"}.items():
        write_csv(tmp_path / f"{name}.csv", {**columns, "batch": [label] * 60})
    scored = "as if it were 'B1', the base level"
    if levels == 3:
        scored = "as if it were one of 'B1', 'B3', which have no coefficient"
    told = (
        f"Note: 60 rows have a value of 'batch' that the model never saw, as 'B9': scored {scored}."
    )
    for command in ("predict", "evaluate"):
        assert told in run(command, "m.npz", "new.csv", "-q").stderr
        assert "never saw" not in run(command, "m.npz", "base.csv", "-q").stderr
    new, base = (
        json.loads(run("predict", "m.npz", f"{name}.csv", "--proba", "--json").stdout)
        for name in ("new", "base")
    )
    assert new["probabilities"] == base["probabilities"]  # as the note says


def test_a_value_never_seen_where_all_levels_are_features(run, tmp_path):
    """It is none of the levels, and would be said to be one."""
    rng = np.random.default_rng(0)
    batch = np.array(["B1", "B2", "B3"])[np.arange(60) % 3]
    X = rng.standard_normal((60, 3))
    columns = {"x": X[:, 0], "batch": batch, "y": np.where(X[:, 0] > 0, "sick", "well")}
    write_csv(tmp_path / "d.csv", columns)
    run(
        "select",
        "d.csv",
        "--target",
        "y",
        "-q",
        "--no-cv",
        "-o",
        "m.npz",
        "-k",
        3,
        "--force",
        "batch",
    )
    write_csv(tmp_path / "new.csv", {**columns, "batch": ["B9"] * 60})
    said = run("predict", "m.npz", "new.csv", "-q").stderr
    assert "scored as none of the levels that it knows, each of which has a coefficient" in said
