#!/usr/bin/env python3
"""Percentage of brackets in reference trees that are nodes of the trees that a model found for the same words.

    unfold predict MODEL test.trees --format jsonl > found.jsonl
    bench/constituents.py test.trees found.jsonl

Brackets around a single word and around the whole sentence are not counted, because every tree has them. For
comparison, prints the results of left-branching trees, of balanced trees, and the mean over one random tree per
sentence (seed 1).
"""
import json
import random
import sys


def brackets(line):
    """Spans [begin, end) of words."""
    spans, open_, words = [], [], 0
    tokens = line.replace("(", " ( ").replace(")", " ) ").split()
    for before, token in zip([""] + tokens, tokens):
        if token == "(":
            open_.append(words)
        elif token == ")":
            spans.append((open_.pop(), words))
        elif before != "(":  # a word after an opening bracket is a label
            words += 1
    return {(b, e) for b, e in spans if 1 < e - b < words}, words


def found(parents):
    words = (len(parents) + 1) // 2
    spans = [[v, v + 1] if v < words else [words, 0] for v in range(len(parents))]
    for v, parent in enumerate(parents):
        if parent > 0:
            above = spans[parent - 1]
            above[0], above[1] = min(above[0], spans[v][0]), max(above[1], spans[v][1])
    return {tuple(s) for s in spans}


def halves(begin, end):
    middle = begin + (end - begin + 1) // 2
    return {(begin, end)} | (halves(begin, middle) | halves(middle, end) if end - begin > 1 else set())


def merged(words, draw):
    open_ = [(v, v + 1) for v in range(words)]
    spans = set(open_)
    while len(open_) > 1:
        k = draw.randrange(len(open_) - 1)
        open_[k : k + 2] = [(open_[k][0], open_[k + 1][1])]
        spans.add(open_[k])
    return spans


def main():
    draw, counted, all_ = random.Random(1), {}, 0
    with open(sys.argv[1]) as trees, open(sys.argv[2]) as lines:
        for tree, line in zip(trees, lines):
            wanted, words = brackets(tree)
            all_ += len(wanted)
            for name, spans in [
                ("found", found(json.loads(line)["parent"])),
                ("left", {(0, v) for v in range(words + 1)}),
                ("balanced", halves(0, words)),
                ("random", merged(words, draw)),
            ]:
                counted[name] = counted.get(name, 0) + len(wanted & spans)
    print(all_, "brackets:", ", ".join(f"{name} {100 * n / all_:.1f} %" for name, n in counted.items()))


if __name__ == "__main__":
    main()
