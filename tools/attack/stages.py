"""The stages of the campaign, in the order in which they run."""

import doubling as growth
import gzip
import json
import lzma
import math
import os
import pty
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time

import mutate
from command import finish, processor_seconds

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORDS = "the cat sat on a mat and ate".split()
FAILURES = {1, 2, 3, 4, 5, 6}
MEMORY_LIMIT = {resource.RLIMIT_AS: (3 << 30, 3 << 30)}  # limits a file that requests all memory
TINY = ["--symbols", "bytes", "--batch", 4, "--window", 16, "--quiet"]


def text_of(random, size):
    out = ""
    while len(out) < size:
        out += random.choice(WORDS) + random.choice("    \n")
    return out.encode()


def columns_of(random, sentences):
    tags = {"the": "D", "a": "D", "cat": "N", "mat": "N", "sat": "V", "ate": "V", "on": "P", "and": "C"}
    lines = []
    for _ in range(sentences):
        lines += [f"{w} {tags[w]}" for w in (random.choice(WORDS) for _ in range(random.randrange(1, 9)))] + [""]
    return "\n".join(lines).encode()


def npy(values):
    header = str({"descr": "<f8", "fortran_order": False, "shape": (len(values),)}).ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack(f"<{len(values)}d", *values)


def data_files(random):
    """{name: (bytes, options of train)} for every reader."""
    numbers = [random.gauss(0, 1) for _ in range(60)]
    table = "hour,load\n" + "".join(f"{i},{x:.4f}\n" for i, x in enumerate(numbers))
    labeled = "".join(f"{random.choice(['pos', 'neg'])}\t{' '.join(random.choices(WORDS, k=4))}\n" for _ in range(30))
    jsonl = "".join(json.dumps({"text": random.choices(WORDS, k=3), "label": random.choice("ab")}) + "\n" for _ in range(30))
    step = lambda: ",".join(map(str, sorted(random.sample(range(21, 109), random.randrange(3))))) or "-"
    rolls = "".join(" ".join(step() for _ in range(8)) + "\n" for _ in range(12))
    text = text_of(random, 1500)
    log = "".join(f"Nov {1 + i % 28:2d} 10:{i % 60:02d}:00 host sshd[{i}]: Failed password for root from 10.0.0.{i} port {4000 + i}\n"
                  for i in range(40))
    return {"text.txt": (text, ["--format", "text"]), "chars.txt": (text + "äöü日本".encode(), ["--format", "text", "--lines"]),
            "words.txt": (text, ["--format", "text", "--symbols", "words", "--vocabulary", 20]),
            "label.txt": (b"".join(b"n " + line + b"\n" for line in text.split(b"\n") if line), ["--format", "text", "--label-column"]),
            "columns.conll": (columns_of(random, 30), ["--format", "columns"]), "table.csv": (table.encode(), ["--format", "table"]),
            "labelled.tsv": (labeled.encode(), ["--format", "labelled"]), "lines.jsonl": (jsonl.encode(), ["--format", "jsonl"]),
            "array.npy": (npy(numbers), ["--format", "npy"]), "music.rolls": (rolls.encode(), ["--format", "rolls"]),
            "lines.log": (log.encode(), ["--format", "log"]), "packed.txt.gz": (gzip.compress(text, mtime=0), ["--format", "text"]),
            "packed.txt.xz": (lzma.compress(text), ["--format", "text"])}


class Bases:
    """Small models of every kind with their training data; created once per campaign."""

    def __init__(self, campaign):
        c, self.folder = campaign, os.path.join(campaign.folder, "bases")
        os.makedirs(self.folder, exist_ok=True)
        r = c.random
        self.text = self.write("text", text_of(r, 2000))
        self.tagged = self.write("tagged", columns_of(r, 40))
        self.models = {}
        for name, spec, more in [("rnn", "rnn:6", ["--steps", 8]), ("lstm", "lstm:5,layers=2", ["--steps", 8, "--precision", "double"]),
                                 ("gru", "gru:6,reset=after", ["--steps", 8]), ("ngram", "ngram:3", []), ("hmm", "hmm:3,iterations=2", []),
                                 ("ppm", "ppm:3", []), ("ctw", "ctw:12", []), ("frequency", "frequency", [])]:
            c.need(["train", self.text, *(TINY if more else TINY[:2] + ["--quiet"]), "--model", spec, *more, "--out", self.at(name)])
            self.models[name] = (self.model(name), self.text)
        c.need(["train", self.tagged, "--read", "1", "--predict", "2", "--model", "bilstm:4", "--steps", 4, "--out", self.at("tagger")])
        self.models["tagger"] = (self.model("tagger"), self.tagged)
        c.need(["train", "--task", "adding:8", "--model", "rnn:4", "--steps", 3, "--out", self.at("task")])
        self.models["task"] = (self.model("task"), None)
        self.archives = {}
        for name, more in [("cm", ["--model", "cm:1"]), ("ppm", ["--model", "ppm:2"]), ("ctw", ["--model", "ctw:8", "--block", 700]),
                           ("lstm", ["--model", "lstm:3"]), ("embedded", ["--model", self.at("rnn"), "--embed"]),
                           ("fitted", ["--model", "ngram:2"])]:
            c.need(["compress", self.text, *more, "-o", self.at(name + ".unf")])
            self.archives[name] = self.bytes(self.at(name + ".unf"))

    def at(self, name):
        return os.path.join(self.folder, name)

    def model(self, name):
        return self.bytes(self.at(name + "/model.safetensors"))

    def write(self, name, data):
        with open(self.at(name), "wb") as file:
            file.write(data)
        return self.at(name)

    @staticmethod
    def bytes(path):
        with open(path, "rb") as file:
            return file.read()


def bases(c):
    if not hasattr(c, "bases"):
        c.bases = Bases(c)
    return c.bases


# Damaged files --------------------------------------------------------------------------------------------------------

