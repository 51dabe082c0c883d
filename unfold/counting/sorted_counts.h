#pragma once
/// Counting of keys within a limit of memory. Keys stand in a table; when it is full, they are sorted and go to an
/// unnamed temporary file, and the table begins anew; at the end the sorted pieces are merged.
///
///   auto counts = make_sorted_counts({.codes = 3, .largest = 27, .memory = 64 << 20});
///   counts->add(key);                                       // as often as there are keys
///   auto stream = counts->sorted();                         // every different key with its count, in order

#include <cstddef>
#include <memory>
#include <span>

#include "unfold/base/types.h"
#include "unfold/counting/count_stream.h"

namespace unfold {

struct SortedCountsOptions {
  Index codes = 1;                            ///< of a key
  Code largest = 1;                           ///< code
  std::size_t memory = std::size_t{1} << 30;  ///< bytes of the table, or of the pieces while they are merged
};

class SortedCounts {
 public:
  virtual ~SortedCounts() = default;
  /// One more of this key. A key may be seen 2^32 - 1 times. Throws RuntimeFailure when the file cannot be written.
  virtual void add(std::span<const Code> key) = 0;
  /// To be called once; nothing is added any more. The stream has what it needs.
  virtual std::unique_ptr<CountStream> sorted() = 0;
  /// Sorted pieces in the file.
  virtual std::size_t pieces() const = 0;
};

/// REQUIRES at most 16 codes.
std::unique_ptr<SortedCounts> make_sorted_counts(const SortedCountsOptions& options);

}  // namespace unfold
