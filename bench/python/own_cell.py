"""Train the cell of CONTRIBUTING.md in Python and in C++, alternately, and compare the times.

The C++ side is the target `bench_own_cell` of the build. Both sides train the same model, and the script checks that
the model files are equal. The table shows the CPU seconds of training, the minimum and the median of each side. In
Python, training runs in a separate thread, while the calling thread checks for signals 20 times a second. The CPU
seconds of the calling thread depend on the elapsed time and not on the work, so the last column shows their median
separately.

    PYTHONPATH=build/release/python/package python bench/python/own_cell.py build/release/bin/bench_own_cell TEXT
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time


def train(text: str, out: str, spec: str, steps: int, threads: int) -> tuple[float, float]:
    import numpy  # noqa: F401 - is imported with the first call otherwise, which would be counted

    import unfold

    def leaky(c: unfold.Circuit, x: unfold.circuits.Signal, n: int) -> unfold.circuits.Signal:
        h = c.link(n)
        y = 0.7 * h + 0.3 * c.affine("z", n, {"W": x, "U": h}).tanh()
        c.feed(h, y)
        return y

    unfold.register_cell("leaky", leaky)
    cpu, calling = time.process_time(), time.thread_time()
    unfold.train(text, out=out, model=spec, steps=steps, threads=threads, overwrite=True)
    calling = time.thread_time() - calling
    return time.process_time() - cpu - calling, calling


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="bench_own_cell")
    parser.add_argument("text", help="a text to train on")
    parser.add_argument("--specs", nargs="+", default=["leaky:64", "leaky:256"])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.out:
        print(*train(chosen.text, chosen.out, chosen.specs[0], chosen.steps, chosen.threads))
        return
    print(f"{'model':12s} {'C++ min':>9s} {'median':>9s} {'Python min':>11s} {'median':>9s} {'ratio of minima':>16s} "
          f"{'of medians':>11s} {'calling thread':>15s}")
    for spec in chosen.specs:
        compare(chosen, spec)


def compare(chosen: argparse.Namespace, spec: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        runs = [str(pathlib.Path(folder, name)) for name in ("cpp", "python")]
        commands = [[chosen.program, chosen.text, runs[0], spec, str(chosen.steps), str(chosen.threads)],
                    [sys.executable, __file__, chosen.program, chosen.text, "--specs", spec, "--steps",
                     str(chosen.steps), "--threads", str(chosen.threads), "--out", runs[1]]]
        times: list[list[float]] = [[], []]
        calling = []
        for round in range(chosen.rounds):
            for side in ((0, 1) if round % 2 == 0 else (1, 0)):
                done = subprocess.run(commands[side], check=True, stdout=subprocess.PIPE, text=True)
                seconds, other = map(float, done.stdout.split())
                times[side].append(seconds)
                if side == 1:
                    calling.append(other)
        files = [pathlib.Path(run, "model.safetensors").read_bytes() for run in runs]
    if files[0] != files[1]:
        raise SystemExit(f"{spec}: the model files differ")
    low, middle = [min(side) for side in times], [statistics.median(side) for side in times]
    print(f"{spec:12s} {low[0]:9.3f} {middle[0]:9.3f} {low[1]:11.3f} {middle[1]:9.3f} {low[1] / low[0]:16.3f} "
          f"{middle[1] / middle[0]:11.3f} {statistics.median(calling):15.3f}")


if __name__ == "__main__":
    main()
