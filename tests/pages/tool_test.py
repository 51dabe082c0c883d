"""The tools that read pages: each finds a planted fault and accepts correct input."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools/site"), str(ROOT / "tests/pages")]

import headers  # noqa: E402
import navigation  # noqa: E402
import page_blocks  # noqa: E402
import page_check  # noqa: E402
import pictures  # noqa: E402
import python_reference  # noqa: E402
import run_page  # noqa: E402
from symbols import find_symbol  # noqa: E402

PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(text):
    return page_blocks.blocks_of(pathlib.Path("page.md"), text)


class Blocks(unittest.TestCase):
    def test_marks_select_how_a_block_is_run(self):
        found = blocks("<!-- every block: whole -->\n```sh\na\n```\n<!-- run: short -->\n```sh\nb\n```\n"
                       "<!-- run: by hand: takes an hour -->\n\n```sh\nc\n```\n```sh\nd\n```\n")
        self.assertEqual([b.how for b in found], ["whole", "short", "by hand", "whole"])
        self.assertEqual(found[2].reason, "takes an hour")

    def test_mark_applies_only_to_the_next_block(self):
        found = blocks("<!-- run: whole -->\nwords\n```sh\na\n```\n")
        self.assertEqual([b.how for b in found], ["short"])

    def test_command_in_an_unsupported_block_is_rejected(self):
        with self.assertRaisesRegex(page_blocks.PageError, "page.md:2"):
            blocks("x\n```\nunfold eval run other.txt\n```\n")

    def test_by_hand_requires_a_reason(self):
        with self.assertRaisesRegex(page_blocks.PageError, "state why"):
            blocks("<!-- run: by hand -->\n```sh\na\n```\n")

    def test_console_block_is_split_into_commands_and_output(self):
        block = blocks("```console\n$ one \\\n> more\nfirst\nsecond\n$ two\n```\n")[0]
        self.assertEqual(block.exchanges(), [(["one \\", "more"], ["first", "second"]), (["two"], [])])
        self.assertEqual(block.commands(), ["one  more", "two"])

    def test_every_page_parses_and_shows_command_output(self):
        for page in PAGES:
            for block in page_blocks.blocks_of(page):
                left = [line for line in block.lines if re.fullmatch(r"\?\d*", line)]
                self.assertEqual(left, [], f"{block.place}: outputs are still to be written: run_page.py --refresh {page}")


class Lines(unittest.TestCase):
    def test_numbers_agree_within_a_tenth(self):
        self.assertTrue(run_page.agree("bits per symbol  2.31", "bits per symbol 2.29"))
        self.assertFalse(run_page.agree("bits per symbol  2.31", "bits per symbol  3.29"))
        self.assertTrue(run_page.agree("1,003,854 characters", "1,003,854 characters"))

    def test_words_match_exactly_except_for_dots(self):
        self.assertFalse(run_page.agree("bits 2.3", "nats 2.3"))
        self.assertTrue(run_page.agree("time ... (... symbols/s)", "time 3.1 s (20 k symbols/s)"))
        self.assertFalse(run_page.agree("gru:448", "gru:512"))

    def test_line_of_dots_matches_any_lines(self):
        self.assertTrue(run_page.lines_agree(["a", "...", "z"], ["a", "b", "c", "z"]))
        self.assertFalse(run_page.lines_agree(["a", "...", "z"], ["a", "b", "c"]))
        self.assertFalse(run_page.lines_agree(["a"], ["a", "b"]))


class FakeProgram:
    def verbs(self):
        return {"train": "", "eval": "", "compress": ""}

    def options(self, verb):
        return {"--out", "--json", "-9"}


class Calls(unittest.TestCase):
    def test_calls_are_found_everywhere(self):
        line = "for s in 1 2; do unfold train a --out r$s; done && unfold eval r1 b | head -3"
        self.assertEqual([call[1] for call in page_check.calls(line)], ["train", "eval"])

    def test_unknown_options_and_verbs_are_found(self):
        self.assertEqual(page_check.faults("unfold train a --out r".split(), FakeProgram()), [])
        self.assertEqual(page_check.faults("unfold train a --outt r".split(), FakeProgram()), ["'train' has no option --outt"])
        self.assertEqual(page_check.faults("unfold trian a".split(), FakeProgram()), ["there is no command 'trian'"])
        self.assertEqual(page_check.faults("unfold compress a -9".split(), FakeProgram()), [])


SOURCE = """namespace n {
class Early;
int twice(int x);

/// What it is.
template <class T>
class Early {
 public:
  int member(int x) const { return twice(x); }
};

int user() { return twice(2); }

/// Two times.
int twice(int x) {
  return x + x;
}

template <class T>
void Owner<T>::run(int x) {
  twice(x);
}
}
"""


class Offline(unittest.TestCase):
    def check(self, text):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "page.html").write_text(text)
            tool = [sys.executable, str(ROOT / "tools/site/check_offline.py"), folder]
            return subprocess.run(tool, capture_output=True, check=False).returncode

    def test_external_resources_are_found(self):
        self.assertEqual(self.check('<link rel="stylesheet" href="https://x.org/a.css">'), 1)
        self.assertEqual(self.check('<script async src="//x.org/a.js"></script>'), 1)
        self.assertEqual(self.check("<style>@import url(https://x.org/a.css)</style>"), 1)

    def test_links_and_own_files_are_accepted(self):
        self.assertEqual(self.check('<a href="https://x.org">x</a><script src="assets/a.js"></script>'), 0)


HEADER = """#pragma once
/// What the header is: a test.
/// It has two sentences.

#include <string>

