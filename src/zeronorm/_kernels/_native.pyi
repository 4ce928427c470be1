"""The specification of the native functions: first the kernels, then the compiled solvers.

Kernels are single steps of methods. X has n rows (samples) and p columns (features). `v` is (n, m)
float64, C order; `out` is (p, m) float64, C order, and is overwritten. Sparse storage is (indptr,
indices, data), with entries in any order within a row or column. `n_threads` is at least 1.

Arrays are never converted: another type or layout than stated raises TypeError. Shapes and indices
are not checked here. All native functions release the GIL; those with `n_threads` give the same
bits for any number of threads.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

_Float: TypeAlias = NDArray[np.float64]
_Places: TypeAlias = NDArray[np.int64]
_Bytes: TypeAlias = NDArray[np.uint8]
_Indices: TypeAlias = NDArray[np.int32] | NDArray[np.int64]
# offset, active features, limit, sweeps, violations, done: see `dense_descend`
_State: TypeAlias = tuple[float, int, float, int, float, bool]
_QuadraticRule: TypeAlias = tuple[tuple[int, int, int], tuple[float, float, float, float]]
RelaxationRule: TypeAlias = tuple[tuple[int, int, int, int], tuple[float, float], _QuadraticRule]

# The best k features in at most g groups.

def bilevel_select(
    v: _Float, code: _Places, n_groups: int, k: int, g: int, opened: _Bytes, out: _Places,
) -> tuple[int, int]:  # fmt: skip
    """Put the features S with the largest sum of v_j**2 into `out`, sorted, |S| <= k.

    S is in at most g groups beside the opened ones. Features with v_j = 0 are never in S. Of
    several groups with equal sums any may be taken; in each, of equal |v_j| those of the smaller
    index. The sum is the largest one up to rounding; of groups that it is too large to
    show, as many as may come in do, those with the largest sums first.

    It decides by a bound, and by the programme only about groups that this leaves open.

    Parameters
    ----------
    v : (p,) float64.
    code : (p,) int64, the group of every feature, from 0 to n_groups - 1; another one raises
        IndexError where it is read.
    k, g : not negative; more than there are count as all.
    opened : (n_groups,) uint8, not 0 of groups that do not count among the g.
    out : (min(k, p),) int64; the first |S| places are overwritten.

    Returns
    -------
    (number of features, number of groups that the programme had to decide about); the first is
    -1 - j where v_j is the first value that is NaN or infinite.
    """

def bilevel_program(
    v: _Float, code: _Places, n_groups: int, k: int, g: int, opened: _Bytes, out: _Places,
) -> tuple[int, int]:  # fmt: skip
    """Do what bilevel_select does by the dynamic programme of Xiang, Yang and Ye, Algorithm 3.

        T(i, j, q) = max(T(i-1, j, q),  max_{1 <= t <= q} T(i-1, j-1, q-t) + C(i, t))

    with C(i, t) the sum of the t largest v_j**2 of group i; opened groups take no place among the
    j. Of equal values the one with the fewest features of the last group is kept.

    Differences from the paper: the programme gives the groups; the features are the k largest of
    these groups together, the same up to ties and rounding, and groups come in as said at
    bilevel_select.

    Cost O(p log p + k g sum_i min(|G_i|, k)), memory 4 n_groups (g + 1) (k + 1) bytes.
    """

# The checksum of a block of a store.

def crc32c(bytes: _Bytes, value: int) -> int:
    """Return the checksum of what `value` is that of, followed by these bytes.

    value : 0 to begin with.
    """

# Coordinate descent over columns. x is (n, m) float32 or float64 in Fortran order; indptr, indices
# and data are X in CSC, data float32 or float64. Each stored entry is squared by itself: sum
# duplicates first. `features` are (q,) columns of X in any order, each once.

def dense_terms(
    x: _Float | NDArray[np.float32], features: _Places, v: _Float, h: _Float, product: _Float,
    total: _Float, square: _Float, n_threads: int,
) -> None:  # fmt: skip
    """Put x_j'v, sum_i h_i x_ij and sum_i h_i x_ij**2, (q,), into `product`, `total`, `square`.

    v, h : (n,).
    """

def csc_terms(
    indptr: _Indices, indices: _Indices, data: NDArray[Any], features: _Places, v: _Float,
    h: _Float, product: _Float, total: _Float, square: _Float, n_threads: int,
) -> None:  # fmt: skip
    """Do what `dense_terms` does for X in CSC."""

def dense_combine(x: _Float | NDArray[np.float32], features: _Places, z: _Float, v: _Float) -> None:
    """Add sum_j z_j x_j to v, (n,); z is (q,), and columns with z_j = 0 are not read."""

def csc_combine(
    indptr: _Indices, indices: _Indices, data: NDArray[Any], features: _Places, z: _Float,
    v: _Float,
) -> None:  # fmt: skip
    """Do what `dense_combine` does for X in CSC."""

def dense_descend(
    x: _Float | NDArray[np.float32], features: _Places, curvature: _Float, gradient: _Float,
    total: _Float, square: _Float, penalty: _Float, u: _Float, largest_step: _Float, nu: float,
    intercept: bool, gradient_e: float, target: float, max_sweeps: int, shrinking: float,
    seed: int, active: _Places, d: _Float, residual: _Float, state: _State,
) -> _State:  # fmt: skip
    """Minimise a quadratic model at u by sweeps of coordinate descent, over the steps d and e.

        gradient'd + gradient_e e + 1/2 sum_i h_i (x_i'd + e)^2 + nu/2 ||d||^2
            + sum_j l1_j |t_j| + l2_j/2 t_j^2   with t = u + d and low_j <= t_j <= high_j

    With an intercept e is always the best one for d, so that columns act as if their means,
    weighted by h, were zero. A sweep visits the active features in random order. A visit meets a
    violation, the least |derivative + subgradient|, and moves the feature to its minimiser, or by
    its largest step towards it; where there is none, it stays. Sweeps end when the violations that
    one of them met add up to at most `target`.

    Shrinking: a feature at t_j = 0 that is optimal there by more than `shrinking` times the largest
    violation of the sweep before becomes inactive. When the sum reaches the target, all are active
    again, and the descent is done only if none was left out of that sweep. The first sweep, and the
    first one with all features again, leave out none.

    Vectors of length q belong to the features, in their order.

    Parameters
    ----------
    curvature : (n,) h, not negative.
    gradient, u : (q,), u within the bounds.
    total, square : (q,) sum_i h_i x_ij and sum_i h_i x_ij^2.
    penalty : (q, 4) rows l1, l2, low, high: low is -inf or 0, high is 0 or inf.
    largest_step : (q,) positive.
    nu, gradient_e, target : see above.
    intercept : False where e stays as it is.
    max_sweeps : maximum number of sweeps in this call.
    shrinking : see above; 1 / n as published, 0 if all features are to stay active.
    seed : of the random order in this call.
    active : (q,) places in `features`, in the order of the last visits; inactive ones at the end.
        A permutation, changed.
    d, residual : (q,) and (n,), the step and h_i x_i'd; changed.
    state : e; number of active features; largest violation of the last sweep; sweeps so far; sum of
        the violations of the last sweep; whether the descent is done. A descent begins with d = 0,
        residual = 0 and (0, q, inf, 0, inf, False), and goes on with what the last call returned.

    Returns
    -------
    The state.

    Source: Yuan, Ho and Lin, JMLR 13, 2012 (the inner problem of newGLMNET, sections 4 and 5).
    """

def csc_descend(
    indptr: _Indices, indices: _Indices, data: NDArray[Any], features: _Places, curvature: _Float,
    gradient: _Float, total: _Float, square: _Float, penalty: _Float, u: _Float,
    largest_step: _Float, nu: float, intercept: bool, gradient_e: float, target: float,
    max_sweeps: int, shrinking: float, seed: int, active: _Places, d: _Float, residual: _Float,
    state: _State,
) -> _State:  # fmt: skip
    """Do what `dense_descend` does for X in CSC."""

def dense_subspace_step(
    x: _Float | NDArray[np.float32], features: _Places, curvature: _Float, gradient: _Float,
    total: _Float, square: _Float, penalty: _Float, u: _Float, largest_step: _Float, nu: float,
    intercept: bool, gradient_e: float, target: float, max_iterations: int, d: _Float,
    residual: _Float, offset: float,
) -> tuple[int, float]:  # fmt: skip
    """Step with the features that are not at zero, their signs kept.

    Conjugate gradients on the model of `dense_descend` restricted to them, preconditioned by its
    diagonal, until the |slopes| add up to at most `target`. All step less far where one would
    exceed its largest step a hundred times. A coefficient that would change its sign stops at zero
    if the model still decreases; else all stop where the first reaches zero. Changes d and the
    residual; returns the iterations and the step of the intercept, `offset` before.
    """

def csc_subspace_step(
    indptr: _Indices, indices: _Indices, data: NDArray[Any], features: _Places, curvature: _Float,
    gradient: _Float, total: _Float, square: _Float, penalty: _Float, u: _Float,
    largest_step: _Float, nu: float, intercept: bool, gradient_e: float, target: float,
    max_iterations: int, d: _Float, residual: _Float, offset: float,
) -> tuple[int, float]:  # fmt: skip
    """Do what `dense_subspace_step` does for X in CSC."""

def dense_newton_cycle(
    x: _Float | NDArray[np.float32], features: _Places, y: _Float, weight: _Float, penalty: _Float,
    loss: int, nu: float, sigma: float, largest_step: _Float, max_halvings: int, seed: int,
    order: _Places, u: _Float, z: _Float,
) -> float:  # fmt: skip
    """Take one Newton step after the other on every feature, each with its line search (CDN).

        min_u  sum_i s_i f(y_i, z_i) + sum_j l1_j |u_j| + l2_j/2 u_j^2,   low_j <= u_j <= high_j

    with margins z that move with X u, and f the logistic loss, the squared hinge or least squares.
    The step minimises the second-order model of one feature plus nu/2 step^2, is cut to its largest
    size, and is halved until

        change of the objective <= sigma * share of the step * (change of the linear model)

    at most so often that `max_halvings` shares are tried; if none will do, u_j stays.

    Parameters
    ----------
    y, weight : (n,) targets of the loss, and s.
    penalty : (q, 4), see `dense_descend`.
    loss : the number of the loss.
    nu, sigma, max_halvings : see above.
    largest_step : (q,) positive.
    seed : of the random order.
    order : (q,) a permutation of the places in `features`; changed to the order of the visits.
    u, z : (q,) within the bounds, and (n,); changed.

    Returns
    -------
    The sum of the violations met, see `dense_descend`.

    Source: Yuan, Chang, Hsieh and Lin, JMLR 11, 2010 (section 4.1).
    """

def csc_newton_cycle(
    indptr: _Indices, indices: _Indices, data: NDArray[Any], features: _Places, y: _Float,
    weight: _Float, penalty: _Float, loss: int, nu: float, sigma: float, largest_step: _Float,
    max_halvings: int, seed: int, order: _Places, u: _Float, z: _Float,
) -> float:  # fmt: skip
    """Do what `dense_newton_cycle` does for X in CSC."""

def gram_descend(
    gram: _Float, penalty: _Float, u: _Float, largest_step: _Float, target: float, max_sweeps: int,
    d: _Float, slope: _Float,
) -> tuple[int, float]:  # fmt: skip
    """Minimise a quadratic model by sweeps over its features, in their order.

        slope'd + 1/2 d'Ad + sum_j l1_j |t_j| + l2_j/2 t_j^2,   t = u + d,  low_j <= t_j <= high_j

    What `dense_descend` does, for few features: a visit costs nothing where the feature stays.
    A feature without curvature, A_jj = 0, stays.

    Parameters
    ----------
    gram : (q, q) A, symmetric and positive semidefinite.
    penalty, u, largest_step : (q, 4), (q,) and (q,), see `dense_descend`.
    target : sweeps end when the violations that one of them met add up to at most this.
    max_sweeps : maximum number of sweeps.
    d, slope : (q,) the step, and the derivative of the quadratic part there; changed.

    Returns
    -------
    The number of sweeps, and the sum of the violations that the last one met.
    """

# Genotypes in two bits: passes over all variants, and decoding. A variant is a row of `packed`,
# (n_variants, stride): four samples in a byte, the first in its lowest bits. `index` (p,) has the
# variants that are the columns of X, and values[j] the numbers that the codes 0 to 3 mean in column
# j.

def genotypes_correlate(
    packed: _Bytes, index: _Places, values: NDArray[np.float32], v: _Float, out: _Float,
    n_threads: int,
) -> None:  # fmt: skip
    """Put X'v into `out`, (p, m); the error is that of `dense_correlate` of float32."""

