/// Conditional random fields over segments, compared with sums over all labels of small chains.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
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
using Labels = std::vector<Symbol>;
using Names = std::vector<std::string>;

struct Scheme {
  std::string spec;
  Names names;
};

std::ostream& operator<<(std::ostream& out, const Scheme& scheme) { return out << scheme.spec; }

/// Returns the segments of labels: type and length, in order; empty if the labels do not define segments.
struct Cut {
  std::vector<std::pair<std::string, Index>> segments;
  bool valid = true;
};

Cut cut(const Scheme& scheme, const Labels& y, Index longest) {
  Cut result;
  const bool plain = scheme.spec.find("labels=") == std::string::npos;
  const bool ends = scheme.spec.find("iobes") != std::string::npos;
  bool open = false;  // iobes: a chunk that must continue
  for (const Symbol label : y) {
    const std::string& name = scheme.names[at(label)];
    const char place = plain ? 'P' : name[0];
    const std::string type = plain || name == "O" ? name : name.substr(2);
    const bool same = !result.segments.empty() && result.segments.back().first == type;
    if (place == 'I' || place == 'E') {
      if (!same || (ends && !open)) return {{}, false};
      ++result.segments.back().second;
      open = place == 'I';
    } else if (place == 'P' && same && result.segments.back().second < longest) {
      ++result.segments.back().second;
    } else {
      if (ends && open) return {{}, false};
      result.segments.emplace_back(type, 1);
      open = place == 'B';
    }
    if (result.segments.back().second > longest) return {{}, false};
  }
  if (ends && open) result.valid = false;
  return result;
}

template <class T>
struct SegmentField {
  static constexpr Index kLongest = 3;
  Scheme scheme;
  Circuit circuit;
  std::unique_ptr<Loss<T>> loss;
  Structure structure = Structure::chains({4, 1, 3, 5});
  Names types;  // in order of first occurrence
  Index n;
  std::vector<T> signal, parameters;
  Labels targets;

  SegmentField(Scheme of, double missing, double scale = 1)
      : scheme(std::move(of)),
        loss(choose_loss(scheme.spec).template make<T>()),
        n(static_cast<Index>(scheme.names.size())) {
    const Signal o = circuit.affine("o", n, {{"W", circuit.input("x", 2)}});
    circuit.output(o);
    dynamic_cast<NamedLabels<T>&>(*loss).name_labels(scheme.names);
    loss->declare(circuit, o);
    const bool plain = scheme.spec.find("labels=") == std::string::npos;
    for (const std::string& name : scheme.names) {
      const std::string type = plain || name == "O" ? name : name.substr(2);
      if (std::ranges::find(types, type) == types.end()) types.push_back(type);
    }
    Random random(7, "segments");
    for (Index i = 0; i < rows() * n; ++i) signal.push_back(static_cast<T>(scale * random.normal()));
    for (Index i = 0; i < circuit.parameter_count(); ++i) parameters.push_back(static_cast<T>(random.normal()));
    targets.assign(at(rows()), kNoSymbol);
    for (Index s = 0; s < structure.sequences(); ++s) {
      const auto every = all(s);
      auto chosen = every.begin();
      std::advance(chosen, static_cast<Index>(random.below(every.size())));
      for (Index t = 0; t < structure.size(s); ++t)
        if (random.uniform() >= missing) targets[at(structure.row(s, t))] = chosen->first[at(t)];
    }
  }
  Index rows() const { return structure.positions(); }
  Matrix<const T> matrix() const { return {signal.data(), rows(), n, n}; }
  Observed<T> observed() const { return {structure, matrix(), {.symbols = targets.data(), .values = {}}, parameters}; }
  LabelQuery<T> question() const { return {structure, matrix(), parameters}; }
  const LabelSequences<T>& sequences() const { return loss->template need<LabelSequences<T>>("test"); }
  double own(int which, Index place) const {
    return static_cast<double>(
        parameters[at(circuit.parameters()[at(loss->parameter_indices()[at(which)])].offset + place)]);
  }
  double score(Index s, const Labels& y, const Cut& segments) const {
    double sum = 0;
    for (std::size_t t = 0; t < y.size(); ++t)
      sum += static_cast<double>(matrix()(structure.row(s, static_cast<Index>(t)), y[t]));
    Index before = -1;
    for (const auto& [type, length] : segments.segments) {
      const Index a = std::ranges::find(types, type) - types.begin();
      sum += before < 0 ? own(1, a) : own(0, before * static_cast<Index>(types.size()) + a);
      sum += own(3, a * kLongest + length - 1);
      before = a;
    }
    return sum + own(2, before);
  }
  /// Returns all label sequences that define segments, with their probabilities.
  std::map<Labels, double> all(Index s) const {
    return shares_of_all_labels(structure.size(s), n, [&](const Labels& y) {
      const Cut segments = cut(scheme, y, kLongest);
      return segments.valid ? static_cast<double>(score(s, y, segments)) : -INFINITY;
    });
  }
  double nats() const { return nats_of_all(*loss, observed(), rows()); }
};

