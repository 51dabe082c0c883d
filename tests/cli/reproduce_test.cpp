#include "tests/cli/fixture.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace unfold::test {
namespace {

/// Returns the path of a published table.
std::string published(const std::string& table) { return UNFOLD_SOURCE_DIR "/bench/tables/" + table + ".toml"; }

/// The folder in which the published tables are found by name.
const Surroundings kSources{.folder = UNFOLD_SOURCE_DIR};

TEST_F(CommandTest, reproduce_fills_a_table_without_repeating_existing_results) {
  const std::string out = folder_ / "table";
  const Arguments command = {"reproduce", "long-range", "--only", "Adam / permutation", "--minutes", "0.002",
                             "--out",     out,          "--quiet"};
  const Finished first = unfold_command(command, kSources);
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("tanh RNN, Adam"));
  EXPECT_THAT(first.out, HasSubstr("LSTM, Adam"));
  EXPECT_THAT(first.out, Not(HasSubstr("SGD")));
  // Curves need two or more validations; their number depends on the speed of the machine.
  for (const char* file : {"long-range.md", "long-range.json", "permutation-100.svg"})
    EXPECT_NE(read_bytes(out + "/" + file), "") << file;
  EXPECT_THAT(read_bytes(out + "/long-range.md"), HasSubstr("unfold train --task permutation:100"));

  const std::string result = out + "/runs/permutation-100-lstm-adam-1/result.json";
  nlohmann::json changed = nlohmann::json::parse(read_bytes(result));
  changed["valid"]["error_rate"] = 0.0025;
  write_bytes(result, changed.dump());
  const Finished second = unfold_command(command, kSources);
  EXPECT_THAT(second.out, HasSubstr("0.25"));
  EXPECT_THAT(second.out, HasSubstr("1 of 1"));
  EXPECT_THAT(second.out, HasSubstr("not solved"));  // the remaining rows

  expect_failure({"reproduce", "long-rang", "--out", out}, 2,
                 "unknown table \"long-rang\"; did you mean \"long-range\"? (tables: classification, density, ",
                 kSources);
  expect_failure({"reproduce", "long-range"}, 2, "--out DIR", kSources);
  expect_failure({"reproduce", "long-range", "--only", "nobody", "--out", out}, 2, "no row or column", kSources);
  expect_failure({"reproduce", "long-range", "--out", out}, 2, "there are no tables in bench/tables",
                 {.folder = folder_.path()});
}

/// Settings of a scale override those of a row; the other settings of the row remain.
TEST_F(CommandTest, reproduce_long_range_reports_the_training_settings_of_each_row) {
  const auto trained = [&](const std::string& cell) {
    const Finished done =
        unfold_command({"reproduce", published("long-range"), "--scale", "full", "--only", cell, "--seeds", "1",
                        "--minutes", "0.002", "--out", folder_ / "rows", "--quiet", "--json"});
    EXPECT_EQ(done.code, 0) << done.err;
    const nlohmann::json cells = only_object(done.out)["cells"];
    EXPECT_EQ(cells.size(), 1U);
    return cells[0]["runs"][0];
  };
  const std::string budget = " --goal-error 0.01 --batch 32 --validate-on 1000 --minutes 0.002 --seed 1";
  const nlohmann::json gru = trained("GRU, Adam by length / permutation 200");
  EXPECT_EQ(gru["command"],
            "unfold train --task permutation:200 --model gru:50 --optimizer adam:rate=0.003,clip=1 "
            "--curriculum 32768" +
                budget);
  EXPECT_EQ(gru["valid"]["sequences"], 1000);
  const nlohmann::json lru = trained("LRU, Adam / memorization 20 50");
  EXPECT_EQ(lru["command"],
            "unfold train --task memorization:length=50,bits=20 --model "
            "lru:128,slowest=0.9999,fastest=0.99,output=linear --optimizer adam:rate=0.003,clip=1" +
                budget);
  EXPECT_THAT(read_bytes(folder_ / "rows/long-range.md"), HasSubstr("| quartiles | seconds | theirs |"));
}

