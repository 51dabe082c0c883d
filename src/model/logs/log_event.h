#pragma once
/// The parts of a log line that the log model counts: its template and its values, each with the label of its position.
///
///   LogEventReader reader;
///   const LogEvent& event = reader.read(line);
///   event.template_id;         // a hash of the shape, the same in every run
///   event.values[0].label;     // "status" for a named field, otherwise the placeholder after its two tokens: "port
///   <num>"
///
/// The value of a named field has the label of its key in all templates. `role` identifies a field that groups lines,
/// such as a process or a request: the key, or the name of the rule with its number in the line.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/logs/log_lines.h"

namespace unfold {

struct LogEventValue {
  std::string_view name, text, key;  ///< see MaskedValue
  std::uint64_t label = 0, role = 0, hash = 0;
  /// For texts that consist of several parts: a hash of the text without the parts that contain digits.
  std::optional<std::uint64_t> pattern = {};
  std::optional<double> number = {};
  std::string_view before[2] = {};  ///< the tokens before a value without a key
};

struct LogEvent {
  std::uint64_t template_id = 0;
  std::string_view shape;
  std::vector<LogEventValue> values;  ///< values of the line, excluding times
};

class LogEventReader {
 public:
  /// The returned event refers to the line.
  const LogEvent& read(const LogLine& line);

 private:
  LogEvent event_;
  std::vector<std::string_view> tokens_;
};

/// Returns a readable name: the key, or the placeholder after the two tokens before it.
std::string label_text(const LogEventValue& value);
/// Returns the name of a role: "request_id", "pid", "id.2".
std::string role_text(const LogEventValue& value, const LogEvent& event);
/// Returns eight hexadecimal digits.
std::string template_name(std::uint64_t template_id);
/// Returns the number at the beginning of a value with or without a unit; std::nullopt for other texts and for
/// identifiers.
std::optional<double> number_of_value(std::string_view text);

}  // namespace unfold
