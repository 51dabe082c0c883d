#pragma once
/// Runs all passes of a circuit over a structure and returns plain vectors; every choice that must not affect the
/// results is a parameter. Inputs, seeds and parameters are functions of (sequence name, position), so the same
/// sequence gets the same numbers alone, in a batch, and in windows.

#include <string>
#include <vector>

#include "unfold/graph/engine/unfolding.h"
#include "unfold/numerics/random.h"

namespace unfold::test {

/// The results of a run. Per-position results are stored by item (sequence after sequence), output after output.
template <class T>
struct Results {
  std::vector<T> outputs, tangents, gradient, squared;
};

/// Returns the random numbers for position `position` of the sequence named `sequence`.
inline Random numbers(std::string_view what, const std::string& node, Index sequence, Index position) {
  return {static_cast<std::uint64_t>(sequence), std::string(what) + "/" + node + "/" + std::to_string(position)};
}

template <class T>
Parameters<T> some_parameters(const Circuit& circuit, std::uint64_t seed = 3) {
  Parameters<T> parameters(circuit);
  parameters.initialize(seed);
  Random noise(seed, "parameters");
  for (T& p : parameters.flat()) p += static_cast<T>(0.2 * noise.normal());
  return parameters;
}

template <class T>
std::vector<T> some_direction(const Circuit& circuit) {
  Random random(5, "direction");
  std::vector<T> direction(static_cast<std::size_t>(circuit.parameter_count()));
  for (T& d : direction) d = static_cast<T>(random.normal());
  return direction;
}

/// The sequences that are in the batch, and their first position.
struct Window {
  std::vector<Index> sequences = {};  ///< empty: 0, 1, ...
  Index begin = 0;
  Index name(Index s) const { return sequences.empty() ? s : sequences[static_cast<std::size_t>(s)]; }
};

template <class T>
class Runner {
 public:
  Runner(const Circuit& circuit, const PlanOptions& options = {}, int threads = 1,
         Attendance attendance = default_attendance())
      : circuit_(circuit),
        parameters_(some_parameters<T>(circuit)),
        team_(threads, attendance),
        unfolding_(std::make_shared<const Plan>(circuit, options), team_) {
    unfolding_.set_parameters(parameters_);
  }

  Unfolding<T>& unfolding() { return unfolding_; }
  Team& team() { return team_; }
  const Parameters<T>& parameters() const { return parameters_; }

  void lay(const Structure& structure, const Window& window = {}) {
    unfolding_.lay(structure);
    window_ = window;
    for_each_node([&](int i, const Node& node) { fill(i, node, window_); });
  }

  /// Sets up position `t` of some sequences, over a source that keeps the rows of all sequences.
  void lay_kept(const Structure& step, const std::vector<Index>& sequences, Index t) {
    if (t == 0)
      lay(step);
    else
      unfolding_.lay(step, sequences);
    const Window later{sequences, t};
    for_each_node([&](int i, const Node& node) {
      if (node.part == 0) fill(i, node, later);
    });
  }

  bool has_vector_maps() const {
    for (const Node& node : circuit_.nodes())
      for (const auto& term : node.terms())
        if (!term.dense() && !term.op->has_squared()) return true;
    return false;
  }

  std::vector<T> outputs() {
    return by_item([&](Signal s) { return unfolding_.value(s); }, [](int) { return true; });
  }

  void seed(bool positive) {
    for (const int output : circuit_.outputs()) {
      if (!has_adjoint(output)) continue;
      Matrix<T> adjoint = unfolding_.adjoint(signal(output));
      for_each_position([&](Index s, Index p, Index row, Index) {
        Random random = numbers("seed", std::to_string(output), window_.name(s), window_.begin + p);
        for (Index c = 0; c < adjoint.cols; ++c)
          adjoint(row, c) = static_cast<T>(positive ? random.uniform(0.1, 1) : random.normal());
      });
    }
  }

  std::vector<T> gradient(Algebra algebra = Algebra::linear, const State<T>* end = nullptr, State<T>* start = nullptr) {
    seed(algebra == Algebra::squared);
    // Prefilled in order to detect values that a pass leaves unset.
    std::vector<T> gradient(static_cast<std::size_t>(circuit_.parameter_count()), T{1234.5});
    unfolding_.backward(gradient, {.algebra = algebra}, end, start);
    return gradient;
  }

  Results<T> run(const Structure& structure, const Window& window = {}, State<T>* state = nullptr) {
    lay(structure, window);
    unfolding_.forward(state);
    Results<T> results;
    results.outputs = outputs();
    unfolding_.tangent(some_direction<T>(circuit_));
    results.tangents =
        by_item([&](Signal s) { return unfolding_.tangent_of(s); }, [&](int output) { return has_adjoint(output); });
    results.gradient = gradient();
    if (!has_vector_maps()) results.squared = gradient(Algebra::squared);
    return results;
  }

  /// Calls use(sequence, position, row, item).
  template <class Use>
  void for_each_position(Use&& use, int part = 0) const {
    const Structure& structure = unfolding_.structure().part(part);
    for (Index s = 0; s < structure.sequences(); ++s)
      for (Index p = 0; p < structure.size(s); ++p) use(s, p, structure.row(s, p), structure.item(s, p));
  }

 private:
  void fill(int i, const Node& node, const Window& window) {
    const auto draw = [&](const char* what, Index s, Index p) {
      return numbers(what, node.name, window.name(s), window.begin + p);
    };
    if (node.kind() == Node::Kind::input) {
      const Matrix<T> rows = unfolding_.input(signal(i));
      const auto put = [&](Index s, Index p, Index row, Index) {
        Random random = draw("input", s, p);
        for (Index c = 0; c < node.size; ++c) rows(row, c) = static_cast<T>(random.normal());
      };
      for_each_position(put, node.part);
    }
    if (node.kind() == Node::Kind::symbols) {
      const std::span<Symbol> symbols = unfolding_.symbols(signal(i));
      const auto put = [&](Index s, Index p, Index row, Index) {
        Random random = draw("symbol", s, p);
        const auto drawn = static_cast<Symbol>(random.below(static_cast<std::uint64_t>(node.size) + 1));
        symbols[static_cast<std::size_t>(row)] = drawn == node.size ? kNoSymbol : drawn;
      };
      for_each_position(put, node.part);
    }
  }
  Signal signal(int node) const { return {const_cast<Circuit*>(&circuit_), node}; }
  bool has_adjoint(int output) const { return unfolding_.plan().needs_adjoint(unfolding_.plan().outside(output)); }

  template <class Use>
  void for_each_node(Use&& use) const {
    for (std::size_t i = 0; i < circuit_.nodes().size(); ++i)
      if (unfolding_.plan().live(static_cast<int>(i))) use(static_cast<int>(i), circuit_.nodes()[i]);
  }

  template <class Rows, class Has>
  std::vector<T> by_item(Rows&& rows, Has&& has) const {
    std::vector<T> result;
    for (const int output : circuit_.outputs()) {
      if (!has(output)) continue;
      const Matrix<const T> m = rows(signal(output));
      const std::size_t begin = result.size();
      result.resize(begin + static_cast<std::size_t>(m.rows * m.cols));
      for_each_position([&](Index, Index, Index row, Index item) {
        for (Index c = 0; c < m.cols; ++c) result[begin + static_cast<std::size_t>(item * m.cols + c)] = m(row, c);
      });
    }
    return result;
  }

  const Circuit& circuit_;
  Parameters<T> parameters_;
  Team team_;
  Unfolding<T> unfolding_;
  Window window_;
};

}  // namespace unfold::test
