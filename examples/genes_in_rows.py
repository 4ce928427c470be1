"""Write the Golub data as a core facility would: genes in rows, and a table of the samples apart.

python examples/genes_in_rows.py genes.csv samples.tsv
"""

import csv
import sys
from pathlib import Path

import numpy as np

from zeronorm.io import read_table

genes, samples = sys.argv[1:] if len(sys.argv) > 2 else ("genes.csv", "samples.tsv")
data = read_table(Path(__file__).parent / "data" / "golub.npz")
names = [f"P{number:02d}" for number in range(1, len(data.y) + 1)]
with open(genes, "w", newline="", encoding="utf-8") as file:
    writer = csv.writer(file)
    writer.writerow(["gene", *names])
    for gene, values in zip(data.feature_names, data.X.T.tolist(), strict=True):
        writer.writerow([gene, *values])
random = np.random.default_rng(0)
batches = random.integers(0, 2, len(names))
with open(samples, "w", encoding="utf-8") as file:
    file.write("patient\tleukaemia\tbatch\n")
    for place in random.permutation(len(names)).tolist():
        file.write(f"{names[place]}\t{data.y[place]}\t{batches[place]}\n")
print(f"wrote {genes}: {len(data.feature_names)} genes x {len(names)} patients, and {samples}")
