#pragma once
/// Small files of data with fields, and runs on them, for tests of the command.

#include <algorithm>
#include <cmath>

#include "tests/cli/fixture.h"

namespace unfold::test {

/// Words with parts of speech and chunks; `sentences` sentences of 2 to 5 words each.
inline std::string chunk_columns(int sentences) {
  const std::vector<std::string> words = {"the DT B-NP", "cat NN I-NP", "sat VB B-VP", "on IN O"};
  std::string text;
  for (int s = 0; s < sentences; ++s) {
    for (int w = 0; w < 2 + s % 4; ++w) text += words[static_cast<std::size_t>(s + w) % 4] + "\n";
    text += "\n";
  }
  return text;
}

inline std::string labeled_lines(int lines) {
  const std::vector<std::string> kinds = {"pos\tgood fun film\n", "neg\tdull bad film\n", "pos\tgood good\n"};
  std::string text;
  for (int i = 0; i < lines; ++i) text += kinds[static_cast<std::size_t>(i) % 3];
  return text;
}

/// A sine wave, one number per line below a column name, or after the hour of the day.
inline std::string wave(int rows, bool with_hour = false) {
  std::string text = with_hour ? "hour,load\n" : "value\n";
  for (int i = 0; i < rows; ++i)
    text += (with_hour ? std::to_string(i % 24) + "," : "") + std::to_string(std::sin(i / 3.0)) + "\n";
  return text;
}

inline std::string json_lines(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i)
    text += i % 2 == 0 ? "{\"word\": [\"it\", \"rains\"], \"tag\": [\"P\", \"V\"], \"mood\": \"sad\"}\n"
                       : "{\"word\": [\"sun\"], \"tag\": [\"N\"], \"mood\": \"glad\"}\n";
  return text;
}

inline std::string tree_lines(int trees) {
  std::string text;
  for (int i = 0; i < trees; ++i) text += i % 2 == 0 ? "(2 (1 not) (0 bad))\n" : "(1 plot)\n";
  return text;
}

/// Grids of three rows, two rows and one character, with labels.
inline std::string grid_blocks(int grids) {
  std::string text;
  for (int i = 0; i < grids; ++i) text += i % 2 == 0 ? "ab\txy\nba\tyx\nab\txy\n\n" : "a\tx\nb\ty\nb\ty\n\n";
  return text;
}

inline std::string roll_lines(int pieces) {
  std::string text;
  for (int i = 0; i < pieces; ++i) text += i % 2 == 0 ? "60,64 60,64 - 55\n" : "55 55 60,64\n";
  return text;
}

class FieldsTest : public CommandTest {
 protected:
  std::string data(const std::string& name, const std::string& bytes) const {
    write_bytes(folder_ / name, bytes);
    return folder_ / name;
  }
  /// Returns the arguments that train a tiny model for a few steps.
  static Arguments few_steps(const std::string& file, const std::string& run, const Arguments& more) {
    return Arguments{"train", file, "--out", run, "--steps", "5", "--batch", "4", "--optimizer", "adam:rate=0.01"} +
           more;
  }
  nlohmann::json train_on(const std::string& file, const Arguments& more) const {
    const Finished finished = unfold_command(few_steps(file, run_, more) + Arguments{"--quiet", "--json"});
    EXPECT_EQ(finished.code, 0) << finished.err;
    EXPECT_EQ(finished.err, "");
    return only_object(finished.out);
  }
  static std::string output_of(const Arguments& arguments, const Surroundings& surroundings = {}) {
    const Finished finished = unfold_command(arguments, surroundings);
    EXPECT_EQ(finished.code, 0) << finished.err;
    return finished.out;
  }
  /// The JSON object that eval writes, without the baselines next to the metrics.
  static nlohmann::json metrics_of(const Arguments& arguments) {
    nlohmann::json result = only_object(output_of(arguments));
    result.erase("baselines");
    return result;
  }
};

inline std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }
inline std::ptrdiff_t count_lines(const std::string& text) { return std::ranges::count(text, '\n'); }

inline std::vector<nlohmann::json> objects_in(const std::string& text) {
  std::vector<nlohmann::json> objects;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    objects.push_back(nlohmann::json::parse(text.substr(begin, end - begin), nullptr, false));
    begin = end == std::string::npos ? text.size() : end + 1;
  }
  return objects;
}

}  // namespace unfold::test
