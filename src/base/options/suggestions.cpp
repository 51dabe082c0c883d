#include "base/options/suggestions.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"

namespace unfold {

Index text_distance(std::string_view a, std::string_view b) {
  // Three rows of the dynamic programming table: two rows back, one row back, current.
  std::vector<Index> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<Index>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = static_cast<Index>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

namespace {

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

bool near_enough(std::string_view name, std::string_view candidate, Index distance) {
  if (name.size() >= 3 && candidate.starts_with(name)) return true;
  const Index longer = static_cast<Index>(std::max(name.size(), candidate.size()));
  return distance < longer && distance <= std::max<Index>(1, longer / 3);
}

}  // namespace

std::string nearest(std::string_view name, std::span<const std::string> candidates) {
  std::string best;
  Index least = 0;
  for (const std::string& candidate : candidates) {
    if (equal_ignoring_case(name, candidate)) return candidate;
    const Index distance = text_distance(name, candidate);
    if (!near_enough(name, candidate, distance) || (!best.empty() && distance >= least)) continue;
    best = candidate;
    least = distance;
  }
  return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  const std::string best = nearest(name, candidates);
  return best.empty() ? std::string() : fmt::format("; did you mean {}?", in_quotes(best));
}

}  // namespace unfold
