"""How many features are enough? Models of several sizes from one fit, and their validation."""

from zeronorm import BudgetClassifier
from zeronorm.datasets import load_golub
from zeronorm.model_selection import cross_validate

X, y = load_golub(return_X_y=True)
sizes = [2, 5, 10, 20, 40]

model = BudgetClassifier(n_features=sizes).fit(X, y)
print(f"one fit, {model.n_scans_} passes over the data")
print(" k  leave-one-out loss   gap   cross-validated accuracy")
for k in model.path_:
    selection = model.path_[k]
    validation = cross_validate(BudgetClassifier(n_features=k), X, y)
    print(
        f"{k:2d}  {selection.loo_loss:18.4f}  {selection.certificate.gap:4.1%}"
        f"   {validation.mean:.3f} +- {validation.standard_error:.3f}"
    )
