/// Riemannian directions of networks other than language models, compared with dense brute force over the scalar graph:
/// every loss that has a Fisher metric, unpredicted rows, both directions, pooled outputs, several kinds of symbols,
/// several heads.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "optim/riemannian/output_metric.h"
#include "optim/riemannian/riemannian.h"
#include "optim/riemannian/unit_metric.h"
#include "tests/optim/metric_pass.h"
#include "tests/optim/slow_losses.h"
#include "tests/optim/small_network.h"
#include "unfold/gradcheck/scalar_graph.h"
#include "unfold/graph/cells/pool.h"

namespace unfold {
namespace {

// ------------------------------------------------------------------------------------------------------------ networks

/// The inputs and the loss of a head.
struct Wiring {
  SlowLoss loss;
  std::vector<Signal> reads;
  bool once = false;  ///< predicted at the last position only
  double weight = 1;
};

struct Inputs {
  Signal word, tag, wind;  ///< symbols, symbols of another alphabet, numbers
};

/// A network with random parameters and one batch of ragged examples with some values missing in every field.
struct HeadTask final : Objective<double> {
  using Build = std::function<std::vector<Wiring>(Circuit&, const Inputs&)>;

  explicit HeadTask(const Build& build, const std::vector<Index>& lengths = {5, 8, 1, 3}, int threads = 1)
      : crew(threads) {
    const Inputs inputs{c.symbols("word", 4), c.symbols("tag", 3), c.input("wind", 2)};
    wiring = build(c, inputs);
    net.inputs = {{"word", inputs.word}, {"tag", inputs.tag}, {"wind", inputs.wind}};
    for (std::size_t i = 0; i < wiring.size(); ++i) {
      const Signal output =
          c.affine("output" + std::to_string(i), wiring[i].loss.signal, {{"V", c.join(wiring[i].reads)}});
      c.output(output);
      net.heads.push_back({"target" + std::to_string(i), output, wiring[i].loss.fast, wiring[i].weight});
    }
    net.plan = std::make_shared<const Plan>(c);
    draw_parameters();
    draw_batch(lengths);
    before = after = State<double>(*net.plan, window.structure.sequences());
  }

  void draw_parameters() {
    values = Parameters<double>(c);
    values.initialize(3);
    Random noise(8, "noise");
    for (double& p : values.flat()) p += 0.3 * noise.normal();
    for (std::size_t i = 0; i < wiring.size(); ++i)  // probabilities must be positive
      if (wiring[i].loss.name == "normalised") {
        const std::string name = "output" + std::to_string(i) + "/";
        for (const ParameterInfo& p : c.parameters())
          if (p.name.starts_with(name))
            for (double& v : values.flat().subspan(at(p.offset), at(p.size())))
              v = p.name == name + "bias" ? 4 : 0.3 * v;
      }
  }

  void draw_batch(const std::vector<Index>& lengths) {
    window.structure = Structure::chains(lengths);
    const Index rows = window.structure.positions();
    Random random(5, "batch");
    for (const auto& [name, size] : std::map<std::string, std::uint64_t>{{"word", 4}, {"tag", 3}}) {
      window.symbol_field(name).clear(rows);
      for (Symbol& x : window.symbol_field(name).symbols)
        if (random.below(6) != 0) x = static_cast<Symbol>(random.below(size));
    }
    window.value_field("wind").clear(rows, 2);
    for (Index r = 0; r < rows; ++r)
      for (Index i = 0; i < 2 && r % 7 != 3; ++i)
        window.value_field("wind").set(r, i, static_cast<float>(random.normal()));
    for (std::size_t i = 0; i < wiring.size(); ++i) draw_targets(i, random);
    for (Index r = 0; r < rows; ++r) window.predicted += PredictedRows(window, net)[r];
    window.reset_all_chains();
  }

  void draw_targets(std::size_t i, Random& random) {
    const Structure& s = window.structure;
    const std::string name = net.heads[i].field;
    if (wiring[i].loss.of_symbols())
      window.symbol_field(name).clear(s.positions());
    else
      window.value_field(name).clear(s.positions(), kWide);
    for (Index e = 0; e < s.sequences(); ++e)
      for (Index p = wiring[i].once ? s.size(e) - 1 : 0; p < s.size(e); ++p) {
        const Index row = s.row(e, p);
        if (random.below(5) == 0 && s.size(e) > 1 && p + 1 < s.size(e)) continue;
        if (wiring[i].loss.of_symbols())
          window.symbol_field(name).symbols[at(row)] = static_cast<Symbol>(random.below(3));
        for (Index k = 0; k < kWide && !wiring[i].loss.of_symbols(); ++k)
          window.value_field(name).set(row, k, static_cast<float>(random.below(2)));
      }
  }

