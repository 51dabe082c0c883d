// Features for everyday use.
#include "tests/cli/fields.h"
#include "unfold/base/options/options.h"

namespace unfold::test {
namespace {

TEST_F(CommandTest, part_refers_to_the_recorded_split) {
  train({"--split", "80/10/10"});
  const nlohmann::json said = only_object(unfold_command({"eval", run_, text_, "--part", "test", "--json"}).out);
  EXPECT_EQ(said,
            only_object(unfold_command({"eval", run_, text_, "--split", "80/10/10", "--part", "test", "--json"}).out));
  train({"--valid", text_, "--overwrite"});
  expect_failure({"eval", run_, text_, "--part", "test"}, 2, "--part needs --split");
}

TEST_F(CommandTest, quiet_training_prints_no_next_steps) {
  EXPECT_THAT(unfold_command(training({"--quiet"})).out, Not(HasSubstr("Next:")));
  EXPECT_THAT(unfold_command(training({"--overwrite"})).out, HasSubstr("Next:"));
}

TEST_F(CommandTest, prime_can_be_read_from_a_file) {
  train();
  const std::string prime = folder_ / "prime";
  write_bytes(prime, "the cat");
  for (const char* verb : {"sample", "complete"}) {
    EXPECT_EQ(unfold_command({verb, run_, "--length", "9", "--prime-file", prime}).out,
              unfold_command({verb, run_, "--length", "9", "--prime", "the cat"}).out);
    expect_failure({verb, run_, "--prime", "a", "--prime-file", prime}, 2,
                   "--prime and --prime-file cannot be combined");
    expect_failure({verb, run_, "--prime", "\u00e9"}, 3, "is not in the alphabet");
    EXPECT_THAT(unfold_command({verb, run_, "--prime", "\u00e9"}).err, Not(HasSubstr("--unknown")));
  }
}

/// 200 different names, one per line.
std::string list_of_names() {
  const std::vector<std::string> syllables = {"ka", "lo", "mi", "ru", "ten", "sa"};
  std::string text;
  for (std::size_t i = 0; i < 200; ++i) text += syllables[i % 6] + syllables[i / 6 % 6] + syllables[i / 36 % 6] + "\n";
  return text;
}

TEST_F(CommandTest, lists_of_names_are_lines_for_inspect_and_complete) {
  const std::string list = folder_ / "names.txt";
  write_bytes(list, list_of_names());
  const Finished inspected = unfold_command({"inspect", list});
  EXPECT_THAT(inspected.out, HasSubstr("200 lines, each a separate sequence"));
  EXPECT_EQ(only_object(unfold_command({"inspect", list, "--json"}).out)["separate_lines"], true);
  EXPECT_EQ(only_object(unfold_command({"inspect", text_, "--json"}).out)["separate_lines"], false);
  ASSERT_EQ(unfold_command({"train", list, "--model", "ngram:3", "--out", run_, "--quiet"}).code, 0);
  const nlohmann::json found =
      only_object(unfold_command({"complete", run_, "--prime", "ka", "--length", "30", "--json"}).out)["completions"];
  ASSERT_FALSE(found.empty());
  for (const nlohmann::json& each : found) {
    const std::string text = each["text"].get<std::string>();
    EXPECT_GE(text.find('\n'), text.size() - 1) << text;  // at most at the end
    EXPECT_EQ(each["stopped"], text.ends_with('\n')) << text;
  }
}

TEST_F(CommandTest, files_of_different_kinds_are_reported) {
  const std::string list = folder_ / "names.txt", other = folder_ / "other.log", same = folder_ / "same.txt";
  write_bytes(list, list_of_names());
  write_bytes(same, list_of_names());
  write_bytes(other, "2026-03-01 00:00:01 started\n2026-03-01 00:00:02 stopped\n");
  const Arguments model = {"--model", "ngram:2", "--out", run_, "--overwrite"};
  EXPECT_THAT(unfold_command(Arguments{"train", list, other} + model).err, HasSubstr("other.log (log); all are read"));
  EXPECT_THAT(unfold_command(Arguments{"train", list, same} + model).err, Not(HasSubstr("differ in kind")));
}

TEST_F(FieldsTest, predictions_as_json_are_one_object) {
  const std::string data = folder_ / "labeled.tsv";
  write_bytes(data, labeled_lines(30));
  ASSERT_EQ(unfold_command(
                {"train", data, "--format", "labelled", "--model", "lstm:4", "--steps", "3", "--out", run_, "--quiet"})
                .code,
            0);
  const std::string lines = unfold_command({"predict", run_, data, "--format", "jsonl"}).out;
  const nlohmann::json all = only_object(unfold_command({"predict", run_, data, "--json"}).out)["predictions"];
  std::string joined;
  for (const nlohmann::json& each : all) joined += each.dump() + "\n";
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), std::count(joined.begin(), joined.end(), '\n'));
  EXPECT_EQ(nlohmann::json::parse(lines.substr(0, lines.find('\n'))), all[0]);
}

