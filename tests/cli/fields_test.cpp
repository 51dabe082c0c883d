// Data with fields on the command line: training, evaluation and prediction for every format.
#include "tests/cli/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>

namespace unfold::test {
namespace {

/// A format and its expected output.
struct FieldFormat {
  const char* name;
  std::string bytes;
  Arguments options;
  std::string head;               ///< of the predicted table
  std::string field;              ///< a predicted field
  std::vector<std::string> keys;  ///< of `eval --json`, under heads.FIELD
  std::ptrdiff_t rows;            ///< of the predicted table, including its header and empty lines
};

/// NumPy's file of float64 numbers, [T].
std::string npy_of(int rows) {
  std::string head = "{'descr': '<f8', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ",), }";
  head.resize(117, ' ');
  std::string bytes = std::string("\x93NUMPY\x01\x00", 8) + std::string("\x76\x00", 2) + head + "\n";
  for (int i = 0; i < rows; ++i) {
    const double x = std::sin(i / 3.0);
    bytes.append(reinterpret_cast<const char*>(&x), sizeof x);
  }
  return bytes;
}

const std::vector<std::string> kLabelKeys = {"predicted", "accuracy", "error_rate", "macro_f1"};
const std::vector<std::string> kNumberKeys = {"predicted", "mean_squared_error", "nrmse", "crps", "nats_per_position"};

std::vector<FieldFormat> formats() {
  std::vector<std::string> chunks = kLabelKeys, classes = kLabelKeys;
  chunks.insert(chunks.end(), {"chunk_f1", "nats_per_position"});
  std::vector<std::string> nodes = kLabelKeys;
  nodes.insert(nodes.end(), {"root_accuracy", "nats_per_position"});
  classes.emplace_back("nats_per_example");
  return {
      {"columns", chunk_columns(40), {"--model", "bigru:4"}, "1\t2\t3\t3.best\t3.probability", "3", chunks, 180},
      {"labelled",
       labeled_lines(40),
       {"--model", "bigru:4"},
       "text\tlabel\tlabel.best\tlabel.probability",
       "label",
       classes,
       41},
      {"table", wave(200), {"--model", "gru:4"}, "value\tvalue.mean\tvalue.q10\tvalue.q90", "value", kNumberKeys, 201},
      {"jsonl",
       json_lines(40),
       {"--model", "gru:4", "--predict", "tag", "--read", "word"},
       "mood\ttag\tword\ttag.best\ttag.probability",
       "tag",
       kLabelKeys,
       100},
      {"npy",
       npy_of(90),
       {"--model", "gru:4", "--predict", "values", "--read", "values"},
       "values\tvalues.mean\tvalues.q10\tvalues.q90",
       "values",
       kNumberKeys,
       91},
      {"trees",
       tree_lines(40),
       {"--model", "tree-lstm:4"},
       "word\tlabel\tparent\tlabel.best\tlabel.probability",
       "label",
       nodes,
       120},
      {"grids",
       grid_blocks(20),
       {"--model", "grid-lstm:4"},
       "text\tlabel\trow\tcolumn\tlabel.best\tlabel.probability",
       "label",
       kLabelKeys,
       110},
      {"rolls",
       roll_lines(20),
       {"--model", "gru:4"},
       "notes\tnotes.mean.1\tnotes.q10.1\tnotes.q90.1\tnotes.mean.2",
       "notes",
       kNumberKeys,
       90},
  };
}

class FieldFormatTest : public FieldsTest, public ::testing::WithParamInterface<FieldFormat> {};

