"""Generates the C++ reference from the public headers: the comment of each header and its declarations, without private parts."""

import re

NAMES = [r"\b(?:class|struct|enum class|union)\s+(?:\[\[\w+\]\]\s*)?(\w+)", r"\busing\s+(\w+)\s*=", r"\bconcept\s+(\w+)",
         r"([~\w]+|operator\S+)\s*\(", r"\b(\w+)\s*(?:=|\{|;)"]
OPEN, CLOSE = "({[", ")}]"


def reference(folder, link, text):
    """Return {path: text}: the page of the C++ library. `link(path)` is the listing of a header, `text` escapes Markdown."""
    stable = re.findall(r'#include "(unfold/[\w/]+\.h)"', (folder / "unfold/unfold.h").read_text(encoding="utf-8"))
    parts = ["# Reference of the C++ library",
             "This page was generated from the public headers. `#include <unfold/unfold.h>` includes every header below. "
             "[Embedding in C++](../embedding.md) describes how to build a program against the library, and shows small "
             "programs. [Stability](../stability.md#interfaces) states what may change."]
    for name in stable:
        parts += _header(name, (folder / name).read_text(encoding="utf-8"), link, text)
    parts += ["## Unstable headers",
              "`unfold/unfold.h` does not include these headers. They can be used, but may change in a minor release.",
              _table(folder, stable, link, text)]
    return {"reference/cpp.md": "\n\n".join(part for part in parts if part) + "\n"}


def _table(folder, stable, link, text):
    rows = []
    for path in sorted((folder / "unfold").rglob("*.h")):
        name = str(path.relative_to(folder))
        if name not in (*stable, "unfold/unfold.h", "unfold/c.h"):
            introduction, _ = split(path.read_text(encoding="utf-8"))
            first = re.split(r"(?<=[.:])\s", " ".join(introduction).strip() + " ", maxsplit=1)[0]
            rows.append(f"| [{name.removeprefix('unfold/')}]({link('include/' + name)}) | {text(first.rstrip(':'))} |")
    return "| header | contents |\n| --- | --- |\n" + "\n".join(rows)


def _header(name, source, link, text):
    introduction, lines = split(source)
    parts = [f"## {name.removeprefix('unfold/')}", prose(introduction, text), f"[Source]({link('include/' + name)})"]
    for comment, code in declarations(lines):
        found = name_of(code)
        if found:
            parts += [f"### {found}", prose(comment, text), "```cpp\n" + "\n".join(code) + "\n```"]
    return parts


def split(source):
    """Return the lines of the comment of a header, and the lines after it."""
    lines = source.split("\n")
    begin = next((n for n, line in enumerate(lines) if line.startswith("///")), len(lines))
    end = begin
    while end < len(lines) and lines[end].startswith("///"):
        end += 1
    return [line[3:].removeprefix(" ") for line in lines[begin:end]], lines[end:]


def prose(comment, text):
    """Return a comment as Markdown; indented lines are code."""
    parts, code = [], False
    for line in comment:
        indented = line.startswith("  ")
        if indented != code:
            parts.append("```cpp" if indented else "```")
        parts.append(line if indented else text(line.strip()))
        code = indented
    return re.sub(r"\n+```cpp", "\n\n```cpp", "\n".join(parts + (["```"] if code else [])))


def declarations(lines):
    """Yield (comment, code) for each declaration in the namespaces of a header."""
    comment, code, depth, hidden, macro = [], [], 0, False, False
    for line in lines:
        if macro or line.startswith("#define"):
            macro = line.endswith("\\")
            continue
        bare = re.sub(r"//.*|\"(\\.|[^\"\\])*\"|'(\\.|[^'\\])'", "", line)
        if depth == 0 and not code:
            if line.startswith("///"):
                comment.append(line[3:].removeprefix(" "))
                continue
            if not bare.strip() or re.match(r"#|namespace\b|}|using namespace|extern\b", bare):
                comment = []
                continue
        access = re.match(r" (public|private|protected):", line)
        if access:
            hidden = access[1] != "public"
        depth += sum((c in OPEN) - (c in CLOSE) for c in bare)
        if not hidden or depth == 0:
            code.append(line)
        if depth == 0 and re.search(r"[;}]\s*$", bare):
            yield comment, [kept for kept, after in zip(code, [*code[1:], ""]) if kept.strip() or after != "};"]
            comment, code, hidden = [], [], False


def name_of(code):
    """Return the name that a declaration declares, or None if it only repeats a name (`class Early;`)."""
    joined = re.sub(r"template\s*<(?:[^<>]|<[^<>]*>)*>|\[\[\w+\]\]", "", " ".join(code))
    joined = re.sub(r"^\s*(?:requires\s+\w+(?:<[^<>]*>)?\s*)?", "", joined)
    if re.match(r"(class|struct|enum class)\s+\w+\s*;", joined) or "= delete" in joined.split("{")[0]:
        return None
    for pattern in NAMES if not re.match(r"\w[\w:<>,&* ]*\(", joined) else NAMES[3:]:
        found = re.search(pattern, joined)
        if found:
            return found[1]
    return None
