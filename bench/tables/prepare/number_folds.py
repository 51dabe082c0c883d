#!/usr/bin/env python3
"""Divides the rows of a table of measurements into ten folds.

    number_folds.py FOLDER FILE STEM     writes STEM-F.train.csv, STEM-F.valid.csv and STEM-F.test.csv for F = 1 ... 10

Leaves out names, classes, columns with few distinct values, and the second column of each pair whose correlation is
above 0.98 (Uria, Murray and Larochelle 2013). Shuffles the rows with seed 1. Fold f tests on every tenth row starting
with f, validates on a tenth of the other rows and trains on the rest.
"""

import math
import sys

import files
import philox

FOLDS = 10
TWIN = 0.98
# Separator, whether the first line has the names, and the columns to leave out.
TABLES = {
    "winequality-red.csv": (";", True, {11}),
    "winequality-white.csv": (";", True, {11}),
    "parkinsons.data": (",", True, {0, 17}),
    "ionosphere.data": (",", False, {0, 1, 34}),
}


def read(path, separator, heading, left_out):
    """Returns the names of the columns and the rows, as strings."""
    rows = []
    for line in files.contents(path).decode().replace('"', "").replace("\r", "").split("\n"):
        if line:
            rows.append([cell for i, cell in enumerate(line.split(separator)) if i not in left_out])
    return (rows[0], rows[1:]) if heading else ([f"x{i + 1}" for i in range(len(rows[0]))], rows)


def correlation(x, y):
    mx, my = sum(x) / len(x), sum(y) / len(y)
    xy = sum((a - mx) * (b - my) for a, b in zip(x, y))
    xx, yy = sum((a - mx) ** 2 for a in x), sum((b - my) ** 2 for b in y)
    return xy / math.sqrt(xx * yy) if xx * yy > 0 else 0


def without_twins(rows):
    """Returns the numbers of the columns to keep."""
    kept = {}
    for i in range(len(rows[0])):
        numbers = [float(row[i]) for row in rows]
        if all(abs(correlation(numbers, other)) <= TWIN for other in kept.values()):
            kept[i] = numbers
    return list(kept)


def main():
    folder, name, stem = sys.argv[1:]
    names, rows = read(f"{folder}/{name}", *TABLES[name])
    kept = without_twins(rows)
    lines = [",".join(row[i] for i in kept) + "\n" for row in rows]
    random = philox.Random(1, "folds")
    for i in range(len(lines), 1, -1):
        j = random.below(i)
        lines[i - 1], lines[j] = lines[j], lines[i - 1]
    heading = ",".join(names[i] for i in kept) + "\n"
    for fold in range(FOLDS):
        test = lines[fold::FOLDS]
        others = [line for i, line in enumerate(lines) if i % FOLDS != fold]
        train = [line for i, line in enumerate(others) if i % FOLDS != 0]
        for part, chosen in (("train", train), ("valid", others[::FOLDS]), ("test", test)):
            files.write(f"{stem}-{fold + 1}.{part}.csv", (heading + "".join(chosen)).encode())


main()
