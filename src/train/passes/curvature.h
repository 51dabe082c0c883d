#pragma once
/// Gauss-Newton products over a few batches, with structural damping (Martens & Sutskever 2011).
///
///   Curvature<float> curvature(network, Distance::squared, team);
///   curvature.start(parameters, parts);                     // forward; stores the activations
///   curvature.product(v, 0.03, result);                     // result = (G + 0.03 S) v
///
/// G = 1/P sum_rows J' H J: J is the Jacobian of the network's heads, H the Hessian of its losses and P the number of
/// predicted symbols in the batches. S = 1/P sum_rows J_h' D J_h is the Gauss-Newton form of a distance between the
/// activations h that the loops of the circuit carry, before and after a step. For structural damping, h becomes an
/// output of the plan with a curvature D, like a loss.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "unfold/loss/network.h"
#include "unfold/optim/direction/objective.h"
#include "unfold/train/passes/batch_pass.h"

namespace unfold {

/// A signal to which structural damping applies.
struct Damped {
  enum class Kind { squared, logistic, tanh };
  Signal signal;
  Kind kind = Kind::squared;
};

/// Returns the signals that links carry from position to position and that depend on parameters, in the order of the
/// circuit, except for the signals of heads, which already have a curvature.
template <class T>
std::vector<Damped> damped_signals(const Network<T>& network, Distance distance);

/// A batch, the state that has entered it, and its dropout seed.
template <class T>
struct CurvaturePart {
  const Batch* batch;
  const State<T>* state;
  std::optional<std::uint64_t> dropout_seed = {};
};

template <class T>
class Curvature {
 public:
  /// The circuit behind the network's signals must outlive this object. Throws UsageError for a loss without a
  /// curvature.
  Curvature(const Network<T>& network, Distance distance, Team& team);
  ~Curvature();

  /// Runs the forward passes. Batches and parameters must stay alive and unchanged until the next call. REQUIRES at
  /// least one predicted symbol. `predicted`: the number P of predicted symbols, if further batches contribute to it;
  /// 0: the number in these batches.
  void start(const Parameters<T>& parameters, std::span<const CurvaturePart<T>> parts, double predicted = 0);
  /// result = (G + structural S) v.
  void product(std::span<const T> v, double structural, std::span<T> result);
  /// Sets a random vector with mean 0 and covariance G + structural S, a function of the seed. Its squares estimate the
  /// diagonal.
  void sample(std::uint64_t seed, double structural, std::span<T> result);

 private:
  struct Piece;
  void backward(std::span<T> result, std::size_t piece);

  Network<T> network_;
  std::vector<Damped> damped_;
  Team& team_;
  std::vector<std::unique_ptr<Piece>> pieces_;
  std::size_t used_ = 0;  // number of pieces used for the current batches
  double predicted_ = 0;
};

}  // namespace unfold
