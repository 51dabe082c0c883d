"""Input and output of the scripts in this folder."""

import gzip
import pathlib
import sys


def contents(path):
    """Returns the bytes of a file, which may be compressed with gzip."""
    try:
        data = pathlib.Path(path).read_bytes()
    except OSError as error:
        sys.exit(f"cannot read {path}: {error.strerror}")
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def lines(path):
    """Returns the lines of a file as bytes, without trailing spaces and without empty lines."""
    stripped = (line.rstrip(b" \r") for line in contents(path).split(b"\n"))
    return [line for line in stripped if line]


def write(path, data):
    try:
        pathlib.Path(path).write_bytes(data)
    except OSError as error:
        sys.exit(f"cannot write {path}: {error.strerror}")
