/// Runs all commands on tiny data with source-target pairs, and with whole sequences and their ends.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "app/fields/evaluation/field_evaluation.h"
#include "app/fields/evaluation/field_score.h"
#include "app/predict/predict.h"
#include "app/sample/number_sequences.h"
#include "app/sample/sample.h"
#include "app/train/train.h"
#include "tests/app/small_runs.h"
#include "tests/app/texts.h"
#include "tests/base/scratch.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

using testing::HasSubstr;
using testing_support::contains;
using testing_support::message_of;
using testing_support::predicted;
using testing_support::ScratchFolder;
using testing_support::train_small;

constexpr const char* kRomanPairs =
    "one\tI\ntwo\tII\nthree\tIII\nfour\tIV\nfive\tV\nsix\tVI\nseven\tVII\neight\tVIII\nnine\tIX\nten\tX\n";

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, '\t');) cells.push_back(cell);
  return cells;
}

std::vector<std::vector<std::string>> table_of(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) rows.push_back(cells_of(line));
  return rows;
}

class SequencesTest : public ::testing::Test {
 protected:
  std::string trained(const std::string& out, const std::string& data, const std::string& model, Index steps,
                      const std::function<void(TrainRequest&)>& more = {}) {
    return train_small(folder_.path(out), data, model, "adam:rate=0.02", steps, more);
  }
  std::string scored(FieldScoreRequest request) const {
    std::string text;
    request.threads = 1;
    score_fields(request, [&](std::string_view piece) { text += piece; });
    return text;
  }
  /// Names whose form determines their class: those of girls consist of a and b and end in a, those of boys consist of
  /// c and d and have even length.
  std::string names(Index count) const {
    Random random(1, "names");
    std::string text;
    for (Index i = 0; i < count; ++i) {
      const bool girl = random.uniform() < 0.5;
      std::string name;
      const auto half = 1 + random.below(3);
      for (std::uint64_t k = 0; k < 2 * half; ++k) name += (girl ? "ab" : "cd")[random.below(2)];
      if (girl) name.back() = 'a';
      text += fmt::format("{}\t{}\n", girl ? "girl" : "boy", name);
    }
    return folder_.write("names", text);
  }
  std::string names_model(const std::string& ends, bool given = true, Index steps = 150) {
    return trained(ends + (given ? "" : "-alone"), names(300), "gru:16", steps, [&](TrainRequest& request) {
      request.settings.format = "labelled";
      request.settings.symbols = "chars";
      request.settings.predict = "text";
      request.settings.ends = ends;
      request.given.insert({"format", "symbols", "predict", "ends"});
      if (!given) return;
      request.settings.read = "label";
      request.given.insert("read");
    });
  }

  ScratchFolder folder_;
  std::string pairs_ = folder_.write("roman.pairs", kRomanPairs);
};

/// Labels are predicted from the preceding true labels, so a target has no wrong label if and only if greedy search
/// finds it.
TEST_F(SequencesTest, best_pair_model_is_selected_by_greedy_search_accuracy) {
  for (const Index steps : {20, 60, 100}) {
    const std::string model =
        trained(fmt::format("run{}", steps), pairs_, "gru:16,attention=additive", steps, [&](TrainRequest& request) {
          request.settings.split.reset();
          request.settings.valid = pairs_;
          request.given.erase("split");
          request.given.insert("valid");
        });
    const FieldFigures figures = evaluate_on_fields({.model = model, .data = {pairs_}, .threads = 1});
    std::map<std::string, double> measures(figures.heads[0].measures.begin(), figures.heads[0].measures.end());
    double least = 1;
    std::istringstream log(read_file(model + "/log.jsonl"));
    for (std::string line; std::getline(log, line);) {
      const auto event = nlohmann::json::parse(line);
      if (event["event"] == "validation") least = std::min(least, event["sequence_error"].get<double>());
    }
    EXPECT_EQ(measures["sequence_error"], least) << steps;
  }
}

