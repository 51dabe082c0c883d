#include "unfold/base/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "unfold/base/error.h"
#include "unfold/base/text_distance.h"

namespace unfold {

void refuse_unknown(std::string_view kind, std::string_view name, const std::vector<std::string>& names) {
  throw UsageError(fmt::format("there is no {0} \"{1}\"{2} ({0}s: {3})", kind, name, did_you_mean(name, names),
                               fmt::join(names, ", ")));
}

void refuse_not_built(std::string_view kind, std::string_view name, const std::vector<std::string>& names) {
  throw UsageError(
      fmt::format("{} {} is not built yet in this version; there are {}", kind, name, fmt::join(names, ", ")));
}

}  // namespace unfold
