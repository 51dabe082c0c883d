// score --by line: streams one row per line.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <sstream>
#include <thread>

#include "tests/cli/fixture.h"

namespace unfold::test {
namespace {

using Rows = std::vector<std::vector<std::string>>;

Rows rows_in(const std::string& tsv) {
  Rows rows;
  std::istringstream lines(tsv);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string>& cells = rows.emplace_back();
    std::istringstream parts(line);
    for (std::string cell; std::getline(parts, cell, '\t');) cells.push_back(cell);
  }
  return rows;
}

class StreamTest : public CommandTest {
 protected:
  StreamTest() : log_(folder_ / "log.txt"), in_(folder_ / "in"), out_(folder_ / "out") {
    std::string log;
    for (int i = 0; i < 60; ++i) log += i % 10 == 7 ? "BAD zzz qqq\n" : "- the cat sat\n";
    write_bytes(log_, log);
  }
  ~StreamTest() override {
    if (reader_ >= 0) ::close(reader_);
  }

  void train_model(const Arguments& more) const {
    const Finished trained =
        unfold_command(Arguments{"train", log_, "--out", run_, "--split", "100/0/0", "--overwrite", "--quiet"} + more);
    ASSERT_EQ(trained.code, 0) << trained.err;
  }
  std::string score(const std::string& file, const Arguments& more, const Surroundings& around = {}) const {
    const Finished scored = unfold_command(Arguments{"score", run_, file, "--by", "line", "--quiet"} + more, around);
    EXPECT_EQ(scored.code, 0) << scored.err;
    return scored.out;
  }

