"""Write simulated data with three kinds of targets as CSV files, to try the command line on.

python examples/targets_csv.py

numbers.csv has the column `pressure`, counts.csv `visits` in `years` of observation, survival.csv
`days` until the event or the end of observation, and `status`, dead or alive.
"""

import csv

import numpy as np

rng = np.random.default_rng(0)
n, p = 200, 20
X = rng.standard_normal((n, p)).round(4)
signal = X[:, 3] - 0.8 * X[:, 8]
years = rng.uniform(0.5, 5.0, n).round(2)
days = rng.exponential(1000.0 * np.exp(-signal)).round() + 1.0
targets = {
    "numbers.csv": {"pressure": (120.0 + 8.0 * signal + 5.0 * rng.standard_normal(n)).round(1)},
    "counts.csv": {"visits": rng.poisson(years * np.exp(0.5 * signal)), "years": years},
    "survival.csv": {
        "days": np.minimum(days, 2000.0),
        "status": np.where(days < 2000.0, "dead", "alive"),
    },
}
for path, columns in targets.items():
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"marker_{j}" for j in range(p)), *columns])
        rows = zip(X.tolist(), *(column.tolist() for column in columns.values()), strict=True)
        writer.writerows([*row, *rest] for row, *rest in rows)
    print(f"wrote {path}: {n} rows, {p} features, {' and '.join(columns)}")
