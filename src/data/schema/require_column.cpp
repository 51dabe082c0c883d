#include "data/schema/require_column.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/options/suggestions.h"
#include "data/schema/describe_schema.h"
#include "data/schema/table_schema.h"
#include "unfold/base/error.h"

namespace unfold {

void require_column(std::string_view option, const std::string& column, const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), column) != names.end()) return;
  constexpr std::size_t kMostNames = 20;
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    if (shown.size() < kMostNames) shown.push_back(escape_cell(name, kMostOddBytes));
  }
  throw UsageError(fmt::format("{}: there is no column \"{}\"; the columns are {}{}{}", option,
                               escape_cell(column, kMostOddBytes), fmt::join(shown, ", "),
                               names.size() > kMostNames ? ", ..." : "", did_you_mean(column, names)));
}

}  // namespace unfold
