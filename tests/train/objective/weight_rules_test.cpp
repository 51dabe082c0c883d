/// Dropped weights, and weights tied as transposes of each other.

#include "train/objective/weight_rules.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "tests/train/trained_text.h"
#include "unfold/train/evaluate.h"

namespace unfold {
namespace {

using testing::HasSubstr;

int index_of(const Circuit& circuit, std::string_view name) {
  const auto& all = circuit.parameters();
  return static_cast<int>(std::ranges::find(all, name, &ParameterInfo::name) - all.begin());
}

/// A language model with an embedding as large as its layer.
template <class T>
struct Embedded {
  explicit Embedded(Index alphabet, Index units = 16) {
    const Signal x = circuit.symbols("symbols", alphabet);
    const Signal e = circuit.affine("embedding", units, {{"W", x, Init::normal(1)}}, Init::zero(), false);
    const Signal h = lstm(circuit, e, units);
    const Signal logits = circuit.affine("output", alphabet, {{"V", h}});
    circuit.output(logits);
    network = text_network<T>(std::make_shared<const Plan>(circuit), x, logits, false);
    parameters = Parameters<T>(circuit);
    parameters.initialize(3);
  }
  void drop(double weights, double symbols) {
    if (weights > 0) network.drops.push_back({index_of(circuit, "z/U"), weights});
    if (symbols > 0) network.drops.push_back({index_of(circuit, "embedding/W"), symbols, true});
  }
  void tie() { network.ties.push_back({index_of(circuit, "embedding/W"), index_of(circuit, "output/V")}); }

