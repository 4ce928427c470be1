"""Formats that zeronorm does not read: each is refused by name, with the way to convert it.

The readers of VCF (cyvcf2) and of Matrix Market (scipy.io.mmread) end the process on damaged files,
so that zeronorm calls neither. The owners of these formats convert them.
"""

from __future__ import annotations

import re
from pathlib import Path

from ..core.files import FileError

_PACKED = r"(\.(gz|bgz|bz2|xz|zst|zip))?"
_VARIANTS = re.compile(rf"(.+)\.([vb]cf){_PACKED}", re.IGNORECASE)
_MARKET = re.compile(rf"(.+)\.mtx{_PACKED}", re.IGNORECASE)
_TEN_X = "matrix.mtx*"


def refuse_format(path: Path) -> None:
    """Raise a FileError if a path is named as a format that zeronorm does not read."""
    found = _VARIANTS.fullmatch(path.name)
    if found:
        raise _of_variants(str(path), found[1], found[2].lower())
    if _MARKET.fullmatch(path.name):
        raise _of_market(path, str(path))
    if path.is_dir() and any(path.glob(_TEN_X)):
        raise _of_cells(path, f"{path}: a directory of 10x Genomics as text (matrix.mtx)")


def refuse_content(path: Path, name: str, head: bytes) -> None:
    """Raise a FileError if the first bytes are those of a format that zeronorm does not read.

    name : of the file in messages.
    """
    if head.startswith(b"##fileformat=VCF"):
        raise _of_variants(name, path.stem, "vcf")
    if head.startswith(b"BCF\x02"):
        raise _of_variants(name, path.stem, "bcf")
    if head[:14].lower() == b"%%matrixmarket":
        raise _of_market(path, name)


def _of_variants(name: str, stem: str, kind: str) -> FileError:
    return FileError(
        f"{name}: {kind.upper()} files are not read. Let PLINK 2 write .bed, .bim and .fam files: "
        f"plink2 --{kind} {Path(name).name} --make-bed --out {stem}; or, to keep dosages (DS), "
        f"plink2 --{kind} {Path(name).name} dosage=DS --make-pgen --out {stem}. Then give "
        f"{stem}.bed, or convert {stem}.pgen to a store."
    )


def _of_market(path: Path, name: str) -> FileError:
    if path.match(_TEN_X) and any(path.parent.glob("barcodes.tsv*")):
        return _of_cells(path.parent, f"{name}: a matrix of 10x Genomics as text")
    stem = re.split(r"\.mtx", path.name, flags=re.IGNORECASE)[0]
    return FileError(
        f"{name}: Matrix Market files are not read. Let SciPy write an .npz file: "
        f'scipy.sparse.save_npz("{stem}.npz", scipy.io.mmread("{path.name}").tocsr()). '
        "Transpose it (.T) before that where the columns are the samples."
    )


def _of_cells(folder: Path, what: str) -> FileError:
    return FileError(
        f"{what}, which is not read. Give the .h5 file that Cell Ranger writes beside the folder "
        f"({folder.name}.h5), or make an .h5ad file of it with scipy.io.mmread, anndata.AnnData "
        "and write_h5ad: docs/guide/cells.md has the lines."
    )
