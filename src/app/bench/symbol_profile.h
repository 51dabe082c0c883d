#pragma once
/// `unfold bench --model ppm --profile`: the time per symbol of models that are not networks, by stage, compared with
/// the attainable time on this machine.
///
///   online learners   operations: decisions (bits of a symbol, or yes-or-no questions), each of which is estimated,
///                     coded and learned from; attainable: time of a decision on a text of only two letters, where all
///                     data stays in the L1 and L2 caches; the coder is measured separately
///   hmm               an iteration of Baum-Welch; operations: 6 N^2, of the products over states; attainable: peak
///                     rate of fused multiply-adds in double
///   ngram             a fit, and reading afterwards; operations: n-grams created or looked up; attainable: the bytes
///                     of the n-grams, read or written once at memory bandwidth; for lookups, one random access to a
///                     cache line each, at the speed of the memory level that holds the whole table

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/bench/profile.h"
#include "unfold/base/threads/team.h"

namespace unfold {

struct SymbolProfile {
  std::string model = {};                ///< canonical SPEC
  std::string unit = {};                 ///< unit of the operations
  Index symbols = 0;                     ///< number of symbols in the text
  std::vector<ProfileLine> lines = {};   ///< stages of a symbol; their seconds add up to the total
  std::vector<ProfileLine> beside = {};  ///< other operations: decoding, reading

  double seconds() const;
  double attainable_seconds() const;
};

/// Times are the minimum over at least two repetitions that take about `seconds` in total; for a team of one thread,
/// they are CPU time. The alphabet contains all bytes for online learners, and only the bytes that occur for other
/// models. Throws UsageError for models that are trained by gradient descent or not supported here, and for a text of
/// fewer than 1000 bytes.
SymbolProfile measure_symbol_cost(const std::string& model, const std::string& text, Team& team, double seconds);

/// Returns words of an artificial language with Zipf-distributed frequencies, in which a word's probability depends on
/// its predecessor.
std::string artificial_text(Index bytes);

std::string to_text(const SymbolProfile& cost);
nlohmann::ordered_json to_json(const SymbolProfile& cost);

}  // namespace unfold
