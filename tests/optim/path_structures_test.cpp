/// Path-normalized directions over trees, grids, encoders with decoders, and tied weights: a step does not depend on
/// the scale of units, and the penalty is the derivative of the path norm.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>

#include "graph/paths/path_pass.h"
#include "unfold/base/error.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/numerics/random.h"
#include "unfold/optim/direction/objective.h"
#include "unfold/optim/optimizer.h"

namespace unfold {
namespace {

/// Rescaled that can be rescaled together: parameters whose columns lead to them, and parameters whose rows leave them.
struct Rescaled {
  std::vector<std::string> into, from;
  bool inverse = false;  ///< by the inverse factors of the previous group
};

struct StructuredNet {
  const char* name;
  std::function<void(Circuit&)> build;
  Structure structure;
  std::vector<Rescaled> units;
  std::vector<std::pair<std::string, std::string>> tied = {};
};

void tree_net(Circuit& c) {
  const Signal left = c.link(3, Delay::child(0)), right = c.link(3, Delay::child(1));
  const Signal h = relu(c.affine("z", 3, {{"W", c.symbols("x", 3)}, {"U", left}, {"R", right}}));
  c.feed(left, h);
  c.feed(right, h);
  c.output(c.affine("o", 2, {{"V", h}}));
}

void grid_net(Circuit& c) {
  const Signal left = c.link(3, Delay::left()), up = c.link(3, Delay::up());
  const Signal h = relu(c.affine("z", 3, {{"W", c.input("x", 2)}, {"U", left}, {"R", up}}));
  c.feed(left, h);
  c.feed(up, h);
  c.output(c.affine("o", 2, {{"V", h}}));
}

void pair_net(Circuit& c) {
  Signal encoded, summary;
  {
    const auto part = c.in_part(2);
    const Signal h = c.link(3);
    encoded = relu(c.affine("e", 3, {{"W", c.symbols("source", 3)}, {"U", h}}));
    c.feed(h, encoded);
  }
  {
    const auto part = c.in_part(1);
    const Signal end = c.link(3, Delay::source_last());
    c.feed(end, encoded);
    summary = relu(c.affine("s", 3, {{"R", end}}));
  }
  const auto start = c.with_initial_state(summary);
  const Signal read = c.link(3, Delay::source_last()), h = c.link(3);
  c.feed(read, summary);
  const Signal next = relu(c.affine("d", 3, {{"W", c.symbols("target", 3)}, {"S", read}, {"U", h}}));
  c.feed(h, next);
  c.output(c.affine("o", 2, {{"V", next}}));
}

/// The weights of the output are the embedding of the input; its components are also the units of the layer.
void tied_net(Circuit& c) {
  const Signal x = c.affine("embedding", 3, {{"E", c.symbols("x", 4)}}, Init::zero(), false), before = c.link(3);
  const Signal h = relu(c.affine("z", 3, {{"W", x}, {"U", before}}));
  c.feed(before, h);
  c.output(c.affine("o", 4, {{"V", h}}));
}

/// The mean over the positions, and groups of units that move at every second position.
void position_net(Circuit& c) {
  const Signal one = c.link(3), earlier = c.link(3, Delay::previous(2)), before = c.link(3), sum = c.link(3),
               count = c.link(3);
  c.feed(one, 0.0 * one + 1.0);
  const Signal now = one_minus(one) + earlier;
  c.feed(earlier, now);
  const Signal z = relu(c.affine("z", 3, {{"W", c.symbols("x", 3)}, {"U", before}}));
  const Signal h = before + now * (z - before), total = sum + h, length = count + 1;
  c.feed(before, h);
  c.feed(sum, total);
  c.feed(count, length);
  c.output(c.affine("o", 2, {{"V", total * exp(-1 * log(length))}}));
}

/// Factors of the current input multiply the state.
void factored_net(Circuit& c) {
  c.output(c.affine("o", 2, {{"V", mrnn(c, c.symbols("x", 3), 3, {.activation = Map::relu})}}));
}

std::vector<StructuredNet> structured_nets() {
  const Rescaled plain{{"z/W", "z/U", "z/R", "z/bias"}, {"z/U", "z/R", "o/V"}};
  const std::vector<Tree> trees = {{{{}, {}, {0, 1}, {2, 4}, {}}}, {{{}, {-1, 0}}}};
  const std::vector<std::pair<Index, Index>> shapes = {{3, 2}, {1, 4}};
  const Structure source = Structure::chains(2, 1).with_source(Structure::chains({2, 4}));
  return {{"trees", tree_net, Structure::trees(trees), {plain}},
          {"grids", grid_net, Structure::grids(shapes), {plain}},
          {"pairs",
           pair_net,
           Structure::chains({4, 3}).with_source(source),
           {{{"e/W", "e/U", "e/bias"}, {"e/U", "s/R"}},
            {{"s/R", "s/bias"}, {"d/S", "start/Q"}},
            {{"d/W", "d/S", "d/U", "d/bias", "start/Q", "start/bias"}, {"d/U", "o/V"}}}},
          {"tied",
           tied_net,
           Structure::chains({4, 2}),
           {{{"embedding/E"}, {"z/W"}}, {{"z/W", "z/U", "z/bias"}, {"z/U", "o/V"}, true}},
           {{"o/V", "embedding/E"}}},
          {"positions", position_net, Structure::chains({4, 3}), {plain}},
          {"factors",
           factored_net,
           Structure::chains({4, 3}),
           {{{"z/W", "z/U", "z/bias"}, {"fh/U", "o/V"}}, {{"fx/W", "fx/bias"}, {"z/U"}}}}};
}

/// The mean square of the outputs minus random targets, on fixed inputs.
class Squares final : public Objective<double> {
 public:
  Squares(const StructuredNet& net, Team& team) : team_(team) {
    net.build(circuit_);
    parameters_ = Parameters<double>(circuit_);
    Random random(5, "numbers");
    for (double& p : parameters_.flat()) p = random.uniform(-0.5, 0.9);
    unfolding_ = std::make_unique<Unfolding<double>>(std::make_shared<const Plan>(circuit_), team);
    unfolding_->lay(net.structure);
    for (int i = 0; i < static_cast<int>(circuit_.nodes().size()); ++i) {
      const Node& node = circuit_.nodes()[at(i)];
      if (node.kind() == Node::Kind::symbols)
        for (Symbol& s : unfolding_->symbols({&circuit_, i}))
          s = static_cast<Symbol>(random.below(static_cast<std::uint64_t>(node.size)));
      if (node.kind() != Node::Kind::input) continue;
      const Matrix<double> rows = unfolding_->input({&circuit_, i});
      for (Index r = 0; r < rows.rows; ++r)
        for (Index c = 0; c < rows.cols; ++c) rows(r, c) = random.normal();
    }
    output_ = {&circuit_, circuit_.outputs().front()};
    targets_.resize(at(net.structure.positions() * output_.size()));
    for (double& t : targets_) t = random.normal();
    PathGraph graph{.structure = net.structure, .ends = {{output_.id, {}}}};
    graph.ends[0].rows.resize(at(net.structure.positions()));
    std::iota(graph.ends[0].rows.begin(), graph.ends[0].rows.end(), Index{0});
    graph_ = std::make_shared<const PathGraph>(std::move(graph));
    for (const auto& [own, other] : net.tied) {
      ties_.push_back({index_of(own), index_of(other)});
      const Matrix<double> to = parameters_[ties_.back().parameter], from = parameters_[ties_.back().transposed];
      for (Index r = 0; r < to.rows; ++r)
        for (Index c = 0; c < to.cols; ++c) to(r, c) = from(c, r);
    }
  }
  Parameters<double>& parameters() override { return parameters_; }
  Team& team() override { return team_; }
  double gradient(std::span<double> gradient) override {
    const double result = loss();
    const Matrix<const double> values = unfolding_->value(output_);
    const Matrix<double> adjoints = unfolding_->adjoint(output_);
    for (Index r = 0; r < values.rows; ++r)
      for (Index c = 0; c < values.cols; ++c)
        adjoints(r, c) = (values(r, c) - targets_[at(r * values.cols + c)]) / static_cast<double>(targets_.size());
    unfolding_->backward(gradient);
    for (const WeightTie& tie : ties_) {
      const Matrix<double> own = parameters_.view(gradient.data(), tie.parameter),
                           other = parameters_.view(gradient.data(), tie.transposed);
      for (Index r = 0; r < own.rows; ++r)
        for (Index c = 0; c < own.cols; ++c) own(r, c) = other(c, r) = own(r, c) + other(c, r);
    }
    return result;
  }
  double loss() override {
    const std::vector<double> found = outputs();
    double sum = 0;
    for (std::size_t i = 0; i < found.size(); ++i) sum += (found[i] - targets_[i]) * (found[i] - targets_[i]) / 2;
    return sum / static_cast<double>(found.size());
  }
  PathReading path_reading() override {
    return {.circuit = &circuit_, .output = output_.id, .graph = graph_, .ties = ties_};
  }
  std::vector<double> outputs() {
    unfolding_->set_parameters(parameters_);
    unfolding_->forward();
    const Matrix<const double> values = unfolding_->value(output_);
    std::vector<double> result;
    for (Index r = 0; r < values.rows; ++r) result.insert(result.end(), values.row(r), values.row(r) + values.cols);
    return result;
  }
  /// Multiplies the weights into unit j by a_j and divides those that leave it by a_j, or back.
  void rescale(const std::vector<Rescaled>& units, bool back) {
    Random random(8, "factors");
    std::array<double, 3> factors = {};
    for (const Rescaled& group : units) {
      for (double& a : factors) {
        if (!group.inverse) a = back ? 1 / random.uniform(0.2, 5) : random.uniform(0.2, 5);
        if (group.inverse) a = 1 / a;
      }
      for (const ParameterInfo& block : parameters_.info()) {
        Matrix<double> w = parameters_.at(block.name);
        for (Index i = 0; i < w.rows; ++i)
          for (Index j = 0; j < w.cols; ++j) {
            if (named(block.name, group.into)) w(i, j) *= factors[at(j)];
            if (named(block.name, group.from)) w(i, j) /= factors[at(i)];
          }
      }
    }
  }
  const Circuit& circuit() const { return circuit_; }
  const PathGraph& graph() const { return *graph_; }
  const std::vector<WeightTie>& ties() const { return ties_; }

