/// Riemannian directions of networks whose heads are not split, and of networks over several chains, compared with the
/// definition over the scalar graph: gradients of losses are central differences over whole sequences.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "graph/circuit/attention.h"
#include "loss/expected_target.h"
#include "optim/riemannian/loss_metric.h"
#include "tests/optim/metric_pass.h"
#include "tests/optim/small_network.h"
#include "unfold/gradcheck/scalar_graph.h"
#include "unfold/loss/registry.h"

namespace unfold {
namespace {

using Numbers = std::vector<double>;
using Dense = std::vector<Numbers>;

constexpr Index kHeadWords = 3, kHeadLabels = 3;
constexpr double kHeadStep = 1e-5, kHeadDamping = 0.3;

/// A network with random parameters and a batch of ragged sequences.
struct HeadProblem {
  Circuit circuit;
  Network<double> net;
  Parameters<double> values;
  Batch batch;
  State<double> state;
  Team team{1};

  Signal words(const std::string& name) {
    const Signal signal = circuit.symbols(name, kHeadWords);
    net.inputs.push_back({name, signal});
    return signal;
  }
  void predict(Signal signal, const std::string& loss) {
    circuit.output(signal);
    std::shared_ptr<Loss<double>> made = choose_loss(loss).make<double>();
    made->declare(circuit, signal);
    net.heads.push_back({"target", signal, made});
  }
  /// Draws parameters, inputs and `width` numbers (0: a symbol) to predict at every position.
  void draw(const Structure& structure, Index width, Index symbols = 0) {
    net.plan = std::make_shared<const Plan>(circuit);
    values = Parameters<double>(circuit);
    values.initialize(3);
    Random noise(8, "noise"), random(5, "batch");
    for (double& p : values.flat()) p += 0.3 * noise.normal();
    batch.structure = structure;
    for (const NetworkInput& input : net.inputs) {
      const Index rows = structure.part(circuit.nodes()[at(input.signal.id)].part).positions();
      batch.symbol_field(input.field).clear(rows);
      for (Symbol& x : batch.symbol_field(input.field).symbols) x = static_cast<Symbol>(random.below(kHeadWords));
    }
    const Index rows = structure.positions();
    if (width == 0) {
      batch.symbol_field("target").clear(rows);
      for (Symbol& x : batch.symbol_field("target").symbols) x = static_cast<Symbol>(random.below(at(symbols)));
    } else {
      batch.value_field("target").clear(rows, width);
      for (Index r = 0; r < rows; ++r)
        for (Index i = 0; i < width; ++i) batch.value_field("target").set(r, i, static_cast<float>(random.below(2)));
    }
    batch.predicted = rows;
    batch.reset_all_chains();
    state = State<double>(*net.plan, structure.sequences());
  }
  MetricPass direction(bool outer, Reduction reduction = Reduction::full) {
    return metric_pass(net, team, batch, values, state, outer, reduction, kHeadDamping);
  }
};

/// Solves A x = b by Gauss-Jordan elimination without pivoting; A is positive definite.
Numbers solved_in_order(Dense a, Numbers b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = 0; i < n; ++i) {
      const double f = i == k ? 0 : a[i][k] / a[k][k];
      for (std::size_t j = 0; j < n; ++j) a[i][j] -= f * a[k][j];
      b[i] -= f * b[k];
    }
  for (std::size_t k = 0; k < n; ++k) b[k] /= a[k][k];
  return b;
}

struct HeadMetricCase {
  bool by_rows = false;    ///< an observation of the loss is a row; otherwise a sequence
  Numbers variances = {};  ///< seeds of the modulus at the signal [rows x size]; empty: the outer product metric
  bool diagonal = false;   ///< of units, only the diagonal
};

/// Everything by definition, for a network with one head that is not split.
class WholeHeadDefinition {
 public:
  WholeHeadDefinition(HeadProblem& problem, const HeadMetricCase& definition)
      : problem_(problem), definition_(definition), graph_(graph_of(problem)), head_(problem.net.heads.front()) {
    const Numbers& variances = definition.variances;
    direction.assign(at(graph_.parameters()), 0);
    read_signal();
    Numbers linear(at(graph_.nodes()), 0), modulus = linear;
    for (std::size_t i = 0; i < signal_.size(); ++i) {
      linear[at(node_of(i))] = slope(i);
      if (!variances.empty()) modulus[at(node_of(i))] = variances[i];
    }
    nats = nats_of_all();
    adjoints_ = graph_.backward(linear, false);
    moduli_ = variances.empty() ? adjoints_ : graph_.backward(modulus, true);
    for (std::size_t n = 0; n < moduli_.size() && variances.empty(); ++n) moduli_[n] *= adjoints_[n];
    gradient.assign(adjoints_.begin(), adjoints_.begin() + graph_.parameters());
    for (const auto& edge : graph_.edges())
      if (edge.from < graph_.parameters()) inputs_[edge.to].emplace_back(edge.from, edge.partial);
    for (std::size_t s = 0; s < problem.circuit.nodes().size(); ++s) solve_node(static_cast<int>(s));
    solve_own();
  }

