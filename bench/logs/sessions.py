#!/usr/bin/env python3
"""Compares the scores of sessions (`unfold score --by session`) with trivial detectors, as one table.

  bench/logs/sessions.py --unfold build/release/bin/unfold [--data ../shared/data] [--seeds 3]

Rows: sessions of HDFS blocks (the first 2,800 normal blocks to learn, the remaining normal blocks against abnormal
blocks) if the data is present; sessions of generated logs (generate_logs.py), given as raw lines, whose last events are
cut off, repeated, or in the wrong order. Every number is the area under the ROC curve, the median over the seeds.
"""
import argparse
import csv
import gzip
import io
import math
import os
import random
import statistics
import sys
import tempfile
from collections import Counter

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from baselines import auc  # noqa: E402
from compare import Unfold  # noqa: E402
from generate_logs import WORLDS  # noqa: E402


def length(train, test):
    counts = Counter(len(s) for s in train)
    return [-counts[len(s)] for s in test]


def unseen(train, test):
    known = {e for s in train for e in s}
    return [sum(e not in known for e in s) for s in test]


def distance(train, test):
    """L1 distance of the counts to the nearest normal session."""
    kinds = [dict(k) for k in {tuple(sorted(Counter(s).items())) for s in train}]

    def one(s):
        own = Counter(s)
        return min(sum(abs(own.get(e, 0) - k.get(e, 0)) for e in set(own) | set(k)) for k in kinds[:300])
    memory = {}
    for s in test:
        key = tuple(sorted(s))
        if key not in memory:
            memory[key] = one(s)
    return [memory[tuple(sorted(s))] for s in test]


def step(train, test):
    """The rarest pair of consecutive events."""
    pairs, firsts = Counter(), Counter()
    for s in train:
        s = ["^", *s, "$"]
        pairs.update(zip(s, s[1:]))
        firsts.update(s[:-1])
    return [max(-math.log((pairs[a, b] + 0.1) / (firsts[a] + 1)) for a, b in zip(["^", *s], [*s, "$"])) for s in test]


TRIVIAL = {"length": length, "unseen events": unseen, "distance": distance, "step": step}


def walk(world, r):
    state, steps = "start", []
    while world.steps.get(state) and len(steps) < 100:
        following = world.steps[state]
        state = r.choices(list(following), list(following.values()))[0]
        steps.append(state)
    return steps


def damaged(steps, r, kind):
    n = len(steps)
    if n < 2:
        return None
    if kind == "cut":
        return steps[:r.randint(1, n - 1)]
    if kind == "repeated":
        i = r.randrange(n)
        return steps[:i] + [steps[i]] * 8 + steps[i:]
    i = r.randrange(n - 1)
    return steps[:i] + [steps[i + 1], steps[i]] + steps[i + 2:] if steps[i] != steps[i + 1] else None


def log_of_sessions(name, sessions, r, start):
    """Interleaves the sessions. Returns the lines, and for each line the number of its session."""
    world, active, lines, owners, at, t = WORLDS[name](), [], [], [], 0, start
    free = [f"worker-thread-{i}" for i in range(400)]
    while at < len(sessions) or active:
        t += r.expovariate(2.0)
        if at < len(sessions) and len(active) < 6:
            values = world.session(r)
            if "thread" in values:
                values["thread"] = free[at % len(free)]
            active.append((at, list(sessions[at]), values))
            at += 1
        here = r.choice(active)
        lines.append(world.line(r, t, here[1].pop(0), here[2]))
        owners.append(here[0])
        if not here[1]:
            active.remove(here)
    return lines, owners


def generated(name, seed, kind):
    r = random.Random(f"{name} {seed} {kind}")
    world = WORLDS[name]()
    normal = [s for s in (walk(world, r) for _ in range(1500)) if s]
    known = {tuple(s) for s in normal}
    test, flags = [], []
    while len(test) < 600:
        steps = walk(world, r)
        odd = damaged(steps, r, kind) if r.random() < 0.1 else None
        if odd is not None and tuple(odd) in known:
            continue
        test.append(odd or steps)
        flags.append(odd is not None)
    return normal, test, flags