def models(c):
    """Any bytes as a model file give a result of finite numbers, or an error for the model (4), for data that does not
    match it (3), for excessive resources (1), or for divergence during online learning (5)."""
    b = bases(c)
    everything = [data for data, _ in b.models.values()]
    for i in range(c.count(30, 20000)):
        name = c.random.choice(sorted(b.models))
        original, data = b.models[name]
        file = c.write("model.safetensors", mutate.model_of(c.random, original, everything))
        verbs = [["info", file, "--json"], ["eval", file, *([data] if data else ["--count", 5]), "--json"]]
        if data == b.text:
            verbs += [["sample", file, "--length", 20], ["score", file, data], ["complete", file, "--length", 3],
                      ["eval", file, data, "--dynamic", "--json"], ["compress", data, "--model", file, "-o", c.at("out")]]
        elif data:
            verbs += [["predict", file, data], ["score", file, data]]
        verb = c.random.choice(verbs)
        # 2: a model that is fitted as a whole cannot continue to learn
        allowed = {0, 1, 3, 4} | ({2, 5} if "--dynamic" in verb else set())
        outcome = c.run(verb, allowed, [file], limits=MEMORY_LIMIT)
        if outcome.code == 0 and verb[0] == "eval":
            require_finite(c, outcome, file)


def require_finite(c, outcome, file):
    def numbers(value):
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, list):
            return [n for v in value for n in numbers(v)]
        return [value] if isinstance(value, float) else []

    try:
        found = numbers(json.loads(outcome.out))
    except ValueError:
        c.wrong(outcome, "exit 0, but the output is not JSON", [file])
        return
    if any(n != n or abs(n) == float("inf") for n in found):
        c.wrong(outcome, f"exit 0 with non-finite results: {outcome.out[:200]}", [file])


def archives(c):
    """A modified archive decodes to the original data or is rejected."""
    b = bases(c)
    original = b.bytes(b.text)
    for i in range(c.count(25, 10000)):
        name = c.random.choice(sorted(b.archives))
        file = c.write("archive", mutate.archive_of(c.random, b.archives[name], list(b.archives.values())))
        outcome = c.run(["decompress", file, "-o", c.at("out"), "--threads", c.random.choice([1, 2])], {0, 1, 4, 6}, [file],
                        limits=MEMORY_LIMIT)
        if outcome.code == 0 and c.read("out") != original:
            c.wrong(outcome, "exit 0, but the output differs from the original", [file])


def checkpoints(c):
    """A modified checkpoint is resumed and gives a model that loads, or it is rejected (2 if its settings differ)."""
    b = bases(c)
    for spec, optimizer in [("rnn:5,activation=relu", "path+adam"), ("lstm:4", "adam:rate=0.01"), ("rnn:5", "hf:windows=2,iterations=3")]:
        train = ["train", b.text, *TINY, "--model", spec, "--optimizer", optimizer, "--checkpoint-every", 2, "--out", c.at("run")]
        shutil.rmtree(c.at("run"), ignore_errors=True)
        c.need(train + ["--steps", 6])
        original, model = c.read("run/checkpoint.safetensors"), c.read("run/model.safetensors")
        for i in range(c.count(5, 1500)):
            file = c.write("run/checkpoint.safetensors", mutate.model_of(c.random, original))
            c.write("run/model.safetensors", model)
            outcome = c.run(train + ["--steps", 9, "--resume"], {0, 1, 2, 4, 5}, [file], limits=MEMORY_LIMIT)
            if outcome.code == 0:
                outcome = c.run(["eval", c.at("run"), b.text, "--json"], {0, 4} if "relu" in spec else {0}, [file])
                if outcome.code == 0:
                    require_finite(c, outcome, file)
                elif outcome.code == 4 and "the prediction at position" not in outcome.err:
                    # With damaged weights, states that no tanh bounds may grow over the whole text, although not over the
                    # windows of training. Then eval reports the position. The model loads.
                    c.wrong(outcome, "a successful run left a model that cannot be read", [file])


def data(c):
    """Any bytes as data give a result or a data error (3)."""
    files = data_files(c.random)
    originals = [d for d, _ in files.values()]
    for i in range(c.count(40, 20000)):
        name = c.random.choice(sorted(files))
        original, options = files[name]
        changed = mutate.bytes_of(c.random, original, originals)
        if name.endswith(".gz") and c.random.random() < 0.5:
            changed = gzip.compress(mutate.bytes_of(c.random, gzip.decompress(original)), mtime=0)
        file = c.write(name, changed)
        model = "hmm:2,iterations=1" if "text" in options and c.random.random() < 0.2 else "rnn:3"
        budget = ["--steps", 1] if model == "rnn:3" else []
        # A usage error is correct if the first line no longer names the predicted field.
        c.run(["train", file, *options, "--model", model, *budget, "--quiet", "--out", c.at("run"), "--overwrite"], {0, 2, 3},
              [file], limits=MEMORY_LIMIT)


