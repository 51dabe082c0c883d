#!/usr/bin/env python3
"""Writes a line "label TAB words" for every node of labeled trees, for training a sequence model on phrases.

  bench/phrases.py train.txt.gz > phrases.txt             # every node
  bench/phrases.py --roots test.txt > sentences.txt       # whole sentences
"""

import argparse
import gzip
import re
import sys


def phrases(line):
    """Yields (label, words) of every node of a bracketed tree, children before their parents."""
    open_nodes, words = [], []
    for token in re.findall(r"[()]|[^\s()]+", line):
        if token == "(":
            open_nodes.append([None, len(words)])
        elif token == ")":
            label, begin = open_nodes.pop()
            yield label, words[begin:]
        elif open_nodes[-1][0] is None:
            open_nodes[-1][0] = token
        else:
            words.append(token)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees")
    parser.add_argument("--roots", action="store_true", help="only whole sentences")
    options = parser.parse_args()
    opener = gzip.open if options.trees.endswith(".gz") else open
    with opener(options.trees, "rt", encoding="utf-8") as lines:
        for line in lines:
            found = list(phrases(line))
            for label, words in found[-1:] if options.roots else found:
                sys.stdout.write(f"{label}\t{' '.join(words)}\n")


if __name__ == "__main__":
    main()