TEST_F(SequencesTest, selection_criterion_can_be_set) {
  const auto with = [&](const std::string& by, const std::string& objective = {}) {
    return [=](TrainRequest& request) {
      request.settings.best_by = by;
      request.settings.split = "50/50/0";  // provides validation data for the selection
      request.given.insert("best-by");
      if (objective.empty()) return;
      request.settings.objective = objective;
      request.given.insert("objective");
    };
  };
  for (const std::string by : {"nats", "labels", "sequences"}) {
    const std::string run = trained("by-" + by, pairs_, "gru:8", 3, with(by));
    EXPECT_THAT(read_file(run + "/config.toml"), HasSubstr("best-by = \"" + by + "\""));
  }
  EXPECT_THAT(message_of<UsageError>([&] { trained("other", pairs_, "gru:8", 3, with("loss")); }),
              HasSubstr("nats, labels or sequences"));
  EXPECT_THAT(message_of<UsageError>([&] { trained("risk", pairs_, "gru:8", 3, with("labels", "risk")); }),
              HasSubstr("the best model is chosen by the loss"));
  // If no default makes sense, there is none, and the error names the setting that the user specified.
  EXPECT_THAT(message_of<UsageError>([&] { trained("esn", pairs_, "esn:8", 3); }), HasSubstr("readout=trained"));
  EXPECT_THAT(message_of<UsageError>([&] { trained("ridge", pairs_, "esn:8", 3, with("labels")); }),
              HasSubstr("--best-by needs validation"));
  const std::string numbers = folder_.write("wind.csv", "a,b\n1,2\n2,3\n3,4\n4,5\n");
  const auto of_numbers = [&](TrainRequest& request) {
    with("labels")(request);
    request.settings.predict = "b";
    request.given.insert("predict");
  };
  EXPECT_THAT(message_of<UsageError>([&] { trained("wind", numbers, "gru:8", 3, of_numbers); }),
              HasSubstr("has labels"));
}

TEST_F(SequencesTest, targets_can_be_evaluated_scored_found_and_sampled) {
  const std::string model = trained("run", pairs_, "gru:16,attention=additive", 150);
  const FieldFigures figures = evaluate_on_fields({.model = model, .data = {pairs_}, .beam = 3, .threads = 1});
  std::map<std::string, double> measures(figures.heads[0].measures.begin(), figures.heads[0].measures.end());
  EXPECT_EQ(measures["sources"], 10);
  EXPECT_LE(measures["sequence_error"], 0.3);
  const auto scores = table_of(scored({.model = model, .data = pairs_, .by_example = true}));
  ASSERT_EQ(scores.size(), 11U);
  double nats = 0;
  for (std::size_t i = 1; i < scores.size(); ++i) nats += std::stod(scores[i][2]) * std::log(2);
  EXPECT_NEAR(nats, figures.heads[0].nats, 1e-3);
  const auto found = table_of(predicted({.model = model, .data = {pairs_}, .beam = 6, .best = 3}));
  EXPECT_EQ(found[0],
            (std::vector<std::string>{"source", "target", "target.best", "target.probability", "target.best.2",
                                      "target.probability.2", "target.best.3", "target.probability.3"}));
  ASSERT_EQ(found.size(), 11U);
  for (std::size_t i = 1; i < found.size(); ++i) {
    // If the best result is the target in the data, its probability agrees with its score.
    if (found[i][1] == found[i][2]) {
      EXPECT_NEAR(-std::log2(std::stod(found[i][3])), std::stod(scores[i][2]), 1e-3);
    }
    EXPECT_EQ((std::set<std::string>{found[i][2], found[i][4], found[i][6]}.size()), 3U);
  }
  const auto drawn = table_of(predicted({.model = model, .data = {pairs_}, .samples = 2, .sampled = true}));
  EXPECT_EQ(drawn[0][2], "target.sample.1");
  const auto shown = nlohmann::json::parse(predicted(
      {.model = model, .data = {}, .format = TableFormat::jsonl, .attention = true, .given = {"source=seven"}}));
  EXPECT_EQ(shown["target.attention"].size(), shown["target.best"].get<std::string>().size() + 1);
  for (const auto& row : shown["target.attention"]) EXPECT_EQ(row.size(), 5U);
}

