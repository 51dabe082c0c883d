/// Distributions of whole vectors, compared with explicit equations, sums over all vectors of bits, and finite
/// differences.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "tests/loss/density_checks.h"
#include "unfold/gradcheck/derivative_check.h"

namespace unfold {
namespace {

using testing::HasSubstr;

/// One row: p(x) as in the equations, number by number.
using WrittenOut = std::function<double(const DensityRows<double>&, const double* signal, const double* x)>;

struct DensityCase {
  std::string spec;
  bool bits;
  WrittenOut nats;
};

void PrintTo(const DensityCase& c, std::ostream* out) { *out << c.spec; }

/// Returns o_d of NADE with m outputs per number.
double nade_output(const DensityRows<double>& f, Index units, Index m, bool relu, const double* signal, const double* x,
                   Index d, Index i) {
  const double *v = f.own(0), *w = f.own(1);
  double o = signal[d * m + i];
  for (Index h = 0; h < units; ++h) {
    double a = signal[f.n * m + h];
    for (Index j = 0; j < d; ++j) a += w[j * units + h] * x[j];
    o += v[(d * m + i) * units + h] * (relu ? std::max(a, 0.0) : logistic(a));
  }
  return o;
}

WrittenOut nade_nats(Index units) {
  return [=](const DensityRows<double>& f, const double* signal, const double* x) {
    double sum = 0;
    for (Index d = 0; d < f.n; ++d) sum += bit_nats(nade_output(f, units, 1, false, signal, x, d, 0), x[d]);
    return sum;
  };
}

WrittenOut rnade_nats(Index units, Index k, bool relu, bool laplace, double background = 0) {
  return [=](const DensityRows<double>& f, const double* signal, const double* x) {
    double sum = 0;
    for (Index d = 0; d < f.n; ++d) {
      Numbers o;
      for (Index i = 0; i < 3 * k; ++i) o.push_back(nade_output(f, units, 3 * k, relu, signal, x, d, i));
      double total = 0, density = 0;
      for (Index c = 0; c < k; ++c) total += std::exp(o[at(c)]);
      for (Index c = 0; c < k; ++c) {
        const double m = o[at(k + c)], s = o[at(2 * k + c)], width = std::exp(10 * std::tanh(s / 10));
        density +=
            std::exp(o[at(c)]) / total *
            (laplace ? std::exp(-std::fabs(x[d] - m) / width) / (2 * width) : std::exp(-normal_nats(x[d], m, s)));
      }
      sum -= std::log((1 - background) * density + background * std::exp(-std::fabs(x[d]) / 2) / 4);
    }
    return sum;
  };
}

double linear_output(const DensityRows<double>& f, double bias, const double* x, Index d) {
  for (Index j = 0; j < d; ++j) bias += f.own(0)[d * (d - 1) / 2 + j] * x[j];
  return bias;
}

double logistic_nats(const DensityRows<double>& f, const double* signal, const double* x) {
  double sum = 0;
  for (Index d = 0; d < f.n; ++d) sum += bit_nats(linear_output(f, signal[d], x, d), x[d]);
  return sum;
}

double linear_nats(const DensityRows<double>& f, const double* signal, const double* x) {
  double sum = 0;
  for (Index d = 0; d < f.n; ++d) sum += normal_nats(x[d], linear_output(f, signal[2 * d], x, d), signal[2 * d + 1]);
  return sum;
}

/// Block 2k + 1 has the weights of layer k + 1 for k > 0; unit h of group g reads all units of the groups up to g.
WrittenOut neural_nats(Index units, Index layers = 1) {
  return [=](const DensityRows<double>& f, const double* signal, const double* x) {
    Numbers below, here;
    for (Index g = 0; g + 1 < f.n; ++g)
      for (Index h = 0; h < units; ++h) {
        double a = f.own(2)[g * units + h];
        for (Index j = 0; j <= g; ++j) a += f.own(1)[(g * (g + 1) / 2 + j) * units + h] * x[j];
        below.push_back(std::tanh(a));
      }
    for (Index layer = 1; layer < layers; ++layer) {
      const double* row = f.own(at(2 * layer + 1));
      here.clear();
      for (Index i = 0; i < static_cast<Index>(below.size()); ++i) {
        double a = f.own(at(2 * layer + 2))[i];
        for (Index j = 0; j < (i / units + 1) * units; ++j) a += *row++ * below[at(j)];
        here.push_back(std::tanh(a));
      }
      below = here;
    }
    double sum = 0;
    for (Index d = 0; d < f.n; ++d) {
      double o = signal[d];
      for (Index i = 0; i < d * units; ++i) o += f.own(0)[d * (d - 1) / 2 * units + i] * below[at(i)];
      sum += bit_nats(o, x[d]);
    }
    return sum;
  };
}

/// With full matrices that are zero where masked. Unit k of H has degree 1 + floor(k (n - 1) / H).
WrittenOut made_nats(Index units, Index layers) {
  return [=](const DensityRows<double>& f, const double* signal, const double* x) {
    const auto degree = [&](Index k) { return 1 + k * (f.n - 1) / units; };
    Numbers below(x, x + f.n), below_degrees, here;
    for (Index i = 1; i <= f.n; ++i) below_degrees.push_back(static_cast<double>(i));
    const auto read = [&](const double*& row, double most) {
      double sum = 0;
      for (std::size_t j = 0; j < below.size(); ++j)
        if (below_degrees[j] <= most) sum += *row++ * below[j];
      return sum;
    };
    for (Index layer = 0; layer < layers; ++layer) {
      const double* row = f.own(at(1 + layer));
      here.clear();
      Numbers degrees;
      for (Index k = 0; k < units; ++k) {
        degrees.push_back(static_cast<double>(degree(k)));
        here.push_back(std::max(0.0, signal[f.n + layer * units + k] + read(row, degrees.back())));
      }
      below = here;
      below_degrees = degrees;
    }
    const double* row = f.own(0);
    double sum = 0;
    for (Index d = 0; d < f.n; ++d) sum += bit_nats(signal[d] + read(row, static_cast<double>(d)), x[d]);
    return sum;
  };
}

/// All rounds of NADE-k with their estimates, number by number.
WrittenOut rounds_nats(Index units, Index rounds) {
  return [=](const DensityRows<double>& f, const double* signal, const double* x) {
    const double *v = f.own(0), *w = f.own(1), *s = f.own(2);
    const auto said = [&](Index j, const Numbers& h) {
      double o = signal[j];
      for (Index i = 0; i < units; ++i) o += v[j * units + i] * h[at(i)];
      return o;
    };
    double sum = 0;
    for (Index d = 0; d < f.n; ++d) {
      Numbers guess, h(at(units));
      for (Index j = 0; j < f.n; ++j) guess.push_back(j < d ? x[j] : logistic(s[j]));
      for (Index t = 1; t <= rounds; ++t) {
        for (Index i = 0; i < units; ++i) {
          double a = signal[f.n + i];
          for (Index j = 0; j < f.n; ++j) a += guess[at(j)] * w[j * units + i];
          h[at(i)] = logistic(a);
        }
        for (Index j = d; j < f.n; ++j) guess[at(j)] = logistic(said(j, h));
      }
      sum += bit_nats(said(d, h), x[d]);
    }
    return sum;
  };
}

WrittenOut mixture_nats(Index k) {
  return [=](const DensityRows<double>& f, const double* signal, const double* x) {
    double total = 0, p = 0;
    for (Index c = 0; c < k; ++c) {
      double joint = std::exp(signal[c]);
      total += joint;
      for (Index d = 0; d < f.n; ++d) joint *= std::exp(-bit_nats(signal[k + c * f.n + d], x[d]));
      p += joint;
    }
    return -std::log(p / total);
  };
}

/// Full covariances by their inverses: P = M' D^-2 M, M = 1 + l; log det P by elimination.
WrittenOut full_mixture_nats(Index components) {
  return [=](const DensityRows<double>& f, const double* signal, const double* x) {
    const Index n = f.n;
    double total = 0, density = 0;
    for (Index k = 0; k < components; ++k) total += std::exp(signal[k]);
    for (Index k = 0; k < components; ++k) {
      const double* m = signal + components + k * (2 * n + n * (n - 1) / 2);
      std::vector<Numbers> big(at(n), Numbers(at(n))), p(at(n), Numbers(at(n)));
      for (Index i = 0; i < n; ++i) {
        big[at(i)][at(i)] = 1;
        for (Index j = 0; j < i; ++j) big[at(i)][at(j)] = m[2 * n + i * (i - 1) / 2 + j];
      }
      for (std::size_t i = 0; i < at(n); ++i)
        for (std::size_t j = 0; j < at(n); ++j)
          for (std::size_t r = 0; r < at(n); ++r)
            p[i][j] += big[r][i] * big[r][j] / std::exp(20 * std::tanh(m[n + static_cast<Index>(r)] / 10));
      double square = 0, log_det = 0;
      for (std::size_t i = 0; i < at(n); ++i)
        for (std::size_t j = 0; j < at(n); ++j) square += (x[i] - m[i]) * p[i][j] * (x[j] - m[j]);
      for (std::size_t c = 0; c < at(n); ++c) {
        log_det += std::log(p[c][c]);
        for (std::size_t r = c + 1; r < at(n); ++r) {
          const double factor = p[r][c] / p[c][c];
          for (std::size_t j = c; j < at(n); ++j) p[r][j] -= factor * p[c][j];
        }
      }
      density += std::exp(signal[k]) / total *
                 std::exp(0.5 * (log_det - square - static_cast<double>(n) * std::log(2 * std::numbers::pi)));
    }
    return -std::log(density);
  };
}

std::vector<DensityCase> all_densities() {
  return {{"nade:4", true, nade_nats(4)},
          {"nade:1", true, nade_nats(1)},
          {"nade:3,rounds=2", true, rounds_nats(3, 2)},
          {"nade:2,rounds=5", true, rounds_nats(2, 5)},
          {"logistic-ar", true, logistic_nats},
          {"neural-ar:3", true, neural_nats(3)},
          {"neural-ar:3,layers=2", true, neural_nats(3, 2)},
          {"neural-ar:2,layers=4", true, neural_nats(2, 4)},
          {"bernoulli-mixture:3", true, mixture_nats(3)},
          {"made:6", true, made_nats(6, 1)},
          {"made:5,layers=3", true, made_nats(5, 3)},
          {"linear-ar", false, linear_nats},
          {"gaussian-mixture:1", false, full_mixture_nats(1)},
          {"gaussian-mixture:3", false, full_mixture_nats(3)},
          {"rnade:4,components=2", false, rnade_nats(4, 2, true, false)},
          {"rnade:3,components=3,shape=laplace,activation=sigmoid", false, rnade_nats(3, 3, false, true)},
          {"rnade:3,components=3,background=0.1", false, rnade_nats(3, 3, true, false, 0.1)},
          {"rnade:3,components=3,shape=laplace,background=0.1", false, rnade_nats(3, 3, true, true, 0.1)}};
}

class EveryDensity : public testing::TestWithParam<DensityCase> {
 protected:
  DensityRows<double> rows(Index n, Index count = 6) const { return {GetParam().spec, n, count, GetParam().bits}; }
  /// All vectors of n bits.
  static std::vector<Numbers> all_bits(Index n) {
    std::vector<Numbers> all;
    for (int code = 0; code < (1 << n); ++code) {
      Numbers x;
      for (Index d = 0; d < n; ++d) x.push_back((code >> d) & 1);
      all.push_back(x);
    }
    return all;
  }
  /// Returns the probability of each of them, given the signal of row 0.
  static Numbers all_probabilities(const DensityRows<double>& f) {
    Numbers p;
    for (const Numbers& x : all_bits(f.n)) {
      Team team(1);
      const Structure one = Structure::chains(std::vector<Index>{1});
      double nats = 0;
      f.loss->negative_log_likelihood(
          {one, {f.signal.data(), 1, f.size, f.size}, {nullptr, {x.data(), 1, f.n, f.n}, nullptr}, f.parameters}, team,
          &nats);
      p.push_back(std::exp(-nats));
    }
    return p;
  }
};

TEST_P(EveryDensity, density_has_the_nats_of_its_equations) {
  for (const Index n : {1, 2, 5}) {
    const DensityRows<double> f = rows(n);
    const Numbers found = f.nats();
    for (Index r = 0; r < f.rows(); ++r)
      EXPECT_NEAR(
          found[at(r)],
          f.predicted[at(r)] == 0 ? 0 : GetParam().nats(f, f.signal.data() + r * f.size, f.values.data() + r * n),
          1e-11);
  }
}

TEST_P(EveryDensity, bit_density_sums_to_one_over_all_vectors) {
  if (!GetParam().bits) return;  // numbers are integrated in the next test
  for (const Index n : {1, 2, 3, 6, 10}) {
    double sum = 0;
    for (const double p : all_probabilities(rows(n))) sum += p;
    EXPECT_NEAR(sum, 1, 1e-11) << n;
  }
}

TEST_P(EveryDensity, density_of_two_numbers_integrates_to_one) {
  if (GetParam().bits) return;  // bits are summed over in the previous test
  const DensityRows<double> f(GetParam().spec, 2, 1, false, 0.3);
  constexpr double kFar = 12, kStep = 0.04;
  double sum = 0;
  for (double x0 = -kFar; x0 < kFar; x0 += kStep)
    for (double x1 = -kFar; x1 < kFar; x1 += kStep) {
      const Numbers x = {x0 + kStep / 2, x1 + kStep / 2};
      sum += std::exp(-GetParam().nats(f, f.signal.data(), x.data())) * kStep * kStep;
    }
  EXPECT_NEAR(sum, 1, 1e-3);
}

TEST_P(EveryDensity, density_gradient_matches_signal_and_parameters) { expect_gradient_of_nats(rows(5), 1e-8); }

TEST_P(EveryDensity, density_curvature_is_symmetric_and_nonnegative) {
  const DensityRows<double> f = rows(4);
  for (std::uint64_t k = 1; k <= 5; ++k) {
    const Numbers u = random_direction(f, 2 * k), v = random_direction(f, 2 * k + 1), gu = curved(f, u),
                  gv = curved(f, v);
    EXPECT_NEAR(inner(u, gv), inner(v, gu), 1e-9 * (1 + std::fabs(inner(u, gv))));
    EXPECT_GE(inner(v, gv), 0);
    const Numbers half = curved(f, v, 0.5);
    for (std::size_t i = 0; i < half.size(); ++i) EXPECT_NEAR(half[i], 0.5 * gv[i], 1e-12 * (1 + std::fabs(gv[i])));
  }
}

TEST_P(EveryDensity, curvature_samples_have_its_covariance) {
  const DensityRows<double> f(GetParam().spec, 2, 1, GetParam().bits, 0.4);
  Team team(1);
  const auto& curvature = f.loss->need<LossCurvature<double>>("test");
  const Numbers v = random_direction(f, 3);
  const Numbers wanted = curved(f, v);
  Numbers found(wanted.size());
  constexpr int kDraws = 40000;
  double largest = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    Numbers x(f.signal.size()), own(f.parameters.size());
    curvature.curvature_sample(f.observed(), 1, team, 11, at(draw), f.matrix(x), own);
    x.insert(x.end(), own.begin(), own.end());
    const double along = inner(x, v);
    for (std::size_t i = 0; i < x.size(); ++i) found[i] += x[i] * along / kDraws;
  }
  for (const double x : wanted) largest = std::max(largest, std::fabs(x));
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 0.05 * largest + 0.02);
}

