"""The checker finds each kind of fault in a small tree, and none in a correct one."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import check_architecture  # noqa: E402


class CheckArchitecture(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("CMakeLists.txt", "set(modules base graph)\n")
        self.write("src/base/error.h", "")
        self.write("src/graph/cells/rnn.cpp", '#include "base/error.h"\n#include "graph/circuit/circuit.h"\n')
        self.write("src/graph/circuit/circuit.h", "")
        self.write("include/unfold/graph/engine/stepper.h", "")
        self.write("include/unfold/unfold.h", '#include "unfold/graph/engine/stepper.h"\n')
        self.write("cli/main.cpp", '#include "graph/circuit/circuit.h"\n')

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def found(self):
        return "\n".join(check_architecture.violations(self.root))

    def test_a_correct_tree_has_no_violation(self):
        self.assertEqual(self.found(), "")

    def test_an_upward_step_is_found(self):
        self.write("src/base/error.h", '#include "graph/circuit/circuit.h"\n')
        self.assertIn("base/error.h includes graph/circuit/circuit.h, which is in a higher module", self.found())

    def test_a_module_that_includes_the_command_is_found(self):
        self.write("cli/verb.h", "")
        self.write("src/base/error.h", '#include "cli/verb.h"\n')
        self.assertIn("higher module", self.found())

    def test_a_circle_between_folders_is_found(self):
        self.write("src/graph/circuit/circuit.h", '#include "graph/cells/cells.h"\n')
        self.write("src/graph/cells/cells.h", "")
        self.assertIn("graph/cells/ and graph/circuit/ include each other", self.found())

    def test_a_circle_over_three_folders_is_found(self):
        self.write("src/graph/circuit/circuit.h", '#include "graph/plan/plan.h"\n')
        self.write("src/graph/plan/plan.h", '#include "graph/cells/cells.h"\n')
        self.write("src/graph/cells/cells.h", "")
        self.assertIn("include each other", self.found())

    def test_more_modules_than_allowed_are_found(self):
        names = [f"m{i}" for i in range(15)]
        self.write("CMakeLists.txt", f"set(modules base graph {' '.join(names)})\n")
        self.assertIn("at most 14 are allowed", self.found())

    def test_a_module_outside_the_list_is_found(self):
        self.write("src/extra/a.h", "")
        self.assertIn("extra/ is not in the list of modules", self.found())

    def test_a_crowded_folder_is_found(self):
        for i in range(21):
            self.write(f"src/graph/engine/a{i}.cpp", "")
        self.assertIn("graph/engine/ contains 21 sources", self.found())

    def test_a_long_registry_is_allowed(self):
        for i in range(30):
            self.write(f"src/graph/cells/a{i}.cpp", "")
        self.assertEqual(self.found(), "")

    def test_a_private_header_in_a_public_one_is_found(self):
        self.write("include/unfold/graph/network.h", '#include "graph/circuit/circuit.h"\n')
        self.assertIn("includes the private header graph/circuit/circuit.h", self.found())

    def with_options(self, other):
        self.write("src/graph/rows.cpp", '''
rows.push_back({.name = "batch", .target = &s.batch, .help = "sequences per batch"});
rows.push_back({.name = "log-every", .target = &s.log_every, .help = "steps between entries"});
''')
        self.write("src/graph/other.cpp", other)
        return self.found()

    def test_options_that_are_named_once_are_no_violation(self):
        self.assertEqual(self.with_options('json["batch"] = 3; if (given.contains(&S::batch)) f({"batch", "width"});'), "")

    def test_a_list_of_option_names_is_found(self):
        self.assertIn("other.cpp lists names of options: log-every, batch",
                      self.with_options('for (const char* name : {"log-every", "batch"}) refuse(name);'))

    def test_a_check_of_an_option_by_its_name_is_found(self):
        self.assertIn("other.cpp checks the option --batch", self.with_options('if (given.contains("batch")) return;'))

    def test_the_name_of_an_option_outside_its_row_is_found(self):
        self.assertIn("names the option --log-every outside its row", self.with_options('config.find("log-every");'))

    def test_a_second_description_of_an_option_is_found(self):
        self.assertIn("graph/rows.cpp describes the option --batch again, as graph/other.cpp does",
                      self.with_options('add({.name = "batch",\n .target = &b, .help = "sequences "\n "per batch"});'))


if __name__ == "__main__":
    unittest.main()
