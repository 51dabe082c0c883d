#pragma once
/// Small texts for the tests in this folder.

#include <fstream>
#include <iterator>
#include <string>

#include "data/tasks/text_source_spec.h"

namespace unfold::testing_support {

/// Returns blocks of a^n b^n; deterministic.
inline std::string blocks(Index count) {
  return generate(*make_text_source("anbn:low=2,high=9"), {.seed = 1, .units = count}).text;
}

inline std::string file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace unfold::testing_support