  /// Reads until `count` lines have arrived; returns the elapsed seconds.
  double wait_for_lines(std::ptrdiff_t count) {
    const auto start = std::chrono::steady_clock::now();
    std::string buffer(4096, '\0');
    while (std::count(seen_.begin(), seen_.end(), '\n') < count) {
      const ssize_t got = ::read(reader_, buffer.data(), buffer.size());
      if (got <= 0) break;
      seen_.append(buffer, 0, static_cast<std::size_t>(got));
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  /// Writes line by line and expects each row within 50 ms, before the next line is written. The timing has three
  /// attempts, because the machine may be busy; a missing row always fails.
  void expect_answers_at_once(bool standard_input) {
    ::unlink(in_.c_str());
    ::unlink(out_.c_str());
    ASSERT_EQ(::mkfifo(in_.c_str(), 0600), 0);
    ASSERT_EQ(::mkfifo(out_.c_str(), 0600), 0);
    seen_.clear();
    if (reader_ >= 0) ::close(reader_);
    reader_ = ::open(out_.c_str(), O_RDONLY | O_NONBLOCK);  // does not wait for a writer
    ASSERT_EQ(::fcntl(reader_, F_SETFL, 0), 0);
    const Arguments arguments{"score", run_, standard_input ? "-" : in_, "--by", "line", "--quiet"};
    Process command(arguments, {.input_path = standard_input ? in_ : "", .output = out_});
    const int writer = ::open(in_.c_str(), O_WRONLY);
    wait_for_lines(1);  // the header, before any input
    double slowest = 0;
    int late = 0;
    for (std::ptrdiff_t i = 1; i <= 6; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      ASSERT_GT(::write(writer, "- the cat\n", 10), 0);
      const double seconds = wait_for_lines(i + 1);
      slowest = std::max(slowest, seconds);
      late += seconds > 0.05 ? 1 : 0;
      ASSERT_EQ(std::count(seen_.begin(), seen_.end(), '\n'), i + 1);
    }
    EXPECT_LE(late, 3) << "slowest: " << slowest;
    ::close(writer);
    if (standard_input) return command.signal(SIGKILL);  // it would keep its own end open and wait forever
    EXPECT_EQ(command.finish().code, 0);
  }

  std::string log_, in_, out_, seen_;
  int reader_ = -1;
};

TEST_F(StreamTest, row_is_written_before_the_next_line_arrives) {
  train_model({"--model", "ngram:3"});
  expect_answers_at_once(true);
  expect_answers_at_once(false);
  EXPECT_THAT(seen_, StartsWith("line\tsymbols\tbits\tbits_per_symbol\n1\t10\t"));
}

TEST_F(StreamTest, first_column_labels_can_be_streamed) {
  train_model({"--model", "ngram:3", "--label-column"});
  expect_answers_at_once(true);
  expect_answers_at_once(false);
  EXPECT_THAT(seen_, StartsWith("line\tsymbols\tbits\tbits_per_symbol\tlabel\n1\t8\t"));
  const Finished judged =
      unfold_command({"score", run_, "-", "--by", "line", "--summary"}, {.input = read_bytes(log_)});
  EXPECT_EQ(judged.code, 0) << judged.err;
  EXPECT_THAT(judged.out, HasSubstr("anomalous\t6\n"));
}

TEST_F(StreamTest, streamed_rows_equal_file_rows_and_sum_to_eval) {
  for (const Arguments& model :
       {Arguments{"--model", "ngram:3"}, Arguments{"--model", "ppm:3"},
        Arguments{"--model", "lstm:5", "--steps", "3", "--window", "8", "--batch", "2"},
        Arguments{"--model", "gru:5", "--steps", "3", "--lines", "--batch", "2"},
        Arguments{"--model", "gru:5", "--steps", "3", "--lines", "--batch", "2", "--predict-after", " "},
        Arguments{"--model", "ngram:2", "--symbols", "words"}}) {
    SCOPED_TRACE(::testing::PrintToString(model));
    train_model(model);
    const std::string of_file = score(log_, {});
    EXPECT_EQ(score("-", {}, {.input = read_bytes(log_)}), of_file);
    const nlohmann::json eval = only_object(unfold_command({"eval", run_, log_, "--json"}).out);
    double bits = 0, symbols = 0;
    const Rows rows = rows_in(of_file);
    ASSERT_EQ(rows.size(), 61U);
    for (std::size_t i = 1; i < rows.size(); ++i) {
      symbols += std::stod(rows[i][1]);
      bits += std::stod(rows[i][2]);
    }
    EXPECT_EQ(symbols, eval["symbols"].get<double>());
    EXPECT_NEAR(bits / symbols, eval["bits_per_symbol"].get<double>(), 1e-5);
  }
}

TEST_F(StreamTest, most_surprising_lines_include_their_text) {
  train_model({"--model", "ngram:3"});
  const std::string odd = folder_ / "odd.txt";
  write_bytes(odd, read_bytes(log_) + "tac eht eht\n- the cat sat");
  const Rows top = rows_in(score(odd, {"--top", "1", "--text"}));
  ASSERT_EQ(top.size(), 2U);
  EXPECT_EQ(top[0].back(), "text");
  EXPECT_EQ(top[1][0], "61");
  EXPECT_EQ(rows_in(score(odd, {"--text"}))[62].back(), "- the cat sat");
  const nlohmann::json json = only_object(score(odd, {"--top", "2", "--text", "--json"}));
  ASSERT_EQ(json["scores"].size(), 2U);
  EXPECT_EQ(json["scores"][0]["text"], "tac eht eht");
}

TEST_F(StreamTest, unknown_characters_can_be_scored) {
  train_model({"--model", "ngram:3"});
  const std::string text = "- the cat sat\n- the \u00e9\u00e9t sat\n";
  const std::string odd = folder_ / "odd.txt";
  write_bytes(odd, text);
  expect_failure({"score", run_, odd, "--by", "line", "--summary"}, 2, "--labels");
  const Finished refused = unfold_command({"score", run_, odd, "--by", "line", "--quiet"});
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.err, HasSubstr("odd.txt, line 2: \"\u00e9\" at offset 6 of the line is not in the alphabet"));
  EXPECT_EQ(rows_in(refused.out).size(), 2U);  // earlier output is not lost
  const Rows skipped = rows_in(score(odd, {"--unknown", "skip"})),
             counted = rows_in(score(odd, {"--unknown", "surprise"}));
  EXPECT_EQ(skipped[1], counted[1]);
  EXPECT_EQ(std::stoi(counted[2][1]), std::stoi(skipped[2][1]) + 2);
  EXPECT_NEAR(std::stod(counted[2][2]) - std::stod(skipped[2][2]), 2 * std::log2(1112064.0), 1e-5);
  expect_failure({"score", run_, odd, "--unknown", "surprise"}, 2, "--by line");
  expect_failure({"score", run_, odd, "--by", "line", "--unknown", "suprise"}, 2, "did you mean \"surprise\"?");
}

TEST_F(StreamTest, scores_and_roc_are_plotted) {
  train_model({"--model", "ngram:3", "--label-column"});
  const std::string picture = folder_ / "scores.svg";
  score(log_, {"--plot", picture});
  EXPECT_THAT(read_bytes(picture), HasSubstr("bits_per_symbol of each line"));
  EXPECT_THAT(read_bytes(picture), HasSubstr("ROC by bits_per_symbol"));
  train_model({"--model", "ngram:3"});
  score(log_, {"--plot", picture});
  EXPECT_THAT(read_bytes(picture), Not(HasSubstr("ROC")));
  expect_failure({"score", run_, log_, "--plot", picture}, 2, "--by line");
}

TEST_F(StreamTest, damaged_text_error_names_the_line) {
  train_model({"--model", "ngram:3"});
  const Finished bad = unfold_command({"score", run_, "-", "--by", "line", "--quiet"}, {.input = "cat\n\xff\n"});
  EXPECT_EQ(bad.code, 3);
  EXPECT_THAT(bad.err, HasSubstr("standard input, line 2: the byte at offset 0 is not valid UTF-8"));
  expect_failure({"score", run_, "-", "--by", "line", "--summary", "--labels", log_}, 3, "empty", {.input = ""});
}

}  // namespace
}  // namespace unfold::test
