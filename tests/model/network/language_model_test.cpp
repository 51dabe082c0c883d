#include "unfold/model/network/language_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "unfold/base/error.h"
#include "unfold/data/files/safetensors.h"
#include "unfold/graph/engine/stepper.h"

namespace unfold {
namespace {

Alphabet small_alphabet() { return Alphabet::chars_of("abcdefgh \n"); }

LanguageModel<float> small_model(const char* spec = "lstm:9,layers=2,dropout=0.1") {
  LanguageModel<float> model(spec, small_alphabet());
  model.initialize(17);
  model.configuration()["window"] = 5;
  return model;
}

std::string error_of(const std::string& bytes) {
  try {
    LanguageModel<float>::from_bytes(bytes, "m.safetensors");
  } catch (const ModelError& error) {
    return error.what();
  }
  return {};
}

TEST(LanguageModel, language_model_round_trips) {
  const auto model = small_model();
  const std::string bytes = model.bytes();
  const auto loaded = LanguageModel<float>::from_bytes(bytes, "m");
  EXPECT_EQ(loaded.bytes(), bytes);
  EXPECT_EQ(loaded.alphabet(), model.alphabet());
  EXPECT_EQ(to_string(loaded.spec()), "lstm:9,layers=2,dropout=0.1");
  EXPECT_EQ(loaded.configuration()["window"], 5);
}

TEST(LanguageModel, text_in_the_card_that_is_not_utf8_is_refused) {
  auto model = small_model();
  model.configuration()["note"] = "\xff";
  EXPECT_THROW((void)model.bytes(), ModelError);
}

TEST(LanguageModel, damaged_file_is_rejected_wherever_it_is_damaged) {
  const std::string bytes = small_model("rnn:3").bytes();
  for (std::size_t cut = 0; cut < bytes.size(); cut += 1 + bytes.size() / 100)
    EXPECT_NE(error_of(bytes.substr(0, cut)), "") << cut;
  for (std::size_t i = 0; i < bytes.size(); i += i < 1200 ? 1 : 13) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ (1 << (i % 8)));
    EXPECT_NE(error_of(changed), "") << i;
  }
}

/// Returns a model file with the given faults and a correct checksum.
std::string forged(const std::function<void(std::map<std::string, std::vector<Index>>&, nlohmann::json&)>& change,
                   float value = 0.5F) {
  const auto model = small_model("rnn:3");
  std::map<std::string, std::vector<Index>> shapes;
  for (const ParameterInfo& p : model.parameters().info()) shapes[p.name] = {p.rows, p.cols};
  nlohmann::json card = model.card();
  change(shapes, card);
  std::map<std::string, std::vector<float>> values;
  SafetensorsWriter writer;
  for (const auto& [name, shape] : shapes) {
    Index n = 1;
    for (const Index d : shape) n *= d;
    values[name].assign(static_cast<std::size_t>(n), value);
    writer.add<float>(name, shape, values[name]);
  }
  if (!card.is_null()) writer.set_metadata("card", card.dump());
  return writer.bytes();
}

TEST(LanguageModel, every_tensor_and_the_card_are_validated) {
  using Shapes = std::map<std::string, std::vector<Index>>;
  using Json = nlohmann::json;
  EXPECT_EQ(error_of(forged([](Shapes&, Json&) {})), "");
  const auto names = [](const std::string& error, const char* word) { return error.find(word) != std::string::npos; };
  EXPECT_TRUE(names(error_of(forged([](Shapes& s, Json&) { s.erase("output/V"); })), "output/V"));
  EXPECT_TRUE(names(error_of(forged([](Shapes& s, Json&) { s["extra"] = {2}; })), "extra"));
  EXPECT_TRUE(names(error_of(forged([](Shapes& s, Json&) { s["output/V"] = {10, 3}; })), "output/V"));
  EXPECT_TRUE(names(error_of(forged([](Shapes&, Json& c) { c = nullptr; })), "card"));
  EXPECT_TRUE(names(error_of(forged([](Shapes&, Json& c) { c.erase("data"); })), "data"));
  EXPECT_TRUE(names(error_of(forged([](Shapes&, Json& c) { c["format_version"] = 3; })), "version 3"));
  EXPECT_TRUE(names(error_of(forged([](Shapes&, Json& c) { c["format_version"] = 4.44444e19; })), "format_version"));
  EXPECT_TRUE(names(error_of(forged([](Shapes&, Json& c) { c["format_version"] = 1.5; })), "format_version"));
  EXPECT_TRUE(names(error_of(forged([](Shapes&, Json& c) { c["format"] = "x"; })), "format") ||
              names(error_of(forged([](Shapes&, Json& c) { c["format"] = "x"; })), "\"x\""));
  EXPECT_TRUE(names(error_of(forged([](Shapes&, Json& c) { c["model"] = "lstm:60000,layers=64"; })), "tensor"));
  EXPECT_TRUE(names(error_of(forged([](Shapes&, Json& c) { c["model"] = "transformer:7"; })), "transformer"));
  EXPECT_TRUE(names(error_of(forged([](Shapes&, Json& c) { c["model"] = 5; })), "model"));
  EXPECT_TRUE(names(error_of(forged([](Shapes&, Json&) {}, std::nanf(""))), "not finite"));
  EXPECT_THROW(LanguageModel<double>::from_bytes(small_model().bytes(), "m"), ModelError);
  EXPECT_THROW(LanguageModel<float>::load("/no/such/model"), ModelError);
}

