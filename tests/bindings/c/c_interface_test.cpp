/// The C interface gives the results of the library and turns every error into a status and a message.

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "app/sample/sample.h"
#include "app/score/score.h"
#include "model/ngram/ngram.h"
#include "tests/base/scratch.h"
#include "unfold/c.h"
#include "unfold/data/text/split.h"
#include "unfold/model/network/language_model.h"
#include "unfold/model/registry/registry.h"

namespace unfold {
namespace {

using testing_support::contains;
using testing_support::ScratchFolder;

const std::string kText = "abracadabra, said the cat.\n";

class CInterface : public ::testing::Test {
 protected:
  CInterface() {
    LanguageModel<float> model("lstm:11", Alphabet::chars_of(kText));
    model.initialize(3);
    model.save(path_);
    EXPECT_EQ(unfold_load(path_.c_str(), &model_), UNFOLD_OK) << unfold_message();
    EXPECT_EQ(unfold_open(model_, &stream_), UNFOLD_OK);
  }
  ~CInterface() override {
    unfold_close(stream_);
    unfold_free(model_);
  }
  std::vector<float> now(unfold_stream* stream) const {
    const float* p = unfold_log_probabilities(stream);
    return {p, p + unfold_symbols(model_)};
  }

  ScratchFolder folder_;
  std::string path_ = folder_.path("model.safetensors");
  unfold_model* model_ = nullptr;
  unfold_stream* stream_ = nullptr;
};

TEST_F(CInterface, stream_is_bit_identical_to_the_predictor) {
  const auto model = LanguageModel<float>::load(path_);
  const auto predictor = model.predictor();
  for (const Symbol x : model.alphabet().encode(kText)) {
    const auto expected = predictor->log_probabilities();
    EXPECT_EQ(now(stream_), std::vector<float>(expected.begin(), expected.end()));
    predictor->observe(x);
    ASSERT_EQ(unfold_push(stream_, x), UNFOLD_OK);
  }
}

TEST_F(CInterface, clones_are_independent_and_reset_restores_the_initial_state) {
  const std::vector<float> first = now(stream_);
  unfold_push(stream_, 1);
  unfold_stream* clone = nullptr;
  ASSERT_EQ(unfold_clone(stream_, &clone), UNFOLD_OK);
  const std::vector<float> before = now(stream_);
  unfold_push(clone, 2);
  EXPECT_EQ(now(stream_), before);
  EXPECT_NE(now(clone), before);
  unfold_close(clone);
  unfold_reset(stream_);
  EXPECT_EQ(now(stream_), first);
}

TEST_F(CInterface, clones_give_the_same_results_in_separate_threads) {
  const auto read = [&](unfold_stream* stream) {
    double sum = 0;
    for (int i = 0; i < 3000; ++i) {
      const int symbol = i * i % unfold_symbols(model_);
      sum += static_cast<double>(unfold_log_probabilities(stream)[symbol]);
      unfold_push(stream, symbol);
    }
    return sum;
  };
  unfold_stream *clone = nullptr, *second = nullptr;
  ASSERT_EQ(unfold_clone(stream_, &clone), UNFOLD_OK);
  ASSERT_EQ(unfold_clone(clone, &second), UNFOLD_OK);
  const double alone = read(second);
  double one = 0, other = 0;
  std::thread beside([&] { one = read(clone); });
  other = read(stream_);
  beside.join();
  EXPECT_EQ(one, alone);
  EXPECT_EQ(other, alone);
  unfold_close(clone);
  unfold_close(second);
}

TEST(CInterfaceOfLines, AStreamAndASampleBeginTheNextLineAfterALineEnd) {
  ScratchFolder folder;
  LanguageModel<float> lines("lstm:11", Alphabet::chars_of(kText));
  lines.initialize(3);
  lines.configuration()["lines"] = true;
  lines.save(folder.path("lines.safetensors"));
  unfold_model* model = nullptr;
  ASSERT_EQ(unfold_load(folder.path("lines.safetensors").c_str(), &model), UNFOLD_OK) << unfold_message();
  unfold_stream* stream = nullptr;
  ASSERT_EQ(unfold_open(model, &stream), UNFOLD_OK);
  const auto now = [&] {
    const float* p = unfold_log_probabilities(stream);
    return std::vector<float>(p, p + unfold_symbols(model));
  };
  const std::vector<float> first = now();
  for (const Symbol x : lines.alphabet().encode(kText)) {
    EXPECT_EQ(unfold_push(stream, x), UNFOLD_OK);
    EXPECT_EQ(now() == first, x == lines.alphabet().line_end());
  }
  const auto sampled = [&](const std::string& prime) {
    unfold_sampling options = unfold_default_sampling();
    options.length = 50;
    options.prime = prime.data();
    options.prime_size = prime.size();
    char* text = nullptr;
    EXPECT_EQ(unfold_sample(model, &options, &text, nullptr), UNFOLD_OK) << unfold_message();
    const std::string result = text;
    unfold_free_text(text);
    return result;
  };
  EXPECT_EQ(sampled(kText), sampled(""));
  unfold_close(stream);
  unfold_free(model);
}

/// A ppm that does not learn predicts the same after a reset, regardless of what was read.
TEST(CInterfaceOfPpm, AResetGivesTheFirstNumbersAgain) {
  ScratchFolder folder;
  const Corpus corpus = Corpus::from_text(kText + kText, Alphabet::chars_of(kText));
  const auto ppm = make_fitted_model("ppm:4", corpus.alphabet());
  Team team(1);
  ppm->fit({.corpus = corpus, .training = whole_corpus(corpus, "training")}, {}, team);
  ppm->save(folder.path("ppm.safetensors"));
  unfold_model* model = nullptr;
  ASSERT_EQ(unfold_load(folder.path("ppm.safetensors").c_str(), &model), UNFOLD_OK) << unfold_message();
  unfold_stream* stream = nullptr;
  ASSERT_EQ(unfold_open(model, &stream), UNFOLD_OK);
  const std::vector<Symbol> known = ppm->alphabet().encode("cat said\n"),
                            other = ppm->alphabet().encode("tttabcsaidid,, dddc.iii");
  const auto read = [&](const std::vector<Symbol>& symbols) {
    std::vector<float> all;
    for (const Symbol x : symbols) {
      const float* p = unfold_log_probabilities(stream);
      all.insert(all.end(), p, p + unfold_symbols(model));
      EXPECT_EQ(unfold_push(stream, x), UNFOLD_OK);
    }
    unfold_reset(stream);
    return all;
  };
  const std::vector<float> first = read(known);
  read(other);
  EXPECT_EQ(read(known), first);
  unfold_close(stream);
  unfold_free(model);
}

TEST_F(CInterface, null_model_has_no_symbols) {
  size_t size = 1;
  EXPECT_EQ(unfold_spec(nullptr), nullptr);
  EXPECT_EQ(unfold_symbols(nullptr), 0);
  EXPECT_EQ(unfold_text(nullptr, 0, &size), nullptr);
  EXPECT_EQ(unfold_find(nullptr, "a", 1), UNFOLD_NO_SYMBOL);
  EXPECT_EQ(unfold_find(model_, nullptr, 1), UNFOLD_NO_SYMBOL);
}

TEST_F(CInterface, scores_equal_those_of_the_command) {
  size_t count = 0, predicted = 0;
  ASSERT_EQ(unfold_score_symbols(model_, kText.data(), kText.size(), nullptr, 0, &count), UNFOLD_OK);
  std::vector<float> nats(count);
  double total = 0;
  ASSERT_EQ(unfold_score_symbols(model_, kText.data(), kText.size(), nats.data(), count, &count), UNFOLD_OK);
  ASSERT_EQ(unfold_score(model_, kText.data(), kText.size(), &total, &predicted), UNFOLD_OK);
  EXPECT_EQ(predicted, count);
  std::vector<float> expected;
  const ScoredText scored = score({.model = path_, .data = folder_.write("text", kText)});
  scored.for_each_symbol([&](const ScoredSymbol& symbol) { expected.push_back(symbol.nats); });
  EXPECT_EQ(nats, expected);
  EXPECT_EQ(total, scored.evaluation().nats);
}

TEST_F(CInterface, samples_equal_those_of_the_command) {
  unfold_sampling options = unfold_default_sampling();
  options.length = 40, options.seed = 7, options.prime = "abr", options.prime_size = 3, options.top_k = 4;
  char* text = nullptr;
  size_t size = 0;
  ASSERT_EQ(unfold_sample(model_, &options, &text, &size), UNFOLD_OK) << unfold_message();
  SampleRequest request{.model = path_, .prime = "abr"};
  request.sampling.length = 40, request.sampling.seed = 7, request.sampling.top_k = 4;
  EXPECT_EQ(std::string(text, size), sample(request).front().text);
  unfold_free_text(text);
}

TEST_F(CInterface, symbols_have_texts_and_texts_symbols) {
  EXPECT_STREQ(unfold_spec(model_), "lstm:11");
  for (int x = 0; x < unfold_symbols(model_); ++x) {
    size_t size = 0;
    const char* text = unfold_text(model_, x, &size);
    EXPECT_EQ(unfold_find(model_, text, size), x);
  }
  EXPECT_EQ(unfold_text(model_, -1, nullptr), nullptr);
  EXPECT_EQ(unfold_text(model_, unfold_symbols(model_), nullptr), nullptr);
  EXPECT_EQ(unfold_find(model_, "Z", 1), UNFOLD_NO_SYMBOL);
}

TEST_F(CInterface, errors_are_statuses_with_messages) {
  unfold_model* none = nullptr;
  EXPECT_EQ(unfold_load(folder_.path("nothing").c_str(), &none), UNFOLD_BAD_MODEL);
  EXPECT_TRUE(contains(unfold_message(), "nothing"));
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(unfold_load_bytes("no model", 8, &none), UNFOLD_BAD_MODEL);
  EXPECT_EQ(unfold_load(nullptr, &none), UNFOLD_USAGE);
  EXPECT_EQ(unfold_push(stream_, 1000), UNFOLD_USAGE);
  EXPECT_TRUE(contains(unfold_message(), "symbol 1000 is not in an alphabet of"));
  size_t count = 0;
  EXPECT_EQ(unfold_encode(model_, "Z", 1, nullptr, 0, &count), UNFOLD_BAD_DATA);
  double nats = 0;
  EXPECT_EQ(unfold_score(model_, "aZ", 2, &nats, nullptr), UNFOLD_BAD_DATA);
  float room[2];
  EXPECT_EQ(unfold_score_symbols(model_, "abra", 4, room, 2, &count), UNFOLD_USAGE);
  EXPECT_EQ(count, 4U);
  unfold_sampling options = unfold_default_sampling();
  options.top_p = 2;
  char* text = nullptr;
  EXPECT_EQ(unfold_sample(model_, &options, &text, nullptr), UNFOLD_USAGE);
  EXPECT_EQ(unfold_open(nullptr, nullptr), UNFOLD_USAGE);
  unfold_free(nullptr), unfold_close(nullptr);
}

TEST_F(CInterface, FailuresSetResultsToNull) {
  auto* const nowhere = reinterpret_cast<unfold_model*>(8);
  auto* const no_stream = reinterpret_cast<unfold_stream*>(8);
  unfold_model* model = nowhere;
  EXPECT_EQ(unfold_load(folder_.path("nothing").c_str(), &model), UNFOLD_BAD_MODEL);
  EXPECT_EQ(model, nullptr);
  model = nowhere;
  EXPECT_EQ(unfold_load(nullptr, &model), UNFOLD_USAGE);
  EXPECT_EQ(model, nullptr);
  model = nowhere;
  EXPECT_EQ(unfold_load_bytes("no model", 8, &model), UNFOLD_BAD_MODEL);
  EXPECT_EQ(model, nullptr);
  model = nowhere;
  EXPECT_EQ(unfold_load_bytes(nullptr, 8, &model), UNFOLD_USAGE);
  EXPECT_EQ(model, nullptr);
  unfold_stream* stream = no_stream;
  EXPECT_EQ(unfold_open(nullptr, &stream), UNFOLD_USAGE);
  EXPECT_EQ(stream, nullptr);
  stream = no_stream;
  EXPECT_EQ(unfold_clone(nullptr, &stream), UNFOLD_USAGE);
  EXPECT_EQ(stream, nullptr);
  char byte = 0;
  char* text = &byte;
  size_t size = 7;
  unfold_sampling options = unfold_default_sampling();
  options.temperature = -1;
  EXPECT_EQ(unfold_sample(model_, &options, &text, &size), UNFOLD_USAGE);
  EXPECT_EQ(text, nullptr);
  EXPECT_EQ(size, 0U);
}

TEST_F(CInterface, EveryFunctionChecksItsArguments) {
  constexpr size_t kNegative = static_cast<size_t>(-1);
  size_t count = 0;
  char* text = nullptr;
  float nats[4];
  int32_t symbols[4];
  EXPECT_EQ(unfold_load("run", nullptr), UNFOLD_USAGE);
  EXPECT_EQ(unfold_load_bytes("no model", 8, nullptr), UNFOLD_USAGE);
  EXPECT_EQ(unfold_open(model_, nullptr), UNFOLD_USAGE);
  EXPECT_EQ(unfold_clone(stream_, nullptr), UNFOLD_USAGE);
  for (const int symbol : {-1, -1000, 1000, unfold_symbols(model_)}) {
    EXPECT_EQ(unfold_push(stream_, symbol), UNFOLD_USAGE) << symbol;
    EXPECT_EQ(unfold_text(model_, symbol, &count), nullptr) << symbol;
  }
  EXPECT_EQ(unfold_push(nullptr, 0), UNFOLD_USAGE);
  EXPECT_EQ(unfold_reset(nullptr), UNFOLD_USAGE);
  EXPECT_EQ(unfold_log_probabilities(nullptr), nullptr);
  EXPECT_EQ(unfold_encode(nullptr, "a", 1, symbols, 4, &count), UNFOLD_USAGE);
  EXPECT_EQ(unfold_encode(model_, nullptr, 1, symbols, 4, &count), UNFOLD_USAGE);
  EXPECT_EQ(unfold_encode(model_, "a", 1, nullptr, 4, &count), UNFOLD_USAGE);
  EXPECT_EQ(unfold_encode(model_, "a", 1, symbols, 4, nullptr), UNFOLD_USAGE);
  EXPECT_EQ(unfold_score(nullptr, "a", 1, nullptr, &count), UNFOLD_USAGE);
  EXPECT_EQ(unfold_score(model_, nullptr, 1, nullptr, &count), UNFOLD_USAGE);
  EXPECT_EQ(unfold_score_symbols(nullptr, "a", 1, nats, 4, &count), UNFOLD_USAGE);
  EXPECT_EQ(unfold_score_symbols(model_, "a", 1, nullptr, 4, &count), UNFOLD_USAGE);
  EXPECT_EQ(unfold_score_symbols(model_, "a", 1, nats, 4, nullptr), UNFOLD_USAGE);
  EXPECT_EQ(unfold_sample(nullptr, nullptr, &text, &count), UNFOLD_USAGE);
  EXPECT_EQ(unfold_sample(model_, nullptr, nullptr, &count), UNFOLD_USAGE);
  EXPECT_EQ(unfold_encode(model_, "a", kNegative, symbols, 4, &count), UNFOLD_USAGE);
  EXPECT_EQ(unfold_score(model_, "a", kNegative, nullptr, &count), UNFOLD_USAGE);
  unfold_model* other = nullptr;
  EXPECT_EQ(unfold_load_bytes("no model", kNegative, &other), UNFOLD_USAGE);
  EXPECT_EQ(unfold_find(model_, "a", kNegative), UNFOLD_NO_SYMBOL);
  const unfold_sampling options = unfold_default_sampling();
  for (const auto& change : std::vector<void (*)(unfold_sampling&)>{
           [](unfold_sampling& o) { o.length = static_cast<size_t>(-1); }, [](unfold_sampling& o) { o.top_k = -1; },
           [](unfold_sampling& o) { o.top_p = 0; }, [](unfold_sampling& o) { o.min_p = std::nan(""); },
           [](unfold_sampling& o) { o.temperature = std::nan(""); }, [](unfold_sampling& o) { o.prime_size = 3; }}) {
    unfold_sampling wrong = options;
    change(wrong);
    EXPECT_EQ(unfold_sample(model_, &wrong, &text, nullptr), UNFOLD_USAGE);
    EXPECT_EQ(text, nullptr);
  }
}

TEST_F(CInterface, a_stream_outlives_the_handle_of_its_model) {
  unfold_model* other = nullptr;
  unfold_stream* stream = nullptr;
  const std::string bytes = LanguageModel<float>::load(path_).bytes();
  ASSERT_EQ(unfold_load_bytes(bytes.data(), bytes.size(), &other), UNFOLD_OK) << unfold_message();
  ASSERT_EQ(unfold_open(other, &stream), UNFOLD_OK);
  unfold_free(other);
  EXPECT_EQ(unfold_push(stream, 0), UNFOLD_OK);
  EXPECT_NE(unfold_log_probabilities(stream), nullptr);
  unfold_close(stream);
}

}  // namespace
}  // namespace unfold
