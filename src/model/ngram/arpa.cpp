#include "model/ngram/arpa.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_map>

#include "base/utf8.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr double kLn10 = 2.302585092994045684;
constexpr std::string_view kBegin = "<s>", kSentenceEnd = "</s>";

// ---- writing ----

std::vector<std::string> names_of(const NgramModel& model) {
  // If every line is a sequence, lines are sentences, so the context after a line ending is `<s>` as well.
  const Symbol sentence_end = model.reads_lines() ? model.sequence_end() : model.sentence_end();
  std::vector<std::string> names;
  for (Symbol x = 0; x < model.alphabet().size(); ++x) {
    const bool word = model.alphabet().kind() == SymbolKind::words && x != model.alphabet().line_end();
    names.push_back(x == sentence_end ? std::string(kSentenceEnd)
                    : word            ? std::string(model.alphabet().text(x))
                                      : model.alphabet().name(x));
    if (x != sentence_end && (names.back() == kBegin || names.back() == kSentenceEnd))
      throw UsageError(fmt::format("the word {} of the text is reserved in ARPA files", names.back()));
  }
  names.emplace_back(kBegin);
  return names;
}

class ArpaWriter {
 public:
  ArpaWriter(const NgramModel& model, const std::function<void(std::string_view)>& write)
      : trie_(model.trie()), names_(names_of(model)), write_(write) {
    text_ = "\\data\\\n";
    for (Index n = 1; n <= trie_.order(); ++n) text_ += fmt::format("ngram {}={}\n", n, trie_.size(n));
    for (Index n = 1; n <= trie_.order(); ++n) {
      text_ += fmt::format("\n\\{}-grams:\n", n);
      for (std::uint32_t x = 0; x < names_.size(); ++x) section(n, 1, x, names_[x]);
    }
    text_ += "\n\\end\\\n";
    write_(text_);
  }

 private:
  /// Writes all n-grams that begin with `node` of level k; `words` are the words of that node.
  void section(Index n, Index k, std::uint32_t node, const std::string& words) {
    if (k < n) {
      const auto& children = trie_.level(k).children;
      for (std::uint32_t x = children[node]; x < children[node + 1]; ++x)
        section(n, k + 1, x, words + ' ' + names_[trie_.level(k + 1).symbols[x]]);
      return;
    }
    const NgramLevel& l = trie_.level(n);
    const bool never_predicted = n == 1 && node == trie_.begin();
    text_ += never_predicted ? "-99" : fmt::format("{:.9g}", static_cast<double>(l.log_probabilities[node]) / kLn10);
    text_ += '\t' + words;
    if (n < trie_.order()) text_ += fmt::format("\t{:.9g}", static_cast<double>(l.log_backoffs[node]) / kLn10);
    text_ += '\n';
    if (text_.size() < (1U << 16)) return;
    write_(text_);
    text_.clear();
  }

  const NgramTrie& trie_;
  std::vector<std::string> names_;
  const std::function<void(std::string_view)>& write_;
  std::string text_;
};

// ---- reading ----

/// Returns the exact text of a symbol, given its printable name.
std::string text_of(std::string_view name, SymbolKind kind) {
  if (name == kSentenceEnd) return kind == SymbolKind::words ? std::string(kLineEndWord) : "\n";
  if (kind == SymbolKind::words) return std::string(name);
  if (kind == SymbolKind::bytes) return std::string(1, static_cast<char>(Alphabet::all_bytes().parse(name)));
  if (name == "\\n") return "\n";
  if (name == "\\s") return " ";
  if (name == "\\t") return "\t";
  if (name == "\\r") return "\r";
  if (name == "\\\\") return "\\";
  if (name.starts_with("\\u{") && name.ends_with("}")) {
    std::uint32_t code = 0;
    std::from_chars(name.data() + 3, name.data() + name.size() - 1, code, 16);
    std::string text;
    append_utf8(text, code);
    return text;
  }
  return std::string(name);
}

/// One line of a section, with natural logarithms.
struct ArpaEntry {
  std::uint32_t parent, symbol;
  float log_probability, log_backoff;
};

