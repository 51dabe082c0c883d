#!/usr/bin/env python3
"""Writes sequences with class labels, one per line. In each class, every tenth sequence is for testing and the one
after it for validation.

    class_files.py names|tunes FOLDER STEM     writes STEM.train, STEM.valid, STEM.test and STEM-CLASS.test
"""

import re
import sys

import files

KEYS = ["D", "G", "A", "C"]  # the keys with at least 50 tunes
COLLECTIONS = ["ashover", "hpps", "jigs", "morris", "playford", "reelsa-c", "reelsd-g", "reelsh-l", "reelsm-q",
               "reelsr-t", "reelsu-z", "slip", "waltzes", "xmas"]


def names(folder):
    return {gender: files.lines(f"{folder}/{gender}.txt") for gender in ("female", "male")}


def melody_of(line):
    """Removes chords, which are in quotes, and spaces."""
    return b"".join(b"".join(line.split(b'"')[::2]).split())


def tunes_of(text):
    """Returns key and melody of the tunes of a collection in ABC notation, without tunes that change their key."""
    for tune in re.split(rb"^X:", text, flags=re.MULTILINE):
        lines = [line.rstrip() for line in (b"X:" + tune).split(b"\n")]
        keys = {line[2:] for line in lines if line.startswith(b"K:")}
        melody = b"".join(melody_of(line) for line in lines if not re.match(rb"%|[A-Za-z]:", line))
        if len(keys) == 1 and melody:
            yield keys.pop().decode("latin-1"), melody


def tunes(folder):
    of_key = {key: [] for key in KEYS}
    for collection in COLLECTIONS:
        for key, melody in tunes_of(files.contents(f"{folder}/{collection}.abc")):
            if key in of_key:
                of_key[key].append(melody)
    return of_key


def main():
    kind, folder, stem = sys.argv[1:]
    parts = {"train": b"", "valid": b"", "test": b""}
    for label, sequences in {"names": names, "tunes": tunes}[kind](folder).items():
        examples = [label.encode() + b"\t" + sequence + b"\n" for sequence in sequences]
        test = b"".join(examples[::10])
        files.write(f"{stem}-{label}.test", test)
        parts["test"] += test
        parts["valid"] += b"".join(examples[1::10])
        parts["train"] += b"".join(example for i, example in enumerate(examples) if i % 10 > 1)
    for part, lines in parts.items():
        files.write(f"{stem}.{part}", lines)


main()
