/// Predictors, corpora, alphabets and samplers reject symbols and positions that do not exist.

#include <gtest/gtest.h>

#include <limits>

#include "model/network/online_predictor.h"
#include "tests/support/usage_error.h"
#include "unfold/data/text/split.h"
#include "unfold/model/decoding/completion.h"
#include "unfold/model/decoding/sampling.h"
#include "unfold/model/network/language_model.h"
#include "unfold/model/registry/registry.h"
#include "unfold/train/evaluate.h"

namespace unfold {
namespace {

using testing_support::usage_error;

const std::string kMisuseText = "the quick brown fox jumps over the lazy dog\n";

constexpr Symbol kLowest = std::numeric_limits<Symbol>::min(), kHighest = std::numeric_limits<Symbol>::max();

void expect_refuses_symbols(Predictor& predictor, const std::string& what) {
  const auto size = static_cast<Symbol>(predictor.alphabet());
  for (const Symbol wrong : {Symbol{-5}, kNoSymbol, size, static_cast<Symbol>(size + 1), kLowest, kHighest}) {
    SCOPED_TRACE(what + ", symbol " + std::to_string(wrong));
    EXPECT_USAGE_ERROR(predictor.log_probability(wrong), "is not in an alphabet of");
    EXPECT_USAGE_ERROR(predictor.surprisal(wrong), "is not in an alphabet of");
    EXPECT_USAGE_ERROR(predictor.observe(wrong), "is not in an alphabet of");
  }
  predictor.observe(0);
  EXPECT_LE(predictor.log_probability(size - 1), 0);
}

TEST(PredictorMisuse, EveryModelRefusesSymbolsOutsideItsAlphabet) {
  const Corpus corpus = Corpus::from_text(kMisuseText, Alphabet::chars_of(kMisuseText));
  const Split all = whole_corpus(corpus, "all");
  Team team(1);
  for (const char* spec : {"uniform", "frequency", "ngram:3", "hmm:3", "ppm:3", "ctw:4", "cm:1"}) {
    const auto model = make_fitted_model(spec, corpus.alphabet());
    model->fit({corpus, all}, {}, team);
    expect_refuses_symbols(*model->predictor(), spec);
  }
  LanguageModel<float> narrow("lstm:5", corpus.alphabet());
  narrow.initialize(1);
  LanguageModel<double> wide("rnn:5", corpus.alphabet());
  wide.initialize(1);
  expect_refuses_symbols(*narrow.predictor(), "lstm in float");
  expect_refuses_symbols(*wide.predictor(), "rnn in double");
  OnlinePredictor online(narrow, {.window = 3});
  expect_refuses_symbols(online, "online");
}

TEST(PredictorMisuse, DrawingRefusesOptionsOutOfRange) {
  LanguageModel<float> model("lstm:5", Alphabet::chars_of(kMisuseText));
  model.initialize(1);
  const auto predictor = model.predictor();
  const Alphabet other = Alphabet::chars_of("ab");
  EXPECT_USAGE_ERROR(sample(*predictor, model.alphabet(), {.length = 2, .prime = {-1}}), "is not in an alphabet");
  EXPECT_USAGE_ERROR(sample(*predictor, model.alphabet(), {.length = -2}), "length -2");
  EXPECT_USAGE_ERROR(sample(*predictor, other, {.length = 2, .stop = "x"}), "the alphabet has 2");
  EXPECT_USAGE_ERROR(complete(*predictor, other, {.length = 2, .stop = "x"}), "the alphabet has 2");
  EXPECT_USAGE_ERROR(complete(*predictor, model.alphabet(), {.length = 2, .prime = {1000}}), "is not in an alphabet");
  EXPECT_USAGE_ERROR(complete(*predictor, model.alphabet(), {.length = 2, .beam = 0}), "beam");
  EXPECT_USAGE_ERROR(filter_distribution({}, {}), "no symbols");
  EXPECT_USAGE_ERROR(filter_distribution(std::vector<float>{0}, {.temperature = -1}), "temperature");
  Random random(1, "misuse");
  EXPECT_USAGE_ERROR(draw_from({}, random), "no symbol has a positive probability");
  EXPECT_USAGE_ERROR(draw_from(std::vector<double>{0, 0}, random), "no symbol has a positive probability");
}

TEST(CorpusMisuse, SequencesAndPositionsOutOfRangeAreRefused) {
  Corpus corpus = Corpus::from_text("abcabc", Alphabet::chars_of("abc"));
  std::vector<Symbol> three(3);
  for (const Index sequence : {Index{-1}, Index{1}}) {
    EXPECT_USAGE_ERROR(corpus.length(sequence), "out of range");
    EXPECT_USAGE_ERROR(corpus.source(sequence), "out of range");
    EXPECT_USAGE_ERROR(corpus.read(sequence, 0, three), "out of range");
    EXPECT_USAGE_ERROR(corpus.read(sequence, Range{0, 1}), "out of range");
    EXPECT_USAGE_ERROR(corpus.bytes(sequence, {0, 1}), "out of range");
  }
  EXPECT_USAGE_ERROR(corpus.read(0, 4, three), "out of range");
  EXPECT_USAGE_ERROR(corpus.read(0, -1, three), "out of range");
  EXPECT_USAGE_ERROR(corpus.read(0, std::numeric_limits<Index>::max(), three), "out of range");
  EXPECT_USAGE_ERROR(corpus.read(0, Range{4, 2}), "out of range");
  EXPECT_USAGE_ERROR(corpus.bytes(0, {0, 7}), "out of range");
  corpus.set_mask(Input::from_bytes("mask", "010101"));
  EXPECT_USAGE_ERROR(corpus.is_predicted(0, 6), "out of range");
  EXPECT_USAGE_ERROR(corpus.is_predicted(1, 0), "out of range");
  EXPECT_USAGE_ERROR(split_corpus(corpus, SplitShares{{200'000'000, 0, 0}}), "sum to 100");
  EXPECT_USAGE_ERROR(split_corpus(corpus, SplitShares{{-100'000'000, 100'000'000, 100'000'000}}), "sum to 100");
  const Split foreign{"all", {{0, {0, 60}}}};
  EXPECT_USAGE_ERROR(foreign.bytes(corpus), "out of range");
  LanguageModel<float> model("lstm:5", corpus.alphabet());
  model.initialize(1);
  Team team(1);
  EXPECT_USAGE_ERROR(model.evaluate(corpus, foreign, team), "out of range");
  EXPECT_USAGE_ERROR(evaluate(*model.predictor(), corpus, foreign), "out of range");
  const Alphabet& alphabet = corpus.alphabet();
  for (const Symbol wrong : {kNoSymbol, Symbol{3}, kLowest, kHighest}) {
    EXPECT_USAGE_ERROR(alphabet.text(wrong), "is not in an alphabet of 3");
    EXPECT_USAGE_ERROR(alphabet.name(wrong), "is not in an alphabet of 3");
    EXPECT_USAGE_ERROR(alphabet.decode(std::vector<Symbol>{0, wrong}), "is not in an alphabet of 3");
  }
  for (Index position : {Index{-1}, Index{3}, Index{4}})
    EXPECT_USAGE_ERROR(alphabet.next_token("abc", position), "out of range");
}

TEST(EvaluatorMisuse, BatchesWithoutListsPerChainAreRefused) {
  LanguageModel<float> model("lstm:5", Alphabet::chars_of("abc"));
  model.initialize(1);
  Team team(1);
  struct MisusedReader final : BatchReader {
    bool next(Batch& out) override {
      if (done) return false;
      out = batch;
      return done = true;
    }
    Batch batch;
    bool done = false;
  };
  const auto run = [&](const std::function<void(Batch&)>& change) {
    MisusedReader reader;
    reader.batch.structure = Structure::chains(2, 3);
    for (const char* field : {"previous symbol", "symbol"}) reader.batch.symbol_field(field).symbols.assign(6, 1);
    for (const NetworkInput& input : model.network().inputs)
      reader.batch.symbol_field(input.field).symbols.assign(6, 1);
    reader.batch.symbol_field(model.network().heads.front().field).symbols.assign(6, 1);
    reader.batch.reset_all_chains();
    reader.batch.passages = {0, 1}, reader.batch.places = {0, 3};
    change(reader.batch);
    return Evaluator<float>(model.network(), team).run(model.parameters(), reader);
  };
  EXPECT_EQ(run([](Batch&) {}).passages, 2);
  EXPECT_USAGE_ERROR(run([](Batch& b) { b.passages.pop_back(); }), "the list of passages has 1");
  EXPECT_USAGE_ERROR(run([](Batch& b) { b.passages[0] = -1; }), "numbered from 0");
  EXPECT_USAGE_ERROR(run([](Batch& b) { b.places.clear(); }), "the list of places has 0");
  EXPECT_USAGE_ERROR(run([](Batch& b) { b.carry.slots.pop_back(); }), "the list of state slots has 1");
  EXPECT_USAGE_ERROR(run([](Batch& b) { b.carry.slots[1] = 0; }), "two sequences");
  EXPECT_USAGE_ERROR(run([](Batch& b) { b.carry.fresh[1] = 9; }), "out of range");
  EXPECT_USAGE_ERROR(run([](Batch& b) { b.carry.slots_needed = -1; }), "out of range");
  EXPECT_USAGE_ERROR(run([](Batch& b) { b.carry.moves = {{0, 7}}; }), "out of range");
  EXPECT_NE(
      usage_error([&] { run([&](Batch& b) { b.symbol_field(model.network().inputs[0].field).symbols[2] = 3; }); }), "");
  EXPECT_NE(
      usage_error([&] { run([&](Batch& b) { b.symbol_field(model.network().heads[0].field).symbols[2] = -9; }); }), "");
  EXPECT_NE(
      usage_error([&] { run([&](Batch& b) { b.symbol_field(model.network().heads[0].field).symbols.pop_back(); }); }),
      "");
}

}  // namespace
}  // namespace unfold
