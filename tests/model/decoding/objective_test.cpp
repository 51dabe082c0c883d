#include "model/decoding/objective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "loss/crf/label_sequences.h"
#include "model/decoding/chain_objective.h"
#include "tests/base/scratch.h"
#include "unfold/loss/registry.h"

namespace unfold {
namespace {

using TrueLabels = std::vector<Symbol>;
using testing::HasSubstr;
using testing_support::message_of;

/// A loss with an objective over a batch of chains with a random signal and random parameters of the loss.
struct ObjectiveField {
  Circuit circuit;
  std::shared_ptr<const Loss<double>> loss;
  Structure structure = Structure::chains(std::vector<Index>{4, 1, 3, 5, 2});
  Index n = 3;
  std::vector<double> signal, parameters;
  TrueLabels targets;

  ObjectiveField(const std::string& objective, std::uint64_t seed, double missing = 0, double scale = 1) {
    const Signal o = circuit.affine("o", n, {{"W", circuit.input("x", 2)}});
    circuit.output(o);
    std::shared_ptr<Loss<double>> crf = choose_loss("crf").make<double>();
    crf->declare(circuit, o);
    loss = searching_loss<double>(crf, objective);
    Random random(seed, "objective");
    for (Index i = 0; i < structure.positions() * n; ++i) signal.push_back(scale * random.normal());
    for (Index i = 0; i < circuit.parameter_count(); ++i) parameters.push_back(scale * random.normal());
    for (Index i = 0; i < structure.positions(); ++i)
      targets.push_back(random.uniform() < missing ? kNoSymbol : static_cast<Symbol>(random.below(at(n))));
  }
  Index own(int which) const { return circuit.parameters()[at(loss->parameter_indices()[at(which)])].offset; }
  double score(Index s, const TrueLabels& y) const {
    double sum = parameters[at(own(1) + y.front())] + parameters[at(own(2) + y.back())];
    for (std::size_t t = 0; t < y.size(); ++t) {
      if (t > 0) sum += parameters[at(own(0) + y[t - 1] * n + y[t])];
      sum += signal[at(structure.row(s, static_cast<Index>(t)) * n + y[t])];
    }
    return sum;
  }
  Symbol target(Index s, std::size_t t) const { return targets[at(structure.row(s, static_cast<Index>(t)))]; }
  double wrong(Index s, const TrueLabels& y) const {
    double sum = 0;
    for (std::size_t t = 0; t < y.size(); ++t) sum += target(s, t) != kNoSymbol && target(s, t) != y[t] ? 1 : 0;
    return sum;
  }
  bool any_known(Index s) const {
    for (Index t = 0; t < structure.size(s); ++t)
      if (target(s, at(t)) != kNoSymbol) return true;
    return false;
  }
  /// Calls use(labels) for all labels of a chain.
  void each(Index s, const std::function<void(const TrueLabels&)>& use) const {
    const Index length = structure.size(s);
    for (TrueLabels y(at(length), 0);;) {
      use(y);
      Index t = 0;
      while (t < length && ++y[at(t)] == n) y[at(t++)] = 0;
      if (t == length) break;
    }
  }
  /// Returns the best score of labels that agree with the known ones.
  double true_score(Index s) const {
    double best = -1e300;
    each(s, [&](const TrueLabels& y) {
      if (wrong(s, y) == 0) best = std::max(best, score(s, y));
    });
    return best;
  }
  Matrix<const double> matrix() const { return {signal.data(), structure.positions(), n, n}; }
  Observed<double> observed() const {
    return {structure, matrix(), {.symbols = targets.data(), .values = {}}, parameters};
  }
  double value() const {
    Team team(1);
    std::vector<double> nats(at(structure.positions()));
    loss->negative_log_likelihood(observed(), team, nats.data());
    double sum = 0;
    for (const double x : nats) sum += x;
    return sum;
  }
  /// Returns the whole gradient: of the signal, then of the parameters.
  std::vector<double> gradient(double scale = 1, int threads = 1) const {
    Team team(threads);
    std::vector<double> nats(at(structure.positions())), adjoint(signal.size()), own_gradient(parameters.size());
    loss->gradient(observed(), scale, team, nats.data(), {adjoint.data(), structure.positions(), n, n}, own_gradient);
    double sum = 0;
    for (const double x : nats) sum += x;
    EXPECT_EQ(sum, value());
    adjoint.insert(adjoint.end(), own_gradient.begin(), own_gradient.end());
    return adjoint;
  }
};

const std::vector<std::string> kObjectives = {"perceptron", "perceptron:beam=2", "margin", "margin:cost=2.5",
                                              "risk",       "bso:beam=2",        "bso:1"};

TEST(Objective, perceptron_margin_and_risk_equal_label_enumeration) {
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    for (const double missing : {0.0, 0.4}) {
      const ObjectiveField perceptron("perceptron", seed, missing), margin("margin:cost=1.5", seed, missing),
          risk("risk", seed, missing);
      double violations = 0, margins = 0, risks = 0;
      for (Index s = 0; s < perceptron.structure.sequences(); ++s) {
        if (!perceptron.any_known(s)) continue;
        double best = -1e300, worst = -1e300, z = 0, mean = 0;
        perceptron.each(s, [&](const TrueLabels& y) {
          const double score = perceptron.score(s, y), wrong = perceptron.wrong(s, y);
          best = std::max(best, score);
          worst = std::max(worst, score + 1.5 * wrong);
          z += std::exp(score);
          mean += std::exp(score) * wrong;
        });
        violations += best - perceptron.true_score(s);
        margins += worst - perceptron.true_score(s);
        risks += mean / z;
      }
      EXPECT_NEAR(perceptron.value(), violations, 1e-9);
      EXPECT_NEAR(margin.value(), margins, 1e-9);
      EXPECT_NEAR(risk.value(), risks, 1e-9);
    }
}

TEST(Objective, gradients_equal_finite_differences) {
  for (const std::string& objective : kObjectives)
    for (std::uint64_t seed = 0; seed < 4; ++seed)
      for (const double missing : {0.0, 0.3}) {
        ObjectiveField field(objective, seed, missing);
        const std::vector<double> found = field.gradient(1);
        constexpr double kStep = 1e-6;
        for (std::size_t i = 0; i < found.size(); ++i) {
          double& x = i < field.signal.size() ? field.signal[i] : field.parameters[i - field.signal.size()];
          const double before = x;
          x = before + kStep;
          const double up = field.value();
          x = before - kStep;
          const double down = field.value();
          x = before;
          EXPECT_NEAR(found[i], (up - down) / (2 * kStep), 1e-5) << objective << " " << seed << " " << i;
        }
        const std::vector<double> half = field.gradient(0.5, 3);
        for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(half[i], found[i] / 2, 1e-12);
        EXPECT_EQ(field.gradient(0.5, 1), half);
      }
}

TEST(Objective, wide_beam_is_the_exact_perceptron) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const ObjectiveField wide("perceptron:1000", seed), exact("perceptron", seed);
    EXPECT_NEAR(wide.value(), exact.value(), 1e-9);
    const auto a = wide.gradient(), b = exact.gradient();
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-12);
  }
}