const Scheme kPlain{"crf:segments=3", {"a", "b", "c"}}, kIob{"crf:labels=iob2,segments=3", {"B-X", "O", "I-X", "B-Y"}},
    kIobes{"crf:labels=iobes,segments=3", {"S-X", "O", "E-X", "B-X", "I-X"}},
    kSingles{"crf:labels=iobes,segments=3", {"S-X", "O", "B-Y", "E-Y"}};

class EverySegmentField : public testing::TestWithParam<std::pair<Scheme, double>> {
 protected:
  SegmentField<double> f_{GetParam().first, GetParam().second};
};

INSTANTIATE_TEST_SUITE_P(SegmentCrf, EverySegmentField,
                         testing::Values(std::pair{kPlain, 0.0}, std::pair{kPlain, 0.5}, std::pair{kIob, 0.0},
                                         std::pair{kIob, 0.5}, std::pair{kIobes, 0.0}, std::pair{kIobes, 0.5},
                                         std::pair{kSingles, 0.0}, std::pair{kSingles, 0.5}));

TEST_P(EverySegmentField, nats_posteriors_and_best_labels_equal_segment_enumeration) {
  Team team(1);
  double expected = 0;
  std::vector<double> log_p(at(f_.rows() * f_.n));
  Labels best(at(f_.rows()));
  f_.sequences().log_posteriors(f_.question(), team, {log_p.data(), f_.rows(), f_.n, f_.n});
  f_.sequences().best(f_.question(), team, best.data());
  for (Index s = 0; s < f_.structure.sequences(); ++s) {
    double known = 0, most = 0;
    bool any = false;
    std::vector<double> p(at(f_.n * f_.structure.size(s)));
    const auto all = f_.all(s);
    for (const auto& [y, share] : all) {
      bool agrees = true;
      for (std::size_t t = 0; t < y.size(); ++t) {
        const Symbol given = f_.targets[at(f_.structure.row(s, static_cast<Index>(t)))];
        agrees = agrees && (given == kNoSymbol || given == y[t]);
        any = any || given != kNoSymbol;
        p[at(f_.n) * t + at(y[t])] += share;
      }
      known += agrees ? share : 0;
      most = std::max(most, share);
    }
    if (any) expected -= std::log(known);
    Labels found;
    for (Index t = 0; t < f_.structure.size(s); ++t) {
      const Index row = f_.structure.row(s, t);
      found.push_back(best[at(row)]);
      for (Index j = 0; j < f_.n; ++j) EXPECT_NEAR(std::exp(log_p[at(f_.n * row + j)]), p[at(f_.n * t + j)], 1e-9);
    }
    ASSERT_TRUE(all.contains(found));
    EXPECT_NEAR(all.at(found), most, 1e-12);
  }
  EXPECT_NEAR(f_.nats(), expected, 1e-9);
}

TEST_P(EverySegmentField, best_answers_and_samples_have_the_probabilities_of_all_segments) {
  constexpr Index kDraws = 4000;
  for (Index s = 0; s < f_.structure.sequences(); ++s) {
    const auto all = f_.all(s);
    std::vector<double> ranked;
    ranked.reserve(all.size());
    for (const auto& [y, share] : all) ranked.push_back(share);
    std::ranges::sort(ranked, std::ranges::greater());
    const auto found = f_.sequences().n_best(f_.question(), s, 6);
    ASSERT_EQ(found.size(), std::min<std::size_t>(6, ranked.size()));
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(std::exp(found[i].log_probability), ranked[i], 1e-9);
      EXPECT_NEAR(all.at(found[i].labels), ranked[i], 1e-9);
    }
    std::map<Labels, Index> drawn;
    for (const ScoredLabeling& each : f_.sequences().samples(f_.question(), s, kDraws, 4)) {
      EXPECT_NEAR(std::exp(each.log_probability), all.at(each.labels), 1e-9);
      ++drawn[each.labels];
    }
    double chi_square = 0;
    for (const auto& [y, share] : all) {
      const double wanted = kDraws * share, got = static_cast<double>(drawn[y]);
      chi_square += (got - wanted) * (got - wanted) / wanted;
    }
    const auto freedom = static_cast<double>(all.size() - 1);
    EXPECT_LT(chi_square, freedom + 6 * std::sqrt(2 * freedom) + 10);
  }
}

