#pragma once
/// Capability of losses that are joint distributions of whole vectors: conditional means and samples given some of the
/// numbers.
///
///   const auto& density = loss.need<VectorDensity<float>>("sample");
///   density.sample({signal, parameters}, random, known, values);          // keeps the known values
///
/// Densities with a fixed order (p(x) = prod_d p(x_d | x_1 .. x_d-1)) support means and exact samples only if the known
/// numbers come first; otherwise they draw weighted samples. Densities with any_order() support any set of known
/// numbers.

#include <span>
#include <string>
#include <vector>

#include "unfold/loss/loss.h"

namespace unfold {

/// One row of the signal, and all parameters of the circuit.
template <class T>
struct DensityQuery {
  std::span<const T> signal, parameters;
};

template <class T>
class VectorDensity : public virtual Loss<T> {
 public:
  static constexpr const char* kWhat = "a distribution of whole vectors";

  /// Returns whether any subset of numbers may be known.
  virtual bool any_order() const = 0;
  /// Returns the mean of number d given the known numbers (for a bit, its probability; for a class, the most probable
  /// class); the other entries of `values` are ignored. With a fixed order, the known numbers must be the numbers
  /// before d. Throws UsageError if the conditional is not available.
  virtual double mean(const DensityQuery<T>& question, std::span<const char> known, std::span<const T> values,
                      Index d) const = 0;
  /// For a bit or a class, returns the probability of each value under the same conditions as `mean`; empty for other
  /// numbers.
  virtual std::vector<double> probabilities(const DensityQuery<T>& /*question*/, std::span<const char> /*known*/,
                                            std::span<const T> /*values*/, Index /*d*/) const {
    return {};
  }
  /// Samples all unknown numbers given the known numbers (with a fixed order, each given the numbers before it).
  /// Returns the logarithm of a weight, sum log p(x_d | x_1 .. x_d-1) over the known numbers after the first unknown
  /// number. Samples with these weights follow the conditional distribution (likelihood weighting; Fung & Chang 1990).
  /// If the result is 0, samples are exact.
  virtual double sample(const DensityQuery<T>& question, Random& random, std::span<const char> known,
                        std::span<T> values) const = 0;
};

/// Returns the number of known values before the first unknown value.
inline Index known_at_front(std::span<const char> known) {
  std::size_t count = 0;
  while (count < known.size() && known[count] != 0) ++count;
  return static_cast<Index>(count);
}
/// Returns whether all known values come before the first unknown value.
inline bool is_prefix(std::span<const char> known) {
  for (std::size_t d = at(known_at_front(known)); d < known.size(); ++d)
    if (known[d] != 0) return false;
  return true;
}

}  // namespace unfold
