/// Random kernels over series, pooled readouts with leave-one-out cross-validation, and the selection among them.

#include <gtest/gtest.h>

#include <cmath>

#include "graph/circuit/random_kernels.h"
#include "model/network/fitting/readout.h"
#include "model/selection/series_selection.h"
#include "model/series/kernel_thresholds.h"
#include "model/series/pooled_readout.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

/// Noisy waves of two channels: those of label "fast" have twice the frequency. `pitch` is a number per series.
Examples made_waves(Index count, Index shortest = 30) {
  Examples waves{.source = "made",
                 .columns = {{.name = "x", .width = 2, .numbers = {}},
                             {.name = "label", .once = true, .texts = {}},
                             {.name = "pitch", .once = true, .width = 1, .numbers = {}}},
                 .ends = {}};
  Random random(1, "waves");
  for (Index e = 0; e < count; ++e) {
    const double frequency = e % 2 == 0 ? 0.3 : 0.6, phase = 6 * random.uniform();
    for (Index t = 0; t < shortest + e % 5; ++t) {
      waves.columns[0].numbers.push_back(std::sin(frequency * static_cast<double>(t) + phase) + 0.3 * random.normal());
      waves.columns[0].numbers.push_back(random.normal());
    }
    waves.columns[1].texts.emplace_back(e % 2 == 0 ? "slow" : "fast");
    waves.columns[2].numbers.push_back(10 * frequency);
    waves.ends.push_back(static_cast<Index>(waves.columns[0].numbers.size()) / 2);
  }
  return waves;
}

struct Waves {
  explicit Waves(Index count, const std::string& predicts = "label", Index shortest = 30)
      : examples(made_waves(count, shortest)),
        data(std::make_shared<const DataSpecification>(
            specify(examples, {.reads = {"x"}, .predicts = {predicts}, .once = {predicts}}, "waves"))),
        set(examples, data, std::vector<std::string>{predicts}),
        layout{.reads = {"x"}, .heads = {{.field = predicts, .loss = predicts == "pitch" ? "normal" : ""}}} {}
  ExampleBatchOptions reading(const ModelSpec& spec, Index batch = 16) const {
    return {.reads = layout.reads, .predicts = {layout.heads[0].field}, .batch = batch, .patches = patches_of(spec)};
  }
  template <class T>
  NetworkModel<T> fitted(const std::string& spec, Team& team, Index batch = 16, PooledReadoutFit<T>* fit = nullptr) {
    NetworkModel<T> model(spec, *data, layout);
    model.initialize(1);
    if (has_random_kernels(model.spec())) select_kernel_thresholds(model, set, 1);
    PooledReadoutFit<T> own = fit_pooled_readout(model, set, reading(model.spec(), batch), 0, team);
    if (fit != nullptr) *fit = std::move(own);
    return model;
  }
  Examples examples;
  std::shared_ptr<const DataSpecification> data;
  ExampleSet set;
  NetworkLayout layout;
};

/// The signals of the head, one row per example.
template <class T>
std::vector<T> signals_of(const NetworkModel<T>& model, const Waves& waves, Team& team, Index batch = 16) {
  Evaluator<T> evaluator(model.network(), team);
  const Index size = model.network().heads[0].signal.size();
  std::vector<T> result(at(waves.set.count() * size));
  evaluator.run(model.parameters(), *example_reader(waves.set, waves.reading(model.spec(), batch)), {},
                [&](const Batch& b, std::span<const Matrix<const T>> outputs) {
                  for (Index c = 0; c < b.structure.sequences(); ++c)
                    std::copy_n(outputs[0].row(b.structure.row(c, b.structure.size(c) - 1)), size,
                                result.data() + b.passages[at(c)] * size);
                });
  return result;
}

/// Features by definition: outputs one by one, kernels by their three taps of weight 2.
TEST(KernelBank, FeaturesOfOneChannelFollowTheDefinition) {
  const KernelBank bank({.features = 672, .channels = 1, .length = 9});  // one threshold per kernel, dilation 1
  ASSERT_EQ(bank.features(), 672);
  std::vector<float> x, thresholds(at(bank.thresholds()), 0.1F), features(672);
  Random random(1, "series");
  for (Index t = 0; t < 20; ++t) x.push_back(static_cast<float>(random.normal()));
  bank.features_of({x.data(), 20, 1, 1}, thresholds.data(), features.data());
  // The padded kernels of the series come first: those of even numbers, the first of which has the taps 0, 1 and 2.
  Index above = 0;
  for (Index t = 0; t < 20; ++t) {
    float sum = 0;
    for (Index tap = 0; tap < 9; ++tap) {
      const Index position = t + tap - 4;
      if (position >= 0 && position < 20) sum = std::fma(x[at(position)], tap < 3 ? 2.0F : -1.0F, sum);
    }
    above += sum > 0.1F ? 1 : 0;
  }
  EXPECT_EQ(features[0], static_cast<float>(above) / 20);
}

