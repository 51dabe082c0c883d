#include "optim/riemannian/head_metric.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numerics/moments.h"
#include "numerics/row_arithmetic.h"
#include "numerics/softmax_rows.h"
#include "optim/riemannian/damped_cholesky.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

constexpr Index kRowTile = 512;  // rows whose activations and signals fit into the second-level cache

/// Maximum number of output weights for a full matrix.
constexpr Index kMostFullWeights = 2048;

/// Returns the distance of rows of `cols` elements that begin at cache lines. Rows at multiples of a page would share
/// few places of the cache.
template <class T>
Index row_stride(Index cols) {
  constexpr Index kLine = 64 / sizeof(T), kPage = 4096 / sizeof(T);
  const Index stride = (cols + kLine - 1) / kLine * kLine;
  return stride % kPage == 0 ? stride + kLine : stride;
}

template <class T>
void scale_all(Matrix<T> m, double k) {
  for (Index r = 0; r < m.rows; ++r)
    for (Index c = 0; c < m.cols; ++c) m(r, c) *= static_cast<T>(k);
}

}  // namespace

template <class T>
HeadMetric<T>::HeadMetric(const CoreHead<T>& head, int members, double damping, bool averages, bool full)
    : head_(head.head),
      rows_of_loss_(head.head.loss->template need<RowLoss<T>>("Riemannian training")),
      fisher_(head.head.loss->template need<LossFisher<T>>("Riemannian training")),
      softmax_(head.head.loss->template as<Categorical<T>>() != nullptr && head.head.weight == 1),
      activities_(head.activities),
      bias_(head.output.affine().bias),
      units_(head.units),
      outputs_(head.output.size),
      full_(full),
      damping_(damping) {
  term_parameters_.reserve(head.output.terms().size());
  for (const auto& term : head.output.terms()) term_parameters_.push_back(term.parameter);
  if (full && full_size() > kMostFullWeights)
    throw UsageError(
        "Riemannian training: writing=full needs a matrix with the square of the number of output weights, "
        "but the head of " +
        head_.field + " has " + std::to_string(full_size()) + " weights, more than " +
        std::to_string(kMostFullWeights) + "; leave writing= out");
  if (full) head_.loss->template need<RowCurvature<T>>("Riemannian training with writing=full");
  sums_.assign(at(full_begin() + (full ? full_size() * full_size() : 0)), 0);
  if (averages) average_.assign(sums_.size() + 1, T{0});
  frequencies_.assign(at(outputs_), 1);
  scratch_.resize(at(members));
}

template <class T>
void HeadMetric<T>::load(const Parameters<T>& parameters, const MetricWanted& wanted) {
  if (weights_.empty()) weights_.resize(block()), weights_by_output_.resize(block()), bias_values_.resize(outputs_);
  Index first = 0;
  for (const int parameter : term_parameters_) {
    const Matrix<const T> w = parameters[parameter];
    std::copy_n(w.data, w.rows * w.cols, weights_.data() + first * outputs_);
    first += w.rows;
  }
  if (bias_ >= 0) std::copy_n(parameters[bias_].data, outputs_, bias_values_.data());
  const Matrix<const T> w{weights_.data(), units_, outputs_, outputs_};
  packed_.pack(w);
  if (wanted.adjoints) packed_transposed_.pack_transposed(w);
  if (wanted.variances && softmax_)
    for (Index i = 0; i < units_; ++i)
      for (Index x = 0; x < outputs_; ++x) weights_by_output_[x * units_ + i] = w(i, x);
}

template <class T>
void HeadMetric<T>::count_targets(const Batch& batch) {
  count(batch.field(head_.field));
}

template <class T>
void HeadMetric<T>::count(const Field& field) {
  const auto* symbols = std::get_if<SymbolRows>(&field);
  if (symbols == nullptr) return;
  const auto all = std::ranges::count_if(symbols->symbols, [](Symbol x) { return x != kNoSymbol; });
  std::fill(frequencies_.begin(), frequencies_.end(), 0);
  for (const Symbol x : symbols->symbols)
    if (x != kNoSymbol) frequencies_[at(x)] += 1 / static_cast<double>(all);
}

