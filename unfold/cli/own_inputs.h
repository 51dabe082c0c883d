#pragma once
/// What is written never replaces what is read: it would be gone. Every verb is checked once, by the rows of its
/// options that name files (FileUse); a file that only the work itself finds out about is checked where it is found.

#include <string>

#include "unfold/terminal/options.h"

namespace unfold {

/// Throws UsageError where an option names as output what another names as input: the same file, through whatever
/// link, or one of the files of a run folder; of an output that is a folder, that it is read itself, or as a run;
/// and where two outputs are one file.
/// REQUIRES that the options were resolved.
void refuse_own_inputs(const VerbOptions& options);

/// The same for an input that no option names. `option`: the output's, "--out".
void refuse_own_input(const std::string& option, const std::string& output, const std::string& input);

/// Throws ModelError for a run folder that may not be looked into, which would seem to be one without a model.
/// REQUIRES that the options were resolved.
void require_readable_models(const VerbOptions& options);

}  // namespace unfold
