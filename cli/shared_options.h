#pragma once
/// Rows of options that have the same meaning in several subcommands. A subcommand adds the row with its own target and
/// may change individual members, for example `common`.

#include <optional>
#include <string>
#include <vector>

#include "app/settings/train_settings.h"
#include "base/options/option_row.h"

namespace unfold {

/// The positional argument MODEL of subcommands that read one model and no data.
OptionRow model_input(std::vector<std::string>& model);
/// --mask: which symbols of DATA are predicted.
OptionRow mask_row(std::optional<std::string>& file);
/// --unknown, for subcommands that stop at unknown symbols or skip them.
OptionRow unknown_row(std::string& policy);
/// --given, for models of whole sequences.
OptionRow conditions_row(std::optional<std::string>& given);
/// --prime-file.
OptionRow prime_file_row(std::optional<std::string>& file);
/// --seed of random sampling.
OptionRow sampling_seed_row(Index& seed);
/// --types, --missing, --decimal, --thousands, --header, --comment, --group and --order, for subcommands that read
/// tables with a model: they describe how the format of a file differs from the format of the training data.
OptionRows statement_rows(TrainSettings& stated);
/// --jobs: runs in separate processes.
OptionRow jobs_row(Index& jobs);
/// --symbols: the alphabet size of a network that is only benchmarked or checked.
OptionRow alphabet_size_row(Index& symbols, double most);

}  // namespace unfold