TEST_F(SequencesTest, sources_can_be_given_for_sampling) {
  const std::string model = trained("run", pairs_, "gru:8", 30);
  const auto one = sample_sequences(
      {.model = model, .sampling = {.length = 9, .seed = 3}, .count = 4, .given = {"source=seven"}}, 1);
  ASSERT_EQ(one.size(), 4U);
  for (const SampledSequence& sequence : one) {
    EXPECT_LE(sequence.symbols, 9);
    EXPECT_GT(sequence.nats, 0);
  }
  EXPECT_TRUE(contains(message_of<UsageError>([&] { sample_sequences({.model = model}, 1); }), "--given source=TEXT"));
}

TEST_F(SequencesTest, cells_with_custom_input_handling_work_as_decoders) {
  for (const char* spec : {"qrnn:6,attention=additive", "mogrifier:5,condition=both"})
    EXPECT_NO_THROW(trained(spec, pairs_, spec, 2)) << spec;
}

TEST_F(SequencesTest, correct_class_condition_helps_and_wrong_one_hurts) {
  for (const std::string ends : {"symbol", "stop", "table"}) {
    constexpr Index kSteps = 1500;
    const std::string given = names_model(ends, true, kSteps), alone = names_model(ends, false, kSteps),
                      data = names(300);
    const auto nats = [&](const std::string& model, std::vector<std::string> said) {
      const FieldFigures figures =
          evaluate_on_fields({.model = model, .data = {data}, .given = std::move(said), .threads = 1});
      double sum = 0;
      for (const HeadFigures& head : figures.heads) sum += head.nats;
      return sum / 300;
    };
    EXPECT_LT(nats(given, {}), nats(alone, {}) - 0.3) << ends;  // knowing the class saves ln 2 nats
    EXPECT_GT(nats(given, {"label=girl"}), nats(given, {}) + 1) << ends;
    for (const std::string kind : {"girl", "boy"}) {
      const auto drawn = sample_sequences(
          {.model = given, .sampling = {.length = 50, .seed = 2}, .count = 40, .given = {"label=" + kind}}, 1);
      Index fitting = 0, even = 0;
      for (const SampledSequence& s : drawn) {
        fitting += s.text.find_first_not_of(kind == "girl" ? "ab" : "cd") == std::string::npos ? 1 : 0;
        even += s.symbols % 2 == 0 ? 1 : 0;
      }
      EXPECT_GE(fitting, 36) << ends << kind;
      EXPECT_GE(even, 26) << ends << kind;
    }
    EXPECT_EQ(sample_sequences({.model = alone, .sampling = {.length = 50}, .count = 3}, 1).size(), 3U);
  }
}

TEST_F(SequencesTest, lengths_have_a_separate_output_row) {
  const std::string model = names_model("poisson"), data = names(300);
  const FieldFigures figures = evaluate_on_fields({.model = model, .data = {data}, .threads = 1});
  ASSERT_EQ(figures.heads.size(), 2U);
  EXPECT_EQ(figures.heads[1].field, "text.length");
  EXPECT_EQ(figures.heads[1].predicted, 300);
  const auto scores = table_of(scored({.model = model, .data = data, .by_example = true}));
  double nats = 0;
  for (std::size_t i = 1; i < scores.size(); ++i) nats += std::stod(scores[i][2]) * std::log(2);
  EXPECT_NEAR(nats, figures.heads[0].nats + figures.heads[1].nats, 1e-2);
}

TEST_F(SequencesTest, samples_of_a_seed_do_not_depend_on_their_number) {
  const std::string model = names_model("symbol");
  const auto draw = [&](Index count) {
    return sample_sequences(
        {.model = model, .sampling = {.length = 50, .seed = 9}, .count = count, .given = {"label=boy"}}, 1);
  };
  const auto few = draw(3), many = draw(200);
  for (std::size_t i = 0; i < few.size(); ++i) {
    EXPECT_EQ(few[i].text, many[i].text);
    EXPECT_EQ(few[i].nats, many[i].nats);
  }
}