TEST_P(EveryDensity, density_bits_do_not_depend_on_batch_or_threads) {
  const DensityRows<float> f(GetParam().spec, 7, 41, GetParam().bits);
  const Slopes<float> one = slopes_of(f, 1.0F, 1);
  EXPECT_EQ(one, slopes_of(f, 1.0F, 2));
  EXPECT_EQ(one, slopes_of(f, 1.0F, 3));
  EXPECT_EQ(f.nats(1), f.nats(3));
  EXPECT_EQ(one.nats, f.nats());
  const Structure alone = Structure::chains(std::vector<Index>{1});
  Team team(1);
  for (Index r = 0; r < f.rows(); ++r) {
    if (f.predicted[at(r)] == 0) continue;
    float nats = 0;
    std::vector<float> adjoint(at(f.size)), own(f.parameters.size());
    f.loss->gradient({alone,
                      {f.signal.data() + r * f.size, 1, f.size, f.size},
                      {nullptr, {f.values.data() + r * f.n, 1, f.n, f.n}, nullptr},
                      f.parameters},
                     1, team, &nats, {adjoint.data(), 1, f.size, f.size}, own);
    EXPECT_EQ(nats, one.nats[at(r)]);
    EXPECT_TRUE(std::equal(adjoint.begin(), adjoint.end(), one.adjoint.begin() + r * f.size));
  }
}

