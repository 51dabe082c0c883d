#include "app/fasta/fasta_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "app/settings/train_settings.h"
#include "base/printable.h"
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

void require_letters(const Alphabet& alphabet, const Input& input, const FastaFile& file) {
  if (alphabet.kind() == SymbolKind::words) return;
  const auto is_known = [&](char c) { return alphabet.find(std::string_view(&c, 1)) != kNoSymbol; };
  std::array<bool, 256> known{};
  for (std::size_t byte = 0; byte < known.size(); ++byte)
    known[byte] = static_cast<char>(byte) == '\n' || is_known(static_cast<char>(byte));
  const auto unknown =
      std::ranges::find_if(file.letters, [&](char c) { return !known[static_cast<unsigned char>(c)]; });
  if (unknown == file.letters.end()) return;
  const Index place = unknown - file.letters.begin();
  const auto record = std::ranges::upper_bound(file.ends, place) - file.ends.begin();
  const bool masked = *unknown >= 'a' && *unknown <= 'z' && is_known(static_cast<char>(*unknown - 'a' + 'A'));
  throw DataError(fmt::format(
      "{}: line {}: \"{}\" in the record {} is not in the alphabet of {} {}; {}skip such letters (--unknown "
      "skip), or train on data that contains them",
      input.name(), fasta_line_of(input, place), *unknown, in_quotes(file.names[at(record)]), alphabet.size(),
      to_string(alphabet.kind()), masked ? "convert lower-case letters to upper case, " : ""));
}

std::vector<Input> fasta_inputs(const std::vector<Input>& inputs, bool lines, const Alphabet* required) {
  std::vector<Input> result;
  for (const Input& input : inputs) {
    FastaFile file = read_fasta(input);
    if (required != nullptr) require_letters(*required, input, file);
    append_records(result, input.name(), std::move(file), lines);
  }
  return result;
}

std::optional<std::string> letters_without_header(std::string_view text, bool lines) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || std::string_view(">@;").find(text[first]) != std::string_view::npos)
    return std::nullopt;
  std::string letters(text);
  std::erase_if(letters, [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; });
  if (lines) letters += '\n';
  return letters;
}

}  // namespace unfold
