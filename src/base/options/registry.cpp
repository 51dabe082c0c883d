#include "unfold/base/options/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/options/extensible_registry.h"
#include "base/options/suggestions.h"
#include "base/printable.h"
#include "unfold/base/error.h"

namespace unfold {

namespace {

std::string plural(std::string_view kind) { return fmt::format("{}{}", kind, kind.ends_with('s') ? "es" : "s"); }

bool is_entry_name(std::string_view name) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && is_letter(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-'; });
}

}  // namespace

void throw_unknown(std::string_view kind, std::string_view name, const std::vector<std::string>& names) {
  throw UsageError(fmt::format("there is no {} {}{} ({}: {})", kind, in_quotes(name), did_you_mean(name, names),
                               plural(kind), fmt::join(names, ", ")));
}

void require_entry_name(std::string_view function, std::string_view what, std::string_view name) {
  if (!is_entry_name(name))
    throw UsageError(
        fmt::format("{}: {} is not a valid {} name; use lowercase letters, digits and \"-\", starting with a letter",
                    function, in_quotes(name), what));
}

void throw_taken_name(std::string_view function, std::string_view what, std::string_view name) {
  throw UsageError(fmt::format("{}: there is already {} {} {}; choose a different name", function,
                               std::string_view("aeio").find(what.front()) != std::string_view::npos ? "an" : "a", what,
                               in_quotes(name)));
}

}  // namespace unfold
