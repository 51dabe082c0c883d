#include "cli/shared_options.h"

#include "app/settings/train_settings.h"

namespace unfold {

OptionRow model_input(std::vector<std::string>& model) {
  return {.name = "model",
          .target = &model,
          .placeholder = "MODEL",
          .help = "a run folder or model file",
          .least = 1,
          .most = 1,
          .file = FileUse::model,
          .is_input = true};
}

OptionRow mask_row(std::optional<std::string>& file) {
  OptionRow row = SettingTable::defaults().row_of(&TrainSettings::mask);  // the same file format as in training
  row.target = &file;
  row.keep = Keep::nowhere;
  row.common = true;
  return row;
}

OptionRow unknown_row(std::string& policy) {
  return {.name = "unknown",
          .target = &policy,
          .placeholder = "error|skip",
          .help = "for symbols not in the alphabet: stop, or skip them",
          .choices = {"error", "skip"},
          .group = OptionGroup::data};
}

OptionRow conditions_row(std::optional<std::string>& given) {
  return {.name = "given",
          .target = &given,
          .placeholder = "FIELD=VALUE",
          .help = "for whole sequences (train --ends): conditions that override DATA; separate several by commas",
          .group = OptionGroup::data,
          .common = true,
          .kinds = Kind::fields};
}

OptionRow prime_file_row(std::optional<std::string>& file) {
  return {.name = "prime-file",
          .target = &file,
          .placeholder = "FILE",
          .help = "read the text of --prime from a file; - is standard input",
          .file = FileUse::data,
          .group = OptionGroup::search,
          .kinds = Kind::text};
}

OptionRow sampling_seed_row(Index& seed) {
  return {.name = "seed",
          .target = &seed,
          .placeholder = "N",
          .help = "random seed of the samples",
          .least = 0,
          .group = OptionGroup::search,
          .common = true};
}

OptionRow jobs_row(Index& jobs) {
  return {.name = "jobs",
          .target = &jobs,
          .placeholder = "N",
          .help = "number of concurrent runs, each in a separate process; they share the processors",
          .least = 1,
          .most = 1024,
          .group = OptionGroup::execution,
          .common = true};
}

OptionRow alphabet_size_row(Index& symbols, double most) {
  return {.name = "symbols",
          .target = &symbols,
          .placeholder = "N",
          .help = "size of the alphabet",
          .least = 2,
          .most = most,
          .group = OptionGroup::model};
}

OptionRows statement_rows(TrainSettings& stated) {
  OptionRows rows = table_rows(stated);
  for (OptionRow& row : rows) {
    row.common = false;
    row.default_text = "as in training";
    if (address_of(row.target) != &stated.sequences) continue;
    row.name = "group", row.aliases = {"sequences"};
    row.help = "tables: rows with the same value in this column form a sequence";
  }
  return rows;
}

}  // namespace unfold
