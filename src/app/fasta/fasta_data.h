#pragma once
/// FASTA and FASTQ input for training and the commands (data/readers/fasta.h). The sequence letters replace the file
/// contents. If a file of DATA has several records, each record becomes a line, which is a sequence with an end symbol
/// that the model predicts; otherwise each record is a sequence without an end symbol.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/common/reporter.h"
#include "app/settings/train_settings.h"
#include "data/readers/fasta.h"
#include "unfold/base/formats/file.h"
#include "unfold/model/symbol_model.h"

namespace unfold {

bool is_fasta(const TrainSettings& settings);
/// Returns whether the model was trained on FASTA or FASTQ data.
bool is_fasta(const SymbolModel& model);

/// Reads the files of DATA, reports a summary, and sets `lines`. Throws DataError.
std::vector<Input> read_fasta_data(const std::vector<Input>& inputs, TrainSettings& settings, Reporter& reporter);
/// Reads further files in the same way. Throws DataError, also for letters that are not in the alphabet `required`
/// (null: any letters).
std::vector<Input> fasta_inputs(const std::vector<Input>& inputs, bool lines, const Alphabet* required = nullptr);
/// Throws DataError that names the line of the first letter that is not in an alphabet of characters or bytes.
void require_letters(const Alphabet& alphabet, const Input& input, const FastaFile& file);
/// Returns the letters of a text without blanks and line breaks, as one record; no value if the text begins with a
/// header. `lines`: a line ending follows the record.
std::optional<std::string> letters_without_header(std::string_view text, bool lines);

}  // namespace unfold