TEST_P(EveryDensity, gradients_are_summed_from_the_last_row_for_any_division) {
  const DensityRows<float> f(GetParam().spec, 7, 41, GetParam().bits);
  const Slopes<float> whole = slopes_of(f);
  std::vector<float> own(f.parameters.size()), nats(at(f.rows())), adjoint(f.signal.size());
  Team team(1);
  for (const auto& [first, count] : {std::pair<Index, Index>{20, 21}, {0, 20}}) {
    const Structure piece = Structure::chains(std::vector<Index>{count});
    f.loss->gradient(
        {piece, f.matrix(f.signal).rows_from(first, count), f.observed().targets.from_row(first, count), f.parameters},
        1, team, nats.data() + first, f.matrix(adjoint).rows_from(first, count), own);
  }
  EXPECT_EQ(whole.own, own);
}

TEST_P(EveryDensity, adjoint_may_overwrite_the_signal) {
  DensityRows<double> f = rows(5);
  const Slopes<double> apart = slopes_of(f);
  Numbers nats(at(f.rows())), own(f.parameters.size());
  Team team(1);
  f.loss->gradient(f.observed(), 1, team, nats.data(), f.matrix(f.signal), own);
  EXPECT_TRUE(f.signal == apart.adjoint && own == apart.own);
}

