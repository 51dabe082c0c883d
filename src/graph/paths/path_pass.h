#pragma once
/// Sums over input-output paths: the metric of path-SGD (Neyshabur, Wu, Salakhutdinov & Srebro 2016).
///
///   PathPass<float> pass(circuit, team);                           // throws if the circuit has no path interpretation
///   PathSums sums = pass.run(parameters, {.length = 50}, kappa);   // kappa: doubles
///   // gamma^2 = sums.norm.value(), kappa_i = ldexp(kappa[i], sums.exponent)
///
/// Unfold the circuit over one chain, or over any structure: trees, grids, chains with sources. gamma^2 is the sum,
/// over all paths from an input or bias to a selected output, of the product of the squared weights on the path
/// (equation 2). A parameter may weight any number of edges. Then (Lemma 1, Theorem 3)
///   kappa = 1/2 d^2 gamma^2 / d p^2 = kappa1 + kappa2,   with g(p~) = gamma^2 as a function of p~ = p^2
///   kappa1 = dg / dp~                                      one forward and one backward pass over the structure
///   kappa2 = 2 p~ d^2 g / dp~^2                            nonzero only for recurrent matrices
/// (Equation 10 of the paper has half of this kappa2 because it counts each ordered pair of edges once. This module
/// follows the definition, so kappa1 + kappa2 is half the second derivative.)
///
/// kappa2 is available for one chain.
///
/// Long chains: sums over paths grow or shrink geometrically with the length. Sums that leave the range of T are
/// computed in double. Sums that leave the range of double are computed in pieces, each with a separate power of two; a
/// kappa below 2^-1000 times the largest kappa is then 0. The result is bit-identical for any number of threads.

#include <cmath>
#include <memory>

#include "unfold/base/threads/team.h"
#include "unfold/graph/circuit/parameters.h"
#include "unfold/graph/paths/path_graph.h"

namespace unfold {

/// mantissa * 2^exponent.
struct ScaledNumber {
  double mantissa = 0;
  int exponent = 0;
  double value() const { return std::ldexp(mantissa, exponent); }
  double logarithm() const;  ///< natural logarithm
  void add(double m, int e);
};

struct PathSums {
  ScaledNumber norm;  ///< gamma^2
  int exponent = 0;   ///< kappa_i = kappa[i] * 2^exponent; 0 unless needed
};

struct PathOptions {
  Index length = 1;        ///< chain length, >= 1
  bool every_step = true;  ///< outputs are read at every position; otherwise only at the last position
  /// Compute kappa1 + kappa2 instead of kappa1. Every recurrent matrix [m x n] takes n forward passes on one sequence
  /// and O(length^2 m n) operations.
  bool with_second = false;
  int output = -1;  ///< the output node that is read; -1: every output of the circuit
  /// If this is set, it replaces `length`, `every_step` and `output`.
  const PathGraph* graph = nullptr;
};

template <class T>
class PathPass {
 public:
  /// Throws a UsageError that names the map without a path interpretation (not positively homogeneous).
  PathPass(const Circuit& circuit, Team& team);
  ~PathPass();

  /// Fills kappa [parameters]. Throws UsageError if the parameters belong to another circuit, and for the second term
  /// over anything but one chain. Throws DivergedError if the sums leave the range of double and the unfolding cannot
  /// be divided into pieces (trees, grids, sources, links along `next`, `first` or `last`) or grows too fast within a
  /// single step.
  PathSums run(const Parameters<T>& parameters, const PathOptions& options, std::span<double> kappa);

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

}  // namespace unfold
