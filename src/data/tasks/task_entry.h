#pragma once
/// Registry entries of generated tasks. An entry is defined next to its task and listed in registry.def:
///
///   struct ParityOptions { Index length = 20; };
///   template <class Visitor>
///   void describe(Visitor& v, ParityOptions& o) { v("length", o.length, "steps", range(2, 1e7)); }
///   std::unique_ptr<Task> parity(const ParityOptions& options);
///
///   TaskEntry parity_task() { return generated_task<parity>("parity", "the parity of the bits so far"); }

#include <memory>
#include <string>
#include <utility>

#include "unfold/base/options/registry.h"
#include "unfold/data/tasks/tasks.h"

namespace unfold {

struct TaskEntry : Entry {
  std::unique_ptr<Task> (*make)(const AnyOptions&, const std::string& folder) = nullptr;
  bool files = false;  ///< reads its data from the folder
};

/// Returns the entry of a task that `make(const Options&)` creates.
template <auto make>
TaskEntry generated_task(std::string name, std::string help) {
  return [&]<class Options>(std::unique_ptr<Task> (*)(const Options&)) -> TaskEntry {
    return {{std::move(name), std::move(help), Options()},
            [](const AnyOptions& options, const std::string&) { return make(options.as<Options>()); }};
  }(make);
}

}  // namespace unfold