  Circuit circuit;
  Network<T> network;
  Parameters<T> parameters;
};

TEST(WeightRules, weight_drop_removes_weights_or_rows_and_scales_the_rest) {
  for (const int threads : {1, 2}) {
    Embedded<float> e(300, 40);
    e.drop(0.5, 0.25);
    Team team(threads), alone(1);
    WeightRules<float> rules(e.network, e.parameters, 7, team), again(e.network, e.parameters, 7, alone);
    Parameters<float> seen = rules.seen(4);
    const auto bits = [](const Parameters<float>& p) { return std::vector<float>(p.flat().begin(), p.flat().end()); };
    EXPECT_EQ(bits(seen), bits(again.seen(4)));
    EXPECT_NE(bits(seen), bits(again.seen(5)));
    const Matrix<const float> u = seen.at("z/U"), w = seen.at("embedding/W");
    const Matrix<const float> u0 = e.parameters.at("z/U"), w0 = e.parameters.at("embedding/W");
    Index gone = 0, rows = 0;
    for (Index r = 0; r < u.rows; ++r)
      for (Index c = 0; c < u.cols; ++c) {
        EXPECT_TRUE(u(r, c) == 0 || u(r, c) == 2 * u0(r, c));
        gone += u(r, c) == 0;
      }
    for (Index r = 0; r < w.rows; ++r) {
      rows += w(r, 0) == 0;
      for (Index c = 0; c < w.cols; ++c) EXPECT_EQ(w(r, c), w(r, 0) == 0 ? 0 : w0(r, c) * (1 / 0.75F));
    }
    const auto n = static_cast<double>(u.rows * u.cols);
    EXPECT_NEAR(static_cast<double>(gone), n / 2, 5 * std::sqrt(n / 4));
    EXPECT_NEAR(static_cast<double>(rows), 75, 5 * std::sqrt(300 * 0.25 * 0.75));
    EXPECT_EQ(seen.at("output/V")(1, 1), e.parameters.at("output/V")(1, 1));
  }
}

TEST(WeightRules, weight_rules_have_the_parameters_as_their_mean) {
  Embedded<double> e(5, 3);
  e.drop(0.4, 0.2);
  Team team(1);
  WeightRules<double> rules(e.network, e.parameters, 7, team);
  constexpr int kSteps = 20000;
  std::vector<double> mean(e.parameters.flat().size(), 0.0);
  for (int step = 0; step < kSteps; ++step) {
    const auto seen = rules.seen(static_cast<std::uint64_t>(step)).flat();
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += seen[i] / kSteps;
  }
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const double p = e.parameters.flat()[i], spread = std::abs(p) * std::sqrt(0.4 / 0.6 / kSteps);
    EXPECT_NEAR(mean[i], p, 5 * spread + 1e-9);
  }
}

/// The gradient of the loss at the weights used by a step, in a direction that keeps tied weights tied.
TEST(WeightRules, weight_rules_map_gradients_to_the_parameters) {
  const std::string text = wavy_text(200);
  const Corpus corpus = Corpus::from_text(text, Alphabet::chars_of(text));
  const Split part = whole_corpus(corpus, "training");
  TextBatches batches(corpus, part, {.window = 12, .batch = 3}, 1);
  Embedded<double> e(corpus.alphabet().size(), 4);
  e.drop(0.4, 0.3);
  e.tie();
  Team team(2);
  WeightRules<double> rules(e.network, e.parameters, 7, team);
  BatchPass<double> pass(e.network, team);
  const auto entered = [&] {
    State<double> state(*e.network.plan, 3);
    enter_batch(batches.batch(), *e.network.plan, state);
    pass.set_parameters(rules.seen(2));
    return state;
  };
  std::vector<double> gradient(e.parameters.flat().size()), direction(gradient.size());
  State<double> state = entered();
  pass.gradient(batches.batch(), state, 1, gradient);
  rules.turn(gradient);
  Random random(5, "direction");
  for (double& d : direction) d = random.normal();
  const Matrix<double> dw = e.parameters.view(direction.data(), e.network.ties[0].parameter);
  const Matrix<double> dv = e.parameters.view(direction.data(), e.network.ties[0].transposed);
  for (Index r = 0; r < dw.rows; ++r)
    for (Index c = 0; c < dw.cols; ++c) dw(r, c) = dv(c, r);
  const std::vector<double> start(e.parameters.flat().begin(), e.parameters.flat().end());
  const auto loss_at = [&](double step) {
    for (std::size_t i = 0; i < start.size(); ++i) e.parameters.flat()[i] = start[i] + step * direction[i];
    State<double> fresh = entered();
    return pass.forward(batches.batch(), fresh);
  };
  const double slope = (loss_at(1e-5) - loss_at(-1e-5)) / 2e-5;
  double inner = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) inner += gradient[i] * direction[i];
  const Matrix<double> gw = e.parameters.view(gradient.data(), e.network.ties[0].parameter);
  for (Index r = 0; r < dw.rows; ++r)  // tied weights count once, not twice
    for (Index c = 0; c < dw.cols; ++c) inner -= gw(r, c) * dw(r, c);
  EXPECT_NEAR(inner, slope, 1e-6 * std::max(1.0, std::abs(slope)));
}

/// A text, its parts and a new network with rules.
struct EmbeddedText {
  explicit EmbeddedText(bool tied = true)
      : text(wavy_text(3000)),
        corpus(Corpus::from_text(text, Alphabet::chars_of(text))),
        parts(split_corpus(corpus, parse_split("80/20"))),
        embedded(corpus.alphabet().size()) {
    embedded.drop(0.3, 0.1);
    if (tied) embedded.tie();
  }
  std::string text;
  Corpus corpus;
  std::array<Split, 3> parts;
  Embedded<float> embedded;
};

class TrainedRules : public TrainerTest {
 protected:
  static Ending finish(EmbeddedText& s, const TrainerOptions& options, int threads = 1, Observer* observer = nullptr) {
    Team team(threads);
    Trainer<float> trainer(s.embedded.network, s.embedded.parameters, {s.corpus, s.parts[0], &s.parts[1], nullptr},
                           options, team);
    trainer.set_observer(observer);
    Ending ending;
    ending.result = trainer.run();
    ending.last = flat(s.embedded.parameters);
    ending.best = flat(trainer.best());
    return ending;
  }
};

