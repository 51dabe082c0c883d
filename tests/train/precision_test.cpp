// Training with bfloat16 products: expected effects and invariants.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "tests/optim/small_network.h"
#include "unfold/data/text/text_batches.h"
#include "unfold/numerics/bf16.h"
#include "unfold/train/passes/batch_pass.h"
#include "unfold/train/trainer.h"

namespace unfold {
namespace {

using Bf16Network = SmallNetwork<float>;

/// Selects emulation if the processor has no bfloat16 unit; must be called before the unit is first queried.
const bool kUnitChosen = [] {
  if (!processor_has_bf16()) setenv("UNFOLD_BF16", "emulate", 1);
  return true;
}();

struct Bf16Text {
  std::string text = wavy_text(6000);
  Corpus corpus = Corpus::from_text(text, Alphabet::chars_of(text));
  std::array<Split, 3> parts = split_corpus(corpus, parse_split("80/20"));
};

/// Returns the gradient of one window at the initial parameters, whole or in pieces.
std::vector<float> bf16_gradient_of(Precision precision, int threads, Index piece = 0) {
  Bf16Text t;
  Bf16Network small(t.corpus.alphabet().size(), 40, Bf16Network::Cell::lstm);
  small.network.precision = precision;
  TextBatches batches(t.corpus, t.parts[0], {.window = 21, .batch = 5}, 1);
  Team team(threads);
  BatchPass<float> pass(small.network, team);
  if (piece > 0) pass.set_piece(piece);
  pass.set_parameters(small.parameters);
  State<float> state(*small.network.plan, batches.streams());
  enter_batch(batches.batch(), *small.network.plan, state);
  std::vector<float> gradient(at(small.parameters.size()));
  pass.gradient(batches.batch(), state, 0.01, gradient);
  return gradient;
}

TEST(Bf16Training, bf16_gradients_are_accurate_and_do_not_depend_on_division) {
  const std::vector<float> exact = bf16_gradient_of(Precision::exact, 1), coarse = bf16_gradient_of(Precision::bf16, 1);
  double distance = 0, norm = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    distance += std::pow(static_cast<double>(exact[i]) - static_cast<double>(coarse[i]), 2);
    norm += std::pow(static_cast<double>(exact[i]), 2);
  }
  EXPECT_GT(distance, 0);
  EXPECT_LT(std::sqrt(distance / norm), 0.02);
  EXPECT_EQ(bf16_gradient_of(Precision::bf16, 2), coarse);
  EXPECT_EQ(bf16_gradient_of(Precision::bf16, 3), coarse);
  EXPECT_EQ(bf16_gradient_of(Precision::bf16, 1, 4), coarse);  // windows in pieces
  EXPECT_EQ(bf16_gradient_of(Precision::bf16, 2, 7), coarse);
}

struct Bf16Curve : Observer {
  void validation(const ValidationEvent& e) override { nats.push_back(e.nats_per_symbol); }
  std::vector<double> nats;
};

Bf16Curve bf16_curve_of(Precision precision, const char* optimizer = "adam:rate=0.01",
                        Precision activations = Precision::exact) {
  Bf16Text t;
  Bf16Network small(t.corpus.alphabet().size(), 24, Bf16Network::Cell::lstm);
  TrainerOptions options;
  options.optimizer = optimizer;
  options.batches = {.window = 20, .batch = 8};
  options.steps = 120;
  options.validate_every = 30;
  options.precision = precision;
  options.activations = activations;
  Team team(1);
  Trainer<float> trainer(small.network, small.parameters, {t.corpus, t.parts[0], &t.parts[1]}, options, team);
  Bf16Curve curve;
  trainer.set_observer(&curve);
  trainer.run();
  return curve;
}

TEST(Bf16Training, bf16_training_follows_the_float_loss) {
  const Bf16Curve exact = bf16_curve_of(Precision::exact), coarse = bf16_curve_of(Precision::bf16);
  ASSERT_EQ(exact.nats.size(), coarse.nats.size());
  ASSERT_GE(exact.nats.size(), 4u);
  EXPECT_LT(coarse.nats.back(), 0.6 * coarse.nats.front());
  EXPECT_NE(exact.nats, coarse.nats);
  for (std::size_t i = 0; i < exact.nats.size(); ++i) EXPECT_NEAR(coarse.nats[i], exact.nats[i], 0.01) << i;
}

TEST(Bf16Training, curvature_optimizers_are_rejected_with_bf16) {
  EXPECT_THROW(bf16_curve_of(Precision::bf16, "hf"), UsageError);
}

TEST(RoundedActivities, rounded_activations_follow_the_exact_loss_and_reject_curvature) {
  const Bf16Curve exact = bf16_curve_of(Precision::exact),
                  coarse = bf16_curve_of(Precision::exact, "adam:rate=0.01", Precision::bf16);
  ASSERT_EQ(exact.nats.size(), coarse.nats.size());
  EXPECT_NE(exact.nats, coarse.nats);
  for (std::size_t i = 0; i < exact.nats.size(); ++i) EXPECT_NEAR(coarse.nats[i], exact.nats[i], 0.01) << i;
  EXPECT_THROW(bf16_curve_of(Precision::exact, "hf", Precision::bf16), UsageError);
}

TEST(Bf16Training, bf16_requires_float) {
  SmallNetwork<double> small(5, 4, SmallNetwork<double>::Cell::rnn);
  Team team(1);
  EXPECT_THROW(Unfolding<double>(small.network.plan, team, Precision::bf16), UsageError);
}

}  // namespace
}  // namespace unfold
