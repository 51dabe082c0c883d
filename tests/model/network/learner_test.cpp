#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "model/adaptive/learning.h"
#include "model/context_mixing/context_mixing.h"
#include "model/ctw/ctw.h"
#include "model/network/online_predictor.h"
#include "model/ppm/ppm.h"
#include "numerics/simd.h"
#include "unfold/base/error.h"
#include "unfold/model/registry/registry.h"
#include "unfold/numerics/random.h"

namespace unfold::test {
namespace {

Alphabet letters(std::size_t n) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < n; ++i) texts.emplace_back(1, static_cast<char>('a' + i));
  return {SymbolKind::bytes, texts};
}

/// A first-order source: x is mostly followed by x + 1.
std::vector<Symbol> source(std::size_t n, Index alphabet, std::uint64_t seed = 1) {
  Random random(seed, "learner source");
  std::vector<Symbol> result;
  Symbol x = 0;
  for (std::size_t i = 0; i < n; ++i) {
    x = random.below(5) == 0 ? static_cast<Symbol>(random.below(static_cast<std::uint64_t>(alphabet)))
                             : static_cast<Symbol>((x + 1) % alphabet);
    result.push_back(x);
  }
  return result;
}

double nats(Predictor& predictor, const std::vector<Symbol>& symbols) {
  double sum = 0;
  for (const Symbol x : symbols) {
    sum -= static_cast<double>(predictor.log_probability(x));
    predictor.observe(x);
  }
  return sum;
}

const std::vector<std::string> kLearners = {"cm:1",
                                            "cm:memory=1M,level=fast,row=5",
                                            "cm:memory=1,level=text",
                                            "cm:memory=1,level=binary,row=5",
                                            "cm:memory=1,level=fast",
                                            "ppm:3",
                                            "ppm:0",
                                            "ppm:3,memory=1",
                                            "ctw:12",
                                            "ctw:0",
                                            "mix:ppm:2+ctw:6",
                                            "mix:cm:1,level=fast+gru:6",
                                            "lstm:7"};

TEST(Learners, distributions_agree_with_single_symbol_probabilities) {
  for (const std::string& spec : kLearners)
    for (const std::size_t n : {1, 2, 5, 26}) {
      const auto predictor = make_learner(spec, letters(n));
      for (const Symbol x : source(60, static_cast<Index>(n))) {
        const std::span<const float> all = predictor->log_probabilities();
        double sum = 0;
        for (const float p : all) sum += std::exp(static_cast<double>(p));
        ASSERT_NEAR(sum, 1, 2e-6) << spec;
        ASSERT_EQ(predictor->log_probability(x), all[static_cast<std::size_t>(x)]) << spec;
        predictor->observe(x);
      }
    }
}

TEST(Learners, reading_probabilities_changes_nothing) {
  for (const std::string& spec : kLearners) {
    const auto asked = make_learner(spec, letters(6)), silent = make_learner(spec, letters(6));
    for (const Symbol x : source(200, 6)) {
      asked->log_probabilities();
      asked->observe(x);
      silent->observe(x);
    }
    for (Symbol x = 0; x < 6; ++x) EXPECT_EQ(asked->log_probability(x), silent->log_probability(x)) << spec;
  }
}

TEST(Learners, online_models_learn) {
  for (const std::string& spec : kLearners) {
    if (spec.ends_with(":0")) continue;
    const auto predictor = make_learner(spec, letters(6));
    const auto symbols = source(3000, 6);
    const std::size_t half = symbols.size() / 2;
    nats(*predictor, {symbols.begin(), symbols.begin() + static_cast<std::ptrdiff_t>(half)});
    const double second = nats(*predictor, {symbols.begin() + static_cast<std::ptrdiff_t>(half), symbols.end()});
    const double enough = spec.starts_with("lstm") ? 0.9 : 0.5;  // a network needs more symbols
    EXPECT_LT(second / static_cast<double>(half), enough * std::log(6.0)) << spec;
  }
}

TEST(Learners, clones_are_independent) {
  for (const std::string& spec : kLearners) {
    const auto predictor = make_learner(spec, letters(5));
    nats(*predictor, source(300, 5));
    const auto clone = predictor->clone(), again = predictor->clone();
    nats(*clone, source(100, 5, 2));
    EXPECT_EQ(nats(*predictor, source(100, 5, 3)), nats(*again, source(100, 5, 3))) << spec;
  }
}

TEST(Learners, stopped_models_keep_what_they_learned) {
  for (const std::string& spec : kLearners) {
    const auto predictor = make_learner(spec, letters(5));
    nats(*predictor, source(300, 5));
    predictor->set_learning(false);
    const auto measure = [&] {
      predictor->reset();
      return nats(*predictor, source(100, 5, 9));
    };
    const double once = measure();
    EXPECT_EQ(measure(), once) << spec;
    predictor->set_learning(true);
    measure();
    EXPECT_NE(measure(), once) << spec;
  }
}

