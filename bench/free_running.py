#!/usr/bin/env python3
"""Errors of free-running forecasts by horizon, for teacher forcing, feedback and scheduled sampling.

  bench/free_running.py SERIES.csv --learn 2000 [--ahead 100] [--origins 20] [--seeds 5] [--folder free] [--unfold PATH]

The first --learn values of the series are for training (a tenth of them for validation). Forecasts of --ahead values
start at --origins positions of the remaining values, each after reading all preceding values. A forecast is the mean of
200 sampled paths. Prints Markdown: the root mean squared error divided by the standard deviation of the series, by
ranges of the horizon, median and range over seeds. Trained models are kept in --folder and not trained again.
"""

import argparse
import os
import statistics
import subprocess

WAYS = {
    "teacher forcing": [],
    "feedback 20+10": ["--feedback", "20+10"],
    "own outputs, 1..0.2 linear": ["--teacher-forcing", "1..0.2"],
    "own outputs, 1..0.2 inverse sigmoid": ["--teacher-forcing", "1..0.2", "--forcing-schedule", "inverse-sigmoid"],
}
RANGES = [(1, 1), (2, 5), (6, 10), (11, 20), (21, 50), (51, 100)]


def write(path, values):
    with open(path, "w", encoding="utf-8") as out:
        out.write("value\n" + "".join(f"{v}\n" for v in values))


class Bench:
    def __init__(self, options):
        self.options = options
        with open(options.series, encoding="utf-8") as lines:
            self.values = [float(line.strip()) for line in list(lines)[1:] if line.strip()]
        os.makedirs(options.folder, exist_ok=True)
        mean = statistics.fmean(self.values)
        self.deviation = statistics.fmean((v - mean) ** 2 for v in self.values) ** 0.5
        last = len(self.values) - options.ahead
        step = (last - options.learn) // options.origins
        self.origins = [options.learn + step * (k + 1) for k in range(options.origins)]

    def path(self, name):
        return os.path.join(self.options.folder, name)

    def run(self, *arguments):
        return subprocess.run([self.options.unfold, *arguments], check=True, capture_output=True, text=True).stdout

    def train(self, name, seed, way):
        run = self.path(f"{name}-{seed}".replace(" ", "-").replace(",", "").replace("..", "-"))
        if os.path.exists(os.path.join(run, "model.safetensors")):
            return run
        write(self.path("learn.csv"), self.values[: self.options.learn])
        self.run("train", self.path("learn.csv"), "--predict", "value", "--split", "90/10/0", "--seed", str(seed),
                 "--threads", "1", "--quiet", "--overwrite", "--out", run, *way)
        return run

    def errors(self, run):
        """Squared errors by horizon, over all origins."""
        squares = [[] for _ in range(self.options.ahead)]
        for origin in self.origins:
            write(self.path("past.csv"), self.values[:origin])
            rows = self.run("forecast", run, self.path("past.csv"), "--ahead", str(self.options.ahead), "--quiet").split("\n")
            column = rows[0].split("\t").index("value.mean")
            for k, row in enumerate(rows[1 : self.options.ahead + 1]):
                squares[k].append((float(row.split("\t")[column]) - self.values[origin + k]) ** 2)
        return squares

    def measure(self, name, way):
        by_seed = [self.errors(self.train(name, seed, way)) for seed in range(1, self.options.seeds + 1)]
        cells = []
        for first, last in RANGES:
            of_seeds = [statistics.fmean(e for k in range(first - 1, last) for e in squares[k]) ** 0.5 / self.deviation
                        for squares in by_seed]
            cells.append(f"{statistics.median(of_seeds):.3f} ({min(of_seeds):.3f} - {max(of_seeds):.3f})")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("series")
    parser.add_argument("--learn", type=int, required=True)
    parser.add_argument("--ahead", type=int, default=100)
    parser.add_argument("--origins", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--folder", default="free")
    parser.add_argument("--unfold", default="build/release/bin/unfold")
    bench = Bench(parser.parse_args())
    print("| training | " + " | ".join(f"{a} to {b}" if a < b else f"{a}" for a, b in RANGES) + " |")
    print("| --- |" + " ---: |" * len(RANGES))
    for name, way in WAYS.items():
        bench.measure(name, way)


if __name__ == "__main__":
    main()
