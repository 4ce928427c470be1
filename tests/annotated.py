"""Single-cell files as AnnData and 10x Genomics lay them out, written by h5py alone."""

import h5py
import numpy as np
import scipy.sparse as sp

TEXT = h5py.string_dtype()


def encoded(part, kind):
    """Say what a part of a file is, as AnnData does."""
    part.attrs["encoding-type"], part.attrs["encoding-version"] = kind, "0.2.0"
    return part


def write_matrix(group, name, X, chunk=7):
    """Write an array, or a sparse matrix as a group of its arrays, compressed."""
    if not sp.issparse(X):
        chunks = (min(chunk, X.shape[0]), min(chunk, X.shape[1]))
        part = group.create_dataset(name, data=X, chunks=chunks, compression="gzip")
        return encoded(part, "array")
    part = group.create_group(name)
    part.attrs["encoding-type"], part.attrs["encoding-version"] = f"{X.format}_matrix", "0.1.0"
    part.attrs["shape"] = X.shape
    for key in ("data", "indices", "indptr"):
        values = getattr(X, key)
        size = (min(chunk, max(1, values.size)),)
        part.create_dataset(key, data=values, chunks=size, maxshape=(None,), compression="gzip")
    return part


def write_frame(group, name, index, columns):
    """Write a data frame: numbers, text, or a pair (codes, categories)."""
    part = group.create_group(name)
    part.attrs["encoding-type"], part.attrs["encoding-version"] = "dataframe", "0.2.0"
    part.attrs["_index"] = "names"
    part.attrs["column-order"] = np.array(list(columns), TEXT)
    encoded(part.create_dataset("names", data=np.array(index, object), dtype=TEXT), "string-array")
    for key, values in columns.items():
        if isinstance(values, tuple):
            own = encoded(part.create_group(key), "categorical")
            own.attrs["ordered"] = False
            encoded(own.create_dataset("codes", data=np.asarray(values[0], np.int8)), "array")
            names = own.create_dataset("categories", data=np.array(values[1], object), dtype=TEXT)
            encoded(names, "string-array")
        elif np.asarray(values).dtype.kind == "U":
            names = part.create_dataset(key, data=np.array(values, object), dtype=TEXT)
            encoded(names, "string-array")
        else:
            encoded(part.create_dataset(key, data=values), "array")


def write_h5ad(path, X, obs, genes=None, layers=None, raw=None):
    """Write an .h5ad file; raw is (X, names of its features)."""
    n, p = X.shape
    genes = [f"g{j}" for j in range(p)] if genes is None else genes
    with h5py.File(path, "w") as file:
        file.attrs["encoding-type"], file.attrs["encoding-version"] = "anndata", "0.1.0"
        write_matrix(file, "X", X)
        write_frame(file, "obs", [f"cell{i}" for i in range(n)], obs)
        write_frame(file, "var", genes, {})
        group = file.create_group("layers")
        group.attrs["encoding-type"], group.attrs["encoding-version"] = "dict", "0.1.0"
        for name, one in (layers or {}).items():
            write_matrix(group, name, one)
        if raw is not None:
            write_matrix(encoded(file.create_group("raw"), "raw"), "X", raw[0])
            file["raw"].attrs["encoding-version"] = "0.1.0"
            write_frame(file["raw"], "var", raw[1], {})
    return path


def write_10x(path, counts, genomes=None):
    """Write counts, cells by genes, as Cell Ranger 3 does, or 2 with a group for each genome."""
    n, p = counts.shape
    by_cell = sp.csc_array(sp.csr_array(counts).T)  # genes by cells
    ids = [f"ENSG{j}" for j in range(p)]
    symbols = ["TWIN" if j < 2 else f"S{j}" for j in range(p)]
    with h5py.File(path, "w") as file:
        for name in genomes or ["matrix"]:
            part = file.create_group(name)
            for key in ("data", "indices", "indptr"):
                part.create_dataset(key, data=getattr(by_cell, key), chunks=(5,), maxshape=(None,))
            part.create_dataset("shape", data=by_cell.shape)
            part.create_dataset("barcodes", data=np.array([f"c{i}" for i in range(n)], "S"))
            own = part if genomes else part.create_group("features")
            own.create_dataset("genes" if genomes else "id", data=np.array(ids, "S"))
            own.create_dataset("gene_names" if genomes else "name", data=np.array(symbols, "S"))
    return path
