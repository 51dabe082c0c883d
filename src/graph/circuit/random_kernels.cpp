#include "graph/circuit/random_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "graph/circuit/known_operator.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

constexpr Index kRepresentations = 2;
/// A group has 42 kernels, stored in 48 lanes.
constexpr Index kGroupKernels = kKernelCount / 2, kGroupLanes = 48;
static_assert(kGroupLanes % kConvolutionLanes == 0 && kGroupLanes >= kGroupKernels);
constexpr Index kMostDilations = 32, kMostMixedChannels = 9;
constexpr float kHighTap = 2, kLowTap = -1;

/// Returns the three taps of weight 2 of each kernel.
std::array<std::array<Index, 3>, kKernelCount> high_taps() {
  std::array<std::array<Index, 3>, kKernelCount> result{};
  std::size_t kernel = 0;
  for (Index a = 0; a < kKernelTaps; ++a)
    for (Index b = a + 1; b < kKernelTaps; ++b)
      for (Index c = b + 1; c < kKernelTaps; ++c) result.at(kernel++) = {a, b, c};
  return result;
}

double power_of_two(double x) {
  constexpr double kLog2 = 0.693147180559945309417;
  x *= kLog2;
  vector_exp(&x, &x, 1);
  return x;
}

double log_of_two(double x) {
  constexpr double kPerLog2 = 1.442695040888963407360;
  vector_log(&x, &x, 1);
  return x * kPerLog2;
}

struct Dilated {
  Index dilation, each;  ///< thresholds per kernel
};

/// Dilations from 1 to (length - 1) / 8, evenly spaced on a logarithmic scale, with `each` thresholds per kernel in
/// total.
std::vector<Dilated> spread_dilations(Index each, Index length) {
  const Index count = std::min(each, kMostDilations);
  const double span = std::max(1.0, static_cast<double>(length - 1) / static_cast<double>(kKernelTaps - 1));
  const double largest = log_of_two(span);
  std::vector<Dilated> result;
  for (Index i = 0; i < count; ++i) {
    const double exponent = count > 1 ? largest * static_cast<double>(i) / static_cast<double>(count - 1) : 0;
    constexpr double kRounding = 1e-9;  // 2^log2(8) is 8
    const auto dilation = static_cast<Index>(power_of_two(exponent) + kRounding);
    if (result.empty() || result.back().dilation != dilation) result.push_back({dilation, 0});
    ++result.back().each;
  }
  Index used = 0;
  for (Dilated& d : result) used += d.each = d.each * each / count;
  for (std::size_t i = 0; used < each; ++used, i = (i + 1) % result.size()) ++result[i].each;
  return result;
}

/// Returns the channels that a kernel reads at one dilation: the only channel, or a random number of randomly chosen
/// channels.
std::vector<Index> draw_channels(Index channels, Random& random) {
  std::vector<Index> all(at(channels));
  std::iota(all.begin(), all.end(), Index{0});
  if (channels == 1) return all;
  const double most = log_of_two(static_cast<double>(std::min(channels, kMostMixedChannels)) + 1);
  const auto count = std::clamp<Index>(static_cast<Index>(power_of_two(random.uniform(0, most))), 1, channels);
  for (Index i = 0; i < count; ++i) {
    const auto other = i + static_cast<Index>(random.below(static_cast<std::uint64_t>(channels - i)));
    std::swap(all[at(i)], all[at(other)]);
  }
  all.resize(at(count));
  std::ranges::sort(all);
  return all;
}

/// A series in the layout that a bank reads.
class Series {
 public:
  Series(Matrix<const float> series, bool standardized) : rows_(series.rows), cols_(series.cols) {
    values_.resize(at(rows_ * cols_));
    for (Index t = 0; t < rows_; ++t) std::copy_n(series.row(t), cols_, values_.data() + t * cols_);
    for (Index c = 0; c < cols_ && standardized; ++c) standardize(c);
    if (rows_ < 2) return;
    differences_.resize(at((rows_ - 1) * cols_));
    for (std::size_t i = 0; i < differences_.size(); ++i) differences_[i] = values_[i + at(cols_)] - values_[i];
  }

  Matrix<const float> view(bool differences) const {
    return differences ? Matrix<const float>{differences_.data(), std::max<Index>(rows_ - 1, 0), cols_, cols_}
                       : Matrix<const float>{values_.data(), rows_, cols_, cols_};
  }