  Parameters<double>& parameters() override { return values; }
  Team& team() override { return crew; }
  double gradient(std::span<double>) override { throw UsageError("not asked for"); }
  double loss() override { throw UsageError("not asked for"); }
  EnteredBatch<double> enter() override { return {net, window, before, after, std::nullopt}; }
  const Network<double>& network() const override { return net; }

  Circuit c;
  std::vector<Wiring> wiring;
  Network<double> net;
  Parameters<double> values;
  Batch window;
  State<double> before, after;
  Team crew;
};

std::vector<Signal> both_directions(Circuit& c, Signal x, Index n) {
  const Signal ahead = rnn(c, x, n, {});
  const auto scope = c.scope("back");
  const auto reversed = c.reversed();
  return {ahead, rnn(c, x, n, {})};
}

HeadTask::Build tagger(const SlowLoss& loss, double weight = 1) {
  return [=](Circuit& c, const Inputs& in) {
    return std::vector<Wiring>{{.loss = loss, .reads = both_directions(c, in.word, 2), .weight = weight}};
  };
}

HeadTask::Build classifier(const SlowLoss& loss, Pool how, bool both) {
  return [=](Circuit& c, const Inputs& in) {
    std::vector<Signal> layer = both_directions(c, in.word, 2);
    if (!both) layer.pop_back();
    return std::vector<Wiring>{{.loss = loss, .reads = pool(c, layer, how), .once = true}};
  };
}

HeadTask::Build forecaster(const SlowLoss& loss) {
  return [=](Circuit& c, const Inputs& in) {
    return std::vector<Wiring>{{.loss = loss, .reads = {lstm(c, in.wind, 2, {.trained_initial = true})}}};
  };
}

HeadTask::Build reader_of_fields(const SlowLoss& loss) {
  return [=](Circuit& c, const Inputs& in) {
    const Signal fields =
        c.affine("fields", 3, {{"word", in.word}, {"tag", in.tag}, {"wind", in.wind}}, Init::zero(), false);
    return std::vector<Wiring>{{.loss = loss, .reads = {gru(c, fields, 2, {})}}};
  };
}

/// Two heads that share a direction; one predicts once per sequence and has a different weight.
std::vector<Wiring> two_heads(Circuit& c, const Inputs& in) {
  const std::vector<Signal> layer = both_directions(c, in.word, 2);
  return {{.loss = softmax_by_definition(), .reads = layer, .weight = 2},
          {.loss = normal_by_definition(), .reads = {layer[0]}, .once = true, .weight = 0.5}};
}

// --------------------------------------------------------------------------------------------------------- brute force

/// Solves A x = b by Gauss-Jordan elimination.
Numbers solved(Dense a, Numbers b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k; i < n; ++i)
      if (std::fabs(a[i][k]) > std::fabs(a[pivot][k])) pivot = i;
    std::swap(a[k], a[pivot]);
    std::swap(b[k], b[pivot]);
    for (std::size_t i = 0; i < n; ++i) {
      const double f = i == k ? 0 : a[i][k] / a[k][k];
      for (std::size_t j = 0; j < n; ++j) a[i][j] -= f * a[k][j];
      b[i] -= f * b[k];
    }
  }
  for (std::size_t k = 0; k < n; ++k) b[k] /= a[k][k];
  return b;
}

/// Computes everything by definition: unfolds into scalars, sums over paths, fills whole matrices, and solves.
/// Gradients of the losses are central differences.
class ByDefinition {
 public:
  ByDefinition(HeadTask& task, bool outer, double damping)
      : task_(task), graph_(graph_of(task)), outer_(outer), damping_(damping) {
    direction.assign(at(graph_.parameters()), 0);
    Numbers linear(at(graph_.nodes()), 0), modulus = linear;
    for (std::size_t i = 0; i < task.wiring.size(); ++i) judge(i, linear, modulus);
    adjoints_ = graph_.backward(linear, false);
    moduli_ = graph_.backward(modulus, true);
    gradient.assign(adjoints_.begin(), adjoints_.begin() + graph_.parameters());
    for (const auto& edge : graph_.edges())
      if (edge.from < graph_.parameters()) inputs_[edge.to].emplace_back(edge.from, edge.partial);
    for (std::size_t s = 0; s < task.c.nodes().size(); ++s) solve_node(static_cast<int>(s));
    solve_starts();
  }

  double nats = 0;
  Numbers gradient, direction;

