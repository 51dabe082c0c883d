"""A separate folder for each test, and what tests share."""

import doctest
import os
import subprocess
import tempfile
import unittest

import numpy


def command(*arguments):
    """Runs the command of these sources, TESTED_COMMAND, and returns what it prints."""
    done = subprocess.run([os.environ["TESTED_COMMAND"], *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=True)
    return done.stdout


def run_examples(package):
    """Run the examples in the docstrings of a package and of its public names, and return the numbers of failed and
    of all examples. The names are defined in private files, where doctest.testmod does not find them."""
    names = {**vars(package), "numpy": numpy}
    tests = [doctest.DocTestParser().get_doctest(package.__doc__, names, package.__name__, package.__file__, 0)]
    for name in package.__all__:
        defined = getattr(package, name)
        if defined.__module__ == package.__name__:
            found = doctest.DocTestFinder().find(defined, name, module=False, globs=names)
            tests += [test for test in found if "._" not in test.name]  # attributes may be classes of other packages
    runner = doctest.DocTestRunner()
    for test in tests:
        runner.run(test)
    return runner.summarize(verbose=False)


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)
