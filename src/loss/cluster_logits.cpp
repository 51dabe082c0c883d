#include "loss/cluster_logits.h"

#include <algorithm>
#include <cmath>

#include "numerics/functions.h"
#include "unfold/base/checks.h"
#include "unfold/loss/scratch.h"
#include "unfold/numerics/random.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

constexpr Index kRowsAtOnce = 256;  // so that a block of logits stays in the cache

}  // namespace

/// The memory of a thread.
template <class T>
struct ClusterLogits<T>::Work {
  PackedMatrix<T> weights, direction, transposed;
  T* logits = row_scratch<T, 14>(kRowsAtOnce * kBlock);
  T* probes = row_scratch<T, 15>(kRowsAtOnce * kBlock);

  Matrix<T> logit_rows(Range rows, Range symbols) { return {logits, rows.size(), symbols.size(), kBlock}; }
  Matrix<T> probe_rows(Range rows, Range symbols) { return {probes, rows.size(), symbols.size(), kBlock}; }
};

/// The same chains of fused multiply-adds as in `multiply`, without packed weights.
template <class T>
void ClusterLogits<T>::logits(const T* z, T* out) const {
  for (Index block = 0; block < blocks_; ++block) {
    const auto [begin, end] = symbols_of(block);
    const std::span<T> y(out + begin, at(end - begin));
    std::copy_n(weights_.b + begin, end - begin, y.data());
    for (Index j = 0; j < size(); ++j) axpy<T>(z[j], {weights_.w.row(j) + begin, y.size()}, y);
  }
}

template <class T>
T ClusterLogits<T>::normalizer(const T* logits) const {
  T* terms = row_scratch<T, 16>(blocks_);
  for (Index block = 0; block < blocks_; ++block) {
    const Range symbols = symbols_of(block);
    terms[block] = log_sum_exp(logits + symbols.begin, symbols.size());
  }
  return log_sum_exp(terms, blocks_);
}

template <class T>
void ClusterLogits<T>::add(const T* z, Index row, Index target) {
  z_.insert(z_.end(), z, z + size());
  rows_.push_back(row);
  targets_.push_back(target);
}

template <class T>
void ClusterLogits<T>::allocate(bool derivatives, bool probe) {
  normalizers_.resize(rows());
  target_logits_.resize(rows());
  terms_.resize(rows() * blocks_);
  if (probe) means_.resize(rows());
  if (derivatives) adjoints_.resize(rows() * blocks_ * size());
}

template <class T>
void ClusterLogits<T>::pack(Index block, const LogitProbe<T>* probe, Work& work) const {
  const Range symbols = symbols_of(block);
  work.weights.pack(weights_.w.cols_from(symbols.begin, symbols.size()));
  if (probe != nullptr && probe->tangent.data != nullptr)
    work.direction.pack(probe->direction.w.cols_from(symbols.begin, symbols.size()));
}

template <class T>
void ClusterLogits<T>::logits_of(Index block, Range rows, Work& work) const {
  const Range symbols = symbols_of(block);
  multiply(projections().rows_from(rows.begin, rows.size()), work.weights, work.logit_rows(rows, symbols),
           {0, work.weights.panels()}, Start::bias, weights_.b + symbols.begin);
}

/// Replaces the memory of the logits by probabilities.
template <class T>
void ClusterLogits<T>::probabilities_of(Index block, Range rows, Work& work) const {
  logits_of(block, rows, work);
  const Matrix<T> p = work.logit_rows(rows, symbols_of(block));
  for (Index r = 0; r < p.rows; ++r) {
    for (Index w = 0; w < p.cols; ++w) p(r, w) -= normalizers_[rows.begin + r];
    vector_exp(p.row(r), p.row(r), p.cols);
  }
}

/// Computes the elements of a probe.
template <class T>
void ClusterLogits<T>::probe_of(Index block, Range rows, const LogitProbe<T>& probe, Work& work) const {
  const Range symbols = symbols_of(block);
  const Matrix<T> out = work.probe_rows(rows, symbols);
  if (probe.tangent.data == nullptr) {
    for (Index r = 0; r < out.rows; ++r)
      fill_signs(probe.seed, probe.stream, row(rows.begin + r) * blocks_ + block,
                 Matrix<T>{out.row(r), 1, kBlock, kBlock});
    return;
  }
  const Panels all{0, work.weights.panels()};
  multiply(probe.tangent.rows_from(rows.begin, rows.size()), work.weights, out, all, Start::bias,
           probe.direction.b + symbols.begin);
  multiply(projections().rows_from(rows.begin, rows.size()), work.direction, out, all, Start::accumulate);
}

