#include "graph/paths/path_pass.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "graph/paths/path_unfolding.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

/// A term through which an affine map reads its own earlier value: a recurrent matrix, inside the loop of its map.
struct Recurrent {
  int affine, term;
};

/// Returns the nodes of the circuit that `from` depends on, including through links.
std::vector<char> ancestors(const Circuit& circuit, int from) {
  std::vector<char> reached(circuit.nodes().size(), 0);
  std::vector<int> open = {from};
  while (!open.empty()) {
    const int i = open.back();
    open.pop_back();
    if (reached[at(i)]) continue;
    reached[at(i)] = 1;
    for (const int read : circuit.nodes()[at(i)].reads()) open.push_back(read);
  }
  return reached;
}

std::vector<Recurrent> recurrent_terms(const Circuit& circuit) {
  std::vector<Recurrent> result;
  for (std::size_t i = 0; i < circuit.nodes().size(); ++i)
    for (std::size_t k = 0; k < circuit.nodes()[i].terms().size(); ++k)
      if (ancestors(circuit, circuit.nodes()[i].terms()[k].source)[i]) {
        if (const auto& term = circuit.nodes()[i].terms()[k]; !term.dense())
          throw UsageError("path pass: the second term of the metric supports only dense matrices, and " +
                           circuit.parameters()[at(term.parameter)].name + " is " + std::string(term.op->name()) +
                           "; use only the first term (kappa=1)");
        result.push_back({static_cast<int>(i), static_cast<int>(k)});
      }
  return result;
}

/// Returns the graph with the nodes of the squared circuit as ends.
PathGraph squared_graph(PathGraph graph, std::span<const Signal> of) {
  for (PathEnds& end : graph.ends) end.output = of[at(end.output)].id;
  return graph;
}

/// Rows of a signal over a chain, each with a separate power of two.
struct ScaledRows {
  Index cols = 0;
  std::vector<double> values;
  std::vector<int> exponents;

  void start(Index rows, Index width) {
    cols = width;
    values.resize(at(rows * width));
    exponents.resize(at(rows));
  }
  double* row(Index r) { return values.data() + r * cols; }
};

/// Computes kappa2 of one recurrent matrix p [m x n], which maps its input h to the affine map z. Let D be the adjoints
/// of z, and R_k[j][i] the contribution of 1 at z_s[j] to h_{s+1+k}[i]. Then
///   kappa2_ij = 4 p_ij^2 sum_{s < t} h_s[i] R_{t-s-1}[j][i] D_t[j].
/// All computations are in double precision.
class SecondTerm {
 public:
  SecondTerm(const Circuit& circuit, const Recurrent& where, Team& team) : team_(team) {
    const Node::AffineTerm& term = circuit.nodes()[at(where.affine)].terms()[at(where.term)];
    of_ = path_reading(circuit, squared_, where.affine);
    matrix_ = term.parameter;
    h_signal_ = squared_.map(Map::copy, of_[at(term.source)]);
    squared_.output(h_signal_);
    const Node& probed = squared_.nodes()[at(of_[at(where.affine)].id)];
    z_ = {&squared_, probed.pointwise().operands[0]};
    probe_ = {&squared_, probed.pointwise().operands[1]};
    chain_ = std::make_unique<PathUnfolding<double>>(squared_, team, probe_.id);
  }

  const Circuit& circuit() const { return squared_; }
  /// kappa [parameters] * 2^exponent += kappa2. The ends are nodes of the original circuit, not of the squared circuit.
  /// REQUIRES: one chain.
  void add_to(const Parameters<double>& squares, const PathGraph& graph, std::span<double> kappa, int& exponent) {
    const Index length = graph.structure.positions();
    const Matrix<const double> squared_weights = squares[matrix_];
    const Index inputs = squared_weights.rows, outputs = squared_weights.cols;
    keep_rows(squares, graph, inputs, outputs, kappa.size());
    std::vector<double> part(kappa.size());
    const Matrix<double> target = squares.view(part.data(), matrix_);
    constexpr Index kChains = 64;
    for (Index first = 0; first < outputs; first += kChains) {
      const Index count = std::min(kChains, outputs - first);
      keep_responses(squares, first, count, length, inputs);
      products_.resize(at(inputs * count));
      const Matrix<double> products{products_.data(), inputs, count, count};
      for (Index lag = 0; lag + 1 < length; ++lag) {
        const int scale = correlate(lag, first, products) + r_.exponents[at(lag + 1)];
        std::fill(part.begin(), part.end(), 0.0);
        for (Index i = 0; i < inputs; ++i)
          for (Index j = 0; j < count; ++j)
            target(i, first + j) = 4 * squared_weights(i, first + j) * products(i, j) * r_.row(lag + 1)[j * inputs + i];
        add_scaled(kappa, exponent, part, scale);
      }
    }
  }

