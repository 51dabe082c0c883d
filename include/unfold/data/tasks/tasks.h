#pragma once
/// Synthetic tasks and MNIST: sequences of symbols or vectors with a target, which is a value or a class at the end, or
/// a symbol at every step. They include the pathological problems of Hochreiter & Schmidhuber, "Long short-term memory"
/// (1997), as used by Martens & Sutskever, "Learning recurrent neural networks with Hessian-free optimization" (2011);
/// copying (Arjovsky et al. 2016); MNIST pixel by pixel (Le et al. 2015).
///
///   auto task = adding({.length = 100});
///   Example example;
///   task->example(TaskSplit::training, seed, 17, example);       // example 17 of an unlimited sequence
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
  Index inputs = 0;   ///< size of the input vector at each step, or of the alphabet
  Index outputs = 0;  ///< size of the target vector, or number of classes
  bool reads_symbols = false, predicts_symbols = false;
  bool operator==(const TaskShape&) const = default;
};

/// One sequence. The shape of the task determines whether symbols or values are filled in.
struct Example {
  Index length = 0;
  std::vector<Symbol> symbols;         ///< [length]
  std::vector<float> values;           ///< [length x inputs]
  std::vector<Symbol> target_symbols;  ///< [length], kNoSymbol where there is no target
  std::vector<float> target_values;    ///< [length x outputs], NaN where there is no target
};

class Task {
 public:
  virtual ~Task() = default;
  virtual std::string_view name() const = 0;
  virtual TaskShape shape() const = 0;
  /// Returns the number of steps of every example.
  virtual Index length() const = 0;
  /// For a curriculum: shortest() returns the smallest meaningful number of steps, and shortened() this task with
  /// `steps` steps, a number from shortest() to length(). shortened() throws UsageError if the length is fixed.
  virtual Index shortest() const { return length(); }
  virtual std::unique_ptr<Task> shortened(Index steps) const;
  /// Returns the number of final steps that decide whether a sequence is correct: every class there must be the most
  /// probable one, and every value must be within a squared error of kTolerance.
  virtual Index scored_steps() const { return 1; }
  /// Returns whether there is a single target per sequence, at its last step; models may then pool over the sequence.
  virtual bool predicts_once() const { return false; }
  static constexpr double kTolerance = 0.04;
  /// Entropy of the target given the inputs so far, in bits per prediction.
  virtual double bits_per_prediction() const { return 0; }
  /// Returns the number of examples of a part; 0: unlimited.
  virtual Index examples(TaskSplit) const { return 0; }
  /// Returns the smaller of `count` and the number of examples.
  Index at_most(TaskSplit part, Index count) const {
    const Index all = examples(part);
    return all > 0 ? std::min(all, count) : count;
  }
  /// REQUIRES number < examples(part) if the part is limited.
  virtual void example(TaskSplit part, std::uint64_t seed, Index number, Example& out) const = 0;
  /// Sets `out` to an example of the training part in epoch `pass`, counted from 0: tasks with data augmentation
  /// transform it differently in each epoch. The example is a function of the epoch, the seed and the number.
  virtual void in_pass(Index /*pass*/, std::uint64_t seed, Index number, Example& out) const {
    example(TaskSplit::training, seed, number, out);
  }
};

std::string_view to_string(TaskSplit part);

struct LengthOptions {
  Index length = 100;  ///< steps, T
};
// Pairs (u, mark): two of T steps are marked, one in each half. The target at the end is the sum of the two u, uniform
// on [0, 1) (the constant 1 has a mean squared error of 1/6), their product, or the exclusive or of two bits. Throw
// UsageError for a length below 2.
std::unique_ptr<Task> adding(const LengthOptions& options = {});
std::unique_ptr<Task> multiplication(const LengthOptions& options = {});
std::unique_ptr<Task> marked_xor(const LengthOptions& options = {});

/// T symbols; four of the six are distractors. A or B appears at 2 (3) positions, in the second and sixth (second,
/// fourth and seventh) tenth of the sequence; the class at the end is their order, 4 (8) classes. Throws UsageError for
/// T below 10.
struct TemporalOrderOptions {
  Index length = 100;
  Index bits = 2;
};
std::unique_ptr<Task> temporal_order(const TemporalOrderOptions& options = {});

/// The first of T symbols is one of two, and the others are drawn from 98 further symbols. The symbol after the last
/// one repeats the first. With `every_step`, the random symbols must be predicted, too (log2 98 = 6.61 bits each).
/// Throws UsageError for T below 2.
struct PermutationOptions {
  Index length = 100;
  bool every_step = false;
};
std::unique_ptr<Task> random_permutation(const PermutationOptions& options = {});

/// P of K symbols are shown, followed by T - 1 blanks and a cue; then the P symbols must be repeated. Until then, the
/// target is a blank. Noiseless memorization: 5 bits (P 5, K 2) and 20 bits (P 10, K 5); copying: P 10, K 8. Throws
/// UsageError.
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

/// MNIST digits: 784 gray levels from 0 to 1, one per step, and 10 classes at the end. `folder` holds the four IDX
/// files, which may end in .gz. The last 5000 training images are the validation part. `permuted`: the pixels are read
/// in one fixed random order. `shift`: training shifts each image by up to `shift` pixels down and to the right, or up
/// and to the left, drawn again in each epoch; pixels that enter at the edge are black. Throws DataError; UsageError
/// for a shift that could move the image out of the frame.
struct MnistOptions {
  bool permuted = false;
  Index shift = 0;
};
std::unique_ptr<Task> sequential_mnist(const std::string& folder, const MnistOptions& options = {});

}  // namespace unfold
