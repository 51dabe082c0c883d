#!/usr/bin/env python3
"""Writes words and their phonemes without stress, from lines "WORD number PHONES" of the CMU dictionary. Omits
duplicates that differ only in stress.

    sounds.py DICTIONARY OUT
"""

import sys

import files


def main():
    dictionary, out = sys.argv[1:]
    pairs = {}
    for line in files.lines(dictionary):
        word, _, *phones = line.split()
        if phones:
            pairs[word + b"\t" + b" ".join(phone.rstrip(b"012") for phone in phones) + b"\n"] = None
    files.write(out, b"".join(pairs))


main()
