/// Forward-mode gradients, compared with the backward pass over whole sequences and with an explicit recursion.

#include "optim/rtrl/forward_gradient.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/optim/rtrl/windows.h"
#include "tests/support/circuits.h"
#include "unfold/base/error.h"
#include "unfold/graph/cells/cell.h"
#include "unfold/graph/cells/cells.h"

namespace unfold {
namespace {

using test::cut;
using test::distance;
using test::go_forward;
using test::look_back;
using test::random_batch;
using test::small_model;

const std::vector<Index> kLengths = {17, 9, 17, 1};
constexpr Index kLetters = 4;

void expect_exact(const std::string& spec, const std::string& method) {
  const auto model = small_model<double>(spec, kLetters);
  const auto back = look_back(model.network(), model.parameters(), random_batch(kLengths, 0, 100, kLetters));
  for (const Index window : {Index{17}, Index{5}, Index{1}}) {
    const auto forward = go_forward(model.network(), model.parameters(), cut(kLengths, window, kLetters), method);
    EXPECT_LE(distance(forward.gradient, back.gradient), 1e-12) << spec << " " << method << " by " << window;
    EXPECT_NEAR(forward.nats, back.nats, 1e-11 * back.nats) << spec;
    EXPECT_LE(distance(forward.state, back.state), 1e-14) << spec;
  }
}

TEST(Rtrl, rtrl_equals_the_backward_pass_for_any_division) {
  for (const char* spec :
       {"rnn:5", "rnn:5,activation=relu", "rnn:4,delays=1+3", "rnn:4,leak=learned", "rnn:4,trained-initial=true",
        "rnn:4,layers=2", "lstm:4", "lstm:3,trained-initial=true,embedding=3", "gru:4", "gru:4,reset=after",
        "mrnn:4,factors=3", "indrnn:6", "lru:6", "mingru:5", "minlstm:5", "slstm:4", "rhn:4", "gnn:8", "glnn:8"})
    expect_exact(spec, "rtrl");
}

TEST(Rtrl, rtrl_equals_the_backward_pass_for_every_causal_cell) {
  for (const CellEntry& cell : cells()) {
    if (!cell.reads_sequences()) continue;
    const auto model = small_model<double>(cell.name + ":8", kLetters);
    const auto back = look_back(model.network(), model.parameters(), random_batch(kLengths, 0, 100, kLetters));
    const auto forward = go_forward(model.network(), model.parameters(), cut(kLengths, 4, kLetters), "rtrl");
    EXPECT_LE(distance(forward.gradient, back.gradient), 1e-12) << cell.name;
  }
}

/// Masks equal those of the backward pass: per position or per sequence.
TEST(Rtrl, rtrl_equals_the_backward_pass_with_dropout) {
  const Batch batch = random_batch(kLengths, 0, 100, kLetters);
  for (const char* spec : {"rnn:5,dropout=0.3", "lstm:4,layers=2,dropout=0.2,embedding=3", "rnn:5,zoneout=0.3",
                           "gru:4,dropout=0.4,variational=true", "lstm:4,dropouti=0.3,embedding=4"}) {
    const auto model = small_model<double>(spec, kLetters);
    const auto plain = look_back(model.network(), model.parameters(), batch);
    for (const std::uint64_t seed : {3, 8}) {
      const auto back = look_back(model.network(), model.parameters(), batch, seed);
      EXPECT_GT(distance(back.gradient, plain.gradient), 1e-3) << spec;
      for (const int threads : {1, 3}) {
        const auto forward = go_forward(model.network(), model.parameters(), {batch}, "rtrl",
                                        {.threads = threads, .dropout_seed = seed});
        EXPECT_LE(distance(forward.gradient, back.gradient), 1e-12) << spec;
        EXPECT_NEAR(forward.nats, back.nats, 1e-11 * back.nats) << spec;
      }
    }
    const auto unseeded = go_forward(model.network(), model.parameters(), {batch}, "rtrl");
    EXPECT_LE(distance(unseeded.gradient, plain.gradient), 1e-12) << spec;
  }
}

TEST(Snap, snap_over_many_steps_equals_rtrl) {
  for (const char* spec : {"rnn:5", "lstm:3", "gnn:8"}) expect_exact(spec, "snap:1000");
  for (const char* spec : {"indrnn:6", "lru:6", "mingru:5", "sru:4"}) expect_exact(spec, "snap:1");
}

/// A network over a random circuit with a target for every output.
struct RandomNetwork {
  explicit RandomNetwork(std::uint64_t seed) {
    test::random_circuit(circuit, Structure::Kind::chains, seed);
    network.plan = std::make_shared<const Plan>(circuit);
    Random random(seed, "values");
    const Batch all = random_batch({9, 6, 1}, 0, 100, 3);
    batch.structure = all.structure;
    batch.carry = all.carry;
    for (int i = 0; i < static_cast<int>(circuit.nodes().size()); ++i) {
      const Node& node = circuit.nodes()[at(i)];
      const std::string field = "field " + std::to_string(i);
      if (node.kind() == Node::Kind::symbols) {
        network.inputs.push_back({field, {&circuit, i}});
        for (Index r = 0; r < batch.structure.positions(); ++r)
          batch.symbol_field(field).symbols.push_back(
              static_cast<Symbol>(random.below(static_cast<std::uint64_t>(node.size))));
      } else if (node.kind() == Node::Kind::input) {
        network.inputs.push_back({field, {&circuit, i}});
        give(field, node.size, random);
      }
    }
    for (const int i : circuit.outputs()) {
      if (!network.plan->needs_adjoint(network.plan->outside(i))) continue;  // depends on no parameter
      network.heads.push_back({"target " + std::to_string(i), {&circuit, i}, gaussian_loss<double>()});
      give(network.heads.back().field, circuit.nodes()[at(i)].size, random);
    }
    parameters = Parameters<double>(circuit);
    for (double& x : parameters.flat()) x = random.uniform(-0.6, 0.6);
  }
  void give(const std::string& field, Index size, Random& random) {
    ValueRows rows;
    rows.clear(batch.structure.positions(), size);
    for (Index r = 0; r < rows.rows(); ++r)
      for (Index k = 0; k < size; ++k) rows.set(r, k, static_cast<float>(random.normal()));
    batch.fields[field] = std::move(rows);
  }
  Circuit circuit;
  Network<double> network;
  Batch batch;
  Parameters<double> parameters;
};

bool looks_back_alone(const Circuit& circuit) {
  return std::ranges::all_of(circuit.nodes(), [](const Node& n) {
    return n.kind() != Node::Kind::link || n.link().delay.along == Delay::Along::previous;
  });
}

TEST(Rtrl, rtrl_equals_the_backward_pass_for_random_circuits) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    const RandomNetwork random(seed);
    if (!looks_back_alone(random.circuit)) {
      EXPECT_THROW(go_forward(random.network, random.parameters, {random.batch}, "rtrl"), UsageError) << seed;
      continue;
    }
    const auto back = look_back(random.network, random.parameters, random.batch);
    const auto forward = go_forward(random.network, random.parameters, {random.batch}, "rtrl");
    EXPECT_LE(distance(forward.gradient, back.gradient), 1e-12) << seed;
    ++compared;
  }
  EXPECT_GT(compared, 20);
}

