"""Checkpoints: killed fits end with the same bits; files that are wrong are refused by name."""

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
import scipy.sparse as sp

import zeronorm
from conftest import slow
from zeronorm import (
    BudgetClassifier,
    BudgetCV,
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    Checkpoint,
    L1Classifier,
    L1ClassifierCV,
    MeasureClassifier,
    cross_validate,
    methods,
)
from zeronorm.core import journal as _journal

N, P, K = 60, 40, 4
rng = np.random.default_rng(7)
X = rng.standard_normal((N, P))
Z = X[:, 3] - X[:, 11] + 0.8 * X[:, 20] + 0.5 * rng.standard_normal(N)
Y = (Z > 0).astype(int)
THREE = np.digitize(Z, [-0.7, 0.7])
TIMES = np.zeros(N, [("event", bool), ("time", float)])
TIMES["event"], TIMES["time"] = rng.random(N) < 0.7, np.exp(-Z)
GROUPS = np.repeat(np.arange(P // 4), 4)

FITS = {
    "pool": lambda **o: BudgetClassifier(K, **o).fit(X, Y),
    "calibrated": lambda **o: BudgetClassifier([2, K], calibrate=True, **o).fit(X, Y),
    "minimax": lambda **o: BudgetClassifier(K, method="minimax", calibrate=False, **o).fit(X, Y),
    "l0": lambda **o: BudgetRegressor(K, method="l0", **o).fit(X, Z),
    "proof": lambda **o: BudgetRegressor(K, method=methods.L0(gap=0.0), **o).fit(X, Z),
    "greedy": lambda **o: BudgetRegressor(K, method="greedy", **o).fit(X, np.c_[Z, X[:, 5]]),
    "l1": lambda **o: BudgetClassifier(K, method="l1", calibrate=False, **o).fit(X, Y),
    "bilevel": lambda **o: BudgetRegressor(K, n_groups=3, feature_groups=GROUPS, **o).fit(X, Z),
    "classes": lambda **o: BudgetClassifier(K, calibrate=False, **o).fit(X, THREE),
    "ovr": lambda **o: BudgetClassifier(K, multi_class="ovr", **o).fit(X, THREE),
    "survival": lambda **o: BudgetSurvivalAnalysis(K, **o).fit(X, TIMES),
    "raw": lambda **o: BudgetRegressor(K, standardize=False, **o).fit(X, Z),
    "L1": lambda **o: L1Classifier(0.1, **o).fit(X, Y),
    "folds": lambda **o: L1ClassifierCV(10, cv=3, **o).fit(X, Y),
    "measure": lambda **o: MeasureClassifier("f1", n_features=K, **o).fit(X, Y),
}
SOME = ("pool", "l0", "classes", "survival", "folds")


def bits(model):
    """All numbers of a model."""
    parts = [
        model.support_,
        model._support_coef,
        np.atleast_1d(getattr(model, "intercept_", 0.0)),
        model.n_scans_,
    ]
    return b"".join(np.asarray(part).tobytes() for part in parts)


def records_of(file):
    """The records of a checkpoint."""
    opened = _journal.JournalFile(file)
    opened.close()
    return opened.records


@pytest.fixture
def no_scans(monkeypatch):
    """Let every scan of the data fail."""

    def arm():
        def fail(*_):
            raise AssertionError("the data were read")

        monkeypatch.setattr("zeronorm.solvers.checkpoint.scan", fail)

    return arm


@pytest.mark.parametrize("name", [*SOME, *slow(*(n for n in FITS if n not in SOME))])
def test_a_fit_that_ends_in_any_pass_goes_on_with_the_same_bits(name, tmp_path, no_scans):
    """A resumed fit would be another one, or would read data that it had read."""
    file = tmp_path / "c"
    wanted = bits(FITS[name]())
    assert bits(FITS[name](checkpoint=file)) == wanted
    whole = file.read_bytes()
    ends = [record.end for record in records_of(file)]
    for end in (0, 10, *ends[:-1:3], ends[-1] - 1):
        cut = tmp_path / f"c{end}"
        cut.write_bytes(whole[:end])
        assert bits(FITS[name](checkpoint=cut)) == wanted
        assert cut.read_bytes() == whole
    no_scans()
    assert bits(FITS[name](checkpoint=file)) == wanted


PROGRAM = """
import sys, numpy as np
sys.path.insert(0, {tests!r})
import zeronorm
from test_checkpoints import FITS, bits
for name in {names!r}:
    with zeronorm.Checkpoint({folder!r} + "/" + name):
        found = bits(FITS[name]())
    print(name, found.hex(), flush=True)
print("end", flush=True)
"""


@pytest.mark.parametrize("seed", [0, *slow(*range(1, 5))])
@pytest.mark.slow
def test_a_program_that_is_killed_again_and_again_ends_with_the_same_bits(seed, tmp_path):
    """A kill at any moment, in writing too, would lose the fit or change its result."""
    names = [*SOME, "greedy", "calibrated"] if seed else ["pool", "l0", "classes", "folds"]
    folder = os.path.dirname(__file__)
    program = PROGRAM.format(tests=folder, names=names, folder=str(tmp_path))
    most = 4 if seed else 1
    draws, n_kills, known = np.random.default_rng(seed), 0, {}
    while True:
        with subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True
        ) as run:
            first = run.stdout.readline() if n_kills < most else ""  # it is at work
            time.sleep(draws.uniform(0.0, 0.3))
            if n_kills < most and run.poll() is None:
                run.send_signal(signal.SIGKILL)
                n_kills += 1
            lines = [first, *run.stdout.read().splitlines()]
        assert run.returncode in (0, -signal.SIGKILL)
        for line in lines:
            words = line.split()
            if len(words) == 2:
                assert known.setdefault(words[0], words[1]) == words[1]
        if "end" in lines:
            break
    assert n_kills
    assert set(known) == set(names)
    assert all(known[name] == bits(FITS[name]()).hex() for name in names)


def test_a_checkpoint_of_another_fit_is_refused_by_name(tmp_path):
    """A fit would go on from another one, or the message would not say what differs."""
    file = tmp_path / "c"
    model = BudgetClassifier(K, calibrate=False, checkpoint=file).fit(X, Y)
    before = file.read_bytes()
    weight = np.r_[2.0, np.ones(N - 1)]
    changed = X.copy()
    changed[5, 2] += 1e-9
    for word, options, data in (
        (r"C differs \('auto' there, '0.5' here\)", {"C": 0.5}, (X, Y)),
        (r"n_features differs \('4' there, '5' here\)", {"n_features": 5}, (X, Y)),
        ("y differs", {}, (X, 1 - Y)),
        ("sample_weight differs", {}, (X, Y, weight)),
        ("to other data", {}, (changed, Y)),
        ("to other data", {}, (X[:, :-1], Y)),
        ("to other data", {}, (X.astype(np.float32), Y)),
    ):
        other = BudgetClassifier(K, calibrate=False, checkpoint=file).set_params(**options)
        with pytest.raises(ValueError, match=f"c: the checkpoint of .*{word}.*another file"):
            other.fit(*data)
        assert file.read_bytes() == before
    with pytest.raises(ValueError, match="estimator differs"):
        BudgetRegressor(K, checkpoint=file).fit(X, Z)
    model.set_params(n_threads=1).fit(X, Y)
    assert file.read_bytes() == before


def test_files_that_are_no_sound_checkpoints(tmp_path):
    """A file of the user would be overwritten, or damage go unnoticed."""
    file = tmp_path / "c"
    fit = FITS["pool"]
    wanted = bits(fit(checkpoint=file))
    whole = file.read_bytes()
    records = records_of(file)
    for content, words in (
        (b"a,b\n1,2\n", "not a checkpoint of zeronorm; it stays as it is"),
        (whole.replace(b"checkpoint 1", b"checkpoint 2", 1), "of format 2"),
    ):
        file.write_bytes(content)
        with pytest.raises(ValueError, match=words):
            fit(checkpoint=file)
        assert file.read_bytes() == content
    for place in range(records[2].begin, records[2].end, 7):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        file.write_bytes(damaged)
        with (
            pytest.raises(
                ValueError,
                match=rf"damaged: the checksum of record 3 .*truncate -s {records[2].begin}",
            )
            if place > records[2].begin + 15
            else pytest.raises(ValueError, match="damaged")
        ):
            fit(checkpoint=file)
    file.write_bytes(whole[: records[2].begin])  # the remedy of the message
    assert bits(fit(checkpoint=file)) == wanted
    # A disk that knew of the length of the last record, but not of its content.
    file.write_bytes(whole[: records[4].begin] + bytes(500))
    assert bits(fit(checkpoint=file)) == wanted
    swapped = [whole[one.begin : one.end] for one in records]
    swapped[2], swapped[3] = swapped[3], swapped[2]
    file.write_bytes(whole[: records[0].begin] + b"".join(swapped))
    with pytest.raises(ValueError, match="record 3"):
        fit(checkpoint=file)
    with pytest.raises(FileNotFoundError, match="create it"):
        fit(checkpoint=tmp_path / "no" / "c")
    with pytest.raises(TypeError, match="checkpoint must be the path of a file; got 3"):
        fit(checkpoint=3)
    with pytest.raises(ValueError, match="not a regular file"):
        fit(checkpoint=tmp_path)


def test_a_checkpoint_in_use_is_refused(tmp_path):
    """Two fits would write into one file."""
    with Checkpoint(tmp_path / "c"), pytest.raises(ValueError, match="still running"):
        FITS["pool"](checkpoint=tmp_path / "c")


def test_a_full_disk_costs_the_checkpoint_and_no_fit(tmp_path, monkeypatch):
    """Hours of a fit would be lost for want of a place to keep them."""
    file = tmp_path / "c"
    wanted = bits(FITS["pool"](checkpoint=file))
    whole = file.read_bytes()
    file.unlink()
    write, room = os.write, 3 * N * P

    def full(descriptor, data):
        if os.lseek(descriptor, 0, os.SEEK_CUR) + len(data) > room:
            write(descriptor, bytes(data[:5]))
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data)

    monkeypatch.setattr(_journal.os, "write", full)
    with pytest.warns(UserWarning, match="cannot grow .No space left.*goes on without it"):
        assert bits(FITS["pool"](checkpoint=file)) == wanted
    monkeypatch.undo()
    assert whole.startswith(file.read_bytes())
    assert bits(FITS["pool"](checkpoint=file)) == wanted
    assert file.read_bytes() == whole


