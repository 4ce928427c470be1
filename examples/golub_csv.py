"""Write the Golub data as a CSV file with a target column: a file to try the command line on.

python examples/golub_csv.py golub.csv
"""

import csv
import sys
from pathlib import Path

from zeronorm.io import read_table

path = sys.argv[1] if len(sys.argv) > 1 else "golub.csv"
data = read_table(Path(__file__).parent / "data" / "golub.npz")
with open(path, "w", newline="", encoding="utf-8") as file:
    writer = csv.writer(file)
    writer.writerow([*data.feature_names, "leukaemia"])
    writer.writerows([*row, label] for row, label in zip(data.X.tolist(), data.y, strict=True))
print(f"wrote {path}: {len(data.y)} rows, {len(data.feature_names)} features, target 'leukaemia'")
