"""Write two data sets of scikit-learn as CSV, to try the command line on.

python examples/outputs_csv.py

iris.csv has three classes in the column `species`, gym.csv the responses `Weight`, `Waist` and
`Pulse`.
"""

import csv

from sklearn.datasets import load_iris, load_linnerud

iris, gym = load_iris(), load_linnerud()
species = iris.target_names[iris.target].tolist()
for name, header, rows in (
    ("iris.csv", [*iris.feature_names, "species"],
     [[*row, label] for row, label in zip(iris.data.tolist(), species, strict=True)]),
    ("gym.csv", [*gym.feature_names, *gym.target_names],
     [[*row, *y] for row, y in zip(gym.data.tolist(), gym.target.tolist(), strict=True)]),
):  # fmt: skip
    with open(name, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    print(f"wrote {name}: {len(rows)} rows, {header[-1]} the last column")
