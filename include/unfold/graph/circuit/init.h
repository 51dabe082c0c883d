#pragma once
/// Initialization of parameters. An `Init` is data: it is stored with the circuit and executed once, by
/// `Parameters::initialize`, with a random stream named after the parameter (so the order of creation does not matter).
///
/// Weights W [inputs x outputs] are input-major. A matrix may consist of equal column blocks, one per gate ("blocks"):
/// orthogonal, identity, sparse and normalized initializations apply to each block separately.

#include <string_view>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

struct Init {
  enum class Kind {
    constant,    ///< `values[block]` in each column block (a single value applies to all)
    uniform,     ///< U(-scale, scale); scale 0: 1/sqrt(inputs)
    positive,    ///< U(1/2, 3/2)
    normal,      ///< N(0, scale^2); scale 0: 1/sqrt(inputs); with several `values`, multiplied by `values[block]`
    glorot,      ///< U(-a, a), a = scale * sqrt(6 / (inputs + outputs of one block))
    orthogonal,  ///< random orthonormal rows or columns, times scale (Saxe et al. 2014)
    identity,    ///< scale on the diagonal (Le et al. 2015, IRNN)
    sparse,      ///< `count` non-zero N(0, scale^2) weights per output (Martens 2010)
    /// positive definite with largest eigenvalue `scale` (Talathi & Vartak 2015, np-RNN); only square blocks
    normalized,
    chrono  ///< gate biases from time scales: values = {sign per block (0: zero)}, sign * log U[1, scale - 1] (Tallec &
            ///< Ollivier 2018)
  };
  Kind kind = Kind::constant;
  double scale = 0;
  Index count = 15;
  Index blocks = 1;
  std::vector<double> values = {0};

  static Init zero() { return {}; }
  static Init constant(double value) { return {.values = {value}}; }
  /// A bias of equal blocks, each with a constant value: block_values({0, 1, 0, 0}) initially opens the forget
  /// gate of an LSTM.
  static Init block_values(std::vector<double> values) {
    const auto n = static_cast<Index>(values.size());
    return {.blocks = n, .values = std::move(values)};
  }
  static Init uniform(double scale = 0) { return {.kind = Kind::uniform, .scale = scale}; }
  static Init positive() { return {.kind = Kind::positive}; }
  static Init normal(double scale = 0) { return {.kind = Kind::normal, .scale = scale}; }
  /// A separate scale for each output, divided by sqrt(inputs).
  static Init normal_columns(std::vector<double> scales) {
    const auto n = static_cast<Index>(scales.size());
    return {.kind = Kind::normal, .blocks = n, .values = std::move(scales)};
  }
  static Init glorot(Index blocks = 1, double scale = 1) {
    return {.kind = Kind::glorot, .scale = scale, .blocks = blocks};
  }
  static Init orthogonal(Index blocks = 1, double scale = 1) {
    return {.kind = Kind::orthogonal, .scale = scale, .blocks = blocks};
  }
  static Init identity(Index blocks = 1, double scale = 1) {
    return {.kind = Kind::identity, .scale = scale, .blocks = blocks};
  }
  static Init sparse(Index count = 15, double scale = 1, Index blocks = 1) {
    return {.kind = Kind::sparse, .scale = scale, .count = count, .blocks = blocks};
  }
  static Init normalized(Index blocks = 1, double scale = 1) {
    return {.kind = Kind::normalized, .scale = scale, .blocks = blocks};
  }
  /// LSTM gate biases for dependencies of up to `longest` steps: sign +1 on the forget block, -1 on the input block,
  /// which uses the negated draw of the forget block.
  static Init chrono(std::vector<double> signs, double longest) {
    const auto n = static_cast<Index>(signs.size());
    return {.kind = Kind::chrono, .scale = longest, .blocks = n, .values = std::move(signs)};
  }
};

/// Throws a UsageError that names the parameter if the number of columns is not divisible by the number of blocks, if
/// the number of values differs from the number of blocks, or if a number is not finite.
void check(const Init& init, std::string_view name, Index outputs);

/// Fills w [inputs x outputs], row-major, from the stream `name` of `seed`. Computed in double, so float and double
/// models with the same seed start from the same values (up to rounding).
void fill(const Init& init, std::uint64_t seed, std::string_view name, Index inputs, Index outputs, double* w);

}  // namespace unfold
