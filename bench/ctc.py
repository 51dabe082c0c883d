#!/usr/bin/env python3
"""Evaluates label sequences without alignment (`--predict F=ctc`) on two tasks.

  bench/ctc.py --unfold build/release/bin/unfold                        generated sequences
  bench/ctc.py --unfold ... --cmudict ../shared/data/sequences/cmudict/cmudict.gz

Prints the label error rate (insertions, deletions and substitutions, in %) and the sequence error rate on the test
data, for each seed, for the most probable path (collapsed) and for prefix search with 16 prefixes.

Generated task: 3 to 8 labels out of 6, drawn uniformly; equal neighbors are allowed. Each label produces 2 to 5 frames
of two numbers around its point on the unit circle (standard deviation 0.2), preceded and followed by 1 to 3 frames
around the center. 2,000 sequences for training, 200 for validation, 1,000 for testing. The positions of the labels are
not part of the data.

Dictionary: the input is the letters of a word, each repeated twice so that the input is longer than the output; the
output is the phonemes without stress. Uses the first pronunciation of every word that consists of at least three
letters. Every twentieth word is for validation, the next one for testing.
"""
import argparse
import gzip
import json
import math
import os
import random
import subprocess
import tempfile

DEVIATION, LABELS = 0.2, 6


def drawn(count, seed):
    rng = random.Random(seed)

    def frames(x, y, least, most):
        return [[x + rng.gauss(0, DEVIATION), y + rng.gauss(0, DEVIATION)] for _ in range(rng.randint(least, most))]

    examples = []
    for _ in range(count):
        labels = [rng.randrange(LABELS) for _ in range(rng.randint(3, 8))]
        signal = frames(0, 0, 1, 3)
        for label in labels:
            angle = 2 * math.pi * label / LABELS
            signal += frames(math.cos(angle), math.sin(angle), 2, 5) + frames(0, 0, 1, 3)
        examples.append((signal, ["abcdef"[label] for label in labels]))
    return examples


def pronunciations(path):
    words = {}
    with gzip.open(path, "rt", encoding="latin-1") as lines:
        for line in lines:
            word, _, *sounds = line.split()
            sounds = [sound.rstrip("012") for sound in sounds]
            letters = [letter for letter in word for _ in range(2)]
            repeated = sum(a == b for a, b in zip(sounds, sounds[1:]))
            if word.isalpha() and len(word) > 2 and len(sounds) + repeated <= len(letters):
                words.setdefault(word, (letters, sounds))
    found = list(words.values())
    parts = [[e for i, e in enumerate(found) if i % 20 == k] for k in range(2)]
    return [e for i, e in enumerate(found) if i % 20 > 1], parts[0], parts[1]


def write(folder, name, examples):
    path = os.path.join(folder, name + ".jsonl")
    with open(path, "w", encoding="utf-8") as out:
        for signal, labels in examples:
            out.write(json.dumps({"read": signal, "label": labels + [None] * (len(signal) - len(labels))}) + "\n")
    return path


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--unfold", default="unfold")
    options.add_argument("--cmudict", help="the dictionary; without it, generated sequences")
    options.add_argument("--model", help="default: bilstm:32; for the dictionary bilstm:128,embedding=32,dropout=0.2")
    options.add_argument("--epochs", type=int, help="default: 20; for the dictionary 4")
    options.add_argument("--seeds", type=int, default=3)
    given = options.parse_args()
    if given.cmudict:
        parts = pronunciations(given.cmudict)
        settings = [given.model or "bilstm:128,embedding=32,dropout=0.2", given.epochs or 4, 64]
    else:
        parts = [drawn(count, seed) for seed, count in ((1, 2000), (2, 200), (3, 1000))]
        settings = [given.model or "bilstm:32", given.epochs or 20, 20]
    model, epochs, batch = settings

    def run(*arguments):
        done = subprocess.run([given.unfold, *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    with tempfile.TemporaryDirectory() as folder:
        train, valid, test = (write(folder, *part) for part in zip(("train", "valid", "test"), parts))
        trained = os.path.join(folder, "run")
        print(*(len(part) for part in parts), "sequences")
        for seed in range(1, given.seeds + 1):
            run("train", train, "--valid", valid, "--read", "read", "--predict", "label=ctc", "--model", model,
                "--optimizer", "adam:rate=0.005,clip=1,schedule=cosine", "--batch", str(batch), "--epochs", str(epochs),
                "--validate-every", str(len(parts[0]) // batch), "--seed", str(seed), "--threads", "1", "--out", trained,
                "--overwrite", "--quiet")
            for name, search in (("best path", []), ("prefixes", ["--beam", "16"])):
                head = json.loads(run("eval", trained, test, "--json", *search))["heads"]["label"]
                print(f"seed {seed}, {name}", f"{100 * head['label_error_rate']:.2f}",
                      f"{100 * head['sequence_error_rate']:.2f}", sep="\t", flush=True)


if __name__ == "__main__":
    main()
