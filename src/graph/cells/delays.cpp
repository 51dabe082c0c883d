#include "graph/cells/delays.h"

#include <charconv>

namespace unfold {

namespace {
constexpr Index kLongestDelay = 10000;
}

std::vector<Index> parse_delays(const std::string& text) {
  std::vector<Index> delays;
  const char *at = text.data(), *end = at + text.size();
  while (true) {
    Index delay = 0;
    const auto [next, error] = std::from_chars(at, end, delay);
    if (error != std::errc() || delay < 1 || delay > kLongestDelay) return {};
    if (!delays.empty() && delay <= delays.back()) return {};
    delays.push_back(delay);
    if (next == end) return delays;
    if (*next != '+') return {};
    at = next + 1;
  }
}

std::string delays_fault(const std::string& text) {
  if (!parse_delays(text).empty()) return "";
  return "delays are ascending integers from 1 to " + std::to_string(kLongestDelay) +
         " with + between them, such as 1+2+4; \"" + text + "\" is not";
}

DelayedState::DelayedState(Circuit& c, Index n, const std::vector<Index>& delays, bool trained_initial) : circuit_(c) {
  if (delays.empty()) throw UsageError("a cell needs at least one delay");
  links_.reserve(delays.size());
  names_.reserve(delays.size());
  for (const Index delay : delays) {
    links_.push_back(c.link(n, Delay::previous(delay), trained_initial));
    names_.push_back(delay == 1 ? "U" : "U" + std::to_string(delay));
  }
}

void DelayedState::add_terms(std::vector<Term>& terms, const Init& init) const {
  terms.reserve(terms.size() + links_.size());
  for (std::size_t i = 0; i < links_.size(); ++i) terms.push_back({names_[i], links_[i], init});
}

void DelayedState::feed(Signal h) const {
  for (const Signal& link : links_) circuit_.feed(link, h);
}

}  // namespace unfold