TEST_P(FieldFormatTest, is_trained_on_measured_and_predicted) {
  const FieldFormat& format = GetParam();
  const std::string file = data("data", format.bytes);
  const nlohmann::json trained = train_on(file, format.options + Arguments{"--format", format.name});
  EXPECT_EQ(trained["format"], format.name);
  EXPECT_EQ(trained["steps"], 5);
  for (const std::string& key : format.keys) EXPECT_TRUE(trained["valid"]["heads"][format.field].contains(key)) << key;

  const nlohmann::json measured = only_object(output_of({"eval", run_, file, "--json"}));
  for (const std::string& key : format.keys)
    EXPECT_TRUE(measured["heads"][format.field].contains(key)) << key << measured.dump();
  const nlohmann::json part = only_object(output_of({"eval", run_, file, "--split", "90/10", "--json"}));
  EXPECT_EQ(part["heads"], trained["valid"]["heads"]);  // as training found it

  const std::string table = output_of({"predict", run_, file, "--quiet"});
  EXPECT_THAT(first_line(table), StartsWith(format.head));
  EXPECT_EQ(count_lines(table), format.rows);
  const std::string json = output_of({"predict", run_, file, "--quiet", "--format", "jsonl"});
  EXPECT_EQ(count_lines(json), measured["examples"]);
  for (const nlohmann::json& object : objects_in(json)) EXPECT_TRUE(object.is_object());

  EXPECT_EQ(output_of({"eval", run_ + "/model.safetensors", file, "--json", "--threads", "2"}),
            output_of({"eval", run_, file, "--json", "--threads", "1"}));
  const nlohmann::json scored = only_object(output_of({"score", run_, file, "--json"}));
  double bits = 0;
  int predicted = 0;
  for (const nlohmann::json& row : scored["scores"]) {
    const nlohmann::json& found = row[format.field + ".bits"];
    if (found.is_null()) continue;
    bits += found.get<double>();
    ++predicted;
  }
  const nlohmann::json& head = measured["heads"][format.field];
  EXPECT_EQ(head["predicted"], predicted);
  const double nats = head.contains("nats_per_example") ? head["nats_per_example"].get<double>()
                                                        : head["nats_per_position"].get<double>();
  EXPECT_NEAR(bits * std::log(2.0) / static_cast<double>(predicted), nats, 1e-6 * (1 + std::abs(nats)));

  const nlohmann::json told = only_object(output_of({"info", run_, "--json"}));
  EXPECT_EQ(told["format"], format.name);
  EXPECT_FALSE(told.contains("task"));
}

INSTANTIATE_TEST_SUITE_P(All, FieldFormatTest, ::testing::ValuesIn(formats()),
                         [](const auto& format) { return std::string(format.param.name); });

TEST_F(FieldsTest, several_heads_predict_at_positions_and_at_the_end) {
  const std::string file = data("chunks", chunk_columns(40));
  const nlohmann::json trained = train_on(file, {"--model", "bigru:4", "--read", "1", "--predict", "3@end,2"});
  EXPECT_TRUE(trained["valid"]["heads"]["3"].contains("nats_per_example"));
  EXPECT_TRUE(trained["valid"]["heads"]["2"].contains("nats_per_position"));
  const std::vector<nlohmann::json> predicted =
      objects_in(output_of({"tag", run_, file, "--format", "jsonl", "--quiet"}));
  ASSERT_EQ(predicted.size(), 40U);
  EXPECT_TRUE(predicted[0]["3.best"].is_string());
  EXPECT_EQ(predicted[1]["2.best"].size(), 3U);
  const nlohmann::json scored = only_object(output_of({"score", run_, file, "--json"}));
  EXPECT_TRUE(scored["scores"][0]["3.bits"].is_null());  // the first of two positions
  EXPECT_TRUE(scored["scores"][1]["3.bits"].is_number());
  const std::string by_line = output_of({"score", run_, file, "--by", "line"});
  EXPECT_EQ(first_line(by_line), "example\tpositions\tbits\tbits_per_position\tz_score");
  EXPECT_EQ(count_lines(by_line), 41);
}

TEST_F(FieldsTest, the_most_surprising_rows_come_first) {
  const std::string file = data("lines", labeled_lines(40)), odd = data("odd", "pos\tgood good\nneg\tgood good\n");
  train_on(file, {"--model", "bigru:4", "--steps", "100"});
  const std::string top = output_of({"score", run_, odd, "--top", "1"});
  EXPECT_THAT(top, StartsWith("example\tlabel\tlabel.bits\n2\tneg\t"));
  EXPECT_EQ(count_lines(top), 2);
  expect_failure({"score", run_, odd, "--by", "state"}, 2, "hmm");
  expect_failure({"score", run_, odd, "--roc", folder_ / "roc"}, 2,
                 "--roc applies to text and logs; this is a model of data with fields");
}

