#include "unfold/train/passes/batch_pass.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/optim/small_network.h"
#include "unfold/base/error.h"
#include "unfold/train/evaluate.h"

namespace unfold {
namespace {

template <class T>
struct OnePass {
  double nats = 0;
  std::vector<T> gradient, state, row_nats;
};

/// Runs one pass over the second window of a corpus (so that the state is carried), in pieces of the given number of
/// steps.
template <class T>
OnePass<T> run(const SmallNetwork<T>& small, const Corpus& corpus, Index window, Index batch, Index piece,
               int threads) {
  Team team(threads);
  const Split part = whole_corpus(corpus, "training");
  TextBatches batches(corpus, part, {.window = window, .batch = batch}, 11);
  BatchPass<T> pass(small.network, team);
  pass.set_parameters(small.parameters);
  pass.set_piece(piece);
  if (small.network.dropout) pass.set_dropout_seed(77);
  State<T> state(*small.network.plan, batches.streams());
  OnePass<T> result;
  result.gradient.resize(static_cast<std::size_t>(small.parameters.size()));
  for (int w = 0; w < 2; ++w, batches.advance()) {
    enter_batch(batches.batch(), *small.network.plan, state);
    result.nats = pass.gradient(batches.batch(), state, 0.01, result.gradient);
    leave_batch(batches.batch(), state);
  }
  result.row_nats.assign(pass.nats().begin(), pass.nats().end());
  for (Index slot = 0; slot < batches.streams(); ++slot)
    result.state.insert(result.state.end(), state.row(slot), state.row(slot) + state.width());
  return result;
}

template <class T>
void expect_same(const OnePass<T>& a, const OnePass<T>& b, const std::string& what) {
  EXPECT_EQ(a.nats, b.nats) << what;
  EXPECT_EQ(a.row_nats, b.row_nats) << what;
  EXPECT_EQ(a.state, b.state) << what;
  EXPECT_EQ(0, std::memcmp(a.gradient.data(), b.gradient.data(), a.gradient.size() * sizeof(T))) << what;
}

using Cell = SmallNetwork<float>::Cell;

TEST(Recomputation, recomputation_has_the_bits_of_the_plain_pass_for_rectangular_windows) {
  const std::string text = wavy_text(400);
  const Corpus corpus = Corpus::from_text(text, Alphabet::chars_of(text));
  const SmallNetwork<float> small(corpus.alphabet().size(), 20, Cell::lstm, 0, true);
  const auto plain = run(small, corpus, 17, 4, 0, 1);
  for (const Index piece : {1, 2, 5, 16, 17, 100})
    for (const int threads : {1, 2})
      expect_same(plain, run(small, corpus, 17, 4, piece, threads), "pieces of " + std::to_string(piece));
}

TEST(Recomputation, recomputation_has_the_bits_of_the_plain_pass_for_ragged_windows) {
  const Corpus corpus = numbered_corpus({9, 14, 3, 30, 1, 22, 7, 12, 5, 5, 40});
  for (const bool trained_initial : {false, true}) {
    const SmallNetwork<float> small(corpus.alphabet().size(), 12, Cell::lstm, trained_initial ? 0.4 : 0,
                                    trained_initial);
    const auto plain = run(small, corpus, 23, 3, 0, 1);
    for (const Index piece : {1, 3, 7, 22})
      for (const int threads : {1, 2})
        expect_same(plain, run(small, corpus, 23, 3, piece, threads), "pieces of " + std::to_string(piece));
  }
}

TEST(RoundedActivities, rounded_activations_keep_losses_and_states_for_any_division) {
  const Corpus corpus = numbered_corpus({9, 14, 3, 30, 1, 22, 7, 12, 5, 5, 40});
  for (const double dropout : {0.0, 0.4}) {
    SmallNetwork<float> small(corpus.alphabet().size(), 12, Cell::lstm, dropout, true);
    const auto plain = run(small, corpus, 23, 3, 0, 1);
    small.network.activations = Precision::bf16;
    const auto rounded = run(small, corpus, 23, 3, 0, 1);
    EXPECT_EQ(rounded.nats, plain.nats);
    EXPECT_EQ(rounded.row_nats, plain.row_nats);
    EXPECT_EQ(rounded.state, plain.state);
    double distance = 0, norm = 0;
    for (std::size_t i = 0; i < plain.gradient.size(); ++i) {
      distance += std::pow(static_cast<double>(plain.gradient[i] - rounded.gradient[i]), 2);
      norm += std::pow(static_cast<double>(plain.gradient[i]), 2);
    }
    EXPECT_GT(distance, 0);
    EXPECT_LT(std::sqrt(distance / norm), 0.01);
    for (const Index piece : {1, 3, 7, 23, 100})
      for (const int threads : {1, 2, 3})
        expect_same(rounded, run(small, corpus, 23, 3, piece, threads), "pieces of " + std::to_string(piece));
  }
}

TEST(RoundedActivities, rounded_activations_take_at_most_three_fifths_of_the_memory) {
  const std::string text = wavy_text(9000);
  const Corpus corpus = Corpus::from_text(text, Alphabet::chars_of(text));
  SmallNetwork<float> small(corpus.alphabet().size(), 128, Cell::lstm);
  TextBatches batches(corpus, whole_corpus(corpus, "training"), {.window = 64, .batch = 32}, 1);
  Team team(1);
  std::vector<float> gradient(static_cast<std::size_t>(small.parameters.size()));
  const auto bytes_of = [&](Precision activations) {
    small.network.activations = activations;
    BatchPass<float> pass(small.network, team);
    State<float> state(*small.network.plan, batches.streams());
    pass.set_parameters(small.parameters);
    enter_batch(batches.batch(), *small.network.plan, state);
    pass.gradient(batches.batch(), state, 1, gradient);
    return static_cast<double>(pass.memory_bytes());
  };
  EXPECT_LT(bytes_of(Precision::bf16), 0.6 * bytes_of(Precision::exact));
}

TEST(RoundedActivities, rounded_activations_without_effect_are_rejected) {
  SmallNetwork<double> wide(5, 4, SmallNetwork<double>::Cell::rnn);
  wide.network.activations = Precision::bf16;
  Team team(1);
  EXPECT_THROW(BatchPass<double>(wide.network, team), UsageError);
  SmallNetwork<float> small(5, 4, Cell::rnn);
  small.network.activations = Precision::bf16;
  EXPECT_THROW(BatchPass<float>(small.network, team, 1 << 20), UsageError);
  Circuit ahead;
  const Signal x = ahead.symbols("x", 5), next = ahead.link(4, Delay::next(), true);
  const Signal h = tanh(ahead.affine("z", 4, {{"W", x}, {"U", next}})), logits = ahead.affine("o", 5, {{"V", h}});
  ahead.feed(next, h);
  ahead.output(logits);
  auto looking = text_network<float>(std::make_shared<const Plan>(ahead), x, logits);
  looking.activations = Precision::bf16;
  EXPECT_THROW(BatchPass<float>(looking, team), UsageError);
}

TEST(Recomputation, recomputation_stays_within_its_memory_limit_or_reports_the_need) {
  const std::string text = wavy_text(4000);
  const Corpus corpus = Corpus::from_text(text, Alphabet::chars_of(text));
  const Split part = whole_corpus(corpus, "training");
  const SmallNetwork<float> small(corpus.alphabet().size(), 32, SmallNetwork<float>::Cell::rnn);
  TextBatches batches(corpus, part, {.window = 1000, .batch = 2}, 1);
  Team team(1);
  std::vector<float> gradient(static_cast<std::size_t>(small.parameters.size())), limited = gradient;
  const auto gradient_of = [&](BatchPass<float>& pass, std::vector<float>& into) {
    State<float> state(*small.network.plan, 2);
    pass.set_parameters(small.parameters);
    enter_batch(batches.batch(), *small.network.plan, state);
    pass.gradient(batches.batch(), state, 1, into);
  };
  BatchPass<float> plain(small.network, team);
  gradient_of(plain, gradient);
  const std::size_t limit = plain.memory_bytes() / 8;
  BatchPass<float> pass(small.network, team, limit);
  gradient_of(pass, limited);
  EXPECT_EQ(gradient, limited);
  std::size_t packed = 2 * sizeof(float) * static_cast<std::size_t>(small.parameters.size()) + (1 << 16);
  EXPECT_LT(pass.memory_bytes(), limit + packed);
  BatchPass<float> hopeless(small.network, team, 100);
  EXPECT_THROW(gradient_of(hopeless, limited), UsageError);
}

TEST(BatchPass, gradient_equals_the_derivative_of_the_loss) {
  const Corpus corpus = numbered_corpus({9, 4, 6});
  const Split part = whole_corpus(corpus, "training");
  SmallNetwork<double> small(corpus.alphabet().size(), 5, SmallNetwork<double>::Cell::lstm, 0, true);
  TextBatches batches(corpus, part, {.window = 6, .batch = 2}, 1);
  Team team(1);
  BatchPass<double> pass(small.network, team);
  const auto loss = [&] {
    State<double> state(*small.network.plan, 2);
    enter_batch(batches.batch(), *small.network.plan, state);
    pass.set_parameters(small.parameters);
    return pass.forward(batches.batch(), state);
  };
  std::vector<double> gradient(static_cast<std::size_t>(small.parameters.size()));
  State<double> state(*small.network.plan, 2);
  enter_batch(batches.batch(), *small.network.plan, state);
  pass.set_parameters(small.parameters);
  EXPECT_EQ(pass.gradient(batches.batch(), state, 1, gradient), loss());
  for (std::size_t i = 0; i < gradient.size(); i += 7) {
    double& p = small.parameters.flat()[i];
    const double kept = p, step = 1e-5;
    p = kept + step;
    const double above = loss();
    p = kept - step;
    const double below = loss();
    p = kept;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * step), 1e-7) << i;
  }
}

