/// Conditional random fields, compared with sums over all labels of small chains; invariants for large chains.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "loss/crf/label_sequences.h"
#include "unfold/base/error.h"
#include "unfold/loss/registry.h"

namespace unfold {
namespace {

using Numbers = std::vector<double>;
using Labels = std::vector<Symbol>;
using testing::HasSubstr;

constexpr double kNever = -std::numeric_limits<double>::infinity();

/// A loss over a batch of chains, with a signal, partly missing labels, and its own parameters.
template <class T>
struct ChainField {
  Circuit circuit;
  std::unique_ptr<Loss<T>> loss;
  Structure structure;
  Index labels;
  std::vector<T> signal, parameters;
  Labels targets;

  ChainField(const std::vector<Index>& lengths, Index n, double scale, std::uint64_t seed, double missing = 0,
             const std::string& spec = "crf", const std::vector<std::string>& names = {})
      : loss(choose_loss(spec).template make<T>()), structure(Structure::chains(lengths)), labels(n) {
    const Signal o = circuit.affine("o", n, {{"W", circuit.input("x", 2)}});
    circuit.output(o);
    if (!names.empty()) dynamic_cast<NamedLabels<T>&>(*loss).name_labels(names);
    loss->declare(circuit, o);
    Random random(seed, "field");
    for (Index i = 0; i < structure.positions() * n; ++i) signal.push_back(static_cast<T>(scale * random.normal()));
    for (Index i = 0; i < circuit.parameter_count(); ++i) parameters.push_back(static_cast<T>(scale * random.normal()));
    for (Index i = 0; i < structure.positions(); ++i)
      targets.push_back(random.uniform() < missing ? kNoSymbol : static_cast<Symbol>(random.below(at(n))));
  }
  Index rows() const { return structure.positions(); }
  Matrix<const T> matrix(const std::vector<T>& x) const { return {x.data(), rows(), labels, labels}; }
  Matrix<T> matrix(std::vector<T>& x) const { return {x.data(), rows(), labels, labels}; }
  Observed<T> observed() const {
    return {structure, matrix(signal), {.symbols = targets.data(), .values = {}}, parameters};
  }
  LabelQuery<T> question() const { return {structure, matrix(signal), parameters}; }
  Index own(int which) const { return circuit.parameters()[at(loss->parameter_indices()[at(which)])].offset; }
  T& transition(Symbol i, Symbol j) { return parameters[at(own(0) + i * labels + j)]; }
  const LabelSequences<T>& sequences() const { return loss->template need<LabelSequences<T>>("test"); }

