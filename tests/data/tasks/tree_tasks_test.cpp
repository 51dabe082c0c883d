#include "data/tasks/tree_tasks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <sstream>

#include "unfold/base/error.h"

namespace unfold {
namespace {

/// Reads an expression, evaluates it again and compares it with its label. Returns its value.
class Reader {
 public:
  Reader(const std::string& line, Index modulus, bool roots, bool brackets)
      : text_(line), modulus_(modulus), roots_(roots), brackets_(brackets) {}

  Index value(bool root = true) {
    expect('(');
    const std::string label = token();
    Index result = 0;
    if (text_[place_] != '(') {
      result = std::stol(token());
    } else {
      if (brackets_) expect_all("(_ [) ");
      const Index left = value(false);
      expect(' '), expect('('), expect('_');
      const std::string op = (++place_, token());
      expect(')'), expect(' ');
      const Index right = value(false);
      if (brackets_) expect_all(" (_ ])");
      const Index m = modulus_;
      result = op == "+"     ? (left + right) % m
               : op == "-"   ? ((left - right) % m + m) % m
               : op == "*"   ? left * right % m
               : op == "max" ? std::max(left, right)
                             : std::min(left, right);
      ++operators;
    }
    expect(')');
    EXPECT_EQ(label, roots_ && !root ? "_" : std::to_string(result)) << text_;
    return result;
  }
  Index operators = 0;

 private:
  void expect(char c) { EXPECT_EQ(text_.at(place_++), c) << text_ << " at " << place_; }
  void expect_all(std::string_view text) {
    for (const char c : text) expect(c);
  }
  /// Reads up to a blank, which is consumed, or a bracket.
  std::string token() {
    const std::size_t end = text_.find_first_of(" )", place_);
    const std::string found = text_.substr(place_, end - place_);
    place_ = end + (text_[end] == ' ' ? 1 : 0);
    return found;
  }
  std::string text_;
  std::size_t place_ = 0;
  Index modulus_;
  bool roots_, brackets_;
};

TEST(ArithmeticTrees, arithmetic_trees_evaluate_to_their_labels) {
  for (const bool roots : {false, true})
    for (const Index modulus : {10, 3}) {
      const bool brackets = roots == (modulus == 3);
      const auto spec = "arithmetic:depth=4,modulus=" + std::to_string(modulus) + (roots ? ",roots=true" : "") +
                        (brackets ? ",brackets=true" : "");
      std::istringstream text(generate_trees(spec, 7, 200).text);
      Index lines = 0, operators = 0;
      for (std::string line; std::getline(text, line); ++lines) {
        Reader reader(line, modulus, roots, brackets);
        EXPECT_LT(reader.value(), modulus);
        EXPECT_LE(reader.operators, 15);
        operators += reader.operators;
      }
      EXPECT_EQ(lines, 200);
      EXPECT_GT(operators, 200 * 5);
    }
}

TEST(ArithmeticTrees, arithmetic_trees_count_nodes_and_labels_and_depend_on_the_seed) {
  const GeneratedTrees made = generate_trees("arithmetic:2", 1, 50);
  EXPECT_EQ(made.nodes, std::ranges::count(made.text, '('));
  EXPECT_EQ(made.nodes - made.labels, std::ranges::count(made.text, '_'));
  EXPECT_EQ(generate_trees("arithmetic:2", 1, 50).text, made.text);
  EXPECT_NE(generate_trees("arithmetic:2", 2, 50).text, made.text);
  EXPECT_EQ(generate_trees("arithmetic:2,roots=true", 1, 50).labels, 50);
  const GeneratedTrees in_brackets = generate_trees("arithmetic:2,brackets=true", 1, 50);
  EXPECT_EQ(in_brackets.nodes, std::ranges::count(in_brackets.text, '('));
  EXPECT_EQ(in_brackets.labels, made.labels);
}

TEST(ArithmeticTrees, invalid_arithmetic_options_are_rejected) {
  for (const char* spec : {"arithmetic:0", "arithmetic:modulus=1", "arithmetic:stop=2", "arithmetic:deep=3"})
    EXPECT_THROW(generate_trees(spec, 1, 1), UsageError) << spec;
  EXPECT_TRUE(is_tree_task("arithmetic:3"));
  EXPECT_FALSE(is_tree_task("adding"));
}

}  // namespace
}  // namespace unfold
