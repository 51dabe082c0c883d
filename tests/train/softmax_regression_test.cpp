/// Compares the regression with damped Newton steps on the dense matrix of second derivatives.

#include "train/softmax_regression.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using Vector = std::vector<double>;

constexpr Index kStates = 3, kKinds = 4;

/// Labels drawn from the softmax of a linear map; class 3 never occurs, and class 2 is rare.
struct LabeledRows {
  explicit LabeledRows(Index rows) : count(rows), x(at(rows * kStates)), labels(at(rows)) {
    Random random(1, "labels");
    for (Index r = 0; r < rows; ++r) {
      double* row = x.data() + r * kStates;
      for (Index i = 0; i < kStates; ++i) row[i] = 2 + random.normal();
      row[2] += 3 * row[1];
      const double score = 2 * row[0] - row[2] + 3;
      labels[at(r)] = random.uniform() < 0.05 ? 2 : random.uniform() < 1 / (1 + std::exp(-score)) ? 1 : 0;
      frequencies[at(labels[at(r)])] += 1 / static_cast<double>(rows);
      for (Index i = 0; i < kStates; ++i) mean[at(i)] += row[i] / static_cast<double>(rows);
    }
  }
  /// lambda' of the ridge regression.
  double penalty(double lambda) const {
    double total = 0;
    for (Index r = 0; r < count; ++r)
      for (Index i = 0; i < kStates; ++i) total += std::pow(x[at(r * kStates + i)] - mean[at(i)], 2);
    return lambda * total / kStates;
  }
  Matrix<const double> inputs() const { return {x.data(), count, kStates, kStates}; }

  SoftmaxRegression fit(double lambda, int threads, Index rows_per_call) const {
    Team team(threads);
    SoftmaxRegression result(mean, frequencies, count, lambda);
    do {
      for (Index r = 0; r < count; r += rows_per_call) {
        const Index n = std::min(rows_per_call, count - r);
        result.add(inputs().rows_from(r, n), std::span(labels).subspan(at(r), at(n)), team);
      }
    } while (result.step(team));
    return result;
  }

  Index count;
  Vector x;
  std::vector<Symbol> labels;
  Vector mean = Vector(at(kStates)), frequencies = Vector(at(kKinds));
};

/// Solves a x = b by elimination without pivoting.
Vector eliminated(std::vector<Vector> a, Vector b) {
  const std::size_t n = b.size();
  for (std::size_t c = 0; c < n; ++c)
    for (std::size_t r = c + 1; r < n; ++r) {
      const double factor = a[r][c] / a[c][c];
      for (std::size_t j = c; j < n; ++j) a[r][j] -= factor * a[c][j];
      b[r] -= factor * b[c];
    }
  for (std::size_t r = n; r-- > 0;) {
    for (std::size_t j = r + 1; j < n; ++j) b[r] -= a[r][j] * b[j];
    b[r] /= a[r][r];
  }
  return b;
}

/// The objective with one parameter vector [class][input, bias] and its derivatives.
struct SlowObjective {
  const LabeledRows& data;
  double penalty;
  static constexpr Index kWidth = kStates + 1;
  Vector gradient = Vector(at(kKinds * kWidth), 0.0);
  std::vector<Vector> second = std::vector<Vector>(at(kKinds * kWidth), Vector(at(kKinds* kWidth), 0.0));

  double value(const Vector& v) {
    std::fill(gradient.begin(), gradient.end(), 0.0);
    for (Vector& row : second) std::fill(row.begin(), row.end(), 0.0);
    double total = 0;
    for (Index r = 0; r < data.count; ++r) total += add_row(v, r);
    for (Index k = 0; k < kKinds; ++k)
      for (Index i = 0; i < kStates; ++i) {
        const std::size_t p = at(k * kWidth + i);
        total += penalty / 4 * v[p] * v[p];
        gradient[p] += penalty / 2 * v[p];
        second[p][p] += penalty / 2;
      }
    return total;
  }

