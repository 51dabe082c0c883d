#pragma once
/// Random matrices of reservoirs: sparse, and rescaled to a spectral radius. The same numbers on every machine.

#include <cstdint>
#include <memory>
#include <vector>

#include "unfold/numerics/sparse.h"

namespace unfold {

/// Largest modulus of an eigenvalue of the matrix with these weights on its edges, inputs = outputs. Exact to rounding
/// for up to 250 units; beyond, that of its projection onto a Krylov space of 250 dimensions, which for random matrices
/// is right to about a thousandth. What has no cycle gives next to 0.
double spectral_radius(const Edges& edges, const std::vector<double>& weights);

struct Reservoir {
  std::shared_ptr<const Edges> edges;
  std::vector<double> weights;  ///< one an edge
};
/// `degree` distinct edges leave each of n units (at most n), weights uniform on [-1, 1] times what gives the spectral
/// radius.
Reservoir random_reservoir(Index n, Index degree, double radius, std::uint64_t seed);

}  // namespace unfold
