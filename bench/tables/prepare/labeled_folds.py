#!/usr/bin/env python3
"""Divides labeled lines into ten stratified folds: line i of a class is tested in fold i mod 10.

    labeled_folds.py STEM LABEL=FILE...      writes STEM-F.train and STEM-F.test for F = 1 ... 10
"""

import sys

import files

FOLDS = 10


def as_utf8(line):
    """Converts ISO-8859-1 to UTF-8 unless the line is already valid UTF-8."""
    try:
        line.decode()
        return line
    except UnicodeDecodeError:
        return line.decode("latin-1").encode()


def main():
    stem, *classes = sys.argv[1:]
    examples = []
    for label, path in (entry.split("=", 1) for entry in classes):
        for i, line in enumerate(files.lines(path)):
            examples.append((i % FOLDS, label.encode() + b"\t" + as_utf8(line).replace(b"\t", b" ") + b"\n"))
    for fold in range(FOLDS):
        files.write(f"{stem}-{fold + 1}.train", b"".join(line for of, line in examples if of != fold))
        files.write(f"{stem}-{fold + 1}.test", b"".join(line for of, line in examples if of == fold))


main()
