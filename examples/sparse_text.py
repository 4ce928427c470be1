"""Words that tell two topics apart: a sparse matrix that is never made dense.

The documents are synthetic: word frequencies fall off like those of a language, and forty words
are more frequent in one of the two topics.
"""

import numpy as np
import scipy.sparse as sp

from zeronorm import BudgetClassifier

rng = np.random.default_rng(0)
n_documents, n_words, n_topical, length = 2000, 200_000, 40, 80

y = rng.integers(0, 2, n_documents)
frequency = 1.0 / np.arange(10, n_words + 10)
topical = rng.choice(np.arange(20, 2000), n_topical, replace=False)
by_topic = [frequency.copy(), frequency.copy()]
by_topic[1][topical] *= 4.0
words = np.concatenate(
    [np.sort(rng.choice(n_words, length, p=by_topic[topic] / by_topic[topic].sum())) for topic in y]
)
X = sp.csr_array(
    (np.ones(words.size, np.float32), words, np.arange(n_documents + 1) * length),
    shape=(n_documents, n_words),
)
X.sum_duplicates()
train, test = np.arange(1500), np.arange(1500, n_documents)

model = BudgetClassifier(n_features=30).fit(X[train], y[train])
print(f"{X.nnz} entries in {n_documents} x {n_words}; passes over the data: {model.n_scans_}")
print(f"topical words among the 30 selected: {np.isin(model.support_, topical).sum()}")
print(f"test accuracy: {model.score(X[test], y[test]):.3f}")