TEST_P(EveryDensity, float_and_double_agree) {
  const DensityRows<double> exact(GetParam().spec, 6, 9, GetParam().bits);
  DensityRows<float> single(GetParam().spec, 6, 9, GetParam().bits);
  const Slopes<double> wanted = slopes_of(exact);
  const Slopes<float> found = slopes_of(single);
  for (std::size_t i = 0; i < wanted.own.size(); ++i)
    EXPECT_NEAR(found.own[i], wanted.own[i], 2e-4 * (1 + std::fabs(wanted.own[i])));
  for (std::size_t i = 0; i < wanted.nats.size(); ++i)
    EXPECT_NEAR(found.nats[i], wanted.nats[i], 1e-4 * (1 + std::fabs(wanted.nats[i])));
}

TEST_P(EveryDensity, conditional_mean_of_a_bit_is_correct) {
  if (!GetParam().bits) return;  // numbers are tested with samples
  const DensityRows<double> f = rows(5, 1);
  const std::vector<Numbers> all = all_bits(5);
  const Numbers p = all_probabilities(f);
  for (Index d = 0; d < 5; ++d)
    for (int mask = 0; mask < 32; ++mask) {
      std::vector<char> known(5);
      for (Index i = 0; i < 5; ++i) known[at(i)] = static_cast<char>((mask >> i) & 1);
      if (known[at(d)] != 0) continue;
      if (!f.density().any_order() && mask != (1 << d) - 1) continue;
      double with = 0, total = 0;
      for (std::size_t c = 0; c < all.size(); ++c) {
        bool agrees = true;
        for (Index i = 0; i < 5; ++i) agrees = agrees && (known[at(i)] == 0 || all[c][at(i)] == f.values[at(i)]);
        if (!agrees) continue;
        total += p[c];
        with += p[c] * all[c][at(d)];
      }
      EXPECT_NEAR(f.density().mean(f.question(0), known, f.values, d), with / total, 1e-11) << d << " " << mask;
    }
}

