/// Work other than training steps that several processes share: reading a corpus, restarts, compressing blocks, scoring
/// files. The results equal those of one process.

#include <filesystem>
#include <random>

#include "tests/cli/mpirun.h"

namespace unfold::test {
namespace {

/// Returns lines of words whose letters have one to three bytes.
std::string words_of(std::size_t bytes, unsigned seed) {
  static const std::vector<std::string> kLetters = {"a", "e", "n", "é", "ж", "語"};
  std::mt19937 random(seed);
  std::string text;
  while (text.size() < bytes) {
    for (unsigned i = 0, letters = 1 + random() % 3; i < letters; ++i) text += kLetters[random() % kLetters.size()];
    text += random() % 9 == 0 ? "\n" : " ";
  }
  return text;
}

/// A corpus of two files: one of several blocks, one of less than a block.
TEST_F(ProcessesTest, distributed_corpus_model_equals_one_process) {
  const std::string large = folder_ / "large.txt", small = folder_ / "small.txt", valid = folder_ / "valid.txt";
  write_bytes(large, words_of(400000, 1));
  write_bytes(small, words_of(3000, 2) + "no end of line");
  write_bytes(valid, words_of(9000, 3));
  const Arguments text = {"train", large,      small,    "--window",         "9",  "--batch",
                          "12",    "--model",  "lstm:6", "--steps",          "40", "--seed",
                          "3",     "--shards", "6",      "--validate-every", "20"};
  const std::vector<std::pair<std::string, Arguments>> kinds = {
      {"bytes", {"--symbols", "bytes", "--split", "99/1"}},
      {"characters", {"--symbols", "chars", "--split", "99/0.5/0.5"}},
      {"words", {"--symbols", "words", "--vocabulary", "50", "--valid", valid}},
      {"one-file", {"--symbols", "words", "--split", "99/1"}},
      {"after", {"--symbols", "chars", "--split", "99/1", "--predict-after", "a"}},
      {"lines", {"--symbols", "chars", "--split", "99/1", "--lines"}}};
  for (const auto& [name, more] : kinds) {
    Arguments all = text + more;
    if (name == "one-file") std::erase(all, small);
    const std::string expected = model_of(1, name, all);
    EXPECT_FALSE(expected.empty());
    for (const int count : {2, 3}) EXPECT_EQ(model_of(count, name, all), expected) << name << " in " << count;
  }
  const Arguments ngrams = {"train", large, small, "--symbols", "words", "--vocabulary", "60", "--model", "ngram:3"};
  EXPECT_EQ(model_of(3, "ngrams", ngrams), model_of(1, "ngrams", ngrams));
  const Arguments gated = text + Arguments{"--model", "glnn:6,edges=3", "--optimizer", "ruop", "--steps", "3"};
  EXPECT_EQ(model_of(2, "gated", gated), model_of(1, "gated", gated));
}

TEST_F(ProcessesTest, distributed_corpus_results_equal_one_process) {
  write_bytes(text_, words_of(150000, 1));
  const auto figures = [&](int count) {
    const Finished finished =
        mpirun(count, {"train", text_, "--symbols", "words", "--split", "90/10", "--model", "rnn:4", "--batch", "4",
                       "--steps", "5", "--shards", "2", "--out", run_, "--overwrite", "--json"});
    EXPECT_EQ(finished.code, 0) << finished.err;
    return only_object(finished.out)["valid"];
  };
  EXPECT_EQ(figures(2), figures(1));
}

/// A process holds only the blocks that its lanes and those of validation are reading, not the whole text.
TEST_F(ProcessesTest, processes_hold_little_of_a_large_corpus) {
  constexpr std::size_t kBytes = 64 << 20;
  write_bytes(text_, words_of(kBytes, 1));
  const auto peak = [&](int count) {
    const Finished finished =
        mpirun(count, {"train",     text_,     "--symbols", "chars",    "--split",     "99.9/0.1", "--model",
                       "rnn:4",     "--batch", "12",        "--shards", "6",           "--steps",  "5",
                       "--threads", "1",       "--out",     run_,       "--overwrite", "--quiet"});
    EXPECT_EQ(finished.code, 0) << finished.err;
    return finished.peak_kilobytes;
  };
  const long one = peak(1), three = peak(3);
  EXPECT_GT(one, static_cast<long>(kBytes >> 10));
  EXPECT_LT(three, static_cast<long>(kBytes >> 10));
}

TEST_F(ProcessesTest, corpus_errors_are_reported_once) {
  write_bytes(text_, words_of(200000, 1) + "\xFF" + words_of(200000, 2));
  const Arguments options = {"train", text_, "--symbols", "chars", "--model", "rnn:4", "--shards", "6", "--out", run_};
  const Finished one = mpirun(1, options), three = mpirun(3, options);
  EXPECT_EQ(one.code, 3);
  EXPECT_EQ(three.code, 3);
  EXPECT_THAT(three.err, HasSubstr(one.err));
  EXPECT_EQ(three.err.find("unfold: "), three.err.rfind("unfold: ")) << three.err;
}

TEST_F(ProcessesTest, restarts_are_shared_and_finished_ones_are_kept) {
  const Arguments options = {
      "train", text_,     "--model", "glnn:6,edges=3", "--window", "10",      "--batch", "12",         "--shards",
      "6",     "--steps", "800",     "--seed",         "5",        "--split", "90/10",   "--restarts", "4"};
  const std::string expected = model_of(1, "restarts", options);
  EXPECT_FALSE(expected.empty());
  for (const int count : {2, 3}) EXPECT_EQ(model_of(count, "restarts", options), expected);

  Process process(options + Arguments{"--out", run_}, started_in(2));
  kill_one(process, 2, [&] { return std::filesystem::exists(run_ + "/candidate-0.json"); });
  if (process.finish(60).code != 0) {
    const Finished resumed = mpirun(3, {"train", "--out", run_, "--resume"});
    EXPECT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_THAT(resumed.err, Not(HasSubstr("1/4  restart 1")));  // it was already finished
  }
  EXPECT_EQ(short_of(read_bytes(run_ + "/model.safetensors")), expected);
  EXPECT_EQ(read_bytes(run_ + "/candidate-0.json"), "");
}

TEST_F(ProcessesTest, distributed_compression_has_the_bytes_of_one_process) {
  write_bytes(text_, words_of(150000, 4));
  const std::string packed = folder_ / "packed", expected_file = folder_ / "expected", restored = folder_ / "restored";
  for (const Arguments& model : {Arguments{"--model", "ctw:8"}, Arguments{"--model", "ngram:3"}, Arguments{"-4"}}) {
    const Arguments options = Arguments{"compress", text_, "--block", "20000"} + model;
    ASSERT_EQ(unfold_command(options + Arguments{"-o", expected_file}).code, 0);
    for (const int count : {2, 3}) {
      const Finished finished = mpirun(count, options + Arguments{"-o", packed, "--json"});
      ASSERT_EQ(finished.code, 0) << finished.err;
      EXPECT_EQ(short_of(read_bytes(packed)), short_of(read_bytes(expected_file))) << model.back() << " in " << count;
      EXPECT_EQ(only_object(finished.out)["bytes_in"], read_bytes(text_).size());
      EXPECT_FALSE(std::filesystem::exists(packed + ".pieces"));
    }
  }
  ASSERT_EQ(unfold_command({"decompress", packed, "-o", restored}).code, 0);
  EXPECT_EQ(read_bytes(restored), read_bytes(text_));

  // Blocks that were finished when a process was killed are not compressed again.
  const Arguments slow = {"compress", text_, "--block", "10000", "--model", "rnn:16", "--threads", "1", "-o"};
  ASSERT_EQ(unfold_command(slow + Arguments{expected_file}).code, 0);
  const auto pieces = [&] {
    std::error_code none;
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(packed + ".pieces", none))
      count += entry.path().string().find('.', packed.size() + 7) == std::string::npos;
    return count;
  };
  Process process(slow + Arguments{packed}, started_in(2));
  const bool killed = kill_one(process, 2, [&] { return pieces() >= 2; });
  const Finished cut = process.finish(60);
  ASSERT_TRUE(killed);
  EXPECT_THAT(cut.err, HasSubstr("exited on signal 9"));
  EXPECT_GE(pieces(), 2);
  ASSERT_EQ(mpirun(2, slow + Arguments{packed}).code, 0);
  EXPECT_EQ(short_of(read_bytes(packed)), short_of(read_bytes(expected_file)));