/// SnAp-1 of an Elman network by hand: for each weight, only the effect on its own unit is carried forward, through the
/// self-connection of that unit. Menick et al. 2021, section 3.1.
TEST(Snap, snap_of_one_step_keeps_only_the_influence_on_a_unit_itself) {
  const Index n = 3;
  const auto model = small_model<double>("rnn:3", kLetters);
  const Batch batch = random_batch({12}, 0, 100, kLetters);
  auto parameters = model.parameters();
  const auto found = go_forward(model.network(), parameters, {batch}, "snap:1");
  std::string u_name, v_name;
  std::vector<std::string> names;
  for (const ParameterInfo& p : parameters.info()) {
    if (p.rows == n && p.cols == n) u_name = p.name;
    if (p.rows == n && p.cols == kLetters) v_name = p.name;
    if (p.rows == kLetters && p.cols == n) names.push_back(p.name);
  }
  ASSERT_EQ(names.size(), 1U);
  const Matrix<double> u = parameters.at(u_name), w = parameters.at(names.front()), v = parameters.at(v_name);
  const std::string bias = u_name.substr(0, u_name.rfind('/')) + "/bias";
  const std::string out_bias = v_name.substr(0, v_name.rfind('/')) + "/bias";
  const Matrix<double> b = parameters.at(bias), c = parameters.at(out_bias);
  std::vector<double> h(at(n), 0), gradient(at(n * n), 0), own(at(n * n), 0);  // of U: [j, i] goes from j to i
  const auto& read = std::get<SymbolRows>(batch.field(kPreviousSymbol)).symbols;
  const auto& told = std::get<SymbolRows>(batch.field(kSymbol)).symbols;
  for (std::size_t t = 0; t < read.size(); ++t) {
    std::vector<double> next(at(n));
    for (Index i = 0; i < n; ++i) {
      double z = b(0, i) + w(Index{read[t]}, i);
      for (Index j = 0; j < n; ++j) z += h[at(j)] * u(j, i);
      next[at(i)] = std::tanh(z);
    }
    std::vector<double> p(at(kLetters));
    double total = 0;
    for (Index s = 0; s < kLetters; ++s) {
      double o = c(0, s);
      for (Index i = 0; i < n; ++i) o += next[at(i)] * v(i, s);
      total += p[at(s)] = std::exp(o);
    }
    for (Index i = 0; i < n; ++i) {
      double of_loss = 0;
      for (Index s = 0; s < kLetters && told[t] != kNoSymbol; ++s)
        of_loss += 0.5 * (p[at(s)] / total - (told[t] == s ? 1 : 0)) * v(i, s);
      const double slope = 1 - next[at(i)] * next[at(i)];
      for (Index j = 0; j < n; ++j) {
        // The current step is exact, through all units that the loss reads; the past only as far as it is kept.
        double& g = gradient[at(j * n + i)];
        g += of_loss * slope * h[at(j)];
        for (Index k = 0; k < n; ++k) {
          double through = 0;
          for (Index s = 0; s < kLetters && told[t] != kNoSymbol; ++s)
            through += 0.5 * (p[at(s)] / total - (told[t] == s ? 1 : 0)) * v(k, s);
          g += through * (1 - next[at(k)] * next[at(k)]) * u(i, k) * own[at(j * n + i)];
        }
      }
    }
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < n; ++j)
        own[at(j * n + i)] = (1 - next[at(i)] * next[at(i)]) * (u(i, i) * own[at(j * n + i)] + h[at(j)]);
    h = next;
  }
  const ParameterInfo& info = *std::ranges::find(parameters.info(), u_name, &ParameterInfo::name);
  for (Index k = 0; k < n * n; ++k) EXPECT_NEAR(found.gradient[at(info.offset + k)], gradient[at(k)], 1e-12) << k;
}