TEST_P(EveryDensity, vectors_are_sampled_with_their_probabilities) {
  const DensityRows<double> f(GetParam().spec, 3, 1, GetParam().bits);
  constexpr int kDraws = 40000;
  Random random(7, "draws");
  const std::vector<char> first = {1, 0, 0};
  Numbers counts(8), means(3), x(3);
  for (int draw = 0; draw < kDraws; ++draw) {
    x[0] = f.values[0];
    f.density().sample(f.question(0), random, first, x);
    EXPECT_EQ(x[0], f.values[0]);
    for (Index d = 0; d < 3; ++d) means[at(d)] += x[at(d)] / kDraws;
    if (GetParam().bits) counts[at(static_cast<Index>(x[0] + 2 * x[1] + 4 * x[2]))] += 1.0 / kDraws;
  }
  x[0] = f.values[0];
  EXPECT_NEAR(means[1], f.density().mean(f.question(0), first, x, 1), GetParam().bits ? 0.012 : 0.1);
  if (!GetParam().bits) return;
  const std::vector<Numbers> all = all_bits(3);
  const Numbers p = all_probabilities(f);
  double total = 0;
  for (std::size_t c = 0; c < all.size(); ++c) total += all[c][0] == f.values[0] ? p[c] : 0;
  for (std::size_t c = 0; c < all.size(); ++c)
    EXPECT_NEAR(counts[c], all[c][0] == f.values[0] ? p[c] / total : 0, 0.012);
}

