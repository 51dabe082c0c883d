#pragma once
/// `unfold bench --model ppm --profile`: what a symbol costs models that are no networks, stage by stage, beside the
/// least that their work needs on this machine.
///
///   learn while they read   operations: decisions (bits of a symbol, questions), of which each is estimated, coded and
///                           learnt from; attainable: what a decision takes where two letters alone follow each other,
///                           so that all that is touched lies in near caches; the coder: by itself
///   hmm                     an iteration of Baum-Welch; operations: 6 N^2, of the products over states; attainable:
///                           as many fused multiply-adds as the processor can do in double
///   ngram                   a fit, and reading afterwards; operations: n-grams made, or looked up; attainable: the
///                           bytes of n-grams read or written once at the rate of memory; a line of memory for each
///                           that is looked up, as fast as lines come from wherever all of them lie

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "unfold/base/team.h"
#include "unfold/studies/profile.h"

namespace unfold {

struct SymbolCost {
  std::string model = {};                ///< canonical SPEC
  std::string unit = {};                 ///< of operations
  Index symbols = 0;                     ///< of the text
  std::vector<ProfileLine> lines = {};   ///< of one symbol: these add up
  std::vector<ProfileLine> beside = {};  ///< the way back: decoding, reading

  double seconds() const;
  double attainable_seconds() const;
};

/// Times are the least of several runs within about `seconds`, at least two; processor time for a team of one. Learners
/// read all bytes as symbols, others those that occur. Throws UsageError: a model that is trained by gradient, or that
/// has no account; a text of fewer than 1000 bytes.
SymbolCost measure_symbol_cost(const std::string& model, const std::string& text, Team& team, double seconds);

/// Words of a made-up language, the frequent ones often, each more probable after some than after others.
std::string made_up_text(Index bytes);

std::string to_text(const SymbolCost& cost);
nlohmann::ordered_json to_json(const SymbolCost& cost);

}  // namespace unfold
