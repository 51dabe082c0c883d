#!/usr/bin/env python3
"""Compares hidden Markov models, networks and their combinations on sequence classification.

  bench/hybrid.py --unfold build/release/bin/unfold                        the generated task
  bench/hybrid.py --unfold ... --vowels ../shared/data/timeseries/japanese_vowels

Prints the percentage of misclassified sequences for:
- a Gaussian hidden Markov model for each label (the highest likelihood wins);
- the two-step hybrid (a network trained separately on a uniform alignment, then scaled likelihoods);
- the jointly trained hybrid;
- the joint hybrid initialized with the weights of the two-step hybrid (half of the epochs each);
- softmax over the same network;
- "From Gaussians": the joint hybrid initialized with Gaussian left-to-right hidden Markov models of each label
  (--gaussians, with a separate learning rate and number of epochs); "in a row" is the result of these models alone.

With --folds N, the test data is not read: the result is the mean over N folds of the training data, for model
selection. The generated task has three labels: the same three rings in the plane (radii 1, 2 and 3, uniform angle,
standard deviation 0.5), in the orders 1 2 3, 3 2 1 and 2 3 1, with geometric durations. The optimum is the error rate
under the true distribution, computed exactly except for the numerical integral over the angle.
"""
import argparse
import json
import math
import os
import random
import subprocess
import tempfile

ORDERS = [(0, 1, 2), (2, 1, 0), (1, 2, 0)]
RADII, DEVIATION, STAY = (1.0, 2.0, 3.0), 0.5, 0.75
STEPS = 64


def drawn(count, seed):
    rng = random.Random(seed)
    examples = []
    for _ in range(count):
        label, stage, frames = rng.randrange(3), 0, []
        while stage < 3:
            angle = rng.uniform(0, 2 * math.pi)
            radius = RADII[ORDERS[label][stage]]
            frames.append([radius * math.cos(angle) + rng.gauss(0, DEVIATION),
                           radius * math.sin(angle) + rng.gauss(0, DEVIATION)])
            if rng.random() > STAY:
                stage += 1
        examples.append({"frames": frames, "label": "abc"[label]})
    return examples


def ring(frame, radius):
    total = 0.0
    for k in range(STEPS):
        angle = 2 * math.pi * k / STEPS
        square = (frame[0] - radius * math.cos(angle)) ** 2 + (frame[1] - radius * math.sin(angle)) ** 2
        total += math.exp(-square / (2 * DEVIATION ** 2))
    return total / STEPS


def optimum(examples):
    """Error rate in % of a classifier that knows the true distribution."""
    wrong = 0
    for example in examples:
        best = None
        densities = [[ring(frame, radius) for radius in RADII] for frame in example["frames"]]
        for label, order in enumerate(ORDERS):
            now, log_p = [1.0, 0.0, 0.0], 0.0
            for t, of in enumerate(densities):
                if t > 0:
                    now = [now[0] * STAY, now[1] * STAY + now[0] * (1 - STAY), now[2] * STAY + now[1] * (1 - STAY)]
                now = [p * of[order[k]] for k, p in enumerate(now)]
                total = sum(now) or 1e-300
                log_p += math.log(total)
                now = [p / total for p in now]
            log_p += math.log(now[2] * (1 - STAY) or 1e-300)
            if best is None or log_p > best[0]:
                best = (log_p, "abc"[label])
        wrong += best[1] != example["label"]
    return 100 * wrong / len(examples)


def vowels(folder, part, sizes):
    blocks, block = [], []
    for line in open(os.path.join(folder, f"ae.{part}"), encoding="utf-8"):
        if line.strip():
            block.append([float(x) for x in line.split()])
        elif block:
            blocks.append(block)
            block = []
    if block:
        blocks.append(block)
    labels = [str(speaker + 1) for speaker, count in enumerate(sizes) for _ in range(count)]
    assert len(blocks) == len(labels)
    return [{"frames": frames, "label": label} for frames, label in zip(blocks, labels)]


