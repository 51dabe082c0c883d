#!/usr/bin/env python3
"""Checks the layout rules of docs/design.md by reading the includes of a source tree.

    check_architecture.py ROOT      prints one line per violation; exit status 1 if there is any

The rules:
  * there are at most 14 modules, and the order of the modules is that of the list in CMakeLists.txt;
  * a file includes only headers of the same module and of lower modules;
  * the folders of a module include each other without circles;
  * a folder contains at most 20 sources, unless it is a list of registry entries (REGISTRIES);
  * a public header (include/) includes only public headers.
"""

import collections
import pathlib
import re
import sys

MOST_MODULES = 14
MOST_SOURCES = 20
# Folders whose length is that of a list of entries: cells, readers, verbs.
REGISTRIES = {"graph/cells", "data/readers", "cli"}
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)
SOURCES = (".h", ".cpp", ".def", ".cu")


def modules(root):
    """The names of the modules from the lowest to the highest, as CMakeLists.txt lists them."""
    found = re.search(r"^set\(modules ([^)]*)\)", (root / "CMakeLists.txt").read_text(), re.MULTILINE)
    return found.group(1).split() if found else []


class Tree:
    """The source files below src/, cli/ and bindings/, and what each includes."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.modules = modules(self.root)
        self.order = {name: i for i, name in enumerate(self.modules + ["bindings", "cli"])}
        self.includes = {}
        for top, prefix in (("src", ""), ("cli", "cli/"), ("bindings", "bindings/")):
            for path in sorted((self.root / top).rglob("*")):
                if path.suffix in SOURCES:
                    name = prefix + path.relative_to(self.root / top).as_posix()
                    self.includes[name] = INCLUDE.findall(path.read_text(errors="replace"))

    def inner(self, name):
        """The includes of a file that are files of this tree."""
        return [target for target in self.includes[name] if target in self.includes]


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
    """Public headers that include a private one. include/unfold/unfold.h collects them and is the only exception."""
    public = tree.root / "include"
    for path in sorted(public.rglob("*.h")):
        name = path.relative_to(public).as_posix()
        if name == "unfold/unfold.h":
            continue
        for target in INCLUDE.findall(path.read_text(errors="replace")):
            if target in tree.includes:
                yield f"include/{name} includes the private header {target}"


CHECKS = (unknown_modules, upward_steps, circles, crowded_folders, private_includes)


def violations(root):
    tree = Tree(root)
    return [line for check in CHECKS for line in check(tree)]


def main():
    found = violations(sys.argv[1])
    print("\n".join(found) if found else "the layout follows its rules")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
