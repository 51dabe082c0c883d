#!/usr/bin/env python3
"""Trains the default model of a list of names and counts complete, empty and copied samples.

    python3 bench/defaults/names.py --unfold build/release/bin/unfold ../shared/data/sequences/names/*male.txt

Prints for each file and seed the share of samples that are complete (not empty, with their end), the share that are
lines of the file, the share that differ from each other, and the CPU seconds of training and sampling.
"""

import argparse
import json
import pathlib
import resource
import subprocess
import tempfile


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--unfold", default="build/release/bin/unfold")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000)
    options = parser.parse_args()
    for path in options.files:
        lines = {line.strip() for line in path.read_text().splitlines()}
        for seed in range(1, options.seeds + 1):
            with tempfile.TemporaryDirectory() as folder:
                run = str(pathlib.Path(folder, "run"))
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                made = subprocess.run([options.unfold, "train", str(path), "--seed", str(seed), "--threads", "1", "--quiet",
                                       "--json", "--out", run], check=True, capture_output=True, text=True)
                drawn = subprocess.run([options.unfold, "sample", run, "--count", str(options.count), "--seed", str(seed),
                                        "--json"], check=True, capture_output=True, text=True)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
            samples = [sample["text"] for sample in json.loads(drawn.stdout)["samples"]]
            names = [text.strip() for text in samples]
            complete = sum(text.endswith("\n") and name != "" for text, name in zip(samples, names))
            seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(f"{path.name} seed {seed}: {json.loads(made.stdout)['model']}; complete {complete / len(samples):.3f}, "
                  f"in the file {sum(name in lines for name in names) / len(samples):.3f}, "
                  f"distinct {len(set(names)) / len(samples):.3f}; {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
