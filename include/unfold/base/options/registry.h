#pragma once
/// Registries: explicit lists of named entries that a SPEC or a command can select. Adding an entry takes one line;
/// nothing registers itself.
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

#include "unfold/base/options/options.h"

namespace unfold {

/// Base of registry entries.
struct Entry {
  std::string name, help;   ///< `help` is one line
  AnyOptions options = {};  ///< default values
};

/// An entry as shown in help texts.
struct EntryHelp {
  std::string name, help;
  std::vector<OptionHelp> options;
};

/// Throws the UsageError for an unknown name. `kind` is for example "model"; `names` are the known names.
[[noreturn]] void throw_unknown(std::string_view kind, std::string_view name, const std::vector<std::string>& names);

/// Entries in the order of help texts. Pointers to entries stay valid. `EntryType` is any type with a member `name`.
template <class EntryType>
class Registry {
 public:
  /// `kind` describes an entry in messages, for example "model".
  Registry(std::string kind, std::vector<EntryType> entries) : kind_(std::move(kind)), entries_(std::move(entries)) {}

  /// Returns nullptr if there is no such entry.
  const EntryType* find(std::string_view name) const {
    for (const EntryType& entry : entries_)
      if (entry.name == name) return &entry;
    return nullptr;
  }
  /// Throws UsageError if the name is unknown (with the nearest name and a list of all names). `others` are further
  /// names that the message lists.
  const EntryType& get(std::string_view name, const std::vector<std::string>& others = {}) const {
    if (const EntryType* entry = find(name)) return *entry;
    std::vector<std::string> known = names();
    known.insert(known.end(), others.begin(), others.end());
    throw_unknown(kind_, name, known);
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
};

}  // namespace unfold
