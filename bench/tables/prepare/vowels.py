#!/usr/bin/env python3
"""Converts the Japanese vowels (blocks of lines of twelve numbers, separated by empty lines) to JSON lines.

    vowels.py FOLDER STEM      writes STEM.train.jsonl and STEM.test.jsonl
"""

import json
import sys

import files

TRAIN = [30] * 9  # examples by speaker
TEST = [31, 35, 88, 44, 29, 24, 40, 50, 29]


def examples(path):
    frames = []
    for line in files.contents(path).split(b"\n"):
        frame = [float(x) for x in line.split()]
        if frame:
            frames.append(frame)
        elif frames:
            yield frames
            frames = []
    if frames:
        yield frames


def main():
    folder, stem = sys.argv[1:]
    for part, sizes in (("train", TRAIN), ("test", TEST)):
        speakers = [str(speaker) for speaker, size in enumerate(sizes, 1) for _ in range(size)]
        lines = [json.dumps({"frames": frames, "label": label}, separators=(",", ":"))
                 for frames, label in zip(examples(f"{folder}/ae.{part}"), speakers)]
        files.write(f"{stem}.{part}.jsonl", "".join(line + "\n" for line in lines).encode())


main()