 private:
  void standardize(Index c) {
    double sum = 0, squares = 0;
    for (Index t = 0; t < rows_; ++t) sum += static_cast<double>(values_[at(t * cols_ + c)]);
    const double mean = sum / static_cast<double>(rows_);
    for (Index t = 0; t < rows_; ++t) {
      const double d = static_cast<double>(values_[at(t * cols_ + c)]) - mean;
      squares += d * d;
    }
    const double deviation = std::sqrt(squares / static_cast<double>(rows_));
    constexpr double kConstant = 1e-8;
    for (Index t = 0; t < rows_; ++t) {
      float& x = values_[at(t * cols_ + c)];
      x = deviation > kConstant ? static_cast<float>((static_cast<double>(x) - mean) / deviation) : 0;
    }
  }

  Index rows_, cols_;
  std::vector<float> values_, differences_;
};

}  // namespace

KernelBank::KernelBank(const KernelBankOptions& options) : options_(options) {
  if (options.features < 1 || options.channels < 1 || options.length < 1)
    throw UsageError(fmt::format("kernels: {} features of {} channels and length {}: all must be at least 1",
                                 options.features, options.channels, options.length));
  add_groups(false, options.length);
  add_groups(true, std::max<Index>(options.length - 1, 1));
}

void KernelBank::add_groups(bool differences, Index length) {
  const Index each = std::max<Index>(1, options_.features / (kRepresentations * kPooledStatistics * kKernelCount));
  std::size_t parity = 0;
  for (const Dilated& d : spread_dilations(each, length)) {
    for (const bool padded : {true, false})
      groups_.push_back(make_group(differences, padded, d.dilation, d.each, padded ? parity : 1 - parity));
    parity = 1 - parity;
  }
}

/// Creates a group with the kernels whose number has the given parity.
KernelBank::Group KernelBank::make_group(bool differences, bool padded, Index dilation, Index each,
                                         std::size_t parity) {
  const Index channels = options_.channels;
  Group group{.differences = differences,
              .padded = padded,
              .dilation = dilation,
              .first = thresholds_,
              .each = each,
              .kernels = {},
              .weights = std::vector<float>(at(kKernelTaps * channels * kGroupLanes))};
  static const auto taps = high_taps();
  for (std::size_t kernel = parity; kernel < taps.size(); kernel += 2) {
    const auto lane = static_cast<Index>(group.kernels.size());
    group.kernels.push_back(static_cast<int>(kernel));
    Random random(static_cast<std::uint64_t>(dilation),
                  stream_of("kernels/channels") + (differences ? kKernelCount : 0) + kernel);
    const std::vector<Index> read = draw_channels(channels, random);
    for (Index tap = 0; tap < kKernelTaps; ++tap)
      for (const Index channel : read)
        group.weights[at((tap * channels + channel) * kGroupLanes + lane)] =
            std::ranges::find(taps.at(kernel), tap) != taps.at(kernel).end() ? kHighTap : kLowTap;
  }
  thresholds_ += each * kGroupKernels;
  return group;
}

/// Returns the center positions in a series of a given length. If the series is shorter than the kernels, all its
/// positions are centers, and the kernels read beyond the ends.
Range KernelBank::centers(const Group& group, Index length) const {
  const Index reach = kKernelTaps / 2 * group.dilation;
  return group.padded || length <= 2 * reach ? Range{0, length} : Range{reach, length - reach};
}

DilatedKernels KernelBank::kernels_of(const Group& group) const {
  return {.taps = kKernelTaps, .dilation = group.dilation, .lanes = kGroupLanes, .weights = group.weights.data()};
}

float KernelBank::weight(const Group& group, Index lane, Index tap, Index channel) const {
  return group.weights[at((tap * options_.channels + channel) * kGroupLanes + lane)];
}

double KernelBank::operations() const {
  double total = 0;
  for (const Group& group : groups_)
    total +=
        static_cast<double>(kGroupKernels) * static_cast<double>(2 * kKernelTaps * options_.channels + 7 * group.each);
  return total;
}

void KernelBank::features_of(Matrix<const float> series, const float* thresholds, float* features) const {
  const Series read(series, options_.standardized);
  Index each = 0;
  for (const Group& group : groups_) each = std::max(each, group.each);
  std::vector<float> wide(at(each * kGroupLanes)), pooled(at(kPooledStatistics * each * kGroupLanes)),
      scratch(at(series.rows * kConvolutionLanes));
  for (const Group& group : groups_) {
    const Matrix<const float> x = read.view(group.differences);
    for (Index k = 0; k < group.each; ++k)
      std::copy_n(thresholds + group.first + k * kGroupKernels, kGroupKernels, wide.data() + k * kGroupLanes);
    pool_convolution(x, kernels_of(group), centers(group, x.rows), wide.data(), group.each, scratch.data(),
                     pooled.data());
    float* to = features + group.first * kPooledStatistics;
    for (Index row = 0; row < kPooledStatistics * group.each; ++row)
      to = std::copy_n(pooled.data() + row * kGroupLanes, kGroupKernels, to);
  }
}

