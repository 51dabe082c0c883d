#!/usr/bin/env python3
"""Compare the speed and the sizes of `compress` of two versions of Unfold (docs/performance.md, Speed of context mixing).

    python3 bench/compression_versions.py OLD NEW FILE... [--rounds 3] [--options '--model ppm:6,memory=64'] [--ppmd 7z]

Prints, for each file, the archive sizes and the user CPU time per byte of `compress --no-verify` and `decompress` on one
thread: the minimum of alternating runs, and the ratios. Every archive is decompressed and compared with the file. With
--ppmd, 7-Zip's PPMd of order 6 and 64 MiB also runs in turn, and its size and times are the last of each cell.
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


def measure(program: str, how: list[str] | None, file: pathlib.Path, folder: pathlib.Path) -> tuple[int, float, float]:
    """Return the archive size and the nanoseconds per byte of compression and decompression; `how` is None for 7-Zip."""
    archive, restored = folder / "archive.7z", folder / "restored" / file.name
    restored.parent.mkdir(exist_ok=True)
    for path in (archive, restored):
        path.unlink(missing_ok=True)
    nanoseconds = 1e9 / file.stat().st_size
    if how is None:
        packing = user_seconds([program, "a", "-m0=PPMd:o=6:mem=64m", "-mmt=1", "-t7z", str(archive), str(file)])
        unpacking = user_seconds([program, "e", "-y", f"-o{restored.parent}", str(archive)])
    else:
        common = ["--threads", "1", "--quiet"]
        packing = user_seconds([program, "compress", str(file), "--no-verify", "-o", str(archive), *how, *common])
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
    parser.add_argument("--options", default="", help="of compress")
    parser.add_argument("--ppmd", metavar="7Z")
    options = parser.parse_args()
    how = options.options.split()
    programs = [(options.old, how), (options.new, how)] + ([(options.ppmd, None)] if options.ppmd else [])
    print("| file | bytes | archive, old and new | compress, ns per byte | ratio | decompress, ns per byte | ratio |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    totals = [[0.0, 0.0] for _ in programs]
    with tempfile.TemporaryDirectory() as name:
        for file in options.files:
            rounds = [[measure(*program, file, pathlib.Path(name)) for program in programs]
                      for _ in range(options.rounds)]
            best = [[min(one[version][column] for one in rounds) for column in range(3)]
                    for version in range(len(programs))]
            sizes, packing, unpacking = zip(*best)
            length = file.stat().st_size
            for total, (_, packed, unpacked) in zip(totals, best):
                total[0] += packed * length
                total[1] += unpacked * length
            together = [", ".join(f"{x:,.0f}" for x in column) for column in (sizes, packing, unpacking)]
            print(f"| {file.name} | {length:,} | {together[0]} | {together[1]} | {packing[0] / packing[1]:.2f} | "
                  f"{together[2]} | {unpacking[0] / unpacking[1]:.2f} |", flush=True)
    print(f"| all | | | | {totals[0][0] / totals[1][0]:.2f} | | {totals[0][1] / totals[1][1]:.2f} |")
    if options.ppmd:
        print(f"new / PPMd, all files: compress {totals[1][0] / totals[2][0]:.2f}, "
              f"decompress {totals[1][1] / totals[2][1]:.2f}")


if __name__ == "__main__":
    main()
