// Internal to mixing_core.cpp: gated mixing with five sets of weights, for each instruction set. Include it after
// hwy/foreach_target.h; see numerics/targets-inl.h.

#if defined(UNFOLD_MODEL_FIVE_MIXERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef UNFOLD_MODEL_FIVE_MIXERS_INL_H_
#undef UNFOLD_MODEL_FIVE_MIXERS_INL_H_
#else
#define UNFOLD_MODEL_FIVE_MIXERS_INL_H_
#endif

#include <algorithm>
#include <array>
#include <vector>

#include "hwy/highway.h"
#include "model/context_mixing/logistic.h"
#include "model/context_mixing/simd.h"
#include "numerics/gated_sums.h"
#include "unfold/base/views.h"

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Sixteen numbers, in as few vectors as possible.
#if HWY_TARGET == HWY_SCALAR
using Lanes = FourFloats;
inline Lanes load_lanes(const float* from) { return load<FourFloats>(from); }
inline void store_lanes(Lanes v, float* to) { store(v, to); }
inline Lanes all_lanes(float x) { return FourFloats{} + x; }
constexpr std::size_t kWidth = 4;
#else
using LanesTag = hn::CappedTag<float, 8>;
using Lanes = hn::Vec<LanesTag>;
UNFOLD_ALWAYS_INLINE Lanes load_lanes(const float* from) { return hn::LoadU(LanesTag(), from); }
UNFOLD_ALWAYS_INLINE void store_lanes(Lanes v, float* to) { hn::StoreU(v, LanesTag(), to); }
UNFOLD_ALWAYS_INLINE Lanes all_lanes(float x) { return hn::Set(LanesTag(), x); }
constexpr std::size_t kWidth = hn::MaxLanes(LanesTag());
#endif
constexpr std::size_t kVectors = static_cast<std::size_t>(kMixingLanes) / kWidth;
using Sixteen = std::array<Lanes, kVectors>;

UNFOLD_ALWAYS_INLINE Sixteen load_sixteen(const float* x) {
  Sixteen s;
  for (std::size_t k = 0; k < kVectors; ++k) s[k] = load_lanes(x + k * kWidth);
  return s;
}
UNFOLD_ALWAYS_INLINE Sixteen product(const Sixteen& a, const Sixteen& b) {
  Sixteen s;
  for (std::size_t k = 0; k < kVectors; ++k) s[k] = a[k] * b[k];
  return s;
}
UNFOLD_ALWAYS_INLINE Sixteen sum(const Sixteen& a, const Sixteen& b) {
  Sixteen s;
  for (std::size_t k = 0; k < kVectors; ++k) s[k] = a[k] + b[k];
  return s;
}
/// Adds the halves twice.
#if HWY_TARGET == HWY_SCALAR
inline FourFloats four_sums(const Sixteen& s) { return (s[0] + s[2]) + (s[1] + s[3]); }
#else
template <std::size_t kLanes, class Vector>
UNFOLD_ALWAYS_INLINE FourFloats four_sums_of(const Vector* s) {
  alignas(16) std::array<float, 4> lanes;
  const hn::FixedTag<float, kLanes / 2> half;
  const hn::FixedTag<float, 4> four;
  if constexpr (kLanes == 16) {
    const auto t = hn::LowerHalf(half, s[0]) + hn::UpperHalf(half, s[0]);
    hn::Store(hn::LowerHalf(four, t) + hn::UpperHalf(four, t), four, lanes.data());
  } else if constexpr (kLanes == 8) {
    const auto t = s[0] + s[1];
    hn::Store(hn::LowerHalf(four, t) + hn::UpperHalf(four, t), four, lanes.data());
  } else {
    hn::Store((s[0] + s[2]) + (s[1] + s[3]), four, lanes.data());
  }
  return load<FourFloats>(lanes.data());
}
UNFOLD_ALWAYS_INLINE FourFloats four_sums(const Sixteen& s) { return four_sums_of<kWidth>(s.data()); }
#endif
UNFOLD_ALWAYS_INLINE float whole_sum(const Sixteen& s) {
  const FourFloats f = four_sums(s);
  return (f[0] + f[2]) + (f[1] + f[3]);
}
/// The sums of four rows at once.
UNFOLD_ALWAYS_INLINE FourFloats whole_sums(const Sixteen& a, const Sixteen& b, const Sixteen& c, const Sixteen& e) {
  const FourFloats fa = four_sums(a), fb = four_sums(b), fc = four_sums(c), fe = four_sums(e);
  const FourFloats ab = __builtin_shufflevector(fa, fb, 0, 4, 1, 5) + __builtin_shufflevector(fa, fb, 2, 6, 3, 7);
  const FourFloats ce = __builtin_shufflevector(fc, fe, 0, 4, 1, 5) + __builtin_shufflevector(fc, fe, 2, 6, 3, 7);
  return __builtin_shufflevector(ab, ce, 0, 1, 4, 5) + __builtin_shufflevector(ab, ce, 2, 3, 6, 7);
}

