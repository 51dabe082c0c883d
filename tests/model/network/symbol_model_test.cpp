#include "unfold/model/symbol_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/model/fitted.h"
#include "unfold/base/error.h"
#include "unfold/model/decoding/sampling.h"
#include "unfold/model/registry/registry.h"

namespace unfold {
namespace {

using test::fitted;

// One SPEC of every fitted model; these tests must hold for all of them.
class AnyFittedModel : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Registry, AnyFittedModel,
                         ::testing::Values("uniform", "frequency:add=2", "ngram:3",
                                           "ngram:2,smoothing=witten-bell,sentences=yes", "hmm:3,restarts=2"));

constexpr const char* kText = "abracadabra, said the cat;\nand the hat sat on the cat\n";

TEST_P(AnyFittedModel, fitted_model_round_trips) {
  auto model = fitted(GetParam(), kText);
  model->configuration()["seed"] = 3;
  const std::string bytes = model->bytes();
  const auto loaded = symbol_model_from_bytes(bytes, "m");
  EXPECT_EQ(loaded->bytes(), bytes);
  EXPECT_EQ(loaded->spec_text(), GetParam());
  EXPECT_EQ(loaded->configuration()["seed"], 3);
  const Corpus corpus = Corpus::from_text("the cat said a", model->alphabet());
  Team team(1);
  const Split part = whole_corpus(corpus, "all");
  EXPECT_EQ(loaded->evaluate(corpus, part, team).nats, model->evaluate(corpus, part, team).nats);
}

TEST_P(AnyFittedModel, damaged_file_is_rejected) {
  const std::string bytes = fitted(GetParam(), kText)->bytes();
  for (std::size_t cut = 0; cut < bytes.size(); cut += 1 + bytes.size() / 100)
    EXPECT_THROW(symbol_model_from_bytes(bytes.substr(0, cut), "m"), ModelError) << cut;
  for (std::size_t i = 0; i < bytes.size(); i += 1 + bytes.size() / 500) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ (1 << (i % 8)));
    EXPECT_THROW(symbol_model_from_bytes(changed, "m"), ModelError) << i;
  }
}

TEST_P(AnyFittedModel, probabilities_sum_to_one_and_agree_symbol_by_symbol) {
  const auto model = fitted(GetParam(), kText);
  const auto predictor = model->predictor();
  for (const Symbol symbol : model->alphabet().encode("the hathe,;\n\n\nabcra")) {
    double total = 0;
    const std::vector<float> logs(predictor->log_probabilities().begin(), predictor->log_probabilities().end());
    ASSERT_EQ(static_cast<Index>(logs.size()), model->alphabet().size());
    for (std::size_t x = 0; x < logs.size(); ++x) {
      total += std::exp(static_cast<double>(logs[x]));
      EXPECT_EQ(predictor->log_probability(static_cast<Symbol>(x)), logs[x]);
    }
    EXPECT_NEAR(total, 1, 1e-5);
    predictor->observe(symbol);
  }
}

TEST_P(AnyFittedModel, clones_are_independent) {
  const auto model = fitted(GetParam(), kText);
  const auto predictor = model->predictor();
  for (const Symbol symbol : model->alphabet().encode("the c")) predictor->observe(symbol);
  const auto before = std::vector<float>(predictor->log_probabilities().begin(), predictor->log_probabilities().end());
  const auto clone = predictor->clone();
  for (const Symbol symbol : model->alphabet().encode("hat\nsaid")) clone->observe(symbol);
  const auto after = predictor->log_probabilities();
  EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin()));
}

TEST_P(AnyFittedModel, samples_are_reproducible_by_seed) {
  const auto model = fitted(GetParam(), kText);
  const SamplingOptions options{.length = 40, .prime = model->alphabet().encode("the ")};
  EXPECT_EQ(sample(*model->predictor(), model->alphabet(), options),
            sample(*model->predictor(), model->alphabet(), options));
}