TEST_F(FieldsTest, LinesOfDifferentLengthsAreRankedByTheirZScore) {
  std::string rows = "session,page\n";
  for (int s = 0; s < 60; ++s)
    for (int i = 0; i < 4 + s % 9 * 4; ++i) rows += fmt::format("s{},{}\n", s, i % 3 == s % 3 ? "home" : "item");
  const std::string file = data("sessions.csv", rows);
  train_on(file, {"--group", "session", "--model", "gru:8", "--steps", "60", "--predict", "page", "--ahead", "1"});
  const nlohmann::json symbols = only_object(output_of({"score", run_, file, "--json"}))["scores"];
  double count = 0, mean = 0, squares = 0;
  std::map<int, std::pair<double, double>> sums;  // number of predicted entries and bits, by example
  for (const nlohmann::json& each : symbols) {
    if (each["page.bits"].is_null()) continue;
    const double bits = each["page.bits"];
    ++count, mean += bits, squares += bits * bits;
    auto& [entries, sum] = sums[each["example"].get<int>()];
    ++entries, sum += bits;
  }
  mean /= count;
  const double variance = squares / count - mean * mean;
  const nlohmann::json lines = only_object(output_of({"score", run_, file, "--by", "line", "--json"}))["scores"];
  ASSERT_EQ(lines.size(), 60u);
  for (const nlohmann::json& line : lines) {
    const auto& [entries, sum] = sums[line["example"].get<int>()];
    EXPECT_NEAR(line["z_score"].get<double>(), (sum - entries * mean) / std::sqrt(entries * variance), 1e-6);
    EXPECT_NEAR(line["bits"].get<double>(), sum, 1e-9);
  }
  const nlohmann::json top =
      only_object(output_of({"score", run_, file, "--by", "line", "--top", "60", "--json"}))["scores"];
  for (std::size_t i = 1; i < top.size(); ++i) EXPECT_LE(top[i]["z_score"], top[i - 1]["z_score"]);

  const std::string with_text = output_of({"score", run_, file, "--by", "line", "--text"});
  EXPECT_EQ(first_line(with_text), "example\tsession\tpositions\tbits\tbits_per_position\tz_score\ttext");
  EXPECT_THAT(with_text, HasSubstr("\thome item item home\n2\ts1\t"));
  const nlohmann::json texts =
      only_object(output_of({"score", run_, file, "--by", "line", "--text", "--json"}))["scores"];
  EXPECT_EQ(texts[1]["text"], "item home item item home item item home");
  expect_failure({"score", run_, file, "--text"}, 2, "--text requires --by line");
}

TEST_F(FieldsTest, ScoresOfLabeledTextsMayShowTheTexts) {
  const std::string file = data("lines", labeled_lines(40)), odd = data("odd", "pos\tgood bad good\n");
  train_on(file, {"--model", "bigru:4"});
  EXPECT_THAT(output_of({"score", run_, odd, "--by", "line", "--text"}), HasSubstr("\tgood bad good\n"));
}

TEST_F(FieldsTest, TagKeepsTheCommentsOfConllu) {
  std::string text;
  for (int s = 0; s < 20; ++s)
    text += fmt::format(
        "# sent_id = {}\n1-2\tits\t_\t_\t_\t_\t_\t_\t_\t_\n1\tit\tit\tPRON\t_\t_\t0\troot\t_\t_\n"
        "2\tis\tbe\tAUX\t_\t_\t1\tcop\t_\t_\n\n",
        s);
  const std::string file = data("bank.conllu", text);
  train_on(file, {"--model", "bigru:4", "--steps", "5"});
  const std::string tagged = output_of({"tag", run_, file});
  EXPECT_THAT(tagged, HasSubstr("deps\tmisc\tupos.best\tupos.probability\n# sent_id = 0\n1-2\tits\t_"));
  EXPECT_THAT(tagged, HasSubstr("\n\n# sent_id = 19\n"));
  std::istringstream lines(tagged);
  for (std::string line; std::getline(lines, line);)
    EXPECT_EQ(std::ranges::count(line, '\t'), line.empty() || line[0] == '#' ? 0 : 11) << line;
}

TEST_F(FieldsTest, NextEventsHaveAProbabilityForEachClass) {
  std::string rows = "session,page\n";
  for (int s = 0; s < 40; ++s)
    for (int i = 0; i < 6; ++i) rows += fmt::format("s{},{}\n", s, i % 3 == 0 ? "home" : i % 3 == 1 ? "item" : "pay");
  const std::string file = data("sessions.csv", rows);
  train_on(file, {"--group", "session", "--model", "gru:8", "--steps", "60", "--predict", "page", "--ahead", "1"});
  expect_failure({"predict", run_, "--ahead", "3"}, 2, "the sequences that --ahead 3 continues, in the format that");
  const Arguments ahead = {"predict", run_, file, "--ahead", "3", "--probabilities"};
  EXPECT_EQ(first_line(output_of(ahead)),
            "example\tsession\tahead\tpage.best\tpage.probability\tpage.home\tpage.item\tpage.pay");
  const nlohmann::json first = objects_in(output_of(ahead + Arguments{"--format", "jsonl"})).front();
  for (std::size_t k = 0; k < 3; ++k) {
    double sum = 0, most = 0;
    for (const char* page : {"page.home", "page.item", "page.pay"}) {
      const double p = first[page][k];
      sum += p, most = std::max(most, p);
    }
    EXPECT_NEAR(sum, 1, 1e-6);
    EXPECT_EQ(first["page.probability"][k], most);
    EXPECT_EQ(first["page." + first["page.best"][k].get<std::string>()][k], most);
  }
}

