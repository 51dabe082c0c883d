#include "data/schema/inference/column_profile.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "data/cells/date_scan.h"
#include "data/schema/column_names.h"
#include "data/schema/missing_cells.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace unfold {
namespace {

constexpr std::size_t kLongestCode = 64;
constexpr std::size_t kMostUnits = 8;  ///< cells with further units are text
constexpr Index kDistinctPerRecent = 32;
constexpr std::size_t kMonthWithPoint = 7;  ///< characters of 01.2016
constexpr int kYearDigits = 4;

bool is_hex_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

bool is_uuid(std::string_view cell) {
  if (cell.size() == 38 && cell.front() == '{' && cell.back() == '}') cell = cell.substr(1, 36);
  if (cell.size() != 36) return false;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? cell[i] != '-' : !is_hex_digit(cell[i])) return false;
  }
  return true;
}

bool is_week_name(std::string_view name) {
  const std::string lower = lower_name(name);
  return lower == "kw" || lower == "cw" || lower == "wk" || lower == "week" || lower == "woche" ||
         lower == "kalenderwoche" || lower == "calendar_week";
}

unsigned mark_bit(char c) { return c == '-' ? 1 : c == '.' ? 2 : 4; }

std::optional<DateFormat> integer_format_of(double value, bool year) {
  const auto number = static_cast<Index>(value);
  if (year) return number >= 1000 && number <= 2999 ? std::optional(DateFormat::year) : std::nullopt;
  for (const DateFormat format :
       {DateFormat::compact, DateFormat::unix_seconds, DateFormat::unix_milliseconds, DateFormat::compact_month}) {
    if (date_of_integer(number, format)) return format;
  }
  return {};
}

}  // namespace

#ifdef __SSE2__
namespace {

/// Counts the words of the blocks of sixteen bytes of a text, except its first byte, and finds blanks and digits.
class TraitsOfBlocks {
 public:
  /// Examines the bytes from `bytes` on, of which the first `skipped` ones have been examined already. The byte before
  /// the block must be readable.
  void add(const char* bytes, std::size_t skipped) {
    const __m128i block = load(bytes), is_blank = blanks(block);
    const __m128i begins = _mm_andnot_si128(is_blank, blanks(load(bytes - 1)));
    const __m128i fresh = load(kFresh.data() + kBlock - skipped);
    words_ = _mm_add_epi64(
        words_, _mm_sad_epu8(_mm_and_si128(_mm_and_si128(begins, fresh), _mm_set1_epi8(1)), _mm_setzero_si128()));
    blank_ = _mm_or_si128(blank_, is_blank);
    const __m128i digits = _mm_sub_epi8(block, _mm_set1_epi8('0'));
    digit_ = _mm_or_si128(digit_, _mm_cmpeq_epi8(_mm_min_epu8(digits, _mm_set1_epi8(9)), digits));
  }
  Index words() const { return _mm_cvtsi128_si64(_mm_add_epi64(words_, _mm_srli_si128(words_, 8))); }
  bool has_blanks() const { return _mm_movemask_epi8(blank_) != 0; }
  bool has_digits() const { return _mm_movemask_epi8(digit_) != 0; }
  static constexpr std::size_t kBlock = 16;

 private:
  /// Sixteen bytes that are 0 and sixteen that are not.
  static constexpr auto kFresh = [] {
    std::array<char, 2 * kBlock> bytes = {};
    for (std::size_t i = kBlock; i < bytes.size(); ++i) bytes[i] = '\xFF';
    return bytes;
  }();
  static __m128i load(const char* bytes) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)); }
  static __m128i blanks(__m128i block) {
    const auto equals = [&](char c) { return _mm_cmpeq_epi8(block, _mm_set1_epi8(c)); };
    return _mm_or_si128(_mm_or_si128(equals(' '), equals('\t')), equals('\n'));
  }

  __m128i words_ = _mm_setzero_si128(), blank_ = words_, digit_ = words_;
};

}  // namespace
#endif