TEST_P(EveryDensity, density_passes_all_checks_at_the_end_of_a_network) {
  Circuit c;
  const Signal h = c.link(3), next = tanh(c.affine("z", 3, {{"W", c.symbols("symbols", 4)}, {"U", h}}));
  c.feed(h, next);
  const ChosenLoss chosen = choose_loss(GetParam().spec);
  const auto loss = chosen.make<double>();
  const Signal output = c.affine("output", chosen.signal_size(4), {{"V", next}});
  c.output(output);
  loss->declare(c, output);
  const std::vector<Index> lengths = {4, 1, 3};
  const CheckReport report = check_derivatives(c, *loss, Structure::chains(lengths));
  EXPECT_TRUE(report.passed()) << report.text();
}

TEST_P(EveryDensity, vectors_of_another_size_are_rejected) {
  const DensityRows<double> f = rows(4);
  Team team(1);
  Numbers nats(at(f.rows()));
  const Numbers values(at(f.rows() * 5));
  EXPECT_THROW(f.loss->negative_log_likelihood(
                   {f.structure, f.matrix(f.signal), {nullptr, {values.data(), f.rows(), 5, 5}, nullptr}, f.parameters},
                   team, nats.data()),
               UsageError);
  EXPECT_THROW(f.density().mean(f.question(0), std::vector<char>(5), values, 0), UsageError);
}

