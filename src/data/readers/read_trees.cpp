/// The format `trees`: bracketed trees, one per line, such as "(3 (2 The) (4 film))" in the Stanford Sentiment
/// Treebank, or over several lines, each but the first indented, as in the Penn Treebank. A top bracket without a
/// label, as in "( (S (NP I) (VP saw)))", is not a node and has one child. An opening bracket is followed by the label
/// of the node (`_` if it has none) and then by its word or its children. A word without brackets next to other
/// children is a node without a label. Positions are nodes, with children before their parents, so the root is the last
/// one.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "data/readers/reader_text.h"

namespace unfold {
namespace {

constexpr std::string_view kNoLabel = "_";
constexpr std::size_t kDeepestTree = 1000;

/// A complete node, whose children are also complete.
struct TreeNode {
  std::string_view label, word;  ///< empty: none
  Index parent = -1;
};

/// Parses the text of one tree into nodes. Returns an error message, if any.
class TreeLine {
 public:
  explicit TreeLine(std::string_view line) : rest_(line) {}

  std::optional<std::string> read() {
    for (std::string_view token = next(); !token.empty(); token = next()) {
      if (done_) return fmt::format("\"{}\" after the end of the tree; write one tree per line", token);
      if (std::optional<std::string> wrong = take(token)) return wrong;
    }
    if (!open_.empty())
      return fmt::format("{} bracket{} not closed at the end of the line; close them, and write each tree in one line",
                         open_.size(), open_.size() == 1 ? " is" : "s are");
    if (!done_) return "an empty line instead of a tree; remove it";
    return std::nullopt;
  }
  const std::vector<TreeNode>& nodes() const { return nodes_; }

 private:
  /// A bracket that is not closed yet.
  struct Open {
    std::string_view label;
    std::vector<Index> children = {};
    /// A word without brackets, with no sibling so far: the word of a leaf, or the first child.
    std::string_view word = {};
    bool top = false;  ///< the outermost bracket, without a label
  };

  /// Returns a bracket or a sequence of other characters; empty at the end. Only ASCII blanks separate; other white
  /// space is part of words.
  std::string_view next() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
    const bool bracket = !rest_.empty() && (rest_[0] == '(' || rest_[0] == ')');
    const std::string_view token = rest_.substr(0, bracket ? 1 : rest_.find_first_of(" \t\r\n()"));
    rest_.remove_prefix(token.size());
    return token;
  }

  std::optional<std::string> take(std::string_view token) {
    if (token == "(") return open();
    if (open_.empty())
      return token == ")"
                 ? "a closing bracket without an opening one"
                 : fmt::format("\"{}\" is outside all brackets; a tree looks like (3 (2 The) (4 film))", token);
    if (token == ")") return close();
    Open& node = open_.back();
    place_word(node);
    if (node.children.empty())
      node.word = token;
    else
      node.children.push_back(add({.label = {}, .word = token}));
    return std::nullopt;
  }

  static std::string no_label() {
    return fmt::format("a node has no label; write ({} ...) if it is unknown", kNoLabel);
  }

  std::optional<std::string> open() {
    if (open_.size() == kDeepestTree)
      return fmt::format("the tree is deeper than {} levels; remove it, or flatten it", kDeepestTree);
    const std::string_view before = rest_, label = next();
    if (label == "(" && open_.empty()) {
      rest_ = before;
      open_.push_back({.label = {}, .top = true});
      return std::nullopt;
    }
    if (label.empty() || label == "(" || label == ")") return no_label();
    if (!open_.empty()) place_word(open_.back());
    open_.push_back({.label = label == kNoLabel ? std::string_view() : label});
    return std::nullopt;
  }

  /// Converts a word without brackets that has siblings to a node; nodes are created in the order of the text.
  void place_word(Open& node) {
    if (node.word.empty()) return;
    node.children.push_back(add({.label = {}, .word = node.word}));
    node.word = {};
  }

  std::optional<std::string> close() {
    const Open node = std::move(open_.back());
    open_.pop_back();
    if (node.children.empty() && node.word.empty())
      return fmt::format("an empty node ({}); give it a word, or remove it",
                         node.label.empty() ? kNoLabel : node.label);
    if (node.top && node.children.size() != 1) return no_label();
    if (node.top) {
      done_ = true;
      return std::nullopt;
    }
    const Index me = add({.label = node.label, .word = node.word});
    for (const Index child : node.children) nodes_[at(child)].parent = me;
    if (open_.empty())
      done_ = true;
    else
      open_.back().children.push_back(me);
    return std::nullopt;
  }

