/// The format `trees`: bracketed trees, one per line, such as "(3 (2 The) (4 film))" in the Stanford Sentiment
/// Treebank. An opening bracket is followed by the label of the node (`_` if it has none) and then by its word or its
/// children. A word without brackets next to other children is a node without a label. Positions are nodes, with
/// children before their parents, so the root is the last one.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "data/readers/reader_text.h"

namespace unfold {
namespace {

constexpr std::string_view kNoLabel = "_";
constexpr std::size_t kDeepestTree = 1000;

/// A complete node; its children are complete too.
struct TreeNode {
  std::string_view label, word;  ///< empty: none
  Index parent = -1;
};

/// Parses one line into nodes. Returns an error message, if any.
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
  };

  /// Returns a bracket or a sequence of other characters; empty at the end. Only ASCII blanks separate; other white
  /// space is part of words.
  std::string_view next() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r"), rest_.size()));
    const bool bracket = !rest_.empty() && (rest_[0] == '(' || rest_[0] == ')');
    const std::string_view token = rest_.substr(0, bracket ? 1 : rest_.find_first_of(" \t\r()"));
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

  std::optional<std::string> open() {
    if (open_.size() == kDeepestTree)
      return fmt::format("the tree is deeper than {} levels; remove it, or flatten it", kDeepestTree);
    const std::string_view label = next();
    if (label.empty() || label == "(" || label == ")")
      return fmt::format("a node without a label; write ({} ...) if it is unknown", kNoLabel);
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

void append_text(ExampleColumn& column, std::string_view text) {
  column.texts.emplace_back(text);
  mark_entry(column, text.empty());
}

Examples read_trees(const Input& input, const ReaderOptions& options) {
  if (options.whole.end != SequenceEnd::none)
    throw UsageError("--ends requires sequences and does not apply to trees; leave it out");
  const ReaderText text(input);
  Examples examples = text.no_examples();
  ExampleColumn words{.name = "word"}, labels{.name = "label"};
  Index empty = 0;
  for (ReaderLines lines(text.text()); lines.next();) {
    if (is_blank(lines.line())) {
      if (empty == 0) empty = lines.number();
      continue;
    }
    // Empty lines are allowed at the end of the file, not between trees.
    if (empty > 0) throw_data_error(text.source(), empty, "an empty line instead of a tree; remove it");
    TreeLine line(lines.line());
    if (const std::optional<std::string> wrong = line.read()) throw_data_error(text.source(), lines.number(), *wrong);
    for (const TreeNode& node : line.nodes()) {
      append_text(words, node.word);
      append_text(labels, node.label);
      examples.parents.push_back(node.parent);
    }
    examples.ends.push_back(words.entries());
    examples.lines.resize(at(words.entries()), lines.number());
    examples.example_lines.push_back(lines.number());
  }
  examples.columns = {std::move(words), std::move(labels)};
  return examples;
}

std::string guess_trees(const DataSample& sample) {
  Index trees = 0;
  for (const std::string_view line : sample.lines) {
    if (is_blank(line)) continue;
    if (!line.starts_with('(') || TreeLine(line).read()) return {};
    ++trees;
  }
  return trees > 0 ? "one bracketed tree per line" : std::string();
}

}  // namespace

ReaderEntry trees_reader() {
  return {.name = "trees",
          .help = "one tree per line, (LABEL (LABEL word) (LABEL word)): labels at all nodes, words at the leaves",
          .guess = guess_trees,
          .read = read_trees};
}

}  // namespace unfold
