#pragma once
/// Checks every derivative of a circuit, in double precision, at random parameters, inputs and targets:
///
///   CheckReport report = check_derivatives(network, Structure::chains(lengths));
///   if (!report.passed()) throw VerificationError(report.text());
///
/// | check        | comparison                                                                               |
/// | forward      | outputs with the scalar graph (scalar_graph.h)                                           |
/// | gradient     | backward pass of the total nats with central differences, with sign: whole and by block  |
/// | tangent      | tangent pass with central differences of the outputs, whole and by block                 |
/// | transpose    | <u, J v> with <J'u, v>                                                                    |
/// | gauss-newton | v'Gv >= 0 and u'Gv = v'Gu                                                                 |
/// | jacobian     | columns of J by tangents with columns by differences (few parameters only)                |
/// | dense        | Gauss-Newton product with J'HJ column by column (few parameters only)                     |
/// | adjoint      | backward pass with sums over paths in the scalar graph                                   |
/// | modulus      | Algebra::squared with sums over paths of squared derivatives, random and Fisher seeds     |
/// | path         | PathPass with an enumeration of all paths (homogeneous circuits on chains only)          |
///
/// A check that would be too large or does not apply to the circuit is reported as not run, with the reason.
/// Every output of the circuit has a loss; parameters owned by a loss are checked with the others. Dropout is off.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "unfold/gradcheck/scalar_graph.h"
#include "unfold/graph/engine/unfolding.h"
#include "unfold/loss/network.h"

namespace unfold {

struct CheckOptions {
  std::uint64_t seed = 1;
  int directions = 3;            ///< random directions for each comparison
  double tolerance = 1e-6;       ///< relative error allowed in comparisons with central differences
  Index dense_parameters = 400;  ///< maximum number of parameters for "jacobian" and "dense"
  double graph_edges = 1e7;      ///< maximum number of edges of the scalar graph
  double paths = 2e6;            ///< maximum number of paths for "path"
};

struct CheckResult {
  std::string name;                                       ///< as in the table above
  std::string what;                                       ///< the two compared quantities
  double worst = 0;                                       ///< largest relative error
  double bound = 0;                                       ///< largest relative error allowed
  bool run = true;                                        ///< false: `where` gives the reason
  std::string where = {};                                 ///< parameter block, element or position of the largest error
  bool passed() const { return !run || worst <= bound; }  // false for NaN
};

struct CheckReport {
  std::vector<CheckResult> results;
  bool passed() const;       ///< whether every check that ran has passed
  std::string text() const;  ///< a table with one line per check, followed by the summary
  /// Returns how many checks ran, their results, and which checks did not run with the reasons.
  std::string summary() const;
};

/// The passes under test, as functions of plain vectors. The outputs of the circuit are concatenated, each [positions x
/// size]. Tests of the checks inject faults by overriding a pass.
class Passes {
 public:
  /// Draws parameters (their Init plus noise, so that nothing is zero by construction) and inputs from `seed`.
  Passes(const Circuit& circuit, const Structure& structure, std::uint64_t seed);
  virtual ~Passes() = default;

  const Circuit& circuit() const { return circuit_; }
  const Structure& structure() const { return structure_; }
  const CircuitInputs& inputs() const { return inputs_; }
  std::span<const double> parameters() const { return parameters_.flat(); }

  void set_parameters(std::span<const double> parameters);
  /// Replaces the random inputs with others of the same sizes.
  void set_inputs(CircuitInputs inputs);
  virtual std::vector<double> outputs();  ///< forward pass
  /// The following functions REQUIRE a preceding call of `outputs` with the same parameters.
  virtual std::vector<double> transposed(std::span<const double> seeds, Algebra algebra);  ///< backward pass
  virtual std::vector<double> tangent(std::span<const double> direction);
  using Curvature = std::function<std::vector<double>(std::span<const double> tangents)>;
  virtual std::vector<double> gauss_newton_product(std::span<const double> direction, const Curvature& curvature);
  /// Returns gamma^2 and sets kappa [parameters].
  virtual double path(Index length, bool every_step, std::span<double> kappa);

  /// Calls use(output node, its part of a vector of outputs as [positions x size]).
  template <class U>
  void for_each_output(U* outputs, const std::function<void(Signal, Matrix<U>)>& use) const;

 private:
  void draw(std::uint64_t seed);
  void fill_inputs();
  bool depends_on_parameters(Signal output) const;
  void read_tangents(std::span<double> result) const;
  void write_seeds(std::span<const double> seeds);

  const Circuit& circuit_;
  Structure structure_;
  Parameters<double> parameters_;
  CircuitInputs inputs_;
  Index output_count_ = 0;
  Team team_;
  Unfolding<double> unfolding_;
};

/// One loss per output of the circuit, in order.
using OutputLosses = std::vector<const Loss<double>*>;

CheckReport check_derivatives(Passes& passes, const OutputLosses& losses, const CheckOptions& options = {});
/// Uses the same loss for every output.
CheckReport check_derivatives(Passes& passes, const Loss<double>& loss, const CheckOptions& options = {});
CheckReport check_derivatives(const Circuit& circuit, const Loss<double>& loss, const Structure& structure,
                              const CheckOptions& options = {});
/// Uses the loss of each head. Throws UsageError if an output of the circuit does not belong to a head.
CheckReport check_derivatives(const Network<double>& network, const Structure& structure,
                              const CheckOptions& options = {});

}  // namespace unfold
