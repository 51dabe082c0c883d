#include "data/logs/session_lines.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace unfold {
namespace {

constexpr std::size_t kLinesForGuess = 1000, kLeastLines = 20, kMostEventKinds = 2000;

bool is_event_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '#'; }
bool is_decimal(char c) { return c >= '0' && c <= '9'; }

/// "5", "E22"
bool is_event_number(std::string_view word) {
  constexpr std::size_t kMostLetters = 8, kMostDigits = 6;
  const std::size_t letters = static_cast<std::size_t>(std::ranges::find_if_not(word, is_event_letter) - word.begin());
  const std::size_t digits = word.size() - letters;
  return letters <= kMostLetters && digits >= 1 && digits <= kMostDigits &&
         std::ranges::all_of(word.substr(letters), is_decimal);
}

/// Calls a function with the parts of each of the first lines that is not empty.
void for_first_lines(std::string_view text, SessionLines how, const auto& use) {
  SessionLineParts parts;
  for (std::size_t lines = 0; !text.empty() && lines < kLinesForGuess;) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    how.split(text.substr(0, end), parts);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (parts.events.empty()) continue;
    ++lines;
    use(parts);
  }
}

}  // namespace

void SessionLines::split(std::string_view line, SessionLineParts& parts) const {
  constexpr std::string_view kEventSeparators = " \t,;\r";
  parts.id = {};
  parts.events.clear();
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(kEventSeparators), line.size()));
    if (line.empty()) break;
    const std::size_t size = std::min(line.find_first_of(kEventSeparators), line.size());
    if (has_id && parts.id.empty())
      parts.id = line.substr(0, size);
    else
      parts.events.push_back(line.substr(0, size));
    line.remove_prefix(size);
  }
}

std::optional<SessionLines> guess_session_lines(std::string_view text) {
  std::unordered_set<std::string_view> firsts, events;
  std::size_t lines = 0, words = 0, numbers = 0, repeated_firsts = 0;
  for_first_lines(text, {}, [&](const SessionLineParts& parts) {
    ++lines;
    repeated_firsts += !firsts.insert(parts.events.front()).second;
    for (std::size_t i = 1; i < parts.events.size(); ++i) {
      ++words;
      if (!is_event_number(parts.events[i])) continue;
      ++numbers;
      events.insert(parts.events[i]);
    }
  });
  if (lines < kLeastLines || words < 2 * lines || 20 * (words - numbers) > words || 10 * events.size() > words ||
      events.size() > kMostEventKinds)
    return std::nullopt;
  return SessionLines{.has_id = 10 * repeated_firsts <= lines};
}

SessionEvidence session_evidence(std::string_view text) {
  const std::optional<SessionLines> found = guess_session_lines(text);
  if (!found) return SessionEvidence::none;
  std::unordered_map<std::size_t, std::size_t> lengths;
  std::size_t lines = 0, most = 0, numbered = 0;
  for_first_lines(text, *found, [&](const SessionLineParts& parts) {
    ++lines;
    most = std::max(most, ++lengths[parts.events.size()]);
    numbered += is_event_number(parts.id) && is_decimal(parts.id[0]);
  });
  if (20 * most > 19 * lines) return SessionEvidence::none;  // a matrix
  return found->has_id && 2 * numbered <= lines ? SessionEvidence::clear : SessionEvidence::ambiguous;
}

}  // namespace unfold