/// Replaces the memory of the logits by the derivatives of the nats, or of the probe, with respect to the logits.
template <class T>
void ClusterLogits<T>::errors_of(Index block, Range rows, std::span<const T> scale, const LogitProbe<T>* probe,
                                 Work& work) const {
  const Range symbols = symbols_of(block);
  probabilities_of(block, rows, work);
  if (probe != nullptr) probe_of(block, rows, *probe, work);
  const Matrix<T> errors = work.logit_rows(rows, symbols), v = work.probe_rows(rows, symbols);
  for (Index r = 0; r < errors.rows; ++r) {
    const Index i = rows.begin + r;
    T* e = errors.row(r);
    if (probe == nullptr) {
      if (const Index target = targets_[at(i)]; symbols.begin <= target && target < symbols.end)
        e[target - symbols.begin] -= 1;
      for (Index w = 0; w < errors.cols; ++w) e[w] *= scale[at(i)];
    } else if (probe->root) {
      for (Index w = 0; w < errors.cols; ++w) e[w] = scale[at(i)] * (std::sqrt(e[w]) * v(r, w) - e[w] * means_[i]);
    } else {
      for (Index w = 0; w < errors.cols; ++w) e[w] = scale[at(i)] * (e[w] * (v(r, w) - means_[i]));
    }
  }
}

template <class T>
void ClusterLogits<T>::normalize(Member& me) {
  Work work;
  const Range mine = me.share(blocks_);
  for (Index block = mine.begin; block < mine.end && rows() > 0; ++block) {
    const Range symbols = symbols_of(block);
    pack(block, nullptr, work);
    for (Index first = 0; first < rows(); first += kRowsAtOnce) {
      const Range some{first, std::min(rows(), first + kRowsAtOnce)};
      logits_of(block, some, work);
      const Matrix<const T> logits = work.logit_rows(some, symbols);
      for (Index i = some.begin; i < some.end; ++i) {
        terms_[i * blocks_ + block] = log_sum_exp(logits.row(i - first), symbols.size());
        if (const Index target = targets_[at(i)]; symbols.begin <= target && target < symbols.end)
          target_logits_[i] = logits(i - first, target - symbols.begin);
      }
    }
  }
  me.sync();
  const Range own = me.share(rows());
  for (Index i = own.begin; i < own.end; ++i) normalizers_[i] = log_sum_exp(terms_.data() + i * blocks_, blocks_);
}

template <class T>
void ClusterLogits<T>::average(Member& me, const LogitProbe<T>& probe) {
  Work work;
  const Range mine = me.share(blocks_);
  for (Index block = mine.begin; block < mine.end && rows() > 0; ++block) {
    const Range symbols = symbols_of(block);
    pack(block, &probe, work);
    for (Index first = 0; first < rows(); first += kRowsAtOnce) {
      const Range some{first, std::min(rows(), first + kRowsAtOnce)};
      probabilities_of(block, some, work);
      probe_of(block, some, probe, work);
      const Matrix<T> p = work.logit_rows(some, symbols), v = work.probe_rows(some, symbols);
      for (Index r = 0; r < p.rows; ++r) {
        for (Index w = 0; probe.root && w < p.cols; ++w) p(r, w) = std::sqrt(p(r, w));
        terms_[(first + r) * blocks_ + block] =
            static_cast<T>(dot(span_of<T>(p.row(r), p.cols), span_of<T>(v.row(r), p.cols)));
      }
    }
  }
  me.sync();
  const Range own = me.share(rows());
  for (Index i = own.begin; i < own.end; ++i) {
    means_[i] = 0;
    for (Index block = 0; block < blocks_; ++block) means_[i] += terms_[i * blocks_ + block];
  }
}

template <class T>
void ClusterLogits<T>::differentiate(Member& me, std::span<const T> scale, const LogitProbe<T>* probe,
                                     ClusterWeights<T> gradient) {
  Work work;
  T* adjoints = row_scratch<T, 16>(kRowsAtOnce * size());
  const Range mine = me.share(blocks_);
  for (Index block = mine.begin; block < mine.end && rows() > 0; ++block) {
    const Range symbols = symbols_of(block);
    pack(block, probe, work);
    work.transposed.pack_transposed(weights_.w.cols_from(symbols.begin, symbols.size()));
    for (Index end = rows(), first = 0; end > 0; end = first) {
      first = std::max<Index>(0, end - kRowsAtOnce);
      errors_of(block, {first, end}, scale, probe, work);
      const Matrix<const T> errors = work.logit_rows({first, end}, symbols);
      accumulate_outer(projections().rows_from(first, errors.rows), errors,
                       gradient.w.cols_from(symbols.begin, symbols.size()), {0, size()}, Start::accumulate);
      accumulate_columns(errors, gradient.b + symbols.begin, {0, symbols.size()}, Start::accumulate);
      const Matrix<T> back{adjoints, errors.rows, size(), size()};
      multiply(errors, work.transposed, back, {0, work.transposed.panels()}, Start::zero);
      for (Index r = 0; r < errors.rows; ++r)
        std::copy_n(back.row(r), size(), adjoints_.data() + ((first + r) * blocks_ + block) * size());
    }
  }
}

template <class T>
void ClusterLogits<T>::adjoint(Index i, T* out) const {
  std::fill_n(out, size(), T{0});
  for (Index block = 0; block < blocks_; ++block)
    for (Index j = 0; j < size(); ++j) out[j] += adjoints_[(i * blocks_ + block) * size() + j];
}

template class ClusterLogits<float>;
template class ClusterLogits<double>;

}  // namespace unfold
