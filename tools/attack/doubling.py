"""Measures how the time and memory of every subcommand grow with every dimension of its data.

A world has data of one dimension (lines, columns, classes, ...) in a given size and the command lines that read them.
Each command line runs at a size and at GROWTH times that size; its CPU time and its memory may grow by the same factor,
but not by its square. Times are compared only with each other, so the speed of the machine does not matter. A time that
grew too much is measured again, because other programs may have affected it.

Used by tests/doubling/doubling_test.py and by the stage "doubling" of the campaign.
"""

import json
import os
import random
import resource
import subprocess

GROWTH = 8
SLACK = 2.2  # factor beyond linear growth: caches, n log n, other programs
NOISE_SECONDS = 0.15
NOISE_KILOBYTES = 40_000
WORDS = "the cat sat on a mat and ate".split()
QUICK = ["--steps", 1, "--batch", 4, "--window", 16]


class Measurement:
    def __init__(self, seconds, kilobytes, code, error):
        self.seconds, self.kilobytes, self.code, self.error = seconds, kilobytes, code, error


def run(command, arguments, folder, clock=120):
    """Runs the command; returns CPU time, peak memory, exit code and the end of its messages."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("UNFOLD_")}
    environment["UNFOLD_THREADS"] = "1"
    stdin = subprocess.DEVNULL
    arguments = [str(a) for a in arguments]
    if arguments[-2:-1] == ["<"]:
        stdin, arguments = open(os.path.join(folder, arguments[-1]), "rb"), arguments[:-2]
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (clock, clock))
    with open(os.path.join(folder, "err"), "w+b") as err, open(os.devnull, "wb") as out:
        process = subprocess.Popen([command, *arguments], cwd=folder, env=environment, stdin=stdin, stdout=out, stderr=err,
                                   preexec_fn=limit)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        said = err.read().decode("utf-8", "replace")[-400:]
    return Measurement(usage.ru_utime + usage.ru_stime, usage.ru_maxrss, process.returncode, said)


def write(folder, name, text):
    with open(os.path.join(folder, name), "w") as file:
        file.write(text)
    return name


def rows(random_numbers, names, count, cell):
    lines = [",".join(names)]
    lines += [",".join(cell(random_numbers) for _ in names) for _ in range(count)]
    return "\n".join(lines) + "\n"


def number(r):
    return f"{r.gauss(0, 1):.3f}"


def train(data, model, out, *more):
    return ["train", data, "--model", model, "--out", out, "--overwrite", "--quiet", *more]


# Worlds: (random numbers, size, folder) -> [(name, arguments)] ---------------------------------------------------------

def lines(r, n, folder):
    text = write(folder, "text", "".join(" ".join(r.choice(WORDS) for _ in range(r.randrange(1, 4))) + "\n" for _ in range(n)))
    fitted = [(f"train {model}", train(text, model, model.split(":")[0], "--lines", "--symbols", symbols))
              for model, symbols in [("frequency", "bytes"), ("ngram:3", "chars"), ("hmm:2,iterations=2", "words"), ("ppm:2", "bytes"),
                                     ("ctw:8", "bytes")]]
    return [*fitted, ("train rnn", train(text, "rnn:4", "rnn", "--lines", "--symbols", "words", *QUICK)),
            ("train without lines", train(text, "frequency", "one")),
            ("train whole sequences", train(text, "rnn:4", "whole", "--lines", "--whole-sequences", "--steps", 1)),
            ("eval ngram", ["eval", "ngram", text]), ("eval hmm", ["eval", "hmm", text]), ("eval rnn", ["eval", "rnn", text]),
            ("score by line", ["score", "rnn", text, "--by", "line"]), ("score by symbol", ["score", "ngram", text, "--by", "symbol"]),
            ("score by state", ["score", "hmm", text, "--by", "state"]),
            ("compare", ["compare", "ppm", "frequency", "--data", text, "--samples", 100]),
            ("compress", ["compress", text, "--model", "ppm:2", "-o", "packed"]), ("decompress", ["decompress", "packed", "-o", "back"]),
            ("report", ["report", "rnn", "--data", text, "--look", 300, "-o", "page.html"])]


def many_lines(r, n, folder):
    text = write(folder, "text", "".join(r.choice(WORDS) + "\n" for _ in range(n)))
    return [("train frequency", train(text, "frequency", "frequency", "--lines")), ("train ngram", train(text, "ngram:2", "ngram", "--lines")),
            ("eval", ["eval", "frequency", text]), ("score by line", ["score", "ngram", text, "--by", "line"])]


def records(r, n, folder):
    text = write(folder, "reads.fa", "".join(f">read{i}\n{''.join(r.choice('ACGT') for _ in range(6))}\n" for i in range(n)))
    return [("train ngram", train(text, "ngram:2", "ngram")), ("train rnn", train(text, "rnn:4", "rnn", *QUICK)),
            ("eval", ["eval", "ngram", text]), ("score", ["score", "rnn", text, "--by", "line"])]


def log_lines(r, n, folder):
    text = write(folder, "log", "".join(f"Nov {1 + i % 28:2d} 10:{i % 60:02d}:00 host sshd[{i}]: Failed for {r.choice(WORDS)} from 10.0.0.{i % 250}\n"
                                        for i in range(n)))
    return [("train", train(text, "ngram:2", "net", "--format", "log")), ("eval", ["eval", "net", text]),
            ("score", ["score", "net", text, "--by", "line"])]


def columns(r, n, folder):
    names = [f"c{i}" for i in range(n)]
    table = write(folder, "numbers.csv", rows(r, names, 16, number))
    return [("train", train(table, "rnn:3", "net", "--predict", "c0", *QUICK)),
            ("train named", train(table, "rnn:3", "named", "--read", ",".join(names), "--predict", "c1", *QUICK)),
            ("eval", ["eval", "net", table]), ("predict", ["predict", "net", table]), ("score", ["score", "net", table]),
            ("follow", ["predict", "net", "-", "--follow", "<", table]), ("info", ["info", "net"]), ("report", ["report", "net", "-o", "page.html"])]


def columns_of_words(r, n, folder):
    table = write(folder, "words.csv", rows(r, [f"c{i}" for i in range(n)], 16, lambda r: r.choice(WORDS)))
    spaced = write(folder, "spaced", "\n".join(" ".join(r.choice(WORDS) for _ in range(n)) for _ in range(12)) + "\n\n")
    objects = write(folder, "fields.jsonl", "".join(json.dumps({f"f{i}": [r.choice(WORDS), "b"] for i in range(n)}) + "\n" for _ in range(12)))
    return [("train", train(table, "rnn:3", "net", "--predict", "c0", *QUICK[:4])), ("eval", ["eval", "net", table, "--unknown", "skip"]),
            ("predict", ["predict", "net", table]), ("score", ["score", "net", table, "--unknown", "skip"]),
            ("train columns", train(spaced, "rnn:3", "spaced-net", "--format", "columns", "--predict", "1", "--split", "100/0/0", *QUICK[:4])),
            ("train jsonl", train(objects, "rnn:3", "json-net", "--format", "jsonl", "--predict", "f0", *QUICK[:4]))]


def numbers_of_a_density(r, n, folder):
    table = write(folder, "bits.csv", rows(r, [f"x{i}" for i in range(n)], 30, lambda r: r.choice("01")))
    return [("train", train(table, "nade:4", "net", "--steps", 2)), ("eval", ["eval", "net", table]), ("density", ["density", "net", table]),
            ("sample", ["sample", "net", "--count", 5]), ("info", ["info", "net"])]


def rows_of_a_density(r, n, folder):
    table = write(folder, "bits.csv", rows(r, [f"x{i}" for i in range(5)], n, lambda r: r.choice("01")))
    return [("train", train(table, "nade:4", "net", "--steps", 2)), ("eval", ["eval", "net", table]), ("density", ["density", "net", table]),
            ("score", ["score", "net", table])]


def vocabulary(r, n, folder):
    words = [f"w{i}" for i in range(n)]
    text = write(folder, "text", "".join(" ".join(words[i : i + 10]) + "\n" for i in range(0, n, 10)) * 2)
    few = write(folder, "few", "".join(" ".join(r.choice(words) for _ in range(10)) + "\n" for _ in range(20)))
    words_of = ["--symbols", "words"]
    return [("train frequency", train(text, "frequency", "frequency", *words_of)), ("train ngram", train(text, "ngram:2", "ngram", *words_of)),
            ("train rnn", train(few + "", "rnn:3", "small", *words_of, *QUICK)),
            ("train", train(text, "rnn:3", "rnn", *words_of, "--steps", 1, "--batch", 2, "--window", 8, "--split", "100/0/0")),
            ("eval", ["eval", "rnn", few]), ("score", ["score", "rnn", few, "--by", "line"]), ("score ngram", ["score", "ngram", few]),
            ("sample", ["sample", "rnn", "--length", 20]), ("sample ngram", ["sample", "ngram", "--length", 20]),
            ("complete", ["complete", "rnn", "--length", 4]), ("info", ["info", "rnn"]),
            ("report", ["report", "rnn", "--data", few, "--look", 100, "--no-baselines", "-o", "page.html"]),
            ("report ngram", ["report", "ngram", "--data", few, "--look", 100, "-o", "page.html"]),
            ("explain", ["explain", "rnn", "--file", few, "--reach", 10])]


def classes(r, n, folder):
    positions = 4800
    data = "".join(f"w{r.randrange(40)} t{i % n}\n" + ("\n" if i % 20 == 19 else "") for i in range(positions))
    text = write(folder, "tags", data)
    few = write(folder, "few", "".join(f"w{r.randrange(40)} t{r.randrange(n)}\n" + ("\n" if i % 20 == 19 else "") for i in range(400)))
    fields = ["--format", "columns", "--read", "1", "--predict", "2=softmax", "--split", "100/0/0"]
    return [("train", train(text, "rnn:3", "net", *fields, "--steps", 1, "--batch", 2)), ("eval", ["eval", "net", few]),
            ("predict", ["predict", "net", few]), ("predict probabilities", ["predict", "net", few, "--probabilities"]),
            ("score", ["score", "net", few]), ("info", ["info", "net"]),
            ("report", ["report", "net", "--data", few, "--look", 200, "-o", "page.html"]), ("explain", ["explain", "net", few])]


def positions_of_classes(r, n, folder):
    """8,000 classes: the probabilities of all positions at once would take 800 MB at the larger size."""
    count = 8000
    text = write(folder, "tags", "".join(f"w t{i}\n" + ("\n" if i % 20 == 19 else "") for i in range(count)))
    many = write(folder, "many", "".join(f"w t{r.randrange(count)}\n" + ("\n" if i % 20 == 19 else "") for i in range(n)))
    fields = ["--format", "columns", "--read", "1", "--predict", "2=softmax", "--split", "100/0/0"]
    return [("train", train(text, "rnn:2", "net", *fields, "--steps", 1, "--batch", 1)), *[
        (f"{verb} within 256 MB", [verb, "net", many]) for verb in ("eval", "predict", "score")]]


def examples(r, n, folder):
    text = write(folder, "texts", "".join(f"{r.choice(['pos', 'neg'])}\t{' '.join(r.choices(WORDS, k=4))}\n" for _ in range(n)))
    pairs = write(folder, "some.pairs", "".join(f"{' '.join(r.choices(WORDS, k=3))}\t{' '.join(r.choices(WORDS, k=2))}\n" for _ in range(n)))
    trees = write(folder, "some.trees", "".join(f"(1 (0 {r.choice(WORDS)}) (1 {r.choice(WORDS)}))\n" for _ in range(n)))
    return [("train", train(text, "rnn:3", "net", "--format", "labelled", "--steps", 1)), ("eval", ["eval", "net", text]),
            ("predict", ["predict", "net", text]), ("predict probabilities", ["predict", "net", text, "--probabilities", "--format", "jsonl"]),
            ("score", ["score", "net", text]), ("follow", ["score", "net", "-", "--follow", "<", text]),
            ("report", ["report", "net", "--data", text, "--look", 100000, "-o", "page.html"]),
            ("train pairs", train(pairs, "rnn:3", "pairs-net", "--steps", 1)), ("eval pairs", ["eval", "pairs-net", pairs]),
            ("train trees", train(trees, "tree-lstm:3", "tree-net", "--steps", 1)), ("eval trees", ["eval", "tree-net", trees])]


def examples_of_numbers(r, n, folder):
    table = write(folder, "groups.csv", "part,x\n" + "".join(f"p{i // 3},{number(r)}\n" for i in range(3 * n)))
    return [("train", train(table, "rnn:3", "net", "--sequences", "part", "--predict", "x", *QUICK)), ("eval", ["eval", "net", table]),
            ("report", ["report", "net", "--data", table, "--look", 10**6, "-o", "page.html"]),
            ("forecast", ["forecast", "net", table, "--ahead", 1]), ("follow", ["predict", "net", table, "--follow"])]


def rows_of_a_table(r, n, folder):
    table = write(folder, "numbers.csv", rows(r, ["hour", "load"], n, number))
    quoted = write(folder, "open.csv", rows(r, ["hour", "load"], 3, number) + '1,"2\n' + '"" and so on\n' * (4 * n))
    closed = write(folder, "closed.csv", rows(r, ["hour", "load"], 3, number) + '1,"2\n' + "and so on\n" * (4 * n) + '"\n')
    return [("train", train(table, "rnn:3", "net", "--predict", "load", *QUICK)), ("eval", ["eval", "net", table]),
            ("predict", ["predict", "net", table]), ("score", ["score", "net", table]), ("follow", ["predict", "net", table, "--follow"]),
            ("train series", train(table, "rnn:3", "series", "--read", "load", "--predict", "load", *QUICK)),
            ("forecast", ["forecast", "series", table, "--ahead", 3, "--samples", 2]), ("report", ["report", "net", "--look", 10**6, "-o", "page.html"]),
            ("follow an open quote", ["predict", "net", "-", "--follow", "<", quoted]),
            ("follow a long cell", ["predict", "net", "-", "--follow", "<", closed])]


def length(r, n, folder):
    text = write(folder, "text", " ".join(r.choice(WORDS) for _ in range(300)) + "\n")
    prime = write(folder, "prime", " ".join(r.choice(WORDS) for _ in range(n // 4)))
    long = write(folder, "long", " ".join(r.choice(WORDS) for _ in range(4 * n)) + "\n")
    return [("train", train(text, "rnn:3", "rnn", *QUICK)), ("train ppm", train(text, "ppm:3", "ppm")), ("sample", ["sample", "rnn", "--length", 2 * n]),
            ("sample ppm", ["sample", "ppm", "--length", n]), ("sample prime", ["sample", "rnn", "--length", 2, "--prime-file", prime]),
            ("sample many", ["sample", "rnn", "--length", 2, "--count", n // 2]),
            ("complete", ["complete", "rnn", "--length", 4, "--prime-file", prime]), ("explain", ["explain", "rnn", "--file", prime, "--reach", 20]),
            ("train long line", train(long, "rnn:3", "long-net", *QUICK)), ("eval long line", ["eval", "rnn", long]),
            ("generate", ["generate", "alphabet", "--size", 20 * n, "-o", "made"])]


WORLDS = {"lines": (lines, 4000), "many lines": (many_lines, 40000), "records": (records, 30000), "log lines": (log_lines, 1000),
          "columns": (columns, 400), "columns of words": (columns_of_words, 300), "numbers of a density": (numbers_of_a_density, 100), "rows of a density": (rows_of_a_density, 1000),
          "vocabulary": (vocabulary, 1000), "classes": (classes, 600), "positions of classes": (positions_of_classes, 3200),
          "examples": (examples, 500), "examples of numbers": (examples_of_numbers, 1000),
          "rows of a table": (rows_of_a_table, 1000), "length": (length, 1000)}
# The short form of the campaign: one world of each kind, with the commands that once had quadratic growth.
SHORT = {"many lines": ["train frequency"], "columns": ["train"], "vocabulary": ["train ngram", "report ngram"],
         "rows of a table": ["train", "follow an open quote"]}


def grew_too_much(what, small, large):
    """The resources that grew faster than the data; empty if there are none."""
    found = []
    if "within 256 MB" in what and large.kilobytes > 400_000:  # with the program, the model and the data
        found.append(f"{large.kilobytes // 1024} MB")
    if large.seconds > GROWTH * SLACK * max(small.seconds, 0.02) + NOISE_SECONDS:
        found.append(f"time from {small.seconds:.2f} s to {large.seconds:.2f} s")
    base = 12_000  # the program itself
    if large.kilobytes - base > GROWTH * SLACK * max(small.kilobytes - base, 0) + NOISE_KILOBYTES:
        found.append(f"memory from {small.kilobytes} kB to {large.kilobytes} kB")
    return ", ".join(found)


def measure_world(command, name, folder, only=None, scale=1.0, tell=None):
    """[(command line, fault)] of a world; `tell` receives a line for each of its command lines."""
    world, size = WORLDS[name]
    size = max(1, int(size * scale))
    made = []
    for n in (size, GROWTH * size):
        place = os.path.join(folder, f"{name.replace(' ', '-')}-{n}")
        os.makedirs(place)
        made.append((place, world(random.Random(f"{name}/{n}"), n, place)))
    found = []
    (small_place, small_lines), (large_place, large_lines) = made
    for (what, small_line), (_, large_line) in zip(small_lines, large_lines):
        if only is not None and what not in only:
            continue
        wrong = ""
        for attempt in range(3):
            small, large = run(command, small_line, small_place), run(command, large_line, large_place)
            codes = {small.code, large.code}
            expected = {3} if "open quote" in what or "long cell" in what else {0}
            if codes != expected:
                wrong = f"exit codes {small.code} and {large.code}: {small.error if small.code not in expected else large.error}"
                break
            wrong = grew_too_much(what, small, large)
            if not wrong:
                break
        if tell is not None:
            tell(f"{name}: {what}: {small.seconds:.2f} s to {large.seconds:.2f} s, {small.kilobytes // 1024} MB to {large.kilobytes // 1024} MB"
                 + (f"  <-- {wrong}" if wrong else ""))
        if wrong:
            found.append((f"{name}, {size} to {GROWTH * size}: {what}: unfold {' '.join(map(str, large_line))[:300]}", wrong))
    return found
