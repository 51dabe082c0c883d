#pragma once
/// Constrained completion of text, and the probability that a continuation satisfies a constraint.
///
///   complete({.model = "run", .prime = "Tel. ", .allowed = {.match = "[0-9]{3}-[0-9]{4}"}}, warn);

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/sample/sample.h"
#include "model/decoding/decode.h"
#include "model/decoding/match_probability.h"

namespace unfold {

/// Constraints on continuations; all of them must hold.
struct AllowedTexts {
  std::optional<std::string> match =
      {};  ///< a regular expression (model/decoding/expression.h) that the whole continuation matches
  std::optional<std::string> words =
      {};           ///< a file of allowed words (model/decoding/lexicon.h); the last word of the prime may be continued
  Index least = 1;  ///< minimum number of symbols
};

struct MatchRequest {
  std::string model = {};  ///< run folder or model file
  std::string prime = {};  ///< text to continue
  AllowedTexts allowed = {};
  BeamOptions beam = {};                 ///< length, beam (at least one per group), count and length normalization
  DecodeOptions search = {};             ///< groups, diversity and `prove`; other members are overwritten
  MatchOptions probability = {};         ///< samples and seed; other members are overwritten
  std::optional<Index> expansions = {};  ///< limit on expansions for both searches; unset: their defaults
  bool wants_probability = false;        ///< whether `answer_text` and `answer_json` return a probability
};

/// Returns completions, best first. Without `match` and `words`, they have `beam.length` symbols. Throws the same
/// exceptions as `sample`, and UsageError. `warn` receives a warning about omitted words.
using Warn = std::function<void(const std::string&)>;
std::vector<CompletedText> complete(const MatchRequest& request, const Warn& warn);
/// Returns the probability that a continuation satisfies the constraints; exact for hidden Markov models.
MatchProbability match_probability(const MatchRequest& request, const Warn& warn);

/// The output format of the command: a header and one line per completion, or a JSON object.
std::string completions_text(const std::vector<CompletedText>& found);
nlohmann::ordered_json completions_json(const std::vector<CompletedText>& found);
/// Returns the completions, or the probability of a match if `wants_probability`.
std::string answer_text(const MatchRequest& request, const Warn& warn);
nlohmann::ordered_json answer_json(const MatchRequest& request, const Warn& warn);

}  // namespace unfold
