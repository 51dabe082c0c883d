/// Passes on devices compared with those on the host: every cell, random circuits, all passes, ragged batches, carried
/// state, dropout, and loops as one kernel in every precision.

#include "graph/offload/offload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "graph/engine/backend.h"
#include "tests/graph/device/every_device.h"
#include "tests/support/circuits.h"
#include "unfold/base/error.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/loss/loss.h"
#include "unfold/numerics/random.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

using Build = std::function<void(Circuit&)>;

/// Symbols and numbers as inputs, one or two cells, numbers as outputs.
Build net(const std::function<Signal(Circuit&, Signal, Index)>& cell, Index n = 8, int layers = 1) {
  return [=](Circuit& c) {
    Signal x = c.affine("x", n, {{"V", c.symbols("s", 5)}, {"W", c.input("i", 3)}});
    for (int layer = 0; layer < layers; ++layer) {
      const auto scope = c.scope("layer" + std::to_string(layer));
      x = cell(c, x, n);
    }
    c.output(c.affine("o", 5, {{"W", x}}));
  };
}

/// The results of a pass for the same numbers on the host and on a device.
template <class T>
class Laid {
 public:
  Laid(const Build& build, const Structure& structure, std::shared_ptr<const Offload> offload)
      : circuit_(made(build)),
        plan_(std::make_shared<const Plan>(*circuit_)),
        parameters_(*circuit_),
        u_(plan_, team_, Precision::exact, std::move(offload)),
        state_(*plan_, structure.sequences()) {
    parameters_.initialize(7);
    Random noise(7, "noise");
    for (T& p : parameters_.flat()) p += static_cast<T>(0.05 * noise.normal());
    u_.lay(structure);
    u_.set_parameters(parameters_);
  }

  void fill(std::uint64_t seed) {
    Random random(seed, "inputs");
    for (int i = 0; i < static_cast<int>(plan_->nodes().size()); ++i) {
      const Node& n = plan_->nodes()[static_cast<std::size_t>(i)];
      if (!plan_->live(i)) continue;
      if (n.kind() == Node::Kind::input) {
        const Matrix<T> x = u_.input({circuit_.get(), i});
        for (Index r = 0; r < x.rows; ++r)
          for (Index c = 0; c < x.cols; ++c) x(r, c) = static_cast<T>(random.normal());
      } else if (n.kind() == Node::Kind::symbols) {
        for (Symbol& s : u_.symbols({circuit_.get(), i}))
          s = random.below(9) == 0 ? kNoSymbol : static_cast<Symbol>(random.below(static_cast<std::uint64_t>(n.size)));
      }
    }
  }
  void forward(bool with_state = true) { u_.forward(with_state ? &state_ : nullptr); }
  std::vector<double> outputs() {
    std::vector<double> all;
    for (const int i : circuit_->outputs()) append(all, u_.value({circuit_.get(), i}));
    return all;
  }
  std::vector<double> backward(std::uint64_t seed, Algebra algebra = Algebra::linear) {
    Random random(seed, "adjoints");
    for (const int i : circuit_->outputs()) {
      const Matrix<T> d = u_.adjoint({circuit_.get(), i});
      for (Index r = 0; r < d.rows; ++r)
        for (Index c = 0; c < d.cols; ++c)
          d(r, c) = static_cast<T>(algebra == Algebra::squared ? random.uniform() : random.normal());
    }
    std::vector<T> gradient(static_cast<std::size_t>(parameters_.size()), T{99});
    u_.backward(gradient, {.algebra = algebra});
    return {gradient.begin(), gradient.end()};
  }
  std::vector<double> tangent(std::uint64_t seed) {
    Random random(seed, "direction");
    std::vector<T> direction(static_cast<std::size_t>(parameters_.size()));
    for (T& d : direction) d = static_cast<T>(random.normal());
    u_.tangent(direction);
    std::vector<double> all;
    for (const int i : circuit_->outputs()) append(all, u_.tangent_of({circuit_.get(), i}));
    return all;
  }
  std::vector<double> state() const { return {state_.values().begin(), state_.values().end()}; }
  Unfolding<T>& unfolding() { return u_; }
  Parameters<T>& parameters() { return parameters_; }
  Signal output() const { return {circuit_.get(), circuit_->outputs().front()}; }

 private:
  static std::unique_ptr<Circuit> made(const Build& build) {
    auto circuit = std::make_unique<Circuit>();
    build(*circuit);
    return circuit;
  }
  static void append(std::vector<double>& to, Matrix<const T> m) {
    for (Index r = 0; r < m.rows; ++r) to.insert(to.end(), m.row(r), m.row(r) + m.cols);
  }
  std::unique_ptr<Circuit> circuit_;
  std::shared_ptr<const Plan> plan_;
  Team team_;
  Parameters<T> parameters_;
  Unfolding<T> u_;
  State<T> state_;
};

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return 1e9;
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  const double result = std::sqrt(difference / (size > 0 ? size : 1));
  return std::isfinite(result) ? result : 1e9;
}