def genotypes_count(
    packed: _Bytes, index: _Places, mask: NDArray[np.uint64], counts: _Places, n_threads: int,
) -> None:  # fmt: skip
    """Put how many rows have each of the codes 0 to 3 in column j into counts[j], (4,).

    mask : packed as a variant is, code 1 for a row that counts and 0 for others, in whole words of
        eight bytes; bytes beyond those of a variant are zero.
    """

def genotypes_gather(
    packed: _Bytes, index: _Places, values: NDArray[np.float32], out: _Float, n_threads: int,
) -> None:  # fmt: skip
    """Put the columns of X into the rows of `out`, (p, n)."""

def genotypes_moments(
    packed: _Bytes, index: _Places, values: NDArray[np.float32], weight: _Float, total: _Float,
    square: _Float, n_threads: int,
) -> None:  # fmt: skip
    """Put sum_i s_i x_ij into total[j] and sum_i s_i x_ij**2 into square[j]; all in float64."""

# The logistic loss over all rows; those of weight 0 count for nothing.

def logistic_conjugate(alpha: _Float, weight: _Float) -> float:
    """Return -sum_i s_i H(alpha_i / s_i), H the binary entropy.

    NaN where 0 <= alpha_i <= s_i fails. A share that underflows to 0 adds nothing.
    """

