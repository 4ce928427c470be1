"""What a fit will need of memory, said before it begins."""

import json
import subprocess
import sys

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

from annotated import write_h5ad
from conftest import make_classification, slow
from golub import GOLUB
from zeronorm import (
    BudgetClassifier,
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    L1Classifier,
    MeasureClassifier,
    estimate_memory,
    methods,
)
from zeronorm.core import memory as _memory
from zeronorm.estimators import memory
from zeronorm.estimators.memory import MemoryWarning

X, Y = make_classification(60, 30, seed=2)

FIT = """
import sys
import numpy as np
from zeronorm import BudgetClassifier, estimate_memory
rng = np.random.default_rng(0)
n, p, k = map(int, sys.argv[1:])
X = np.empty((n, p), np.float32, order="F")
for j in range(0, p, 500):
    X[:, j : j + 500] = rng.standard_normal((n, min(500, p - j)), np.float32)
y = X[:, :5].sum(axis=1) > 0
model = BudgetClassifier(k, calibrate=False)
said = estimate_memory(X, model, y)
model.fit(X, y)
sizes = dict(line.split(":", 1) for line in open("/proc/self/status"))
peak, of_files = (1024 * int(sizes[name].split()[0]) for name in ("VmHWM", "RssFile"))
print(said.total, peak - of_files, said.parts["X"])  # libraries are no memory of its own
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("shape", [(100, 200_000, 10), *slow((5_000, 2_000, 60))])
def test_an_estimate_is_right_within_a_factor(shape):
    """Who plans a machine by it would get one that is too small, or pay for one too large."""
    call = [sys.executable, "-c", FIT, *map(str, shape)]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    said, peak, of_x = map(int, done.stdout.split())
    assert of_x == 4 * shape[0] * shape[1]
    assert peak / 1.5 < said < peak * 1.5


def test_parts_follow_the_storage(tmp_path):
    """A file would count as memory, or a copy that a method makes be forgotten."""
    model = BudgetClassifier(5)
    F = np.asfortranarray(X)
    assert estimate_memory(F, model).parts["X"] == X.nbytes
    np.save(tmp_path / "x.npy", X)
    mapped = estimate_memory(tmp_path / "x.npy", model)
    assert mapped.parts["X"] == 0
    with h5py.File(tmp_path / "x.h5", "w") as file:
        blocks = estimate_memory(file.create_dataset("x", data=X, chunks=(60, 5)), model)
        assert blocks.parts["X"] == 0
        assert blocks.parts["blocks"] >= 2 * X.nbytes
    S = sp.csr_array(X)
    for estimator in (L1Classifier(), BudgetClassifier(5, method="l1"), model):
        assert estimate_memory(S, estimator).parts["conversion"] > 0
    assert estimate_memory(S.tocsc(), model).parts["conversion"] == 0
    said = estimate_memory(F, model)
    assert said.total == sum(said.parts.values())


@pytest.mark.parametrize(
    "estimator",
    [
        *(
            BudgetClassifier(5, method=name)
            for name, method in methods.METHODS.items()
            if "features" in method.budgets
        ),
        BudgetClassifier([3, 9]), BudgetClassifier(n_groups=2, feature_groups=np.arange(30) // 3),
        BudgetClassifier(5, n_groups=2, feature_groups=np.arange(30) // 3),
        BudgetClassifier(), BudgetRegressor(5), BudgetSurvivalAnalysis(5), L1Classifier(),
        MeasureClassifier("f1", 5),
    ],
    ids=repr,
)  # fmt: skip
def test_every_estimator_has_an_estimate(estimator):
    """Fits of a method would end with a KeyError where the memory is looked at."""
    found = estimate_memory(X, estimator)
    assert all(size >= 0 for size in found.parts.values())
    assert found.fit > 0
    assert "are available" in str(found)


def test_a_method_that_was_not_measured_has_an_estimate():
    """Large fits by a method of a user's own would end with a KeyError."""

    class Own(methods.Greedy):
        name = "own"

    assert estimate_memory(X, BudgetClassifier(5, method=Own(), calibrate=False)).fit > 0