std::vector<float> KernelBank::select_thresholds(Index count, const std::function<Matrix<const float>(Index)>& series,
                                                 std::uint64_t seed) const {
  constexpr double kGolden = 1.618033988749894848;
  std::vector<float> result(at(thresholds_)), outputs, own;
  std::uint64_t quantile = 0;  // element number in a sequence that is evenly spaced in the unit interval
  Random random(seed, "kernels/thresholds");
  for (const Group& group : groups_)
    for (Index lane = 0; lane < kGroupKernels; ++lane) {
      const Matrix<const float> drawn = series(static_cast<Index>(random.below(static_cast<std::uint64_t>(count))));
      const Series read(drawn, options_.standardized);
      const Matrix<const float> x = read.view(group.differences);
      const Range range = centers(group, x.rows);
      outputs.resize(at(range.size() * kGroupLanes));
      convolve(x, kernels_of(group), range, outputs.data());
      own.clear();
      for (Index t = 0; t < range.size(); ++t) own.push_back(outputs[at(t * kGroupLanes + lane)]);
      std::ranges::sort(own);
      for (Index k = 0; k < group.each; ++k) {
        const double scaled = static_cast<double>(++quantile) * kGolden, share = scaled - std::floor(scaled);
        if (own.empty()) continue;
        const double place = share * static_cast<double>(own.size() - 1);
        const auto below = static_cast<std::size_t>(place), above = std::min(below + 1, own.size() - 1);
        const double weight = place - static_cast<double>(below);
        result[at(group.first + k * kGroupKernels + lane)] = static_cast<float>(
            (1 - weight) * static_cast<double>(own[below]) + weight * static_cast<double>(own[above]));
      }
    }
  return result;
}

namespace {

class RandomKernels final : public OperatorOf<RandomKernels>, public RecordedOperator {
 public:
  explicit RandomKernels(const KernelBankOptions& options) : bank_(options) {}

  const KernelBank& bank() const { return bank_; }
  std::string_view name() const override { return "random kernels"; }
  Index inputs() const override { return bank_.options().channels; }
  Index outputs() const override { return bank_.features(); }
  OperatorRecord record() const override {
    const KernelBankOptions& options = bank_.options();
    return {"random-kernels",
            {{"features", one(options.features)},
             {"channels", one(options.channels)},
             {"length", one(options.length)},
             {"standardized", one(options.standardized ? 1 : 0)}}};
  }
  ParameterShape parameter_shape(Index) const override { return {1, bank_.thresholds()}; }
  Index key_size() const override { return bank_.options().channels; }
  Index value_size() const override { return bank_.options().channels; }
  double operations() const override { return bank_.operations(); }

  template <class T>
  void apply_rows(const OperatorRows<T>& in, Matrix<T> y) const {
    const Index channels = in.memory.values.cols;
    const std::vector<float> thresholds(in.w.row(0), in.w.row(0) + in.w.cols);
    std::vector<float> series, features(at(outputs()));
    for (Index r = 0; r < in.x.rows; ++r) {
      series.clear();
      for (const Index row : in.memory.seen_by(r))
        for (Index c = 0; c < channels; ++c) series.push_back(static_cast<float>(in.memory.values(row, c)));
      const Index length = static_cast<Index>(series.size()) / channels;
      bank_.features_of({series.data(), length, channels, channels}, thresholds.data(), features.data());
      for (Index i = 0; i < outputs(); ++i) y(r, i) += static_cast<T>(features[at(i)]);
    }
  }
  template <class T>
  void transposed_rows(const OperatorRows<T>&, Matrix<const T>, Matrix<T>, bool, bool) const {
    refuse();
  }
  template <class T>
  void gradient_rows(const OperatorRows<T>&, Matrix<const T>, Matrix<T>, Range, bool) const {
    refuse();
  }
  template <class T>
  void tangent_rows(const OperatorRows<T>&, Matrix<const T>, Matrix<const T>, Matrix<T>) const {
    refuse();
  }

 private:
  [[noreturn]] static void refuse() {
    throw UsageError(
        "random kernels count positions above thresholds, which is not differentiable; use a model that is trained by "
        "gradients, such as tdnn or lstm");
  }

  KernelBank bank_;
};

}  // namespace

std::shared_ptr<const Operator> random_kernels(const KernelBankOptions& options) {
  return std::make_shared<RandomKernels>(options);
}

const KernelBank* as_random_kernels(const Operator* op) {
  const auto* found = dynamic_cast<const RandomKernels*>(op);
  return found == nullptr ? nullptr : &found->bank();
}

}  // namespace unfold