/// Finds the rows with a target and counts how often each symbol is a target.
template <class T>
void HeadMetric<T>::find_rows(const Field& field, const MetricWanted& wanted) {
  const Index positions = unfold::rows_of(field);
  rows_.clear();
  for (Index r = 0; r < positions; ++r)
    if (is_present(field, r)) rows_.push_back(r);
  if (wanted.variances) {
    if (variances_.size() != positions * units_) variances_.resize(positions * units_);
    if (static_cast<Index>(rows_.size()) < positions) variances_.fill_zero();
  }
  if (wanted.metric) count(field);
}

template <class T>
double HeadMetric<T>::pass(CorePass<T>& core, const Parameters<T>& parameters, const Batch& batch,
                           const MetricWanted& wanted) {
  const Field& field = batch.field(head_.field);
  load(parameters, wanted);
  find_rows(field, wanted);
  const auto rows = static_cast<Index>(rows_.size());
  // Divides positions into chunks, whose number depends only on the problem; their sums are added in order.
  const auto numbers = wanted.metric ? static_cast<Index>(sums_.size()) : 0;
  const Index affordable = std::clamp<Index>((Index{1} << 23) / std::max<Index>(1, numbers), 2, 64);
  const Index chunk = std::max(kRowTile, ((rows + affordable - 1) / affordable + kRowTile - 1) / kRowTile * kRowTile);
  const Index chunks = (rows + chunk - 1) / chunk;
  std::vector<double> nats(at(chunks), 0);
  if (chunk_sums_.size() < at(chunks)) chunk_sums_.resize(at(chunks));
  core.team().run([&](Member& me) {
    const Range mine = me.share(chunks);
    for (Index c = mine.begin; c < mine.end; ++c) {
      chunk_sums_[at(c)].assign(at(numbers), 0);
      for (Index r = c * chunk; r < std::min(rows, (c + 1) * chunk); r += kRowTile)
        tile(core, field, wanted, {r, std::min({rows, r + kRowTile, (c + 1) * chunk})}, scratch_[at(me.id())],
             chunk_sums_[at(c)].data(), nats[at(c)]);
    }
  });
  double total = 0;
  for (const double n : nats) total += n;
  if (wanted.metric) {
    std::fill(sums_.begin(), sums_.end(), 0);
    for (Index c = 0; c < chunks; ++c)
      for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += chunk_sums_[at(c)][i];
  }
  return head_.weight * total;
}

template <class T>
void HeadMetric<T>::make_room(Scratch& s) const {
  if (!s.activities.empty()) return;
  const Index of_units = kRowTile * row_stride<T>(units_), of_outputs = kRowTile * row_stride<T>(outputs_);
  s.activities.resize(of_units), s.squares.resize(of_units), s.seeds.resize(of_units);
  s.signal.resize(of_outputs), s.hessians.resize(of_outputs), s.nats.resize(kRowTile);
  if (!softmax_) s.variances.resize(of_units);
  s.sums.resize(3 * block() + 2 * outputs_);
}

template <class T>
Targets<T> HeadMetric<T>::gather_targets(const Field& field, Range range, Scratch& s) const {
  const Index rows = range.size();
  if (const auto* symbols = std::get_if<SymbolRows>(&field)) {
    s.symbols.resize(at(kRowTile));
    for (Index r = 0; r < rows; ++r) s.symbols[at(r)] = symbols->symbols[at(rows_[at(range.begin + r)])];
    return {.symbols = s.symbols.data(), .values = {}, .predicted = nullptr};
  }
  const auto& values = std::get<ValueRows>(field);
  const Matrix<const T> all = values.template values<T>(0, values.rows());
  if (s.values.empty()) s.values.resize(kRowTile * all.cols);
  const Matrix<T> gathered{s.values.data(), rows, all.cols, all.cols};
  for (Index r = 0; r < rows; ++r) std::copy_n(all.row(rows_[at(range.begin + r)]), all.cols, gathered.row(r));
  return {.symbols = nullptr, .values = gathered, .predicted = nullptr};
}

