#include "model/forecast/date_style.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "data/cells/civil_date.h"
#include "model/forecast/time_index.h"

namespace unfold::forecasting {

/// The parts of a date, in the order of preference if several match a piece (see `Learner::preferred`).
enum class DateStyle::Part : unsigned char {
  year_month_day,
  year_month,
  unix_milliseconds,
  unix_seconds,
  year,
  two_digit_year,
  month_name,
  month_abbreviation,
  month,
  plain_month,
  day,
  plain_day,
  weekday_name,
  weekday_abbreviation,
  hour,
  plain_hour,
  hour_of_half,
  plain_hour_of_half,
  half_of_day,
  time_of_day,
  minute,
  second,
  fraction,
  // Parts that occur only in the formats of quarters and weeks:
  quarter,
  week_year,
  two_digit_week_year,
  week,
  plain_week,
  weekday,
  literal
};

namespace {

constexpr std::size_t kExaminedCells = 1001, kMostPieces = 24;
enum class PieceKind { digits, letters, other };

PieceKind kind_of(char c) {
  if (c >= '0' && c <= '9') return PieceKind::digits;
  const bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 0xC3;
  return letter || (static_cast<unsigned char>(c) & 0xC0) == 0x80 ? PieceKind::letters : PieceKind::other;
}

std::vector<std::string_view> pieces_of(std::string_view text) {
  std::vector<std::string_view> pieces;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
    while (end < text.size() && kind_of(text[end]) == kind_of(text[at])) ++end;
    pieces.push_back(text.substr(at, end - at));
  }
  return pieces;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

/// Returns the part of a cell that specifies the time zone, with the preceding blanks: "Z", " UTC", "+02:00".
std::string_view zone_of(std::string_view text, const Moment& moment) {
  if (!moment.zone) return {};
  std::size_t at = text.size();
  while (at > 0 && kind_of(text[at - 1]) == PieceKind::letters) --at;
  if (at == text.size()) {
    while (at > 0 && (kind_of(text[at - 1]) == PieceKind::digits || text[at - 1] == ':')) --at;
    if (at == 0 || (text[at - 1] != '+' && text[at - 1] != '-')) return {};
    --at;
  } else if (const std::string_view word = text.substr(at);
             (word[0] == 'p' || word[0] == 'P' || word[0] == 'a' || word[0] == 'A') && word.size() == 2) {
    return {};
  }
  while (at > 0 && text[at - 1] == ' ') --at;
  return text.substr(at);
}

enum class LetterCase { title, upper, lower };

LetterCase case_of(std::string_view text) {
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto is_small = [](char c) { return c >= 'a' && c <= 'z'; };
  if (std::ranges::none_of(text, is_small)) return LetterCase::upper;
  return is_upper(text[0]) ? LetterCase::title : LetterCase::lower;
}

/// Returns the word, which begins with a capital letter, in the given letter case; À to ÿ are letters.
std::string in_case(std::string word, LetterCase how) {
  if (how == LetterCase::lower) return lower_date_word(word);
  for (std::size_t i = 0; i < word.size() && how == LetterCase::upper; ++i) {
    const bool accented = i > 0 && word[i - 1] == '\xC3' && static_cast<unsigned char>(word[i]) >= 0xA0;
    if ((word[i] >= 'a' && word[i] <= 'z') || accented) word[i] = static_cast<char>(word[i] - 32);
  }
  return word;
}

/// ISO 8601 week of a day: the year that contains the Thursday of the week, the number of the week, and the day of the
/// week, 1 for Monday.
struct IsoWeek {
  Index year = 1970, week = 1, weekday = 1;
};

IsoWeek iso_week(Index days) {
  const Index since_monday = ((days + 3) % 7 + 7) % 7;  // 1970-01-01 was a Thursday
  const Index thursday = days - since_monday + 3, year = civil_from_days(thursday).year;
  return {.year = year, .week = (thursday - days_from_civil(year, 1, 1)) / 7 + 1, .weekday = since_monday + 1};
}

}  // namespace

/// Returns the text of a part. `piece.text` is a literal, or a word that indicates the letter case.
std::string DateStyle::text_of(const Piece& piece, const Moment& m) {
  const CivilDate c = civil_from_days(m.days);
  const IsoWeek week = iso_week(m.days);
  const Index hour = m.second / 3600, hour_of_half = (hour + 11) % 12 + 1;
  const auto number = [](Index value, int width) { return fmt::format("{:0{}}", value, width); };
  const auto name = [&](Index place) {
    const std::string_view text = piece.names->names[at(place - 1)];
    return in_case(std::string(text), case_of(piece.text));
  };
  switch (piece.part) {
    case Part::year_month_day: return fmt::format("{:04}{:02}{:02}", c.year, c.month, c.day);
    case Part::year_month: return fmt::format("{:04}{:02}", c.year, c.month);
    case Part::unix_milliseconds: return fmt::format("{}", m.epoch_seconds() * 1000 + m.nanosecond / 1'000'000);
    case Part::unix_seconds: return fmt::format("{}", m.epoch_seconds());
    case Part::year: return number(c.year, 4);
    case Part::two_digit_year: return number(c.year % 100, 2);
    case Part::month_name:
    case Part::month_abbreviation: return name(c.month);
    case Part::month: return number(c.month, 2);
    case Part::plain_month: return number(c.month, 1);
    case Part::day: return number(c.day, 2);
    case Part::plain_day: return number(c.day, 1);
    case Part::weekday_name:
    case Part::weekday_abbreviation: return name(week.weekday);
    case Part::hour: return number(hour, 2);
    case Part::plain_hour: return number(hour, 1);
    case Part::hour_of_half: return number(hour_of_half, 2);
    case Part::plain_hour_of_half: return number(hour_of_half, 1);
    case Part::half_of_day: return in_case(hour < 12 ? "AM" : "PM", case_of(piece.text));
    case Part::time_of_day: return fmt::format("{:02}{:02}{:02}", hour, m.second / 60 % 60, m.second % 60);
    case Part::minute: return number(m.second / 60 % 60, 2);
    case Part::second: return number(m.second % 60, 2);
    case Part::fraction: return fmt::format("{:09}", m.nanosecond).substr(0, std::min<std::size_t>(piece.width, 9));
    case Part::quarter: return number((c.month - 1) / 3 + 1, 1);
    case Part::week_year: return number(week.year, 4);
    case Part::two_digit_week_year: return number(week.year % 100, 2);
    case Part::week: return number(week.week, 2);
    case Part::plain_week: return number(week.week, 1);
    case Part::weekday: return number(week.weekday, 1);
    default: return piece.text;
  }
}

/// Finds the parts that match the pieces in all cells.
class DateStyle::Learner {
 public:
  explicit Learner(DateFormat format) : format_(format) {}

