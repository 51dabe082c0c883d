#include "unfold/app/train_material.h"

#include "unfold/app/fasta_data.h"
#include "unfold/data/labels.h"

namespace unfold {
namespace {

/// DATA as running text. `log`: how logs are read; nullptr for other data.
std::vector<Input> read_data(TrainSettings& s, LogTraining* log, Reporter& reporter) {
  if (log != nullptr) return log->read_data(open_inputs(s.data), s, reporter);
  if (is_fasta(s)) return read_fasta_data(open_inputs(s.data), s, reporter);
  return unlabelled(open_inputs(s.data), s.label_column, s.only_label);
}

/// Another file, read in the same way.
std::vector<Input> read_more(const std::string& file, const TrainSettings& s, const LogTraining* log) {
  if (log != nullptr) return log->read_more(open_inputs({file}), s);
  if (is_fasta(s)) return fasta_inputs(open_inputs({file}), s.lines);
  return unlabelled(open_inputs({file}), s.label_column, s.only_label);
}

}  // namespace

Material load_material(TrainSettings& s, LogTraining* log, Reporter& reporter) {
  std::vector<Input> inputs = read_data(s, log, reporter);
  Alphabet alphabet = build_alphabet(
      inputs,
      {.kind = parse_symbol_kind(s.symbols),
       .vocabulary = s.vocabulary,
       .with_unknown = log != nullptr || (s.valid.has_value() && parse_symbol_kind(s.symbols) == SymbolKind::words)});
  const UnknownPolicy unknown = parse_unknown_policy(s.unknown);
  Material material{.corpus = Corpus::load(std::move(inputs), alphabet, {.unknown = unknown, .lines = s.lines}),
                    .valid = std::nullopt,
                    .training = {},
                    .validation = {}};
  if (s.mask) material.corpus.set_mask(Input::open(*s.mask));
  if (s.valid) {
    material.valid = Corpus::load(read_more(*s.valid, s, log), alphabet, {.unknown = unknown, .lines = s.lines});
    if (s.valid_mask) material.valid->set_mask(Input::open(*s.valid_mask));
    material.training = whole_corpus(material.corpus, "training");
    material.validation = whole_corpus(*material.valid, "validation");
  } else {
    auto [training, validation, test] = split_corpus(material.corpus, parse_split(*s.split));
    material.has_test = !test.empty();
    material.training = std::move(training);
    material.validation = std::move(validation);
  }
  return material;
}

}  // namespace unfold
