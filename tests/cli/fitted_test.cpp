// Models that are fitted as a whole, through every verb.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/fixture.h"

namespace unfold::test {
namespace {

class FittedTest : public CommandTest, public ::testing::WithParamInterface<const char*> {
 protected:
  Arguments fit(const Arguments& more = {}) const {
    return Arguments{"train", text_, "--out", run_, "--model", GetParam()} + more;
  }
};
INSTANTIATE_TEST_SUITE_P(Models, FittedTest, ::testing::Values("uniform", "frequency", "ngram:3", "hmm:2"));

TEST_P(FittedTest, is_trained_measured_scored_sampled_and_shown) {
  const nlohmann::json trained = only_object(unfold_command(fit({"--json"})).out);
  EXPECT_EQ(trained["model"], GetParam());
  EXPECT_EQ(trained["ended_by"], "fitted");
  const nlohmann::json measured =
      only_object(unfold_command({"eval", run_, text_, "--split", "90/10", "--part", "valid", "--json"}).out);
  EXPECT_EQ(measured["nats_per_symbol"], trained["valid"]["nats_per_symbol"]);
  const Finished lines = unfold_command({"score", run_, text_, "--by", "line"});
  EXPECT_EQ(lines.code, 0) << lines.err;
  EXPECT_THAT(lines.out, StartsWith("line\t"));
  const nlohmann::json samples =
      only_object(unfold_command({"sample", run_, "--length", "7", "--count", "2", "--json"}).out);
  EXPECT_EQ(samples["samples"].size(), 2u);
  const nlohmann::json shown = only_object(unfold_command({"info", run_, "--json"}).out);
  EXPECT_EQ(shown["model"], GetParam());
  EXPECT_EQ(shown["card"]["history"].size(), 1u);
  EXPECT_EQ(shown["log"]["last"]["event"], "done");
  EXPECT_FALSE(shown["card"]["configuration"].contains("optimizer"));
}

TEST_P(FittedTest, trained_twice_gives_the_same_file) {
  ASSERT_EQ(unfold_command(fit({"--threads", "1"})).code, 0);
  const std::string bytes = read_bytes(run_ + "/model.safetensors");
  expect_failure(fit(), 2, "holds a run already");
  ASSERT_EQ(unfold_command(fit({"--overwrite", "--threads", "2"})).code, 0);
  EXPECT_EQ(read_bytes(run_ + "/model.safetensors"), bytes);
}

TEST_P(FittedTest, options_of_training_by_gradient_are_refused_by_name) {
  for (const Arguments& more : {Arguments{"--batch", "3"}, Arguments{"--optimizer", "sgd"}, Arguments{"--resume"},
                                Arguments{"--minutes", "1"}, Arguments{"--memory-limit", "1G"}}) {
    if (more.front() == "--memory-limit" && std::string_view(GetParam()).starts_with("ngram"))
      continue;  // it is counted within one
    expect_failure(fit(more), 2, more.front());
  }
  EXPECT_FALSE(std::filesystem::exists(run_));
}

TEST_P(FittedTest, a_damaged_file_is_refused_by_every_verb) {
  ASSERT_EQ(unfold_command(fit()).code, 0);
  const std::string file = run_ + "/model.safetensors";
  const std::string bytes = read_bytes(file);
  write_bytes(file, bytes.substr(0, bytes.size() - 9));
  for (const Arguments& arguments : {Arguments{"eval", run_, text_}, Arguments{"score", run_, text_},
                                     Arguments{"sample", run_}, Arguments{"info", run_}})
    expect_failure(arguments, 4, "model.safetensors");
}

}  // namespace
}  // namespace unfold::test