def logistic_curvature(z: _Float, weight: _Float, out: _Float) -> None:
    """Put s_i sigma(z_i) sigma(-z_i) into `out`."""

def logistic_value_gradient(z: _Float, y: _Float, weight: _Float, gradient: _Float) -> float:
    """Return sum_i s_i log(1 + exp(-y_i z_i)); put -s_i y_i sigma(-y_i z_i) into `gradient`."""

# Most violated labellings of measures, and the program over the cuts found so far.

def ap_places(positive: _Float, negative: _Float, places: _Places) -> None:
    """Put into `places`, for every negative, how many positives the worst ranking puts above it.

    Scores are in falling order. The places o maximise, for the j-th negative (j = 1, 2, ...),

        sum_{i > o} 100/n_pos (j/(j+i) - (j-1)/(j+i-1)) - 200/(n_pos n_neg) (v_i - v_j),

    the first maximiser. They grow with j, as every term falls with j: halving the negatives halves
    the places that are left. Sums over i are differences of harmonic numbers and of prefix sums.
    """

def f_labelling(positive: _Float, negative: _Float, beta: float) -> tuple[int, int]:
    """Return the numbers (a, b) of positives and negatives in the worst labelling.

    They maximise

    100 (1 - (1 + beta^2) a / (a + b + beta^2 n_positive)) + 2 P(a) + 2 N(b),

    P(a) and N(b) the sums of the a and b largest scores; the first pair with s = a + b growing.

    For a fixed s the loss is linear in a and the value concave, and the best a never falls with s:
    one pointer serves all s. `positive` and `negative` are scores in growing order.
    """

