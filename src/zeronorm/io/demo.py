"""A data set that comes with the package: drawn, like gene expression."""

from __future__ import annotations

from typing import Literal, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from .table import Dataset

Float32Array: TypeAlias = NDArray[np.float32]
Int64Array: TypeAlias = NDArray[np.int64]


_N_SAMPLES, _N_BLOCKS, _N_IN_BLOCK = 72, 120, 20
_ALONE = {10: 85, 30: 80, 50: 75, 70: 70}  # shifts of the informative genes, by block
_JOINTLY = {90: 50, 110: 50}


@overload
def load_demo(return_X_y: Literal[False] = False) -> Dataset: ...


@overload
def load_demo(return_X_y: Literal[True]) -> tuple[Float32Array, NDArray[np.str_]]: ...


def load_demo(return_X_y: bool = False) -> Dataset | tuple[Float32Array, NDArray[np.str_]]:
    """Draw data like gene expression: 72 samples x 2400 genes, two classes, 8 informative genes.

    The values are those of log-ratios to a reference, the classes are "healthy" (42) and "sick"
    (30). Eight genes, selected inside every fold, tell the class of some 0.90 to 0.97 of the
    samples held out, one gene that of 0.75 to 0.79. Every call and every machine draws the same:
    whole numbers of a seeded generator, sums and products of them, and one division.

    With i a sample, t_i = 1 for one that is sick, else -1, N a draw that is about normal with
    deviation 100, the sum of three whole numbers uniform on -100..100, and U(a, b) a whole number
    uniform on a..b:

    ======================== ==================================================================
    programme of block b     g_b(i) = N; the 120 blocks are of 20 genes each
    noise of gene j          e_j(i) = N, with probability 1/10 three times as large
    gene j of block b        z_j(i) = floor((w_j g_b(i) + (100 - w_j) e_j(i)) / 100), w_j = U(0, 69)
    informative alone, of 4  g_b(i) = N + s t_i, z_j(i) = g_b(i) + floor(3 e_j(i) / 10): the other
    blocks one gene          19 genes of the block follow it. s = 85, 80, 75, 70
    informative jointly, of  z_j(i) = g_b(i) + s t_i + floor(3 e_j(i) / 10), and with -s the other
    2 blocks two genes       gene of the pair: g_b hides in each what the difference of both shows.
                             s = 50
    values                   x_ij = (U(-100, 100) + floor(U(2, 6) z_j(i) / 4)) / 100, both draws by
                             gene
    ======================== ==================================================================

    Parameters
    ----------
    return_X_y : bool, default=False
        Return only the pair (X, y).

    Returns
    -------
    Dataset or (X, y)
        X is (72, 2400) float32, y is (72,) of strings, `feature_names` are gene_0001 to gene_2400,
        `descriptions` say what each gene is in the draw. The data are under the licence of
        zeronorm, BSD 3-clause.
    """
    draw = np.random.RandomState(1)  # whose draws NumPy never changes

    def uniform(low: int, high: int, *shape: int) -> Int64Array:
        return draw.randint(low, high + 1, shape, dtype=np.int64)

    def normal(*shape: int) -> Int64Array:
        total: Int64Array = uniform(-100, 100, 3, *shape).sum(axis=0)
        return total

    n_features = _N_BLOCKS * _N_IN_BLOCK
    sick = 5 * np.arange(_N_SAMPLES) % 12 < 5
    side = np.where(sick, 1, -1)
    programme = normal(_N_SAMPLES, _N_BLOCKS)
    noise = normal(_N_SAMPLES, n_features)
    noise *= np.where(uniform(1, 10, _N_SAMPLES, n_features) == 1, 3, 1)
    weight, level, spread = (uniform(*ends, n_features) for ends in ((0, 69), (-100, 100), (2, 6)))
    descriptions = [f"block {j // _N_IN_BLOCK}" for j in range(n_features)]
    names = [f"gene_{j + 1:04}" for j in range(n_features)]

    informative = {}
    for block, shift in _ALONE.items():
        programme[:, block] += shift * side
        first = block * _N_IN_BLOCK
        place = first + 7
        informative[place] = programme[:, block]
        descriptions[first : first + _N_IN_BLOCK] = [f"follows {names[place]}"] * _N_IN_BLOCK
        descriptions[place] = "informs alone"
    for block, shift in _JOINTLY.items():
        one, other = block * _N_IN_BLOCK + 5, block * _N_IN_BLOCK + 13
        informative[one] = programme[:, block] + shift * side
        informative[other] = programme[:, block] - shift * side
        descriptions[one] = f"informs with {names[other]}"
        descriptions[other] = f"informs with {names[one]}"
    values = (weight * programme.repeat(_N_IN_BLOCK, axis=1) + (100 - weight) * noise) // 100
    for place, signal in informative.items():
        values[:, place] = signal + 3 * noise[:, place] // 10

    X = ((level + spread * values // 4) / 100).astype(np.float32)
    y = np.where(sick, "sick", "healthy")
    return (X, y) if return_X_y else Dataset(X, y, names, "state", descriptions=descriptions)
