// Baselines next to the results of train, eval and report.
#include "tests/cli/fixture.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace unfold::test {
namespace {

class BaselinesTest : public CommandTest {
 protected:
  static nlohmann::json baseline(const nlohmann::json& result, const std::string& name) {
    for (const nlohmann::json& each : result.at("baselines"))
      if (each.at("name") == name) return each;
    ADD_FAILURE() << "no baseline " << name << " in " << result.dump();
    return nlohmann::json::object();
  }
};

/// The model of symbol frequencies is a reference for the unigram.
TEST_F(BaselinesTest, TheUnigramOfEvalIsTheModelOfFrequencies) {
  ASSERT_EQ(unfold_command(training({"--overwrite"})).code, 0);
  const std::string other = folder_ / "other.txt";
  write_bytes(other, "the cat sat on the mat, and the cat");
  const Finished measured = unfold_command({"eval", run_, other, "--unknown", "skip", "--json"});
  ASSERT_EQ(measured.code, 0) << measured.err;
  const nlohmann::json result = only_object(measured.out), unigram = baseline(result, "unigram");
  EXPECT_EQ(unigram["measure"], "nats_per_symbol");
  EXPECT_EQ(unigram["result"], result["nats_per_symbol"]);
  const std::string reference = folder_ / "frequency";
  ASSERT_EQ(unfold_command({"train", text_, "--out", reference, "--model", "frequency", "--quiet"}).code, 0);
  const nlohmann::json frequency =
      only_object(unfold_command({"eval", reference, other, "--unknown", "skip", "--json"}).out);
  EXPECT_NEAR(unigram["value"].get<double>(), frequency["nats_per_symbol"].get<double>(), 1e-5);
  EXPECT_THAT(unfold_command({"eval", run_, other, "--unknown", "skip"}).out, HasSubstr("baseline         unigram"));
}

TEST_F(BaselinesTest, EvalUsesTheMajorityClassOfTraining) {
  const std::string file = folder_ / "labels.tsv", other = folder_ / "other.tsv";
  std::string text;
  for (int i = 0; i < 40; ++i) text += i % 4 == 0 ? "1\tgood film\n" : "0\tbad film\n";
  write_bytes(file, text);
  write_bytes(other, "1\tgood film\n1\tfilm\n1\tgood\n0\tbad film\n");
  const Finished trained = unfold_command(
      {"train", file, "--format", "labelled", "--model", "lstm:4", "--steps", "3", "--out", run_, "--json", "--quiet"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(baseline(only_object(trained.out), "majority class")["value"], 0.5);  // rows 10, 20, 30 and 40
  const nlohmann::json result = only_object(unfold_command({"eval", run_, other, "--json"}).out);
  EXPECT_EQ(baseline(result, "majority class")["value"], 0.25);
  EXPECT_EQ(baseline(result, "majority class")["field"], "label");
  const std::string page = folder_ / "page.html";
  ASSERT_EQ(unfold_command({"report", run_, "-o", page}).code, 0);
  EXPECT_THAT(read_bytes(page), HasSubstr("majority class"));
}

TEST_F(BaselinesTest, NumbersAreComparedWithTheirMeanAndTheLastValue) {
  const std::string file = folder_ / "wave.csv", other = folder_ / "other.csv";
  std::string text = "x\n";
  for (int i = 0; i < 60; ++i) text += fmt::format("{}\n", i % 2 == 0 ? 1 : 3);
  write_bytes(file, text);
  write_bytes(other, "x\n1\n3\n1\n3\n1\n");
  ASSERT_EQ(unfold_command({"train", file, "--read", "x", "--predict", "x", "--model", "rnn:4", "--steps", "3",
                            "--split", "100/0/0", "--out", run_, "--quiet"})
                .code,
            0);
  const Finished measured = unfold_command({"eval", run_, other, "--json"});
  ASSERT_EQ(measured.code, 0) << measured.err;
  const nlohmann::json result = only_object(measured.out);
  EXPECT_NEAR(baseline(result, "mean")["value"].get<double>(), 1, 1e-5);
  // The first value has no predecessor and is predicted by the mean.
  EXPECT_NEAR(baseline(result, "persistence")["value"].get<double>(), (4 * 4.0 + 1) / 5, 1e-5);
}

}  // namespace
}  // namespace unfold::test
