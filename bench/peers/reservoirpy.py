#!/usr/bin/env python3
"""An echo state network over a million steps in Unfold and in reservoirpy, in the same run: CPU time and memory.

  python3 -m venv esn && esn/bin/pip install reservoirpy
  esn/bin/python bench/peers/reservoirpy.py --unfold build/release/bin/unfold --steps 1000000 --units 200

The problem is NARMA of order 10 in sequences of 4,000 steps. The reservoir is sparse (10 edges per unit) with tanh
units and spectral radius 0.9, and the readout is a ridge regression; one thread each. Both programs generate their own
sequences. Times are processor seconds. The time of Unfold is the difference between a process that reads and fits all
sequences and a process that fits a single sequence (both include startup and the evaluation on 1,000 sequences), each
the minimum of three. The time of reservoirpy is that of `fit` alone, with sequences generated beforehand. The error is
the mean square divided by the variance, on held-out sequences. Peak memory refers to the whole process; a second row
with a tenth of the steps shows which memory grows with them.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

LENGTH, ORDER, WASHOUT, RUNS = 4000, 10, 100, 3


def narma(random, length):
    """u uniform on [0, 0.5]; y_{t+1} = 0.3 y_t + 0.05 y_t sum of the last 10 y + 1.5 u_{t-9} u_t + 0.1. The few
    sequences that diverge are drawn again."""
    while True:
        u, y = random.uniform(0, 0.5, length), [0.0] * length
        for t in range(ORDER - 1, length - 1):
            y[t + 1] = (0.3 * y[t] + 0.05 * y[t] * sum(y[t - ORDER + 1:t + 1]) + 1.5 * u[t - ORDER + 1] * u[t] + 0.1)
            if y[t + 1] > 2:
                break
        else:
            return u, y


def there(sequences, units):
    """Fits reservoirpy in this process; prints one JSON object."""
    # This file shadows the package of the same name: remove its folder from the search path.
    sys.path = [path for path in sys.path if os.path.abspath(path or ".") != os.path.dirname(os.path.abspath(__file__))]
    import time

    import numpy as np
    from reservoirpy.nodes import Reservoir, Ridge

    random = np.random.default_rng(1)

    def draw(count):
        pairs = [narma(random, LENGTH) for _ in range(count)]
        return [np.array(u).reshape(-1, 1) for u, _ in pairs], [np.array(y).reshape(-1, 1) for _, y in pairs]

    u, y = draw(sequences)
    network = Reservoir(units, sr=0.9, lr=1.0, rc_connectivity=10 / units, input_scaling=0.1, bias=0.4,
                        input_connectivity=1.0, seed=1) >> Ridge(ridge=1e-8)
    before, peak = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    network.fit(u, y, warmup=WASHOUT)
    seconds = time.process_time() - before
    new_u, new_y = draw(5)
    wrong = np.concatenate([network.run(a)[WASHOUT:] - b[WASHOUT:] for a, b in zip(new_u, new_y)])
    print(json.dumps({"seconds": seconds, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, "before": peak,
                      "error": float(np.mean(wrong**2) / np.var(np.concatenate(new_y)))}))


def child(command):
    """Output, processor seconds and peak memory in KiB of a child process."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            raise SystemExit(f"failed: {' '.join(command)}")
        out.seek(0)
        return json.loads(out.read()), usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def here(unfold, sequences, units, folder):
    model = f"esn:{units},degree=10,radius=0.9,input-scale=0.1,bias-scale=0.4,washout={WASHOUT}"
    command = [unfold, "train", "--task", f"narma:{LENGTH}", "--model", model, "--batch", "1", "--steps",
               str(sequences), "--validate-on", "5", "--threads", "1", "--json", "--quiet", "--overwrite", "--out",
               os.path.join(folder, f"run{sequences}")]
    runs = [child(command) for _ in range(RUNS)]
    return runs[0][0], min(seconds for _, seconds, _ in runs), max(peak for _, _, peak in runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unfold", default="build/release/bin/unfold")
    parser.add_argument("--steps", type=int, default=1000000)
    parser.add_argument("--units", type=int, default=200)
    parser.add_argument("--there", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.there:
        return there(chosen.there, chosen.units)
    most = max(2, chosen.steps // LENGTH)
    print("| network | steps | processor seconds | steps per second | peak memory, MB | error / variance |")
    print("| --- | --- | --- | --- | --- | --- |")
    times = {}
    with tempfile.TemporaryDirectory() as folder:
        _, start, _ = here(chosen.unfold, 1, chosen.units, folder)
        for sequences in (max(2, most // 10), most):
            steps = sequences * LENGTH
            result, seconds, peak = here(chosen.unfold, sequences, chosen.units, folder)
            seconds -= start
            error = result["valid"]["mean_squared_error"] / variance()
            report("unfold", steps, seconds, peak, error)
            times["unfold", steps] = seconds
            peer, _, _ = child([sys.executable, os.path.abspath(__file__), "--units", str(chosen.units), "--there",
                                str(sequences)])
            report("reservoirpy", steps, peer["seconds"], peer["peak"], peer["error"])
            times["reservoirpy", steps] = peer["seconds"]
    steps = most * LENGTH
    print(f"\nreservoirpy takes {times['reservoirpy', steps] / times['unfold', steps]:.1f} times as long")


def variance():
    """The variance of NARMA, estimated from a long sequence."""
    import random
    source = random.Random(1)

    class Uniform:
        def uniform(self, low, high, count):
            return [source.uniform(low, high) for _ in range(count)]

    _, y = narma(Uniform(), 50000)
    y = y[WASHOUT:]
    mean = sum(y) / len(y)
    return sum((v - mean)**2 for v in y) / len(y)


def report(name, steps, seconds, peak, error):
    print(f"| {name} | {steps:,} | {seconds:.1f} | {steps / seconds:,.0f} | {peak / 1024:.0f} | {error:.4f} |", flush=True)


if __name__ == "__main__":
    main()
