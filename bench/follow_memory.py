"""Memory of `unfold train - --follow` over a long stream.

  python3 bench/follow_memory.py --unfold build/release/bin/unfold --symbols 10000000 --gradient rtrl

Feeds bytes of a small language through a pipe and reads the resident memory from /proc (Linux). Prints a line after 1
%, 2 %, 5 %, 10 %, ... of the symbols. The exit code is 1 if the memory at the end is more than 5 % above the memory
after 10 % of the symbols.
"""

import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time


def resident_megabytes(process):
    for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("the process does not report its memory")


def block(draw, size):
    words = [b"the ", b"cat ", b"sat ", b"on ", b"a ", b"mat. ", b"dog ", b"ran ", b"to ", b"it. "]
    return b"".join(draw.choice(words) for _ in range(size // 3))[:size]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--unfold", default="build/release/bin/unfold")
    options.add_argument("--symbols", type=int, default=10_000_000)
    options.add_argument("--gradient", default="rtrl")
    options.add_argument("--model", default="indrnn:16")
    options.add_argument("--window", type=int, default=64)
    given = options.parse_args()

    draw = random.Random(1)
    pieces = [block(draw, 10_000) for _ in range(50)]
    with tempfile.TemporaryDirectory() as folder:
        command = [given.unfold, "train", "-", "--follow", "--out", os.path.join(folder, "run"), "--quiet", "--threads", "1",
                   "--model", given.model, "--gradient", given.gradient, "--window", str(given.window)]
        print(" ".join(command[1:]), flush=True)
        start = time.monotonic()
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        marks = [given.symbols * share // 100 for share in (1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)]
        found, written = {}, 0
        while written < given.symbols:
            piece = draw.choice(pieces)[:given.symbols - written]
            process.stdin.write(piece)
            process.stdin.flush()
            written += len(piece)
            while marks and written >= marks[0]:
                found[marks[0]] = resident_megabytes(process)
                print(f"{marks[0]:>12,} symbols  {found[marks.pop(0)]:8.2f} MB  {time.monotonic() - start:8.1f} s", flush=True)
        process.stdin.close()
        if process.wait() != 0:
            sys.exit(process.returncode)
    tenth, end = found[given.symbols // 10], found[given.symbols]
    print(f"after 10 % of the symbols {tenth:.2f} MB, at the end {end:.2f} MB")
    sys.exit(0 if end <= 1.05 * tenth else 1)


if __name__ == "__main__":
    main()
