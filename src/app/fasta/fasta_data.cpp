#include "app/fasta/fasta_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/settings/train_settings.h"
#include "data/readers/fasta.h"

namespace unfold {
namespace {

/// Appends the records of a file, either as lines of one input or as separate inputs without an end symbol.
void append_records(std::vector<Input>& out, const std::string& name, FastaFile file, bool lines) {
  if (lines) {
    out.push_back(Input::from_bytes(name, std::move(file.letters)));
    return;
  }
  Index begin = 0;
  for (std::size_t i = 0; i < file.ends.size(); ++i) {
    const Index end = file.ends[i];
    out.push_back(Input::from_bytes(
        fmt::format("{} ({})", name, file.names[i]),
        file.letters.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - 1 - begin))));
    begin = end;
  }
}

/// Summarizes a file: "x.fna: 3 records, 4200 letters, 12 of them in lower case".
std::string found_in(const std::string& name, const FastaFile& file) {
  const Index letters = static_cast<Index>(file.letters.size()) - file.count();
  return fmt::format("{}: {} {}, {} letters{}{}", name, file.count(), file.count() == 1 ? "record" : "records", letters,
                     file.has_qualities ? ", qualities ignored" : "",
                     file.lower_case > 0 && file.lower_case < letters
                         ? fmt::format(", {} of them in lower case, which count as separate symbols", file.lower_case)
                         : "");
}

}  // namespace

bool is_fasta(const TrainSettings& settings) { return settings.format == kFastaFormat; }

bool is_fasta(const SymbolModel& model) {
  const auto found = model.configuration().find(name_of(&TrainSettings::format));
  return found != model.configuration().end() && *found == std::string(kFastaFormat);
}

std::vector<Input> read_fasta_data(const std::vector<Input>& inputs, TrainSettings& settings, Reporter& reporter) {
  std::vector<FastaFile> files;
  files.reserve(inputs.size());
  for (const Input& input : inputs) {
    files.push_back(read_fasta(input));
    reporter.remark(found_in(input.name(), files.back()));
  }
  settings.lines = settings.lines || std::ranges::any_of(files, [](const FastaFile& file) { return file.count() > 1; });
  std::vector<Input> result;
  for (std::size_t i = 0; i < files.size(); ++i)
    append_records(result, inputs[i].name(), std::move(files[i]), settings.lines);
  return result;
}

std::vector<Input> fasta_inputs(const std::vector<Input>& inputs, bool lines) {
  std::vector<Input> result;
  for (const Input& input : inputs) append_records(result, input.name(), read_fasta(input), lines);
  return result;
}

}  // namespace unfold
