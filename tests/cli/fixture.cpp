#include "tests/cli/fixture.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "unfold/numerics/random.h"

namespace unfold::test {

Arguments operator+(Arguments a, const Arguments& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::string small_text(std::size_t bytes) {
  const std::vector<std::string> words = {"the", "cat", "sat", "on", "a", "mat", "and", "ate"};
  Random random(1, "small text");
  std::string text;
  while (text.size() < bytes) text += words[random.below(words.size())] + (random.below(8) == 0 ? "\n" : " ");
  return text;
}

CommandTest::CommandTest() : text_(folder_ / "text.txt"), run_(folder_ / "run") {
  write_bytes(text_, small_text(4000));
}

Arguments CommandTest::training(const Arguments& more) const {
  const Arguments tiny = {"train", text_,      "--out", run_,      "--model", "rnn:8",       "--batch",
                          "4",     "--window", "16",    "--steps", "20",      "--optimizer", "adam:rate=0.01,clip=1"};
  return tiny + more;
}

void CommandTest::train(const Arguments& more) const {
  const Finished finished = unfold_command(training(more));
  ASSERT_EQ(finished.code, 0) << finished.err;
}

void expect_failure(const Arguments& arguments, int code, const std::string& message,
                    const Surroundings& surroundings) {
  const Finished finished = unfold_command(arguments, surroundings);
  EXPECT_EQ(finished.code, code) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("unfold: "));
  EXPECT_THAT(finished.err, HasSubstr(message));
  EXPECT_EQ(finished.out, "");
}

nlohmann::json only_object(const std::string& out) {
  const nlohmann::json json = nlohmann::json::parse(out, nullptr, false);
  EXPECT_TRUE(json.is_object()) << out;
  return json;
}

std::vector<std::string> log_events(const std::string& path) {
  std::vector<std::string> result;
  std::istringstream lines(read_bytes(path));
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json entry = nlohmann::json::parse(line, nullptr, false);
    if (!entry.is_object()) {
      result.push_back("not JSON: " + line);
      continue;
    }
    result.push_back(entry.value("event", "?") + " " + std::to_string(entry.value("step", -1)));
  }
  return result;
}

}  // namespace unfold::test