/// Returns the activations of the rows of a tile, without a copy if they are rows of one signal that follow each other.
template <class T>
Matrix<const T> HeadMetric<T>::gather_activities(const CorePass<T>& core, Range range, Scratch& s) const {
  const Index rows = range.size(), first_row = rows_[at(range.begin)];
  const bool in_sequence = rows_[at(range.end - 1)] - first_row == rows - 1;
  if (in_sequence && activities_.size() == 1) {
    const Matrix<const T> value = core.unfolding().value(activities_[0]);
    return value.rows_from(first_row, rows);
  }
  const Matrix<T> gathered{s.activities.data(), rows, units_, row_stride<T>(units_)};
  Index first = 0;
  for (const Signal& signal : activities_) {
    const Matrix<const T> value = core.unfolding().value(signal);
    for (Index r = 0; r < rows; ++r)
      std::copy_n(value.row(rows_[at(range.begin + r)]), value.cols, gathered.row(r) + first);
    first += value.cols;
  }
  return gathered;
}

template <class T>
void HeadMetric<T>::tile(CorePass<T>& core, const Field& field, const MetricWanted& wanted, Range range, Scratch& s,
                         double* sums, double& nats) {
  const Index n = units_, a = outputs_, rows = range.size();
  make_room(s);
  const Matrix<const T> activities = gather_activities(core, range, s);
  const Index n_stride = row_stride<T>(n), a_stride = row_stride<T>(a);
  const Tile tile{.range = range,
                  .signal = {s.signal.data(), rows, a, a_stride},
                  .hessians = {s.hessians.data(), rows, a, a_stride},
                  .seeds = {s.seeds.data(), rows, n, n_stride},
                  .variances = {softmax_ ? s.seeds.data() : s.variances.data(), rows, n, n_stride},
                  .targets = gather_targets(field, range, s)};
  multiply<T>(activities, packed_, tile.signal, {0, packed_.panels()}, bias_ >= 0 ? Start::bias : Start::zero,
              bias_values_.data());
  if (wanted.metric && full_) accumulate_full(tile, activities, wanted, s, sums);
  if (wanted.seeds == MetricSeeds::drawn)
    draw_errors(tile, wanted, s.nats.data());
  else
    softmax_ ? judge_softmax(tile, wanted, s.nats.data()) : judge(tile, wanted, s.nats.data());
  for (Index r = 0; r < rows; ++r) nats += static_cast<double>(s.nats[r]);
  if (wanted.metric) {
    weigh(tile, wanted, tile.hessians, false);
    accumulate(tile, activities, s, sums);
  }
  if (wanted.seeds != MetricSeeds::gradient) weigh(tile, wanted, tile.signal, true);
  if (wanted.adjoints) {
    multiply<T>(tile.signal, packed_transposed_, tile.seeds, {0, packed_transposed_.panels()}, Start::zero);
    add_seeds(core, tile);
  }
  if (wanted.variances) {
    if (softmax_) softmax_variances(tile);  // requires the seeds of the adjoints
    weigh(tile, wanted, tile.variances, false);
    for (Index r = 0; r < rows; ++r)
      std::copy_n(tile.variances.row(r), n, variances_.data() + rows_[at(range.begin + r)] * n);
  }
}

/// Replaces signals with gradients; Hessians and variances are computed from the Fisher metric.
template <class T>
void HeadMetric<T>::judge(const Tile& tile, const MetricWanted& wanted, T* nats) const {
  if (wanted.metric) {
    fisher_.fisher_diagonal(tile.signal, tile.targets, tile.hessians);
    scale_all(tile.hessians, head_.weight);
  }
  if (wanted.variances) {
    fisher_.fisher_through(tile.signal, tile.targets, {weights_.data(), units_, outputs_, outputs_}, tile.variances);
    scale_all(tile.variances, head_.weight);
  }
  rows_of_loss_.row_gradients(tile.signal, tile.targets, static_cast<T>(head_.weight), nats, tile.signal);
}

