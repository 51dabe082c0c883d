/// Training of gated networks on the command line: restarts, masks, and extreme settings.

#include "tests/cli/fixture.h"

namespace unfold::test {
namespace {

class RiemannianCommandTest : public CommandTest {
 protected:
  /// Returns the arguments that train on `text_` as one sequence; more options may follow.
  Arguments gated(const Arguments& more = {}) const {
    return Arguments{"train",       text_,     "--out",
                     run_,          "--model", "glnn:4,edges=2",
                     "--optimizer", "ruop",    "--whole-sequences",
                     "--steps",     "12",      "--quiet"} +
           more;
  }
  void write_text(const std::string& text) const { write_bytes(text_, text); }
};

std::string anbn_text(int blocks) {
  std::string text;
  for (int k = 0; k < blocks; ++k) text += std::string(3 + 7 * k % 20, 'a') + std::string(3 + 7 * k % 20, 'b') + "\n";
  return text;
}

TEST_F(RiemannianCommandTest, restarts_keep_the_best_graph_for_any_number_of_threads) {
  write_text(anbn_text(30));
  const Arguments restarts = {"--restarts", "3", "--steps", "60", "--seed", "5"};
  Arguments loud = gated(restarts + Arguments{"--threads", "1"});
  std::erase(loud, "--quiet");
  const Finished one = unfold_command(loud);
  ASSERT_EQ(one.code, 0) << one.err;
  // Every candidate reports its validation first; training continues with the one with the smallest loss.
  double best = 1e9;
  int least = 0;
  for (int k = 1; k <= 3; ++k) {
    const std::string start = "restart " + std::to_string(k) + ": ";
    const auto place = one.err.find(start);
    ASSERT_NE(place, std::string::npos) << one.err;
    const double bits = std::stod(one.err.substr(place + start.size()));
    if (bits < best) best = bits, least = k;
  }
  EXPECT_THAT(one.err, HasSubstr("restart " + std::to_string(least) + " is continued"));
  const std::string model = read_bytes(run_ + "/model.safetensors");
  ASSERT_NE(model, "");
  for (int k = 0; k < 3; ++k) EXPECT_EQ(read_bytes(run_ + "/candidate-" + std::to_string(k) + ".safetensors"), "");

  const Finished three = unfold_command(gated(restarts + Arguments{"--threads", "3", "--overwrite"}));
  ASSERT_EQ(three.code, 0) << three.err;
  EXPECT_TRUE(read_bytes(run_ + "/model.safetensors") == model);
}

TEST_F(RiemannianCommandTest, gated_networks_train_in_double_by_default) {
  write_text(anbn_text(30));
  const Finished twice = unfold_command(gated({"--steps", "20", "--json"}));
  ASSERT_EQ(twice.code, 0) << twice.err;
  const std::string model = read_bytes(run_ + "/model.safetensors");
  EXPECT_THAT(model, HasSubstr("F64"));
  const Finished scored = unfold_command({"eval", run_, text_, "--split", "90/10", "--part", "valid", "--json"});
  ASSERT_EQ(scored.code, 0) << scored.err;
  EXPECT_EQ(only_object(scored.out)["nats_per_symbol"], only_object(twice.out)["valid"]["nats_per_symbol"]);
  const Finished online = unfold_command({"eval", run_, text_, "--dynamic", "--json", "--quiet"});
  EXPECT_EQ(online.code, 0) << online.err;

  const Finished once = unfold_command(gated({"--steps", "20", "--precision", "float", "--overwrite"}));
  ASSERT_EQ(once.code, 0) << once.err;
  EXPECT_THAT(read_bytes(run_ + "/model.safetensors"), Not(HasSubstr("F64")));
  const Finished wrong = unfold_command(gated({"--steps", "20", "--precision", "half", "--overwrite"}));
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("float, double or bf16"));
}

TEST_F(RiemannianCommandTest, whole_sequences_are_chosen_automatically_and_reported) {
  write_text(anbn_text(30));
  ASSERT_EQ(unfold_command(gated()).code, 0);
  const std::string model = read_bytes(run_ + "/model.safetensors"), config = read_bytes(run_ + "/config.toml");
  Arguments plain = gated({"--overwrite"});
  std::erase(plain, "--whole-sequences");
  const Finished quiet = unfold_command(plain);
  ASSERT_EQ(quiet.code, 0) << quiet.err;
  EXPECT_EQ(quiet.err, "");
  EXPECT_TRUE(read_bytes(run_ + "/model.safetensors") == model);
  EXPECT_EQ(read_bytes(run_ + "/config.toml"), config);
  std::erase(plain, "--quiet");
  EXPECT_THAT(unfold_command(plain).err, HasSubstr("therefore reads whole sequences, as with --whole-sequences"));

  // The choice is part of the run: the same command resumes it, and a different window is a conflict.
  std::erase(plain, "--overwrite");
  expect_failure(plain, 2, "already contains a run");
  expect_failure(plain + Arguments{"--window", "64"}, 2, "whole-sequences is true there and false here");
  const Finished windows = unfold_command(plain + Arguments{"--window", "64", "--overwrite"});
  EXPECT_THAT(windows.err, Not(HasSubstr("whole")));
  EXPECT_FALSE(read_bytes(run_ + "/model.safetensors") == model);
}

TEST_F(RiemannianCommandTest, one_symbol_alphabet_is_learned_immediately) {
  write_text(std::string(200, 'a'));
  for (const char* optimizer : {"ruop", "rbpm", "rbpm:reduction=quasi-diagonal"}) {
    const Finished finished = unfold_command(gated({"--optimizer", optimizer, "--json", "--overwrite"}));
    ASSERT_EQ(finished.code, 0) << finished.err;
    EXPECT_EQ(only_object(finished.out)["valid"]["bits_per_symbol"].get<double>(), 0) << optimizer;
  }
}

TEST_F(RiemannianCommandTest, more_edges_than_units_give_the_complete_graph) {
  write_text(anbn_text(10));
  ASSERT_EQ(unfold_command(gated({"--model", "glnn:4,edges=4"})).code, 0);
  const std::string complete = read_bytes(run_ + "/model.safetensors");
  ASSERT_EQ(unfold_command(gated({"--model", "glnn:4,edges=9", "--overwrite"})).code, 0);
  EXPECT_EQ(read_bytes(run_ + "/model.safetensors").size(), complete.size());
}

TEST_F(RiemannianCommandTest, symbols_that_occur_once_are_harmless) {
  write_text(anbn_text(20) + "xyz!" + anbn_text(20));
  for (const char* optimizer : {"ruop", "rbpm", "ruop:reduction=quasi-diagonal"}) {
    const Finished finished =
        unfold_command(gated({"--optimizer", optimizer, "--steps", "40", "--json", "--overwrite"}));
    ASSERT_EQ(finished.code, 0) << finished.err;
    const double bits = only_object(finished.out)["valid"]["bits_per_symbol"].get<double>();
    EXPECT_GT(bits, 0) << optimizer;
    EXPECT_LT(bits, 1.1) << optimizer;  // better than log2 3, the loss of a model without order
  }
}

/// The backpropagated metric of a random field starts from random seeds, which continue after an interruption.
TEST_F(RiemannianCommandTest, metrics_of_a_random_field_resume_to_identical_bytes) {
  std::string columns;
  for (int i = 0; i < 40; ++i) columns += i % 3 == 0 ? "the\tO\ncat\tB\n\n" : "a\tO\ndog\tB\nran\tO\n\n";
  const std::string file = folder_ / "tags.conll", whole = folder_ / "whole", parts = folder_ / "parts";
  write_bytes(file, columns);
  for (const char* optimizer : {"rbpm:control=fixed,keep=0.5", "ruop:draws=1", "ruop"}) {
    const Arguments train{"train",   file,      "--predict", "2=crf",       "--model", "birnn:3", "--split",
                          "75/25/0", "--batch", "8",         "--optimizer", optimizer, "--quiet", "--overwrite"};
    ASSERT_EQ(unfold_command(train + Arguments{"--steps", "6", "--threads", "2", "--out", whole}).code, 0) << optimizer;
    ASSERT_EQ(unfold_command(train + Arguments{"--steps", "3", "--out", parts}).code, 0) << optimizer;
    ASSERT_EQ(unfold_command({"train", "--out", parts, "--resume", "--steps", "6", "--quiet"}).code, 0) << optimizer;
    EXPECT_TRUE(read_bytes(whole + "/model.safetensors") == read_bytes(parts + "/model.safetensors")) << optimizer;
  }
}

TEST_F(RiemannianCommandTest, metrics_train_pairs_further_than_the_plain_gradient) {
  std::string pairs;
  const char* const letters = "abcd";
  for (int i = 0; i < 64; ++i)
    pairs += std::string{letters[i % 4], letters[i / 4 % 4]} + "\t" + std::string{letters[i / 4 % 4]} + " " +
             std::string{letters[i % 4]} + "\n";
  const std::string file = folder_ / "words.pairs";
  write_bytes(file, pairs);
  const auto nats = [&](const std::string& optimizer) {
    const Finished finished =
        unfold_command({"train", file, "--model", "gru:6,condition=both", "--valid", file, "--batch", "64", "--steps",
                        "30", "--optimizer", optimizer, "--json", "--overwrite", "--out", run_});
    EXPECT_EQ(finished.code, 0) << finished.err;
    return only_object(finished.out)["valid"]["heads"]["target"]["nats_per_position"].get<double>();
  };
  const double plain = nats("ascent");
  for (const char* optimizer : {"ruop", "rbpm"}) EXPECT_LT(nats(optimizer), 0.7 * plain) << optimizer;
}

TEST_F(RiemannianCommandTest, mask_without_predictions_is_rejected) {
  write_text(anbn_text(20));
  const std::string mask = folder_ / "mask";
  write_bytes(mask, std::string(anbn_text(20).size(), '0'));
  expect_failure(gated({"--mask", mask}), 3, "nothing");
  expect_failure(gated({"--predict-after", "Q"}), 2, "Q");
}

}  // namespace
}  // namespace unfold::test
