/// Hidden Markov models over networks, compared with sums over all state paths of small chains.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "loss/crf/label_sequences.h"
#include "loss/crf/label_states.h"
#include "loss/crf/sequence_label.h"
#include "unfold/base/error.h"
#include "unfold/loss/registry.h"

namespace unfold {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Path = std::vector<Symbol>;

struct HybridKind {
  std::string spec;
  Index each;
  bool forward, one;
  double missing;
};

/// Chains with a signal, random parameters of the loss, and partly missing labels.
template <class T>
struct HybridCase {
  static constexpr Index kLabels = 3;
  HybridKind kind;
  Circuit circuit;
  std::unique_ptr<Loss<T>> loss;
  Structure structure = Structure::chains({4, 1, 3, 5});
  Index states;
  std::vector<T> signal, parameters;
  Path targets;

  explicit HybridCase(const HybridKind& of, double scale = 1)
      : kind(of), loss(choose_loss(of.spec).template make<T>()), states(kLabels * of.each) {
    const Signal o = circuit.affine("o", states, {{"W", circuit.input("x", 2)}});
    circuit.output(o);
    if (of.one) dynamic_cast<SequenceLabel<T>&>(*loss).one_label();
    loss->declare(circuit, o);
    Random random(11, "hybrid");
    for (Index i = 0; i < rows() * states; ++i) signal.push_back(static_cast<T>(scale * random.normal()));
    for (Index i = 0; i < circuit.parameter_count(); ++i) parameters.push_back(static_cast<T>(random.normal()));
    targets.assign(at(rows()), kNoSymbol);
    for (Index s = 0; s < structure.sequences(); ++s)
      for (Index t = 0; t < structure.size(s); ++t) {
        const auto label = static_cast<Symbol>(random.below(kLabels));
        const bool there = of.one ? t + 1 == structure.size(s) : random.uniform() >= of.missing;
        if (there) targets[at(structure.row(s, t))] = label;
      }
  }
  Index rows() const { return structure.positions(); }
  Matrix<const T> matrix() const { return {signal.data(), rows(), states, states}; }
  Observed<T> observed() const { return {structure, matrix(), {.symbols = targets.data(), .values = {}}, parameters}; }
  LabelQuery<T> question() const { return {structure, matrix(), parameters}; }
  const LabelSequences<T>& sequences() const { return loss->template need<LabelSequences<T>>("test"); }