TEST(Objective, early_update_compares_prefixes_where_the_true_one_is_lost) {
  // Two labels, three positions: the true labels 0 0 0 score lower by 1 at the first position and would score highest
  // at the last.
  ChainScores scores{.labels = 2,
                     .transitions = std::vector<double>(4),
                     .start = std::vector<double>(2),
                     .stop = std::vector<double>(2)};
  const std::vector<double> emissions = {0, 1, 5, 0, 0, 0};
  ChainCountsOf counts(2);
  counts.positions.assign(6, 0);
  const ChainObjective greedy{.kind = ChainObjective::Kind::early_update, .beam = 1};
  EXPECT_EQ(greedy.judge(scores, {emissions.data(), 3, 2, 2}, {0, 0, 0}, counts), 1);
  EXPECT_EQ(counts.positions, (std::vector<double>{-1, 1, 0, 0, 0, 0}));  // later positions are ignored
  EXPECT_EQ(counts.neighbors.start, (std::vector<double>{-1, 1}));
  EXPECT_EQ(counts.neighbors.stop, (std::vector<double>{0, 0}));
}

TEST(Objective, beam_search_optimization_restarts_after_each_violation) {
  // Greedy search; the true labels 0 0 score lower at both positions, for any preceding label.
  ChainScores scores{.labels = 2,
                     .transitions = std::vector<double>(4),
                     .start = std::vector<double>(2),
                     .stop = std::vector<double>(2)};
  const std::vector<double> emissions = {0, 1, 0, 3};
  ChainCountsOf counts(2);
  counts.positions.assign(4, 0);
  const ChainObjective greedy{.kind = ChainObjective::Kind::beam_search, .beam = 1};
  // 1 - 0 + 1, then starting again from 0: 1 - 0 + 3.
  EXPECT_EQ(greedy.judge(scores, {emissions.data(), 2, 2, 2}, {0, 0}, counts), 6);
  EXPECT_EQ(counts.positions, (std::vector<double>{-1, 1, -1, 1}));
  EXPECT_EQ(counts.neighbors.stop, (std::vector<double>{-1, 1}));
}

