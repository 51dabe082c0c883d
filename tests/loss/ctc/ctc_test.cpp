/// Connectionist temporal classification, compared with sums over all paths of small chains.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "loss/ctc/ctc_lattice.h"
#include "loss/ctc/unaligned_labels.h"
#include "unfold/base/error.h"
#include "unfold/loss/registry.h"

namespace unfold {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Path = std::vector<Symbol>;

/// Chains with labels at their first rows.
template <class T>
struct CtcCase {
  std::unique_ptr<Loss<T>> loss = choose_loss("ctc").make<T>();
  Structure structure;
  Index symbols;  // labels and the blank
  std::vector<T> signal;
  Path targets;

  CtcCase(const std::vector<Index>& lengths, const std::vector<Path>& labels, Index count, double scale = 1)
      : structure(Structure::chains(lengths)), symbols(count + 1) {
    Random random(3, "ctc");
    for (Index i = 0; i < structure.positions() * symbols; ++i)
      signal.push_back(static_cast<T>(scale * random.normal()));
    targets.assign(at(structure.positions()), kNoSymbol);
    for (std::size_t s = 0; s < labels.size(); ++s)
      for (std::size_t u = 0; u < labels[s].size() && static_cast<Index>(u) < lengths[s]; ++u)
        targets[at(structure.row(static_cast<Index>(s), static_cast<Index>(u)))] = labels[s][u];
  }
  Index rows() const { return structure.positions(); }
  Matrix<const T> matrix() const { return {signal.data(), rows(), symbols, symbols}; }
  Observed<T> observed() const { return {structure, matrix(), {.symbols = targets.data(), .values = {}}, {}}; }
  LabelQuery<T> question() const { return {structure, matrix(), {}}; }
  const Unsegmented<T>& unsegmented() const { return loss->template need<Unsegmented<T>>("test"); }