class Bench:
    def __init__(self, unfold, folder):
        self.unfold, self.folder = unfold, folder

    def write(self, name, examples):
        path = os.path.join(self.folder, name + ".jsonl")
        with open(path, "w", encoding="utf-8") as out:
            for example in examples:
                out.write(json.dumps(example) + "\n")
        return path

    def run(self, *arguments):
        done = subprocess.run([self.unfold, *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def train(self, data, *arguments, run="run"):
        run = os.path.join(self.folder, run)
        self.run("train", data, "--out", run, "--overwrite", "--quiet", "--threads", "1", *arguments)
        return run

    def plain(self, train, test, states, covariance, seed):
        """One model per label; the highest likelihood wins."""
        labels = sorted({example["label"] for example in train})
        scores = []
        everything = self.write("test-frames", [{"frames": example["frames"]} for example in test])
        for label in labels:
            own = self.write("own", [{"frames": e["frames"]} for e in train if e["label"] == label])
            run = self.train(own, "--model", f"gaussian-hmm:{states},covariance={covariance}", "--seed", str(seed),
                             "--split", "100/0/0")
            told = json.loads(self.run("score", run, everything, "--by", "line", "--json"))["scores"]
            count = sum(e["label"] == label for e in train)
            scores.append([row["bits"] - math.log2(count) for row in told])
        wrong = sum(labels[min(range(len(labels)), key=lambda k: scores[k][i])] != example["label"]
                    for i, example in enumerate(test))
        return 100 * wrong / len(test)

    def network(self, train, test, losses, given, seed, gaussians=None):
        """Trains with one loss after another, each for its share of the epochs; keeps the final parameters."""
        model, optimizer, length = given.model, given.optimizer, ["--epochs", str(given.epochs / len(losses))]
        if gaussians is not None:
            model, optimizer = f"{given.gaussian_model},gaussians={gaussians}", f"adam:rate={given.gaussian_rate}"
            length = ["--epochs", str(given.gaussian_epochs)]
        if gaussians == 1:
            optimizer, length = "adam:rate=1e-12", ["--steps", "1"]
        train, test = self.write("train", train), self.write("test", test)
        run = None
        for i, loss in enumerate(losses):
            start = ["--start-from", run] if run else []
            run = self.train(train, "--split", "100/0/0", "--read", "frames", "--predict", f"label={loss}", "--model",
                             model, "--optimizer", f"{optimizer},clip=1,schedule=cosine", "--batch", "20", *length,
                             "--seed", str(seed), *start, run=f"run{i}")
        head = json.loads(self.run("eval", run, test, "--json"))["heads"]["label"]
        return 100 * head["error_rate"]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--unfold", default="unfold")
    options.add_argument("--vowels", help="the folder of Japanese vowels; without it, the generated task")
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--folds", type=int, default=0, help="number of folds of the training data, which replace the test data")
    options.add_argument("--model", default="rnn:24")
    options.add_argument("--optimizer", default="adam:rate=0.005")
    options.add_argument("--states", type=int, default=3)
    options.add_argument("--smoothing", type=float, default=1, help="smoothing of joint training")
    options.add_argument("--epochs", type=int, default=30)
    options.add_argument("--gaussians", type=float, default=0.03, help="scale of the Gaussian initialization of joint training")
    options.add_argument("--gaussian-model", default="rnn:24", help="network in addition to the Gaussians")
    options.add_argument("--gaussian-rate", default="0.0001")
    options.add_argument("--gaussian-epochs", type=float, default=20)
    options.add_argument("--only", help="names of the measured methods, separated by semicolons; default: all")
    given = options.parse_args()
    if given.vowels:
        train = vowels(given.vowels, "train", [30] * 9)
        test = vowels(given.vowels, "test", [31, 35, 88, 44, 29, 24, 40, 50, 29])
    else:
        train, test = drawn(1000, 1), drawn(2000, 2)
        print(f"optimum\t{optimum(test):.2f}")
    splits = [(train, test)]
    if given.folds:
        splits = [([e for i, e in enumerate(train) if i % given.folds != k], train[k::given.folds])
                  for k in range(given.folds)]
    states, order = given.states, "order=forward"
    two = f"hybrid:{states},{order},training=frames"
    joint = f"hybrid:{states},{order}"
    smoothed = f"{joint},smoothing={given.smoothing}"
    networks = {"two steps": [two], "joint": [joint], "joint, smoothed": [smoothed],
                "joint after two steps": [two, joint], "softmax": ["softmax"]}
    begun = {"in a row": 1, "joint from Gaussians": given.gaussians}
    names = ["plain, full", "plain, diagonal", *begun, *networks]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(given.unfold, folder)
        for name in given.only.split(";") if given.only else names:
            errors = []
            for seed in range(1, given.seeds + 1):
                errors.append(0)
                for learnt, tested in splits:
                    if name in networks:
                        found = bench.network(learnt, tested, networks[name], given, seed)
                    elif name in begun:
                        found = bench.network(learnt, tested, [joint], given, seed, begun[name])
                    else:
                        found = bench.plain(learnt, tested, states, name.split()[1], seed)
                    errors[-1] += found / len(splits)
            print(name, *(f"{error:.2f}" for error in errors), sep="\t", flush=True)


if __name__ == "__main__":
    main()
