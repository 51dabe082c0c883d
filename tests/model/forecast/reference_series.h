#pragma once
/// The series of reference.py, and short ones that tests share.

#include <cmath>
#include <limits>
#include <vector>

#include "unfold/numerics/random.h"

namespace unfold::forecasting {

inline constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

/// Monthly totals of international airline passengers, 1949 to 1956 (Box and Jenkins 1976, series G).
inline const std::vector<double> kAirline = {
    112, 118, 132, 129, 121, 135, 148, 148, 136, 119, 104, 118, 115, 126, 141, 135, 125, 149, 170, 170,
    158, 133, 114, 140, 145, 150, 178, 163, 172, 178, 199, 199, 184, 162, 146, 166, 171, 180, 193, 181,
    183, 218, 230, 242, 209, 191, 172, 194, 196, 196, 236, 235, 229, 243, 264, 272, 237, 211, 180, 201,
    204, 188, 235, 227, 234, 264, 302, 293, 259, 229, 203, 229, 242, 233, 267, 269, 270, 315, 364, 347,
    312, 274, 237, 278, 284, 277, 317, 313, 318, 374, 413, 405, 355, 306, 271, 306};
/// Annual flow of the Nile at Aswan, 1871 to 1930, in 10^8 cubic meters.
inline const std::vector<double> kNile = {
    1120, 1160, 963,  1210, 1160, 1160, 813,  1230, 1370, 1140, 995, 935, 1110, 994, 1020, 960, 1180, 799,  958,  1140,
    1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774,  840,  874, 694, 940,  833, 701,  916, 692,  1020, 1050, 969,
    831,  726,  456,  824,  702,  1120, 1100, 832,  764,  821,  768, 845, 864,  862, 698,  845, 744,  796,  1040, 759};

/// A random walk plus a season of period 4 and noise.
inline std::vector<double> simulated_series(std::size_t n, std::uint64_t seed) {
  Random random(seed, "forecast test");
  const double season[] = {3, -1, -4, 2};
  std::vector<double> y;
  double level = 50;
  for (std::size_t t = 0; t < n; ++t) {
    level += 0.5 * random.normal();
    y.push_back(level + season[t % 4] + random.normal());
  }
  return y;
}

inline std::vector<double> affine(const std::vector<double>& y, double factor, double shift) {
  std::vector<double> result;
  for (const double x : y) result.push_back(factor * x + shift);
  return result;
}

}  // namespace unfold::forecasting
