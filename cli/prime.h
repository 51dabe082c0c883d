#pragma once
/// The prime of sample and complete: --prime TEXT or --prime-file FILE.

#include <optional>
#include <string>

#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"

namespace unfold {

/// Throws UsageError if both are set, and DataError if the file does not exist.
inline void take_prime(const std::optional<std::string>& file, std::string& prime) {
  if (!file) return;
  if (!prime.empty()) throw UsageError("--prime and --prime-file cannot be combined; leave one of them out");
  prime = std::string(Input::open(*file).bytes());
}

}  // namespace unfold
