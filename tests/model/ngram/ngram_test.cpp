#include "model/ngram/ngram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/model/fitted.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using test::fitted;
using Gram = std::vector<int>;
constexpr int kBegin = -1;

/// The equations of ngram.h, implemented with maps.
class Reference {
 public:
  Reference(const std::vector<Gram>& sentences, int order, int alphabet, bool kneser_ney)
      : order_(order), alphabet_(alphabet), kneser_ney_(kneser_ney) {
    for (const Gram& sentence : sentences) {
      Gram text = {kBegin};
      text.insert(text.end(), sentence.begin(), sentence.end());
      for (std::size_t i = 0; i < text.size(); ++i)
        for (std::size_t n = 1; n <= static_cast<std::size_t>(order) && i + n <= text.size(); ++n)
          ++raw_[Gram(text.begin() + static_cast<long>(i), text.begin() + static_cast<long>(i + n))];
    }
    for (const auto& [gram, count] : raw_)
      if (gram.size() > 1) before_[Gram(gram.begin() + 1, gram.end())].insert(gram[0]);
  }

  int count(const Gram& gram) const {
    const auto found = raw_.find(gram);
    if (found == raw_.end() || gram == Gram{kBegin}) return 0;
    if (!kneser_ney_ || static_cast<int>(gram.size()) == order_ || gram[0] == kBegin) return found->second;
    return static_cast<int>(before_.at(gram).size());
  }

  double discount(std::size_t n, int c) const {
    std::array<double, 5> seen{};
    for (const auto& [gram, unused] : raw_)
      if (gram.size() == n && count(gram) > 0 && count(gram) < 5) ++seen[static_cast<std::size_t>(count(gram))];
    const double y = seen[1] / (seen[1] + 2 * seen[2]);
    const std::array<double, 4> d = {0, 1 - 2 * y * seen[2] / seen[1], 2 - 3 * y * seen[3] / seen[2],
                                     3 - 4 * y * seen[4] / seen[3]};
    for (int k = 1; k <= 3; ++k)
      if (!(d[static_cast<std::size_t>(k)] > 0 && d[static_cast<std::size_t>(k)] <= k)) return std::min(c, 3) * 0.5;
    return d[static_cast<std::size_t>(std::min(c, 3))];
  }

  double probability(Gram context, int symbol) const {
    if (static_cast<int>(context.size()) >= order_) context.erase(context.begin(), context.end() - (order_ - 1));
    return interpolate(context, symbol);
  }

 private:
  double interpolate(const Gram& context, int symbol) const {
    const double lower =
        context.empty() ? 1.0 / alphabet_ : interpolate(Gram(context.begin() + 1, context.end()), symbol);
    double total = 0, left = 0, mine = 0;
    for (int x = 0; x < alphabet_; ++x) {
      Gram gram = context;
      gram.push_back(x);
      const int c = count(gram);
      const double d = c == 0 ? 0 : kneser_ney_ ? discount(gram.size(), c) : 1;
      total += c;
      left += d;
      if (x == symbol) mine = kneser_ney_ ? c - d : c;
    }
    if (total == 0) return lower;
    const double scale = kneser_ney_ ? total : total + left;
    return (mine + left * lower) / scale;
  }

  int order_, alphabet_;
  bool kneser_ney_;
  std::map<Gram, int> raw_;
  std::map<Gram, std::set<int>> before_;
};

/// Returns text with line endings in which some symbols and contexts are much rarer than others.
std::string skewed_text(int length, std::uint64_t seed) {
  Random random(seed, "ngram test");
  std::string text;
  for (int i = 0; i < length; ++i) {
    const auto a = static_cast<std::size_t>(random.below(6)), b = static_cast<std::size_t>(random.below(6));
    text += std::string("aabcd\n")[i % 3 == 0 && text.size() > 2 ? (a * b + text[text.size() - 2]) % 6 : a * b % 6];
  }
  return text + "e";  // the final symbol occurs once and has no successor
}

class NgramAgainstReference : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Options, NgramAgainstReference,
                         ::testing::Values("ngram:1", "ngram:2", "ngram:3", "ngram:4", "ngram:3,sentences=yes",
                                           "ngram:3,smoothing=witten-bell",
                                           "ngram:4,smoothing=witten-bell,sentences=yes"));

TEST_P(NgramAgainstReference, ngram_probabilities_equal_the_equations) {
  const std::string text = skewed_text(300, 1), other = skewed_text(60, 2);
  const auto model = fitted(GetParam(), text);
  const Alphabet& alphabet = model->alphabet();
  const bool by_sentence = GetParam().find("sentences=yes") != std::string::npos;
  std::vector<Gram> sentences = {{}};
  for (const Symbol x : alphabet.encode(text)) {
    if (by_sentence && !sentences.back().empty() && sentences.back().back() == alphabet.line_end())
      sentences.emplace_back();
    sentences.back().push_back(x);
  }
  const int order = GetParam()[6] - '0';
  const Reference reference(sentences, order, static_cast<int>(alphabet.size()),
                            GetParam().find("witten") == std::string::npos);
  const auto predictor = model->predictor();
  Gram context = {kBegin};
  for (const Symbol next : alphabet.encode(other)) {
    double total = 0;
    for (Symbol x = 0; x < alphabet.size(); ++x) {
      const double p = std::exp(static_cast<double>(predictor->log_probability(x)));
      ASSERT_NEAR(p, reference.probability(context, x), 1e-6) << x << " after " << context.size();
      total += p;
    }
    ASSERT_NEAR(total, 1, 1e-6);
    predictor->observe(next);
    context.push_back(next);
    if (by_sentence && next == alphabet.line_end()) context = {kBegin};
  }
}

