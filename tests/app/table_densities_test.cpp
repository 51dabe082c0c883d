/// Runs all commands on tiny data with densities of tables that have text, binary and numeric columns.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "app/fields/evaluation/row_densities.h"
#include "app/predict/imputation.h"
#include "app/sample/density_sampling.h"
#include "tests/app/small_runs.h"
#include "tests/base/scratch.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using testing_support::contains;
using testing_support::message_of;
using testing_support::ScratchFolder;
using testing_support::train_small;

/// Colors with a number around 10, 20 or 30, and a bit that is 1 only for red.
std::string color_rows(int rows) {
  const char* names[] = {"red", "green", "\"deep blue\""};
  std::string text = "color,size,hot\n";
  for (int i = 0; i < rows; ++i) {
    const int k = (i * 7 + i / 5) % 3;
    text += fmt::format("{},{:.6f},{}\n", names[k], 10 * (k + 1) + 0.3 * std::sin(i * 1.7), k == 0 ? 1 : 0);
  }
  return text;
}

class TableDensities : public ::testing::Test {
 protected:
  std::string data(const std::string& name, const std::string& text) const { return folder_.write(name, text); }
  std::string learn(const std::string& file, const std::string& model, Index steps,
                    const std::string& predict = "") const {
    return train_small(folder_.path("run"), file, model, "adam:rate=0.01,clip=1", steps, [&](TrainRequest& request) {
      request.settings.format = "table";
      request.overwrite = true;
      request.given.insert("format");
      if (predict.empty()) return;
      request.settings.predict = predict;
      request.given.insert("predict");
    });
  }
  static std::map<std::string, CompletedNumber> completed(const std::string& run, std::vector<std::string> given) {
    std::map<std::string, CompletedNumber> numbers;
    for (const CompletedNumber& n : complete_vector({.model = run, .given = std::move(given), .count = 1000}))
      numbers.emplace(n.name, n);
    return numbers;
  }
  static std::string filled(const std::string& run, const std::string& file, Filling how) {
    std::string text;
    impute_missing({.model = run, .data = {file}, .how = how, .draws = 2000},
                   [&](std::string_view piece) { text += piece; });
    return text;
  }
  static nlohmann::json densities(const std::string& run, const std::string& file) {
    std::string text;
    row_densities({.model = run, .data = {file}, .json = true, .threads = 1},
                  [&](std::string_view piece) { text += piece; });
    return nlohmann::json::parse(text);
  }

  ScratchFolder folder_;
};

TEST_F(TableDensities, text_columns_are_classes_alongside_bits_and_numbers) {
  const std::string file = data("colors.csv", color_rows(200));
  const std::string holes = data("holes.csv", "color,size,hot\n?,10.1,1\ndeep blue,,0\nNA,20,\n");
  for (const char* model : {"rnade:12,components=3", "deep-rnade:24,components=3,orders=4"}) {
    const std::string run = learn(file, model, 1500);
    auto given = completed(run, {"size=30", "hot=0"});
    EXPECT_GT(given.at("color=deep blue").mean, 0.9) << model;
    EXPECT_LT(given.at("color=red").mean, 0.1) << model;
    EXPECT_NEAR(given.at("color=deep blue").mean + given.at("color=red").mean + given.at("color=green").mean, 1, 1e-6);
    EXPECT_GT(completed(run, {"color=red"}).at("hot").mean, 0.9) << model;
    EXPECT_NEAR(completed(run, {"color=green"}).at("size").mean, 20, 1.5) << model;
    const VectorTable drawn = sample_vectors({.model = run, .given = {"hot=1"}, .count = 30});
    ASSERT_EQ(drawn.classes.size(), 3);
    EXPECT_EQ(drawn.classes[0], (std::vector<std::string>{"deep blue", "green", "red"}));
    EXPECT_TRUE(drawn.classes[1].empty());
    const auto red = std::ranges::count_if(drawn.rows, [](const auto& row) { return row[0] == 2; });
    EXPECT_GT(red, 25) << model;
    const std::string text = filled(run, holes, Filling::best);
    EXPECT_TRUE(contains(text, "red\t10.1\t1\n")) << model << text;
    EXPECT_TRUE(contains(text, "green\t20\t0\n")) << model << text;
    const nlohmann::json rows = densities(run, file);
    ASSERT_EQ(rows["rows"].size(), 200);
    // Independent columns have -ln 3 for the colors, -0.64 for the bits and -3.5 for a normal distribution of all
    // numbers.
    EXPECT_GT(rows["mean"]["log_density"].get<double>(), -4) << model;
  }
  const std::string run = folder_.path("run");
  EXPECT_TRUE(contains(
      message_of<DataError>([&] { densities(run, data("teal.csv", "color,size,hot\nred,10,1\nteal,10,1\n")); }),
      "teal.csv: line 3: color is \"teal\", a class that did not occur in training; known classes: deep blue, green, "
      "red"));
  EXPECT_TRUE(contains(message_of<UsageError>([&] { completed(run, {"color=rde"}); }), "did you mean \"red\"?"));
  EXPECT_TRUE(contains(message_of<DataError>([&] { learn(file, "nade:4", 1); }), "line 2: size is 1"));
  EXPECT_TRUE(contains(message_of<UsageError>([&] { learn(file, "bernoulli-mixture:4", 1, "color,hot"); }),
                       "supports only bits"));
}