namespace n {

class Early;

#define MACRO(x) \\
  class x {      \\
  };

/// A pair.
struct Pair {
  int first = 0;  ///< a { in a comment
  int second = 0;
};

/// Two times.
template <class T>
T twice(T x);

class Box {
 public:
  void open() {
    if (shut_) shut_ = false;
  }

 private:
  bool shut_ = true;
};

using Text = std::string;

}  // namespace n
"""


class Headers(unittest.TestCase):
    def test_comment_and_public_declarations_are_found(self):
        introduction, lines = headers.split(HEADER)
        self.assertEqual(introduction, ["What the header is: a test.", "It has two sentences."])
        found = {headers.name_of(code): (comment, code) for comment, code in headers.declarations(lines)}
        self.assertEqual(list(found), [None, "Pair", "twice", "Box", "Text"])
        self.assertEqual(found["twice"][0], ["Two times."])
        self.assertIn("    if (shut_) shut_ = false;", found["Box"][1])
        self.assertNotIn("  bool shut_ = true;", found["Box"][1])

    def test_every_public_header_yields_its_last_declaration(self):
        for path in sorted((ROOT / "include").rglob("*.h")):
            source = path.read_text(encoding="utf-8")
            code = [line for _, code in headers.declarations(headers.split(source)[1]) for line in code]
            kept = [line for line in source.split("\n") if line.startswith(("class ", "struct ")) and line.endswith("{")]
            self.assertEqual([line for line in kept if line not in code], [], path)


class Docstrings(unittest.TestCase):
    def test_sections_become_lists(self):
        import ast

        node = ast.parse('"""First.\n\nParameters\n----------\nn\n    The ``number``.\n"""')
        self.assertEqual(python_reference.docstring(node), "First.\n\n**Parameters**\n\n- `n`: The `number`.")

    def test_docstrings_of_the_compiled_part_are_found(self):
        found = python_reference.compiled_docstrings(ROOT / "python/src")
        self.assertIn("Read a symbol", found["Stream", "push"])
        self.assertIn("surprisal", found["Model", "score"])


class Pictures(unittest.TestCase):
    SVG = "<svg><style>.a{fill:#fff}@media (prefers-color-scheme:dark){.a{fill:#0d1117}.b{stroke:#eee}}</style></svg>"

    def test_each_scheme_has_its_styles(self):
        self.assertEqual(pictures.fixed(self.SVG, False), "<svg><style>.a{fill:#fff}</style></svg>")
        self.assertEqual(pictures.fixed(self.SVG, True), "<svg><style>.a{fill:#fff}.a{fill:none}.b{stroke:#eee}</style></svg>")

    def test_pages_show_both(self):
        self.assertEqual(pictures.in_both_schemes("![a [b]](x/y.svg)"), "![a [b]](x/y.svg#only-light)![a [b]](x/y-dark.svg#only-dark)")


class Navigation(unittest.TestCase):
    def test_large_groups_and_verbs_without_a_group_are_found(self):
        self.assertEqual(list(navigation.too_large([{"A": ["index.md", *"abcdefgh"]}])), [])
        self.assertEqual(list(navigation.too_large([{"A": [*"abcdefghi"]}])), ["A has 9 entries"])
        with self.assertRaisesRegex(ValueError, "juggle"):
            navigation.groups_of({"train", "juggle"})

    def test_table_of_the_readme_has_every_command(self):
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        rows = " ".join(line.split("|")[1] + line for line in readme.split("\n") if line.startswith("| `"))
        for verb in (verb for group in navigation.VERBS.values() for verb in group):
            self.assertRegex(rows, rf"`{verb}[ `]", "README.md: the table of commands is incomplete")

    def test_version_of_the_project_is_found(self):
        self.assertRegex(navigation.version_of((ROOT / "CMakeLists.txt").read_text(encoding="utf-8")), r"^\d+\.\d+\.\d+$")


class ExampleData(unittest.TestCase):
    def test_every_file_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, str(ROOT / "tools/example_data.py"), folder], check=True, capture_output=True)
            for name in ("book.txt", "tickets.csv", "sales.csv", "test.conll", "words.pairs"):
                self.assertTrue(pathlib.Path(folder, name).stat().st_size > 0, name)


class Workflow(unittest.TestCase):
    def test_weekly_run_has_every_stage_of_the_nightly_checks(self):
        stages = re.search(r"^all=\(([^)]*)\)", (ROOT / ".ci/nightly").read_text(encoding="utf-8"), flags=re.M)[1].split()
        hosted = re.search(r"stage: \[([^\]]*)\]", (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))[1]
        self.assertEqual(hosted.split(", "), stages)


class Symbols(unittest.TestCase):
    def test_definitions_precede_declarations_and_calls(self):
        self.assertEqual(find_symbol(SOURCE, "twice"), (14, 17))
        self.assertEqual(find_symbol(SOURCE, "Early"), (5, 10))
        self.assertEqual(find_symbol(SOURCE, "Owner::run"), (19, 22))
        self.assertEqual(find_symbol(SOURCE, "Early::member"), (9, 9))

    def test_undefined_symbol_is_not_found(self):
        self.assertIsNone(find_symbol(SOURCE, "thrice"))
        self.assertIsNone(find_symbol(SOURCE, "Owner::walk"))

    def test_source_names_on_pages_are_defined(self):
        count = 0
        for page in PAGES:
            for path, name in re.findall(r"\]\(([^)#\s]+\.(?:h|cpp))#([\w:]+)\)", page.read_text(encoding="utf-8")):
                text = (page.parent / path).resolve().read_text(encoding="utf-8")
                self.assertIsNotNone(find_symbol(text, name), f"{page} links to '{name}' in {path}")
                count += 1
        self.assertGreater(count, 20)


if __name__ == "__main__":
    unittest.main()
