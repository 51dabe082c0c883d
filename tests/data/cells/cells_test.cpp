#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "data/cells/civil_date.h"
#include "data/cells/date_cell.h"
#include "data/cells/date_scan.h"
#include "data/cells/date_step.h"
#include "data/cells/numeric_cell.h"

namespace unfold {
namespace {

constexpr NumberConvention kPoint = {};
constexpr NumberConvention kComma = {DecimalMark::comma, ThousandsMark::none};
constexpr NumberConvention kPointCommas = {DecimalMark::point, ThousandsMark::comma};
constexpr NumberConvention kCommaPoints = {DecimalMark::comma, ThousandsMark::point};
constexpr NumberConvention kPointSpaces = {DecimalMark::point, ThousandsMark::space};

TEST(ParseNumber, ReturnsTheIntendedValue) {
  EXPECT_EQ(parse_number("1,200", kPointCommas), 1200);
  EXPECT_EQ(parse_number("1,200", kComma), 1.2);
  EXPECT_EQ(parse_number("3,5", kComma), 3.5);
  EXPECT_EQ(parse_number("1.234.567,89", kCommaPoints), 1234567.89);
  EXPECT_EQ(parse_number("1.234", kCommaPoints), 1234);
  EXPECT_EQ(parse_number("-1,234,567.5", kPointCommas), -1234567.5);
  EXPECT_EQ(parse_number("1 234.5", kPointSpaces), 1234.5);
  EXPECT_EQ(parse_number("1\xC2\xA0"
                         "234",
                         kPointSpaces),
            1234);
  EXPECT_EQ(parse_number("1e5"), 1e5);
  EXPECT_EQ(parse_number("2.5E-3"), 2.5e-3);
  EXPECT_EQ(parse_number("+3"), 3);
  EXPECT_EQ(parse_number(" .5 "), 0.5);
  EXPECT_EQ(parse_number("5."), 5);
  EXPECT_EQ(parse_number("0.1"), 0.1);
  EXPECT_EQ(parse_number("03"), 3);
  EXPECT_EQ(parse_number("123456789012345678901234567890.5"), 123456789012345678901234567890.5);
  EXPECT_EQ(parse_number("1e-999"), 0);
  EXPECT_EQ(parse_number("9007199254740992"), 9007199254740992);
}

TEST(ParseNumber, ReadsTheNotationsOfAccountsAndCountries) {
  EXPECT_EQ(parse_number("(12.50)"), -12.5);
  EXPECT_EQ(parse_number("(1,234)", kPointCommas), -1234);
  EXPECT_EQ(parse_number("\u22123.25"), -3.25);
  EXPECT_EQ(parse_number("1'234'567.5", kPointSpaces), 1234567.5);
  EXPECT_EQ(parse_number("1\u2019234", kPointSpaces), 1234);
  EXPECT_EQ(parse_number("12,34,567", kPointCommas), 1234567);
  EXPECT_EQ(parse_number("1,23,456.75", kPointCommas), 123456.75);
  for (const char* text : {"()", "(1", "1)", "(-1)", "(+1)", "((1))", "\u2212", "1'23", "5'11\"", "1'2345"})
    for (const NumberConvention& convention : {kPoint, kPointCommas, kPointSpaces})
      EXPECT_FALSE(parse_number(text, convention)) << text;
  for (const char* text : {"1,23,45", "1,23.5", "1,2,345", "12,34,56,7"})
    EXPECT_FALSE(parse_number(text, kPointCommas)) << text;
  EXPECT_EQ(split_unit("($12.50)").number, "-12.50");
  EXPECT_EQ(split_unit("($12.50)").unit, "$");
  EXPECT_EQ(split_unit("(12 %)").number, "-12");
  EXPECT_EQ(split_unit("(abc)").number, "");
}

TEST(SplitUnit, ReadsAmountsAsSpreadsheetsWriteThem) {
  const auto amount = [](const char* text, std::string_view unit) {
    const UnitCell split = split_unit(text);
    EXPECT_EQ(split.unit, unit) << text;
    return parse_number(split.number, kPointCommas);
  };
  EXPECT_EQ(amount("$563.00", "$"), 563);
  EXPECT_EQ(amount("$(1,134.39)", "$"), -1134.39);
  EXPECT_EQ(amount("$ (134.39)", "$"), -134.39);
  EXPECT_EQ(amount("\xE2\x88\x92€134.39", "€"), -134.39);
  EXPECT_EQ(amount("€\xE2\x88\x92"
                   "134.39",
                   "€"),
            -134.39);
  EXPECT_EQ(amount("\xE2\x88\x92"
                   "134.39 €",
                   "€"),
            -134.39);
  for (const char* zero : {"$ -", "$-", "- $"}) EXPECT_EQ(amount(zero, "$"), 0) << zero;
  for (const char* text : {"$", "$()", "$(a)", "-$(5)", "$ - 5 -", "EUROPE", "- %", "USDA", "+$"})
    EXPECT_EQ(split_unit(text).number, "") << text;
}

TEST(ParseNumber, ReadsAMinusBehindNumbersWithAMark) {
  EXPECT_EQ(parse_number("1.307,57-", kCommaPoints), -1307.57);
  EXPECT_EQ(parse_number("1.307-", kCommaPoints), -1307);
  EXPECT_EQ(parse_number("0,50-", kComma), -0.5);
  EXPECT_EQ(parse_number("1,307.57-", kPointCommas), -1307.57);
  EXPECT_EQ(parse_number("12.5-"), -12.5);
  for (const char* text : {"2-", "12-", "2024-", "-1.5-", "(1.5-)", "1.5--", "1.5 -", "+1.5-", ".-", "-", "1.5e2-"})
    EXPECT_FALSE(parse_number(text)) << text;
}

TEST(ShortestText, IsTheFormattedValue) {
  for (const char* text : {"0", "1", "-1", "12.5", "0.25", "-0.001", "-0", "999999999999999", "1e+20"})
    EXPECT_TRUE(is_shortest_text(text, scan_number(text).value)) << text;
  for (const char* text : {"+1", "01", "1.0", ".5", "1.", "1e5", "0.00001", "-0.0", "1.234.567"})
    EXPECT_FALSE(is_shortest_text(text, scan_number(text).value)) << text;
}

TEST(ShortestText, IsMarkedWhenANumberIsScanned) {
  for (const char* text : {"0", "1", "-1", "12.5", "0.25", "-0.001", "-0", "999999999999999", "1.234"})
    EXPECT_TRUE(scan_number(text).shortest) << text;
  for (const char* text : {"01", "1.0", "1.50", "00.5", "0.0001", "0.00001", "-0.0", "1234567890123456", "+1", "1e5"})
    EXPECT_FALSE(scan_number(text).shortest) << text;
}

RC_GTEST_PROP(ShortestText, IsMarkedOnlyIfItIsTheFormattedValue, ()) {
  const auto digits = rc::gen::container<std::string>(rc::gen::element('0', '0', '1', '5', '9'));
  std::string text = (*rc::gen::arbitrary<bool>() ? "-" : "") + *digits;
  if (*rc::gen::arbitrary<bool>()) text += "." + *digits;
  const NumberScan scan = scan_number(text);
  RC_ASSERT(!scan.shortest || fmt::format("{}", scan.value) == text);
  const bool usual =
      scan.shape != NumberShape::none && text.size() <= 8 && !text.starts_with("0.000") && !text.starts_with("-0.000");
  RC_ASSERT(!usual || scan.shortest == (fmt::format("{}", scan.value) == text));
}

/// A double with 53 random bits and an exponent for which most decimal texts have up to 19 digits.
double random_double() {
  const auto bits = *rc::gen::inRange<std::uint64_t>(std::uint64_t{1} << 52, std::uint64_t{1} << 53);
  return std::ldexp(static_cast<double>(bits), -*rc::gen::inRange(40, 66));
}

RC_GTEST_PROP(ScanNumber, RoundsLongDecimalsLikeTheStandardLibrary, ()) {
  std::string text = fmt::format("{:.{}f}", random_double(), *rc::gen::inRange(1, 20));
  text.back() = *rc::gen::element('0', '1', '4', '5', '6', '9');
  const NumberScan scan = scan_number(text);
  RC_ASSERT(scan.shape == NumberShape::point || scan.shape == NumberShape::point_three);
  RC_ASSERT(scan.value == std::strtod(text.c_str(), nullptr));
  RC_ASSERT(!scan.shortest || fmt::format("{}", scan.value) == text);
}

RC_GTEST_PROP(ShortestText, IsMarkedForUsualDoubles, ()) {
  const double value = random_double();
  const std::string text = fmt::format("{}", value);
  RC_PRE(text.find('.') != std::string::npos && text.find('e') == std::string::npos && text.size() <= 20 &&
         !text.starts_with("0.000"));
  RC_ASSERT(scan_number(text).value == value);
  RC_ASSERT(scan_number(text).shortest);
}

TEST(ShortestText, IsMarkedForLongDecimals) {
  for (const char* text : {"0.1234567890123456", "-0.30000000000000004", "3.141592653589793", "1234567890123.4568"})
    EXPECT_TRUE(scan_number(text).shortest) << text;
  for (const char* text : {"0.1000000000000000055", "3.141592653589794", "3.1415926535897931", "0.30000000000000000",
                           "0.12345678901234561", "2.2250738585072014"})
    EXPECT_EQ(scan_number(text).shortest, fmt::format("{}", scan_number(text).value) == text) << text;
}

TEST(ScanNumber, RoundsDecimalsNextToTheBorderOfTwoDoubles) {
  // 1 + 2^-53 lies halfway between two doubles, 9007199254740993 and 4503599627370497.5 do, too.
  for (const char* text :
       {"1.0000000000000001110", "1.000000000000000111", "1.000000000000000112", "4503599627370497.5",
        "4503599627370496.5", "4503599627370497.499", "4503599627370497.501", "0.9999999999999999444",
        "0.9999999999999999445", "999999999999999999.9", "0.5000000000000000", "0.0000000000000000001",
        "72057594037927945.5", "1.9999999999999998890"})
    EXPECT_EQ(scan_number(text).value, std::strtod(text, nullptr)) << text;
}

TEST(ParseNumber, RefusesOtherTexts) {
  for (const char* text : {"",
                           "-",
                           "+",
                           ".",
                           ",",
                           "12 %",
                           "$5",
                           "12.5*",
                           "1.2.3",
                           "1,2",
                           "1,200",
                           "inf",
                           "nan",
                           "1e999",
                           "e5",
                           "1e",
                           "1e+",
                           "--1",
                           "0x10",
                           "1 2",
                           "9007199254740993",
                           "99999999999999999999",
                           "1.5e3.5"}) {
    EXPECT_FALSE(parse_number(text)) << text;
  }
  EXPECT_FALSE(parse_number("12,34", kPointCommas));
  EXPECT_FALSE(parse_number("1234,567", kPointCommas));
  EXPECT_FALSE(parse_number("0,123", kPointCommas));
  EXPECT_FALSE(parse_number("3.5", kComma));
  EXPECT_FALSE(parse_number("1,2345,678", kPointCommas));
}

TEST(FormatNumber, WritesTheDigitsOfTheResolution) {
  EXPECT_EQ(format_number(1234101.25, 2), "1234101.25");
  EXPECT_EQ(format_number(3, 0), "3");
  EXPECT_EQ(format_number(0.5, 3), "0.500");
  EXPECT_EQ(format_number(-0.0001, 2), "0.00");
  EXPECT_EQ(format_number(-1.5, 1), "-1.5");
  EXPECT_EQ(format_number(1e300, 2), "1e+300");
  EXPECT_EQ(format_number(std::nan(""), 2), "");
}

RC_GTEST_PROP(FormatNumber, RoundTripsThroughParseNumber, ()) {
  const auto digits = *rc::gen::inRange<Index>(-99'999'999'999'999, 99'999'999'999'999);
  const int decimals = *rc::gen::inRange(0, 10);
  const double value = static_cast<double>(digits) / std::pow(10.0, decimals);
  const std::string text = format_number(value, decimals);
  RC_ASSERT(parse_number(text) == value);
  RC_ASSERT(format_number(*parse_number(text), decimals) == text);
  const NumberScan scan = scan_number(text);
  RC_ASSERT(scan.decimals == decimals);
}

RC_GTEST_PROP(ParseNumber, ConventionsReadTheSameValue, ()) {
  const auto whole = *rc::gen::inRange<Index>(1000, 999'999'999);
  const auto cents = *rc::gen::inRange<Index>(0, 100);
  const std::string plain = std::to_string(whole), fraction = std::to_string(100 + cents).substr(1);
  const auto grouped = [&](const std::string& mark) {
    std::string text = plain;
    for (std::size_t i = text.size(); i > 3;) text.insert(i -= 3, mark);
    return text;
  };
  const double value = *parse_number(plain + "." + fraction);
  RC_ASSERT(parse_number(plain + "," + fraction, kComma) == value);
  RC_ASSERT(parse_number(grouped(",") + "." + fraction, kPointCommas) == value);
  RC_ASSERT(parse_number(grouped(".") + "," + fraction, kCommaPoints) == value);
  RC_ASSERT(parse_number(grouped(" ") + "." + fraction, kPointSpaces) == value);
}

double seconds_of(const char* text, DateFormat format) {
  const auto moment = parse_date(text, format);
  EXPECT_TRUE(moment) << text;
  return moment ? moment->seconds() : -1;
}

TEST(ParseDate, ReadsZonesAndTheBasicFormat) {
  constexpr double kDay = 1706659200;  // 2024-01-31
  EXPECT_EQ(seconds_of("20240131T103015", DateFormat::year_month_day), kDay + 37815);
  EXPECT_EQ(seconds_of("20240131T1030Z", DateFormat::year_month_day), kDay + 37800);
  EXPECT_EQ(seconds_of("2024-01-31 10:30 CET", DateFormat::year_month_day), kDay + 34200);
  EXPECT_EQ(seconds_of("2024-01-31 10:30:00 EST", DateFormat::year_month_day), kDay + 55800);
  for (const char* text : {"20240131T2460", "20240231T1030", "20240131T10301", "20240131T", "2024-01-31 10:30 XYZ"})
    EXPECT_FALSE(parse_date(text, DateFormat::year_month_day)) << text;
}

TEST(ParseDate, ReadsTheUsualFormats) {
  constexpr double kDay = 1706659200;  // 2024-01-31
  EXPECT_EQ(seconds_of("2024-01-31", DateFormat::year_month_day), kDay);
  EXPECT_EQ(seconds_of("2024/1/31", DateFormat::year_month_day), kDay);
  EXPECT_EQ(seconds_of("2024-01-31T10:30:15.5Z", DateFormat::year_month_day), kDay + 37815.5);
  EXPECT_EQ(seconds_of("2024-01-31 10:30+02:00", DateFormat::year_month_day), kDay + 30600);
  EXPECT_EQ(seconds_of("2024-01-31 10:30:00 -0500", DateFormat::year_month_day), kDay + 55800);
  EXPECT_EQ(seconds_of("31.01.2024", DateFormat::day_month_year), kDay);
  EXPECT_EQ(seconds_of("31/01/2024 1:05 PM", DateFormat::day_month_year), kDay + 47100);
  EXPECT_EQ(seconds_of("01/31/2024", DateFormat::month_day_year), kDay);
  EXPECT_EQ(seconds_of("1/31/24", DateFormat::month_day_year), kDay);
  EXPECT_EQ(seconds_of("31 Jan 2024", DateFormat::month_name), kDay);
  EXPECT_EQ(seconds_of("31-JAN-2024", DateFormat::month_name), kDay);
  EXPECT_EQ(seconds_of("January 31, 2024", DateFormat::month_name), kDay);
  EXPECT_EQ(seconds_of("Wed, 31 Jan 2024 10:00:00 +0000", DateFormat::month_name), kDay + 36000);
  EXPECT_EQ(seconds_of("Jan 2024", DateFormat::month_name), kDay - 30 * 86400);
  EXPECT_EQ(seconds_of("2024-01", DateFormat::year_month), kDay - 30 * 86400);
  EXPECT_EQ(seconds_of("2024Q2", DateFormat::quarter), 1711929600);
  EXPECT_EQ(seconds_of("Q2 2024", DateFormat::quarter), 1711929600);
  EXPECT_EQ(seconds_of("2024-W05", DateFormat::week), kDay - 2 * 86400);
  EXPECT_EQ(seconds_of("10:30", DateFormat::time_of_day), 37800);
  EXPECT_EQ(seconds_of("20240131", DateFormat::compact), kDay);
  EXPECT_EQ(seconds_of("1706659200", DateFormat::unix_seconds), kDay);
  EXPECT_EQ(seconds_of("1706659200500", DateFormat::unix_milliseconds), kDay + 0.5);
  EXPECT_EQ(seconds_of("03/04/2024", DateFormat::day_month_year), seconds_of("04/03/2024", DateFormat::month_day_year));
}

TEST(ParseDate, ReadsDatesOfSpreadsheets) {
  constexpr double kDay = 1706659200;  // 2024-01-31
  EXPECT_EQ(seconds_of("31.1.24", DateFormat::day_month_year), kDay);
  EXPECT_EQ(seconds_of("4.9.23", DateFormat::day_month_year), seconds_of("04.09.2023", DateFormat::day_month_year));
  EXPECT_EQ(seconds_of("Mi 31.01.2024", DateFormat::day_month_year), kDay);
  EXPECT_EQ(seconds_of("Mi., 31.01.2024", DateFormat::day_month_year), kDay);
  EXPECT_EQ(seconds_of("mar. 30/01/2024", DateFormat::day_month_year), kDay - 86400);  // mardi, not March
  EXPECT_EQ(seconds_of("Sábado, 27/01/2024", DateFormat::day_month_year), kDay - 4 * 86400);
}

TEST(ParseDate, ReadsMonthsBeforeAndAfterTheYear) {
  const double july = seconds_of("2016-07", DateFormat::year_month);
  for (const char* text : {"07/2016", "7/2016", "07-2016", "07.2016", "2016M07", "2016/07"})
    EXPECT_EQ(seconds_of(text, DateFormat::year_month), july) << text;
  for (const char* text : {"2016 Jul", "2016-Jul", "2016 July", "Jul 2016", "Jul-16", "2016 Jul 01", "2016-Jul-01"})
    EXPECT_EQ(seconds_of(text, DateFormat::month_name), july) << text;
  for (const char* text :
       {"13/2016", "00/2016", "07/1016", "7-2016", "7.2016", "07 2016", "07/2016x", "2016M7", "2016 m2", "1.2.10"})
    EXPECT_FALSE(parse_date(text, DateFormat::year_month)) << text;
  EXPECT_EQ(scan_date("07.2016").shape, DateScan::Shape::none);  // may be a number
}

TEST(ParseDate, ReadsQuartersAndWeeksOfReports) {
  const double july = seconds_of("2015Q3", DateFormat::quarter);
  for (const char* text : {"Q3/15", "Q3-15", "Q3 '15", "Q3-2015", "Q3/2015", "3Q15", "3Q2015", "3Q 15", "3q15",
                           "FY2015 Q3", "FY15Q3", "FY15-Q3", "Q3 FY15", "Q3 FY2015", "2015-Q3", "2015 Q3"})
    EXPECT_EQ(seconds_of(text, DateFormat::quarter), july) << text;
  for (const char* text : {"Q5/15", "5Q15", "0Q15", "Q3 15", "Q315", "FY2015", "FY2015 Q5", "3Q", "3 Q15x"})
    EXPECT_FALSE(parse_date(text, DateFormat::quarter)) << text;
  const double monday = seconds_of("2021-W05", DateFormat::week);
  EXPECT_EQ(monday, static_cast<double>(days_from_civil(2021, 2, 1)) * 86400);
  for (const char* text : {"KW 05/2021", "KW05/2021", "KW 5 2021", "KW 05/21", "2021-KW05", "2021 KW 5", "CW05-2021",
                           "Week 5 2021", "W05/2021", "2021W05"})
    EXPECT_EQ(seconds_of(text, DateFormat::week), monday) << text;
  for (const char* text : {"KW 54/2021", "KW 00/2021", "KW 2021", "KWh 05/2021", "work 5 2021", "W05"})
    EXPECT_FALSE(parse_date(text, DateFormat::week)) << text;
}

TEST(ParseDate, ReadsNamesOfMonthsInSeveralLanguages) {
  struct Case {
    const char* text;
    Index month;
  };
  for (const Case& one : std::vector<Case>{{"01. Oktober 2023", 10},
                                           {"1. März 2023", 3},
                                           {"1. MÄRZ 2023", 3},
                                           {"Mittwoch, 1. März 2023", 3},
                                           {"01-Mrz-2023", 3},
                                           {"01-Dez-23", 12},
                                           {"1er février 2023", 2},
                                           {"1 août 2023", 8},
                                           {"lundi 1 mai 2023", 5},
                                           {"1 de enero de 2023", 1},
                                           {"miércoles 1 diciembre 2023", 12},
                                           {"1 giugno 2023", 6},
                                           {"Mar 1, 2023", 3},
                                           {"Mai 2023", 5},
                                           {"1 Sept 2023", 9}}) {
    EXPECT_EQ(seconds_of(one.text, DateFormat::month_name),
              static_cast<double>(days_from_civil(2023, one.month, 1)) * 86400)
        << one.text;
  }
  for (const char* text : {"1 Monat 2023", "1 de de 2023", "Sonne 3 2023", "Dom 4.9"})
    EXPECT_FALSE(parse_date(text, DateFormat::month_name)) << text;
}

TEST(DateFormatOf, AcceptsTheUsualSeparators) {
  for (const char* pattern : {"DD/MM/YYYY", "DD.MM.YYYY", "dd.mm.yyyy", "DD-MM-YY", "D.M.YY"})
    EXPECT_EQ(date_format_of(pattern), DateFormat::day_month_year) << pattern;
  EXPECT_EQ(date_format_of("MM-DD-YYYY"), DateFormat::month_day_year);
  EXPECT_EQ(date_format_of("YYYY/MM/DD"), DateFormat::year_month_day);
  EXPECT_EQ(date_format_of("YYYY.MM.DD"), DateFormat::year_month_day);
  EXPECT_EQ(date_format_of("YYYY/MM"), DateFormat::year_month);
  EXPECT_EQ(date_format_of("Mon DD, YYYY"), DateFormat::month_name);
  EXPECT_EQ(date_format_of("YYYYMMDD"), DateFormat::compact);
  for (const char* pattern : {"MM/YYYY", "MM.YYYY", "MM-YYYY"})
    EXPECT_EQ(date_format_of(pattern), DateFormat::year_month) << pattern;
  for (const char* pattern : {"YYYY Mon", "Mon YYYY", "Mon-YY"})
    EXPECT_EQ(date_format_of(pattern), DateFormat::month_name) << pattern;
  for (const char* pattern : {"YYYYQn", "YYYY-Qn", "Qn/YY", "Qn-YYYY", "nQYY", "FYYYYY Qn", "Qn FYYY"})
    EXPECT_EQ(date_format_of(pattern), DateFormat::quarter) << pattern;
  for (const char* pattern : {"YYYY-Www", "YYYY-KWww", "KW ww/YYYY", "Www-YYYY"})
    EXPECT_EQ(date_format_of(pattern), DateFormat::week) << pattern;
  for (const char* pattern : {"", "DD.MM", "YYYY.DD.MM", "DDMMYYYY", "day", "HH.MM"})
    EXPECT_FALSE(date_format_of(pattern)) << pattern;
}

TEST(ParseDate, EveryDayIsReadLikeTheCalendar) {
  const auto text_of = [](Index year, Index month, Index day) {
    const auto padded = [](Index number, std::size_t size) {
      const std::string digits = std::to_string(number);
      return std::string(size - digits.size(), '0') + digits;
    };
    return padded(year, 4) + "-" + padded(month, 2) + "-" + padded(day, 2);
  };
  for (const Index year :
       {1, 2, 4, 99, 100, 400, 1582, 1600, 1700, 1899, 1900, 1970, 1999, 2000, 2023, 2024, 2100, 9999})
    for (Index month = 0; month <= 13; ++month)
      for (Index day = 0; day <= 32; ++day) {
        const std::string text = text_of(year, month, day);
        const std::optional<Moment> date = parse_date(text, DateFormat::year_month_day);
        ASSERT_EQ(date.has_value(), is_valid_date(year, month, day)) << text;
        if (!date) continue;
        EXPECT_EQ(date->days, days_from_civil(year, month, day)) << text;
        EXPECT_EQ(parse_date(text + "T23:59:58", DateFormat::year_month_day)->second, 86398) << text;
        EXPECT_EQ(parse_date(text + " 01:02", DateFormat::year_month_day)->second, 3720) << text;
      }
  for (const char* text : {"2024-01-31 24:00:00", "2024-01-31 10:60", "2024-01-31 10:10:61", "2024-01-31 1a:10",
                           "2024-01-3a", "2o24-01-31", "2024-01-31x10:10", "2024:01:31"})
    EXPECT_FALSE(parse_date(text, DateFormat::year_month_day)) << text;
}

TEST(ParseDate, RefusesDatesThatDoNotExist) {
  for (const char* text : {"2023-02-29", "2024-13-01", "2024-00-10", "2024-01-32", "2024-01-31T25:00",
                           "2024-01-31 10:61", "2024-01-31x", "0000-01-01", "2024-1", "10:30"}) {
    EXPECT_FALSE(parse_date(text, DateFormat::year_month_day)) << text;
  }
  EXPECT_FALSE(parse_date("31/01/2024", DateFormat::month_day_year));
  EXPECT_EQ(scan_date("1.2.10").shape, DateScan::Shape::none);  // may be a version
  EXPECT_FALSE(parse_date("1.2.3", DateFormat::day_month_year));
  EXPECT_FALSE(parse_date("5", DateFormat::unix_seconds));
}

RC_GTEST_PROP(CivilDate, DaysRoundTrip, ()) {
  const auto days = *rc::gen::inRange<Index>(-719162, 2932896);
  const CivilDate date = civil_from_days(days);
  RC_ASSERT(is_valid_date(date.year, date.month, date.day));
  RC_ASSERT(days_from_civil(date.year, date.month, date.day) == days);
}

DateStep step_of(const std::vector<std::string>& dates) {
  StepTracker tracker;
  for (const std::string& date : dates) tracker.add(scan_date(date).moment);
  return tracker.step();
}

TEST(StepTracker, RecognizesRegularSteps) {
  EXPECT_EQ(step_of({"2024-01-01", "2024-01-02", "2024-01-03"}).name, "daily");
  EXPECT_EQ(step_of({"2023-12-31", "2024-01-31", "2024-02-29", "2024-03-31"}).name, "monthly");
  EXPECT_EQ(step_of({"2021-03-01", "2022-03-01", "2023-03-01"}).name, "yearly");
  EXPECT_EQ(step_of({"2021-03-01", "2023-03-01", "2025-03-01"}).name, "every 2 years");
  EXPECT_EQ(step_of({"10:00", "10:05", "10:10"}).name, "every 5 minutes");
  EXPECT_FALSE(step_of({"2024-01-01", "2024-01-02", "2024-01-09", "2024-03-03"}).regular);
  EXPECT_EQ(step_of({"2024-01-03", "2024-01-02", "2024-01-01"}).order, DateStep::Order::descending);
  EXPECT_EQ(step_of({"2024-01-01", "2024-01-02", "2024-01-01", "2024-01-02"}).order, DateStep::Order::unsorted);
}

/// Returns the step of the days from 2024-01-01, a Monday, whose weekdays (0 for Monday) are among `open`.
DateStep step_of_weekdays(const std::vector<Index>& open, Index days, const std::vector<Index>& left_out = {},
                          const std::vector<Index>& added = {}) {
  const auto contains = [](const std::vector<Index>& list, Index x) {
    return std::find(list.begin(), list.end(), x) != list.end();
  };
  StepTracker tracker;
  for (Index day = 0; day < days; ++day) {
    if (!contains(added, day) && (contains(left_out, day) || !contains(open, day % 7))) continue;
    Moment moment;
    moment.days = days_from_civil(2024, 1, 1) + day;
    tracker.add(moment);
  }
  return tracker.step();
}

TEST(StepTracker, RecognizesOpenWeekdays) {
  EXPECT_EQ(step_of_weekdays({0, 1, 2, 3, 4}, 28).name, "working days");
  EXPECT_EQ(step_of_weekdays({0, 1, 2, 3, 4}, 8).name, "working days");
  EXPECT_EQ(step_of_weekdays({0, 1, 2, 3, 4, 5}, 60).name, "every day except Sunday");
  EXPECT_EQ(step_of_weekdays({1, 2, 3, 4, 5}, 60).name, "every day except Monday and Sunday");
  EXPECT_EQ(step_of_weekdays({0, 1, 3, 4}, 60).name, "every day except Wednesday, Saturday and Sunday");
  EXPECT_EQ(step_of_weekdays({0, 3}, 60).name, "every Monday and Thursday");
  EXPECT_EQ(step_of_weekdays({1, 3, 5}, 60).name, "every Tuesday, Thursday and Saturday");
  EXPECT_EQ(step_of_weekdays({2}, 60).name, "weekly");
  EXPECT_EQ(step_of_weekdays({0, 1, 2, 3, 4, 5, 6}, 60).name, "daily");
  EXPECT_EQ(step_of_weekdays({1, 2, 3, 4, 5}, 60).weekdays, 0b0111110U);
  EXPECT_EQ(step_of_weekdays({0, 1, 2, 3, 4, 5, 6}, 60).weekdays, 0U);
}

TEST(StepTracker, HolidaysAndRareWeekdaysAreExceptions) {
  const std::vector<Index> monday_to_saturday{0, 1, 2, 3, 4, 5};
  const DateStep holidays = step_of_weekdays(monday_to_saturday, 120, {17, 18, 64});
  EXPECT_EQ(holidays.name, "every day except Sunday");
  EXPECT_EQ(holidays.exceptions, 2);
  const DateStep sunday = step_of_weekdays(monday_to_saturday, 210, {}, {104});
  EXPECT_EQ(sunday.name, "every day except Sunday");
  EXPECT_EQ(sunday.exceptions, 2);
  // A tenth of the days may be missing, not a fifth.
  std::vector<Index> many;
  for (Index day = 0; day < 120; day += 5) many.push_back(day);
  EXPECT_FALSE(step_of_weekdays(monday_to_saturday, 120, many).regular);
}

TEST(StepTracker, FewDatesDoNotShowOpenWeekdays) {
  EXPECT_FALSE(step_of({"2024-01-01", "2024-01-02", "2024-01-05"}).regular);
  EXPECT_FALSE(step_of({"2024-01-01", "2024-01-02", "2024-01-03", "2024-01-06"}).regular);
  EXPECT_FALSE(step_of_weekdays({1, 2, 3, 4, 5}, 10).regular);
}

TEST(ScanNumber, BeginsWithADigitAMarkOrASign) {
  for (int byte = 0; byte < 256; ++byte) {
    const auto c = static_cast<char>(byte);
    const bool begins = (c >= '0' && c <= '9') || c == '.' || c == ',' || c == '+' || c == '-';
    EXPECT_EQ(scan_number(std::string(1, c) + "5").shape != NumberShape::none, begins) << byte;
  }
  for (const char* text : {"inf", "INFINITY", "-inf", "(inf)"})
    EXPECT_EQ(scan_number(text).shape, NumberShape::infinite) << text;
}

/// The fast scan of the usual form of dates must agree with the general scan.
RC_GTEST_PROP(ScanDate, AgreesWithTheGeneralScan, ()) {
  std::string text = *rc::gen::elementOf(
      std::vector<std::string>{"0000-00-00", "0000-00-00 00:00", "0000-00-00T00:00:00", "0000-00-00 00:00:00"});
  for (char& c : text)
    if (c == '0') c = *rc::gen::elementOf(std::string("00011112223456789"));
  if (*rc::gen::arbitrary<bool>())
    text[*rc::gen::inRange<std::size_t>(0, text.size())] = *rc::gen::elementOf(std::string("0-: /.Te+"));
  const DateScan date = scan_date(text), general = scan_written_date(text);
  RC_ASSERT(general.shape == date.shape);
  RC_ASSERT(general.separator == date.separator);
  RC_ASSERT(general.moment.seconds() == date.moment.seconds());
  RC_ASSERT(general.moment.has_time == date.moment.has_time);
  RC_ASSERT(general.moment.zone == date.moment.zone);
  RC_ASSERT(general.month_first.seconds() == date.month_first.seconds() || date.shape == DateScan::Shape::year_first);
  const std::optional<Moment> moment = parse_date(text, DateFormat::year_month_day);
  RC_ASSERT(moment.has_value() == (date.shape == DateScan::Shape::year_first));
  if (moment) RC_ASSERT(moment->seconds() == date.moment.seconds());
}

}  // namespace
}  // namespace unfold
