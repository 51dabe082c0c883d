#!/usr/bin/env python3
"""Latency of `unfold score MODEL - --by line`, and its throughput on a pipe compared with a file.

  bench/stream.py [--unfold build/release/bin/unfold] [--lines 1000000] [--pairs 5] [--seconds 20]

Latency: one line per second (--pause) is written to standard input or a FIFO. The result is the time from the end of
the write to the arrival of the output row, for lines with and without labels. Throughput: the same lines are read from
a file and through a pipe, in interleaved pairs. Reports wall-clock time and CPU time, which is less affected by other
load. Prints Markdown; the exit code is 1 if a row arrives later than 50 ms or the throughput of a pipe is below 95 % of
that of a file in CPU time.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

LIMIT_SECONDS = 0.05
LEAST_SHARE = 0.95
WORDS = "the cat sat on the mat and saw a dog run over the hill to a far town".split()


def lines(count, labeled):
    """Lines of a log, the same in each call. With labels in the first column, one line in a hundred is an alert."""
    state = 1
    for number in range(count):
        state = (state * 1103515245 + 12345) % 2**31
        words = [WORDS[(state >> (3 * i)) % len(WORDS)] for i in range(4 + state % 5)]
        label = ("ALERT " if state % 100 == 0 else "- ") if labeled else ""
        yield f"{label}{number % 86400:05d} {' '.join(words)}\n"


class Bench:
    def __init__(self, unfold, folder):
        self.unfold, self.folder = unfold, folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, count, labeled):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.writelines(lines(count, labeled))
        return self.path(name)

    def train(self, name, data, *more):
        run = self.path(name)
        command = [self.unfold, "train", data, "--out", run, "--overwrite", "--quiet", "--split", "100/0/0", *more]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return run

    def latencies(self, run, labeled, fifo, count, pause):
        """Seconds from each line to its output row."""
        source = "-"
        if fifo:
            source = self.path("fifo")
            if not os.path.exists(source):
                os.mkfifo(source)
        command = [self.unfold, "score", run, source, "--by", "line", "--quiet", "--threads", "1"]
        process = subprocess.Popen(command, stdin=None if fifo else subprocess.PIPE, stdout=subprocess.PIPE)
        writer = open(source, "wb", buffering=0) if fifo else process.stdin
        process.stdout.readline()  # the header precedes all lines
        took = []
        for line in lines(count, labeled):
            writer.write(line.encode())
            if not fifo:
                writer.flush()
            start = time.monotonic()
            row = process.stdout.readline()
            took.append(time.monotonic() - start)
            if not row:
                sys.exit("stream.py: the command ended early")
            time.sleep(pause)
        writer.close()
        process.wait()
        return took

    def once(self, run, data, pipe):
        """Wall-clock and processor seconds of one run."""
        command = [self.unfold, "score", run, "-" if pipe else data, "--by", "line", "--quiet", "--threads", "1"]
        with open(os.devnull, "wb") as nowhere:
            feeder = subprocess.Popen(["cat", data], stdout=subprocess.PIPE) if pipe else None
            start = time.monotonic()
            process = subprocess.Popen(command, stdin=feeder.stdout if pipe else None, stdout=nowhere)
            if pipe:
                feeder.stdout.close()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = status
            clock = time.monotonic() - start
            if pipe:
                feeder.wait()
        if status != 0:
            sys.exit("stream.py: the command failed")
        return clock, usage.ru_utime + usage.ru_stime


def latency_table(bench, seconds, pause):
    count = max(3, int(seconds / max(pause, 0.01)))
    print("| model | input | lines | median | slowest |\n| --- | --- | --- | --- | --- |")
    punctual = True
    for labeled in (False, True):
        data = bench.write("few.log", 2000, labeled)
        more = ["--label-column"] if labeled else []
        models = [("`ngram:3`", ["--model", "ngram:3"]),
                  ("`lstm:64`", ["--model", "lstm:64", "--steps", "3", "--threads", "1"])]
        for name, model in models:
            run = bench.train("run", data, *model, *more)
            for fifo in (False, True):
                took = bench.latencies(run, labeled, fifo, count, pause)
                punctual = punctual and max(took) <= LIMIT_SECONDS
                print(f"| {name}{', labels' if labeled else ''} | {'FIFO' if fifo else '`-`'} | {len(took)} "
                      f"| {1e3 * statistics.median(took):.1f} ms | {1e3 * max(took):.1f} ms |", flush=True)
    return punctual


def speed_table(bench, count, pairs):
    print("\n| model | lines | from a file | through a pipe | share of the speed, CPU time | clock |\n"
          "| --- | --- | --- | --- | --- | --- |")
    fast = True
    for labeled in (False, True):
        data = bench.write("many.log", count, labeled)
        few = bench.write("few.log", 2000, labeled)
        run = bench.train("run", few, "--model", "ngram:3", *(["--label-column"] if labeled else []))
        of_file, of_pipe = [], []
        for _ in range(pairs):
            of_file.append(bench.once(run, data, False))
            of_pipe.append(bench.once(run, data, True))
        shares = [statistics.median(f[k] / p[k] for f, p in zip(of_file, of_pipe)) for k in (1, 0)]
        fast = fast and shares[0] >= LEAST_SHARE
        seconds = [statistics.median(t[1] for t in runs) for runs in (of_file, of_pipe)]
        print(f"| `ngram:3`{', labels' if labeled else ''} | {count} | {seconds[0]:.2f} s | {seconds[1]:.2f} s "
              f"| {100 * shares[0]:.1f} % | {100 * shares[1]:.1f} % |", flush=True)
    return fast


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unfold", default="build/release/bin/unfold")
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20, help="of each measurement of latency")
    parser.add_argument("--pause", type=float, default=1, help="seconds between lines")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(os.path.abspath(options.unfold), folder)
        punctual = latency_table(bench, options.seconds, options.pause)
        fast = speed_table(bench, options.lines, options.pairs)
    sys.exit(0 if punctual and fast else 1)


if __name__ == "__main__":
    main()