def inspect(c):
    """Damaged versions of typical user files: `inspect` describes or rejects them (3), identically on every call and
    without control characters, and training rejects the files that `inspect` reports as refused.
    """
    habits = os.path.join(ROOT, "tests", "data_habits", "tables")
    files = {name: c.read(os.path.join(habits, name)) for name in sorted(os.listdir(habits)) if not name.endswith(".json")}
    files.update({name: data for name, (data, _) in data_files(c.random).items()})
    files["rows.jsonl"] = b"".join(b'{"id": %d, "x": %d.5, "kind": "%s"}\n' % (i, i % 7, b"ab"[i % 2:i % 2 + 1]) for i in range(30))
    originals = list(files.values())
    options = [[], [], [], ["--decimal", "comma"], ["--header", "no"], ["--comment", "#"], ["--missing", "x"]]
    for i in range(c.count(60, 20000)):
        name = c.random.choice(sorted(files))
        file = c.write(name, mutate.bytes_of(c.random, files[name], originals))
        more = c.random.choice(options)
        outcome = c.run(["inspect", file, *more], {0, 2, 3}, [file], limits=MEMORY_LIMIT)
        if any(byte < 32 and byte != 10 for byte in outcome.out) or len(outcome.out) > 200000:
            c.wrong(outcome, "control characters, or a description that is too long", [file])
        if outcome.code != 0:
            continue
        shown = c.run(["inspect", file, *more, "--json"], {0}, [file], limits=MEMORY_LIMIT)
        again = c.run(["inspect", file, *more, "--json"], {0}, [file], limits=MEMORY_LIMIT)
        if shown.out != again.out:
            c.wrong(shown, "different descriptions of the same file", [file])
        if shown.code == 0 and "refused" in json.loads(shown.out):
            c.run(["train", file, *more, "--model", "rnn:3", "--steps", 1, "--quiet", "--out", c.at("run"), "--overwrite"], {2, 3},
                  [file], limits=MEMORY_LIMIT)


def side_files(c):
    """Any bytes as masks, labels, configurations, rules for logs, ARPA files, and models and archives with a key."""
    b = bases(c)
    c.need(["export", b.at("ngram"), "--to", "arpa", "--out", c.at("good.arpa")])
    log = c.write("lines.log", data_files(c.random)["lines.log"][0])
    mask = b"".join(b"%d\n" % (i % 2) for i in range(2000))
    key, other = c.write("key", c.random.randbytes(32)), c.write("other", c.random.randbytes(32))
    c.need(["train", b.text, *TINY, "--model", "rnn:4", "--steps", 3, "--out", c.at("keyed"), "--key", key])
    c.need(["compress", b.text, "--model", "ppm:2", "-o", c.at("keyed.unf"), "--key", key])
    keyed, packed, original = c.read("keyed/model.safetensors"), c.read("keyed.unf"), b.bytes(b.text)
    for i in range(c.count(20, 6000)):
        kind = i % 6
        if kind == 0:
            file = c.write("model.arpa", mutate.bytes_of(c.random, c.read("good.arpa")))
            c.run(["import", file, "--symbols", "bytes", "--out", c.at("imported.safetensors")], {0, 3}, [file], limits=MEMORY_LIMIT)
        elif kind == 1:
            file = c.write("mask", mutate.bytes_of(c.random, mask))
            c.run(["eval", b.at("rnn"), b.text, "--mask", file], {0, 3}, [file])
        elif kind == 2:
            file = c.write("config.toml", mutate.bytes_of(c.random, b'by = "line"\nunknown = "skip"\nthreads = 1\n'))
            c.run(["score", b.at("rnn"), b.text, "--config", file], {0, 2, 3}, [file])
        elif kind == 3:
            file = c.write("rules", mutate.bytes_of(c.random, b"number\t[0-9]+\naddress\t\\d+\\.\\d+\n"))
            c.run(["train", log, "--format", "log", "--log-rules", file, "--model", "frequency", "--out", c.at("run"), "--overwrite"],
                  {0, 2, 3}, [file])
        elif kind == 4:
            file = c.write("model.safetensors", mutate.model_of(c.random, keyed))
            if c.read("model.safetensors") != keyed:
                c.run(["eval", file, b.text, "--key", c.random.choice([key, other])], {4}, [file])
        else:
            file = c.write("archive", mutate.bytes_of(c.random, packed))
            outcome = c.run(["decompress", file, "-o", c.at("out"), "--key", c.random.choice([key, key, other])], {0, 6}, [file])
            if outcome.code == 0 and c.read("out") != original:
                c.wrong(outcome, "a modified archive was accepted as authentic", [file])


def odd_files(c):
    """Special and unusual files in place of every input file."""
    b = bases(c)
    c.write("empty", b"")
    os.makedirs(c.at("folder"))
    for name, contents in [("nul", b"\0" * 3000), ("random", c.random.randbytes(3000)), ("bom", b"\xef\xbb\xbfa b\n" * 50),
                           ("utf16", "a b\n".encode("utf-16") * 50), ("crlf", b"a b\r\n" * 300), ("cr", b"a b\r" * 300),
                           ("bad-utf8", b"a \xff\xc3 b\n" * 100), ("one", b"a"), ("newline", b"\n"), ("newlines", b"\n" * 3000),
                           ("long-line", b"abc " * c.count(100_000, 1_000_000)), ("quotes", b'"a,b\n' * 99), ("zeros", b"0 " * 999),
                           ("deep", b"[" * 100_000), ("brackets", b"[]" * 50_000), ("a\nname\t\x1b[2J", b"abc" * 99), ("-", b"abc" * 99)]:
        c.write(name, contents)
    os.symlink("nowhere", c.at("dangling"))
    os.symlink("loop", c.at("loop"))
    server = socket.socket(socket.AF_UNIX)
    try:
        server.bind(c.at("socket"))
    except OSError:  # the path is too long
        pass
    c.write("unreadable", b"abc")
    os.chmod(c.at("unreadable"), 0)
    names = sorted(os.listdir(c.work)) + ["x" * 300, "no/such/file", "unreadable/below", ""]
    files = [c.at(n) if n else "" for n in names] + ["/dev/null", "/proc/self/mem", "/proc/version"]
    verbs = [lambda f: ["train", f, "--model", "rnn:3", "--steps", 1, "--out", c.at("run"), "--overwrite"],
             lambda f: ["train", b.text, "--valid", f, "--model", "rnn:3", "--steps", 1, "--out", c.at("run"), "--overwrite"],
             lambda f: ["eval", b.at("rnn"), f], lambda f: ["eval", f, b.text], lambda f: ["score", b.at("ngram"), f],
             lambda f: ["sample", f, "--length", 5], lambda f: ["info", f], lambda f: ["compress", f, "-o", c.at("out")],
             lambda f: ["decompress", f, "-o", c.at("out")], lambda f: ["predict", b.at("tagger"), f],
             lambda f: ["eval", b.at("rnn"), b.text, "--mask", f], lambda f: ["eval", b.at("rnn"), b.text, "--config", f],
             lambda f: ["eval", b.at("rnn"), b.text, "--key", f], lambda f: ["import", f, "--out", c.at("out.safetensors")],
             lambda f: ["train", "--task", "mnist", "--model", "rnn:3", "--steps", 1, "--out", c.at("run"), f]]
    pairs = [(file, verb) for file in files for verb in verbs]
    for file, verb in c.random.sample(pairs, min(len(pairs), c.count(25, len(pairs)))):
        c.run(verb(file), limits=MEMORY_LIMIT)