TEST_F(SequencesTest, resumed_run_is_byte_identical_to_uninterrupted_run) {
  for (const std::string ends : {"stop", "poisson"}) {
    const auto model = [&](const std::string& out, Index steps, bool resume) {
      return trained(out + ends, names(40), "lstm:4,dropout=0.2", steps, [&](TrainRequest& request) {
        request.settings.format = "labelled";
        request.settings.symbols = "chars";
        request.settings.read = "label";
        request.settings.predict = "text";
        request.settings.ends = ends;
        request.given.insert({"format", "symbols", "read", "predict", "ends"});
        if (!resume) return;
        request.resume = true;
        request.given = {"steps"};
      });
    };
    const std::string whole = model("whole", 9, false);
    model("cut", 4, false);
    const std::string resumed = model("cut", 9, true);
    EXPECT_EQ(testing_support::file_bytes(whole + "/model.safetensors"),
              testing_support::file_bytes(resumed + "/model.safetensors"));
  }
}

/// Sequences of vectors whose class determines both their mean and their length.
std::string moods(Index count) {
  Random random(1, "moods");
  std::string text;
  for (Index i = 0; i < count; ++i) {
    const bool up = random.uniform() < 0.5;
    std::vector<std::string> frames;
    double x = 0;
    for (Index t = 0; t < (up ? 2 : 4); ++t) {
      x = 0.5 * x + (up ? 2 : -2) + 0.3 * random.normal();
      frames.push_back(fmt::format("[{:.4f}, {:.4f}]", x, 100 - 10 * x + random.normal()));
    }
    text += fmt::format(R"({{"frames": [{}], "mood": "{}"}})", fmt::join(frames, ", "), up ? "up" : "down") + "\n";
  }
  return text;
}

class NumbersTest : public SequencesTest {
 protected:
  std::string moods_model(const std::string& ends, Index steps) {
    return trained("moods-" + ends, folder_.write("moods.jsonl", moods(300)), "gru:12", steps,
                   [&](TrainRequest& request) {
                     request.settings.predict = "frames";
                     request.settings.read = "mood";
                     request.settings.ends = ends;
                     request.given.insert({"predict", "read", "ends"});
                   });
  }
  static std::vector<SampledNumbers> drawn(const std::string& model, const std::string& mood, Index count) {
    return sample_number_sequences(
               {.model = model, .sampling = {.length = 50, .seed = 2}, .count = count, .given = {"mood=" + mood}}, 1)
        .sequences;
  }
};

TEST_F(NumbersTest, number_sequences_are_sampled_with_their_conditions_and_ends) {
  for (const std::string ends : {"stop", "table"}) {
    const std::string model = moods_model(ends, 1500);
    EXPECT_TRUE(holds_number_sequences(model));
    EXPECT_EQ(sample_number_sequences({.model = model, .sampling = {.length = 1}, .given = {"mood=up"}}, 1).columns,
              (std::vector<std::string>{"frames.1", "frames.2"}));
    for (const std::string mood : {"up", "down"}) {
      const std::size_t usual = mood == "up" ? 2 : 4;
      Index fitting = 0, ended = 0, as_long = 0;
      for (const SampledNumbers& sequence : drawn(model, mood, 60)) {
        ended += sequence.ended ? 1 : 0;
        if (sequence.values.size() != 2 * usual)
          continue;  // p(T) does not depend on the class, so unseen lengths occur
        ++as_long;
        fitting += sequence.values[0] * (mood == "up" ? 1 : -1) > 1 ? 1 : 0;
      }
      EXPECT_EQ(ended, 60);
      EXPECT_GE(as_long, ends == "stop" ? 50 : 15) << ends << mood;
      EXPECT_GE(fitting, as_long * 9 / 10) << ends << mood;
    }
  }
}

/// Samples are written as data and scored by passes over whole batches.
TEST_F(NumbersTest, sampled_number_sequences_have_the_density_of_their_scores) {
  for (const std::string ends : {"stop", "poisson"}) {
    const std::string model = moods_model(ends, 40);
    const std::vector<SampledNumbers> sequences = drawn(model, "up", 30);
    std::string data;
    std::vector<double> wanted;
    for (const SampledNumbers& sequence : sequences) {
      if (sequence.values.empty() || !sequence.ended) continue;
      std::vector<std::string> frames;
      for (std::size_t i = 0; i < sequence.values.size(); i += 2)
        frames.push_back(fmt::format("[{}, {}]", sequence.values[i], sequence.values[i + 1]));
      data += fmt::format(R"({{"frames": [{}], "mood": "up"}})", fmt::join(frames, ", ")) + "\n";
      wanted.push_back(sequence.nats / std::log(2));
    }
    ASSERT_GE(wanted.size(), 10U);
    const auto scores =
        table_of(scored({.model = model, .data = folder_.write("drawn.jsonl", data), .by_example = true}));
    ASSERT_EQ(scores.size(), wanted.size() + 1);
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(std::stod(scores[i + 1][2]), wanted[i], 1e-3) << ends;
  }
}

