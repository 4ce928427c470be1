"""Whether a change of the code has changed a value that a user sees: forty commands, thirty calls.

    python benchmarks/snapshot.py --write benchmarks/snapshot.json     before a change
    python benchmarks/snapshot.py                                      after it
    python benchmarks/snapshot.py --only predict                       lines whose name has that

Kept are the values, not the wording: of the JSON of a command its numbers and its names, by their
place; of a call what it returns. What is gone and what is new is listed beside what has changed,
the latter alone is a failure. Times, files and versions are left out. The digits depend on the
machine; `--tol` is what may differ relatively, 1e-9 by default.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import _common as common
import zeronorm as zn
import zeronorm.inference

FILE = common.HERE / "snapshot.json"
Values = dict[str, Any]
LEFT_OUT = re.compile(
    r"second|time_|_time|version|path|file|date|memory|threads|machine|python|bytes|created|total|available",
    re.I,
)
SHOWN = 12

COMMANDS = """
select golub --features 4 --no-cv
select golub --features 2,8 --output golub.npz --certificate golub.cert
select golub --features 1,3,6 --cv 3 --rule best
select golub --features auto --cv 4
select classes.csv --features 3 --target outcome --output classes.npz
select classes.csv --features 3 --target outcome --drop x3 --drop x4 --force x7 --no-cv
select classes.csv --features 3 --target outcome --covariates age,sex
select classes.csv --features 3 --target outcome --signs x0=+ --class-weight balanced
select classes.csv --features 4 --target outcome --method minimax --C 0.5
select classes.csv --features 4 --target outcome --method l1 --no-calibrate
select classes.csv --features 4 --target outcome --refit-c 1
select classes.csv --features 3 --target outcome --measure f1 --positive yes
select counts.csv --features 4 --groups 2 --group-file groups.csv --target outcome --drop weeks
select classes.csv --features 3 --target outcome --cv-groups person
select classes.csv --features 3 --target outcome --stability 5
select classes.csv --features 3 --target outcome --permutations 19
select classes.csv --features 3 --target outcome --prove --gap 0.01 --time-limit 20
select three.csv --features 3 --target outcome
select three.csv --features 3 --target outcome --order low,middle,high
select numbers.csv --features 3 --target outcome --output numbers.npz
select numbers.csv --features 3 --target outcome --loss huber
select numbers.csv --features 3 --target outcome --loss quantile:0.8
select counts.csv --features 3 --target outcome --task counts --exposure weeks --output counts.npz
select survival.csv --features 3 --time time --event event --output survival.npz
select survival.csv --features 3 --time time --event event --strata sex --ties efron
select survival.csv --features 3 --time time --event event --covariates age
select matrix.csv --samples samples.csv --target outcome --features 3
select missing.csv --features 3 --target outcome --missing mean
cv classes.csv --features 1,2,4 --target outcome --cv 4
cv numbers.csv --features 1,3 --target outcome --cv 3
path classes.csv --target outcome --points 12
path numbers.csv --target outcome --points 12 --cv 3 --loss least_squares
discover numbers.csv --target outcome
certify x0,x1,x5 classes.csv --target outcome
prove x0,x1 classes.csv --target outcome --gap 0.001 --time-limit 20
verify golub.cert golub
evaluate classes.npz classes.csv --target outcome
evaluate numbers.npz numbers.csv --target outcome
evaluate counts.npz counts.csv --target outcome --exposure weeks
evaluate survival.npz survival.csv --time time --event event
predict classes.npz classes.csv --proba
predict classes.npz classes.csv --threshold 0.7
predict numbers.npz numbers.csv --interval 0.8
predict survival.npz survival.csv --times 0.5,1
info classes.npz
info survival.csv
""".strip().splitlines()


def drawn(seed: int = 0, n: int = 90, p: int = 24) -> tuple[pd.DataFrame, np.ndarray]:
    """Return features with some columns about the samples, and a score that three features have."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)).round(4)
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(p)])
    table["age"], table["sex"] = rng.integers(30, 80, n), rng.choice(["f", "m"], n)
    table["person"] = np.repeat(np.arange(n // 3), 3)
    return table, X[:, 0] - X[:, 1] + 0.7 * X[:, 5] + 0.8 * rng.standard_normal(n)


def write_tables(folder: Path) -> None:
    """Write the tables that the commands read."""
    table, z = drawn()
    rng = np.random.default_rng(1)
    targets = {
        "classes": np.where(z > 0, "yes", "no"),
        "three": np.array(["low", "middle", "high"])[np.digitize(z, [-0.8, 0.8])],
        "numbers": (10 + 2 * z).round(3),
    }
    for name, target in targets.items():
        table.drop(columns=["person", "age", "sex"] if name != "classes" else []).assign(
            outcome=target
        ).to_csv(folder / f"{name}.csv", index=False)
    features = table.drop(columns=["person", "age", "sex"])
    weeks = rng.uniform(0.5, 2.0, len(z)).round(2)
    counts = rng.poisson(weeks * np.exp(0.6 * z))
    features.assign(outcome=counts, weeks=weeks).to_csv(folder / "counts.csv", index=False)
    times = rng.exponential(np.exp(-z)).round(4) + 0.0001
    event = (rng.random(len(z)) < 0.7).astype(int)
    table.drop(columns="person").assign(time=times, event=event).to_csv(
        folder / "survival.csv", index=False
    )
    holes = features.mask(rng.random(features.shape) < 0.05)
    holes.assign(outcome=targets["classes"]).to_csv(folder / "missing.csv", index=False)
    names = [f"s{i}" for i in range(len(z))]
    turned = features.T
    turned.columns = names
    turned.to_csv(folder / "matrix.csv", index_label="feature")
    pd.DataFrame({"sample": names, "outcome": targets["classes"]}).to_csv(
        folder / "samples.csv", index=False
    )
    with np.load(common.GOLUB) as file, (folder / "golub").open("wb") as copy:
        arrays = {name: file[name] for name in ("X", "feature_names", "descriptions")}
        np.savez(copy, leukaemia=file["y"], **arrays)
    groups = [f"g{j // 4}" for j in range(24)]
    pd.DataFrame({"feature": features.columns, "group": groups}).to_csv(
        folder / "groups.csv", index=False
    )


def flat(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the numbers and names of a document, each with its place."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if not LEFT_OUT.search(str(key)):
                yield from flat(inner, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from flat(inner, f"{place}[{number}]")
    elif isinstance(value, str):
        if value and len(value) < 40 and " " not in value:  # a name; others are wording
            yield place, value
    else:
        yield place, value


def of_command(line: str, folder: Path) -> Values:
    """Return the values of a command; of one that fails the exit code."""
    given = shlex.split(line)
    if given[1] == "golub":
        given += ["--target", "leukaemia"]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "COLUMNS": "100"}
    done = subprocess.run(
        [sys.executable, "-m", "zeronorm", *given, "--json"],
        cwd=folder, capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip
    if done.returncode:
        return {"exit code": done.returncode}
    return dict(flat(json.loads(done.stdout)))


def plain(value: Any) -> Any:
    """Return what JSON has for an array, a number or a table."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.item() if isinstance(value, np.generic) else value


def of_model(model: Any) -> Values:
    """Return what users read of a fitted estimator."""
    names = (
        "support_", "coef_", "intercept_", "C_", "n_features_", "best_score_", "groups_",
        "expected_low_", "threshold_",
    )  # fmt: skip
    return {name: plain(getattr(model, name)) for name in names if hasattr(model, name)}


def calls() -> dict[str, Callable[[], Any]]:
    """Return the calls, by what stands in the snapshot."""
    table, z = drawn()
    X = table.filter(regex="^x")
    y, numbers = np.where(z > 0, "yes", "no"), 10 + 2 * z
    rng = np.random.default_rng(1)
    weeks = rng.uniform(0.5, 2.0, len(z)).round(2)
    counts = rng.poisson(weeks * np.exp(0.6 * z))
    event, times = rng.random(len(z)) < 0.7, rng.exponential(np.exp(-z))
    survival = np.rec.fromarrays([event, times], names=["event", "time"])
    three = np.digitize(z, [-0.8, 0.8])
    person = table["person"].to_numpy()
    weight = rng.integers(1, 4, len(z)).astype(float)
    groups = np.arange(24) // 4
    two = np.column_stack([numbers, numbers + X["x7"]])
    budget, regressor = zn.BudgetClassifier, zn.BudgetRegressor

    def fit(model: Any, target: Any, data: Any = X, **given: Any) -> Callable[[], Any]:
        return lambda: of_model(model.fit(data, target, **given))

    def certified() -> Any:
        model = budget(3, calibrate=False).fit(X, y)
        return zn.verify(model.certificate_, X, y), zn.certify(model, X, y).gap

    def predicted() -> Any:
        model = budget(3).fit(X, y)
        return model.predict_proba(X)[:5].tolist(), model.predict(X)[:5].tolist()

    def survived() -> Any:
        model = zn.BudgetSurvivalAnalysis(3).fit(X, survival)
        curves = model.predict_survival_function(X[:3], return_array=True)
        return plain(curves[:, ::9]), plain(model.predict(X[:4]))

    return {
        "classes": fit(budget(3), y),
        "classes, several sizes": fit(budget([1, 3, 6]), y),
        "classes, auto": fit(budget("auto"), y),
        "classes, weights": fit(budget(3, C="auto"), y, sample_weight=weight),
        "classes, rows of persons": fit(budget(3, C="auto"), y, groups=person),
        "classes, signs": fit(budget(3, signs=1), y),
        "classes, covariates": fit(budget(3, covariates=["x9"]), y),
        "classes, pairs": fit(budget(3, C="auto", multi_class="ovr"), three),
        "classes, several at once": fit(budget(3), three),
        "classes, ordered": fit(budget(3, loss="ordinal"), three),
        "numbers": fit(regressor(3), numbers),
        "numbers, huber": fit(regressor(3, loss="huber"), numbers),
        "numbers, two": fit(regressor(3), two),
        "counts": fit(regressor(3, loss="poisson"), counts, offset=np.log(weeks)),
        "survival": fit(zn.BudgetSurvivalAnalysis(3), survival),
        "survival, covariates": fit(zn.BudgetSurvivalAnalysis(3, covariates=["x9"]), survival),
        "groups": fit(
            budget(4, n_groups=2, feature_groups=groups, method="bilevel", calibrate=False), y
        ),
        "l1": fit(zn.L1Classifier(0.2), y),
        "l1, numbers": fit(zn.L1Regressor(0.2), numbers),
        "l1, survival": fit(zn.L1SurvivalAnalysis(0.2), survival),
        "l1, cross-validated": fit(zn.L1ClassifierCV(8, cv=3), y),
        "measure": fit(zn.MeasureClassifier("f1", 3), three > 1),
        "search": fit(zn.BudgetCV(budget(calibrate=False), [1, 3, 5], cv=3), y),
        "minimax": fit(budget(3, method="minimax", calibrate=False), y),
        "l0": fit(budget(3, method="l0", calibrate=False), y),
        "certificates": certified,
        "probabilities": predicted,
        "curves": survived,
        "cross-validation": lambda: plain(
            zn.cross_validate(budget([1, 3], calibrate=False), X, y, cv=4).scores
        ),
        "permutations": lambda: plain(
            zn.permutation_test(budget(3, calibrate=False), X, y, n_permutations=9).p_value
        ),
        "stability": lambda: of_model(
            zn.inference.StabilitySelection(budget(3, calibrate=False), n_pairs=5).fit(X, y)
        ),
        "discoveries": lambda: of_model(
            zn.inference.FalseDiscoverySelector(0.3, n_experiments=4).fit(X, numbers)
        ),
    }


def of_call(call: Callable[[], Any]) -> Values:
    """Return the values of a call; of one that fails the kind of error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return dict(flat(json.loads(json.dumps(call(), default=plain))))
        except Exception as error:
            return {"error": type(error).__name__}


def differs(old: Any, new: Any, tol: float) -> bool:
    """Return whether two values differ by more than is allowed."""
    if isinstance(old, float) and isinstance(new, int | float):
        return not abs(new - old) <= tol * max(abs(old), abs(new), 1e-12)
    return bool(old != new)


def main() -> int:
    """Compare today's values to those kept; with --write, keep them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--write", type=Path, help="write the values to this file")
    parser.add_argument("--against", type=Path, default=FILE, help="default: snapshot.json")
    parser.add_argument("--only", default="", help="lines and calls whose name has this")
    parser.add_argument("--tol", type=float, default=1e-9, help="default: 1e-9, relative")
    asked = parser.parse_args()
    found: dict[str, Values] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tables(folder)
        writers = [line for line in COMMANDS if " --output " in line]
        others = [line for line in COMMANDS if line not in writers and asked.only in line]
        with ThreadPoolExecutor(2) as pool:
            for some in (writers, others):  # the others read what the first ones write
                for line, values in zip(
                    some, pool.map(lambda line: of_command(line, folder), some), strict=True
                ):
                    found[line] = values
    found |= {
        f"call: {name}": of_call(call) for name, call in calls().items() if asked.only in name
    }
    if asked.write:
        asked.write.write_text(json.dumps(found, indent=0) + "\n")
        print(f"{len(found)} lines and calls, {sum(map(len, found.values()))} values")
        return 0
    kept = json.loads(asked.against.read_text())
    worst = 0
    for line, values in found.items():
        if line not in kept:
            print(f"{line}: is not in the snapshot")
            continue
        old = kept[line]
        gone, new = sorted(set(old) - set(values)), sorted(set(values) - set(old))
        changed = [
            place
            for place in old
            if place in values and differs(old[place], values[place], asked.tol)
        ]
        for word, places in (("gone", gone), ("new", new)):
            if places:
                roots = dict.fromkeys(re.split(r"[.\[]", place)[0] for place in places)
                print(f"{line}: {len(places)} {word}: {', '.join(list(roots)[:SHOWN])}")
        for place in changed[:SHOWN]:
            print(f"{line}: {place}: {old[place]} -> {values[place]}")
        worst += len(changed)
    print(f"{worst} values changed")
    return int(worst > 0)


if __name__ == "__main__":
    sys.exit(main())