# Kills and signals ----------------------------------------------------------------------------------------------------

def kill_later(c, process, most):
    time.sleep(c.random.random() * most)
    try:
        os.kill(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def resumed(c, train, disturb, most_attempts):
    """Repeatedly starts a training run that `disturb` stops, and finally lets it finish."""
    for attempt in range(most_attempts + 1):
        go_on = ["--resume"] if os.path.exists(c.at("cut/checkpoint.safetensors")) else ["--overwrite"]
        process = c.unfold.start([*train, "--out", c.at("cut"), *go_on])
        if attempt < most_attempts:
            disturb(process)
        outcome = finish(process)
        c.judge(outcome, {0, 130}, killed=True)
        if outcome.code == 0:
            return


RUNS = [("rnn:8", "adam:rate=0.01"), ("lstm:6", "sgd:rate=0.1"), ("rnn:6,activation=relu", "path+adam"),
        ("rnn:6", "hf:windows=3,iterations=5"), ("glnn:5", "ruop")]


def kills(c):
    """A run that is killed with SIGKILL at random times and resumed gives the same bytes as an uninterrupted run."""
    b = bases(c)
    for i in range(c.count(2, 120)):
        model, optimizer = RUNS[i % len(RUNS)]
        train = ["train", b.text, *TINY, "--model", model, "--optimizer", optimizer, "--steps", 60, "--seed", i,
                 "--checkpoint-every", c.random.choice([1, 5]), "--validate-every", 20]
        for folder in ("whole", "cut"):
            shutil.rmtree(c.at(folder), ignore_errors=True)
        span = c.need([*train, "--out", c.at("whole")]).seconds
        resumed(c, train, lambda process: kill_later(c, process, span), c.count(3, 9))
        if c.read("cut/model.safetensors") != c.read("whole/model.safetensors"):
            c.wrong(None, f"{train}: the killed and resumed run gives different bytes")


def signals(c):
    """SIGINT, SIGTERM and SIGHUP end every subcommand quickly with code 130; a resumed run gives the same bytes."""
    b = bases(c)
    train = ["train", b.text, *TINY, "--model", "rnn:6", "--optimizer", "hf:windows=8,iterations=40", "--steps", 20]
    c.need([*train, "--out", c.at("whole")])

    def interrupt(process):
        time.sleep(0.3 + c.random.random())
        stop(c, process)

    resumed(c, train, interrupt, c.count(2, 40))
    if c.read("cut/model.safetensors") != c.read("whole/model.safetensors"):
        c.wrong(None, "the interrupted and resumed run gives different bytes")
    large = c.write("large", text_of(c.random, 400_000))
    os.mkfifo(c.at("fifo"))
    verbs = [["compress", large, "-o", c.at("out")], ["sample", b.at("rnn"), "--length", 10**10], ["eval", b.at("lstm"), large],
             ["compress", c.at("fifo"), "-o", c.at("out")], ["eval", b.at("rnn"), large, "--dynamic"],
             ["score", b.at("lstm"), large], ["decompress", c.at("fifo")], ["train", large, "--model", "hmm:20", "--out", c.at("hmm"), "--overwrite"]]
    for i in range(c.count(4, 200)):
        with open("/dev/null", "wb") as nowhere:
            process = c.unfold.start(verbs[i % len(verbs)], stdout=nowhere)
        time.sleep(0.2 + c.random.random())
        stop(c, process)
        c.judge(finish(process), {0, 130}, killed=True)


def stop(c, process):
    """Sends a signal; the process must end within two seconds of its CPU time."""
    before, began = processor_seconds(process.pid), time.monotonic()
    try:
        os.kill(process.pid, c.random.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP]))
    except ProcessLookupError:
        return
    last = before
    while time.monotonic() - began < 60:
        now = processor_seconds(process.pid)
        if now == 0.0 or os.path.exists(f"/proc/{process.pid}/stat") and state_of(process.pid) == "Z":
            break
        last = now
        time.sleep(0.02)
    else:
        c.wrong(None, f"{process.arguments}: does not end after a signal")
    if last - before > 2:
        c.wrong(None, f"{process.arguments}: continued for {last - before:.1f} s after a signal")


def state_of(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0]
    except (OSError, IndexError):
        return "Z"


# Surroundings ---------------------------------------------------------------------------------------------------------

def leftovers(folder):
    return [os.path.join(f, n) for f, _, names in os.walk(folder) for n in names if ".unfold-tmp-" in n]


