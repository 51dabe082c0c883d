"""The fenced blocks of a page, and how to run each of them.

    ```sh                commands, run by bash
    ```console           commands after "$ " and their output
    ```python            run by Python if the package is built

A comment before a block, or `every block:` once for the page, selects how:

    <!-- run: whole -->              unchanged
    <!-- run: short -->              unchanged, with budgets reduced by the environment (the default)
    <!-- run: by hand: REASON -->    not run; commands and options are still checked
    <!-- every block: whole -->

Commands in docs/results/ produced the results there in hours of computation: they are run by hand.
"""

import dataclasses
import pathlib
import re

SHELL = ("sh", "console")
KINDS = SHELL + ("python",)
MARK = re.compile(r"<!--\s*(run|every block):\s*(.*?)\s*-->", re.S)


class PageError(Exception):
    """A page that cannot be run; the message says where and what to do."""


@dataclasses.dataclass
class Block:
    page: pathlib.Path
    line: int  # of the fence, from 1
    language: str
    lines: list
    how: str = "short"  # whole, short, by hand
    reason: str = ""

    @property
    def place(self):
        return f"{self.page}:{self.line}"

    def script(self):
        """Returns the shell script of the block."""
        if self.language != "console":
            return "\n".join(self.lines) + "\n"
        return "".join("\n".join(lines) + "\n" for lines, _ in self.exchanges())

    def exchanges(self):
        """Returns the exchanges of a console block: (command lines, output lines), in order."""
        result = []
        for line in self.lines:
            if line.startswith("$ "):
                result.append(([line[2:]], []))
            elif not result:
                raise PageError(f"{self.place}: a console block begins with a command after '$ '")
            elif line.startswith("> ") and not result[-1][1]:
                result[-1][0].append(line[2:])
            else:
                result[-1][1].append(line)
        return result

    def commands(self):
        """Returns the lines of a shell script, with continued lines joined and comments removed."""
        joined = self.script().replace("\\\n", " ")
        stripped = (re.sub(r"(^|\s)#.*", "", line).strip() for line in joined.splitlines())
        return [line for line in stripped if line]


def parse_mark(text, place):
    how, _, reason = text.partition(":")
    how = how.strip()
    if how not in ("whole", "short", "by hand"):
        raise PageError(f"{place}: a block is run whole, short or by hand, but not '{how}'")
    if how == "by hand" and not reason.strip():
        raise PageError(f"{place}: state why this block is run by hand, as in <!-- run: by hand: takes an hour -->")
    return how, " ".join(reason.split())


def default_of(page):
    """Returns the default way to run blocks of a page; those of docs/results/ are measurements."""
    if page.parent.name == "results":
        return "by hand", "made the figures of this page, in minutes to hours"
    return "short", ""


def blocks_of(page, text=None):
    """Returns all blocks of a page of the kinds above. Raises PageError."""
    text = page.read_text(encoding="utf-8") if text is None else text
    every, mark, block, result = default_of(page), None, None, []
    for number, line in enumerate(text.splitlines(), 1):
        if block is not None:
            if line.strip() == "```":
                result.append(block)
                block = None
            else:
                block.lines.append(line)
        elif line.startswith("```"):
            how, reason = mark or every
            block, mark = Block(page, number, line[3:].strip(), [], how, reason), None
        elif line.strip():
            found = MARK.search(line)
            mark = None
            if found and found[1] == "run":
                mark = parse_mark(found[2], f"{page}:{number}")
            elif found:
                every = parse_mark(found[2], f"{page}:{number}")
    if block is not None:
        raise PageError(f"{block.place}: the block is not closed")
    refuse_unmarked(result)
    return [b for b in result if b.language in KINDS]


def refuse_unmarked(blocks):
    for block in blocks:
        if block.language in KINDS:
            continue
        for line in block.lines:
            if re.match(r"(\$ )?unfold [a-z]+ ", line):
                raise PageError(f"{block.place}: commands must be in sh or console blocks, not '{block.language}'")
