#include "base/utf8.h"
#include "check.h"
#include "data/logs/log_lines.h"
#include "unfold/base/error.h"

using namespace unfold;

/// Any line has a shape in valid UTF-8 with single blanks and as many placeholders as masked values. The text before
/// the first empty line is parsed as rules, which are rejected or round-trip.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const LogScanner scanner{LogRules()};
  const std::string_view text = as_text(data, size);
  LogLine line;
  scanner.scan(text, line);
  check(find_invalid_utf8(line.shape) == -1);
  check(line.shape.find("  ") == std::string::npos && line.shape.find('\n') == std::string::npos);
  for (const MaskedValue& value : line.masked) check(!value.text.empty());
  (void)begins_with_labels(text);
  const std::size_t rules = text.find("\n\n");
  if (rules == std::string_view::npos || rules > 200) return 0;
  try {
    const LogRules own = LogRules::parse(text.substr(0, rules), "rules");
    check(LogRules::parse(own.text(), "card").text() == own.text());
    LogScanner(own).scan(text.substr(rules + 2, 300), line);  // custom rules may be slow
  } catch (const UsageError&) {
  } catch (const DataError&) {  // rules that take too long
  }
  return 0;
}
