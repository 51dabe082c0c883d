#!/usr/bin/env python3
"""Instructions and cache misses per symbol of the classical models, counted by Cachegrind, and their running time.

  apt-get install valgrind
  bench/account.py ../shared/data/corpora/calgary/book1 [--unfold build/release/bin/unfold]

Each model processes a half and a quarter of the file (for fits: an eighth and a sixteenth). The difference is the cost
per symbol, without startup and shutdown. Cachegrind simulates caches of 32 KiB (8 ways) and 1 MiB (16 ways) and does
not support AVX-512, so its runs use AVX2, as do the timed runs (minimum CPU time of five). The peak rate of such a
processor is four instructions per cycle.
"""

import argparse
import os
import re
import resource
import subprocess
import tempfile

CODED = ["-4", "-6", "ppm:5", "ctw:24"]
TRAINED, EVALUATED = ["ngram:5"], ["ngram:5"]
ENVIRONMENT = {**os.environ, "UNFOLD_SIMD": "avx2", "UNFOLD_THREADS": "1"}
TIMES = 5


def command(unfold, kind, model, folder, text):
    if kind == "code":
        how = [model] if model.startswith("-") else ["--model", model]
        return [unfold, "compress", text, *how, "--no-verify", "--quiet", "-o", f"{folder}/out"]
    if kind == "fit":
        return [unfold, "train", text, "--model", model, "--symbols", "bytes", "--split", "100/0/0", "--overwrite",
                "--quiet", "--out", f"{folder}/run"]
    return [unfold, "eval", f"{folder}/run", text, "--quiet"]


def checked(arguments):
    finished = subprocess.run(arguments, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if finished.returncode:
        raise SystemExit(f"{' '.join(arguments)}: exit {finished.returncode}\n{finished.stderr[-2000:]}")
    return finished.stderr


def seconds(arguments):
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    times = []
    for _ in range(TIMES):
        before = used()
        checked(arguments)
        times.append(used() - before)
    return min(times)


def counts(arguments, folder):
    """Instructions, misses of the L1 data cache, misses of the last-level cache."""
    said = checked(["valgrind", "--tool=cachegrind", "--cache-sim=yes", "--D1=32768,8,64", "--LL=1048576,16,64",
                    f"--cachegrind-out-file={folder}/counts", *arguments])
    found = [int(re.search(rf"{name}\s*([\d,]+)", said)[1].replace(",", "")) for name in
             (r"I\s+refs:", r"D1\s+misses:", r"LL\s+misses:")]
    return found


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("file")
    options.add_argument("--unfold", default="build/release/bin/unfold")
    options = options.parse_args()
    with open(options.file, "rb") as file:
        whole = file.read()
    print("| work | instructions | L1 misses | L2 misses | ns | instructions a ns |")
    print("| --- | --- | --- | --- | --- | --- |")
    work = [("code", model) for model in CODED] + [("fit", model) for model in TRAINED]
    work += [("evaluate", model) for model in EVALUATED]
    with tempfile.TemporaryDirectory() as folder:
        for kind, model in work:
            costs, shares = [], (16, 8) if kind == "fit" else (4, 2)
            for share in shares:
                text = f"{folder}/text"
                with open(text, "wb") as file:
                    file.write(whole[:len(whole) // share])
                if kind == "evaluate":
                    checked(command(options.unfold, "fit", model, folder, options.file))
                arguments = command(options.unfold, kind, model, folder, text)
                costs.append([*counts(arguments, folder), seconds(arguments)])
            symbols = len(whole) // shares[1] - len(whole) // shares[0]
            refs, first, last, time = ((b - a) / symbols for a, b in zip(*costs))
            print(f"| {kind} {model} | {refs:.0f} | {first:.2f} | {last:.2f} | {time * 1e9:.0f} | "
                  f"{refs / time / 1e9:.1f} |", flush=True)


if __name__ == "__main__":
    main()
