#pragma once
/// Registries: explicit lists of named things that a SPEC or a command can ask for. One line adds an entry; nothing
/// registers itself.
///
///   struct TaskEntry : Entry { std::unique_ptr<Task> (*make)(const AnyOptions&); };
///   const Registry<TaskEntry>& tasks() {
///     static const Registry<TaskEntry> list("task", {{{"adding", "the sum of two marked numbers", LengthOptions()},
///     make_adding}}); return list;
///   }
///   tasks().get("adding").make(options);

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "unfold/base/options.h"

namespace unfold {

/// What most entries have; they derive from it.
struct Entry {
  std::string name, help;   ///< help: one line
  AnyOptions options = {};  ///< with their defaults
};

/// An entry as help texts show it.
struct EntryHelp {
  std::string name, help;
  std::vector<OptionHelp> options;
};

/// The UsageErrors for a name that is in no list. `kind`: "model"; `names`: what there is.
[[noreturn]] void refuse_unknown(std::string_view kind, std::string_view name, const std::vector<std::string>& names);
[[noreturn]] void refuse_not_built(std::string_view kind, std::string_view name, const std::vector<std::string>& names);

/// Entries in the order of help texts; they stay where they are, so that others may keep pointers to them.
/// `EntryType`: anything with a `name`.
template <class EntryType>
class Registry {
 public:
  /// `kind`: what an entry is, in messages; `not_built`: names that later versions will have.
  Registry(std::string kind, std::vector<EntryType> entries, std::vector<std::string> not_built = {})
      : kind_(std::move(kind)), entries_(std::move(entries)), not_built_(std::move(not_built)) {}

  /// Null when there is none.
  const EntryType* find(std::string_view name) const {
    for (const EntryType& entry : entries_)
      if (entry.name == name) return &entry;
    return nullptr;
  }
  /// Throws UsageError: unknown (with the nearest name and a list of all), not built yet. `others`: further names that
  /// the message lists.
  const EntryType& get(std::string_view name, const std::vector<std::string>& others = {}) const {
    if (const EntryType* entry = find(name)) return *entry;
    std::vector<std::string> known = names();
    known.insert(known.end(), others.begin(), others.end());
    for (const std::string& later : not_built_)
      if (later == name) refuse_not_built(kind_, name, known);
    refuse_unknown(kind_, name, known);
  }

  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const EntryType& entry : entries_) result.emplace_back(entry.name);
    return result;
  }
  std::vector<EntryHelp> help() const {
    std::vector<EntryHelp> result;
    for (const EntryType& entry : entries_) result.push_back({entry.name, entry.help, help_of(entry.options)});
    return result;
  }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  std::string kind_;
  std::vector<EntryType> entries_;
  std::vector<std::string> not_built_;
};

}  // namespace unfold
