// --key: files made with another key or without one are rejected, and keyed files are rejected without the key.
#include <filesystem>

#include "tests/cli/fixture.h"

namespace unfold::test {
namespace {

class KeyTest : public CommandTest {
 protected:
  KeyTest() : key_(folder_ / "key"), other_(folder_ / "other") {
    write_bytes(key_, "sixteen bytes or more");
    write_bytes(other_, "sixteen bytes or so..");
  }
  Arguments with(const std::string& key) const { return {"--key", key}; }
  std::string key_, other_;
};

TEST_F(KeyTest, models_and_checkpoints_require_their_key) {
  train(with(key_) + Arguments{"--steps", "10"});
  expect_failure(training({"--steps", "20", "--resume"}), 4, "written with a key; name the key file with --key");
  expect_failure(training({"--steps", "20", "--resume"}) + with(other_), 4, "written with a different key");
  train(with(key_) + Arguments{"--steps", "20", "--resume"});
  for (const Arguments& verb : {Arguments{"eval", run_, text_}, Arguments{"score", run_, text_},
                                Arguments{"sample", run_}, Arguments{"complete", run_}, Arguments{"info", run_},
                                Arguments{"compress", text_, "--model", run_, "-o", folder_ / "out"}}) {
    const Finished right = unfold_command(verb + with(key_));
    EXPECT_EQ(right.code, 0) << verb.front() << right.err;
    expect_failure(verb, 4, "written with a key;");
    expect_failure(verb + with(other_), 4, "written with a different key");
  }
  const std::string plain = folder_ / "plain";
  train({"--out", plain});
  expect_failure(Arguments{"eval", plain, text_} + with(key_), 4, "written without a key,");
}

TEST_F(KeyTest, key_does_not_change_predictions) {
  train();
  const Finished plain = unfold_command({"eval", run_, text_, "--json"});
  train(with(key_) + Arguments{"--overwrite"});
  EXPECT_EQ(unfold_command(Arguments{"eval", run_, text_, "--json"} + with(key_)).out, plain.out);
}

TEST_F(KeyTest, archives_require_their_key) {
  train(with(key_));
  const std::string packed = folder_ / "packed", out = folder_ / "out";
  for (const Arguments& how :
       {Arguments{"--fast"}, Arguments{"--model", "ngram:2"}, Arguments{"--model", run_},
        Arguments{"--model", run_, "--embed"}, Arguments{"--model", "ppm:2", "--block", "1000"}}) {
    const Finished made = unfold_command(Arguments{"compress", text_, "-o", packed} + how + with(key_));
    ASSERT_EQ(made.code, 0) << made.err;
    const Arguments back = {"decompress", packed, "-o", out};
    expect_failure(back, 6, "was written with a key; name the key file with --key");
    expect_failure(back + with(other_), 6, "not written with the given key");
    EXPECT_FALSE(std::filesystem::exists(out));
    EXPECT_EQ(unfold_command(back + with(key_)).code, 0);
    EXPECT_EQ(read_bytes(out), read_bytes(text_));
    std::filesystem::remove(out);
  }
  ASSERT_EQ(unfold_command({"compress", text_, "--fast", "-o", packed}).code, 0);
  expect_failure(Arguments{"decompress", packed, "-o", out} + with(key_), 6, "was written without a key,");
}

TEST_F(KeyTest, short_or_missing_key_is_reported) {
  write_bytes(key_, "short");
  expect_failure(Arguments{"compress", text_, "-o", folder_ / "out"} + with(key_), 2, "a key has 16 to 1048576 bytes");
  expect_failure(Arguments{"compress", text_, "-o", folder_ / "out"} + with(folder_ / "none"), 3, "no such file");
}

}  // namespace
}  // namespace unfold::test