Corpus small_corpus() {
  std::vector<Input> inputs;
  for (const char* text : {"abc abc\nhead", "a", "bad cab fed\n\n", "deaf bead face cafe "})
    inputs.push_back(Input::from_bytes("text", text));
  return Corpus::load(std::move(inputs), small_alphabet());
}

TEST(RecurrentPredictor, predictor_has_the_bits_of_the_unfolding) {
  const Corpus corpus = small_corpus();
  const Split part = whole_corpus(corpus, "test");
  for (const char* spec : {"lstm:9,layers=2,dropout=0.1", "gru:33,reset=after,embedding=5", "gru:8",
                           "rnn:64,activation=relu", "lstm:40,trained-initial=true"}) {
    const auto model = small_model(spec);
    std::vector<float> stepped(static_cast<std::size_t>(corpus.symbols())), unfolded = stepped;
    RecurrentPredictor predictor(model);
    const Evaluation a = evaluate(predictor, corpus, part, kNoSymbol,
                                  [&](Index i, float x) { stepped[static_cast<std::size_t>(i)] = x; });
    for (const int threads : {1, 2}) {
      Team team(threads);
      EvaluateOptions options{.window = 6,
                              .surprisal = [&](Index i, float x) { unfolded[static_cast<std::size_t>(i)] = x; }};
      const Evaluation b = model.evaluate(corpus, part, team, options);
      EXPECT_EQ(a.nats, b.nats) << spec;
      EXPECT_EQ(a.predicted, b.predicted);
      EXPECT_EQ(a.symbols, b.symbols);
      EXPECT_EQ(stepped, unfolded) << spec;
    }
  }
}

TEST(RecurrentPredictor, probabilities_sum_to_one_and_clones_are_independent) {
  const auto model = small_model();
  RecurrentPredictor predictor(model);
  for (const Symbol x : {3, 1, 4}) predictor.observe(x);
  const auto copy = predictor.clone();
  copy->observe(5);
  const std::vector<float> there(copy->log_probabilities().begin(), copy->log_probabilities().end());
  double sum = 0;
  for (const float x : predictor.log_probabilities()) sum += std::exp(static_cast<double>(x));
  EXPECT_NEAR(sum, 1, 1e-6);
  RecurrentPredictor again(model);
  for (const Symbol x : {3, 1, 4}) again.observe(x);
  EXPECT_TRUE(std::equal(there.begin(), there.end(), copy->log_probabilities().begin()));
  EXPECT_TRUE(std::equal(predictor.log_probabilities().begin(), predictor.log_probabilities().end(),
                         again.log_probabilities().begin()));
  predictor.observe(5);
  EXPECT_TRUE(std::equal(there.begin(), there.end(), predictor.log_probabilities().begin()));
  predictor.reset();
  RecurrentPredictor fresh(model);
  EXPECT_TRUE(std::equal(predictor.log_probabilities().begin(), predictor.log_probabilities().end(),
                         fresh.log_probabilities().begin()));
  EXPECT_THROW(predictor.observe(10), UsageError);
  EXPECT_THROW(predictor.observe(-1), UsageError);
}

