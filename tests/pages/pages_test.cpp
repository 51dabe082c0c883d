/// The pages and the code agree: all models and options are documented, and files and links exist.

#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "unfold/base/formats/file.h"
#include "unfold/loss/registry.h"
#include "unfold/model/registry/registry.h"

namespace unfold {
namespace {

namespace fs = std::filesystem;
const fs::path kSource = UNFOLD_SOURCE_DIR;

std::vector<fs::path> pages() {
  std::vector<fs::path> result = {kSource / "README.md", kSource / "CONTRIBUTING.md"};
  for (const auto& entry : fs::recursive_directory_iterator(kSource / "docs"))
    if (entry.path().extension() == ".md") result.push_back(entry.path());
  return result;
}

/// Returns the first group of every match.
std::vector<std::string> all_matches(const std::string& text, const char* expression) {
  const std::regex regex(expression);
  std::vector<std::string> result;
  for (std::sregex_iterator i(text.begin(), text.end(), regex), end; i != end; ++i) result.push_back((*i)[1]);
  return result;
}

/// Returns whether a word occurs on the page as a SPEC or one of its options.
bool names(const std::string& page, const std::string& word) {
  for (const char* end : {":", "`", "=", ","})
    for (const char* begin : {"`", ","})
      if (page.find(begin + word + end) != std::string::npos) return true;
  return false;
}

TEST(Pages, models_md_names_every_model_and_every_option_of_each) {
  const std::string page = read_file(kSource / "docs/models.md");
  for (const ModelHelp& model : all_models()) {
    EXPECT_TRUE(names(page, model.name)) << "docs/models.md has no word about the model " << model.name;
    for (const OptionHelp& option : model.options)
      EXPECT_TRUE(names(page, option.name))
          << "docs/models.md does not name the option " << option.name << " of " << model.name;
  }
}

TEST(Pages, losses_md_names_every_loss_and_every_option_of_each) {
  const std::string page = read_file(kSource / "docs/losses.md");
  for (const EntryHelp& loss : losses().help()) {
    EXPECT_TRUE(names(page, loss.name)) << "docs/losses.md has no word about the loss " << loss.name;
    for (const OptionHelp& option : loss.options)
      EXPECT_TRUE(names(page, option.name))
          << "docs/losses.md does not name the option " << option.name << " of " << loss.name;
  }
}

TEST(Pages, missing_model_on_a_page_is_detected) {
  EXPECT_TRUE(names("the `lstm:N` and `gru:N,reset=after`", "lstm"));
  EXPECT_TRUE(names("the `lstm:N` and `gru:N,reset=after`", "reset"));
  EXPECT_FALSE(names("the `lstm:N` and `irnn:N,reset=after`", "rnn"));
}

TEST(Pages, links_lead_to_existing_files) {
  for (const fs::path& page : pages())
    for (const std::string& link : all_matches(read_file(page), R"(\]\(([^)#:\s]+)(?:#[^)]*)?\))"))
      EXPECT_TRUE(fs::exists(page.parent_path() / link)) << page << " links to " << link;
}

TEST(Pages, named_headers_and_sources_exist) {
  for (const fs::path& page : pages()) {
    if (page.filename() == "CONTRIBUTING.md") continue;  // its recipes name files that do not exist yet
    for (const std::string& file : all_matches(read_file(page), R"(`((?:[a-z_]+/)+[a-z_]+\.(?:h|cpp))`)"))
      EXPECT_TRUE(fs::exists(kSource / file) || fs::exists(kSource / "src" / file) ||
                  fs::exists(kSource / "include" / file))
          << page << " names " << file;
  }
}

}  // namespace
}  // namespace unfold