def solve_cuts(
    grams: _Float, delta: _Float, g: _Float, C: float, tol: float, alpha: _Float,
    block_weight: _Float,
) -> tuple[float, float, float, int]:  # fmt: skip
    """Solve the program over K cuts and T blocks of features by a primal-dual interior point.

        max  delta'alpha - max_t 1/2 alpha'G_t alpha   over alpha >= 0, sum alpha <= C, g'alpha = 0

    grams : (T, K, K) G_t, symmetric and positive semidefinite.
    g : (K,) with entries of both signs, or zeros only: then there is no equality.
    tol : relative gap between the program and the problem it is the dual of.
    alpha, block_weight : (K,) and (T,) outputs; the second are the multipliers of the blocks.

    Returns
    -------
    The bound (the value of the program at alpha), the value of

        1/2 (sum_t mu_t sqrt(alpha'G_t alpha))^2 + C max_k (delta - sum_t mu_t G_t alpha - b g)_k^+,

    which is not below the optimum, b, and the number of Newton steps. All iterates are feasible;
    what is returned is the one with the smallest gap.
    """

# Passes over all columns or rows, and what is read of sparse storage.

# |error of dense_correlate on float32, int8 or uint8| <= FLOAT32_SCAN_ERROR * ||x_j|| * ||v||:
# eleven roundings to float32 on the way of a product. `vectors.hpp` derives it.
FLOAT32_SCAN_ERROR: float

def dense_correlate(x: NDArray[Any], v: _Float, out: _Float, n_threads: int) -> None:
    """Put X'v into `out`; X is float32, float64, int8 or uint8 with any strides.

    It sums float32, int8 and uint8 in float32 over short runs of rows:
    |error| <= FLOAT32_SCAN_ERROR * ||x_j|| * ||v|| for each entry.
    """

def dense_moments(
    x: NDArray[Any], weight: _Float, total: _Float, square: _Float, n_threads: int,
) -> None:  # fmt: skip
    """Put sum_i s_i x_ij into total[j] and sum_i s_i x_ij**2 into square[j]; all in float64."""

def csc_correlate(
    indptr: _Indices, indices: _Indices, data: NDArray[Any], v: _Float, out: _Float,
    n_threads: int,
) -> None:  # fmt: skip
    """Put X'v into `out` for X in CSC; entries of one position add up."""

def csc_moments(
    indptr: _Indices, indices: _Indices, data: NDArray[Any], weight: _Float, total: _Float,
    square: _Float, n_threads: int,
) -> None:  # fmt: skip
    """Put the weighted sums of the columns and of their squares into `total` and `square`.

    Each stored entry is squared by itself: sum duplicates first.
    """

def csr_correlate(
    indptr: _Indices, indices: _Indices, data: NDArray[Any], v: _Float, out: _Float,
    n_threads: int,
) -> None:  # fmt: skip
    """Put X'v into `out` for X in CSR; entries of one position add up."""

def csr_moments(
    indptr: _Indices, indices: _Indices, data: NDArray[Any], weight: _Float, total: _Float,
    square: _Float, n_threads: int,
) -> None:  # fmt: skip
    """Put the weighted sums of the columns and of their squares into `total` and `square`.

    Each stored entry is squared by itself: sum duplicates first.
    """

def csr_terms(
    indptr: _Indices, indices: _Indices, data: NDArray[Any], v: _Float, h: _Float, product: _Float,
    total: _Float, square: _Float, n_threads: int,
) -> None:  # fmt: skip
    """Put x_j'v, sum_i h_i x_ij and sum_i h_i x_ij**2 into `product`, `total` and `square`.

    For X in CSR with few columns: every thread sums all of them. Sum duplicates first.
    """

def csr_combine(
    indptr: _Indices, indices: _Indices, data: NDArray[Any], z: _Float, v: _Float, n_threads: int,
) -> None:  # fmt: skip
    """Add X z to v, (n,), for X in CSR."""

def csr_gram(
    indptr: _Indices, indices: _Indices, data: NDArray[Any], position: NDArray[np.int32],
    weight: _Float, out: _Float, n_threads: int,
) -> None:  # fmt: skip
    """Put Z' diag(weight) Z into `out`, (q, q), for some columns Z of X in CSR.

    position : (p,) where a column of X is in Z, -1 where it is not. Sum duplicates first.
    """

def csr_forms(
    indptr: _Indices, indices: _Indices, data: _Float, matrix: _Float, out: _Float, n_threads: int,
) -> None:  # fmt: skip
    """Put x_i' A x_i of every row into `out`, (n,), for X in CSR and A (p, p)."""

def csr_gather(
    indptr: _Indices, indices: _Indices, data: NDArray[Any], position: NDArray[np.int32],
    n_columns: int, n_threads: int,
) -> tuple[_Places, NDArray[np.int32], _Float]:  # fmt: skip
    """Return (indptr, indices, data) in CSC of the columns j of X (CSR) with position[j] >= 0.

    Column j becomes column position[j] < n_columns of the result. The entries of a column come in
    the order of the rows; repeated entries stay apart.
    """

def csr_to_csc(
    indptr: _Indices, indices: _Indices, data: NDArray[Any], n_columns: int, n_threads: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[Any]]:  # fmt: skip
    """Return (indptr, indices, data) of X (CSR) in CSC; int8 and uint8 become float32.

    The entries of a column come in the order of the rows; repeated entries stay apart. There are
    fewer than 2^31 rows and entries.
    """

