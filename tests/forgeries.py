"""Forged certificates, drawn at random, and the truth about what they say, by enumeration."""

import dataclasses
import functools
import itertools

import numpy as np

import oracles
from zeronorm import verify
from zeronorm.core.groups import Groups
from zeronorm.verification import CertificateError

FLOATS = [0.0, -1.0, 1.0, 1e-300, 1e-9, 1e9, 1e150, 1e200, 1e308, -1e200, np.inf, -np.inf, np.nan]


class Truth:
    """What is so, for small data: every support is solved."""

    def __init__(self, X, y, weight=None):
        self.X, self.y = np.asarray(X, float), np.where(np.asarray(y) > 0, 1.0, -1.0)
        self.weight = np.ones(len(self.y)) if weight is None else weight

    @functools.cache  # noqa: B019
    def columns(self, scaling):
        """Return the columns on a scaling, and which of them are no constants."""
        scaled, _, scale = oracles.standardise(self.X, self.weight, center=scaling != "scaled")
        # A constant may have a deviation by rounding.
        usable = (scale > 0) & (1e-12 * np.abs(self.X).max(axis=0) * scale < 1.0)
        return (self.X if scaling == "none" else scaled), usable

    @functools.cache  # noqa: B019
    def optima(self, C, scaling, loss, intercept, forced, k, groups):
        """Return [(optimum, support)] of every admissible support that is not in another one."""
        X, usable = self.columns(scaling)
        units = np.arange(X.shape[1]) if groups is None else np.array(groups)
        must = {units[j] for j in forced}
        free = sorted(set(units[usable].tolist()) - must)
        found = []
        for others in itertools.combinations(free, min(k - len(must), len(free))):
            chosen = [j for j in np.flatnonzero(usable) if units[j] in must.union(others)]
            fit = oracles.ridge(
                X[:, chosen], self.y, C, loss=loss, intercept=intercept, weight=self.weight
            )
            found.append((fit.objective, frozenset(chosen)))
        return sorted(found, key=lambda one: one[0])

    def lies(self, c, rtol=1e-9):
        """Return what a certificate says that is not so."""
        groups = None if c.groups is None else tuple(c.groups.code.tolist())
        k = len(c.support) if groups is None else c.n_groups
        X, usable = self.columns(c.scaling)
        support, coef = np.asarray(c.support), np.asarray(c.coef, float)
        if (np.diff(support) <= 0).any() or support[0] < 0 or not usable[support].all():
            return ["support"]
        if groups is not None and len({groups[j] for j in support}) > k:
            return ["groups"]
        if not set(c.forced) <= set(support):
            return ["forced"]
        # Plain numbers: those of fewer bits would be compared in their own precision.
        c = dataclasses.replace(c, objective=float(c.objective), bound=float(c.bound))
        C, intercept = float(c.C), bool(c.fit_intercept)
        lies = []
        z = X[:, support] @ coef + c.intercept
        objective = 0.5 * coef @ coef + C * self.weight @ oracles.loss_values(c.loss, self.y * z)
        if not abs(c.objective - objective) <= rtol * abs(objective):
            lies.append("objective")
        own = oracles.ridge(
            X[:, support], self.y, C, loss=c.loss, intercept=intercept, weight=self.weight
        )
        if not objective <= own.objective * (1 + 1e-6):
            lies.append("coef")
        optima = self.optima(C, c.scaling, c.loss, intercept, tuple(map(int, c.forced)), k, groups)
        if not c.bound <= optima[0][0] * (1 + rtol):
            lies.append("bound")
        if c.proven and not c.objective <= optima[0][0] * (1 + 2 * rtol):
            lies.append("proven")
        better = [set(s) for value, s in optima if value < c.objective * (1 - rtol)]
        if better and not c.fixed_in <= len(set.intersection(*better)):
            lies.append("fixed_in")
        if not max(len(set.union(set(), *better)), 0) <= c.candidates <= X.shape[1]:
            lies.append("candidates")
        for feature, others in c.equivalents.items():
            for other in others:
                own = X[:, feature]
                away = min(np.abs(X[:, other] - own).max(), np.abs(X[:, other] + own).max())
                if feature not in support or other in support or away > 1e-7 * np.abs(own).max():
                    lies.append("equivalents")
        return lies


