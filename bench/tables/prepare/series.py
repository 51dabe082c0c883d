#!/usr/bin/env python3
"""Writes a series as CSV.

    series.py laser FILE OUT       the first 5,000 values: 2,000 for training and validation, 3,000 for testing
    series.py sunspots FILE OUT    the second column of a CSV file
    series.py narma FILE OUT       input and target of an example of `unfold generate narma`
"""

import sys

import files


def laser(lines):
    return [b"value"] + lines[:5000]


def sunspots(lines):
    return [b"value"] + [b"%d" % x if x.is_integer() else repr(x).encode()
                         for x in (float(line.split(b",")[1]) for line in lines[1:])]


def narma(lines):
    return [b"u,value"] + [b",".join(line.split(b"\t")[2:]) for line in lines[1:]]


def main():
    series, path, out = sys.argv[1:]
    lines = {"laser": laser, "sunspots": sunspots, "narma": narma}[series](files.lines(path))
    files.write(out, b"\n".join(lines) + b"\n")


main()
