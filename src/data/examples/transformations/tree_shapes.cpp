#include "data/examples/transformations/tree_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/options/suggestions.h"
#include "data/examples/mark_entry.h"
#include "data/files/line_parts.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr Index kMostLevels = 1000;
constexpr Index kNobody = -1;  // marks a missing position

/// The nodes of one tree in their new order.
struct Reshaped {
  std::vector<Index> from = {};     ///< the position whose entries a node has, or kNobody
  std::vector<Index> parents = {};  ///< parents, by index within the tree; kNobody for the root
};

Index line_of(const Examples& examples, Index position) {
  return examples.lines.empty() ? 0 : examples.lines[at(position)];
}

/// A tree in which every inner node has two children.
class BinaryTree {
 public:
  BinaryTree(TreeShape shape, std::vector<Index> leaves) : shape_(shape), leaves_(std::move(leaves)) {
    shape == TreeShape::found ? merge_from_the_left() : (void)add(0, static_cast<Index>(leaves_.size()));
  }
  Reshaped take() { return std::move(tree_); }

 private:
  Index add(Index begin, Index end) {
    if (end - begin == 1) return push(leaves_[at(begin)]);
    const Index middle = shape_ == TreeShape::left    ? end - 1
                         : shape_ == TreeShape::right ? begin + 1
                                                      : begin + (end - begin + 1) / 2;
    const Index left = add(begin, middle), right = add(middle, end), me = push(kNobody);
    tree_.parents[at(left)] = tree_.parents[at(right)] = me;
    return me;
  }
  void merge_from_the_left() {
    for (const Index leaf : leaves_) push(leaf);
    Index left = 0;
    for (Index right = 1; right < static_cast<Index>(leaves_.size()); ++right) {
      const Index me = push(kNobody);
      tree_.parents[at(left)] = tree_.parents[at(right)] = me;
      left = me;
    }
  }
  Index push(Index from) {
    tree_.from.push_back(from);
    tree_.parents.push_back(kNobody);
    return static_cast<Index>(tree_.from.size()) - 1;
  }

  TreeShape shape_;
  std::vector<Index> leaves_;
  Reshaped tree_;
};

std::vector<Index> leaves_of(const Examples& examples, Index example) {
  const Index begin = examples.begin(example), end = examples.end(example);
  std::vector<char> inner(at(end - begin));
  for (Index p = begin; p < end && examples.are_trees(); ++p)
    if (const Index parent = examples.parents[at(p)]; parent >= 0) inner[at(parent)] = 1;
  std::vector<Index> leaves;
  for (Index p = begin; p < end; ++p)
    if (inner[at(p - begin)] == 0) leaves.push_back(p);
  return leaves;
}

/// The words of a sentence as a tree, defined by their heads.
class HeadedSentence {
 public:
  HeadedSentence(const Examples& examples, Index example)
      : examples_(examples), begin_(examples.begin(example)), size_(examples.length(example)) {
    const ExampleColumn &ids = examples.column("id"), &heads = examples.column("head");
    std::map<std::string, Index, std::less<>> places;
    for (Index i = 0; i < size_; ++i) places.emplace(ids.texts[begin_ + i], i);
    children_.resize(at(size_));
    Index root = kNobody;
    for (Index i = 0; i < size_; ++i) {
      const std::string_view head = heads.texts[begin_ + i];
      if (head == "0") {
        if (root != kNobody) refuse(i, "a second word has head 0, but a sentence has only one root");
        root = i;
        continue;
      }
      const auto found = places.find(head);
      if (head.empty() || found == places.end())
        refuse(i, fmt::format("its head is \"{}\", which is not the id of a word of the sentence", head));
      children_[at(found->second)].push_back(i);
    }
    if (root == kNobody) refuse(0, "no word of this sentence has head 0, so it has no root");
    add(root, 1);
    if (static_cast<Index>(tree_.from.size()) != size_)
      refuse(0, "the heads of some words of this sentence form a cycle without a root");
  }
  Reshaped take() { return std::move(tree_); }

 private:
  [[noreturn]] void refuse(Index word, const std::string& what) const {
    throw_data_error(examples_.source, line_of(examples_, begin_ + word),
                     what + "; correct it, or remove the sentence");
  }
  /// Adds the children in the order of the words, then their head.
  Index add(Index word, Index level) {
    if (level > kMostLevels) refuse(word, fmt::format("the tree is deeper than {} levels", kMostLevels));
    std::vector<Index> below;
    for (const Index child : children_[at(word)]) below.push_back(add(child, level + 1));
    const auto me = static_cast<Index>(tree_.from.size());
    tree_.from.push_back(begin_ + word);
    tree_.parents.push_back(kNobody);
    for (const Index child : below) tree_.parents[at(child)] = me;
    return me;
  }

