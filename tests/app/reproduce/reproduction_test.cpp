#include "app/reproduce/reproduction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "app/reproduce/reproduce.h"
#include "tests/base/scratch.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using testing_support::contains;
using testing_support::message_of;

/// A small valid table, line by line.
std::string small_table() {
  return "[[table]]\n"                                          // 1
         "title = \"T\"\n"                                      // 2
         "measure = \"error_rate\"\n"                           // 3
         "success = 0.5\n"                                      // 4
         "columns = [{label = \"c\"}, {label = \"d\"}]\n"       // 5
         "rows = [\n"                                           // 6
         "  {label = \"r\", arguments = \"--model gru:4\"},\n"  // 7
         "]\n"                                                  // 8
         "[table.small]\n"                                      // 9
         "budget = \"--steps 1\"\n";                            // 10
}

/// Returns the error for the small table with one text replaced.
std::string complaint_about(const std::string& old, const std::string& replacement) {
  std::string text = small_table();
  const std::size_t place = text.find(old);
  if (place == std::string::npos) return "no such text: " + old;
  text.replace(place, old.size(), replacement);
  return message_of<UsageError>([&] { parse_reproductions(text, "t.toml"); });
}

TEST(Reproduction, file_defines_tables) {
  const std::vector<Reproduction> tables = parse_reproductions(small_table(), "t.toml");
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables[0].title, "T");
  EXPECT_EQ(tables[0].measure_text, "error_rate");
  EXPECT_EQ(tables[0].success, 0.5);
  ASSERT_EQ(tables[0].rows.size(), 1u);
  EXPECT_EQ(tables[0].rows[0].line, 7);
  ASSERT_EQ(tables[0].scales.size(), 1u);
  const ReproductionScale& small = tables[0].scales.at("small");
  EXPECT_EQ(small.columns, (std::vector<std::string>{"c", "d"}));
  EXPECT_EQ(small.seeds, 1);
  EXPECT_EQ(small.budget, "--steps 1");
}

TEST(Reproduction, errors_name_line_and_accepted_keys) {
  const std::vector<std::vector<std::string>> cases = {
      {"title", "titel", "t.toml:2: a table has no key \"titel\"; did you mean \"title\"? (keys: title, source, "},
      {"title = \"T\"\n", "", "t.toml:1: a table needs title"},
      {"\"T\"", "1", "t.toml:2: title must be a string in quotes"},
      {"0.5", "\"0.5\"", "t.toml:4: success must be a number"},
      {"success = 0.5", "compares = 1", "t.toml:4: compares must be true or false"},
      {"success = 0.5", "", "t.toml:5: the column \"c\" has no threshold: add success "},
      {"success = 0.5", "success = 0.5\ncompares = true", "success has no effect with compares"},
      {"{label = \"d\"}", "{label = \"c\"}", "t.toml:5: there are two columns \"c\""},
      {"{label = \"d\"}", "{}", "t.toml:5: a column needs label"},
      {"{label = \"d\"}", "{label = \"d\", floor = \"/x\"}", "t.toml:5: floor is a value in the output"},
      {"{label = \"d\"}", "{label = \"d\", prepare = \"x\"}", "prepare must be a list of strings in quotes"},
      {"{label = \"d\"}", "{label = \"d\", values = {a = 1}}", "values must be a table of strings"},
      {"{label = \"d\"}", "\"d\"", "t.toml:5: columns must be a list of tables"},
      {"arguments", "argument", "t.toml:7: a row has no key \"argument\"; did you mean \"arguments\"? (keys: label, "},
      {"--model gru:4", "{start}", "t.toml:7: {start} is the run of the first row"},
      {"--model gru:4\"", "\", published = {e = \"1\"}", "t.toml:7: published: there is no column \"e\""},
      {"budget", "seeds = 0 #", "small: seeds must be from 1 to 1000, not 0"},
      {"budget = \"--steps 1\"", "columns = [\"e\"]", "t.toml:9: small: there is no column \"e\" (columns: c, d)"},
      {"budget = \"--steps 1\"", "columns = []", "t.toml:9: small: columns is empty"},
      {"[table.small]", "[table.tiny]", "t.toml:9: a table has no key \"tiny\""},
      {"[table.small]\nbudget = \"--steps 1\"\n", "", "t.toml:1: a table needs [table.small], [table.full] or both"},
      {"[[table]]", "tables = 1\n[[table]]",
       "t.toml:1: the file has no key \"tables\"; did you mean \"table\"? (keys: table)"},
      {"success = 0.5", "success = 0.5\ncurve_over = \"steps\"",
       "curve_over must be seconds or epochs, not \"steps\""}};
  for (const std::vector<std::string>& c : cases) {
    const std::string message = complaint_about(c[0], c[1]);
    EXPECT_TRUE(contains(message, c[2])) << c[1] << " -> " << message;
  }
  EXPECT_EQ(message_of<UsageError>([] { parse_reproductions("", "t.toml"); }), "t.toml:1: the file needs table");
}

