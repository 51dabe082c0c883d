// Constrained searches through the command.
#include "tests/cli/fields.h"

namespace unfold::test {
namespace {

class MatchTest : public FieldsTest {
 protected:
  /// Lines of a few words, and an n-gram model fitted to them.
  void fit(const std::string& model, const Arguments& more = {}) const {
    std::string text;
    for (int i = 0; i < 80; ++i)
      text += i % 3 == 0 ? "the cat sat on 1 mat\n" : i % 3 == 1 ? "a dog ran\n" : "call 42\n";
    write_bytes(text_, text);
    ASSERT_EQ(unfold_command(Arguments{"train", text_, "--out", run_, "--model", model, "--quiet"} + more).code, 0);
  }
  nlohmann::json found(const Arguments& more) const {
    return only_object(output_of(Arguments{"complete", run_, "--json"} + more));
  }
};

TEST_F(MatchTest, continuations_match_and_report_whether_they_are_proved_optimal) {
  fit("ngram:4");
  const nlohmann::json answers =
      found({"--prime", "call ", "--match", "[0-9]+\\n", "--prove", "--count", "3", "--length", "6"})["completions"];
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[0]["text"], "42\n");
  for (const auto& each : answers) EXPECT_EQ(each["answer"], "proved best");
  const std::string table = output_of({"complete", run_, "--match", "[ad].*\\n", "--beam", "2", "--count", "2"});
  EXPECT_THAT(table, StartsWith("bits\tsymbols\tscore\tanswer\ttext\n"));
  EXPECT_THAT(table, HasSubstr("a dog ran\\n\n"));
  const nlohmann::json few = found({"--length", "12", "--beam", "1", "--prove", "--expansions", "2"})["completions"];
  EXPECT_EQ(few[0]["answer"], "best found");
  EXPECT_EQ(few[0]["symbols"].size(), 12U);
  EXPECT_EQ(found({"--diverse", "3", "--diversity", "9", "--length", "4", "--count", "3", "--beam", "3"})["completions"]
                .size(),
            3U);
}

TEST_F(MatchTest, only_listed_words_are_generated) {
  fit("ngram:4");
  const std::string words = data("words", "dog\ncat\nran\nsat\nzebra\n");
  const Finished said = unfold_command({"complete", run_, "--prime", "the c", "--words", words, "--length", "8",
                                        "--least", "6", "--count", "1", "--normalization", "0", "--json", "--quiet"});
  EXPECT_EQ(said.code, 0);
  EXPECT_THAT(said.err, HasSubstr("1 of 5 words contain symbols that are not in the alphabet of the model"));
  EXPECT_THAT(only_object(said.out)["completions"][0]["text"].get<std::string>(), StartsWith("at sat"));
  expect_failure({"complete", run_, "--prime", "the m", "--words", words}, 2, "no word of the list begins");
}

TEST_F(MatchTest, match_probabilities_are_exact_or_sampled) {
  fit("ngram:3");
  const nlohmann::json whole = found({"--match", ".*\\n", "--length", "200", "--probability"});
  EXPECT_NEAR(whole["probability"].get<double>(), 1, 1e-3);
  const nlohmann::json next = found({"--prime", "call ", "--match", "4", "--probability"});
  const nlohmann::json symbol = found({"--prime", "call ", "--match", "4", "--count", "1"});
  EXPECT_TRUE(next["exact"]);
  EXPECT_NEAR(next["probability"].get<double>(), symbol["completions"][0]["probability"].get<double>(), 1e-7);
  EXPECT_THAT(output_of({"complete", run_, "--match", "a", "--probability"}),
              StartsWith("probability\tlow\thigh\tstandard_error\tanswer\n"));
  fit("hmm:3,iterations=5", {"--overwrite"});
  EXPECT_TRUE(found({"--match", ".*cat", "--length", "60", "--probability"})["exact"]);
  EXPECT_EQ(found({"--match", "c.*\\n", "--prove", "--normalization", "0", "--length", "9", "--count",
                   "1"})["completions"][0]["answer"],
            "proved best");
  fit("lstm:4", {"--overwrite", "--steps", "3"});
  const nlohmann::json drawn =
      found({"--match", ".*cat", "--length", "20", "--probability", "--expansions", "5", "--samples", "50"});
  EXPECT_FALSE(drawn["exact"]);
  EXPECT_EQ(drawn["samples"], 50);
  EXPECT_GT(drawn["standard_error"], 0);
  EXPECT_LE(drawn["low"], drawn["probability"]);
  EXPECT_GE(drawn["high"], drawn["probability"]);
}

TEST_F(MatchTest, match_errors_name_the_position_and_a_remedy) {
  fit("ngram:2");
  expect_failure({"complete", run_, "--match", "a(d"}, 2, "expression \"a(d\", position 2: unmatched (");
  expect_failure({"complete", run_, "--match", "Q"}, 2,
                 "position 1: the character \"Q\" is not in the alphabet of the model");
  expect_failure({"complete", run_, "--match", "a{50}"}, 2,
                 "no sequence of 1 to 32 symbols is allowed: the shortest allowed one has 50");
  expect_failure({"complete", run_, "--match", "a", "--stop", "a"}, 2,
                 "--stop applies only to searches among all continuations");
  expect_failure({"complete", run_, "--probability"}, 2, "--probability requires --match or --words");
  expect_failure({"complete", run_, "--samples", "5"}, 2, "--samples applies only to density models");
}

TEST_F(MatchTest, labels_and_targets_satisfy_a_constraint) {
  const std::string chunks = data("chunks", chunk_columns(40));
  train_on(chunks, {"--format", "columns", "--predict", "3=crf", "--model", "bigru:4"});
  const std::string table = output_of({"predict", run_, chunks, "--constraint", "(B-NP I-NP*|O)+", "--best", "2"});
  EXPECT_THAT(first_line(table), HasSubstr("3.best\t3.probability\t3.allowed\t3.best.1\t3.sequence.1\t3.best.2"));
  EXPECT_THAT(table, Not(HasSubstr("\tB-VP\t0.")));
  EXPECT_EQ(unfold_command({"predict", run_, chunks, "--constraint", "iob", "--quiet"}).code, 0);
  expect_failure({"predict", run_, chunks, "--constraint", "O O Q", "--quiet"}, 2, "position 5: the name \"Q\"");
  expect_failure({"predict", run_, chunks, "--constraint", "O O", "--quiet"}, 3, "allows no labeling of that length");
  train_on(chunks, {"--format", "columns", "--read", "1", "--predict", "2,3", "--model", "bigru:4", "--overwrite"});
  expect_failure({"predict", run_, chunks, "--constraint", "O+", "--quiet"}, 2, "with one of the fields 2, 3");
  EXPECT_EQ(unfold_command({"predict", run_, chunks, "--constraint", "3=.+", "--quiet"}).code, 0);
  const std::string films = data("films", labeled_lines(40));
  train_on(films, {"--format", "labelled", "--model", "bigru:4", "--overwrite"});
  expect_failure({"predict", run_, films, "--constraint", "pos", "--quiet"}, 2, "labels at every position");
}

}  // namespace
}  // namespace unfold::test
