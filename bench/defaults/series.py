#!/usr/bin/env python3
"""Compares the default classifier of series with MultiRocket, MiniRocket and 1-nearest neighbor with DTW of aeon.

    python3 bench/defaults/series.py --unfold build/release/bin/unfold --results series.jsonl [--data ../shared/data]

Needs aeon. With --data, GunPoint, ItalyPowerDemand, ACSF1 and Japanese vowels are read from that folder; the other sets
(ArrowHead, OSULeaf, BasicMotions, PickupGestureWiimoteZ) are part of aeon. All methods use their defaults and one
thread. Seconds are CPU seconds of training and testing, of `unfold` also of the selection and of reading the files.
Series of different lengths are padded with zeros for MultiRocket and MiniRocket.

Each result is appended to the file of --results, and results that it contains are not computed again.
"""

import argparse
import gzip
import json
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile
import time

os.environ.update(NUMBA_NUM_THREADS="1", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
import numpy  # noqa: E402

VOWELS = {"ae.train": [30] * 9, "ae.test": [31, 35, 88, 44, 29, 24, 40, 50, 29]}
METHODS = ("unfold", "MultiRocket", "MiniRocket", "1-NN DTW")


def read_json_lines(path):
    """Returns series [channels x length] and their labels."""
    with gzip.open(path, "rt") as lines:
        examples = [json.loads(line) for line in lines]
    return [numpy.array([e["value"]]) for e in examples], [e["label"] for e in examples]


def read_vowels(path):
    blocks = path.read_text().strip().split("\n\n")
    labels = [str(speaker + 1) for speaker, count in enumerate(VOWELS[path.name]) for _ in range(count)]
    return [numpy.array([line.split() for line in block.splitlines()], float).T for block in blocks], labels


def read_given(name, data):
    if name == "JapaneseVowels":
        return [read_vowels(data / "timeseries/japanese_vowels" / f) for f in VOWELS]
    folder = data / "timeseries/classification"
    return [read_json_lines(folder / f"{name}.{part}.jsonl.gz") for part in ("train", "test")]


def read_packaged(name):
    from aeon import datasets
    loaders = {"GunPoint": datasets.load_gunpoint, "ItalyPowerDemand": datasets.load_italy_power_demand,
               "ACSF1": datasets.load_acsf1, "JapaneseVowels": datasets.load_japanese_vowels,
               "ArrowHead": datasets.load_arrow_head, "OSULeaf": datasets.load_osuleaf,
               "BasicMotions": datasets.load_basic_motions,
               "PickupGestureWiimoteZ": datasets.load_pickup_gesture_wiimoteZ}
    parts = [loaders[name](split=part) for part in ("train", "test")]
    return [([numpy.asarray(x) for x in series], [str(label) for label in labels]) for series, labels in parts]


def write_json_lines(path, series, labels):
    with open(path, "w") as file:
        for x, label in zip(series, labels):
            values = x[0].tolist() if len(x) == 1 else x.T.tolist()
            file.write(json.dumps({"value": values, "label": label}) + "\n")


def padded(series, length):
    return numpy.stack([numpy.pad(x, ((0, 0), (0, length - x.shape[1]))) for x in series])


def run_unfold(unfold, parts, seed):
    """Returns the test accuracy, the CPU seconds and the model."""
    with tempfile.TemporaryDirectory() as folder:
        files = [str(pathlib.Path(folder, name)) for name in ("train.jsonl", "test.jsonl")]
        for file, part in zip(files, parts):
            write_json_lines(file, *part)
        command = [unfold, "train", files[0], "--test", files[1], "--seed", str(seed), "--threads", "1", "--quiet",
                   "--json", "--out", str(pathlib.Path(folder, "run"))]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = json.loads(done.stdout)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return found["test"]["heads"]["label"]["accuracy"], seconds, found["model"]


def run_aeon(method, parts, seed):
    from aeon.classification.convolution_based import MiniRocketClassifier, MultiRocketClassifier
    from aeon.classification.distance_based import KNeighborsTimeSeriesClassifier
    (train, train_labels), (test, test_labels) = parts
    if method == "1-NN DTW":
        def make():
            return KNeighborsTimeSeriesClassifier(distance="dtw", n_neighbors=1, n_jobs=1)
        if len({x.shape[1] for x in train + test}) == 1:
            train, test = numpy.stack(train), numpy.stack(test)
    else:
        longest = max(x.shape[1] for x in train + test)
        train, test = padded(train, longest), padded(test, longest)
        classifier = MultiRocketClassifier if method == "MultiRocket" else MiniRocketClassifier

        def make():
            return classifier(random_state=seed, n_jobs=1)
    few = [train_labels.index(label) for label in sorted(set(train_labels))]
    some = train[few] if isinstance(train, numpy.ndarray) else [train[i] for i in few]
    make().fit(some, numpy.array(train_labels)[few]).predict(some)  # compiles
    before = time.process_time()
    accuracy = make().fit(train, numpy.array(train_labels)).score(test, numpy.array(test_labels))
    return float(accuracy), time.process_time() - before, method


def print_table(results, sets):
    print("| data | train / test | " + " | ".join(f"{m} | seconds" for m in METHODS) + " |")
    print("| --- | --- | " + "---: | ---: | " * len(METHODS))
    for name in sets:
        of_set = [r for r in results if r["set"] == name]
        if not of_set:
            continue
        line = f"| {name} | {of_set[0]['train']} / {of_set[0]['test']} |"
        for method in METHODS:
            of_method = [r for r in of_set if r["method"] == method]
            if not of_method:
                line += " | |"
                continue
            line += f" {statistics.median(r['accuracy'] for r in of_method):.3f} |"
            line += f" {statistics.median(r['seconds'] for r in of_method):.1f} |"
        print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--unfold", default="build/release/bin/unfold")
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--results", type=pathlib.Path, required=True)
    parser.add_argument("--sets", default="GunPoint,ItalyPowerDemand,ACSF1,JapaneseVowels,ArrowHead,OSULeaf,"
                                          "BasicMotions,PickupGestureWiimoteZ")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    results = []
    if options.results.exists():
        results = [json.loads(line) for line in options.results.read_text().splitlines()]
    done = {(r["set"], r["method"], r["seed"]) for r in results}
    for name in options.sets.split(","):
        given = options.data is not None and name in ("GunPoint", "ItalyPowerDemand", "ACSF1", "JapaneseVowels")
        parts = read_given(name, options.data) if given else read_packaged(name)
        for method in options.methods.split(","):
            for seed in range(1, 2 if method == "1-NN DTW" else options.seeds + 1):
                if (name, method, seed) in done:
                    continue
                run = run_unfold if method == "unfold" else run_aeon
                accuracy, seconds, model = run(options.unfold if method == "unfold" else method, parts, seed)
                results.append({"set": name, "method": method, "seed": seed, "accuracy": accuracy, "seconds": seconds,
                                "model": model, "train": len(parts[0][1]), "test": len(parts[1][1])})
                print(f"{name} {method} {seed}: {accuracy:.4f}, {seconds:.1f} s, {model}", flush=True)
                with options.results.open("a") as file:
                    file.write(json.dumps(results[-1]) + "\n")
    print_table(results, options.sets.split(","))


if __name__ == "__main__":
    main()
