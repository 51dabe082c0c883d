#pragma once
/// The softmax over the symbols of one cluster of an adaptive softmax, for the rows whose target belongs to the
/// cluster:
///
///   t = z W + b,   nats = log sum_w exp(t_w) - t_target
///
/// with projections z [rows x size], W [size x symbols] and b [symbols]. The logits of all symbols are never stored:
/// they are computed once for the normalizers and again for the derivatives, block by block.
///
/// Determinism (invariant 2): the blocks have a fixed number of symbols, and threads divide the blocks. The terms of
/// blocks are added in the order of the blocks, and those of rows from the last to the first.

#include <algorithm>
#include <span>
#include <vector>

#include "unfold/base/checks.h"
#include "unfold/base/threads/team.h"
#include "unfold/base/views.h"
#include "unfold/numerics/product.h"

namespace unfold {

/// The parameters of a cluster, or a direction or a gradient with the same layout.
template <class T>
struct ClusterWeights {
  Matrix<T> w;  ///< [size x symbols]
  T* b;         ///< [symbols]
};

/// A vector v in the space of the logits, from which products with the Hessian (diag(p) - p p') v, or with its root
/// (diag(sqrt p) - p sqrt(p)') v, are computed.
template <class T>
struct LogitProbe {
  Matrix<const T> tangent = {};            ///< [rows x size], tangents of the projections; without data, v has signs
  ClusterWeights<const T> direction = {};  ///< with tangents
  std::uint64_t seed = 0, stream = 0;      ///< of the signs
  bool root = false;
};

template <class T>
class ClusterLogits {
 public:
  static constexpr Index kBlock = 2048;  ///< symbols of a block

  explicit ClusterLogits(ClusterWeights<const T> weights)
      : weights_(weights), blocks_((weights.w.cols + kBlock - 1) / kBlock) {}

  Index size() const { return weights_.w.rows; }
  Index symbols() const { return weights_.w.cols; }

  /// Sets the logits [symbols] of one row.
  void logits(const T* z, T* out) const;
  /// Returns log sum exp of the logits of one row, the same bits as `normalize`.
  T normalizer(const T* logits) const;

  /// Adds a row: its projection, its number in the signal, and its target, counted from the first symbol of the
  /// cluster.
  void add(const T* z, Index row, Index target);
  Index rows() const { return static_cast<Index>(rows_.size()); }
  Index row(Index i) const { return rows_[at(i)]; }
  Matrix<const T> projections() const { return {z_.data(), rows(), size(), size()}; }
  /// Allocates memory for the following functions. Call it before the parallel region.
  void allocate(bool derivatives, bool probe);

  // All threads of a team call the following functions together. Results are complete after a barrier.

  /// Computes the normalizers.
  void normalize(Member& me);
  /// Computes the means of a probe. Requires the normalizers.
  void average(Member& me, const LogitProbe<T>& probe);
  /// Adds scale[i] times the gradient of the nats of row i to the gradient of the weights, and computes the adjoints of
  /// the projections. With a probe, the product of the Hessian or its root takes the place of the gradient of the nats.
  void differentiate(Member& me, std::span<const T> scale, const LogitProbe<T>* probe, ClusterWeights<T> gradient);

  T nats(Index i) const { return normalizers_[i] - target_logits_[i]; }  ///< of row i, after `normalize`
  /// Sets the adjoint of the projection of row i, after `differentiate`.
  void adjoint(Index i, T* out) const;

 private:
  struct Work;

  Range symbols_of(Index block) const { return {block * kBlock, std::min(symbols(), (block + 1) * kBlock)}; }
  void pack(Index block, const LogitProbe<T>* probe, Work& work) const;
  void logits_of(Index block, Range rows, Work& work) const;
  void probabilities_of(Index block, Range rows, Work& work) const;
  void probe_of(Index block, Range rows, const LogitProbe<T>& probe, Work& work) const;
  void errors_of(Index block, Range rows, std::span<const T> scale, const LogitProbe<T>* probe, Work& work) const;

  ClusterWeights<const T> weights_;
  Index blocks_;
  std::vector<Index> rows_, targets_;
  std::vector<T> z_;
  Buffer<T> normalizers_, means_, target_logits_;  // [rows]
  Buffer<T> terms_;                                // of each row and block, of the normalizers or means
  Buffer<T> adjoints_;                             // [rows x blocks x size], terms of the adjoints
};

}  // namespace unfold