/// A tenth of the samples at the first position lie below the lower predicted quantile, and a tenth above the upper.
TEST_F(NumbersTest, sampled_numbers_match_predicted_quantiles) {
  const std::string model = moods_model("table", 60);
  const auto table = table_of(predicted({.model = model, .data = {folder_.write("one.jsonl", moods(1))}}));
  const auto column = [&](const std::string& name) {
    return std::stod(table[1][static_cast<std::size_t>(std::ranges::find(table[0], name) - table[0].begin())]);
  };
  const double low = column("frames.q10.1"), high = column("frames.q90.1");
  const std::string mood = contains(moods(1), "up") ? "up" : "down";
  // The prediction reads the length, too, so only samples with the length of the example are compared.
  const std::size_t values = mood == "up" ? 4 : 8;
  Index all = 0, below = 0, above = 0;
  for (const SampledNumbers& sequence : drawn(model, mood, 4000)) {
    if (sequence.values.size() != values) continue;
    ++all;
    below += sequence.values[0] < low ? 1 : 0;
    above += sequence.values[0] > high ? 1 : 0;
  }
  const double expected = 0.1 * static_cast<double>(all), deviation = std::sqrt(0.9 * expected);
  ASSERT_GT(all, 1000);
  EXPECT_NEAR(static_cast<double>(below), expected, 4 * deviation);
  EXPECT_NEAR(static_cast<double>(above), expected, 4 * deviation);
}

TEST_F(NumbersTest, number_samples_of_a_seed_do_not_depend_on_their_number) {
  const std::string model = moods_model("stop", 20);
  const auto few = drawn(model, "down", 3), many = drawn(model, "down", 200);
  for (std::size_t i = 0; i < few.size(); ++i) {
    EXPECT_EQ(few[i].values, many[i].values);
    EXPECT_EQ(few[i].nats, many[i].nats);
  }
}

TEST_F(NumbersTest, meaningless_options_for_numbers_are_rejected) {
  const std::string model = moods_model("stop", 5), names = names_model("stop", true, 5);
  EXPECT_FALSE(holds_number_sequences(names));
  EXPECT_TRUE(contains(
      message_of<UsageError>([&] { sample_number_sequences({.model = model, .prime = "1", .given = {"mood=up"}}, 1); }),
      "not to whole sequences"));
  EXPECT_TRUE(contains(message_of<UsageError>([&] { sample_sequences({.model = model, .given = {"mood=up"}}, 1); }),
                       "finding targets"));
  EXPECT_TRUE(contains(message_of<UsageError>([&] { drawn(model, "odd", 1); }), "known values are"));
}

TEST_F(SequencesTest, invalid_conditions_are_rejected_with_valid_alternatives) {
  const std::string model = names_model("symbol");
  const auto refused = [&](std::vector<std::string> given) {
    return message_of<UsageError>([&] { sample_sequences({.model = model, .given = given}, 1); });
  };
  EXPECT_TRUE(contains(refused({}), "--given label=VALUE"));
  EXPECT_TRUE(contains(refused({"label=cat"}), "known values are girl, boy"));
  EXPECT_TRUE(contains(refused({"text=abc"}), "its condition fields are label"));
  EXPECT_TRUE(contains(refused({"label"}), "FIELD=VALUE"));
  EXPECT_TRUE(contains(message_of<UsageError>([&] { names_model("weibull"); }), "poisson"));
  EXPECT_TRUE(contains(message_of<UsageError>([&] { predicted({.model = model, .data = {names(3)}, .ahead = 2}); }),
                       "--ahead"));
}

}  // namespace
}  // namespace unfold
