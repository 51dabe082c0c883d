#include "unfold/data/tasks/tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();

Index draw(Random& random, Index n) { return static_cast<Index>(random.below(static_cast<std::uint64_t>(n))); }

void require_length(const char* task, Index length, Index least) {
  if (length < least) throw UsageError(fmt::format("{}: length {}: must be at least {} steps", task, length, least));
}

/// A task whose examples are generated, each from a separate random stream.
class Generated : public Task {
 public:
  void example(TaskSplit part, std::uint64_t seed, Index number, Example& out) const final {
    Random random(seed,
                  stream_of(fmt::format("task/{}/{}", name(), to_string(part))) + static_cast<std::uint64_t>(number));
    const TaskShape s = shape();
    out.length = length();
    out.symbols.assign(s.reads_symbols ? at(out.length) : 0, 0);
    out.values.assign(s.reads_symbols ? 0 : at(out.length * s.inputs), 0);
    out.target_symbols.assign(s.predicts_symbols ? at(out.length) : 0, kNoSymbol);
    out.target_values.assign(s.predicts_symbols ? 0 : at(out.length * s.outputs), kNothing);
    fill(random, out);
  }

 protected:
  virtual void fill(Random& random, Example& out) const = 0;
};

class Marked final : public Generated {
 public:
  enum class Kind { sum, product, exclusive_or };
  Marked(Kind kind, const char* name, const LengthOptions& options)
      : kind_(kind), name_(name), length_(options.length) {
    require_length(name, length_, kShortest);
  }
  std::string_view name() const override { return name_; }
  TaskShape shape() const override { return {.inputs = 2, .outputs = 1}; }
  Index length() const override { return length_; }
  Index shortest() const override { return kShortest; }
  std::unique_ptr<Task> shortened(Index steps) const override {
    return std::make_unique<Marked>(kind_, name_, LengthOptions{steps});
  }
  bool predicts_once() const override { return true; }

 private:
  static constexpr Index kShortest = 2;

  void fill(Random& random, Example& out) const override {
    const Index half = length_ / 2, first = draw(random, half), second = half + draw(random, length_ - half);
    for (Index t = 0; t < length_; ++t) {
      out.values[at(2 * t)] =
          kind_ == Kind::exclusive_or ? static_cast<float>(random.below(2)) : static_cast<float>(random.uniform());
      out.values[at(2 * t + 1)] = t == first || t == second ? 1.0F : 0.0F;
    }
    const float a = out.values[at(2 * first)], b = out.values[at(2 * second)];
    out.target_values.back() = kind_ == Kind::sum ? a + b : kind_ == Kind::product ? a * b : a != b ? 1.0F : 0.0F;
  }

  Kind kind_;
  const char* name_;
  Index length_;
};

class TemporalOrder final : public Generated {
 public:
  explicit TemporalOrder(const TemporalOrderOptions& options) : options_(options) {
    require_length("temporal-order", options.length, kShortest);
    if (options.bits != 2 && options.bits != 3)
      throw UsageError(fmt::format("temporal-order: bits must be 2 or 3, not {}", options.bits));
  }
  std::string_view name() const override { return "temporal-order"; }
  TaskShape shape() const override {
    return {.inputs = 6, .outputs = Index{1} << options_.bits, .reads_symbols = true, .predicts_symbols = true};
  }
  Index length() const override { return options_.length; }
  Index shortest() const override { return kShortest; }
  std::unique_ptr<Task> shortened(Index steps) const override {
    return std::make_unique<TemporalOrder>(TemporalOrderOptions{steps, options_.bits});
  }
  bool predicts_once() const override { return true; }

 private:
  static constexpr Index kShortest = 10;

  void fill(Random& random, Example& out) const override {
    static constexpr Index kTenths[2][3] = {{1, 5, 0}, {1, 3, 6}};
    for (Symbol& symbol : out.symbols) symbol = static_cast<Symbol>(2 + draw(random, 4));
    Symbol answer = 0;
    for (Index i = 0; i < options_.bits; ++i) {
      const Index tenth = kTenths[options_.bits - 2][i];
      const Index begin = tenth * length() / 10, end = (tenth + 1) * length() / 10;
      const auto symbol = static_cast<Symbol>(random.below(2));
      out.symbols[at(begin + draw(random, end - begin))] = symbol;
      answer = static_cast<Symbol>(2 * answer + symbol);
    }
    out.target_symbols.back() = answer;
  }

  TemporalOrderOptions options_;
};