/// Examines sixteen or eight bytes at a time.
TextTraits text_traits(std::string_view text) {
#ifdef __SSE2__
  constexpr std::size_t kBlock = TraitsOfBlocks::kBlock;
  if (text.size() > kBlock) {
    const char first = text[0];
    const bool first_blank = first == ' ' || first == '\t' || first == '\n';
    TraitsOfBlocks blocks;
    std::size_t i = 1;
    for (; i + kBlock <= text.size(); i += kBlock) blocks.add(text.data() + i, 0);
    if (i < text.size()) blocks.add(text.data() + text.size() - kBlock, i + kBlock - text.size());
    const bool any_blank = first_blank || blocks.has_blanks();
    const bool any_digit = blocks.has_digits() || static_cast<unsigned char>(first - '0') < 10;
    return {.words = blocks.words() + (first_blank ? 0 : 1),
            .blanks = any_blank,
            .digits = any_digit,
            .code = any_digit && !any_blank && text.size() <= kLongestCode};
  }
#endif
  constexpr std::uint64_t kEach = 0x0101010101010101, kHigh = 0x80 * kEach, kLow = ~kHigh;
  const auto equals = [](std::uint64_t word, char c) {  // the high bits of the bytes that are `c`
    const std::uint64_t x = word ^ static_cast<unsigned char>(c) * kEach;
    return ~(((x & kLow) + kLow) | x | kLow);
  };
  Index words = 0;
  std::uint64_t blank = 0, digit = 0, before = 0x80;  // `before`: whether the byte before is a blank
  std::size_t i = 0;
  for (; std::endian::native == std::endian::little && i + 8 <= text.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + i, sizeof word);
    const std::uint64_t blanks = equals(word, ' ') | equals(word, '\t') | equals(word, '\n'), low = word & kLow;
    const std::uint64_t begins = (blanks << 8 | before) & ~blanks & kHigh;
    words += static_cast<Index>((begins >> 7) * kEach >> 56);
    blank |= blanks;
    digit |= (low + (0x80 - '0') * kEach) & ~(low + (0x80 - '0' - 10) * kEach) & ~word & kHigh;
    before = blanks >> 56;
  }
  for (; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_blank = c == ' ' || c == '\t' || c == '\n';
    blank |= is_blank ? 1 : 0;
    digit |= static_cast<unsigned char>(c - '0') < 10 ? 1 : 0;
    words += before != 0 && !is_blank ? 1 : 0;
    before = is_blank ? 0x80 : 0;
  }
  return {.words = words,
          .blanks = blank != 0,
          .digits = digit != 0,
          .code = digit != 0 && blank == 0 && text.size() <= kLongestCode};
}

ColumnProfile::ColumnProfile(std::string name, Index distinct_bound, const MissingCells& missing)
    : name_(std::move(name)),
      missing_(&missing),
      date_name_(is_date_name(name_)),
      year_name_(is_year_name(name_)),
      short_dates_(date_name_),
      week_name_(is_week_name(name_)),
      distinct_(distinct_bound),
      recent_(distinct_bound / kDistinctPerRecent) {}

ColumnProfile::Kind& ColumnProfile::count_first(int kind, std::string_view cell, Index line) {
  std::unique_ptr<Kind>& slot = kinds_[at(kind)];
  if (!slot) slot = std::make_unique<Kind>();
  ++slot->count;
  slot->cells.push_back({line, std::string(beginning_of(cell, kMostOddBytes))});
  return *slot;
}

[[gnu::always_inline]] inline void ColumnProfile::add_sentinel(double value) {
  const double magnitude = std::abs(value);
  const bool may_be_one = magnitude >= kSentinels.front() && magnitude <= kSentinels.back() &&
                          static_cast<double>(static_cast<std::int32_t>(magnitude)) == magnitude;
  for (std::size_t i = 0; may_be_one && i < kSentinels.size() && magnitude >= kSentinels[i]; ++i) {
    if (magnitude != kSentinels[i] || (value >= 0 && magnitude < kLeastPositiveSentinel)) continue;
    ++sentinels_[i + (value < 0 ? kSentinels.size() : 0)];
    return;
  }
  ordinary_least_ = std::min(ordinary_least_, value);
  ordinary_most_ = std::max(ordinary_most_, value);
}

