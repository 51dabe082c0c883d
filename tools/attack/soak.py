#!/usr/bin/env python3
"""Soak test: repeatedly trains, kills, resumes, evaluates, samples, compresses and decompresses generated inputs, and
monitors memory and open files. Resumes where the last call stopped; its log is FOLDER/soak.json.
"""

import argparse
import json
import os
import random
import resource
import shutil
import signal
import sys
import time

import mutate
from command import Unfold, Workplace, finish

ANY = {0, 1, 2, 3, 4, 5, 6}
SECONDS_WATCHED, LOOKS_A_SECOND = 45, 20
WORDS = "the of and king sea ship was not with all they from this that what were been said".split()
TRAINED = ["rnn:16", "lstm:16", "gru:16,layers=2", "rnn:16,activation=relu", "lstm:12,layers=2", "glnn:12", "mrnn:12"]
OPTIMIZERS = ["adam:rate=0.01,clip=1", "sgd:rate=0.1", "rmsprop", "hf:windows=4,iterations=8", "path+adam", "adamw"]
CODED = ["cm:1", "cm:1,level=fast", "ppm:4", "ctw:16", "lstm:12", "mix:cm:1+ppm:3", "ngram:3", "hmm:3,iterations=3"]


def text(r, size):
    kind = r.randrange(5)
    if kind == 0:
        return r.randbytes(size)
    if kind == 1:
        return bytes(r.choice(b"ab") for _ in range(size))
    if kind == 2:
        line = " ".join(r.choice(WORDS) for _ in range(9)) + "\n"
        return (line.encode() * (size // len(line) + 1))[:size]
    words = WORDS + (["Ümlaut", "日本", "naïve"] if kind == 3 else [])
    out = ""
    while len(out) < size:
        out += r.choice(words) + r.choice(" \n  ")
    return out.encode()[:size] if kind == 4 else out.encode()


class Failure(Exception):
    pass


class Soak(Workplace):
    def __init__(self, unfold, folder):
        self.unfold, self.folder = unfold, folder
        self.book_file = os.path.join(folder, "soak.json")
        self.book = {"pieces": {}, "runs": 0, "seconds": 0.0, "next": 0, "kills": 0, "failures": [], "watched": []}
        if os.path.exists(self.book_file):
            with open(self.book_file) as file:
                self.book.update(json.load(file))

    def save(self):
        with open(self.book_file + ".new", "w") as file:
            json.dump(self.book, file, indent=1)
        os.replace(self.book_file + ".new", self.book_file)

    def expect(self, arguments, codes=(0,), **how):
        outcome = self.unfold.run(arguments, clock=900, processor=600, **how)
        self.book["runs"] += 1
        if outcome.code not in codes or outcome.hung:
            raise Failure(f"{outcome.line()}: exit {outcome.code}{', hung' if outcome.hung else ''}: {outcome.err[-300:]}")
        return outcome

    def killed_and_resumed(self, r):
        """Check that a run that is repeatedly killed and resumed ends with the same bytes as an uninterrupted run."""
        data = self.write("text", text(r, r.choice([3000, 20000, 60000])))
        model, optimizer = r.choice(TRAINED), r.choice(OPTIMIZERS)
        if optimizer.startswith("path"):
            model = "rnn:16,activation=relu"
        train = ["train", data, "--symbols", "bytes", "--model", model, "--optimizer", optimizer,
                 "--steps", r.choice([60, 150, 400]), "--batch", 4, "--window", 16, "--seed", r.randrange(1000),
                 "--checkpoint-every", r.choice([1, 7, 20]), "--validate-every", 25, "--quiet"]
        whole = self.expect(train + ["--out", self.at("whole")], (0, 5))
        if whole.code == 5:
            return
        span = whole.seconds
        for attempt in range(200):
            process = self.unfold.start(train + ["--out", self.at("cut")] + (["--resume"] if attempt else []))
            if attempt < 8:
                time.sleep(r.random() * min(span * 0.6, 8.0))
                how = r.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
                try:
                    os.kill(process.pid, how)
                except ProcessLookupError:
                    pass
                self.book["kills"] += 1
            outcome = finish(process, 900, 600)
            self.book["runs"] += 1
            if outcome.code == 0:
                break
            if outcome.code == 2 and "--resume" in outcome.arguments:  # killed before the first checkpoint
                train_anew = not os.path.exists(self.at("cut/checkpoint.safetensors"))
                if not train_anew:
                    raise Failure(f"{outcome.line()}: {outcome.err}")
                shutil.rmtree(self.at("cut"), ignore_errors=True)
                continue
            if outcome.code not in (-9, -15, -2, 130, 4, 3, 1) or outcome.hung:  # -15, -2: killed during startup
                raise Failure(f"{outcome.line()}: exit {outcome.code}: {outcome.err[-300:]}")
            if outcome.code in (4, 3, 1):
                if os.path.exists(self.at("cut/checkpoint.safetensors")):
                    raise Failure(f"{outcome.line()}: exit {outcome.code}: {outcome.err[-300:]}")
                shutil.rmtree(self.at("cut"), ignore_errors=True)
        if not os.path.exists(self.at("cut/model.safetensors")) or self.read("cut/model.safetensors") != self.read(
                "whole/model.safetensors"):
            raise Failure(f"{' '.join(map(str, train))}: the model of the killed and resumed run has different bytes")
        self.evaluated("whole", data)

    def evaluated(self, run, data):
        """Check that results do not depend on method, threads or SIMD level, and that sample, score and info succeed.
        """
        outcome = self.expect(["eval", self.at(run), data, "--json"], (0, 4))
        if outcome.code == 4:  # a ReLU network trained on short windows reports states that grow over the whole text
            if "states grow" not in outcome.err:
                raise Failure(f"{outcome.line()}: exit 4: {outcome.err[-300:]}")
            return
        first = outcome.out
        for more, environment in [(["--method", "stepper"], {}), ([], {"UNFOLD_THREADS": "2"}), ([], {"UNFOLD_SIMD": "sse2"})]:
            if self.expect(["eval", self.at(run), data, "--json", *more], env=environment).out != first:
                raise Failure(f"eval {run} {more} {environment}: different results")
        self.expect(["sample", self.at(run), "--length", 300])
        self.expect(["score", self.at(run), data])
        self.expect(["info", self.at(run), "--json"])

    def coded(self, r):
        """Check that decompression restores the compressed data."""
        data = self.write("text", text(r, r.choice([0, 1, 100, 5000, 40000])))
        compress = ["compress", data, "--model", r.choice(CODED), "-o", self.at("packed")]
        if r.random() < 0.3:
            compress += ["--block", r.choice([500, 4096])]
        if self.expect(compress, (0, 2)).code == 2:  # fitted models do not accept an empty file
            if os.path.getsize(data) > 0:
                raise Failure(f"{compress}: exit 2")
            return
        self.expect(["decompress", self.at("packed"), "-o", self.at("back"), "--threads", r.choice([1, 2])])
        if self.read("back") != self.read("text"):
            raise Failure(f"{compress}: decompression gives different bytes")
        original = self.read("packed")
        for _ in range(10):
            self.write("damaged", mutate.archive_of(r, original))
            outcome = self.expect(["decompress", self.at("damaged"), "-o", self.at("back")], ANY)
            if outcome.code == 0 and self.read("back") != self.read("text"):
                raise Failure(f"{compress}: a damaged archive is decompressed to different bytes without an error")

    def flat(self, r):
        """Check that memory and open files do not grow during long work."""
        data = self.write("text", text(r, 60000))
        model = r.choice(TRAINED)
        work = [["train", data, "--symbols", "bytes", "--model", model, "--minutes", 100, "--batch", 4, "--window", 16,
                 "--checkpoint-every", 50, "--validate-every", 100, "--log-every", 20, "--sample-every", 100, "--out",
                 self.at("long")]]
        self.expect(["train", data, "--symbols", "bytes", "--model", model, "--steps", 20, "--out", self.at("short")])
        work.append(["sample", self.at("short"), "--length", 10**12])
        work.append(["compress", "-", "--model", r.choice(["cm:1", "lstm:12", "ctw:8"]), "--block", 4096, "-o", self.at("packed")])
        for arguments in work:
            with open("/dev/null", "wb") as nowhere, open("/dev/zero", "rb") as zeros:
                process = self.unfold.start(arguments, stdin=zeros, stdout=nowhere)
                memory, files = [], []
                for _ in range(SECONDS_WATCHED * LOOKS_A_SECOND):
                    time.sleep(1 / LOOKS_A_SECOND)
                    try:
                        with open(f"/proc/{process.pid}/statm") as statm:
                            memory.append(int(statm.read().split()[1]) * resource.getpagesize())
                        files.append(len(os.listdir(f"/proc/{process.pid}/fd")))
                    except (OSError, IndexError):
                        break
                try:
                    os.kill(process.pid, signal.SIGTERM)
                except ProcessLookupError:
                    pass
                outcome = finish(process, 900, 600)
            self.book["runs"] += 1
            if outcome.code == 5:  # a ReLU network reports that it diverged
                continue
            if outcome.code != 130:
                raise Failure(f"{outcome.line()}: exit {outcome.code}: {outcome.err[-300:]}")
            if len(memory) < (SECONDS_WATCHED - 5) * LOOKS_A_SECOND:
                continue
            begun, half = 5 * LOOKS_A_SECOND, len(memory) // 2
            # Compares peaks, because the memory of `compress` varies with each block.
            early, late = max(memory[begun:half]), max(memory[half:])
            first_files, last_files = max(files[:half]), max(files[half:])
            self.book["watched"].append([arguments[0], early, late, first_files, last_files])
            if late > early * 1.05 + (1 << 20) or last_files > first_files + 2:
                raise Failure(f"{outcome.line()}: memory {early:.0f} -> {late:.0f}, files {first_files} -> {last_files}")

    def damaged_models(self, r):
        data = self.write("text", text(r, 3000))
        model = r.choice(TRAINED + ["ngram:3", "hmm:3,iterations=2", "ppm:3", "ctw:12", "frequency"])
        self.expect(["train", data, "--symbols", "bytes", "--model", model, "--out", self.at("run")]
                    + ([] if model.split(":")[0] in ("ngram", "hmm", "ppm", "ctw", "frequency") else ["--steps", 10]))
        original = self.read("run/model.safetensors")
        for _ in range(15):
            self.write("damaged.safetensors", mutate.model_of(r, original))
            for verb in (["eval", self.at("damaged.safetensors"), data], ["info", self.at("damaged.safetensors")],
                         ["sample", self.at("damaged.safetensors"), "--length", 20]):
                outcome = self.expect(verb, ANY)
                if outcome.code == 0 and verb[0] == "eval" and (b"nan" in outcome.out or b"inf" in outcome.out):
                    raise Failure(f"{outcome.line()}: {outcome.out[:200]}")

    def piece(self, number, seed):
        kinds = [self.killed_and_resumed, self.coded, self.damaged_models, self.killed_and_resumed, self.coded, self.flat]
        kind = kinds[number % len(kinds)]
        self.work = os.path.join(self.folder, f"piece-{number}")
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)
        began, failed = time.monotonic(), False
        try:
            kind(random.Random(f"{seed}/{number}"))
        except Failure as failure:
            failed = True
            self.book["failures"].append([number, kind.__name__, str(failure)])
            print(f"piece {number} ({kind.__name__}) FAILED: {failure}", flush=True)
        if not failed:
            shutil.rmtree(self.work, ignore_errors=True)
        self.book["pieces"][kind.__name__] = self.book["pieces"].get(kind.__name__, 0) + 1
        self.book["seconds"] += time.monotonic() - began
        self.book["next"] = number + 1
        self.save()


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--unfold", default="build/release/bin/unfold")
    options.add_argument("--folder", default="build/soak")
    options.add_argument("--hours", type=float, default=1.0, help="duration of this call")
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    os.makedirs(chosen.folder, exist_ok=True)
    soak = Soak(Unfold(os.path.abspath(chosen.unfold)), os.path.abspath(chosen.folder))
    end = time.monotonic() + 3600 * chosen.hours
    while time.monotonic() < end:
        soak.piece(soak.book["next"], chosen.seed)
    book = soak.book
    print(f"soak: {book['seconds'] / 3600:.2f} hours in total, {book['runs']} runs, {book['kills']} kills, pieces "
          f"{book['pieces']}, {len(book['failures'])} failures (seed {chosen.seed})")
    for kind, early, late, files_early, files_late in book["watched"][-12:]:
        print(f"  {kind}: {early / 2**20:.1f} -> {late / 2**20:.1f} MiB, {files_early} -> {files_late} open files")
    sys.exit(1 if book["failures"] else 0)


if __name__ == "__main__":
    main()
