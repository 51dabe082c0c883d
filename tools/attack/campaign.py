#!/usr/bin/env python3
"""Runs robustness tests against the command and counts the outcomes. Each finding is stored with the file and the
command line that reproduce it.
"""

import argparse
import collections
import json
import os
import random
import resource
import shutil
import sys
import time

import stages
from command import DOCUMENTED, Forks, Unfold, Workplace


class Campaign(Workplace):
    """Shared state of the stages: the command, a folder, a random generator, and the log of outcomes."""

    def __init__(self, unfold, folder, seed, short, share):
        self.unfold, self.folder, self.seed, self.short, self.share = unfold, folder, seed, short, share
        self.book, self.findings, self.stage = {}, [], None
        self.findings_folder = os.path.join(folder, "findings")
        os.makedirs(self.findings_folder)

    def begin(self, stage):
        self.stage = stage
        self.random = random.Random(f"{self.seed}/{stage}")
        self.book[stage] = {"runs": 0, "codes": collections.Counter(), "crashes": 0, "hangs": 0, "undocumented": 0,
                            "wrong": 0, "seconds": 0.0}
        self.work = os.path.join(self.folder, stage)
        os.makedirs(self.work)

    def count(self, short, long):
        return short if self.short else max(short, int(long * self.share))

    def find(self, kind, outcome, why, files=()):
        self.book[self.stage][kind] += 1
        folder = os.path.join(self.findings_folder, f"{len(self.findings):04d}-{self.stage}-{kind}")
        os.makedirs(folder)
        for file in files:
            if os.path.isfile(file):
                shutil.copy(file, folder)
        with open(os.path.join(folder, "what"), "w", errors="surrogateescape") as what:  # names may be any bytes
            what.write(f"{outcome.line() if outcome else ''}\n{why}\n{outcome.err[-2000:] if outcome else ''}\n")
        self.findings.append(f"{self.stage}: {kind}: {why}: {folder}")

    def judge(self, outcome, allowed=DOCUMENTED, files=(), killed=False, mute=False):
        """Count a run and record a finding if it did not end as allowed. Return whether it did. `mute`: it could not
        write a message.
        """
        book = self.book[self.stage]
        book["runs"] += 1
        book["codes"][outcome.code] += 1
        if book["runs"] % 10000 == 0:
            print(f"attack: {self.stage}: {book['runs']} runs, {len(self.findings)} findings", file=sys.stderr, flush=True)
        if outcome.hung:
            self.find("hangs", outcome, f"did not end within {outcome.seconds:.0f} s", files)
        elif outcome.code < 0 and not killed:
            self.find("crashes", outcome, f"signal {-outcome.code}", files)
        elif outcome.code >= 0 and outcome.code not in allowed:
            self.find("undocumented", outcome, f"exit code {outcome.code}, expected one of {sorted(allowed)}", files)
        elif outcome.code in (1, 2, 3, 4, 5, 6) and "unfold: " not in outcome.err and not mute:
            self.find("wrong", outcome, f"exit code {outcome.code} without a message", files)
        else:
            return True
        return False

    def run(self, arguments, allowed=DOCUMENTED, files=(), mute=False, **how):
        outcome = self.unfold.run(arguments, **how)
        self.judge(outcome, allowed, files, mute=mute)
        return outcome

    def need(self, arguments, **how):
        """Run the command for the setup of a stage; raise RuntimeError if it fails."""
        outcome = self.run(arguments, {0}, **how)
        if outcome.code != 0:
            raise RuntimeError(f"{outcome.line()}: exit {outcome.code}: {outcome.err}")
        return outcome

    def wrong(self, outcome, why, files=()):
        self.find("wrong", outcome, why, files)


def table(book, seed):
    columns = ["runs", "crashes", "hangs", "undocumented", "wrong"]
    rows = [["stage", *columns, "seconds", "exit codes"]]
    total = collections.Counter()
    for stage, entry in book.items():
        codes = " ".join(f"{code}:{n}" for code, n in sorted(entry["codes"].items()))
        rows.append([stage, *[str(entry[c]) for c in columns], f"{entry['seconds']:.0f}", codes])
        total.update({c: entry[c] for c in columns + ["seconds"]})
    rows.append(["total", *[str(total[c]) for c in columns], f"{total['seconds']:.0f}", f"seed {seed}"])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--unfold", default="build/release/bin/unfold")
    options.add_argument("--forks", help="the program unfold-forks, which tests damaged files three times as fast")
    options.add_argument("--folder", default="build/attack", help="emptied first")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--short", action="store_true", help="the same stages with few runs: about a minute")
    options.add_argument("--share", type=float, default=1.0, help="share of the runs of the long form")
    options.add_argument("--stage", action="append", choices=sorted(stages.ALL), help="only this stage; may be repeated")
    chosen = options.parse_args()
    if not os.access(chosen.unfold, os.X_OK):
        sys.exit(f"attack: {chosen.unfold} does not exist; build it, or name a different file with --unfold")
    shutil.rmtree(chosen.folder, ignore_errors=True)
    os.makedirs(chosen.folder)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    unfold, folder = os.path.abspath(chosen.unfold), os.path.abspath(chosen.folder)
    unfold = Forks(unfold, os.path.abspath(chosen.forks), folder) if chosen.forks else Unfold(unfold)
    campaign = Campaign(unfold, folder, chosen.seed, chosen.short, chosen.share)
    for name, stage in stages.ALL.items():
        if chosen.stage and name not in chosen.stage:
            continue
        began = time.monotonic()
        campaign.begin(name)
        print(f"attack: {name} ...", file=sys.stderr, flush=True)
        try:
            stage(campaign)
        except RuntimeError as error:
            campaign.find("wrong", None, f"the stage was aborted: {error}")
        campaign.book[name]["seconds"] = time.monotonic() - began
        if not campaign.findings:
            shutil.rmtree(campaign.work, ignore_errors=True)
    print(table(campaign.book, chosen.seed))
    with open(os.path.join(chosen.folder, "book.json"), "w") as file:
        json.dump({"seed": chosen.seed, "short": chosen.short, "book": campaign.book, "findings": campaign.findings}, file,
                  indent=1)
    for finding in campaign.findings:
        print(f"attack: FOUND {finding}".encode(errors="backslashreplace").decode())
    sys.exit(1 if campaign.findings else 0)


if __name__ == "__main__":
    main()