def full_disks(c):
    """If files cannot grow, an error is reported, existing files remain, no temporary files remain, and the run can be
    resumed."""
    b = bases(c)
    train = ["train", b.text, *TINY, "--model", "rnn:6", "--steps", 30, "--checkpoint-every", 5, "--validate-every", 10]
    c.need([*train, "--out", c.at("whole")])
    work = [["compress", b.text, "--fast", "-o", c.at("out")], ["decompress", b.at("cm.unf"), "-o", c.at("out")],
            ["export", b.at("ngram"), "--to", "arpa", "--out", c.at("out")],
            ["generate", "alphabet", "--out", c.at("out")],
            ["score", b.at("rnn"), b.text, "--by", "symbol"]]
    for i in range(c.count(8, 600)):
        limit = int(c.random.choice([0, 1, 100, 1000, 4096, c.random.randrange(60_000)]))
        limits = {resource.RLIMIT_FSIZE: (limit, limit)}
        if i % 3 == 0:
            shutil.rmtree(c.at("cut"), ignore_errors=True)
            c.run([*train, "--out", c.at("cut")], {0, 1}, limits=limits, mute=limit < 4096)
            go_on = ["--resume"] if os.path.exists(c.at("cut/checkpoint.safetensors")) else ["--overwrite"]
            outcome = c.run([*train, "--out", c.at("cut"), *go_on], {0})
            if outcome.code == 0 and c.read("cut/model.safetensors") != c.read("whole/model.safetensors"):
                c.wrong(outcome, f"after a full disk (limit {limit}), the resumed run gives different bytes")
        else:
            c.write("out", b"what was there")
            verb = c.random.choice(work)
            outcome = c.run(verb, {0, 1}, limits=limits, mute=limit < 4096)
            if outcome.code == 1 and "-o" in verb and c.read("out") != b"what was there":
                c.wrong(outcome, "the existing file is gone")
        for left in leftovers(c.work):
            c.wrong(None, f"{left} remains")
            os.remove(left)
    with open("/dev/full", "wb") as full:
        for verb in (["sample", b.at("rnn")], ["info", b.at("rnn")], ["eval", b.at("rnn"), b.text], ["score", b.at("rnn"), b.text],
                     ["compress", b.text, "--fast"], ["decompress", b.at("cm.unf")], ["--help"]):
            c.run(verb, {1}, stdout=full)
    real_full_disk(c, b)


def real_full_disk(c, b):
    """A file system of a few blocks, if this user may mount one."""
    os.makedirs(c.at("disk"))
    for kilobytes in ([16] if c.short else [4, 8, 16, 24, 40, 64, 100]):
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", c.at("disk")], capture_output=True)
        if mount.returncode != 0:
            return
        try:
            c.run(["train", b.text, *TINY, "--model", "rnn:8", "--steps", 20, "--checkpoint-every", 2, "--out", c.at("disk/run")], {0, 1})
            c.run(["compress", b.text, "--fast", "-o", c.at("disk/out")], {0, 1})
            for left in leftovers(c.at("disk")):
                c.wrong(None, f"{left} remains on a full disk")
        finally:
            subprocess.run(["umount", c.at("disk")], check=False)


def vanishing(c):
    """Files that are truncated, emptied, replaced, extended or removed while they are read; run folders that disappear."""
    b = bases(c)
    content = text_of(c.random, 200_000) * 100  # large enough to be mapped
    for i in range(c.count(4, 150)):
        file = c.write("large", content)
        verb = c.random.choice([["train", file, *TINY, "--model", "rnn:4", "--steps", 10**7, "--out", c.at("run"), "--overwrite"],
                                ["eval", b.at("rnn"), file], ["compress", file, "--fast", "-o", c.at("out")],
                                ["score", b.at("frequency"), file]])
        with open("/dev/null", "wb") as nowhere:
            process = c.unfold.start(verb, stdout=nowhere)
        time.sleep(0.3 + 1.2 * c.random.random())
        how = c.random.choice(["cut", "empty", "remove", "replace", "grow", "folder"])
        if how in ("cut", "empty"):
            os.truncate(file, 0 if how == "empty" else c.random.randrange(len(content)))
        elif how == "remove":
            os.remove(file)
        elif how == "replace":
            os.replace(c.write("other", b"something else\n" * 99), file)
        elif how == "grow":
            with open(file, "ab") as more:
                more.write(content[:1000])
        else:
            shutil.rmtree(c.at("run"), ignore_errors=True)
        time.sleep(1)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGTERM)
        c.judge(finish_polled(process), {0, 1, 3, 130})


def finish_polled(process):
    """Like `finish`, for a process that subprocess may already have reaped."""
    if process.returncode is None:
        return finish(process)
    from command import Outcome
    process.err_file.seek(0)
    return Outcome(process.arguments, process.returncode, b"", process.err_file.read().decode("utf-8", "replace"),
                   time.monotonic() - process.started, 0)


def limits(c):
    """Little memory, few open files, small and huge stacks (which prevent the creation of threads)."""
    b = bases(c)
    verbs = [["train", b.text, *TINY, "--model", "lstm:40", "--steps", 5, "--out", c.at("run"), "--overwrite", "--threads", 4],
             ["eval", b.at("rnn"), b.text, "--threads", 4], ["compress", b.text, "--model", "cm:1", "-o", c.at("out"), "--threads", 4],
             ["decompress", b.at("ctw.unf"), "-o", c.at("out"), "--threads", 4], ["predict", b.at("tagger"), b.tagged],
             ["sample", b.at("gru")], ["info", b.at("hmm")]]
    for i in range(c.count(14, 1500)):
        kind = i % 4
        if kind == 0:
            memory = c.random.randrange(40, 400) << 20
            chosen = {resource.RLIMIT_AS: (memory, memory)}
        elif kind == 1:
            files = c.random.randrange(3, 12)
            chosen = {resource.RLIMIT_NOFILE: (files, files)}
        elif kind == 2:
            chosen = {resource.RLIMIT_STACK: (2 << 30, 2 << 30), resource.RLIMIT_AS: (1 << 30, 1 << 30)}
        else:
            stack = c.random.randrange(256, 2048) << 10
            chosen = {resource.RLIMIT_STACK: (stack, stack)}
        outcome = c.unfold.run(c.random.choice(verbs), limits=chosen)
        if outcome.code == 127 and "shared librar" in outcome.err:  # the system could not start it
            continue
        c.judge(outcome, {0, 1, 3, 4})


