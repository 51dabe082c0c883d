"""Finds the definition of a name in a C++ source, so that pages link to code by name rather than by line number."""

import re

COMMENT = re.compile(r"^\s*(//|\*|#|return\b|else\b)")


def find_symbol(text, name):
    """Return the first and last line (from 1, including a preceding comment) of the definition of `name` or
    `Class::name`.

    Prefers a definition with a body to a declaration. Returns None if there is neither.
    """
    lines = text.split("\n")
    owner, _, member = name.rpartition("::")
    patterns = [rf"\b(?:class|struct|enum class|union)\s+{re.escape(member)}\b(?!\s*;)",
                rf"\b(?:using|concept)\s+{re.escape(member)}\s*=",
                rf"\bconstexpr\b[^()]*\b{re.escape(member)}\b\s*[={{]"] if not owner else []
    call = rf"(?<![\w.>])~?{re.escape(member)}\s*\("
    if owner:
        call = rf"\b{re.escape(owner)}(?:<[^()]*>)?::{re.escape(member)}\s*\("
    patterns.append(call)
    found = _search(lines, patterns, 0, len(lines))
    if found is None and owner:
        frame = find_symbol(text, owner)
        if frame is not None:
            found = _search(lines, [rf"(?<![\w.>])~?{re.escape(member)}\s*\("], frame[0], frame[1])
    return found


def _search(lines, patterns, first, last):
    declared = None
    for n in range(first, last):
        line = lines[n]
        if COMMENT.match(line) or not any(_defines(line, p) for p in patterns):
            continue
        end = _end(lines, n)
        if end is not None:
            return _with_comment(lines, n), end + 1
        if declared is None and re.match(r"\s*[\w\[]", line):
            declared = _with_comment(lines, n), n + 1
    return declared


def _defines(line, pattern):
    found = re.search(pattern, line)
    if found is None:
        return False
    before = line[:found.start()]
    # A call follows an operator or a bracket. A definition follows a type or is at the start of a line.
    return re.search(r"[=(,!?+\-/]|\breturn\b", re.sub(r"<[^<>]*>|template\s*<.*?>", "", before)) is None


def _end(lines, n):
    """Return the last line of the body that begins at or shortly after line n, or None if a semicolon comes first."""
    indent = re.match(r"\s*", lines[n])[0]
    for k in range(n, min(n + 12, len(lines))):
        line = re.sub(r"//.*|\"(\\.|[^\"])*\"", "", lines[k])
        if line.rstrip().endswith("{"):
            for j in range(k + 1, len(lines)):
                if re.match(rf"{indent}\}}", lines[j]):
                    return j
            return None
        if re.search(r"\{.*\}\s*;?\s*$", line) and "(" in "".join(lines[n:k + 1]):
            return k
        if ";" in line or (k > n and not line.strip()):
            return k if re.search(r"\b(using|constexpr|concept)\b", lines[n]) else None
    return None


def _with_comment(lines, n):
    """Return the line, from 1, where the comment and template before line n begin."""
    while n > 0 and re.match(r"\s*(///|template\s*<)", lines[n - 1]):
        n -= 1
    return n + 1
