"""How many features are enough? Models of several sizes from one fit, and their validation."""

from zeronorm import BudgetClassifier
from zeronorm.datasets import load_demo
from zeronorm.model_selection import cross_validate

X, y = load_demo(return_X_y=True)
sizes = [2, 5, 10, 20, 40]

model = BudgetClassifier(n_features=sizes).fit(X, y)
print(f"one fit, {model.n_scans_} passes over the data")

validation = cross_validate(BudgetClassifier(n_features=sizes), X, y)
print(" k  leave-one-out loss    gap  cross-validated accuracy")
for k, accuracy, error in zip(sizes, validation.mean, validation.standard_error, strict=True):
    selection = model.path_[k]
    print(
        f"{k:2d}  {selection.loo_loss:18.4f}  {selection.certificate.gap:5.1%}"
        f"  {accuracy:.3f} +- {error:.3f}"
    )