class RandomPermutation final : public Generated {
 public:
  explicit RandomPermutation(const PermutationOptions& options) : options_(options) {
    require_length("permutation", options.length, kShortest);
  }
  std::string_view name() const override { return "permutation"; }
  TaskShape shape() const override {
    return {.inputs = 100, .outputs = 100, .reads_symbols = true, .predicts_symbols = true};
  }
  Index length() const override { return options_.length; }
  Index shortest() const override { return kShortest; }
  std::unique_ptr<Task> shortened(Index steps) const override {
    return std::make_unique<RandomPermutation>(PermutationOptions{steps, options_.every_step});
  }
  bool predicts_once() const override { return !options_.every_step; }
  double bits_per_prediction() const override {
    constexpr double kLog2Of98 = 6.614709844115208;
    return options_.every_step ? kLog2Of98 * static_cast<double>(length() - 1) / static_cast<double>(length()) : 0;
  }

 private:
  static constexpr Index kShortest = 2;

  void fill(Random& random, Example& out) const override {
    for (Symbol& symbol : out.symbols) symbol = static_cast<Symbol>(2 + draw(random, 98));
    out.symbols.front() = static_cast<Symbol>(random.below(2));
    if (options_.every_step) std::copy(out.symbols.begin() + 1, out.symbols.end(), out.target_symbols.begin());
    out.target_symbols.back() = out.symbols.front();
  }

  PermutationOptions options_;
};

class Recall final : public Generated {
 public:
  Recall(const char* name, Index delay, Index pattern, Index symbols)
      : name_(name), delay_(delay), pattern_(pattern), symbols_(symbols) {
    require_length(name, delay, 1);
    if (pattern < 1 || symbols < 2)
      throw UsageError(
          fmt::format("{}: a pattern of {} symbols out of {} is too small; use at least 1 symbol out of at least 2",
                      name, pattern, symbols));
  }
  std::string_view name() const override { return name_; }
  TaskShape shape() const override {
    return {.inputs = symbols_ + 2, .outputs = symbols_ + 1, .reads_symbols = true, .predicts_symbols = true};
  }
  Index length() const override { return 2 * pattern_ + delay_; }
  Index shortest() const override { return 2 * pattern_ + 1; }
  std::unique_ptr<Task> shortened(Index steps) const override {
    return std::make_unique<Recall>(name_, steps - 2 * pattern_, pattern_, symbols_);
  }
  Index scored_steps() const override { return pattern_; }

 private:
  void fill(Random& random, Example& out) const override {
    const auto blank = static_cast<Symbol>(symbols_), cue = static_cast<Symbol>(symbols_ + 1);
    std::fill(out.symbols.begin(), out.symbols.end(), blank);
    std::fill(out.target_symbols.begin(), out.target_symbols.end(), blank);
    out.symbols[at(pattern_ + delay_ - 1)] = cue;
    for (Index i = 0; i < pattern_; ++i)
      out.target_symbols[at(pattern_ + delay_ + i)] = out.symbols[at(i)] = static_cast<Symbol>(draw(random, symbols_));
  }

  const char* name_;
  Index delay_, pattern_, symbols_;
};

}  // namespace

std::string_view to_string(TaskSplit part) {
  switch (part) {
    case TaskSplit::training: return "training";
    case TaskSplit::validation: return "validation";
    case TaskSplit::test: break;
  }
  return "test";
}

std::unique_ptr<Task> Task::shortened(Index) const {
  throw UsageError(fmt::format(
      "{}: its examples have a fixed length, so it does not support a curriculum; leave out --curriculum", name()));
}

std::unique_ptr<Task> adding(const LengthOptions& options) {
  return std::make_unique<Marked>(Marked::Kind::sum, "adding", options);
}

std::unique_ptr<Task> multiplication(const LengthOptions& options) {
  return std::make_unique<Marked>(Marked::Kind::product, "multiplication", options);
}

std::unique_ptr<Task> marked_xor(const LengthOptions& options) {
  return std::make_unique<Marked>(Marked::Kind::exclusive_or, "marked-xor", options);
}

std::unique_ptr<Task> temporal_order(const TemporalOrderOptions& options) {
  return std::make_unique<TemporalOrder>(options);
}

std::unique_ptr<Task> random_permutation(const PermutationOptions& options) {
  return std::make_unique<RandomPermutation>(options);
}

std::unique_ptr<Task> memorization(const MemorizationOptions& options) {
  if (options.bits != 5 && options.bits != 20)
    throw UsageError(fmt::format("memorization: bits must be 5 or 20, not {}", options.bits));
  const bool five = options.bits == 5;
  return std::make_unique<Recall>("memorization", options.length, five ? 5 : 10, five ? 2 : 5);
}

std::unique_ptr<Task> copying(const CopyOptions& options) {
  return std::make_unique<Recall>("copy", options.length, options.pattern, options.symbols);
}

}  // namespace unfold