class OffloadTest : public EveryDevice {
 protected:
  /// Runs all passes, twice so that they are recorded, and a third time so that they are replayed.
  template <class T>
  void expect_equal(const Build& build, const Structure& structure, double tolerance,
                    const OffloadOptions& options = {}, bool all_passes = true) {
    Laid<T> on_device(build, structure, make_offload(device, options));
    Laid<double> host(build, structure, nullptr);
    for (std::uint64_t round = 1; round <= 3; ++round) {
      SCOPED_TRACE("round " + std::to_string(round));
      on_device.fill(round), host.fill(round);
      on_device.forward(), host.forward();
      EXPECT_LT(distance(on_device.outputs(), host.outputs()), tolerance) << "forward";
      EXPECT_LT(distance(on_device.state(), host.state()), tolerance) << "state";
      EXPECT_LT(distance(on_device.backward(round), host.backward(round)), tolerance) << "backward";
      if (!all_passes) continue;
      EXPECT_LT(distance(on_device.backward(round, Algebra::squared), host.backward(round, Algebra::squared)),
                tolerance)
          << "squared";
      EXPECT_LT(distance(on_device.tangent(round), host.tangent(round)), tolerance) << "tangent";
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, OffloadTest, testing::Values("simulated", "cuda"),
                         [](const auto& of) { return std::string(of.param); });

const Structure kRagged = Structure::chains({3, 7, 1, 7, 5});
const Structure kEven = Structure::chains(4, 6);

struct NamedCell {
  std::string_view name;
  std::function<Signal(Circuit&, Signal, Index)> add;
};

const std::vector<NamedCell> kCells = {
    {"rnn", [](Circuit& c, Signal x, Index n) { return rnn(c, x, n); }},
    {"rnn relu",
     [](Circuit& c, Signal x, Index n) { return rnn(c, x, n, {.activation = Map::relu, .trained_initial = true}); }},
    {"rnn delays",
     [](Circuit& c, Signal x, Index n) {
       return rnn(c, x, n, {.delays = {1, 3}});
     }},
    {"lstm", [](Circuit& c, Signal x, Index n) { return lstm(c, x, n); }},
    {"lstm trained", [](Circuit& c, Signal x, Index n) { return lstm(c, x, n, {.trained_initial = true}); }},
    {"gru", [](Circuit& c, Signal x, Index n) { return gru(c, x, n); }},
    {"gru after", [](Circuit& c, Signal x, Index n) { return gru(c, x, n, {.reset_after = true}); }},
    {"gru hard", [](Circuit& c, Signal x, Index n) { return gru(c, x, n, {.hard_gates = true}); }},
    {"mrnn", [](Circuit& c, Signal x, Index n) { return mrnn(c, x, n); }},
    {"mingru", [](Circuit& c, Signal x, Index n) { return min_gru(c, x, n); }},
    {"minlstm", [](Circuit& c, Signal x, Index n) { return min_lstm(c, x, n); }},
    {"sru", [](Circuit& c, Signal x, Index n) { return sru(c, x, n); }},
    {"qrnn", [](Circuit& c, Signal x, Index n) { return qrnn(c, x, n); }},
    {"slstm", [](Circuit& c, Signal x, Index n) { return slstm(c, x, n); }},
    {"highway", [](Circuit& c, Signal x, Index n) { return recurrent_highway(c, x, n); }},
    {"mogrifier", [](Circuit& c, Signal x, Index n) { return mogrifier(c, x, n); }},
    {"backward lstm",
     [](Circuit& c, Signal x, Index n) {
       auto reversed = c.reversed();
       return lstm(c, x, n);
     }},
};

bool is_run(const NamedCell& cell) {
  const char* only = std::getenv("ONLY");
  return only == nullptr ||
         ("," + std::string(only) + ",").find("," + std::string(cell.name) + ",") != std::string::npos;
}

TEST_P(OffloadTest, every_cell_matches_the_host_step_by_step) {
  for (const NamedCell& cell : kCells) {
    SCOPED_TRACE(cell.name);
    if (!is_run(cell)) continue;
    expect_equal<double>(net(cell.add), kRagged, 1e-11, {.loops = false});
    expect_equal<double>(net(cell.add, 8, 2), kEven, 1e-11, {.loops = false});
  }
}

TEST_P(OffloadTest, every_cell_matches_the_host_with_loops_as_one_kernel) {
  for (const NamedCell& cell : kCells) {
    SCOPED_TRACE(cell.name);
    if (!is_run(cell)) continue;
    expect_equal<float>(net(cell.add), kRagged, 2e-5, {}, false);
    expect_equal<float>(net(cell.add, 24, 2), Structure::chains(21, 5), 2e-5, {}, false);
    expect_equal<double>(net(cell.add), kRagged, 1e-11, {}, false);
  }
}

/// More sequences than groups have rows: several tiles at once, and several passes.
TEST_P(OffloadTest, loops_are_divided_in_every_way) {
  if (GetParam() == std::string("simulated")) device = simulated_device(1);
  for (const auto& [cell, n] : {std::pair{"lstm", 8}, {"gru", 16}}) {
    SCOPED_TRACE(cell);
    const Build build = net(std::ranges::find(kCells, std::string_view(cell), &NamedCell::name)->add, n);
    for (const Index sequences : {20, 70, 150}) {
      SCOPED_TRACE(sequences);
      std::vector<Index> lengths;
      for (Index s = 0; s < sequences; ++s) lengths.push_back(1 + s % 3);
      expect_equal<float>(build, Structure::chains(lengths), 2e-5, {}, false);
      expect_equal<float>(build, Structure::chains(lengths), 3e-2, {.precision = DevicePrecision::bf16}, false);
    }
  }
}

/// Passes, softmax and Adam on the device that holds the parameters, compared with the host.
TEST_P(OffloadTest, parameters_are_updated_on_the_device) {
  const Build build = net(kCells.front().add);
  Laid<double> there(build, kRagged, make_offload(device)), home(build, kRagged, nullptr);
  Circuit circuit;
  build(circuit);
  const auto loss = softmax_loss<double>();
  const std::size_t rows = static_cast<std::size_t>(kRagged.positions());
  std::vector<Symbol> targets(rows);
  Random random(3, "targets");
  for (Symbol& s : targets) s = random.below(6) == 0 ? kNoSymbol : static_cast<Symbol>(random.below(5));
  std::vector<double> nats(rows), nats_there(rows), gradient(static_cast<std::size_t>(home.parameters().size()));
  std::vector<double> moments[4];
  for (auto& m : moments) m.assign(gradient.size(), 0.0);
  Team team;
  for (std::uint64_t round = 1; round <= 4; ++round) {
    SCOPED_TRACE(round);
    const AdamStep step{.rate = 0.01,
                        .beta1 = 0.9,
                        .beta2 = 0.99,
                        .epsilon = 1e-8,
                        .correction1 = 1 - std::pow(0.9, static_cast<double>(round)),
                        .correction2 = 1 - std::pow(0.99, static_cast<double>(round)),
                        .decay = 0.1,
                        .gradient_scale = 0.5};
    there.fill(round), home.fill(round);
    there.unfolding().set_parameters(there.parameters());
    home.unfolding().set_parameters(home.parameters());
    there.forward(), home.forward();
    const Signal head = home.output();
    loss->gradient({.structure = kRagged,
                    .signal = home.unfolding().value(head),
                    .targets = {.symbols = targets.data(), .values = {}, .predicted = nullptr},
                    .parameters = {}},
                   0.3, team, nats.data(), home.unfolding().adjoint(head), {});
    ASSERT_TRUE(there.unfolding().softmax(there.output(), targets, 0.3, true, nats_there.data()));
    EXPECT_LT(distance(nats_there, nats), 1e-12);
    home.unfolding().backward(gradient);
    Resident<double>* resident = there.unfolding().resident();
    ASSERT_NE(resident, nullptr);
    there.unfolding().backward({}, {.keep_gradient_on_device = true});
    double squares = 0;
    for (const double g : gradient) squares += g * g;
    EXPECT_NEAR(resident->gradient_norm(), std::sqrt(squares), 1e-12);
    adam_step<double>(home.parameters().flat(), gradient, moments[0], moments[1], step);
    resident->adam(there.parameters(), moments[2], moments[3], step);
    if (round == 2) continue;  // not read: the parameters stay on the device
    const auto flat = there.parameters().flat();
    EXPECT_LT(distance({flat.begin(), flat.end()}, {home.parameters().flat().begin(), home.parameters().flat().end()}),
              1e-12);
    if (round == 3) there.parameters().flat()[5] += 0.25, home.parameters().flat()[5] += 0.25;
    resident->bring(moments[2]);
    EXPECT_LT(distance(moments[2], moments[0]), 1e-12);
  }
  EXPECT_THROW(there.unfolding().softmax(there.output(), std::vector<Symbol>(rows, 5), 1, false, nats_there.data()),
               UsageError);
}

TEST_P(OffloadTest, products_are_rounded_on_request) {
  for (const char* name : {"lstm", "gru", "gru after"}) {
    SCOPED_TRACE(name);
    const auto cell =
        *std::find_if(kCells.begin(), kCells.end(), [&](const auto& c) { return std::string(c.name) == name; });
    expect_equal<float>(net(cell.add, 40), Structure::chains({9, 4, 4, 2, 1}), 3e-3,
                        {.precision = DevicePrecision::tf32}, false);
    expect_equal<float>(net(cell.add, 40), Structure::chains(8, 6), 3e-2, {.precision = DevicePrecision::bf16}, false);
    expect_equal<float>(net(cell.add, 40), Structure::chains({9, 4, 4, 2, 1}), 3e-2,
                        {.precision = DevicePrecision::bf16}, false);
  }
}

TEST_P(OffloadTest, random_circuits_match_the_host) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    const Build build = [&](Circuit& c) { test::random_circuit(c, Structure::Kind::chains, seed); };
    const Structure structure = test::random_structure(Structure::Kind::chains, seed);
    for (const bool loops : {false, true}) try {
        expect_equal<double>(build, structure, 1e-9, {.loops = loops});
      } catch (const UsageError& refused) {
        std::printf("seed %d: %s\n", static_cast<int>(seed), refused.what());
      }
  }
}

}  // namespace
}  // namespace unfold
