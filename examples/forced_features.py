"""Keep features that must be in the model, and spend the rest of the budget on the others."""

from zeronorm import BudgetClassifier
from zeronorm.datasets import load_demo

data = load_demo()
position = {name: j for j, name in enumerate(data.feature_names)}

free = BudgetClassifier(n_features=6).fit(data.X, data.y)
wanted = [position["gene_1806"], position["gene_1814"]]  # which inform with each other
forced = BudgetClassifier(n_features=6, forced_features=wanted).fit(data.X, data.y)

for title, model in [("free choice", free), ("two genes forced", forced)]:
    names = [data.feature_names[j] for j in model.support_]
    print(f"{title}: {', '.join(names)}")
    print(f"  objective of the support {model.certificate_.objective:.4f}")
assert set(wanted) <= set(forced.support_)
