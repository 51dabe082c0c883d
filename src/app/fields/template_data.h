#pragma once
/// Internal: what a linear model (model/network/linear.h) reads: templates of a file, or the neighbourhood of each
/// text.

#include <string>
#include <vector>

#include "app/settings/train_settings.h"
#include "data/examples/examples.h"

namespace unfold {

bool is_of_crf(const std::string& model);

/// Whether the SPEC of a model is `crf` with the option `template`.
bool names_template(const std::string& model);

/// `crf:template=FILE`: what the file says takes the place of `read`, and the option is gone; what weighs steps goes
/// into the option `steps`. Throws UsageError, DataError.
void take_template(const std::vector<std::string>& columns, TrainSettings& settings);

/// The default fields of a linear model.
std::vector<std::string> default_templates(const Examples& examples, const std::vector<std::string>& predicted);

/// Where what is read weighs steps: it is read, and the losses of heads are fields that score steps. UsageError for
/// others.
void take_steps(const std::string& model, std::vector<std::string>& reads, const std::vector<std::string*>& losses);

}  // namespace unfold
