/// Models that predict bits from any subset of the others, compared with an explicit network and sums over all vectors.

#include "model/network/order_agnostic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/network/density_model.h"
#include "unfold/data/examples/example_batches.h"
#include "unfold/gradcheck/derivative_check.h"

namespace unfold {
namespace {

using Numbers = std::vector<double>;

constexpr Index kBits = 4;

/// Returns all vectors of bits, as a reader would produce them.
Examples all_vectors(Index n = kBits) {
  Examples examples{.source = "test"};
  ExampleColumn vectors{.name = kVector, .once = true, .width = n}, one{.name = kOne, .width = 1};
  for (Index code = 0; code < (Index{1} << n); ++code) {
    for (Index d = 0; d < n; ++d) vectors.numbers.push_back(static_cast<double>((code >> d) & 1));
    one.numbers.push_back(1);
    examples.ends.push_back(code + 1);
  }
  examples.columns = {vectors, one};
  return examples;
}

struct SmallModel {
  Examples examples;
  std::shared_ptr<const DataSpecification> data;
  std::unique_ptr<NetworkModel<double>> model;
  std::unique_ptr<ExampleSet> set;

  explicit SmallModel(const std::string& spec, Index n = kBits) : examples(all_vectors(n)) {
    data = std::make_shared<const DataSpecification>(
        specify(examples, {.reads = {kOne}, .predicts = {kVector}, .once = {kVector}}, "table"));
    model = std::make_unique<NetworkModel<double>>(
        spec, *data, NetworkLayout{.reads = {kOne}, .heads = {{.field = kVector, .loss = spec}}});
    Random random(3, "orderless");
    for (double& x : model->parameters().flat()) x = random.normal();
    set = std::make_unique<ExampleSet>(examples, data, std::vector<std::string>{kVector});
  }
  OrderlessNats nats(Index orders, int threads = 1) const {
    Team team(threads);
    return orderless_nats(*model, *set, orders, team);
  }
  const double* parameter(const std::string& name) const {
    for (const ParameterInfo& p : model->circuit().parameters())
      if (p.name == name) return model->parameters().flat().data() + p.offset;
    ADD_FAILURE() << "no parameter " << name;
    return nullptr;
  }
  bool has(const std::string& name) const {
    return std::ranges::any_of(model->circuit().parameters(), [&](const ParameterInfo& p) { return p.name == name; });
  }
  /// Returns p(x_d = 1 | the known ones) for layers of `units` units.
  double written_out(const Numbers& x, const std::vector<char>& known, Index d, Index units, Index layers) const {
    Numbers below;
    for (std::size_t i = 0; i < x.size(); ++i) below.push_back(known[i] != 0 ? x[i] : 0);
    for (const char k : known) below.push_back(k != 0 ? 1 : 0);
    const Numbers read = below;
    for (Index layer = 1; layer <= layers; ++layer) {
      const std::string name = "layer" + std::to_string(layer) + "/z/";
      const double *w = parameter(name + "W"), *b = parameter(name + "bias");
      Numbers here;
      for (Index k = 0; k < units; ++k) {
        double sum = b[k];
        for (std::size_t j = 0; j < below.size(); ++j) sum += below[j] * w[static_cast<Index>(j) * units + k];
        here.push_back(std::max(0.0, sum));
      }
      below = here;
    }
    double o = parameter("output/bias")[d];
    const auto n = static_cast<Index>(x.size());
    for (Index k = 0; k < units; ++k) o += below[at(k)] * parameter("output/V")[k * n + d];
    for (Index i = 0; has("output/D") && i < 2 * n; ++i) o += read[at(i)] * parameter("output/D")[i * n + d];
    return 1 / (1 + std::exp(-o));
  }
};

void check_product_along_some_order(const std::string& spec) {
  const SmallModel small(spec);
  const Numbers found = small.nats(1).ensemble;
  std::vector<Index> order(at(kBits));
  std::iota(order.begin(), order.end(), Index{0});
  int agreeing = 0;
  do {
    double largest = 0;
    for (std::size_t code = 0; code < found.size(); ++code) {
      Numbers x;
      for (Index d = 0; d < kBits; ++d) x.push_back(static_cast<double>((code >> d) & 1U));
      std::vector<char> known(at(kBits));
      double nats = 0;
      for (const Index d : order) {
        const double p = small.written_out(x, known, d, 3, 2);
        nats -= std::log(x[at(d)] != 0 ? p : 1 - p);
        known[at(d)] = 1;
      }
      largest = std::max(largest, std::fabs(nats - found[code]));
    }
    agreeing += largest < 1e-9 ? 1 : 0;
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(agreeing, 1) << spec;
}

TEST(DeepNade, single_order_equals_the_explicit_product) {
  check_product_along_some_order("deep-nade:3,layers=2");
  check_product_along_some_order("deep-nade:3,layers=2,direct=true");
}

TEST(DeepNade, orderless_density_sums_to_one_for_any_number_of_orders) {
  for (const Index n : {1, 3, 8})
    for (const Index orders : {1, 2, 7}) {
      double sum = 0;
      for (const double nats : SmallModel("deep-nade:5,direct=true", n).nats(orders).ensemble) sum += std::exp(-nats);
      EXPECT_NEAR(sum, 1, 1e-11) << n << " bits, " << orders << " orders";
    }
}

TEST(DeepNade, averaging_probabilities_exceeds_averaging_log_probabilities) {
  const SmallModel small("deep-nade:4,layers=1");
  const OrderlessNats one = small.nats(1), many = small.nats(6);
  EXPECT_EQ(one.ensemble, one.mean);
  for (std::size_t i = 0; i < many.mean.size(); ++i) EXPECT_LT(many.ensemble[i], many.mean[i] + 1e-12);
}

TEST(DeepNade, predictions_do_not_depend_on_batch_or_threads) {
  const SmallModel small("deep-nade:7,direct=true", 6);
  const OrderlessNats all = small.nats(3);
  EXPECT_EQ(all.ensemble, small.nats(3, 2).ensemble);
  Team team(1);
  for (const Index e : {0, 17, 63}) {
    const Index some[] = {e};
    const OrderlessNats alone = orderless_nats(*small.model, small.set->subset(some), 3, team);
    EXPECT_EQ(alone.ensemble.front(), all.ensemble[at(e)]);
    EXPECT_EQ(alone.mean.front(), all.mean[at(e)]);
  }
}

TEST(DeepNade, orderless_model_passes_all_checks) {
  for (const char* spec : {"deep-nade:3,layers=2", "deep-nade:3,layers=1,direct=true"}) {
    const SmallModel small(spec, 3);
    const CheckReport report = check_derivatives(small.model->network(), Structure::chains(5, 1));
    EXPECT_TRUE(report.passed()) << report.text();
  }
}

TEST(DeepNade, training_uses_partially_known_weighted_rows) {
  const SmallModel small("deep-nade:3");
  const ExampleBatchOptions options{.reads = {kOne}, .predicts = {kVector}, .batch = 5};
  const auto sources = [&] {
    TrainingSources<double> plain{.training = example_batches(*small.set, options, 1)};
    plain.validation = [&] { return example_reader(*small.set, options); };
    return orderless_sources(std::move(plain), kVector, density_columns(small.model->spec(), kBits), 9);
  };
  TrainingSources<double> first = sources(), second = sources();
  std::vector<int> counts(at(kBits));
  for (int step = 0; step < 300; ++step) {
    const Batch& batch = first.training->batch();
    const auto& known = std::get<ValueRows>(batch.field(kKnown));
    const auto& target = std::get<ValueRows>(batch.field(kVector));
    ASSERT_EQ(known.cols(), 2 * kBits);
    ASSERT_EQ(target.cols(), 2 * kBits);
    for (Index r = 0; r < known.rows(); ++r) {
      const double *k = known.values<double>(r, 1).row(0), *t = target.values<double>(r, 1).row(0);
      const auto count = static_cast<Index>(k[4] + k[5] + k[6] + k[7]);
      ASSERT_LT(count, kBits);
      ++counts[at(count)];
      for (Index d = 0; d < kBits; ++d) {
        EXPECT_EQ(k[d], k[kBits + d] != 0 ? t[d] : 0);
        const float weight = static_cast<float>(4.0 / static_cast<double>(kBits - count));
        EXPECT_EQ(t[kBits + d], k[kBits + d] != 0 ? 0 : weight);
      }
    }
    EXPECT_EQ(known, std::get<ValueRows>(second.training->batch().field(kKnown)));
    first.training->advance();
    second.training->seek(first.training->epoch(), first.training->position());
  }
  const int all = std::accumulate(counts.begin(), counts.end(), 0);
  for (const int count : counts) EXPECT_NEAR(count, all / kBits, 0.15 * all);  // uniform
  Batch a, b;
  const auto once = first.validation(), again = first.validation();
  ASSERT_TRUE(once->next(a) && again->next(b));
  EXPECT_EQ(std::get<ValueRows>(a.field(kKnown)), std::get<ValueRows>(b.field(kKnown)));
}

/// Returns two numbers on a fine grid, as a reader would produce them.
Examples grid_of_numbers(double far, Index side) {
  Examples examples{.source = "test"};
  ExampleColumn vectors{.name = kVector, .once = true, .width = 2}, one{.name = kOne, .width = 1};
  const double step = 2 * far / static_cast<double>(side);
  for (Index i = 0; i < side * side; ++i) {
    vectors.numbers.push_back(-far + step * (static_cast<double>(i / side) + 0.5));
    vectors.numbers.push_back(-far + step * (static_cast<double>(i % side) + 0.5));
    one.numbers.push_back(1);
    examples.ends.push_back(i + 1);
  }
  examples.columns = {vectors, one};
  return examples;
}

TEST(DeepRnade, orderless_density_of_two_numbers_integrates_to_one) {
  constexpr double kFar = 8;
  constexpr Index kSide = 160;
  const Examples examples = grid_of_numbers(kFar, kSide);
  const auto data = std::make_shared<const DataSpecification>(specify(
      examples, {.reads = {kOne}, .predicts = {kVector}, .once = {kVector}, .unstandardized = {kVector}}, "table"));
  const std::string spec = "deep-rnade:4,layers=2,components=2";
  NetworkModel<double> model(spec, *data, NetworkLayout{.reads = {kOne}, .heads = {{.field = kVector, .loss = spec}}});
  Random random(3, "orderless numbers");
  for (double& x : model.parameters().flat()) x = 0.4 * random.normal();
  const ExampleSet set(examples, data, std::vector<std::string>{kVector});
  Team team(2);
  for (const Index orders : {1, 2, 3}) {
    double sum = 0;
    for (const double nats : orderless_nats(model, set, orders, team).ensemble) sum += std::exp(-nats);
    EXPECT_NEAR(sum * std::pow(2 * kFar / kSide, 2), 1, 2e-3) << orders;
  }
  const CheckReport report = check_derivatives(model.network(), Structure::chains(5, 1));
  EXPECT_TRUE(report.passed()) << report.text();
}

TEST(DeepNade, orderless_loss_is_rejected_for_other_models) {
  const Examples examples = all_vectors();
  const DataSpecification data =
      specify(examples, {.reads = {kOne}, .predicts = {kVector}, .once = {kVector}}, "table");
  EXPECT_THROW(
      NetworkModel<float>("lstm:3", data, {.reads = {kOne}, .heads = {{.field = kVector, .loss = "deep-nade:3"}}}),
      UsageError);
}

}  // namespace
}  // namespace unfold
