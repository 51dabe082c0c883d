#pragma once
/// Internal: forward propagation of the influence of parameters on states, G_t = ds_t / dtheta: exact, sparse or
/// estimated. An Influence stores no data; the caller keeps a row of `width()` numbers for each stream.

#include <cstdint>
#include <memory>

#include "optim/rtrl/dependencies.h"
#include "optim/rtrl/step_pass.h"
#include "unfold/optim/rtrl/gradient_method.h"

namespace unfold {

/// The key of the random signs of one position.
struct SignKey {
  std::uint64_t seed = 0;      ///< seed of the training run
  std::uint64_t step = 0;      ///< training step
  std::uint64_t stream = 0;    ///< state slot
  std::uint64_t position = 0;  ///< position in the window, starting at 1; 0: before the window begins
};

/// Scratch memory of a thread.
template <class T>
struct InfluenceScratch {
  Buffer<T> next, jacobian, ones, signs, moved;
};

template <class T>
class Influence {
 public:
  virtual ~Influence() = default;
  virtual Index width() const = 0;  ///< numbers carried per stream
  /// Initializes the carried data before the first position of a sequence: the derivatives of trained initial values.
  virtual void begin(const SignKey& key, T* carried) const = 0;
  /// gradient [theta] += adjoint [state] G_{t-1}
  virtual void pull(const T* adjoint, const T* carried, T* gradient) const = 0;
  /// Advances G_{t-1} to G_t at the position of the last forward pass of `pass`.
  virtual void step(StepPass<T>& pass, const SignKey& key, InfluenceScratch<T>& scratch, T* carried) const = 0;
};

/// Creates the influence for rtrl and snap. `limit` is the maximum number of bytes of the data carried for `streams`
/// streams; if it is exceeded, throws a UsageError that states the required amount.
template <class T>
std::unique_ptr<Influence<T>> sparse_influence(const Reach& reach, const GradientMethod& method, Index streams,
                                               std::size_t limit);
/// Makes only the checks of sparse_influence.
template <class T>
void require_affordable(const Reach& reach, const GradientMethod& method, Index streams, std::size_t limit);
/// Creates the influence for uoro and nobacktrack.
template <class T>
std::unique_ptr<Influence<T>> rank_one_influence(const Reach& reach, const GradientMethod& method, Index parameters);

}  // namespace unfold