def test_several_fits_share_a_file_in_their_order(tmp_path, no_scans):
    """A fit and its cross-validation would need a file each, or take each other's answers."""

    def work(checkpoint=None, cv=3):
        model = BudgetRegressor(K).fit(X, Z)
        found = cross_validate(model, X, Z, cv=cv)
        search = BudgetCV(BudgetRegressor(feature_groups=GROUPS), range(1, 4), [1, 2], cv=3).fit(
            X, Z
        )
        proof = zeronorm.prove(model, X, Z, gap=0)
        return (
            bits(model),
            found.scores.tolist(),
            search.validation_.scores.tolist(),
            proof.certificate.bound,
        )

    wanted = work()
    for _ in range(2):
        with Checkpoint(tmp_path / "c"):
            assert work() == wanted
    with Checkpoint(tmp_path / "c"), pytest.raises(ValueError, match="fold 0 differs"):
        work(cv=4)
    no_scans()
    with Checkpoint(tmp_path / "c"):
        assert work() == wanted


def test_the_command_goes_on(run, tmp_path, monkeypatch):
    """A killed command would begin anew, or its file would be left behind at the end."""
    monkeypatch.chdir(tmp_path)
    lines = [",".join(map(repr, [*row, z])) for row, z in zip(X.tolist(), Z.tolist(), strict=True)]
    header = ",".join([*(f"g{j}" for j in range(P)), "z"])
    (tmp_path / "d.csv").write_text("\n".join([header, *lines]) + "\n")
    command = ("select", "d.csv", "--target", "z", "-k", "3", "--json", "-o", "m.npz")
    plain = json.loads(run(*command).stdout)
    kept = []
    with monkeypatch.context() as patched:
        patched.setattr("pathlib.Path.unlink", lambda path, **_: kept.append(path))
        first = run(*command, "--checkpoint", "c")
    assert [path.name for path in kept if path.name == "c"] == ["c"]
    n_passes = sum(one.about["kind"] == "scan" for one in records_of(tmp_path / "c"))
    again = json.loads(run(*command, "--checkpoint", "c").stdout)
    assert not (tmp_path / "c").exists()
    for document in (json.loads(first.stdout), again):
        document["models"][0].pop("seconds", None)
        assert document["models"] == plain["models"]
    assert f"went on from c, which has {n_passes} passes" in again["notes"]
    (tmp_path / "c").write_text("mine")
    refused = run(*command, "--checkpoint", "c", code=2)
    assert "not a checkpoint" in refused.stderr
    assert (tmp_path / "c").read_text() == "mine"