template <class T>
void HeadMetric<T>::judge_softmax(const Tile& tile, const MetricWanted& wanted, T* nats) const {
  softmax_errors<T>(tile.signal, tile.targets.symbols, nats);  // replaces logits with pi - 1[x = target]
  if (wanted.metric) hessian_diagonals<T>(tile.signal, tile.targets.symbols, tile.hessians);
}

/// Replaces signals with random errors whose covariance is the Fisher matrix; after the backward pass, their mean
/// squares are the natural metric.
template <class T>
void HeadMetric<T>::draw_errors(const Tile& tile, const MetricWanted& wanted, T* nats) const {
  const auto& curvature = head_.loss->template need<RowCurvature<T>>("Riemannian training with draws");
  const Index rows = tile.signal.rows;
  std::fill_n(nats, rows, T{0});
  const Matrix<T> noise = tile.hessians;
  for (Index r = 0; r < rows; ++r)
    fill_signs(wanted.draw, wanted.stream, rows_[at(tile.range.begin + r)], noise.rows_from(r, 1));
  curvature.row_curvature_roots(tile.signal, tile.targets, static_cast<T>(std::sqrt(head_.weight)), noise, tile.signal);
}

/// Multiplies by the weight of each row, or its square root.
template <class T>
void HeadMetric<T>::weigh(const Tile& tile, const MetricWanted& wanted, Matrix<T> m, bool root) const {
  if (wanted.weights.empty()) return;
  for (Index r = 0; r < m.rows; ++r) {
    const double weight = wanted.weights[at(rows_[at(tile.range.begin + r)])];
    const T k = static_cast<T>(root ? std::sqrt(weight) : weight);
    for (Index c = 0; c < m.cols; ++c) m(r, c) *= k;
  }
}

/// Computes the variances from the errors and the seeds, which are overwritten.
template <class T>
void HeadMetric<T>::softmax_variances(const Tile& tile) const {
  const Index rows = tile.signal.rows, n = units_;
  for (Index r = 0; r < rows; ++r) tile.signal(r, tile.targets.symbols[r]) += 1;  // restores pi
  const Matrix<const T> weights{weights_by_output_.data(), outputs_, n, n};
  // The seeds of the other pass are the means of w, except for the weight of the target.
  column_variances<T>(tile.signal, weights, tile.targets.symbols, tile.seeds, tile.seeds);
}

template <class T>
void HeadMetric<T>::accumulate(const Tile& tile, Matrix<const T> activities, Scratch& s, double* sums) const {
  const Index n = units_, a = outputs_, rows = tile.signal.rows;
  const Matrix<T> squares{s.squares.data(), rows, n, row_stride<T>(n)};
  square_elements<T>(activities, squares);
  T* part = s.sums.data();
  const auto block_at = [&](Index k) { return Matrix<T>{part + k * n * a, n, a, a}; };
  accumulate_outer<T>(activities, tile.signal, block_at(0), {0, n}, Start::zero);
  accumulate_outer<T>(activities, tile.hessians, block_at(1), {0, n}, Start::zero);
  accumulate_outer<T>(squares, tile.hessians, block_at(2), {0, n}, Start::zero);
  accumulate_columns<T>(tile.signal, part + 3 * n * a, {0, a}, Start::zero);
  accumulate_columns<T>(tile.hessians, part + 3 * n * a + a, {0, a}, Start::zero);
  for (Index i = 0; i < 3 * n * a + 2 * a; ++i) sums[i] += static_cast<double>(part[i]);
}

