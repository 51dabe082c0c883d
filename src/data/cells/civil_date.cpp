#include "data/cells/civil_date.h"

#include <array>
#include <cstdint>

namespace unfold {
namespace {

bool is_leap_year(Index y) { return (y % 4 == 0 && y % 100 != 0) || y % 400 == 0; }

}  // namespace

// Howard Hinnant, "chrono-compatible low-level date algorithms": eras of 400 years that begin on March 1st.
Index days_from_civil(Index year, Index month, Index day) {
  year -= month <= 2 ? 1 : 0;
  const Index era = (year >= 0 ? year : year - 399) / 400;
  const Index year_of_era = year - era * 400;
  const Index day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

CivilDate civil_from_days(Index days) {
  days += 719468;
  // Neri and Schneider, "Euclidean affine functions and their application to calendar algorithms", Software: Practice
  // and Experience 53(4), 2023: the same with fewer divisions, for days that can be multiplied by 4 in 32 bits.
  if (days >= 0 && days < Index{1} << 29) {
    const auto quarters = static_cast<std::uint32_t>(4 * days + 3);
    const std::uint32_t century = quarters / 146097, quarters_of_century = quarters % 146097 | 3;
    const std::uint64_t product = std::uint64_t{2939745} * quarters_of_century;
    const auto year_of_century = static_cast<std::uint32_t>(product >> 32);
    const std::uint32_t day_of_year = static_cast<std::uint32_t>(product) / 2939745 / 4;
    const std::uint32_t shifted = 2141 * day_of_year + 197913, month = shifted >> 16;
    const bool next_year = day_of_year >= 306;  // January and February
    return {Index{100} * century + year_of_century + (next_year ? 1 : 0), month - (next_year ? 12U : 0U),
            (shifted & 0xFFFF) / 2141 + 1};
  }
  const Index era = (days >= 0 ? days : days - 146096) / 146097;
  const Index day_of_era = days - era * 146097;
  const Index year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const Index day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const Index shifted = (5 * day_of_year + 2) / 153;
  const Index month = shifted + (shifted < 10 ? 3 : -9);
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0), month, day_of_year - (153 * shifted + 2) / 5 + 1};
}

Index days_in_month(Index year, Index month) {
  constexpr std::array<Index, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return kDays[at(month - 1)] + (month == 2 && is_leap_year(year) ? 1 : 0);
}

bool is_valid_date(Index year, Index month, Index day) {
  return year >= 1 && year <= 9999 && month >= 1 && month <= 12 && day >= 1 && day <= days_in_month(year, month);
}

}  // namespace unfold