TEST_F(FieldsTest, numbers_are_predicted_by_a_mixture_some_positions_ahead) {
  const std::string file = data("wave.csv", wave(200, true));
  const nlohmann::json trained =
      train_on(file, {"--model", "gru:4", "--read", "hour,load", "--predict", "load=mixture:2", "--ahead", "3"});
  EXPECT_EQ(trained["valid"]["heads"]["load"]["loss"], "mixture");
  const nlohmann::json told = only_object(output_of({"info", run_, "--json"}));
  EXPECT_EQ(told["read"], nlohmann::json({"previous(3) hour", "previous(3) load"}));
  EXPECT_EQ(told["fields"][0]["loss"], "mixture");
  EXPECT_GT(told["fields"][0]["deviation"][0].get<double>(), 0.1);
  const std::string shown = output_of({"info", run_});
  EXPECT_THAT(shown, HasSubstr("data        table; reads previous(3) hour, previous(3) load\n"));
  EXPECT_THAT(shown, HasSubstr("1 number, predicted with mixture, standardized by mean"));
  EXPECT_THAT(output_of({"forecast", run_, file, "--ahead", "3"}),
              StartsWith("example\tahead\tload.mean\tload.q10\tload.q90\n1\t1\t"));
  expect_failure({"forecast", run_, file, "--ahead", "4"}, 2, "which the model does not predict");
}

TEST_F(FieldsTest, sampled_number_sequences_are_a_readable_table) {
  std::string rows = "sequence,x\n";
  for (int s = 0; s < 30; ++s)
    for (int t = 0; t < 2 + s % 3; ++t) rows += std::to_string(s) + "," + std::to_string(s % 3 + 0.1 * t) + "\n";
  const Arguments how = {"--sequences", "sequence", "--predict", "x", "--ends", "stop", "--model", "gru:4"};
  const Finished trained = unfold_command(few_steps(data("numbers.csv", rows), run_, how));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(trained.out, HasSubstr("unfold sample " + std::string(run_) + " --count 5"));
  const std::string drawn = output_of({"sample", run_, "--count", "30", "--length", "6"});
  EXPECT_EQ(drawn.substr(0, drawn.find('\n')), "sequence\tx");
  EXPECT_EQ(unfold_command(few_steps(data("drawn.tsv", drawn), folder_ / "again", how)).code, 0);
  const nlohmann::json samples =
      only_object(output_of({"sample", run_, "--count", "30", "--length", "6", "--json"}))["samples"];
  ASSERT_EQ(samples.size(), 30U);
  std::ptrdiff_t positions = 0;
  for (const nlohmann::json& sample : samples) {
    positions += static_cast<std::ptrdiff_t>(sample["values"].size());
    EXPECT_TRUE(sample["ended"] || sample["values"].size() == 6);
  }
  EXPECT_EQ(std::ranges::count(drawn, '\n'), positions + 1);
  for (const Arguments& more : {Arguments{"--temperature", "0.5"}, {"--prime", "1"}, {"--midi", "a.mid"}}) {
    const Finished refused = unfold_command(Arguments{"sample", run_} + more);
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("does not apply to sequences of numbers"));
  }
  const Finished searching = unfold_command({"predict", run_, folder_ / "numbers.csv", "--beam", "4"});
  EXPECT_EQ(searching.code, 2);
  EXPECT_THAT(searching.err, HasSubstr("unfold sample"));
}

