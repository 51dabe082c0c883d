#pragma once
/// A fast scanner of JSON objects whose members are strings, numbers, true, false, null, or lists of them.
///
///   JsonScanner scanner;
///   if (scanner.scan(line))
///     for (const JsonMember& member : scanner.members()) ...
///
/// The scanner accepts a subset of the objects that `object_in_line` (json_lines.h) accepts, and returns the same
/// values. A caller passes all other texts to `object_in_line`: objects inside objects or lists, lists that are empty
/// or mix texts and numbers, repeated keys, escape sequences in keys, numbers with many digits, and texts that are not
/// valid JSON.

#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace unfold {

struct JsonMember {
  enum class Kind { null, boolean, string, number, list };
  std::string_view key;  ///< empty for the entries of a list
  Kind kind = Kind::null;
  std::string_view text;            ///< contents of a string; numbers, true and false as they are written
  double value = 0;                 ///< value of a number
  bool integer = false;             ///< a number without decimals and exponent
  bool exact = true;                ///< false for an integer beyond 2^53, which `value` may not represent exactly
  bool shortest = false;            ///< the text of a number is certainly the shortest one of its value
  std::size_t begin = 0, size = 0;  ///< the entries of a list
};

class JsonScanner {
 public:
  /// Scans an object. Returns false for a text that must be parsed by `object_in_line`. The text must be valid UTF-8
  /// and must not change until the scan after the next one.
  bool scan(std::string_view text);
  /// Returns the members of the last object in the order in which they are written; valid until the next scan.
  const std::vector<JsonMember>& members() const { return members_; }
  /// Returns the entries of a list, all of which are texts (strings, true and false) or all numbers, or null.
  std::span<const JsonMember> entries(const JsonMember& list) const {
    return std::span(entries_).subspan(list.begin, list.size);
  }
  /// Returns whether the last object has the keys of the object that was scanned before it, in the same order.
  bool repeats_keys() const { return repeats_keys_; }

 private:
  bool scan_members();
  bool scan_member(std::size_t place);
  bool accept_key(std::string_view& key);
  bool scan_value(JsonMember& member);
  bool scan_list(JsonMember& list);
  bool scan_scalar(JsonMember& member);
  bool scan_string(std::string_view& contents);
  bool scan_number_value(JsonMember& member);
  bool unescape(std::string_view& contents);
  bool has_distinct_keys() const;
  bool accept(char c) {
    if (next_ == end_ || *next_ != c) return false;
    ++next_;
    return true;
  }
  void skip_blanks() {
    while (next_ != end_ && (*next_ == ' ' || *next_ == '\t' || *next_ == '\n' || *next_ == '\r')) ++next_;
  }

  const char *next_ = nullptr, *end_ = nullptr;  ///< the rest of the text
  std::vector<JsonMember> members_;
  std::vector<JsonMember> entries_;  ///< entries of all lists, one list after another
  bool accepted_ = false;            ///< the last scan succeeded, so `members_` has the keys of its object
  bool repeats_keys_ = false;
  std::deque<std::string> unescaped_;  ///< strings that have escape sequences in the text
  std::size_t used_ = 0;               ///< number of these strings in the current object
};

}  // namespace unfold
