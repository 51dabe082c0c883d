#pragma once
/// Sums over input-output paths: the metric of path-SGD (Neyshabur, Wu, Salakhutdinov & Srebro 2016).
///
///   PathPass<float> pass(circuit, team);                        // throws for a circuit that has no path reading
///   PathSums sums = pass.run(parameters, {.length = 50}, kappa);   // kappa: doubles
///   // gamma^2 = sums.norm.value(), kappa_i = ldexp(kappa[i], sums.exponent)
///
/// gamma^2 is the sum, over all paths from an input or bias of the circuit unfolded over one chain to an output that is
/// read, of the product of the squared weights on the path (equation 2). Then (Lemma 1, Theorem 3)
///   kappa = 1/2 d^2 gamma^2 / d p^2 = kappa1 + kappa2,   with g(p~) = gamma^2 as a function of p~ = p^2
///   kappa1 = dg / dp~                                      one forward and one backward pass on one sequence
///   kappa2 = 2 p~ d^2 g / dp~^2                            not zero only for recurrent matrices
/// (the paper's equation 10 has half of this kappa2: it counts each ordered pair of edges once; here the definition
/// holds, so that kappa1 + kappa2 is half the second derivative.)
///
/// Long chains: sums over paths grow or shrink geometrically with the length. What leaves the range of T is computed in
/// double; what leaves that one too, in pieces with a power of two each: a kappa below 2^-1000 of the largest is then
/// 0. Same bits for any number of threads.

#include <cmath>
#include <memory>

#include "unfold/base/team.h"
#include "unfold/circuit/parameters.h"

namespace unfold {

/// mantissa * 2^exponent.
struct ScaledNumber {
  double mantissa = 0;
  int exponent = 0;
  double value() const { return std::ldexp(mantissa, exponent); }
  void add(double m, int e);
};

struct PathSums {
  ScaledNumber norm;  ///< gamma^2
  int exponent = 0;   ///< kappa_i = kappa[i] * 2^exponent; 0 unless needed
};

struct PathOptions {
  Index length = 1;         ///< positions of the chain, >= 1
  bool every_step = true;   ///< outputs are read at every position, or at the last one only
  bool with_second = false; /**< kappa1 + kappa2. Every recurrent matrix [m x n] costs n forward passes on one sequence
                                 and O(length^2 m n). */
  int output = -1;          ///< the node that is read; -1: every output of the circuit
};

template <class T>
class PathPass {
 public:
  /// Throws UsageError naming the map that has no path reading (not positively homogeneous).
  PathPass(const Circuit& circuit, Team& team);
  ~PathPass();

  /// Fills kappa [parameters]. Throws UsageError for parameters of another circuit, RuntimeFailure where the sums leave
  /// the range of T and the circuit cannot be cut into pieces (links along `next`, `first` or `last`) or grows too fast
  /// for a single step.
  PathSums run(const Parameters<T>& parameters, const PathOptions& options, std::span<double> kappa);

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

}  // namespace unfold
