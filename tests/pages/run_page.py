#!/usr/bin/env python3
"""Runs the commands of a page, block by block, in a scratch folder with small data.

    run_page.py --unfold build/release/bin/unfold docs/logs.md
    run_page.py --unfold ... --refresh docs/tutorials/log.md    updates the command output stored in the page

page_blocks.py describes how a block is marked, page_data.py provides its files. Console output is compared line by
line: numbers within a tenth, `...` matches anything, a line `...` matches any lines. Exit codes: 0, 1: a command failed
or printed something else, 77: skipped, published data is not available.
"""

import argparse
import importlib.util
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time

import page_blocks
import page_check
import page_data

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT = 300  # seconds per block
SHORT = {"UNFOLD_STEPS": "1", "UNFOLD_MINUTES": "0.05", "UNFOLD_VALIDATE_ON": "20", "UNFOLD_SECONDS": "0.01"}
SEPARATOR = "\x1e"

# Precedes the command in PATH: training replaces the run of an earlier line; models that are fitted as a whole have no
# budget to reduce.
WRAPPER = """#!/bin/bash
unfold={unfold}
echo "$*" >> {calls}
[ "$1" = forecast ] && unset UNFOLD_MINUTES
[ "$1" = train ] || exec "$unfold" "$@"
case " $* " in *" --task "*) ;; *) unset UNFOLD_VALIDATE_ON ;; esac
case " $* " in *" --resume"*) exec "$unfold" "$@" ;; esac
case " $* " in *" --update "*) unset UNFOLD_STEPS UNFOLD_MINUTES; exec "$unfold" "$@" ;; esac
case " $* " in
  *" --model "@({fitted})*) unset UNFOLD_STEPS UNFOLD_MINUTES ;;
  *" --model "*) ;;
  *" --format log "*) unset UNFOLD_STEPS UNFOLD_MINUTES ;;
esac
exec "$unfold" "$@" --overwrite
"""
FITTED = "ngram hmm ppm ctw cm mix dna frequency uniform".split()


class Failure(Exception):
    """A block that does not behave as its page states."""


class Scratch:
    """A folder in which the blocks of one page are run."""

    def __init__(self, options, page):
        self.options, self.page = options, page
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="unfold-page-"))
        self.tools = pathlib.Path(tempfile.mkdtemp(prefix="unfold-tools-"))
        self.calls = self.tools / "calls"
        self.calls.touch()
        wrapper = self.tools / "unfold"
        wrapper.write_text("#!/bin/bash\nshopt -s extglob\n" + WRAPPER.format(
            unfold=options.unfold, calls=self.calls, fitted="|".join(FITTED)).split("\n", 1)[1])
        wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)

    def remove(self):
        shutil.rmtree(self.folder)
        shutil.rmtree(self.tools)

    def environment(self, block):
        result = {k: v for k, v in os.environ.items() if not k.startswith("UNFOLD_")}
        result.update(PATH=f"{self.tools}:{os.environ['PATH']}", NO_COLOR="1", LC_ALL="C.UTF-8", UNFOLD_THREADS="1")
        if block.how == "short":
            result.update(SHORT)
        if self.options.package:
            result["PYTHONPATH"] = str(self.options.package)
        return result

    def provide(self, block):
        text = "\n".join(block.lines)
        for name in page_data.known_names(self.page):
            if re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w-])", text):
                page_data.provide(name, self.folder, self.page, self.options.data)

    def run(self, block, arguments, script):
        try:
            done = subprocess.run(arguments, input=script, cwd=self.folder, env=self.environment(block), text=True,
                                  capture_output=True, timeout=LIMIT, encoding="utf-8", errors="replace")
        except subprocess.TimeoutExpired:
            raise Failure(f"{block.place}: still running after {LIMIT} s; mark it 'by hand' or make it smaller") from None
        if done.returncode != 0:
            raise Failure(f"{block.place}: exit code {done.returncode}\n{script}\n{done.stdout[-1000:]}{done.stderr[-2000:]}")
        return done.stdout


def shell(scratch, block, script):
    return scratch.run(block, ["bash", "-e", "-o", "pipefail", "-s"], script)


