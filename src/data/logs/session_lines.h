#pragma once
/// Session files: each line holds the events of one session, such as `blk_7,5 5 22 11 9` or `E5 E5 E22`.
///
///   const std::optional<SessionLines> found = guess_session_lines(text);
///   found->split(line, parts);   // parts.id "blk_7", parts.events {"5", "5", "22", "11", "9"}
///
/// Blanks, commas, semicolons and tabs separate events.

#include <optional>
#include <string_view>
#include <vector>

namespace unfold {

struct SessionLineParts {
  std::string_view id = {};  ///< empty: lines have no identifier
  std::vector<std::string_view> events = {};
};

struct SessionLines {
  bool has_id = false;  ///< the first word of each line is an identifier

  /// `parts` refers to the line.
  void split(std::string_view line, SessionLineParts& parts) const;
};

/// Returns how sessions are written in a text whose first lines consist of event numbers: words with few different
/// values, each a number after at most eight letters. No value for other texts.
std::optional<SessionLines> guess_session_lines(std::string_view text);

/// Whether the lines of a file whose format is not known are sessions. They must consist of event numbers and differ in
/// length. If there are no identifiers, or if the identifiers are small numbers, the lines may also be other data.
enum class SessionEvidence { none, ambiguous, clear };
SessionEvidence session_evidence(std::string_view text);

}  // namespace unfold