def admissible(c, m):
    """Return the largest supports that the budget and the forced features of a certificate admit.

    m : columns, none of them constant; features are those that are no covariates.
    """
    units = np.arange(m) if c.groups is None else np.asarray(c.groups.code)
    must = {int(units[j]) for j in c.forced}
    free = sorted(set(np.delete(units, c.covariates).tolist()) - must)
    budget = len(c.support) if c.groups is None else int(c.n_groups)
    others = itertools.combinations(free, min(budget - len(must), len(free)))
    features = np.setdiff1d(np.arange(m), c.covariates).tolist()
    return [[j for j in features if units[j] in must.union(chosen)] for chosen in others]


def forge(rng, c, m):
    """Return a certificate of m features with something changed, or a few things together."""
    with np.errstate(all="ignore"):
        for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 4])):
            if not _can_change(c):
                break
            c = _CHANGES[rng.integers(len(_CHANGES))](rng, c, m)
            if _can_change(c) and c.tree is not None and rng.random() < 0.4:
                change = _TREE_CHANGES[rng.integers(len(_TREE_CHANGES))]
                c = _replaced(c, tree=change(rng, c.tree, m))
    return c


def _can_change(c):
    """Return whether there is something left of a certificate to change."""
    if c.tree is None:
        return len(c.support) > 0
    sizes = {len(values) for values in (c.tree.parent, c.tree.feature, c.tree.inside, c.tree.row)}
    return len(c.support) > 0 and len(sizes) == 1 and sizes != {0}


def _replaced(c, **changes):
    return dataclasses.replace(c, **changes)


def _number(rng, value):
    draw = rng.integers(5)
    if draw == 0:
        return float(rng.choice(FLOATS))
    if draw == 1:
        return float(value) + float(rng.normal())
    sign = rng.choice([-1.0, 1.0])
    return float(value) * (1.0 + sign * 10.0 ** rng.uniform(-10, 1))


def _array(rng, values):
    """Return changed numbers."""
    values = np.array(values, float)
    draw = rng.integers(8)
    if draw == 0 or not values.size:
        return values * (1 + rng.choice([-1, 1]) * 10 ** rng.uniform(-12, 0))
    flat = values.reshape(-1)
    place = rng.integers(flat.size, size=rng.integers(1, 4))
    if draw == 1:
        flat[place] = rng.choice(FLOATS)
    elif draw == 2:
        flat[place] *= 10 ** rng.uniform(-1, 1)
    elif draw == 3:
        flat[:] = rng.permutation(flat)
    elif draw == 4:
        return values[:-1] if rng.random() < 0.5 else np.concatenate([values, values[:1]])
    elif draw == 5:
        flat[:] = np.abs(flat) * rng.uniform(0, 1.5, flat.size)
    elif draw == 6:
        flat[:] = flat + 10 ** rng.uniform(-12, 2)
    else:
        flat[place] = -flat[place]
    return values


def _indices(rng, values, m):
    values = np.array(values, np.int64)
    draw = rng.integers(7)
    if not values.size:
        return np.sort(rng.choice(m, rng.integers(1, 3), replace=False))
    place = rng.integers(values.size)
    if draw == 0:
        values[place] = rng.integers(-2, m + 2)
    elif draw == 1:
        values[place] = values[rng.integers(values.size)]
    elif draw == 2:
        values = values[::-1]
    elif draw == 3:
        values = np.sort(rng.choice(m, min(m, values.size), replace=False))
    elif draw == 4:
        values = np.delete(values, place)
    elif draw == 5:
        values = np.unique(np.append(values, rng.integers(m)))
    else:
        values = values - m if rng.random() < 0.5 else np.repeat(values, 2)
    return values


def _other_support(rng, c, m):
    """Change the support, the coefficients with it."""
    support = _indices(rng, c.support, m)
    coef = np.resize(np.asarray(c.coef, float), support.size)
    return _replaced(c, support=support, coef=coef)


def _huge_coefficients(rng, c, m):
    """Take coefficients that make the objective, and a tolerance with it, huge."""
    coef = np.zeros(len(c.support))
    coef[rng.integers(coef.size)] = 10.0 ** rng.uniform(2, 200)
    raised = 10 ** rng.uniform(-9, 2)
    return _replaced(c, coef=coef, objective=c.objective + raised, bound=c.bound + raised)


