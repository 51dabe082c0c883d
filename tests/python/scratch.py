"""A separate folder for each test."""

import os
import subprocess
import tempfile
import unittest


def command(*arguments):
    """Runs the command of these sources, TESTED_COMMAND, and returns what it prints."""
    done = subprocess.run([os.environ["TESTED_COMMAND"], *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=True)
    return done.stdout


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