  /// Returns the log-probability of one symbol at a position, by definition.
  double log_p(Index s, Index t, Symbol k) const {
    double sum = 0;
    for (Index j = 0; j < symbols; ++j) sum += std::exp(static_cast<double>(matrix()(structure.row(s, t), j)));
    return static_cast<double>(matrix()(structure.row(s, t), k)) - std::log(sum);
  }
  /// Calls use(path, its labels, its log-probability) for all paths of a chain.
  template <class Use>
  void each_path(Index s, const Use& use) const {
    Path path(at(structure.size(s)), 0);
    while (true) {
      double log_sum = 0;
      Path labels;
      for (std::size_t t = 0; t < path.size(); ++t) {
        log_sum += log_p(s, static_cast<Index>(t), path[t]);
        if (path[t] != symbols - 1 && (t == 0 || path[t] != path[t - 1])) labels.push_back(path[t]);
      }
      use(path, labels, log_sum);
      std::size_t t = 0;
      while (t < path.size() && ++path[t] == symbols) path[t++] = 0;
      if (t == path.size()) return;
    }
  }
  std::map<Path, double> all_labels(Index s) const {
    std::map<Path, double> found;
    each_path(s, [&](const Path&, const Path& labels, double log_sum) { found[labels] += std::exp(log_sum); });
    return found;
  }
};

const std::vector<Index> kCtcLengths = {5, 3, 1, 4, 2};
const std::vector<Path> kCtcLabels = {{0, 1, 1}, {1, 0}, {0}, {}, {1}};

template <class T>
struct CtcFound {
  std::vector<T> nats, adjoint;
  bool operator==(const CtcFound&) const = default;
};

template <class T>
CtcFound<T> ctc_judged(const CtcCase<T>& c, int threads = 1) {
  Team team(threads);
  CtcFound<T> found{std::vector<T>(at(c.rows()), 7), std::vector<T>(c.signal.size(), 7)};
  c.loss->gradient(c.observed(), T{2}, team, found.nats.data(), {found.adjoint.data(), c.rows(), c.symbols, c.symbols},
                   {});
  std::vector<T> alone(at(c.rows()), 7);
  c.loss->negative_log_likelihood(c.observed(), team, alone.data());
  EXPECT_EQ(alone, found.nats);
  return found;
}

TEST(Ctc, nats_sum_over_all_paths_of_the_labels) {
  const CtcCase<double> c(kCtcLengths, kCtcLabels, 2);
  const CtcFound<double> found = ctc_judged(c);
  for (Index s = 0; s < c.structure.sequences(); ++s) {
    double nats = 0;
    for (Index t = 0; t < c.structure.size(s); ++t) nats += found.nats[at(c.structure.row(s, t))];
    const Path& labels = kCtcLabels[at(s)];
    const double expected = labels.empty() ? 0 : -std::log(c.all_labels(s)[labels]);
    EXPECT_NEAR(nats, expected, 1e-12) << s;
    EXPECT_NEAR(c.unsegmented().log_probability(c.question(), s, labels), std::log(c.all_labels(s)[labels]), 1e-12);
  }
}

TEST(Ctc, gradient_is_symbol_probability_minus_posterior) {
  const CtcCase<double> c(kCtcLengths, kCtcLabels, 2);
  const CtcFound<double> found = ctc_judged(c);
  for (Index s = 0; s < c.structure.sequences(); ++s) {
    std::map<std::pair<Index, Symbol>, double> posterior;
    double total = 0;
    c.each_path(s, [&](const Path& path, const Path& labels, double log_sum) {
      if (labels != kCtcLabels[at(s)]) return;
      total += std::exp(log_sum);
      for (std::size_t t = 0; t < path.size(); ++t) posterior[{static_cast<Index>(t), path[t]}] += std::exp(log_sum);
    });
    for (Index t = 0; t < c.structure.size(s); ++t)
      for (Symbol k = 0; k < c.symbols; ++k) {
        const double expected =
            kCtcLabels[at(s)].empty() ? 0 : 2 * (std::exp(c.log_p(s, t, k)) - posterior[{t, k}] / total);
        EXPECT_NEAR(found.adjoint[at(c.structure.row(s, t) * c.symbols + k)], expected, 1e-12) << s << " " << t;
      }
  }
}

TEST(Ctc, gradient_equals_finite_differences) {
  const auto moved = [](std::size_t i, double by) {
    CtcCase<double> made({6}, {{1, 0, 1}}, 2);
    made.signal[i] += by;
    return ctc_judged(made);
  };
  const CtcFound<double> found = moved(0, 0);
  const auto sum = [](const std::vector<double>& x) { return std::accumulate(x.begin(), x.end(), 0.0); };
  for (std::size_t i = 0; i < found.adjoint.size(); ++i) {
    EXPECT_NEAR(found.adjoint[i], 2 * (sum(moved(i, 1e-5).nats) - sum(moved(i, -1e-5).nats)) / 2e-5, 1e-8);
  }
}

TEST(Ctc, exhaustive_search_finds_the_most_probable_labels_in_order) {
  const CtcCase<double> c({5, 4}, {{}, {}}, 2);
  for (Index s = 0; s < 2; ++s) {
    std::vector<std::pair<double, Path>> expected;
    for (const auto& [labels, p] : c.all_labels(s)) expected.emplace_back(std::log(p), labels);
    std::ranges::sort(expected, std::greater<>());
    const auto found = c.unsegmented().decode(c.question(), s, {.beam = 1000, .best = 8});
    ASSERT_EQ(found.size(), 8U);
    for (std::size_t k = 0; k < found.size(); ++k) {
      EXPECT_EQ(found[k].labels, expected[k].second);
      EXPECT_NEAR(found[k].log_probability, expected[k].first, 1e-12);
    }
    const auto narrow = c.unsegmented().decode(c.question(), s, {.beam = 4, .best = 1});
    EXPECT_LE(narrow.front().log_probability, found.front().log_probability + 1e-12);
  }
}

TEST(Ctc, beam_of_one_is_the_collapsed_best_path) {
  const CtcCase<double> c({6}, {{}}, 3, 2);
  Path path, labels;
  double log_sum = kNoSymbol;
  c.each_path(0, [&](const Path& each, const Path& says, double sum) {
    if (path.empty() || sum > log_sum) path = each, labels = says, log_sum = sum;
  });
  const auto found = c.unsegmented().decode(c.question(), 0, {});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().labels, labels);
  EXPECT_NEAR(found.front().log_probability, log_sum, 1e-12);
}