TEST_P(AnyFittedModel, refitting_with_more_threads_gives_the_same_bytes) {
  const Corpus corpus = Corpus::from_text(kText, Alphabet::chars_of(kText));
  const Split part = whole_corpus(corpus, "training");
  const auto model = make_fitted_model(GetParam(), corpus.alphabet());
  Team one(1), two(2);
  model->fit({.corpus = corpus, .training = part}, {}, one);
  const std::string bytes = model->bytes();
  model->fit({.corpus = corpus, .training = part}, {}, two);
  EXPECT_EQ(model->bytes(), bytes);
}

TEST_P(AnyFittedModel, text_of_another_alphabet_is_rejected) {
  const auto model = fitted(GetParam(), kText);
  const Corpus other = Corpus::from_text("xyz", Alphabet::chars_of("xyz"));
  Team team(1);
  EXPECT_THROW(model->evaluate(other, whole_corpus(other, "all"), team), UsageError);
  EXPECT_THROW(model->fit({.corpus = other, .training = whole_corpus(other, "all")}, {}, team), UsageError);
}

TEST(UniformModel, uniform_model_has_log_n_nats_per_symbol) {
  const auto model = fitted("uniform", "abcd");
  EXPECT_NEAR(model->predictor()->log_probability(2), -std::log(4.0), 1e-6);
}

TEST(FrequencyModel, frequency_model_matches_counts_by_hand) {
  const auto model = fitted("frequency:add=1", "aaab");
  EXPECT_NEAR(model->predictor()->log_probability(0), std::log(4.0 / 6), 1e-6);
  EXPECT_NEAR(model->predictor()->log_probability(1), std::log(2.0 / 6), 1e-6);
}

TEST(Registry, registry_finds_models_and_suggests_the_nearest) {
  for (const ModelHelp& help : all_models()) {
    const bool bare =
        help.name == "frequency" || help.name == "uniform" || help.name == "crf" || help.name.ends_with("-ar");
    const bool binary_logarithm = help.name == "dna";
    const std::string size = binary_logarithm ? "12" : help.name == "mix" ? "ppm:3+lstm:5" : "4";
    const std::string spec = canonical_model(bare ? help.name : help.name + ":" + size);
    EXPECT_EQ(canonical_model(spec), spec);
  }
  EXPECT_TRUE(is_fitted_model("frequency"));
  EXPECT_FALSE(is_fitted_model("lstm:3"));
  const auto error = [](const char* spec) -> std::string {
    try {
      canonical_model(spec);
    } catch (const UsageError& e) {
      return e.what();
    }
    return {};
  };
  EXPECT_NE(error("frequencies").find("frequency"), std::string::npos);
  EXPECT_NE(error("frequency:ad=3").find("add"), std::string::npos);
  EXPECT_NE(error("uniform:7"), "");
}

TEST(SymbolModel, unknown_or_inconsistent_file_format_is_rejected) {
  const auto error = [](nlohmann::json card) -> std::string {
    SafetensorsWriter writer;
    writer.set_metadata("card", card.dump());
    try {
      symbol_model_from_bytes(writer.bytes(), "m");
    } catch (const ModelError& e) {
      return e.what();
    }
    return {};
  };
  const nlohmann::json card = fitted("uniform", "abc")->card();
  EXPECT_EQ(error(card), "");
  for (const char* key : {"format", "format_version", "kind", "model", "data", "configuration", "history"}) {
    nlohmann::json changed = card;
    changed.erase(key);
    EXPECT_NE(error(changed).find(key), std::string::npos) << key;
  }
  nlohmann::json changed = card;
  changed["format"] = "unfold-oracle";
  EXPECT_NE(error(changed).find("unfold-oracle"), std::string::npos);
  changed = card;
  changed["model"] = "frequency";
  EXPECT_NE(error(changed).find("frequency"), std::string::npos);
}

}  // namespace
}  // namespace unfold
