#pragma once
/// Random reservoir matrices: sparse and rescaled to a given spectral radius, with the same values on every machine.

#include <cstdint>
#include <memory>
#include <vector>

#include "unfold/numerics/sparse.h"

namespace unfold {

/// Returns the largest modulus of an eigenvalue of the matrix with these weights on its edges. REQUIRES: inputs =
/// outputs. Exact up to rounding for at most 250 units; for more units, the value for the projection onto a Krylov
/// space of 250 dimensions, which has a relative error of about a thousandth for random matrices. Close to 0 if the
/// graph has no cycle.
double spectral_radius(const Edges& edges, const std::vector<double>& weights);

struct Reservoir {
  std::shared_ptr<const Edges> edges;
  std::vector<double> weights;  ///< one weight per edge
};
/// Returns a random graph in which `degree` (at most n) distinct edges leave each of n units. The weights are uniform
/// on [-1, 1] and then scaled to the given spectral radius.
Reservoir random_reservoir(Index n, Index degree, double radius, std::uint64_t seed);

}  // namespace unfold
