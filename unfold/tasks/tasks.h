#pragma once
/// Tasks: sequences of symbols or vectors with something to predict: a value or a class at the end, or a symbol at
/// every step. The pathological problems of Hochreiter & Schmidhuber, "Long short-term memory" (1997), as Martens &
/// Sutskever, "Learning recurrent neural networks with Hessian-free optimization" (2011) use them; copying (Arjovsky et
/// al. 2016); MNIST pixel by pixel (Le et al. 2015).
///
///   auto task = adding({.length = 100});
///   Example example;
///   task->example(TaskSplit::training, seed, 17, example);       // number 17 of an endless row
///
/// An example is a function of (part, seed, number). The targets of generated tasks follow from the inputs, so a
/// perfect model has error 0 (and needs 0 bits per prediction).

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"
#include "unfold/numerics/random.h"

namespace unfold {

enum class TaskSplit { training, validation, test };

struct TaskShape {
  Index inputs = 0;   ///< size of the vector read at each step, or of the alphabet
  Index outputs = 0;  ///< size of the vector predicted, or number of classes
  bool reads_symbols = false, predicts_symbols = false;
  bool operator==(const TaskShape&) const = default;
};

/// One sequence. Of each pair, symbols or values, the shape says which is filled.
struct Example {
  Index length = 0;
  std::vector<Symbol> symbols;         ///< [length]
  std::vector<float> values;           ///< [length x inputs]
  std::vector<Symbol> target_symbols;  ///< [length], kNoSymbol where nothing is to be predicted
  std::vector<float> target_values;    ///< [length x outputs], NaN where nothing is to be predicted
};

class Task {
 public:
  virtual ~Task() = default;
  virtual std::string_view name() const = 0;
  virtual TaskShape shape() const = 0;
  /// Steps of every example.
  virtual Index length() const = 0;
  /// For a curriculum: the fewest steps the task makes sense with, and the same task with so many, from shortest() to
  /// length(). shortened() throws UsageError where examples have one length only.
  virtual Index shortest() const { return length(); }
  virtual std::unique_ptr<Task> shortened(Index steps) const;
  /// The last so many steps decide whether a sequence is right: every class there must be the most probable one, every
  /// value within a squared error of kTolerance.
  virtual Index judged_steps() const { return 1; }
  /// Whether one thing is predicted for all of a sequence, at its last step: then models may pool what they read of it.
  virtual bool predicts_once() const { return false; }
  static constexpr double kTolerance = 0.04;
  /// Entropy of what is to be predicted, given all that was read, in bits per prediction.
  virtual double bits_per_prediction() const { return 0; }
  /// Examples of a part; 0: no end.
  virtual Index examples(TaskSplit) const { return 0; }
  /// So many, or all that there are.
  Index at_most(TaskSplit part, Index count) const {
    const Index all = examples(part);
    return all > 0 ? std::min(all, count) : count;
  }
  /// REQUIRES number below examples(part), where there is an end.
  virtual void example(TaskSplit part, std::uint64_t seed, Index number, Example& out) const = 0;
  /// The same example of the training part as training reads it in a pass over the part, counted from 0: tasks that
  /// move what they show move it anew in each. A function of all four.
  virtual void in_pass(Index /*pass*/, std::uint64_t seed, Index number, Example& out) const {
    example(TaskSplit::training, seed, number, out);
  }
};

std::string_view to_string(TaskSplit part);

struct LengthOptions {
  Index length = 100;  ///< steps, T
};
// Pairs (u, mark): two of T steps are marked, one in each half. Target at the end: the sum of the two u, uniform on
// [0, 1) (constant 1 has a mean squared error of 1/6); their product; the exclusive or of two bits. Throw UsageError
// for a length below 2.
std::unique_ptr<Task> adding(const LengthOptions& options = {});
std::unique_ptr<Task> multiplication(const LengthOptions& options = {});
std::unique_ptr<Task> marked_xor(const LengthOptions& options = {});

/// T symbols, four of the six without meaning. A or B stand at 2 (3) places, in the second and sixth (second, fourth
/// and seventh) tenth of the sequence; the class at the end is which stood where, 4 (8) classes. UsageError for T
/// below 10.
struct TemporalOrderOptions {
  Index length = 100;
  Index bits = 2;
};
std::unique_ptr<Task> temporal_order(const TemporalOrderOptions& options = {});

/// The first of T symbols is one of two, the others are random among 98 more; the symbol after the last is the first
/// once again. With `every_step` the random ones are to be predicted too (log2 98 = 6.61 bits each). UsageError for T
/// below 2.
struct PermutationOptions {
  Index length = 100;
  bool every_step = false;
};
std::unique_ptr<Task> random_permutation(const PermutationOptions& options = {});

/// P symbols of K are shown, T - 1 blanks and a cue follow, then the P are to be repeated; blanks are predicted until
/// then. Noiseless memorisation: 5 bits (P 5, K 2) and 20 bits (P 10, K 5); copying: P 10, K 8. Throws UsageError.
struct MemorizationOptions {
  Index length = 100;  ///< T
  Index bits = 5;      ///< 5 or 20
};
std::unique_ptr<Task> memorization(const MemorizationOptions& options = {});
struct CopyOptions {
  Index length = 100;
  Index pattern = 10, symbols = 8;  ///< P, K
};
std::unique_ptr<Task> copying(const CopyOptions& options = {});

/// The digits of MNIST, 784 grey levels from 0 to 1 one at a time, 10 classes at the end. `folder` holds the four IDX
/// files, which may end in .gz. The last 5000 training images are the validation part. `permuted`: in one fixed random
/// order of the pixels. `shift`: training moves each image by up to so many pixels down and to the right, or up and to
/// the left, drawn anew in each pass; what comes in at the edge is black. Throws DataError; UsageError for a shift that
/// may move an image out of sight.
struct MnistOptions {
  bool permuted = false;
  Index shift = 0;
};
std::unique_ptr<Task> sequential_mnist(const std::string& folder, const MnistOptions& options = {});

}  // namespace unfold