def _raised(rng, c, m):
    """Raise the bound, to the objective or beyond, with or without it."""
    bound = c.bound + rng.choice([1e-8, 1e-6, 1e-3, 1.0]) * (abs(c.bound) + 1)
    draw = rng.integers(3)
    if draw == 0:
        return _replaced(c, bound=bound)
    if draw == 1:
        return _replaced(c, bound=c.objective)
    return _replaced(c, bound=bound, objective=max(bound, c.objective))


def _fields(name, change):
    return lambda rng, c, m: _replaced(c, **{name: change(rng, getattr(c, name), m)})


def _count(rng, value, m):
    return int(rng.choice([-1, 0, value - 1, value + 1, m, m + 1, 10**9]))


def _equal_columns(rng, c, m):
    feature = int(rng.integers(-1, m + 1))
    others = rng.integers(-1, m + 1, size=rng.integers(1, 3))
    return _replaced(c, equivalents={**c.equivalents, feature: others})


def _other_groups(rng, c, m):
    if c.groups is None or c.n_groups is None:
        code = rng.integers(3, size=m)
        return _replaced(c, groups=Groups(np.arange(3), code), n_groups=int(rng.integers(4)))
    draw = rng.integers(4)
    code = np.array(c.groups.code)
    if draw == 0:
        return _replaced(c, n_groups=int(c.n_groups + rng.integers(-1, 2)))
    if draw == 1:
        return _replaced(c, groups=None, n_groups=None)
    if draw == 2:
        return _replaced(c, n_groups=None)
    code[rng.integers(m)] = rng.integers(-1, len(c.groups) + 1)
    return _replaced(c, groups=Groups(c.groups.labels, code))


def other_signs(rng, c, m):
    """Claim other signs, or none; not among the changes of certificates without signs."""
    signs = np.resize(np.array(c.signs if len(c.signs) else np.zeros(m), np.int8), m)
    draw = rng.integers(5)
    if draw == 0:
        return _replaced(c, signs=np.empty(0, np.int8))
    if draw == 1:
        return _replaced(c, signs=-signs)
    if draw == 2:
        return _replaced(c, signs=signs[:-1])
    if draw == 3:
        return _replaced(c, signs=np.zeros(m, np.int8))
    signs[rng.integers(m, size=rng.integers(1, 4))] = rng.integers(-1, 3)
    return _replaced(c, signs=signs)


def other_covariates(rng, c, m):
    """Claim other covariates or coefficients; not among the changes of certificates without any."""
    draw, several = rng.integers(6), np.ndim(c.coef) == 2
    c = _replaced(
        c, effects=c.effects if several else np.resize(c.effects, len(c.covariates)),
        coef=c.coef if several else np.resize(c.coef, len(c.support)),
    )  # fmt: skip
    if draw < 2:
        return _replaced(c, effects=_array(rng, c.effects))
    if draw == 2:
        return _replaced(c, covariates=c.covariates[:0], effects=np.empty(0))
    if draw == 3 and len(c.support) > 1 and not several:  # a feature becomes one
        own, beside = c.support[0], c.covariates
        order = np.argsort(np.append(beside, own))
        return _replaced(
            c, support=c.support[1:], coef=c.coef[1:], covariates=np.append(beside, own)[order],
            effects=np.append(c.effects, c.coef[0])[order],
        )  # fmt: skip
    if draw == 4 and len(c.covariates) and not several:  # and the other way
        own, beside = c.support, c.covariates
        order = np.argsort(np.append(own, beside[0]))
        return _replaced(
            c, support=np.append(own, beside[0])[order], covariates=beside[1:],
            coef=np.append(c.coef, c.effects[0])[order], effects=c.effects[1:],
        )  # fmt: skip
    covariates = _indices(rng, c.covariates, m)
    shape = (*np.shape(c.effects)[:-1], covariates.size)
    return _replaced(c, covariates=covariates, effects=np.resize(c.effects, shape))


def _no_tree(rng, c, m):
    return _replaced(c, tree=None)