/// A line unlike the training text has the same surprisal when it is repeated.
TEST(Learners, stopped_models_learn_no_line) {
  Random random(3, "line");
  std::vector<Symbol> line;
  for (int i = 0; i < 80; ++i) line.push_back(static_cast<Symbol>(random.below(5)));
  for (const std::string& spec : kLearners) {
    const auto predictor = make_learner(spec, letters(5));
    nats(*predictor, source(300, 5));
    predictor->set_learning(false);
    predictor->reset();
    const double once = nats(*predictor, line);
    for (int again = 0; again < 3; ++again) {
      predictor->reset();
      EXPECT_EQ(nats(*predictor, line), once) << spec;
    }
  }
}

/// Symbols before a reset do not affect the next sequence, even if sequences are learned.
TEST(Learners, sequences_are_independent) {
  for (const std::string& spec : kLearners) {
    const auto predictor = make_learner(spec, letters(5));
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      predictor->reset();
      nats(*predictor, source(12, 5, seed));
    }
    predictor->set_learning(false);
    const auto measure = [&] {
      predictor->reset();
      return nats(*predictor, source(8, 5, 300));
    };
    const double once = measure();
    for (const std::uint64_t other : {400, 401, 402, 403, 404, 405}) {
      predictor->reset();
      nats(*predictor, source(20, 5, other));
      EXPECT_EQ(measure(), once) << spec;
    }
  }
}

TEST(Learners, memory_sizes_accept_units) {
  EXPECT_EQ(canonical_learner("cm:64M"), canonical_learner("cm:memory=64"));
  EXPECT_EQ(canonical_learner("ppm:5,memory=1G"), canonical_learner("ppm:5,memory=1024"));
  EXPECT_EQ(canonical_learner("ppm:5,memory=2048K"), canonical_learner("ppm:5,memory=2"));
  for (const char* spec :
       {"ppm:5,memory=M", "ppm:5,memory=1.5M", "ppm:5,memory=64T", "ppm:5,memory=17G", "ppm:5,memory=-1M"})
    EXPECT_THROW(canonical_learner(spec), UsageError) << spec;
}

/// 6000 bases, of which the second half is the reverse complement of the first half.
std::vector<Symbol> both_strands() {
  std::vector<Symbol> bases(6000);
  Random random(11, "bases");
  for (std::size_t i = 0; i < 3000; ++i) {
    bases[i] = static_cast<Symbol>(random.below(4));
    bases[5999 - i] = 3 - bases[i];
  }
  return bases;
}

TEST(Nucleotides, reverse_complements_are_matched) {
  const std::vector<Symbol> bases = both_strands();
  const auto predictor = make_learner("dna:14", letters(4));
  const double first = nats(*predictor, {bases.begin(), bases.begin() + 3000});
  const double second = nats(*predictor, {bases.begin() + 3000, bases.end()});
  EXPECT_GT(first, 3000 * std::log(4.0) * 0.99);
  EXPECT_LT(second, first / 8);
}

TEST(Nucleotides, repeats_with_substitutions_are_matched) {
  std::vector<Symbol> bases(4000);
  Random random(5, "bases");
  for (Symbol& base : bases) base = static_cast<Symbol>(random.below(4));
  const auto predictor = make_learner("dna:14", letters(4));
  const double first = nats(*predictor, bases);
  for (std::size_t i = 25; i < bases.size(); i += 25) bases[i] = (bases[i] + 1) % 4;
  EXPECT_LT(nats(*predictor, bases), first / 2);
}

TEST(Nucleotides, nucleotide_distributions_sum_to_one_on_every_instruction_set) {
  const std::vector<std::string> levels = simd_available();
  std::set<double> seen;
  for (const std::string& level : levels) {
    simd_limit(level);
    const auto predictor = make_learner("dna:14", letters(4));
    for (const Symbol x : both_strands()) {
      if (x == 0) {
        double sum = 0;
        for (const float p : predictor->log_probabilities()) sum += std::exp(static_cast<double>(p));
        ASSERT_NEAR(sum, 1, 2e-6);
      }
      predictor->observe(x);
    }
    seen.insert(nats(*predictor, source(300, 4)));
    predictor->set_learning(false);
    const auto measure = [&] {
      predictor->reset();
      return nats(*predictor, source(300, 4, 9));
    };
    const double once = measure();
    EXPECT_EQ(measure(), once);
    const auto copy = predictor->clone();
    EXPECT_EQ(nats(*copy, source(50, 4)), nats(*predictor, source(50, 4)));
  }
  simd_limit(levels.front());
  EXPECT_EQ(seen.size(), 1u);
}

