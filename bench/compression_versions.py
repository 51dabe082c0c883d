#!/usr/bin/env python3
"""Compare the speed and the sizes of `compress` of two versions of Unfold (docs/performance.md, Speed of context mixing).

    python3 bench/compression_versions.py OLD NEW FILE... [--rounds 3]

Prints, for each file, the archive sizes and the user CPU time per byte of `compress --no-verify` and `decompress` on one
thread: the minimum of alternating runs, and the ratios. Every archive is decompressed and compared with the file.
"""

from __future__ import annotations

import argparse
import pathlib
import resource
import subprocess
import tempfile


def user_seconds(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, check=True, capture_output=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def measure(program: str, file: pathlib.Path, folder: pathlib.Path) -> tuple[int, float, float]:
    """Return the archive size and the nanoseconds per byte of compression and decompression."""
    archive, restored = folder / "archive", folder / "restored"
    for path in (archive, restored):
        path.unlink(missing_ok=True)
    nanoseconds = 1e9 / file.stat().st_size
    common = ["--threads", "1", "--quiet"]
    packing = user_seconds([program, "compress", str(file), "--no-verify", "-o", str(archive), *common])
    unpacking = user_seconds([program, "decompress", str(archive), "-o", str(restored), *common])
    if restored.read_bytes() != file.read_bytes():
        raise SystemExit(f"{program} does not restore {file}")
    return archive.stat().st_size, nanoseconds * packing, nanoseconds * unpacking


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print("| file | bytes | archive, old and new | compress, ns per byte | ratio | decompress, ns per byte | ratio |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    totals = [0.0] * 4
    with tempfile.TemporaryDirectory() as name:
        for file in options.files:
            rounds = [[measure(program, file, pathlib.Path(name)) for program in (options.old, options.new)]
                      for _ in range(options.rounds)]
            (size, packing, unpacking), (new_size, new_packing, new_unpacking) = (
                [min(one[version][column] for one in rounds) for column in range(3)] for version in (0, 1))
            length = file.stat().st_size
            for k, value in enumerate((packing, new_packing, unpacking, new_unpacking)):
                totals[k] += value * length
            print(f"| {file.name} | {length:,} | {size:,}, {new_size:,} | {packing:,.0f}, {new_packing:,.0f} | "
                  f"{packing / new_packing:.2f} | {unpacking:,.0f}, {new_unpacking:,.0f} | "
                  f"{unpacking / new_unpacking:.2f} |", flush=True)
    print(f"| all | | | | {totals[0] / totals[1]:.2f} | | {totals[2] / totals[3]:.2f} |")


if __name__ == "__main__":
    main()