_CHANGES = [
    _other_support, _other_support, _huge_coefficients, _raised, _raised, _raised, _equal_columns,
    _other_groups, _no_tree,
    _fields("coef", lambda rng, v, m: _array(rng, v)),
    _fields("dual", lambda rng, v, m: _array(rng, v)),
    _fields("dual", lambda rng, v, m: v * rng.uniform(0, 3)),
    _fields("forced", _indices),
    _fields("candidates", _count),
    _fields("fixed_in", _count),
    _fields("fit_intercept", lambda rng, v, m: not v),
    _fields("loss", lambda rng, v, m: str(rng.choice(["logistic", "squared_hinge", "hinge"]))),
    _fields("scaling", lambda rng, v, m: str(rng.choice(["standardized", "scaled", "none", "?"]))),
    *[_fields(name, lambda rng, v, m: _array(rng, v) if np.ndim(v) else _number(rng, v))
      for name in ("C", "intercept", "objective", "objective", "bound", "bound")],
]  # fmt: skip


def _drop_subtree(rng, tree, m):
    """Drop a node with all below it; the numbers of the others close up."""
    gone = {int(rng.integers(len(tree.parent)))}
    for number, parent in enumerate(tree.parent.tolist()):
        if parent in gone:
            gone.add(number)
    return _kept(tree, [i for i in range(len(tree.parent)) if i not in gone])


def _close_node(rng, tree, m):
    """Make a node an end: what is below it is dropped."""
    node = int(rng.integers(len(tree.parent)))
    gone = set()
    for number, parent in enumerate(tree.parent.tolist()):
        if parent == node or parent in gone:
            gone.add(number)
    return _kept(tree, [i for i in range(len(tree.parent)) if i not in gone])


def _kept(tree, kept):
    kept = np.array(kept, np.int64)
    place = np.full(len(tree.parent) + 1, -1)
    place[kept] = np.arange(kept.size)
    return dataclasses.replace(
        tree, parent=place[tree.parent[kept]], feature=tree.feature[kept],
        inside=tree.inside[kept], row=tree.row[kept],
    )  # fmt: skip


def _hang_elsewhere(rng, tree, m):
    parent = np.array(tree.parent)
    node = int(rng.integers(len(parent)))
    parent[node] = rng.integers(-2, len(parent) + 1)
    return dataclasses.replace(tree, parent=parent)


def _swapped(name):
    def change(rng, tree, m):
        values = np.array(getattr(tree, name))
        if len(values):
            one, other = rng.integers(len(values), size=2)
            values[[one, other]] = values[[other, one]]
        return dataclasses.replace(tree, **{name: values})

    return change


def _set(name, draw):
    def change(rng, tree, m):
        values = np.array(getattr(tree, name))
        if len(values):
            values[rng.integers(len(values))] = draw(rng, tree, m)
        return dataclasses.replace(tree, **{name: values})

    return change


_TREE_CHANGES = [
    _drop_subtree, _drop_subtree, _close_node, _close_node, _hang_elsewhere,
    *[_swapped(name) for name in ("feature", "inside", "row", "dual")],
    _set("feature", lambda rng, tree, m: rng.integers(-2, m + 1)),
    _set("inside", lambda rng, tree, m: rng.random() < 0.5),
    _set("row", lambda rng, tree, m: rng.integers(-2, len(tree.dual) + 1)),
    lambda rng, tree, m: dataclasses.replace(tree, dual=_array(rng, tree.dual)),
    lambda rng, tree, m: dataclasses.replace(tree, dual=tree.dual * rng.uniform(0, 2)),
    lambda rng, tree, m: dataclasses.replace(tree, parent=tree.parent[:-1]),
    lambda rng, tree, m: dataclasses.replace(tree, inside=tree.inside.astype(np.int64)),
    lambda rng, tree, m: dataclasses.replace(tree, inside=~tree.inside),
]  # fmt: skip


def accepted(rng, true, X, y, n_draws, optimum):
    """Return the forgeries of a certificate of single features that verify.

    None of them may state what is not so. optimum : the least objective of the problem that a
    certificate states, on one support.
    """
    known, found = {}, []
    for _ in range(n_draws):
        forged = forge(rng, true, X.shape[1])
        try:
            verify(forged, X, y)
        except (CertificateError, ValueError):
            continue
        found.append(forged)
        supports = admissible(forged, X.shape[1])
        problem = float(forged.C), bool(forged.fit_intercept), str(supports), str(forged.parameters)
        problem += (str(forged.signs), str(forged.covariates), forged.scaling)
        if problem not in known:
            known[problem] = min(optimum(forged, one) for one in supports)
        assert float(forged.bound) <= known[problem] * (1.0 + 1e-6) + 1e-12
        assert float(forged.objective) >= known[problem] * (1.0 - 1e-6)
    return found
