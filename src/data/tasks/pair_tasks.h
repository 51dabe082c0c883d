#pragma once
/// Generated pairs of a source and a target of different lengths, where no single symbol determines the target: the
/// source holds several copies of a word, each with errors, and the target is the word.
///
///   dacb/dcb/daacb	dacb        the word is d a c b; the second copy lost a symbol, the third gained one
///
/// The pairs are written in the format `pairs` (data/readers/read_pairs.cpp). Errors can coincide by chance, so no
/// model is always right.

#include <string>
#include <string_view>

#include "unfold/base/options/registry.h"

namespace unfold {

/// Words of `length` / 2 (rounded up) to `length` letters, uniform over lengths and over the `symbols` letters. In each
/// of the `copies`, before each letter and at the end, a random letter is inserted with probability `errors` / 3; each
/// letter is deleted with the same probability, and substituted with the same probability.
struct NoisyCopiesOptions {
  Index length = 10;
  Index symbols = 8;
  Index copies = 3;
  double errors = 0.1;
};

struct GeneratedPairs {
  std::string text;   ///< one pair per line
  Index symbols = 0;  ///< symbols of sources, including the separator between copies
  Index labels = 0;   ///< symbols of targets
};

bool is_pair_task(std::string_view spec);
/// Generates `count` pairs. The result depends only on SPEC, seed and count, and is the same on every machine. Throws
/// UsageError for an unknown option or a value out of range.
GeneratedPairs generate_pairs(std::string_view spec, std::uint64_t seed, Index count);
std::vector<EntryHelp> pair_tasks();

}  // namespace unfold
