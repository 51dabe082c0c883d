// Learning from a stream: `train --follow`, and forward-mode gradients.
#include "tests/cli/fixture.h"

#include <algorithm>

namespace unfold::test {
namespace {

class OnlineTest : public CommandTest {
 protected:
  Arguments following(const std::string& run, const Arguments& more = {}) const {
    Arguments all = {"train", "-", "--follow", "--out", folder_ / run, "--quiet", "--threads", "1", "--window", "16"};
    if (!std::ranges::count(more, "--model")) all = all + Arguments{"--model", "indrnn:8"};
    if (!std::ranges::count(more, "--optimizer"))
      all = all + Arguments{"--optimizer", "adam:rate=0.003,clip=1,schedule=constant"};
    return all + more;
  }
  Finished follow(const std::string& run, const std::string& stream, const Arguments& more = {}) const {
    return unfold_command(following(run, more), {.input = stream});
  }
  std::string model(const std::string& run) const { return read_bytes(folder_ / (run + "/model.safetensors")); }
};

TEST_F(OnlineTest, follow_learns_from_a_stream_until_it_ends) {
  const std::string stream = small_text(5000);
  const Finished done = follow("run", stream, {"--gradient", "rtrl", "--json"});
  ASSERT_EQ(done.code, 0) << done.err;
  const nlohmann::json result = only_object(done.out);
  EXPECT_EQ(result.value("ended_by", ""), "stream");
  EXPECT_EQ(result.value("steps", 0U), (stream.size() + 15) / 16);
  EXPECT_EQ(unfold_command({"score", folder_ / "run", text_, "--quiet"}).code, 0);
}

TEST_F(OnlineTest, PathNormalizedOptimizersFollowAStream) {
  const std::string stream = small_text(2000);
  for (const char* optimizer : {"path", "path+momentum", "path+adam"}) {
    const Arguments with = {"--model", "rnn:6,activation=relu", "--optimizer", optimizer};
    const std::string name = optimizer;
    const Finished done = follow(name, stream, with + Arguments{"--steps", "60"});
    ASSERT_EQ(done.code, 0) << done.err;
    ASSERT_EQ(follow(name + "-cut", stream, with + Arguments{"--steps", "25"}).code, 0);
    const Finished rest = unfold_command(
        {"train", "--out", folder_ / (name + "-cut"), "--resume", "--steps", "60", "--quiet"}, {.input = stream});
    ASSERT_EQ(rest.code, 0) << rest.err;
    EXPECT_TRUE(model(name) == model(name + "-cut")) << optimizer;
  }
}

TEST_F(OnlineTest, interrupted_equals_uninterrupted_when_the_stream_is_given_again) {
  const std::string stream = small_text(6000);
  for (const char* gradient : {"bptt", "rtrl", "uoro"}) {
    const Arguments with = {"--gradient", gradient};
    const std::string name = gradient;
    ASSERT_EQ(follow(name, stream, with + Arguments{"--steps", "300"}).code, 0);
    ASSERT_EQ(follow(name + "-cut", stream, with + Arguments{"--steps", "170"}).code, 0);
    const Finished rest = unfold_command(
        {"train", "--out", folder_ / (name + "-cut"), "--resume", "--steps", "300", "--quiet"}, {.input = stream});
    ASSERT_EQ(rest.code, 0) << rest.err;
    EXPECT_EQ(model(name), model(name + "-cut")) << gradient;
  }
}

TEST_F(OnlineTest, memory_does_not_grow_with_the_stream) {
  if (UNFOLD_SANITIZED) GTEST_SKIP() << "a sanitizer keeps what was freed for a while";
  const auto peak = [&](const std::string& run, std::size_t bytes) {
    const Finished done = follow(run, small_text(bytes), {"--gradient", "rtrl"});
    EXPECT_EQ(done.code, 0) << done.err;
    return static_cast<double>(done.peak_kilobytes);
  };
  EXPECT_LT(peak("long", 400'000), 1.05 * peak("short", 20'000) + 1000);
}

TEST_F(OnlineTest, contradictory_options_are_refused) {
  for (const Arguments& wrong :
       {Arguments{"--symbols", "chars"}, Arguments{"--split", "90/10"}, Arguments{"--batch", "4"},
        Arguments{"--epochs", "2"}, Arguments{"--model", "ngram:3"}, Arguments{"--gradient", "rtlr"},
        Arguments{"--model", "rnn:900", "--gradient", "rtrl"}, Arguments{"--gradient", "rtrl", "--optimizer", "hf"}}) {
    const Finished done = follow("wrong", "abc", wrong);
    EXPECT_EQ(done.code, 2) << wrong.front() << done.err;
    EXPECT_THAT(done.err, StartsWith("unfold: "));
    EXPECT_EQ(read_bytes(folder_ / "wrong/config.toml"), "") << "nothing is written of a run that is refused";
  }
}

}  // namespace
}  // namespace unfold::test
