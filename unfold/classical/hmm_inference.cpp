#include <algorithm>
#include <cmath>
#include <limits>

#include "unfold/base/error.h"
#include "unfold/classical/hmm.h"
#include "unfold/numerics/functions.h"

namespace unfold {
namespace {

constexpr double kLeastProbability = 1e-290;  // below it the division by c_t would not be exact
constexpr Index kBlock = 1024;                // positions whose forward values are held at once
constexpr Index kGroups = 16;                 // of sequences: their sums are added in order, whatever the threads

/// The parameters in the order in which the passes walk through them.
struct Tables {
  explicit Tables(const HmmParameters& hmm)
      : n(at(hmm.states)), initial(hmm.initial), a(hmm.transitions), a_t(n * n), b_t(hmm.emissions.size()) {
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) a_t[j * n + i] = a[i * n + j];
    const std::size_t v = at(hmm.alphabet);
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t x = 0; x < v; ++x) b_t[x * n + j] = hmm.emissions[j * v + x];
  }
  const double* emission(Symbol x) const { return b_t.data() + static_cast<std::size_t>(x) * n; }

  std::size_t n;
  const std::vector<double>&initial, &a;
  std::vector<double> a_t, b_t;  // a transposed; b transposed, [V x N]
};

/// out = x m, both of `n`; the sum over i in ascending order.
void times(const double* x, const std::vector<double>& m, std::size_t n, double* out) {
  std::fill_n(out, n, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) out[j] += x[i] * m[i * n + j];
}

/// From f, the states before a symbol, to g, those after having seen it. Returns c, or 0 when no state can emit it.
double see(const Tables& t, const double* f, Symbol x, double* g) {
  const double* const b = t.emission(x);
  double c = 0;
  for (std::size_t j = 0; j < t.n; ++j) c += g[j] = f[j] * b[j];
  if (!(c >= kLeastProbability)) {
    std::copy_n(f, t.n, g);
    return 0;
  }
  for (std::size_t j = 0; j < t.n; ++j) g[j] /= c;
  return c;
}

/// sum of log c.
double sum_of_logs(std::vector<double> c) {
  vector_log(c.data(), c.data(), static_cast<Index>(c.size()));
  double sum = 0;
  for (const double x : c) sum += x;
  return sum;
}

/// Forward and backward over one sequence in blocks; calls use(t, g_t, beta_t, c_t, w) for every position from the last
/// to the first, where gamma_t = g_t * beta_t, and w (of position t + 1; nullptr at the last) makes
/// p(s_t = i, s_{t+1} = j | x) = g_t(i) a(i,j) w(j). Returns log p(x).
template <class Use>
double forward_backward(const Tables& tables, std::span<const Symbol> symbols, Use&& use) {
  const std::size_t n = tables.n, length = symbols.size(), block = at(kBlock);
  const std::size_t blocks = (length + block - 1) / block;
  std::vector<double> starts(blocks * n), g(n), f(tables.initial), c;
  double log_likelihood = 0;
  for (std::size_t k = 0; k < blocks; ++k) {
    std::copy(f.begin(), f.end(), starts.begin() + static_cast<std::ptrdiff_t>(k * n));
    c.clear();
    for (std::size_t t = k * block; t < std::min(length, (k + 1) * block); ++t) {
      c.push_back(see(tables, f.data(), symbols[t], g.data()));
      times(g.data(), tables.a, n, f.data());
    }
    log_likelihood += sum_of_logs(c);
  }
  std::vector<double> seen(block * n), beta(n, 1.0), w(n);
  for (std::size_t k = blocks; k-- > 0;) {
    const std::size_t begin = k * block, end = std::min(length, begin + block);
    std::copy_n(starts.begin() + static_cast<std::ptrdiff_t>(k * n), n, f.begin());
    c.resize(end - begin);
    for (std::size_t t = begin; t < end; ++t) {
      c[t - begin] = see(tables, f.data(), symbols[t], seen.data() + (t - begin) * n);
      times(seen.data() + (t - begin) * n, tables.a, n, f.data());
    }
    for (std::size_t t = end; t-- > begin;) {
      const double* const here = seen.data() + (t - begin) * n;
      use(t, here, beta.data(), c[t - begin], t + 1 < length ? w.data() : nullptr);
      const double* const b = tables.emission(symbols[t]);
      for (std::size_t j = 0; j < n; ++j) w[j] = c[t - begin] > 0 ? b[j] * beta[j] / c[t - begin] : beta[j];
      times(w.data(), tables.a_t, n, beta.data());
    }
  }
  return log_likelihood;
}

/// Expected numbers of a group of sequences.
struct Expectations {
  std::vector<double> initial, steps, symbols;  // steps without the factor a(i,j); symbols: [V x N]
  double log_likelihood = 0;

  void add(const Tables& tables, std::span<const Symbol> text) {
    const std::size_t n = tables.n;
    log_likelihood += forward_backward(
        tables, text, [&](std::size_t t, const double* g, const double* beta, double c, const double* w) {
          double* const emitted = symbols.data() + static_cast<std::size_t>(text[t]) * n;
          for (std::size_t j = 0; j < n && c > 0; ++j) emitted[j] += g[j] * beta[j];
          for (std::size_t j = 0; j < n && t == 0; ++j) initial[j] += g[j] * beta[j];
          for (std::size_t i = 0; i < n && w != nullptr; ++i)
            for (std::size_t j = 0; j < n; ++j) steps[i * n + j] += g[i] * w[j];
        });
  }

