#!/usr/bin/env python3
"""Experiment on aⁿbⁿ with many random graphs: the influence of the graph, and criteria for selecting a run.

  bench/anbn_graphs.py --unfold build/release/bin/unfold --folder graphs --seeds 1,2,3,4 --graphs 30 --steps 300

For every seed S, generates a text of 10 blocks for training, 10 blocks for validation and 200 held-out blocks (seeds S,
1000 + S and 3000 + S). For every graph G, trains `glnn:10,edges=3,graph=G`. Prints for each seed: held-out bits per
symbol of the runs selected by validation and by training loss, and the best and median of all runs; and the rank
correlation of both criteria with the held-out bits. Also prints the rank correlation of the same graphs for each pair
of seeds, and the medians of the graphs in which the only edge into some unit is its self-loop, and of the other graphs.
Finished runs are not repeated.
"""
import argparse
import itertools
import json
import os
import re
import shutil
import statistics
import subprocess

UNITS = 10


def command(unfold, *arguments):
    done = subprocess.run([unfold, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def bits(unfold, model, text):
    return json.loads(command(unfold, "eval", model, text, "--json"))["bits_per_symbol"]


def entering(unfold, model):
    """Edges into each unit, read from the arrays of the exported C file, which store the offset of each unit's
    edges."""
    text = command(unfold, "export", model, "--to", "c")
    for array in re.finditer(r"\[\d*\] = \{([0-9,\s]+)\}", text):
        begin = [int(x) for x in re.findall(r"\d+", array[1])]
        if len(begin) == UNITS + 1 and begin[0] == 0 and begin == sorted(begin):
            return [after - before for before, after in itertools.pairwise(begin)]
    raise SystemExit(f"{model}: its C file contains no edges")


def one(options, seed, graph):
    out = os.path.join(options.folder, f"run{seed}-{graph}")
    result = out + ".json"
    if os.path.exists(result):
        return json.load(open(result))
    texts = {name: os.path.join(options.folder, f"{name}{seed}.txt") for name in ("train", "valid", "unseen")}
    for name, count, base in (("train", 10, 0), ("valid", 10, 1000), ("unseen", 200, 3000)):
        if not os.path.exists(texts[name]):
            command(options.unfold, "generate", "anbn", "--count", count, "--seed", base + seed, "-o", texts[name])
    shutil.rmtree(out, ignore_errors=True)
    command(options.unfold, "train", texts["train"], "--valid", texts["valid"], "--model",
            f"glnn:{UNITS},edges=3,graph={graph}", "--optimizer", "ruop", "--whole-sequences", "--steps", options.steps,
            "--seed", seed, "--threads", 1, "--out", out, "--quiet")
    found = {name: bits(options.unfold, out, text) for name, text in texts.items()}
    found["entering"] = entering(options.unfold, out)
    with open(result, "w") as file:
        json.dump(found, file)
    return found


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    return [order.index(i) for i in range(len(values))]


def correlation(a, b):
    return statistics.correlation(ranks(a), ranks(b))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unfold", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--seeds", default="1,2,3,4")
    parser.add_argument("--graphs", type=int, default=30)
    parser.add_argument("--steps", type=int, default=300)
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    seeds = [int(s) for s in options.seeds.split(",")]
    runs = {s: [one(options, s, g) for g in range(1, options.graphs + 1)] for s in seeds}
    for s, of_seed in runs.items():
        unseen = [run["unseen"] for run in of_seed]
        print(f"seed {s}: " + ", ".join(
            f"chosen by {by} {min(of_seed, key=lambda run: run[by])['unseen']:.4f} "
            f"(rank correlation {correlation([run[by] for run in of_seed], unseen):.2f})" for by in ("valid", "train"))
            + f"; best {min(unseen):.4f}, median {statistics.median(unseen):.4f}")
        alone = [run["unseen"] for run in of_seed if 1 in run["entering"]]
        others = [run["unseen"] for run in of_seed if 1 not in run["entering"]]
        if alone and others:
            print(f"  graphs with a unit whose only incoming edge is its self-loop: median "
                  f"{statistics.median(alone):.4f} of {len(alone)}; other graphs: {statistics.median(others):.4f} of "
                  f"{len(others)}")
    for s, t in itertools.combinations(seeds, 2):
        a, b = ([run["unseen"] for run in runs[k]] for k in (s, t))
        print(f"same graphs, seeds {s} and {t}: rank correlation {correlation(a, b):.2f}")


if __name__ == "__main__":
    main()
