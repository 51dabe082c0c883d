#!/usr/bin/env python3
"""Checks the layout rules of docs/design.md by reading the includes of a source tree.

    check_architecture.py ROOT      prints one line per violation; exit status 1 if there is any

The rules:
  * there are at most 14 modules, and the order of the modules is that of the list in CMakeLists.txt;
  * a file includes only headers of the same module and of lower modules;
  * the folders of a module include each other without circles;
  * a folder contains at most 20 sources, unless it is a list of registry entries (REGISTRIES);
  * a public header (include/unfold) includes only public headers;
  * an option is described in one row (base/options/option_row.h) and named nowhere else: no list of names, no check
    by name, no second row with the same text.
"""

import collections
import pathlib
import re
import sys

MOST_MODULES = 14
MOST_SOURCES = 20
# Folders whose length is that of a list of entries: cells, readers, subcommands.
REGISTRIES = {"graph/cells", "data/readers", "cli"}
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)
SOURCES = (".h", ".cpp", ".def", ".cu")


def modules(root):
    """The names of the modules from the lowest to the highest, as CMakeLists.txt lists them."""
    found = re.search(r"^set\(modules ([^)]*)\)", (root / "CMakeLists.txt").read_text(), re.MULTILINE)
    return found.group(1).split() if found else []


# A row of an option; a check of an option by its name; a list of strings.
ROW = re.compile(r'\.name = "([a-z0-9-]+)",\s*\.target =')
HELP = re.compile(r'\.help\s*=\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')
QUESTION = re.compile(r'\b(?:given_?\.contains|is_given|given|assign_text|find_row)\(\s*"([a-z0-9-]+)"')
LIST = re.compile(r'\{\s*"[^"\n]*"(?:\s*,\s*"[^"\n]*")+\s*\}')
# Files that contain names of options for another purpose: other programs' spellings; keys of model cards below app.
NAMES_ALLOWED = {"base/options/option_aliases.cpp", "interop/arpa/arpa_file.cpp", "app/logs/log_data.cpp"}
# Lists of other things whose names are also those of options: units, problems, formats.
LISTS_ALLOWED = {("step", "steps"), ("seconds", "seconds"), ("seconds", "steps"), ("by", "file"), ("format", "table"),
                 ("format", "text"),
                 ("by", "state")}


class Tree:
    """The source files below include/unfold/, src/, cli/ and bindings/, and what each includes. A public header has the
    name that it would have below src/."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.modules = modules(self.root)
        self.order = {name: i for i, name in enumerate(self.modules + ["bindings", "cli"])}
        self.includes = {}
        self.texts = {}
        self.public = set()
        for top, prefix in (("include/unfold", ""), ("src", ""), ("cli", "cli/"), ("bindings", "bindings/")):
            for path in sorted((self.root / top).rglob("*")):
                if path.suffix in SOURCES:
                    name = prefix + path.relative_to(self.root / top).as_posix()
                    if top == "include/unfold":
                        if "/" not in name:  # unfold.h and c.h belong to no module
                            continue
                        self.public.add(name)
                    self.texts[name] = path.read_text(errors="replace")
                    self.includes[name] = INCLUDE.findall(self.texts[name])

    def inner(self, name):
        """The includes of a file that are files of this tree."""
        return [target for target in map(self.named, self.includes[name]) if target in self.includes]

    def named(self, target):
        """The name of a header in this tree: public headers are included with "unfold/" before it."""
        return target.removeprefix("unfold/")


def module_of(name):
    return name.split("/")[0]


def folder_of(name):
    return name.rsplit("/", 1)[0]


def upward_steps(tree):
    for name in tree.includes:
        for target in tree.inner(name):
            if tree.order.get(module_of(target), 0) > tree.order.get(module_of(name), 0):
                yield f"{name} includes {target}, which is in a higher module"


def unknown_modules(tree):
    for name in sorted({module_of(name) for name in tree.includes}):
        if name not in tree.order:
            yield f"{name}/ is not in the list of modules in CMakeLists.txt"
    if len(tree.modules) > MOST_MODULES:
        yield f"there are {len(tree.modules)} modules, at most {MOST_MODULES} are allowed"


def circles(tree):
    """Folders of one module that reach themselves through the folders that they include."""
    graph = collections.defaultdict(dict)
    for name in tree.includes:
        for target in tree.inner(name):
            a, b = folder_of(name), folder_of(target)
            if a != b and module_of(a) == module_of(b):
                graph[a].setdefault(b, (name, target))

    def reachable(start):
        seen, stack = set(), [start]
        while stack:
            for following in graph.get(stack.pop(), {}):
                if following not in seen:
                    seen.add(following)
                    stack.append(following)
        return seen

    reach = {folder: reachable(folder) for folder in list(graph)}
    for a in sorted(graph):
        for b, (name, target) in sorted(graph[a].items()):
            if a in reach.get(b, ()):
                yield f"{a}/ and {b}/ include each other: {name} includes {target}"


def crowded_folders(tree):
    count = collections.Counter(folder_of(name) for name in tree.includes if name.endswith((".cpp", ".cu")))
    for folder, sources in sorted(count.items()):
        if sources > MOST_SOURCES and folder not in REGISTRIES:
            yield f"{folder}/ contains {sources} sources, at most {MOST_SOURCES} are allowed"


def private_includes(tree):
    """Public headers that include a private one."""
    public = tree.root / "include" / "unfold"
    for path in sorted(public.rglob("*.h")):
        for target in INCLUDE.findall(path.read_text(errors="replace")):
            name = tree.named(target)
            if name in tree.includes and name not in tree.public:
                yield f"include/unfold/{path.relative_to(public).as_posix()} includes the private header {name}"


def option_rows(tree):
    """(file, name, help) of every row of an option."""
    for name, text in tree.texts.items():
        for row in ROW.finditer(text):
            following = ROW.search(text, row.end())
            found = HELP.search(text, row.end(), following.start() if following else len(text))
            yield name, row.group(1), "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', found.group(1))) if found else ""


def repeated_options(tree):
    """Options that are named or described in a second place."""
    seen, names = {}, set()
    for file, name, text in option_rows(tree):
        names.add(name)
        if text and (name, text) in seen:
            yield f"{file} describes the option --{name} again, as {seen[name, text]} does: use one row"
        seen.setdefault((name, text), file)
    for file, text in tree.texts.items():
        if file in NAMES_ALLOWED:
            continue
        for listed in LIST.findall(text):
            words = tuple(re.findall(r'"([^"]*)"', listed))
            if all(word in names for word in words) and words not in LISTS_ALLOWED:
                yield f"{file} lists names of options: {', '.join(words)}; use the rows or the members"
        for question in QUESTION.findall(text):
            if question in names:
                yield f"{file} checks the option --{question} by its name; use the member that it sets"
        for word in re.findall(r'"([a-z0-9]+(?:-[a-z0-9]+)+)"', ROW.sub("", text)):
            if word in names:
                yield f"{file} names the option --{word} outside its row; use the member that it sets"


CHECKS = (unknown_modules, upward_steps, circles, crowded_folders, private_includes, repeated_options)


def violations(root):
    tree = Tree(root)
    return [line for check in CHECKS for line in check(tree)]


def main():
    found = violations(sys.argv[1])
    print("\n".join(found) if found else "the layout follows its rules")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
