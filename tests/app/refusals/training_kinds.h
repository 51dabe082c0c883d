#pragma once
/// Kinds of training on tiny generated data, and the changes that the matrix of refusals applies to them
/// (refusals_test.cpp): one kind for every cell, loss, density model, shape of data and task.

#include <string>
#include <utility>
#include <vector>

#include "tests/base/scratch.h"

namespace unfold::refusals {

using Settings = std::vector<std::pair<std::string, std::string>>;  ///< names and values of options of `train`

struct TrainingKind {
  std::string group;  ///< "text", "tags", "tables" ...
  std::string name;   ///< within its group
  std::string file;   ///< path of its data; empty for a task
  std::string model;
  Settings settings;

  std::string title() const { return group + " " + name; }
};

/// A change of a kind of training: an optimizer, an option of `train`, or an option of the model.
struct Change {
  std::string name;  ///< as the page shows it
  Settings settings = {};
  std::string model = {};  ///< appended to the SPEC of the model

  bool of_model() const { return !model.empty(); }
};

/// All kinds. The data is written to `folder`.
std::vector<TrainingKind> training_kinds(const testing_support::ScratchFolder& folder);
/// One change for every optimizer, and for those of their options that need a capability of the network.
std::vector<Change> optimizer_changes();
/// Options of `train` and of models.
std::vector<Change> option_changes();

}  // namespace unfold::refusals
