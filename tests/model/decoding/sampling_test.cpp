#include "unfold/model/decoding/sampling.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "unfold/base/error.h"

namespace unfold {
namespace {

/// The filters, applied one after another to lists of (probability, symbol).
std::vector<double> brute_force(const std::vector<float>& log_p, const SamplingOptions& o) {
  struct Entry {
    double p;
    std::size_t symbol;
  };
  std::vector<Entry> entries;
  double total = 0;
  for (std::size_t x = 0; x < log_p.size(); ++x) {
    entries.push_back({std::exp(static_cast<double>(log_p[x]) / o.temperature), x});
    total += entries.back().p;
  }
  for (Entry& e : entries) e.p /= total;
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.p != b.p ? a.p > b.p : a.symbol < b.symbol; });
  const auto normalize = [&] {
    double sum = 0;
    for (const Entry& e : entries) sum += e.p;
    for (Entry& e : entries) e.p /= sum;
  };
  if (o.top_k > 0 && entries.size() > static_cast<std::size_t>(o.top_k))
    entries.resize(static_cast<std::size_t>(o.top_k));
  normalize();
  if (o.top_p < 1) {
    double sum = 0;
    std::size_t n = 0;
    while (n < entries.size() && sum < o.top_p - 1e-12) sum += entries[n++].p;
    entries.resize(std::max<std::size_t>(1, n));
  }
  normalize();
  const double least = o.min_p * entries[0].p;
  std::erase_if(entries, [&](const Entry& e) { return e.p < least; });
  normalize();
  std::vector<double> result(log_p.size(), 0.0);
  for (const Entry& e : entries) result[e.symbol] = e.p;
  return result;
}

RC_GTEST_PROP(Sampling, filters_equal_their_definitions, ()) {
  std::vector<float> log_p(*rc::gen::inRange<std::size_t>(1, 12));
  for (float& x : log_p) x = -static_cast<float>(*rc::gen::inRange(0, 9000)) / 1000;
  SamplingOptions options;
  options.temperature = *rc::gen::element(0.3, 1.0, 2.0);
  options.top_k = *rc::gen::inRange<Index>(0, 8);
  options.top_p = *rc::gen::element(0.05, 0.5, 0.93, 1.0);
  options.min_p = *rc::gen::element(0.0, 0.07, 0.31, 1.0);
  const auto expected = brute_force(log_p, options), found = filter_distribution(log_p, options);
  for (std::size_t x = 0; x < log_p.size(); ++x) RC_ASSERT(std::abs(expected[x] - found[x]) < 1e-9);
}

TEST(Sampling, temperature_zero_takes_the_first_mode) {
  SamplingOptions options;
  options.temperature = 0;
  EXPECT_EQ(filter_distribution(std::vector<float>{-3, -1, -1, -2}, options), (std::vector<double>{0, 1, 0, 0}));
}

/// Predicts one fixed distribution and records the observed symbols.
class Fixed final : public Predictor {
 public:
  explicit Fixed(std::vector<double> p) {
    for (const double x : p) log_p_.push_back(static_cast<float>(std::log(x)));
  }
  Index alphabet() const override { return static_cast<Index>(log_p_.size()); }
  std::span<const float> log_probabilities() override { return log_p_; }
  void reset() override { seen.clear(); }
  std::unique_ptr<Predictor> clone() const override { return std::make_unique<Fixed>(*this); }
  std::vector<Symbol> seen;

 private:
  void update(Symbol symbol) override { seen.push_back(symbol); }
  std::vector<float> log_p_;
};

TEST(Sampling, frequencies_are_the_probabilities) {
  Fixed predictor({0.1, 0.2, 0.3, 0.4});
  const Alphabet alphabet = Alphabet::chars_of("abcd");
  SamplingOptions options;
  options.length = 20000;
  const auto drawn = sample(predictor, alphabet, options);
  for (Symbol x = 0; x < 4; ++x) {
    const double share = static_cast<double>(std::count(drawn.begin(), drawn.end(), x)) / 20000;
    EXPECT_NEAR(share, 0.1 * (x + 1), 0.015);  // about four standard deviations
  }
}

TEST(Sampling, reads_the_prime_repeats_by_seed_and_number_and_stops) {
  Fixed predictor({0.25, 0.25, 0.25, 0.25});
  const Alphabet alphabet = Alphabet::chars_of("abcd");
  SamplingOptions options;
  options.length = 50;
  options.prime = {3, 2};
  const auto first = sample(predictor, alphabet, options);
  EXPECT_EQ(first.size(), 50u);
  ASSERT_EQ(predictor.seen.size(), 52u);
  EXPECT_EQ(predictor.seen[0], 3);
  EXPECT_EQ(predictor.seen[1], 2);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), predictor.seen.begin() + 2));
  EXPECT_EQ(sample(predictor, alphabet, options), first);
  options.number = 1;
  EXPECT_NE(sample(predictor, alphabet, options), first);
  options.number = 0;
  options.seed = 2;
  EXPECT_NE(sample(predictor, alphabet, options), first);
  options.stop = "ab";
  options.length = 5000;
  const std::string text = alphabet.decode(sample(predictor, alphabet, options));
  EXPECT_TRUE(text.ends_with("ab"));
  EXPECT_EQ(text.find("ab"), text.size() - 2);
}

TEST(Sampling, refuses_options_out_of_range) {
  const auto bad = [](auto set) {
    SamplingOptions options;
    set(options);
    EXPECT_THROW(validate(options), UsageError);
  };
  bad([](SamplingOptions& o) { o.temperature = -1; });
  bad([](SamplingOptions& o) { o.temperature = std::nan(""); });
  bad([](SamplingOptions& o) { o.top_k = -1; });
  bad([](SamplingOptions& o) { o.top_p = 0; });
  bad([](SamplingOptions& o) { o.min_p = 1.5; });
  bad([](SamplingOptions& o) { o.length = -1; });
}

}  // namespace
}  // namespace unfold