TEST_F(FieldsTest, RefusesToPredictOrReadTheColumnThatSeparatesSequences) {
  const std::string file = data("rows.csv", "part,x,y\na,1,2\na,2,3\nb,3,4\nb,4,5\nc,5,6\nc,6,7\n");
  const Arguments train = {"train", file, "--sequences", "part", "--model", "gru:3", "--steps", "2", "--out", run_};
  for (const char* predicted : {"part", "x,part", "part@end", "part=softmax"})
    expect_failure(train + Arguments{"--predict", predicted}, 2,
                   "--predict part: part separates the sequences (--sequences part); name another field");
  expect_failure(train + Arguments{"--predict", "x", "--read", "part,y"}, 2,
                 "--read part: part separates the sequences");
  expect_failure(
      {"train", file, "--sequences", "part", "--model", "gaussian-hmm:2", "--predict", "x,part", "--out", run_}, 2,
      "--predict part: part separates the sequences");
}

TEST_F(FieldsTest, AColumnThatGroupsTheRowsDoesSoIfReadNamesIt) {
  std::string rows = "user,time,page\n";
  for (int i = 0; i < 120; ++i)
    rows += fmt::format("u{},2025-03-01T{:02}:{:02}:00,{}\n", i % 10, i / 60, i % 60, i % 3 == 0 ? "home" : "item");
  const std::string file = data("events.csv", rows);
  const Finished trained =
      unfold_command({"train", file, "--read", "page,user", "--model", "gru:4", "--steps", "2", "--out", run_});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(trained.err, HasSubstr("column user groups the rows and is not read, although --read names it"));
  const std::string settings = read_bytes(run_ + "/config.toml");
  EXPECT_THAT(settings, HasSubstr("\nread = \"page\"\n"));
  EXPECT_THAT(settings, HasSubstr("\nsequences = \"user\"\n"));
  EXPECT_THAT(output_of({"score", run_, file, "--by", "line"}), StartsWith("example\tuser\tpositions\t"));
}

TEST_F(FieldsTest, validation_file_and_named_parts_are_used) {
  const std::string file = data("lines", labeled_lines(40)), other = data("other", labeled_lines(7));
  const nlohmann::json trained = train_on(file, {"--model", "bigru:4", "--valid", other});
  EXPECT_EQ(trained["valid"]["examples"], 7);
  EXPECT_EQ(metrics_of({"eval", run_, other, "--json"}), trained["valid"]);
  expect_failure({"eval", run_, file, "--part", "test"}, 2, "--part needs --split");
  const nlohmann::json split = train_on(file, {"--model", "bigru:4", "--split", "50/25/25", "--overwrite"});
  EXPECT_EQ(split["valid"]["examples"], 10);
  EXPECT_EQ(split["test"]["examples"], 10);
  EXPECT_EQ(metrics_of({"eval", run_, file, "--split", "50/25/25", "--part", "test", "--json"}), split["test"]);
  EXPECT_EQ(metrics_of({"eval", run_, file, "--part", "test", "--json"}), split["test"]);
  expect_failure({"eval", run_, file, "--split", "90/10", "--part", "test"}, 3, "--part test is empty in the split");
}

TEST_F(FieldsTest, empty_column_is_missing_in_every_given_file) {
  std::string rows = "load,t,note\n", bare = rows;
  for (int i = 0; i < 60; ++i) {
    const std::string load = std::to_string(std::sin(i / 3.0));
    rows += load + "," + std::to_string(i % 7) + ",a\n";
    bare += load + ",," + std::to_string(i) + "\n";
  }
  const std::string full = data("full.csv", rows), none = data("none.csv", bare);
  const Arguments more = {"--model", "gru:4",     "--format", "table",      "--read",
                          "load,t",  "--predict", "load",     "--overwrite"};
  for (const char* option : {"--valid", "--test"}) {
    const nlohmann::json trained = train_on(full, more + Arguments{option, none});
    EXPECT_EQ(metrics_of({"eval", run_, none, "--json"}), trained[std::string(option).substr(2)]) << option;
  }
  for (const auto& [first, second] : {std::pair{full, none}, std::pair{none, full}}) {
    train_on(first, more + Arguments{second, "--split", "100/0/0"});
    EXPECT_EQ(count_lines(output_of({"predict", run_, first, second})), 122);
  }
  expect_failure({"train", full, none, "--out", run_, "--read", "load,note", "--predict", "load", "--overwrite"}, 3,
                 "field note: " + full + " contains strings (\"a\" in line 2), and " + none +
                     " contains numbers (0 in line 2); delete the entries that are not numbers");
}

