/// Conditional random fields whose transitions are scored by the signal, compared with sums over all labels of small
/// chains.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "loss/crf/label_sequences.h"
#include "tests/loss/all_labels.h"
#include "unfold/base/error.h"
#include "unfold/loss/registry.h"

namespace unfold {
namespace {

using testing::HasSubstr;
using testing_support::nats_of_all;
using testing_support::shares_of_all_labels;
using StepLabels = std::vector<Symbol>;

template <class T>
struct StepField {
  static constexpr Index kLabels = 3, kSize = 12;
  Circuit circuit;
  std::unique_ptr<Loss<T>> loss = choose_loss("crf:steps=read").template make<T>();
  Structure structure = Structure::chains({4, 1, 3, 5});
  std::vector<T> signal, parameters;
  StepLabels targets;

  explicit StepField(double scale, double missing) {
    const Signal o = circuit.affine("o", kSize, {{"W", circuit.input("x", 2)}});
    circuit.output(o);
    loss->declare(circuit, o);
    Random random(7, "steps");
    for (Index i = 0; i < rows() * kSize; ++i) signal.push_back(static_cast<T>(scale * random.normal()));
    for (Index i = 0; i < circuit.parameter_count(); ++i) parameters.push_back(static_cast<T>(random.normal()));
    for (Index i = 0; i < rows(); ++i)
      targets.push_back(random.uniform() < missing ? kNoSymbol : static_cast<Symbol>(random.below(kLabels)));
  }
  Index rows() const { return structure.positions(); }
  Matrix<const T> matrix() const { return {signal.data(), rows(), kSize, kSize}; }
  Observed<T> observed() const { return {structure, matrix(), {.symbols = targets.data(), .values = {}}, parameters}; }
  LabelQuery<T> question() const { return {structure, matrix(), parameters}; }
  const LabelSequences<T>& sequences() const { return loss->template need<LabelSequences<T>>("test"); }
  double own(int which, Index place) const {
    return static_cast<double>(
        parameters[at(circuit.parameters()[at(loss->parameter_indices()[at(which)])].offset + place)]);
  }
  double score(Index s, const StepLabels& y) const {
    double sum = own(1, y.front()) + own(2, y.back());
    for (std::size_t t = 0; t < y.size(); ++t) {
      const T* row = matrix().row(structure.row(s, static_cast<Index>(t)));
      sum += static_cast<double>(row[y[t]]);
      if (t > 0) sum += own(0, 3 * y[t - 1] + y[t]) + static_cast<double>(row[3 + 3 * y[t - 1] + y[t]]);
    }
    return sum;
  }
  std::map<StepLabels, double> all(Index s) const {
    return shares_of_all_labels(structure.size(s), kLabels, [&](const StepLabels& y) { return score(s, y); });
  }
  double nats() const { return nats_of_all(*loss, observed(), rows()); }
};

class EveryStepField : public testing::TestWithParam<double> {};
INSTANTIATE_TEST_SUITE_P(StepCrf, EveryStepField, testing::Values(0, 0.4));

TEST_P(EveryStepField, nats_and_answers_equal_label_enumeration) {
  const StepField<double> f(1, GetParam());
  Team team(1);
  double expected = 0;
  std::vector<double> log_p(at(f.rows() * 3));
  StepLabels best(at(f.rows()));
  f.sequences().log_posteriors(f.question(), team, {log_p.data(), f.rows(), 3, 3});
  f.sequences().best(f.question(), team, best.data());
  for (Index s = 0; s < f.structure.sequences(); ++s) {
    double known = 0;
    std::vector<double> p(at(3 * f.structure.size(s))), ranked;
    const auto all = f.all(s);
    for (const auto& [y, share] : all) {
      bool agrees = true;
      for (std::size_t t = 0; t < y.size(); ++t) {
        const Symbol given = f.targets[at(f.structure.row(s, static_cast<Index>(t)))];
        agrees = agrees && (given == kNoSymbol || given == y[t]);
        p[3 * t + at(y[t])] += share;
      }
      known += agrees ? share : 0;
      ranked.push_back(share);
    }
    expected -= std::log(known);
    StepLabels found;
    for (Index t = 0; t < f.structure.size(s); ++t) {
      const Index row = f.structure.row(s, t);
      found.push_back(best[at(row)]);
      for (std::size_t j = 0; j < 3; ++j) EXPECT_NEAR(std::exp(log_p[3 * at(row) + j]), p[3 * at(t) + j], 1e-9);
    }
    std::ranges::sort(ranked, std::ranges::greater());
    EXPECT_NEAR(all.at(found), ranked.front(), 1e-12);
    const auto n_best = f.sequences().n_best(f.question(), s, 3);
    for (std::size_t i = 0; i < n_best.size(); ++i) {
      EXPECT_NEAR(std::exp(n_best[i].log_probability), ranked[i], 1e-9);
      EXPECT_NEAR(all.at(n_best[i].labels), ranked[i], 1e-9);
    }
    for (const ScoredLabeling& drawn : f.sequences().samples(f.question(), s, 20, 4))
      EXPECT_NEAR(std::exp(drawn.log_probability), all.at(drawn.labels), 1e-9);
  }
  EXPECT_NEAR(f.nats(), expected, 1e-9);
}

TEST_P(EveryStepField, gradient_equals_finite_differences_for_any_number_of_threads) {
  StepField<double> f(1, GetParam());
  const auto judge = [&](int threads) {
    Team team(threads);
    std::vector<double> nats(at(f.rows())), found(f.signal.size()), own(f.parameters.size());
    f.loss->gradient(f.observed(), 1, team, nats.data(), {found.data(), f.rows(), 12, 12}, own);
    found.insert(found.end(), own.begin(), own.end());
    return found;
  };
  const std::vector<double> found = judge(1);
  EXPECT_EQ(found, judge(2));
  const auto difference = [&](double& x) {
    constexpr double kStep = 1e-6;
    const double before = x;
    x = before + kStep;
    const double up = f.nats();
    x = before - kStep;
    const double down = f.nats();
    x = before;
    return (up - down) / (2 * kStep);
  };
  for (std::size_t i = 0; i < f.signal.size(); ++i) EXPECT_NEAR(found[i], difference(f.signal[i]), 1e-7);
  for (const int parameter : f.loss->parameter_indices()) {
    const ParameterInfo& info = f.circuit.parameters()[at(parameter)];
    for (Index i = info.offset; i < info.offset + info.size(); ++i)
      EXPECT_NEAR(found[f.signal.size() + at(i)], difference(f.parameters[at(i)]), 1e-7);
  }
}

TEST(StepCrf, zero_transition_scores_give_the_plain_crf) {
  StepField<double> f(1, 0.3);
  for (Index r = 0; r < f.rows(); ++r) std::fill_n(f.signal.begin() + r * 12 + 3, 9, 0.0);
  Circuit circuit;
  const auto plain = choose_loss("crf").make<double>();
  const Signal o = circuit.affine("o", 3, {{"W", circuit.input("x", 2)}});
  circuit.output(o);
  plain->declare(circuit, o);
  std::vector<double> signal, parameters(at(circuit.parameter_count()));
  for (Index r = 0; r < f.rows(); ++r)
    signal.insert(signal.end(), f.signal.begin() + r * 12, f.signal.begin() + r * 12 + 3);
  for (int k = 0; k < 3; ++k) {
    const ParameterInfo& to = circuit.parameters()[at(plain->parameter_indices()[at(k)])];
    for (Index i = 0; i < to.size(); ++i) parameters[at(to.offset + i)] = f.own(k, i);
  }
  Team team(1);
  std::vector<double> nats(at(f.rows()));
  plain->negative_log_likelihood(
      {f.structure, {signal.data(), f.rows(), 3, 3}, {.symbols = f.targets.data(), .values = {}}, parameters}, team,
      nats.data());
  double sum = 0;
  for (const double x : nats) sum += x;
  EXPECT_NEAR(f.nats(), sum, 1e-9);
}

TEST(StepCrf, extreme_signals_do_not_overflow) {
  const StepField<float> f(1000, 0);
  Team team(1);
  std::vector<float> nats(at(f.rows())), adjoint(f.signal.size()), own(f.parameters.size());
  f.loss->gradient(f.observed(), 1, team, nats.data(), {adjoint.data(), f.rows(), 12, 12}, own);
  for (const float x : nats) EXPECT_TRUE(std::isfinite(x));
  for (const float x : adjoint) EXPECT_TRUE(std::fabs(x) <= 1);
}

TEST(StepCrf, unsupported_options_are_named_in_the_error) {
  const StepField<double> f(1, 0);
  try {
    f.sequences().neighbors(f.parameters, 3);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("steps=fixed"));
  }
  EXPECT_THROW(f.loss->target_size(11), UsageError);
  EXPECT_EQ(choose_loss("crf:steps=read").signal_size(3), 12);
}

}  // namespace
}  // namespace unfold