  double nats = 0;
  Numbers gradient, direction;

  /// The gradient of the loss of one sequence.
  Numbers gradient_of(Index sequence) {
    Numbers linear(at(graph_.nodes()), 0);
    const Structure& all = problem_.batch.structure;
    for (Index t = 0; t < all.size(sequence); ++t)
      for (Index i = 0; i < size(); ++i) {
        const auto place = at(all.row(sequence, t) * size() + i);
        linear[at(node_of(place))] = slope(place);
      }
    return graph_.backward(linear, false);
  }

 private:
  static ScalarGraph graph_of(HeadProblem& problem) {
    CircuitInputs inputs;
    for (const NetworkInput& input : problem.net.inputs)
      inputs.symbols[input.signal.id] = std::get<SymbolRows>(problem.batch.field(input.field)).symbols;
    return {problem.circuit, problem.batch.structure, problem.values.flat(), inputs};
  }
  Index size() const { return head_.signal.size(); }
  Index node_of(std::size_t i) const {
    return graph_.node(head_.signal.id, static_cast<Index>(i) / size(), static_cast<Index>(i) % size());
  }
  void read_signal() {
    for (Index i = 0; i < problem_.batch.structure.positions() * size(); ++i)
      signal_.push_back(graph_.value(node_of(at(i))));
  }
  Numbers nats_by_row() const {
    const Index rows = problem_.batch.structure.positions();
    Numbers result(at(rows));
    head_.loss->negative_log_likelihood({.structure = problem_.batch.structure,
                                         .signal = {signal_.data(), rows, size(), size()},
                                         .targets = targets_of<double>(problem_.batch.field("target"), 0, rows),
                                         .parameters = problem_.values.flat()},
                                        problem_.team, result.data());
    return result;
  }
  double nats_of_all() const {
    double sum = 0;
    for (const double x : nats_by_row()) sum += x;
    return sum;
  }
  double slope(std::size_t i) {
    const double kept = signal_[i];
    signal_[i] = kept + kHeadStep;
    const double up = nats_of_all();
    signal_[i] = kept - kHeadStep;
    const double down = nats_of_all();
    signal_[i] = kept;
    return (up - down) / (2 * kHeadStep);
  }