 private:
  static ScalarGraph graph_of(HeadTask& task) {
    CircuitInputs inputs;
    for (const NetworkInput& input : task.net.inputs) {
      const Field& field = task.window.field(input.field);
      if (const auto* symbols = std::get_if<SymbolRows>(&field)) {
        inputs.symbols[input.signal.id] = symbols->symbols;
        continue;
      }
      const auto all = std::get<ValueRows>(field).values<double>(0, task.window.structure.positions());
      inputs.values[input.signal.id].assign(all.data, all.data + all.rows * all.cols);
    }
    return {task.c, task.window.structure, task.values.flat(), inputs};
  }

  /// Computes nats, the seeds of both passes, and the direction of the output weights.
  void judge(std::size_t i, Numbers& linear, Numbers& modulus) {
    const SlowLoss& loss = task_.wiring[i].loss;
    const double weight = task_.wiring[i].weight;
    const Node& output = task_.c.nodes()[at(task_.net.heads[i].signal.id)];
    const Field& field = task_.window.field(task_.net.heads[i].field);
    const auto n = at(output.size);
    Dense activities, slopes, fishers;
    Numbers frequency(n, loss.of_symbols() ? 0 : 1);
    for (Index r = 0; r < task_.window.structure.positions(); ++r) {
      if (!is_present(field, r)) continue;
      Numbers o, y, slope;
      for (Index x = 0; x < output.size; ++x)
        o.push_back(graph_.value(graph_.node(task_.net.heads[i].signal.id, r, x)));
      if (loss.of_symbols())
        y = {static_cast<double>(std::get<SymbolRows>(field).symbols[at(r)])};
      else
        for (Index k = 0; k < kWide; ++k) y.push_back(std::get<ValueRows>(field).values<double>(r, 1)(0, k));
      if (loss.of_symbols()) ++frequency[static_cast<std::size_t>(y[0])];
      nats += weight * loss.nats(o, y);
      for (std::size_t x = 0; x < n; ++x) {
        constexpr double kStep = 1e-5;
        Numbers up = o, down = o;
        up[x] += kStep, down[x] -= kStep;
        slope.push_back(weight * (loss.nats(up, y) - loss.nats(down, y)) / (2 * kStep));
        linear[at(graph_.node(task_.net.heads[i].signal.id, r, static_cast<Index>(x)))] += slope.back();
      }
      activities.push_back({});
      fishers.push_back({});
      const Dense f = loss.fisher(o);
      for (const auto& term : output.terms()) {
        const Matrix<double> w = task_.values[term.parameter];
        for (Index u = 0; u < w.rows; ++u) {
          double variance = 0;
          for (std::size_t x = 0; x < n; ++x)
            for (std::size_t z = 0; z < n; ++z)
              variance += w(u, static_cast<Index>(x)) * f[x][z] * w(u, static_cast<Index>(z));
          const auto node = at(graph_.node(term.source, r, u));
          modulus[node] += weight * variance;
          activities.back().push_back(graph_.value(static_cast<Index>(node)));
        }
      }
      for (std::size_t x = 0; x < n; ++x) fishers.back().push_back(weight * f[x][x]);
      slopes.push_back(slope);
    }
    for (std::size_t x = 0; x < n; ++x) {
      const double often = loss.of_symbols() ? frequency[x] / static_cast<double>(slopes.size()) : 1;
      solve_output(output, x, activities, slopes, fishers, weight * often);
    }
  }

  /// Solves the quasi-diagonal system of one output: the full system without the cross terms between units.
  void solve_output(const Node& output, std::size_t x, const Dense& activities, const Dense& slopes,
                    const Dense& fishers, double damping) {
    damping += std::numeric_limits<double>::epsilon();
    double g0 = 0, h00 = damping;
    for (std::size_t t = 0; t < slopes.size(); ++t) g0 += slopes[t][x], h00 += fishers[t][x];
    double d0 = g0 / h00;
    std::size_t unit = 0;
    for (const auto& term : output.terms()) {
      const ParameterInfo& p = task_.c.parameters()[at(term.parameter)];
      for (Index u = 0; u < p.rows; ++u, ++unit) {
        double g = 0, h0 = 0, h = damping;
        for (std::size_t t = 0; t < slopes.size(); ++t) {
          const double a = activities[t][unit];
          g += a * slopes[t][x], h0 += a * fishers[t][x], h += a * a * fishers[t][x];
        }
        const double d = (g - g0 * h0 / h00) / (h - h0 * h0 / h00);
        d0 -= h0 / h00 * d;
        direction[at(p.offset + u * p.cols) + x] = d;
      }
    }
    direction[at(task_.c.parameters()[at(output.affine().bias)].offset) + x] = d0;
  }

