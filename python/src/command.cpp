/// The command `unfold` as a function of the module, for `python -m unfold` and the script that a wheel installs.

#include "unfold/command.h"

#include <string>
#include <vector>

#include "stream.h"
#include "work.h"

namespace unfold::python {
namespace {

/// Runs the command with the arguments of a program, the first of which is its name. Returns the exit code. Call it
/// once per process, because it installs signal handlers.
int run_with(const nb::list& arguments) {
  std::vector<std::string> texts;
  texts.reserve(arguments.size());
  for (nb::handle argument : arguments) {
    const auto bytes = nb::cast<nb::bytes>(argument);
    texts.emplace_back(bytes.c_str(), bytes.size());
  }
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  const nb::gil_scoped_release released;
  return run_main(static_cast<int>(texts.size()), pointers.data());
}

}  // namespace

void add_command(nb::module_& module) { module.def("run_command", &run_with, nb::arg("arguments")); }

}  // namespace unfold::python