TEST(Reproduction, values_are_filled_in_before_paths) {
  const NamedTexts values = {{"model", "--model {cell}:{units}"},
                             {"units", "4"},
                             {"units", "8"},
                             {"cell", "gru"},
                             {"empty", ""},
                             {"a", "{b}"},
                             {"b", "x {a}"}};
  const NamedTexts paths = {{"data", "/my data/{units}"}, {"seed", "1"}};
  EXPECT_EQ(fill_in("  {data}/x.txt {model} {empty} --seed={seed} {", values, paths),
            (std::vector<std::string>{"/my data/{units}/x.txt", "--model", "gru:4", "--seed=1", "{"}));
  EXPECT_TRUE(contains(message_of<UsageError>([&] { fill_in("{a}", values, paths); }), "\"{a}\" contains itself"));
  EXPECT_EQ(message_of<UsageError>([&] {
              fill_in("{unit}", {{"units", "4"}}, {{"data", "d"}});
            }),
            "there is no value \"{unit}\"; did you mean \"units\"? (values: units, data)");
}

std::vector<std::string> published_tables() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(UNFOLD_SOURCE_DIR "/bench/tables"))
    if (entry.path().extension() == ".toml") files.push_back(entry.path().string());
  std::ranges::sort(files);
  return files;
}

std::vector<std::string> commands_of(const std::string& file, const std::string& scale) {
  Reporter reporter;
  return reproduce({.table = file, .out = "out", .scale = scale, .list = true}, reporter).commands;
}

/// Planning a table checks the arguments of every row with every column.
TEST(PublishedTables, all_commands_are_valid) {
  const std::vector<std::string> files = published_tables();
  EXPECT_EQ(files.size(), 14u);
  for (const std::string& file : files)
    for (const char* scale : {"small", "full"}) {
      const std::vector<std::string> commands = commands_of(file, scale);
      EXPECT_GE(commands.size(), 2u) << file;
      for (const std::string& command : commands) EXPECT_EQ(command.find_first_of("{}"), std::string::npos) << command;
    }
}

TEST(PublishedTables, commands_of_a_run_combine_column_row_and_budget) {
  const std::vector<std::string> commands = commands_of(UNFOLD_SOURCE_DIR "/bench/tables/riemannian.toml", "full");
  EXPECT_EQ(commands.size(), 8u + 4 * (15 * 10 + 3));
  EXPECT_EQ(commands[0], "unfold generate alphabet --size 260000 --seed 1 -o out/data/nested-alphabet-training.txt");
  EXPECT_EQ(commands[8 + 153 + 1],
            "unfold train out/data/distant-xor-training.txt --valid out/data/distant-xor-validation.txt "
            "--predict-after = --model glnn:20,edges=3 --whole-sequences --optimizer ruop --minutes 1.5 --seed 2");
  EXPECT_EQ(commands.back(),
            "unfold train out/data/anbn-training.txt --valid out/data/anbn-validation.txt --model ctw:24");
}

TEST(PublishedTables, invalid_arguments_name_row_and_column) {
  const testing_support::ScratchFolder folder;
  const auto complaint = [&](const std::string& arguments) {
    std::string text = small_table();
    text.replace(text.find("--model gru:4"), 13, arguments);
    const std::string file = folder.write("t.toml", text);
    return message_of<UsageError>([&] { commands_of(file, "small"); });
  };
  EXPECT_TRUE(contains(complaint("--modle gru:4"), "t.toml:7: r / c: ")) << complaint("--modle gru:4");
  EXPECT_TRUE(contains(complaint("--model gruu:4"), "did you mean \"gru\"?")) << complaint("--model gruu:4");
  EXPECT_TRUE(contains(complaint("--batch x"), "t.toml:7: r / c: batch must be")) << complaint("--batch x");
  EXPECT_TRUE(contains(complaint("{model}"), "t.toml:7: r / c: there is no value \"{model}\"")) << complaint("{model}");
  EXPECT_TRUE(contains(message_of<UsageError>([&] { commands_of(folder.path("t.toml"), "full"); }),
                       "has no table with the scale full; use --scale small"));
}

TEST(PublishedTables, rows_and_columns_do_not_share_files) {
  const testing_support::ScratchFolder folder;
  const auto complaint = [&](const std::string& old, const std::string& replacement) {
    std::string text = small_table();
    text.replace(text.find(old), old.size(), replacement);
    const std::string file = folder.write("t.toml", text);
    return message_of<UsageError>([&] { commands_of(file, "small"); });
  };
  EXPECT_TRUE(contains(complaint("\"d\"", "\"C\""), "t.toml:5: there are two columns C in this file"))
      << complaint("\"d\"", "\"C\"");
  EXPECT_TRUE(contains(complaint("rows = [", "rows = [{label = \"R\"},"), "t.toml:7: there are two rows r,"));
}

TEST(FindReproduction, paths_are_used_as_they_are) {
  EXPECT_EQ(find_reproduction("own.toml"), "own.toml");
  EXPECT_EQ(find_reproduction("tables/own"), "tables/own");
  EXPECT_NE(message_of<UsageError>([] { find_reproduction("no-such-table"); }), "");
}

}  // namespace
}  // namespace unfold
