#include "app/common/operation_count.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace unfold {

std::string operation_count_text(double operations) {
  constexpr double kMega = 1e6, kThousand = 1000, kRoundedUp = 995;
  constexpr std::array kUnits = {"MFLOP", "GFLOP", "TFLOP", "PFLOP"};
  double value = operations / kMega;
  if (value < 1) return "less than 1 MFLOP";
  std::size_t unit = 0;
  for (; unit + 1 < kUnits.size() && value >= kRoundedUp; ++unit) value /= kThousand;
  constexpr double kTwoDigits = 9.95;
  const double scale = value < kTwoDigits ? 10 : value < 100 ? 1 : 0.1;
  return fmt::format("{} {}", std::round(value * scale) / scale, kUnits[unit]);
}

}  // namespace unfold
