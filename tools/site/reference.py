"""Generates the reference pages of the command from its options."""

import html
import json
import re
import subprocess


def _output(unfold, *arguments):
    return subprocess.run([unfold, *arguments], capture_output=True, text=True, check=True).stdout


def verbs(unfold):
    """Return {path: text}: one page per subcommand, and an index."""
    main = _output(unfold, "--help")
    described = json.loads(_output(unfold, "--options-json"))
    pages = {"reference/index.md": _index(main, [(verb, entry["summary"]) for verb, entry in described.items()])}
    for verb, entry in described.items():
        pages[f"reference/{verb}.md"] = _page(verb, entry)
    return pages


def _index(main, listed):
    rows = "\n".join(f"| [`{verb}`]({verb}.md) | {escaped(summary)} |" for verb, summary in listed)
    codes = main[main.index("Exit codes:"):].strip()
    return ("# Reference of the command\n\nThis page was generated from the options of the command. The page [the command](../cli.md) "
            "describes how they work together, where values come from, and the run folder.\n\n"
            f"| subcommand | description |\n| --- | --- |\n{rows}\n\n```text\n{codes}\n```\n")


def escaped(text):
    """Escape help text so that Markdown does not interpret its special characters."""
    return re.sub(r"([\\`*_{}\[\]<>|~^$#])", lambda m: "&#%d;" % ord(m[1]), text)


def with_code(text):
    """Escape a comment, but keep its code in backquotes."""
    return "".join(part if part.startswith("`") else escaped(part) for part in re.split(r"(`[^`\n]+`)", text))


def _row(row):
    name = row["placeholder"] if row["input"] else f"--{row['name']} {row['placeholder']}".strip()
    if "letter" in row:
        name = f"-{row['letter']}, {name}"
    default = f" (default {row['default']})" if row["default"] else ""
    only = [row["applies_to"]] if "applies_to" in row else []
    if "by_gradient" in row:
        only.append("models trained by gradients")
    return name, row["help"] + default + (f" Only for {'; '.join(only)}." if only else "")


def _page(verb, entry):
    inputs = [row for row in entry["options"] if row["input"]]
    usage = " ".join(["unfold", verb, *(row["placeholder"] for row in inputs), "[options]"])
    summary = entry["summary"]
    examples = "\n".join(entry["examples"])
    result = [f"# unfold {verb}", escaped(summary[0].upper() + summary[1:] + "."), f"```text\n{usage}\n```",
              "## Examples", f"```text\n{examples}\n```"]
    if inputs:
        result += ["## Inputs", _table([_row(row) for row in inputs], "input", "meaning")]
    result += ["## Options", "Each option can also be set as `UNFOLD_NAME` in the environment and as `name = value` in a `--config` file."]
    groups = {}
    for row in entry["options"]:
        if not row["input"]:
            groups.setdefault(row["group"], []).append(_row(row))
    for group, rows in groups.items():
        result += [f"### {group}", _table(rows, "option", "meaning")]
    return "\n\n".join(result) + "\n"


def _table(rows, *heading):
    lines = [f"| <code>{html.escape(name).replace('|', '&#124;')}</code> | {escaped(text)} |" for name, text in rows]
    return f"| {heading[0]} | {heading[1]} |\n| --- | --- |\n" + "\n".join(lines)
