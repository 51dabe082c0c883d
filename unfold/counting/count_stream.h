#pragma once
/// Keys and how often they were seen, one after the other in rising order.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace unfold {

using Code = std::uint32_t;  ///< a part of a key: a symbol, or what stands for an end

struct CountedKey {
  std::vector<Code> codes;
  std::uint32_t count = 0;
};

class CountStream {
 public:
  virtual ~CountStream() = default;
  /// The next key, greater than the one before by its first code that differs; false: there is none, and `key` is as
  /// it was. All keys have as many codes. Throws RuntimeFailure where they come from a file or another process.
  virtual bool next(CountedKey& key) = 0;
};

/// All keys of some streams, with the sums of their counts.
std::unique_ptr<CountStream> merge(std::vector<std::unique_ptr<CountStream>> streams);

}  // namespace unfold
