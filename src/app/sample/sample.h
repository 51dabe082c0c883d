#pragma once
/// Samples and most probable continuations from a model.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "unfold/model/decoding/completion.h"
#include "unfold/model/decoding/sampling.h"

namespace unfold {

struct SampleRequest {
  std::string model;              ///< run folder or model file
  SamplingOptions sampling = {};  ///< `prime` and `number` are overwritten
  std::string prime = {};         ///< read before sampling; not part of the sample
  Index count = 1;
  /// For models trained with --lines: each sample is one line with its end. It is not empty unless the training data
  /// contains empty lines.
  bool by_line = false;
  std::vector<std::string> given = {};  ///< for models of whole sequences: "FIELD=VALUE" (app/fields/condition.h)
};
/// A block of a sample. Memory does not grow with the length of the sample.
struct SampledBlock {
  Index number = 0;  ///< index of the sample, from 0
  std::string text;  ///< empty only for a sample without symbols
  Index symbols = 0;
  bool last = false;  ///< last block of the sample
};
/// Returns whether a run folder or model file holds a text model whose lines are separate sequences.
bool samples_lines(const std::string& model);
/// Draws the samples one after another and passes each block to `use` as it is drawn. Throws UsageError (before
/// anything is loaded), DataError, and ModelError (including for non-finite predictions).
void sample(const SampleRequest& request, const std::function<void(const SampledBlock&)>& use);

struct SampledText {
  std::string text;
  Index symbols = 0;
};
std::vector<SampledText> sample(const SampleRequest& request);

/// A whole sequence.
struct SampledSequence {
  std::string text = {};
  Index symbols = 0;
  bool ended = false;  ///< false: stopped by `length`
  double nats = 0;     ///< -ln of the probability, including the end or length
};
/// For models that read data with fields: samples whole sequences (`train --ends`) or targets of a source. Only the
/// length, the filters and the seed of `sampling` are used. Throws like sample, and UsageError for models without
/// sequence ends.
std::vector<SampledSequence> sample_sequences(const SampleRequest& request, Index threads);

/// A whole sequence of numbers.
struct SampledNumbers {
  std::vector<double> values = {};  ///< [positions x columns]
  bool ended = false;               ///< false: stopped by `length`
  double nats = 0;                  ///< -ln of the density, including the probability of the end or length
  std::vector<Index> states = {};   ///< of a hidden Markov model, from 0; otherwise empty
};
struct SampledNumberSequences {
  std::vector<std::string> columns = {};
  std::vector<SampledNumbers> sequences = {};
};
/// Like the function above, for models that satisfy holds_number_sequences(model). Only the length and the seed of
/// `sampling` are used.
SampledNumberSequences sample_number_sequences(const SampleRequest& request, Index threads);
/// Draws sequences of `length` positions from a model that satisfies holds_hidden_markov(model)
/// (app/predict/hidden_markov.h).
SampledNumberSequences sample_hidden_markov(const SampleRequest& request);

struct CompleteRequest {
  std::string model;       ///< run folder or model file
  BeamOptions beam = {};   ///< `prime` is overwritten; without `stop`, models of lines stop at the end of the line
  std::string prime = {};  ///< text to continue
};
struct CompletedText {
  Completion completion;
  std::string text;
  std::vector<std::string> names;   ///< names of its symbols
  std::optional<bool> proved = {};  ///< for searches that support it: true if no better allowed completion exists
  double bits() const;
  double probability() const;
};
/// Returns completions, best first. Throws like sample.
std::vector<CompletedText> complete(const CompleteRequest& request);

/// Encodes a prime. Throws DataError for symbols not in the alphabet, which cannot be continued.
std::vector<Symbol> encode_prime(const Alphabet& alphabet, const std::string& text);

}  // namespace unfold
