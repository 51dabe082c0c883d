#!/usr/bin/env python3
"""Measures time, memory and latency of `unfold score` on logs with many lines and many different values.

  bench/logs/load.py throughput --unfold build/release/bin/unfold --lines 10000000 --values 100000
  bench/logs/load.py latency --unfold build/release/bin/unfold --lines 20000 [--state]

throughput: a model is trained on a tenth of the lines, at most 100,000. The lines have five fields, each with `--values`
different values, and are written to a pipe. The table shows the processor time and the wall time per million lines for
each tenth of the lines, and the largest resident memory so far.

latency: lines are written one at a time, each after the row of the line before it was read. For every line, the wall
time until its row was read is compared with the processor time that the process spent on it. A wall time far above the
processor time was spent waiting for a processor.
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from generate_logs import generate  # noqa: E402

MESSAGES = ["request served", "request queued", "cache entry stored", "cache entry expired", "session opened",
            "session closed", "payment accepted", "payment refused"]


def many_values(lines, values, seed):
    """Yields blocks of lines with five fields, each with the same number of different values."""
    r = random.Random(seed)
    block = []
    for number in range(lines):
        second, millisecond = divmod(number, 1000)
        clock = f"2026-03-{1 + second // 86400:02d}T{second // 3600 % 24:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
        a, b, c, d, e = (int(r.random() * values) for _ in range(5))
        block.append(f'{clock}.{millisecond:03d}Z level=info msg="{MESSAGES[a & 7]}" user=u{a} client=c{b} order=o{c} '
                     f"path=/items/p{d} took={e}us\n")
        if len(block) == 10000:
            yield "".join(block).encode()
            block = []
    if block:
        yield "".join(block).encode()


def processor_clock(pid):
    """The clock of the processor time of a process, for time.clock_gettime (clock_getcpuclockid(3) on Linux)."""
    return (~pid << 3) | 2


def peak_memory(pid):
    """The largest resident memory of a process so far, in MiB."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return float("nan")


def train(program, folder, blocks):
    log, run = os.path.join(folder, "train.log"), os.path.join(folder, "run")
    with open(log, "wb") as out:
        for block in blocks:
            out.write(block)
    began = time.perf_counter()
    subprocess.run([program, "train", log, "--format", "log", "--out", run, "--quiet", "--threads", "1"], check=True,
                   stdout=subprocess.DEVNULL)
    return run, time.perf_counter() - began


def throughput(given, folder):
    learned = min(given.lines // 10, 100000)
    run, seconds = train(given.unfold, folder, many_values(learned, given.values, 1))
    print(f"training on {learned:,} lines: {seconds:.1f} s")
    print("| lines | processor s / 10^6 lines | wall s / 10^6 lines | memory, MiB |\n| --- | --- | --- | --- |")
    options = ["--false-alarms", "0.001", "--json"] if given.alarms else []
    child = subprocess.Popen([given.unfold, "score", run, "-", "--quiet", *options], stdin=subprocess.PIPE,
                             stdout=subprocess.DEVNULL)
    clock, part, done, before, began = processor_clock(child.pid), max(1, given.lines // 10), 0, 0.0, time.perf_counter()
    for block in many_values(given.lines, given.values, 2):
        child.stdin.write(block)
        lines = block.count(b"\n")
        done += lines
        if done % part < lines:
            now, wall = time.clock_gettime(clock), time.perf_counter()
            print(f"| {done:,} | {(now - before) / part * 1e6:.2f} | {(wall - began) / part * 1e6:.2f} | "
                  f"{peak_memory(child.pid):.0f} |", flush=True)
            before, began = now, wall
    child.stdin.close()
    return child.wait()


def quantile(sorted_values, share):
    return sorted_values[min(len(sorted_values) - 1, int(share * len(sorted_values)))]


def latency(given, folder):
    lines = [line + "\n" for line in generate("keyvalue", 6000, 1)]
    run, _ = train(given.unfold, folder, [line.encode() for line in lines])
    options = ["--state", os.path.join(folder, "state")] if given.state else []
    child = subprocess.Popen([given.unfold, "score", run, "-", "--quiet", *options], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, bufsize=0)
    rows = child.stdout
    clock = processor_clock(child.pid)
    walls, processors = [], []
    for number, line in enumerate(generate("keyvalue", given.lines, 2)):
        before, began = time.clock_gettime(clock), time.perf_counter()
        child.stdin.write((line + "\n").encode())
        row = b""
        while row.count(b"\n") < (2 if number == 0 else 1):  # the heading comes with the first row
            row += rows.read(65536)
        walls.append(time.perf_counter() - began)
        processors.append(time.clock_gettime(clock) - before)
        time.sleep(given.pause)
    child.stdin.close()
    print("| from line to row | median, µs | 99 %, µs | 99.9 %, µs | highest, µs |\n| --- | --- | --- | --- | --- |")
    for name, values in (("wall time", walls), ("processor time", processors)):
        values = sorted(values[100:])  # without the first lines, which load the program
        cells = [quantile(values, share) for share in (0.5, 0.99, 0.999, 1)]
        print(f"| {name} | " + " | ".join(f"{1e6 * cell:.0f}" for cell in cells) + " |")
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    return child.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("what", choices=("throughput", "latency"))
    parser.add_argument("--unfold", default="build/release/bin/unfold")
    parser.add_argument("--lines", type=int, default=20000)
    parser.add_argument("--values", type=int, default=100000)
    parser.add_argument("--alarms", action="store_true", help="throughput: print only alarms (--false-alarms 0.001)")
    parser.add_argument("--state", action="store_true", help="latency: with --state")
    parser.add_argument("--pause", type=float, default=0, help="latency: seconds between two lines")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return throughput(given, folder) if given.what == "throughput" else latency(given, folder)


if __name__ == "__main__":
    sys.exit(main())
