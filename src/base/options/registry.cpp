#include "base/options/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/options/suggestions.h"
#include "base/printable.h"

namespace unfold {

namespace {

std::string plural(std::string_view kind) { return fmt::format("{}{}", kind, kind.ends_with('s') ? "es" : "s"); }

}  // namespace

void throw_unknown(std::string_view kind, std::string_view name, const std::vector<std::string>& names) {
  throw UsageError(fmt::format("there is no {} {}{} ({}: {})", kind, in_quotes(name), did_you_mean(name, names),
                               plural(kind), fmt::join(names, ", ")));
}

void throw_not_built(std::string_view kind, std::string_view name, const std::vector<std::string>& names) {
  throw UsageError(
      fmt::format("{} {} is not implemented in this version; available: {}", kind, name, fmt::join(names, ", ")));
}

}  // namespace unfold
