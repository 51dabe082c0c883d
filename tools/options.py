#!/usr/bin/env python3
"""Writes the files that are generated from the descriptions of the options: the reference tables of docs/cli.md and the
keywords of `unfold.train` in python/unfold/training.pyi. The descriptions come from the program itself
(`unfold --options-json`).

    tools/options.py build/release/bin/unfold            writes the files
    tools/options.py build/release/bin/unfold --check    prints what differs; exit status 1 if there is anything

A generated part lies between two marks; the rest of a file is written by hand.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TYPES = {"flag": "bool", "integer": "int", "number": "float", "string": "str", "list": "Sequence[str]"}
IN_MEMORY = {"valid", "test", "start-from"}  # may be data or a model in memory instead of a file


def described(unfold):
    """The options of every subcommand."""
    return json.loads(subprocess.run([unfold, "--options-json"], capture_output=True, text=True, check=True).stdout)


def cell(text):
    return re.sub(r"([\\|<>*_`])", r"\\\1", text)


def meaning_cell(row):
    """The help, with the values that the option accepts as code."""
    text = cell(row["help"])
    for choice in row.get("choices", []):
        text = re.sub(rf"(?<![\w`-]){re.escape(choice)}(?![\w`-])", f"`{choice}`", text)
    return text


def option_cell(row):
    text = f"--{row['name']}" + (f" {row['placeholder']}" if row["placeholder"] else "")
    return "`" + text.replace("|", "\\|") + "`"


def applies(row):
    parts = [row["applies_to"]] if "applies_to" in row else []
    if "by_gradient" in row:
        parts.append("models trained by gradients")
    return "; ".join(parts)


def table(rows):
    """The rows of one subcommand as Markdown, one table per group in the order of the help."""
    groups = {}
    for row in rows:
        if not row["input"]:
            groups.setdefault(row["group"], []).append(row)
    parts = []
    for group, members in groups.items():
        lines = [f"**{group}**", "", "| option | meaning | default | only for |", "| --- | --- | --- | --- |"]
        lines += [f"| {option_cell(r)} | {meaning_cell(r)} | {cell(r['default'])} | {cell(applies(r))} |" for r in members]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def keyword(row):
    if row["name"] in IN_MEMORY:
        return f"    {row['name'].replace('-', '_')}: Any = None,"
    kind = "float | str" if row["placeholder"] == "A..B" else TYPES[row["type"]]
    if row["placeholder"].startswith("FIELD,"):
        kind += " | Sequence[str]"
    return f"    {row['name'].replace('-', '_')}: {kind} | None = None,"


def keywords(rows):
    """The keywords of unfold.train: the options that a run stores."""
    return "\n".join(keyword(row) for row in rows if row["stored"] and not row["input"])


def replaced(text, begin, end, content):
    """`text` with `content` between the lines `begin` and `end`."""
    found = re.search(rf"({re.escape(begin)}\n).*?({re.escape(end)})", text, re.DOTALL)
    if not found:
        sys.exit(f"the line {begin} is missing")
    return text[: found.end(1)] + content + "\n" + text[found.start(2) :]


def generated(options):
    """{path: (text now, text from the options)}"""
    page, types = ROOT / "docs/cli.md", ROOT / "python/unfold/training.pyi"
    now = {path: path.read_text(encoding="utf-8") for path in (page, types)}
    rows = options["train"]["options"]
    return {
        page: (now[page], replaced(now[page], "<!-- options of train -->", "<!-- end of the options -->", table(rows))),
        types: (now[types], replaced(now[types], "    # options of train", "    # end of the options", keywords(rows))),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("unfold")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    stale = []
    for path, (now, wanted) in generated(described(arguments.unfold)).items():
        if now == wanted:
            continue
        stale.append(path.relative_to(ROOT))
        if not arguments.check:
            path.write_text(wanted, encoding="utf-8")
    for path in stale:
        print(f"{path} {'differs from the options; run tools/options.py' if arguments.check else 'written'}")
    return 1 if arguments.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