 private:
  static bool named(const std::string& name, const std::vector<std::string>& suffixes) {
    return std::ranges::any_of(suffixes, [&](const std::string& suffix) { return name.ends_with(suffix); });
  }
  int index_of(const std::string& name) const {
    for (std::size_t i = 0; i < parameters_.info().size(); ++i)
      if (parameters_.info()[i].name == name) return static_cast<int>(i);
    return -1;
  }

  Team& team_;
  Circuit circuit_;
  Parameters<double> parameters_;
  std::unique_ptr<Unfolding<double>> unfolding_;
  Signal output_;
  std::vector<double> targets_;
  std::shared_ptr<const PathGraph> graph_;
  std::vector<WeightTie> ties_;
};

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double result = 0;
  for (std::size_t i = 0; i < a.size(); ++i) result = std::max(result, std::abs(a[i] - b[i]));
  return result;
}

struct ScaleEffect {
  double difference, moved;
};

/// Runs ten steps unchanged, and ten with rescaled units that are then scaled back.
ScaleEffect ten_steps(const StructuredNet& net, const char* spec) {
  Team team(1);
  std::vector<std::vector<double>> ends;
  double moved = 0;
  for (const bool rescaled : {false, true}) {
    Squares objective(net, team);
    const std::vector<double> start = objective.outputs();
    if (rescaled) objective.rescale(net.units, false);
    EXPECT_LT(largest_difference(start, objective.outputs()), 1e-12) << net.name;
    const auto optimizer = make_optimizer<double>(spec, objective.parameters().size());
    optimizer->attach(objective);
    for (Index step = 0; step < 10; ++step) optimizer->step(objective, {.step = step, .fraction = 0}, 1);
    if (rescaled) objective.rescale(net.units, true);
    ends.push_back(objective.outputs());
    moved = std::max(moved, largest_difference(start, ends.back()));
  }
  return {largest_difference(ends[0], ends[1]), moved};
}

TEST(PathStructures, steps_over_any_structure_are_invariant_to_unit_scaling) {
  for (const StructuredNet& net : structured_nets()) {
    for (const char* spec : {"path:rate=0.05,clip=0", "path:rate=0.05,clip=0.05,refresh=3",
                             "path:rate=0.05,outputs=last", "path+momentum:rate=0.02,least=0.5"}) {
      const ScaleEffect found = ten_steps(net, spec);
      EXPECT_LT(found.difference, 1e-9) << net.name << ' ' << spec;
      EXPECT_GT(found.moved, 0.001) << net.name << ' ' << spec;
    }
    EXPECT_GT(ten_steps(net, "sgd:rate=0.05,momentum=0,clip=0").difference, 1e-4) << net.name;
  }
}

TEST(PathStructures, tied_copies_stay_bit_identical) {
  Team team(1);
  for (const char* spec : {"path:rate=0.05,clip=0.01", "path+adam:rate=0.01", "path+momentum:rate=0.02,least=0.9",
                           "adam:rate=0.01,path-penalty=0.1"}) {
    Squares objective(structured_nets()[3], team);
    const auto optimizer = make_optimizer<double>(spec, objective.parameters().size());
    optimizer->attach(objective);
    for (Index step = 0; step < 10; ++step) optimizer->step(objective, {.step = step, .fraction = 0}, 1);
    const WeightTie tie = objective.ties().front();
    const Matrix<double> own = objective.parameters()[tie.parameter], other = objective.parameters()[tie.transposed];
    for (Index r = 0; r < own.rows; ++r)
      for (Index c = 0; c < own.cols; ++c) EXPECT_EQ(own(r, c), other(c, r)) << spec;
  }
}

/// The penalty's part of a step is the derivative of log gamma^2, here from finite differences; both copies of a tied
/// weight move together.
TEST(PathStructures, penalty_is_the_derivative_of_the_norm_over_any_structure) {
  Team team(1);
  constexpr double kRate = 0.1, kWeight = 0.3, kStep = 1e-5;
  for (const StructuredNet& net : structured_nets()) {
    const auto moved = [&](const char* spec) {
      Squares objective(net, team);
      const auto optimizer = make_optimizer<double>(spec, objective.parameters().size());
      optimizer->attach(objective);
      optimizer->step(objective, {}, 1);
      return std::vector<double>(objective.parameters().flat().begin(), objective.parameters().flat().end());
    };
    const auto plain = moved("sgd:rate=0.1,momentum=0,clip=0"),
               penalized = moved("sgd:rate=0.1,momentum=0,clip=0,path-penalty=0.3");
    Squares objective(net, team);
    PathPass<double> pass(objective.circuit(), team);
    std::vector<double> kappa(plain.size());
    std::vector<std::size_t> copy(plain.size());
    std::iota(copy.begin(), copy.end(), std::size_t{0});
    for (const WeightTie& tie : objective.ties()) {
      const ParameterInfo &own = objective.parameters().info()[at(tie.parameter)],
                          &other = objective.parameters().info()[at(tie.transposed)];
      for (Index r = 0; r < own.rows; ++r)
        for (Index c = 0; c < own.cols; ++c) {
          const std::size_t i = at(own.offset + r * own.cols + c), k = at(other.offset + c * other.cols + r);
          copy[i] = k, copy[k] = i;
        }
    }
    const auto log_norm = [&](std::size_t i, double change) {
      Parameters<double> p = objective.parameters();
      p.flat()[i] += change;
      if (copy[i] != i) p.flat()[copy[i]] += change;
      return std::log(pass.run(p, {.graph = &objective.graph()}, kappa).norm.value());
    };
    for (std::size_t i = 0; i < plain.size(); ++i) {
      const double slope = (log_norm(i, kStep) - log_norm(i, -kStep)) / (2 * kStep);
      EXPECT_NEAR(plain[i] - penalized[i], kRate * kWeight * slope, 1e-8) << net.name << i;
    }
  }
}

/// One unit in closed form: the mean over T positions, of which each unit is read with the weight 1/T.
TEST(PathStructures, constant_factors_are_weights_of_edges) {
  Circuit c;
  const Signal sum = c.link(1), count = c.link(1);
  const Signal total = sum + relu(c.affine("z", 1, {{"W", c.input("x", 1)}}, Init::zero(), false)), length = count + 1;
  c.feed(sum, total);
  c.feed(count, length);
  c.output(c.affine("o", 1, {{"V", total * exp(-1 * log(length))}}, Init::zero(), false));
  Parameters<double> p(c);
  p.at("z/W")(0, 0) = 3;
  p.at("o/V")(0, 0) = 0.5;
  Team team(1);
  std::vector<double> kappa(2);
  PathPass<double> pass(c, team);
  EXPECT_NEAR(pass.run(p, {.length = 5, .every_step = false}, kappa).norm.value(), 9 * 0.25 / 5, 1e-12);
  EXPECT_NEAR(kappa[0], 9.0 / 5, 1e-12);  // o/V
  EXPECT_NEAR(kappa[1], 0.25 / 5, 1e-12);
}

/// A factor of the input multiplies every path through the state by the sum over the paths to the factor.
TEST(PathStructures, factors_of_the_input_multiply_paths) {
  Circuit c;
  const Signal h = c.link(1), x = c.input("x", 2);
  const Signal next = c.affine("fx", 1, {{"W", x}}) * c.affine("fh", 1, {{"U", h}}) + c.affine("z", 1, {{"W", x}});
  c.feed(h, next);
  c.output(next);
  Parameters<double> p(c);
  Random random(3, "weights");
  for (double& w : p.flat()) w = random.uniform(0.5, 1.5);
  const auto square_of = [&](const char* name, Index row) { return p.at(name)(row, 0) * p.at(name)(row, 0); };
  const auto entering = [&](const std::string& name) {
    return square_of((name + "/W").c_str(), 0) + square_of((name + "/W").c_str(), 1) +
           square_of((name + "/bias").c_str(), 0);
  };
  double state = 0;
  for (int t = 0; t < 3; ++t)
    state = entering("fx") * (square_of("fh/U", 0) * state + square_of("fh/bias", 0)) + entering("z");
  Team team(1);
  std::vector<double> kappa(p.flat().size());
  PathPass<double> pass(c, team);
  EXPECT_NEAR(pass.run(p, {.length = 3, .every_step = false}, kappa).norm.value(), state, 1e-12 * state);
  EXPECT_THROW(pass.run(p, {.length = 3, .with_second = true}, kappa), UsageError);
}

}  // namespace
}  // namespace unfold
