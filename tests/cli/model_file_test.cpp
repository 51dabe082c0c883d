#include <cstdint>

#include "tests/cli/fixture.h"
#include "unfold/base/error.h"
#include "unfold/model/registry/registry.h"

namespace unfold::test {
namespace {

/// Tests with a minimal model file.
class ModelFileTest : public CommandTest {
 protected:
  ModelFileTest() : damaged_(folder_ / "damaged.safetensors") {
    write_bytes(text_, "ab" + small_text(300));
    train({"--model", "rnn:2", "--steps", "3"});
    whole_ = read_bytes(run_ + "/model.safetensors");
  }

  std::uint64_t header_end() const {
    std::uint64_t length = 0;
    for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<unsigned char>(whole_[static_cast<std::size_t>(i)]);
    return 8 + length;
  }

  void expect_bad_model(const std::string& bytes, const std::string& what) const {
    write_bytes(damaged_, bytes);
    const Finished finished = unfold_command({"info", damaged_});
    ASSERT_EQ(finished.code, 4) << what << ": " << finished.err;
    ASSERT_THAT(finished.err, HasSubstr("damaged.safetensors")) << what;
    ASSERT_EQ(finished.out, "") << what;
  }

  std::string damaged_, whole_;
};

TEST_F(ModelFileTest, model_truncated_at_every_hundredth_byte_is_rejected) {
  ASSERT_GT(whole_.size(), 500u);
  for (std::size_t length = 0; length < whole_.size(); length += 100)
    expect_bad_model(whole_.substr(0, length), "cut to " + std::to_string(length) + " bytes");
  expect_bad_model(whole_ + "x", "one byte more");
}

/// Every byte is changed in memory; the command reads every twentieth of the files.
TEST_F(ModelFileTest, model_with_any_header_byte_changed_is_rejected) {
  for (std::size_t at = 0; at < header_end(); ++at) {
    std::string bytes = whole_;
    bytes[at] = static_cast<char>(bytes[at] ^ (at % 2 == 0 ? 1 : 0x80));
    const std::string what = "byte " + std::to_string(at) + " changed";
    ASSERT_THROW(symbol_model_from_bytes(bytes, "damaged"), ModelError) << what;
    if (at % 20 == 0 || at + 1 == header_end()) expect_bad_model(bytes, what);
  }
}

TEST_F(ModelFileTest, model_with_a_changed_number_is_rejected) {
  for (std::size_t at = header_end(); at < whole_.size(); at += 13) {
    std::string bytes = whole_;
    bytes[at] = static_cast<char>(bytes[at] ^ 4);
    expect_bad_model(bytes, "byte " + std::to_string(at) + " changed");
  }
}

TEST_F(ModelFileTest, every_command_rejects_a_damaged_model) {
  write_bytes(damaged_, whole_.substr(0, whole_.size() - 4));
  for (const Arguments& arguments : {Arguments{"eval", damaged_, text_}, Arguments{"score", damaged_, text_},
                                     Arguments{"sample", damaged_}, Arguments{"info", damaged_, "--json"}})
    expect_failure(arguments, 4, "damaged.safetensors");
}

TEST_F(ModelFileTest, damaged_checkpoint_is_rejected) {
  const std::string checkpoint = run_ + "/checkpoint.safetensors";
  const std::string bytes = read_bytes(checkpoint);
  ASSERT_GT(bytes.size(), 500u);
  write_bytes(checkpoint, bytes.substr(0, bytes.size() / 2));
  expect_failure({"train", "--out", run_, "--resume"}, 4, "checkpoint.safetensors");
}

}  // namespace
}  // namespace unfold::test