TEST_F(CommandTest, reproduce_path_combines_its_sections_in_one_page) {
  const std::string out = folder_ / "path";
  const Finished done = unfold_command({"reproduce", published("path"), "--only", "ReLU, path+momentum / adding",
                                        "--minutes", "0.001", "--out", out, "--quiet", "--json"});
  ASSERT_EQ(done.code, 0) << done.err;
  const nlohmann::json result = only_object(done.out);
  ASSERT_EQ(result["cells"].size(), 1u);
  EXPECT_EQ(result["cells"][0]["measure"], "mean_squared_error");
  const std::string command = result["cells"][0]["runs"][0]["command"];
  EXPECT_THAT(command, HasSubstr("--model irnn:100"));  // {units} is substituted
  EXPECT_THAT(read_bytes(out + "/path.md"), HasSubstr("## Adding problem"));
  EXPECT_THAT(read_bytes(out + "/path.md"), Not(HasSubstr("MNIST")));

  const Arguments finished = {"reproduce",  published("path"), "--minutes", "0.001",
                              "--finished", "--quiet",         "--json",    "--out"};
  EXPECT_EQ(only_object(unfold_command(finished + Arguments{out}).out)["cells"], result["cells"]);
  expect_failure(finished + Arguments{folder_ / "nothing"}, 2, "no run of path is finished");
  EXPECT_THAT(unfold_command({"reproduce", "--help"}).out, HasSubstr("bench/tables"));
}

/// Rows that start from the run of another row: existing results are not trained again.
TEST_F(CommandTest, reproduce_resolves_rows_that_start_from_others) {
  std::filesystem::create_directories(folder_ / "data/sequences");
  const Surroundings here{.environment = {{"UNFOLD_DATA", folder_ / "data"}}};
  const std::string out = folder_ / "search", runs = out + "/runs/noisy-copies-",
                    all = "unfold train " + out + "/data/noisy-copies.pairs --split 90/5/5 --model bigru:48," +
                          "attention=additive,condition=start --batch 32 --validate-every 1000000 ";
  const auto write_result = [&](const std::string& row, int seed, const std::string& arguments, double error) {
    const std::string folder = runs + row + "-" + std::to_string(seed);
    std::filesystem::create_directories(folder);
    const nlohmann::json result = {
        {"command", all + arguments + ",clip=1,schedule=cosine --seed " + std::to_string(seed)},
        {"test", {{"heads", {{"target", {{"sequence_error", error}}}}}}}};
    write_bytes(folder + "/result.json", result.dump());
    return folder;
  };
  for (const int seed : {1, 2}) {
    const std::string start =
        write_result("initial-model-teacher-forcing", seed, "--steps 2500 --optimizer adam:rate=0.005", 0.25);
    write_result("perceptron-early-update", seed,
                 "--start-from " + start + " --objective perceptron:beam=4 --steps 500 --optimizer adam:rate=0.0005",
                 0.125 * seed);
  }
  const Finished done = unfold_command({"reproduce", published("search"), "--only", "early update / noisy",
                                        "--finished", "--out", out, "--quiet", "--json"},
                                       here);
  ASSERT_EQ(done.code, 0) << done.err;
  const nlohmann::json cells = only_object(done.out)["cells"];
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_EQ(cells[0]["method"], "initial model, teacher forcing");
  EXPECT_EQ(cells[1]["runs"][0]["test"]["heads"]["target"]["sequence_error"], 0.125);
  EXPECT_THAT(read_bytes(out + "/search.md"), HasSubstr("| noisy copies | perceptron, early update | 18.75 |"));
  // Differences between the seeds: -12.5 and 0.
  EXPECT_THAT(read_bytes(out + "/search.md"),
              HasSubstr("| noisy copies | perceptron, early update | 18.75 | 8.84 | -6.25 | 6.25 |"));
  EXPECT_THAT(read_bytes(out + "/search.md"), Not(HasSubstr("solved")));
}

