#include "data/readers/json_scanner.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "base/utf8.h"
#include "data/cells/numeric_cell.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace unfold {
namespace {

constexpr std::size_t kMostDistinctKeys = 64;   ///< the time of the comparison is quadratic
constexpr std::size_t kMostIntegerDigits = 18;  ///< the value fits into 64 bits

bool is_json_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

/// Returns whether a byte ends the plain part of a string: a quote, a backslash or a control character.
bool is_special_byte(char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20; }

/// Returns the first such byte; `end` if there is none. Compares sixteen or eight bytes at a time.
const char* find_special_byte(const char* next, const char* end) {
#ifdef __SSE2__
  for (constexpr std::ptrdiff_t kBytes = 16; end - next >= kBytes; next += kBytes) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(next));
    const __m128i controls = _mm_cmpeq_epi8(_mm_min_epu8(block, _mm_set1_epi8(0x1F)), block);
    const __m128i marks =
        _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('"')), _mm_cmpeq_epi8(block, _mm_set1_epi8('\\')));
    const auto found = static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(controls, marks)));
    if (found != 0) return next + std::countr_zero(found);
  }
#endif
  constexpr std::uint64_t kEach = 0x0101010101010101, kHigh = 0x80 * kEach, kLow = ~kHigh;
  const auto zeros = [](std::uint64_t word) { return ~(((word & kLow) + kLow) | word | kLow); };
  while (std::endian::native == std::endian::little && end - next >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, next, sizeof word);
    const std::uint64_t controls = ~(((word & kLow) + 0x60 * kEach) | word) & kHigh;
    const std::uint64_t found = zeros(word ^ '"' * kEach) | zeros(word ^ '\\' * kEach) | controls;
    if (found != 0) return next + std::countr_zero(found) / 8;
    next += sizeof word;
  }
  return std::find_if(next, end, is_special_byte);
}

/// Reads the four hexadecimal digits of a code unit; false if there are none.
bool read_code_unit(std::string_view text, std::size_t begin, char32_t& unit) {
  constexpr std::size_t kUnitDigits = 4;
  if (text.size() < begin + kUnitDigits) return false;
  unit = 0;
  for (const char c : text.substr(begin, kUnitDigits)) {
    const char lower = static_cast<char>(c | 0x20);
    const bool letter = lower >= 'a' && lower <= 'f';
    if (!letter && !is_json_digit(c)) return false;
    unit = unit * 16 + static_cast<char32_t>(letter ? lower - 'a' + 10 : c - '0');
  }
  return true;
}

/// Appends the code point of an escape sequence \uXXXX, or of the two sequences of a surrogate pair. Returns the number
/// of characters read; 0 if the sequence is not valid.
std::size_t append_code_point(std::string_view escape, std::string& out) {
  constexpr std::size_t kEscapeSize = 6;
  char32_t code = 0, low = 0;
  if (!read_code_unit(escape, 2, code)) return 0;
  const bool pair = code >= 0xD800 && code < 0xDC00;
  if (pair) {
    if (escape.substr(kEscapeSize, 2) != "\\u" || !read_code_unit(escape, kEscapeSize + 2, low)) return 0;
    if (low < 0xDC00 || low > 0xDFFF) return 0;
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  } else if (code >= 0xDC00 && code <= 0xDFFF) {
    return 0;
  }
  append_utf8(out, code);
  return pair ? 2 * kEscapeSize : kEscapeSize;
}

/// Returns the character of an escape sequence of two characters; 0 if there is none.
char json_escape(char c) {
  constexpr std::string_view kLetters = "\"\\/bfnrt", kCharacters = "\"\\/\b\f\n\r\t";
  const std::size_t place = kLetters.find(c);
  return place == std::string_view::npos ? '\0' : kCharacters[place];
}

}  // namespace

bool JsonScanner::scan(std::string_view text) {
  next_ = text.data();
  end_ = next_ + text.size();
  used_ = 0;
  entries_.clear();
  repeats_keys_ = accepted_;
  accepted_ = scan_members();
  return accepted_;
}

bool JsonScanner::scan_members() {
  std::size_t count = 0;
  skip_blanks();
  if (!accept('{')) return false;
  skip_blanks();
  if (!accept('}')) {
    do {
      if (!scan_member(count++)) return false;
      skip_blanks();
    } while (accept(','));
    if (!accept('}')) return false;
  }
  skip_blanks();
  if (next_ != end_) return false;
  repeats_keys_ = repeats_keys_ && count == members_.size();
  members_.resize(count);
  return repeats_keys_ || has_distinct_keys();
}

bool JsonScanner::scan_member(std::size_t place) {
  skip_blanks();
  if (place == members_.size()) {
    members_.emplace_back();
    repeats_keys_ = false;
  }
  JsonMember& member = members_[place];
  repeats_keys_ = repeats_keys_ && accept_key(member.key);
  if (!repeats_keys_) {
    const std::size_t used = used_;
    if (!scan_string(member.key) || used_ > used) return false;
  }
  skip_blanks();
  if (!accept(':')) return false;
  skip_blanks();
  return scan_value(member);
}