  void add(const Expectations& other) {
    for (std::size_t i = 0; i < initial.size(); ++i) initial[i] += other.initial[i];
    for (std::size_t i = 0; i < steps.size(); ++i) steps[i] += other.steps[i];
    for (std::size_t i = 0; i < symbols.size(); ++i) symbols[i] += other.symbols[i];
    log_likelihood += other.log_likelihood;
  }
};

/// Scales `count` values, `stride` apart, to a sum of 1 into `out`; leaves `out` as it is when they are all 0.
void set_distribution(const double* values, std::size_t count, std::size_t stride, double* out) {
  double total = 0;
  for (std::size_t i = 0; i < count; ++i) total += values[i * stride];
  if (!(total > 0)) return;
  for (std::size_t i = 0; i < count; ++i) out[i] = values[i * stride] / total;
}

}  // namespace

double reestimate(HmmParameters& hmm, const Corpus& corpus, const Split& part, double add, Team& team) {
  const std::size_t n = at(hmm.states), v = at(hmm.alphabet);
  const auto pieces = static_cast<Index>(part.pieces.size());
  const Tables tables(hmm);
  const Index groups = std::min(kGroups, std::max<Index>(pieces, 1));
  std::vector<Expectations> sums(at(groups));
  team.run([&](Member& me) {
    for (Index k = me.id(); k < groups; k += me.size()) {
      Expectations& mine = sums[at(k)];
      mine.initial.assign(n, 0);
      mine.steps.assign(n * n, 0);
      mine.symbols.assign(v * n, 0);
      for (Index p = pieces * k / groups; p < pieces * (k + 1) / groups; ++p) {
        const Piece& piece = part.pieces[at(p)];
        mine.add(tables, corpus.read(piece.sequence, piece.range));
      }
    }
  });
  Expectations& total = sums[0];
  for (std::size_t k = 1; k < sums.size(); ++k) total.add(sums[k]);

  double objective = total.log_likelihood;
  if (add > 0) objective += add * sum_of_logs(hmm.emissions);
  for (std::size_t i = 0; i < n * n; ++i) total.steps[i] *= hmm.transitions[i];
  for (double& x : total.symbols) x += add;
  set_distribution(total.initial.data(), n, 1, hmm.initial.data());
  for (std::size_t i = 0; i < n; ++i) {
    set_distribution(total.steps.data() + i * n, n, 1, hmm.transitions.data() + i * n);
    set_distribution(total.symbols.data() + i, v, n, hmm.emissions.data() + i * v);
  }
  return objective;
}

double log_likelihood(const HmmParameters& hmm, std::span<const Symbol> symbols) {
  const Tables tables(hmm);
  std::vector<double> f(hmm.initial), g(tables.n), c;
  for (const Symbol x : symbols) {
    c.push_back(see(tables, f.data(), x, g.data()));
    times(g.data(), tables.a, tables.n, f.data());
  }
  return sum_of_logs(std::move(c));
}

std::vector<double> state_posteriors(const HmmParameters& hmm, std::span<const Symbol> symbols) {
  const Tables tables(hmm);
  std::vector<double> result(symbols.size() * tables.n);
  forward_backward(tables, symbols, [&](std::size_t t, const double* g, const double* beta, double, const double*) {
    for (std::size_t j = 0; j < tables.n; ++j) result[t * tables.n + j] = g[j] * beta[j];
  });
  return result;
}

std::vector<Index> most_probable_states(const HmmParameters& hmm, std::span<const Symbol> symbols) {
  const std::size_t n = at(hmm.states), v = at(hmm.alphabet), length = symbols.size();
  if (length == 0) return {};
  std::vector<double> best(hmm.initial), a(hmm.transitions), b(hmm.emissions), next(n);
  for (std::vector<double>* x : {&best, &a, &b}) vector_log(x->data(), x->data(), static_cast<Index>(x->size()));
  std::vector<std::uint16_t> from(length * n);
  for (std::size_t t = 0; t < length; ++t) {
    if (t > 0) {
      for (std::size_t j = 0; j < n; ++j) {
        std::size_t origin = 0;
        for (std::size_t i = 1; i < n; ++i)
          if (best[i] + a[i * n + j] > best[origin] + a[origin * n + j]) origin = i;
        from[t * n + j] = static_cast<std::uint16_t>(origin);
        next[j] = best[origin] + a[origin * n + j];
      }
      best.swap(next);
    }
    bool possible = false;
    for (std::size_t j = 0; j < n; ++j) {
      next[j] = best[j] + b[j * v + static_cast<std::size_t>(symbols[t])];
      possible = possible || next[j] > -std::numeric_limits<double>::infinity();
    }
    if (possible) best = next;  // what no state can emit is not looked at
  }
  std::vector<Index> states(length);
  auto state = static_cast<std::size_t>(std::max_element(best.begin(), best.end()) - best.begin());
  for (std::size_t t = length; t-- > 0;) {
    states[t] = static_cast<Index>(state);
    state = from[t * n + state];
  }
  return states;
}

}  // namespace unfold