def rows_of_program(unfold, arguments):
    return list(csv.DictReader(io.StringIO(unfold.call(arguments)), delimiter="\t", quoting=csv.QUOTE_NONE))


GROUPS = {"json": "request_id", "keyvalue": "job", "kubernetes": "pod", "syslog": "pid"}


def score_generated(unfold, name, seed, normal, test, flags, group):
    r = random.Random(seed)
    lines, _ = log_of_sessions(name, normal, r, 0.0)
    other, owners = log_of_sessions(name, test, r, 400000.0)
    run = os.path.join(unfold.folder, f"{name}-{seed}-{group}")
    unfold.call(["train", unfold.write("train.log", lines), "--format", "log", "--out", run, "--overwrite", "--quiet",
                 *(["--group", GROUPS[name]] if group else [])])
    scores, marks = [], []
    for row in rows_of_program(unfold, ["score", run, unfold.write("test.log", other), "--by", "session"]):
        scores.append(float(row["surprise"]))
        marks.append(flags[owners[int(row["line"]) - 1]])
    return auc(scores, marks)


def hdfs(folder, unfold):
    def read(name):
        with gzip.open(os.path.join(folder, name + ".txt.gz"), "rt", encoding="utf-8") as text:
            return text.read().splitlines()
    normal, abnormal = read("hdfs_train"), read("hdfs_test_abnormal")
    learn, rest = normal[:2800], normal[2800:]
    run = os.path.join(unfold.folder, "hdfs")
    unfold.call(["train", unfold.write("learn", learn), "--format", "log", "--out", run, "--quiet"])
    flags = [False] * len(rest) + [True] * len(abnormal)
    results = {}
    for name, options in (("unfold", []), ("unfold --fixed", ["--fixed"])):
        scores = [float(row["surprise"]) for part in (rest, abnormal) for row in
                  rows_of_program(unfold, ["score", run, unfold.write("part", part), *options])]
        results[name] = auc(scores, flags)
    split = [[line.split(",")[1].split() for line in part] for part in (learn, rest + abnormal)]
    results.update({name: auc(score(*split), flags) for name, score in TRIVIAL.items()})
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--unfold", default="build/release/bin/unfold")
    parser.add_argument("--data", default=os.environ.get("UNFOLD_DATA", "../shared/data"))
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    print(f"| sessions | unfold | {' | '.join(TRIVIAL)} |")
    print("| --- " * (len(TRIVIAL) + 2) + "|")
    with tempfile.TemporaryDirectory() as folder:
        unfold = Unfold(given.unfold, folder)
        sessions = os.path.join(given.data, "logs", "sessions")
        if os.path.isdir(sessions):
            found = hdfs(sessions, unfold)
            print(f"| HDFS | {found['unfold']:.4f} ({found['unfold --fixed']:.4f} with --fixed) | " +
                  " | ".join(f"{found[name]:.4f}" for name in TRIVIAL) + " |", flush=True)
        for name in GROUPS:
            for kind in ("cut", "repeated", "swapped"):
                ours, others = [], {t: [] for t in TRIVIAL}
                for seed in range(given.seeds):
                    normal, test, flags = generated(name, seed, kind)
                    if not any(flags):
                        continue
                    ours.append(score_generated(unfold, name, seed, normal, test, flags, True))
                    for trivial, score in TRIVIAL.items():
                        others[trivial].append(auc(score(normal, test), flags))
                if ours:
                    print(f"| {name}, {kind} | {statistics.median(ours):.3f} | " +
                          " | ".join(f"{statistics.median(v):.3f}" for v in others.values()) + " |", flush=True)


if __name__ == "__main__":
    main()
