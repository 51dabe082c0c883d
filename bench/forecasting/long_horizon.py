"""Measures the network over all series in the long-horizon protocol, with settings chosen by the validation part.

    zcat ETTh1.csv.gz > ETTh1.csv
    python3 bench/forecasting/long_horizon.py ETTh1.csv 8640,2880,2880 --results etth1.jsonl --horizons 96,192,336,720

For each horizon, every setting is trained with the first seed. The setting with the smallest validation error is
trained with all seeds; only the test errors of this setting are printed. Each result is appended to the file in
--results, and results that are in the file are not computed again, so the command can be interrupted and repeated.
"""

import argparse
import itertools
import json
import pathlib
import re
import statistics
import subprocess

RESULT = re.compile(r"validation ([\d.]+) .*MSE ([\d.]+)\s+MAE ([\d.]+)")


def settings(windows, segments, dropouts, units, rates):
    for window, segment, dropout, unit, rate in itertools.product(windows, segments, dropouts, units, rates):
        if window % segment == 0:
            yield {"window": window, "segment": segment, "dropout": dropout, "units": unit,
                   "optimizer": f"adam:rate={rate:g},clip=1,schedule=cosine"}


def run(options, done, horizon, setting, seed):
    """Returns the result of one training, from the file of results if it is there."""
    key = {"horizon": horizon, **setting, "seed": seed, "steps": options.steps}
    name = json.dumps(key, sort_keys=True)
    if name in done:
        return done[name]
    arguments = [options.program, options.table, options.parts, "--median", "1", "--patience", str(options.patience)]
    for option, value in key.items():
        arguments += [f"--{option}", str(value)]
    text = subprocess.run(arguments, check=True, capture_output=True, text=True).stdout
    validation, squared, absolute = map(float, RESULT.search(text).groups())
    done[name] = {"validation": validation, "squared": squared, "absolute": absolute}
    with options.results.open("a") as file:
        file.write(json.dumps({"key": key, **done[name]}) + "\n")
    return done[name]


def numbers(kind):
    return lambda text: [kind(part) for part in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("parts", help="rows of the training, validation and test parts, such as 8640,2880,2880")
    parser.add_argument("--program", default="build/release/bin/bench_long_horizon")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("long_horizon.jsonl"))
    parser.add_argument("--horizons", type=numbers(int), default=[96, 192, 336, 720])
    parser.add_argument("--seeds", type=numbers(int), default=[1, 2, 3])
    parser.add_argument("--windows", type=numbers(int), default=[96, 336, 720])
    parser.add_argument("--segments", type=numbers(int), default=[24, 48])
    parser.add_argument("--dropouts", type=numbers(float), default=[0.1, 0.3, 0.5])
    parser.add_argument("--units", type=numbers(int), default=[128])
    parser.add_argument("--rates", type=numbers(float), default=[0.001])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--patience", type=int, default=8)
    options = parser.parse_args()
    done = {}
    if options.results.exists():
        for line in options.results.read_text().splitlines():
            result = json.loads(line)
            done[json.dumps(result.pop("key"), sort_keys=True)] = result
    for horizon in options.horizons:
        tried = list(settings(options.windows, options.segments, options.dropouts, options.units, options.rates))
        best = min(tried, key=lambda one: run(options, done, horizon, one, options.seeds[0])["validation"])
        results = [run(options, done, horizon, best, seed) for seed in options.seeds]
        squared, absolute = ([result[name] for result in results] for name in ("squared", "absolute"))
        print(f"horizon {horizon}: squared error {statistics.fmean(squared):.4f} ({min(squared):.4f} to "
              f"{max(squared):.4f}), absolute error {statistics.fmean(absolute):.4f}, mean of {len(results)} seeds; chosen "
              f"from {len(tried)} settings: {best}", flush=True)


if __name__ == "__main__":
    main()
