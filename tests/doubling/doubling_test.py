#!/usr/bin/env python3
"""Every subcommand on data of every dimension: time and memory grow with the data, not with their square.

    doubling_test.py UNFOLD [WORLD...]

The cases are those of the campaign (tools/attack/doubling.py).
"""

import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "attack"))
import doubling  # noqa: E402


def main():
    command, worlds = os.path.abspath(sys.argv[1]), sys.argv[2:] or list(doubling.WORLDS)
    found = []
    with tempfile.TemporaryDirectory(prefix="unfold-doubling-") as folder:
        for world in worlds:
            found += doubling.measure_world(command, world, folder, tell=lambda line: print(line, flush=True))
    for line, wrong in found:
        print(f"FAILED {line}\n       {wrong}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