TEST(ForwardGradient, forward_gradient_has_the_same_bits_for_any_number_of_threads) {
  const std::vector<Index> lengths = {11, 4, 7, 11, 2};
  for (const char* method : {"rtrl", "snap:2", "uoro", "nobacktrack"}) {
    const auto model = small_model<float>("lstm:5", kLetters);
    const auto one = go_forward(model.network(), model.parameters(), cut(lengths, 3, kLetters), method);
    for (const int threads : {2, 3}) {
      const auto more = go_forward(model.network(), model.parameters(), cut(lengths, 3, kLetters), method,
                                   {.seed = 1, .threads = threads});
      EXPECT_EQ(one.gradient, more.gradient) << method << " by " << threads;
      EXPECT_EQ(one.state, more.state) << method;
      EXPECT_EQ(one.nats, more.nats) << method;
    }
  }
}

TEST(ForwardGradient, forward_gradient_memory_does_not_grow_with_length) {
  Team team;
  const auto model = small_model<float>("gru:6", kLetters);
  for (const char* method : {"rtrl", "snap:1", "uoro", "nobacktrack"}) {
    ForwardGradient<float> forward(model.network(), GradientMethod::parse(method), {.streams = 2}, team);
    EXPECT_EQ(static_cast<Index>(forward.carried().size()), 2 * forward.width()) << method;
    State<float> state(*model.network().plan, 2);
    std::vector<float> gradient(at(model.parameters().size()));
    const Batch batch = random_batch({300, 200}, 0, 1000, kLetters);
    enter_batch(batch, *model.network().plan, state);
    forward.gradient(batch, state, model.parameters(), 0, 1, gradient);
    EXPECT_EQ(static_cast<Index>(forward.carried().size()), 2 * forward.width()) << method;
  }
}

