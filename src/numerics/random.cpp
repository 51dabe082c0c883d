#include "unfold/numerics/random.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "numerics/functions.h"
#include "numerics/mix_bits.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

template <int kSize>
double horner(const double (&c)[kSize], double x) {
  double sum = c[kSize - 1];
  for (int i = kSize - 2; i >= 0; --i) sum = std::fma(sum, x, c[i]);
  return sum;
}

// Coefficients of PPND16: numerators and denominators for the center, the intermediate range and the far tails.
constexpr double kCenterTop[] = {3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3,
                                 1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                 3.3430575583588128105e+4, 2.5090809287301226727e+3};
constexpr double kCenterBottom[] = {1.0,
                                    4.2313330701600911252e+1,
                                    6.8718700749205790830e+2,
                                    5.3941960214247511077e+3,
                                    2.1213794301586595867e+4,
                                    3.9307895800092710610e+4,
                                    2.8729085735721942674e+4,
                                    5.2264952788528545610e+3};
constexpr double kShoulderTop[] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                                   3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                                   2.27238449892691845833e-2, 7.74545014278341407640e-4};
constexpr double kShoulderBottom[] = {1.0,
                                      2.05319162663775882187e0,
                                      1.67638483018380384940e0,
                                      6.89767334985100004550e-1,
                                      1.48103976427480074590e-1,
                                      1.51986665636164571966e-2,
                                      5.47593808499534494600e-4,
                                      1.05075007164441684324e-9};
constexpr double kTailTop[] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                               2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                               2.71155556874348757815e-5, 2.01033439929228813265e-7};
constexpr double kTailBottom[] = {1.0,
                                  5.99832206555887937690e-1,
                                  1.36929880922735805310e-1,
                                  1.48753612908506148525e-2,
                                  7.86869131145613259100e-4,
                                  1.84631831751005468180e-5,
                                  1.42151175831644588870e-7,
                                  2.04426310338993978564e-15};

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {high(b) ^ counter[1] ^ key[0], low(b), high(a) ^ counter[3] ^ key[1], low(a)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t n) {
  return philox4x32({low(n), high(n), low(stream), high(stream)}, {low(seed), high(seed)});
}

std::uint64_t stream_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return mix_bits(hash);
}

std::uint32_t Random::bits32() {
  const std::uint64_t counter = position_ / 4;
  if (counter != cached_) {
    block_ = philox(seed_, stream_, counter);
    cached_ = counter;
  }
  return block_[position_++ % 4];
}

std::uint64_t Random::bits64() {
  const std::uint64_t first = bits32();
  return first | std::uint64_t{bits32()} << 32;
}

double Random::uniform() { return static_cast<double>(bits64() >> 11) * 0x1p-53; }

double Random::uniform(double lo, double hi) { return std::fma(hi - lo, uniform(), lo); }

// 52 bits plus one half: exact, never 0 or 1, and symmetric about 1/2.
double Random::normal() { return normal_quantile((static_cast<double>(bits64() >> 12) + 0.5) * 0x1p-52); }

std::uint64_t Random::below(std::uint64_t n) {
  __extension__ using Wide = unsigned __int128;
  Wide product = Wide{bits64()} * n;
  if (static_cast<std::uint64_t>(product) < n) {
    const std::uint64_t reject = (0 - n) % n;
    while (static_cast<std::uint64_t>(product) < reject) product = Wide{bits64()} * n;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

double normal_quantile(double p) {
  const double q = p - 0.5;
  if (std::fabs(q) <= 0.425) {
    const double r = std::fma(-q, q, 0.180625);
    return q * horner(kCenterTop, r) / horner(kCenterBottom, r);
  }
  double logarithm = q < 0 ? p : 1 - p;
  vector_log(&logarithm, &logarithm, 1);
  const double r = std::sqrt(-logarithm);
  const double z = r <= 5 ? horner(kShoulderTop, r - 1.6) / horner(kShoulderBottom, r - 1.6)
                          : horner(kTailTop, r - 5) / horner(kTailBottom, r - 5);
  return q < 0 ? -z : z;
}

template <class T>
void fill_signs(std::uint64_t seed, std::uint64_t stream, Index first_row, Matrix<T> m) {
  constexpr Index kBits = 128;  // bits per draw
  const Index blocks = (m.cols + kBits - 1) / kBits;
  for (Index r = 0; r < m.rows; ++r)
    for (Index block = 0; block < blocks; ++block) {
      const auto words = philox(seed, stream, static_cast<std::uint64_t>((first_row + r) * blocks + block));
      for (Index c = block * kBits; c < std::min(m.cols, (block + 1) * kBits); ++c)
        m(r, c) = (words[static_cast<std::size_t>(c % kBits / 32)] >> (c % 32) & 1u) != 0 ? T{1} : T{-1};
    }
}

template void fill_signs<float>(std::uint64_t, std::uint64_t, Index, Matrix<float>);
template void fill_signs<double>(std::uint64_t, std::uint64_t, Index, Matrix<double>);

}  // namespace unfold
