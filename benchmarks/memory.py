"""What `estimate_memory` says beside the memory that fits took, each in a process of its own.

    python benchmarks/memory.py [--small]

Every row is a fit of an estimator on data in some storage: what the estimate was before the fit,
and the largest memory that the process had of its own (RssAnon, looked at every 2 ms from outside;
pages of mapped files, which the system may take back, do not count). The ratio is that of the
whole; beside it are the parts that the fit adds to the process and to X.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import _common as common

CHILD = r"""
import gc, json, sys
import numpy as np
import scipy.sparse as sp
import zeronorm
from zeronorm import *
from zeronorm.estimators.memory import estimate_memory

spec, folder = json.loads(sys.argv[1]), sys.argv[2]
storage, n, p = spec["storage"], spec["n"], spec["p"]
rng = np.random.default_rng(0)
kind = {"f4": np.float32, "f8": np.float64, "i1": np.int8}.get(storage[:2], np.float32)
if storage.startswith(("csr", "csc")):
    per = max(1, n // 100)
    rows = np.sort(rng.integers(0, n, (p, per), np.int32), axis=1).ravel()
    indptr = np.arange(p + 1, dtype=np.int32) * per
    X = sp.csc_array((np.ones(p * per, np.float32), rows, indptr), (n, p))
    X.sum_duplicates()
    del rows
    first = X[:, :5].toarray()
    X = X.tocsr() if storage.startswith("csr") else X
else:
    X = np.empty((n, p), kind, order="C" if storage.endswith("C") else "F")
    for j in range(0, p, 500):
        X[:, j : j + 500] = 10 * rng.standard_normal((n, min(500, p - j)), np.float32)
    first = X[:, :5].astype(float)
m = first.sum(axis=1)
m = m / m.std() + 0.3 * rng.standard_normal(n)
y = np.argsort(np.argsort(m)) * spec.get("classes", 2) // n
if "Regressor" in spec["estimator"]:
    y = m
if "Survival" in spec["estimator"]:
    y = np.zeros(n, [("event", bool), ("time", float)])
    y["event"], y["time"] = rng.uniform(size=n) < 0.7, np.exp(-m)
if storage.endswith(("mapped", "h5")):
    if storage.endswith("mapped"):
        np.save(folder + "/x.npy", X)
        X = np.load(folder + "/x.npy", mmap_mode="r")
    else:
        import h5py
        file = h5py.File(folder + "/x.h5", "w")
        if sp.issparse(X):
            group = file.create_group("X")
            group.attrs["encoding-type"], group.attrs["shape"] = X.format + "_matrix", X.shape
            for name in ("data", "indices", "indptr"):
                group.create_dataset(name, data=getattr(X, name), chunks=True, compression=1)
            X = group
        else:
            chunks = (64, p) if "row" in storage else (n, max(1, 10**6 // n))
            X = file.create_dataset("X", data=X, chunks=chunks, compression=1)
gc.collect()
model = eval(spec["estimator"])
said = estimate_memory(X, model, y)
print(json.dumps(said.parts), flush=True)
model.fit(X, y)
"""

# Estimator, storage, samples, features and, of several classes, their number.
CASES: list[tuple[str, str, int, int, int]] = [
    ("BudgetClassifier(10, calibrate=False)", "f4F", 200, 500_000, 2),
    ("BudgetClassifier(100, calibrate=False)", "f4C", 10_000, 10_000, 2),
    ("BudgetClassifier(150, calibrate=False)", "i1F", 10_000, 20_000, 2),
    ("BudgetClassifier(50)", "f4F", 500, 200_000, 2),
    ("BudgetClassifier(30, calibrate=False)", "f4F", 5_000, 20_000, 5),
    ("BudgetClassifier(50, calibrate=False)", "csr", 20_000, 100_000, 2),
    ("BudgetClassifier(50, calibrate=False)", "csc", 20_000, 100_000, 2),
    ("BudgetClassifier(50, calibrate=False)", "f4F mapped", 5_000, 40_000, 2),
    ("BudgetClassifier(50, calibrate=False)", "f4C h5", 5_000, 3_000, 2),
    ("BudgetClassifier(50, calibrate=False)", "f4C row h5", 5_000, 3_000, 2),
    ("BudgetClassifier(50, calibrate=False)", "csr h5", 20_000, 20_000, 2),
    ("BudgetClassifier(50, method='minimax', calibrate=False)", "f4F", 10_000, 10_000, 2),
    ("BudgetClassifier(20, method='greedy', calibrate=False)", "f4F", 500, 300_000, 2),
    ("BudgetClassifier(20, method='l0', calibrate=False)", "f4F", 500, 300_000, 2),
    ("BudgetClassifier(20, method='l1', calibrate=False)", "csr", 20_000, 100_000, 2),
    ("BudgetRegressor(50)", "f4F", 10_000, 10_000, 2),
    ("BudgetSurvivalAnalysis(20)", "f4F", 2_000, 50_000, 2),
    ("L1Classifier(C=0.001)", "f4F", 500, 300_000, 2),
    ("L1Classifier(C=0.001)", "csr", 20_000, 100_000, 2),
    ("L1ClassifierCV(Cs=10, cv=3)", "f4F", 500, 100_000, 2),
    ("MeasureClassifier('f1', 10)", "f4F", 500, 300_000, 2),
]


def measure(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the estimate of a fit, in MB by part, and the largest memory that it took."""
    with tempfile.TemporaryDirectory() as folder:
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, json.dumps(spec), folder],
            stdout=subprocess.PIPE, text=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
        assert child.stdout is not None
        line = child.stdout.readline()
        begin, peak, before = time.perf_counter(), 0.0, 0.0
        while child.poll() is None:
            own = anonymous(child.pid)
            before = before or own
            peak = max(peak, own)
            time.sleep(0.002)
        if child.returncode or not line:
            raise RuntimeError(f"{spec} failed")
    parts = {name: size / 1e6 for name, size in json.loads(line).items()}
    total = sum(parts.values())
    return {
        **spec, "parts": parts, "estimate": total, "peak": peak, "ratio": total / peak,
        "estimate_fit": total - parts["process"] - parts["X"], "fit": peak - before,
        "seconds": time.perf_counter() - begin,
    }  # fmt: skip


def anonymous(pid: int) -> float:
    """Return the memory of its own that a process has, in MB."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024 / 1e6
    except (FileNotFoundError, ProcessLookupError):
        pass
    return 0.0


def main() -> None:
    """Run the fits and write the results."""
    parser = common.parser(__doc__)
    parser.add_argument("--small", action="store_true", help="a tenth of the features")
    parser.add_argument("--only", default="", help="fits whose line contains this")
    options = parser.parse_args()
    machine, rows = common.machine(), []
    for estimator, storage, n, p, classes in CASES:
        if options.only not in f"{estimator} {storage}":
            continue
        p = p // 10 if options.small else p
        spec = {"estimator": estimator, "storage": storage, "n": n, "p": p, "classes": classes}
        rows.append(measure(spec))
        last = rows[-1]
        print(
            f"{estimator:56} {storage:11} {n} x {p}: {last['estimate']:.0f} of {last['peak']:.0f}"
            f" MB ({last['ratio']:.2f}), fit {last['estimate_fit']:.0f} of {last['fit']:.0f}, "
            f"{last['seconds']:.1f} s",
            flush=True,
        )
    worst = max(max(row["ratio"], 1 / row["ratio"]) for row in rows)
    text = common.table(
        ["estimator", "storage", "samples x features", "estimate", "peak", "ratio",
         "of the fit: estimate", "measured"],
        [
            [f"`{row['estimator']}`", row["storage"], f"{row['n']:,} x {row['p']:,}",
             f"{row['estimate']:.0f} MB", f"{row['peak']:.0f} MB", f"{row['ratio']:.2f}",
             f"{row['estimate_fit']:.0f} MB", f"{row['fit']:.0f} MB"]
            for row in rows
        ],
    )  # fmt: skip
    bars = [common.bar("estimate and peak", "within 1.5", f"within {worst:.2f}", worst <= 1.5)]
    head = "# Memory: what is said before a fit, and what it took\n\n"
    data = {"machine": machine, "bars": bars, "fits": rows}
    common.write(options.results, "memory", data, f"{head}{common.bars_table(bars)}\n\n{text}")


if __name__ == "__main__":
    main()
