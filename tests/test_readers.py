"""Files of all kinds as tables: what each content is read as, or which words it is refused by."""

import io
import zipfile

import pytest


def zipped(content, name="a.csv"):
    """Return a zip archive of one file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


def zstd(content):
    """Return a zstd frame."""
    return pytest.importorskip("zstandard").ZstdCompressor().compress(content)


def sheets(*tables, merged=(), names=()):
    """Return a workbook with a sheet for each table of rows."""
    book = pytest.importorskip("openpyxl").Workbook()
    book.remove(book.active)
    for number, rows in enumerate(tables):
        sheet = book.create_sheet(names[number] if names else f"Sheet{number + 1}")
        for row in rows:
            sheet.append(row)
        for one in merged:
            sheet.merge_cells(one)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def parquet(**columns):
    """Return a Parquet file of columns, as polars writes it."""
    import polars as pl

    buffer = io.BytesIO()
    pl.DataFrame(columns, strict=False).write_parquet(buffer)
    return buffer.getvalue()


PLAIN = "a,b,y\n1,2.5,0\n3,-4e2,1\n"
ROWS = [[1, 2.5], [3, -400]]
