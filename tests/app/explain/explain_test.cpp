#include "app/explain/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/explain/input_gradients.h"
#include "model/ngram/ngram.h"
#include "unfold/base/error.h"
#include "unfold/model/network/language_model.h"
#include "unfold/model/network/network_model.h"
#include "unfold/model/registry/registry.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

const std::vector<Symbol> kText = {0, 2, 1, 3, 0, 1, 2, 2, 3, 1, 0};

Alphabet four() { return Alphabet(SymbolKind::chars, {"a", "b", "c", "d"}); }

/// An explicit plain recurrent network: h = tanh(W[x] + h U + b), logits = h V + c. At one row, an offset is added to
/// the symbol's contribution.
struct SlowRnn {
  const LanguageModel<double>& model;
  Index units;
  Index row = -1, unit = 0;
  double added = 0;

  double parameter(const std::string& name, Index i, Index j) const {
    const auto& info = model.parameters().info();
    for (std::size_t p = 0; p < info.size(); ++p)
      if (info[p].name == name) return model.parameters()[static_cast<int>(p)].row(i)[j];
    ADD_FAILURE() << name;
    return 0;
  }
  /// Returns the state that predicts a position, after reading all earlier symbols.
  std::vector<double> state(Index position) const {
    std::vector<double> h(static_cast<std::size_t>(units), 0.0);
    for (Index t = 0; t <= position; ++t) {
      std::vector<double> next(h.size());
      for (Index i = 0; i < units; ++i) {
        double z = parameter("layer1/z/bias", 0, i) + (t == row && i == unit ? added : 0);
        if (t > 0) z += parameter("layer1/z/W", kText[static_cast<std::size_t>(t - 1)], i);
        for (Index j = 0; j < units; ++j) z += h[static_cast<std::size_t>(j)] * parameter("layer1/z/U", j, i);
        next[static_cast<std::size_t>(i)] = std::tanh(z);
      }
      h = next;
    }
    return h;
  }
  double surprisal_bits(Index position) const {
    const std::vector<double> h = state(position);
    std::vector<double> logits(4);
    double sum = 0;
    for (Index y = 0; y < 4; ++y) {
      logits[static_cast<std::size_t>(y)] = parameter("output/bias", 0, y);
      for (Index j = 0; j < units; ++j)
        logits[static_cast<std::size_t>(y)] += h[static_cast<std::size_t>(j)] * parameter("output/V", j, y);
      sum += std::exp(logits[static_cast<std::size_t>(y)]);
    }
    const auto symbol = static_cast<std::size_t>(kText[static_cast<std::size_t>(position)]);
    return (std::log(sum) - logits[symbol]) / std::log(2.0);
  }
};

LanguageModel<double> small_model(const std::string& spec = "rnn:5") {
  LanguageModel<double> model(spec, four());
  model.initialize(3);
  Random random(1, "small model");
  for (double& w : model.parameters().flat()) w = 0.7 * random.normal();
  return model;
}

TEST(Explain, gradients_by_lag_equal_finite_differences) {
  const LanguageModel<double> model = small_model();
  const Index position = 7;
  const Explanation why = explain_text(model, kText, {.model = {}, .at = position + 1, .threads = 1});
  EXPECT_EQ(why.at, position + 1);
  EXPECT_FALSE(why.estimated);
  ASSERT_EQ(why.lags.size(), static_cast<std::size_t>(position));
  SlowRnn slow{.model = model, .units = 5};
  constexpr double kStep = 1e-5;
  for (const Lag& lag : why.lags) {
    EXPECT_EQ(lag.position, position + 1 - lag.lag);
    slow.row = lag.position;  // reads the symbol at that position, counted from 1
    double state = 0, surprise = 0;
    for (slow.unit = 0; slow.unit < 5; ++slow.unit) {
      slow.added = kStep;
      const std::vector<double> above = slow.state(position);
      const double bits_above = slow.surprisal_bits(position);
      slow.added = -kStep;
      const std::vector<double> below = slow.state(position);
      const double bits_below = slow.surprisal_bits(position);
      for (std::size_t i = 0; i < above.size(); ++i) state += std::pow((above[i] - below[i]) / (2 * kStep), 2);
      surprise += std::pow((bits_above - bits_below) / (2 * kStep), 2);
    }
    EXPECT_NEAR(lag.state, std::sqrt(state), 1e-7) << "lag " << lag.lag;
    EXPECT_NEAR(lag.surprise, std::sqrt(surprise), 1e-7) << "lag " << lag.lag;
  }
}

