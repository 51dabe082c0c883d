#pragma once
/// Scheduled sampling (Bengio et al. 2015): a network that will read its own outputs learns to, by reading some of them
/// in training in place of what is true. All positions at once, as in teacher forcing: a pass over the true batch says
/// what the network gives after each position; then a share of what is read as "previous F" is replaced by that
/// (Mihaylova & Martins 2019). What is read in this way is taken as given: no gradient flows through it.

#include <cstdint>
#include <string_view>
#include <vector>

#include "unfold/data/batch.h"
#include "unfold/optim/batch_pass.h"

namespace unfold {

/// The share of positions that read what is true, over the run: from `from` at its beginning to `to` at its end.
struct TeacherForcing {
  enum class Shape { linear, exponential, inverse_sigmoid };
  double from = 1, to = 1;
  Shape shape = Shape::linear;

  bool always() const { return from == 1 && to == 1; }
  double at(double fraction) const;  ///< of the run, 0 to 1
  /// "1..0.2", or one number for the whole run. Throws UsageError: shares are in [0, 1], of an exponential one above 0.
  static TeacherForcing parse(std::string_view shares, Shape shape);
};

template <class T>
class OwnOutputs {
 public:
  /// Throws UsageError naming what the network lacks: it reads nothing that it predicts; a loss of labels that are
  /// judged together, whose outputs are no choices for each position.
  OwnOutputs(const Network<T>& network, Team& team, std::uint64_t seed);

  /// The batch, where each position reads with probability 1 - `forcing` what the network gave earlier: a sample of
  /// symbols, the mean of numbers. What stands before the beginning of a chain stays what it is. `state`: has entered
  /// the batch, and is left alone. A function of the seed and `step`, too.
  const Batch& mix(const Batch& batch, const State<T>& state, const Parameters<T>& parameters, double forcing,
                   Index step);

 private:
  /// A field that is read so many positions after head `head` has predicted it.
  struct Use {
    std::string field;
    std::size_t head;
    Index back;
  };
  void replace(const Use& use, Matrix<const T> output, double forcing, Random& random);

  const Network<T>& network_;
  std::uint64_t seed_;
  BatchPass<T> pass_;
  std::vector<Use> uses_;
  State<T> state_;
  Batch mixed_;
};

}  // namespace unfold