def sparse_gram(
    indptr: _Indices, indices: NDArray[np.int32], data: _Float, weight: _Float, out: _Float,
    n_threads: int,
) -> None:  # fmt: skip
    """Put Z' diag(weight) Z into `out`, (q, q), for Z (n, q) in CSC."""

def audit_indices(indptr: _Indices, indices: _Indices, n_minor: int) -> tuple[int, int, bool, bool]:
    """Look for the ways in which compressed sparse storage can be broken.

    Returns
    -------
    bad_indptr : int
        First i with indptr[i] outside [0, indices.size] or below indptr[i - 1], or nonzero
        indptr[0]; -1 if there is none.
    bad_entry : int
        First position in `indices` of a value outside [0, n_minor) among the first indptr[-1]
        entries; -1 if there is none, or if `indptr` is broken.
    is_sorted, has_duplicates : bool
        Whether the indices of every row (column) ascend; whether one of them repeats an index.
        (False, False) where the storage is broken.
    """

# Sweeps of smoothing coordinate descent.

LANES: int  # blocks in a group of a smoothing sweep

def dense_smoothing_sweep(
    rows: _Float | NDArray[np.float32], starts: _Places, order: _Places, square: _Float,
    weight: _Float, q: float, accuracy: float, ratio: float, alpha: _Float, rest: _Float,
    scores: _Float, level: _Float,
) -> int:  # fmt: skip
    """Minimise over one coordinate after the other, 0 < alpha_i < w_i.

        1/q log sum_t exp(q s_t) + sum_i alpha_i log alpha_i + (w_i - alpha_i) log(w_i - alpha_i)

    with s_t = 1/2 ||c_t||^2 and c_t = sum_i alpha_i x_it.

    Parameters
    ----------
    rows : (n, width), x_it for all blocks t: row i on the features of the block, times its label.
        Blocks come in groups of LANES; the entries of a group are the first feature of each of its
        blocks, then the second of each, and so on, 0 beyond the end of a shorter block.
    starts : (T / LANES + 1,) where the entries of each group begin, and the width.
    order : the coordinates in the order of their visits.
    square : (n, T) ||x_it||^2.
    weight : (n,) w_i.
    q : smoothing parameter, positive.
    accuracy, ratio : a coordinate is solved to |derivative| <= accuracy or ratio times what it was.
    alpha, rest : (n,) alpha_i and w_i - alpha_i, kept apart so that cancellation loses neither;
        changed, as are the next two.
    scores : (width,) c, in the order of the entries.
    level : (T,) s, T a multiple of LANES; -inf for padded blocks, which have no features.

    Returns
    -------
    The number of evaluations of the smoothed maximum.
    """

def csr_smoothing_sweep(
    indptr: _Indices, indices: NDArray[np.int32], data: _Float, block: NDArray[np.int32],
    order: _Places, square: _Float, weight: _Float, q: float, accuracy: float, ratio: float,
    alpha: _Float, rest: _Float, scores: _Float, level: _Float,
) -> int:  # fmt: skip
    """Do what `dense_smoothing_sweep` does for rows in CSR, column e a feature of block[e]."""

def newton_bisections(
    level: _Float, slope: _Float, square: _Float, weight: _Float, q: _Float, accuracy: float,
    alpha: _Float, rest: _Float, bracket: _Float, n_evaluations: _Float,
) -> None:  # fmt: skip
    """Solve independent coordinate problems, one per row of level, slope and square, (n, T).

    The derivative log(alpha / rest) + sum_t lambda_t (b_t + a_t z) increases in the step z; it is
    brought to at most `accuracy`, or as near to zero as floating point allows. alpha and rest,
    (n,), are changed; bracket, (n, 2), gets bounds of the smaller of the two at the solution.
    """

# Text of whole lines: where to cut it for threads, rows of svmlight files and of delimited text.
# `text` is (size,) and ends with a line end.

def cut_text(text: _Bytes, mark: int, cuts: _Places, counts: _Places) -> None:
    """Cut text into pieces of whole lines, about equally long, some of them empty.

    Parameters
    ----------
    mark : the byte that is counted.
    cuts : (k + 1,), overwritten: piece i is text[cuts[i] : cuts[i + 1]].
    counts : (k, 2), overwritten: the line ends of each piece, and its bytes that are `mark`.
    """

def svmlight_rows(
    text: _Bytes, cuts: _Places, counts: _Places, labels: _Float, lengths: _Places,
    indices: NDArray[np.int32], values: _Float, n_threads: int,
) -> tuple[int, int, int, int, int]:  # fmt: skip
    """Read lines "label [qid:number] [index:value ...] [# comment]", those without a label apart.

    Numbers are decimal, finite, and become the doubles nearest to them; indices increase along a
    line and are below 2**31. Bytes that part words are those of `bytes.split`.

    Parameters
    ----------
    cuts, counts : as `cut_text` with the mark ":" has them.
    labels, lengths : at least as long as there are lines; overwritten. lengths: the entries of
        each row.
    indices, values : at least as long as there are colons; overwritten.

    Returns
    -------
    (rows, entries, lowest, highest, fault) : what was read; the lowest and the highest index, 2**31
        - 1 and -1 where there is none; and where the first line begins that breaks the format, -1
        if none does. If one does, the other numbers and the arrays mean nothing.
    """

