#pragma once
/// The style in which the dates of a column are written, used to write further dates in the same way.
///
///   const DateStyle style = DateStyle::of_cells(cells, DateFormat::month_name);   // "Nov-18", "Dec-18"
///   style.write(moment)                                                          // "Jan-19"
///
/// Cells are divided into digits, letters and other characters. A piece represents the part of the date (year, name of
/// the month, hour, ...) that matches it in all cells; if several parts match, the format decides. The time zone is
/// taken from the last cell. If the cells cannot be described in this way, dates are written with `format_moment`
/// (time_index.h).

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/cells/date_cell.h"
#include "data/cells/date_names.h"

namespace unfold::forecasting {

class DateStyle {
 public:
  DateStyle(DateFormat format = DateFormat::year_month_day) : format_(format) {}
  /// Learns the style of the cells that `parse_date` reads in this format; other cells are ignored. At most a thousand
  /// cells are examined.
  static DateStyle of_cells(std::span<const std::string> cells, DateFormat format);
  std::string write(const Moment& moment) const;

 private:
  enum class Part : unsigned char;
  struct Piece {
    Part part;
    std::string text;  // text of a literal; empty for other parts
    std::size_t width = 0;
    const DateNames* names = nullptr;  // of months and weekdays
  };
  class Learner;
  static std::string text_of(const Piece& piece, const Moment& moment);

  DateFormat format_;
  std::vector<Piece> pieces_;  // if empty, format_moment is used
};

}  // namespace unfold::forecasting