TEST(KernelBank, AcceptsSeriesOfAnyLength) {
  const KernelBank bank({.features = 2000, .channels = 2, .length = 200, .standardized = true});
  std::vector<float> thresholds(at(bank.thresholds())), features(at(bank.features()));
  for (const Index length : {1, 2, 8, 9, 30, 1000}) {
    std::vector<float> x(at(2 * length), 1.0F);
    bank.features_of({x.data(), length, 2, 2}, thresholds.data(), features.data());
    for (const float f : features) ASSERT_TRUE(std::isfinite(f)) << length;
  }
}

TEST(KernelBank, HasAtMostTheRequestedNumberOfFeatures) {
  for (const Index features : {1000, 10'000, 50'000})
    for (const Index length : {5, 24, 150, 3000}) {
      const KernelBank bank({.features = features, .channels = 1, .length = length});
      EXPECT_LE(bank.features(), features);
      EXPECT_GT(bank.features(), features - 672);
    }
}

TEST(SeriesModels, ClassifyWaves) {
  Waves waves(40);
  Team team(2);
  for (const char* spec : {"kernels:2000,length=32", "esn:50"}) {
    PooledReadoutFit<float> fit;
    const NetworkModel<float> model = waves.fitted<float>(spec, team, 16, &fit);
    const std::vector<float> signals = signals_of(model, waves, team);
    for (Index e = 0; e < waves.set.count(); ++e) {
      const Symbol label = waves.set.column("label").symbols[at(e)];
      EXPECT_GT(signals[at(2 * e + label)], signals[at(2 * e + 1 - label)]) << spec;
    }
    EXPECT_LT(fit.nats, std::string(spec).starts_with("esn") ? 0.65 : 0.3) << spec;
    EXPECT_EQ(fit.rows, 40);
  }
}

TEST(SeriesModels, PredictNumbersWithTheDeviationOfLeftOutResiduals) {
  Waves waves(40, "pitch");
  Team team(1);
  PooledReadoutFit<double> fit;
  const NetworkModel<double> model = waves.fitted<double>("kernels:2000,length=32", team, 16, &fit);
  double square = 0;
  for (Index e = 0; e < 40; ++e)
    square += std::pow(fit.left_out[0][2 * e] - static_cast<double>(waves.set.column("pitch").values[at(e)]), 2) / 40;
  EXPECT_LT(square, 0.2);  // the variance is 1
  EXPECT_NEAR(fit.left_out[0][1], deviation_signal(square), 1e-6);
  const std::vector<double> signals = signals_of(model, waves, team);
  EXPECT_EQ(signals[1], fit.left_out[0][1]);
}

TEST(SeriesModels, HaveTheSameBitsInAnyBatchAndWithAnyThreads) {
  Waves waves(20);
  Team one(1), three(3, Attendance::all);
  for (const char* spec : {"kernels:1000,length=32", "kernels:1000,normalize=series,length=32", "esn:30"}) {
    const NetworkModel<float> a = waves.fitted<float>(spec, one, 1), b = waves.fitted<float>(spec, three, 7);
    EXPECT_TRUE(std::ranges::equal(a.parameters().flat(), b.parameters().flat())) << spec;
    EXPECT_EQ(signals_of(a, waves, one, 1), signals_of(a, waves, three, 20)) << spec;
  }
}

TEST(SeriesModels, AreTheSameAfterLoading) {
  Waves waves(20);
  Team team(1);
  const NetworkModel<float> model = waves.fitted<float>("kernels:1000,length=32", team);
  const NetworkModel<float> loaded(ModelFile::from_bytes(model.bytes(), "copy"));
  EXPECT_EQ(loaded.spec_text(), "kernels:1000,length=32");
  EXPECT_EQ(signals_of(model, waves, team), signals_of(loaded, waves, team));
}