 private:
  /// Stores h_s and D_t of the whole chain.
  void keep_rows(const Parameters<double>& squares, const PathGraph& graph, Index inputs, Index outputs,
                 std::size_t parameters) {
    h_.start(graph.structure.positions(), inputs), d_.start(graph.structure.positions(), outputs);
    std::vector<double> first_term(parameters);
    chain_->run(squares, squared_graph(graph, of_), first_term, [&](const auto& piece, Unfolding<double>& u) {
      const Matrix<const double> h = u.value(h_signal_), d = u.affine_adjoint(z_);
      for (Index r = 0; r < piece.length; ++r) {
        std::copy_n(&h(r, 0), inputs, h_.row(piece.begin + r));
        std::copy_n(&d(r, 0), outputs, d_.row(piece.begin + r));
        h_.exponents[at(piece.begin + r)] = piece.value_exponent;
        d_.exponents[at(piece.begin + r)] = piece.adjoint_exponent;
      }
    });
  }

  /// Row k of r_ receives h at step k after a unit input at z[first + j] at step 0, for every j.
  void keep_responses(const Parameters<double>& squares, Index first, Index count, Index length, Index inputs) {
    r_.start(length, count * inputs);
    chain_->respond(squares, probe_, first, count, length, [&](const auto& piece, Unfolding<double>& u) {
      const Matrix<const double> h = u.value(h_signal_);
      for (Index s = 0; s < piece.length; ++s) {
        for (Index j = 0; j < count; ++j)
          std::copy_n(&h(u.structure().row(j, s), 0), inputs, r_.row(piece.begin + s) + j * inputs);
        r_.exponents[at(piece.begin + s)] = piece.value_exponent;
      }
    });
  }

  /// result [m x count] * 2^(return value) = sum_s h_s[i] D_{s+1+lag}[first + j].
  int correlate(Index lag, Index first, Matrix<double> result) {
    const Index rows = static_cast<Index>(h_.exponents.size()) - 1 - lag;
    int largest = std::numeric_limits<int>::min();
    const auto exponent = [&](Index s) { return h_.exponents[at(s)] + d_.exponents[at(s + 1 + lag)]; };
    for (Index s = 0; s < rows; ++s) largest = std::max(largest, exponent(s));
    scaled_.assign(h_.values.begin(), h_.values.begin() + rows * h_.cols);
    for (Index s = 0; s < rows; ++s)
      if (exponent(s) != largest)
        scale<double>(std::ldexp(1.0, exponent(s) - largest),
                      std::span<double>(scaled_).subspan(at(s * h_.cols), at(h_.cols)));
    const Matrix<const double> h{scaled_.data(), rows, h_.cols, h_.cols};
    const Matrix<const double> d{d_.row(1 + lag) + first, rows, result.cols, d_.cols};
    team_.run([&](Member& me) { accumulate_outer<double>(h, d, result, me.share(result.rows, 8), Start::zero); });
    return largest;
  }

  Team& team_;
  Circuit squared_;
  std::vector<Signal> of_;
  Signal h_signal_, z_, probe_;
  int matrix_ = -1;
  std::unique_ptr<PathUnfolding<double>> chain_;
  ScaledRows h_, d_, r_;
  std::vector<double> products_, scaled_;
};

/// The second term is a sum over pairs of uses of a weight, with the earlier use first. This order is known only if all
/// links point backward.
void refuse_other_orders(const Circuit& circuit, const Circuit& squared, const Structure& structure) {
  if (!is_one_chain(structure))
    throw UsageError(
        "path pass: the second term of the metric supports only one sequence without a source; trees, grids and "
        "sources have other orders; use kappa=1");
  if (has_products(squared))
    throw UsageError(
        "path pass: the second term of the metric supports only sums of units, and this circuit multiplies signals or "
        "has weights that depend on the position; use kappa=1");
  for (const Node& node : circuit.nodes())
    if (node.kind() == Node::Kind::link && node.link().delay.along == Delay::Along::next)
      throw UsageError("path pass: the second term of the metric supports only links to earlier positions; " +
                       node.name + " reads a later position; use kappa=1");
}