TEST_F(FieldsTest, validation_labels_unseen_in_training_are_reported) {
  std::string rows = "t,k\n";
  for (int i = 0; i < 180; ++i) rows += std::to_string(i % 7) + (i % 2 == 0 ? ",a\n" : ",b\n");
  std::string unseen = rows, some = rows;
  for (int i = 0; i < 20; ++i) unseen += "1,c\n", some += i % 2 == 0 ? "1,c\n" : "1,a\n";
  const Arguments options = {"--predict", "k", "--model", "lstm:4"};
  const std::string file = data("late.csv", unseen);
  expect_failure(few_steps(file, run_, options), 3,
                 "no value to be predicted in the validation part occurs in training");
  EXPECT_FALSE(std::filesystem::exists(run_));
  const Finished finished = unfold_command(few_steps(data("some.csv", some), run_, options));
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_THAT(
      finished.err,
      HasSubstr("the validation part contains values that do not occur in training: 10 of k (the first is \"c\")"));
}

TEST_F(FieldsTest, no_predictions_give_no_metrics) {
  std::string rows = "t,load\n";
  for (int i = 0; i < 100; ++i) rows += std::to_string(i % 7) + "," + std::to_string(i % 5) + "\n";
  train_on(data("load.csv", rows), {"--predict", "load", "--model", "gru:4"});
  expect_failure({"eval", run_, data("none.csv", "t,load\n1,\n2,\n")}, 3, "nothing to evaluate:");
  train_on(data("lines", labeled_lines(30)), {"--format", "labelled", "--model", "gru:4", "--overwrite"});
  EXPECT_THAT(output_of({"eval", run_, data("new", "odd\tabc abc\n"), "--unknown", "skip"}),
              HasSubstr("accuracy               0\n"));
  expect_failure(few_steps(data("one.csv", "t,load\n1,2\n"), folder_ / "new", {"--predict", "load"}), 3,
                 "no training data is left");
}

TEST_F(FieldsTest, non_text_data_is_not_called_text) {
  std::string utf16("\xFF\xFE", 2);
  for (const char c : std::string("a,b\n1,2\n3,4\n")) utf16 += std::string{c, '\0'};
  expect_failure(few_steps(data("w.csv", utf16), run_, {"--predict", "a"}), 3, "UTF-16");
}

TEST_F(FieldsTest, reader_notes_are_printed_once_per_file) {
  const std::string latin = "pos\tcaf\xE9 bon\nneg\tcaf\xE9 mal\n";
  const std::string file = data("latin", latin + labeled_lines(30)), other = data("other", latin);
  const std::string said = " is not valid UTF-8 (line 1) and is read as ISO-8859-1";
  const Finished trained =
      unfold_command(few_steps(file, run_, {"--model", "gru:4", "--format", "labelled", "--valid", other}));
  EXPECT_THAT(trained.err, HasSubstr(file + said));
  EXPECT_THAT(trained.err, HasSubstr(other + said));
  for (const char* verb : {"predict", "eval", "score", "density", "explain"}) {
    const Finished finished = unfold_command({verb, run_, other});
    EXPECT_EQ(finished.err.find(said), finished.err.rfind(said)) << verb;
    EXPECT_THAT(finished.err, HasSubstr(other + said)) << verb;
    EXPECT_EQ(unfold_command({verb, run_, other, "--quiet"}).err, "") << verb;
  }
  const Finished followed = unfold_command({"predict", run_, "-", "--follow"}, {.input = "pos\tbon\n" + latin});
  EXPECT_THAT(followed.err, HasSubstr("standard input is not UTF-8 (line 2); such lines are read as ISO-8859-1"));
  EXPECT_EQ(followed.err.find("UTF-8"), followed.err.rfind("UTF-8"));
}

TEST_F(FieldsTest, resumed_run_equals_an_uninterrupted_run) {
  const std::string file = data("chunks", chunk_columns(40)), whole = folder_ / "whole";
  const Arguments more = {"--model", "bigru:4,dropout=0.2", "--quiet"};
  ASSERT_EQ(unfold_command(few_steps(file, whole, more + Arguments{"--steps", "20"})).code, 0);
  ASSERT_EQ(unfold_command(few_steps(file, run_, more + Arguments{"--steps", "7"})).code, 0);
  ASSERT_EQ(unfold_command({"train", "--out", run_, "--resume", "--steps", "20", "--quiet"}).code, 0);
  EXPECT_TRUE(read_bytes(run_ + "/model.safetensors") == read_bytes(whole + "/model.safetensors"));
  EXPECT_EQ(log_events(run_ + "/log.jsonl").back(), log_events(whole + "/log.jsonl").back());
}

