// A run records its settings: its configuration file, the command in its report and its own command with --resume
// reproduce the same bytes for any kind of data.
#include <fstream>

#include "tests/cli/fields.h"

namespace unfold::test {
namespace {

struct RunKind {
  std::string name;
  Arguments options;    // after `train`, without --out
  bool resumes = true;  // trained by gradient
};

class OwnConfigurationTest : public FieldsTest {
 protected:
  std::string model_of(const std::string& run) const { return read_bytes(run + "/model.safetensors"); }

  static Finished in_shell(const std::string& command) {
    return unfold_command({}, {.before = {"/bin/sh", "-c", command}});
  }

  /// The training command shown in the report of a run, with a different folder.
  std::string reported_command(const std::string& run, const std::string& out) const {
    const std::string page = folder_ / "page.html";
    const Finished report = unfold_command({"report", run, "-o", page, "--no-baselines"});
    if (report.code != 0) ADD_FAILURE() << report.err;
    std::string command;
    const std::string html = read_bytes(page);
    const std::size_t begin = html.find("\"text\":\"unfold train") + 8;
    if (html.find("\"text\":\"unfold train") == std::string::npos) return {};
    for (std::size_t i = begin; i < html.size() && html[i] != '"'; ++i) {
      if (html[i] != '\\') {
        command += html[i];
        continue;
      }
      ++i;  // of JSON
      if (html[i] == 'u') {
        command += static_cast<char>(std::stoi(html.substr(i + 1, 4), nullptr, 16));
        i += 4;
      } else {
        command += html[i] == 'n' ? '\n' : html[i];
      }
    }
    const std::size_t place = command.rfind("--out ");
    if (place == std::string::npos) return {};
    return UNFOLD_COMMAND + command.substr(6, place - 6) + "--out " + out + " --quiet";
  }