/// Accepts a key between quotes that is equal to a key of the preceding object, which then refers to it.
bool JsonScanner::accept_key(std::string_view& key) {
  const std::size_t size = key.size();
  const bool equal = static_cast<std::size_t>(end_ - next_) >= size + 2 && next_[0] == '"' && next_[size + 1] == '"' &&
                     std::equal(key.begin(), key.end(), next_ + 1);
  if (!equal) return false;
  key = {next_ + 1, size};
  next_ += size + 2;
  return true;
}

bool JsonScanner::scan_value(JsonMember& member) { return accept('[') ? scan_list(member) : scan_scalar(member); }

bool JsonScanner::scan_list(JsonMember& list) {
  using Kind = JsonMember::Kind;
  list.kind = Kind::list;
  list.begin = entries_.size();
  bool texts = false, numbers = false;
  do {
    JsonMember& entry = entries_.emplace_back();
    skip_blanks();
    if (!scan_scalar(entry)) return false;
    skip_blanks();
    numbers = numbers || entry.kind == Kind::number;
    texts = texts || entry.kind == Kind::string || entry.kind == Kind::boolean;
  } while (accept(','));
  list.size = entries_.size() - list.begin;
  return accept(']') && !(texts && numbers);
}

bool JsonScanner::scan_scalar(JsonMember& member) {
  using Kind = JsonMember::Kind;
  if (next_ == end_) return false;
  const auto word = [&](std::string_view expected, Kind kind) {
    if (!std::string_view(next_, static_cast<std::size_t>(end_ - next_)).starts_with(expected)) return false;
    member.kind = kind;
    member.text = {next_, expected.size()};
    next_ += expected.size();
    return true;
  };
  switch (*next_) {
    case '"': member.kind = Kind::string; return scan_string(member.text);
    case 'n': return word("null", Kind::null);
    case 't': return word("true", Kind::boolean);
    case 'f': return word("false", Kind::boolean);
    default: member.kind = Kind::number; return scan_number_value(member);
  }
}

bool JsonScanner::scan_string(std::string_view& contents) {
  if (!accept('"')) return false;
  const char* const begin = next_;
  bool escapes = false;
  for (;;) {
    const char* const found = find_special_byte(next_, end_);
    if (found == end_) return false;
    if (*found == '"') {
      contents = {begin, static_cast<std::size_t>(found - begin)};
      next_ = found + 1;
      return !escapes || unescape(contents);
    }
    if (*found != '\\' || end_ - found < 2) return false;
    escapes = true;
    next_ = found + 2;
  }
}

/// Replaces the contents of a string with a copy without escape sequences; false if one is not valid.
bool JsonScanner::unescape(std::string_view& contents) {
  if (used_ == unescaped_.size()) unescaped_.emplace_back();
  std::string& plain = unescaped_[used_++];
  plain.clear();
  for (std::string_view rest = contents; !rest.empty();) {
    const std::size_t size = std::min(rest.find('\\'), rest.size());
    plain.append(rest.substr(0, size));
    rest.remove_prefix(size);
    if (rest.empty()) break;
    std::size_t read = 2;
    if (rest[1] == 'u') {
      read = append_code_point(rest, plain);
      if (read == 0) return false;
    } else {
      const char c = json_escape(rest[1]);
      if (c == '\0') return false;
      plain += c;
    }
    rest.remove_prefix(read);
  }
  contents = plain;
  return true;
}

bool JsonScanner::scan_number_value(JsonMember& member) {
  const char* at = next_;
  const auto skip_digits = [&] {
    const char* const begin = at;
    while (at != end_ && is_json_digit(*at)) ++at;
    return static_cast<std::size_t>(at - begin);
  };
  const auto skip = [&](auto... characters) {
    const bool found = at != end_ && ((*at == characters) || ...);
    at += found ? 1 : 0;
    return found;
  };
  const bool negative = skip('-'), zero = at != end_ && *at == '0';
  const std::size_t digits = skip_digits();
  if (digits == 0 || (zero && digits > 1)) return false;
  member.integer = true;
  if (skip('.')) {
    if (skip_digits() == 0) return false;
    member.integer = false;
  }
  if (skip('e', 'E')) {
    skip('+', '-');
    if (skip_digits() == 0) return false;
    member.integer = false;
  }
  // The parser reads -0 as 0, and integers beyond 64 bits as numbers.
  if (member.integer && (digits > kMostIntegerDigits || (negative && zero))) return false;
  member.text = {next_, static_cast<std::size_t>(at - next_)};
  const NumberScan number = scan_number(member.text);
  member.value = number.value;
  member.shortest = number.shortest;
  member.exact = number.shape != NumberShape::big_integer;
  next_ = at;
  return number.shape != NumberShape::none && number.shape != NumberShape::infinite;
}

bool JsonScanner::has_distinct_keys() const {
  if (members_.size() > kMostDistinctKeys) return false;
  for (auto member = members_.begin(); member != members_.end(); ++member)
    for (auto before = members_.begin(); before != member; ++before)
      if (before->key == member->key) return false;
  return true;
}

}  // namespace unfold