/// GatedMixer (gated_mixer.h) with five sets and two final mixers.
class FiveMixers {
 public:
  static constexpr std::size_t kCount = 5;
  FiveMixers(const std::vector<float>& start, const std::vector<std::size_t>& sets,
             const std::vector<std::size_t>& lasts)
      : inputs_(start.size()) {
    std::size_t rows = 0;
    for (std::size_t s = 0; s < kCount; ++s) {
      first_.at(s) = rows;
      rows += sets[s];
    }
    weights_.resize(static_cast<Index>(rows * inputs_));
    for (std::size_t r = 0; r < rows; ++r) std::copy(start.begin(), start.end(), weights_.data() + r * inputs_);
    hurry_.assign(rows, kHurry);
    for (std::size_t l = 0; l < 2; ++l) {
      last_weights_.at(l).assign(lasts[l] * 8, 0);
      for (std::size_t i = 0; i < lasts[l]; ++i) std::fill_n(&last_weights_.at(l)[i * 8], kCount, 1.0F / kCount);
    }
  }
  UNFOLD_ALWAYS_INLINE void select(std::size_t set, std::size_t context) {
    chosen_[set] = first_[set] + context;
    rows_[set] = weights_.data() + chosen_[set] * inputs_;
  }
  UNFOLD_ALWAYS_INLINE void prefetch(std::size_t set, std::size_t context) const {
    const float* const row = weights_.data() + (first_[set] + context) * inputs_;
    for (std::size_t i = 0; i < inputs_; i += 16) __builtin_prefetch(row + i, 1);
  }
  UNFOLD_ALWAYS_INLINE void select_last(std::size_t last, std::size_t context) {
    last_rows_[last] = &last_weights_[last][context * 8];
  }

