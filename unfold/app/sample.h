#pragma once
/// What a model would write: samples and the most probable continuations, as calls.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "unfold/models/beam.h"
#include "unfold/models/sampling.h"

namespace unfold {

struct SampleRequest {
  std::string model;              ///< run folder or model file
  SamplingOptions sampling = {};  ///< `prime` and `number` are set here
  std::string prime = {};         ///< read first; not part of the sample
  Index count = 1;
  std::vector<std::string> given = {};  ///< of models of whole sequences: "FIELD=VALUE" (fields/given.h)
};
/// A piece of a sample. However long a sample is, nothing is kept of it but its piece.
struct SampledBlock {
  Index number = 0;  ///< of its sample, from 0
  std::string text;  ///< empty only in a sample without symbols
  Index symbols = 0;
  bool last = false;  ///< of its sample
};
/// One sample after another, block by block as they are drawn. Throws UsageError (before anything is loaded),
/// DataError, ModelError (also for predictions that are not finite).
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
  bool ended = false;  ///< false: `length` came first
  double nats = 0;     ///< -ln of its probability, of its end or length too
};
/// Of models of data with fields: sequences with their ends (`train --ends`), or targets of a source. Of `sampling` the
/// length, the filters and the seed count. Throws as sample, and UsageError for models without ends.
std::vector<SampledSequence> sample_sequences(const SampleRequest& request, Index threads);

/// A whole sequence of numbers.
struct SampledNumbers {
  std::vector<double> values = {};  ///< [positions x columns]
  bool ended = false;               ///< false: `length` came first
  double nats = 0;                  ///< -ln of its density, and of the probability of its end or length
};
struct SampledNumberSequences {
  std::vector<std::string> columns = {};
  std::vector<SampledNumbers> sequences = {};
};
/// The same of models for which holds_number_sequences(model). Of `sampling` the length and the seed count.
SampledNumberSequences sample_number_sequences(const SampleRequest& request, Index threads);

struct CompleteRequest {
  std::string model;       ///< run folder or model file
  BeamOptions beam = {};   ///< `prime` is set here
  std::string prime = {};  ///< what is continued
};
struct CompletedText {
  Completion completion;
  std::string text;
  std::vector<std::string> names;   ///< of its symbols
  std::optional<bool> proved = {};  ///< of searches that know: nothing else that is allowed is better
  double bits() const;
  double probability() const;
};
/// The best first. Throws as sample.
std::vector<CompletedText> complete(const CompleteRequest& request);

/// A prime as symbols: what is not in the alphabet cannot be continued. Throws DataError.
std::vector<Symbol> encode_prime(const Alphabet& alphabet, const std::string& text);

}  // namespace unfold
