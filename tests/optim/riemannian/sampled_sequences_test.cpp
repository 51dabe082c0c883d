/// Sequences that a network samples for the metric on whole sequences, for data with fields.

#include "optim/riemannian/sampled_sequences.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "unfold/base/error.h"
#include "unfold/loss/registry.h"

namespace unfold {
namespace {

constexpr int kDraws = 20'000;

/// One chain of four positions; the target of the third is missing.
Batch four_tags() {
  Batch batch;
  batch.structure = Structure::chains(std::vector<Index>{4});
  SymbolRows &tag = batch.symbol_field("tag"), &previous = batch.symbol_field("previous tag");
  ValueRows& word = batch.value_field("word");
  tag.symbols = {1, 0, kNoSymbol, 2};
  previous.symbols = {kNoSymbol, 1, 0, kNoSymbol};
  word.clear(4, 1);
  for (Index r = 0; r < 4; ++r) word.set(r, 0, static_cast<float>(r) - 1.5F);
  batch.whole = true;
  batch.reset_all_chains();
  return batch;
}

/// h_t = tanh(W x_t + U h_{t-1} + P y_{t-1}), y_t ~ softmax(V h_t).
struct Tagger {
  Tagger() {
    const Signal previous = circuit.symbols("previous", 3), word = circuit.input("word", 1);
    const Signal h = circuit.link(2);
    const Signal next = tanh(circuit.affine("z", 2, {{"P", previous}, {"W", word}, {"U", h}}));
    circuit.feed(h, next);
    const Signal logits = circuit.affine("output", 3, {{"V", next}});
    circuit.output(logits);
    network.plan = std::make_shared<const Plan>(circuit);
    network.inputs = {{"previous tag", previous}, {"word", word}};
    network.heads = {{"tag", logits, softmax_loss<double>()}};
    parameters = std::make_unique<Parameters<double>>(circuit);
    Random random(5, "weights");
    for (double& p : parameters->flat()) p = 1.2 * random.normal();
  }
  Circuit circuit;
  Network<double> network;
  std::unique_ptr<Parameters<double>> parameters;
};

/// Returns the probability of the tags at the predicted positions, written out.
double probability(const Tagger& tagger, const Batch& batch, const std::vector<Symbol>& tags) {
  const Parameters<double>& p = *tagger.parameters;
  const auto& info = tagger.circuit.parameters();
  const auto block = [&](std::string_view name) {
    for (std::size_t i = 0; i < info.size(); ++i)
      if (info[i].name == name) return p[static_cast<int>(i)];
    throw UsageError("no such parameter");
  };
  const auto in = block("z/P"), w = block("z/W"), u = block("z/U"), b = block("z/bias"), v = block("output/V"),
             c = block("output/bias");
  std::vector<double> h(2, 0.0);
  double result = 1;
  Symbol before = kNoSymbol;
  for (Index t = 0; t < 4; ++t) {
    const double x = std::get<ValueRows>(batch.field("word")).values<double>(t, 1)(0, 0);
    std::vector<double> next(2);
    for (Index i = 0; i < 2; ++i) {
      double z = b(0, i) + w(0, i) * x + h[0] * u(0, i) + h[1] * u(1, i);
      if (before != kNoSymbol) z += in(before, i);
      next[at(i)] = std::tanh(z);
    }
    h = next;
    double total = 0, chosen = 0;
    const Symbol tag = tags[at(t)];
    for (Index k = 0; k < 3; ++k) {
      const double e = std::exp(c(0, k) + h[0] * v(0, k) + h[1] * v(1, k));
      total += e;
      if (k == tag) chosen = e;
    }
    if (tag != kNoSymbol) result *= chosen / total;
    before = tag;
  }
  return result;
}

TEST(SampledFields, tags_have_the_probabilities_of_the_network_given_the_words) {
  const Tagger tagger;
  const Batch batch = four_tags();
  SampledSequences<double> own(tagger.network);
  State<double> state(*tagger.network.plan, 1);
  std::map<std::vector<Symbol>, double> counted;
  for (int k = 0; k < kDraws; ++k) {
    const Batch& drawn = own.draw(batch, *tagger.parameters, state, static_cast<std::uint64_t>(k), 0);
    const auto& tags = std::get<SymbolRows>(drawn.field("tag")).symbols;
    const auto& previous = std::get<SymbolRows>(drawn.field("previous tag")).symbols;
    EXPECT_EQ(tags[2], kNoSymbol);
    EXPECT_EQ(previous, (std::vector<Symbol>{kNoSymbol, tags[0], tags[1], kNoSymbol}));
    EXPECT_EQ(drawn.field("word"), batch.field("word"));
    counted[tags] += 1.0 / kDraws;
  }
  double all = 0;
  for (Symbol a = 0; a < 3; ++a)
    for (Symbol b = 0; b < 3; ++b)
      for (Symbol c = 0; c < 3; ++c) {
        const std::vector<Symbol> tags = {a, b, kNoSymbol, c};
        const double p = probability(tagger, batch, tags);
        EXPECT_NEAR(counted[tags], p, 5 * std::sqrt(p * (1 - p) / kDraws) + 1e-9);
        all += p;
      }
  EXPECT_NEAR(all, 1, 1e-12);
}

/// y_t ~ N(y_{t-1} / 2, 1): the variance of y_t is 1 + 1/4 + ... + 1/4^t.
TEST(SampledFields, numbers_are_sampled_and_read_at_later_positions) {
  Circuit circuit;
  const Signal previous = circuit.input("previous", 1);
  const Signal mean = circuit.affine("output", 1, {{"V", previous}}, Init::zero(), false);
  circuit.output(mean);
  Network<double> network;
  network.plan = std::make_shared<const Plan>(circuit);
  network.inputs = {{"previous load", previous}};
  network.heads = {{"load", mean, gaussian_loss<double>()}};
  Parameters<double> parameters(circuit);
  parameters.flat()[0] = 0.5;
  Batch batch;
  batch.structure = Structure::chains(std::vector<Index>{3});
  ValueRows &load = batch.value_field("load"), &before = batch.value_field("previous load");
  load.clear(3, 1), before.clear(3, 1);
  for (Index r = 0; r < 3; ++r) load.set(r, 0, 7);
  for (Index r = 1; r < 3; ++r) before.set(r, 0, 7);
  batch.whole = true;
  batch.reset_all_chains();
  SampledSequences<double> own(network);
  State<double> state(*network.plan, 1);
  std::vector<double> mean_of(3, 0.0), square_of(3, 0.0);
  for (int k = 0; k < kDraws; ++k) {
    const Batch& drawn = own.draw(batch, parameters, state, static_cast<std::uint64_t>(k), 0);
    const auto found = std::get<ValueRows>(drawn.field("load")).values<double>(0, 3);
    const auto read = std::get<ValueRows>(drawn.field("previous load")).values<double>(0, 3);
    for (Index r = 0; r < 3; ++r) {
      mean_of[at(r)] += found(r, 0) / kDraws;
      square_of[at(r)] += found(r, 0) * found(r, 0) / kDraws;
      EXPECT_EQ(read(r, 0), r == 0 ? 0 : found(r - 1, 0));
    }
  }
  for (std::size_t r = 0; r < 3; ++r) {
    const double variance = r == 0 ? 1 : r == 1 ? 1.25 : 1.3125;
    EXPECT_NEAR(mean_of[r], 0, 5 * std::sqrt(variance / kDraws));
    EXPECT_NEAR(square_of[r], variance, 5 * variance * std::sqrt(2.0 / kDraws));
  }
}

TEST(SampledFields, entries_that_follow_only_from_true_targets_are_refused) {
  const auto refusal = [](const char* read) {
    Tagger tagger;
    tagger.network.inputs[1].field = read;
    try {
      SampledSequences<double> own(tagger.network);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  for (const char* read : {"tag", "previous tag.lower", "tag[-1]"})
    EXPECT_NE(refusal(read).find(read), std::string::npos);
  EXPECT_EQ(refusal("tags"), "");
}

}  // namespace
}  // namespace unfold