def run_console(scratch, block):
    """Returns the output of each command of a console block, run in one shell."""
    exchanges = block.exchanges()
    script = "".join("\n".join(lines) + f"\nprintf '{SEPARATOR}'\n" for lines, _ in exchanges)
    outputs = shell(scratch, block, script).split(SEPARATOR)[:-1]
    return [(lines, expected, output.splitlines()) for (lines, expected), output in zip(exchanges, outputs)]


NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?![\w])")


def agree(expected, actual):
    """Returns whether two lines match: blanks are ignored, numbers agree within a tenth, and `...` matches anything."""
    pattern, numbers, end = "", [], 0
    for found in NUMBER.finditer(expected):
        pattern += literal(expected[end:found.start()]) + r"([-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)"
        numbers.append(found[0])
        end = found.end()
    matched = re.fullmatch(pattern + literal(expected[end:].rstrip()), actual.rstrip())
    return matched is not None and all(near(a, b) for a, b in zip(numbers, matched.groups()))


def literal(text):
    def pattern(part):
        return r"\s+" if part.isspace() else ".*?" if part == "..." else re.escape(part)

    return "".join(pattern(part) for part in re.split(r"(\s+|\.\.\.)", text) if part)


def near(a, b):
    a, b = float(a.replace(",", "")), float(b.replace(",", ""))
    return abs(a - b) <= 0.1 * max(abs(a), abs(b)) + 0.02


def lines_agree(expected, actual):
    """Compares lines with at most one gap `...` that matches any lines."""
    if "..." in expected:
        gap = expected.index("...")
        head, tail = expected[:gap], expected[gap + 1:]
        if len(actual) < len(head) + len(tail):
            return False
        actual = actual[:gap] + actual[len(actual) - len(tail):]
        expected = head + tail
    return len(expected) == len(actual) and all(agree(e, a) for e, a in zip(expected, actual))


def check_console(scratch, block):
    for lines, expected, actual in run_console(scratch, block):
        if block.how == "whole" and expected and not lines_agree(expected, actual):
            raise Failure(f"{block.place}: after '{lines[0]}' the page shows\n" + "\n".join(expected) +
                          "\nand the command prints\n" + "\n".join(actual) + "\n(--refresh writes it into the page)")


# Parts of training output that differ from run to run.
TIMES = re.compile(r"(?:\d+ (?:h|min) )*[\d.]+ s \([\d.]+ ?[kMG]? symbols/s")


def refreshed(block, results):
    """Returns the lines of a console block with the current output of its commands.

    Gaps and `...` are kept. A line `?` is replaced by all output, `?3` by its first three lines.
    """
    lines = []
    for command, expected, actual in results:
        actual = [TIMES.sub("... s (... symbols/s", line) for line in actual]
        lines += ["$ " + command[0], *("> " + line for line in command[1:])]
        if not expected:
            continue
        if re.fullmatch(r"\?\d+", expected[0]):
            expected = ["?"] * int(expected[0][1:]) + ["..."]
        if "..." in expected:
            gap = expected.index("...")
            tail = len(expected) - gap - 1
            if len(actual) > gap + tail:
                actual = actual[:gap] + ["..."] + (actual[-tail:] if tail else [])
        kept = dict(enumerate(expected))
        lines += [kept[i] if "..." in kept.get(i, "") and agree(kept[i], a) else a for i, a in enumerate(actual)]
    return lines


def run_python(scratch, block):
    if not scratch.options.package:
        return False
    short = "" if block.how == "whole" else (
        "import unfold as _u\n_t = _u.train\n_u.train = lambda *a, **k: _t(*a, **{**k, 'steps': 3, 'overwrite': True})\n")
    program = "import sys\nsys.path[:0] = ['.']\n" + short + scratch.earlier_python + "\n".join(block.lines)
    scratch.run(block, [sys.executable, "-"], program)
    return True


def count_commands(block):
    return len(block.commands()) if block.language in page_blocks.SHELL else 1


