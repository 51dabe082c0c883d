// Endless streams: with --follow, predict and score give the same results as for plain files, without delay.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cli/fields.h"

namespace unfold::test {
namespace {

class FollowTest : public FieldsTest {
 protected:
  /// Expects each command to give the same results for a file and for a stream of the same lines.
  void expect_equal_answers(const std::string& file, const Arguments& more = {}) const {
    for (const char* verb : {"predict", "score"}) {
      const Arguments options = std::string(verb) == "score" ? Arguments() : more;
      const std::string whole = output_of(Arguments{verb, run_, file, "--quiet"} + options);
      EXPECT_EQ(output_of(Arguments{verb, run_, file, "--follow", "--quiet"} + options), whole) << verb;
      EXPECT_EQ(output_of(Arguments{verb, run_, "-", "--follow", "--quiet"} + options, {.input = read_bytes(file)}),
                whole)
          << verb;
    }
  }
};

TEST_F(FollowTest, followed_column_blocks_equal_file_results) {
  const std::string file = data("chunks", "# columns: word pos chunk\n" + chunk_columns(30));
  train_on(file, {"--model", "bigru:4", "--format", "columns", "--read", "word,pos,word.run2", "--predict", "chunk"});
  expect_equal_answers(file, {"--probabilities"});
  expect_equal_answers(file, {"--format", "jsonl"});
}

TEST_F(FollowTest, followed_lines_equal_file_results) {
  for (const auto& [format, bytes, options] :
       {std::tuple{"labelled", labeled_lines(30), Arguments()},
        std::tuple{"jsonl", json_lines(30), Arguments{"--read", "word", "--predict", "tag,mood"}},
        std::tuple{"rolls", roll_lines(10), Arguments()}}) {
    SCOPED_TRACE(format);
    const std::string file = data(format, bytes);
    train_on(file, Arguments{"--model", "gru:4", "--format", format, "--overwrite"} + options);
    expect_equal_answers(file);
    expect_equal_answers(file, {"--format", "jsonl"});
  }
}

TEST_F(FollowTest, followed_sources_and_whole_sequences_equal_file_results) {
  std::string pairs;
  for (int i = 0; i < 40; ++i) pairs += (i % 2 == 0 ? "abba\tA B B A\n" : "cab\tC A B\n");
  const std::string words = data("words.pairs", pairs);
  train_on(words, {"--model", "gru:6,attention=additive", "--split", "100/0/0"});
  expect_equal_answers(words);
  expect_equal_answers(words, {"--beam", "3", "--best", "2"});
  expect_equal_answers(words, {"--attention", "--format", "jsonl"});
  expect_failure({"predict", run_, words, "--follow", "--sample"}, 2, "--sample is not supported with --follow");
  const std::string lines = data("lines", labeled_lines(30));
  for (const char* ends : {"symbol", "stop", "poisson"}) {
    SCOPED_TRACE(ends);
    train_on(lines, {"--model", "gru:4", "--format", "labelled", "--read", "label", "--predict", "text", "--ends", ends,
                     "--overwrite"});
    expect_equal_answers(lines);
    expect_equal_answers(lines, {"--given", "label=neg"});
  }
  std::string rows = "part,x\n";
  for (int i = 0; i < 60; ++i) rows += std::to_string(i / 4) + "," + std::to_string(i % 4) + "\n";
  const std::string table = data("parts.csv", rows);
  train_on(table, {"--model", "gru:4", "--sequences", "part", "--predict", "x", "--ends", "stop", "--overwrite"});
  expect_equal_answers(table);
}

TEST_F(FollowTest, bad_rows_of_a_stream_are_left_out) {
  std::string clean = "x,y\n", damaged = clean;
  for (int i = 0; i < 40; ++i) {
    const std::string row = std::to_string(i % 4) + "," + std::to_string((i + 1) % 4) + ".5\n";
    clean += row;
    damaged += row;
    if (i == 4) damaged += "garbage\n";
    if (i == 9) damaged += "1,oops\n";
  }
  damaged += "last\n";
  const std::string good = data("clean.csv", clean), bad = data("damaged.csv", damaged);
  train_on(good, {"--model", "gru:4", "--read", "x", "--predict", "y", "--rows", "sequence"});
  for (const char* verb : {"predict", "score"}) {
    const Finished stopped = unfold_command({verb, run_, bad, "--follow"});
    EXPECT_EQ(stopped.code, 3);
    EXPECT_THAT(stopped.err, HasSubstr("--bad-rows skip"));
    const Finished followed = unfold_command({verb, run_, bad, "--follow", "--bad-rows", "skip", "--quiet"});
    EXPECT_EQ(followed.code, 0) << followed.err;
    EXPECT_EQ(followed.out, output_of({verb, run_, good, "--follow", "--quiet"}));
    for (const char* line : {"line 7: ", "line 13: ", "line 44: "})
      EXPECT_THAT(followed.err, HasSubstr(line + std::string())) << verb;
    EXPECT_THAT(followed.err, HasSubstr("this row is left out"));
  }
}

TEST_F(FollowTest, followed_table_rows_have_the_same_digits) {
  const std::string file = data("wave.csv", wave(60, true));
  train_on(file, {"--model", "gru:4,layers=2", "--format", "table", "--predict", "load", "--ahead", "3"});
  expect_equal_answers(file);
  const std::vector<nlohmann::json> rows =
      objects_in(output_of({"predict", run_, file, "--follow", "--format", "jsonl", "--quiet"}));
  ASSERT_EQ(rows.size(), 60U);
  EXPECT_TRUE(rows[7]["load.mean"].is_number());
  EXPECT_EQ(rows[7]["hour"], 7);
}

TEST_F(FollowTest, followed_headerless_numbers_and_multiple_sequences_equal_file_results) {
  std::string numbers = wave(60);
  numbers.erase(0, numbers.find('\n') + 1);
  const std::string file = data("numbers", numbers);
  train_on(file, {"--model", "gru:4", "--format", "table"});
  expect_equal_answers(file);
  std::string stations = "station,load,kind\n";
  for (int i = 0; i < 60; ++i)
    stations += (i < 24   ? "north,"
                 : i < 36 ? "south,"
                          : "west,") +
                std::to_string(i * i % 7) + (i % 3 == 0 ? ",high\n" : ",low\n");
  const std::string several = data("stations.csv", stations);
  for (const char* model : {"gru:4", "bigru:4"}) {  // per row or per complete sequence
    train_on(several, {"--model", model, "--format", "table", "--sequences", "station", "--read", "load", "--predict",
                       "kind", "--overwrite"});
    expect_equal_answers(several);
    const Finished apart =
        unfold_command({"predict", run_, "-", "--follow"}, {.input = "station,load,kind\nn,1,low\ns,2,low\nn,3,low\n"});
    EXPECT_EQ(apart.code, 0);
    EXPECT_THAT(apart.err, HasSubstr("line 4: rows of sequence \"n\" are not consecutive"));
  }
}

TEST_F(FollowTest, followed_empty_numeric_lines_are_missing_values) {
  std::string numbers;
  for (int i = 0; i < 100; ++i) numbers += std::to_string(i % 9) + "\n";
  train_on(data("numbers", numbers), {"--format", "table", "--model", "gru:4"});
  for (const char* head : {"", "value\n", "\n"})
    expect_equal_answers(data("gaps", std::string(head) + "1\n\n3\nNA\n\n\n5\n\n"));
}

TEST_F(FollowTest, quoted_cells_may_contain_quotes_and_line_breaks) {
  std::string items = "item,label\n";
  for (int i = 0; i < 60; ++i)
    items += std::string(i % 3 == 0   ? "5\" disk"
                         : i % 3 == 1 ? "bowl"
                                      : "\"a lid, of\nthe \"\"5\"\" pot\"") +
             "," + (i % 2 == 0 ? "m\n" : "n\n");
  const std::string file = data("items.csv", items);
  train_on(file, {"--model", "gru:4", "--format", "table", "--read", "item", "--predict", "label"});
  expect_equal_answers(file);
  std::string headless = items.substr(items.find('\n') + 1);
  train_on(data("headless.csv", headless),
           {"--model", "gru:4", "--format", "table", "--read", "1", "--predict", "2", "--overwrite"});
  expect_equal_answers(folder_ / "headless.csv");
}

TEST_F(FollowTest, followed_row_of_another_width_or_kind_is_rejected_as_in_a_file) {
  std::string pairs, numbers;
  for (int i = 0; i < 100; ++i) {
    pairs += std::to_string(i % 7) + "," + std::to_string(i * 3 % 5) + "\n";
    numbers += std::to_string(i % 9) + "\n";
  }
  train_on(data("two", pairs), {"--format", "table", "--predict", "1", "--model", "gru:4"});
  expect_equal_answers(folder_ / "two");
  for (const char* bad : {"1,2\n5\n", "1,2\n5,6,7\n", "1,2\nx,6\n"})
    for (const char* verb : {"predict", "score"}) {
      const Finished finished = unfold_command({verb, run_, "-", "--follow"}, {.input = bad});
      EXPECT_EQ(finished.code, 3) << bad;
      EXPECT_THAT(finished.err, HasSubstr("standard input: line 2: ")) << bad;
    }
  train_on(data("one", numbers), {"--format", "table", "--model", "gru:4", "--overwrite"});
  const std::string file = data("bad", "1\nabc\n5\n");
  expect_failure({"predict", run_, file}, 3, file + ": line 2: \"abc\" in column value is not a number");
  EXPECT_THAT(unfold_command({"predict", run_, "-", "--follow"}, {.input = "1\nabc\n5\n"}).err,
              HasSubstr("standard input: line 2: \"abc\" in column value is not a number"));
}

TEST_F(FollowTest, pairs_have_targets_on_all_lines_or_none) {
  std::string pairs;
  for (int i = 0; i < 40; ++i) pairs += (i % 2 == 0 ? "abba\tA B B A\n" : "cab\tC A B\n");
  train_on(data("words.pairs", pairs), {"--model", "gru:4", "--split", "100/0/0"});
  for (const auto& [stream, message] :
       {std::pair{"abba\ncab\tC A B\n", "line 2: this line has a target, but the previous lines have none"},
        std::pair{"cab\tC A B\nabba\n", "line 2: this line has no target"}}) {
    const Finished finished = unfold_command({"predict", run_, "-", "--follow"}, {.input = stream});
    EXPECT_EQ(finished.code, 3);
    EXPECT_THAT(finished.err, HasSubstr(message));
  }
}

TEST_F(FollowTest, unread_column_may_contain_anything) {
  std::string rows = "load,note\n";
  for (int i = 0; i < 60; ++i) rows += std::to_string(std::sin(i / 3.0)) + "," + std::to_string(i) + "\n";
  train_on(data("wave.csv", rows), {"--model", "gru:4", "--format", "table", "--read", "load", "--predict", "load"});
  const std::string stream = "load,note\n5.1,17\n5.2,door open\n,\n5.3,\n5.4,18\n5.4,note\n";
  expect_equal_answers(data("mixed.csv", stream));
  expect_equal_answers(data("late.csv", "load,note\n5.1,\n5.2,?\n5.3,7\n"));
  const std::string answers = output_of({"predict", run_, "-", "--follow"}, {.input = stream});
  EXPECT_EQ(count_lines(answers), 7);
  EXPECT_THAT(answers, HasSubstr("5.2\tdoor open\t"));
  const Finished bad = unfold_command({"predict", run_, "-", "--follow"}, {.input = "load,note\n5.1,1\nmuch,2\n"});
  EXPECT_EQ(bad.code, 3);
  EXPECT_THAT(bad.err, HasSubstr("standard input: line 3: \"much\" in column load is not a number"));
}

TEST_F(FollowTest, followed_header_with_an_empty_first_cell_is_a_header) {
  std::string rows = ",load,note\n";
  for (int i = 0; i < 60; ++i) rows += std::to_string(i) + "," + std::to_string(std::sin(i / 3.0)) + ",a\n";
  train_on(data("wave.csv", rows), {"--model", "gru:4", "--format", "table", "--read", "load", "--predict", "load"});
  expect_equal_answers(data("some.csv", ",load,note\n5,,note\n6,0.5,load\n"));
}

TEST_F(FollowTest, endless_formats_and_options_that_need_an_end_are_rejected) {
  const std::string both = data("both.csv", wave(200, true)), file = data("wave", wave(200));
  train_on(both, {"--model", "bigru:4", "--format", "table", "--read", "hour", "--predict", "load"});
  expect_failure({"predict", run_, both, "--follow"}, 2, "a table without --sequences is a single example");
  train_on(file, {"--model", "gru:4", "--format", "table", "--overwrite"});
  expect_failure({"forecast", run_, file, "--follow"}, 2, "--ahead cannot be combined with --follow");
  expect_failure({"predict", run_, file, "--follow", "--out", folder_ / "x"}, 2, "writes to standard output");
  expect_failure({"score", run_, file, "--follow", "--top", "3"}, 2, "--top cannot be combined with --follow");
  expect_failure({"score", run_, file, "--follow", "--by", "line"}, 2,
                 "a table without --sequences is a single example");
  expect_failure({"predict", run_, "-", "--follow"}, 3, "standard input is empty");
}

TEST_F(FollowTest, bad_line_is_named_by_its_number_in_the_stream) {
  const std::string file = data("lines", labeled_lines(30));
  train_on(file, {"--model", "gru:4", "--format", "labelled"});
  const Finished bad = unfold_command({"predict", run_, "-", "--follow"}, {.input = labeled_lines(5) + "no label\n"});
  EXPECT_EQ(bad.code, 3);
  EXPECT_THAT(bad.err, HasSubstr("standard input: line 6: this line has no label and text"));
  EXPECT_EQ(count_lines(bad.out), 6);  // earlier output is not lost
  const Finished odd = unfold_command({"score", run_, "-", "--follow"}, {.input = labeled_lines(2) + "odd\tx\n"});
  EXPECT_EQ(odd.code, 3);
  EXPECT_THAT(odd.err, HasSubstr("standard input, line 3: field label is \"odd\""));
  const std::string table = data("wave.csv", wave(100, true));
  train_on(table, {"--model", "gru:4", "--format", "table", "--predict", "load", "--overwrite"});
  const Finished ragged = unfold_command({"predict", run_, "-", "--follow"}, {.input = wave(4, true) + "1,2,3\n"});
  EXPECT_EQ(ragged.code, 3);
  EXPECT_THAT(ragged.err, HasSubstr("line 6: 3 cells"));
}

TEST_F(FollowTest, result_is_written_before_the_next_line_arrives) {
  const std::string table = data("wave.csv", wave(100, true)), in = folder_ / "in", out = folder_ / "out";
  train_on(table, {"--model", "gru:4", "--format", "table", "--predict", "load"});
  ASSERT_EQ(::mkfifo(in.c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo(out.c_str(), 0600), 0);
  const int reader = ::open(out.c_str(), O_RDONLY | O_NONBLOCK);  // does not wait for a writer
  ASSERT_EQ(::fcntl(reader, F_SETFL, 0), 0);
  Process command({"predict", run_, in, "--follow", "--quiet"}, {.output = out});
  const int writer = ::open(in.c_str(), O_WRONLY);
  ASSERT_GT(::write(writer, "hour,load\n", 10), 0);
  std::string seen;
  for (int i = 1; i <= 3; ++i) {
    ASSERT_GT(::write(writer, "1,0.25\n", 7), 0);
    std::string buffer(4096, '\0');
    while (count_lines(seen) < i + 1) {  // including the header
      const ssize_t got = ::read(reader, buffer.data(), buffer.size());
      if (got <= 0) break;  // the command has ended
      seen.append(buffer, 0, static_cast<std::size_t>(got));
    }
    EXPECT_EQ(count_lines(seen), i + 1);
  }
  ::close(writer);
  EXPECT_EQ(command.finish().code, 0);
  ::close(reader);
}

}  // namespace
}  // namespace unfold::test
