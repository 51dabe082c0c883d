#pragma once
/// Internal: the inputs of a linear model (model/network/linear.h): templates from a file, or the neighborhood of each
/// text.

#include <string>
#include <vector>

#include "app/settings/train_settings.h"
#include "unfold/data/examples/examples.h"

namespace unfold {

bool is_of_crf(const std::string& model);

/// Returns whether the SPEC of a model is `crf` with the option `template`.
bool names_template(const std::string& model);

/// `crf:template=FILE`: the templates of the file replace `read`, and the option is removed; templates of transitions
/// are moved to the option `steps`. Throws UsageError, DataError.
void take_template(const std::vector<std::string>& columns, TrainSettings& settings);

/// Returns whether any entry of a column is not missing.
bool has_entry(const ExampleColumn& column);

/// Returns whether a field of CoNLL-U annotates the words: all fields except `form`. Texts that are to be tagged do not
/// have them, so they are not read by default.
bool is_annotation(const Examples& examples, const std::string& field);

/// Returns the default fields of a linear model.
std::vector<std::string> default_templates(const Examples& examples, const std::vector<std::string>& predicted);

/// If inputs have weights for transitions: checks that they are read and that the losses of the heads are random fields
/// with transition scores. Throws UsageError otherwise.
void take_steps(const std::string& model, std::vector<std::string>& reads, const std::vector<std::string*>& losses);

}  // namespace unfold
