#include "data/readers/example_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "tests/support/reading.h"

namespace unfold {
namespace {

using namespace testing_support;

TEST(ExampleReader, formats_of_small_files_are_detected) {
  EXPECT_EQ(format_of("a.txt", "The DT B-NP\ncat NN I-NP\n\nIt PRP B-NP\n"), "columns");
  EXPECT_EQ(format_of("a.txt", "# columns: word\nThe\n"), "columns");
  EXPECT_EQ(format_of("a.txt", "1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\n"), "columns");
  EXPECT_EQ(format_of("a.txt", "0.5 1.5\n1.5 2\n3 -1\n"), "columns");
  EXPECT_EQ(format_of("a.txt", "NUM:dist How far is it ?\n"), "labelled");
  EXPECT_EQ(format_of("a.txt", "__label__x a\n__label__y b\n"), "labelled");
  EXPECT_EQ(format_of("a.txt", "pos\ta fine film\nneg\ta poor film\npos\tgood fun\n"), "labelled");
  EXPECT_EQ(format_of("a.txt", "86\n141\n95\n"), "table");
  EXPECT_EQ(format_of("a.csv", "kind,title\na,b\n"), "table");
  EXPECT_EQ(format_of("a.csv.gz", "kind,title\na,b\n"), "table");
  EXPECT_EQ(format_of("a.txt", "1;a\n2;b\n"), "table");
  EXPECT_EQ(format_of("a.txt", "60,64 - 62\n"), "rolls");
  EXPECT_EQ(format_of("a.txt", "{\"x\": [1]}\n"), "jsonl");
  EXPECT_EQ(format_of("a.jsonl", "{\"x\": [\"" + std::string(1 << 17, 'a') + "\"]}\n"), "jsonl");
  EXPECT_EQ(format_of("a", "\x93NUMPY"), "npy");
  EXPECT_EQ(format_of("a.npz", "PK\x03\x04"), "npy");
}

TEST(ExampleReader, json_lines_in_windows_1252_are_detected) {
  const std::string records = "{\"name\":\"caf\xE9\",\"price\":1.5}\n{\"name\":\"10 \x80\",\"price\":2}\n";
  EXPECT_EQ(format_of("a", records), "records");
  EXPECT_EQ(format_of("a.jsonl", records), "records");
  EXPECT_EQ(format_of("a", "{\"words\":[\"caf\xE9\",\"b\"]}\n"), "jsonl");
  EXPECT_EQ(entries_of(read_as("records", records), "name"), (Texts{"café", "10 €"}));
}

TEST(ExampleReader, prose_verse_and_bytes_are_text) {
  EXPECT_EQ(format_of("a.txt", "One two.\nThree four five.\n\nSix.\n"), "text");
  EXPECT_EQ(format_of("a.txt", "First, it is.\nSecond, it was.\n"), "text");
  EXPECT_EQ(format_of("a", std::string("1\n2\n\0", 5)), "text");
  EXPECT_EQ(format_of("a.txt", "no line end"), "text");
  EXPECT_EQ(format_of("a.c", "{\n  int x;\n}\n"), "text");
  EXPECT_EQ(format_of("a.log", "INFO:root:started\nWARNING:root:odd\n"), "text");
}

TEST(ExampleReader, text_has_no_fields_and_unknown_format_is_a_usage_error) {
  EXPECT_TRUE(contains(refusal("", "It was a dark night.\n"), "data: it looks like running text"));
  EXPECT_THROW(read_as("column", "a b\n"), UsageError);
}

/// Returns (format, contents) of the blocks of a page that begin with the name of a format; commands are excluded.
std::vector<std::pair<std::string, std::string>> formatted_blocks(const std::string& page) {
  std::vector<std::pair<std::string, std::string>> blocks;
  const std::string fence = "```";
  for (std::size_t open = page.find(fence); open != std::string::npos;) {
    const std::size_t begin = page.find('\n', open) + 1, close = page.find(fence, begin);
    const std::string name = page.substr(open + fence.size(), begin - 1 - open - fence.size());
    const bool commands = name == "sh" || name == "console";
    if (!name.empty() && !commands) blocks.emplace_back(name, page.substr(begin, close - begin));
    open = page.find(fence, close + fence.size());
  }
  return blocks;
}

TEST(ExampleReader, page_examples_are_recognized_and_read) {
  const auto blocks = formatted_blocks(read_file(UNFOLD_SOURCE_DIR "/docs/data.md"));
  EXPECT_GE(blocks.size(), 10u);
  for (const auto& [format, text] : blocks) {
    EXPECT_EQ(format_of("data", text), format) << text;
    EXPECT_GT(read_as(format, text).positions(), 0) << text;
  }
}

TEST(ExampleReader, page_names_every_format) {
  const std::string page = read_file(UNFOLD_SOURCE_DIR "/docs/data.md");
  for (const ReaderEntry& reader : readers()) {
    EXPECT_TRUE(contains(page, "\n## " + std::string(reader.name) + "\n")) << reader.name;
  }
}

struct RealFiles {
  const char *folder, *format;
  std::vector<std::string> but = {};  ///< endings to exclude
};

void PrintTo(const RealFiles& files, std::ostream* out) { *out << files.folder; }

class GuessOfRealFiles : public ::testing::TestWithParam<RealFiles> {};

bool is_another(const std::string& name, const std::vector<std::string>& endings) {
  return std::any_of(endings.begin(), endings.end(), [&](const std::string& end) { return name.ends_with(end); });
}

TEST_P(GuessOfRealFiles, formats_of_real_files_are_detected) {
  const RealFiles& files = GetParam();
  UNFOLD_REAL_DATA(folder, files.folder);
  std::vector<std::string> paths;
  if (std::filesystem::is_regular_file(folder)) paths.push_back(folder);
  if (paths.empty()) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.is_regular_file()) paths.push_back(entry.path().string());
    }
  }
  for (const std::string& path : paths) {
    if (is_another(path, files.but)) continue;
    const Input input = Input::open(path);
    const FormatGuess guess = guess_format(input);
    EXPECT_EQ(guess.format, files.format) << path << ": " << guess.why;
    if (guess.format == "text") continue;
    EXPECT_GT(read_examples(input, {}).positions(), 0) << path;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Folders, GuessOfRealFiles,
    ::testing::Values(RealFiles{"conll2000", "columns", {"README.original"}},
                      RealFiles{"conll2000/README.original", "text"}, RealFiles{"ud", "columns"},
                      RealFiles{"sequences/qc", "labelled", {"README.original"}},
                      RealFiles{"sequences/qc/README.original", "text"}, RealFiles{"sequences/names", "text"},
                      RealFiles{"sequences/polarity", "text"}, RealFiles{"timeseries", "table"},
                      RealFiles{"timeseries/japanese_vowels", "columns", {"block_sizes.txt"}},
                      RealFiles{"timeseries/japanese_vowels/block_sizes.txt", "text"}, RealFiles{"music", "rolls"},
                      RealFiles{"density", "table", {".names"}}, RealFiles{"density/ionosphere.names", "text"},
                      RealFiles{"density/winequality.names", "text"}, RealFiles{"tinyshakespeare", "text"},
                      RealFiles{"corpora/calgary", "text"}, RealFiles{"corpora/canterbury", "text"},
                      RealFiles{"corpora/large", "text"}, RealFiles{"corpora/artificial", "text"},
                      RealFiles{"corpora/misc", "text"}, RealFiles{"ptb", "text"}, RealFiles{"wikitext2", "text"},
                      RealFiles{"genome", "text"}, RealFiles{"abc", "text"}, RealFiles{"sst", "trees"},
                      RealFiles{"logs", "text", {".csv", ".csv.gz"}}));

}  // namespace
}  // namespace unfold