  void solve_node(int s) {
    const Node& node = problem_.circuit.nodes()[at(s)];
    if (node.kind() != Node::Kind::affine) return;
    for (const auto& term : node.terms())
      if (!term.dense()) return;
    for (Index i = 0; i < node.size; ++i) solve_unit(s, i, problem_.batch.structure.part(node.part).positions());
  }
  void solve_unit(int signal, Index component, Index rows) {
    std::map<Index, std::size_t> place;
    std::vector<Index> parameter;
    for (Index r = 0; r < rows; ++r)
      for (const auto& [q, u] : inputs_[graph_.node(signal, r, component)])
        if (place.emplace(q, parameter.size()).second) parameter.push_back(q);
    const std::size_t n = parameter.size();
    Dense m(n, Numbers(n, 0));
    Numbers g(n, 0);
    for (Index r = 0; r < rows; ++r) {
      const Index node = graph_.node(signal, r, component);
      for (const auto& [q, u] : inputs_[node]) {
        g[place[q]] += adjoints_[at(node)] * u;
        for (const auto& [k, v] : inputs_[node])
          if (k == q || !definition_.diagonal) m[place[q]][place[k]] += moduli_[at(node)] * u * v;
      }
    }
    set(parameter, m, g);
  }

  /// The parameters of the loss: one observation is a row, or a sequence, whose gradient is a central difference.
  void solve_own() {
    std::vector<Index> own;
    for (const int p : head_.loss->parameter_indices())
      for (Index i = 0; i < problem_.circuit.parameters()[at(p)].size(); ++i)
        own.push_back(problem_.circuit.parameters()[at(p)].offset + i);
    const Structure& all = problem_.batch.structure;
    Dense slopes(at(all.positions()), Numbers(own.size(), 0));  // by observation
    for (std::size_t k = 0; k < own.size(); ++k) {
      double& p = problem_.values.flat()[at(own[k])];
      const double kept = p;
      p = kept + kHeadStep;
      const Numbers up = nats_by_row();
      p = kept - kHeadStep;
      const Numbers down = nats_by_row();
      p = kept;
      for (Index s = 0; s < all.sequences(); ++s)
        for (Index t = 0; t < all.size(s); ++t) {
          const auto row = at(all.row(s, t));
          slopes[definition_.by_rows ? row : at(s)][k] += (up[row] - down[row]) / (2 * kHeadStep);
        }
    }
    Dense m(own.size(), Numbers(own.size(), 0));
    Numbers g(own.size(), 0);
    for (const Numbers& slope : slopes)
      for (std::size_t i = 0; i < own.size(); ++i) {
        g[i] += slope[i];
        for (std::size_t j = 0; j < own.size(); ++j) m[i][j] += slope[i] * slope[j];
      }
    for (std::size_t i = 0; i < own.size(); ++i) gradient[at(own[i])] = g[i], m[i][i] += 1 - kHeadDamping;
    set(own, m, g);
  }

  void set(const std::vector<Index>& parameter, Dense& m, const Numbers& g) {
    for (std::size_t k = 0; k < m.size(); ++k) m[k][k] += kHeadDamping;
    const Numbers d = solved_in_order(m, g);
    for (std::size_t k = 0; k < m.size(); ++k) direction[at(parameter[k])] = d[k];
  }