/// A network over grids of numbers with one unit per corner, and a batch of two grids.
struct GridNetwork {
  const ModelSpec spec = parse_model_spec("grid-rnn:1");
  const DataSpecification data = {.source = "made",
                                  .fields = {{.name = "pixels", .type = FieldSpecification::Type::values, .size = 1},
                                             {.name = "clean", .type = FieldSpecification::Type::values, .size = 1}},
                                  .grids = true};
  const NetworkLayout layout = {.reads = {"pixels"}, .heads = {{.field = "clean", .loss = "gaussian"}}};
  NetworkModel<double> model{"grid-rnn:1", data, layout};
  Batch batch;
  Team team{1};

  GridNetwork() {
    Random random(5, "grids");
    for (double& w : model.parameters().flat()) w = 0.3 + 0.5 * random.uniform();
    batch.structure = Structure::grids(std::vector<std::pair<Index, Index>>{{2, 3}, {3, 2}});
    batch.value_field("pixels").clear(batch.structure.positions(), 1);
    for (Index r = 0; r < batch.structure.positions(); ++r)
      batch.value_field("pixels").set(r, 0, static_cast<float>(random.below(512)) / 256 - 1);
  }
  /// Returns the weight with which the network from a corner reads the input.
  double& weight(const std::string& corner) {
    for (const ParameterInfo& p : model.circuit().parameters())
      if (p.name.ends_with("/W") && p.name.find(corner + "/") != std::string::npos)
        return model.parameters().flat()[static_cast<std::size_t>(p.offset)];
    throw UsageError("no weight of " + corner);
  }
  double output(Index row) {
    const Watched<double> watched(spec, data, layout, model.parameters());
    Gradients<double> gradients(watched, team);
    gradients.read(batch);
    return gradients.value(watched.network().heads[0].signal)(row, 0);
  }
  std::vector<std::vector<double>> squares(Index row) {
    const Watched<double> watched(spec, data, layout, model.parameters());
    Gradients<double> gradients(watched, team);
    gradients.read(batch);
    gradients.adjoint(watched.network().heads[0].signal)(row, 0) = 1;
    return gradients.squares();
  }
  /// Returns the derivative of the output at a row in the input at another one, by finite differences.
  double difference(Index row, Index input) {
    constexpr float kStep = 1.0F / 1024;
    ValueRows& pixels = batch.value_field("pixels");
    const float x = pixels.values<float>(input, 1)(0, 0);
    pixels.set(input, 0, x + kStep);
    const double above = output(row);
    pixels.set(input, 0, x - kStep);
    const double below = output(row);
    pixels.set(input, 0, x);
    return (above - below) / (2 * static_cast<double>(kStep));
  }
};

/// Without the input weights of the other corners, the derivative in an input is that of the pre-activation times the
/// weight. The corners do not read each other.
TEST(Gradients, squares_over_grids_equal_finite_differences_from_every_corner) {
  const std::vector<std::string> corners = {"top-left", "top-right", "bottom-left", "bottom-right"};
  GridNetwork net;
  const Structure& grids = net.batch.structure;
  for (const auto& [grid, position] : {std::pair<Index, Index>{0, 1}, {1, 3}}) {
    const Index row = grids.row(grid, position);
    const std::vector<std::vector<double>> found = net.squares(row);
    std::vector<double> expected(static_cast<std::size_t>(grids.size(grid)), 0.0);
    for (const std::string& corner : corners) {
      GridNetwork alone;
      for (const std::string& other : corners)
        if (other != corner) alone.weight(other) = 0;
      for (Index p = 0; p < grids.size(grid); ++p) {
        const double gradient = alone.difference(row, grids.row(grid, p)) / alone.weight(corner);
        expected[static_cast<std::size_t>(p)] += gradient * gradient;
      }
    }
    ASSERT_EQ(found.size(), 2U);
    for (std::size_t p = 0; p < expected.size(); ++p)
      EXPECT_NEAR(found[static_cast<std::size_t>(grid)][p], expected[p], 1e-5) << "grid " << grid << ", position " << p;
  }
}