TEST_F(FieldsTest, text_verbs_refuse_field_models_with_a_remedy) {
  train_on(data("chunks", chunk_columns(40)), {"--model", "bigru:4"});
  for (const Arguments& arguments :
       {Arguments{"sample", run_}, Arguments{"complete", run_},
        Arguments{"compress", text_, "-o", folder_ / "x", "--model", run_}, Arguments{"export", run_, "--to", "arpa"}})
    expect_failure(arguments, 4,
                   "which reads columns, is not a model of symbols; use it with predict, score, eval or info");
  expect_failure({"forecast", run_, folder_ / "chunks"}, 2, "both directions");
}

TEST_F(FieldsTest, eval_lists_classes_and_mistakes) {
  const std::string file = data("chunks", chunk_columns(40));
  train_on(file, {"--model", "bigru:4"});
  const std::string shown = output_of({"eval", run_, file});
  EXPECT_THAT(shown, HasSubstr("3: most frequent mistakes\n     times  wanted               predicted\n"));
  EXPECT_THAT(shown, HasSubstr("3: chunks by frequency\n     count  precision    recall        F1  type\n"));
  const nlohmann::json head = only_object(output_of({"eval", run_, file, "--json"}))["heads"]["3"];
  int counted = 0, right = 0, wrong = 0;
  for (const nlohmann::json& each : head["classes"]) {
    counted += each["count"].get<int>();
    right += static_cast<int>(std::lround(each["recall"].get<double>() * each["count"].get<int>()));
  }
  for (const nlohmann::json& each : head["confusions"]) wrong += each["count"].get<int>();
  EXPECT_EQ(counted, head["predicted"]);
  EXPECT_EQ(right + wrong, counted);
  EXPECT_TRUE(head["chunks"][0].contains("type"));
}

TEST_F(FieldsTest, eval_shows_at_most_twenty_classes) {
  std::string rows = "x,y\n";
  for (int i = 0; i < 150; ++i) rows += fmt::format("v{0},c{0}\n", i % 25);
  const std::string file = data("many.csv", rows);
  train_on(file, {"--predict", "y", "--model", "rnn:8", "--steps", "5"});
  EXPECT_THAT(output_of({"eval", run_, file}), HasSubstr("  and 5 more classes (all: --json)\n"));
  EXPECT_EQ(only_object(output_of({"eval", run_, file, "--json"}))["heads"]["y"]["classes"].size(), 25u);
}

/// An error in a file, and the expected message.
struct BadFile {
  const char* name;
  std::string bytes, verb, message;
};

class BadFields : public FieldsTest {
 protected:
  /// Trains on good data of a format, then runs `eval` and `predict` on bad data; an existing result is kept.
  void expect_refused(const std::string& good, const Arguments& options, const std::vector<BadFile>& bad) const {
    train_on(data("good", good), options);
    const std::string before = read_bytes(run_ + "/model.safetensors"), out = data("out", "before");
    for (const BadFile& file : bad) {
      SCOPED_TRACE(file.name);
      const std::string path = data(file.name, file.bytes);
      Arguments command = {file.verb, run_, path};
      if (file.verb == "predict") command = command + Arguments{"--out", out};
      expect_failure(command, 3, file.message);
      EXPECT_EQ(read_bytes(out), "before");
    }
    EXPECT_TRUE(read_bytes(run_ + "/model.safetensors") == before);
  }
};

TEST_F(BadFields, columns_are_refused_with_file_and_line) {
  expect_refused(chunk_columns(40), {"--model", "gru:4", "--format", "columns"},
                 {{"ragged", "the DT O\ncat NN\n", "eval", "ragged: line 2: the line has 2 columns, but line 1 has 3"},
                  {"ragged", "the DT O\ncat NN\n", "predict", "ragged: line 2"},
                  {"unseen", "the DT O\ncat NN B-XX\n", "eval",
                   "unseen, line 2: field 3 is \"B-XX\", which did not occur in training"},
                  {"unseen", "the DT O\ncat NN B-XX\n", "score", "unseen, line 2: field 3 is \"B-XX\""},
                  {"empty", "", "predict", "empty is empty"},
                  {"blank", "\n\n", "eval", "it contains no examples"},
                  {"zero", std::string("the\0DT O\n", 9), "eval", "line 1: it contains a zero byte"},
                  {"narrow", "the\ncat\n", "predict", "has no field \"2\""}});
  const std::string unseen = folder_ / "unseen";
  EXPECT_EQ(unfold_command({"predict", run_, unseen}).code, 0);  // labels do not matter there
  const nlohmann::json measured = only_object(output_of({"eval", run_, unseen, "--unknown", "skip", "--json"}));
  EXPECT_LE(measured["heads"]["3"]["accuracy"].get<double>(), 0.5);  // of two, one was never seen
  EXPECT_EQ(measured["heads"]["3"]["predicted"], 1);
  EXPECT_THAT(output_of({"eval", run_, unseen, "--unknown", "skip"}), HasSubstr("B-XX"));
}