/// -(1 - s) ln p_y - s / K sum over k of ln p_k, over predicted rows; its gradient is computed by finite differences.
TEST(LabelSmoothing, label_smoothing_is_the_cross_entropy_to_a_smoothed_target) {
  constexpr double kShare = 0.2;
  const Corpus corpus = numbered_corpus({9, 4, 6});
  const Split part = whole_corpus(corpus, "training");
  SmallNetwork<double> small(corpus.alphabet().size(), 5, SmallNetwork<double>::Cell::lstm, 0, true);
  TextBatches batches(corpus, part, {.window = 6, .batch = 2}, 1);
  const Batch& batch = batches.batch();
  Team team(2);
  BatchPass<double> pass(small.network, team, 0, {.smoothing = kShare}), sharp(small.network, team);
  const auto loss = [&](BatchPass<double>& by) {
    State<double> state(*small.network.plan, 2);
    enter_batch(batch, *small.network.plan, state);
    by.set_parameters(small.parameters);
    return by.forward(batch, state);
  };
  loss(sharp);
  const Matrix<const double> o = sharp.outputs().front();
  double want = 0;
  for (Index r = 0; r < o.rows; ++r) {
    const Symbol y = predicted_symbols(batch)[static_cast<std::size_t>(r)];
    if (y == kNoSymbol) continue;
    double all = 0;
    for (Index k = 0; k < o.cols; ++k) all += std::exp(o(r, k));
    for (Index k = 0; k < o.cols; ++k)
      want -= ((k == y ? 1 - kShare : 0) + kShare / static_cast<double>(o.cols)) * (o(r, k) - std::log(all));
  }
  EXPECT_NEAR(loss(pass), want, 1e-10);
  std::vector<double> gradient(static_cast<std::size_t>(small.parameters.size()));
  State<double> state(*small.network.plan, 2);
  enter_batch(batch, *small.network.plan, state);
  EXPECT_EQ(pass.gradient(batch, state, 1, gradient), loss(pass));
  for (std::size_t i = 0; i < gradient.size(); i += 7) {
    double& p = small.parameters.flat()[i];
    const double kept = p, step = 1e-5;
    p = kept + step;
    const double above = loss(pass);
    p = kept - step;
    const double below = loss(pass);
    p = kept;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * step), 1e-7) << i;
  }
  for (const double share : {-0.1, 1.0})
    EXPECT_THROW(BatchPass<double>(small.network, team, 0, {.smoothing = share}), UsageError);
}

