#pragma once
/// FASTA and FASTQ as training and verbs read them (readers/fasta.h): the letters in the place of the files. Where a
/// file of DATA holds several records, every record is a line and so a sequence of its own, whose end is a symbol that
/// the model predicts; else every record is a sequence without an end.

#include <vector>

#include "unfold/base/file.h"
#include "unfold/capabilities/symbol_model.h"
#include "unfold/runs/reporter.h"
#include "unfold/runs/train_settings.h"

namespace unfold {

bool is_fasta(const TrainSettings& settings);
/// Whether the model was trained on such data.
bool is_fasta(const SymbolModel& model);

/// The files of DATA; says what was found and settles `lines`. Throws DataError.
std::vector<Input> read_fasta_data(const std::vector<Input>& inputs, TrainSettings& settings, Reporter& reporter);
/// Other files, read in the same way. Throws DataError.
std::vector<Input> fasta_inputs(const std::vector<Input>& inputs, bool lines);

}  // namespace unfold
