#pragma once
/// Where the passes of an unfolding run, when not on the host's threads (offload/). The plan is what both run: segments
/// of items over places, no pointers. Whoever makes an unfolding gives it an Offload; its interface stays the same, and
/// numbers that the host reads or writes are moved when they are asked for.

#include <memory>
#include <span>
#include <string>

#include "unfold/engine/layout.h"
#include "unfold/engine/unfolding.h"
#include "unfold/numerics/vector.h"

namespace unfold {

template <class T>
struct Parts;

/// Steps of an optimiser where the parameters are: nothing large travels. Vectors are known by their place at home;
/// what was moved comes home when it is asked for (Keeper).
template <class T>
class Resident : public Keeper<T> {
 public:
  virtual double gradient_norm() = 0;  ///< of the last backward pass
  /// Moves the parameters, which are lent from now on, and both moments, along the gradient of the last backward pass.
  virtual void adam(Parameters<T>& parameters, std::span<T> mean, std::span<T> square, const AdamStep& step) = 0;
};

/// The passes of one unfolding, elsewhere. Refers to its parts.
template <class T>
class Backend {
 public:
  virtual ~Backend() = default;
  virtual void lay() = 0;                 ///< the structure has changed
  virtual void parameters_changed() = 0;  ///< those of the parts
  /// As those of Unfolding, whose checks are done.
  virtual void forward(State<T>* state) = 0;
  virtual void backward(std::span<T> gradient, const BackwardOptions& options, const State<T>* end,
                        State<T>* start) = 0;
  virtual void tangent(std::span<const T> direction) = 0;
  /// Makes the host's numbers of a signal those of the last pass.
  virtual void fetch(What what, int node) = 0;
  /// The host's numbers of a signal are about to be written: the next pass reads them.
  virtual void expect(What what, int node) = 0;
  /// As Unfolding::softmax.
  virtual bool softmax(int node, std::span<const Symbol> targets, T scale, bool adjoint, T* nats) = 0;
  /// Null: steps are taken on the host.
  virtual Resident<T>* resident() = 0;
};

/// Makes backends. UsageError for a plan that it cannot run, saying what of it.
class Offload {
 public:
  virtual ~Offload() = default;
  virtual std::unique_ptr<Backend<float>> backend(Parts<float>& parts) const = 0;
  virtual std::unique_ptr<Backend<double>> backend(Parts<double>& parts) const = 0;
};

}  // namespace unfold
