#include "unfold/markov/chain_block.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "unfold/numerics/functions.h"
#include "unfold/numerics/state_rows.h"

namespace unfold {
namespace {

constexpr Index kLanes = 8;
Index whole_lanes(Index n) { return (n + kLanes - 1) / kLanes * kLanes; }

struct Extent {
  double least = std::numeric_limits<double>::infinity(), most = -std::numeric_limits<double>::infinity();
};

/// Of what is possible.
Extent extent_of(const std::vector<double>& scores) {
  Extent extent;
  for (const double s : scores) {
    if (s == -std::numeric_limits<double>::infinity()) continue;
    extent.least = std::min(extent.least, s);
    extent.most = std::max(extent.most, s);
  }
  return extent;
}

/// exp(score - largest); false where finite ones lie too far apart, or there is none.
bool scaled(const std::vector<double>& scores, std::vector<double>& out) {
  const Extent extent = extent_of(scores);
  out.resize(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) out[i] = scores[i] - extent.most;
  vector_exp(out.data(), out.data(), static_cast<Index>(out.size()));
  return extent.most - extent.least <= ScaledNeighbours::kSpread;  // false for NaN and for none
}

/// In four sums side by side, which the processor adds at once.
double row_sum(const double* x, Index n) {
  std::array<double, 4> sums{};
  Index i = 0;
  for (; i + 4 <= n; i += 4)
    for (Index k = 0; k < 4; ++k) sums[at(k)] += x[i + k];
  for (; i < n; ++i) sums[at(i % 4)] += x[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace

ScaledNeighbours::ScaledNeighbours(const ChainScores& scores) : labels_(scores.labels) {
  const bool pairs = scaled(scores.transitions, weights_), first = scaled(scores.start, start_);
  suits_ = scaled(scores.stop, stop_) && pairs && first;
  const Matrix<const double> e{weights_.data(), labels_, labels_, labels_};
  for (auto* each : {&start_, &stop_}) each->resize(at(whole_lanes(labels_)));
  forward_.pack(e);
  backward_.pack_transposed(e);
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
    for (Buffer<double>* each : {&alpha_, &beta_, &weight_}) {
      each->resize(needed);
      std::fill_n(each->data(), needed, 0.0);  // nobody writes behind the labels of a row
    }
  own_.resize(at(count_));
  std::iota(own_.begin(), own_.end(), 0);
  scale_.resize(at(rows()));
  suits_.assign(at(count_), 1);
}

template <class T>
void ChainBlock::load(Matrix<const T> signal) {
  std::vector<char> fits(at(count_));
  for (Index t = 0; t < steps(); ++t) {
    const Matrix<const T> scores{signal.row(begins_[at(t)]), running(t), labels_, signal.stride};
    exp_below_largest<T>(scores, ScaledNeighbours::kSpread, padded(weight_, t, running(t)), fits.data());
    for (Index k = 0; k < running(t); ++k)
      if (fits[at(k)] == 0) suits_[at(k)] = 0;
  }
}

template <class T>
void ChainBlock::put_expected(double factor, Matrix<T> out) {
  for (Index t = 0; t < steps(); ++t)
    scaled_products<T>(step(alpha_, t, running(t)), step(beta_, t, running(t)), factor,
                       {out.row(begins_[at(t)]), running(t), labels_, out.stride});
}

void ChainBlock::run(const ScaledNeighbours& neighbours) {
  go_forward(neighbours);
  go_backward(neighbours);
}

/// alpha_t = (alpha_{t-1} E) e_t, divided by its sum.
void ChainBlock::go_forward(const ScaledNeighbours& neighbours) {
  const PackedMatrix<double>& e = neighbours.forward();
  for (Index t = 0; t < steps(); ++t) {
    const Index now = running(t);
    const Matrix<double> alpha = padded(alpha_, t, now);
    if (t > 0) multiply<double>(step(alpha_, t - 1, now), e, step(alpha_, t, now), {0, e.panels()}, Start::zero);
    const Matrix<const double> before =
        t > 0 ? alpha : Matrix<const double>{neighbours.start().data(), now, stride_, 0};
    double* sums = scale_.data() + offsets_[at(t)];
    see_symbols(before, padded(weight_, t, now), own_.data(), 0, alpha, sums);
    for (Index k = 0; k < now; ++k)
      if (!(sums[k] > 0)) suits_[at(k)] = 0;  // it began with what cannot be
  }
}

/// beta_{t-1} = (beta_t e_t) E', divided as alpha_t was, so that alpha beta sums to 1 at every position.
void ChainBlock::go_backward(const ScaledNeighbours& neighbours) {
  const PackedMatrix<double>& e = neighbours.backward();
  for (Index t = steps() - 1; t >= 0; --t) {
    const Index now = running(t), later = t + 1 < steps() ? running(t + 1) : 0;
    if (later > 0)
      multiply<double>(step(weight_, t + 1, later), e, step(beta_, t, later), {0, e.panels()}, Start::zero);
    for (Index k = later; k < now; ++k) end_chain(inner(k, t), neighbours.stop());
    weigh_back(padded(beta_, t, now), padded(weight_, t, now), scale_.data() + offsets_[at(t)],
               padded(weight_, t, now));
  }
}

void ChainBlock::end_chain(Index row, const std::vector<double>& stop) {
  const double* a = alpha_.data() + row * stride_;
  double* b = beta_.data() + row * stride_;
  for (Index j = 0; j < labels_; ++j) b[j] = a[j] * stop[at(j)];
  const double inverse = 1 / row_sum(b, labels_);
  for (Index j = 0; j < labels_; ++j) b[j] = inverse * stop[at(j)];
}

/// Steps of equally many chains lie one behind the other, so that one product counts them all.
void ChainBlock::add_pairs(const std::vector<char>& counted, double* sum) {
  for (Index k = 0; k < count_; ++k)
    for (Index t = 1; t < length(k) && counted[at(k)] == 0; ++t)
      std::fill_n(weight_.data() + inner(k, t) * stride_, labels_, 0.0);
  const Matrix<double> total{sum, labels_, labels_, labels_};
  for (Index last = steps() - 1; last > 0;) {
    Index first = last;  // steps [first, last] have as many chains as each other, and as the step before the first
    while (first > 1 && running(first - 1) == running(last) && running(first - 2) == running(last)) --first;
    const Index together = running(last) * (last - first + 1);
    accumulate_outer<double>(step(alpha_, first - 1, together), step(weight_, first, together), total, {0, labels_},
                             Start::accumulate);
    last = first - 1;
  }
}

template void ChainBlock::load(Matrix<const float>);
template void ChainBlock::load(Matrix<const double>);
template void ChainBlock::put_expected(double, Matrix<float>);
template void ChainBlock::put_expected(double, Matrix<double>);

}  // namespace unfold