def test_more_features_and_classes_need_more():
    """Somebody would be told that a model of 1000 features costs what one of 10 does."""
    big = np.broadcast_to(np.float32(0), (10_000, 50_000))
    sizes = [
        estimate_memory(big, BudgetClassifier(k, calibrate=False)).fit for k in (10, 100, 1000)
    ]
    assert sizes[0] < sizes[1] < sizes[2]
    y = np.arange(10_000) % 5
    model = BudgetClassifier(100, calibrate=False)
    assert estimate_memory(big, model, y).fit > 2 * estimate_memory(big, model, y % 2).fit
    assert estimate_memory(big, BudgetClassifier(100, calibrate=True)).fit > sizes[1]


def test_a_fit_without_room_warns_and_goes_on(monkeypatch):
    """Hours of work would end by the system's hand, or a fit that has room be refused."""
    monkeypatch.setattr(memory, "NOTICED", 1)
    monkeypatch.setattr(memory, "available_memory", lambda: 1000.0)
    with pytest.warns(MemoryWarning, match=r"will need about .* 1 kB are available") as told:
        model = BudgetClassifier(3, calibrate=False).fit(X, Y)
    assert model.support_.size == 3
    assert len(told) == 1
    assert told[0].filename == __file__
    monkeypatch.setattr(memory, "available_memory", lambda: np.inf)
    BudgetClassifier(3, calibrate=False).fit(X, Y)


def test_the_least_limit_counts(monkeypatch, tmp_path):
    """In a container the memory of the whole machine would be taken for its own."""
    assert 0 < _memory.available_memory() < np.inf
    first, second = tmp_path / "memory" / "jobs" / "7", tmp_path / "jobs" / "7"
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes"), ("memory.max", "memory.current")
    stat = "inactive_file 1\ntotal_inactive_file 200\n", "inactive_file 200\n"
    monkeypatch.setattr(_memory, "_CONTROL_GROUPS", tmp_path)
    monkeypatch.setattr(_memory, "_OWN_GROUPS", tmp_path / "own")
    for group, (limit, used), text in zip((first, second), names, stat, strict=True):
        group.mkdir(parents=True)
        for name, content in ((limit, "3000"), (used, "1000"), ("memory.stat", text)):
            (group / name).write_text(content)
        line = "4:cpu,memory:/jobs/7\n" if group is first else "0::/jobs/7\n"
        (tmp_path / "own").write_text(f"3:cpuset:/elsewhere\n{line}")
        assert _memory.available_memory() == 2200.0
        (group / limit).write_text("max\n")
        assert _memory.available_memory() > 2200.0
        (group.parent / limit).write_text("2000")  # of all jobs
        (group.parent / used).write_text("1900")
        assert _memory.available_memory() == 100.0
    monkeypatch.setattr(_memory, "_of_machine", lambda: 5.0)
    assert _memory.available_memory() == 5.0
    assert [_memory.readable(size) for size in (12, 3400, 5.67e6, 1e9, 2e12)] == [
        "12 bytes", "3.4 kB", "5.67 MB", "1 GB", "2 TB",
    ]  # fmt: skip


def test_info_of_data(run, fails, tmp_path):
    """What a selection needs would be known only after it has failed."""
    text = run("info", GOLUB, "-k", "50").stdout
    assert "38 samples x 3,051 features" in text
    assert "selecting 50 features will need about" in text
    layers = {"counts": sp.csr_array(X)}
    write_h5ad(tmp_path / "c.h5ad", X, {"kind": (Y, ["a", "b"]), "age": Y * 1.0}, layers=layers)
    text = run("info", "c.h5ad").stdout
    for part in ("dense float64, read by blocks", "is compressed", "counts", "age, kind"):
        assert part in text
    document = json.loads(run("info", "c.h5ad", "--layer", "counts", "--json").stdout)
    assert document["storage"] == "sparse float64, read by blocks"
    assert document["total"] == sum(document["memory"].values())
    assert document["columns"] == ["age", "kind"]
    assert "no such file" in fails("info", "missing.h5ad")
    assert "--features" in fails("info", GOLUB, "-k", "0")
    (tmp_path / "half.model.npz").write_bytes(b"PK\x03\x04")
    assert "not a model file" in fails("info", "half.model.npz")