/// Adds F (x) a a' of every row, column by column of F. REQUIRES: the signal of the tile has not been replaced.
template <class T>
void HeadMetric<T>::accumulate_full(const Tile& tile, Matrix<const T> activities, const MetricWanted& wanted,
                                    Scratch& s, double* sums) const {
  const Index a = outputs_, n = units_, m = inputs(), rows = tile.signal.rows;
  const auto& curvature = head_.loss->template need<RowCurvature<T>>("Riemannian training with writing=full");
  if (s.columns.empty()) s.directions.resize(kRowTile * a), s.columns.resize(kRowTile * a);
  const Matrix<T> directions{s.directions.data(), rows, a, a}, columns{s.columns.data(), rows, a, a};
  double* matrix = sums + full_begin();
  for (Index k = 0; k < a; ++k) {
    for (Index r = 0; r < rows; ++r)
      for (Index x = 0; x < a; ++x) directions(r, x) = x == k ? T{1} : T{0};
    curvature.row_curvatures(tile.signal, tile.targets, static_cast<T>(head_.weight), directions, columns);
    weigh(tile, wanted, columns, false);
    for (Index r = 0; r < rows; ++r)
      for (Index x = k; x < a; ++x)
        for (Index i = 0; i < m; ++i) {
          const double scaled =
              static_cast<double>(columns(r, x)) * (i < n ? static_cast<double>(activities(r, i)) : 1);
          double* row = matrix + (x * m + i) * full_size() + k * m;
          for (Index j = 0; j < m; ++j) row[j] += scaled * (j < n ? static_cast<double>(activities(r, j)) : 1);
        }
  }
}

/// Calls use(first of the tile, position, count) for all rows of a tile, for positions that follow each other together.
template <class T>
template <class Use>
void HeadMetric<T>::for_each_sequence(Range range, Use&& use) const {
  for (Index begin = range.begin; begin < range.end;) {
    Index end = begin + 1;
    while (end < range.end && rows_[at(end)] == rows_[at(end - 1)] + 1) ++end;
    use(begin - range.begin, rows_[at(begin)], end - begin);
    begin = end;
  }
}

template <class T>
void HeadMetric<T>::add_seeds(CorePass<T>& core, const Tile& tile) const {
  Index first = 0;
  for (const Signal& signal : activities_) {
    const Matrix<T> adjoint = core.unfolding().adjoint(signal);
    // A source may occur in several terms.
    for_each_sequence(tile.range, [&](Index begin, Index row, Index count) {
      add_matrix<T>(tile.seeds.rows_from(begin, count).cols_from(first, adjoint.cols), adjoint.rows_from(row, count));
    });
    first += adjoint.cols;
  }
}

template <class T>
void HeadMetric<T>::add_variances(CorePass<T>& core) const {
  core.team().run([&](Member& me) {
    Index first = 0;
    for (const Signal& signal : activities_) {
      const Matrix<T> adjoint = core.unfolding().adjoint(signal);
      const Range mine = me.share(adjoint.rows, 64);
      const Matrix<const T> variances{variances_.data() + first, adjoint.rows, adjoint.cols, units_};
      add_matrix<T>(variances.rows_from(mine.begin, mine.size()), adjoint.rows_from(mine.begin, mine.size()));
      first += adjoint.cols;
    }
  });
}

template <class T>
void HeadMetric<T>::gradient(const Parameters<T>& parameters, std::span<double> gradient) const {
  Index first = 0;
  for (const int parameter : term_parameters_) {
    const ParameterInfo& p = parameters.info()[at(parameter)];
    std::copy_n(sums_.begin() + first * outputs_, p.size(), gradient.begin() + p.offset);
    first += p.rows;
  }
  if (bias_ >= 0) {
    const ParameterInfo& p = parameters.info()[at(bias_)];
    std::copy_n(sums_.begin() + 3 * block(), outputs_, gradient.begin() + p.offset);
  }
}

