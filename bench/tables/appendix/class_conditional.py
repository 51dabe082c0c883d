#!/usr/bin/env python3
"""Compares prediction of a text with the right class, with a wrong class and without a class, and prints tables and
samples in Markdown.

    class_conditional.py names|tunes STEM RUNS

STEM: the files that prepare/class_files.py wrote. RUNS: a folder for the trained models, which are not trained again.
"""

import json
import math
import pathlib
import subprocess
import sys


def unfold(*arguments):
    """Returns the output of a subcommand with --json."""
    command = ["unfold", *arguments, "--threads", "1", "--json"]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    except OSError as error:
        sys.exit(f"cannot run unfold: {error.strerror}; add its folder to PATH")
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed (exit code {done.returncode}): {done.stderr.strip()}")
    return json.loads(done.stdout)


class Study:
    def __init__(self, stem, runs, model, epochs):
        self.stem, self.runs, self.model, self.epochs = stem, pathlib.Path(runs), model, epochs

    def trained(self, name, ends, given, condition=""):
        """Returns the run folder of a network; trains the network if its result is not there."""
        run, result = str(self.runs / name), self.runs / f"{name}.json"
        command = ["train", f"{self.stem}.train", "--valid", f"{self.stem}.valid", "--format", "labelled", "--symbols",
                   "chars", "--predict", "text", "--unknown", "skip", "--ends", ends, "--model", self.model + condition,
                   "--epochs", str(self.epochs), *(["--read", "label"] if given else []), "--out", run]
        if not result.exists() or json.loads(result.read_text())["command"] != command:
            outcome = unfold(*command, "--overwrite")
            result.write_text(json.dumps({"command": command, "result": outcome}))
        return run

    def tested(self, label):
        """Returns the number of test sequences of a class."""
        return len(pathlib.Path(f"{self.stem}-{label}.test").read_bytes().splitlines())

    def bits(self, run, of, given=None):
        """Returns the mean bits per test sequence of class `of`, including its end."""
        condition = ["--given", f"label={given}"] if given else []
        heads = unfold("eval", run, f"{self.stem}-{of}.test", "--unknown", "skip", *condition)["heads"].values()
        nats = sum(head["predicted"] * (head["nats_per_position"] if "nats_per_position" in head
                                        else head["nats_per_example"]) for head in heads)
        return nats / math.log(2) / self.tested(of)


def samples(run, label, *options):
    return [sample["text"] for sample in unfold("sample", run, "--given", f"label={label}", "--seed", "1",
                                                *options)["samples"]]


def names(stem, runs):
    study = Study(stem, pathlib.Path(runs) / "names", "gru:128,dropout=0.3,embedding=32", 15)
    genders = ["female", "male"]
    print(f"`{study.model}`, {study.epochs} epochs, seed 1; every tenth name of each gender is used for testing "
          f"({study.tested('female')} and {study.tested('male')}), the following one for validation.\n"
          "Bits per name, including its end, for an unconditional network, for one conditioned on the gender, and for "
          "the latter\nconditioned on the wrong gender.\n\n| last letters; condition | female: none | right | wrong | "
          "male: none | right | wrong |\n| --- | --- | --- | --- | --- | --- | --- |")

    def print_row(name, alone, given):
        cells = ""
        for gender, other in zip(genders, reversed(genders)):
            none, right = study.bits(alone, gender), study.bits(given, gender)
            cells += f" {none:.2f} | **{right:.2f}** | {study.bits(given, gender, other):.2f} |"
        print(f"| {name} |{cells}")

    first = None
    for ends in ("symbol", "stop", "geometric", "poisson", "negative-binomial", "table"):
        alone = study.trained(f"alone-{ends}", ends, False)
        given = study.trained(f"given-{ends}", ends, True)
        print_row(f"{ends}; initially and at every step", alone, given)
        if ends == "symbol":
            first = given
            for condition, name in (("start", "as start"), ("steps", "at every step")):
                other = study.trained(condition, ends, True, f",condition={condition}")
                print_row(f"{ends}; {name}", alone, other)
    print("\nSamples from the first of these networks, seed 1:\n\n```")
    for gender in genders:
        print(f"{gender}: {' '.join(samples(first, gender, '--count', '8'))}")
    print("```")


def tunes(stem, runs):
    study = Study(stem, pathlib.Path(runs) / "tunes", "gru:256,dropout=0.4,embedding=32", 30)
    keys = ["D", "G", "A", "C"]
    print(f"`{study.model}`, {study.epochs} epochs, seed 1; melodies, without chords, of tunes that keep their key; "
          "every tenth tune of each key is used for\ntesting, the following one for validation. Bits per tune, "
          "including its end, for an unconditional network, for one conditioned on the key, and for the latter\n"
          "conditioned on a wrong key (mean over the three other keys).\n\n| key | tunes tested | no key given | right "
          "key | wrong key |\n| --- | --- | --- | --- | --- |")
    alone = study.trained("alone", "symbol", False)
    given = study.trained("given", "symbol", True)
    for key in keys:
        none, right = study.bits(alone, key), study.bits(given, key)
        wrong = sum(study.bits(given, key, other) for other in keys if other != key) / (len(keys) - 1)
        cell = f"**{right:.1f}**" if right < none else f"{right:.1f}"
        print(f"| {key} | {study.tested(key)} | {none:.1f} | {cell} | {wrong:.1f} |")
    print("\nSamples, seed 1:\n\n```")
    for key in keys:
        print("\n".join(f"{key}: {tune}" for tune in samples(given, key, "--length", "120", "--count", "1")))
    print("```")


def main():
    kind, stem, runs = sys.argv[1:]
    {"names": names, "tunes": tunes}[kind](stem, runs)


main()
