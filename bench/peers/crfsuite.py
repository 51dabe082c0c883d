#!/usr/bin/env python3
"""Trains CRFsuite on the data and templates of `unfold train --model crf:template=FILE`, for comparison.

  pip install python-crfsuite
  bench/peers/crfsuite.py train.txt.gz test.txt --template bench/chunking.template --l2 1

Columns are separated by spaces; the last column is the label. Prints the loss of CRFsuite after every tenth iteration,
processor seconds of training, and accuracy and chunk F1 (B-, I-, O) on the test file.
"""
import argparse
import gzip
import re
import resource

import pycrfsuite


def sentences(name):
    opened = gzip.open(name, "rt") if name.endswith(".gz") else open(name, encoding="utf-8")
    rows = []
    with opened as lines:
        for line in lines:
            if line.split():
                rows.append(line.split())
            elif rows:
                yield rows
                rows = []
    if rows:
        yield rows


def read_templates(name):
    """A list of (name, [(offset, column), ...])."""
    templates = []
    for line in open(name, encoding="utf-8"):
        if line.startswith("U"):
            places = re.findall(r"%x\[(-?\d+),(\d+)\]", line)
            templates.append((line.split(":")[0], [(int(row), int(column)) for row, column in places]))
    return templates


def entry(rows, position, column):
    if position < 0:
        return f"_B{position}"
    return rows[position][column] if position < len(rows) else f"_B+{position - len(rows) + 1}"


def features(rows, templates):
    return [[name + ":" + "/".join(entry(rows, t + offset, column) for offset, column in places)
             for name, places in templates] for t in range(len(rows))]


def chunks(tags):
    """Begin, end and type of each chunk, as defined by conlleval."""
    found, begin, kind = set(), None, None
    for t, tag in enumerate([*tags, "O"]):
        place, _, type_ = tag.partition("-")
        if begin is not None and (place != "I" or type_ != kind):
            found.add((begin, t, kind))
            begin = None
        if begin is None and place in "BI":
            begin, kind = t, type_
    return found


def processor_seconds():
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("train")
    options.add_argument("test")
    options.add_argument("--template", required=True)
    options.add_argument("--l2", type=float, default=1.0, help="c2 of CRFsuite, the factor of the squared weights (not of half of them)")
    options.add_argument("--model", default="/tmp/crfsuite.model")
    given = options.parse_args()
    templates = read_templates(given.template)
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=True)
    trainer.set_params({"c1": 0.0, "c2": given.l2})
    for rows in sentences(given.train):
        trainer.append(features(rows, templates), [row[-1] for row in rows])
    before = processor_seconds()
    trainer.train(given.model)
    print(f"training: {processor_seconds() - before:.1f} s of CPU time")
    tagger = pycrfsuite.Tagger()
    tagger.open(given.model)
    count = right = both = wanted = found = 0
    for rows in sentences(given.test):
        tags, best = [row[-1] for row in rows], tagger.tag(features(rows, templates))
        count += len(tags)
        right += sum(a == b for a, b in zip(tags, best))
        a, b = chunks(tags), chunks(best)
        both, wanted, found = both + len(a & b), wanted + len(a), found + len(b)
    print(f"accuracy {100 * right / count:.3f} %, F1 {200 * both / (wanted + found):.3f} %")


if __name__ == "__main__":
    main()
