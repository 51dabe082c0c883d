// Distributions of vectors on the command line: rows of tables, and frames of music given the preceding ones.
#include "tests/cli/fields.h"

namespace unfold::test {
namespace {

/// Rows of four bits: the second equals the first, the third is random, the last is the exclusive or of the two before
/// it.
std::string bit_rows(int rows) {
  std::string text = "a,b,c,d\n";
  for (int i = 0; i < rows; ++i) {
    const int a = (i * 7 / 3) % 2, c = (i / 2) % 2;
    text += std::to_string(a) + "," + std::to_string(a) + "," + std::to_string(c) + "," + std::to_string(a ^ c) + "\n";
  }
  return text;
}

std::string number_rows(int rows) {
  std::string text = "x;y;z\n";
  for (int i = 0; i < rows; ++i) {
    const double x = std::sin(i * 1.7), y = 10 + 3 * x + std::cos(i * 2.3), z = 0.5 * x - y + 0.1 * std::sin(i * 5.1);
    text += std::to_string(x) + ";" + std::to_string(y) + ";" + std::to_string(z) + "\n";
  }
  return text;
}

class DensityTest : public FieldsTest {
 protected:
  nlohmann::json learn(const std::string& file, const Arguments& more) const {
    const Finished finished =
        unfold_command(Arguments{"train", file, "--out", run_, "--quiet", "--json", "--overwrite"} + more);
    EXPECT_EQ(finished.code, 0) << finished.err;
    return only_object(finished.out);
  }
  /// Value of a named number.
  nlohmann::json completed(const Arguments& more) const {
    return only_object(output_of(Arguments{"complete", run_, "--json"} + more))["numbers"];
  }
};

TEST_F(DensityTest, binary_rows_are_learned_evaluated_scored_and_sampled) {
  const std::string file = data("bits.csv", bit_rows(400));
  for (const char* model : {"nade:8", "nade:8,rounds=2", "made:24,layers=2", "neural-ar:8", "bernoulli-mixture:8"}) {
    const nlohmann::json trained = learn(file, {"--model", model, "--format", "table", "--epochs", "80", "--batch",
                                                "10", "--optimizer", "adam:rate=0.02"});
    // Two bits determine the other two: there are four possible rows, ln 4 = 1.386.
    EXPECT_NEAR(trained["valid"]["heads"]["values"]["nats_per_example"].get<double>(), 1.386, 0.1) << model;
    const nlohmann::json measured = only_object(output_of({"eval", run_, file, "--split", "90/10", "--json"}));
    EXPECT_EQ(measured["heads"], trained["valid"]["heads"]);
    const std::string scored =
        output_of({"score", run_, data("odd.csv", "a,b,c,d\n1,1,0,1\n1,0,0,0\n"), "--by", "line"});
    EXPECT_EQ(count_lines(scored), 3);
    const std::string drawn = output_of({"sample", run_, "--count", "30", "--given", "a=1"});
    EXPECT_EQ(first_line(drawn), "a,b,c,d");
    EXPECT_EQ(count_lines(drawn), 31);
    EXPECT_EQ(drawn, output_of({"sample", run_, "--count", "30", "--given", "a=1"}));
    EXPECT_GT(completed({"--given", "a=1"})["b"]["mean"].get<double>(), 0.95) << model;
    EXPECT_LT(completed({"--given", "x1=0", "--predict", "x2"})["b"]["mean"].get<double>(), 0.05) << model;
  }
  EXPECT_GT(completed({"--given", "d=1,c=0"})["a"]["mean"].get<double>(), 0.9);  // a mixture answers in any order
}

TEST_F(DensityTest, numeric_density_equals_the_sample_gaussian) {
  const std::string file = data("numbers.csv", number_rows(300));
  const nlohmann::json trained = learn(file, {"--model", "linear-ar", "--split", "100/0", "--precision", "double"});
  EXPECT_EQ(trained["format"], "table");
  const double found = only_object(output_of({"eval", run_, file, "--json"}))["heads"]["values"]["nats_per_example"];
  // Mean -log p of the Gaussian with the mean and the covariance of the sample: (D (1 + log 2 pi) + log det) / 2.
  double sums[3] = {}, products[3][3] = {};
  std::istringstream rows(number_rows(300));
  std::string line;
  std::getline(rows, line);
  while (std::getline(rows, line)) {
    double x[3];
    ASSERT_EQ(std::sscanf(line.c_str(), "%lf;%lf;%lf", &x[0], &x[1], &x[2]), 3);
    for (int i = 0; i < 3; ++i) {
      sums[i] += x[i] / 300;
      for (int j = 0; j < 3; ++j) products[i][j] += x[i] * x[j] / 300;
    }
  }
  double c[3][3];
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) c[i][j] = products[i][j] - sums[i] * sums[j];
  const double determinant = c[0][0] * (c[1][1] * c[2][2] - c[1][2] * c[2][1]) -
                             c[0][1] * (c[1][0] * c[2][2] - c[1][2] * c[2][0]) +
                             c[0][2] * (c[1][0] * c[2][1] - c[1][1] * c[2][0]);
  EXPECT_NEAR(found, 0.5 * (3 * (1 + std::log(2 * M_PI)) + std::log(determinant)), 1e-3);
  // E[y | x], in units of the data.
  const double slope = c[0][1] / c[0][0];
  EXPECT_NEAR(completed({"--given", "x=0.5"})["y"]["mean"].get<double>(), sums[1] + slope * (0.5 - sums[0]), 1e-2);
  EXPECT_GT(completed({"--given", "x=0.5"})["z"]["standard_error"].get<double>(), 0);
}

TEST_F(DensityTest, orderless_density_supports_any_condition) {
  const std::string file = data("bits.csv", bit_rows(400));
  const Arguments how = {
      "--model",       "deep-nade:30,layers=2,orders=4", "--format", "table", "--batch", "20", "--optimizer",
      "adam:rate=0.01"};
  const nlohmann::json head = learn(file, how + Arguments{"--epochs", "60"})["valid"]["heads"]["values"];
  EXPECT_NEAR(head["nats_per_example"].get<double>(), 1.386, 0.1);
  EXPECT_GE(head["nats_of_one_order"].get<double>(), head["nats_per_example"].get<double>());
  EXPECT_GT(completed({"--given", "d=1,c=0"})["a"]["mean"].get<double>(), 0.95);
  EXPECT_LT(completed({"--given", "d=0,c=0"})["b"]["mean"].get<double>(), 0.05);
  EXPECT_EQ(completed({"--given", "d=0,c=0"})["a"]["standard_error"].get<double>(), 0);
  EXPECT_EQ(count_lines(output_of({"sample", run_, "--count", "5", "--given", "c=1"})), 6);
  const std::string scored = output_of({"score", run_, file, "--by", "line"});
  EXPECT_EQ(count_lines(scored), 401);

  const std::string whole = folder_ / "whole";
  const Arguments common = Arguments{"train", file, "--quiet", "--split", "100/0"} + how;
  ASSERT_EQ(unfold_command(common + Arguments{"--out", whole, "--steps", "30"}).code, 0);
  ASSERT_EQ(unfold_command(common + Arguments{"--out", run_, "--overwrite", "--steps", "13"}).code, 0);
  ASSERT_EQ(unfold_command({"train", "--out", run_, "--resume", "--steps", "30", "--quiet"}).code, 0);
  EXPECT_TRUE(read_bytes(run_ + "/model.safetensors") == read_bytes(whole + "/model.safetensors"));
}

TEST_F(DensityTest, orderless_numeric_density_beats_one_gaussian_on_non_gaussian_data) {
  std::string rows = "x,y\n";
  for (int i = 0; i < 600; ++i) {  // a ring
    const double angle = i * 2.399963, radius = 5 + 0.2 * std::sin(i * 1.3);
    rows += std::to_string(radius * std::cos(angle)) + "," + std::to_string(radius * std::sin(angle)) + "\n";
  }
  const std::string file = data("ring.csv", rows);
  const auto nats = [&](const Arguments& more) {
    const nlohmann::json head = learn(file, Arguments{"--format", "table"} + more)["valid"]["heads"]["values"];
    EXPECT_LT(head["standardised_nats"].get<double>(), head["nats_per_example"].get<double>());  // wide units
    return head["standardised_nats"].get<double>();
  };
  const double gaussian = nats({"--model", "linear-ar"});
  const double deep = nats({"--model", "deep-rnade:40,components=5,orders=4", "--epochs", "60", "--batch", "20"});
  EXPECT_LT(deep, gaussian - 0.5);
  EXPECT_EQ(completed({"--given", "y=0"})["x"]["standard_error"].get<double>(), 0);
  const nlohmann::json drawn = only_object(output_of({"sample", run_, "--count", "40", "--given", "y=0", "--json"}));
  int on_the_ring = 0;
  for (const nlohmann::json& row : drawn["rows"]) {
    EXPECT_NEAR(row[1].get<double>(), 0, 1e-5);
    on_the_ring += std::fabs(std::fabs(row[0].get<double>()) - 5) < 1 ? 1 : 0;
  }
  EXPECT_GT(on_the_ring, 30);
  const std::string scored = output_of({"score", run_, file, "--by", "line"});
  EXPECT_EQ(count_lines(scored), 601);
}

TEST_F(DensityTest, missing_cells_are_filled_from_the_known_cells) {
  const std::string file = data("bits.csv", bit_rows(400));
  const Arguments how = {"--format", "table", "--epochs", "80", "--batch", "10", "--optimizer", "adam:rate=0.02"};
  const std::string holes = data("holes.csv", "a,b,c,d\n1,,0,1\n,0,1,?\n0,0,1,1\nNA,1,,0\n");
  for (const char* model : {"nade:8", "deep-nade:30,layers=2", "bernoulli-mixture:8"}) {
    learn(file, how + Arguments{"--model", model});
    EXPECT_EQ(output_of({"predict", run_, holes, "--fill", "best"}),
              "a\tb\tc\td\n1\t1\t0\t1\n0\t0\t1\t1\n0\t0\t1\t1\n1\t1\t1\t0\n")
        << model;
    const std::string line = output_of({"predict", run_, holes, "--format", "jsonl"});
    const nlohmann::json first = nlohmann::json::parse(first_line(line));
    EXPECT_GT(first["b"].get<double>(), 0.9) << model;
    EXPECT_LT(first["b"].get<double>(), 1) << model;
    EXPECT_EQ(first["filled"], nlohmann::json::array({"b"}));
    const Arguments sampled = {"predict", run_, holes, "--fill", "sample", "--seed", "3"};
    EXPECT_EQ(count_lines(output_of(sampled)), 5);
    EXPECT_EQ(output_of(sampled), output_of(sampled));
  }
  const std::string numbers = data("numbers.csv", number_rows(300));
  learn(numbers, {"--model", "linear-ar", "--split", "100/0", "--precision", "double"});
  const std::string known = "x;y;z\n0.5;11;-10.7\n", missing = "x;y;z\n0.5;;-10.7\n";
  EXPECT_EQ(output_of({"predict", run_, data("known.csv", known)}), "x\ty\tz\n0.5\t11\t-10.7\n");
  const std::string filled =
      output_of({"predict", run_, data("missing.csv", missing), "--samples", "20000", "--format", "jsonl"});
  // z = x / 2 - y, approximately: y is 10.95, although without z it would be predicted as 10 + 3 x.
  EXPECT_NEAR(nlohmann::json::parse(first_line(filled))["y"].get<double>(), 10.95, 0.1);
  expect_failure({"predict", run_, data("texts.csv", "x;y;z\n0.5;b;1\n")}, 3, "line 2");
  expect_failure({"predict", run_, numbers, "--ahead", "2"}, 2,
                 "--ahead applies to data with fields; density models fill missing values");
  expect_failure({"predict", run_, numbers, "--fill", "worst"}, 2, "worst");
}

TEST_F(DensityTest, ordered_models_also_support_any_condition) {
  const std::string file = data("bits.csv", bit_rows(400));
  learn(file,
        {"--format", "table", "--model", "nade:8", "--epochs", "80", "--batch", "10", "--optimizer", "adam:rate=0.02"});
  const nlohmann::json found = completed({"--given", "d=1,b=0"});
  // Summed over all consistent rows of bits, with the probabilities given by `score`.
  double with = 0, total = 0;
  for (int a = 0; a < 2; ++a)
    for (int c = 0; c < 2; ++c) {
      const std::string row = std::to_string(a) + ",0," + std::to_string(c) + ",1\n";
      const nlohmann::json measured =
          only_object(output_of({"eval", run_, data("row.csv", "a,b,c,d\n" + row), "--json"}));
      const double p = std::exp(-measured["heads"]["values"]["nats_per_example"].get<double>());
      total += p;
      with += c * p;
    }
  EXPECT_NEAR(found["c"]["mean"].get<double>(), with / total, 1e-5);
  EXPECT_EQ(found["c"]["standard_error"].get<double>(), 0);
  int agree = 0;
  const nlohmann::json drawn = only_object(output_of({"sample", run_, "--count", "50", "--given", "d=1", "--json"}));
  for (const nlohmann::json& row : drawn["rows"]) {
    EXPECT_EQ(row[3], 1);
    agree += row[0] != row[2] ? 1 : 0;
  }
  EXPECT_GT(agree, 42);
}

/// Colors with a number around 1, 2 or 3 and a bit that is 1 only for red.
std::string color_rows(int rows) {
  const char* names[] = {"red", "green", "\"deep blue\""};
  std::string text = "color,size,hot\n";
  for (int i = 0; i < rows; ++i) {
    const int k = (i * 7 + i / 5) % 3;
    text += std::string(names[k]) + "," + std::to_string(10 * (k + 1) + 0.3 * std::sin(i * 1.7)) + "," +
            (k == 0 ? "1" : "0") + "\n";
  }
  return text;
}

TEST_F(DensityTest, text_columns_are_classes_alongside_bits_and_numbers) {
  const std::string file = data("colors.csv", color_rows(300));
  for (const char* model : {"rnade:12,components=3", "deep-rnade:30,components=3,orders=4"}) {
    const nlohmann::json trained = learn(file, {"--model", model, "--format", "table", "--epochs", "80", "--batch",
                                                "10", "--optimizer", "adam:rate=0.01"});
    EXPECT_THAT(trained["model"].get<std::string>(), HasSubstr("columns=c3+n+b"));
    // Independent columns: ln 3 for the colors, 0.64 for the bits, 3.5 for a normal distribution of all numbers.
    const nlohmann::json head = trained["valid"]["heads"]["values"];
    EXPECT_LT(head["nats_per_example"].get<double>(), 4) << model;
    const nlohmann::json given = completed({"--given", "size=30,hot=0"});
    EXPECT_GT(given["color=deep blue"]["mean"].get<double>(), 0.9) << model;
    EXPECT_LT(given["color=red"]["mean"].get<double>(), 0.1) << model;
    EXPECT_GT(completed({"--given", "color=red"})["hot"]["mean"].get<double>(), 0.9) << model;
    EXPECT_NEAR(completed({"--given", "color=green"})["size"]["mean"].get<double>(), 20, 1.5) << model;
    const std::string drawn = output_of({"sample", run_, "--count", "30", "--given", "hot=1"});
    EXPECT_EQ(first_line(drawn), "color,size,hot");
    EXPECT_GT(std::ranges::count(drawn, 'r'), 25) << drawn;  // the second letter of color, and of red
    const std::string holes = data("holes.csv", "color,size,hot\n?,10.1,1\ndeep blue,,0\nNA,20,\n");
    const std::string filled = output_of({"predict", run_, holes, "--fill", "best", "--samples", "2000"});
    EXPECT_THAT(filled, HasSubstr("red\t10.1\t1\n")) << model;
    EXPECT_THAT(filled, HasSubstr("green\t20\t0\n")) << model;
    EXPECT_THAT(output_of({"score", run_, file, "--by", "symbol"}), HasSubstr("deep blue,"));
  }
  expect_failure({"eval", run_, data("teal.csv", "color,size,hot\nred,10,1\nteal,10,1\n")}, 3,
                 "teal.csv: line 3: color is \"teal\", a class that did not occur in training; known classes: deep "
                 "blue, green, red");
  expect_failure({"complete", run_, "--given", "color=rde"}, 2, "did you mean \"red\"?");
  expect_failure({"train", file, "--out", run_, "--overwrite", "--format", "table", "--model", "nade:4"}, 3,
                 "line 2: size is 1");
  expect_failure({"train", file, "--out", run_, "--overwrite", "--format", "table", "--model", "bernoulli-mixture:4",
                  "--predict", "color,hot"},
                 2, "supports only bits");
}

TEST_F(DensityTest, classes_and_bits_are_exact_under_any_condition) {
  const std::string file = data("colors.csv", color_rows(300));
  for (const char* model : {"nade:6", "made:12", "neural-ar:4", "logistic-ar"}) {
    learn(file, {"--model", model, "--format", "table", "--predict", "color,hot", "--steps", "600", "--optimizer",
                 "adam:rate=0.01"});
    // Summed over all consistent rows, with the density of each given by `density`.
    const auto log_density = [&](const std::string& row) {
      return only_object(output_of(
          {"density", run_, data("row.csv", "color,hot\n" + row + "\n"), "--json"}))["mean"]["log_density"]
          .get<double>();
    };
    double total = 0, of_red = 0, all = 0;
    for (const char* color : {"red", "green", "deep blue"})
      for (const char* hot : {"0", "1"}) {
        const double p = std::exp(log_density(std::string(color) + "," + hot));
        all += p;
        if (*hot == '0') continue;
        total += p;
        of_red += color == std::string("red") ? p : 0;
      }
    EXPECT_NEAR(all, 1, 1e-5) << model;
    const nlohmann::json found = completed({"--given", "hot=1"})["color=red"];
    EXPECT_NEAR(found["mean"].get<double>(), of_red / total, 1e-5) << model;
    EXPECT_EQ(found["standard_error"].get<double>(), 0) << model;
    EXPECT_GT(found["mean"].get<double>(), 0.8) << model;
  }
  const std::string codes = data("codes.csv", "code,bit\n7,1\n3,0\n7,1\n12,0\n3,0\n12,1\n7,0\n3,1\n");
  learn(codes, {"--model", "nade:3", "--format", "table", "--predict", "code=classes,bit", "--steps", "5", "--split",
                "100/0"});
  const nlohmann::json found = completed({"--given", "bit=1"});
  EXPECT_EQ(found.size(), 3);
  EXPECT_TRUE(found.contains("code=3") && found.contains("code=7") && found.contains("code=12")) << found;
  EXPECT_EQ(output_of({"density", run_, codes}).substr(0, 16), "row\tlog_density\n");
}

TEST_F(DensityTest, row_densities_average_to_eval) {
  const std::string file = data("numbers.csv", number_rows(100));
  learn(file, {"--model", "linear-ar", "--split", "100/0", "--precision", "double"});
  const nlohmann::json measured = only_object(output_of({"eval", run_, file, "--json"}))["heads"]["values"];
  const nlohmann::json rows = only_object(output_of({"density", run_, file, "--json"}));
  ASSERT_EQ(rows["rows"].size(), 100);
  double mean = 0;
  for (const nlohmann::json& row : rows["rows"]) mean += row["log_density"].get<double>() / 100;
  EXPECT_NEAR(mean, -measured["nats_per_example"].get<double>(), 1e-9);
  EXPECT_NEAR(rows["mean"]["standardised"].get<double>(), -measured["standardised_nats"].get<double>(), 1e-9);
  EXPECT_EQ(count_lines(output_of({"density", run_, file})), 101);
  expect_failure({"density", run_}, 2, "");
  expect_failure({"density", text_, text_}, 4, "");
}

TEST_F(DensityTest, columns_are_matched_by_name_in_any_position) {
  const std::string file = data("numbers.csv", number_rows(100));
  learn(file, {"--model", "linear-ar", "--split", "100/0", "--precision", "double"});
  const std::string rows = data("rows.csv", "x;y;z\n0.5;11;-10\n-0.25;9;-9\n");
  const std::string turned = data("turned.csv", "z;free;y;x\n-10;7;11;0.5\n-9;7;9;-0.25\n");
  const std::string others = data("others.csv", "p;q;r\n0.5;11;-10\n-0.25;9;-9\n");
  for (const char* verb : {"density", "score", "predict"}) {
    EXPECT_EQ(output_of({verb, run_, turned}), output_of({verb, run_, rows})) << verb;
    expect_failure({verb, run_, others}, 3, "has no field \"x\"");
  }
  EXPECT_EQ(only_object(output_of({"eval", run_, turned, "--json"}))["heads"],
            only_object(output_of({"eval", run_, rows, "--json"}))["heads"]);
  const auto validated = [&](const std::string& valid) {
    return learn(file, {"--model", "linear-ar", "--valid", valid, "--precision", "double"})["valid"]["heads"];
  };
  EXPECT_EQ(validated(turned), validated(rows));
}

TEST_F(DensityTest, condition_values_must_be_representable) {
  learn(data("numbers.csv", number_rows(100)), {"--model", "gaussian-mixture:1", "--split", "100/0", "--steps", "5"});
  for (const char* given : {"x=inf", "x=nan", "x=-inf", "x=1e300", "x=1e400", "x=one"}) {
    expect_failure({"complete", run_, "--given", given}, 2, std::string("--given ") + given);
    expect_failure({"sample", run_, "--given", given}, 2, std::string("--given ") + given);
  }
  expect_failure({"complete", run_, "--given", "q=1"}, 2, "x1 to x3, named x, y, z");
  expect_failure({"complete", folder_ / "nowhere", "--given", "x=1"}, 4, "no such file");
}

TEST_F(DensityTest, plot_axes_are_labeled_and_shared_by_unit) {
  learn(data("numbers.csv", number_rows(100)), {"--model", "linear-ar", "--split", "80/20"});
  const std::string picture = folder_ / "curves.svg", other = folder_ / "text";
  ASSERT_EQ(unfold_command({"info", run_, "--plot", picture}).code, 0);
  EXPECT_THAT(read_bytes(picture), HasSubstr("bits per prediction, numbers standardized"));
  EXPECT_THAT(output_of({"report", run_, "-o", "-"}), HasSubstr("bits per prediction, numbers standardized"));
  ASSERT_EQ(unfold_command({"train", text_, "--model", "rnn:3", "--steps", "2", "--out", other}).code, 0);
  expect_failure({"info", run_, other, "--plot", picture}, 2, "; plot them separately");
  expect_failure({"report", other, run_, "-o", picture}, 2, "; plot them separately");
}

TEST_F(DensityTest, interrupted_run_equals_uninterrupted_run) {
  const std::string file = data("bits.csv", bit_rows(100)), whole = folder_ / "whole";
  const Arguments common = {"train",   file, "--format", "table",       "--model",       "nade:5",
                            "--batch", "10", "--quiet",  "--optimizer", "adam:rate=0.01"};
  ASSERT_EQ(unfold_command(common + Arguments{"--out", whole, "--steps", "20"}).code, 0);
  ASSERT_EQ(unfold_command(common + Arguments{"--out", run_, "--steps", "7", "--threads", "2"}).code, 0);
  ASSERT_EQ(unfold_command({"train", "--out", run_, "--resume", "--steps", "20", "--quiet"}).code, 0);
  EXPECT_TRUE(read_bytes(run_ + "/model.safetensors") == read_bytes(whole + "/model.safetensors"));
}

TEST_F(DensityTest, curvature_optimizer_trains_densities) {
  const std::string file = data("bits.csv", bit_rows(200));
  const nlohmann::json trained =
      learn(file, {"--format", "table", "--model", "nade:6", "--optimizer", "hf", "--steps", "12"});
  EXPECT_LT(trained["valid"]["heads"]["values"]["nats_per_example"].get<double>(), 2);
}

TEST_F(DensityTest, music_frames_are_predicted_as_whole_chords) {
  const std::string file = data("pieces", roll_lines(20));
  const nlohmann::json trained = learn(file, {"--format", "rolls", "--model", "gru:6", "--predict", "notes=nade:5",
                                              "--steps", "100", "--batch", "4", "--optimizer", "adam:rate=0.02"});
  EXPECT_LT(trained["valid"]["heads"]["notes"]["nats_per_position"].get<double>(), 8);
  const std::string ahead = output_of({"forecast", run_, file, "--ahead", "2", "--samples", "20", "--quiet"});
  EXPECT_THAT(first_line(ahead), StartsWith("example\tahead\tnotes.mean.1"));
  const std::string piece = output_of({"sample", run_, "--length", "30", "--seed", "4", "--midi", folder_ / "x.mid",
                                       "--picture", folder_ / "x.svg", "--step", "250"});
  EXPECT_EQ(std::ranges::count(piece, ' '), 29);
  EXPECT_EQ(only_object(output_of({"eval", run_, data("drawn", piece), "--json"}))["positions"], 30);  // it can be read
  EXPECT_THAT(read_bytes(folder_ / "x.mid"), StartsWith("MThd"));
  EXPECT_THAT(read_bytes(folder_ / "x.svg"), StartsWith("<svg"));
  // At most one voice is added to a given voice.
  const std::string voices = data("voices", "60 60 - 55\n");
  for (const char* seed : {"1", "2", "3"}) {
    const std::string harmonised = output_of({"sample", run_, "--voices", voices, "--seed", seed});
    std::istringstream steps(harmonised);
    const std::string kept[] = {"60", "60", "", "55"};
    for (const std::string& note : kept) {
      std::string step;
      ASSERT_TRUE(steps >> step);
      EXPECT_NE(step.find(note), std::string::npos) << harmonised;
      EXPECT_LE(std::ranges::count(step, ','), note.empty() ? 0 : 1) << harmonised;
    }
  }
  expect_failure({"sample", run_, "--voices", voices, "--length", "3"}, 2, "is determined by the voices");
  expect_failure({"sample", run_, "--count", "2", "--midi", folder_ / "x.mid"}, 2, "support only one piece");
  expect_failure({"predict", run_, file}, 2,
                 "predict requires a distribution of numbers, which the loss nade does not support");
}

TEST_F(DensityTest, density_derivatives_are_checked) {
  for (const char* model : {"nade:3", "nade:3,rounds=3", "made:4,layers=2", "rnade:3,components=2", "linear-ar",
                            "deep-nade:3,layers=2", "deep-rnade:3,components=2"})
    EXPECT_EQ(unfold_command({"check", model, "--symbols", "4"}).code, 0) << model;
}

TEST_F(DensityTest, meaningless_options_are_rejected) {
  const std::string bits = data("bits.csv", bit_rows(50)), numbers = data("numbers.csv", number_rows(50));
  const auto refused = [&](const std::string& file, const Arguments& more, int code, const std::string& message) {
    expect_failure(Arguments{"train", file, "--out", run_, "--format", "table", "--steps", "1"} + more, code, message);
  };
  refused(numbers, {"--model", "nade:5"}, 3, "numbers.csv: line 2: y is 11, but nade:5 supports only bits (0 or 1)");
  refused(bits, {"--model", "nade:0"}, 2, "units");
  refused(bits, {"--model", "nade:5,layers=2"}, 2, "layers");
  refused(bits, {"--model", "nade:5", "--read", "a"}, 2, "nade:5 has no inputs: leave out --read");
  refused(bits, {"--model", "nade:5", "--ahead", "1"}, 2, "treats each row separately");
  refused(bits, {"--model", "nade:5", "--optimizer", "path"}, 2, "losses with parameters");
  refused(data("texts.csv", "a,b\n0,x\n1,y\n0,z\n"), {"--model", "bernoulli-mixture:5"}, 2, "supports only bits");
  refused(bits, {"--model", "nade:5,columns=b*3"}, 2, "the columns of the data are b*4; leave out the option columns");
  expect_failure({"train", text_, "--out", folder_ / "other", "--model", "nade:5"}, 2, "is a distribution of vectors");
  learn(bits, {"--format", "table", "--model", "nade:5", "--steps", "2"});
  expect_failure({"complete", run_, "--given", "q=1"}, 2, "there is no column q; the model has 4 columns, x1 to x4");
  expect_failure({"complete", run_, "--given", "a=2"}, 2, "the model is binary; use 0 or 1");
  expect_failure({"complete", run_, "--given", "a=1", "--predict", "a"}, 2, "a is both given and requested");
  expect_failure({"complete", run_, "--prime", "a"}, 2, "--prime applies to text; this is a density model");
  expect_failure({"sample", run_, "--length", "7"}, 2,
                 "--length applies to text, whole sequences and piano rolls; this is a density model");
  expect_failure({"eval", run_, data("narrow.csv", "a,b\n0,1\n1,0\n1,1\n")}, 3, "");
}

}  // namespace
}  // namespace unfold::test