TEST(SeriesModels, StreamTheEquationsOfManySeries) {
  Waves waves(2100, "label", 10);
  Team team(2);
  PooledReadoutFit<float> fit;
  const NetworkModel<float> model = waves.fitted<float>("kernels:672,length=10", team, 64, &fit);
  EXPECT_EQ(fit.rows, 2100);
  const std::vector<float> signals = signals_of(model, waves, team);
  Index right = 0;
  for (Index e = 0; e < waves.set.count(); ++e) {
    const Symbol label = waves.set.column("label").symbols[at(e)];
    right += signals[at(2 * e + label)] > signals[at(2 * e + 1 - label)] ? 1 : 0;
  }
  EXPECT_GT(right, 1700);
}

TEST(SeriesModels, RefuseWhatTheyCannotDo) {
  Waves waves(10);
  EXPECT_THROW(NetworkModel<float>("kernels:1000,layers=2", *waves.data, waves.layout), UsageError);
  EXPECT_THROW(waves.reading(parse_model_spec("kernels:1000")).patches.at(1), std::out_of_range);
  ExampleBatchOptions windows = waves.reading(parse_model_spec("kernels:1000"));
  windows.window = 10;
  EXPECT_THROW(example_reader(waves.set, windows), UsageError);
}

TEST(SeriesSelection, TriesCandidatesAndKeepsTheBest) {
  Waves waves(30);
  Team team(1);
  Index seen = 0;
  const SeriesSelection<float> found =
      select_series_model<float>(waves.set, waves.layout, {}, team, [&](const SeriesCandidate&) { ++seen; });
  ASSERT_GE(found.candidates.size(), 2U);
  EXPECT_EQ(seen, static_cast<Index>(found.candidates.size()));
  for (const SeriesCandidate& candidate : found.candidates) {
    EXPECT_TRUE(candidate.tried);
    EXPECT_GE(candidate.nats, found.candidates[found.best].nats);
  }
}

TEST(SeriesSelection, TrainsANetworkWithoutEachFifth) {
  Waves waves(20);
  Team team(1);
  std::vector<double> done;
  const SeriesSelectionOptions options{
      .network = "lstm:4", .training = {.epochs = 2, .progress = [&](double fraction) { done.push_back(fraction); }}};
  const SeriesSelection<float> found = select_series_model<float>(waves.set, waves.layout, options, team, {});
  ASSERT_GE(done.size(), 10u);
  EXPECT_TRUE(std::ranges::is_sorted(done));
  EXPECT_GT(done.front(), 0);
  EXPECT_DOUBLE_EQ(done.back(), 1);
  ASSERT_TRUE(found.candidates.back().tried);
  EXPECT_FALSE(found.candidates.back().fitted);
  EXPECT_NEAR(found.candidates.back().nats, std::log(2.0), 0.4);  // hardly trained
}

TEST(StratifiedFolds, SpreadEachClassEvenly) {
  std::vector<Index> classes;
  for (Index e = 0; e < 53; ++e) classes.push_back(e < 40 ? 0 : 1);
  const std::vector<Index> folds = stratified_folds(classes, {}, 5, 1);
  for (Index fold = 0; fold < 5; ++fold) {
    Index count[2] = {};  // NOLINT(modernize-avoid-c-arrays)
    for (std::size_t e = 0; e < folds.size(); ++e)
      if (folds[e] == fold) ++count[classes[e]];
    EXPECT_EQ(count[0], 8);
    EXPECT_GE(count[1], 2);
    EXPECT_LE(count[1], 3);
  }
  EXPECT_EQ(folds, stratified_folds(classes, {}, 5, 1));
  EXPECT_NE(folds, stratified_folds(classes, {}, 5, 2));
}

TEST(StratifiedFolds, KeepGroupsTogether) {
  std::vector<Index> classes, groups;
  for (Index e = 0; e < 60; ++e) classes.push_back(e % 3), groups.push_back(e / 4);
  const std::vector<Index> folds = stratified_folds(classes, groups, 4, 1);
  for (Index e = 0; e < 60; ++e) EXPECT_EQ(folds[at(e)], folds[at(e / 4 * 4)]);
  for (Index fold = 0; fold < 4; ++fold) EXPECT_GE(std::ranges::count(folds, fold), 12);
}

TEST(SeriesSelection, StaysWithinTheBudget) {
  Waves waves(30);
  Team team(1);
  const SeriesSelection<float> found = select_series_model<float>(waves.set, waves.layout, {.budget = 1}, team, {});
  EXPECT_EQ(found.best, 0U);
  EXPECT_FALSE(found.candidates[0].tried);
}

}  // namespace
}  // namespace unfold
