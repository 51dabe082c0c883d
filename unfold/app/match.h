#pragma once
/// Continuations among what is allowed, and how probable it is that a text goes on with something that is.
///
///   complete({.model = "run", .prime = "Tel. ", .allowed = {.match = "[0-9]{3}-[0-9]{4}"}}, warn);

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "unfold/app/sample.h"
#include "unfold/search/decode.h"
#include "unfold/search/match_probability.h"

namespace unfold {

/// All of them together.
struct AllowedTexts {
  std::optional<std::string> match = {};  ///< a regular expression (search/expression.h) for all of the continuation
  std::optional<std::string> words = {};  ///< a file of words (search/lexicon.h); the last of the prime may go on
  Index least = 1;                        ///< symbols
};

struct MatchRequest {
  std::string model = {};  ///< run folder or model file
  std::string prime = {};  ///< what is continued
  AllowedTexts allowed = {};
  BeamOptions beam = {};                 ///< length, beam (at least one for each group), count and normalisation
  DecodeOptions search = {};             ///< groups, diversity and `prove`; the rest is set here
  MatchOptions probability = {};         ///< samples and seed; the rest is set here
  std::optional<Index> expansions = {};  ///< of either; without it their defaults
  bool asks_probability = false;         ///< of `answer_text` and `answer_json`
};

/// The best first. Without `match` and `words`: of `beam.length` symbols. Throws as sample, and UsageError. `warn`
/// hears of words that are left out.
using Warn = std::function<void(const std::string&)>;
std::vector<CompletedText> complete(const MatchRequest& request, const Warn& warn);
/// Of a hidden Markov model exactly.
MatchProbability match_probability(const MatchRequest& request, const Warn& warn);

/// As the command prints them: a heading and a line each, or an object.
std::string completions_text(const std::vector<CompletedText>& found);
nlohmann::ordered_json completions_json(const std::vector<CompletedText>& found);
/// Completions, or the probability of a match.
std::string answer_text(const MatchRequest& request, const Warn& warn);
nlohmann::ordered_json answer_json(const MatchRequest& request, const Warn& warn);

}  // namespace unfold
