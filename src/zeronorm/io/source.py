"""A file on disk: whether it can be opened, how it is compressed, what format it has.

Content decides first (compression, NumPy, Parquet), the name second (CSV, svmlight); plain text
without a telling name is looked at. What is damaged, expands beyond reason or would have to be
unpickled is refused here, before a reader sees it.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import importlib
import io
import lzma
import os
import re
import shutil
import stat
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..core.errors import ParameterError
from ..core.files import FileError, MissingFileError, PathLike, did_you_mean, os_errors, quote
from ..core.messages import option, ways_out

# Text in other encodings than UTF-8, which readers get as UTF-8.

_PART = 1 << 20


def checked_encoding(name: str | None) -> str | None:
    """Return the name of an encoding as Python has it; None for UTF-8, which is read as it is.

    Raises a ValueError where there is no such encoding of text.
    """
    if name is None:
        return None
    try:
        "".encode(name)  # refuses the codecs that are none of text, as hex
        known = codecs.lookup(name).name
    except (LookupError, ValueError):
        raise ParameterError(
            "encoding",
            "must be the name of an encoding of text, such as latin-1, cp1252 or utf-16",
            f"{name!r:.50}",
        ) from None
    return None if known in ("utf-8", "utf-8-sig") else known


class Recoded(io.RawIOBase):
    """The bytes of a text as UTF-8."""

    def __init__(self, name: str, inner: IO[bytes], encoding: str) -> None:
        self._name, self._inner, self._encoding = name, inner, encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._ready = memoryview(b"")
        self._n_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        is_last = False
        while not self._ready and not is_last:
            part = self._inner.read(_PART)
            is_last = not part
            try:
                text = self._decoder.decode(part, is_last)
                self._ready = memoryview(text.encode())
            except UnicodeError as error:
                raise FileError(
                    f"{self._name}: not {self._encoding} text, near byte {self._n_bytes:,} "
                    f"({error.args[-1]}); say another {option('--encoding')}."
                ) from None
            self._n_bytes += len(part)
        view = memoryview(buffer).cast("B")
        n = min(len(view), len(self._ready))
        view[:n], self._ready = self._ready[:n], self._ready[n:]
        return n


# zstd data, by Python itself (from 3.14 on) or by the package zstandard.
#
# Both have readers of their own; that of zstandard takes half a file for a whole one.

# Bytes taken at a time: they may expand to 32,000 times as many.
_STEP = 1 << 12


class Frames:
    """The decompressed bytes of a file of zstd frames.

    Damage is an OSError, a file that ends within a frame an EOFError, no library an ImportError.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._new, self._error = _library()
        self._frame: Any = None  # the one that is being read
        self._behind = b""  # what was taken of the file behind the last frame
        self._ready = io.BytesIO()

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes; none at the end."""
        while not (data := self._ready.read(size)):
            stored = self._behind or self._file.read(_STEP)
            self._behind = b""
            if not stored:
                if self._frame is not None:
                    raise EOFError("the file ends within a frame")
                return b""
            try:
                self._frame = self._frame or self._new()
                self._ready = io.BytesIO(self._frame.decompress(stored))
            except self._error as error:
                raise OSError(str(error)) from None
            if self._frame.eof:
                self._behind, self._frame = self._frame.unused_data, None
        return data


def _library() -> tuple[Any, type[Exception]]:
    """Return what makes a decompressor of one frame, and what it raises."""
    try:
        library = importlib.import_module("compression.zstd")
    except ImportError:
        library = importlib.import_module("zstandard")
        return library.ZstdDecompressor().decompressobj, library.ZstdError
    return library.ZstdDecompressor, library.ZstdError


# Formats that zeronorm does not read: each is refused by name, with the way to convert it.
#
# The readers of VCF (cyvcf2) and of Matrix Market (scipy.io.mmread) end the process on damaged
# files, so that zeronorm calls neither. The owners of these formats convert them.

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
    if path.suffix.lower() == ".loom":
        raise of_loom(path)
    if path.is_dir() and any(path.glob(_TEN_X)):
        raise _of_cells(path, f"{path}: a directory of 10x Genomics as text (matrix.mtx)")


def of_loom(path: Path) -> FileError:
    """Return the error of a loom file."""
    return FileError(
        f"{path}: loom files, which have genes in rows, are not read. Let anndata turn one: "
        f'anndata.io.read_loom("{path.name}").write_h5ad("{path.stem}.h5ad").'
    )


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


Stream: TypeAlias = "io.BufferedReader[Any]"

DELIMITERS = {".csv": ",;\t|", ".tsv": "\t", ".tab": "\t"}
_COMPRESSIONS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_BINARY = (b"\x93NUMPY", b"PAR1", b"\x89HDF\r\n\x1a\n", b"PK\x03\x04")
_SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd", ".zip": "zip"}
_SVMLIGHT = {".svm", ".svmlight", ".libsvm"}
_CONTROL = re.compile(rb"[\x01-\x08\x0e-\x1f]")  # what text does not have
_JSON_LINES = {".jsonl", ".ndjson"}

# A file that expands to more bytes than this, and by more than the ratio, is not data: text
# compresses 3 to 50 times, a bomb 1000 times.
_BOMB_SIZE = 1 << 30
_BOMB_RATIO = 200


class Source:
    """A regular file, how it is compressed, and of text how it is encoded, if not as UTF-8."""

    def __init__(self, path: Path, name: str | None = None, encoding: str | None = None) -> None:
        self.path = path
        self.name = str(path) if name is None else name  # as messages have it
        self.size = path.stat().st_size
        self.encoding = encoding
        with os_errors(path), path.open("rb") as file:
            magic = file.read(8)
        if not magic:
            raise FileError(f"{self}: the file is empty.")
        self.compression = next(
            (name for key, name in _COMPRESSIONS.items() if magic.startswith(key)), None
        )
        outer = path.suffix.lower()
        self.suffix = outer
        expected = _SUFFIXES.get(outer)
        self.is_workbook = False
        if magic.startswith(b"PK\x03\x04"):
            names = self._members()
            self.is_workbook = "xl/workbook.xml" in names
            if not self.is_workbook and not (names and all(n.endswith(".npy") for n in names)):
                self.compression = "zip"
        if expected is not None:
            if self.compression != expected:
                raise FileError(f"{self}: named {outer} but it holds no {expected} data.")
            self.suffix = Path(path.stem).suffix.lower()

    def __str__(self) -> str:
        return self.name

    def _members(self) -> list[str]:
        try:
            with zipfile.ZipFile(self.path) as archive:
                return archive.namelist()
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise FileError(f"{self}: the zip archive is truncated or damaged ({error}).") from None

    @contextmanager
    def open(self) -> Iterator[Stream]:
        """Yield the decompressed bytes, text as UTF-8."""
        with self._bytes() as stream:
            if self.encoding is not None and not stream.peek(8).startswith(_BINARY):
                stream = io.BufferedReader(Recoded(str(self), stream, self.encoding), 1 << 17)
            yield stream

    @contextmanager
    def _bytes(self) -> Iterator[Stream]:
        with ExitStack() as stack:
            with os_errors(self.path):
                file = stack.enter_context(io.BufferedReader(io.FileIO(self.path), 1 << 17))
            stored = self.size
            inner: Any
            if self.compression is None:
                yield file
                return
            if self.compression == "gzip":
                inner = stack.enter_context(gzip.GzipFile(fileobj=file))
            elif self.compression == "bzip2":
                inner = stack.enter_context(bz2.BZ2File(file))
            elif self.compression == "xz":
                inner = stack.enter_context(lzma.LZMAFile(file))
            elif self.compression == "zstd":
                inner = self._zstd_frames(file)
            else:
                inner, stored = self._only_member(stack.enter_context(zipfile.ZipFile(file)))
            guarded = _Guarded(self, inner, stored)
            yield stack.enter_context(io.BufferedReader(guarded, 1 << 17))

    def _zstd_frames(self, file: IO[bytes]) -> Frames:
        try:
            return Frames(file)
        except ImportError:
            raise FileError(
                f"{self}: zstd is not supported by this Python; install the package "
                "zstandard, or decompress the file first (zstd -d)."
            ) from None

    def _only_member(self, archive: zipfile.ZipFile) -> tuple[IO[bytes], int]:
        # A damaged directory can hold an empty name, which `ZipInfo.is_dir` does not survive.
        members = [info for info in archive.infolist() if not info.filename.endswith("/")]
        if len(members) != 1:
            raise FileError(
                f"{self}: a zip archive must hold one file; this one holds {len(members)}. "
                "Extract the one you mean."
            )
        self.suffix = Path(members[0].filename).suffix.lower()
        return open_member(self, archive, members[0]), members[0].compress_size


def open_member(source: Source, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> IO[bytes]:
    """Open a member of a zip archive, or refuse it as a FileError."""
    try:
        return archive.open(info)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError, ValueError) as error:
        # RuntimeError: encrypted.
        raise FileError(f"{source}: cannot read {quote(info.filename)} ({error}).") from None


class _Guarded(io.RawIOBase):
    """Decompressed bytes: damage becomes a `FileError`, a decompression bomb is refused."""

    def __init__(self, source: Source, inner: IO[bytes], stored: int) -> None:
        self._source, self._inner, self._stored = source, inner, stored
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        try:
            data = self._inner.read(len(view))
        except (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
            raise FileError(
                f"{self._source}: the {self._source.compression} data are truncated or damaged "
                f"({error})."
            ) from None
        self._count += len(data)
        refuse_bomb(self._source, self._count, self._stored)
        view[: len(data)] = data
        return len(data)


def refuse_bomb(source: Source, size: int, stored: int) -> None:
    """Raise a FileError if `stored` bytes expand to a `size` that no data have."""
    if size > _BOMB_SIZE and size > _BOMB_RATIO * stored:
        raise FileError(
            f"{source}: expands to more than {_BOMB_RATIO} times its size and beyond 1 GiB; "
            "decompress it yourself if that is meant."
        )


def format_of(source: Source, stream: Stream) -> str:
    """Return the name of the format of a source, by its first bytes and its own name."""
    head = stream.peek(1 << 16)
    if not head:
        raise FileError(f"{source}: the file is empty.")
    if head.startswith(b"\x93NUMPY"):
        return "npy"
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"\x89HDF\r\n\x1a\n"):
        return "hdf5"
    if head.startswith(b"PK\x03\x04"):
        return "excel" if source.is_workbook else "npz"
    if head.startswith(b"\xd0\xcf\x11\xe0"):
        raise FileError(f"{source}: a workbook of Excel before 2007; save it as .xlsx or CSV.")
    if any(head.startswith(magic) for magic in _COMPRESSIONS):
        raise FileError(f"{source}: compressed twice; decompress it once.")
    if head[:1] == b"\x80" and head[1:2] <= b"\x05":
        raise FileError(f"{source}: a pickle, which is never loaded; save arrays as .npz instead.")
    refuse_content(source.path, source.name, head)
    if source.suffix in {".pgen", ".bgen"}:
        raise FileError(
            f"{source}: genotypes of PLINK 2 and BGEN become a store first: zeronorm convert "
            f"{source.path.name} STORE.zarr."
        )
    if source.suffix in {".npy", ".npz", ".parquet", ".h5ad", ".h5", ".xlsx"}:
        raise FileError(f"{source}: named {source.suffix} but its content is something else.")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileError(f"{source}: UTF-16 text; {utf_16_ways()}.")
    if b"\x00" in head:
        if source.suffix in {*DELIMITERS, *_SVMLIGHT} and not _CONTROL.search(head):
            raise nul_byte(source)
        raise FileError(
            f"{source}: binary data of an unknown kind; expected svmlight, CSV, npz, npy or "
            "Parquet."
        )
    if source.suffix in _SVMLIGHT:
        return "svmlight"
    if source.suffix in DELIMITERS:
        return "delimited"
    if has_objects(source, head):
        return "json_lines"
    return "svmlight" if _looks_like_svmlight(head) else "delimited"


def has_objects(source: Source, head: bytes) -> bool:
    """Return whether text is JSON lines, by its name or its first bytes."""
    if source.suffix in _JSON_LINES or head.removeprefix(codecs.BOM_UTF8).lstrip()[:1] == b"{":
        return True
    if source.suffix == ".json":
        raise FileError(
            f"{source}: JSON must be lines with an object each, without brackets or commas around "
            "them; for example jq -c '.[]' writes such lines of a list."
        )
    return False


def _looks_like_svmlight(head: bytes) -> bool:
    lines = head.removeprefix(codecs.BOM_UTF8).splitlines()[:20]
    return any(re.match(rb"\s*[^\s,;]+(\s+qid:\d+)?(\s+\d+:[^\s:]+)+", line) for line in lines)


def similar_files(path: Path) -> str:
    """Return a sentence with the files of the same folder whose names are like this one."""
    try:
        names = os.listdir(path.parent)
    except OSError:
        return ""
    return did_you_mean(path.name, names, listing=False)


def is_label_file(target: str) -> bool:
    """Whether the target is the path of a file, not the name of a column or an array."""
    try:
        return Path(target).is_file()
    except (OSError, ValueError):
        return False


def utf_16_ways() -> str:
    """Return what to do with text in UTF-16."""
    return ", or ".join(ways_out("say --encoding utf-16", "save it as UTF-8"))


def not_utf8(source: Source, of_data: bool = False) -> FileError:
    """Return the error of the first line that is not UTF-8. of_data : which have an option."""
    ways = ["convert it, for example with iconv -f latin1 -t utf8"]
    if of_data:
        ways.insert(0, "say --encoding NAME, as cp1252 (Windows) or latin-1")
    remedy = ", or ".join(ways_out(*ways))
    with source.open() as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return FileError(
                    f"{source}: line {number}, byte {error.start + 1}: not UTF-8 text; {remedy}."
                )
    return FileError(f"{source}: not UTF-8 text; {remedy}.")


def nul_byte(source: Source) -> FileError:
    """Return the error of the first line that has a NUL byte."""
    where = ""
    with source.open() as stream:
        for number, line in enumerate(stream, 1):
            if b"\x00" in line:
                where = f"line {number}: "
                break
    return FileError(
        f"{source}: {where}a NUL byte, which text does not have; a copy may have been cut off. "
        "Write the file again, or remove the line."
    )


def check_path(path: PathLike) -> Path:
    """Return the path of a regular file."""
    path = Path(path)
    if str(path) == "-":
        raise FileError("-: standard input is for the data alone; name a file.")
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        if re.match(r"[a-z0-9+.-]{2,}:/", text := str(path)):
            text = text.replace(":/", "://", 1)
            raise MissingFileError(f"{text}: an address, no file; download it first.") from None
        raise MissingFileError(f"{path}: no such file.{similar_files(path)}") from None
    except (OSError, ValueError) as error:  # too long, not permitted, a NUL in it
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise FileError(f"{quote(str(path))}: cannot be read ({reason}).") from None
    refuse_format(path)
    if stat.S_ISDIR(mode):
        raise FileError(f"{path}: a directory; name a file in it.")
    if not stat.S_ISREG(mode):
        raise FileError(f"{path}: not a regular file; write the data to a file first.")
    return path


# What lies on the disk for a while instead of in memory: numbers, and standard input.


def on_disk(parts: Iterable[NDArray[Any]], folder: Path) -> NDArray[np.uint8]:
    """Return the bytes of arrays one after the other, mapped from a file in a folder.

    The file has no name, and ends with the map. Bytes are written and mapped then: to fill a map of
    a file that the disk has no room for would end the process.

    Raises
    ------
    FileError
        If there is no room.
    """
    size = 0
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        for part in parts:
            try:
                part.tofile(file)
            except OSError as error:
                raise FileError(
                    f"{folder}: numbers cannot be kept there on the way beyond {size / 1e6:,.0f} "
                    f"MB ({error}). Make room there, or put the store on another disk."
                ) from None
            size += part.nbytes
        return np.memmap(file, np.uint8, "r", 0, (size,)) if size else np.empty(0, np.uint8)


@contextmanager
def standard_input() -> Iterator[Path]:
    """Yield a file with all bytes of standard input; it is gone afterwards."""
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None or sys.stdin.isatty():
        raise FileError(
            "-: standard input has no data; give it some, as in: zeronorm ... - < rows.csv."
        )
    with tempfile.NamedTemporaryFile(prefix="zeronorm-") as file:
        try:
            shutil.copyfileobj(stream, file, 1 << 20)
            file.flush()
        except OSError as error:
            raise FileError(
                f"-: standard input cannot be kept in {tempfile.gettempdir()} ({error}). Make room "
                "there, or name another directory in the environment variable TMPDIR."
            ) from None
        yield Path(file.name)