  Index label(Index state) const { return state / kind.each; }
  bool follows(Index i, Index j) const {
    if (label(i) != label(j)) return !kind.one && begins(j);
    return !kind.forward || j == i || j == i + 1;
  }
  bool begins(Index j) const { return !kind.forward || j % kind.each == 0; }
  double own(int which, Index place) const {
    return static_cast<double>(
        parameters[at(circuit.parameters()[at(loss->parameter_indices()[at(which)])].offset + place)]);
  }
  /// Returns the log share of column j of row i among the allowed columns.
  double share(int which, Index i, Index j, const std::function<bool(Index)>& may) const {
    double sum = 0;
    for (Index k = 0; k < states; ++k)
      if (may(k)) sum += std::exp(own(which, i * states + k));
    return own(which, i * states + j) - std::log(sum);
  }
  double log_prior(Index j) const {
    return share(2, 0, j, [](Index) { return true; });
  }
  double log_start(Index j) const {
    return share(1, 0, j, [&](Index k) { return begins(k); });
  }
  double log_step(Index i, Index j) const {
    return share(0, i, j, [&](Index k) { return follows(i, k); });
  }
  bool possible(const std::vector<Index>& path) const {
    for (std::size_t t = 0; t < path.size(); ++t)
      if (t == 0 ? !begins(path[0]) : !follows(path[t - 1], path[t])) return false;
    return true;
  }
  double score(Index s, const std::vector<Index>& path) const {
    double sum = log_start(path[0]);
    for (std::size_t t = 0; t < path.size(); ++t) {
      if (t > 0) sum += log_step(path[t - 1], path[t]);
      sum += static_cast<double>(matrix()(structure.row(s, static_cast<Index>(t)), path[t])) - log_prior(path[t]);
    }
    return sum;
  }
  /// Calls use(path, exp(score)) for all allowed paths.
  void each_path(Index s, const std::function<void(const std::vector<Index>&, double)>& use) const {
    std::vector<Index> path(at(structure.size(s)), 0);
    while (true) {
      if (possible(path)) use(path, std::exp(score(s, path)));
      std::size_t t = 0;
      while (t < path.size() && ++path[t] == states) path[t++] = 0;
      if (t == path.size()) return;
    }
  }
  std::map<Path, double> all_labels(Index s) const {
    std::map<Path, double> found;
    double sum = 0;
    each_path(s, [&](const std::vector<Index>& path, double weight) {
      Path labels;
      for (const Index state : path) labels.push_back(static_cast<Symbol>(label(state)));
      found[labels] += weight;
      sum += weight;
    });
    for (auto& [labels, p] : found) p /= sum;
    return found;
  }
  bool agrees(Index s, const Path& labels) const {
    for (Index t = 0; t < structure.size(s); ++t)
      if (const Symbol known = targets[at(structure.row(s, t))]; known != kNoSymbol && known != labels[at(t)])
        return false;
    return true;
  }
};

template <class T>
double total_nats(const HybridCase<T>& c) {
  Team team(1);
  std::vector<T> nats(at(c.rows()));
  c.loss->negative_log_likelihood(c.observed(), team, nats.data());
  double sum = 0;
  for (const T x : nats) sum += static_cast<double>(x);
  return sum;
}

const std::vector<HybridKind> kJoint = {{"hybrid", 1, false, false, 0},
                                        {"hybrid:2", 2, false, false, 0.3},
                                        {"hybrid:2,order=forward", 2, true, false, 0.3},
                                        {"hybrid:2", 2, false, true, 0},
                                        {"hybrid:2,order=forward", 2, true, true, 0}};
const std::vector<HybridKind> kFrames = {{"hybrid:training=frames", 1, false, false, 0.2},
                                         {"hybrid:2,order=forward,training=frames", 2, true, false, 0.2},
                                         {"hybrid:2,order=forward,training=frames", 2, true, true, 0}};

class JointHybrid : public testing::TestWithParam<HybridKind> {};
INSTANTIATE_TEST_SUITE_P(Hybrid, JointHybrid, testing::ValuesIn(kJoint));

TEST_P(JointHybrid, nats_are_minus_log_share_of_consistent_paths) {
  const HybridCase<double> c(GetParam());
  double expected = 0;
  for (Index s = 0; s < c.structure.sequences(); ++s) {
    double p = 0;
    for (const auto& [labels, share] : c.all_labels(s)) p += c.agrees(s, labels) ? share : 0;
    expected -= std::log(p);
  }
  EXPECT_NEAR(total_nats(c), expected, 1e-9);
}

TEST_P(JointHybrid, answers_equal_path_enumeration) {
  const HybridCase<double> c(GetParam());
  Team team(1);
  std::vector<double> log_p(at(c.rows() * 3));
  c.sequences().log_posteriors(c.question(), team, {log_p.data(), c.rows(), 3, 3});
  Path best(at(c.rows()));
  c.sequences().best(c.question(), team, best.data());
  for (Index s = 0; s < c.structure.sequences(); ++s) {
    const auto all = c.all_labels(s);
    std::vector<double> p(at(c.structure.size(s) * 3));
    for (const auto& [labels, share] : all)
      for (std::size_t t = 0; t < labels.size(); ++t) p[3 * t + at(labels[t])] += share;
    Path found;
    for (Index t = 0; t < c.structure.size(s); ++t) {
      const Index row = c.structure.row(s, t);
      found.push_back(best[at(row)]);
      for (std::size_t l = 0; l < 3; ++l) EXPECT_NEAR(std::exp(log_p[at(row) * 3 + l]), p[3 * at(t) + l], 1e-9);
    }
    if (GetParam().one || GetParam().each == 1) {  // only then are the labels exactly the most probable ones
      for (const auto& [labels, share] : all) EXPECT_LE(share, all.at(found) + 1e-12);
    }
  }
}

TEST_P(JointHybrid, sampled_paths_have_their_probabilities) {
  const HybridCase<double> c(GetParam());
  constexpr Index kDraws = 4000;
  std::map<Path, Index> counts;
  const auto all = c.all_labels(2);
  for (const ScoredLabeling& drawn : c.sequences().samples(c.question(), 2, kDraws, 5)) {
    EXPECT_NEAR(std::exp(drawn.log_probability), all.at(drawn.labels), 1e-9);
    ++counts[drawn.labels];
  }
  double chi_square = 0, cells = 0;
  for (const auto& [labels, p] : all) {
    if (p * kDraws < 5) continue;
    chi_square += std::pow(static_cast<double>(counts[labels]) - p * kDraws, 2) / (p * kDraws);
    ++cells;
  }
  EXPECT_LT(chi_square, cells + 5 * std::sqrt(2 * cells) + 5);
}

class EveryHybrid : public testing::TestWithParam<HybridKind> {};
INSTANTIATE_TEST_SUITE_P(Joint, EveryHybrid, testing::ValuesIn(kJoint));
INSTANTIATE_TEST_SUITE_P(Frames, EveryHybrid, testing::ValuesIn(kFrames));

TEST_P(EveryHybrid, gradient_equals_finite_differences) {
  HybridCase<double> c(GetParam());
  Team team(1);
  std::vector<double> nats(at(c.rows())), adjoint(c.signal.size()), own(c.parameters.size());
  c.loss->gradient(c.observed(), 1, team, nats.data(), {adjoint.data(), c.rows(), c.states, c.states}, own);
  const auto difference = [&](double& x) {
    constexpr double kStep = 1e-6;
    const double before = x;
    x = before + kStep;
    const double up = total_nats(c);
    x = before - kStep;
    const double down = total_nats(c);
    x = before;
    return (up - down) / (2 * kStep);
  };
  for (std::size_t i = 0; i < c.signal.size(); ++i) EXPECT_NEAR(adjoint[i], difference(c.signal[i]), 1e-7);
  const bool joint = GetParam().spec.find("frames") == std::string::npos;
  const Index prior = c.circuit.parameters()[at(c.loss->parameter_indices()[2])].offset;
  for (Index i = c.circuit.parameters()[at(c.loss->parameter_indices()[0])].offset; i < c.circuit.parameter_count();
       ++i)
    if (joint && i >= prior && i < prior + c.states) {
      EXPECT_EQ(own[at(i)], 0);  // the whole recursion does not train the priors
    } else {
      EXPECT_NEAR(own[at(i)], difference(c.parameters[at(i)]), 1e-7);
    }
}

/// Returns the nats by row and all gradients.
std::vector<double> judged(const HybridKind& kind) {
  const HybridCase<double> c(kind);
  Team team(1);
  std::vector<double> found(at(c.rows())), adjoint(c.signal.size()), own(c.parameters.size());
  c.loss->gradient(c.observed(), 0.5, team, found.data(), {adjoint.data(), c.rows(), c.states, c.states}, own);
  found.insert(found.end(), adjoint.begin(), adjoint.end());
  found.insert(found.end(), own.begin(), own.end());
  return found;
}

TEST_P(JointHybrid, smoothing_adds_a_multiple_of_the_frame_loss) {
  HybridKind of = GetParam(), frames = of, smoothed = of;
  const std::string spec = of.spec.find(':') == std::string::npos ? of.spec + ":states=1" : of.spec;
  frames.spec = spec + ",training=frames", smoothed.spec = spec + ",smoothing=0.25";
  const std::vector<double> joint = judged(of), of_frames = judged(frames), found = judged(smoothed);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], joint[i] + 0.25 * of_frames[i], 1e-12);
  EXPECT_NE(found, joint);
}

