#pragma once
/// A registry that programs can extend before they use it.
///
///   ExtensibleRegistry<CellEntry>& registry() {
///     static ExtensibleRegistry<CellEntry> all("model", built_in_cells());
///     return all;
///   }
///   const Registry<CellEntry>& cells() { return registry().current(); }
///   void register_cell(CellEntry entry) { registry().add("register_cell", "cell", std::move(entry)); }
///
/// Thread-safe. References to entries and lists stay valid.

#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "unfold/base/options/registry.h"

namespace unfold {

/// Throws a UsageError that begins with `function` unless the name begins with a letter and contains only lowercase
/// letters, digits and "-".
void require_entry_name(std::string_view function, std::string_view what, std::string_view name);
[[noreturn]] void throw_taken_name(std::string_view function, std::string_view what, std::string_view name);

template <class EntryType>
class ExtensibleRegistry {
 public:
  /// `kind` describes an entry in messages, for example "model".
  ExtensibleRegistry(std::string kind, std::vector<EntryType> entries) : kind_(std::move(kind)) {
    lists_.emplace_back(kind_, std::move(entries));
  }

  const Registry<EntryType>& current() const {
    const std::lock_guard lock(mutex_);
    return lists_.back();
  }

  /// Throws a UsageError that begins with `function` if the name of the entry is not valid or taken.
  void add(std::string_view function, std::string_view what, EntryType entry) {
    require_entry_name(function, what, entry.name);
    const std::lock_guard lock(mutex_);
    const Registry<EntryType>& known = lists_.back();
    if (known.find(entry.name) != nullptr) throw_taken_name(function, what, entry.name);
    std::vector<EntryType> entries(known.begin(), known.end());
    entries.push_back(std::move(entry));
    lists_.emplace_back(kind_, std::move(entries));
  }

 private:
  std::string kind_;
  mutable std::mutex mutex_;
  std::deque<Registry<EntryType>> lists_;  // the initial list, and a copy after each addition
};

}  // namespace unfold
