#include "loss/draw.h"
#include "numerics/functions.h"
#include "unfold/loss/rows.h"

namespace unfold {

template <class T>
Symbol sample_symbol(std::span<const T> log_probabilities, Random& random) {
  const Index drawn = draw_by_logs(log_probabilities, random);
  if (drawn < 0)
    throw UsageError("sample_symbol: no symbol has a positive probability; check that the signal is finite");
  return static_cast<Symbol>(drawn);
}

template <class T>
void sample_bits(std::span<const T> signal, Random& random, T* bits) {
  const auto n = static_cast<Index>(signal.size());
  vector_sigmoid(signal.data(), bits, n);
  for (Index i = 0; i < n; ++i) bits[i] = random.uniform() < bits[i] ? T{1} : T{0};
}

template <class T>
void sample_gaussian(std::span<const T> mean, Random& random, T* values) {
  for (std::size_t i = 0; i < mean.size(); ++i) values[i] = static_cast<T>(mean[i] + random.normal());
}

template Symbol sample_symbol<float>(std::span<const float>, Random&);
template Symbol sample_symbol<double>(std::span<const double>, Random&);
template void sample_bits<float>(std::span<const float>, Random&, float*);
template void sample_bits<double>(std::span<const double>, Random&, double*);
template void sample_gaussian<float>(std::span<const float>, Random&, float*);
template void sample_gaussian<double>(std::span<const double>, Random&, double*);

}  // namespace unfold