  const Examples& examples_;
  Index begin_, size_;
  std::vector<std::vector<Index>> children_;
  Reshaped tree_;
};

/// Rearranges one column by nodes; `roots`: the position of the label of each root.
ExampleColumn reshaped(const ExampleColumn& column, const std::vector<Reshaped>& trees,
                       const std::vector<Index>& roots) {
  ExampleColumn result{.name = column.name,
                       .width = column.width,
                       .characters = column.characters,
                       .parts = column.parts,
                       .classes = column.classes,
                       .clash = column.clash};
  const auto add = [&](Index from) {
    const bool there = from != kNobody && column.present(from);
    if (column.is_text())
      result.texts.push_back(there ? column.texts[from] : std::string_view());
    else
      for (Index i = 0; i < column.width; ++i)
        result.numbers.push_back(there ? column.numbers[at(from * column.width + i)] : 0);
    mark_entry(result, !there);
  };
  for (std::size_t e = 0; e < trees.size(); ++e)
    for (std::size_t v = 0; v < trees[e].from.size(); ++v) {
      const bool root = v + 1 == trees[e].from.size() && roots[e] != kNobody && column.present(roots[e]);
      add(root ? roots[e] : trees[e].from[v]);
    }
  return result;
}

void require_shape_fits(TreeShape shape, const Examples& examples) {
  for (const ExampleColumn& column : examples.columns)
    if (column.source) throw UsageError("--trees does not apply to sources and targets; leave it out");
  if (shape != TreeShape::heads) return;
  for (const char* name : {"id", "head"})
    if (const ExampleColumn* column = examples.find(name); column == nullptr || !column->is_text() || column->once)
      throw UsageError(fmt::format("--trees heads requires CoNLL-U, with ids and heads of words: {} has no {}",
                                   examples.source, name));
}

}  // namespace

TreeShape parse_tree_shape(std::string_view name) {
  static const std::vector<std::pair<std::string, TreeShape>> all = {{"heads", TreeShape::heads},
                                                                     {"balanced", TreeShape::balanced},
                                                                     {"left", TreeShape::left},
                                                                     {"right", TreeShape::right},
                                                                     {"found", TreeShape::found}};
  std::vector<std::string> names;
  for (const auto& [known, shape] : all) {
    if (known == name) return shape;
    names.push_back(known);
  }
  throw UsageError(
      fmt::format("--trees {}: expected heads, balanced, left, right or found{}", name, did_you_mean(name, names)));
}

void make_trees(TreeShape shape, Examples& examples) {
  if (shape == TreeShape::given) return;
  require_shape_fits(shape, examples);
  std::vector<Reshaped> trees;
  std::vector<Index> roots;
  Examples result{.source = examples.source,
                  .example_lines = examples.example_lines,
                  .found = shape == TreeShape::found,
                  .remarks = examples.remarks};
  for (Index e = 0; e < examples.count(); ++e) {
    if (shape == TreeShape::heads) {
      trees.push_back(HeadedSentence(examples, e).take());
    } else {
      std::vector<Index> leaves = leaves_of(examples, e);
      if (shape != TreeShape::balanced && static_cast<Index>(leaves.size()) > kMostLevels)
        throw_data_error(examples.source, line_of(examples, examples.begin(e)),
                         fmt::format("{} leaves give a tree deeper than {} levels; use --trees balanced", leaves.size(),
                                     kMostLevels));
      trees.push_back(BinaryTree(shape, std::move(leaves)).take());
    }
    const Reshaped& tree = trees.back();
    roots.push_back(examples.are_trees() ? examples.end(e) - 1 : kNobody);
    result.parents.insert(result.parents.end(), tree.parents.begin(), tree.parents.end());
    result.ends.push_back(static_cast<Index>(result.parents.size()));
    for (const Index from : tree.from)
      if (!examples.lines.empty())
        result.lines.push_back(line_of(examples, from == kNobody ? examples.begin(e) : from));
  }
  for (const ExampleColumn& column : examples.columns) {
    const bool structure = column.name == "id" || column.name == "head" || column.name == "deps";
    if (shape == TreeShape::heads && structure) continue;
    result.columns.push_back(column.once ? column : reshaped(column, trees, roots));
  }
  examples = std::move(result);
}

}  // namespace unfold
