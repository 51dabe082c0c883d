#include "unfold/optim/rtrl/gradient_method.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>
#include <vector>

#include "base/options/suggestions.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using MethodKind = GradientMethod::Kind;

/// Returns the methods in the order of the help texts.
const std::vector<std::pair<std::string, MethodKind>>& gradient_kinds() {
  static const std::vector<std::pair<std::string, MethodKind>> kinds = {{"bptt", MethodKind::bptt},
                                                                        {"rtrl", MethodKind::rtrl},
                                                                        {"snap", MethodKind::snap},
                                                                        {"uoro", MethodKind::uoro},
                                                                        {"nobacktrack", MethodKind::nobacktrack}};
  return kinds;
}

Index parse_steps(std::string_view text) {
  Index steps = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, steps);
  if (error != std::errc() || stop != end || steps < 1 || steps > 1'000'000)
    throw UsageError(
        fmt::format("--gradient snap:N requires a whole number of steps from 1 to 1000000, not \"{}\"", text));
  return steps;
}

}  // namespace

GradientMethod GradientMethod::parse(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string name(text.substr(0, colon));
  std::vector<std::string> names;
  for (const auto& [known, kind] : gradient_kinds()) {
    names.push_back(known);
    if (known != name) continue;
    if (colon == std::string_view::npos) return {.kind = kind};
    if (kind == MethodKind::snap) return {.kind = kind, .steps = parse_steps(text.substr(colon + 1))};
    throw UsageError(fmt::format("--gradient {} does not take a number; only snap:N does", name));
  }
  throw UsageError(fmt::format("--gradient must be bptt, rtrl, snap:N, uoro or nobacktrack, not \"{}\"{}", text,
                               did_you_mean(name, names)));
}

std::string GradientMethod::text() const {
  for (const auto& [name, known] : gradient_kinds())
    if (known == kind) return kind == MethodKind::snap ? fmt::format("{}:{}", name, steps) : name;
  return {};
}

}  // namespace unfold
