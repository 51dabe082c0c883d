"""Generates the reference pages from the help of the command and the docstrings of the Python package."""

import ast
import html
import re
import subprocess


def _help(unfold, *verb):
    done = subprocess.run([unfold, *verb, "--help"], capture_output=True, text=True, check=True)
    return done.stdout


def verbs(unfold):
    """Return {path: text}: one page per subcommand, and an index."""
    main = _help(unfold)
    listed = re.findall(r"^  ([a-z]+) +(\S.*)$", main.split("Verbs:")[1].split("\n\n")[0], re.M)
    pages = {"reference/index.md": _index(main, listed)}
    for verb, summary in listed:
        pages[f"reference/{verb}.md"] = _page(verb, _help(unfold, verb))
    return pages


def _index(main, listed):
    rows = "\n".join(f"| [`{verb}`]({verb}.md) | {_text(summary)} |" for verb, summary in listed)
    codes = main[main.index("Exit codes:"):].strip()
    return ("# Reference of the command\n\nMade from `unfold --help` when this site was built. What the options mean together, "
            "where values come from and what a run folder holds stands in [the command](../cli.md).\n\n"
            f"| subcommand | description |\n| --- | --- |\n{rows}\n\n```text\n{codes}\n```\n")


def _text(text):
    """Escape help text so that Markdown does not interpret its special characters."""
    return re.sub(r"([\\`*_{}\[\]<>|~^$#])", lambda m: "&#%d;" % ord(m[1]), text)


def _rows(section):
    """Return (name, text) for each row of an indented section of the help."""
    rows = []
    for line in section.split("\n"):
        found = re.match(r"^  (\S.*?)(?:  +|(?<=bf16) )(\S.*)$", line)
        if found:
            rows.append([found[1], found[2]])
        elif line.startswith("      ") and rows:
            rows[-1][1] += " " + line.strip()
        elif line.startswith("  -"):
            name, _, rest = line.strip().partition(" ")
            rows.append([name, rest])
    return rows


def _page(verb, text):
    head, _, options = text.partition("\nOptions")
    options = options.partition("\n")[2]
    examples, _, rest = head.partition("\n\n")
    usage, summary = re.search(r"^(unfold .*)\n  (.*)$", rest, re.M).groups()
    examples = "\n".join(re.sub(r"^(Example: |\s+)", "", line) for line in examples.split("\n"))
    inputs = _rows(rest.split(summary, 1)[1])
    result = [f"# unfold {verb}", _text(summary[0].upper() + summary[1:] + "."), f"```text\n{usage}\n```",
              "## Examples", f"```text\n{examples}\n```"]
    if inputs:
        result += ["## Inputs", _table(inputs, "input", "is")]
    result += ["## Options", "Also as `UNFOLD_NAME` in the environment and as `name = value` in a `--config` file.",
               _table(_rows(options), "option", "says")]
    return "\n\n".join(result) + "\n"


def _table(rows, *heading):
    lines = [f"| <code>{html.escape(name).replace('|', '&#124;')}</code> | {_text(text)} |" for name, text in rows]
    return f"| {heading[0]} | {heading[1]} |\n| --- | --- |\n" + "\n".join(lines)


def python(folder):
    """Return {path: text}: the names of the Python package with their docstrings, parsed without importing it."""
    parts = ["# Reference of the Python package",
             "Made from the docstrings of the package when this site was built. How to install it, and what belongs together, "
             "stands in [Python](../python.md)."]
    for name, title in (("_core.pyi", "unfold"), ("training.py", "unfold.train"), ("results.py", "unfold: results"),
                        ("estimators.py", "unfold.estimators"), ("torch.py", "unfold.torch"), ("errors.py", "unfold.errors")):
        if (folder / name).exists():
            parts += _module(title, (folder / name).read_text(encoding="utf-8"))
    return {"reference/python.md": "\n\n".join(parts) + "\n"}


def _module(title, source):
    parts = [f"## {title}"]
    for node in ast.parse(source).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            parts += _definition(node)
    return parts


def _definition(node):
    if isinstance(node, ast.ClassDef):
        parts = [f"### class {node.name}", *_docstring(node)]
        for member in node.body:
            if isinstance(member, ast.FunctionDef) and (not member.name.startswith("_") or member.name == "__init__"):
                parts += [f"```python\n{_signature(member)}\n```", *_docstring(member)]
        return parts
    return [f"### {node.name}", f"```python\n{_signature(node)}\n```", *_docstring(node)]


def _signature(node):
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{node.name}({ast.unparse(node.args)}){returns}"


def _docstring(node):
    text = ast.get_docstring(node)
    return [f"```text\n{text}\n```"] if text else []