  bool is_head(int node) const {
    for (const Head<double>& head : task_.net.heads)
      if (head.signal.id == node) return true;
    return false;
  }

  /// The weights of a second kind of symbols have a separate matrix.
  void solve_node(int s) {
    const Node& node = task_.c.nodes()[at(s)];
    if (node.kind() != Node::Kind::affine || is_head(s)) return;
    std::vector<std::pair<Index, Index>> own;
    int kinds = 0;
    for (const auto& term : node.terms())
      if (task_.c.nodes()[at(term.source)].kind() == Node::Kind::symbols && kinds++ > 0) {
        const ParameterInfo& p = task_.c.parameters()[at(term.parameter)];
        own.emplace_back(p.offset, p.offset + p.size());
      }
    const auto kind_of = [&](Index q) {
      for (std::size_t k = 0; k < own.size(); ++k)
        if (q >= own[k].first && q < own[k].second) return k + 1;
      return std::size_t{0};
    };
    for (Index i = 0; i < node.size; ++i)
      for (std::size_t kind = 0; kind <= own.size(); ++kind)
        solve_unit(s, i, [&](Index q) { return kind_of(q) == kind; });
  }

  template <class Belongs>
  void solve_unit(int signal, Index component, Belongs&& belongs) {
    std::map<Index, std::size_t> place;
    std::vector<Index> parameter;
    const Index rows = task_.window.structure.positions();
    for (Index r = 0; r < rows; ++r)
      for (const auto& [q, u] : inputs_[graph_.node(signal, r, component)])
        if (belongs(q) && place.emplace(q, parameter.size()).second) parameter.push_back(q);
    Dense m = on_diagonal(Numbers(parameter.size(), damping_));
    Numbers g(parameter.size(), 0);
    for (Index r = 0; r < rows; ++r) {
      const Index node = graph_.node(signal, r, component);
      for (const auto& [q, u] : inputs_[node]) {
        if (!belongs(q)) continue;
        g[place[q]] += adjoints_[at(node)] * u;
        for (const auto& [k, v] : inputs_[node])
          if (belongs(k)) m[place[q]][place[k]] += weight_of(node) * u * v;
      }
    }
    const Numbers d = solved(m, g);
    for (std::size_t k = 0; k < d.size(); ++k) direction[at(parameter[k])] = d[k];
  }
  double weight_of(Index node) const { return outer_ ? adjoints_[at(node)] * adjoints_[at(node)] : moduli_[at(node)]; }

  void solve_starts() {
    for (const Node& node : task_.c.nodes()) {
      if (node.kind() != Node::Kind::link || node.link().initial < 0) continue;
      const ParameterInfo& p = task_.c.parameters()[at(node.link().initial)];
      for (Index q = p.offset; q < p.offset + p.size(); ++q) {
        double m = damping_;
        for (const auto& edge : graph_.edges())
          if (edge.from == q) m += weight_of(edge.to);
        direction[at(q)] = gradient[at(q)] / m;
      }
    }
  }

  HeadTask& task_;
  const ScalarGraph graph_;
  bool outer_;
  double damping_;
  Numbers adjoints_, moduli_;
  std::map<Index, std::vector<std::pair<Index, double>>>
      inputs_;  // of a node: the partial derivatives with respect to its parameters
};

/// Computes the same results with the passes under test.
MetricPass pass_over(HeadTask& task, bool outer, bool full, double damping) {
  return metric_pass(task.net, task.crew, task.window, task.values, task.before, outer, full, damping);
}

void expect_close(const HeadTask& task, const Numbers& found, const Numbers& expected, const std::string& what) {
  for (const ParameterInfo& p : task.c.parameters())
    for (Index i = p.offset; i < p.offset + p.size(); ++i)
      ASSERT_NEAR(found[at(i)], expected[at(i)], 1e-7 * std::max(1.0, std::fabs(expected[at(i)])))
          << what << ", " << p.name << " " << i - p.offset;
}

void expect_by_definition(const HeadTask::Build& build, const std::string& what) {
  for (const bool outer : {true, false}) {
    HeadTask task(build);
    const ByDefinition expected(task, outer, 0.3);
    const MetricPass found = pass_over(task, outer, true, 0.3);
    EXPECT_NEAR(found.nats, expected.nats, 1e-9 * std::fabs(expected.nats)) << what;
    expect_close(task, found.gradient, expected.gradient, what + " gradient");
    expect_close(task, found.direction, expected.direction, what + (outer ? " ruop" : " rbpm"));
  }
}

