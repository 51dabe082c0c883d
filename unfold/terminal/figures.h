#pragma once
/// Figures as the command prints them.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "unfold/app/task_figures.h"
#include "unfold/fields/field_figures.h"
#include "unfold/runs/figures.h"

namespace unfold {

/// One figure a line.
std::string to_text(const Figures& figures);
std::string to_text(const TaskFigures& figures);
std::string to_text(const FieldFigures& figures);

/// The name of a measure as people say it: "error rate".
std::string in_words(std::string name);

/// The ten most frequent confusions of each head that predicts symbols: how often, what was wanted, what was said.
std::string mistakes_text(const FieldFigures& figures);

/// One line of JSON and its line end; text that is not valid UTF-8 is shown with replacement characters.
std::string one_line(const nlohmann::ordered_json& json);

}  // namespace unfold
