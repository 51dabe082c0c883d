#!/usr/bin/env python3
"""Compares the default density model of a table with scikit-learn Gaussian mixtures that are chosen by BIC.

  python3 bench/defaults/density.py --unfold build/release/bin/unfold [--splits 5]

Needs scikit-learn, whose data sets iris, wine, breast cancer and diabetes are read. Each split holds out a tenth of the
rows at random. Prints the mean log-likelihood of a held-out row in nats, in units of standardized columns.
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.mixture import GaussianMixture

SETS = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "diabetes": load_diabetes}


def write(path, rows):
    names = ",".join(f"x{i}" for i in range(rows.shape[1]))
    path.write_text(names + "\n" + "\n".join(",".join(f"{x:.9g}" for x in row) for row in rows) + "\n")


def by_unfold(unfold, train, test, folder, seed):
    write(folder / "train.csv", train)
    write(folder / "test.csv", test)
    start = time.time()
    made = subprocess.run([unfold, "train", str(folder / "train.csv"), "--format", "table", "--seed", str(seed),
                           "--threads", "1", "--json", "--quiet", "--overwrite", "--out", str(folder / "run")],
                          check=True, capture_output=True, text=True)
    seconds = time.time() - start
    found = subprocess.run([unfold, "eval", str(folder / "run"), str(folder / "test.csv"), "--json"], check=True,
                           capture_output=True, text=True)
    head = next(iter(json.loads(found.stdout)["heads"].values()))
    nats = head.get("nats_per_example", head.get("nats_per_position"))
    return -nats, json.loads(made.stdout)["model"], seconds


def by_bic(train, test, seed):
    best = None
    for covariance in ("full", "diag", "tied", "spherical"):
        for components in range(1, 11):
            mixture = GaussianMixture(components, covariance_type=covariance, n_init=5, random_state=seed).fit(train)
            bic = mixture.bic(train)
            if best is None or bic < best[0]:
                best = (bic, mixture, f"{covariance} {components}")
    return best[1].score(test), best[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--unfold", default="build/release/bin/unfold")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    for name, load in SETS.items():
        if arguments.only and arguments.only != name:
            continue
        rows = load().data.astype(float)
        rows = (rows - rows.mean(0)) / rows.std(0)
        results = []
        for split in range(1, arguments.splits + 1):
            order = numpy.random.RandomState(split).permutation(len(rows))
            held = len(rows) // 10
            train, test = rows[order[held:]], rows[order[:held]]
            with tempfile.TemporaryDirectory() as folder:
                ours, model, seconds = by_unfold(arguments.unfold, train, test, Path(folder), split)
            theirs, chosen = by_bic(train, test, split)
            results.append((ours, theirs, seconds))
            print(f"  {name} {split}: unfold {ours:.3f} ({model}, {seconds:.1f} s), BIC {theirs:.3f} ({chosen})",
                  flush=True)
        ours, theirs, seconds = numpy.mean(results, axis=0)
        print(f"{name:14} unfold {ours:.3f}  BIC {theirs:.3f}  {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
