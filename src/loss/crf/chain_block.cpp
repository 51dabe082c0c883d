#include "loss/crf/chain_block.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "numerics/functions.h"
#include "numerics/hmm/hmm_rows.h"

namespace unfold {
namespace {

constexpr Index kLanes = 8;
Index whole_lanes(Index n) { return (n + kLanes - 1) / kLanes * kLanes; }

struct Extent {
  double least = std::numeric_limits<double>::infinity(), most = -std::numeric_limits<double>::infinity();
};

/// Returns the range of the finite scores.
Extent extent_of(const std::vector<double>& scores) {
  Extent extent;
  for (const double s : scores) {
    if (s == -std::numeric_limits<double>::infinity()) continue;
    extent.least = std::min(extent.least, s);
    extent.most = std::max(extent.most, s);
  }
  return extent;
}

/// Computes exp(score - largest); returns false if finite scores lie too far apart or there are none.
bool scaled(const std::vector<double>& scores, std::vector<double>& out) {
  const Extent extent = extent_of(scores);
  out.resize(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) out[i] = scores[i] - extent.most;
  vector_exp(out.data(), out.data(), static_cast<Index>(out.size()));
  return extent.most - extent.least <= ScaledTransitions::kSpread;  // false if a score is NaN or if no score is finite
}

/// Uses four partial sums, which the processor adds in parallel.
double row_sum(const double* x, Index n) {
  std::array<double, 4> sums{};
  Index i = 0;
  for (; i + 4 <= n; i += 4)
    for (Index k = 0; k < 4; ++k) sums[at(k)] += x[i + k];
  for (; i < n; ++i) sums[at(i % 4)] += x[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace

ScaledTransitions::ScaledTransitions(const ChainScores& scores) : labels_(scores.labels) {
  const bool pairs = scaled(scores.transitions, weights_), first = scaled(scores.start, start_);
  suits_ = scaled(scores.stop, stop_) && pairs && first;
  const Index stride = whole_lanes(labels_);
  for (auto* each : {&start_, &stop_}) each->resize(at(stride));
  std::vector<double> padded(at(stride * stride));  // whole vectors, so that products need no partial vectors
  for (Index i = 0; i < labels_; ++i) std::copy_n(weights_.data() + i * labels_, labels_, padded.data() + i * stride);
  forward_.pack({padded.data(), labels_, stride, stride});
  backward_.pack_transposed({padded.data(), stride, labels_, stride});
}

void ChainBlock::lay(const Structure& structure, Index first, Index count, Index labels) {
  const Structure::Order& order = structure.order();
  count_ = count;
  labels_ = labels;
  stride_ = whole_lanes(labels);
  lengths_.resize(at(count));
  for (Index k = 0; k < count; ++k) lengths_[at(k)] = structure.size(structure.sequence_at(first + k));
  offsets_.assign(1, 0);
  begins_.clear();
  for (Index t = 0; t < lengths_.front(); ++t) {
    begins_.push_back(order.step(t).begin + first);
    offsets_.push_back(offsets_.back() + std::min(count, order.step(t).size() - first));
  }
  make_room();
}

void ChainBlock::make_room() {
  const Index needed = rows() * stride_;
  if (alpha_.size() < needed)
    for (Buffer<double>* each : {&alpha_, &beta_, &weight_}) each->resize(needed);
  row_labels_.resize(at(rows()));
  for (auto* each : {&scale_, &share_, &expected_}) each->resize(at(rows()));
  steps_.clear();
  for (Index t = 0; t < lengths_.front(); ++t) {
    const Index now = running(t), before = std::max<Index>(t - 1, 0);
    steps_.push_back({.alpha = rows_of(alpha_, t, now, stride_),
                      .beta = rows_of(beta_, t, now, stride_),
                      .weight = rows_of(weight_, t, now, stride_),
                      .alpha_before = rows_of(alpha_, before, now, labels_),
                      .weight_to_here = rows_of(weight_, t, now, labels_),
                      .beta_before = rows_of(beta_, before, now, stride_)});
  }
  fits_.resize(at(count_));
  suits_.assign(at(count_), 1);
}

template <class T>
void ChainBlock::run(const ScaledTransitions& neighbors, Matrix<const T> signal, double factor, Matrix<T> slopes) {
  const bool in_place = slopes.data == signal.data;
  if (in_place) keep(signal);
  go_forward(neighbors, signal);
  go_backward(neighbors, factor, slopes);
  const auto counts = [](double share) { return share > 0 && std::isfinite(share); };
  if (!std::ranges::all_of(share_, counts))
    for (Index t = 0; t < steps(); ++t)
      for (Index k = 0; k < running(t); ++k)
        if (!counts(share_[at(inner(k, t))])) suits_[at(k)] = 0;
  for (Index k = 0; k < count_ && in_place; ++k)
    if (!suits(k)) give_back(k, slopes);
}

template <class T>
void ChainBlock::keep(Matrix<const T> signal) {
  const std::size_t bytes = at(labels_) * sizeof(T);
  kept_.resize(at(rows()) * bytes);
  for (Index t = 0; t < steps(); ++t)
    for (Index k = 0; k < running(t); ++k)
      std::memcpy(kept_.data() + at(inner(k, t)) * bytes, signal.row(outer(k, t)), bytes);
}

template <class T>
void ChainBlock::give_back(Index chain, Matrix<T> signal) const {
  const std::size_t bytes = at(labels_) * sizeof(T);
  for (Index t = 0; t < length(chain); ++t)
    std::memcpy(signal.row(outer(chain, t)), kept_.data() + at(inner(chain, t)) * bytes, bytes);
}

/// alpha_t = (alpha_{t-1} E) e_t, divided by its sum.
template <class T>
void ChainBlock::go_forward(const ScaledTransitions& neighbors, Matrix<const T> signal) {
  const PackedMatrix<double>& e = neighbors.forward();
  for (Index t = 0; t < steps(); ++t) {
    const Step& step = steps_[at(t)];
    const Index now = running(t);
    if (t > 0) multiply<double>(step.alpha_before, e, step.alpha, {0, e.panels()}, Start::zero);
    const Matrix<const double> before =
        t > 0 ? step.alpha : Matrix<const double>{neighbors.start().data(), now, stride_, 0};
    double* scales = scale_.data() + offsets_[at(t)];
    forward_scores<T>(before, {signal.row(begins_[at(t)]), now, labels_, signal.stride}, ScaledTransitions::kSpread,
                      step.weight, step.alpha, scales, fits_.data());
    for (Index k = 0; k < now; ++k)
      if (fits_[at(k)] == 0 || scales[k] == 0) suits_[at(k)] = 0;  // 0: the prefix is impossible
  }
}

/// beta_{t-1} = (beta_t e_t) E', divided by the same factors as alpha_t, so alpha beta sums to 1 at every position.
template <class T>
void ChainBlock::go_backward(const ScaledTransitions& neighbors, double factor, Matrix<T> slopes) {
  const PackedMatrix<double>& e = neighbors.backward();
  for (Index t = steps() - 1; t >= 0; --t) {
    const Index now = running(t), later = t + 1 < steps() ? running(t + 1) : 0;
    if (later > 0) {
      const Step& next = steps_[at(t + 1)];
      multiply<double>(next.weight_to_here, e, next.beta_before, {0, e.panels()}, Start::zero);
    }
    for (Index k = later; k < now; ++k) end_chain(inner(k, t), neighbors.stop());
    judge_labels(neighbors, t, later);
    const Matrix<T> here = slopes.data == nullptr ? slopes : slopes.rows_from(begins_[at(t)], now);
    const Step& step = steps_[at(t)];
    backward_scores<T>(step.alpha, step.beta, scale_.data() + offsets_[at(t)], factor, step.weight, here);
    for (Index k = 0; k < here.rows; ++k) {
      const Index row = inner(k, t);
      here(k, label(row)) = static_cast<T>(factor * (expected_[at(row)] - 1));
    }
  }
}

void ChainBlock::end_chain(Index row, const std::vector<double>& stop) {
  const double* a = alpha_.data() + row * stride_;
  double* b = beta_.data() + row * stride_;
  for (Index j = 0; j < labels_; ++j) b[j] = a[j] * stop[at(j)];
  const double inverse = 1 / row_sum(b, labels_);
  for (Index j = 0; j < stride_; ++j) b[j] = inverse * stop[at(j)];
}

/// Computes the probabilities of the labels at t + 1 while the values of t are in the cache, and the probabilities of
/// the labels at 0.
void ChainBlock::judge_labels(const ScaledTransitions& neighbors, Index t, Index later) {
  for (Index k = 0; k < running(t); ++k) {
    const Index row = inner(k, t);
    const Symbol here = label(row);
    expected_[at(row)] = ahead(row)[here] * behind(row)[here];
    if (t == 0) share_[at(row)] = expected_[at(row)];
    if (k >= later) continue;
    const Index next = inner(k, t + 1);
    share_[at(next)] = neighbors.weight(here, label(next)) * entering(next)[label(next)] / behind(row)[here];
  }
}

/// Steps with equal numbers of chains are contiguous, so one product covers all of them.
void ChainBlock::add_pairs(const ScaledTransitions& neighbors, double* sum) {
  for (Index k = 0; k < count_; ++k)
    for (Index t = 0; t < length(k) && !suits(k); ++t)
      for (Buffer<double>* each : {&alpha_, &weight_}) std::fill_n(each->data() + inner(k, t) * stride_, stride_, 0.0);
  pairs_.assign(at(labels_ * stride_), 0.0);
  for (Index last = steps() - 1; last > 0;) {
    // All steps [first, last] have the same number of chains as the step before the first.
    Index first = last;
    while (first > 1 && running(first - 1) == running(last) && running(first - 2) == running(last)) --first;
    const Index together = running(last) * (last - first + 1);
    accumulate_outer<double>(rows_of(alpha_, first - 1, together, labels_), rows_of(weight_, first, together, stride_),
                             {pairs_.data(), labels_, stride_, stride_}, {0, labels_}, Start::accumulate);
    last = first - 1;
  }
  for (Index i = 0; i < labels_; ++i)
    for (Index j = 0; j < labels_; ++j) sum[i * labels_ + j] += pairs_[at(i * stride_ + j)] * neighbors.weight(i, j);
}

template void ChainBlock::run(const ScaledTransitions&, Matrix<const float>, double, Matrix<float>);
template void ChainBlock::run(const ScaledTransitions&, Matrix<const double>, double, Matrix<double>);

}  // namespace unfold