  HeadProblem& problem_;
  const HeadMetricCase definition_;
  ScalarGraph graph_;
  const Head<double>& head_;
  Numbers signal_, adjoints_, moduli_;
  std::map<Index, std::vector<std::pair<Index, double>>> inputs_;
};

void expect_near(const Numbers& found, const Numbers& expected, double tolerance, const Circuit& circuit) {
  for (const ParameterInfo& p : circuit.parameters())
    for (Index i = p.offset; i < p.offset + p.size(); ++i)
      EXPECT_NEAR(found[at(i)], expected[at(i)], tolerance * std::max(1.0, std::fabs(expected[at(i)]))) << p.name;
}

std::unique_ptr<HeadProblem> problem_of(const std::string& loss, Index signal, Index width, bool curved = false) {
  auto problem = std::make_unique<HeadProblem>();
  const Signal h = rnn(problem->circuit, problem->words("word"), 2, {});
  Signal output = problem->circuit.affine("output", signal, {{"V", h}});
  if (curved) output = problem->circuit.map(Map::tanh, output);
  problem->predict(output, loss);
  problem->draw(Structure::chains({5, 8, 1, 3}), width, kHeadLabels);
  return problem;
}

void expect_definition(const std::unique_ptr<HeadProblem>& made, bool by_rows) {
  HeadProblem& problem = *made;
  const WholeHeadDefinition expected(problem, {.by_rows = by_rows});
  const MetricPass found = problem.direction(true);
  EXPECT_NEAR(found.nats, expected.nats, 1e-8);
  expect_near(found.gradient, expected.gradient, 1e-6, problem.circuit);
  expect_near(found.direction, expected.direction, 1e-6, problem.circuit);
}

TEST(WholeHeads, outer_product_metric_of_sequence_losses_equals_its_definition) {
  for (const char* loss : {"crf", "crf:steps=read", "crf:segments=2"}) {
    SCOPED_TRACE(loss);
    expect_definition(problem_of(loss, choose_loss(loss).signal_size(kHeadLabels), 0), false);
  }
}

TEST(WholeHeads, outer_product_metric_of_density_heads_equals_its_definition) {
  for (const char* loss : {"nade:2", "made:2", "logistic-ar", "neural-ar:1", "linear-ar"}) {
    SCOPED_TRACE(loss);
    expect_definition(problem_of(loss, choose_loss(loss).signal_size(kHeadLabels), kHeadLabels), true);
  }
}

TEST(WholeHeads, outer_product_metric_of_nonlinear_outputs_equals_its_definition) {
  expect_definition(problem_of("softmax", 3, 0, true), true);
  expect_definition(problem_of("bernoulli", 3, 3, true), true);
}

/// Without a Fisher matrix by rows, the modulus begins with the squares of a random vector whose covariance it is.
TEST(WholeHeads, backpropagated_metric_starts_from_the_fisher_matrix_of_the_signal) {
  for (const char* loss : {"crf", "nade:2"}) {
    SCOPED_TRACE(loss);
    const bool by_rows = std::string_view(loss) != "crf";
    const Index size = choose_loss(loss).signal_size(kHeadLabels);
    const auto made = problem_of(loss, size, by_rows ? kHeadLabels : 0);
    HeadProblem& problem = *made;
    const Index rows = problem.batch.structure.positions();
    CorePass<double> core(problem.net, problem.team);
    core.forward(problem.batch, problem.values, problem.state, std::nullopt);
    Numbers drawn(at(rows * size)), own(problem.values.flat().size());
    problem.net.heads.front().loss->need<LossCurvature<double>>("test").curvature_sample(
        {.structure = problem.batch.structure,
         .signal = core.unfolding().value(problem.net.heads.front().signal),
         .targets = targets_of<double>(problem.batch.field("target"), 0, rows),
         .parameters = problem.values.flat()},
        1, problem.team, 0, 0, {drawn.data(), rows, size, size}, own);
    for (double& x : drawn) x *= x;
    problem.state.reset_all();
    const WholeHeadDefinition expected(problem, {.by_rows = by_rows, .variances = drawn});
    expect_near(problem.direction(false).direction, expected.direction, 1e-6, problem.circuit);
  }
}

TEST(WholeHeads, diagonal_reduction_equals_its_definition) {
  const auto problem = problem_of("crf", kHeadLabels, 0);
  const WholeHeadDefinition expected(*problem, {.diagonal = true});
  expect_near(problem->direction(true, Reduction::diagonal).direction, expected.direction, 1e-6, problem->circuit);
}

TEST(WholeHeads, losses_without_a_curvature_have_no_backpropagated_metric) {
  EXPECT_THROW(problem_of("hybrid", 3, 0)->direction(false), UsageError);
}

/// A source that is read into the initial state and at every position of the target, and a target of other lengths.
std::unique_ptr<HeadProblem> two_chains(const std::vector<Index>& lengths, bool attends) {
  auto made = std::make_unique<HeadProblem>();
  HeadProblem& problem = *made;
  Circuit& c = problem.circuit;
  Signal source;
  {
    const auto part = c.in_part(1);
    const auto scope = c.scope("encoder");
    source = rnn(c, problem.words("source"), 2, {});
  }
  const auto start = c.with_initial_state(source);
  const Signal last = c.link(source.size(), Delay::source_last());
  c.feed(last, source);
  Signal h = rnn(c, c.affine("read", 2, {{"E", problem.words("word")}, {"C", last}}), 2, {});
  if (attends) h = c.join({h, attend(c, "look", h, source, source, AttentionScore::additive)});
  problem.predict(c.map(Map::copy, c.affine("output", kHeadWords, {{"V", h}})), "softmax");
  problem.draw(Structure::chains(lengths).with_source(Structure::chains({2, 5, 3})), 0, kHeadWords);
  return made;
}

TEST(SeveralChains, metrics_of_two_chains_equal_their_definition) {
  const auto made = two_chains({4, 2, 1}, false);
  HeadProblem& problem = *made;
  const WholeHeadDefinition outer(problem, {.by_rows = true});
  expect_near(problem.direction(true).direction, outer.direction, 1e-6, problem.circuit);
  expect_near(problem.direction(true).gradient, outer.gradient, 1e-6, problem.circuit);

  const Index rows = problem.batch.structure.positions();
  CorePass<double> core(problem.net, problem.team);
  core.forward(problem.batch, problem.values, problem.state, std::nullopt);
  Numbers variances(at(rows * kHeadWords));
  problem.net.heads.front().loss->need<LossFisher<double>>("test").fisher_diagonal(
      core.unfolding().value(problem.net.heads.front().signal),
      targets_of<double>(problem.batch.field("target"), 0, rows), {variances.data(), rows, kHeadWords, kHeadWords});
  problem.state.reset_all();
  const WholeHeadDefinition backpropagated(problem, {.by_rows = true, .variances = variances});
  expect_near(problem.direction(false).direction, backpropagated.direction, 1e-6, problem.circuit);
}

/// A network whose expected output is read at the next position: recurrent units, or only the output.
std::unique_ptr<HeadProblem> fed_back(const std::string& loss, Index size, bool recurrent) {
  auto made = std::make_unique<HeadProblem>();
  HeadProblem& problem = *made;
  Circuit& c = problem.circuit;
  const Signal own = c.link(kHeadLabels, Delay::previous(1));
  const Signal read = c.affine("read", 2, {{"E", problem.words("word")}, {"F", own}});
  const Signal h = recurrent ? rnn(c, read, 2, {}) : c.map(Map::tanh, read);
  const Signal output = c.affine("output", size, {{"V", h}});
  problem.predict(output, loss);
  c.feed(own, problem.net.heads.front().loss->need<ExpectedTarget<double>>("test").expected_target(c, output));
  problem.draw(Structure::chains({5, 8, 1, 3}), loss == "softmax" ? 0 : kHeadLabels, kHeadLabels);
  return made;
}

TEST(OutputFeedback, metrics_of_networks_that_read_their_outputs_equal_their_definition) {
  for (const char* loss : {"bernoulli", "gaussian"})
    for (const bool recurrent : {true, false}) {
      SCOPED_TRACE(loss);
      const auto made = fed_back(loss, kHeadLabels, recurrent);
      HeadProblem& problem = *made;
      const WholeHeadDefinition outer(problem, {.by_rows = true});
      expect_near(problem.direction(true).direction, outer.direction, 1e-6, problem.circuit);
      expect_near(problem.direction(true).gradient, outer.gradient, 1e-6, problem.circuit);

      const Index rows = problem.batch.structure.positions();
      CorePass<double> core(problem.net, problem.team);
      core.forward(problem.batch, problem.values, problem.state, std::nullopt);
      Numbers variances(at(rows * kHeadLabels));
      problem.net.heads.front().loss->need<LossFisher<double>>("test").fisher_diagonal(
          core.unfolding().value(problem.net.heads.front().signal),
          targets_of<double>(problem.batch.field("target"), 0, rows),
          {variances.data(), rows, kHeadLabels, kHeadLabels});
      problem.state.reset_all();
      const WholeHeadDefinition backpropagated(problem, {.by_rows = true, .variances = variances});
      expect_near(problem.direction(false).direction, backpropagated.direction, 1e-6, problem.circuit);
    }
}

/// The same network as fed_back("softmax", ...), with the probabilities p_k = exp(o_k - log(sum_j exp(o_j))) written
/// out, and one link and one matrix for each of them. The parameters have the same places.
std::unique_ptr<HeadProblem> fed_back_by_parts(bool recurrent) {
  auto made = std::make_unique<HeadProblem>();
  HeadProblem& problem = *made;
  Circuit& c = problem.circuit;
  std::vector<Signal> own;
  std::vector<Term> terms = {{"E", problem.words("word")}};
  for (const char* name : {"F0", "F1", "F2"}) {
    own.push_back(c.link(1, Delay::previous(1)));
    terms.push_back({name, own.back()});
  }
  const Signal read = c.affine("read", 2, terms);
  const Signal h = recurrent ? rnn(c, read, 2, {}) : c.map(Map::tanh, read);
  const Signal output = c.affine("output", kHeadLabels, {{"V", h}});
  problem.predict(output, "softmax");
  const Signal powers = c.map(Map::exp, output);
  const Signal sum = c.slice(powers, 0, 1) + c.slice(powers, 1, 1) + c.slice(powers, 2, 1);
  const Signal logarithm = c.map(Map::log, sum);
  for (Index k = 0; k < kHeadLabels; ++k) c.feed(own[at(k)], c.map(Map::exp, c.slice(output, k, 1) - logarithm));
  problem.draw(Structure::chains({5, 8, 1, 3}), 0, kHeadLabels);
  return made;
}

TEST(OutputFeedback, outer_product_metric_with_fed_back_probabilities_equals_its_definition) {
  for (const bool recurrent : {true, false}) {
    const auto made = fed_back("softmax", kHeadLabels, recurrent), parts = fed_back_by_parts(recurrent);
    ASSERT_EQ(made->values.flat().size(), parts->values.flat().size());
    std::ranges::copy(made->values.flat(), parts->values.flat().begin());
    const WholeHeadDefinition expected(*parts, {.by_rows = true});
    const MetricPass found = made->direction(true);
    EXPECT_NEAR(found.nats, expected.nats, 1e-8);
    expect_near(found.gradient, expected.gradient, 1e-6, parts->circuit);
    expect_near(found.direction, expected.direction, 1e-6, parts->circuit);
  }
}

/// With one position per sequence, the gradient at a position is that of its sequence.
TEST(SeveralChains, attention_parameters_form_one_block) {
  const auto made = two_chains({1, 1, 1}, true);
  HeadProblem& problem = *made;
  WholeHeadDefinition definition(problem, {.by_rows = true});
  const MetricPass found = problem.direction(true);
  expect_near(found.gradient, definition.gradient, 1e-6, problem.circuit);
  for (const ParameterInfo& p : problem.circuit.parameters()) {
    if (p.name != "look/v") continue;
    const auto n = at(p.size());
    Dense m(n, Numbers(n, 0));
    Numbers g(n, 0);
    for (Index s = 0; s < 3; ++s) {
      const Numbers all = definition.gradient_of(s);
      const Numbers slope(all.begin() + p.offset, all.begin() + p.offset + p.size());
      for (std::size_t i = 0; i < n; ++i) {
        g[i] += slope[i];
        for (std::size_t j = 0; j < n; ++j) m[i][j] += slope[i] * slope[j] + (s == 0 && i == j ? kHeadDamping : 0);
      }
    }
    const Numbers expected = solved_in_order(m, g);
    for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(found.direction[at(p.offset) + i], expected[i], 1e-6);
    return;
  }
  FAIL() << "no parameters of attention";
}

}  // namespace
}  // namespace unfold