def races(c):
    """If several processes use one folder or file, the result equals the result of one of them."""
    b = bases(c)
    train = ["train", b.text, *TINY, "--model", "rnn:6", "--steps", 60, "--checkpoint-every", 3, "--out"]
    c.need([*train, c.at("whole")])
    expected = c.read("whole/model.safetensors")
    for i in range(c.count(2, 100)):
        shutil.rmtree(c.at("run"), ignore_errors=True)
        crowd = [c.unfold.start([*train, c.at("run"), *how]) for how in ([], ["--overwrite"], ["--overwrite"])]
        time.sleep(c.random.random() * 0.4)
        crowd += [c.unfold.start([*train, c.at("run"), "--resume"]), c.unfold.start(["eval", c.at("run"), b.text])]
        outcomes = [finish(process) for process in crowd]
        for outcome in outcomes:
            c.judge(outcome, {0, 1, 2, 4})
        if all(o.code != 0 for o in outcomes[:4]):
            c.wrong(outcomes[0], "no process succeeded")
        elif c.read("run/model.safetensors") != expected:
            c.wrong(outcomes[0], "two runs were mixed")
        crowd = [c.unfold.start(["compress", b.text, "--fast", "-o", c.at("out")]) for _ in range(3)]
        for process in crowd:
            c.judge(finish(process), {0, 1})
        c.run(["decompress", c.at("out"), "-o", c.at("back")], {0})
        if c.read("back") != b.bytes(b.text) or leftovers(c.work):
            c.wrong(None, f"three processes wrote one file: different bytes, or temporary files {leftovers(c.work)}")


def clocks(c):
    """A clock that jumps changes no result. Needs faketime."""
    b = bases(c)
    if shutil.which("faketime") is None:
        return
    train = ["train", b.text, *TINY, "--model", "rnn:6", "--steps", 40, "--validate-every", 10, "--out"]
    c.need([*train, c.at("plain")])
    for i, clock in enumerate(["-30y", "+80y", "+0 x1000", "-1d x0.01"][: c.count(2, 4)]):
        c.run([*train, c.at(f"run{i}")], {0}, before=["faketime", "-f", clock])
        if c.read(f"run{i}/model.safetensors") != c.read("plain/model.safetensors"):
            c.wrong(None, f"with the clock {clock}, a run gives different bytes")


def bits(c):
    """Bytes and digits are the same for any number of threads, vector width and division of the work."""
    b = bases(c)
    levels = [level for level in ("avx512", "avx2", "sse2") if c.unfold.run(["info", b.at("rnn")], env={"UNFOLD_SIMD": level}).code == 0]
    settings = [(t, s) for t in (1, 2, 3, 5) for s in levels or [""]]
    specs = [("lstm:19,layers=2", "adam"), ("gru:17", "rmsprop"), ("rnn:13,activation=relu", "path+adam"), ("rnn:11", "hf:windows=3,iterations=4"),
             ("glnn:12", "ruop"), ("mrnn:9", "sgd:rate=0.1"), ("hmm:3,iterations=2", None), ("ngram:3", None)]
    for spec, optimizer in specs[: c.count(2, len(specs))]:
        options = ["--optimizer", optimizer, "--steps", 12, *TINY] if optimizer else TINY[:2] + ["--quiet"]
        seen = {}
        for threads, level in c.random.sample(settings, min(len(settings), c.count(3, 99))):
            how = {"env": {"UNFOLD_SIMD": level} if level else {}}
            c.need(["train", b.text, "--model", spec, *options, "--threads", threads, "--out", c.at("run"), "--overwrite"], **how)
            results = [c.read("run/model.safetensors")]
            evaluate = ["eval", c.at("run"), b.text, "--json", "--threads", threads]
            results.append(c.need(evaluate, **how).out)
            if optimizer and c.need([*evaluate, "--method", "stepper"], **how).out != results[1]:
                c.wrong(None, f"{spec} {threads} threads {level}: the results of the stepper and the unfolding differ")
            online = ["--online"] if optimizer else []
            c.need(["compress", b.text, "--model", c.at("run"), *online, "-o", c.at("out"), "--threads", threads], **how)
            results.append(c.read("out"))
            seen.setdefault("first", results)
            if results != seen["first"]:
                c.wrong(None, f"{spec}: {threads} threads with {level} give different bits")


SEQUENCE_MODELS = ["ppm:4", "hmm:6", "mix:ppm:3+ctw:12", "ngram:3", "ctw:24", "cm:1", "lstm:6", "ppm:3,memory=1", "frequency",
                   "cm:memory=1", "mix:ppm:2+lstm:4", "gru:5", "rnn:6", "esn:8,readout=trained", "mrnn:4",
                   "ngram:3,smoothing=witten-bell"]


def line_models(c, count):
    """(SPEC, run folder) of models of lines, each trained on lines of two words."""
    words = ["".join(c.random.choices("abcxyz", k=3)) for _ in range(2)]
    lines = c.write("lines", "".join(f"{c.random.choice(words)}{i % 2}\n" for i in range(200)).encode())
    for number, spec in enumerate(SEQUENCE_MODELS[:count]):
        run = c.at(f"model{number}")
        trained_by_gradient = spec.split(":")[0] in ("lstm", "gru", "rnn", "esn", "mrnn")
        budget = ["--steps", 4, "--batch", 4] if trained_by_gradient else []
        c.need(["train", lines, "--lines", "--model", spec, *budget, "--quiet", "--out", run])
        yield spec, run


def nats_of(c, run, *files):
    found = json.loads(c.need(["eval", run, *files, "--json"]).out)
    return found["nats_per_symbol"] * found["symbols"]


