#include "data/tasks/tree_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {

template <class Visitor>
void describe(Visitor& v, ArithmeticOptions& o) {
  v("depth", o.depth, "maximum nesting of operators", range(1, 12));
  v("modulus", o.modulus, "modulus: values are 0 to modulus - 1", range(2, 100));
  v("stop", o.stop, "probability that an operand is a number instead of an expression", range(0, 1));
  v("roots", o.roots, "label only the root");
  v("brackets", o.brackets, "adds the words [ and ] around every operator and its operands");
}

namespace {

constexpr std::string_view kTreeMain = "depth";

struct TreeTaskEntry : Entry {};

const Registry<TreeTaskEntry>& registry_of_trees() {
  static const Registry<TreeTaskEntry> list(
      "task", {{{"arithmetic", "bracketed expressions and their values, as trees", ArithmeticOptions()}}});
  return list;
}

class Arithmetic {
 public:
  Arithmetic(const ArithmeticOptions& options, std::uint64_t seed)
      : options_(options), random_(seed, "task/arithmetic") {}

  /// Appends an expression with up to `levels` nested operators and returns its value.
  Index append(Index levels, bool root, GeneratedTrees& out) {
    const std::size_t begin = out.text.size();
    if (levels == 0 || (!root && random_.uniform() < options_.stop)) {
      const Index value = draw(options_.modulus);
      close(begin, value, root, fmt::format("{}", value), out);
      return value;
    }
    bracket("(_ [) ", out);
    const Index left = append(levels - 1, false, out);
    const auto which = static_cast<std::size_t>(draw(static_cast<Index>(kOperators.size())));
    out.text += fmt::format(" (_ {}) ", kOperators[which]);
    ++out.nodes;
    const Index right = append(levels - 1, false, out);
    bracket(" (_ ])", out);
    const Index value = apply(which, left, right);
    close(begin, value, root, "", out);
    return value;
  }

 private:
  static constexpr std::array<std::string_view, 5> kOperators = {"+", "-", "*", "max", "min"};

  void bracket(std::string_view leaf, GeneratedTrees& out) const {
    if (!options_.brackets) return;
    out.text += leaf;
    ++out.nodes;
  }

  Index draw(Index n) { return static_cast<Index>(random_.below(static_cast<std::uint64_t>(n))); }

  Index apply(std::size_t which, Index a, Index b) const {
    const Index m = options_.modulus,
                values[] = {(a + b) % m, (a - b + m) % m, a * b % m, std::max(a, b), std::min(a, b)};
    return values[which];
  }

  /// Puts brackets and the label around the text written since `begin`.
  void close(std::size_t begin, Index value, bool root, const std::string& word, GeneratedTrees& out) {
    const bool labeled = root || !options_.roots;
    ++out.nodes;
    out.labels += labeled ? 1 : 0;
    out.text.insert(begin, labeled ? fmt::format("({} ", value) : std::string("(_ "));
    out.text += word + ")";
  }

  ArithmeticOptions options_;
  Random random_;
};

}  // namespace

bool is_tree_task(std::string_view spec) { return registry_of_trees().find(parse_spec(spec).name) != nullptr; }

GeneratedTrees generate_trees(std::string_view text, std::uint64_t seed, Index count) {
  const Spec spec = parse_spec(text);
  AnyOptions options = registry_of_trees().get(spec.name).options;
  parse_options(spec, options, kTreeMain);
  Arithmetic arithmetic(options.as<ArithmeticOptions>(), seed);
  GeneratedTrees result;
  for (Index i = 0; i < count; ++i) {
    std::string all = std::move(result.text);
    result.text.clear();
    arithmetic.append(options.as<ArithmeticOptions>().depth, true, result);
    result.text = std::move(all) + result.text + "\n";
  }
  return result;
}

std::vector<EntryHelp> tree_tasks() { return registry_of_trees().help(); }

}  // namespace unfold