TEST_F(CommandTest, block_sizes_have_units_and_plain_files_are_not_archives) {
  const std::string packed = folder_ / "packed", plain = folder_ / "plain";
  ASSERT_EQ(unfold_command({"compress", text_, "-o", packed, "--block", "1M", "--model", "cm:1"}).code, 0);
  ASSERT_EQ(unfold_command({"decompress", packed, "-o", plain}).code, 0);
  EXPECT_EQ(read_bytes(plain), read_bytes(text_));
  expect_failure({"compress", text_, "-o", packed, "--block", "1X"}, 2, "--block");
  expect_failure({"decompress", text_, "-o", plain}, 6, "not written by unfold compress");
  EXPECT_THAT(unfold_command({"compress", text_, "-o", packed, "--model", "ngram:5"}).err,
              HasSubstr("store the model ngram:5 itself"));
}

TEST_F(CommandTest, runs_without_validation_are_drawn_by_their_training_loss) {
  const std::string picture = folder_ / "runs.svg";
  train({"--split", "100/0/0", "--log-every", "5"});
  ASSERT_EQ(unfold_command({"info", run_, "--plot", picture}).code, 0);
  EXPECT_THAT(read_bytes(picture), HasSubstr("Training"));
  train({"--overwrite"});
  ASSERT_EQ(unfold_command({"info", run_, "--plot", picture, "--over", "steps"}).code, 0);
  EXPECT_THAT(read_bytes(picture), HasSubstr("Validation"));
  EXPECT_THAT(read_bytes(picture), HasSubstr(">step, logarithmic<"));
}

TEST_F(CommandTest, option_names_of_other_programs_are_suggested) {
  const Arguments start{"train", text_, "--overwrite", "--quiet", "--steps", "2", "--window", "8", "--output", run_};
  ASSERT_EQ(
      unfold_command(start + Arguments{"--batch_size=3", "--model", "lstm:hidden=4", "--optimiser", "adam:lr=0.01"})
          .code,
      0);
  const std::string config = read_bytes(run_ + "/config.toml");
  EXPECT_THAT(config, HasSubstr("batch = 3\n"));
  EXPECT_THAT(config, HasSubstr("model = \"lstm:4\"\n"));
  EXPECT_THAT(config, HasSubstr("\"adam:rate=0.01,"));
  const std::string file = folder_ / "options.toml";
  write_bytes(file, "batch_size = 2\n");
  ASSERT_EQ(unfold_command(start + Arguments{"--config", file, "--model", "lstm:4"}).code, 0);
  EXPECT_THAT(read_bytes(run_ + "/config.toml"), HasSubstr("batch = 2\n"));
  expect_failure({"train", text_, "--lr", "0.1"}, 2, "it is part of a SPEC: --optimizer adam:rate=");
  expect_failure({"train", text_, "--num-layers", "2"}, 2, "it is part of a SPEC: --model lstm:128,layers=");
  expect_failure({"train", text_, "--hidden", "20"}, 2, "it is part of a SPEC: --model lstm:128");
}

TEST_F(CommandTest, path_names_the_units_that_it_needs) {
  const Arguments start{"train", text_, "--steps", "2", "--out", run_, "--optimizer", "path", "--model"};
  expect_failure(
      start + Arguments{"lstm:5"}, 2,
      "--optimizer path needs ReLU units; lstm uses tanh, sigmoid; try --model rnn:5,activation=relu,init=identity");
  expect_failure(
      {"train", "--task", "adding:20", "--steps", "2", "--out", run_, "--optimizer", "path+adam", "--model", "rnn:5"},
      2, "--optimizer path+adam needs ReLU units; rnn uses tanh");
  EXPECT_EQ(read_bytes(run_ + "/config.toml"), "");  // nothing was begun
}

TEST_F(CommandTest, PathNamesUnsupportedData) {
  const std::string trees = folder_ / "trees", grids = folder_ / "grids", pairs = folder_ / "pairs",
                    lines = folder_ / "lines";
  write_bytes(trees, tree_lines(20));
  write_bytes(grids, grid_blocks(20));
  write_bytes(lines, labeled_lines(40));
  std::string words;
  for (int i = 0; i < 20; ++i) words += i % 2 == 0 ? "ab\tba\n" : "aab\tbaa\n";
  write_bytes(pairs, words);
  const auto refused = [&](const std::string& file, const Arguments& more, const std::string& why) {
    const Arguments start{"train", file, "--steps", "2", "--out", run_, "--optimizer", "path+adam"};
    expect_failure(start + more, 2, why);
  };
  refused(trees, {"--format", "trees", "--model", "tree-lstm:5"},
          "tree-lstm uses tanh, sigmoid; try --model recursive:5,activation=relu, or");
  refused(grids, {"--format", "grids", "--model", "grid-lstm:5"},
          "grid-lstm uses tanh, sigmoid; try --model grid-rnn:5,activation=relu, or");
  refused(pairs, {"--format", "pairs", "--model", "rnn:5,activation=relu"},
          "rnn uses tanh; try --model rnn:5,activation=relu,init=identity,summary=relu, or");
  refused(lines, {"--format", "labelled", "--model", "lstm:5"},
          "lstm uses tanh, sigmoid; try --model rnn:5,activation=relu,init=identity, or");
  const auto works = [&](const std::string& file, const std::string& format, const std::string& model) {
    const Finished done = unfold_command({"train", file, "--steps", "2", "--out", run_, "--overwrite", "--optimizer",
                                          "path+adam", "--format", format, "--model", model});
    EXPECT_EQ(done.code, 0) << model << done.err;
  };
  works(trees, "trees", "recursive:5,activation=relu");
  works(grids, "grids", "grid-rnn:5,activation=relu");
  works(pairs, "pairs", "rnn:5,activation=relu,init=identity,summary=relu");
  for (const char* pool : {"last", "mean", "max"})
    works(lines, "labelled", "rnn:5,activation=relu,init=identity,pool=" + std::string(pool));
}

