"""Compares the speed of reading tables with pandas and Arrow, and measures the other formats.

    python bench/reading.py BUILD [--megabytes 100] [--repeats 5] [--folder DIR]

BUILD is the build folder with bin/bench_reading (-DUNFOLD_BENCH=ON). Files are generated with a fixed seed. All programs
run alternately on one processor; each figure is the best of the repeats, in megabytes (10^6 bytes) per second of
CPU time. pandas is measured with its C reader, and Arrow with pyarrow.csv without threads. `inspect` infers the schema
of a table; `read` infers it and reads the table as training does. Neither pandas nor Arrow recognizes dates in formats
other than ISO 8601, missing values beyond a list, units, or roles of columns.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import time

WORDS = "the of and to in is was for on that by with as at from his it an were are which this be".split()


def mixed(i, rng):
    remark = ("ok", "late", "broken part", "", '"cold, windy"')[i % 5]
    day, hour = divmod(i, 24)
    return (
        f"{i + 1},{2000 + day // 336}-{day // 28 % 12 + 1:02d}-{day % 28 + 1:02d} {hour:02d}:00:00,kind {i * 7 % 40},"
        f"{rng.gauss(15, 8):.2f},{rng.random() * 1000:.4f},{rng.randrange(10000)},{rng.random() * 100:.6f},{remark}\n"
    )


def articles(i, rng):
    year, day = divmod(rng.randrange(3650), 365)
    kind = ("phone", "tablet", "laptop", "camera", "watch")[rng.randrange(5)]
    return (
        f"{i + 1},{2010 + year}-{day // 31 + 1:02d}-{day % 28 + 1:02d},{kind},{rng.random() * 1000:.2f},"
        f"{rng.randrange(1, 6)},{' '.join(rng.choice(WORDS) for _ in range(rng.randrange(6, 16)))}\n"
    )


def numbers(_, rng):
    return ",".join(f"{rng.gauss(0, 1):.5f}" for _ in range(10)) + "\n"


def doubles(_, rng):
    return ",".join(repr(rng.gauss(0, 1)) for _ in range(10)) + "\n"


def records(i, rng):
    return json.dumps({"id": f"A{i:07d}", "size": round(rng.random() * 100, 3), "color": ("red", "blue")[i % 2]}) + "\n"


def chat(_, rng):
    text = " ".join(rng.choice(WORDS) for _ in range(12)) + "."
    return json.dumps({"text": text, "label": rng.choice(["good", "bad"])}) + "\n"


def lists(_, rng):
    entries = range(rng.randrange(5, 20))
    numbers = [round(rng.gauss(0, 1), 3) for _ in entries]
    return json.dumps({"x": numbers, "word": [rng.choice(WORDS) for _ in entries], "label": rng.choice("ab")}) + "\n"


def prose(_, rng):
    return " ".join(rng.choice(WORDS) for _ in range(12)) + ".\n"


def letters(i, rng):
    return f">record {i}\n" + "\n".join("".join(rng.choices("ACGT", k=70)) for _ in range(100)) + "\n"


def log(i, rng):
    return (
        f"Dec 10 06:{i // 60 % 60:02d}:{i % 60:02d} web sshd[{rng.randrange(30000)}]: Invalid user {rng.choice(WORDS)} "
        f"from 10.0.{rng.randrange(256)}.{rng.randrange(256)} port {rng.randrange(65536)}\n"
    )


FILES = {
    "mixed.csv": ("id,when,kind,temperature,load,count,price,remark\n", mixed),
    "articles.csv": ("id,date,kind,price,stars,review\n", articles),
    "numbers.csv": (",".join(f"x{i}" for i in range(10)) + "\n", numbers),
    "doubles.csv": (",".join(f"x{i}" for i in range(10)) + "\n", doubles),
    "records.jsonl": ("", records),
    "chat.jsonl": ("", chat),
    "lists.jsonl": ("", lists),
    "prose.txt": ("", prose),
    "letters.fa": ("", letters),
    "sshd.log": ("", log),
}


def generate(path, size):
    head, line = FILES[path.name]
    rng = random.Random(1)
    written = i = 0
    with path.open("w") as out:
        written += out.write(head)
        while written < size:
            written += out.write(line(i, rng))
            i += 1


def processor_seconds(function):
    start = time.process_time()
    function()
    return time.process_time() - start


def readers():
    """The functions that read a table, by name; libraries that are not installed are omitted."""
    found = {}
    try:
        import pandas

        found["pandas"] = lambda path: pandas.read_csv(path, engine="c")
    except ImportError:
        pass
    try:
        import pyarrow.csv

        options = pyarrow.csv.ReadOptions(use_threads=False)
        pyarrow.set_cpu_count(1)
        found["arrow"] = lambda path: pyarrow.csv.read_csv(path, read_options=options)
    except ImportError:
        pass
    return found


def measure(path, build, repeats, others):
    size = path.stat().st_size / 1e6
    best = {}
    for _ in range(repeats):
        out = subprocess.run(
            [build / "bin" / "bench_reading", "--once", path], check=True, capture_output=True, text=True
        ).stdout
        row = json.loads(out)
        for key in ("inspect", "read"):
            best[key] = max(best.get(key, 0), row[key])
        best["peak"] = row["peak"]
        if path.suffix == ".csv":
            for name, read in others.items():
                best[name] = max(best.get(name, 0), size / processor_seconds(lambda r=read: r(path)))
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/tmp/unfold-reading"))
    parser.add_argument("--only", nargs="*", default=list(FILES))
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    others = readers()
    columns = ["inspect", "read", *others, "peak"]
    print("| file | " + " | ".join(columns) + " |\n| --- |" + " ---: |" * len(columns))
    for name in arguments.only:
        path = arguments.folder / name
        if not path.exists() or path.stat().st_size < arguments.megabytes * 1e6:
            generate(path, arguments.megabytes * 1e6)
        best = measure(path, arguments.build, arguments.repeats, others)
        cells = [f"{best[column]:.0f}" if best.get(column) else "" for column in columns]
        print(f"| {name} | " + " | ".join(cells) + " |")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
