#!/usr/bin/env python3
"""Opens reports of small runs in headless Chromium and checks that the console has no messages and that the scripts
created sections and pictures. Exit status 77 if Chromium is not available.

    browser_check.py --unfold build/release/bin/unfold
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

BROWSERS = ["chromium", "chromium-browser", "google-chrome"]
SKIPPED = 77


def console_and_page(browser, page):
    """Returns the console messages by line, and the page after its scripts have run."""
    command = [browser, "--headless", "--disable-gpu", "--no-sandbox", "--disable-dev-shm-usage", "--no-first-run",
               "--enable-logging=stderr", "--log-level=0", "--virtual-time-budget=5000", "--dump-dom",
               "--user-data-dir=" + os.path.dirname(page), "file://" + page]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if run.returncode != 0:
        sys.exit(f"{browser} ended with {run.returncode}:\n{run.stderr[-2000:]}")
    return [line for line in run.stderr.splitlines() if "CONSOLE" in line], run.stdout


def faults_of(browser, page):
    """Returns the faults of a report; empty for a correct one."""
    console, dom = console_and_page(browser, page)
    with open(page, encoding="utf-8") as file:
        written = file.read()
    outside = re.findall(r'(?:src|href)="(https?://[^"]+)"', written)
    faults = console + [f"{page} asks the network for {x}" for x in outside]
    if dom.count("<section") < 3 or "<svg" not in dom and "<canvas" not in dom:
        faults.append(f"{page} shows {dom.count('<section')} sections and no picture: its scripts did not run")
    return faults


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def reports(unfold, folder):
    """Creates reports of a text and of numbers."""
    draw = random.Random(1)
    text = write(f"{folder}/text", "".join(draw.choice(["the cat ", "a dog ", "sat. "]) for _ in range(1500)))
    rows = "".join(f"{40 + draw.gauss(0, 3):.3f},{draw.choice(['hot', 'cold'])}\n" for _ in range(300))
    table = write(f"{folder}/table.csv", "load,state\n" + rows)
    for name, arguments in {
        "text": [text, "--model", "lstm:12", "--steps", "60"],
        "numbers": [table, "--read", "state", "--predict", "load", "--model", "gru:8", "--steps", "40"],
    }.items():
        run, page = f"{folder}/{name}-run", f"{folder}/{name}.html"
        subprocess.run([unfold, "train", *arguments, "--validate-every", "10", "--out", run, "--quiet"], check=True)
        subprocess.run([unfold, "report", run, "-o", page, "--quiet"], check=True)
        yield page


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unfold", required=True)
    unfold = os.path.abspath(parser.parse_args().unfold)
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        print("browser_check: skipped, no Chromium is installed")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        broken = write(f"{folder}/broken.html", "<p>x</p><script>nothing.there()</script>")
        if not any("nothing is not defined" in fault for fault in faults_of(browser, broken)):
            sys.exit("browser_check: a planted fault was not found")
        faults = [fault for page in reports(unfold, folder) for fault in faults_of(browser, page)]
    print("\n".join(faults) or "browser_check: reports open without a message in the console")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