TEST(BatchPass, first_nonfinite_value_is_named) {
  const Corpus corpus = numbered_corpus({40});
  const Split part = whole_corpus(corpus, "training");
  SmallNetwork<float> small(corpus.alphabet().size(), 5, Cell::lstm);
  TextBatches batches(corpus, part, {.window = 20, .batch = 1}, 1);
  Team team(1);
  BatchPass<float> pass(small.network, team);
  pass.set_parameters(small.parameters);
  const State<float> state(*small.network.plan, 1);
  EXPECT_EQ(pass.find_non_finite(batches.batch(), state), "");
  const Index length = batches.batch().structure.size(0);
  if (length < 8) GTEST_SKIP() << "the text wraps around too early for this test";
  const Symbol poisoned = read_symbols(batches.batch())[7];
  small.parameters.at("z/W").row(poisoned)[2] = std::nanf("");
  pass.set_parameters(small.parameters);
  for (const Index piece : {0, 3}) {
    pass.set_piece(piece);
    const std::string found = pass.find_non_finite(batches.batch(), state);
    EXPECT_NE(found.find(piece == 0 ? "at position 7 of sequence 0" : "at position 1 of sequence 0"), std::string::npos)
        << found;
    EXPECT_EQ(found.find("step 6") != std::string::npos, piece == 3) << found;
  }
}

TEST(Evaluator, evaluation_does_not_depend_on_windows_lanes_or_threads) {
  const Corpus corpus = numbered_corpus({9, 14, 3, 30, 1, 22, 7, 12});
  const Split part = whole_corpus(corpus, "test");
  const SmallNetwork<float> small(corpus.alphabet().size(), 12, Cell::lstm, 0.5);
  std::vector<float> expected(static_cast<std::size_t>(corpus.symbols()));
  double nats = -1;
  for (const int threads : {1, 2}) {
    Team team(threads);
    Evaluator<float> evaluator(small.network, team);
    for (const Index lanes : {1, 3, 20})
      for (const Index window : {1, 7, 100}) {
        std::vector<float> surprisals(expected.size(), -1);
        const Evaluation result =
            evaluator.run(small.parameters, corpus, exact_streams(part, lanes), window, kNoSymbol,
                          [&](Index place, float x) { surprisals[static_cast<std::size_t>(place)] = x; });
        EXPECT_EQ(result.predicted, corpus.symbols());
        if (nats < 0) nats = result.nats, expected = surprisals;
        EXPECT_EQ(result.nats, nats);
        EXPECT_EQ(surprisals, expected);
      }
  }
}

}  // namespace
}  // namespace unfold
