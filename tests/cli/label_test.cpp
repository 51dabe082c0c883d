// Labeled lines, completions, states and ARPA files on the command line.
#include "tests/cli/fixture.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace unfold::test {
namespace {

class LabelTest : public CommandTest {
 protected:
  LabelTest() : log_(folder_ / "log.txt") {
    std::string log;
    for (int i = 0; i < 60; ++i) log += i % 10 == 7 ? "BAD zzz qqq\n" : "- the cat sat\n";
    write_bytes(log_, log);
  }
  Arguments train_on_normal(const std::string& model) const {
    return {"train",          log_,           "--out", run_,      "--model", model,
            "--label-column", "--only-label", "-",     "--split", "100/0/0", "--quiet"};
  }
  std::string log_;
};

TEST_F(LabelTest, label_column_is_used_only_for_evaluation) {
  ASSERT_EQ(unfold_command(train_on_normal("ngram:3")).code, 0);
  // The anomalous lines contain characters that the model does not know; unknown characters are skipped.
  const nlohmann::json shown = only_object(unfold_command({"info", run_, "--json"}).out);
  EXPECT_EQ(shown["card"]["data"]["fields"][0]["alphabet"]["symbols"], "\n acehst");
  ASSERT_EQ(unfold_command({"train", log_, "--out", run_, "--overwrite", "--model", "ngram:3", "--label-column",
                            "--split", "100/0/0", "--quiet"})
                .code,
            0);
  const std::string curve = folder_ / "roc.tsv";
  const nlohmann::json scored =
      only_object(unfold_command({"score", run_, log_, "--by", "line", "--json", "--roc", curve}).out);
  EXPECT_EQ(scored["scores"].size(), 60u);
  EXPECT_EQ(scored["scores"][7]["label"], "BAD");
  EXPECT_EQ(scored["roc"]["anomalous"], 6);
  EXPECT_GT(scored["roc"]["auc_bits_per_symbol"], 0.95);
  EXPECT_THAT(read_bytes(curve), StartsWith("bits_per_symbol\tfalse_positive_rate\ttrue_positive_rate\n"));
  const Finished summary = unfold_command({"score", run_, log_, "--by", "line", "--summary"});
  EXPECT_THAT(summary.out, HasSubstr("anomalous\t6\n"));
}

TEST_F(LabelTest, PartsDivideTheLinesThatTrainingReads) {
  for (const Arguments& only : {Arguments{}, Arguments{"--only-label", "-"}}) {
    const Arguments options = {"train",    log_,          "--out",   run_,    "--model",        "rnn:4",
                               "--steps",  "5",           "--batch", "4",     "--label-column", "--split",
                               "60/20/20", "--overwrite", "--quiet", "--json"};
    const nlohmann::json trained = only_object(unfold_command(options + only).out);
    const Finished measured = unfold_command({"eval", run_, log_, "--part", "valid", "--json"});
    ASSERT_EQ(measured.code, 0) << measured.err;
    EXPECT_EQ(only_object(measured.out)["symbols"], trained["valid"]["symbols"]);
    EXPECT_NEAR(only_object(measured.out)["nats_per_symbol"].get<double>(),
                trained["valid"]["nats_per_symbol"].get<double>(), 1e-5);
    const Finished compared = unfold_command({"compare", run_, run_, "--block", "4"});
    EXPECT_EQ(compared.code, 0) << compared.err;
  }
}

TEST_F(LabelTest, labels_may_come_from_a_file) {
  ASSERT_EQ(unfold_command(training({"--model", "ngram:2", "--overwrite"})).code, 2);  // gradient options
  ASSERT_EQ(unfold_command({"train", text_, "--out", run_, "--model", "ngram:2", "--quiet"}).code, 0);
  const std::string text = folder_ / "lines.txt", labels = folder_ / "labels.txt";
  write_bytes(text, "the cat\ntttttt\n");
  write_bytes(labels, "ok\nbad\n");
  const nlohmann::json scored = only_object(
      unfold_command({"score", run_, text, "--by", "line", "--labels", labels, "--normal", "ok", "--json"}).out);
  EXPECT_EQ(scored["roc"]["auc_bits"], 1.0);
  const Finished unnamed = unfold_command({"score", run_, text, "--by", "line", "--labels", labels});
  EXPECT_EQ(unnamed.code, 0);
  EXPECT_THAT(unnamed.err, HasSubstr(labels + ": none of the lines has the label \"-\""));
  expect_failure({"score", run_, text, "--by", "line", "--labels", labels, "--summary"}, 3,
                 "with --normal LABEL; the labels are \"bad\", \"ok\"");
  write_bytes(labels, "ok\nok\n");
  expect_failure({"score", run_, text, "--by", "line", "--labels", labels, "--normal", "ok", "--summary"}, 3,
                 labels + ": all lines have the label \"ok\"");
  write_bytes(labels, "ok\n");
  expect_failure({"score", run_, text, "--by", "line", "--labels", labels, "--summary"}, 3,
                 "more lines than labels (1)");
  expect_failure({"score", run_, text, "--by", "line", "--summary"}, 2, "--labels");
  expect_failure({"score", run_, text, "--labels", labels}, 2, "--by line");
  expect_failure({"score", run_, text, "--by", "state"}, 2, "hmm");
}

TEST_F(LabelTest, states_of_an_hmm_are_shown) {
  ASSERT_EQ(unfold_command({"train", text_, "--out", run_, "--model", "hmm:2,iterations=5", "--quiet"}).code, 0);
  const std::string text = folder_ / "line.txt";
  write_bytes(text, "the cat\n");
  const nlohmann::json scored = only_object(unfold_command({"score", run_, text, "--by", "state", "--json"}).out);
  EXPECT_EQ(scored["scores"].size(), 8u);
  EXPECT_GT(scored["scores"][0]["posterior"], 0);
}

TEST_F(LabelTest, completions_come_with_their_probabilities) {
  ASSERT_EQ(unfold_command({"train", text_, "--out", run_, "--model", "ngram:4", "--quiet"}).code, 0);
  const nlohmann::json found = only_object(
      unfold_command({"complete", run_, "--prime", "the c", "--length", "5", "--count", "3", "--json"}).out);
  ASSERT_EQ(found["completions"].size(), 3u);
  EXPECT_THAT(found["completions"][0]["text"].get<std::string>(), StartsWith("at"));
  double bits = 0;
  for (const auto& symbol : found["completions"][0]["symbols"]) bits += symbol["bits"].get<double>();
  EXPECT_NEAR(bits, found["completions"][0]["bits"].get<double>(), 1e-6);
  EXPECT_THAT(unfold_command({"complete", run_, "--length", "3"}).out, StartsWith("bits\tsymbols\tscore\ttext\n"));
  expect_failure({"complete", run_, "--beam", "0"}, 2, "beam");
}

TEST_F(LabelTest, pytorch_round_trip_keeps_the_layers) {
  ASSERT_EQ(
      unfold_command({"train", text_, "--out", run_, "--model", "lstm:6,embedding=3", "--steps", "5", "--quiet"}).code,
      0);
  const std::string weights = folder_ / "weights.safetensors", model = folder_ / "m.safetensors";
  ASSERT_EQ(unfold_command({"export", run_, "--to", "safetensors", "-o", weights}).code, 0);
  const nlohmann::json made = only_object(unfold_command({"import", weights, "-o", model, "--json"}).out);
  EXPECT_EQ(made["model"], "lstm:6,embedding=3");
  EXPECT_LE(made["difference"].get<double>(), 1e-5);
  EXPECT_LE(made["pair_difference"].get<double>(), 1e-6);
  nlohmann::json imported = only_object(unfold_command({"eval", model, text_, "--json"}).out),
                 trained = only_object(unfold_command({"eval", run_, text_, "--json"}).out);
  for (nlohmann::json* each : {&imported, &trained}) each->erase("baselines");  // ARPA has no symbol frequencies
  EXPECT_EQ(imported, trained);
  EXPECT_THAT(unfold_command({"import", weights, "-o", model}).out, HasSubstr("tested over 64 positions"));
  expect_failure({"import", weights, "-o", model, "--symbols", "words"}, 2, "--symbols applies only to ARPA files");
  expect_failure({"import", text_, "-o", model, "--activation", "relu"}, 2, "is not a weight file");
  expect_failure({"import", run_, "-o", model}, 3, "run");
  for (const char* format : {"onnx", "rtneural"})
    EXPECT_EQ(unfold_command({"export", run_, "--to", format, "-o", folder_ / format}).code, 0) << format;
}

TEST_F(LabelTest, arpa_round_trip_keeps_the_model) {
  ASSERT_EQ(unfold_command({"train", text_, "--symbols", "words", "--out", run_, "--model", "ngram:3", "--quiet"}).code,
            0);
  const std::string arpa = folder_ / "m.arpa", model = folder_ / "m.safetensors";
  ASSERT_EQ(unfold_command({"export", run_, "--to", "arpa", "--out", arpa}).code, 0);
  ASSERT_EQ(unfold_command({"import", arpa, "--out", model}).code, 0);
  nlohmann::json imported = only_object(unfold_command({"eval", model, text_, "--json"}).out),
                 trained = only_object(unfold_command({"eval", run_, text_, "--json"}).out);
  for (nlohmann::json* each : {&imported, &trained}) each->erase("baselines");  // ARPA has no symbol frequencies
  EXPECT_EQ(imported, trained);
  write_bytes(arpa, read_bytes(arpa).substr(0, 300));
  expect_failure({"import", arpa, "--out", model}, 3, "m.arpa");
  ASSERT_EQ(unfold_command({"train", text_, "--out", run_, "--model", "uniform", "--overwrite", "--quiet"}).code, 0);
  expect_failure({"export", run_, "--to", "arpa"}, 2, "n-gram");
  expect_failure({"export", run_}, 2, "export needs --to: arpa for n-grams");
  expect_failure({"export", run_, "--to", "c"}, 2, "cannot be written as C: only networks are supported");
  expect_failure({"export", run_, "--to", "arpa", "--name", "me"}, 2, "--name requires --to c");
}

/// Lines of `train --lines` are sentences in an ARPA file.
TEST_F(LabelTest, ArpaKeepsTheScoresOfLines) {
  const std::string lines = folder_ / "lines.txt", arpa = folder_ / "m.arpa", model = folder_ / "m.safetensors";
  std::string text;
  for (int i = 0; i < 40; ++i) text += i % 3 == 0 ? "xab0\n" : i % 7 == 0 ? "xba\n" : "xab1\n";
  write_bytes(lines, text);
  for (const char* symbols : {"chars", "words"}) {
    ASSERT_EQ(unfold_command({"train", lines, "--lines", "--symbols", symbols, "--model", "ngram:3", "--out", run_,
                              "--overwrite", "--quiet"})
                  .code,
              0);
    ASSERT_EQ(unfold_command({"export", run_, "--to", "arpa", "--out", arpa}).code, 0);
    ASSERT_EQ(unfold_command({"import", arpa, "--symbols", symbols, "--out", model}).code, 0);
    const nlohmann::json before = only_object(unfold_command({"eval", run_, lines, "--json"}).out),
                         after = only_object(unfold_command({"eval", model, lines, "--json"}).out);
    EXPECT_NEAR(after["nats_per_symbol"].get<double>(), before["nats_per_symbol"].get<double>(), 1e-12) << symbols;
    EXPECT_EQ(after["symbols"], before["symbols"]);
  }
}

TEST_F(LabelTest, ArpaRefusesInputFormatsThatItCannotExpress) {
  const std::string fasta = folder_ / "x.fa", log = folder_ / "x.log";
  write_bytes(fasta, ">one\nACGTACGTAC\nGTA\n>two\nACGTTTACG\n");
  write_bytes(log, "login from 1.2.3.4\nlogin from 1.2.3.5\nlogout\nlogin from 1.2.3.4\n");
  const auto refused = [&](const Arguments& data, const std::string& message) {
    const Finished trained =
        unfold_command(Arguments{"train", "--model", "ngram:2", "--out", run_, "--overwrite", "--quiet"} + data);
    ASSERT_EQ(trained.code, 0) << trained.err;
    expect_failure({"export", run_, "--to", "arpa"}, 2, message);
  };
  refused({fasta, "--split", "100/0/0"}, "FASTA records, which an ARPA file cannot represent");
  refused({log, "--format", "log", "--split", "100/0/0"}, "log as templates, which an ARPA file cannot represent");
  refused({log_, "--label-column", "--split", "100/0/0"}, "is a label, which an ARPA file cannot represent");
  refused({text_, "--predict-after", " ", "--split", "100/0/0"},
          "--predict-after, which an ARPA file cannot represent");
}

/// After a line ending, a model of lines begins the next line, both in samples and in scores.
TEST_F(LabelTest, SamplesOfLinesAreWellFormed) {
  const std::string lines = folder_ / "lines.txt";
  std::string text;
  for (int i = 0; i < 400; ++i) text += fmt::format("xab{}\n", i % 2);
  write_bytes(lines, text);
  for (const char* model : {"hmm:6", "ngram:3", "ppm:4", "cm:1"}) {
    ASSERT_EQ(
        unfold_command({"train", lines, "--lines", "--model", model, "--out", run_, "--overwrite", "--quiet"}).code, 0);
    const std::string drawn =
        only_object(unfold_command({"sample", run_, "--length", "500", "--json"}).out)["samples"][0]["text"];
    std::istringstream stream(drawn);
    int well_formed = 0, count = 0;
    for (std::string line; std::getline(stream, line); ++count) well_formed += line == "xab0" || line == "xab1" ? 1 : 0;
    EXPECT_GE(well_formed, 90) << model << ": " << count << " lines";
    EXPECT_LE(count, 101) << model;
  }
}

}  // namespace
}  // namespace unfold::test