TEST(Explain, influence_beyond_the_reach_is_attributed_to_its_state) {
  const LanguageModel<double> model = small_model("lstm:5");
  const Explanation all = explain_text(model, kText, {.model = {}, .at = 10, .threads = 1});
  const Explanation near = explain_text(model, kText, {.model = {}, .at = 10, .reach = 4, .threads = 1});
  ASSERT_EQ(near.lags.size(), 4u);
  for (std::size_t i = 0; i < near.lags.size(); ++i) {
    EXPECT_NEAR(near.lags[i].state, all.lags[i].state, 1e-12);
    EXPECT_NEAR(near.lags[i].surprise, all.lags[i].surprise, 1e-12);
  }
}

TEST(Explain, surprisal_and_guesses_equal_the_predictor) {
  const LanguageModel<double> model = small_model("gru:5");
  const Explanation why = explain_text(model, kText, {.model = {}, .guesses = 2, .threads = 1});
  const auto predictor = model.predictor();
  ASSERT_EQ(why.symbols.size(), kText.size());
  for (std::size_t t = 0; t < kText.size(); ++t) {
    const auto log_p = predictor->log_probabilities();
    EXPECT_NEAR(why.symbols[t].bits, -log_p[at(kText[t])] / std::log(2.0), 1e-6);
    ASSERT_EQ(why.symbols[t].guesses.size(), 2u);
    EXPECT_GE(why.symbols[t].guesses[0].probability, why.symbols[t].guesses[1].probability);
    EXPECT_NEAR(why.symbols[t].guesses[0].probability, std::exp(*std::ranges::max_element(log_p)), 1e-6);
    predictor->observe(kText[t]);
  }
  // Without --at: the symbol with the highest surprisal that has predecessors.
  for (std::size_t t = 1; t < kText.size(); ++t) EXPECT_LE(why.symbols[t].bits, why.symbols[at(why.at - 1)].bits);
}

/// A line of a line-based model is explained as if it were the only one.
TEST(Explain, FollowsAPositionBackToTheStartOfItsLine) {
  const Alphabet alphabet(SymbolKind::chars, {"\n", "a", "b", "c"});
  LanguageModel<double> model("lstm:5", alphabet);
  model.initialize(3);
  model.configuration()["lines"] = true;
  const std::vector<Symbol> line = alphabet.encode("bcab\n"), text = alphabet.encode("acb\nbcab\n");
  const Explanation alone = explain_text(model, line, {.model = {}, .at = 4, .threads = 1});
  const Explanation second = explain_text(model, text, {.model = {}, .at = 8, .threads = 1});
  for (std::size_t i = 0; i < line.size(); ++i) EXPECT_EQ(second.symbols[i + 4].bits, alone.symbols[i].bits);
  ASSERT_EQ(alone.lags.size(), 3U);
  ASSERT_EQ(second.lags.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(second.lags[i].state, alone.lags[i].state);
    EXPECT_EQ(second.lags[i].surprise, alone.lags[i].surprise);
    EXPECT_EQ(second.lags[i].position, alone.lags[i].position + 4);
  }
  EXPECT_EQ(explain_text(model, text, {.model = {}, .at = 5, .threads = 1}).no_lags, "it is the first symbol");
  const MeanLags mean = mean_lags(model, text, 4, 100, 1);
  EXPECT_EQ(mean.norms.size(), 4U);
  EXPECT_GT(mean.norms[0], 0);
}

TEST(Explain, model_without_gradients_is_reported) {
  const auto model = make_fitted_model("ngram:2", four());
  const Corpus corpus = Corpus::from_text("abcdabcd", four());
  Team team(1);
  const Split part = whole_corpus(corpus, "all");
  model->fit({.corpus = corpus, .training = part}, {}, team);
  const Explanation why = explain_text(*model, kText, {.model = {}});
  EXPECT_EQ(why.symbols.size(), kText.size());
  EXPECT_TRUE(why.lags.empty());
  EXPECT_THAT(why.no_lags, ::testing::HasSubstr("not a network"));
  EXPECT_FALSE(mean_lags(*model, kText, 3, 4, 1).none.empty());
  EXPECT_THROW(explain_text(*model, kText, {.model = {}, .at = 12}), UsageError);
  EXPECT_THROW(explain_text(*model, {}, {.model = {}}), UsageError);
}

TEST(Explain, mean_over_lags_equals_single_positions) {
  const LanguageModel<double> model = small_model("lstm:4");
  const MeanLags mean = mean_lags(model, kText, 3, 100, 1);
  ASSERT_EQ(mean.norms.size(), 3u);
  EXPECT_EQ(mean.positions, 8);
  std::vector<double> sum(3, 0.0);
  for (Index position = 3; position < 11; ++position) {
    const Explanation why = explain_text(model, kText, {.model = {}, .at = position + 1, .threads = 1});
    for (std::size_t k = 0; k < 3; ++k) sum[k] += why.lags[k].state / 8;
  }
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(mean.norms[k], sum[k], 1e-12);
}

