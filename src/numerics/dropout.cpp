#include "numerics/dropout.h"

#include <cmath>
#include <string>

#include "numerics/mix_bits.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {

template <class T>
void dropout_mask(std::uint64_t seed, std::uint64_t stream, const std::uint64_t* keys, double rate, Matrix<T> mask) {
  if (!(rate >= 0 && rate < 1)) {
    throw UsageError("dropout rate " + std::to_string(rate) + ": must be at least 0 and less than 1");
  }
  // A word below the threshold drops its element: the probability is `rate` to 32 bits.
  const auto threshold = static_cast<std::uint64_t>(std::nearbyint(rate * 0x1p32));
  const T kept = static_cast<T>(1 / (1 - rate));
  for (Index r = 0; r < mask.rows; ++r) {
    const std::uint64_t row_stream = mix_bits(stream ^ mix_bits(keys[r] + 0x9e3779b97f4a7c15u));
    T* row = mask.row(r);
    for (Index c = 0; c < mask.cols; c += 4) {
      const auto words = philox(seed, row_stream, static_cast<std::uint64_t>(c / 4));
      const Index count = mask.cols - c < 4 ? mask.cols - c : 4;
      for (Index i = 0; i < count; ++i) row[c + i] = words[static_cast<std::size_t>(i)] < threshold ? T{0} : kept;
    }
  }
}

template void dropout_mask<float>(std::uint64_t, std::uint64_t, const std::uint64_t*, double, Matrix<float>);
template void dropout_mask<double>(std::uint64_t, std::uint64_t, const std::uint64_t*, double, Matrix<double>);

}  // namespace unfold