def delimited_rows(
    text: _Bytes, cuts: _Places, counts: _Places, delimiter: int, places: _Places, numbers: _Float,
    spans: _Places, rows: _Places, n_threads: int,
) -> tuple[int, int]:  # fmt: skip
    """Read lines of fields, each plain or whole within quotes; lines without a byte are no rows.

    Numbers are finite decimals, with spaces around them at most; fields of text hold no NUL, no
    line end, and no quote of the kind that they begin with. What departs from that is a fault.

    Parameters
    ----------
    cuts, counts : as `cut_text` has them.
    delimiter : a byte that is neither a space, nor a quote, nor part of a number.
    places : (p,): the row of `numbers` that a column fills; -1 where it is not read; -2 minus its
        place in `spans` where it is text.
    numbers : (some, n), overwritten, n at least the number of lines.
    spans : (n, some, 2), overwritten: where the text of a field begins and ends.
    rows : (k,), overwritten: the rows of each piece. They lie from the number of line ends before
        the piece on.

    Returns
    -------
    (line, column) : where the first line with a fault begins, and its column; -1 and -1 if none
        has. If one has, the arrays mean nothing.
    """

# Compiled solvers.

def dense_ridge(
    x: _Float, columns: _Places, y: _Float, weight: _Float, penalty: _Float, loss: int,
    parameters: tuple[float, float], intercept: bool, start: float, tol: float, of_value: bool,
    cutoff: float, u: _Float, margins: _Float, dual: _Float, scores: _Float,
) -> tuple[float, float, float, float]:  # fmt: skip
    """Minimise 1/2 sum_j p_j u_j^2 + sum_i s_i f(y_i, z_i'u + b) with Z = x[:, columns].

    From (u, start) by Newton's method, as `solvers.ridge_fits.newton` has it, which also says what the
    arrays and numbers mean; LinAlgError where a Newton system is not finite. Every Newton system is
    solved in the space of the columns: this is meant for no more columns than rows.

    Parameters
    ----------
    x : (n, m) float64, any strides.
    columns : (p,) int64, positions in x.
    y : (n,), or all that a loss has of the rows, row by row.
    loss, parameters : the number of the loss, its `kernel`, and its `kernel_parameters`.
    u, margins, dual, scores : (p,), (n,), (n,), (p,), overwritten; u is the start before. dual
        is v.

    Returns
    -------
    (b, objective, bound, gap)
    """

def sparse_ridge(
    indptr: NDArray[Any], indices: NDArray[np.int32], data: _Float, *as_dense: Any
) -> tuple[float, float, float, float]:
    """Solve the problem of `dense_ridge`, of a loss of single rows, on columns of a sparse matrix.

    indptr, indices, data : by column; indptr int32 or int64. as_dense : what follows x there.
    """

def dense_exchange(
    x: _Float,
    y: _Float,
    weight: _Float,
    is_kept: NDArray[np.uint8],
    loss: int,
    parameters: tuple[float, float],
    intercept: bool,
    start: float,
    tol: float,
    fit_tol: float,
    swaps: bool,
    rule: tuple[int, int, int, int, int],
    won_back: float,
    known: _Places,
    n_known: int,
    columns: _Places,
    u: _Float,
    margins: _Float,
    dual: _Float,
    scores: _Float,
) -> tuple[float, float, float, float]:
    """Splice and swap from a support of a pool until neither helps, as `Exchanges.improve` does.

    Parameters
    ----------
    x : (n, p) float64, any strides: the pool.
    is_kept : (p,) whether a column stays in every support.
    y, loss, parameters : as of `dense_ridge`.
    start : the intercept to start from.
    tol, fit_tol : the decrease that counts, and the accuracy of fits, of the objective.
    swaps : whether to swap, too.
    rule, won_back : how many exchanges are tried: the constants of `solvers.exchange`.
    known, n_known : a support for which exchanges with the columns before `n_known` are known to
        be of no use.
    columns, u, margins, dual, scores : (k,), (k,), (n,), (n,), (k,), overwritten; the first two
        are a sorted support and its coefficients before. Returns (b, objective, bound, gap).
    """

def output_exchange(
    x: _Float,
    y: _Float,
    weight: _Float,
    is_kept: NDArray[np.uint8],
    loss: int,
    parameters: tuple[float, float],
    outputs: int,
    intercept: bool,
    tol: float,
    fit_tol: float,
    swaps: bool,
    rule: tuple[int, int, int, int, int],
    won_back: float,
    columns: _Places,
    u: _Float,
    margins: _Float,
    dual: _Float,
    scores: _Float,
) -> tuple[float, float, float, float]:
    """Do the same for several outputs that share the columns, as `GroupExchanges.improve` does.

    Parameters
    ----------
    y, weight, margins, dual : (q n,), one output after the other, margins without the intercepts.
    loss, parameters : -1 for the multinomial loss, else those of the loss of each output.
    u, scores : (k q,), column by column; the others as of `dense_exchange`.
    """

