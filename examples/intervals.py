"""Say how large the effects of K selected features are: intervals by rows that did not choose them.

python examples/intervals.py [FILE.csv TARGET K]

Writes intervals.csv, a row for each feature. Without a file it simulates one, patients.csv. For
survival times pass `BudgetSurvivalAnalysis` and a frame of event and time as y.
"""

import sys

import numpy as np
import pandas as pd

from zeronorm import BudgetClassifier, BudgetRegressor
from zeronorm.inference import split_inference

if len(sys.argv) == 4:
    file, target, k = sys.argv[1:]
else:
    rng = np.random.default_rng(0)
    patients = pd.DataFrame(rng.normal(size=(300, 50)).round(3)).add_prefix("marker_")
    signal = patients["marker_3"] - 0.7 * patients["marker_8"]
    patients["pressure"] = (120 + 8 * signal + 6 * rng.normal(size=300)).round(1)
    file, target, k = "patients.csv", "pressure", "3"
    patients.to_csv(file, index=False)

table = pd.read_csv(file)
y = table.pop(target)
kind = BudgetRegressor if pd.api.types.is_numeric_dtype(y) else BudgetClassifier
found = split_inference(kind(int(k)), table.select_dtypes("number"), y)
found.table.to_csv("intervals.csv", index=False)
print(found)