TEST(Ngram, separate_sequences_and_parts_start_new_contexts) {
  const Alphabet alphabet = Alphabet::chars_of("abc");
  const Corpus corpus = Corpus::load({Input::from_bytes("1", "abab"), Input::from_bytes("2", "cbcbcb")}, alphabet);
  Team team(1);
  NgramModel model("ngram:2", alphabet);
  model.fit({.corpus = corpus, .training = whole_corpus(corpus, "training")}, {}, team);
  const Reference reference({{0, 1, 0, 1}, {2, 1, 2, 1, 2, 1}}, 2, 3, true);
  const auto predictor = model.predictor();
  EXPECT_NEAR(std::exp(predictor->log_probability(2)), reference.probability({kBegin}, 2), 1e-6);
  predictor->observe(1);  // b is followed by a and c, but "bc" across the two files was never seen
  for (Symbol x = 0; x < 3; ++x)
    EXPECT_NEAR(std::exp(predictor->log_probability(x)), reference.probability({1}, x), 1e-6);
  predictor->reset();
  EXPECT_NEAR(std::exp(predictor->log_probability(2)), reference.probability({kBegin}, 2), 1e-6);
}

TEST(Ngram, symbols_unseen_in_training_have_a_probability) {
  const Alphabet alphabet = Alphabet::chars_of("abcxyz");
  const Corpus corpus = Corpus::from_text("abcabcab", alphabet);
  Team team(1);
  for (const char* spec : {"ngram:1", "ngram:4", "ngram:4,smoothing=witten-bell"}) {
    NgramModel model(spec, alphabet);
    model.fit({.corpus = corpus, .training = whole_corpus(corpus, "training")}, {}, team);
    const auto predictor = model.predictor();
    for (const Symbol x : alphabet.encode("abxyabz")) {
      EXPECT_TRUE(std::isfinite(predictor->log_probability(x))) << spec;
      predictor->observe(x);
    }
    EXPECT_THROW(predictor->observe(6), UsageError);
  }
}

TEST(Ngram, model_does_not_depend_on_the_memory_limit_or_the_number_of_threads) {
  const std::string text = skewed_text(20000, 3);
  const Alphabet alphabet = Alphabet::chars_of(text);
  const Corpus corpus = Corpus::from_text(text, alphabet);
  for (const char* spec : {"ngram:1", "ngram:2", "ngram:5", "ngram:7,sentences=yes", "ngram:5,smoothing=witten-bell"}) {
    std::string expected;
    for (const std::size_t limit : {std::size_t{0}, std::size_t{1}, std::size_t{100'000}, std::size_t{1} << 40})
      for (const int threads : {1, 3}) {
        Team team(threads);
        NgramModel model(spec, alphabet);
        model.fit({.corpus = corpus, .training = whole_corpus(corpus, "training")}, {.memory_limit = limit}, team);
        SafetensorsWriter writer;
        model.trie().add_tensors(writer);
        if (expected.empty()) expected = writer.bytes();
        EXPECT_TRUE(writer.bytes() == expected) << spec << ", limit " << limit << ", threads " << threads;
      }
  }
}

TEST(Ngram, missing_folder_for_temporary_files_is_reported) {
  const std::string text = skewed_text(20000, 4);
  const Alphabet alphabet = Alphabet::chars_of(text);
  const Corpus corpus = Corpus::from_text(text, alphabet);
  Team team(1);
  NgramModel model("ngram:5", alphabet);
  ::setenv("TMPDIR", "/nonexistent", 1);
  EXPECT_THROW(
      model.fit({.corpus = corpus, .training = whole_corpus(corpus, "training")}, {.memory_limit = 1000}, team),
      RuntimeFailure);
  ::unsetenv("TMPDIR");
}

TEST(Ngram, file_with_an_invalid_trie_is_rejected) {
  const auto model = fitted("ngram:3", "abcabdabc");
  const auto& trie = dynamic_cast<NgramModel&>(*model).trie();
  const auto error = [&](const std::function<void(NgramTrie&)>& change) -> std::string {
    NgramTrie changed = trie;
    change(changed);
    SafetensorsWriter writer;
    changed.add_tensors(writer);
    writer.set_metadata("card", model->card().dump());
    try {
      symbol_model_from_bytes(writer.bytes(), "m");
    } catch (const ModelError& e) {
      return e.what();
    }
    return {};
  };
  EXPECT_EQ(error([](NgramTrie&) {}), "");
  EXPECT_NE(error([](NgramTrie& t) { t.level(2).symbols[0] = 4; }), "");
  EXPECT_NE(error([](NgramTrie& t) { t.level(1).children[1] = 1000; }), "");
  EXPECT_NE(error([](NgramTrie& t) { t.level(1).children.back() -= 1; }), "");
  EXPECT_NE(error([](NgramTrie& t) { t.level(1).children[0] = 1; }), "");
  EXPECT_NE(error([](NgramTrie& t) { t.level(3).log_probabilities[0] = 1; }), "");
  EXPECT_NE(error([](NgramTrie& t) { t.level(2).log_backoffs[0] = std::nanf(""); }), "");
  EXPECT_NE(error([](NgramTrie& t) {
              std::swap(t.level(2).symbols[t.level(1).children[1]], t.level(2).symbols[t.level(1).children[1] + 1]);
            }),
            "");
}

}  // namespace
}  // namespace unfold
