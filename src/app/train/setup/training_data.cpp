#include "app/train/setup/training_data.h"

#include <algorithm>
#include <filesystem>

#include "app/fasta/fasta_data.h"
#include "app/settings/evaluation_split.h"
#include "base/formats/decompress.h"
#include "data/counts/corpus_survey.h"
#include "data/readers/memory_data.h"
#include "data/text/labels.h"
#include "distributed/consistency.h"
#include "train/text_sources.h"
#include "unfold/base/threads/team.h"

namespace unfold {
namespace {

/// Returns the texts in memory that have the name of the first file; otherwise the contents of the files.
std::vector<Input> inputs_of(const std::vector<std::string>& files) {
  const MemoryData* memory = MemoryFiles::find(files.front());
  return memory != nullptr ? memory->texts : open_inputs(files);
}

/// Reads DATA as running text. `log` has the settings for logs; nullptr for other data.
std::vector<Input> read_data(TrainSettings& s, LogTraining* log, Reporter& reporter) {
  if (log != nullptr) return log->read_data(inputs_of(s.data), s, reporter);
  if (is_fasta(s)) return read_fasta_data(inputs_of(s.data), s, reporter);
  return unlabeled(inputs_of(s.data), s.label_column, s.only_label);
}

/// Reads a further file in the same way.
std::vector<Input> read_more(const std::string& file, const TrainSettings& s, const LogTraining* log) {
  if (log != nullptr) return log->read_more(inputs_of({file}), s);
  if (is_fasta(s)) return fasta_inputs(inputs_of({file}), s.lines);
  return unlabeled(inputs_of({file}), s.label_column, s.only_label);
}

AlphabetOptions alphabet_options(const TrainSettings& s, bool is_log) {
  const SymbolKind kind = parse_symbol_kind(s.symbols);
  return {.kind = kind,
          .vocabulary = s.vocabulary,
          .with_unknown = is_log || (s.valid.has_value() && kind == SymbolKind::words)};
}

/// Returns the number of blocks to cache: one per position that a process reads concurrently, that is, for each batch
/// lane and each validation lane. With restarts, it counts the lanes of all candidates trained at the same time.
Index kept_blocks(const TrainSettings& s, const Processes& processes) {
  const Index validation = TrainerOptions().validation_streams, shards = s.shards.value_or(1);
  if (s.restarts > 1) return std::min<Index>(s.restarts, thread_count(0)) * (s.batch + validation);
  if (reads_whole_batches(s.optimizer)) return s.batch + validation;
  const Range own = share_of_process(shards, processes.number(), processes.count());
  return (s.batch + shards - 1) / shards * own.size() + validation;
}

bool are_files(const std::vector<std::string>& paths) {
  std::error_code ignored;
  return std::ranges::all_of(paths,
                             [&](const std::string& path) { return std::filesystem::is_regular_file(path, ignored); });
}

Corpus read_in_parts(const TrainSettings& s, Processes& processes) {
  CorpusSurvey found = survey_corpus(s.data, alphabet_options(s, false), processes);
  return Corpus::of_blocks(std::move(found.files), found.marks, std::move(found.alphabet), kept_blocks(s, processes));
}

}  // namespace

bool is_read_in_parts(const TrainSettings& s) {
  const bool plain = std::ranges::all_of(
      s.data, [](const std::string& file) { return file != "-" && compression_of(file) == Compression::none; });
  return plain && !s.task && !s.follow && !has_fields(s) && s.format != kLogFormat && !is_fasta(s) && !s.lines &&
         !s.label_column && !s.only_label && !s.mask && !s.copy_matching_parameters;
}

std::string fingerprint_of_data(const TrainSettings& s) {
  std::vector<std::string> files = s.data;
  if (s.valid) files.push_back(*s.valid);
  std::string all;
  for (const std::string& file : files) {
    std::error_code ignored;
    if (s.follow || !std::filesystem::is_regular_file(file, ignored)) return {};
    all += fingerprint_of_parts(file);
  }
  return files.empty() ? all : fingerprint(std::as_bytes(std::span(all)));
}

Material load_training_corpora(TrainSettings& s, LogTraining* log, const InitialModel* known, bool limited,
                               Reporter& reporter, Processes& processes) {
  const UnknownPolicy unknown = parse_unknown_policy(s.unknown);
  const auto whole = [&] {
    std::vector<Input> inputs = read_data(s, log, reporter);
    Alphabet alphabet =
        known != nullptr ? known->alphabet() : build_alphabet(inputs, alphabet_options(s, log != nullptr));
    return Corpus::load(std::move(inputs), std::move(alphabet), {.unknown = unknown, .lines = s.lines});
  };
  const bool parts = (!processes.alone() || (limited && known == nullptr && are_files(s.data))) && is_read_in_parts(s);
  Material material{
      .corpus = parts ? read_in_parts(s, processes) : whole(), .valid = std::nullopt, .training = {}, .validation = {}};
  if (s.mask) material.corpus.set_mask(Input::open(*s.mask));
  if (s.valid) {
    material.valid =
        Corpus::load(read_more(*s.valid, s, log), material.corpus.alphabet(), {.unknown = unknown, .lines = s.lines});
    if (s.valid_mask) material.valid->set_mask(Input::open(*s.valid_mask));
    material.training = whole_corpus(material.corpus, "training");
    material.validation = whole_corpus(*material.valid, "validation");
  } else {
    auto [training, validation, test] = split_corpus(material.corpus, parse_split(*s.split), split_order(s));
    material.has_test = !test.empty();
    material.training = std::move(training);
    material.validation = std::move(validation);
  }
  return material;
}

}  // namespace unfold