  void expect_repeatable(const RunKind& kind) const {
    SCOPED_TRACE(kind.name);
    const std::string run = folder_ / ("run-" + kind.name), again = folder_ / ("again-" + kind.name);
    const Arguments command = Arguments{"train"} + kind.options + Arguments{"--quiet", "--out"};
    const Finished first = unfold_command(command + Arguments{run});
    ASSERT_EQ(first.code, 0) << first.err;
    const std::string model = model_of(run);

    const Finished configured = unfold_command({"train", "--config", run + "/config.toml", "--out", again, "--quiet"});
    EXPECT_EQ(configured.code, 0) << configured.err;
    EXPECT_TRUE(model_of(again) == model) << "--config gives another model";
    EXPECT_EQ(read_bytes(again + "/config.toml"), read_bytes(run + "/config.toml"));

    if (kind.resumes) {
      const Finished resumed = unfold_command(command + Arguments{run, "--resume"});
      EXPECT_EQ(resumed.code, 0) << resumed.err;
      EXPECT_TRUE(model_of(run) == model) << "--resume gives another model";
      const Finished alone = unfold_command({"train", "--out", run, "--resume", "--quiet"});
      EXPECT_EQ(alone.code, 0) << alone.err;
      EXPECT_TRUE(model_of(run) == model) << "--resume without options gives another model";
    }

    const std::string third = folder_ / ("reported-" + kind.name);
    const std::string shown = reported_command(run, third);
    ASSERT_NE(shown, "");
    const Finished reported = in_shell(shown);
    EXPECT_EQ(reported.code, 0) << shown << "\n" << reported.err;
    EXPECT_TRUE(model_of(third) == model) << "the command of the report gives another model:\n" << shown;
  }
};

const Arguments kFew = {"--steps", "4", "--batch", "4"};

TEST_F(OwnConfigurationTest, RepeatsRunsOnText) {
  const std::string text = data("book.txt", small_text(1500)), numbers = data("numbers.csv", wave(60));
  const std::string genome = data("genome.fa", ">one\nACGTACGTAGCTAGCTAGCATCGATCG\n>two\nGGCATCGATCGATTTACGACG\n");
  std::string lines, log;
  for (int i = 0; i < 80; ++i) {
    lines += i % 9 == 7 ? "x zzz qqq\n" : "- the cat sat\n";
    log += "Nov  1 10:00:0" + std::to_string(i % 10) + " host sshd[" + std::to_string(i) + "]: failed for root port " +
           std::to_string(4000 + i) + "\n";
  }
  const std::string labeled = data("lines.txt", lines), messages = data("messages.log", log);
  const Arguments tiny = kFew + Arguments{"--model", "rnn:4", "--window", "16"};
  const std::vector<RunKind> kinds = {
      {"defaults", Arguments{text, "--steps", "2", "--model", "rnn:4"}},
      {"bytes", Arguments{text, "--symbols", "bytes"} + tiny},
      {"words", Arguments{text, "--symbols", "words", "--vocabulary", "10", "--split", "80/20"} + tiny},
      {"lines", Arguments{text, "--lines", "--split", "100/0/0"} + tiny},
      {"valid", Arguments{text, "--valid", text} + tiny},
      {"table-as-text", Arguments{numbers, "--format", "text"} + tiny},
      {"symbols-of-a-table", Arguments{numbers, "--symbols", "bytes", "--format", "text"} + tiny},
      {"labels", Arguments{labeled, "--label-column", "--only-label", "-"} + tiny},
      {"fasta", Arguments{genome} + tiny},
      {"log", Arguments{messages, "--format", "log"}, false},
      {"log-by-network", Arguments{messages, "--format", "log", "--split", "80/20"} + tiny},
      {"after", Arguments{text, "--predict-after", "e"} + tiny},
      {"whole", Arguments{text, "--lines", "--whole-sequences", "--model", "rnn:4"} + kFew},
      {"ruop", Arguments{text, "--lines", "--optimizer", "ruop", "--model", "glnn:4"} + kFew},
      {"ruop-windows", Arguments{text, "--optimizer", "ruop", "--model", "glnn:4", "--window", "16"} + kFew},
      {"restarts", Arguments{text, "--optimizer", "ruop", "--model", "glnn:4", "--window", "16", "--restarts", "3",
                             "--steps", "40"}},
      {"hf", Arguments{text, "--optimizer", "hf:windows=2,iterations=3"} + tiny},
      {"path", Arguments{text, "--optimizer", "path", "--model", "rnn:4,activation=relu", "--window", "16"} + kFew},
      {"follow", Arguments{text, "--follow", "--model", "rnn:4", "--window", "16", "--steps", "4"}},
      {"ngram", Arguments{text, "--model", "ngram:3"}, false},
      {"hmm", Arguments{text, "--model", "hmm:3,iterations=2"}, false},
      {"minutes", Arguments{text, "--minutes", "1000", "--steps", "2", "--model", "rnn:4"}}};
  for (const RunKind& kind : kinds) expect_repeatable(kind);
}

TEST_F(OwnConfigurationTest, RepeatsRunsOnFields) {
  const std::string columns = data("chunks.txt", "# columns: word pos chunk\n" + chunk_columns(30));
  const std::string plain = data("plain.txt", chunk_columns(30)), table = data("table.csv", wave(90, true));
  const std::string lines = data("reviews.txt", labeled_lines(30)), json = data("lines.jsonl", json_lines(30));
  const std::string rolls = data("rolls.txt", roll_lines(12)), trees = data("some.trees", tree_lines(20));
  const std::string grids = data("some.grids", grid_blocks(12)), steps = data("template", "U:%x[0,0]\nB\n");
  std::string bits = "a,b,c\n", sequences = "part,x\n", pairs, mails = "subject,body,priority,queue\n";
  for (int i = 0; i < 60; ++i) {
    bits +=
        std::string(i % 2 == 0 ? "1" : "0") + "," + (i % 3 == 0 ? "1" : "0") + "," + (i % 5 == 0 ? "1" : "0") + "\n";
    sequences += std::string(1, static_cast<char>('a' + i / 6)) + "," + std::to_string(std::sin(i)) + "\n";
    pairs += i % 2 == 0 ? "abba\tA B B A\n" : "cab\tC A B\n";
    const std::string number = std::to_string(i);
    mails += "the page " + number + " is slow,please look at number " + number + (i % 2 == 0 ? ",high" : ",low") +
             (i % 3 == 0 ? ",web\n" : ",desk\n");
  }
  const std::string vectors = data("bits.csv", bits), parts = data("parts.csv", sequences),
                    words = data("w.pairs", pairs), tickets = data("mails.csv", mails);
  const Arguments adam = kFew + Arguments{"--optimizer", "adam:rate=0.01"};
  const std::vector<RunKind> kinds = {
      {"tags", Arguments{plain, "--read", "1", "--predict", "2", "--model", "bilstm:4"} + adam},
      {"columns", Arguments{columns, "--model", "bigru:4", "--predict", "chunk", "--split", "80/20"} + adam},
      {"softmax", Arguments{columns, "--model", "bigru:4", "--predict", "chunk=softmax,pos"} + adam},
      {"crf", Arguments{columns, "--format", "columns", "--predict", "chunk", "--model", "crf", "--epochs", "3"}},
      {"template", Arguments{columns, "--format", "columns", "--predict", "chunk", "--model", "crf:template=" + steps,
                             "--epochs", "3"}},
      {"table", Arguments{table, "--predict", "load", "--model", "gru:4"} + adam},
      {"windows", Arguments{table, "--predict", "load", "--model", "gru:4", "--window", "10"} + adam},
      {"sequences", Arguments{parts, "--sequences", "part", "--predict", "x", "--model", "gru:4"} + adam},
      {"ends", Arguments{parts, "--sequences", "part", "--predict", "x", "--ends", "stop", "--model", "gru:4"} + adam},
      {"ruop-on-tags", Arguments{columns, "--predict", "chunk", "--optimizer", "ruop", "--model", "glnn:4"} + kFew},
      {"labelled", Arguments{lines, "--format", "labelled", "--model", "gru:4"} + adam},
      {"defaults-of-labels", Arguments{lines, "--format", "labelled", "--steps", "2"}},
      {"texts-of-a-table", Arguments{tickets, "--model", "gru:4", "--refit", "yes"} + adam},
      {"defaults-of-texts", Arguments{tickets, "--steps", "2"}},
      {"texts-to-read", Arguments{tickets, "--read", "subject,body", "--steps", "2"}},
      {"generated", Arguments{lines, "--format", "labelled", "--read", "label", "--predict", "text", "--ends", "symbol",
                              "--model", "gru:4"} +
                        adam},
      {"jsonl", Arguments{json, "--read", "word", "--predict", "tag,mood", "--model", "gru:4"} + adam},
      {"rolls", Arguments{rolls, "--format", "rolls", "--model", "gru:4"} + adam},
      {"trees", Arguments{trees, "--format", "trees", "--model", "tree-lstm:4"} + adam},
      {"grids", Arguments{grids, "--format", "grids", "--model", "grid-lstm:3"} + adam},
      {"pairs", Arguments{words, "--format", "pairs", "--model", "gru:4,attention=additive"} + adam},
      {"pairs-without-validation",
       Arguments{words, "--format", "pairs", "--model", "gru:4,attention=additive", "--split", "100/0/0"} + adam},
      {"density", Arguments{vectors, "--format", "table", "--model", "nade:4"} + adam},
      {"mixture", Arguments{vectors, "--format", "table", "--model", "bernoulli-mixture:2"} + adam},
      {"states", Arguments{parts, "--sequences", "part", "--predict", "x", "--model", "gaussian-hmm:2"}, false},
      {"readout", Arguments{table, "--predict", "load", "--model", "esn:20,washout=10"}, false}};
  for (const RunKind& kind : kinds) expect_repeatable(kind);
}

TEST_F(OwnConfigurationTest, RepeatsRunsOnTasks) {
  expect_repeatable({"adding", {"--task", "adding:8", "--model", "rnn:4", "--steps", "4", "--batch", "4"}});
  expect_repeatable({"hf-on-a-task",
                     {"--task", "adding:8", "--model", "rnn:4", "--optimizer", "hf:windows=2,iterations=3", "--steps",
                      "3", "--batch", "4"}});
}

TEST_F(OwnConfigurationTest, RefusesAWindowThatARunOfWholeSequencesWouldIgnore) {
  const Arguments command = {"train",   text_, "--lines", "--whole-sequences", "--model", "rnn:4",
                             "--steps", "2",   "--quiet"};
  ASSERT_EQ(unfold_command(command + Arguments{"--out", run_}).code, 0);
  expect_failure({"train", "--out", run_, "--resume", "--window", "10"}, 2, "leave out --window");
  const std::string vectors = data("v.csv", "a,b\n0,1\n1,0\n0,1\n1,1\n0,0\n");
  expect_failure({"train", vectors, "--format", "table", "--model", "nade:2", "--window", "10", "--out", folder_ / "d"},
                 2, "leave out --window");
}

}  // namespace
}  // namespace unfold::test
