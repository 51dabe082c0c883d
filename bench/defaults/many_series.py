#!/usr/bin/env python3
"""Time and memory of training random kernels on many labeled series.

    bench/defaults/many_series.py --unfold build/release/bin/unfold --series 100000 --length 500

Generates series of two classes (a sine wave with a random phase, and a sine wave with a chirp, both with noise), trains
`kernels` on them and prints the CPU time, the largest memory and the accuracy on 1,000 further series.
"""

import argparse
import json
import pathlib
import resource
import subprocess
import tempfile

import numpy


def series(count, length, random):
    labels = random.integers(0, 2, count)
    time = numpy.linspace(0, 1, length)[None]
    phase = random.uniform(0, 2 * numpy.pi, (count, 1))
    chirp = labels[:, None] * 6 * time**2
    waves = numpy.sin(2 * numpy.pi * (8 * time + chirp) + phase) + random.normal(0, 1, (count, length))
    return waves.astype(numpy.float32)[:, :, None], labels


def write(path, count, length, random):
    values, labels = series(count, length, random)
    numpy.savez(path, x=values, label=labels, lengths=numpy.full(count, length))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--unfold", default="build/release/bin/unfold")
    parser.add_argument("--series", type=int, default=100_000)
    parser.add_argument("--length", type=int, default=500)
    parser.add_argument("--features", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    random = numpy.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        train, test, run = (str(pathlib.Path(folder, name)) for name in ("train.npz", "test.npz", "run"))
        write(train, options.series, options.length, random)
        write(test, 1000, options.length, random)
        command = [options.unfold, "train", train, "--predict", "label", "--model", f"kernels:{options.features}"]
        subprocess.run([*command, "--out", run, "--threads", str(options.threads), "--quiet"], check=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        answer = subprocess.run([options.unfold, "eval", run, test, "--json"], check=True, capture_output=True, text=True)
        figures = json.loads(answer.stdout)["heads"]["label"]
    print(f"{options.series} series of {options.length}: {used.ru_utime + used.ru_stime:.0f} s of CPU time, "
          f"{used.ru_maxrss / 1e6:.2f} GB, accuracy {figures['accuracy']:.4f}")


if __name__ == "__main__":
    main()