class ArpaReader {
 public:
  ArpaReader(const Input& input, SymbolKind kind) : name_(input.name()), rest_(input.bytes()), kind_(kind) {
    read_sizes();
    for (Index n = 1; n <= order(); ++n) n == 1 ? read_unigrams() : read_level(n);
    while (line_ != "\\end\\" && next_line() && line_ != "\\end\\")
      if (!line_.empty()) fail("\\end\\ is missing");
    if (line_ != "\\end\\") fail("the file ends before \\end\\");
  }

  NgramModel model() {
    NgramOptions options{.order = order()};
    const bool words = kind_ == SymbolKind::words;
    if (words != has_sentence_end_) options.sentences = has_sentence_end_ ? Sentences::yes : Sentences::no;
    NgramModel result(options, alphabet(), std::move(trie_));
    result.history().push_back({{"imported", "arpa"}});
    return result;
  }

 private:
  Index order() const { return static_cast<Index>(sizes_.size()); }

  Alphabet alphabet() {
    try {
      return {kind_, std::move(texts_)};
    } catch (const Error& error) {
      throw DataError(fmt::format("{}: its 1-grams are not symbols of this kind ({}); choose a different --symbols",
                                  name_, error.what()));
    }
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw DataError(fmt::format("{}: line {}: {}", name_, number_, what));
  }

  bool next_line() {
    if (rest_.empty()) return false;
    const std::size_t end = rest_.find('\n');
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    while (!line_.empty() && (line_.back() == '\r' || line_.back() == ' ' || line_.back() == '\t'))
      line_.remove_suffix(1);
    ++number_;
    return true;
  }

  void read_sizes() {
    while (next_line() && line_ != "\\data\\") {
    }
    if (line_ != "\\data\\") fail("not an ARPA file: \\data\\ is missing");
    while (next_line() && !line_.empty()) {
      Index n = 0, size = 0;
      const std::size_t equals = line_.find('=');
      if (!line_.starts_with("ngram ") || equals == std::string_view::npos || !parse(line_.substr(6, equals - 6), n) ||
          !parse(line_.substr(equals + 1), size) || n != order() + 1 || size < 0)
        fail("expected \"ngram N=SIZE\" for N = 1, 2, ...");
      sizes_.push_back(size);
    }
    if (sizes_.empty() || order() > NgramTrie::kMaxOrder)
      fail(fmt::format("the order is {}, but must be from 1 to {}", order(), NgramTrie::kMaxOrder));
  }