Index width_of(const std::string& spec, const std::string& method) {
  Team team;
  const auto model = small_model<float>(spec, kLetters);
  return ForwardGradient<float>(model.network(), GradientMethod::parse(method), {}, team).width();
}

TEST(Rtrl, rtrl_memory_matches_diagonal_and_full_layers) {
  const Index n = 32;
  EXPECT_EQ(width_of("indrnn:32", "rtrl"), n * (kLetters + 2));  // inputs, own weight, bias
  EXPECT_EQ(width_of("rnn:32", "rtrl"), n * n * (kLetters + n + 1));
  EXPECT_EQ(width_of("rnn:32", "snap:1"), n * (kLetters + n + 1));
  EXPECT_LE(width_of("lru:32", "rtrl"), 2 * small_model<float>("lru:32", kLetters).parameters().size());
}

TEST(ForwardGradient, unsupported_forward_gradient_is_rejected_with_its_requirement) {
  const auto refused = [](const std::string& spec, const std::string& method) -> std::string {
    try {
      width_of(spec, method);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "nothing";
  };
  EXPECT_THAT(refused("rnn:600", "rtrl"), testing::AllOf(testing::HasSubstr("GB"), testing::HasSubstr("snap:1 takes"),
                                                         testing::HasSubstr("which take about")));
  EXPECT_EQ(refused("rnn:600", "snap:1"), "nothing");
}

TEST(ForwardGradient, right_to_left_networks_are_rejected) {
  Circuit c;
  const Signal x = c.symbols("x", 3);
  Signal h;
  {
    const auto reversal = c.reversed();
    h = rnn(c, x, 4);
  }
  const Signal logits = c.affine("logits", 3, {{"V", h}});
  c.output(logits);
  const auto network = text_network<double>(std::make_shared<const Plan>(c), x, logits);
  Team team;
  try {
    ForwardGradient<double>(network, GradientMethod::parse("uoro"), {}, team);
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(),
                testing::AllOf(testing::HasSubstr("--gradient uoro"), testing::HasSubstr("not to earlier positions")));
  }
}

TEST(GradientMethod, gradient_method_is_parsed_from_its_name) {
  for (const char* name : {"bptt", "rtrl", "snap:1", "snap:12", "uoro", "nobacktrack"})
    EXPECT_EQ(GradientMethod::parse(name).text(), name);
  EXPECT_EQ(GradientMethod::parse("snap").text(), "snap:1");
  EXPECT_TRUE(GradientMethod::parse("bptt").looks_back());
  for (const char* wrong : {"", "rtlr", "snap:0", "snap:x", "snap:", "rtrl:2", "uoro:1", "snap:1:2"})
    EXPECT_THROW(GradientMethod::parse(wrong), UsageError) << wrong;
}

}  // namespace
}  // namespace unfold