TEST(Objective, correct_labels_beyond_the_margin_have_zero_loss) {
  for (const char* objective : {"perceptron", "perceptron:beam=3", "margin", "bso:beam=2"}) {
    ObjectiveField field(objective, 3, 0, 0.1);
    for (Index r = 0; r < field.structure.positions(); ++r) field.signal[at(r * field.n + field.targets[at(r)])] += 20;
    EXPECT_EQ(field.value(), 0) << objective;
    for (const double x : field.gradient()) EXPECT_EQ(x, 0);
  }
}

TEST(Objective, label_queries_are_answered_by_the_loss) {
  const ObjectiveField field("margin", 1), plain("likelihood", 1);
  const auto* labels = field.loss->as<LabelSequences<double>>();
  ASSERT_NE(labels, nullptr);
  const LabelQuery<double> question{field.structure, field.matrix(), field.parameters};
  const auto mine = labels->n_best(question, 0, 3),
             own = plain.loss->as<LabelSequences<double>>()->n_best(question, 0, 3);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(mine[k].labels, own[k].labels);
}

TEST(Objective, objective_specs_are_parsed_or_rejected) {
  EXPECT_EQ(canonical_objective("perceptron"), "perceptron");
  EXPECT_EQ(canonical_objective("perceptron:8"), "perceptron:beam=8");
  EXPECT_EQ(canonical_objective("margin:cost=1"), "margin");
  EXPECT_THAT(message_of<UsageError>([] { canonical_objective("margine"); }), HasSubstr("margin"));
  EXPECT_THAT(message_of<UsageError>([] { canonical_objective("margin:cost=0"); }), HasSubstr("cost"));
  EXPECT_THAT(message_of<UsageError>([] { searching_loss<double>(choose_loss("softmax").make<double>(), "risk"); }),
              HasSubstr("--objective requires labels of whole sequences, which the loss softmax does not support"));
}

TEST(Objective, impossible_true_labels_are_an_error) {
  ChainScores scores{.labels = 2,
                     .transitions = {0, 0, -std::numeric_limits<double>::infinity(), 0},
                     .start = std::vector<double>(2),
                     .stop = std::vector<double>(2)};
  const std::vector<double> emissions(4);
  ChainCountsOf counts(2);
  counts.positions.assign(4, 0);
  for (const auto kind : {ChainObjective::Kind::perceptron, ChainObjective::Kind::early_update,
                          ChainObjective::Kind::risk, ChainObjective::Kind::beam_search}) {
    const ChainObjective objective{.kind = kind, .beam = 4};
    EXPECT_EQ(objective.judge(scores, {emissions.data(), 2, 2, 2}, {1, 0}, counts),
              std::numeric_limits<double>::infinity());
  }
}

}  // namespace
}  // namespace unfold