/// A table of a user: two problems, one of which prepares files.
constexpr const char* kUserTable = R"TOML([[table]]
title = "Counting"
measure = "bits_per_symbol"
measure_text = "bits per symbol above the source"
success_of_floor = 0.5
curve = "nats_per_symbol"
appendix = "cat {tables}/appendix.md"
rows = [
  {label = "3-gram", arguments = "--model ngram:3", fitted = true},
  {label = "GRU", arguments = "--model gru:{units}", published = {anbn = "0.1 (somebody 2020)"}},
]

[[table.columns]]
label = "anbn"
prepare = [
  "unfold generate anbn --count 30 --seed 1 -o {made}.txt",
  "cp {made}.txt {made}.copy",
  "unfold generate anbn --count 30 --seed 2 -o {made}.valid --json",
]
floor = "/source_bits_per_symbol"
arguments = "{made}.copy --valid {made}.valid --symbols chars"

[[table.columns]]
label = "the same letters"
arguments = "letters.txt --symbols chars --split 50/50/0"
success = 0.25

[table.small]
seeds = 2
budget = "--steps 3 --validate-every 1"
values = {units = "4"}
)TOML";

TEST_F(CommandTest, reproduce_runs_a_table_of_the_user) {
  write_bytes(folder_ / "own.toml", kUserTable);
  write_bytes(folder_ / "appendix.md", "The last words.\n");
  write_bytes(folder_ / "letters.txt", small_text(2000));
  const Surroundings here{.folder = folder_.path()};
  const Arguments command = {"reproduce", "own.toml", "--out", "out", "--quiet"};
  const Finished list = unfold_command(command + Arguments{"--list"}, here);
  EXPECT_EQ(list.code, 0) << list.err;
  EXPECT_THAT(list.out, StartsWith("unfold generate anbn --count 30 --seed 1 -o out/data/anbn.txt\n"
                                   "cp out/data/anbn.txt out/data/anbn.copy\n"));
  EXPECT_THAT(list.out, HasSubstr("\nunfold train letters.txt --symbols chars --split 50/50/0 --model gru:4 --steps 3 "
                                  "--validate-every 1 --seed 2\n"));
  EXPECT_EQ(only_object(unfold_command(command + Arguments{"--list", "--json"}, here).out)["commands"].size(), 9U);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));

  const Finished done = unfold_command(command, here);
  ASSERT_EQ(done.code, 0) << done.err;
  const std::string page = read_bytes(folder_ / "out/own.md");
  EXPECT_THAT(page, StartsWith("# Reproduced: own\n\nCreated by `unfold reproduce own.toml --scale small`"));
  EXPECT_THAT(page, HasSubstr("Excess over the score of the text source itself; largest excess that counts as solved: "
                              "anbn "));
  EXPECT_THAT(page, HasSubstr("0.1 (somebody 2020)"));
  EXPECT_THAT(page, HasSubstr("\nThe last words.\n"));
  EXPECT_THAT(page, HasSubstr("\ncp out/data/anbn.txt out/data/anbn.copy\n"));
  const nlohmann::json cells = nlohmann::json::parse(read_bytes(folder_ / "out/own.json"))["cells"];
  ASSERT_EQ(cells.size(), 4U);
  EXPECT_EQ(cells[0]["runs"].size(), 1U);  // fitted
  EXPECT_EQ(cells[1]["runs"].size(), 2U);

  // Finished runs and prepared files are kept as long as their commands stay the same.
  const std::string made = folder_ / "out/data/anbn.copy", before = read_bytes(made);
  write_bytes(made, "changed");
  EXPECT_EQ(unfold_command(command, here).code, 0);
  EXPECT_EQ(read_bytes(made), "changed");
  EXPECT_EQ(nlohmann::json::parse(read_bytes(folder_ / "out/own.json"))["cells"], cells);
  const Finished finished = unfold_command(command + Arguments{"--finished", "--only", "GRU / anbn"}, here);
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("GRU"));
  EXPECT_THAT(finished.out, Not(HasSubstr("3-gram")));
  EXPECT_THAT(read_bytes(folder_ / "out/own.md"), HasSubstr("\nThe last words.\n"));

  std::string other = kUserTable;
  other.replace(other.find("--seed 2"), 8, "--seed 3");
  write_bytes(folder_ / "own.toml", other);
  EXPECT_EQ(unfold_command(command + Arguments{"--only", "3-gram"}, here).code, 0);
  EXPECT_EQ(read_bytes(made), before);
}

