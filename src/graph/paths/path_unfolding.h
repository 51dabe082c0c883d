#pragma once
/// A circuit that is linear in its inputs, unfolded over any structure. A structure that is one chain can be divided
/// into pieces, each with a separate power of two: values are value * 2^value_exponent, and adjoints are adjoint *
/// 2^adjoint_exponent. Internal to graph/.

#include <functional>
#include <optional>

#include "graph/paths/path_pass.h"
#include "unfold/graph/engine/unfolding.h"

namespace unfold {

/// Returns whether a structure is a single chain without a source.
bool is_one_chain(const Structure& structure);

/// Returns whether a squared circuit contains products of signals. Scaling all inputs then does not scale all values,
/// so its chains cannot be divided into pieces.
bool has_products(const Circuit& squared);

/// sum * 2^exponent += part * 2^part_exponent. Terms that are negligible compared with the larger operand are lost.
/// Overwrites `part`.
void add_scaled(std::span<double> sum, int& exponent, std::span<double> part, int part_exponent);

template <class T>
class PathUnfolding {
 public:
  /// `probe`: an input that is zero except in `respond`; -1 for none.
  PathUnfolding(const Circuit& squared, Team& team, int probe = -1);

  /// Steps [begin, begin + length) of a chain, valid while the unfolding stores them.
  struct Piece {
    Index begin, length;
    int value_exponent, adjoint_exponent;
  };
  using Visit = std::function<void(const Piece&, Unfolding<T>&)>;

  /// Runs both passes over the graph, over one chain in pieces of `piece` steps. Inputs are one at every position; the
  /// ends are nodes of this circuit. Sets kappa to the derivative of the sum of the ends. Visits the pieces from last
  /// to first, after both passes over each. Returns an empty optional if a value leaves the range of T.
  std::optional<PathSums> attempt(const Parameters<T>& squares, Index piece, const PathGraph& graph,
                                  std::span<double> kappa, const Visit& visit = {});
  /// Like the function above, with the longest pieces whose values stay in range. Throws DivergedError if there is no
  /// such length; the pieces visited until then must be discarded.
  PathSums run(const Parameters<T>& squares, const PathGraph& graph, std::span<double> kappa, const Visit& visit = {});

  /// Runs only the forward pass, with `count` chains: component first + i of `input` is one at the first step of chain
  /// i, all other inputs are zero. Visits the pieces in order.
  void respond(const Parameters<T>& squares, Signal input, Index first, Index count, Index length, const Visit& visit);

 private:
  struct Seam {
    State<T> state;
    int exponent;
  };
  std::optional<PathSums> attempt_whole(const Parameters<T>& squares, const PathGraph& graph, std::span<double> kappa);
  bool respond_in(Index piece, Signal input, Index first, Index count, Index length, const Visit& visit);
  void fill_inputs(T value);
  double read_outputs(std::span<const PathEnds> ends, Range rows, T seed);
  [[noreturn]] void refuse() const;
  Signal signal(int node) const { return {const_cast<Circuit*>(&circuit_), node}; }

  const Circuit& circuit_;
  int probe_;
  bool divisible_;
  Unfolding<T> unfolding_;
  std::vector<T> part_;       // contribution of one piece to kappa
  std::vector<double> wide_;  // contribution of one piece to kappa, in double
};

}  // namespace unfold