TEST(HeadMetric, tagger_metric_equals_the_dense_one_for_every_loss) {
  for (const SlowLoss& loss : every_loss()) expect_by_definition(tagger(loss), loss.name);
}

TEST(HeadMetric, metric_weights_each_head_for_every_loss) {
  for (const SlowLoss& loss : every_loss()) expect_by_definition(tagger(loss, 3), loss.name);
}

TEST(HeadMetric, classifier_metric_equals_the_dense_one_for_every_pooling) {
  for (const SlowLoss& loss : {softmax_by_definition(), normal_by_definition()})
    for (const Pool how : {Pool::last, Pool::mean, Pool::max, Pool::all})
      for (const bool both : {false, true})
        expect_by_definition(classifier(loss, how, both),
                             loss.name + " pool " + std::to_string(static_cast<int>(how)) + (both ? " of both" : ""));
}

TEST(HeadMetric, metric_of_numeric_inputs_equals_the_dense_one) {
  for (const SlowLoss& loss : {gaussian_by_definition(), mixture_by_definition()})
    expect_by_definition(forecaster(loss), loss.name);
}

TEST(HeadMetric, jointly_read_fields_have_one_metric_per_symbol_kind) {
  for (const SlowLoss& loss : {softmax_by_definition(), bernoulli_by_definition()})
    expect_by_definition(reader_of_fields(loss), loss.name);
}

TEST(HeadMetric, metric_of_two_heads_equals_the_dense_one) { expect_by_definition(two_heads, "two heads"); }

// ------------------------------------------------------------------------------------------------------------ training

struct StandStill final : Direction<double> {
  void move(Team&, std::span<double>, std::span<const double>, double, double) override {}
  void visit_state(StateVisitor<double>&) override {}
};

Numbers losses_of(HeadTask& task, const RiemannianOptions& options, int steps) {
  const auto control = riemannian_control<double>(task.c.parameter_count(), options);
  control->attach(task);
  StandStill none;
  Numbers result;
  for (int i = 0; i < steps; ++i) result.push_back(control->step(task, none, 0.5).loss);
  return result;
}

TEST(HeadMetric, metric_step_never_raises_the_loss) {
  std::vector<std::pair<std::string, HeadTask::Build>> tasks = {{"two heads", two_heads}};
  for (const SlowLoss& loss : every_loss()) {
    tasks.emplace_back(loss.name + " tagger", tagger(loss));
    tasks.emplace_back(loss.name + " of fields", reader_of_fields(loss));
    tasks.emplace_back(loss.name + " classifier", classifier(loss, Pool::all, true));
  }
  for (const auto& [name, build] : tasks)
    for (const auto metric : {RiemannianMetric::ruop, RiemannianMetric::rbpm, RiemannianMetric::none})
      for (const auto reduction : {Reduction::full, Reduction::quasi_diagonal}) {
        HeadTask task(build, {20, 9, 1, 14});
        const Numbers found = losses_of(task, {.metric = metric, .reduction = reduction}, 12);
        for (std::size_t i = 1; i < found.size(); ++i) EXPECT_LE(found[i], found[i - 1]) << name;
        EXPECT_LT(found.back(), found.front() - 0.002) << name;
      }
}

TEST(HeadMetric, head_metric_has_the_same_bits_on_any_number_of_threads) {
  for (const HeadTask::Build& build : {HeadTask::Build(two_heads), reader_of_fields(mixture_by_definition())}) {
    HeadTask one(build, {700, 40, 9}), three(build, {700, 40, 9}, 3);
    const RiemannianOptions options{.metric = RiemannianMetric::rbpm, .control = StepControl::fixed, .keep = 0.5};
    EXPECT_EQ(losses_of(one, options, 3), losses_of(three, options, 3));
    EXPECT_TRUE(std::equal(one.values.flat().begin(), one.values.flat().end(), three.values.flat().begin()));
  }
}

TEST(HeadMetric, head_without_targets_does_not_move) {
  for (const SlowLoss& loss : every_loss()) {
    HeadTask task(tagger(loss));
    if (loss.of_symbols())
      task.window.symbol_field("target0").clear(task.window.structure.positions());
    else
      task.window.value_field("target0").clear(task.window.structure.positions(), kWide);
    const MetricPass found = pass_over(task, false, true, 0.3);
    EXPECT_EQ(found.nats, 0) << loss.name;
    for (const double d : found.direction) EXPECT_EQ(d, 0) << loss.name;
  }
}

}  // namespace
}  // namespace unfold