/// Returns an entry of the Hessian, averaged over batches if `keep` > 0.
template <class T>
double HeadMetric<T>::hessian(double keep, Index i) const {
  return keep > 0 ? static_cast<double>(average_[at(i)]) / static_cast<double>(average_.back()) : sums_[at(i)];
}

template <class T>
double HeadMetric<T>::damping_of(Index output) const {
  return damping_ * head_.weight * frequencies_[at(output)] + std::numeric_limits<double>::epsilon();
}

/// Returns the place of the weight of each unit to the first output.
template <class T>
std::vector<Index> HeadMetric<T>::places_of_weights(const Parameters<T>& parameters) const {
  std::vector<Index> places(at(units_));
  Index first = 0;
  for (const int parameter : term_parameters_) {
    const ParameterInfo& p = parameters.info()[at(parameter)];
    for (Index i = 0; i < p.rows; ++i) places[at(first++)] = p.offset + i * outputs_;
  }
  return places;
}

/// delta_i = (G_i - G_0 H_0i / H_00) / (H_ii - H_0i^2 / H_00), delta_0 = G_0 / H_00 - sum_i H_0i / H_00 delta_i, for
/// each output.
template <class T>
void HeadMetric<T>::direction(const Parameters<T>& parameters, double keep, std::span<double> direction) {
  if (keep > 0) {  // H is averaged over batches; G is computed from the current batch
    const auto blend = [&](T& mean, double present) {
      mean = static_cast<T>(keep * static_cast<double>(mean) + (1 - keep) * present);
    };
    blend(average_.back(), 1);
    for (std::size_t i = 0; i < sums_.size(); ++i) blend(average_[i], sums_[i]);
  }
  if (full_) return full_direction(parameters, keep, direction);
  const Index n = units_, a = outputs_;
  const std::vector<Index> weight_of = places_of_weights(parameters);
  for (Index x = 0; x < a; ++x) {
    const double damping = damping_of(x);
    const double g0 = sums_[at(3 * n * a + x)], h00 = hessian(keep, 3 * n * a + a + x) + damping;
    double d0 = g0 / h00;
    for (Index i = 0; i < n; ++i) {
      const double g = sums_[at(i * a + x)], hii = hessian(keep, (2 * n + i) * a + x) + damping;
      const double h0i = bias_ >= 0 ? hessian(keep, (n + i) * a + x) : 0;
      const double d = (g - g0 * h0i / h00) / std::max(hii - h0i * h0i / h00, damping);  // >= except for rounding
      direction[at(weight_of[at(i)] + x)] = d;
      d0 -= h0i / h00 * d;
    }
    if (bias_ >= 0) direction[at(parameters.info()[at(bias_)].offset + x)] = d0;
  }
}

/// Solves M delta = G by a Cholesky factorization.
template <class T>
void HeadMetric<T>::full_direction(const Parameters<T>& parameters, double keep, std::span<double> direction) const {
  const Index n = units_, a = outputs_, m = inputs(), size = full_size();
  std::vector<double> matrix(at(size * size)), solution(at(size));
  for (Index p = 0; p < size; ++p) {
    const Index x = p / m, i = p % m;
    for (Index q = 0; q <= p; ++q)
      matrix[at(p * size + q)] = hessian(keep, full_begin() + p * size + q) + (p == q ? damping_of(x) : 0);
    solution[at(p)] = i < n ? sums_[at(i * a + x)] : sums_[at(3 * n * a + x)];
  }
  raised_factor(matrix.data(), size);
  solve_lower(matrix.data(), size, size, solution.data());
  solve_upper(matrix.data(), size, size, solution.data());
  const std::vector<Index> weight_of = places_of_weights(parameters);
  for (Index p = 0; p < size; ++p) {
    const Index x = p / m, i = p % m;
    direction[at(x + (i < n ? weight_of[at(i)] : parameters.info()[at(bias_)].offset))] = solution[at(p)];
  }
}

template class HeadMetric<float>;
template class HeadMetric<double>;

}  // namespace unfold
