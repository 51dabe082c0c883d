// Models that are fitted as a whole, with every command.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/fixture.h"

namespace unfold::test {
namespace {

class FittedTest : public CommandTest, public ::testing::WithParamInterface<const char*> {
 protected:
  Arguments fit(const Arguments& more = {}) const {
    return Arguments{"train", text_, "--out", run_, "--model", GetParam()} + more;
  }
};

INSTANTIATE_TEST_SUITE_P(Models, FittedTest, ::testing::Values("uniform", "frequency", "ngram:3", "hmm:2"));

TEST_P(FittedTest, fitted_models_are_trained_evaluated_scored_sampled_and_shown) {
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

TEST_P(FittedTest, fitting_twice_gives_the_same_file) {
  ASSERT_EQ(unfold_command(fit({"--threads", "1"})).code, 0);
  const std::string bytes = read_bytes(run_ + "/model.safetensors");
  expect_failure(fit(), 2, "already contains a run");
  ASSERT_EQ(unfold_command(fit({"--overwrite", "--threads", "2"})).code, 0);
  EXPECT_EQ(read_bytes(run_ + "/model.safetensors"), bytes);
}

TEST_P(FittedTest, gradient_training_options_are_named_in_the_error) {
  for (const Arguments& more : {Arguments{"--batch", "3"}, Arguments{"--optimizer", "sgd"}, Arguments{"--resume"},
                                Arguments{"--minutes", "1"}, Arguments{"--memory-limit", "1G"}}) {
    if (more.front() == "--memory-limit" && std::string_view(GetParam()).starts_with("ngram"))
      continue;  // ngram supports a memory limit
    expect_failure(fit(more), 2, more.front());
  }
  EXPECT_FALSE(std::filesystem::exists(run_));
}

TEST_P(FittedTest, damaged_file_is_rejected_by_every_command) {
  ASSERT_EQ(unfold_command(fit()).code, 0);
  const std::string file = run_ + "/model.safetensors";
  const std::string bytes = read_bytes(file);
  write_bytes(file, bytes.substr(0, bytes.size() - 9));
  for (const Arguments& arguments : {Arguments{"eval", run_, text_}, Arguments{"score", run_, text_},
                                     Arguments{"sample", run_}, Arguments{"info", run_}})
    expect_failure(arguments, 4, "model.safetensors");
}

using MemoryLimitTest = CommandTest;

TEST_F(MemoryLimitTest, ngrams_within_a_limit_give_the_same_file) {
  for (const std::string symbols : {"words", "chars", "bytes"})
    for (const std::string split : {"80/10/10", "100/0/0"}) {
      const Arguments fit = {"train",     text_,   "--out",   run_,  "--model",    "ngram:4",
                             "--symbols", symbols, "--split", split, "--overwrite"};
      ASSERT_EQ(unfold_command(fit).code, 0);
      const std::string bytes = read_bytes(run_ + "/model.safetensors");
      const Finished limited = unfold_command(fit + Arguments{"--memory-limit", "1"});
      ASSERT_EQ(limited.code, 0) << limited.err;
      EXPECT_TRUE(read_bytes(run_ + "/model.safetensors") == bytes) << symbols << ", " << split;
    }
}

class HmmNetworkTest : public CommandTest {
 protected:
  double nats(const std::string& model) const {
    return only_object(unfold_command({"eval", model, text_, "--json"}).out)["nats_per_symbol"];
  }
  std::string file(const char* name) const { return folder_.path() + "/" + name; }
};

TEST_F(HmmNetworkTest, hmm_exports_as_a_network_trains_and_converts_back) {
  ASSERT_EQ(unfold_command({"train", text_, "--out", run_, "--model", "hmm:4,restarts=1", "--quiet"}).code, 0);
  const std::string network = file("network.safetensors"), back = file("back.safetensors");
  const Finished out = unfold_command({"export", run_, "--to", "network", "--out", network});
  ASSERT_EQ(out.code, 0) << out.err;
  // `eval` adds an HMM's logarithms rounded to float; hmm_test compares the exact ones to 1e-10.
  EXPECT_NEAR(nats(network), nats(run_), 1e-8 * nats(run_));
  ASSERT_EQ(unfold_command({"export", network, "--to", "hmm", "--out", back}).code, 0);
  EXPECT_NEAR(nats(back), nats(run_), 1e-8 * nats(run_));
  EXPECT_EQ(only_object(unfold_command({"info", back, "--json"}).out)["model"], "hmm:4");
  const std::string tuned = file("tuned");
  const Finished trained = unfold_command({"train", text_, "--start-from", run_, "--optimizer", "ruop",
                                           "--whole-sequences", "--steps", "15", "--out", tuned, "--json"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(only_object(trained.out)["model"], "linear-gnn:4");
  EXPECT_LT(nats(tuned), nats(run_));
  expect_failure({"export", tuned, "--to", "hmm", "--out", back}, 4, "not a hidden Markov model:");
  expect_failure({"export", tuned, "--to", "network", "--out", back}, 4, "linear-gnn:4");
  const std::string resumed = file("resumed");
  const Arguments half = {"train", text_,   "--start-from",     network, "--optimizer", "ruop", "--whole-sequences",
                          "--out", resumed, "--validate-every", "5"};
  ASSERT_EQ(unfold_command(half + Arguments{"--steps", "5"}).code, 0);
  ASSERT_EQ(unfold_command({"train", "--out", resumed, "--resume", "--steps", "15"}).code, 0);
  const std::string whole = file("whole");
  Arguments all = half;
  all[8] = whole;
  ASSERT_EQ(unfold_command(all + Arguments{"--steps", "15"}).code, 0);
  EXPECT_EQ(nats(resumed), nats(whole));
}

TEST_F(HmmNetworkTest, training_starts_from_any_network_over_the_same_symbols) {
  train();
  const std::string on = file("on");
  const Finished first = unfold_command(
      {"train", text_, "--start-from", run_, "--optimizer", "sgd:rate=1e-12", "--steps", "1", "--out", on, "--quiet"});
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_NEAR(nats(on), nats(run_), 1e-6);
  const Arguments again = {"train", text_, "--start-from", run_, "--out", file("more")};
  expect_failure(again + Arguments{"--model", "gru:3"}, 2, "leave out --model");
  expect_failure(again + Arguments{"--restarts", "2"}, 2, "--start-from cannot be combined with --restarts");
  expect_failure({"train", "--task", "adding:10", "--steps", "1", "--start-from", run_, "--out", file("more")}, 2,
                 "start-from");
  const std::string other = file("other.txt");
  write_bytes(other, "Q~{}");
  expect_failure({"train", other, "--start-from", run_, "--out", file("more")}, 3, "");
  const std::string counts = file("counts");
  ASSERT_EQ(unfold_command({"train", text_, "--out", counts, "--model", "ngram:2", "--quiet"}).code, 0);
  expect_failure({"train", text_, "--start-from", counts, "--out", file("more")}, 2, "no parameters that are trained");
  expect_failure({"export", counts, "--to", "network", "--out", file("x")}, 4, "hidden Markov model");
}

}  // namespace
}  // namespace unfold::test