TEST_F(TableDensities, classes_and_bits_are_exact_under_any_condition) {
  const std::string file = data("colors.csv", color_rows(200));
  for (const char* model : {"nade:6", "made:12", "neural-ar:4", "logistic-ar"}) {
    const std::string run = learn(file, model, 400, "color,hot");
    // Sums over all consistent rows, by the density of each row.
    double total = 0, of_red = 0, all = 0;
    for (const char* color : {"red", "green", "deep blue"})
      for (const char* hot : {"0", "1"}) {
        const std::string row = data("row.csv", fmt::format("color,hot\n{},{}\n", color, hot));
        const double p = std::exp(densities(run, row)["mean"]["log_density"].get<double>());
        all += p;
        if (*hot == '0') continue;
        total += p;
        of_red += color == std::string("red") ? p : 0;
      }
    EXPECT_NEAR(all, 1, 1e-5) << model;
    const CompletedNumber found = completed(run, {"hot=1"}).at("color=red");
    EXPECT_NEAR(found.mean, of_red / total, 1e-5) << model;
    EXPECT_EQ(found.error, 0) << model;
    EXPECT_GT(found.mean, 0.8) << model;
  }
}

TEST_F(TableDensities, out_of_range_sample_counts_are_rejected) {
  const std::string file = data("colors.csv", color_rows(40));
  const std::string run = learn(file, "rnade:4,components=2", 2);
  const std::string holes = data("holes.csv", "color,size,hot\n?,10.1,1\n");
  for (const Filling how : {Filling::mean, Filling::best, Filling::sample})
    EXPECT_EQ(message_of<UsageError>([&] {
                impute_missing({.model = run, .data = {holes}, .how = how, .draws = 0}, [](std::string_view) {});
              }),
              "samples must be between 1 and 1000000, not 0");
  for (const Index count : {Index{-3}, Index{0}, Index{1} << 50})
    EXPECT_TRUE(contains(message_of<UsageError>([&] { sample_vectors({.model = run, .count = count}); }),
                         "between 1 and 1000000000"));
}

TEST_F(TableDensities, numbers_can_be_declared_as_classes) {
  const std::string codes = data("codes.csv", "code,bit\n7,1\n3,0\n7,1\n12,0\n3,0\n12,1\n7,0\n3,1\n");
  const std::string run = learn(codes, "nade:3", 5, "code=classes,bit");
  auto found = completed(run, {"bit=1"});
  EXPECT_EQ(found.size(), 3);
  EXPECT_TRUE(found.contains("code=3") && found.contains("code=7") && found.contains("code=12"));
  EXPECT_EQ(sample_vectors({.model = run}).classes[0], (std::vector<std::string>{"3", "7", "12"}));  // in numeric order
}

TEST_F(TableDensities, iteratively_estimated_bits_are_learned) {
  std::string rows = "a,b,c\n";
  for (int i = 0; i < 120; ++i) rows += fmt::format("{0},{0},{1}\n", i * 7 / 3 % 2, i / 2 % 2);
  const std::string run = learn(data("bits.csv", rows), "nade:6,rounds=3", 600);
  EXPECT_GT(completed(run, {"a=1"}).at("b").mean, 0.95);
  EXPECT_LT(completed(run, {"b=0"}).at("a").mean, 0.05);  // c is summed out
}

}  // namespace
}  // namespace unfold
