#!/usr/bin/env python3
"""Counts how often the rows of generated tables are read as independent, and as a sequence.

    python3 bench/defaults/row_order.py --unfold build/release/bin/unfold [--tables 200]

The tables have two to five columns that are read, one that is predicted, and 20 to 1,500 rows. The first kinds have
independent rows, the others are series. Needs numpy.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy


def related(random, rows, inputs):
    """Independent rows of related columns."""
    return random.normal(size=(rows, 1)) + random.normal(size=(rows, inputs + 1))


def sorted_rows(random, rows, inputs):
    table = related(random, rows, inputs)
    return table[numpy.argsort(table[:, 0])]


def heavy_tails(random, rows, inputs):
    return related(random, rows, inputs) / numpy.sqrt(random.chisquare(2, (rows, 1)) / 2)


def counts(random, rows, inputs):
    return random.poisson(numpy.exp(0.5 * related(random, rows, inputs)))


def autoregression(random, noise, coefficient):
    values, last = numpy.empty_like(noise), numpy.zeros(noise.shape[1])
    for row, innovation in enumerate(noise):
        values[row] = last = coefficient * last + innovation
    return values


def autoregressive(random, rows, inputs):
    return autoregression(random, related(random, rows, inputs), random.uniform(0.7, 0.98))


def periodic(random, rows, inputs):
    time = numpy.arange(rows)[:, None]
    phases = random.uniform(0, 2 * numpy.pi, inputs + 1)
    return numpy.sin(2 * numpy.pi * time / random.uniform(4, 30) + phases) + 0.3 * random.normal(size=(rows, inputs + 1))


def target_series(random, rows, inputs):
    """Only the predicted column is a series; the others are noise without an effect on it."""
    table = random.normal(size=(rows, inputs + 1))
    table[:, -1:] = autoregression(random, table[:, -1:], random.uniform(0.7, 0.98))
    return table


def driven_series(random, rows, inputs):
    """Only the predicted column is a series, to which the noise in the other columns is added."""
    table = target_series(random, rows, inputs)
    table[:, -1] += table[:, :-1] @ random.normal(size=inputs)
    return table


KINDS = [("related columns", related, True), ("sorted by a column", sorted_rows, True),
         ("heavy tails", heavy_tails, True), ("counts", counts, True),
         ("autoregressive", autoregressive, False), ("periodic", periodic, False),
         ("only the predicted column", target_series, False),
         ("only the predicted column, with inputs", driven_series, False)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--unfold", default="build/release/bin/unfold")
    parser.add_argument("--tables", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "table.csv")
        for kind, (name, make, independent) in enumerate(KINDS):
            wrong = []
            for number in range(options.tables):
                random = numpy.random.default_rng([kind, number])
                rows, inputs = int(numpy.exp(random.uniform(numpy.log(20), numpy.log(1500)))), int(random.integers(2, 6))
                names = ",".join([*"abcde"[:inputs], "result"])
                numpy.savetxt(path, make(random, rows, inputs), "%.5g", ",", header=names, comments="")
                found = json.loads(subprocess.run([options.unfold, "inspect", str(path), "--json"], check=True,
                                                  capture_output=True, text=True).stdout)
                if found["independent_rows"] != independent:
                    wrong.append(rows)
            print(f"{name:40} {'independent' if independent else 'series':12} wrong: {len(wrong)} of {options.tables}"
                  f"{', rows: ' + ' '.join(map(str, sorted(wrong))) if wrong else ''}", flush=True)


if __name__ == "__main__":
    main()
