#pragma once
/// The output weights of one head: likelihood, gradient, quasi-diagonal Hessian and the seeds of the backward passes,
/// computed in one sweep over the positions with targets (equations 17-21 and 24 of the paper; docs/riemannian.md).
///
/// The loss must have independent rows and a Fisher metric. A softmax loss uses a faster method with the same result.
/// For small heads, the full matrix over all output weights can take the place of the quasi-diagonal one (equation 50):
/// M = sum over positions of F (x) a a', where F is the Hessian or Fisher matrix of the loss at its signal, and a are
/// the activations, with a 1 for the bias.

#include <vector>

#include "optim/riemannian/core_pass.h"

namespace unfold {

/// The seeds of the backward pass.
enum class MetricSeeds {
  gradient,  ///< the gradient of the loss
  weighted,  ///< the gradient times the square root of the row's weight
  drawn      ///< random errors whose covariance is the Fisher matrix, times the square root of the row's weight
};

struct MetricWanted {
  bool metric = false;     ///< gradient and Hessian
  bool adjoints = false;   ///< seeds of the backward pass at the activations
  bool variances = false;  ///< seeds of the modulus, that is, the Fisher metric at the activations; REQUIRES adjoints
  MetricSeeds seeds = MetricSeeds::gradient;
  std::uint64_t draw = 0, stream = 0;    ///< the key of the drawn seeds
  std::span<const double> weights = {};  ///< weight of every row in the Hessian and the modulus; empty: 1
};

template <class T>
class HeadMetric {
 public:
  /// `damping` is added to the diagonal of the Hessian of each output, multiplied by the frequency of the output (the
  /// relative frequency of a symbol among the targets, 1 for a number) and by the head's weight. `averages`: whether
  /// `direction` will keep a running average. `full`: whether `direction` uses the full matrix. Throws UsageError if it
  /// is too large, or if the loss has no curvature.
  HeadMetric(const CoreHead<T>& head, int members, double damping, bool averages, bool full = false);

  const std::string& field() const { return head_.field; }

  /// Returns the sum of nats over the targets of the batch (0 if errors are drawn), times the head's weight. Adds the
  /// seeds of the backward pass to the adjoints of the core's activations.
  double pass(CorePass<T>& core, const Parameters<T>& parameters, const Batch& batch, const MetricWanted& wanted);

  /// Sets the direction H^-1 G at the head's weights, with H averaged over batches if `keep` > 0.
  void direction(const Parameters<T>& parameters, double keep, std::span<double> direction);
  /// Sets the gradient at the head's weights, from the last pass with `metric`.
  void gradient(const Parameters<T>& parameters, std::span<double> gradient) const;
  /// Returns the gradient and the Hessian of the last pass with `metric`. The caller may replace them with sums over
  /// several passes and must then call `count_targets` for all batches in the sums.
  std::span<double> sums() { return sums_; }
  /// Counts how often each symbol is a target, for the damping. `pass` does this for its batch.
  void count_targets(const Batch& batch);
  /// Adds the variances of the last pass with `variances` to the adjoints of the core's activations.
  void add_variances(CorePass<T>& core) const;

  std::span<T> average() { return average_; }  ///< state of the running average, for checkpoints

 private:
  /// Memory of one thread for one tile.
  struct Scratch {
    Buffer<T> activities, squares, signal, hessians, seeds, variances, nats, sums;
    std::vector<Symbol> symbols;
    Buffer<T> values;
    Buffer<T> directions, columns;  // one column of F at every row, for the full matrix
  };
  /// A tile of rows, gathered.
  struct Tile {
    Range range;                 ///< range within rows_
    Matrix<T> signal;            ///< [rows x outputs]; later its gradient
    Matrix<T> hessians;          ///< [rows x outputs]
    Matrix<T> seeds, variances;  ///< [rows x units]
    Targets<T> targets;
  };

  void load(const Parameters<T>& parameters, const MetricWanted& wanted);
  void find_rows(const Field& field, const MetricWanted& wanted);
  void count(const Field& field);
  void make_room(Scratch& s) const;
  Matrix<const T> gather_activities(const CorePass<T>& core, Range range, Scratch& s) const;
  Targets<T> gather_targets(const Field& field, Range range, Scratch& s) const;
  void tile(CorePass<T>& core, const Field& field, const MetricWanted& wanted, Range range, Scratch& s, double* sums,
            double& nats);
  void judge(const Tile& tile, const MetricWanted& wanted, T* nats) const;
  void judge_softmax(const Tile& tile, const MetricWanted& wanted, T* nats) const;
  void softmax_variances(const Tile& tile) const;
  void draw_errors(const Tile& tile, const MetricWanted& wanted, T* nats) const;
  void weigh(const Tile& tile, const MetricWanted& wanted, Matrix<T> m, bool root) const;
  void accumulate(const Tile& tile, Matrix<const T> activities, Scratch& s, double* sums) const;
  void accumulate_full(const Tile& tile, Matrix<const T> activities, const MetricWanted& wanted, Scratch& s,
                       double* sums) const;
  void full_direction(const Parameters<T>& parameters, double keep, std::span<double> direction) const;
  double hessian(double keep, Index i) const;
  double damping_of(Index output) const;
  std::vector<Index> places_of_weights(const Parameters<T>& parameters) const;
  void add_seeds(CorePass<T>& core, const Tile& tile) const;
  template <class Use>
  void for_each_sequence(Range range, Use&& use) const;
  Index block() const { return units_ * outputs_; }
  Index inputs() const { return units_ + (bias_ >= 0 ? 1 : 0); }
  Index full_begin() const { return 3 * block() + 2 * outputs_; }
  Index full_size() const { return inputs() * outputs_; }

  Head<T> head_;
  const RowLoss<T>& rows_of_loss_;
  const LossFisher<T>& fisher_;
  bool softmax_;
  std::vector<Signal> activities_;
  std::vector<int> term_parameters_;
  int bias_;
  Index units_, outputs_;
  PackedMatrix<T> packed_, packed_transposed_;
  Buffer<T> weights_, weights_by_output_, bias_values_;  // [units x outputs], its transpose, [outputs]
  std::vector<Index> rows_;                              // rows with a target
  Buffer<T> variances_;                                  // [positions x units]
  bool full_;
  /// G, H_0i, H_ii [units x outputs] each, then G_0, H_00 [outputs] each, then, if `full_`, the lower triangle of M,
  /// with rows and columns in the order (output, input).
  std::vector<double> sums_;
  std::vector<std::vector<double>> chunk_sums_;  // sums of each chunk of rows
  std::vector<T> average_;                       // like sums_, followed by its weight
  double damping_;
  std::vector<double> frequencies_;
  std::vector<Scratch> scratch_;
};

}  // namespace unfold