  Index add(TreeNode node) {
    nodes_.push_back(node);
    return static_cast<Index>(nodes_.size()) - 1;
  }

  std::string_view rest_;
  std::vector<Open> open_;
  std::vector<TreeNode> nodes_;
  bool done_ = false;
};

bool is_blank(std::string_view line) { return without_blanks(line).empty(); }

/// Iterates over the texts of trees: a line, with the indented lines that follow it while brackets are open.
class TreeTexts {
 public:
  explicit TreeTexts(std::string_view text) : lines_(text), more_(lines_.next()) {}

  bool next() {
    if (!more_) return false;
    number_ = lines_.number();
    text_ = lines_.line();
    Index open = depth_of(text_);
    while ((more_ = lines_.next()) && open > 0 && lines_.line().find_first_of(" \t") == 0 && !is_blank(lines_.line())) {
      open += depth_of(lines_.line());
      const char* end = lines_.line().data() + lines_.line().size();
      text_ = {text_.data(), static_cast<std::size_t>(end - text_.data())};
    }
    return true;
  }
  std::string_view text() const { return text_; }
  Index number() const { return number_; }  ///< number of the first line

 private:
  static Index depth_of(std::string_view line) {
    return std::count(line.begin(), line.end(), '(') - std::count(line.begin(), line.end(), ')');
  }

  ReaderLines lines_;
  bool more_;
  std::string_view text_;
  Index number_ = 0;
};

/// Returns whether the top bracket has no label, as in the Penn Treebank, where empty lines may separate trees.
bool has_bare_top(std::string_view tree) {
  tree = without_blanks(tree);
  return tree.starts_with('(') && without_blanks(tree.substr(1)).starts_with('(');
}

void append_text(ExampleColumn& column, std::string_view text) {
  column.texts.push_back(text);
  mark_entry(column, text.empty());
}

Examples read_trees(const Input& input, const ReaderOptions& options) {
  if (options.whole.end != SequenceEnd::none)
    throw UsageError("--ends requires sequences and does not apply to trees; leave it out");
  const ReaderText text(input);
  Examples examples = text.no_examples();
  ExampleColumn words{.name = "word"}, labels{.name = "label"};
  Index empty = 0;
  for (TreeTexts trees(text.text()); trees.next();) {
    if (is_blank(trees.text())) {
      if (empty == 0) empty = trees.number();
      continue;
    }
    // Empty lines are allowed at the end of the file, and between trees only in the style of the Penn Treebank.
    if (empty > 0 && !has_bare_top(trees.text()))
      throw_data_error(text.source(), empty, "an empty line instead of a tree; remove it");
    empty = 0;
    TreeLine line(trees.text());
    if (const std::optional<std::string> wrong = line.read()) throw_data_error(text.source(), trees.number(), *wrong);
    for (const TreeNode& node : line.nodes()) {
      append_text(words, node.word);
      append_text(labels, node.label);
      examples.parents.push_back(node.parent);
    }
    examples.ends.push_back(words.entries());
    examples.lines.resize(at(words.entries()), trees.number());
    examples.example_lines.push_back(trees.number());
  }
  examples.columns = {std::move(words), std::move(labels)};
  return examples;
}

std::string guess_trees(const DataSample& sample) {
  if (sample.lines.empty()) return {};
  const std::string_view first = sample.lines.front(), last = sample.lines.back();
  const std::string_view text(first.data(), static_cast<std::size_t>(last.data() + last.size() - first.data()));
  Index trees = 0;
  bool lines = false;
  for (TreeTexts texts(text); texts.next();) {
    if (is_blank(texts.text())) continue;
    const bool cut = !sample.whole && texts.text().data() + texts.text().size() == text.data() + text.size();
    if (!texts.text().starts_with('(') || (TreeLine(texts.text()).read() && !(cut && trees > 0))) return {};
    const bool several = texts.text().find('\n') != std::string_view::npos;
    if (several && !has_bare_top(texts.text())) return {};  // as in the source code of some programming languages
    lines = lines || several;
    ++trees;
  }
  if (trees == 0) return {};
  return lines ? "bracketed trees over several lines" : "one bracketed tree per line";
}

}  // namespace

ReaderEntry trees_reader() {
  return {.name = "trees",
          .help =
              "one tree per line, (LABEL (LABEL word) (LABEL word)): labels at all nodes, words at the leaves; Penn "
              "Treebank",
          .guess = guess_trees,
          .read = read_trees};
}

}  // namespace unfold