TEST(Learners, learner_bits_do_not_depend_on_the_instruction_set) {
  const std::vector<std::string> levels = simd_available();
  std::map<std::string, std::set<double>> seen;
  for (const std::string& level : levels) {
    simd_limit(level);
    for (const std::string& spec : kLearners) seen[spec].insert(nats(*make_learner(spec, letters(7)), source(400, 7)));
  }
  simd_limit(levels.front());
  for (const auto& [spec, results] : seen) EXPECT_EQ(results.size(), 1u) << spec;
}

TEST(Learners, saved_learners_predict_the_same) {
  const Alphabet alphabet = letters(4);
  std::string text;
  for (const Symbol x : source(500, 4)) text += static_cast<char>('a' + x);
  const Corpus corpus = Corpus::from_text(text, alphabet);
  const Split part = whole_corpus(corpus, "all");
  Team team(1);
  for (const char* spec : {"cm:1", "ppm:3", "ctw:12", "mix:ppm:2+ctw:6"}) {
    const auto model = make_fitted_model(spec, alphabet);
    model->fit({.corpus = corpus, .training = part}, {}, team);
    const auto loaded = symbol_model_from_bytes(model->bytes(), "file");
    EXPECT_EQ(loaded->spec_text(), model->spec_text());
    const auto symbols = source(100, 4, 8);
    const double before = nats(*model->predictor(), symbols);
    EXPECT_EQ(nats(*loaded->predictor(), symbols), before);
    EXPECT_EQ(nats(*model->predictor(), symbols), before) << "a predictor changed its model";
    EXPECT_NE(nats(*learning_predictor(*loaded), symbols), before);
  }
}

TEST(Learners, unsupported_learner_options_are_rejected) {
  EXPECT_THROW(make_learner("cmm", letters(3)), UsageError);
  EXPECT_THROW(make_learner("mix:", letters(3)), UsageError);
  EXPECT_THROW(make_learner("mix:ppm:2+", letters(3)), UsageError);
  EXPECT_THROW(make_learner("ppm:99", letters(3)), UsageError);
  EXPECT_THROW(make_learner("ctw:12,add=0", letters(3)), UsageError);
  EXPECT_THROW(make_learner("cm:0", letters(3)), UsageError);
  EXPECT_THROW(ContextMixing(257, {}), UsageError);
  EXPECT_THROW(make_learner("cm:1,row=-4", letters(3)), UsageError);
  EXPECT_THROW(make_learner("cm:memory=1M,row=65536", letters(3)), UsageError);
  EXPECT_THROW(make_learner("cm:memory=512K", letters(3)), UsageError);
  EXPECT_THROW(make_learner("dna:14", letters(3)), UsageError);
  EXPECT_THROW(make_learner("dna:11", letters(4)), UsageError);
  EXPECT_THROW(make_learner("ppm:2", letters(3))->observe(3), UsageError);
}

/// Context tree weighting by definition: the mixture over all trees, by recursion over the whole past.
class SlowCtw {
 public:
  explicit SlowCtw(int depth) : depth_(depth) {}
  /// Returns the weighted probability of all bits that followed the context `suffix` (the latest bit first).
  double weighted(const std::vector<int>& bits, const std::vector<int>& suffix) const {
    double estimate = 1;
    std::array<double, 2> counts = {0.5, 0.5};
    for (std::size_t i = 0; i < bits.size(); ++i) {
      if (static_cast<int>(i) < depth_ || !follows(bits, i, suffix)) continue;
      const auto x = static_cast<std::size_t>(bits[i]);
      estimate *= counts[x] / (counts[0] + counts[1]);
      ++counts[x];
    }
    if (static_cast<int>(suffix.size()) == depth_) return estimate;
    double product = 1;
    for (int x = 0; x < 2; ++x) {
      std::vector<int> longer = suffix;
      longer.push_back(x);
      product *= weighted(bits, longer);
    }
    return (estimate + product) / 2;
  }

 private:
  static bool follows(const std::vector<int>& bits, std::size_t i, const std::vector<int>& suffix) {
    for (std::size_t k = 0; k < suffix.size(); ++k)
      if (bits[i - 1 - k] != suffix[k]) return false;
    return true;
  }
  int depth_;
};

TEST(Ctw, ctw_is_the_mixture_over_all_trees) {
  constexpr int kDepth = 3;
  Random random(5, "ctw");
  std::vector<int> bits;
  for (int i = 0; i < 60; ++i) bits.push_back(random.below(3) == 0 ? 1 : 0);
  CtwPredictor predictor(2, {.depth = kDepth});
  predictor.set_learning(false);  // the first bits are the initial context
  for (int i = 0; i < kDepth; ++i) predictor.observe(bits[static_cast<std::size_t>(i)]);
  predictor.set_learning(true);
  const double sequential = -nats(predictor, {bits.begin() + kDepth, bits.end()});
  EXPECT_NEAR(sequential, std::log(SlowCtw(kDepth).weighted(bits, {})), 1e-3);
}

