#pragma once
/// Checks that output files do not overwrite input files. The checks run once per subcommand, on the options that name
/// files (FileUse). A file that is discovered only during the work is checked at that point.

#include <string>

#include "cli/terminal/options.h"

namespace unfold {

/// Throws UsageError if an output is also an input (the same file, including through links, or a file of a run folder),
/// if an output folder is also read, directly or as a run, and if two outputs are the same file. REQUIRES that the
/// options were resolved.
void check_outputs_differ_from_inputs(const CommandOptions& options);

/// Like the function above, for an input that is not an option. `option` is the name of the output option, such as
/// "--out".
void check_output_differs_from_input(const std::string& option, const std::string& output, const std::string& input);

/// Throws ModelError for a run folder without read permission, which would otherwise look like a folder without a
/// model. REQUIRES that the options were resolved.
void require_readable_models(const CommandOptions& options);

}  // namespace unfold