  const auto refused = [&](const Arguments& arguments, const std::string& message) {
    const Finished finished = mpirun(2, arguments);
    EXPECT_EQ(finished.code, 2);
    EXPECT_THAT(finished.err, HasSubstr(message));
  };
  refused({"compress", text_, "-o", packed}, "several processes cannot share a single chain; add --block");
  refused({"compress", text_, "--block", "1M", "-o", "-"}, "several processes need an input file and an output file");
}

/// Returns the arguments of `score MODEL FILE...` for five files in a folder.
Arguments scoring_of_five(const TemporaryFolder& folder, const std::string& run) {
  Arguments options = {"score", run, "--by", "file"};
  for (int i = 0; i < 5; ++i) {
    options.push_back(folder / ("part" + std::to_string(i)));
    write_bytes(options.back(), small_text(6000).substr(static_cast<std::size_t>(700 * i), 900));
  }
  return options;
}

TEST_F(CommandTest, scores_of_several_files_are_one_table) {
  write_bytes(text_, small_text(6000));
  train();
  const Arguments options = scoring_of_five(folder_, run_);
  const Finished one = unfold_command(options);
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_THAT(one.out, StartsWith("file\tsymbols\tbits\tbits_per_symbol\tbits_per_byte\n" + options[4] + "\t900\t"));
  EXPECT_THAT(one.out, HasSubstr("\nall\t4500\t"));
  const Finished measured = unfold_command({"eval", run_, options[5], "--json"});
  const auto second = only_object(unfold_command(options + Arguments{"--json"}).out)["scores"][1];
  EXPECT_EQ(second["bits_per_symbol"], only_object(measured.out)["bits_per_symbol"]);

  const Arguments kept = options + Arguments{"--out", folder_ / "scores"};
  EXPECT_EQ(unfold_command(kept + Arguments{"--jobs", "2"}).out, one.out);
  // A file that has changed since is scored again; the others are not.
  write_bytes(options[5], small_text(6000).substr(0, 700));
  std::string first = read_bytes(folder_ / "scores/file-1.json");
  first.replace(first.find("\"symbols\": 900"), 14, "\"symbols\": 901");
  write_bytes(folder_ / "scores/file-1.json", first);
  const Finished again = unfold_command(kept);
  EXPECT_THAT(again.out, HasSubstr(options[4] + "\t901\t"));
  EXPECT_THAT(again.out, HasSubstr(options[5] + "\t700\t"));

  expect_failure(options + Arguments{"--jobs", "2"}, 2, "name it with --out DIR");
  expect_failure(options + Arguments{options[4]}, 2, "is given twice");
  expect_failure(options + Arguments{"--top", "3"}, 2, "--top cannot be combined with --by file");
  expect_failure({"score", run_, options[4], options[5]}, 2, "several files require --by file");
}

TEST_F(ProcessesTest, distributed_scoring_equals_one_process) {
  train();
  const Arguments options = scoring_of_five(folder_, run_);
  const Finished one = unfold_command(options);
  for (const int count : {2, 3}) {
    const Finished finished = mpirun(count, options + Arguments{"--out", folder_ / ("in" + std::to_string(count))});
    EXPECT_EQ(finished.code, 0) << finished.err;
    EXPECT_EQ(finished.out, one.out) << count;
  }
  const Finished refused = mpirun(2, options);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("name it with --out DIR"));
}

TEST_F(ProcessesTest, single_process_commands_reject_several_processes_once) {
  train();
  for (const Arguments& arguments :
       {Arguments{"sample", run_}, Arguments{"score", run_, text_}, Arguments{"bench", "--model", "rnn:3"},
        Arguments{"train", text_, "--no-such-option"}, Arguments{"generate", "adding", "-o", folder_ / "made"}}) {
    const Finished finished = mpirun(2, arguments);
    EXPECT_EQ(finished.code, 2) << arguments.front() << finished.err;
    EXPECT_EQ(finished.out, "") << arguments.front();
    EXPECT_EQ(finished.err.find("unfold: "), finished.err.rfind("unfold: ")) << finished.err;
    if (arguments.back() != "--no-such-option") {
      EXPECT_THAT(finished.err, HasSubstr("processes were started, but "));
    }
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "made"));
}

}  // namespace
}  // namespace unfold::test
