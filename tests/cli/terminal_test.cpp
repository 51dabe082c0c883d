// Control characters in data, labels and names: never in messages, kept in pipes, escaped on terminals.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <thread>

#include "tests/cli/fields.h"

namespace unfold::test {
namespace {

/// A pseudo-terminal that the command writes to.
class Terminal {
 public:
  Terminal() : main_(posix_openpt(O_RDWR | O_NOCTTY)) {
    if (main_ < 0 || grantpt(main_) != 0 || unlockpt(main_) != 0) return;
    name_ = ptsname(main_);
    kept_ = open(name_.c_str(), O_RDWR | O_NOCTTY);
    reader_ = std::thread([this] {
      char buffer[4096];
      for (ssize_t n; (n = read(main_, buffer, sizeof buffer)) > 0;) text_.append(buffer, static_cast<std::size_t>(n));
    });
  }
  ~Terminal() {
    if (reader_.joinable()) (void)text();
    close(main_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  const std::string& name() const { return name_; }
  /// Returns everything that was written, with plain line feeds, and closes the terminal.
  std::string text() {
    close(kept_);
    reader_.join();
    std::erase(text_, '\r');
    return text_;
  }

 private:
  int main_ = -1, kept_ = -1;
  std::string name_, text_;
  std::thread reader_;
};

/// Returns whether a text contains control characters other than line feeds and tabs.
bool has_controls(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F) return true;
    const bool c1 = byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (c1 || byte == 0xFF || (byte == 0x9B && (i == 0 || static_cast<unsigned char>(text[i - 1]) < 0x80))) return true;
  }
  return false;
}

// Clears the screen, sets a title, rings the bell; then the same with C1 characters.
const std::string kHostile =
    "\x1b[2J\x1b]0;title\a\x7f\xc2\x9b"
    "31m";

class TerminalTest : public FieldsTest {
 protected:
  /// The output of the command in a pipe and on a terminal.
  static std::pair<std::string, std::string> both(const Arguments& arguments, bool colors = false) {
    Terminal terminal;
    const std::string piped = output_of(arguments);
    const Finished finished = unfold_command(
        arguments, {.environment = {{"TERM", "xterm"}, {"NO_COLOR", colors ? "" : "1"}}, .output = terminal.name()});
    EXPECT_EQ(finished.code, 0) << finished.err;
    EXPECT_FALSE(has_controls(finished.err)) << finished.err;
    return {piped, terminal.text()};
  }
  static std::string text_from(const std::string& word) {
    std::string text;
    for (int i = 0; i < 80; ++i) text += "a b " + word + " c\n";
    return text;
  }
  std::string hostile_labels() const {
    std::string text;
    for (int i = 0; i < 30; ++i)
      text += (i % 2 == 0 ? "pos" + kHostile + "\tgood\\t fun" : "neg\tdull " + kHostile) + std::string(" film\n");
    return data("labels.tsv", text);
  }
};

TEST_F(TerminalTest, TextsAreEscapedOnTerminalsAndKeptInPipes) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "a b " + kHostile + " c\xff\xfe\n";
  write_bytes(text_, text);
  train({"--symbols", "bytes"});
  for (const Arguments& arguments : std::vector<Arguments>{{"score", run_, text_, "--by", "line", "--text"},
                                                           {"sample", run_, "--length", "3000", "--seed", "1"},
                                                           {"complete", run_, "--prime", "\x1b[", "--length", "20"}}) {
    const auto [piped, shown] = both(arguments);
    EXPECT_TRUE(has_controls(piped)) << arguments.front();
    EXPECT_FALSE(has_controls(shown)) << arguments.front() << shown;
  }
  const auto [piped, shown] = both({"score", run_, text_, "--by", "line", "--text"});
  EXPECT_THAT(piped, HasSubstr(kHostile));
  EXPECT_THAT(shown, HasSubstr("\\x1B[2J\\x1B]0;title\\x07\\x7F\\u{9B}31m c\\xFF\\xFE\n"));
}

TEST_F(TerminalTest, LabelsAreEscapedInTablesAndOnTerminals) {
  const std::string file = hostile_labels();
  train_on(file, {"--format", "labelled", "--model", "gru:4"});
  const std::string table = output_of({"eval", run_, file});
  EXPECT_FALSE(has_controls(table)) << table;
  for (const Arguments& arguments : std::vector<Arguments>{{"predict", run_, file}, {"explain", run_, file}}) {
    const auto [piped, shown] = both(arguments);
    EXPECT_TRUE(has_controls(piped)) << arguments.front();
    EXPECT_FALSE(has_controls(shown)) << arguments.front() << shown;
  }
}

TEST_F(TerminalTest, OnlyTheCommandSetsColors) {
  write_bytes(text_, text_from(kHostile));
  train({"--symbols", "bytes"});
  auto [piped, shown] = both({"explain", run_, "a\x1b[2J b"}, true);
  EXPECT_FALSE(has_controls(piped)) << piped;  // symbols are printed by name
  EXPECT_THAT(shown, HasSubstr("\x1b["));
  EXPECT_THAT(shown, HasSubstr("\\x1B"));
  EXPECT_THAT(shown, Not(HasSubstr("\x1b[2J")));
}

TEST_F(TerminalTest, MessagesContainNoControlCharacters) {
  train();
  const std::string name = data("name" + kHostile + "\n2", ""), missing = folder_ / ("no" + kHostile + "\xff");
  for (const Arguments& arguments :
       std::vector<Arguments>{{"eval", run_, name},
                              {"eval", run_, missing},
                              {"info", missing},
                              {"train", text_, "--model", "lstm:5," + kHostile, "--out", run_},
                              {kHostile},
                              {"train", text_, "--" + kHostile, "1"},
                              {"train", text_, "--out", run_, "--batch", kHostile},
                              {"sample", run_, "--prime", kHostile}}) {
    const Finished finished = unfold_command(arguments);
    EXPECT_NE(finished.code, 0);
    EXPECT_THAT(finished.err, StartsWith("unfold: "));
    EXPECT_FALSE(has_controls(finished.err)) << finished.err;
    EXPECT_EQ(count_lines(finished.err), 1) << finished.err;  // no name adds a line
  }
}

TEST_F(TerminalTest, NotesAndSamplesContainNoControlCharacters) {
  write_bytes(text_, text_from(kHostile));
  const Finished finished = unfold_command(training({"--symbols", "bytes", "--sample-every", "10"}));
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("sample:\n"));
  EXPECT_FALSE(has_controls(finished.err)) << finished.err;
}

TEST_F(TerminalTest, ATabAndItsEscapeAreDifferentLabels) {
  std::string lines;
  for (int i = 0; i < 20; ++i)
    lines += i % 2 == 0 ? R"({"word": ["u", "v"], "mood": "a\tb"})"
                          "\n"
                        : R"({"word": ["w"], "mood": "a\\tb"})"
                          "\n";
  const std::string file = data("lines.jsonl", lines);
  train_on(file, {"--format", "jsonl", "--predict", "mood", "--model", "gru:4"});
  const std::string table = output_of({"predict", run_, file});
  EXPECT_THAT(table, HasSubstr("a\\tb"));
  EXPECT_THAT(table, HasSubstr("a\\\\tb"));
  const std::string measured = output_of({"eval", run_, file});
  EXPECT_THAT(measured, Not(HasSubstr("\tb")));
}

}  // namespace
}  // namespace unfold::test