@pytest.mark.parametrize("place", [(0, 1), (17, 3), (N - 1, P - 2)])
def test_any_value_of_the_data_counts(place, tmp_path):
    """A fit of changed data would take its answers, and its certificate, from those of before."""
    model = BudgetRegressor(K, standardize=False, checkpoint=tmp_path / "c")
    model.fit(X, Z)
    other = X.copy()
    other[place] += 1e-3
    with pytest.raises(ValueError, match="other data"):
        model.fit(other, Z)


def stored_otherwise(kind, values, folder):
    """Return values as X of another storage."""
    if kind == "store":
        return zeronorm.write_store(values, folder / "x.zarr", overwrite=True).path
    if kind == "h5":
        h5py = pytest.importorskip("h5py")
        with h5py.File(folder / "x.h5", "w") as file:
            file["X"] = values
        return h5py.File(folder / "x.h5")["X"]
    return {"float32": values, "rows": values, "csr": sp.csr_array(values),
            "columns": np.asfortranarray(values), "csc": sp.csc_array(values)}[kind]  # fmt: skip


@pytest.mark.parametrize("kind", ["float32", "rows", "columns", "csr", "csc", "store", "h5"])
def test_a_change_below_the_rounding_of_a_sum_counts(kind, tmp_path):
    """Answers of other data would be taken where a sum over the rows rounds the change away."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((500, 6))
    values[:, 5] += 1e6
    values = values.astype(np.float32) if kind == "float32" else values
    y = values[:, 0] + rng.standard_normal(500)
    model = BudgetRegressor(2, standardize=False, checkpoint=tmp_path / "c")
    model.fit(stored_otherwise(kind, values, tmp_path), y)
    before = (tmp_path / "c").read_bytes()
    model.fit(stored_otherwise(kind, values.copy(), tmp_path), y)
    for place in ((7, 2), (499, 5)):
        other = values.copy()
        other[place] = np.nextafter(other[place], np.inf)
        with pytest.raises(ValueError, match="other data"):
            model.fit(stored_otherwise(kind, other, tmp_path), y)
    assert (tmp_path / "c").read_bytes() == before
