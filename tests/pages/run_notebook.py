#!/usr/bin/env python3
"""Runs the code of notebooks cell by cell, as Jupyter would; they contain plain Python, so Jupyter is not required.

    run_notebook.py --package build/release/python/package docs/notebooks/*.ipynb

Notebooks that use a package that is not installed (PyTorch) are skipped with a message.

Exit codes: 0, 1: a cell failed, or outputs are stored; 77: the package is not built.
"""

import argparse
import ast
import importlib.util
import json
import os
import pathlib
import sys
import tempfile


def run_cell(source, names):
    """Runs a cell and shows the value of its last line."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        if value is not None:
            print(repr(value)[:400])


def missing_packages(sources):
    """The names of the imported top-level packages that are not installed."""
    names = set()
    for node in ast.walk(ast.parse("\n".join(sources))):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
    return sorted(name for name in names if importlib.util.find_spec(name) is None)


def run_notebook(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    for cell in code:
        if cell["outputs"] or cell["execution_count"] is not None:
            print(f"{path}: outputs are stored; strip them (jupyter nbconvert --clear-output --inplace)", file=sys.stderr)
            return False
    missing = missing_packages(["".join(cell["source"]) for cell in code])
    if missing:
        print(f"{path}: skipped: {', '.join(missing)} is not installed")
        return True
    names, back = {"__name__": "__main__"}, os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for cell in code:
                run_cell("".join(cell["source"]), names)
        finally:
            os.chdir(back)
    print(f"{path}: {len(code)} cells")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", help="folder of the built Python package")
    parser.add_argument("notebooks", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    if options.package:
        sys.path[:0] = [os.path.abspath(options.package)]
    try:
        import numpy  # noqa: F401
        import unfold  # noqa: F401
    except ImportError as missing:
        print(f"skipped: {missing}; `make python` builds the package")
        return 77
    return 0 if all([run_notebook(path.resolve()) for path in options.notebooks]) else 1


if __name__ == "__main__":
    sys.exit(main())
