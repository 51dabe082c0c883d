#pragma once
/// Continuations among what is allowed, and how probable it is that a text goes on with something that is.
///
///   complete({.model = "run", .prime = "Tel. ", .allowed = {.match = "[0-9]{3}-[0-9]{4}"}}, remark);

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
  DecodeOptions search = {};      ///< `prime` and `symbol_bounds` are set here
  MatchOptions probability = {};  ///< so are `prime` and `length`
};

/// The best first. Without `match` and `words`: of `search.length` symbols. Throws as sample, and UsageError.
std::vector<CompletedText> complete(const MatchRequest& request, const std::function<void(const std::string&)>& remark);
/// Of a hidden Markov model exactly.
MatchProbability match_probability(const MatchRequest& request, const std::function<void(const std::string&)>& remark);

/// As the command prints them: a heading and a line each, or an object.
std::string completions_text(const std::vector<CompletedText>& found);
nlohmann::ordered_json completions_json(const std::vector<CompletedText>& found);
std::string match_text(const MatchProbability& found);
nlohmann::ordered_json match_json(const MatchProbability& found);

}  // namespace unfold
