#pragma once
/// Capability of losses that are distributions of whole vectors, whose numbers depend on each other: what a number is
/// expected to be, given others, and draws.
///
///   const auto& density = loss.need<VectorDensity<float>>("sample");
///   density.sample({signal, parameters}, random, known, values);          // keeps the values that are known
///
/// Densities of numbers in a fixed order (p(x) = prod_d p(x_d | x_1 .. x_d-1)) answer where what is known comes first;
/// others, any_order(), whatever is known.

#include <span>
#include <string>

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
  /// The mean of number d, of a bit its probability, given the known ones; others of `values` may hold anything. In a
  /// fixed order the known ones are those before d. UsageError where it cannot answer.
  virtual double mean(const DensityQuestion<T>& question, std::span<const char> known, std::span<const T> values,
                      Index d) const = 0;
  /// Draws all numbers that are not known, given those that are.
  virtual void sample(const DensityQuestion<T>& question, Random& random, std::span<const char> known,
                      std::span<T> values) const = 0;
};

/// The numbers known, which must be the first ones. UsageError naming the remedy.
inline Index known_prefix(std::string_view loss, std::span<const char> known) {
  std::size_t count = 0;
  while (count < known.size() && known[count] != 0) ++count;
  for (std::size_t d = count; d < known.size(); ++d)
    if (known[d] != 0)
      throw UsageError(std::string(loss) + " has its numbers in their order: number " + std::to_string(d + 1) +
                       " can be given only with all before it, and number " + std::to_string(count + 1) +
                       " is not; bernoulli-mixture and deep-nade answer whatever is given");
  return static_cast<Index>(count);
}

}  // namespace unfold
