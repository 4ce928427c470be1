"""l1 of survival times and of counts with an exposure: C by folds, and what a path knows."""

import numpy as np

from zeronorm import L1RegressorCV, L1SurvivalAnalysisCV, l1_path, survival_target

rng = np.random.default_rng(0)
X = rng.standard_normal((300, 400))
risk = X[:, [7, 40, 101]] @ [0.9, -0.7, 0.5]

# Patients: the time until an event, or until they leave the study after two years.
time = rng.exponential(np.exp(-risk))
patients = survival_target(np.minimum(time, 2), time < 2)
model = L1SurvivalAnalysisCV().fit(X, patients)
print(f"survival: {model.support_.size} features at C = {model.C_:.3g}, ", end="")
print(f"certified to {model.gap_:.0e}, Harrell's C {model.score(X, patients):.3f}")
for feature, ratio in zip(model.support_, np.exp(model.coef_[model.support_]), strict=True):
    print(f"  feature {feature}: hazard ratio {ratio:.2f}")
alive = model.predict_survival_function(X[:3], return_array=True)[:, -1]
print("  event-free after two years:", alive.round(2).tolist())

# Policies: claims in the years that each was under observation.
years = rng.uniform(0.3, 4.0, 300)
claims = rng.poisson(years * np.exp(0.5 * risk - 1.0))
rates = L1RegressorCV(loss="poisson").fit(X, claims, offset=np.log(years))
best = rates.mean_score_.min()
print(f"counts: {rates.support_.size} features, deviance of held-out rows at best {best:.2f}")
path = l1_path(X, claims, loss="poisson", offset=np.log(years), max_features=20)
print(f"  {path}")