std::vector<Index> ascending(Index first, Index end) {
  std::vector<Index> rows(at(end - first));
  std::iota(rows.begin(), rows.end(), first);
  return rows;
}

/// Returns the graph that the options describe.
PathGraph graph_of(const PathOptions& options, const Circuit& circuit) {
  if (options.graph != nullptr) return *options.graph;
  const std::vector<int> read = options.output >= 0 ? std::vector<int>{options.output} : circuit.outputs();
  PathGraph graph{.structure = Structure::chains(1, options.length), .ends = {}};
  for (const int output : read)
    graph.ends.push_back({output, ascending(options.every_step ? 0 : options.length - 1, options.length)});
  return graph;
}

}  // namespace

template <class T>
struct PathPass<T>::Body {
  Body(const Circuit& circuit_, Team& team_) : circuit(circuit_), team(team_) {
    of = path_reading(circuit, squared);
    narrow = std::make_unique<PathUnfolding<T>>(squared, team);
  }

  PathSums run(const Parameters<T>& parameters, const PathOptions& options, std::span<double> kappa) {
    const PathGraph graph = graph_of(options, circuit), of_squares = squared_graph(graph, of);
    if (options.with_second) refuse_other_orders(circuit, squared, graph.structure);
    square<T>(parameters, squares);
    std::optional<PathSums> sums = narrow->attempt(squares, graph.structure.order().steps(), of_squares, kappa);
    if (!sums) {
      if (!wide) wide = std::make_unique<PathUnfolding<double>>(squared, team);
      square<double>(parameters, exact);
      sums = wide->run(exact, of_squares, kappa);
    }
    if (options.with_second) add_second(parameters, graph, *sums, kappa);
    return *sums;
  }

  void add_second(const Parameters<T>& parameters, const PathGraph& graph, PathSums& sums, std::span<double> kappa) {
    if (!second_made) {
      for (const Recurrent& where : recurrent_terms(circuit))
        second.push_back(std::make_unique<SecondTerm>(circuit, where, team));
      second_made = true;
    }
    square<double>(parameters, exact);
    for (auto& term : second) term->add_to(exact, graph, kappa, sums.exponent);
  }

  template <class U>
  void square(const Parameters<T>& parameters, Parameters<U>& into) {
    if (into.size() == 0) into = Parameters<U>(squared);
    for (std::size_t i = 0; i < parameters.flat().size(); ++i) {
      const auto p = static_cast<U>(parameters.flat()[i]);
      into.flat()[i] = p * p;
    }
  }

  const Circuit& circuit;
  Team& team;
  Circuit squared;
  std::vector<Signal> of;
  Parameters<T> squares;
  Parameters<double> exact;
  std::unique_ptr<PathUnfolding<T>> narrow;
  std::unique_ptr<PathUnfolding<double>> wide;  // used if the sums leave the range of T
  bool second_made = false;
  std::vector<std::unique_ptr<SecondTerm>> second;
};

template <class T>
PathPass<T>::PathPass(const Circuit& circuit, Team& team) : body_(std::make_unique<Body>(circuit, team)) {}
template <class T>
PathPass<T>::~PathPass() = default;

template <class T>
PathSums PathPass<T>::run(const Parameters<T>& parameters, const PathOptions& options, std::span<double> kappa) {
  if (parameters.size() == body_->circuit.parameter_count() && parameters.size() > body_->squared.parameter_count())
    throw UsageError(
        "--optimizer path does not support losses with parameters, because no path leads through them; use a loss "
        "without parameters (softmax instead of crf) or a different optimizer");
  if (parameters.size() != body_->squared.parameter_count() || kappa.size() != at(parameters.size()))
    throw UsageError("path pass: the parameters belong to a different circuit");
  if (options.graph == nullptr && options.length < 1)
    throw UsageError("path pass: a chain needs at least one position");
  return body_->run(parameters, options, kappa);
}

template class PathPass<float>;
template class PathPass<double>;

}  // namespace unfold
