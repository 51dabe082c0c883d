/// Path-normalized directions: they follow their definition, are invariant to the scaling of units, and can be resumed.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>

#include "graph/paths/path_pass.h"
#include "tests/optim/small_network.h"
#include "unfold/base/error.h"
#include "unfold/train/passes/batch_pass.h"
#include "unfold/train/trainer.h"

namespace unfold {
namespace {

/// Two layers of ReLU units over symbols.
template <class T>
struct ReluNetwork {
  explicit ReluNetwork(Index alphabet, Map activation = Map::relu) {
    Signal x = circuit.symbols("symbols", alphabet);
    const Signal symbols = x;
    for (Index l = 1; l <= 2; ++l) {
      const auto scope = circuit.scope("layer" + std::to_string(l));
      x = rnn(circuit, x, kUnits, {.activation = activation, .trained_initial = l == 2});
    }
    const Signal logits = circuit.affine("output", alphabet, {{"V", x}});
    circuit.output(logits);
    network = text_network<T>(std::make_shared<const Plan>(circuit), symbols, logits);
    parameters = Parameters<T>(circuit);
    parameters.initialize(3);
    Random noise(4, "biases");
    for (T& p : parameters.flat()) p += static_cast<T>(0.05 * noise.normal());
  }
  static constexpr Index kUnits = 5;
  Circuit circuit;
  Network<T> network;
  Parameters<T> parameters;
};

struct Text {
  explicit Text(Index length = 2000)
      : corpus(Corpus::from_text(wavy_text(length), Alphabet::chars_of(wavy_text(length)))),
        part(whole_corpus(corpus, "training")) {}
  Corpus corpus;
  Split part;
};

/// An objective with the same batch at every step.
class OneBatch final : public Objective<double> {
 public:
  OneBatch(ReluNetwork<double>& net, const Text& text, Team& team)
      : net_(net),
        team_(team),
        batches_(text.corpus, text.part, {.window = 12, .batch = 6}, 1),
        pass_(net.network, team) {}
  Parameters<double>& parameters() override { return net_.parameters; }
  Team& team() override { return team_; }
  double gradient(std::span<double> gradient) override {
    State<double> state = start();
    const Batch& window = batches_.batch();
    const auto predicted = static_cast<double>(window.predicted);
    return pass_.gradient(window, state, 1 / predicted, gradient) / predicted;
  }
  double loss() override {
    State<double> state = start();
    return pass_.forward(batches_.batch(), state) / static_cast<double>(batches_.batch().predicted);
  }
  PathReading path_reading() override {
    return {&net_.circuit, net_.network.heads.front().signal.id, batches_.batch().structure.order().steps(), true};
  }
  /// Returns the nats of every target as a function of the parameters.
  std::vector<double> nats() {
    loss();
    return {pass_.nats().begin(), pass_.nats().end()};
  }

