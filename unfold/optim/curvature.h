#pragma once
/// Gauss-Newton products over a few batches, with structural damping (Martens & Sutskever 2011).
///
///   Curvature<float> curvature(network, Distance::squared, team);
///   curvature.start(parameters, parts);                     // forward; the activities are kept
///   curvature.product(v, 0.03, result);                     // result = (G + 0.03 S) v
///
/// G = 1/P sum_rows J' H J: J the Jacobian of the network's heads, H the Hessian of its losses, P the predicted
/// symbols of the batches. S = 1/P sum_rows J_h' D J_h is the Gauss-Newton form of a distance between the activities h
/// that the loops of the circuit carry, before and after a step: structural damping needs nothing but that h becomes an
/// output of the plan and has a curvature D there, as a loss has.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "unfold/losses/network.h"
#include "unfold/optim/batch_pass.h"
#include "unfold/optim/objective.h"

namespace unfold {

/// A signal that structural damping holds back.
struct Damped {
  enum class Kind { squared, logistic, tanh };
  Signal signal;
  Kind kind = Kind::squared;
};

/// The signals that links carry from position to position and that depend on parameters, in the order of the circuit;
/// without the signals of heads, which have a curvature of their own.
template <class T>
std::vector<Damped> damped_signals(const Network<T>& network, Distance distance);

/// A batch, the state that has entered it, and the seed of its dropout.
template <class T>
struct CurvaturePart {
  const Batch* batch;
  const State<T>* state;
  std::optional<std::uint64_t> dropout_seed = {};
};

template <class T>
class Curvature {
 public:
  /// The circuit behind the network's signals must outlive this. UsageError: a loss without a curvature.
  Curvature(const Network<T>& network, Distance distance, Team& team);
  ~Curvature();

  /// Forward passes. Batches and parameters must live, unchanged, until the next call. REQUIRES at least one predicted
  /// symbol. `predicted`: P, where these batches are not all; 0: what they predict.
  void start(const Parameters<T>& parameters, std::span<const CurvaturePart<T>> parts, double predicted = 0);
  /// result = (G + structural S) v.
  void product(std::span<const T> v, double structural, std::span<T> result);
  /// A random vector with mean 0 and covariance G + structural S: squares of it estimate the diagonal. A function of
  /// the seed.
  void sample(std::uint64_t seed, double structural, std::span<T> result);

 private:
  struct Piece;
  void backward(std::span<T> result, std::size_t piece);

  Network<T> network_;
  std::vector<Damped> damped_;
  Team& team_;
  std::vector<std::unique_ptr<Piece>> pieces_;
  std::size_t used_ = 0;  // pieces of the present batches
  double predicted_ = 0;
};

}  // namespace unfold