  double add_row(const Vector& v, Index r) {
    Vector input(data.x.begin() + r * kStates, data.x.begin() + (r + 1) * kStates), p(at(kKinds));
    input.push_back(1);
    double total = 0;
    for (Index k = 0; k < kKinds; ++k) {
      double score = 0;
      for (Index i = 0; i < kWidth; ++i) score += v[at(k * kWidth + i)] * input[at(i)];
      total += p[at(k)] = std::exp(score);
    }
    for (double& each : p) each /= total;
    const Index label = data.labels[at(r)];
    for (Index k = 0; k < kKinds; ++k)
      for (Index i = 0; i < kWidth; ++i) {
        gradient[at(k * kWidth + i)] += (p[at(k)] - (k == label ? 1 : 0)) * input[at(i)];
        for (Index l = 0; l < kKinds; ++l)
          for (Index j = 0; j < kWidth; ++j)
            second[at(k * kWidth + i)][at(l * kWidth + j)] +=
                p[at(k)] * ((k == l ? 1 : 0) - p[at(l)]) * input[at(i)] * input[at(j)];
      }
    return -std::log(p[at(label)]);
  }

  /// Returns the minimum; a small multiple of I makes the shift of all biases determined.
  double minimum() {
    Vector v(gradient.size(), 0.0);
    double best = value(v);
    for (int step = 0; step < 50; ++step) {
      std::vector<Vector> a = second;
      for (std::size_t i = 0; i < a.size(); ++i) a[i][i] += 1e-6;
      const Vector direction = eliminated(a, gradient);
      for (double size = 1; size > 1e-6; size /= 2) {
        Vector next = v;
        for (std::size_t i = 0; i < v.size(); ++i) next[i] -= size * direction[i];
        if (const double found = value(next); found < best) {
          best = found;
          v = next;
          break;
        }
      }
      (void)value(v);
    }
    return best;
  }
};

Vector parameters_of(const SoftmaxRegression& fit) {
  const Vector weights = fit.weights(), bias = fit.bias();
  Vector v;
  for (Index k = 0; k < kKinds; ++k) {
    for (Index i = 0; i < kStates; ++i) v.push_back(weights[at(i * kKinds + k)]);
    v.push_back(bias[at(k)]);
  }
  return v;
}

TEST(SoftmaxRegression, reaches_the_minimum_of_the_penalized_likelihood) {
  const LabeledRows data(400);
  for (const double lambda : {1e-3, 0.1, 10.0}) {
    const SoftmaxRegression fit = data.fit(lambda, 1, 100);
    SlowObjective slow{.data = data, .penalty = data.penalty(lambda)};
    const double found = slow.value(parameters_of(fit)), least = slow.minimum();
    EXPECT_NEAR(found, least, 1e-3 * static_cast<double>(data.count)) << lambda;
    EXPECT_GT(found, least - 1e-6) << lambda;
    EXPECT_GT(fit.passes(), 3);
  }
}

TEST(SoftmaxRegression, rows_per_call_and_threads_do_not_change_the_result) {
  const LabeledRows data(300);
  const Vector one = parameters_of(data.fit(0.01, 1, 50));
  EXPECT_EQ(parameters_of(data.fit(0.01, 3, 50)), one);
  const Vector apart = parameters_of(data.fit(0.01, 1, 7));
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(apart[i], one[i], 1e-6) << i;
}

TEST(SoftmaxRegression, a_strong_penalty_leaves_the_class_frequencies) {
  const LabeledRows data(300);
  const SoftmaxRegression fit = data.fit(1e9, 1, 100);
  for (const double w : fit.weights()) EXPECT_NEAR(w, 0, 1e-6);
  double entropy = 0;
  for (Symbol k = 0; k < 3; ++k) {
    const double p = static_cast<double>(std::ranges::count(data.labels, k)) / static_cast<double>(data.count);
    entropy -= p * std::log(p);
  }
  EXPECT_NEAR(fit.nats(), entropy, 0.01);
}

TEST(SoftmaxRegression, misuse_is_rejected) {
  const LabeledRows data(20);
  Team team(1);
  SoftmaxRegression fit(data.mean, data.frequencies, data.count, 1);
  EXPECT_THROW(fit.add(data.inputs(), std::span(data.labels).first(3), team), UsageError);
  EXPECT_THROW(fit.step(team), DataError);
}

}  // namespace
}  // namespace unfold
