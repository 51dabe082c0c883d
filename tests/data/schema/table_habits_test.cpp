/// Runs the inference of schemas over the files of tests/data_habits/tables. NAME.json next to each file contains the
/// expected values; other values are not compared. Special keys:
///   options      the options of the schema, spelled like those of the command
///   require      part of the message of `require_regular`; without it there is no error
///   error        part of the message of a DataError of the inference
///   usage_error  part of the message of a UsageError of the inference or of the options

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/schema/describe_schema.h"
#include "data/schema/inference/column_profile.h"
#include "data/schema/inference/infer_schema.h"
#include "data/schema/inference/table_cells.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

using nlohmann::json;

SchemaOptions options_of(const json& given) {
  SchemaOptions options;
  const auto text = [&](const char* name) { return given.at(name).get<std::string>(); };
  if (given.contains("types")) options.types = parse_column_types(text("types"));
  if (given.contains("missing")) options.missing.spellings = parse_missing(text("missing"));
  if (given.contains("default-missing")) options.missing.defaults = parse_default_missing(text("default-missing"));
  if (given.contains("decimal")) options.decimal = parse_decimal_mark(text("decimal"));
  if (given.contains("thousands")) options.thousands = parse_thousands_mark(text("thousands"));
  if (given.contains("header")) options.header = parse_header(text("header"));
  if (given.contains("comment")) options.comment = text("comment");
  if (given.contains("bad-rows")) options.bad_rows = parse_bad_rows(text("bad-rows"));
  if (given.contains("rows")) options.rows = parse_row_meaning(text("rows"));
  if (given.contains("group")) options.group = text("group");
  if (given.contains("order")) options.order = text("order");
  if (given.contains("read")) options.read = given.at("read").get<std::vector<std::string>>();
  if (given.contains("predict")) options.predict = given.at("predict").get<std::vector<std::string>>();
  return options;
}

/// Compares the values that `expected` contains.
void expect_named_values(const json& expected, const json& actual, const std::string& where) {
  if (expected.is_object() && actual.is_object()) {
    for (const auto& [key, value] : expected.items()) {
      ASSERT_TRUE(actual.contains(key)) << where << "." << key;
      expect_named_values(value, actual.at(key), where + "." + key);
    }
  } else if (expected.is_array() && actual.is_array()) {
    ASSERT_EQ(expected.size(), actual.size()) << where << ": " << actual.dump();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expect_named_values(expected[i], actual[i], where + "[" + std::to_string(i) + "]");
    }
  } else if (expected.is_number() && actual.is_number()) {
    EXPECT_DOUBLE_EQ(expected.get<double>(), actual.get<double>()) << where;
  } else {
    EXPECT_EQ(expected, actual) << where;
  }
}

void expect_part(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << "\"" << message << "\" does not contain \"" << part << "\"";
}

void check_habit(const std::string& path) {
  json expected = json::parse(read_file(path + ".json"));
  const auto taken = [&](const char* key) {
    const std::string value = expected.value(key, std::string());
    expected.erase(key);
    return value;
  };
  const std::string error = taken("error"), usage_error = taken("usage_error"), require = taken("require");
  TableSchema schema;
  try {
    const SchemaOptions options = options_of(expected.value("options", json::object()));
    expected.erase("options");
    schema = infer_table_schema_of_file(path, options);
    ASSERT_TRUE(error.empty() && usage_error.empty()) << "there is no error";
  } catch (const DataError& e) {
    ASSERT_FALSE(error.empty()) << e.what();
    return expect_part(e.what(), error);
  } catch (const UsageError& e) {
    ASSERT_FALSE(usage_error.empty()) << e.what();
    return expect_part(e.what(), usage_error);
  }
  expect_named_values(expected, to_json(schema), "schema");
  std::string message;
  try {
    require_regular(schema);
  } catch (const DataError& e) {
    message = e.what();
  }
  EXPECT_EQ(message.empty(), require.empty()) << message;
  expect_part(message, require);
  const std::string text = describe(schema);
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) {
    return c == '\n' || static_cast<unsigned char>(c) >= 0x20;
  })) << text;
}

TEST(TableHabits, EveryFileHasTheExpectedSchema) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(UNFOLD_SOURCE_DIR "/tests/data_habits/tables")) {
    if (entry.path().extension() != ".json") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  EXPECT_GE(paths.size(), 60U);
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    check_habit(path);
  }
}

/// The cells that `is_odd_cell` recognizes are those that the inference counts.
TEST(TableHabits, OddCellsAreRecognizedOneByOne) {
  Index all = 0;
  for (const auto& entry : std::filesystem::directory_iterator(UNFOLD_SOURCE_DIR "/tests/data_habits/tables")) {
    if (entry.path().extension() == ".json") continue;
    SCOPED_TRACE(entry.path().string());
    const std::string bytes = read_file(entry.path().string());
    const json expected = json::parse(read_file(entry.path().string() + ".json"));
    try {
      const SchemaOptions options = options_of(expected.value("options", json::object()));
      TableCells cells(bytes);
      const TableSchema schema = infer_table_schema("data", bytes, options, cells);
      for (std::size_t c = 0; c < schema.columns.size(); ++c) {
        if (schema.date_parts && (schema.date_parts->has(c) || schema.date_parts->year == c)) continue;
        Index odd = 0;
        for (Index r = 0; r < cells.rows(); ++r)
          odd += is_odd_cell(schema.columns[c], cells.cell(r, c), options.missing) ? 1 : 0;
        EXPECT_EQ(odd, schema.columns[c].odd) << schema.columns[c].name;
        all += odd;
      }
    } catch (const Error&) {  // tested above
    }
  }
  EXPECT_GT(all, 20);
}

TEST(TableHabits, TheHintKeepsStatedSpellingsAndOmitsCellsThatItCannotExpress) {
  EXPECT_EQ(missing_option({"x"}, {"a", "x", "1,5", "b\n", "c"}), "--missing \"x,a,c\"");
  EXPECT_EQ(missing_option({"x"}, {"1,5"}), "");
}

}  // namespace
}  // namespace unfold
