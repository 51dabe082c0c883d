#!/usr/bin/env python3
"""Checks the language of comments, messages, pages and test names.

    tools/prose/check.py [FILE...]     default: all files that git tracks; exit status 1 if there is a finding

Findings are banned words and constructions (banned.txt), and sentences of pages that are too long. Names that users type
(`labelled`, `--normalisation`), code in backquotes and code blocks are not prose. Spelling is checked by codespell
(`make prose`), with the words of dictionary.txt added.
"""

import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
MOST_WORDS = 45  # in a sentence of a page
CODE = {".h", ".cpp", ".c", ".def", ".py", ".pyi", ".sh", ".cmake", ".yml", ".yaml", ".toml"}
BUILD = re.compile(r"(^|/)(CMakeLists\.txt|Makefile|Dockerfile|\.clang-tidy)$|^\.ci/")
SKIPPED = re.compile(r"^(tests/golden/|tests/fuzz/(corpus|dictionaries)/|tools/prose/|docs/assets/|CMakePresets)|\.svg$")
TEST = re.compile(r"\bTEST(?:_F|_P)?\(\s*\w+,\s*(\w+)\s*\)|def (test_\w+)\(")


def banned():
    rules = []
    for line in (HERE / "banned.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            pattern, _, instead = line.partition("\t")
            rules.append((re.compile(pattern, re.IGNORECASE), instead))
    return rules


def comments_of_cpp(text):
    """(line, text) of every comment, and of every string literal that looks like a sentence."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"', re.DOTALL)
    for match in token.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        found = match.group(0)
        if found.startswith("/"):
            yield line, found
        elif not found.startswith("R") and found.count(" ") >= 3:
            yield line, found.strip('"')


def comments_of_script(text):
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.match(r"\s*#(?!!)(.*)|[^'\"#]*\s##?\s(.*)", line):
            yield number, match.group(1) or match.group(2) or ""
    for match in re.finditer(r'"""(.*?)"""', text, re.DOTALL):
        yield text.count("\n", 0, match.start()) + 1, match.group(1)


def strings_of_script(text):
    """(line, text) of every string literal on one line that looks like a sentence, not like code or a list of words."""
    for match in re.finditer(r'"""|"((?:[^"\\\n]|\\.)*)"(?!\.split)', text):
        found = re.sub(r"{[^}]*}", " ", match.group(1) or "")
        if found.count(" ") >= 3 and " = " not in found:
            yield text.count("\n", 0, match.start()) + 1, found


def paragraphs(text):
    """(line, text) of the prose of a page, without code blocks, HTML and front matter."""
    inside, kept, start = False, [], 0
    for number, line in enumerate(text.splitlines() + [""], 1):
        if line.lstrip().startswith("```"):
            inside = not inside
            line = ""
        elif inside or line.startswith("    ") or line.startswith("<"):
            line = ""
        if line.strip() and not line.lstrip().startswith(("|", "#")):
            start = start if kept else number
            kept.append(line)
            continue
        if kept:
            yield start, " ".join(kept)
            kept = []
        if line.strip():
            yield number, line


def plain(text):
    """Prose without code: spans in backquotes, options, addresses, quoted data."""
    text = re.sub(r"`[^`]*`|\]\([^)]*\)|https?://\S+|--format \w+|--[\w-]+|\b\w+(?:[_=:.]\w+)+\b|\\?\"[^\"]*\"", " ", text)
    return re.sub(r"\s+", " ", text)


def findings(path, text, rules):
    """(line, message) of a file."""
    suffix = pathlib.Path(path).suffix
    if suffix == ".md":
        pieces = list(paragraphs(text))
    elif suffix in {".h", ".cpp", ".c", ".def"}:
        pieces = list(comments_of_cpp(text))
    else:
        pieces = [*comments_of_script(text), *strings_of_script(text)]
    for match in TEST.finditer(text):
        name = match.group(1) or match.group(2)
        pieces.append((text.count("\n", 0, match.start()) + 1, name.replace("_", " ")))
    for line, piece in pieces:
        prose = plain(piece)
        for rule, instead in rules:
            if match := rule.search(prose):
                yield line, f'"{match.group(0)}": write {instead}'
        if suffix == ".md" and not piece.lstrip().startswith("|"):
            for sentence in re.split(r"(?<=[.!?:;])\s|\s[*-]\s", prose):
                if len(sentence.split()) > MOST_WORDS:
                    yield line, f"a sentence of {len(sentence.split())} words: {sentence[:60]}..."


def tracked():
    names = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n")
    return [name for name in names
            if (pathlib.Path(name).suffix in CODE | {".md"} or BUILD.search(name)) and not SKIPPED.search(name)]


def main():
    rules = banned()
    count = 0
    for name in sys.argv[1:] or tracked():
        for line, message in findings(name, pathlib.Path(name).read_text(errors="replace"), rules):
            print(f"{name}:{line}: {message}")
            count += 1
    print(f"{count} findings", file=sys.stderr)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
