"""Checks of a command without running it: its subcommand exists and has every option."""

import functools
import re
import shlex
import subprocess

# Spellings of other programs that the command line accepts (src/base/options/option_aliases.cpp); pages may show them.
ALIASES = {"--lr", "--batch-size", "--optimiser", "--bptt", "--prompt", "--group"}
CALL = re.compile(r"(?:^|[|;&(]|\bdo\b|\bthen\b|\btime\b)\s*(unfold\s[^|;&)]*)")


class Help:
    """The program's own help, queried once per subcommand."""

    def __init__(self, unfold):
        self.unfold = unfold

    def _text(self, *arguments):
        done = subprocess.run([self.unfold, *(arguments or ["--help"])], capture_output=True, text=True)
        return done.stdout

    @functools.lru_cache(maxsize=None)
    def verbs(self):
        section = self._text().split("Commands:")[1].split("\n\n")[0]
        return dict(re.findall(r"^  ([a-z]+) +(.*)$", section, re.M))

    @functools.lru_cache(maxsize=None)
    def text(self, verb):
        return self._text(verb, "--help-all")

    @functools.lru_cache(maxsize=None)
    def options(self, verb):
        rows = [line for line in self.text(verb).splitlines() if re.match(r"\s+-", line)]
        found = set(re.findall(r"(?<![\w-])(--?[\w][\w-]*)", "\n".join(row[:27] for row in rows)))
        if "-1" in found:
            found |= {f"-{n}" for n in range(1, 10)}
        return found | ALIASES


def words_of(call):
    call = re.sub(r"\$\(|[`$]", "", call)  # a value that the shell would compute counts as an ordinary word
    try:
        return shlex.split(call, comments=True)
    except ValueError:
        return call.split()


def calls(line):
    """Returns the calls of unfold in a line of shell code, as lists of words."""
    return [words_of(found) for found in CALL.findall(line)]


def faults(call, program, strict=True):
    """Returns the faults of a call of unfold as a list of sentences, empty if it is correct.

    If not strict, for running text, other words may follow the name of the program.
    """
    if len(call) < 2 or call[1].startswith("-") or call[1] in ("COMMAND", "..."):
        return []
    verb = call[1]
    if verb not in program.verbs():
        return [f"there is no command '{verb}'"] if strict or len(call) > 2 else []
    options = {word.split("=")[0] for word in call[2:] if re.match(r"--?[a-zA-Z0-9]", word) and not is_number(word)}
    known = program.options(verb)
    return [f"'{verb}' has no option {option}" for option in sorted(options - known)]


def is_number(word):
    return re.fullmatch(r"-\d+(\.\d+)?", word) is not None and int(float(word)) < -9


def inline_calls(text):
    """Returns the calls of unfold between backquotes in running text."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return [words_of(code.replace("\n", " ")) for code in re.findall(r"`(unfold [^`]+)`", text)]