TEST_F(TrainedRules, tied_weights_stay_bit_identical_and_learn) {
  for (const char* optimizer :
       {"sgd:rate=0.5", "rmsprop", "adam:rate=0.01", "adamw:rate=0.01,lazy=true", "asgd:rate=2,t0=20"}) {
    EmbeddedText s;
    TrainerOptions options = small_options(60);
    options.optimizer = optimizer;
    const Ending ending = finish(s, options);
    const Matrix<float> w = s.embedded.parameters.at("embedding/W"), v = s.embedded.parameters.at("output/V");
    for (Index r = 0; r < w.rows; ++r)
      for (Index c = 0; c < w.cols; ++c) ASSERT_EQ(w(r, c), v(c, r)) << optimizer;
    EXPECT_LT(ending.result.best_nats_per_symbol, 2.08) << optimizer;  // ln 8
  }
}

TEST_F(TrainedRules, weight_rules_are_byte_identical_for_threads_and_resuming) {
  for (const char* optimizer : {"adam:rate=0.01", "asgd:rate=2,nonmono=1"}) {
    TrainerOptions options = small_options(90);
    options.optimizer = optimizer;
    options.penalties.smoothing = 0.1;
    options.validate_every = 5;
    options.checkpoint_steps = 9;
    options.checkpoint = file("whole.safetensors");
    EmbeddedText whole, two, cut, resumed, other;
    const Ending expected = finish(whole, options);
    options.checkpoint = file("cut.safetensors");
    const Ending divided = finish(two, options, 2);
    EXPECT_EQ(divided.last, expected.last);
    EXPECT_EQ(divided.best, expected.best);
    Stop stop(50, Stop::How::flag);
    TrainerOptions stopped = options;
    stopped.stop = &stop.flag;
    EXPECT_THROW(finish(cut, stopped, 1, &stop), InterruptedError);
    options.resume = true;
    const Ending ending = finish(resumed, options);
    EXPECT_EQ(ending.last, expected.last);
    EXPECT_EQ(ending.best, expected.best);
    options.penalties.smoothing = 0.2;
    EXPECT_THROW(finish(other, options), UsageError);  // differs from the run of the checkpoint
  }
}

TEST_F(TrainedRules, weight_rules_are_inactive_in_evaluation) {
  EmbeddedText noisy(false);
  Embedded<float> plain(noisy.corpus.alphabet().size());
  Team team(1);
  const auto judged = [&](const Network<float>& network) {
    return Evaluator<float>(network, team)
        .run(plain.parameters, noisy.corpus, exact_streams(noisy.parts[1], 1), 20)
        .nats;
  };
  EXPECT_EQ(judged(noisy.embedded.network), judged(plain.network));
}

TEST_F(TrainedRules, weight_rules_are_rejected_by_second_order_optimizers) {
  for (const char* optimizer : {"hf", "natural", "ruop"}) {
    EmbeddedText s;
    TrainerOptions options = small_options(2);
    options.optimizer = optimizer;
    try {
      finish(s, options);
      ADD_FAILURE() << optimizer;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr("dropped or tied")) << optimizer;
    }
  }
}

/// The averaged parameters are evaluated and saved; the current ones are not.
TEST_F(TrainedRules, averaged_parameters_are_saved) {
  EmbeddedText s;
  TrainerOptions options = small_options(40);
  options.optimizer = "asgd:rate=2,t0=1";
  options.validate_every = 40;
  const Ending ending = finish(s, options);
  EXPECT_NE(ending.best, ending.last);
  EmbeddedText last;
  options.optimizer = "asgd:rate=2";  // no average within one validation
  const Ending plain = finish(last, options);
  EXPECT_EQ(plain.last, ending.last);
  EXPECT_EQ(plain.best, plain.last);
  EXPECT_NE(plain.result.best_nats_per_symbol, ending.result.best_nats_per_symbol);
}

}  // namespace
}  // namespace unfold
