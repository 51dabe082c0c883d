#pragma once
/// Interface for running the passes of an unfolding somewhere other than on the host's threads (offload/). Host and
/// backend execute the same plan: segments of items that name buffer locations rather than pointers. To use a backend,
/// pass an Offload when creating the unfolding. The interface of the unfolding does not change; values are transferred
/// when the host reads or writes them.

#include <memory>
#include <span>
#include <string>

#include "unfold/graph/engine/layout.h"
#include "unfold/graph/engine/unfolding.h"
#include "unfold/numerics/vector.h"

namespace unfold {

template <class T>
struct Parts;

/// Optimizer steps on the device that holds the parameters, so no large transfers are needed. Vectors are identified by
/// their host address; values changed on the device are copied back when the host accesses them (Keeper).
template <class T>
class Resident : public Keeper<T> {
 public:
  virtual double gradient_norm() = 0;  ///< norm of the gradient of the last backward pass
  /// Updates the parameters and both moments with the gradient of the last backward pass. From this call on, the device
  /// holds the current parameters and moments.
  virtual void adam(Parameters<T>& parameters, std::span<T> mean, std::span<T> square, const AdamStep& step) = 0;
};

/// The passes of one unfolding on a device. Keeps a reference to the parts of the unfolding.
template <class T>
class Backend {
 public:
  virtual ~Backend() = default;
  virtual void lay() = 0;                 ///< called after the structure has changed
  virtual void parameters_changed() = 0;  ///< called after the parameters of the parts have changed
  /// The following functions correspond to those of Unfolding, which has already checked the arguments.
  virtual void forward(State<T>* state) = 0;
  virtual void backward(std::span<T> gradient, const BackwardOptions& options, const State<T>* end,
                        State<T>* start) = 0;
  virtual void tangent(std::span<const T> direction) = 0;
  /// Copies the values of a signal from the last pass to the host.
  virtual void fetch(What what, int node) = 0;
  /// Announces that the host is about to write the values of a signal; the next pass reads them.
  virtual void expect(What what, int node) = 0;
  /// See Unfolding::softmax.
  virtual bool softmax(int node, std::span<const Symbol> targets, T scale, bool adjoint, T* nats) = 0;
  /// Returns null if optimizer steps run on the host.
  virtual Resident<T>* resident() = 0;
};

/// Factory for backends. Throws UsageError for a plan that it cannot run; the message names the unsupported part.
class Offload {
 public:
  virtual ~Offload() = default;
  virtual std::unique_ptr<Backend<float>> backend(Parts<float>& parts) const = 0;
  virtual std::unique_ptr<Backend<double>> backend(Parts<double>& parts) const = 0;
};

}  // namespace unfold
