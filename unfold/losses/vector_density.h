#pragma once
/// Capability of losses that are distributions of whole vectors, whose numbers depend on each other: what a number is
/// expected to be, given others, and draws.
///
///   const auto& density = loss.need<VectorDensity<float>>("sample");
///   density.sample({signal, parameters}, random, known, values);          // keeps the values that are known
///
/// Densities of numbers in a fixed order (p(x) = prod_d p(x_d | x_1 .. x_d-1)) say means where what is known comes
/// first, and draw with weights where it does not; others, any_order(), answer whatever is known.

#include <span>
#include <string>
#include <vector>

#include "unfold/losses/loss.h"

namespace unfold {

/// One row of the signal, and all parameters of the circuit.
template <class T>
struct DensityQuestion {
  std::span<const T> signal, parameters;
};

template <class T>
class VectorDensity : public virtual Loss<T> {
 public:
  static constexpr const char* kWhat = "a distribution of whole vectors";

  /// Whether the known numbers may be any.
  virtual bool any_order() const = 0;
  /// The mean of number d, of a bit its probability, of a class the most probable one, given the known ones; others of
  /// `values` may hold anything. In a fixed order the known ones are those before d. UsageError where it cannot answer.
  virtual double mean(const DensityQuestion<T>& question, std::span<const char> known, std::span<const T> values,
                      Index d) const = 0;
  /// Of a number that is a bit or a class, what each of its values has, given what `mean` is given; of others nothing.
  virtual std::vector<double> probabilities(const DensityQuestion<T>& /*question*/, std::span<const char> /*known*/,
                                            std::span<const T> /*values*/, Index /*d*/) const {
    return {};
  }
  /// Draws all numbers that are not known, given those that are: those before them, of a fixed order. Returns the
  /// logarithm of a weight, sum log p(x_d | x_1 .. x_d-1) over the known numbers behind the first unknown one; draws
  /// weighted so are of the conditional distribution (likelihood weighting; Fung & Chang 1990). 0: draws are exact.
  virtual double sample(const DensityQuestion<T>& question, Random& random, std::span<const char> known,
                        std::span<T> values) const = 0;
};

/// How many numbers are known before the first one that is not.
inline Index known_at_front(std::span<const char> known) {
  std::size_t count = 0;
  while (count < known.size() && known[count] != 0) ++count;
  return static_cast<Index>(count);
}
/// Whether none is known behind the first one that is not.
inline bool is_prefix(std::span<const char> known) {
  for (std::size_t d = at(known_at_front(known)); d < known.size(); ++d)
    if (known[d] != 0) return false;
  return true;
}

}  // namespace unfold