  double score(Index s, const Labels& y) const {
    double sum = parameters[at(own(1) + y.front())] + parameters[at(own(2) + y.back())];
    for (std::size_t t = 0; t < y.size(); ++t) {
      if (t > 0) sum += parameters[at(own(0) + y[t - 1] * labels + y[t])];
      sum += signal[at(structure.row(s, static_cast<Index>(t)) * labels + y[t])];
    }
    return sum;
  }
  /// Calls use(labels, probability) for all labels of a chain that `keep` allows.
  void each(Index s, const std::function<bool(const Labels&)>& keep,
            const std::function<void(const Labels&, double)>& use) const {
    const Index length = structure.size(s);
    std::vector<Labels> all;
    double largest = kNever, total = 0;
    for (Labels y(at(length), 0);;) {
      if (keep(y)) {
        all.push_back(y);
        largest = std::max(largest, score(s, y));
      }
      Index t = 0;
      while (t < length && ++y[at(t)] == labels) y[at(t++)] = 0;
      if (t == length) break;
    }
    for (const Labels& y : all) total += std::exp(score(s, y) - largest);
    for (const Labels& y : all) use(y, std::exp(score(s, y) - largest) / total);
  }
  /// Returns whether labels agree with the known ones up to position `end`.
  bool agrees(Index s, const Labels& y, Index end) const {
    for (Index t = 0; t < end; ++t)
      if (const Symbol known = targets[at(structure.row(s, t))]; known != kNoSymbol && known != y[at(t)]) return false;
    return true;
  }
};

bool anything(const Labels&) { return true; }

template <class T>
struct Judged {
  std::vector<T> nats, adjoint, own;
  bool operator==(const Judged&) const = default;
};

template <class T>
Judged<T> judge(const ChainField<T>& f, double scale = 1, int threads = 1) {
  Team team(threads);
  Judged<T> found{std::vector<T>(at(f.rows())), std::vector<T>(f.signal.size()), std::vector<T>(f.parameters.size())};
  f.loss->gradient(f.observed(), static_cast<T>(scale), team, found.nats.data(), f.matrix(found.adjoint), found.own);
  std::vector<T> alone(at(f.rows()));
  f.loss->negative_log_likelihood(f.observed(), team, alone.data());
  EXPECT_EQ(alone, found.nats);
  return found;
}

/// Counts of all scored features as one vector: labels by row, then the loss's own parameters.
Numbers features(const ChainField<double>& f, Index s, const Labels& y) {
  Numbers x(f.signal.size() + f.parameters.size());
  const auto own = [&](int which, Index i) { x[f.signal.size() + at(f.own(which) + i)] += 1; };
  own(1, y.front());
  own(2, y.back());
  for (std::size_t t = 0; t < y.size(); ++t) {
    if (t > 0) own(0, y[t - 1] * f.labels + y[t]);
    x[at(f.structure.row(s, static_cast<Index>(t)) * f.labels + y[t])] += 1;
  }
  return x;
}

Numbers mean_features(const ChainField<double>& f, Index s, const std::function<bool(const Labels&)>& keep) {
  Numbers mean(f.signal.size() + f.parameters.size());
  f.each(s, keep, [&](const Labels& y, double p) {
    const Numbers x = features(f, s, y);
    for (std::size_t i = 0; i < x.size(); ++i) mean[i] += p * x[i];
  });
  return mean;
}

/// Scores of ordinary size, large scores, and missing labels use different algorithms.
struct ChainKind {
  double scale, missing;
};

class EveryChain : public testing::TestWithParam<ChainKind> {
 protected:
  ChainField<double> field_{{4, 1, 3, 5, 2}, 3, GetParam().scale, 7, GetParam().missing};
};

INSTANTIATE_TEST_SUITE_P(Crf, EveryChain,
                         testing::Values(ChainKind{1, 0}, ChainKind{1, 0.4}, ChainKind{60, 0}, ChainKind{60, 0.4},
                                         ChainKind{1, 1}));

TEST_P(EveryChain, adjoint_may_overwrite_the_signal) {
  const Judged<double> apart = judge(field_);
  Team team(1);
  Judged<double> found{Numbers(at(field_.rows())), field_.signal, Numbers(field_.parameters.size())};
  const Matrix<double> both = field_.matrix(found.adjoint);
  field_.loss->gradient({field_.structure, both, field_.observed().targets, field_.parameters}, 1, team,
                        found.nats.data(), both, found.own);
  EXPECT_EQ(found, apart);
}

TEST_P(EveryChain, row_nats_are_conditional_on_previous_labels) {
  const Judged<double> found = judge(field_);
  for (Index s = 0; s < field_.structure.sequences(); ++s) {
    double before = 0;
    for (Index t = 0; t < field_.structure.size(s); ++t) {
      double p = 0;
      field_.each(s, anything, [&](const Labels& y, double share) { p += field_.agrees(s, y, t + 1) ? share : 0; });
      const double nats = found.nats[at(field_.structure.row(s, t))];
      const double expected = p > 1e-250 ? before - std::log(p) : nats;
      EXPECT_NEAR(nats, expected, 1e-9 * std::max(1.0, nats));
      before = std::log(p);
    }
  }
}

TEST_P(EveryChain, gradient_is_expected_minus_observed_counts) {
  const Judged<double> found = judge(field_, 0.5);
  Numbers expected(field_.signal.size() + field_.parameters.size());
  for (Index s = 0; s < field_.structure.sequences(); ++s) {
    const Numbers all = mean_features(field_, s, anything);
    const Numbers known =
        mean_features(field_, s, [&](const Labels& y) { return field_.agrees(s, y, static_cast<Index>(y.size())); });
    for (std::size_t i = 0; i < all.size(); ++i) expected[i] += 0.5 * (all[i] - known[i]);
  }
  for (std::size_t i = 0; i < found.adjoint.size(); ++i) EXPECT_NEAR(found.adjoint[i], expected[i], 1e-11);
  for (std::size_t i = 0; i < found.own.size(); ++i)
    EXPECT_NEAR(found.own[i], expected[found.adjoint.size() + i], 1e-11);
}

TEST_P(EveryChain, curvature_is_the_covariance_of_the_counts) {
  Team team(2);
  Random random(5, "direction");
  Numbers tangent(field_.signal.size()), direction(field_.parameters.size());
  for (double& x : tangent) x = random.normal();
  for (double& x : direction) x = random.normal();
  Numbers result(tangent.size()), own(direction.size());
  field_.loss->need<LossCurvature<double>>("test").curvature(
      field_.observed(), 0.25, team, field_.matrix(std::as_const(tangent)), direction, field_.matrix(result), own);
  Numbers expected(tangent.size() + own.size());
  for (Index s = 0; s < field_.structure.sequences(); ++s) {
    bool any = false;
    for (Index t = 0; t < field_.structure.size(s); ++t)
      any = any || field_.targets[at(field_.structure.row(s, t))] != kNoSymbol;
    if (!any) continue;
    const Numbers mean = mean_features(field_, s, anything);
    field_.each(s, anything, [&](const Labels& y, double p) {
      const Numbers x = features(field_, s, y);
      double along = 0;
      for (std::size_t i = 0; i < x.size(); ++i)
        along += (x[i] - mean[i]) * (i < tangent.size() ? tangent[i] : direction[i - tangent.size()]);
      for (std::size_t i = 0; i < x.size(); ++i) expected[i] += 0.25 * p * along * (x[i] - mean[i]);
    });
  }
  for (std::size_t i = 0; i < result.size(); ++i) EXPECT_NEAR(result[i], expected[i], 1e-10);
  for (std::size_t i = 0; i < own.size(); ++i) EXPECT_NEAR(own[i], expected[result.size() + i], 1e-10);
}

TEST(Crf, curvature_samples_have_its_covariance) {
  const ChainField<double> f({2, 1}, 2, 0.7, 3);
  Team team(1);
  const auto& curvature = f.loss->need<LossCurvature<double>>("test");
  const std::size_t size = f.signal.size() + f.parameters.size();
  Numbers sums(size * size);
  constexpr int kDraws = 20000;
  for (int draw = 0; draw < kDraws; ++draw) {
    Numbers x(f.signal.size()), own(f.parameters.size());
    curvature.curvature_sample(f.observed(), 1, team, 11, at(draw), f.matrix(x), own);
    x.insert(x.end(), own.begin(), own.end());
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t k = 0; k < size; ++k) sums[i * size + k] += x[i] * x[k] / kDraws;
  }
  for (std::size_t k = 0; k < size; ++k) {
    Numbers unit(size), result(f.signal.size()), own(f.parameters.size());
    unit[k] = 1;
    const Numbers tangent(unit.begin(), unit.begin() + static_cast<Index>(f.signal.size()));
    const Numbers direction(unit.begin() + static_cast<Index>(f.signal.size()), unit.end());
    curvature.curvature(f.observed(), 1, team, f.matrix(tangent), direction, f.matrix(result), own);
    result.insert(result.end(), own.begin(), own.end());
    for (std::size_t i = 0; i < size; ++i) EXPECT_NEAR(sums[i * size + k], result[i], 0.02);
  }
}

TEST_P(EveryChain, answers_equal_enumeration_with_and_without_excluded_labels) {
  Team team(2);
  std::vector<char> allowed(field_.signal.size(), 1);
  Random random(9, "allowed");
  for (const bool constrained : {false, true}) {
    LabelQuery<double> question = field_.question();
    if (constrained) {
      for (Index r = 0; r < field_.rows(); ++r)
        if (random.below(2) == 0) allowed[at(r * 3) + random.below(3)] = 0;
      question.allowed = {allowed.data(), field_.rows(), 3, 3};
    }
    Labels best(at(field_.rows()));
    Numbers log_p(field_.signal.size());
    field_.sequences().best(question, team, best.data());
    field_.sequences().log_posteriors(question, team, field_.matrix(log_p));
    for (Index s = 0; s < field_.structure.sequences(); ++s) {
      const auto keep = [&](const Labels& y) {
        for (std::size_t t = 0; t < y.size(); ++t)
          if (allowed[at(field_.structure.row(s, static_cast<Index>(t)) * 3 + y[t])] == 0) return false;
        return true;
      };
      std::vector<std::pair<double, Labels>> all;
      field_.each(s, keep, [&](const Labels& y, double p) { all.emplace_back(p, y); });
      std::ranges::sort(all, std::ranges::greater());
      const std::vector<ScoredLabeling> n_best = field_.sequences().n_best(question, s, 6);
      ASSERT_EQ(n_best.size(), std::min<std::size_t>(6, all.size()));
      for (std::size_t k = 0; k < n_best.size(); ++k) {
        const double p = all[k].first;
        if (p < 1e-250) continue;
        EXPECT_NEAR(n_best[k].log_probability, std::log(p), 1e-9 * std::max(1.0, -std::log(p)));
        EXPECT_EQ(n_best[k].labels, all[k].second);
      }
      const Numbers mean = mean_features(field_, s, keep);
      for (Index t = 0; t < field_.structure.size(s); ++t) {
        const Index row = field_.structure.row(s, t);
        EXPECT_EQ(best[at(row)], all.front().second[at(t)]);
        for (Index j = 0; j < 3; ++j) EXPECT_NEAR(std::exp(log_p[at(row * 3 + j)]), mean[at(row * 3 + j)], 1e-11);
      }
    }
  }
}

TEST(Crf, labels_are_sampled_with_their_probabilities) {
  const ChainField<double> f({3}, 3, 0.8, 4);
  constexpr Index kDraws = 20000;
  std::map<Labels, Index> seen;
  for (const ScoredLabeling& draw : f.sequences().samples(f.question(), 0, kDraws, 1)) ++seen[draw.labels];
  double chi_square = 0;
  f.each(0, anything, [&](const Labels& y, double p) {
    const double expected = p * static_cast<double>(kDraws);
    chi_square += std::pow(static_cast<double>(seen[y]) - expected, 2) / expected;
  });
  EXPECT_LT(chi_square, 54.05);  // 26 degrees of freedom, significance 0.001
  EXPECT_EQ(f.sequences().samples(f.question(), 0, 5, 1)[3].labels,
            f.sequences().samples(f.question(), 0, 5, 1)[3].labels);
}

bool keeps_to_iob2(const Labels& y) {  // B-x I-x B-y I-y O
  for (std::size_t t = 0; t < y.size(); ++t)
    if ((y[t] == 1 || y[t] == 3) && (t == 0 || (y[t - 1] != y[t] && y[t - 1] != y[t] - 1))) return false;
  return true;
}

TEST(Crf, labels_forbidden_by_a_scheme_have_probability_zero) {
  const std::vector<std::string> names = {"B-x", "I-x", "B-y", "I-y", "O"};
  for (const double scale : {1.0, 70.0}) {
    ChainField<double> f({4, 1}, 5, scale, 6, 0, "crf:labels=iob2", names);
    const Labels wanted = {0, 1, 4, 2};
    for (Index t = 0; t < 4; ++t) f.targets[at(f.structure.row(0, t))] = wanted[at(t)];
    f.targets[at(f.structure.row(1, 0))] = 4;
    const Judged<double> found = judge(f);
    double p = 0, nats = 0;
    f.each(0, keeps_to_iob2, [&](const Labels& y, double share) { p += y == wanted ? share : 0; });
    for (Index t = 0; t < 4; ++t) nats += found.nats[at(f.structure.row(0, t))];
    EXPECT_NEAR(nats, p > 0 ? -std::log(p) : nats, 1e-9 * std::max(1.0, nats));
    EXPECT_EQ(found.own[at(f.own(0) + 4 * 5 + 1)], 0);  // O, I-x
    for (const ScoredLabeling& each : f.sequences().n_best(f.question(), 0, 1000))
      EXPECT_TRUE(keeps_to_iob2(each.labels));
  }
}

TEST(Crf, labels_that_violate_their_scheme_are_rejected) {
  const std::vector<std::string> names = {"B-x", "I-x", "O"};
  ChainField<double> f({2}, 3, 1, 6, 0, "crf:labels=iob2", names);
  f.targets = {2, 1};
  EXPECT_THAT([&] { judge(f); }, testing::ThrowsMessage<DataError>(HasSubstr("\"O I-x\" violate the scheme")));
  const auto with_names = [](const std::string& spec, const std::vector<std::string>& labels) {
    return [=] { ChainField<double>({2}, static_cast<Index>(labels.size()), 1, 6, 0, spec, labels); };
  };
  EXPECT_THAT(with_names("crf:labels=iob2", {"NOUN", "VERB"}),
              testing::ThrowsMessage<UsageError>(HasSubstr("\"NOUN\"")));
  EXPECT_THAT(with_names("crf:labels=iob2", {"E-x", "O"}), testing::ThrowsMessage<UsageError>(HasSubstr("\"E-x\"")));
}

TEST(Crf, iobes_chunks_begin_and_end) {
  const std::vector<std::string> names = {"B-x", "I-x", "E-x", "S-x", "O"};
  const ChainField<double> f({3}, 5, 1, 8, 0, "crf:labels=iobes", names);
  // OOO SOO OSO OOS SSO SOS OSS SSS BEO OBE BES SBE BIE
  EXPECT_EQ(f.sequences().n_best(f.question(), 0, 1000).size(), 13U);
}

template <class T>
void expect_sound(const ChainField<T>& f) {
  const Judged<T> found = judge(f, 1, 2);
  for (const T x : found.nats) ASSERT_TRUE(std::isfinite(x) && x >= 0);
  for (Index r = 0; r < f.rows(); ++r) {
    double sum = 0;
    for (Index j = 0; j < f.labels; ++j) sum += found.adjoint[at(r * f.labels + j)];
    ASSERT_NEAR(sum, 0, 1e-5);
  }
  for (const T x : found.own) ASSERT_TRUE(std::isfinite(x));
}

TEST(Crf, long_chains_and_large_scores_do_not_overflow) {
  expect_sound(ChainField<float>({100'000, 3}, 4, 1, 1));
  expect_sound(ChainField<double>({100'000, 3}, 4, 1, 1));
  expect_sound(ChainField<double>({100'000, 7}, 3, 1000, 2));
  expect_sound(ChainField<double>({100'000, 7}, 3, 1000, 2, 0.5));
}

/// The scaled algorithm and the one in log space agree to nearly all digits at the limit of the scaled one.
TEST(Crf, scaled_and_logarithmic_algorithms_agree_at_their_boundary) {
  ChainField<double> f({30, 12, 30}, 6, 8, 5);
  const Judged<double> scaled = judge(f);
  f.signal[at(f.structure.row(1, 3) * 6)] += 70;  // makes one chain use the other algorithm
  const Judged<double> one = judge(f);
  for (Index t = 0; t < 30; ++t)
    for (const Index s : {0, 2}) EXPECT_EQ(one.nats[at(f.structure.row(s, t))], scaled.nats[at(f.structure.row(s, t))]);
  f.transition(0, 0) += 100;  // all chains
  f.transition(1, 1) -= 100;
  const Judged<double> all = judge(f);
  for (const double x : all.nats) EXPECT_TRUE(std::isfinite(x));
}

template <class T>
void expect_same_bits() {
  for (const double missing : {0.0, 0.3}) {
    const std::vector<Index> lengths = {7, 3, 9, 1, 4, 4, 12, 2, 5, 6, 7, 8, 9, 10, 11, 12, 3, 2, 1, 30};
    const ChainField<T> together(lengths, 5, 1, 2, missing);
    EXPECT_EQ(judge(together, 1, 1), judge(together, 1, 3));
    const Judged<T> found = judge(together);
    for (Index s = 0; s < together.structure.sequences(); ++s) {
      ChainField<T> alone({together.structure.size(s)}, 5, 1, 2);
      alone.parameters = together.parameters;
      for (Index t = 0; t < alone.rows(); ++t) {
        const Index row = together.structure.row(s, t);
        alone.targets[at(t)] = together.targets[at(row)];
        for (Index j = 0; j < 5; ++j) alone.signal[at(t * 5 + j)] = together.signal[at(row * 5 + j)];
      }
      const Judged<T> by_itself = judge(alone);
      for (Index t = 0; t < alone.rows(); ++t) {
        const Index row = together.structure.row(s, t);
        EXPECT_EQ(by_itself.nats[at(t)], found.nats[at(row)]);
        for (Index j = 0; j < 5; ++j) EXPECT_EQ(by_itself.adjoint[at(t * 5 + j)], found.adjoint[at(row * 5 + j)]);
      }
    }
  }
}

TEST(Crf, chain_bits_do_not_depend_on_batch_or_threads) {
  expect_same_bits<float>();
  expect_same_bits<double>();
}

TEST(Crf, grids_and_invalid_labels_are_rejected) {
  ChainField<double> f({2}, 3, 1, 1);
  f.targets[0] = 3;
  EXPECT_THAT([&] { judge(f); }, testing::ThrowsMessage<UsageError>(HasSubstr("is not in an alphabet of 3")));
  f.targets[0] = 0;
  const std::pair<Index, Index> shape{1, 2};
  f.structure = Structure::grids({&shape, 1});
  EXPECT_THAT([&] { judge(f); }, testing::ThrowsMessage<UsageError>(HasSubstr("not grids or trees")));
  std::vector<char> none(at(f.rows() * 3), 0);
  f.structure = Structure::chains(1, 2);
  LabelQuery<double> question = f.question();
  question.allowed = {none.data(), 2, 3, 3};
  EXPECT_THROW(f.sequences().n_best(question, 0, 1), DataError);
}

}  // namespace
}  // namespace unfold
