#pragma once
/// A stream of keys, in ascending order, and their counts.

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace unfold {

using Code = std::uint32_t;  ///< one element of a key: a symbol or the end marker

struct CountedKey {
  std::vector<Code> codes;
  std::uint32_t count = 0;
};

class CountStream {
 public:
  virtual ~CountStream() = default;
  /// Reads the next key; keys are strictly ascending in lexicographic order. Returns false at the end and leaves `key`
  /// unchanged. All keys have the same number of codes. Throws RuntimeFailure if the stream comes from a file or from
  /// another process.
  virtual bool next(CountedKey& key) = 0;
  /// Returns a bound on the number of keys; the largest number if it is unknown.
  virtual std::size_t most_keys() const { return std::numeric_limits<std::size_t>::max(); }
};

/// Merges streams and adds up the counts of equal keys.
std::unique_ptr<CountStream> merge(std::vector<std::unique_ptr<CountStream>> streams);

}  // namespace unfold
