#include "model/context_mixing/gated_mixer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "unfold/numerics/random.h"
// After the headers of the standard library: Highway compiles what follows for the baseline instruction set.
#include "model/context_mixing/five_mixers-inl.h"

namespace unfold::test {
namespace {

TEST(Logistic, vectorized_squash_equals_the_scalar_one) {
  const Logistic& logistic = Logistic::tables();
  for (float x = -15; x <= 15; x += 0.0173F) {
    const FourFloats four = {x, -x, 0.5F * x, kLargestLogit};
    const FourFloats squashed = logistic.squash_four(four);
    for (int k = 0; k < 4; ++k) EXPECT_EQ(squashed[k], logistic.squash(four[k])) << x;
  }
}

/// A simple reference of gated mixing: number by number, with a new lookup of rows each time.
class PlainMixer {
 public:
  PlainMixer(std::vector<float> start, const std::vector<std::size_t>& sets, const std::vector<std::size_t>& lasts,
             GatedLearning learning)
      : learning_(learning), chosen(sets.size()), last_chosen(lasts.size()) {
    for (const std::size_t contexts : sets) {
      weights_.emplace_back(contexts, start);
      hurry_.emplace_back(contexts, learning.boost_new_rows ? 0.02F : 0);
    }
    for (const std::size_t contexts : lasts)
      last_weights_.emplace_back(contexts, std::vector<float>(sets.size(), 1 / static_cast<float>(sets.size())));
  }
  double mix(const std::vector<float>& x) {
    said_.clear();
    for (std::size_t s = 0; s < weights_.size(); ++s) said_.push_back(product(weights_[s][chosen[s]], x));
    last_said_.clear();
    double sum = 0;
    for (std::size_t l = 0; l < last_weights_.size(); ++l) {
      last_said_.push_back(product(last_weights_[l][last_chosen[l]], said_));
      sum += last_said_.back();
    }
    return sum / static_cast<double>(last_weights_.size());
  }
  void learn(const std::vector<float>& x, int bit) {
    const float rate = 0.0015F + (0.02F - 0.0015F) / (1 + 2e-5F * static_cast<float>(learnt_++));
    for (std::size_t s = 0; s < weights_.size(); ++s) {
      const double error = bit - chance(said_[s]);
      float& hurry = hurry_[s][chosen[s]];
      const double step = (rate + hurry) * error;
      if (learning_.boost_new_rows) hurry = std::max(hurry * 0.99F, 1e-6F);
      if (std::abs(error) < learning_.min_error) continue;
      std::vector<float>& w = weights_[s][chosen[s]];
      for (std::size_t i = 0; i < w.size(); ++i) w[i] += static_cast<float>(step * x[i]);
    }
    for (std::size_t l = 0; l < last_weights_.size(); ++l) {
      const double step = 0.002 * (bit - chance(last_said_[l]));
      std::vector<float>& w = last_weights_[l][last_chosen[l]];
      for (std::size_t s = 0; s < w.size(); ++s) w[s] += static_cast<float>(step * said_[s]);
    }
  }

 private:
  static double chance(double logit) { return 1 / (1 + std::exp(-logit)); }
  static float product(const std::vector<float>& w, const std::vector<float>& x) {
    double sum = 0;
    for (std::size_t i = 0; i < w.size(); ++i) sum += static_cast<double>(w[i]) * x[i];
    return static_cast<float>(std::clamp(sum, -15.0, 15.0));
  }
  GatedLearning learning_;
  std::vector<std::vector<std::vector<float>>> weights_, last_weights_;
  std::vector<std::vector<float>> hurry_;
  std::vector<float> said_, last_said_;
  int learnt_ = 0;

 public:
  std::vector<std::size_t> chosen, last_chosen;
};

/// The largest difference of logits from those of the reference, on bits that are correlated with the inputs.
template <class Mixer>
double distance_of(Mixer& mixer, std::size_t inputs, const std::vector<std::size_t>& sets,
                   const std::vector<std::size_t>& lasts, GatedLearning learning) {
  Random random(7, "mixers");
  const std::vector<float> start(inputs, 0.1F);
  PlainMixer plain(start, sets, lasts, learning);
  double distance = 0;
  for (int n = 0; n < 3000; ++n) {
    for (std::size_t s = 0; s < sets.size(); ++s) mixer.select(s, plain.chosen[s] = random.below(sets[s]));
    for (std::size_t l = 0; l < lasts.size(); ++l) mixer.select_last(l, plain.last_chosen[l] = random.below(lasts[l]));
    const int bit = random.uniform() < 0.7 ? 1 : 0;
    std::vector<float> x(inputs);
    for (float& in : x) in = static_cast<float>(3 * random.uniform() - 1.5 + 0.3 * (2 * bit - 1));
    distance = std::max(distance, std::abs(static_cast<double>(mixer.mix(x.data())) - plain.mix(x)));
    mixer.learn(x.data(), bit);
    plain.learn(x, bit);
  }
  return distance;
}

double largest_distance(const std::vector<std::size_t>& sets, const std::vector<std::size_t>& lasts,
                        GatedLearning learning) {
  constexpr std::size_t kInputs = 32;
  GatedMixer mixer(std::vector<float>(kInputs, 0.1F), sets, lasts, learning);
  return distance_of(mixer, kInputs, sets, lasts, learning);
}

TEST(FiveMixers, five_mixers_equal_the_reference) {
  const std::vector<std::size_t> sets = {5, 3, 1, 7, 2}, lasts = {4, 2};
  for (const std::size_t inputs : {16, 32, 48}) {
    HWY_NAMESPACE::FiveMixers mixer(std::vector<float>(inputs, 0.1F), sets, lasts);
    EXPECT_LT(distance_of(mixer, inputs, sets, lasts, {.min_error = 0.02F, .boost_new_rows = true}), 1e-3) << inputs;
  }
}

TEST(GatedMixer, gated_mixer_equals_the_reference) {
  EXPECT_LT(largest_distance({5, 3, 1, 7, 2}, {4, 2}, {.boost_new_rows = true}), 1e-3);
  EXPECT_LT(largest_distance({6}, {1}, {}), 1e-3);
  EXPECT_LT(largest_distance({2, 2, 2, 2, 2, 2, 2, 2}, {3}, {.boost_new_rows = true}), 1e-3);
}

TEST(GatedMixer, gated_mixer_learns_only_from_sufficient_errors) {
  // For an existing set, even though the missing sets next to it would have an error of one half.
  GatedMixer mixer(std::vector<float>(16, 1), {1}, {1}, {.min_error = 0.02F});
  std::vector<float> x(16, 0);
  x[0] = 5;
  const float sure = mixer.mix(x.data());
  mixer.learn(x.data(), 1);
  EXPECT_NEAR(mixer.mix(x.data()), sure, 1e-3) << "but for the last mixer";
  mixer.learn(x.data(), 0);
  EXPECT_LT(mixer.mix(x.data()), sure - 0.1F);
}

}  // namespace
}  // namespace unfold::test
