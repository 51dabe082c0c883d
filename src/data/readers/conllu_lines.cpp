#include "data/readers/conllu_lines.h"

#include <algorithm>

#include "data/readers/reader_text.h"

namespace unfold {
namespace {

constexpr int kTabsOfConllu = 9;

/// Returns whether a line has the ten cells of CoNLL-U and begins with a number.
bool is_conllu_token(std::string_view line) {
  return !line.empty() && line[0] >= '0' && line[0] <= '9' && std::ranges::count(line, '\t') == kTabsOfConllu;
}

bool is_conllu_text(std::string_view text) {
  for (ReaderLines lines(text); lines.next();)
    if (!lines.line().empty() && !lines.line().starts_with('#')) return is_conllu_token(lines.line());
  return false;
}

}  // namespace

ConlluLines::ConlluLines(const std::vector<Input>& files) {
  for (const Input& file : files) {
    const ReaderText text(file);
    if (read(text.text())) continue;
    others_.clear();
    return;
  }
  if (std::ranges::all_of(others_, [](const Other& other) { return other.text.empty(); })) others_.clear();
}

/// Adds the lines of a file. Returns whether it is in the format CoNLL-U.
bool ConlluLines::read(std::string_view text) {
  if (!is_conllu_text(text)) return false;
  for (ReaderLines lines(text); lines.next();) {
    const std::string_view line = lines.line(), id = line.substr(0, line.find('\t'));
    if (is_conllu_token(line) && id.find_first_of(".-") == std::string_view::npos)
      ++positions_;
    else
      others_.push_back({positions_, std::string(line)});
  }
  others_.push_back({positions_, {}});  // the next file begins with a new sentence
  return true;
}

void ConlluLines::before_position(const Use& use) {
  for (; next_ < others_.size() && others_[next_].after <= seen_; ++next_)
    if (!others_[next_].text.empty()) use(others_[next_].text);
  ++seen_;
}

void ConlluLines::end_sentence(const Use& use) {
  for (; next_ < others_.size() && others_[next_].after <= seen_ && !others_[next_].text.empty(); ++next_)
    use(others_[next_].text);
}

void ConlluLines::end(const Use& use) {
  for (; next_ < others_.size(); ++next_)
    if (!others_[next_].text.empty()) use(others_[next_].text);
}

}  // namespace unfold