def run_block(scratch, block, tally):
    count = count_commands(block)
    if block.how == "by hand":
        tally["by hand"].append((block, count))
        return
    if block.language == "python" and not scratch.options.package:
        tally["no package"].append((block, count))
        return
    scratch.provide(block)
    began = time.monotonic()
    if block.language == "python":
        run_python(scratch, block)
    elif block.language == "console" and scratch.options.refresh:
        block.new_lines = refreshed(block, run_console(scratch, block))
    elif block.language == "console":
        check_console(scratch, block)
    else:
        shell(scratch, block, block.script())
    tally[block.how].append((block, count))
    print(f"{block.place}: {count} commands, {block.how}, {time.monotonic() - began:.1f} s", flush=True)


def check_calls(page, blocks, program):
    text = page.read_text(encoding="utf-8")
    found = [(str(block.place), True, call) for block in blocks if block.language in page_blocks.SHELL
             for line in block.commands() for call in page_check.calls(line)]
    found += [(str(page), False, call) for call in page_check.inline_calls(text)]
    wrong = [f"{place}: {fault}: {' '.join(call)}" for place, strict, call in found
             for fault in page_check.faults(call, program, strict)]
    if wrong:
        raise Failure("\n".join(wrong))
    return len(found)


def check_pictures(page, scratch):
    """Checks that pictures shown by the page are created by its commands, exist and are complete."""
    for name in re.findall(r"!\[[^\]]*\]\(([\w-]+\.svg)\)", page.read_text(encoding="utf-8")):
        made = scratch.folder / name
        if made.exists():
            if not made.read_text(encoding="utf-8").rstrip().endswith("</svg>"):
                raise Failure(f"{page}: {name} is cut short")
            if scratch.options.refresh:
                shutil.copyfile(made, page.parent / name)


def rewrite(page, blocks):
    lines = page.read_text(encoding="utf-8").split("\n")
    for block in reversed(blocks):
        new = getattr(block, "new_lines", None)
        if new is not None:
            lines[block.line:block.line + len(block.lines)] = new
    page.write_text("\n".join(lines), encoding="utf-8")


def run_page(page, options):
    path = (ROOT / page).resolve()
    blocks = page_blocks.blocks_of(path)
    for block in blocks:
        block.page = path.relative_to(ROOT)
    checked = check_calls(path, blocks, page_check.Help(options.unfold))
    scratch = Scratch(options, str(path.relative_to(ROOT)))
    scratch.earlier_python = ""
    tally = {"whole": [], "short": [], "by hand": [], "no package": []}
    try:
        for block in blocks:
            if not options.check_only:
                run_block(scratch, block, tally)
        check_pictures(path, scratch)
        calls = len(scratch.calls.read_text().splitlines())
    finally:
        scratch.remove()
    if options.refresh:
        rewrite(path, blocks)
    summary(page, tally, checked, calls)


def summary(page, tally, checked, calls):
    total = {how: sum(count for _, count in found) for how, found in tally.items()}
    print(f"{page}: {total['whole']} commands whole, {total['short']} short, {total['by hand']} by hand, "
          f"{total['no package']} for want of the Python package; unfold called {calls} times, {checked} calls checked")
    for block, count in tally["by hand"]:
        print(f"  by hand, line {block.line}, {count}: {block.reason}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unfold", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--package", type=lambda p: pathlib.Path(p).resolve(), help="folder of the built Python package")
    parser.add_argument("--data", default=os.environ.get("UNFOLD_DATA") or str(ROOT.parent / "shared" / "data"))
    parser.add_argument("--refresh", action="store_true", help="update the page with the output of its commands")
    parser.add_argument("--check-only", action="store_true", help="check commands and options, run nothing")
    parser.add_argument("pages", nargs="+", metavar="PAGE")
    options = parser.parse_args()
    if options.package and importlib.util.find_spec("numpy") is None:
        print("NumPy, which the package requires, is missing: Python blocks are not run (`make python` installs it)")
        options.package = None
    skipped = False
    try:
        for page in options.pages:
            try:
                run_page(page, options)
            except page_data.Missing as missing:
                print(f"{page}: skipped: {missing}")
                skipped = True
    except (Failure, page_blocks.PageError) as error:
        print(error, file=sys.stderr)
        return 1
    return 77 if skipped else 0


if __name__ == "__main__":
    sys.exit(main())
