#include "numerics/pooled_convolution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "numerics/simd.h"
#include "unfold/numerics/random.h"

namespace unfold::pooled_convolution_test {
namespace {

struct Problem {
  Problem(Index positions_, Index channels_, Index dilation_, Index lanes_, Index count_, std::uint64_t seed)
      : positions(positions_), channels(channels_), dilation(dilation_), lanes(lanes_), count(count_) {
    Random random(seed, "pooled convolution");
    const auto draw = [&](Index n) {
      std::vector<float> values(at(n));
      for (float& value : values) value = static_cast<float>(random.normal());
      return values;
    };
    x = draw(positions * channels), weights = draw(kTaps * channels * lanes), thresholds = draw(count * lanes);
  }
  static constexpr Index kTaps = 9;
  Matrix<const float> series() const { return {x.data(), positions, channels, channels}; }
  DilatedKernels kernels() const {
    return {.taps = kTaps, .dilation = dilation, .lanes = lanes, .weights = weights.data()};
  }
  std::vector<float> pooled(Range centers) const {
    std::vector<float> scratch(at(kConvolutionLanes * centers.size())), result(at(4 * count * lanes), -1);
    pool_convolution(series(), kernels(), centers, thresholds.data(), count, scratch.data(), result.data());
    return result;
  }
  float output(Index t, Index lane) const {
    float sum = 0;
    for (Index tap = 0; tap < kTaps; ++tap)
      for (Index c = 0; c < channels; ++c) {
        const Index position = t + (tap - kTaps / 2) * dilation;
        if (position < 0 || position >= positions) continue;
        sum = std::fma(x[at(position * channels + c)], weights[at((tap * channels + c) * lanes + lane)], sum);
      }
    return sum;
  }
  Index positions, channels, dilation, lanes, count;
  std::vector<float> x, weights, thresholds;
};

/// The definition, one statistic after another.
std::vector<float> slow_statistics(const Problem& p, Range centers, Index lane, float threshold) {
  const auto n = static_cast<float>(centers.size());
  float share = 0, excess = 0, position = 0, run = 0, longest = 0;
  for (Index t = centers.begin; t < centers.end; ++t) {
    const float c = p.output(t, lane);
    run = c > threshold ? run + 1 : 0;
    longest = std::max(longest, run);
    if (!(c > threshold)) continue;
    share += 1, excess += c - threshold, position += static_cast<float>(t - centers.begin + 1);
  }
  const float divisor = std::max(share, 1.0F);
  return {share / n, excess / divisor, position / (divisor * n), longest / n};
}

TEST(PooledConvolution, EqualsTheDefinitionBitForBit) {
  for (const Index positions : {1, 7, 40})
    for (const Index channels : {1, 3})
      for (const Index count : {1, 2, 5, 8}) {
        const Problem p(positions, channels, 3, 32, count, 1);
        for (const Range centers : {Range{0, positions}, Range{positions / 4, positions - positions / 4}}) {
          const std::vector<float> got = p.pooled(centers);
          for (Index k = 0; k < count; ++k)
            for (Index lane = 0; lane < p.lanes; ++lane) {
              const std::vector<float> want = slow_statistics(p, centers, lane, p.thresholds[at(k * p.lanes + lane)]);
              for (Index s = 0; s < kPooledStatistics; ++s)
                ASSERT_EQ(got[at((s * count + k) * p.lanes + lane)], want[at(s)])
                    << positions << " " << channels << " " << count << " statistic " << s;
            }
        }
      }
}

TEST(PooledConvolution, OutputsEqualTheDefinition) {
  const Problem p(25, 2, 2, 16, 1, 2);
  std::vector<float> outputs(at(15 * 16));
  convolve(p.series(), p.kernels(), {5, 20}, outputs.data());
  for (Index t = 5; t < 20; ++t)
    for (Index lane = 0; lane < 16; ++lane) EXPECT_EQ(outputs[at((t - 5) * 16 + lane)], p.output(t, lane));
}

TEST(PooledConvolution, HasTheSameBitsForEveryInstructionSet) {
  const Problem p(100, 2, 5, 48, 7, 3);
  const std::string best = simd_available().front();
  const std::vector<float> want = p.pooled({10, 90});
  for (const std::string& name : simd_available()) {
    simd_limit(name);
    EXPECT_EQ(p.pooled({10, 90}), want) << name;
  }
  simd_limit(best);
}

TEST(PooledConvolution, WithoutCentersIsZero) {
  const Problem p(5, 1, 4, 16, 3, 4);
  for (const float value : p.pooled({3, 3})) EXPECT_EQ(value, 0);
}

}  // namespace
}  // namespace unfold::pooled_convolution_test
