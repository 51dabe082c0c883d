#pragma once
/// Generated pairs of a source and the target that it becomes, whose lengths differ and of which no single symbol
/// decides: a word that was copied several times, each time with errors.
///
///   dacb/dcb/daacb	dacb        the word is d a c b; the second copy lost a symbol, the third got one
///
/// They are files of the format `pairs` (readers/read_pairs.cpp). Errors may agree by chance, so that nobody is always
/// right.

#include <string>
#include <string_view>

#include "unfold/base/registry.h"

namespace unfold {

/// Words of `length` / 2 (rounded up) to `length` letters, each length and each of `symbols` letters as probable as the
/// others. Of each of `copies`: before each letter and at the end stands, with the probability `errors` / 3, a random
/// letter more; with the same probability the letter is left out, or is another one.
struct NoisyCopiesOptions {
  Index length = 10;
  Index symbols = 8;
  Index copies = 3;
  double errors = 0.1;
};

struct GeneratedPairs {
  std::string text;   ///< a line a pair
  Index symbols = 0;  ///< of sources, with what stands between copies
  Index labels = 0;   ///< symbols of targets
};

bool is_pair_task(std::string_view spec);
/// The same for a SPEC, seed and count on every machine. Throws UsageError: an unknown option, a value out of range.
GeneratedPairs generate_pairs(std::string_view spec, std::uint64_t seed, Index count);
std::vector<EntryHelp> pair_tasks();

}  // namespace unfold