TEST_F(CommandTest, reproduce_reports_failing_commands_of_a_table) {
  const Surroundings here{.folder = folder_.path()};
  const auto with = [&](const std::string& old, const std::string& replacement) {
    std::string text = kUserTable;
    text.replace(text.find(old), old.size(), replacement);
    write_bytes(folder_ / "own.toml", text);
  };
  const Arguments command = {"reproduce", "own.toml", "--only", "3-gram / anbn", "--out", "out", "--quiet"};
  with("cp {made}.txt", "cp nothing.txt");
  expect_failure(command, 1, "cp nothing.txt out/data/anbn.copy failed (exit code 1): cp: ", here);
  with("\"/source_bits_per_symbol\"", "\"/nothing\"");
  expect_failure(command, 2, "own.toml:13: floor /nothing: the last command of prepare does not print JSON", here);
  with("3-gram", "4-gram");
  const Finished done = unfold_command({"reproduce", "own.toml", "--only", "4-gram / anbn", "--out", "out"}, here);
  EXPECT_EQ(done.code, 0);  // the appendix does not exist
  EXPECT_THAT(done.err, HasSubstr("the page has no appendix: cat "));
  EXPECT_THAT(read_bytes(folder_ / "out/own.md"), HasSubstr("The appendix is missing. Its command is `cat "));
}

/// Tiny versions of the inputs of the density study.
TEST_F(CommandTest, reproduce_density_creates_folds) {
  std::filesystem::create_directories(folder_ / "data/density");
  // 100 patients: a name, 16 numbers, the class, 6 more numbers; the second number repeats the first.
  std::string table = "name";
  for (int c = 1; c < 24; ++c) table += c == 17 ? ",status" : ",c" + std::to_string(c);
  for (int r = 0; r < 100; ++r) {
    table += "\nphon_" + std::to_string(r);
    for (int c = 1; c < 24; ++c)
      table += "," + std::to_string(c == 17 ? r % 2 : c == 2 ? 3 * ((r * 37) % 101) : (r * (35 + 2 * c)) % 101);
  }
  write_bytes(folder_ / "data/density/parkinsons.data", table + "\n");
  const Surroundings here{.environment = {{"UNFOLD_DATA", folder_ / "data"}}};
  const std::string out = folder_ / "density";
  const Finished done = unfold_command({"reproduce", published("density"), "--scale", "full", "--only",
                                        "one Gaussian / parkinsons", "--out", out, "--quiet"},
                                       here);
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("one Gaussian"));
  EXPECT_THAT(read_bytes(out + "/density.md"), HasSubstr("median and quartiles of 10 runs per cell"));
  std::set<std::string> tested;
  for (int fold = 1; fold <= 10; ++fold) {
    const std::string stem = out + "/data/parkinsons-" + std::to_string(fold);
    std::istringstream test(read_bytes(stem + ".test.csv"));
    std::string line;
    std::getline(test, line);
    EXPECT_THAT(line, StartsWith("c1,c3,c4"));  // without the name and the duplicate column
    EXPECT_THAT(line, Not(HasSubstr("status")));
    int rows = 0;
    for (; std::getline(test, line); ++rows) {
      tested.insert(line);
      EXPECT_THAT(read_bytes(stem + ".train.csv") + read_bytes(stem + ".valid.csv"),
                  Not(HasSubstr("\n" + line + "\n")));
    }
    EXPECT_EQ(rows, 10);
    EXPECT_EQ(std::ranges::count(read_bytes(stem + ".valid.csv"), '\n'), 10);
    EXPECT_EQ(std::ranges::count(read_bytes(stem + ".train.csv"), '\n'), 82);
  }
  EXPECT_EQ(tested.size(), 100U);  // each row is tested once
  EXPECT_THAT(unfold_command(
                  {"reproduce", published("density"), "--scale", "full", "--only", "NADE / nltcs", "--out", out}, here)
                  .err,
              HasSubstr("its data was not found in"));
}

}  // namespace
}  // namespace unfold::test
