"""The prose check finds planted faults, and leaves code, names and correct sentences alone."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import check  # noqa: E402


def found(path, text):
    return [message for _, message in check.findings(path, text, check.banned())]


class Prose(unittest.TestCase):
    def test_a_banned_word_in_a_comment_is_found(self):
        self.assertEqual(found("a.cpp", "int a;  // begins anew\n"), ['"anew": write again'])

    def test_a_banned_word_in_a_message_is_found(self):
        self.assertIn("cannot be combined", found("a.cpp", 'throw UsageError("--a and --b exclude each other");')[0])

    def test_a_banned_word_in_a_test_name_is_found(self):
        self.assertTrue(found("a_test.cpp", "TEST(Reader, gives_so_many_rows) {}"))
        self.assertTrue(found("test_a.py", "def test_it_is_refused_by_name(self):\n    pass\n"))

    def test_a_banned_word_in_a_script_is_found(self):
        self.assertTrue(found("a.sh", "# Starts anew.\nls\n"))

    def test_british_spelling_is_found(self):
        self.assertTrue(found("a.md", "The optimiser is fast.\n"))

    def test_a_long_sentence_of_a_page_is_found(self):
        self.assertIn("a sentence of 60 words", found("a.md", "word " * 59 + "end.\n")[0])

    def test_code_names_and_options_are_not_prose(self):
        self.assertEqual(found("a.md", "Use `anew` and --normalisation.\n\n```sh\nanew\n```\n"), [])
        self.assertEqual(found("a.cpp", "int anew = labelled;  // see normalised_loss\n"), [])

    def test_a_correct_sentence_is_accepted(self):
        self.assertEqual(found("a.cpp", "/// Returns the surprisal of each line in bits.\n"), [])


if __name__ == "__main__":
    unittest.main()