[[gnu::always_inline]] inline void ColumnProfile::add_number(const NumberScan& scan, std::string_view cell,
                                                             Index line) {
  Kind& kind = count(kNumbers + static_cast<int>(scan.shape), cell, line);
  if (scan.shape == NumberShape::infinite) return;
  last_number_ = scan.value;
  add_sentinel(scan.value);
  extremes_.add(scan.value, cell, line);
  if (kind.count == 1) {
    kind.least = kind.most = scan.value;
    kind.grouped_least = kind.grouped_most = scan.grouped;
    kind.narrowest = kind.widest = scan.digits;
  }
  kind.least = std::min(kind.least, scan.value);
  kind.most = std::max(kind.most, scan.value);
  kind.decimals = std::max(kind.decimals, scan.decimals);
  if (scan.shape == NumberShape::point) {
    if (kind.whole) kind.whole = cell.ends_with(".0");
    if (cell.size() == kMonthWithPoint && scan.decimals == kYearDigits) add_month_with_point(cell);
    return;
  }
  kind.grouped_least = std::min(kind.grouped_least, scan.grouped);
  kind.grouped_most = std::max(kind.grouped_most, scan.grouped);
  kind.narrowest = std::min(kind.narrowest, scan.digits);
  kind.widest = std::max(kind.widest, scan.digits);
  if (scan.shape != NumberShape::integer) return;
  const auto value = static_cast<std::uint64_t>(static_cast<Index>(scan.value));
  consecutive_ = consecutive_ && (kind.count == 1 || scan.value == last_integer_ + 1);
  last_integer_ = scan.value;
  integer_sum_ += value;
  integer_squares_ += value * value;
  if (date_name_) add_integer_date(scan.value);
}

[[gnu::always_inline]] inline void ColumnProfile::add_cell(std::string_view cell, Index line, std::uint64_t hash) {
  if (cell.empty()) {
    count(kEmpty, cell, line);
    return;
  }
  if (const std::size_t stated = stated_spelling(cell, *missing_); stated != kNoSpelling) {
    stated_missing_.resize(missing_->spellings.size());
    stated_missing_[stated] = true;
    count(kWord, cell, line);
    return;
  }
  if (may_spell_missing(cell)) {
    const MissingSpelling spelling = missing_spelling(cell, *missing_);
    if (spelling == MissingSpelling::word) {
      count(kWord, cell, line);
      return;
    }
    if (spelling == MissingSpelling::mark) {
      distinct_.add(hash);
      marks_ |= mark_bit(cell[0]);
      count(kMark, cell, line);
      return;
    }
  }
  last_hash_ = hash;
  if (const TextTraits* traits = recent_.find(cell, last_hash_); traits != nullptr)
    return count_text(cell, line, *traits);
  const std::string_view digits = year_name_ ? without_zero_decimals(cell) : cell;
  const NumberScan number = scan_number(digits);
  if (distinct_.add(last_hash_) && examples_.size() < kMostExamples)
    examples_.emplace_back(beginning_of(cell, kMostOddBytes));
  if (number.shape != NumberShape::none) {
    last_shape_ = number.shape;
    last_shortest_ = number.shortest && digits.size() == cell.size();
    if (unit_free_.size() < kMostOddCells) unit_free_.push_back({line, std::string(beginning_of(cell, kMostOddBytes))});
    add_number(number, cell, line);
    return;
  }
  // All dates have a digit. For most texts, this is known in less time than that they are not dates.
  const bool letter = (cell[0] >= 'a' && cell[0] <= 'z') || (cell[0] >= 'A' && cell[0] <= 'Z');
  const TextTraits traits = letter ? text_traits(cell) : TextTraits{};
  if (letter && !traits.digits) {
    if (!add_number_with_unit(cell, line)) add_text(cell, line, traits);
    return;
  }
  DateScan date = scan_date(cell);
  if (date.shape == DateScan::Shape::none && short_dates_) date = scan_short_date(cell);
  if (date.shape == DateScan::Shape::year_month && week_name_ && date.separator != 0) date = {};  // week 01/2016
  if (date.shape != DateScan::Shape::none)
    add_date(date, cell, line);
  else if (!add_number_with_unit(cell, line))
    add_text(cell, line, letter ? traits : text_traits(cell));
}