std::string test_name(const testing::TestParamInfo<DensityCase>& info) {
  std::string name = info.param.spec;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(, EveryDensity, testing::ValuesIn(all_densities()), test_name);

TEST_P(EveryDensity, samples_are_weighted_if_a_later_bit_is_known) {
  if (!GetParam().bits) return;  // numbers have no sums to compare with
  const DensityRows<double> f(GetParam().spec, 4, 1, true);
  const std::vector<char> known = {0, 1, 0, 1};
  const std::vector<Numbers> all = all_bits(4);
  const Numbers p = all_probabilities(f);
  double with = 0, total = 0;
  for (std::size_t c = 0; c < all.size(); ++c) {
    if (all[c][1] != f.values[1] || all[c][3] != f.values[3]) continue;
    total += p[c];
    with += p[c] * all[c][2];
  }
  Random random(3, "weights");
  Numbers x = f.values;
  double weighed = 0, weights = 0;
  for (int draw = 0; draw < 40000; ++draw) {
    const double w = std::exp(f.density().sample(f.question(0), random, known, x));
    EXPECT_TRUE(x[1] == f.values[1] && x[3] == f.values[3]);
    weighed += w * x[2];
    weights += w;
  }
  EXPECT_NEAR(weighed / weights, with / total, 0.015);
}

TEST(GaussianMixture, conditional_mean_is_correct_under_any_condition) {
  const WrittenOut nats = full_mixture_nats(2);
  const DensityRows<double> f("gaussian-mixture:2", 3, 1, false, 0.5);
  for (const std::vector<char>& known : {std::vector<char>{0, 1, 1}, {1, 0, 1}, {1, 1, 0}}) {
    const auto d = static_cast<std::size_t>(std::ranges::find(known, 0) - known.begin());
    Numbers x = f.values;
    double with = 0, total = 0;
    for (x[d] = -15; x[d] < 15; x[d] += 0.05) {
      const double p = std::exp(-nats(f, f.signal.data(), x.data()));
      total += p;
      with += p * x[d];
    }
    x[d] = 77;
    EXPECT_NEAR(f.density().mean(f.question(0), known, x, static_cast<Index>(d)), with / total, 1e-6);
    Random random(9, "given");
    double sum = 0;
    for (int draw = 0; draw < 40000; ++draw) {
      EXPECT_EQ(f.density().sample(f.question(0), random, known, x), 0);
      sum += x[d] / 40000;
    }
    EXPECT_NEAR(sum, with / total, 0.03);
  }
  // Two missing numbers are sampled with the correct correlation: their mean product.
  Random random(10, "given");
  Numbers x = f.values;
  const double known_value = x[1];
  double drawn = 0, with = 0, total = 0;
  for (int draw = 0; draw < 40000; ++draw) {
    f.density().sample(f.question(0), random, std::vector<char>{0, 1, 0}, x);
    drawn += x[0] * x[2] / 40000;
  }
  for (double a = -12; a < 12; a += 0.2)
    for (double b = -12; b < 12; b += 0.2) {
      const Numbers y = {a, known_value, b};
      const double p = std::exp(-nats(f, f.signal.data(), y.data()));
      total += p;
      with += p * a * b;
    }
  EXPECT_NEAR(drawn, with / total, 0.05 * (1 + std::fabs(with / total)));
}

TEST(OrderedDensity, ordered_bit_density_has_the_curvature_of_its_logits) {
  for (const DensityCase& c : all_densities()) {
    if (!c.bits || c.spec.starts_with("bernoulli")) continue;
    DensityRows<double> f(c.spec, 4, 3, true);
    Numbers v = random_direction(f, 5);
    const Numbers found = curved(f, v);
    // v' G v = sum_d p_d (1 - p_d) (d o_d / d t)^2 along v: o_d follows from the means, and its derivative from finite
    // differences of their logits.
    double wanted = 0;
    constexpr double kStep = 1e-5;
    const auto logit = [&](Index r, Index d, double t) {
      Numbers s = f.signal, p = f.parameters;
      for (std::size_t i = 0; i < s.size(); ++i) s[i] += t * v[i];
      for (std::size_t i = 0; i < p.size(); ++i) p[i] += t * v[s.size() + i];
      std::vector<char> known(4);
      std::fill_n(known.begin(), d, 1);
      const double mean =
          f.density().mean({{s.data() + r * f.size, at(f.size)}, p}, known, {f.values.data() + r * 4, 4}, d);
      return std::log(mean / (1 - mean));
    };
    for (Index r = 0; r < f.rows(); ++r)
      for (Index d = 0; d < 4; ++d) {
        const double slope = (logit(r, d, kStep) - logit(r, d, -kStep)) / (2 * kStep), p = logistic(logit(r, d, 0));
        wanted += p * (1 - p) * slope * slope;
      }
    EXPECT_NEAR(inner(v, found), wanted, 1e-6 * (1 + wanted)) << c.spec;
  }
}

TEST(OrderedDensity, scaled_gradients_of_means_are_exact_ones_times_deviations) {
  constexpr Index n = 3, k = 2, units = 4;
  for (const std::string shape : {"gaussian", "laplace"}) {
    const std::string spec = "rnade:4,components=2,shape=" + shape;
    const DensityRows<double> exact(spec, n, 5, false), scaled(spec + ",mean-gradient=scaled", n, 5, false);
    const Slopes<double> a = slopes_of(exact), b = slopes_of(scaled);
    EXPECT_EQ(a.nats, b.nats);
    for (Index r = 0; r < exact.rows(); ++r)
      for (Index d = 0; d < n; ++d)
        for (Index i = 0; i < 3 * k; ++i) {
          const Index place = r * exact.size + d * 3 * k + i;
          double factor = 1;
          if (i / k == 1)
            factor =
                std::exp(10 * std::tanh(nade_output(exact, units, 3 * k, true, exact.signal.data() + r * exact.size,
                                                    exact.values.data() + r * n, d, i + k) /
                                        10));
          EXPECT_NEAR(b.adjoint[at(place)], factor * a.adjoint[at(place)], 1e-12) << shape << r << d << i;
        }
  }
}

TEST(OrderedDensity, neural_ar_of_numbers_is_normal_given_the_earlier_ones) {
  const DensityRows<double> f("neural-ar:3,columns=n+b+n", 3, 4, true);
  const Numbers found = f.nats();
  constexpr Index kOutputs[] = {2, 1, 2}, kUnits = 3;
  for (Index r = 0; r < f.rows(); ++r) {
    if (f.predicted[at(r)] == 0) continue;
    const double *signal = f.signal.data() + r * f.size, *x = f.values.data() + r * 3, *v = f.own(0);
    double sum = 0;
    for (Index d = 0; d < 3; ++d) {
      Numbers o;
      for (Index i = 0; i < kOutputs[d]; ++i) {
        o.push_back(*signal++);
        for (Index g = 0; g < d; ++g)
          for (Index h = 0; h < kUnits; ++h) {
            double a = f.own(2)[g * kUnits + h];
            for (Index j = 0; j <= g; ++j) a += f.own(1)[(g * (g + 1) / 2 + j) * kUnits + h] * x[j];
            o.back() += *v++ * std::tanh(a);
          }
      }
      sum += o.size() == 1 ? bit_nats(o[0], x[d]) : normal_nats(x[d], o[0], o[1]);
    }
    EXPECT_NEAR(found[at(r)], sum, 1e-11);
  }
}

TEST(OrderedDensity, nonbinary_values_and_unsupported_means_are_rejected) {
  DensityRows<double> f("nade:2", 3, 1, true);
  for (const std::vector<char>& known : {std::vector<char>{0, 1, 0}, {0, 0, 1}, {1, 0, 0}}) {
    try {
      (void)f.density().mean(f.question(0), known, f.values, known[0] != 0 ? 2 : 0);
      FAIL();
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr("only if exactly the numbers before it are known"));
    }
  }
  f.values[1] = 0.5;
  try {
    f.nats();
    FAIL();
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("nade supports only bits, but one of the numbers is 0.5"));
  }
}

}  // namespace
}  // namespace unfold