TEST(Ctc, alignment_is_the_most_probable_path_of_the_labels) {
  const CtcCase<double> c({6}, {{}}, 2, 2);
  for (const Path& wanted : {Path{0, 1, 1}, Path{1}, Path{0, 0, 0}, Path{1, 0, 1, 0}}) {
    Path path;
    double best = -1e300;
    c.each_path(0, [&](const Path& each, const Path& labels, double sum) {
      if (labels == wanted && sum > best) path = each, best = sum;
    });
    std::vector<Index> begins;
    for (std::size_t t = 0; t < path.size(); ++t)
      if (path[t] != 2 && (t == 0 || path[t] != path[t - 1])) begins.push_back(static_cast<Index>(t));
    EXPECT_EQ(c.unsegmented().places(c.question(), 0, wanted), begins);
  }
  EXPECT_THAT(c.unsegmented().places(c.question(), 0, Path{}), ElementsAre());
  EXPECT_THROW(c.unsegmented().places(c.question(), 0, Path{0, 0, 0, 0}), UsageError);
}

TEST(Ctc, too_many_and_invalid_labels_are_rejected) {
  const CtcCase<double> tight({3}, {{0, 0, 1}}, 2);
  EXPECT_THAT([&] { ctc_judged(tight); },
              testing::ThrowsMessage<DataError>(HasSubstr("has 3 positions, but its labels need 1 more")));
  EXPECT_EQ(tight.unsegmented().log_probability(tight.question(), 0, Path{0, 0, 1}),
            -std::numeric_limits<double>::infinity());
  const CtcCase<double> blank({3}, {{2}}, 2);
  EXPECT_THAT([&] { ctc_judged(blank); }, testing::ThrowsMessage<UsageError>(HasSubstr("is the blank")));
  EXPECT_THROW(choose_loss("ctc").make<float>()->target_size(1), UsageError);
}

TEST(Ctc, chain_bits_do_not_depend_on_batch_or_threads) {
  const CtcCase<float> c(kCtcLengths, kCtcLabels, 2);
  const CtcFound<float> all = ctc_judged(c);
  EXPECT_EQ(ctc_judged(c, 2), all);
  CtcCase<float> alone({5}, {kCtcLabels[0]}, 2);
  for (Index t = 0; t < 5; ++t) std::copy_n(c.matrix().row(c.structure.row(0, t)), 3, alone.signal.begin() + 3 * t);
  const CtcFound<float> one = ctc_judged(alone);
  for (Index t = 0; t < 5; ++t)
    for (Index k = 0; k < 3; ++k) EXPECT_EQ(one.adjoint[at(3 * t + k)], all.adjoint[at(c.structure.row(0, t) * 3 + k)]);
}

TEST(Ctc, long_chains_and_large_scores_do_not_overflow) {
  Path labels(500);
  for (std::size_t u = 0; u < labels.size(); ++u) labels[u] = static_cast<Symbol>(u % 3);
  for (const double scale : {1.0, 1000.0}) {
    const CtcCase<float> c({2000}, {labels}, 3, scale);
    const CtcFound<float> found = ctc_judged(c);
    EXPECT_TRUE(std::ranges::all_of(found.nats, [](float x) { return std::isfinite(x); }));
    EXPECT_TRUE(std::ranges::all_of(found.adjoint, [](float x) { return std::fabs(x) <= 2.001F; }));
  }
}

}  // namespace
}  // namespace unfold