  /// Returns false if no style describes both this cell and the earlier cells.
  bool see(std::string_view cell, const Moment& moment) {
    const std::vector<std::string_view> pieces = pieces_of(cell);
    if (candidates_.empty()) {
      if (pieces.size() > kMostPieces) return false;
      for (const std::string_view piece : pieces) candidates_.push_back(all_parts(piece));
    }
    if (pieces.size() != candidates_.size()) return false;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      std::erase_if(candidates_[i], [&](Piece& candidate) {
        if (candidate.part == Part::fraction && candidate.width != pieces[i].size()) return true;
        return text_of(candidate, moment) != pieces[i];
      });
      if (candidates_[i].empty()) return false;
    }
    return true;
  }

  /// Returns one part for each piece; no part occurs twice.
  std::vector<Piece> result() const {
    const bool halves = std::ranges::any_of(candidates_, [](const std::vector<Piece>& parts) {
      return std::ranges::any_of(parts, [](const Piece& p) { return p.part == Part::half_of_day; });
    });
    std::vector<Piece> pieces;
    std::uint32_t used = 0;
    for (const std::vector<Piece>& candidates : candidates_) {
      const Piece* best = nullptr;
      for (const Piece& candidate : candidates)
        if (candidate.part == Part::literal || (used >> group_of(candidate.part) & 1) == 0)
          if (best == nullptr || preferred(candidate.part, halves) < preferred(best->part, halves)) best = &candidate;
      if (best == nullptr) return {};
      if (best->part != Part::literal) used |= std::uint32_t{1} << group_of(best->part);
      pieces.push_back(*best);
    }
    return pieces;
  }