void ColumnProfile::add(std::string_view cell, Index line, std::uint64_t hash) {
  ++rows_;
  last_hash_ = 0;
  last_shape_ = NumberShape::none;
  last_number_ = std::numeric_limits<double>::quiet_NaN();
  add_cell(cell, line, hash);
  if (rows_ <= SerialDependence::kMostRows) serial_.add(last_hash_, last_number_);
}

bool ColumnProfile::add_number_with_unit(std::string_view cell, Index line) {
  const UnitCell split = split_unit(cell);
  if (split.number.empty()) return false;
  auto found = std::find_if(units_.begin(), units_.end(), [&](const UnitCount& u) { return u.unit == split.unit; });
  if (found == units_.end()) {
    if (units_.size() == kMostUnits) return false;
    found = units_.insert(units_.end(), UnitCount{.unit = std::string(split.unit), .cells = {}});
  }
  ++found->count;
  if (found->cells.size() < kMostOddCells) found->cells.push_back({line, std::string(cell)});
  add_number(scan_number(split.number), cell, line);
  return true;
}

/// Counts a number such as 01.2016, which may be a month.
void ColumnProfile::add_month_with_point(std::string_view cell) {
  const DateScan month = scan_short_date(cell);
  if (month.shape != DateScan::Shape::year_month) return;
  if (!dates_) dates_ = std::make_unique<Dates>();
  ++dates_->months_with_point;
  dates_->leading_zero = dates_->leading_zero || cell[0] == '0';
  dates_->day_first.add(month.moment);
}

void ColumnProfile::add_integer_date(double value) {
  const std::optional<DateFormat> format = integer_format_of(value, year_name_);
  if (!format) return;
  if (!dates_) dates_ = std::make_unique<Dates>();
  ++dates_->integers[static_cast<std::size_t>(*format)];
  dates_->integer_steps[static_cast<std::size_t>(*format) - static_cast<std::size_t>(DateFormat::year)].add(
      *date_of_integer(static_cast<Index>(value), *format));
}

void ColumnProfile::add_date(const DateScan& scan, std::string_view cell, Index line) {
  count(kDates + static_cast<int>(scan.shape), cell, line);
  if (!dates_) dates_ = std::make_unique<Dates>();
  dates_->with_time += scan.moment.has_time ? 1 : 0;
  if (scan.separator != 0) dates_->separator = scan.separator;
  using Shape = DateScan::Shape;
  const bool readings = scan.shape == Shape::day_or_month_first || scan.shape == Shape::month_first;
  const Index with_readings = dates(Shape::day_or_month_first) + dates(Shape::month_first);
  const bool first = readings && with_readings == 1 && dates(Shape::day_first) == 0;
  if (first) dates_->month_first = dates_->day_first;  // earlier dates such as 2024-01-31
  dates_->day_first.add(scan.moment);
  if (readings) dates_->month_first.add(scan.month_first);
  if (with_readings > 0 && scan.shape == Shape::year_first) dates_->month_first.add(scan.moment);
}

void ColumnProfile::add_text(std::string_view cell, Index line, const TextTraits& traits) {
  if (cell.size() >= 36 && is_uuid(cell)) ++uuids_;
  count_text(cell, line, traits);
  recent_.add(cell, last_hash_, traits);
}

void ColumnProfile::count_text(std::string_view cell, Index line, const TextTraits& traits) {
  count(kText, cell, line);
  text_bytes_ += static_cast<Index>(cell.size());
  words_ += traits.words;
  texts_with_blanks_ += traits.blanks ? 1 : 0;
  code_texts_ += traits.code ? 1 : 0;
}

Index ColumnProfile::all_numbers() const {
  Index sum = 0;
  for (int s = 1; s < kNumberShapes; ++s) sum += of(kNumbers + s);
  return sum;
}

Index ColumnProfile::all_dates() const {
  Index sum = 0;
  for (int s = 1; s < kDateShapes; ++s) sum += of(kDates + s);
  return sum;
}

std::string_view beginning_of(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return text.substr(0, most);
}

}  // namespace unfold
