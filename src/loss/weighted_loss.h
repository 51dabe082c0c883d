#pragma once
/// Capability of losses with parameters: the gradient of a weighted sum over examples. The caller can weight the
/// adjoint of the signal itself, but not the gradient of the parameters that the loss owns. Losses without parameters
/// do not need this capability.

#include <span>

#include "unfold/loss/loss.h"

namespace unfold {

/// The weights of rows, the same for all rows of an example; empty: all are 1.
template <class T>
struct RowWeights {
  std::span<const T> rows = {};

  double of_chain(const Structure& structure, Index s) const {
    return rows.empty() ? 1 : static_cast<double>(rows[at(structure.row(s, 0))]);
  }
};

template <class T>
class WeightedLoss : public virtual Loss<T> {
 public:
  static constexpr const char* kWhat = "weights of examples";

  /// Like gradient, but of the sum over rows of weight times nats. The nats themselves are not multiplied.
  virtual void weighted_gradient(const Observed<T>& observed, RowWeights<T> weights, T scale, Team& team, T* nats,
                                 Matrix<T> adjoint, std::span<T> own_gradient) const = 0;

  void gradient(const Observed<T>& observed, T scale, Team& team, T* nats, Matrix<T> adjoint,
                std::span<T> own_gradient) const final {
    weighted_gradient(observed, {}, scale, team, nats, adjoint, own_gradient);
  }
};

}  // namespace unfold
