#pragma once
/// IDX files (LeCun's format of MNIST): a big-endian header (two zero bytes, the type, the number of dimensions, the
/// sizes as 32-bit numbers), followed by the elements. Only unsigned bytes (type 8) are supported.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "unfold/base/formats/file.h"

namespace unfold {

class Idx {
 public:
  /// Compressed files (.gz and others) are unpacked. Throws DataError if the file is missing or damaged, has a
  /// different type, or has a length that does not match the sizes.
  static Idx open(const std::string& path) { return Idx(Input::open(path)); }
  explicit Idx(Input input);

  const std::string& name() const { return input_.name(); }
  const std::vector<Index>& shape() const { return shape_; }
  std::span<const std::uint8_t> bytes() const { return bytes_; }  ///< the elements, last dimension fastest

 private:
  Input input_;
  std::vector<Index> shape_;
  std::span<const std::uint8_t> bytes_;
};

}  // namespace unfold
