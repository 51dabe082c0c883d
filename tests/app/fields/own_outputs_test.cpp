/// Networks that read their own outputs, from training to prediction, and curricula of data with fields.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/app/small_runs.h"
#include "tests/base/scratch.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using testing::HasSubstr;
using testing_support::message_of;
using testing_support::predicted;
using testing_support::ScratchFolder;
using testing_support::train_small;

/// Sentences in which the tag of an "x" is the tag of the word before, and a word "a" or "b" has its own tag.
std::string tagged(Index sentences, bool with_tags) {
  Random random(4, "sentences");
  std::string text;
  for (Index s = 0; s < sentences; ++s) {
    std::string tag = "A";
    for (int t = 0; t < 6; ++t) {
      const auto kind = t == 0 ? random.below(2) : random.below(4);
      const std::string word = kind == 0 ? "a" : kind == 1 ? "b" : "x";
      if (kind < 2) tag = kind == 0 ? "A" : "B";
      text += with_tags ? fmt::format("{} {}\n", word, tag) : fmt::format("{}\n", word);
    }
    text += "\n";
  }
  return text;
}

/// The network is recurrent only through its output: without the previous output, the tag of "x" is unknown.
TEST(OwnOutputs, tagger_without_other_recurrence_remembers_by_its_output) {
  ScratchFolder folder;
  const std::string data = folder.write("train.conll", tagged(60, true)),
                    words = folder.write("words.conll", tagged(20, false));
  const auto labels = [&](const std::string& name, const std::string& feedback) {
    const std::string run = train_small(folder.path(name), data, "tdnn:8,width=1,dilations=1", "adam:rate=0.03", 300,
                                        [&](TrainRequest& request) {
                                          request.settings.read = "1";
                                          request.settings.predict = "2";
                                          if (!feedback.empty()) request.settings.feedback = feedback;
                                        });
    return predicted({.model = run, .data = {words}, .format = TableFormat::jsonl});
  };
  std::string wanted;
  std::istringstream lines(tagged(20, true));
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) wanted += line.back();
  const auto errors = [&](const std::string& found) {
    std::string labels_found;
    std::istringstream examples(found);
    for (std::string line; std::getline(examples, line);) {
      const nlohmann::json example = nlohmann::json::parse(line);
      for (const nlohmann::json& label : example.at("2.best")) labels_found += label.get<std::string>();
    }
    EXPECT_EQ(labels_found.size(), wanted.size());
    int wrong = 0;
    for (std::size_t t = 0; t < std::min(wanted.size(), labels_found.size()); ++t)
      wrong += wanted[t] != labels_found[t];
    return wrong;
  };
  EXPECT_EQ(errors(labels("own", "always")), 0);
  EXPECT_GT(errors(labels("plain", "")), 10);
}

TEST(OwnOutputs, autonomous_network_learns_a_trajectory_and_continues_it) {
  ScratchFolder folder;
  std::string table = "load\n";
  for (int t = 0; t < 48; ++t) table += fmt::format("{}\n", std::sin(t * 0.5));
  const std::string data = folder.write("wave.csv", table);
  const std::string run =
      train_small(folder.path("run"), data, "rnn:8", "adam:rate=0.01", 3, [](TrainRequest& request) {
        request.settings.predict = "load=gaussian";
        request.settings.feedback = "always";
        request.settings.whole_sequences = true;
      });
  const std::string forecast = predicted({.model = run, .data = {data}, .ahead = 4});
  EXPECT_EQ(std::count(forecast.begin(), forecast.end(), '\n'), 5) << forecast;
  // The outputs do not depend on the data: another series of the same length has the same continuation.
  std::string other = "load\n";
  for (int t = 0; t < 48; ++t) other += fmt::format("{}\n", t % 5);
  const std::string unlike = folder.write("other.csv", other);
  EXPECT_EQ(predicted({.model = run, .data = {unlike}, .ahead = 4}), forecast);
}

TEST(OwnOutputs, curricula_train_data_with_fields) {
  ScratchFolder folder;
  const std::string data = folder.write("train.conll", tagged(12, true));
  const auto train_with = [&](bool each_epoch) {
    return train_small(folder.path(each_epoch ? "each" : "grow"), data, "lstm:4", "adam", 20,
                       [&](TrainRequest& request) {
                         request.settings.read = "1";
                         request.settings.predict = "2";
                         request.settings.curriculum = 2;
                         request.settings.curriculum_each_epoch = each_epoch;
                       });
  };
  EXPECT_NO_THROW(train_with(false));
  EXPECT_NO_THROW(train_with(true));
  EXPECT_THAT(message_of<UsageError>([&] {
                train_small(folder.path("none"), data, "lstm:4", "adam", 2, [&](TrainRequest& request) {
                  request.settings.read = "1";
                  request.settings.predict = "2";
                  request.settings.curriculum_each_epoch = true;
                });
              }),
              HasSubstr("requires --curriculum N"));
}

}  // namespace
}  // namespace unfold