  template <class Number>
  static bool parse(std::string_view text, Number& value) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
  }

  /// Parses a base-10 logarithm and converts it to a natural logarithm.
  float logarithm(std::string_view text) const {
    double value = 0;
    if (!parse(text, value) || std::isnan(value)) fail(fmt::format("\"{}\" is not a logarithm", text));
    return static_cast<float>(std::clamp(value, -99.0, 99.0) * kLn10);
  }

  /// Reads the next n-gram of a section; returns false at the end of the section. `fields_`: probability, n words, and
  /// optionally a backoff.
  bool next_entry(Index n, Index done) {
    if (done == 0) {
      while (line_.empty() && next_line()) {
      }
      if (line_ != fmt::format("\\{}-grams:", n)) fail(fmt::format("expected \\{}-grams:", n));
    }
    const Index size = sizes_[static_cast<std::size_t>(n - 1)];
    const bool more = next_line() && !line_.empty() && line_[0] != '\\';
    if (more != (done < size)) fail(fmt::format("the number of {1}-grams is not {0}, as given in \\data\\", size, n));
    if (!more) return false;
    fields_.clear();
    for (std::size_t at = 0; at < line_.size();) {
      const std::size_t end = std::min(line_.find_first_of(" \t", at), line_.size());
      fields_.push_back(line_.substr(at, end - at));
      at = std::min(line_.find_first_not_of(" \t", end), line_.size());
    }
    const auto words = static_cast<std::size_t>(n);
    if (fields_.size() != words + 1 && fields_.size() != words + 2)
      fail(fmt::format("expected a logarithm, {} words and optionally a backoff", n));
    probability_ = logarithm(fields_[0]);
    backoff_ = fields_.size() == words + 2 ? logarithm(fields_.back()) : 0;
    if (probability_ > 1e-3F) fail(fmt::format("the probability 10^{} is above 1", fields_[0]));
    return true;
  }

  void read_unigrams() {
    std::vector<float> probabilities, backoffs;
    float begin_backoff = 0;
    while (next_entry(1, static_cast<Index>(texts_.size()) + (has_begin_ ? 1 : 0))) {
      const auto symbol = static_cast<std::uint32_t>(texts_.size());
      const bool begin = fields_[1] == kBegin;
      if (!symbols_.emplace(fields_[1], begin ? kBeginMark : symbol).second)
        fail(fmt::format("the word \"{}\" is repeated", fields_[1]));
      if (begin) {
        has_begin_ = true;
        begin_backoff = backoff_;
        continue;
      }
      has_sentence_end_ = has_sentence_end_ || fields_[1] == kSentenceEnd;
      texts_.push_back(text_of_word());
      probabilities.push_back(probability_);
      backoffs.push_back(backoff_);
    }
    if (texts_.empty()) fail("there are no words");
    trie_ = NgramTrie(order(), static_cast<Index>(texts_.size()));
    NgramLevel& first = trie_.level(1);
    std::ranges::copy(probabilities, first.log_probabilities.begin());
    if (order() == 1) return;
    std::ranges::copy(backoffs, first.log_backoffs.begin());
    first.log_backoffs.back() = begin_backoff;
  }

  std::string text_of_word() const {
    try {
      return text_of(fields_[1], kind_);
    } catch (const Error& error) {
      fail(error.what());
    }
  }

  std::uint32_t symbol(std::string_view word) const {
    const auto found = symbols_.find(std::string(word));
    if (found == symbols_.end()) fail(fmt::format("\"{}\" is not a 1-gram", word));
    return found->second;
  }

  void read_level(Index n) {
    std::vector<ArpaEntry> entries;
    while (next_entry(n, static_cast<Index>(entries.size()))) {
      std::uint32_t node = symbol(fields_[1]);
      if (node == kBeginMark) node = trie_.begin();
      for (Index k = 2; k < n && node != NgramTrie::kNone; ++k)
        node = trie_.child(k - 1, node, symbol(fields_[static_cast<std::size_t>(k)]));
      if (node == NgramTrie::kNone) fail(fmt::format("its first {} words are not a {}-gram", n - 1, n - 1));
      const std::uint32_t last = symbol(fields_[static_cast<std::size_t>(n)]);
      if (last == kBeginMark) fail("<s> can only be the first word");
      entries.push_back({node, last, probability_, backoff_});
    }
    std::sort(entries.begin(), entries.end(), [](const ArpaEntry& a, const ArpaEntry& b) {
      return a.parent != b.parent ? a.parent < b.parent : a.symbol < b.symbol;
    });
    NgramLevel &parents = trie_.level(n - 1), &here = trie_.level(n);
    GrowingArray<std::uint32_t>& children = parents.children;
    children.assign(parents.log_probabilities.size() + 1, 0);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const ArpaEntry& e = entries[i];
      if (i > 0 && e.parent == entries[i - 1].parent && e.symbol == entries[i - 1].symbol)
        fail(fmt::format("a {}-gram above this line is repeated", n));
      ++children[e.parent + 1];
      here.symbols.push_back(e.symbol);
      here.log_probabilities.push_back(e.log_probability);
      if (n < order()) here.log_backoffs.push_back(e.log_backoff);
    }
    std::partial_sum(children.begin(), children.end(), children.begin());
    if (n < order()) here.children.assign(here.symbols.size() + 1, 0);
  }

  static constexpr std::uint32_t kBeginMark = NgramTrie::kNone - 1;

  std::string name_;
  std::string_view rest_, line_;
  SymbolKind kind_;
  Index number_ = 0;
  std::vector<Index> sizes_;
  std::vector<std::string_view> fields_;
  float probability_ = 0, backoff_ = 0;
  bool has_begin_ = false, has_sentence_end_ = false;
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::uint32_t> symbols_;  // used for lookups only, never iterated
  NgramTrie trie_;
};

}  // namespace

void write_arpa(const NgramModel& model, const std::function<void(std::string_view)>& write) {
  ArpaWriter(model, write);
}

NgramModel read_arpa(const Input& input, SymbolKind kind) {
  NgramModel model = ArpaReader(input, kind).model();
  input.require_whole();
  return model;
}

}  // namespace unfold
