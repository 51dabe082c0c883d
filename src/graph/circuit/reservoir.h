#pragma once
/// Random reservoir matrices: sparse, and rescaled to a given spectral radius. The same values on every machine.

#include <cstdint>
#include <memory>
#include <vector>

#include "unfold/numerics/sparse.h"

namespace unfold {

/// Returns the largest modulus of an eigenvalue of the matrix with these weights on its edges. REQUIRES: inputs =
/// outputs. Exact up to rounding for at most 250 units; for more, the value for the projection onto a Krylov space of
/// 250 dimensions, which for random matrices has a relative error of about a thousandth. Close to 0 if the graph has no
/// cycle.
double spectral_radius(const Edges& edges, const std::vector<double>& weights);

struct Reservoir {
  std::shared_ptr<const Edges> edges;
  std::vector<double> weights;  ///< one per edge
};
/// Returns a random graph in which `degree` distinct edges leave each of n units (at most n), with weights uniform on
/// [-1, 1], scaled to the given spectral radius.
Reservoir random_reservoir(Index n, Index degree, double radius, std::uint64_t seed);

}  // namespace unfold