/// PPM by hand: orders 0 and 1 on a short text.
TEST(Ppm, ppm_excludes_and_escapes_to_the_uniform_distribution) {
  PpmPredictor predictor(4, {.order = 1});
  const std::span<const float> first = predictor.log_probabilities();
  for (const float p : first) EXPECT_FLOAT_EQ(p, std::log(0.25F));
  for (const Symbol x : {0, 1, 0, 1, 0}) predictor.observe(x);
  const std::span<const float> after = predictor.log_probabilities();
  EXPECT_GT(after[1], after[0]);
  EXPECT_GT(after[0], after[2]);
  EXPECT_FLOAT_EQ(after[2], after[3]);
}

TEST(Online, online_predictor_leaves_the_trained_model_unchanged) {
  LanguageModel<float> model("gru:8", letters(5));
  model.initialize(3);
  const std::vector<float> before(model.parameters().flat().begin(), model.parameters().flat().end());
  OnlinePredictor online(model, {.optimizer = "adam:rate=0.02", .window = 7});
  RecurrentPredictor fixed(model);
  const auto symbols = source(1500, 5);
  for (int i = 0; i < 7; ++i) {  // nothing is learned within the first window, so the bits are equal
    EXPECT_EQ(online.log_probability(symbols[static_cast<std::size_t>(i)]),
              fixed.log_probability(symbols[static_cast<std::size_t>(i)]));
    online.observe(symbols[static_cast<std::size_t>(i)]);
    fixed.observe(symbols[static_cast<std::size_t>(i)]);
  }
  EXPECT_LT(nats(online, symbols), 0.7 * nats(fixed, symbols));
  EXPECT_TRUE(std::equal(before.begin(), before.end(), model.parameters().flat().begin()));
}

TEST(Online, full_recall_predicts_like_the_trained_model) {
  LanguageModel<float> model("gru:8", letters(5));
  model.initialize(3);
  OnlinePredictor all(model, {.optimizer = "adam:rate=0.02", .window = 7, .recall = 1});
  OnlinePredictor some(model, {.optimizer = "adam:rate=0.02", .window = 7, .recall = 0.1});
  OnlinePredictor none(model, {.optimizer = "adam:rate=0.02", .window = 7, .recall = 0});
  RecurrentPredictor fixed(model);
  const auto symbols = source(700, 5);
  const auto first = source(30, 5);
  EXPECT_EQ(nats(all, first), nats(fixed, first));
  const auto clone = all.clone();
  for (const Symbol symbol : symbols) {
    ASSERT_EQ(clone->log_probability(symbol), fixed.log_probability(symbol));
    clone->observe(symbol), fixed.observe(symbol);
  }
  const double learnt = nats(none, symbols), less = nats(some, symbols), nothing = nats(fixed, symbols);
  EXPECT_LT(learnt, less);
  EXPECT_LT(less, nothing);
}

TEST(Online, sequence_ends_train_like_windows_of_their_length) {
  LanguageModel<float> model("gru:8", letters(5));
  model.initialize(3);
  OnlinePredictor ends(model, {.optimizer = "sgd:rate=0.8,clip=0,momentum=0", .window = 20, .recall = 0, .ends = true});
  OnlinePredictor windows(model, {.optimizer = "sgd:rate=0.2,clip=0,momentum=0", .window = 5, .recall = 0});
  OnlinePredictor neither(model, {.optimizer = "sgd:rate=0.8,clip=0,momentum=0", .window = 20, .recall = 0});
  RecurrentPredictor fixed(model);
  for (std::uint64_t k = 0; k < 30; ++k) {
    const auto symbols = source(5, 5, k);
    const double learnt = nats(ends, symbols), not_learnt = nats(fixed, symbols);
    EXPECT_NEAR(learnt, nats(windows, symbols), 1e-4);
    EXPECT_EQ(nats(neither, symbols), not_learnt);
    if (k > 20) {
      EXPECT_LT(learnt, not_learnt);
    }
    for (Predictor* each : {static_cast<Predictor*>(&ends), static_cast<Predictor*>(&windows),
                            static_cast<Predictor*>(&neither), static_cast<Predictor*>(&fixed)})
      each->reset();
  }
}

TEST(Online, invalid_online_options_are_rejected) {
  LanguageModel<float> model("gru:8", letters(5));
  EXPECT_THROW(OnlinePredictor(model, {.recall = 1.5}), UsageError);
  EXPECT_THROW(OnlinePredictor(model, {.window = 0}), UsageError);
  EXPECT_THROW(OnlinePredictor(model, {.optimizer = "adamm"}), UsageError);
}

}  // namespace
}  // namespace unfold::test
