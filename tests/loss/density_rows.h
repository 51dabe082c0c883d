#pragma once
/// Rows of numbers with a density over them, and the helpers of its tests.

#include <cmath>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "loss/density/vector_density.h"
#include "unfold/loss/registry.h"
#include "unfold/numerics/random.h"

namespace unfold {

using Numbers = std::vector<double>;

/// A density of rows of n numbers, with a random signal and random parameters; every fourth row is not predicted.
template <class T>
struct DensityRows {
  Circuit circuit;
  ChosenLoss chosen;
  std::unique_ptr<Loss<T>> loss;
  Structure structure;
  Index n, size;
  std::vector<T> signal, parameters, values;
  std::vector<char> predicted;

  DensityRows(const std::string& spec, Index numbers, Index rows, bool bits, double scale = 0.7, std::uint64_t seed = 1)
      : chosen(choose_loss(spec)),
        loss(chosen.make<T>()),
        structure(Structure::chains(std::vector<Index>{rows})),
        n(numbers),
        size(chosen.signal_size(numbers)) {
    const Signal o = circuit.affine("o", size, {{"W", circuit.input("x", 1)}});
    circuit.output(o);
    loss->declare(circuit, o);
    Random random(seed, "density");
    const auto draw = [&] { return static_cast<T>(scale * random.normal()); };
    for (Index i = 0; i < rows * size; ++i) signal.push_back(draw());
    for (Index i = 0; i < circuit.parameter_count(); ++i) parameters.push_back(draw());
    for (Index i = 0; i < rows * n; ++i) values.push_back(bits ? static_cast<T>(random.below(2)) : draw());
    for (Index r = 0; r < rows; ++r) predicted.push_back(r % 4 != 3);
  }
  Index rows() const { return structure.positions(); }
  Matrix<const T> matrix(const std::vector<T>& x) const { return {x.data(), rows(), size, size}; }
  Matrix<T> matrix(std::vector<T>& x) const { return {x.data(), rows(), size, size}; }
  Observed<T> observed() const { return observed(signal, parameters); }
  Observed<T> observed(const std::vector<T>& s, const std::vector<T>& p) const {
    return {structure, matrix(s), {nullptr, {values.data(), rows(), n, n}, predicted.data()}, p};
  }
  std::vector<T> nats(int threads = 1) const { return nats_of(observed(), threads); }
  std::vector<T> nats_of(const Observed<T>& o, int threads = 1) const {
    Team team(threads);
    std::vector<T> result(at(o.signal.rows));
    loss->negative_log_likelihood(o, team, result.data());
    return result;
  }
  double total(const std::vector<T>& s, const std::vector<T>& p) const {
    double sum = 0;
    for (const T x : nats_of(observed(s, p))) sum += static_cast<double>(x);
    return sum;
  }
  DensityQuery<T> question(Index row) const { return {{signal.data() + row * size, at(size)}, parameters}; }
  const VectorDensity<T>& density() const { return loss->template need<VectorDensity<T>>("test"); }
  const T* own(std::size_t which) const {
    return parameters.data() + circuit.parameters()[at(loss->parameter_indices()[which])].offset;
  }
};

template <class T>
struct Slopes {
  std::vector<T> nats, adjoint, own;
  bool operator==(const Slopes&) const = default;
};
template <class T>
Slopes<T> slopes_of(const DensityRows<T>& f, T scale = 1, int threads = 1) {
  Slopes<T> found{std::vector<T>(at(f.rows())), std::vector<T>(f.signal.size()), std::vector<T>(f.parameters.size())};
  Team team(threads);
  f.loss->gradient(f.observed(), scale, team, found.nats.data(), f.matrix(found.adjoint), found.own);
  return found;
}

inline double logistic(double o) { return 1 / (1 + std::exp(-o)); }
inline double bit_nats(double o, double x) { return -std::log(x != 0 ? logistic(o) : logistic(-o)); }

inline double normal_nats(double x, double m, double s) {
  const double d = std::exp(10 * std::tanh(s / 10));
  return 0.5 * std::pow((x - m) / d, 2) + std::log(d) + 0.5 * std::log(2 * std::numbers::pi);
}

}  // namespace unfold