TEST(Explain, sampled_units_give_an_unbiased_estimate) {
  LanguageModel<double> model("rnn:80", four());
  model.initialize(3);
  const Explanation why = explain_text(model, kText, {.model = {}, .at = 4, .threads = 1});
  EXPECT_TRUE(why.estimated);
  // Exact, unit by unit.
  Team team(1);
  const Watched<double> watched(model.spec(), model.data(), NetworkLayout::language_model(), model.parameters());
  Gradients<double> gradients(watched, team);
  Batch batch;
  batch.structure = Structure::chains(1, 4);
  batch.symbol_field("previous symbol").symbols = {kNoSymbol, 0, 2, 1};
  batch.symbol_field("symbol").symbols = {0, 2, 1, 3};
  std::vector<double> squares(4, 0.0);
  gradients.read(batch);
  for (Index i = 0; i < 80; ++i) {
    gradients.adjoint(watched.hidden().back()).row(3)[i] = 1;
    const std::vector<double> one = gradients.squares().front();
    for (std::size_t t = 0; t < one.size(); ++t) squares[t] += one[t];
  }
  for (std::size_t k = 0; k < 3; ++k) {
    const double exact = std::sqrt(squares[3 - k]);
    EXPECT_NEAR(why.lags[k].state, exact, 0.2 * exact);
  }
}

TEST(Watched, watched_gates_have_the_names_of_their_equations) {
  const LanguageModel<float> lstm("lstm:4,layers=2", four()), gru("gru:4", four()), rnn("rnn:4", four());
  const auto names = [](const LanguageModel<float>& model) {
    const Watched<float> watched(model.spec(), model.data(), NetworkLayout::language_model(), model.parameters());
    std::vector<std::string> all;
    for (const Gate& gate : watched.gates()) all.push_back(gate.name);
    return all;
  };
  EXPECT_THAT(names(lstm), ::testing::UnorderedElementsAre("layer1 input", "layer1 forget", "layer1 output",
                                                           "layer2 input", "layer2 forget", "layer2 output"));
  EXPECT_THAT(names(gru), ::testing::UnorderedElementsAre("layer1 update", "layer1 reset"));
  EXPECT_TRUE(names(rnn).empty());
}

TEST(Watched, watching_does_not_change_predictions) {
  const LanguageModel<float> model("lstm:4,layers=2", four());
  const Watched<float> watched(model.spec(), model.data(), NetworkLayout::language_model(), model.parameters());
  EXPECT_EQ(watched.hidden().size(), 2u);
  EXPECT_EQ(watched.network().plan->parameter_count(), model.plan()->parameter_count());
}

TEST(SpectralRadius, spectral_radius_is_the_largest_eigenvalue_modulus) {
  const std::vector<double> diagonal = {0.5, 0, 0, 0, -1.25, 0, 0, 0, 0.75};
  EXPECT_NEAR(spectral_radius(Matrix<const double>{diagonal.data(), 3, 3, 3}), 1.25, 1e-6);
  // A rotation by 0.3 multiplied by 0.9: a pair of complex eigenvalues of modulus 0.9.
  const double c = 0.9 * std::cos(0.3), s = 0.9 * std::sin(0.3);
  const std::vector<double> turn = {c, s, -s, c};
  EXPECT_NEAR(spectral_radius(Matrix<const double>{turn.data(), 2, 2, 2}), 0.9, 1e-3);
  const std::vector<double> nilpotent = {0, 1, 0, 0};
  EXPECT_EQ(spectral_radius(Matrix<const double>{nilpotent.data(), 2, 2, 2}), 0);
}

TEST(SpectralRadius, lstm_blocks_are_its_gates) {
  const LanguageModel<float> model("lstm:4", four());
  const auto blocks = recurrent_blocks(model.circuit(), model.spec());
  ASSERT_EQ(blocks.size(), 4u);
  EXPECT_EQ(blocks[1].name, "layer1 forget");
  EXPECT_EQ(blocks[1].column, 4);
  EXPECT_EQ(blocks[1].size, 4);
}

}  // namespace
}  // namespace unfold