 private:
  State<double> start() {
    State<double> state(*net_.network.plan, batches_.streams());
    enter_batch(batches_.batch(), *net_.network.plan, state);
    pass_.set_parameters(net_.parameters);
    return state;
  }
  ReluNetwork<double>& net_;
  Team& team_;
  TextBatches batches_;
  BatchPass<double> pass_;
};

/// Theorem 1: multiplies the weights into unit j of a layer by a_j and divides those out of it by a_j.
void rescale(ReluNetwork<double>& net, bool back) {
  constexpr Index n = ReluNetwork<double>::kUnits;
  Parameters<double>& p = net.parameters;
  Random random(8, "factors");
  for (const std::string layer : {"layer1", "layer2"}) {
    std::vector<double> a;
    for (Index j = 0; j < n; ++j) {
      const double factor = random.uniform(0.2, 5);
      a.push_back(back ? 1 / factor : factor);
    }
    const auto columns = [&](const std::string& name, bool divide_rows, bool only_rows) {
      Matrix<double> w = p.at(name);
      for (Index i = 0; i < w.rows; ++i)
        for (Index j = 0; j < w.cols; ++j) {
          if (!only_rows) w(i, j) *= a[static_cast<std::size_t>(j)];
          if (divide_rows) w(i, j) /= a[static_cast<std::size_t>(i)];
        }
    };
    columns(layer + "/z/W", false, false);
    columns(layer + "/z/bias", false, false);
    columns(layer + "/z/U", true, false);
    columns(layer == "layer1" ? "layer2/z/W" : "output/V", true, true);
    for (const ParameterInfo& block : p.info())
      if (block.name.starts_with(layer) && block.name.ends_with("/start")) columns(block.name, false, false);
  }
}

struct Comparison {
  double difference, moved;  ///< largest over all targets, in nats
};

/// Runs twenty steps unchanged, and twenty with rescaled units that are then scaled back.
Comparison twenty_steps(const char* spec) {
  const Text text;
  Team team(1);
  std::vector<std::vector<double>> ends;
  double moved = 0;
  for (const bool rescaled : {false, true}) {
    ReluNetwork<double> net(text.corpus.alphabet().size());
    OneBatch objective(net, text, team);
    const std::vector<double> start = objective.nats();
    if (rescaled) rescale(net, false);
    const auto optimizer = make_optimizer<double>(spec, net.parameters.size());
    optimizer->attach(objective);
    for (Index step = 0; step < 20; ++step) optimizer->step(objective, {.step = step, .fraction = 0}, 1);
    if (rescaled) rescale(net, true);
    ends.push_back(objective.nats());
    for (std::size_t i = 0; i < start.size(); ++i) moved = std::max(moved, std::abs(ends.back()[i] - start[i]));
  }
  double difference = 0;
  for (std::size_t i = 0; i < ends[0].size(); ++i) difference = std::max(difference, std::abs(ends[0][i] - ends[1][i]));
  return {difference, moved};
}

TEST(PathDirection, path_direction_is_invariant_to_unit_scaling) {
  for (const char* spec :
       {"path:rate=0.1,clip=0", "path:rate=0.1,clip=0,kappa=both", "path:rate=0.1,clip=0.05,refresh=3",
        "path:rate=0.1,outputs=last,length=7", "path+momentum:rate=0.02,clip=0",
        "path+momentum:rate=0.05,least=0.9,kappa=both,nesterov=true"}) {
    const Comparison found = twenty_steps(spec);
    EXPECT_LT(found.difference, 1e-9) << spec;
    EXPECT_GT(found.moved, 0.05) << spec;
  }
}

TEST(PathDirection, gradient_descent_and_adam_depend_on_unit_scaling) {
  for (const char* spec : {"sgd:rate=0.1,momentum=0,clip=0", "sgd:rate=0.1", "adam:rate=0.01"}) {
    const Comparison found = twenty_steps(spec);
    EXPECT_GT(found.difference, 0.01) << spec;
    EXPECT_GT(found.moved, 0.05) << spec;
  }
}

/// Returns the share of paths through each unit of an affine map, by the name of the map.
std::map<std::string, std::vector<double>> unit_shares(ReluNetwork<double>& net, const std::vector<double>& kappa) {
  std::map<std::string, std::vector<double>> result;
  for (const ParameterInfo& block : net.parameters.info()) {
    std::vector<double>& shares = result[block.name.substr(0, block.name.rfind('/'))];
    shares.resize(at(block.cols));
    for (Index i = 0; i < block.size(); ++i) {
      const double p = net.parameters.flat()[at(block.offset + i)];
      shares[at(i % block.cols)] += p * p * kappa[at(block.offset + i)];
    }
  }
  return result;
}

/// One step compared with gamma^2 g / kappa, with the minimum share of paths and the bound on the length of each block
/// in the metric.
TEST(PathDirection, path_direction_divides_the_gradient_by_the_metric) {
  const Text text;
  Team team(1);
  for (const double clip : {0.0, 0.1}) {
    ReluNetwork<double> net(text.corpus.alphabet().size());
    for (const char* name : {"layer1/z/W", "layer1/z/U"}) {  // no path enters unit 2 of layer 1
      Matrix<double> w = net.parameters.at(name);
      for (Index i = 0; i < w.rows; ++i) w(i, 2) = 0;
    }
    net.parameters.at("layer1/z/bias")(0, 2) = 0;
    OneBatch objective(net, text, team);
    const auto n = net.parameters.flat().size();
    std::vector<double> kappa(n), gradient(n);
    PathPass<double> pass(net.circuit, team);
    const PathReading reading = objective.path_reading();
    const double norm = pass.run(net.parameters, {.length = reading.length}, kappa).norm.value();
    objective.gradient(gradient);
    const auto shares = unit_shares(net, kappa);
    std::vector<double> step(n, 0.0);
    Index shortened = 0, raised = 0;
    for (const ParameterInfo& block : net.parameters.info()) {
      const std::vector<double>& units = shares.at(block.name.substr(0, block.name.rfind('/')));
      const double mean = std::accumulate(units.begin(), units.end(), 0.0) / static_cast<double>(units.size());
      double squares = 0;
      for (Index i = 0; i < block.size(); ++i) {
        const std::size_t k = at(block.offset + i);
        if (kappa[k] == 0) continue;
        const double share = units[at(i % block.cols)];
        const bool low = share > 0 && share < mean && !block.name.ends_with("/start");  // enters no unit
        const double metric = kappa[k] * (low ? mean / share : 1), u = gradient[k] * std::sqrt(norm / metric);
        squares += u * u;
        step[k] = u * std::sqrt(norm / metric);
        raised += low;
      }
      if (clip > 0 && squares > clip * clip) {
        ++shortened;
        for (Index i = block.offset; i < block.offset + block.size(); ++i) step[at(i)] *= clip / std::sqrt(squares);
      }
    }
    EXPECT_GT(raised, 0);
    EXPECT_EQ(shortened > 0, clip > 0);
    EXPECT_LT(shortened, static_cast<Index>(net.parameters.info().size()));
    const std::vector<double> before(net.parameters.flat().begin(), net.parameters.flat().end());
    const auto optimizer =
        make_optimizer<double>("path:rate=0.5,least=1,clip=" + format_number(clip), net.parameters.size());
    optimizer->attach(objective);
    optimizer->step(objective, {}, 1);
    Index still = 0;
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_NEAR(net.parameters.flat()[i], before[i] - 0.5 * step[i], 1e-12) << i;
      still += kappa[i] == 0;
    }
    EXPECT_EQ(still, 2 * ReluNetwork<double>::kUnits);  // weights that are on no path stay unchanged
  }
}

/// The step differs from that without the penalty by the gradient of weight * log gamma^2, here from finite differences
/// of gamma^2 itself.
TEST(PathPenalty, path_penalty_adds_the_gradient_of_the_logarithm_of_the_path_norm) {
  const Text text;
  Team team(2);
  const auto moved = [&](const std::string& spec) {
    ReluNetwork<double> net(text.corpus.alphabet().size());
    OneBatch objective(net, text, team);
    const auto optimizer = make_optimizer<double>(spec, net.parameters.size());
    optimizer->attach(objective);
    optimizer->step(objective, {}, 1);
    return std::vector<double>(net.parameters.flat().begin(), net.parameters.flat().end());
  };
  constexpr double kRate = 0.1, kWeight = 0.3, kStep = 1e-5;
  const auto plain = moved("sgd:rate=0.1,momentum=0,clip=0"),
             penalized = moved("sgd:rate=0.1,momentum=0,clip=0,path-penalty=0.3");
  ReluNetwork<double> net(text.corpus.alphabet().size());
  const PathReading reading = OneBatch(net, text, team).path_reading();
  PathPass<double> pass(net.circuit, team);
  std::vector<double> kappa(plain.size());
  const auto log_norm = [&] {
    return std::log(pass.run(net.parameters, {.length = reading.length, .output = reading.output}, kappa).norm.value());
  };
  for (std::size_t i = 0; i < plain.size(); i += 3) {
    double& p = net.parameters.flat()[i];
    const double before = p;
    p = before + kStep;
    const double above = log_norm();
    p = before - kStep;
    const double slope = (above - log_norm()) / (2 * kStep);
    p = before;
    EXPECT_NEAR(plain[i] - penalized[i], kRate * kWeight * slope, 1e-8) << i;
  }
  ReluNetwork<double> saturating(text.corpus.alphabet().size(), Map::tanh);
  OneBatch objective(saturating, text, team);
  EXPECT_THROW(make_optimizer<double>("sgd:path-penalty=0.3", saturating.parameters.size())->attach(objective),
               UsageError);
}

TEST(PathDirection, networks_without_a_path_reading_are_rejected_immediately) {
  const Text text;
  Team team(1);
  ReluNetwork<float> net(text.corpus.alphabet().size(), Map::tanh);
  TrainerOptions options;
  options.optimizer = "path";
  options.steps = 1;
  try {
    Trainer<float> trainer(net.network, net.parameters, {text.corpus, text.part}, options, team);
    ADD_FAILURE() << "tanh was accepted";
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find("layer1/tanh"), std::string::npos) << e.what();
  }
}

TEST(PathDirection, resumed_run_between_refreshes_is_byte_identical) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("unfold-path-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const Text text;
  Team team(1);
  for (const char* spec : {"path:rate=1,refresh=7", "path+momentum:rate=0.1,refresh=7", "path+adam:refresh=7"}) {
    std::vector<std::vector<float>> ends;
    for (const bool interrupted : {false, true}) {
      ReluNetwork<float> net(text.corpus.alphabet().size());
      TrainerOptions options;
      options.optimizer = spec;
      options.batches = {.window = 12, .batch = 4};
      options.steps = 30;
      options.checkpoint = (folder / "checkpoint.safetensors").string();
      const auto train = [&] {
        Trainer<float> trainer(net.network, net.parameters, {text.corpus, text.part}, options, team);
        trainer.run();
      };
      if (interrupted) {
        options.steps = 17;
        train();
        options.steps = 30;
        options.resume = true;
        net.parameters.initialize(99);
      }
      train();
      ends.emplace_back(net.parameters.flat().begin(), net.parameters.flat().end());
    }
    EXPECT_EQ(ends[0], ends[1]) << spec;
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace unfold
