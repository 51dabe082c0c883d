#pragma once
/// Slow losses by definition: nats of one row and its Fisher matrix, paired with the optimized losses that tests of
/// metrics compare them with.

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "unfold/loss/loss.h"
#include "unfold/loss/registry.h"

namespace unfold {

using Numbers = std::vector<double>;
using Dense = std::vector<Numbers>;

inline constexpr Index kClasses = 3, kWide = 2;  // symbols to predict; numbers to predict

/// `y`: the numbers observed, or the one symbol.
struct SlowLoss {
  std::string name;
  std::shared_ptr<const Loss<double>> fast;
  Index signal;  ///< size of the signal
  std::function<double(const Numbers& o, const Numbers& y)> nats;
  std::function<Dense(const Numbers& o)> fisher;

  bool of_symbols() const { return name == "softmax" || name == "normalised"; }
};

inline Dense on_diagonal(const Numbers& d) {
  Dense m(d.size(), Numbers(d.size(), 0));
  for (std::size_t i = 0; i < d.size(); ++i) m[i][i] = d[i];
  return m;
}

inline Numbers probabilities(const Numbers& o) {
  Numbers p;
  double total = 0;
  for (const double x : o) p.push_back(std::exp(x)), total += p.back();
  for (double& x : p) x /= total;
  return p;
}

/// diag(p) - p p'.
inline Dense covariance(const Numbers& p) {
  Dense m = on_diagonal(p);
  for (std::size_t i = 0; i < p.size(); ++i)
    for (std::size_t j = 0; j < p.size(); ++j) m[i][j] -= p[i] * p[j];
  return m;
}

inline double log_deviation(double s) { return 10 * std::tanh(s / 10); }
inline double slope_of_deviation(double s) { return 1 - std::tanh(s / 10) * std::tanh(s / 10); }
inline double normal_nats(double y, double m, double s) {
  const double log_d = log_deviation(s), z = (y - m) / std::exp(log_d);
  return 0.5 * std::log(8 * std::atan(1.0)) + log_d + 0.5 * z * z;
}

inline SlowLoss softmax_by_definition() {
  return {
      "softmax", softmax_loss<double>(), kClasses,
      [](const Numbers& o, const Numbers& y) { return -std::log(probabilities(o)[static_cast<std::size_t>(y[0])]); },
      [](const Numbers& o) { return covariance(probabilities(o)); }};
}
/// The Fisher matrix as the mean over outcomes of the squared score.
inline SlowLoss normalized_by_definition() {
  const auto total = [](const Numbers& o) {
    double sum = 0;
    for (const double x : o) sum += x;
    return sum;
  };
  return {"normalised", normalized_loss<double>(), kClasses,
          [=](const Numbers& o, const Numbers& y) { return -std::log(o[static_cast<std::size_t>(y[0])] / total(o)); },
          [=](const Numbers& o) {
            Dense m = on_diagonal(Numbers(o.size(), 0));
            for (std::size_t x = 0; x < o.size(); ++x) {
              Numbers score(o.size(), -1 / total(o));
              score[x] += 1 / o[x];
              for (std::size_t i = 0; i < o.size(); ++i)
                for (std::size_t j = 0; j < o.size(); ++j) m[i][j] += o[x] / total(o) * score[i] * score[j];
            }
            return m;
          }};
}
inline SlowLoss gaussian_by_definition() {
  return {"gaussian", gaussian_loss<double>(), kWide,
          [](const Numbers& o, const Numbers& y) {
            double sum = 0;
            for (std::size_t i = 0; i < o.size(); ++i) sum += 0.5 * (o[i] - y[i]) * (o[i] - y[i]);
            return sum;
          },
          [](const Numbers& o) { return on_diagonal(Numbers(o.size(), 1)); }};
}
inline SlowLoss bernoulli_by_definition() {
  return {"bernoulli", bernoulli_loss<double>(), kWide,
          [](const Numbers& o, const Numbers& y) {
            double sum = 0;
            for (std::size_t i = 0; i < o.size(); ++i) sum += std::log(1 + std::exp(o[i])) - y[i] * o[i];
            return sum;
          },
          [](const Numbers& o) {
            Numbers d;
            for (const double x : o) d.push_back(1 / (1 + std::exp(x)) / (1 + std::exp(-x)));
            return on_diagonal(d);
          }};
}
inline SlowLoss poisson_by_definition() {
  return {"poisson", poisson_loss<double>(), kWide,
          [](const Numbers& o, const Numbers& y) {
            double sum = 0;
            for (std::size_t i = 0; i < o.size(); ++i) sum += std::exp(o[i]) - y[i] * o[i];
            return sum;
          },
          [](const Numbers& o) {
            Numbers d;
            for (const double x : o) d.push_back(std::exp(x));
            return on_diagonal(d);
          }};
}
inline SlowLoss normal_by_definition() {
  return {"normal", normal_loss<double>(), 2 * kWide,
          [](const Numbers& o, const Numbers& y) {
            double sum = 0;
            for (std::size_t i = 0; i < y.size(); ++i) sum += normal_nats(y[i], o[i], o[y.size() + i]);
            return sum;
          },
          [](const Numbers& o) {
            Numbers d(o.size());
            for (std::size_t i = 0; i < o.size() / 2; ++i) {
              const double s = o[o.size() / 2 + i];
              d[i] = std::exp(-2 * log_deviation(s));
              d[o.size() / 2 + i] = 2 * slope_of_deviation(s) * slope_of_deviation(s);
            }
            return on_diagonal(d);
          }};
}
/// Two components; the Fisher matrix is that of the pair of component and number.
inline SlowLoss mixture_by_definition() {
  constexpr std::size_t k = 2, n = kWide;
  return {"mixture", mixture_loss<double>(k), k * (1 + 2 * n),
          [](const Numbers& o, const Numbers& y) {
            const Numbers p = probabilities({o[0], o[1]});
            double sum = 0;
            for (std::size_t c = 0; c < k; ++c) {
              double nats = 0;
              for (std::size_t i = 0; i < n; ++i) nats += normal_nats(y[i], o[k + c * n + i], o[k + k * n + c * n + i]);
              sum += p[c] * std::exp(-nats);
            }
            return -std::log(sum);
          },
          [](const Numbers& o) {
            const Numbers p = probabilities({o[0], o[1]});
            Dense m = on_diagonal(Numbers(o.size(), 0));
            for (std::size_t c = 0; c < k; ++c) {
              for (std::size_t j = 0; j < k; ++j) m[c][j] = covariance(p)[c][j];
              for (std::size_t i = c * n; i < (c + 1) * n; ++i) {
                const double s = o[k + k * n + i];
                m[k + i][k + i] = p[c] * std::exp(-2 * log_deviation(s));
                m[k + k * n + i][k + k * n + i] = 2 * p[c] * slope_of_deviation(s) * slope_of_deviation(s);
              }
            }
            return m;
          }};
}
/// The second derivative of log Gamma: a sum, and the integral of its remainder.
inline double trigamma_by_sum(double x) {
  double sum = 0;
  for (int k = 0; k < 2000; ++k, ++x) sum += 1 / (x * x);
  return sum + 1 / x + 1 / (2 * x * x) + 1 / (6 * x * x * x);
}
/// The Fisher matrix of Lange, Little & Taylor (1989).
inline SlowLoss student_by_definition() {
  constexpr std::size_t n = kWide;
  const auto freedom = [](double u) { return 2 + std::log(1 + std::exp(u)); };
  return {"student-t", choose_loss("student-t").make<double>(), 3 * kWide,
          [=](const Numbers& o, const Numbers& y) {
            double sum = 0;
            for (std::size_t i = 0; i < n; ++i) {
              const double f = freedom(o[2 * n + i]), log_d = log_deviation(o[n + i]);
              const double z = (y[i] - o[i]) / std::exp(log_d);
              sum += std::lgamma(f / 2) - std::lgamma((f + 1) / 2) + 0.5 * std::log(f * 4 * std::atan(1.0)) + log_d +
                     (f + 1) / 2 * std::log(1 + z * z / f);
            }
            return sum;
          },
          [=](const Numbers& o) {
            Dense m = on_diagonal(Numbers(o.size(), 0));
            for (std::size_t i = 0; i < n; ++i) {
              const double s = o[n + i], f = freedom(o[2 * n + i]);
              const double by_s = slope_of_deviation(s), by_u = 1 / (1 + std::exp(-o[2 * n + i]));
              m[i][i] = (f + 1) / (f + 3) * std::exp(-2 * log_deviation(s));
              m[n + i][n + i] = 2 * f / (f + 3) * by_s * by_s;
              m[n + i][2 * n + i] = m[2 * n + i][n + i] = -2 / ((f + 1) * (f + 3)) * by_s * by_u;
              m[2 * n + i][2 * n + i] = ((trigamma_by_sum(f / 2) - trigamma_by_sum((f + 1) / 2)) / 4 -
                                         (f + 5) / (2 * f * (f + 1) * (f + 3))) *
                                        by_u * by_u;
            }
            return m;
          }};
}
/// The Fisher matrix is that of the pair of rate and count.
inline SlowLoss negative_binomial_by_definition() {
  constexpr std::size_t n = kWide;
  return {"negative-binomial", choose_loss("negative-binomial").make<double>(), 2 * kWide,
          [](const Numbers& o, const Numbers& y) {
            double sum = 0;
            for (std::size_t i = 0; i < n; ++i) {
              const double mean = std::exp(o[i]), r = std::exp(-log_deviation(o[n + i]));
              sum += std::lgamma(r) + std::lgamma(y[i] + 1) - std::lgamma(y[i] + r) + r * std::log(1 + mean / r) +
                     y[i] * std::log(1 + r / mean);
            }
            return sum;
          },
          [](const Numbers& o) {
            Numbers d(o.size());
            for (std::size_t i = 0; i < n; ++i) {
              const double s = o[n + i], mean = std::exp(o[i]), r = std::exp(-log_deviation(s));
              d[i] = mean * r / (mean + r);
              d[n + i] = (r * r * trigamma_by_sum(r) - r) * slope_of_deviation(s) * slope_of_deviation(s);
            }
            return on_diagonal(d);
          }};
}
inline std::vector<SlowLoss> every_loss() {
  return {softmax_by_definition(),   normalized_by_definition(),        gaussian_by_definition(),
          bernoulli_by_definition(), poisson_by_definition(),           normal_by_definition(),
          student_by_definition(),   negative_binomial_by_definition(), mixture_by_definition()};
}

}  // namespace unfold
