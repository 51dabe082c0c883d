#!/usr/bin/env python3
"""Overhead of the Python package: seconds to import it, microseconds per step of a stream compared with the command,
and the time of a score compared with the command. Each value is the best of several alternating rounds.

    PYTHONPATH=build/release/python/package bench/python.py --unfold build/release/bin/unfold
"""

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time

import unfold


def user_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def own_seconds(work):
    before = time.process_time()
    work()
    return time.process_time() - before


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unfold", default="unfold", help="the command")
    parser.add_argument("--model", default="lstm:64")
    parser.add_argument("--symbols", type=int, default=1000000, help="number of symbols of the text that is scored")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    source = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz .,\n"
    text = "".join(source.choices(letters, k=arguments.symbols))
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: os.path.join(folder, name) for name in ("long", "short", "run")}
        for name, count in (("long", len(text)), ("short", 200000)):
            with open(paths[name], "w") as file:
                file.write(text[:count])
        unfold.train(paths["short"], out=paths["run"], model=arguments.model, steps=1, threads=1)
        model = unfold.load(paths["run"])
        symbols = model.encode(text[:200000]).tolist()
        program = [sys.executable, "-c", "import unfold"]
        bare = [sys.executable, "-c", "pass"]
        step_command = [arguments.unfold, "eval", paths["run"], paths["short"], "--method", "stepper", "--threads", "1",
                        "--quiet"]
        score_command = [arguments.unfold, "eval", paths["run"], paths["long"], "--threads", "1", "--quiet"]

        def step():
            stream = model.stream()
            push = stream.push
            for x in symbols:
                push(x)

        imports, steps, ours, scores, theirs = [], [], [], [], []
        for _ in range(arguments.rounds):
            imports.append(user_seconds(program) - user_seconds(bare))
            ours.append(own_seconds(step))
            steps.append(user_seconds(step_command))
            scores.append(own_seconds(lambda: model.score(text, threads=1)))
            theirs.append(user_seconds(score_command))
        micro = 1e6 / len(symbols)
        print(f"import             {min(imports):.3f} s of CPU time")
        print(f"step: {min(ours) * micro:.2f} us from Python, {min(steps) * micro:.2f} us in the command")
        print(f"score of {len(text)} symbols: {min(scores):.2f} s from Python, {min(theirs):.2f} s in the command")


if __name__ == "__main__":
    main()
