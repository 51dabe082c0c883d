"""Examples in docstrings run, types are checked by mypy, and python -m unfold is the command."""

import doctest
import importlib
import importlib.util
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import typing
import unittest

import scratch

import unfold

FILES = ["_base", "_data", "_drawing", "_tensors", "crf", "reservoir", "results", "training"]
PACKAGES = ["circuits", "estimators", "hmm"]


class DocstringTest(unittest.TestCase):
    def test_examples_run(self):
        count = 0
        for name in [*FILES, *PACKAGES]:
            module = importlib.import_module(f"unfold.{name}")
            with self.subTest(name):
                failed, run = scratch.run_examples(module) if name in PACKAGES else doctest.testmod(module)
                self.assertEqual(failed, 0)
                count += run
        self.assertGreater(count, 15)


class NamesTest(unittest.TestCase):
    def test_public_names_are_those_of_their_modules(self):
        for package in PACKAGES:
            module = importlib.import_module(f"unfold.{package}")
            for name in module.__all__:
                defined = getattr(module, name)
                with self.subTest(f"{package}.{name}"):
                    self.assertIn(defined.__module__, (module.__name__, "unfold._core", "unfold._base"))
                    if isinstance(defined, type):
                        typing.get_type_hints(defined)
                        self.assertIs(pickle.loads(pickle.dumps(defined)), defined)


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
    def run_module(self, *arguments):
        return subprocess.run([sys.executable, "-m", "unfold", *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env={**os.environ, "PATH": ""})

    def run_command(self, *arguments):
        return subprocess.run([os.environ["TESTED_COMMAND"], *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_the_module_contains_the_command(self):
        for arguments in (["--version"], ["train", "--help"], ["eval", "no such file"], ["tran"]):
            with self.subTest(arguments):
                mine, theirs = self.run_module(*arguments), self.run_command(*arguments)
                self.assertEqual((mine.returncode, mine.stdout, mine.stderr),
                                 (theirs.returncode, theirs.stdout, theirs.stderr))
        self.assertEqual(self.run_module("--version").stdout.decode().split()[1], unfold.__version__)

    def test_the_module_trains_the_model_of_the_command(self):
        with tempfile.TemporaryDirectory() as folder:
            text = os.path.join(folder, "text é.txt")
            with open(text, "w") as file:
                file.write("the sea is deep and the sail is lost\n" * 40)
            for name, run in (("a", self.run_module), ("b", self.run_command)):
                out = os.path.join(folder, name)
                done = run("train", text, "--model", "gru:4", "--steps", "5", "--threads", "1", "--quiet", "--out", out)
                self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(*(pathlib.Path(folder, name, "model.safetensors").read_bytes() for name in "ab"))


if __name__ == "__main__":
    unittest.main()
