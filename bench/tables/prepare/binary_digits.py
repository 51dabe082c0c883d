#!/usr/bin/env python3
"""Binarizes the MNIST digits: each pixel is 1 with the probability of its gray level, drawn once with seed 1. The first
50,000 images are for training, the following 10,000 for validation, and the 10,000 test images for testing. Takes
about a minute.

    binary_digits.py FOLDER STEM      writes STEM.train.npy, STEM.valid.npy and STEM.test.npy
"""

import sys

import files
import philox

TRAIN = 50_000
PIXELS = 28 * 28
IDX_HEADER = 16


def npy(rows):
    """Returns bytes in the format of numpy.save, version 1."""
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({len(rows) // PIXELS}, {PIXELS}), }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + rows


def main():
    folder, stem = sys.argv[1:]
    random = philox.Random(1, "binarised mnist")
    position = 0  # the number of pixels before the present image file, which is even

    def binarized(name):
        nonlocal position
        gray = files.contents(f"{folder}/{name}-images-idx3-ubyte.gz")[IDX_HEADER:]
        bits = bytearray(len(gray))
        for i in range(0, len(gray), 2):
            if gray[i] or gray[i + 1]:  # pixels of level 0 stay 0
                first, second = random.pair((position + i) // 2)
                bits[i] = 255.0 * philox.uniform(first) < gray[i]
                bits[i + 1] = 255.0 * philox.uniform(second) < gray[i + 1]
        position += len(gray)
        return bytes(bits)

    training = binarized("train")
    files.write(f"{stem}.train.npy", npy(training[:TRAIN * PIXELS]))
    files.write(f"{stem}.valid.npy", npy(training[TRAIN * PIXELS:]))
    files.write(f"{stem}.test.npy", npy(binarized("t10k")))


main()
