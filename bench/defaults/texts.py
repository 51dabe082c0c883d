#!/usr/bin/env python3
"""Compares the default for labeled texts with logistic regression on TF-IDF (docs/defaults.md, Texts with punctuation).

The texts are the short descriptions of the Debian packages that apt knows, labeled by section, and two data sets of
UNFOLD_DATA: questions and movie reviews. Needs scikit-learn.

    python3 bench/defaults/texts.py --unfold build/release/bin/unfold --data ../shared/data
"""

import argparse
import collections
import csv
import json
import pathlib
import random
import subprocess
import tempfile


def package_descriptions():
    text = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True).stdout
    rows = []
    for block in text.split("\n\n"):
        description, section = "", ""
        for line in block.split("\n"):
            if line.startswith("Section: "):
                section = line[9:].split("/")[-1]
            if line.startswith(("Description: ", "Description-en: ")):
                description = line.split(": ", 1)[1]
        if section and description:
            rows.append((description, section))
    random.seed(3)
    random.shuffle(rows)
    kept = {section for section, _ in collections.Counter(row[1] for row in rows).most_common(20)}
    return list({row[0]: row for row in reversed(rows) if row[1] in kept}.values())[::-1]


def questions(folder, part):
    rows = []
    for line in (folder / f"sequences/qc/{part}.txt").read_text("latin1").splitlines():
        first, second = line.split("\t")[:2] if "\t" in line else line.split(" ", 1)
        label, text = (first, second) if len(first) < len(second) else (second, first)
        rows.append((text, label.split(":")[0]))
    return rows


def movie_reviews(folder):
    rows = []
    for label in ("pos", "neg"):
        lines = (folder / f"sequences/polarity/rt-polarity.{label}").read_text("latin1").split("\n")
        rows += [(line.strip(), label) for line in lines if line.strip()]
    random.seed(2)
    random.shuffle(rows)
    return rows


def linear_accuracy(train, test):
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(TfidfVectorizer(), LogisticRegression(max_iter=500, C=10))
    model.fit([text for text, _ in train], [label for _, label in train])
    return model.score([text for text, _ in test], [label for _, label in test])


def default_accuracy(unfold, train, test, extra):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for part, rows in (("train", train), ("test", test)):
            with open(folder / f"{part}.csv", "w", newline="", encoding="utf-8") as out:
                csv.writer(out).writerows([("text", "class"), *rows])
        run = str(folder / "run")
        command = [unfold, "train", str(folder / "train.csv"), "--out", run, "--threads", "1", "--quiet", *extra]
        subprocess.run(command, check=True, capture_output=True)
        found = subprocess.run([unfold, "eval", run, str(folder / "test.csv"), "--json"], check=True, capture_output=True)
        return json.loads(found.stdout)["heads"]["class"]["accuracy"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unfold", default="build/release/bin/unfold")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("../shared/data"))
    options = parser.parse_args()
    packages, reviews, asked = package_descriptions(), movie_reviews(options.data), questions(options.data, "train")
    reviews_test, asked_test = reviews[9600:], questions(options.data, "test")
    sets = [(f"descriptions of packages, {n}", packages[:n], packages[8000:10000]) for n in (500, 2000)]
    for n in (1500, 10**6):
        sets.append((f"questions, {min(n, len(asked))}", asked[:n], asked_test))
        sets.append((f"movie reviews, {min(n, 9600)}", reviews[: min(n, 9600)], reviews_test))
    words = ["--read", "text,text.lower,text.run2,text.run3"]
    print("| texts | as written | default | TF-IDF |\n| --- | ---: | ---: | ---: |")
    for name, train, test in sets:
        values = [default_accuracy(options.unfold, train, test, extra) for extra in (words, [])]
        values.append(linear_accuracy(train, test))
        print(f"| {name} |", " | ".join(f"{value:.3f}" for value in values), "|", flush=True)


if __name__ == "__main__":
    main()