def order(c):
    """A model that does not learn gives every line and every file the same score, regardless of what it has read
    before."""
    for spec, run in line_models(c, c.count(4, len(SEQUENCE_MODELS))):
        # The letters of the training text in contexts that do not occur in it.
        letters = sorted(set(c.read("lines").decode()) - {"\n"})
        lines = ["".join(c.random.choices(letters, k=c.random.randrange(1, 30))) for _ in range(30)]
        expected = None
        for _ in range(c.count(2, 20)):
            c.random.shuffle(lines)
            file = c.write("shuffled", "".join(line + "\n" for line in lines).encode())
            outcome = c.need(["score", run, file, "--by", "line", "--json"])
            scores = {line: score["bits"] for line, score in zip(lines, json.loads(outcome.out)["scores"], strict=True)}
            expected = expected or scores
            if scores != expected:
                c.wrong(outcome, f"{spec}: the score of a line depends on the order of the lines", [file])
        half = len(lines) // 2
        files = [c.write(name, "".join(line + "\n" for line in some).encode())
                 for name, some in (("first", lines[:half]), ("second", lines[half:]))]
        total, parts = nats_of(c, run, *files), sum(nats_of(c, run, file) for file in files)
        if abs(total - parts) > 1e-9 * parts:
            c.wrong(None, f"{spec}: two files have {total} nats together, but {parts} as a sum", files)


def ends(c):
    """After the end of a sequence, samples and completions continue as at the beginning of a sequence; an ARPA file
    preserves the score."""
    for spec, run in line_models(c, c.count(3, len(SEQUENCE_MODELS))):
        line = c.read("lines").split(b"\n")[0].decode() + "\n"
        for verb, more in (("sample", ["--length", 60, "--seed", c.random.randrange(1000)]), ("complete", ["--length", 6])):
            outcome = c.need([verb, run, *more, "--json"])
            primed = c.need([verb, run, *more, "--json", "--prime", line])
            if primed.out != outcome.out:
                c.wrong(primed, f"{spec}: {verb} after a whole line differs from {verb} at the beginning")
    for symbols in ("chars", "words")[: c.count(1, 2)]:
        c.need(["train", c.at("lines"), "--lines", "--symbols", symbols, "--model", "ngram:3", "--quiet", "--out", c.at("ngram"),
                "--overwrite"])
        c.need(["export", c.at("ngram"), "--to", "arpa", "--out", c.at("model.arpa")])
        c.need(["import", c.at("model.arpa"), "--symbols", symbols, "--out", c.at("imported.safetensors")])
        before, after = nats_of(c, c.at("ngram"), c.at("lines")), nats_of(c, c.at("imported.safetensors"), c.at("lines"))
        if abs(before - after) > 1e-9 * before:
            c.wrong(None, f"an ARPA file of {symbols}: the score changed from {before} to {after} nats", [c.at("model.arpa")])


def own_configurations(c):
    """A run on any data is reproducible: its config.toml, and its own command with --resume, give the same bytes."""
    more = {"array.npy": ["--model", "gru:4"], "table.csv": ["--model", "gru:4"], "music.rolls": ["--model", "gru:4"],
            "columns.conll": ["--model", "bilstm:4", "--read", "1", "--predict", "2"],
            "labelled.tsv": ["--model", "gru:4"], "lines.jsonl": ["--model", "gru:4", "--predict", "label"]}
    kinds = []
    for name, (data, options) in sorted(data_files(c.random).items()):
        file = c.write(name, data)
        if name == "lines.log":
            options = [*options, "--split", "80/20"]
        kinds.append((name, [file, *options, *more.get(name, ["--model", "rnn:4", "--window", 16]), "--steps", 3, "--batch", 4]))
    text = c.write("book.txt", text_of(c.random, 1500))
    columns = c.write("chunks.conll", columns_of(c.random, 30))
    kinds += [("whole", [text, "--lines", "--whole-sequences", "--model", "rnn:4", "--steps", 3]),
              ("ruop", [text, "--lines", "--optimizer", "ruop", "--model", "glnn:4", "--steps", 2]),
              ("restarts", [text, "--optimizer", "ruop", "--model", "glnn:4", "--window", 16, "--restarts", 2, "--steps", 20]),
              ("follow", [text, "--follow", "--model", "rnn:4,activation=relu", "--optimizer", "path", "--steps", 5]),
              ("crf", [columns, "--model", "crf", "--predict", "2", "--epochs", 2]),
              ("task", ["--task", "adding:8", "--model", "rnn:4", "--steps", 3, "--batch", 4])]
    for name, options in c.random.sample(kinds, c.count(8, len(kinds))):
        train = ["train", *options, "--quiet", "--out"]
        outcome = c.need([*train, c.at("own")])
        model = c.read("own/model.safetensors")
        outcome = c.run(["train", "--config", c.at("own/config.toml"), "--quiet", "--out", c.at("again")], {0})
        if outcome.code == 0 and c.read("again/model.safetensors") != model:
            c.wrong(outcome, f"{name}: the run's own configuration gives a different model")
        outcome = c.run([*train, c.at("own"), "--resume"], {0})
        if outcome.code == 0 and c.read("own/model.safetensors") != model:
            c.wrong(outcome, f"{name}: the run's own command with --resume gives a different model")
        for folder in ("own", "again"):
            shutil.rmtree(c.at(folder), ignore_errors=True)


def divergence(c):
    """A learning rate that is far too large leads to exit code 5 or to a result that is not far worse than a constant
    prediction."""
    text = c.write("book.txt", text_of(c.random, 2000))
    wave = c.write("wave.csv", ("value\n" + "".join(f"{math.sin(i / 3)}\n" for i in range(300))).encode())
    tagged = c.write("chunks.conll", columns_of(c.random, 40))
    kinds = [([text, "--symbols", "bytes", "--window", 16], "nats_per_symbol"), ([wave, "--format", "table"], "mean_squared_error"),
             ([tagged, "--read", "1", "--predict", "2=softmax"], "nats_per_position"),
             (["--task", "adding:8"], "mean_squared_error")]
    optimizers = ["adam:rate=1000", "sgd:rate=1000,clip=0", "rmsprop:rate=300", "natural:windows=2,rate=50", "path+adam:rate=100",
                  "hf:windows=1,iterations=6", "hf:curvature=0.001"]
    for i in range(c.count(7, 300)):
        options, figure = kinds[i % len(kinds)]
        optimizer = optimizers[i % len(optimizers)]
        model = "rnn:5,activation=relu" if optimizer.startswith("path") else c.random.choice(["rnn:5", "gru:4"])
        outcome = c.run(["train", *options, "--model", model, "--optimizer", optimizer, "--batch", 2, "--steps", 30, "--seed", i,
                         "--json", "--quiet", "--out", c.at("run"), "--overwrite"], {0, 5})
        if outcome.code != 0:
            continue
        found = json.loads(outcome.out)["valid"]
        for part in [found, *found.get("heads", {}).values()]:
            if part.get(figure, 0) > (100 if "squared" in figure else 25):
                c.wrong(outcome, f"exit 0 with {figure} {part[figure]}")


