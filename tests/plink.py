"""Writes .bed, .bim and .fam files byte by byte: the oracle of the readers of genotypes."""

import numpy as np

CODES = {2: 0b00, -1: 0b01, 1: 0b10, 0: 0b11}  # of copies of the first allele; -1: missing


def write_plink(stem, copies, phenotypes=None, first=0, padding=0b00):
    """Write (n, p) copies of the first allele; samples are S0, S1, ..., variants rs{first}, ..."""
    n, p = copies.shape
    stem.parent.mkdir(parents=True, exist_ok=True)
    data = bytearray(b"\x6c\x1b\x01")
    for j in range(p):
        codes = [CODES[int(c)] for c in copies[:, j]] + [padding] * (-n % 4)
        for i in range(0, len(codes), 4):
            data.append(sum(code << (2 * place) for place, code in enumerate(codes[i : i + 4])))
    stem.with_suffix(".bed").write_bytes(data)
    stem.with_suffix(".bim").write_text(
        "".join(f"{1 + j // 5}\trs{first + j}\t0\t{100 + j}\tA\tG\n" for j in range(p))
    )
    y = [-9] * n if phenotypes is None else phenotypes
    stem.with_suffix(".fam").write_text(
        "".join(f"F{i // 2} S{i} 0 0 {1 + i % 2} {y[i]}\n" for i in range(n))
    )
    return stem.with_suffix(".bed")


def imputed(copies, meaning=(0.0, 1.0, 2.0), rows=None):
    """Return (n, p) what copies mean, missing ones as the mean over rows in float32."""
    values = np.where(copies < 0, np.nan, np.asarray(meaning)[np.maximum(copies, 0)])
    for column in values.T:
        known = column if rows is None else column[rows]
        known = known[~np.isnan(known)]
        column[np.isnan(column)] = np.float32(known.mean()) if known.size else 0.0
    return values


def draw(n, p, missing=0.05, seed=0):
    """Return (n, p) copies, -1 where missing; the last variant of three or more is all missing."""
    rng = np.random.default_rng(seed)
    copies = rng.binomial(2, rng.uniform(0.05, 0.95, p), (n, p))
    copies[rng.random((n, p)) < missing] = -1
    if p > 2:
        copies[:, -1] = -1
    return copies