def loss_at(
    z: _Float,
    y: _Float,
    weight: _Float,
    loss: int,
    parameters: tuple[float, float],
    intercept: bool,
    start: float,
    gradient: _Float,
    curvature: _Float,
) -> tuple[float, float]:
    """Return b and sum_i s_i f(y_i, z_i + b), and put the derivatives in the margins there.

    intercept : whether b moves from `start` to its best value, as in `losses.fit_intercept`.
    gradient, curvature : (n,), overwritten by the first and second derivatives.
    """

def loss_scale(
    v: _Float,
    y: _Float,
    weight: _Float,
    loss: int,
    parameters: tuple[float, float],
    quadratic: float,
) -> float:
    """Return the c that maximises -conjugate(c v) - c^2 quadratic, of a loss not of labels."""

def loss_conjugate(
    v: _Float, y: _Float, weight: _Float, loss: int, parameters: tuple[float, float]
) -> float:
    """Return the conjugate of such a loss at -v, infinite outside of its domain."""

def left_out_loss(
    x: _Float,
    y: _Float,
    weight: _Float,
    unit: _Float,
    loss: int,
    parameters: tuple[float, float],
    intercept: bool,
    C: float,
    penalty: _Float,
    margins: _Float,
) -> float:
    """Return the mean loss of each row under the model fitted without one unit of its weight.

    As `solvers.final_fits.leave_one_out_loss` has it, of a sum over rows.

    x : (n, p) float64, any strides. unit : (n,) what of its weight is left out of a row.
    weight : without C. penalty, margins : (p,), (n,) of the fit with C.
    """

def compare_left_out(
    x: _Float,
    y: _Float,
    weight: _Float,
    unit: _Float,
    loss: int,
    parameters: tuple[float, float],
    intercept: bool,
    start: float,
    penalty: _Float,
    values: _Float,
    tol: float,
    u: _Float,
    coef: _Float,
    intercepts: _Float,
    losses: _Float,
) -> None:
    """Fit with every C of `values`, each from the fit before, and leave rows out: both of above.

    values : (m,). u : (p,), the start, overwritten.
    coef, intercepts, losses : (m, p), (m,), (m,), overwritten.
    """

def dense_eliminate(
    x: _Float, y: _Float, weight: _Float, is_kept: NDArray[np.uint8], loss: int,
    parameters: tuple[float, float], intercept: bool, columns: _Places, sizes: _Places,
    tol: float, rule: tuple[int, float], gone: _Places,
) -> int:  # fmt: skip
    """Eliminate columns of a pool until each of the sizes is reached, as `Exchanges.eliminate`.

    x, is_kept : as of `dense_exchange`. columns : (m,) sorted, to begin with. sizes : falling.
    rule : with how many columns they leave one by one, and what share of them leaves before that.
    gone : (m,), overwritten by the columns that leave, in order. Returns how many they are.
    """

def output_eliminate(
    x: _Float, y: _Float, weight: _Float, is_kept: NDArray[np.uint8], loss: int,
    parameters: tuple[float, float], outputs: int, intercept: bool, columns: _Places,
    sizes: _Places, tol: float, rule: tuple[int, float], gone: _Places,
) -> int:  # fmt: skip
    """Eliminate what several outputs share; loss : negative for the multinomial one."""

def minimise_quadratic(
    matrix: _Float, right: _Float, n_fixed: int, q: int, tol: float, rule: _QuadraticRule, u: _Float
) -> None:
    """Minimise the relaxation of a quadratic loss, as `Quadratic.minimise` of solvers/quadratic.py.

    matrix, right : (p, p), (p,) H and r; the first n_fixed columns are fixed, each is a unit.
    rule : `RULE` there. u : (p,), the start, overwritten.
    """

def relax(
    storage: tuple[np.ndarray, ...], columns: _Places, y: _Float, weight: _Float, loss: int,
    parameters: tuple[float, float], intercept: bool, start: float, n_fixed: int, q: int,
    aim: tuple[float, float], rule: RelaxationRule, u: _Float, dual: _Float, scores: _Float,
    share: _Float, into: _Float, out: _Float,
) -> tuple[float, float, float, bool]:  # fmt: skip
    """Take the Newton steps of `relax` of solvers/relaxation.py; return b, objective and bound.

    At last whether that is all; else the caller goes on from there.

    storage : (x,) by column, or (indptr, indices, data) of sparse columns, int32 and float64.
    columns : (m,), which count, n_fixed of them fixed. aim : the relative gap, the bound to stop at.
    rule : see `rule` of solvers/relaxation.py. u : (m,), the start, overwritten.
    dual : (n,), of the best bound. scores : (m,), of the solution.
    into, out : (m,), what dividing by a column would bring; 0 where that is not known.
    """

def grow(
    storage: tuple[np.ndarray, ...], y: _Float, weight: _Float, loss: int,
    parameters: tuple[float, float], intercept: bool, units: _Places, n_fixed: int, bound: float,
    dual: _Float, used: _Places, coef: _Float, start: float, target: float, objective: float,
    best: _Places, budget: int, most_nodes: int, most_coef: float, level: float,
    tolerances: tuple[float, float, float, float], rule: RelaxationRule,
) -> tuple[Any, ...]:  # fmt: skip
    """Return a part of the tree of `BranchAndBound` of solvers/branch_and_bound.py, from a node on.

    Empty where its relaxation needs other steps; else what `Subtree` is made of.

    p : columns of the matrix. units, n_fixed, bound, dual, (used, coef, start) : of the node.
    tolerances : NODE_TOL, LEAF_TOL, PROVEN, DECIDED.
    """