TEST_P(EverySegmentField, gradient_equals_finite_differences) {
  Team team(1);
  std::vector<double> nats(at(f_.rows())), adjoint(f_.signal.size()), own(f_.parameters.size());
  f_.loss->gradient(f_.observed(), 2.0, team, nats.data(), {adjoint.data(), f_.rows(), f_.n, f_.n}, own);
  const auto slope = [&](double& x) {
    const double was = x;
    x = was + 1e-5;
    const double more = f_.nats();
    x = was - 1e-5;
    const double less = f_.nats();
    x = was;
    return 2 * (more - less) / 2e-5;
  };
  for (std::size_t i = 0; i < f_.signal.size(); ++i) EXPECT_NEAR(adjoint[i], slope(f_.signal[i]), 1e-8);
  for (const int p : f_.loss->parameter_indices()) {
    const ParameterInfo& info = f_.circuit.parameters()[at(p)];
    for (Index i = info.offset; i < info.offset + info.size(); ++i)
      EXPECT_NEAR(own[at(i)], slope(f_.parameters[at(i)]), 1e-8) << info.name;
  }
}

TEST(SegmentCrf, segment_crf_bits_do_not_depend_on_threads_or_batch) {
  SegmentField<float> f(kIob, 0.3);
  const auto gradient = [&](int threads) {
    Team team(threads);
    std::vector<float> nats(at(f.rows())), adjoint(f.signal.size()), own(f.parameters.size());
    f.loss->gradient(f.observed(), 1.0F, team, nats.data(), {adjoint.data(), f.rows(), f.n, f.n}, own);
    nats.insert(nats.end(), adjoint.begin(), adjoint.end());
    nats.insert(nats.end(), own.begin(), own.end());
    return nats;
  };
  EXPECT_EQ(gradient(1), gradient(2));
  EXPECT_EQ(gradient(1), gradient(3));
}

TEST(SegmentCrf, long_chains_of_large_scores_do_not_overflow) {
  SegmentField<double> f(kIob, 0);
  constexpr Index kLength = 100'000;
  f.structure = Structure::chains({kLength});
  Random random(3, "large");
  f.signal.clear();
  for (Index i = 0; i < kLength * f.n; ++i) f.signal.push_back(random.uniform() < 0.5 ? -1000 : 1000);
  f.targets.assign(at(kLength), 1);
  const double nats = f.nats();
  EXPECT_TRUE(std::isfinite(nats));
  EXPECT_GT(nats, 0);
  Team team(1);
  Labels best(at(kLength));
  f.sequences().best(f.question(), team, best.data());
  EXPECT_TRUE(cut(kIob, best, 3).valid);
}

TEST(SegmentCrf, labels_without_segments_are_rejected_with_a_remedy) {
  SegmentField<double> f(kIob, 0);
  const auto fault = [&](const Labels& first) {
    for (std::size_t t = 0; t < first.size(); ++t) f.targets[at(f.structure.row(0, static_cast<Index>(t)))] = first[t];
    try {
      f.nats();
    } catch (const DataError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(fault({0, 2, 2, 2}), HasSubstr("more than 3 positions; correct the labels or increase segments="));
  EXPECT_THAT(fault({2, 1, 1, 1}), HasSubstr("violate the scheme"));
  EXPECT_EQ(fault({0, 2, 2, 0}), "");
  EXPECT_THROW(choose_loss("crf:steps=read,segments=2").make<double>(), UsageError);
  EXPECT_THROW(f.sequences().neighbors(f.parameters, 4), UsageError);
}

}  // namespace
}  // namespace unfold
