#pragma once
/// Counts keys within a memory limit by external sorting. Keys are counted in a hash table; when it is full, its
/// contents are sorted and written to an unnamed temporary file, and the table is cleared. At the end the sorted pieces
/// are merged.
///
///   auto counts = make_sorted_counts({.codes = 3, .largest = 27, .memory = 64 << 20});
///   counts->add(key);                                       // once per occurrence
///   auto stream = counts->sorted();                         // every distinct key with its count, in order

#include <cstddef>
#include <memory>
#include <span>

#include "data/counts/count_stream.h"
#include "unfold/base/types.h"

namespace unfold {

struct SortedCountsOptions {
  Index codes = 1;                            ///< number of codes per key
  Code largest = 1;                           ///< largest code
  std::size_t memory = std::size_t{1} << 30;  ///< bytes of the table, or of the buffers while the pieces are merged
};

class SortedCounts {
 public:
  virtual ~SortedCounts() = default;
  /// Counts one occurrence of `key`. A key may occur at most 2^32 - 1 times. Throws RuntimeFailure if the file cannot
  /// be written.
  virtual void add(std::span<const Code> key) = 0;
  /// Returns the counts. May be called once, after the last `add`. The stream owns its data.
  virtual std::unique_ptr<CountStream> sorted() = 0;
  /// Returns the number of sorted pieces in the file.
  virtual std::size_t pieces() const = 0;
};

/// REQUIRES at most 16 codes.
std::unique_ptr<SortedCounts> make_sorted_counts(const SortedCountsOptions& options);

}  // namespace unfold
