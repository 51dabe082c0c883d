#pragma once
/// What a model would write: samples and the most probable continuations, as calls.

#include <functional>
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
};
struct SampledText {
  std::string text;
  Index symbols = 0;
};
/// One after another, as they are drawn. Throws UsageError (before anything is loaded), DataError, ModelError.
void sample(const SampleRequest& request, const std::function<void(const SampledText&)>& use);
std::vector<SampledText> sample(const SampleRequest& request);

struct CompleteRequest {
  std::string model;       ///< run folder or model file
  BeamOptions beam = {};   ///< `prime` is set here
  std::string prime = {};  ///< what is continued
};
struct CompletedText {
  Completion completion;
  std::string text;
  std::vector<std::string> names;  ///< of its symbols
  double bits() const;
  double probability() const;
};
/// The best first. Throws as sample.
std::vector<CompletedText> complete(const CompleteRequest& request);

}  // namespace unfold