TEST(RecurrentPredictor, stepper_that_first_reads_no_symbol_has_the_same_predictions) {
  const auto model = small_model();
  Team team(1);
  Stepper<float> stepper(model.plan(), model.parameters(), team);
  RecurrentPredictor predictor(model);
  for (int sequence = 0; sequence < 2; ++sequence) {
    Symbol previous = kNoSymbol;
    for (const Symbol symbol : {3, 1, 4, 1, 5}) {
      stepper.symbols(model.symbols())[0] = previous;
      stepper.step();
      const Matrix<const float> logits = stepper.value(model.logits());
      double sum = 0;
      for (Index x = 0; x < logits.cols; ++x) sum += std::exp(static_cast<double>(logits(0, x)));
      EXPECT_NEAR(std::log(sum) - static_cast<double>(logits(0, symbol)), predictor.surprisal(symbol), 1e-5);
      predictor.observe(symbol);
      previous = symbol;
    }
    stepper.reset();
    predictor.reset();
  }
}

TEST(Evaluate, segments_score_every_symbol_once_and_are_close_to_exact) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "bad cab fed ";
  const Corpus corpus = Corpus::from_text(text, small_alphabet());
  const Split part = whole_corpus(corpus, "test");
  const auto model = small_model();
  Team team(2);
  const Evaluation exact = model.evaluate(corpus, part, team);
  EXPECT_THROW((void)model.evaluate(corpus, part, team, {.predict_after = 99}), UsageError);
  const Evaluation fast = model.evaluate(corpus, part, team, {.segments = 16, .warmup = 64});
  EXPECT_EQ(exact.predicted, corpus.symbols());
  EXPECT_EQ(fast.predicted, corpus.symbols());
  EXPECT_NEAR(fast.nats_per_symbol(), exact.nats_per_symbol(), 1e-3);
}

/// A network whose memory is shorter than the warm-up: each unit reads only its left neighbor, so an input has no
/// effect after four steps. Segments then give the bits of an exact evaluation.
TEST(Evaluate, segments_are_exact_if_memory_is_shorter_than_the_warm_up) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "bad cab fed head deaf a" + std::string(1, static_cast<char>('a' + i % 7));
  const Corpus corpus = Corpus::from_text(text, small_alphabet());
  const Split part = whole_corpus(corpus, "test");
  auto model = small_model("rnn:4");
  for (const ParameterInfo& p : model.parameters().info()) {
    if (p.rows != 4 || p.cols != 4) continue;
    Matrix<float> u = model.parameters().at(p.name);
    for (Index i = 0; i < 4; ++i)
      for (Index j = 0; j < 4; ++j) u(i, j) = j == i + 1 ? 1.5F : 0;
  }
  const auto read = [&](EvaluateOptions options, Evaluation& result) {
    std::vector<float> nats(static_cast<std::size_t>(corpus.symbols()), -1);
    options.surprisal = [&](Index place, float x) { nats[static_cast<std::size_t>(place)] = x; };
    Team team(2);
    result = model.evaluate(corpus, part, team, options);
    return nats;
  };
  Evaluation exact, warm, cold;
  const std::vector<float> expected = read({}, exact);
  EXPECT_EQ(exact.passages, 1);
  EXPECT_EQ(exact.warmed, 0);
  for (const Index segments : {2, 7, 64}) {
    EXPECT_EQ(read({.segments = segments, .warmup = 4}, warm), expected) << segments;
    EXPECT_GT(warm.passages, segments / 2);
    EXPECT_LE(warm.passages, segments);
    EXPECT_EQ(warm.warmed, 4 * (warm.passages - 1));
    EXPECT_EQ(warm.symbols, exact.symbols);
    EXPECT_EQ(warm.predicted, exact.predicted);
    EXPECT_NEAR(warm.nats, exact.nats, 1e-9 * exact.nats);
    EXPECT_NE(read({.segments = segments, .warmup = 0}, cold), expected) << segments;
    EXPECT_EQ(cold.symbols, exact.symbols);
    EXPECT_EQ(cold.warmed, 0);
  }
}

TEST(Evaluate, evaluation_rejects_another_alphabet) {
  const auto model = small_model();
  const Corpus other = Corpus::from_text("xyz", Alphabet::chars_of("xyz"));
  Team team(1);
  EXPECT_THROW(model.evaluate(other, whole_corpus(other, "test"), team), UsageError);
  RecurrentPredictor predictor(model);
  EXPECT_THROW(evaluate(predictor, other, whole_corpus(other, "test")), UsageError);
}

}  // namespace
}  // namespace unfold
