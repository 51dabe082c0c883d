#include "optim/direction/conjugate_gradient.h"

#include <algorithm>
#include <cmath>

#include "unfold/numerics/vector.h"

namespace unfold {

template <class T>
std::vector<double> dots_of_chunks(Team& team, std::span<const T> x, std::span<const T> y) {
  const auto chunks = (static_cast<Index>(x.size()) + kSumChunk - 1) / kSumChunk;
  std::vector<double> sums(static_cast<std::size_t>(chunks));
  team.run([&](Member& me) {
    const Range mine = me.share(chunks);
    for (Index c = mine.begin; c < mine.end; ++c) {
      const auto first = static_cast<std::size_t>(c * kSumChunk);
      const auto count = std::min<std::size_t>(kSumChunk, x.size() - first);
      sums[static_cast<std::size_t>(c)] = dot<T>(x.subspan(first, count), y.subspan(first, count));
    }
  });
  return sums;
}

template <class T>
double dot(Team& team, std::span<const T> x, std::span<const T> y) {
  double total = 0;
  for (const double sum : dots_of_chunks(team, x, y)) total += sum;
  return total;
}

namespace {

/// The vectors of one solve.
template <class T>
class Solver {
 public:
  using Multiply = std::function<void(std::span<const T>, std::span<T>)>;

  Solver(Team& team, const Multiply& multiply, std::span<const T> b, std::span<const T> preconditioner,
         std::span<const T> start)
      : team_(team), multiply_(multiply), b_(b), m_(preconditioner), n_(static_cast<Index>(b.size())) {
    for (Buffer<T>* v : {&x_, &r_, &y_, &d_, &product_}) v->resize(n_);
    std::copy(start.begin(), start.end(), x_.begin());
    multiply_(x_.span(), r_.span());
    const T share = static_cast<T>(useful_share());
    for_each_element(team_, n_, [&](Index i) {
      x_[i] *= share;
      r_[i] = std::fma(share, r_[i], -b_[static_cast<std::size_t>(i)]);
    });
    precondition();
    for_each_element(team_, n_, [&](Index i) { d_[i] = -y_[i]; });
    slope_ = dot<T>(team_, r_.span(), y_.span());
  }

  /// Runs one iteration; returns false if there is no further descent.
  bool step() {
    if (!(slope_ > 0)) return false;
    multiply_(d_.span(), product_.span());
    const double curvature = dot<T>(team_, d_.span(), product_.span());
    if (!(curvature > 0) || !std::isfinite(curvature)) return false;
    const T length = static_cast<T>(slope_ / curvature);
    for_each_element(team_, n_, [&](Index i) {
      x_[i] = std::fma(length, d_[i], x_[i]);
      r_[i] = std::fma(length, product_[i], r_[i]);
    });
    precondition();
    const double before = slope_;
    slope_ = dot<T>(team_, r_.span(), y_.span());
    const T keep = static_cast<T>(slope_ / before);
    for_each_element(team_, n_, [&](Index i) { d_[i] = std::fma(keep, d_[i], -y_[i]); });
    return true;
  }

  /// q(x) = 1/2 x'(r - b), for r = Bx - b.
  double value() {
    for_each_element(team_, n_, [&](Index i) { product_[i] = r_[i] - b_[static_cast<std::size_t>(i)]; });
    return 0.5 * dot<T>(team_, x_.span(), product_.span());
  }
  const Buffer<T>& x() const { return x_; }

 private:
  /// Returns the multiple of the start x in [0, 1] that minimizes q; r holds Bx.
  double useful_share() {
    const double curvature = dot<T>(team_, x_.span(), r_.span());
    if (!(curvature > 0) || !std::isfinite(curvature)) return 0;
    return std::clamp(dot<T>(team_, x_.span(), b_) / curvature, 0.0, 1.0);
  }

  void precondition() {
    for_each_element(team_, n_, [&](Index i) { y_[i] = m_.empty() ? r_[i] : r_[i] / m_[static_cast<std::size_t>(i)]; });
  }

  Team& team_;
  const Multiply& multiply_;
  std::span<const T> b_, m_;
  Index n_;
  Buffer<T> x_, r_, y_, d_, product_;  // iterate, residual, preconditioned residual, direction, B d
  double slope_ = 0;                   // r'y
};

}  // namespace

template <class T>
CgResult<T> conjugate_gradient(Team& team, const std::function<void(std::span<const T>, std::span<T>)>& multiply,
                               std::span<const T> b, std::span<const T> preconditioner, std::span<const T> start,
                               const CgOptions& options) {
  constexpr double kSpacing = 1.3;
  CgResult<T> result;
  Solver<T> solver(team, multiply, b, preconditioner, start);
  std::vector<double> q = {solver.value()};
  double next = 1;
  Index kept = 0;
  const auto keep = [&] {
    result.iterates.push_back({result.iterations, q.back(), Buffer<T>(static_cast<Index>(b.size()))});
    std::copy(solver.x().begin(), solver.x().end(), result.iterates.back().x.begin());
    kept = result.iterations;
  };
  while (result.iterations < options.iterations && solver.step()) {
    const Index i = ++result.iterations, k = std::max<Index>(10, i / 10);
    q.push_back(solver.value());
    if (static_cast<double>(i) >= next) {
      keep();
      next = std::max(next * kSpacing, static_cast<double>(i) + 1);
    }
    if (i > k && q.back() < 0 &&
        (q.back() - q[static_cast<std::size_t>(i - k)]) / q.back() < static_cast<double>(k) * options.tolerance)
      break;
  }
  if (result.iterations > kept || result.iterates.empty()) keep();
  return result;
}

template std::vector<double> dots_of_chunks(Team&, std::span<const float>, std::span<const float>);
template std::vector<double> dots_of_chunks(Team&, std::span<const double>, std::span<const double>);
template double dot(Team&, std::span<const float>, std::span<const float>);
template double dot(Team&, std::span<const double>, std::span<const double>);
template CgResult<float> conjugate_gradient(Team&, const std::function<void(std::span<const float>, std::span<float>)>&,
                                            std::span<const float>, std::span<const float>, std::span<const float>,
                                            const CgOptions&);
template CgResult<double> conjugate_gradient(Team&,
                                             const std::function<void(std::span<const double>, std::span<double>)>&,
                                             std::span<const double>, std::span<const double>, std::span<const double>,
                                             const CgOptions&);

}  // namespace unfold
