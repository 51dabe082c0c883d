"""Examples in docstrings run, types are checked by mypy, and python -m unfold is the command."""

import doctest
import importlib
import importlib.util
import os
import pathlib
import subprocess
import sys
import unittest

import unfold

MODULES = ["_base", "_data", "_drawing", "_tensors", "circuits", "crf", "estimators", "hmm", "reservoir",
           "results", "training"]


class DocstringTest(unittest.TestCase):
    def test_examples_run(self):
        count = 0
        for name in MODULES:
            module = importlib.import_module(f"unfold.{name}")
            with self.subTest(name):
                failed, run = doctest.testmod(module)
                self.assertEqual(failed, 0)
                count += run
        self.assertGreater(count, 15)


@unittest.skipIf(importlib.util.find_spec("mypy") is None, "mypy is not installed")
class TypesTest(unittest.TestCase):
    def test_mypy_finds_nothing_in_strict_mode(self):
        sources = pathlib.Path(unfold.__file__).resolve().parent
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull,
                               "--disable-error-code", "import-untyped", "--disable-error-code", "import-not-found",
                               "-p", "unfold"], cwd=sources.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stdout)


class CommandTest(unittest.TestCase):
    def test_the_module_is_the_command(self):
        command = os.environ["TESTED_COMMAND"]
        done = subprocess.run([sys.executable, "-m", "unfold", "--version"], stdout=subprocess.PIPE, text=True,
                              check=True, env={**os.environ, "UNFOLD_COMMAND": command})
        self.assertEqual(done.stdout.split()[1], unfold.__version__)
        done = subprocess.run([sys.executable, "-m", "unfold"], stderr=subprocess.PIPE, text=True,
                              env={**os.environ, "PATH": "", "UNFOLD_COMMAND": ""})
        self.assertEqual(done.returncode, 1)
        self.assertIn("not installed", done.stderr)


if __name__ == "__main__":
    unittest.main()
