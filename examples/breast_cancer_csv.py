"""Write data whose features are in groups, as a CSV file and a group file: for `select --groups`.

python examples/breast_cancer_csv.py cells.csv groups.tsv

Ten properties of cell nuclei (Wisconsin diagnostic data, from scikit-learn) are measured on every
sample; the mean, the error and the worst value of each are three features in one group.
"""

import csv
import sys

from sklearn.datasets import load_breast_cancer

path, group_path = sys.argv[1:3] if len(sys.argv) > 2 else ("cells.csv", "groups.tsv")
data = load_breast_cancer()
names = data.feature_names.tolist()
with open(path, "w", newline="", encoding="utf-8") as file:
    writer = csv.writer(file)
    writer.writerow([*names, "diagnosis"])
    labels = data.target_names[data.target].tolist()
    writer.writerows([*row, label] for row, label in zip(data.data.tolist(), labels, strict=True))
with open(group_path, "w", encoding="utf-8") as file:
    file.write("feature\tgroup\n")
    for name in names:
        group = name.removeprefix("mean ").removeprefix("worst ").removesuffix(" error")
        file.write(f"{name}\t{group}\n")
print(f"wrote {path}: {len(data.target)} rows, {len(names)} features, target 'diagnosis'")
print(f"wrote {group_path}: the property of every feature")
