/// Initialization from bigrams, compared with counts by hand and with the probabilities of the initial network.

#include "model/network/initialization/bigram_init.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "model/network/initialization/symbol_ngrams.h"
#include "unfold/train/evaluate.h"
#include "unfold/train/sources/example_sources.h"

namespace unfold {
namespace {

/// Three sequences: a b a, a c, b.
Examples events() {
  return {.source = "made", .columns = {{.name = "event", .texts = {"a", "b", "a", "a", "c", "b"}}}, .ends = {3, 5, 6}};
}

struct EventData {
  Examples examples = events();
  std::shared_ptr<const DataSpecification> data = std::make_shared<const DataSpecification>(
      specify(examples, {.reads = {"event"}, .predicts = {"event"}}, "jsonl"));
  ExampleSet set{examples, data, std::vector<std::string>{"event"}};
  Symbol symbol(const char* text) const { return data->field("event").alphabet->find(text); }
  Index size() const { return data->field("event").size; }
};

TEST(BigramInit, ContextsAreSmoothedWithShorterOnes) {
  const EventData data;
  const SymbolNgrams ngrams(data.set, "event", {.order = 1});
  const Symbol a = data.symbol("a"), b = data.symbol("b"), c = data.symbol("c");
  const double all = 6 + 0.5 * static_cast<double>(data.size());
  const double p_a = 3.5 / all, p_b = 2.5 / all, p_c = 1.5 / all;
  // a is followed by b and c, once each; the sequences start with a, a and b.
  EXPECT_NEAR(ngrams.probability(std::array{a}, b), (1 + 2 * p_b) / (2 + 2), 1e-12);
  EXPECT_NEAR(ngrams.probability(std::array{a}, a), (0 + 2 * p_a) / (2 + 2), 1e-12);
  EXPECT_NEAR(ngrams.probability({}, a), (2 + 2 * p_a) / (3 + 2), 1e-12);
  EXPECT_NEAR(ngrams.probability(std::array{c}, c), p_c, 1e-12);  // c was never followed by a symbol
  const SymbolNgrams trigrams(data.set, "event", {.order = 2});
  const double bigram = (1 + 1 * p_a) / (1 + 1);
  EXPECT_NEAR(trigrams.probability(std::array{a, b}, a), (1 + 1 * bigram) / (1 + 1), 1e-12);
  EXPECT_NEAR(trigrams.probability(std::array{b, b}, a), bigram, 1e-12);  // not seen
}

TEST(BigramInit, ProbabilitiesOfAContextSumToOne) {
  const EventData data;
  for (const Index order : {0, 1, 2}) {
    const SymbolNgrams ngrams(data.set, "event", {.order = order});
    for (Symbol first = kNoSymbol; first < data.size(); ++first)
      for (Symbol second = kNoSymbol; second < data.size(); ++second) {
        double sum = 0;
        for (Symbol x = 0; x < data.size(); ++x) sum += ngrams.probability(std::array{first, second}, x);
        EXPECT_NEAR(sum, 1, 1e-12) << order;
      }
  }
}

TEST(BigramInit, TheInitialNetworkIsTheBigramModel) {
  const EventData data;
  const NetworkLayout layout{.reads = {FieldRead{"event", 1}.name()}, .heads = {{.field = "event"}}};
  NetworkModel<double> model("gru:5,embedding=3,direct=1", *data.data, layout);
  model.initialize(3);
  initialize_from_bigrams(model, data.set);
  const SymbolNgrams ngrams(data.set, "event", {.order = 1});
  double expected = 0, count = 0;
  for (Index e = 0; e < data.set.count(); ++e)
    for (Index p = 0; p < data.set.length(e); ++p, ++count)
      expected -= std::log(ngrams.probability(ngrams.context_of(data.set, e, p),
                                              data.set.column("event").symbols[at(data.set.begin(e) + p)]));
  Team team(1);
  double nats = 0;
  Evaluator<double> evaluator(model.network(), team);
  evaluator.run(model.parameters(), *example_reader(data.set, {.reads = layout.reads, .predicts = {"event"}}), {},
                [&](const Batch& batch, std::span<const Matrix<const double>> outputs) {
                  const SymbolRows& target = std::get<SymbolRows>(batch.field("event"));
                  for (Index row = 0; row < outputs[0].rows; ++row) {
                    double sum = 0;
                    for (Index x = 0; x < data.size(); ++x) sum += std::exp(outputs[0](row, x));
                    nats += std::log(sum) - outputs[0](row, target.symbols[at(row)]);
                  }
                });
  EXPECT_NEAR(nats / count, expected / count, 1e-9);
}

TEST(BigramInit, OtherNetworksAreUnchanged) {
  const EventData data;
  NetworkModel<double> model("gru:5", *data.data,
                             {.reads = {FieldRead{"event", 1}.name()}, .heads = {{.field = "event"}}});
  model.initialize(3);
  const Parameters<double> before = model.parameters();
  initialize_from_bigrams(model, data.set);
  EXPECT_TRUE(std::ranges::equal(before.flat(), model.parameters().flat()));
}

}  // namespace
}  // namespace unfold
