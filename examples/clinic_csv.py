"""Write a table of patients as CSV: text, dates and empty cells beside numbers.

python examples/clinic_csv.py

clinic.csv has 600 simulated patients and whether they were back within a month, `back`; new.csv has
a few others, one of them from a ward that clinic.csv does not have.
"""

import csv

import numpy as np

rng = np.random.default_rng(0)
n = 600
ward = rng.choice(["surgery", "heart", "lungs", "eyes"], n, p=[0.4, 0.25, 0.2, 0.15])
smoker = rng.choice(["no", "yes"], n, p=[0.7, 0.3])
age = rng.normal(60, 14, n).round()
weight = rng.normal(75, 12, n).round(1)
day = rng.integers(0, 500, n)
blood = rng.normal(0, 1, (n, 5)).round(3)
score = 0.05 * (age - 60) + 1.5 * (ward == "lungs") + 1.0 * (smoker == "yes")
score += 0.04 * (weight - 75) + 0.8 * blood[:, 0]
back = np.where(score + rng.logistic(size=n) > 1, "yes", "no")
weighed = rng.random(n) > 0.2

names = ["ward", "smoker", "age", "weight", "admitted", *[f"blood{j}" for j in range(5)], "back"]
admitted = (np.datetime64("2023-01-09") + day).astype(str)
rows = [
    [ward[i], smoker[i], age[i], weight[i] if weighed[i] else "", admitted[i], *blood[i], back[i]]
    for i in range(n)
]
new = [["heart", "yes", 71, "", "2024-08-01", *blood[0]], ["ears", "no", 44, 81, "", *blood[1]]]
for name, header, lines in (("clinic.csv", names, rows), ("new.csv", names[:-1], new)):
    with open(name, "w", newline="") as file:
        csv.writer(file).writerows([header, *lines])
    print(f"wrote {name}: {len(lines)} rows")
