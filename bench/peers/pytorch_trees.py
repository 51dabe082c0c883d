#!/usr/bin/env python3
"""Training of a tree-LSTM compared with PyTorch, which visits each tree node by node.

    bench/peers/install.sh
    build/peers/bin/python bench/peers/pytorch_trees.py train.txt --unfold build/release/bin/unfold

The model is `tree-lstm:N,embedding=N` with labels at all nodes of bracketed trees, each node with two children or one
word: forward, backward and Adam on batches of trees, in float. Both are measured alternately in one run, on one thread
and on two. Prints nodes per second over intervals of about half a second, the maximum and the median, and the ratio of
the maxima. PyTorch adds a bias, computes gates and products of a node at once ([h_1 h_2] is one vector), embeds all
words and classifies all nodes of a batch together, and uses its fused Adam; only the nodes of a tree are computed one
after another, in the usual way.
"""

import argparse
import gzip
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import torch
from torch import nn


def open_text(path):
    return gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, encoding="utf-8")


def nodes_of(line):
    """(label, word or None, children) from the leaves to the root."""
    tokens, nodes, stack = line.replace("(", " ( ").replace(")", " ) ").split(), [], []
    for token in tokens:
        if token == "(":
            stack.append([])
        elif token == ")":
            label, *inside = stack.pop()
            words = [x for x in inside if isinstance(x, str)]
            nodes.append((int(label), words[0] if words else None, [x for x in inside if not isinstance(x, str)]))
            if stack:
                stack[-1].append(len(nodes) - 1)
        else:
            stack[-1].append(token)
    return nodes


class TreeLstm(nn.Module):
    def __init__(self, words, units, labels):
        super().__init__()
        torch.manual_seed(1)
        self.units = units
        self.embedding = nn.Embedding(words, units)
        self.inputs = nn.Linear(units, 3 * units)
        self.pairs = nn.Linear(2 * units, 5 * units)
        self.readout = nn.Linear(units, labels)

    def forward(self, batch, numbers):
        words = torch.tensor([numbers[word] for tree in batch for _, word, _ in tree if word is not None])
        leaves = iter(self.inputs(self.embedding(words)))
        states = []
        for tree in batch:
            h, c = [], []
            for _, word, children in tree:
                if word is not None:
                    i, o, g = next(leaves).chunk(3)
                    cell = torch.sigmoid(i) * torch.tanh(g)
                else:
                    left, right = children
                    gates = self.pairs(torch.cat([h[left], h[right]]))
                    i, o, g, first, second = gates.chunk(5)
                    cell = torch.sigmoid(i) * torch.tanh(g) + torch.sigmoid(first) * c[left]
                    cell = cell + torch.sigmoid(second) * c[right]
                c.append(cell)
                h.append(torch.sigmoid(o) * torch.tanh(cell))
            states += h
        return self.readout(torch.stack(states))


class PyTorchTraining:
    def __init__(self, trees, units, batch):
        self.batches = [trees[i : i + batch] for i in range(0, len(trees), batch)]
        words = sorted({word for tree in trees for _, word, _ in tree if word is not None})
        self.numbers = {word: i for i, word in enumerate(words)}
        labels = 1 + max(label for tree in trees for label, _, _ in tree)
        self.model = TreeLstm(len(words), units, labels)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3, fused=True)

    def rates(self, seconds):
        """Nodes per second, batch by batch."""
        found, begin = [], time.perf_counter()
        for batch in self.batches:
            start = time.perf_counter()
            wanted = torch.tensor([label for tree in batch for label, _, _ in tree])
            self.optimizer.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(self.model(batch, self.numbers), wanted).backward()
            self.optimizer.step()
            found.append(len(wanted) / (time.perf_counter() - start))
            if time.perf_counter() - begin > seconds:
                break
        return found


def unfold_rates(options, path, threads, folder):
    """Nodes per second of ten steps at a time, which take about as long as one of PyTorch, after ten warm-up steps."""
    model = f"tree-lstm:{options.units},embedding={options.units}"
    command = [options.unfold, "train", path, "--format", "trees", "--read", "word", "--split", "99/1", "--model", model,
               "--optimizer", "adam:rate=0.001", "--batch", str(options.batch), "--epochs", "1", "--validate-every", "1000000",
               "--log-every", "10", "--threads", str(threads), "--seed", "1", "--out", folder, "--overwrite", "--quiet"]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    with open(pathlib.Path(folder) / "log.jsonl", encoding="utf-8") as lines:
        entries = [e for e in map(json.loads, lines) if e["event"] == "progress"]
    return [(b["symbols"] - a["symbols"]) / (b["seconds"] - a["seconds"]) for a, b in zip(entries, entries[1:])]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("trees", help="a file of bracketed trees, as in the Stanford Sentiment Treebank")
    options.add_argument("--unfold", default="build/release/bin/unfold")
    options.add_argument("--units", type=int, default=150)
    options.add_argument("--batch", type=int, default=25)
    options.add_argument("--count", type=int, default=2000, help="number of trees, the first ones of the file")
    options.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--seconds", type=float, default=10, help="of PyTorch per round")
    options = options.parse_args()

    with open_text(options.trees) as text:
        lines = [line for _, line in zip(range(options.count), text)]
    print(f"PyTorch {torch.__version__}: tree-lstm:{options.units}, batches of {options.batch} trees")
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "trees.txt")
        pathlib.Path(path).write_text("".join(lines), encoding="utf-8")
        for threads in options.threads:
            torch.set_num_threads(threads)
            training = PyTorchTraining([nodes_of(line) for line in lines], options.units, options.batch)
            ours, theirs = [], []
            for _ in range(options.rounds):
                ours += unfold_rates(options, path, threads, str(pathlib.Path(folder) / "run"))
                theirs += training.rates(options.seconds)
            print(f"{threads} threads: PyTorch {max(theirs):.0f} nodes a second (median {statistics.median(theirs):.0f}), "
                  f"Unfold {max(ours):.0f} (median {statistics.median(ours):.0f}), ratio {max(ours) / max(theirs):.1f}")


if __name__ == "__main__":
    main()