def decide(
    v: _Float, scores: _Float, y: _Float, weight: _Float, loss: int,
    parameters: tuple[float, float], k: int, n_fixed: int, limit: float,
    dropped: NDArray[np.uint8], fixed: NDArray[np.uint8],
) -> tuple[float, float]:  # fmt: skip
    """Return the bound of a dual point, and the multiple of it that gives it.

    As `bound_at` of solvers/bounds.py has it for features by themselves, the first n_fixed forced.

    limit : of the objectives that matter. scores, dropped, fixed : (p,); 1: decided, 0: not.
    """

def block_newton(
    x: _Float, membership: _Float, y: _Float, weight: _Float, loss: int, parameters:
    tuple[float, float], intercept: bool, start: float, tol: float, scale: float, u: _Float,
    weights: _Float, dual: _Float, history: _Float,
) -> tuple[float, float, float, int, int]:  # fmt: skip
    """Solve the problem over generated blocks, as `solvers.minimax.newton` does.

    Parameters
    ----------
    x : (n, p) float64, any strides. membership : (p, T).
    y, weight, loss, parameters : as of `dense_ridge`, of a loss not of labels.
    scale : tol is relative to it.
    u, weights, dual : (p,), (T,), (n,), overwritten; the first two are the start before.
    history : (61, 3), overwritten up to the last step: the best objective and bound, and seconds.

    Returns
    -------
    (b, objective, bound, steps, end): the end is 0 where it has converged, 1 where no progress was
    left, and 2 after the most steps.
    """

def output_blocks(
    x: _Float,
    membership: _Float,
    y: _Float,
    weight: _Float,
    of_classes: bool,
    outputs: int,
    intercept: bool,
    tol: float,
    scale: float,
    u: _Float,
    weights: _Float,
    dual: _Float,
    history: _Float,
) -> tuple[float, float, int, int]:
    """Do the same for outputs that share the columns: classes, or responses by least squares.

    Parameters
    ----------
    x : (n, m). membership : (m q, T), the same in all outputs of a column.
    weight : of responses the same in all of them.
    y, weight, dual : (q n,). u : (m q,), column by column; the others as of `block_newton`.

    Returns
    -------
    (objective, bound, steps, end)
    """

def multinomial_ridge(
    x: _Float, columns: _Places, y: _Float, weight: _Float, penalty: _Float, outputs: int,
    intercept: bool, tol: float, of_value: bool, cutoff: float, u: _Float, margins: _Float,
    dual: _Float, scores: _Float,
) -> tuple[float, float, float, float]:  # fmt: skip
    """Minimise 1/2 sum_jo p_jo u_jo^2 + the multinomial loss of the margins z_i'u_o.

    As `dense_ridge`, over columns that q outputs share, at the best intercepts.

    Parameters
    ----------
    x : (n, m) float64, any strides.
    columns : (p,) int64, positions in x.
    y, weight : (q n,), one output after the other; y is 1 for the class of a row, else 0.
    penalty, u, scores : (p q,), feature by feature; penalty is the same in all outputs of a feature.
    margins, dual : (q n,), margins without the
        intercepts.

    Returns
    -------
    (0, objective, bound, gap)
    """

def responses_ridge(
    x: _Float,
    columns: _Places,
    y: _Float,
    weight: _Float,
    penalty: _Float,
    loss: int,
    parameters: tuple[float, float],
    outputs: int,
    intercept: bool,
    tol: float,
    of_value: bool,
    u: _Float,
    margins: _Float,
    dual: _Float,
    scores: _Float,
) -> tuple[float, float, float, float]:
    """Minimise the same with the sum of a loss of single rows over the outputs.

    loss, parameters : of that loss, as of `dense_ridge`; the others as of `multinomial_ridge`.
    """

def multinomial_at(
    z: _Float,
    y: _Float,
    weight: _Float,
    outputs: int,
    intercept: bool,
    intercepts: _Float,
    shares: _Float,
    dual: _Float,
) -> float:
    """Return the multinomial loss of margins at its best intercepts, or without any.

    z, y, weight : (q n,), one output after the other.
    intercepts, shares, dual : (q,), (q n,), (q n,), overwritten: b, p, and minus the gradient.
    """

def multinomial_inside(
    v: _Float, y: _Float, weight: _Float, outputs: int, intercept: bool, out: _Float
) -> None:
    """Put a point near v where the conjugate of that loss is finite into out, (q n,)."""

def multinomial_hessian(
    x: _Float, columns: _Places, shares: _Float, weight: _Float, outputs: int, intercept: bool,
    out: _Float,
) -> None:  # fmt: skip
    """Put the second derivative in coefficients of that loss into out, (p q, p q).

    shares, weight : (q n,) p and s at some margins; x and columns as of `multinomial_ridge`.
    """

def multinomial_conjugate(
    v: _Float, y: _Float, weight: _Float, outputs: int, intercept: bool
) -> float:
    """Return the conjugate of that loss at -v, infinite outside of its domain."""

def multinomial_scale(
    v: _Float, y: _Float, weight: _Float, outputs: int, quadratic: float
) -> float:
    """Return the c that maximises -conjugate(c v) - c^2 quadratic."""
