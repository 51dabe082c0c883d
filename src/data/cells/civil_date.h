#pragma once
/// Days since 1970-01-01 of dates in the proleptic Gregorian calendar.

#include "unfold/base/types.h"

namespace unfold {

Index days_from_civil(Index year, Index month, Index day);
struct CivilDate {
  Index year = 1970, month = 1, day = 1;
};
CivilDate civil_from_days(Index days);
Index days_in_month(Index year, Index month);
bool is_valid_date(Index year, Index month, Index day);  ///< years 1 to 9999

}  // namespace unfold
