#include "data/files/idx.h"

#include <fmt/format.h>

#include "unfold/base/error.h"

namespace unfold {

Idx::Idx(Input input) : input_(std::move(input)) {
  const std::string_view text = input_.bytes();
  const std::span<const std::uint8_t> all(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  if (all.size() < 4 || all[0] != 0 || all[1] != 0)
    throw DataError(fmt::format("{} is not an IDX file: it does not begin with two zero bytes", name()));
  if (all[2] != 8)
    throw DataError(fmt::format("{}: only bytes (0x8) are supported, not elements of type {:#x}", name(), all[2]));
  const std::size_t dimensions = all[3], header = 4 + 4 * dimensions;
  if (dimensions == 0 || dimensions > 4 || all.size() < header)
    throw DataError(fmt::format("{}: the IDX header is truncated, or its number of dimensions, {}, is not from 1 to 4",
                                name(), dimensions));
  std::uint64_t elements = 1;
  for (std::size_t d = 0; d < dimensions; ++d) {
    std::uint64_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) size = size << 8 | all[4 + 4 * d + i];
    shape_.push_back(static_cast<Index>(size));
    // The size is checked at every step, so the product cannot overflow.
    elements *= size;
    if (elements > all.size())
      throw DataError(fmt::format("{}: the sizes in the header exceed the size of the file", name()));
  }
  if (elements != all.size() - header)
    throw DataError(fmt::format("{}: there are {} bytes of elements, but the sizes require {}", name(),
                                all.size() - header, elements));
  bytes_ = all.subspan(header);
}

}  // namespace unfold