  UNFOLD_ALWAYS_INLINE float probability() const { return others_[0]; }  ///< of the last result
  UNFOLD_ALWAYS_INLINE float mix(const float* x) {
    const Sixteen in = load_sixteen(x);
    Sixteen a = product(in, load_sixteen(rows_[0])), b = product(in, load_sixteen(rows_[1]));
    Sixteen c = product(in, load_sixteen(rows_[2])), e = product(in, load_sixteen(rows_[3]));
    Sixteen f = product(in, load_sixteen(rows_[4]));
    for (std::size_t i = 16; i < inputs_; i += 16) {
      const Sixteen next = load_sixteen(x + i);
      a = sum(a, product(next, load_sixteen(rows_[0] + i)));
      b = sum(b, product(next, load_sixteen(rows_[1] + i)));
      c = sum(c, product(next, load_sixteen(rows_[2] + i)));
      e = sum(e, product(next, load_sixteen(rows_[3] + i)));
      f = sum(f, product(next, load_sixteen(rows_[4] + i)));
    }
    outputs_ = within(whole_sums(a, b, c, e));
    fifth_ = std::clamp(whole_sum(f), -kLargestLogit, kLargestLogit);
    probabilities_ = logit_.squash_four(outputs_);
    std::array<float, 2> mixed;
    for (std::size_t l = 0; l < 2; ++l) {
      const FourFloats t = load<FourFloats>(last_rows_[l]) * outputs_;
      mixed[l] = std::clamp((t[0] + last_rows_[l][4] * fifth_ + t[2]) + (t[1] + t[3]), -kLargestLogit, kLargestLogit);
    }
    const float mean = (mixed[0] + mixed[1]) * 0.5F;
    others_ = logit_.squash_four(FourFloats{mean, mixed[0], mixed[1], fifth_});
    return mean;
  }
  UNFOLD_ALWAYS_INLINE void learn(const float* x, int bit) {
    const auto target = static_cast<float>(bit);
    FourFloats rate = {hurry_[chosen_[0]], hurry_[chosen_[1]], hurry_[chosen_[2]], hurry_[chosen_[3]]};
    const FourFloats slower = rate * kHurryLeft, least = FourFloats{} + kLeastHurry;
    const FourFloats next = choose(slower < least, least, slower);
    for (int k = 0; k < 4; ++k) hurry_[chosen_[static_cast<std::size_t>(k)]] = next[k];
    const float fifth_rate = hurry_[chosen_[4]];
    hurry_[chosen_[4]] = std::max(fifth_rate * kHurryLeft, kLeastHurry);
    const FourFloats error = target - probabilities_;
    const float fifth_error = target - others_[3];
    const FourIntegers large = (error >= kLeastError) | (error <= -kLeastError);
    const bool fifth_large = fifth_error >= kLeastError || fifth_error <= -kLeastError;
    if (any_bit(large) || fifth_large) {
      const auto step = reinterpret_cast<FourFloats>(reinterpret_cast<FourIntegers>((rate + rate_) * error) & large);
      const float fifth_step = fifth_large ? (fifth_rate + rate_) * fifth_error : 0;
      for (std::size_t i = 0; i < inputs_; i += 16) {
        const Sixteen in = load_sixteen(x + i);
        move(rows_[0] + i, in, step[0]);
        move(rows_[1] + i, in, step[1]);
        move(rows_[2] + i, in, step[2]);
        move(rows_[3] + i, in, step[3]);
        move(rows_[4] + i, in, fifth_step);
      }
    }
    for (std::size_t l = 0; l < 2; ++l) {
      const float last_step = kOuterStep * (target - others_[static_cast<int>(l) + 1]);
      store(load<FourFloats>(last_rows_[l]) + last_step * outputs_, last_rows_[l]);
      last_rows_[l][4] += last_step * fifth_;
    }
    steps_taken_ += 1;
    rate_ = kLastStep + (kFirstStep - kLastStep) / (1 + kStepFall * steps_taken_);
  }

 private:
  UNFOLD_ALWAYS_INLINE static void move(float* w, const Sixteen& in, float step) {
    const Lanes by = all_lanes(step);
    for (std::size_t k = 0; k < kVectors; ++k) {
      float* const at = w + k * kWidth;
      store_lanes(load_lanes(at) + in[k] * by, at);
    }
  }
  UNFOLD_ALWAYS_INLINE static FourFloats within(FourFloats x) {
    const FourFloats most = FourFloats{} + kLargestLogit;
    const FourFloats above = choose(x < -most, -most, x);
    return choose(most < above, most, above);
  }
  /// Smaller errors do not update the weights. This saves time and does not increase compressed sizes.
  static constexpr float kLeastError = 0.02F;
  static constexpr float kFirstStep = 0.02F, kLastStep = 0.0015F, kStepFall = 2e-5F, kOuterStep = 0.002F;
  static constexpr float kHurry = 0.02F, kHurryLeft = 0.99F, kLeastHurry = 1e-6F;
  const Logistic& logit_ = Logistic::tables();
  std::size_t inputs_;
  std::array<std::size_t, kCount> first_{}, chosen_{};
  std::array<float*, kCount> rows_{};
  std::array<float*, 2> last_rows_{};
  Buffer<float> weights_;
  std::vector<float> hurry_;
  std::array<std::vector<float>, 2> last_weights_;
  FourFloats outputs_{}, probabilities_{};
  float fifth_ = 0;
  FourFloats others_{};  // probabilities: the result, the two final mixers and the fifth set
  float rate_ = kFirstStep, steps_taken_ = 0;
};

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#endif  // per target
