#include "train/cholesky.h"

#include <algorithm>
#include <cmath>

#include "unfold/numerics/product.h"
#include "unfold/numerics/vector.h"

namespace unfold {

std::optional<Cholesky> Cholesky::of(std::vector<double> a, Index n) {
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j <= i; ++j) {
      const auto row = [&](Index r) { return std::span<const double>(a).subspan(at(r * n), at(j)); };
      const double rest = a[at(i * n + j)] - dot<double>(row(i), row(j));
      if (i == j && !(rest > 1e-14 * a[at(i * n + i)])) return std::nullopt;
      a[at(i * n + j)] = i == j ? std::sqrt(rest) : rest / a[at(j * n + j)];
    }
  return Cholesky(std::move(a), n);
}

namespace {

constexpr Index kBlock = 128, kFactorStripe = 64;

/// Factors the block of columns [k, k + width) in the rows [rows.begin, rows.end), which are the diagonal block or rows
/// below it. Returns false if the matrix is not positive definite.
bool factor_rows(Matrix<double> a, Index k, Index width, Range rows) {
  for (Index i = rows.begin; i < rows.end; ++i)
    for (Index j = k; j < std::min(k + width, i + 1); ++j) {
      const std::span<const double> x(a.row(i) + k, at(j - k)), y(a.row(j) + k, at(j - k));
      const double rest = a(i, j) - dot<double>(x, y);
      if (i == j && !(rest > 0)) return false;
      a(i, j) = i == j ? std::sqrt(rest) : rest / a(j, j);
    }
  return true;
}

}  // namespace

std::optional<Cholesky> Cholesky::blocked(std::vector<double> values, Index n, Team& team) {
  const Matrix<double> a{values.data(), n, n, n};
  bool good = true;
  Buffer<double> negative(n * kBlock);
  PackedMatrix<double> packed;
  for (Index k = 0; k < n && good; k += kBlock) {
    const Index width = std::min(kBlock, n - k), below = k + width, rest = n - below;
    good = factor_rows(a, k, width, {k, below});
    if (!good || rest == 0) break;
    packed.resize(width, rest);
    const Matrix<double> minus{negative.data(), rest, width, width};
    team.run([&](Member& me) {
      const Range mine = me.share(rest);
      factor_rows(a, k, width, {below + mine.begin, below + mine.end});
      for (Index r = mine.begin; r < mine.end; ++r)
        for (Index j = 0; j < width; ++j) minus(r, j) = -a(below + r, k + j);
      me.sync();
      packed.pack_transposed(minus, me.share(packed.panels()));
      me.sync();
      const Matrix<const double> left = a.rows_from(below, rest).cols_from(k, width);
      const Matrix<double> right = a.rows_from(below, rest).cols_from(below, rest);
      for (Index r = me.id() * kFactorStripe; r < rest; r += me.size() * kFactorStripe) {
        const Index rows = std::min(kFactorStripe, rest - r);
        const Index panels = (r + rows + PackedMatrix<double>::kPanel - 1) / PackedMatrix<double>::kPanel;
        multiply<double>(left.rows_from(r, rows), packed, right.rows_from(r, rows), Panels(0, panels),
                         Start::accumulate);
      }
    });
  }
  if (!good) return std::nullopt;
  return Cholesky(std::move(values), n);
}

void Cholesky::solve(std::span<double> b) const {
  for (Index i = 0; i < n_; ++i) b[at(i)] = (b[at(i)] - dot<double>(row(i, 0, i), b.first(at(i)))) / l(i, i);
  for (Index i = n_; i-- > 0;) {
    b[at(i)] /= l(i, i);
    axpy<double>(-b[at(i)], row(i, 0, i), b.first(at(i)));
  }
}

/// Computes column j of the inverse factor, in z from element j on.
void Cholesky::inverse_column(Index j, std::vector<double>& z) const {
  z[at(j)] = 1 / l(j, j);
  for (Index i = j + 1; i < n_; ++i)
    z[at(i)] = -dot<double>(row(i, j, i), std::span<const double>(z).subspan(at(j), at(i - j))) / l(i, i);
}

double Cholesky::inverse_trace() const {
  double total = 0;
  std::vector<double> z(at(n_));
  for (Index j = 0; j < n_; ++j) {
    inverse_column(j, z);
    total += sum_of_squares(std::span<const double>(z).subspan(at(j)));
  }
  return total;
}

std::vector<double> Cholesky::inverse_diagonal(Team& team) const {
  std::vector<double> result(at(n_));
  team.run([&](Member& me) {
    std::vector<double> z(at(n_));
    for (Index j = me.id(); j < n_; j += me.size()) {  // late columns are short
      inverse_column(j, z);
      result[at(j)] = sum_of_squares(std::span<const double>(z).subspan(at(j)));
    }
  });
  return result;
}

}  // namespace unfold