 private:
  std::vector<Piece> all_parts(std::string_view piece) const {
    std::vector<Piece> parts;
    const bool letters = kind_of(piece[0]) == PieceKind::letters, digits = kind_of(piece[0]) == PieceKind::digits;
    for (int k = 0; k < static_cast<int>(Part::literal) && (letters || digits); ++k) {
      const auto part = static_cast<Part>(k);
      if (part >= Part::quarter && !may_have(part)) continue;
      if (is_word(part) != letters) continue;
      const Piece one{part, std::string(letters ? piece : ""), piece.size()};
      if (part == Part::half_of_day || !letters) {
        parts.push_back(one);
        continue;
      }
      const bool month = part == Part::month_name || part == Part::month_abbreviation;
      const bool abbreviated = part == Part::month_abbreviation || part == Part::weekday_abbreviation;
      for (const DateNames& names : month ? month_names() : weekday_names()) {
        if (names.abbreviated != abbreviated) continue;
        parts.push_back(one);
        parts.back().names = &names;
      }
    }
    parts.push_back({Part::literal, std::string(piece), piece.size()});
    return parts;
  }
  /// Returns whether dates of the format can have a part that occurs only in quarters and weeks.
  bool may_have(Part part) const {
    if (format_ == DateFormat::quarter) return part == Part::quarter;
    return format_ == DateFormat::week && part != Part::quarter;
  }
  static bool is_word(Part part) {
    return part == Part::month_name || part == Part::month_abbreviation || part == Part::weekday_name ||
           part == Part::weekday_abbreviation || part == Part::half_of_day;
  }
  /// Returns the group of a part. Parts of one group express the same component of a date.
  static int group_of(Part part) {
    switch (part) {
      case Part::year_month_day:
      case Part::year_month:
      case Part::year:
      case Part::week_year:
      case Part::two_digit_week_year:
      case Part::two_digit_year: return 0;
      case Part::month_name:
      case Part::month_abbreviation:
      case Part::month:
      case Part::plain_month:
      case Part::quarter:
      case Part::week:
      case Part::plain_week: return 1;
      case Part::day:
      case Part::plain_day: return 2;
      case Part::weekday:
      case Part::weekday_name:
      case Part::weekday_abbreviation: return 3;
      case Part::hour:
      case Part::plain_hour:
      case Part::hour_of_half:
      case Part::plain_hour_of_half:
      case Part::time_of_day: return 4;
      case Part::minute: return 5;
      case Part::second: return 6;
      case Part::fraction: return 7;
      case Part::half_of_day: return 8;
      default: return 9;
    }
  }
  /// Returns the rank of a part in the order of preference.
  int preferred(Part part, bool halves) const {
    const int order = 2 * static_cast<int>(part);
    if (format_ == DateFormat::day_month_year && (part == Part::day || part == Part::plain_day))
      return order - 2 * (static_cast<int>(Part::day) - static_cast<int>(Part::month)) - 1;
    if (halves && (part == Part::hour_of_half || part == Part::plain_hour_of_half))
      return order - 2 * (static_cast<int>(Part::hour_of_half) - static_cast<int>(Part::hour)) - 1;
    if (part >= Part::quarter && part != Part::literal) return order - 2 * static_cast<int>(Part::literal);
    return order;
  }

  DateFormat format_;
  std::vector<std::vector<Piece>> candidates_;
};

DateStyle DateStyle::of_cells(std::span<const std::string> cells, DateFormat format) {
  DateStyle style(format);
  Learner learner(format);
  std::vector<std::pair<std::string_view, Moment>> seen;
  const std::size_t stride = (cells.size() + kExaminedCells - 1) / kExaminedCells;
  std::string_view zone;
  for (std::size_t i = 0; i < cells.size(); i += stride) {
    const std::size_t place = i + stride < cells.size() ? i : cells.size() - 1;  // the last cell is examined as well
    const std::string_view cell = trimmed(cells[place]);
    const std::optional<Moment> moment = parse_date(cell, format);
    if (!moment || cell.empty()) continue;
    zone = zone_of(cell, *moment);
    seen.emplace_back(cell.substr(0, cell.size() - zone.size()), *moment);
    if (!learner.see(seen.back().first, *moment)) return style;
  }
  style.pieces_ = learner.result();
  if (!zone.empty() && !style.pieces_.empty()) style.pieces_.push_back({Part::literal, std::string(zone), zone.size()});
  const bool same = std::ranges::all_of(
      seen, [&](const auto& cell) { return std::string_view(style.write(cell.second)).starts_with(cell.first); });
  if (!same) style.pieces_.clear();
  return style;
}

std::string DateStyle::write(const Moment& moment) const {
  if (pieces_.empty()) return format_moment(moment, format_);
  std::string text;
  for (const Piece& piece : pieces_) text += text_of(piece, moment);
  return text;
}

}  // namespace unfold::forecasting