def doubling(c):
    """Time and memory grow at most linearly with the number of lines, columns, words, classes and examples."""
    worlds = growth.SHORT if c.short else dict.fromkeys(growth.WORLDS)
    for name, only in worlds.items():
        for line, wrong in growth.measure_world(c.unfold.path, name, c.work, only=only):
            c.find("wrong", None, f"{line}: {wrong}")
        c.book[c.stage]["runs"] += 1


CONTROLS = [b"\x1b[2J", b"\x1b]0;title\a", b"\x1b]52;c;aGk=\x1b\\", b"\x9b31m", "\x9b31m".encode(), "\x90q".encode(), b"\a\b\x7f",
            b"\xff\xfe", b"\x1bc", b"\x0e", b"\r", b"\v\f"]


def executed(text):
    """Whether these bytes contain control characters, other than line feeds and tabs, that a terminal would execute."""
    try:
        return re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text.decode()) is not None
    except UnicodeDecodeError:  # a terminal may read such a byte as a control character
        return True


def on_terminal(c, arguments):
    """The outcome of a command whose standard output is a pseudo-terminal, with its output."""
    ours, theirs = pty.openpty()
    written = bytearray()

    def collect():
        try:
            while piece := os.read(ours, 65536):
                written.extend(piece)
        except OSError:  # the command has ended
            pass

    reader = threading.Thread(target=collect)
    reader.start()
    process = c.unfold.start(arguments, stdout=theirs, env={"TERM": "xterm", "NO_COLOR": "1"})
    os.close(theirs)
    outcome = finish(process)
    reader.join()
    os.close(ours)
    outcome.out = bytes(written).replace(b"\r\n", b"\n")
    return outcome


def hostile(random):
    return b"".join(random.choice([*CONTROLS, b"a", b"\\t", b"b"]) for _ in range(random.randrange(1, 6)))


def terminal(c):
    """Control characters in data, labels, names and arguments never reach a terminal or a message."""
    for _ in range(c.count(1, 60)):
        r = c.random
        name = os.fsdecode(hostile(r).replace(b"/", b""))
        text = c.write("text" + name, b"".join(b"the " + hostile(r) + b" cat\n" for _ in range(40)))
        classes = [(kind + hostile(r)).translate(None, b"\r\v\f").decode("utf-8", "replace") for kind in (b"one", b"two")]
        labels = c.write("labels" + name, "".join(f"{classes[i % 2]}\tthe {classes[0]} cat\n" for i in range(40)).encode())
        log = c.write("log" + name, b"".join(b"Nov  1 10:00:00 host sshd[3]: failed " + hostile(r) + b"\n" for _ in range(20)))
        fresh = ["--quiet", "--overwrite", "--out"]
        c.need(["train", text, *TINY, "--model", "rnn:4", "--steps", 4, *fresh[1:], c.at("run")])
        c.need(["train", labels, "--format", "labelled", "--model", "rnn:4", "--steps", 3, *fresh, c.at("fields")])
        c.need(["train", log, "--format", "log", "--model", "ngram:2", *fresh, c.at("log-run")])
        missing = c.at("no" + name)
        verbs = [["score", c.at("run"), text, "--by", "line", "--text"], ["score", c.at("run"), text], ["sample", c.at("run"), "--length", 200],
                 ["complete", c.at("run"), "--length", 9], ["explain", c.at("run"), "the cat"], ["predict", c.at("fields"), labels],
                 ["eval", c.at("fields"), labels], ["explain", c.at("fields"), labels], ["score", c.at("log-run"), log, "--text"],
                 ["info", c.at("fields")], ["eval", c.at("run"), missing], ["train", text, "--model", "lstm:5," + name, "--out", c.at("other")],
                 ["info", missing], [name], ["train", text, "--" + name, "1"], ["sample", c.at("run"), "--length", name],
                 ["train", text, *TINY[:-1], "--model", "rnn:4", "--steps", 4, "--sample-every", 2, *fresh[1:], c.at("run")]]
        for verb in verbs:
            outcome = on_terminal(c, verb)
            c.judge(outcome)
            if executed(outcome.out):
                c.wrong(outcome, f"control characters reach the terminal: {outcome.out[-300:]!r}", [text, labels, log])
            if executed(outcome.err.encode()):
                c.wrong(outcome, f"control characters in a message: {outcome.err[-300:]!r}", [text, labels, log])
            if len(outcome.err) > 5000 and "sample" not in outcome.err:
                c.wrong(outcome, f"a message of {len(outcome.err)} characters", [text, labels, log])


ALL = {"models": models, "archives": archives, "checkpoints": checkpoints, "data": data, "inspect": inspect,
       "side-files": side_files,
       "odd-files": odd_files, "kills": kills, "signals": signals, "full-disks": full_disks, "vanishing": vanishing, "limits": limits,
       "races": races, "clocks": clocks, "bits": bits,
       "order": order,
       "ends": ends,
       "own-configurations": own_configurations,
       "divergence": divergence,
       "doubling": doubling,
       "terminal": terminal}