TEST_F(BadFields, trees_are_refused_with_file_and_line) {
  expect_refused(tree_lines(40), {"--model", "tree-lstm:4"},
                 {{"open.trees", "(1 plot)\n(1 (1 plot)\n", "eval", "open.trees: line 2: 1 bracket is not closed"},
                  {"closed.trees", "(1 plot))\n", "predict", "closed.trees: line 1: \")\" after the end of the tree"},
                  {"bare.trees", "((1 plot) (1 plot))\n", "score", "bare.trees: line 1: a node has no label"},
                  {"hollow.trees", "(1 (1) (1 plot))\n", "eval", "hollow.trees: line 1: an empty node (1)"},
                  {"wide.trees", "(1 (1 plot) (1 plot) (1 plot))\n", "predict", "a node has 3 children"},
                  {"unseen.trees", "(7 plot)\n", "eval", "unseen.trees, line 1: field label is \"7\""},
                  {"empty.trees", "", "eval", "empty.trees is empty"}});
  for (const Arguments& more :
       {Arguments{"--window", "5"}, {"--ahead", "1"}, {"--ends", "symbol", "--predict", "label"}}) {
    const Finished refused = unfold_command(few_steps(folder_ / "good", folder_ / "no", more));
    EXPECT_EQ(refused.code, 2) << refused.err;
  }
}

TEST_F(BadFields, tables_are_refused_with_file_and_line) {
  expect_refused(wave(100, true), {"--model", "gru:4", "--predict", "load", "--format", "table"},
                 {{"inf.csv", "hour,load\n1,inf\n", "predict", "inf.csv: line 2: \"inf\" in column load is not finite"},
                  {"word.csv", "hour,load\n1,2\n2,much\n", "eval", "word.csv: line 3"},
                  {"ragged.csv", "hour,load\n1,2\n1,2,3\n", "eval", "ragged.csv: line 3: 3 cells"},
                  {"other.csv", "hour,weight\n1,2\n2,2\n", "predict", "has no field \"load\""}});
  // A cell that is not a number is missing: nothing is predicted there.
  const std::string missing = data("missing.csv", "hour,load\n0,0.5\n1,NaN\n2,0.1\n");
  EXPECT_EQ(only_object(output_of({"eval", run_, missing, "--json"}))["heads"]["load"]["predicted"], 2);
}

TEST_F(BadFields, bad_labeled_lines_and_json_name_file_and_line) {
  expect_refused(labeled_lines(40), {"--model", "gru:4", "--format", "labelled"},
                 {{"no-text", "pos\tgood\nneg\t\n", "eval", "no-text: line 2: this line has no label and text"},
                  {"json", json_lines(2), "predict", "json: line 1: this line has no label and text"},
                  {"unseen", "pos\tgood\nodd\tgood\n", "eval", "unseen, line 2: field label is \"odd\""}});
  std::filesystem::remove_all(run_);
  expect_refused(json_lines(40), {"--model", "gru:4", "--read", "word", "--predict", "tag", "--format", "jsonl"},
                 {{"empty-list", "{\"word\": [], \"tag\": []}\n", "eval", "empty-list: line 1"},
                  {"lengths", "{\"word\": [\"a\", \"b\"], \"tag\": [\"P\"]}\n", "predict", "lengths: line 1"},
                  {"text", "it rains\n", "predict", "text: line 1"}});
}

TEST_F(BadFields, unknown_field_suggests_the_nearest) {
  const std::string file = data("data.jsonl", json_lines(40));
  expect_failure({"train", file, "--out", run_, "--predict", "tagg"}, 3,
                 "has no field \"tagg\"; did you mean \"tag\"?");
  expect_failure({"train", file, "--out", run_, "--predict", "tag", "--read", "wrod"}, 3, "did you mean \"word\"?");
  expect_failure({"train", file, "--out", run_, "--predict", "tag=mixture:2"}, 2, "the loss mixture requires numbers");
  EXPECT_EQ(read_bytes(run_ + "/model.safetensors"), "");
}

}  // namespace
}  // namespace unfold::test