TEST_P(EveryHybrid, bits_do_not_depend_on_threads_and_floats_stay_close) {
  const HybridCase<double> c(GetParam());
  const HybridCase<float> single(GetParam());
  const auto judge = [&](int threads) {
    Team team(threads);
    std::vector<double> nats(at(c.rows())), adjoint(c.signal.size()), own(c.parameters.size());
    c.loss->gradient(c.observed(), 0.5, team, nats.data(), {adjoint.data(), c.rows(), c.states, c.states}, own);
    nats.insert(nats.end(), adjoint.begin(), adjoint.end());
    nats.insert(nats.end(), own.begin(), own.end());
    return nats;
  };
  EXPECT_EQ(judge(1), judge(2));
  EXPECT_NEAR(total_nats(single), total_nats(c), 1e-4);
}

TEST(Hybrid, frame_training_sets_transitions_and_priors_to_relative_frequencies) {
  HybridCase<double> c({"hybrid:training=frames", 1, false, false, 0});
  std::vector<double> steps(9, 0.0), priors(3, 0.0), nats(at(c.rows())), adjoint(c.signal.size());
  for (Index s = 0; s < c.structure.sequences(); ++s)
    for (Index t = 0; t < c.structure.size(s); ++t) {
      const Symbol label = c.targets[at(c.structure.row(s, t))];
      ++priors[at(label)];
      if (t > 0) ++steps[at(c.targets[at(c.structure.row(s, t - 1))] * 3 + label)];
    }
  const auto put = [&](int which, const std::vector<double>& counts) {
    const Index from = c.circuit.parameters()[at(c.loss->parameter_indices()[at(which)])].offset;
    for (std::size_t i = 0; i < counts.size(); ++i) c.parameters[at(from) + i] = std::log(std::max(counts[i], 1e-12));
  };
  put(0, steps);
  put(2, priors);
  std::vector<double> own(c.parameters.size());
  Team team(1);
  c.loss->gradient(c.observed(), 1, team, nats.data(), {adjoint.data(), c.rows(), 3, 3}, own);
  for (const int which : {0, 2})
    for (Index i = 0; i < (which == 0 ? 9 : 3); ++i)
      EXPECT_NEAR(own[at(c.circuit.parameters()[at(c.loss->parameter_indices()[at(which)])].offset + i)], 0, 1e-9);
}

