#pragma once
/// Internal: how what states owe to parameters, G_t = ds_t / dtheta, is carried along: exactly, in part, or estimated.
/// An influence holds no numbers of its own: those of a stream are a row of `width()` that the caller keeps.

#include <cstdint>
#include <memory>

#include "unfold/forward/gradient_method.h"
#include "unfold/forward/reach.h"
#include "unfold/forward/step_pass.h"

namespace unfold {

/// What random signs of one position are a function of.
struct SignKey {
  std::uint64_t seed = 0;      ///< of the run
  std::uint64_t step = 0;      ///< of training
  std::uint64_t stream = 0;    ///< its slot
  std::uint64_t position = 0;  ///< in the window, from 1; 0: before it begins
};

/// What a thread needs besides.
template <class T>
struct InfluenceScratch {
  Buffer<T> next, jacobian, ones, signs, moved;
};

template <class T>
class Influence {
 public:
  virtual ~Influence() = default;
  virtual Index width() const = 0;  ///< numbers that a stream carries
  /// Before the first position of a sequence: what trained starts owe to themselves.
  virtual void begin(const SignKey& key, T* carried) const = 0;
  /// gradient [theta] += adjoint [state] G_{t-1}
  virtual void pull(const T* adjoint, const T* carried, T* gradient) const = 0;
  /// G_{t-1} to G_t at the position that `pass` ran forward over.
  virtual void step(StepPass<T>& pass, const SignKey& key, InfluenceScratch<T>& scratch, T* carried) const = 0;
};

/// rtrl and snap. `limit` in bytes for what `streams` streams carry; UsageError saying what would be needed.
template <class T>
std::unique_ptr<Influence<T>> sparse_influence(const Reach& reach, const GradientMethod& method, Index streams,
                                               std::size_t limit);
/// The refusal alone.
template <class T>
void require_affordable(const Reach& reach, const GradientMethod& method, Index streams, std::size_t limit);
/// uoro and nobacktrack.
template <class T>
std::unique_ptr<Influence<T>> rank_one_influence(const Reach& reach, const GradientMethod& method, Index parameters);

}  // namespace unfold
