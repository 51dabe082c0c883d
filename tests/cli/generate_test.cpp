#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/fixture.h"

namespace unfold::test {
namespace {

TEST_F(CommandTest, generate_reports_the_score_of_a_perfect_model) {
  const std::string file = folder_ / "source.txt";
  const Finished made = unfold_command({"generate", "alphabet", "--size", "5000", "-o", file, "--json"});
  ASSERT_EQ(made.code, 0) << made.err;
  const nlohmann::json json = only_object(made.out);
  EXPECT_EQ(json["symbols"], read_bytes(file).size());
  EXPECT_NEAR(json["entropy_bits_per_symbol"].get<double>(), 1.548, 5e-4);
  EXPECT_EQ(json["entropy_bits_per_symbol"], json["entropy_bits_per_predicted_symbol"]);

  const std::string text = read_bytes(file);
  EXPECT_EQ(unfold_command({"generate", "alphabet", "--size", "5000", "-o", "-"}).out, text);
  EXPECT_NE(unfold_command({"generate", "alphabet", "--size", "5000", "--seed", "2", "-o", "-"}).out, text);
  const Finished trees = unfold_command({"generate", "arithmetic:1", "--count", "3", "-o", "-"});
  EXPECT_EQ(std::ranges::count(trees.out, '\n'), 3);
  EXPECT_THAT(unfold_command({"generate", "arithmetic:1", "--count", "3", "-o", file}).out,
              HasSubstr("3 trees of 12 nodes"));
  EXPECT_THAT(unfold_command({"generate", "noisy-copies:4", "--count", "3", "-o", file}).out, HasSubstr("3 pairs"));
  EXPECT_TRUE(
      only_object(
          unfold_command({"generate", "noisy-copies", "-o", file, "--json"}).out)["entropy_bits_per_predicted_symbol"]
          .is_null());
  const Finished blocks = unfold_command({"generate", "anbn:low=3,high=3", "--count", "2", "--out", "-"});
  EXPECT_EQ(blocks.out, "aaabbb\naaabbb\n");
}

TEST_F(CommandTest, generate_rejects_invalid_requests) {
  expect_failure({"generate", "alphabt", "-o", text_}, 2, "did you mean \"alphabet\"?");
  expect_failure({"generate", "xor:lenght=3", "-o", text_}, 2, "did you mean \"length\"?");
  expect_failure({"generate", "arithmetic:depht=2", "-o", text_}, 2, "did you mean \"depth\"?");
  expect_failure({"generate", "arithmetic", "--size", "9", "-o", text_}, 2, "use --count to set the number of trees");
  expect_failure({"generate", "xor:1", "-o", text_}, 2, "2 to");
  expect_failure({"generate", "music:3", "-o", text_}, 2, "has no default option for \"3\"");
  expect_failure({"generate", "anbn:low=5,high=4", "-o", text_}, 2, "low <= high");
  expect_failure({"generate", "xor"}, 2, "-o FILE");
  expect_failure({"generate", "xor", "-o", text_, "--count", "2", "--size", "100"}, 2,
                 "--count and --size cannot be combined");
  expect_failure({"generate", "xor", "-o", "-", "--json"}, 2, "standard output");
  expect_failure({"generate", "xor", "-o", folder_ / "no/such/folder"}, 1, "no/such/folder");
}

/// A mask equivalent to --predict-after gives the same model and the same scores.
TEST_F(CommandTest, mask_equals_predict_after) {
  const std::string file = folder_ / "xor.txt", mask = folder_ / "xor.mask", masked = folder_ / "masked";
  ASSERT_EQ(unfold_command({"generate", "xor:4", "--count", "200", "-o", file, "--mask", mask}).code, 0);
  const Arguments train = {"train",   file, "--model", "rnn:6", "--window", "16",
                           "--batch", "4",  "--steps", "20",    "--json"};
  const Finished by_symbol = unfold_command(train + Arguments{"--out", run_, "--predict-after", "="});
  const Finished by_mask = unfold_command(train + Arguments{"--out", masked, "--mask", mask});
  ASSERT_EQ(by_symbol.code, 0) << by_symbol.err;
  ASSERT_EQ(by_mask.code, 0) << by_mask.err;
  EXPECT_EQ(only_object(by_symbol.out)["valid"], only_object(by_mask.out)["valid"]);
  EXPECT_EQ(only_object(by_mask.out)["valid"]["symbols"], 20);  // lines in the validation part

  const Finished eval = unfold_command({"eval", masked, file, "--mask", mask, "--json"});
  EXPECT_EQ(only_object(eval.out)["symbols"], 200);
  const Finished stepper = unfold_command({"eval", masked, file, "--mask", mask, "--json", "--method", "stepper"});
  EXPECT_EQ(eval.out, stepper.out);
  EXPECT_EQ(unfold_command({"eval", run_, file, "--json"}).out, eval.out);
  const Finished score = unfold_command({"score", masked, file, "--mask", mask});
  EXPECT_EQ(std::count(score.out.begin(), score.out.end(), '-'), 200 * 8);  // nine symbols per line, one predicted
}

TEST_F(CommandTest, mask_of_the_wrong_size_is_rejected) {
  const std::string mask = folder_ / "mask";
  const std::size_t symbols = read_bytes(text_).size();
  const auto refused = [&](const std::string& bytes, const std::string& message) {
    write_bytes(mask, bytes);
    expect_failure(training({"--mask", mask, "--overwrite"}), 3, message);
  };
  refused("0101", "masks 4 symbols");
  refused(std::string(symbols, 'x'), "neither 0 nor 1");
  refused(std::string(symbols, '0'), "contains no 1, so there is nothing to predict");
  refused(std::string(symbols - 1, '0') + "1", "the training part contains no symbols to predict");
  refused("1" + std::string(symbols - 1, '0'), "the validation part contains no symbols to predict");
  expect_failure(training({"--valid-mask", mask}), 2, "requires --valid;");
}

}  // namespace
}  // namespace unfold::test
