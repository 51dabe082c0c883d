#include "unfold/optim/output_metric.h"

#include <algorithm>
#include <limits>

#include "unfold/numerics/prediction_rows.h"

namespace unfold {
namespace {

constexpr Index kRowTile = 512;  // rows whose activities and logits stay in the second-level cache

}  // namespace

template <class T>
OutputMetric<T>::OutputMetric(const CorePass<T>& core, double damping, bool averages)
    : bias_(core.output().bias), units_(core.units()), alphabet_(core.output().size), damping_(damping) {
  for (const auto& term : core.output().terms) term_parameters_.push_back(term.parameter);
  for (const Signal& s : core.activities()) term_sizes_.push_back(s.size());
  sums_.assign(at(3 * block() + 2 * alphabet_), 0);
  if (averages) average_.assign(sums_.size() + 1, T{0});
  frequencies_.assign(at(alphabet_), 0);
  scratch_.resize(at(core.team().size()));
}

template <class T>
void OutputMetric<T>::load(const Parameters<T>& parameters, const Wanted& wanted) {
  if (weights_.empty()) weights_.resize(block()), weights_by_symbol_.resize(block()), bias_values_.resize(alphabet_);
  Index first = 0;
  for (std::size_t k = 0; k < term_parameters_.size(); ++k) {
    const Matrix<const T> w = parameters[term_parameters_[k]];
    std::copy_n(w.data, w.rows * w.cols, weights_.data() + first * alphabet_);
    first += w.rows;
  }
  if (bias_ >= 0) std::copy_n(parameters[bias_].data, alphabet_, bias_values_.data());
  const Matrix<const T> w{weights_.data(), units_, alphabet_, alphabet_};
  packed_.pack(w);
  if (wanted.adjoints) packed_transposed_.pack_transposed(w);
  if (wanted.variances)
    for (Index i = 0; i < units_; ++i)
      for (Index x = 0; x < alphabet_; ++x) weights_by_symbol_[x * units_ + i] = w(i, x);
}

template <class T>
double OutputMetric<T>::pass(CorePass<T>& core, const Parameters<T>& parameters, const Batch& batch,
                             const Wanted& wanted) {
  load(parameters, wanted);
  const std::vector<Symbol>& all_targets = std::get<SymbolRows>(batch.field(core.head().field)).symbols;
  rows_.clear();
  for (std::size_t r = 0; r < all_targets.size(); ++r)
    if (all_targets[r] != kNoSymbol) rows_.push_back(static_cast<Index>(r));
  const auto rows = static_cast<Index>(rows_.size());
  if (wanted.adjoints) core.unfolding().clear_adjoints();
  if (wanted.variances) {
    const auto numbers = static_cast<Index>(all_targets.size()) * units_;
    if (variances_.size() != numbers) variances_.resize(numbers);
    if (rows < static_cast<Index>(all_targets.size())) variances_.fill_zero();
  }
  if (wanted.metric) {
    std::fill(frequencies_.begin(), frequencies_.end(), 0);
    for (const Index r : rows_) frequencies_[at(all_targets[at(r)])] += 1 / static_cast<double>(rows);
  }
  // Positions are cut into chunks, whose number depends on the problem only; their sums are added in order.
  const auto numbers = wanted.metric ? static_cast<Index>(sums_.size()) : 0;
  const Index affordable = std::clamp<Index>((Index{1} << 23) / std::max<Index>(1, numbers), 2, 64);
  const Index chunk = std::max(kRowTile, ((rows + affordable - 1) / affordable + kRowTile - 1) / kRowTile * kRowTile);
  const Index chunks = (rows + chunk - 1) / chunk;
  std::vector<std::vector<double>> sums(at(chunks));
  std::vector<double> nats(at(chunks), 0);
  core.team().run([&](Member& me) {
    const Range mine = me.share(chunks);
    for (Index c = mine.begin; c < mine.end; ++c) {
      sums[at(c)].assign(at(numbers), 0);
      for (Index r = c * chunk; r < std::min(rows, (c + 1) * chunk); r += kRowTile)
        tile(core, all_targets, wanted, {r, std::min({rows, r + kRowTile, (c + 1) * chunk})}, scratch_[at(me.id())],
             sums[at(c)].data(), nats[at(c)]);
    }
  });
  double total = 0;
  for (const double n : nats) total += n;
  if (wanted.metric) {
    std::fill(sums_.begin(), sums_.end(), 0);
    for (const auto& part : sums)
      for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += part[i];
  }
  return total;
}

template <class T>
void OutputMetric<T>::tile(CorePass<T>& core, std::span<const Symbol> all_targets, const Wanted& wanted, Range range,
                           Scratch& s, double* sums, double& nats) {
  const Index n = units_, a = alphabet_, rows = range.size();
  if (s.activities.empty()) {
    s.activities.resize(kRowTile * n), s.squares.resize(kRowTile * n), s.seeds.resize(kRowTile * n);
    s.logits.resize(kRowTile * a), s.hessians.resize(kRowTile * a), s.nats.resize(kRowTile);
    s.sums.resize(3 * n * a + 2 * a);
    s.targets.resize(at(kRowTile));
  }
  const Matrix<T> activities{s.activities.data(), rows, n, n}, logits{s.logits.data(), rows, a, a};
  const auto& signals = core.activities();
  Index first = 0;
  for (std::size_t k = 0; k < signals.size(); first += term_sizes_[k++]) {
    const Matrix<const T> value = core.unfolding().value(signals[k]);
    for (Index r = 0; r < rows; ++r)
      std::copy_n(value.row(rows_[at(range.begin + r)]), term_sizes_[k], activities.row(r) + first);
  }
  for (Index r = 0; r < rows; ++r) s.targets[at(r)] = all_targets[at(rows_[at(range.begin + r)])];
  multiply<T>(activities, packed_, logits, {0, packed_.panels()}, bias_ >= 0 ? Start::bias : Start::zero,
              bias_values_.data());
  softmax_errors<T>(logits, s.targets.data(), s.nats.data());  // logits become pi - 1[x = target]
  for (Index r = 0; r < rows; ++r) nats += static_cast<double>(s.nats[r]);

  if (wanted.metric) {
    const Matrix<T> hessians{s.hessians.data(), rows, a, a}, squares{s.squares.data(), rows, n, n};
    hessian_diagonals<T>(logits, s.targets.data(), hessians);
    for (Index i = 0; i < rows * n; ++i) squares.data[i] = activities.data[i] * activities.data[i];
    T* part = s.sums.data();
    const auto block_at = [&](Index k) { return Matrix<T>{part + k * n * a, n, a, a}; };
    accumulate_outer<T>(activities, logits, block_at(0), {0, n}, Start::zero);
    accumulate_outer<T>(activities, hessians, block_at(1), {0, n}, Start::zero);
    accumulate_outer<T>(squares, hessians, block_at(2), {0, n}, Start::zero);
    accumulate_columns<T>(logits, part + 3 * n * a, {0, a}, Start::zero);
    accumulate_columns<T>(hessians, part + 3 * n * a + a, {0, a}, Start::zero);
    for (Index i = 0; i < 3 * n * a + 2 * a; ++i) sums[i] += static_cast<double>(part[i]);
  }
  if (wanted.adjoints) {
    const Matrix<T> seeds{s.seeds.data(), rows, n, n};
    multiply<T>(logits, packed_transposed_, seeds, {0, packed_transposed_.panels()}, Start::zero);
    first = 0;
    for (std::size_t k = 0; k < signals.size(); first += term_sizes_[k++]) {
      const Matrix<T> adjoint = core.unfolding().adjoint(signals[k]);
      for (Index r = 0; r < rows; ++r) {
        T* to = adjoint.row(rows_[at(range.begin + r)]);
        for (Index i = 0; i < term_sizes_[k]; ++i) to[i] += seeds(r, first + i);  // a source may be read twice
      }
    }
  }
  if (wanted.variances) {                                               // with adjoints, whose seeds it needs
    for (Index r = 0; r < rows; ++r) logits(r, s.targets[at(r)]) += 1;  // pi again
    const Matrix<const T> weights{weights_by_symbol_.data(), a, n, n};
    const Matrix<T> means{s.seeds.data(), rows, n, n};  // of w: the seeds of the other pass lack the target's weight
    for (Index r = 0; r < rows; ++r)
      for (Index i = 0; i < n; ++i) means(r, i) += weights(s.targets[at(r)], i);
    column_variances<T>(logits, weights, means, means);
    for (Index r = 0; r < rows; ++r) std::copy_n(means.row(r), n, variances_.data() + rows_[at(range.begin + r)] * n);
  }
}

template <class T>
void OutputMetric<T>::seed_variances(CorePass<T>& core) const {
  core.unfolding().clear_adjoints();
  core.team().run([&](Member& me) {
    Index first = 0;
    for (std::size_t k = 0; k < core.activities().size(); first += term_sizes_[k++]) {
      const Matrix<T> adjoint = core.unfolding().adjoint(core.activities()[k]);
      const Range mine = me.share(adjoint.rows, 64);
      for (Index r = mine.begin; r < mine.end; ++r)
        for (Index i = 0; i < term_sizes_[k]; ++i) adjoint(r, i) += variances_[r * units_ + first + i];
    }
  });
}

template <class T>
void OutputMetric<T>::gradient(const Parameters<T>& parameters, std::span<double> gradient) const {
  Index first = 0;
  for (std::size_t k = 0; k < term_parameters_.size(); ++k) {
    const ParameterInfo& p = parameters.info()[at(term_parameters_[k])];
    std::copy_n(sums_.begin() + first * alphabet_, p.size(), gradient.begin() + p.offset);
    first += p.rows;
  }
  if (bias_ >= 0) {
    const ParameterInfo& p = parameters.info()[at(bias_)];
    std::copy_n(sums_.begin() + 3 * block(), alphabet_, gradient.begin() + p.offset);
  }
}

/// delta_i = (G_i - G_0 H_0i / H_00) / (H_ii - H_0i^2 / H_00), delta_0 = G_0 / H_00 - sum_i H_0i / H_00 delta_i, for
/// each symbol.
template <class T>
void OutputMetric<T>::direction(const Parameters<T>& parameters, double keep, std::span<double> direction) {
  if (keep > 0) {  // H is averaged over batches, G is that of the batch
    const auto blend = [&](T& mean, double present) {
      mean = static_cast<T>(keep * static_cast<double>(mean) + (1 - keep) * present);
    };
    blend(average_.back(), 1);
    for (std::size_t i = 0; i < sums_.size(); ++i) blend(average_[i], sums_[i]);
  }
  const auto hessian = [&](Index i) {
    return keep > 0 ? static_cast<double>(average_[at(i)]) / static_cast<double>(average_.back()) : sums_[at(i)];
  };
  const Index n = units_, a = alphabet_;
  std::vector<Index> weight_of(at(n));
  Index first = 0;
  for (std::size_t k = 0; k < term_parameters_.size(); first += term_sizes_[k++])
    for (Index i = 0; i < term_sizes_[k]; ++i)
      weight_of[at(first + i)] = parameters.info()[at(term_parameters_[k])].offset + i * a;
  for (Index x = 0; x < a; ++x) {
    const double damping = damping_ * frequencies_[at(x)] + std::numeric_limits<double>::epsilon();
    const double g0 = sums_[at(3 * n * a + x)], h00 = hessian(3 * n * a + a + x) + damping;
    double d0 = g0 / h00;
    for (Index i = 0; i < n; ++i) {
      const double g = sums_[at(i * a + x)], hii = hessian((2 * n + i) * a + x) + damping;
      const double h0i = bias_ >= 0 ? hessian((n + i) * a + x) : 0;
      const double d = (g - g0 * h0i / h00) / std::max(hii - h0i * h0i / h00, damping);  // >= but for rounding
      direction[at(weight_of[at(i)] + x)] = d;
      d0 -= h0i / h00 * d;
    }
    if (bias_ >= 0) direction[at(parameters.info()[at(bias_)].offset + x)] = d0;
  }
}

template class OutputMetric<float>;
template class OutputMetric<double>;

}  // namespace unfold
