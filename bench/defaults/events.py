"""Compare the default model for tables of events with bigrams and trigrams on generated sequences.

    python3 bench/defaults/events.py --unfold build/release/bin/unfold [--large]

Prints nats per event of 1,000 held-out sequences: of `unfold train`, of a bigram and of a trigram model, whose contexts
include the start of the sequence, with 1/2 added to each count. Events that training did not contain are left out.
Small training sets have 50 sequences of about 20 events (the mean of three sets); with --large, also sets of 2,000
sequences of about 30 events.
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import pathlib
import random
import subprocess
import tempfile
from collections.abc import Callable

Sequences = list[list[str]]
Source = Callable[[random.Random, int], list[str]]


def distribution(draws: random.Random, size: int, concentration: float) -> list[float]:
    """Draw probabilities from a Dirichlet distribution."""
    values = [draws.gammavariate(concentration, 1) for _ in range(size)]
    return [value / sum(values) for value in values]


def markov(order: int, size: int, concentration: float) -> Source:
    """Return a Markov chain with random transition probabilities."""
    def sample(draws: random.Random, length: int) -> list[str]:
        events: list[int] = []
        while len(events) < length:
            context = str((size, order, events[-order:]))
            row = distribution(random.Random(context), size, concentration)
            events.append(draws.choices(range(size), row)[0])
        return [f"s{event}" for event in events]
    return sample


def distant(draws: random.Random, length: int) -> list[str]:
    """The last but one event depends on the first one."""
    kind = draws.choice("AB")
    body = [draws.choices(["read", "write", "seek", "stat"], [5, 3, 1, 1])[0] for _ in range(length - 4)]
    last = f"commit{kind}" if draws.random() < 0.95 else "abort"
    return [f"open{kind}", *body, "flush", last, "close"]


def sessions(draws: random.Random, length: int) -> list[str]:
    """Fixed sequences of steps, with rare errors."""
    flows = [["start", "auth", "list", "view", "end"], ["start", "auth", "add", "pay", "confirm", "end"],
             ["start", "auth", "deny", "auth", "list", "end"], ["start", "ping", "end"]]
    events: list[str] = []
    while len(events) < length:
        flow = list(draws.choices(flows, [5, 3, 1, 2])[0])
        if draws.random() < 0.03:
            flow.insert(draws.randrange(1, len(flow)), "error")
        events += flow
    return events[:length]


SOURCES: dict[str, Source] = {"order 1": markov(1, 7, 0.5), "order 2": markov(2, 5, 0.35), "distant": distant,
                              "sessions": sessions}


def generate(source: Source, count: int, length: int, seed: int) -> Sequences:
    draws = random.Random(seed)
    return [source(draws, max(6, int(length * draws.uniform(0.7, 1.3)))) for _ in range(count)]


def write(sequences: Sequences, seed: int, path: pathlib.Path) -> None:
    """Write a table with one row per event, ordered by time."""
    draws, rows = random.Random(seed), []
    for user, events in enumerate(sequences):
        time = draws.randrange(7 * 86400)
        for event in events:
            rows.append((time, user, event))
            time += 1 + int(draws.expovariate(1 / 40))
    lines = [f"u{user:05},{1_772_323_200 + time},{event}" for time, user, event in sorted(rows)]
    path.write_text("user,timestamp,event\n" + "\n".join(lines) + "\n")


def ngram_nats(training: Sequences, held_out: Sequences, order: int) -> float:
    kinds = {event for events in training for event in events}
    pairs: collections.Counter[tuple[str, ...]] = collections.Counter()
    contexts: collections.Counter[tuple[str, ...]] = collections.Counter()
    for events in training:
        padded = ["^"] * order + events
        for i in range(order, len(padded)):
            pairs[tuple(padded[i - order:i + 1])] += 1
            contexts[tuple(padded[i - order:i])] += 1
    nats, count = 0.0, 0
    for events in held_out:
        padded = ["^"] * order + events
        for i in range(order, len(padded)):
            if padded[i] not in kinds:
                continue
            seen = contexts[tuple(padded[i - order:i])]
            nats -= math.log((pairs[tuple(padded[i - order:i + 1])] + 0.5) / (seen + 0.5 * len(kinds)))
            count += 1
    return nats / count


def unfold_nats(unfold: str, training: Sequences, held_out: Sequences, seed: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        train, test, run = (pathlib.Path(folder) / name for name in ("train.csv", "test.csv", "run"))
        write(training, seed, train)
        write(held_out, seed + 1, test)
        subprocess.run([unfold, "train", train, "--out", run, "--quiet"], check=True, stdout=subprocess.DEVNULL)
        evaluation = [unfold, "eval", run, test, "--unknown", "skip", "--json", "--quiet"]
        result = subprocess.run(evaluation, check=True, capture_output=True)
        return float(json.loads(result.stdout)["heads"]["event"]["nats_per_position"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unfold", default="unfold")
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    for name, source in SOURCES.items():
        for count, length, repeats in [(50, 20, 3), (2000, 30, 1)] if options.large else [(50, 20, 3)]:
            sums = [0.0, 0.0, 0.0]
            held_out = generate(source, 1000, length, 100)
            for seed in range(1, repeats + 1):
                training = generate(source, count, length, seed)
                sums[0] += unfold_nats(options.unfold, training, held_out, seed)
                sums[1] += ngram_nats(training, held_out, 1)
                sums[2] += ngram_nats(training, held_out, 2)
            print(f"{name}\t{count} x {length}\t" + "\t".join(f"{value / repeats:.3f}" for value in sums), flush=True)


if __name__ == "__main__":
    main()