TEST(Hybrid, n_best_labels_are_in_order_of_probability) {
  for (const HybridKind& kind : {kJoint[0], kJoint[3]}) {
    const HybridCase<double> c(kind);
    const auto all = c.all_labels(3);
    std::vector<double> p;
    for (const auto& [labels, share] : all) p.push_back(share);
    std::ranges::sort(p, std::ranges::greater());
    const auto found = c.sequences().n_best(c.question(), 3, 3);
    ASSERT_EQ(found.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(std::exp(found[i].log_probability), p[i], 1e-9);
      EXPECT_NEAR(all.at(found[i].labels), p[i], 1e-9);
    }
  }
  const HybridCase<double> hidden(kJoint[1]);
  EXPECT_THROW(hidden.sequences().n_best(hidden.question(), 0, 2), UsageError);
}

TEST(Hybrid, repeated_label_is_divided_evenly_among_its_states) {
  const LabelStates three{.labels = 2, .each = 3, .order = StateOrder::forward, .one_label = false};
  EXPECT_THAT(even_path(three, Path{1, 1, 1, 1, 1, 1}), ElementsAre(3, 3, 4, 4, 5, 5));
  EXPECT_THAT(even_path(three, Path{0, 0, 1, kNoSymbol, 0}), ElementsAre(0, 1, 3, kNoSymbol, 0));
  const LabelStates five{.labels = 1, .each = 5, .order = StateOrder::forward, .one_label = false};
  EXPECT_THAT(even_path(five, Path{0, 0}), ElementsAre(0, 1)) << "no state is jumped over";
}

TEST(Hybrid, long_chains_of_extreme_signals_do_not_overflow) {
  const Index length = 100'000;
  Circuit circuit;
  const auto loss = choose_loss("hybrid:2").make<double>();
  const Signal o = circuit.affine("o", 4, {{"W", circuit.input("x", 1)}});
  circuit.output(o);
  loss->declare(circuit, o);
  Random random(1, "long");
  std::vector<double> signal(at(length * 4)), nats(at(length)), adjoint(signal.size()),
      parameters(at(circuit.parameter_count())), own(parameters.size());
  for (double& x : signal) x = 1000 * random.normal();
  Path targets(at(length));
  for (Symbol& x : targets) x = static_cast<Symbol>(random.below(2));
  const Structure structure = Structure::chains({length});
  Team team(1);
  loss->gradient({structure, {signal.data(), length, 4, 4}, {.symbols = targets.data(), .values = {}}, parameters}, 1,
                 team, nats.data(), {adjoint.data(), length, 4, 4}, own);
  for (const double x : nats) ASSERT_TRUE(std::isfinite(x));
  for (const double x : adjoint) ASSERT_TRUE(std::fabs(x) <= 1);
}

TEST(Hybrid, unsupported_hybrid_options_are_named_in_the_error) {
  const HybridCase<double> c(kJoint[0]);
  std::vector<double> own(c.parameters.size());
  try {
    c.sequences().add_transition_counts({}, 1, own);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("hybrid supports only likelihood, because"));
  }
  EXPECT_THROW(c.loss->need<LossCurvature<double>>("hf"), UsageError);
  EXPECT_THROW(choose_loss("hybrid:3").make<double>()->target_size(7), UsageError);
  const HybridCase<double> whole(kJoint[3]);
  EXPECT_THROW(whole.sequences().neighbors(whole.parameters, whole.states), UsageError);
}

}  // namespace
}  // namespace unfold