class FastaTest : public CommandTest {
 protected:
  FastaTest() : genome_(folder_ / "genome.txt"), reads_(folder_ / "reads.fastq") {
    std::string letters;
    for (int i = 0; i < 60; ++i) letters += i % 7 == 0 ? "GATTACA\n" : "ACGTACGTTT\n";
    write_bytes(genome_, ">chromosome 1\n" + letters);
    std::string reads;
    for (int i = 0; i < 20; ++i)
      reads +=
          "@r" + std::to_string(i) + (i == 7 ? "\nTTTTTTTGGGG\n+\nIIIIIIIIIII\n" : "\nACGTACGTTTA\n+\nIIIIIIIIIII\n");
    write_bytes(reads_, reads);
  }
  Finished train_on(const std::string& data, const Arguments& more = {}) const {
    return unfold_command(Arguments{"train", data, "--out", run_, "--overwrite", "--model", "ngram:4"} + more);
  }
  nlohmann::json card() const { return only_object(unfold_command({"info", run_, "--json"}).out)["card"]; }

  std::string genome_, reads_;
};

TEST_F(FastaTest, a_genome_is_read_as_its_letters_with_a_note) {
  const Finished trained = train_on(genome_);
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(trained.err, HasSubstr("is read as fasta (FASTA headers followed by letters); --format text"));
  EXPECT_THAT(trained.err, HasSubstr("1 record, 573 letters"));
  EXPECT_EQ(card()["data"]["fields"][0]["alphabet"]["symbols"], "ACGT");
  // A file of several records is read by the same model, each from its beginning.
  const nlohmann::json eval = only_object(unfold_command({"eval", run_, reads_, "--json"}).out);
  EXPECT_EQ(eval["symbols"], 20 * 11);
  EXPECT_EQ(eval["bytes"], 20 * 11);
  ASSERT_EQ(train_on(genome_, {"--format", "text"}).code, 0);
  EXPECT_NE(card()["data"]["fields"][0]["alphabet"]["symbols"], "ACGT");
}

TEST_F(FastaTest, fastq_reads_are_separate_lines_scored_by_name) {
  const Finished trained = train_on(reads_, {"--split", "80/20"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(trained.err, HasSubstr("20 records, 220 letters, qualities ignored"));
  const Finished scored = unfold_command({"score", run_, reads_, "--by", "line", "--top", "1", "--text"});
  EXPECT_THAT(scored.out, HasSubstr("\n8\t12\t"));
  EXPECT_THAT(scored.out, HasSubstr("\tr7\n"));
  ASSERT_EQ(
      unfold_command({"train", reads_, "--out", run_, "--overwrite", "--model", "lstm:4", "--steps", "3", "--quiet"})
          .code,
      0);
  EXPECT_EQ(unfold_command({"train", "--out", run_, "--resume", "--steps", "5", "--quiet"}).code, 0);
}

TEST_F(FastaTest, unknown_letter_error_names_the_line_of_the_file) {
  const std::string masked = folder_ / "masked.fa";
  write_bytes(masked, ">one\r\nACGT\r\nACGT\r\n>two\r\nACgt\r\n");
  for (const auto& [trained, by] : {std::pair(genome_, "symbol"), {reads_, "line"}}) {
    ASSERT_EQ(train_on(trained).code, 0);
    expect_failure({"score", run_, masked, "--by", by}, 3,
                   masked + ": line 5: \"g\" in the record \"two\" is not in the alphabet of ");
    expect_failure({"score", run_, masked, "--by", by}, 3, "convert lower-case letters to upper case");
  }
  EXPECT_EQ(unfold_command({"score", run_, masked, "--unknown", "skip"}).code, 0);
}

TEST_F(FastaTest, damaged_record_error_names_the_line) {
  write_bytes(genome_, ">a\nACGT\nAC7T\n");
  expect_failure({"train", genome_, "--out", run_, "--model", "ngram:4", "--format", "fasta", "--quiet"}, 3,
                 "genome.txt: line 3: \"7\" is not a code of a base");
  expect_failure({"train", reads_, "--out", run_, "--quiet", "--symbols", "words"}, 2, "--format fasta reads letters");
}

}  // namespace
}  // namespace unfold::test
