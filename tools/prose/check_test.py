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
        self.assertTrue(found("Makefile", "all: ## Starts anew\n\tls\n"))

    def test_a_banned_word_in_a_string_of_a_script_is_found(self):
        self.assertTrue(found("a.py", 'raise SystemExit(f"{name} begins anew with {more}")\n'))
        self.assertEqual(found("a.py", 'WORDS = "an old grey cat".split()\nCODE = "int anew = 0; int b;"\n'), [])

    def test_constructions_of_other_languages_are_found(self):
        for sentence in ("The data are read twice.", "Supported are tables and text.", "It allows to read files.",
                         "A row consists from cells.", "This takes less rows.", "The one of the model is used.",
                         "The result is shown beside the model.", "Every verb has a help text."):
            self.assertTrue(found("a.md", sentence + "\n"), sentence)

    def test_similar_constructions_are_accepted(self):
        for sentence in ("The columns of the data are read twice.", "This allows users to read files.", "The verbs of a sentence.",
                         "Throws as above.", "These data files are small.", "An amount of less than ten rows.", "All formats that are supported are listed."):
            self.assertEqual(found("a.md", sentence + "\n"), [], sentence)

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
