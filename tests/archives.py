"""Files of models and certificates taken apart, to be put together wrongly."""

import json

import numpy as np

from zeronorm.persistence.archive import seal


def parts(path):
    """Return the arrays of a file, the metadata decoded."""
    with np.load(path) as arrays:
        found = {name: arrays[name] for name in arrays.files}
    found["metadata"] = json.loads(found["metadata"].tobytes())
    return found


def rewrite(kind, path, arrays):
    """Write a file with a sound checksum around unsound content; return its path.

    kind : `MODEL` or `CERTIFICATE`. arrays : their metadata may be encoded already.
    """
    arrays = dict(arrays)
    if isinstance(arrays["metadata"], dict):
        text = json.dumps(arrays["metadata"]).encode()
        arrays["metadata"] = np.frombuffer(text, np.uint8)
    path.write_bytes(seal(kind, arrays))
    return path
