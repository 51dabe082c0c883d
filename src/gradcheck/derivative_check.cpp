#include "unfold/gradcheck/derivative_check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "gradcheck/checked_losses.h"
#include "graph/circuit/attention.h"
#include "graph/circuit/concatenation.h"
#include "graph/circuit/known_operator.h"
#include "graph/circuit/mixed_sparse.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using Vector = CheckedLosses::Vector;

double inner(std::span<const double> x, std::span<const double> y) {
  double total = 0;
  for (std::size_t i = 0; i < x.size(); ++i) total += x[i] * y[i];
  return total;
}

double norm(std::span<const double> x) { return std::sqrt(inner(x, x)); }

double magnitude(std::span<const double> x) {
  double most = 0;
  for (const double v : x) most = std::max(most, std::fabs(v));
  return most;
}

Vector sum(Vector x, const Vector& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  return x;
}

/// Treats NaN as an infinite error.
double error_of(double difference) { return std::isnan(difference) ? INFINITY : std::fabs(difference); }

std::string number(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", x);
  return text;
}

/// A direction in parameter space and the name of the block that it changes.
struct Direction {
  std::string name;
  Vector v;
  Index count;  ///< components that are not zero, each N(0, 1/count)
  bool whole;   ///< changes every block
};

class Checker {
 public:
  Checker(Passes& passes, const OutputLosses& losses, const CheckOptions& options)
      : passes_(passes),
        options_(options),
        objective_(passes, losses, options.seed),
        theta_(passes.parameters().begin(), passes.parameters().end()),
        random_(options.seed, "check/directions") {
    report_.results.reserve(16);  // results are filled through references
    outputs_ = passes_.outputs();
    total_ = objective_.total(outputs_, theta_);
    const AtLosses seeds = objective_.gradient(outputs_, theta_);
    gradient_ = sum(passes_.transposed(seeds.outputs, Algebra::linear), seeds.own);
  }

  CheckReport run() {
    check_gradient();
    check_tangent();
    check_transpose();
    check_gauss_newton();
    check_dense();
    check_graph();
    check_path();
    return std::move(report_);
  }

 private:
  // Several step sizes are used: if one of them crosses a kink or is dominated by rounding, another one is accurate.
  static constexpr double kSteps[] = {3e-2, 3e-3, 3e-4};
  static constexpr double kExact = 1e-10;  ///< bound for two exact results with different orders of summation

  // ---- directions

  // Returns normal values instead of signs, because with signs, differences of two elements would go undetected half of
  // the time.
  Vector random_normals(Index n) {
    Vector v(at(n));
    for (double& x : v) x = random_.normal();
    return v;
  }

  Direction direction(const ParameterInfo* block) {
    Direction d{block ? block->name : "all parameters", random_normals(static_cast<Index>(theta_.size())),
                block ? block->size() : static_cast<Index>(theta_.size()), block == nullptr};
    for (std::size_t i = 0; i < d.v.size(); ++i) {
      const bool inside =
          !block || (static_cast<Index>(i) >= block->offset && static_cast<Index>(i) < block->offset + block->size());
      d.v[i] = inside ? d.v[i] / std::sqrt(static_cast<double>(d.count)) : 0;
    }
    return d;
  }

  /// Returns one direction for each block, so that a fault in a block is not masked and the block can be named,
  /// followed by several directions over all parameters.
  std::vector<Direction> directions() {
    std::vector<Direction> result;
    if (theta_.empty()) return result;
    for (const ParameterInfo& block : passes_.circuit().parameters()) result.push_back(direction(&block));
    for (int i = 0; i < options_.directions; ++i) result.push_back(direction(nullptr));
    return result;
  }

  std::string element(Index parameter) const {
    for (const ParameterInfo& p : passes_.circuit().parameters())
      if (parameter >= p.offset && parameter < p.offset + p.size())
        return p.name + " [" + std::to_string((parameter - p.offset) / p.cols) + ", " +
               std::to_string((parameter - p.offset) % p.cols) + "]";
    return "parameter " + std::to_string(parameter);
  }

  std::string output_element(std::size_t index) const {
    for (const int output : passes_.circuit().outputs()) {
      const Node& node = passes_.circuit().nodes()[at(output)];
      const std::size_t count = at(passes_.structure().positions() * node.size);
      if (index < count)
        return node.name + " row " + std::to_string(index / at(node.size)) + " component " +
               std::to_string(index % at(node.size));
      index -= count;
    }
    return "output " + std::to_string(index);
  }

  // ---- central differences

  struct Point {
    double total;
    Vector outputs;
  };
  Point along(std::span<const double> v, double h) {
    Vector moved = theta_;
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += h * v[i];
    passes_.set_parameters(moved);
    Vector outputs = passes_.outputs();
    const double total = objective_.total(outputs, moved);
    return {total, std::move(outputs)};
  }
  void restore() {
    passes_.set_parameters(theta_);
    passes_.outputs();
  }

  /// Derivatives of the total and of the outputs along v: central differences at h and h/2, extrapolated (Richardson).
  struct Difference {
    double total;
    Vector outputs;
  };
  Difference difference(std::span<const double> v, double h) {
    const Difference wide = central(v, h);
    Difference narrow = central(v, h / 2);
    narrow.total += (narrow.total - wide.total) / 3;
    for (std::size_t i = 0; i < narrow.outputs.size(); ++i)
      narrow.outputs[i] += (narrow.outputs[i] - wide.outputs[i]) / 3;
    return narrow;
  }
  Difference central(std::span<const double> v, double h) {
    const Point above = along(v, h), below = along(v, -h);
    Difference d{(above.total - below.total) / (2 * h), Vector(above.outputs.size())};
    for (std::size_t i = 0; i < d.outputs.size(); ++i) d.outputs[i] = (above.outputs[i] - below.outputs[i]) / (2 * h);
    return d;
  }

  // ---- results

  /// REQUIRES: fewer results than reserved.
  CheckResult& open(const char* name, const char* what, double bound) {
    return report_.results.emplace_back(CheckResult{.name = name, .what = what, .bound = bound});
  }
  static void note(CheckResult& result, double error, const std::string& where) {
    if (error > result.worst || result.where.empty()) {
      result.worst = std::max(result.worst, error);
      result.where = where;
    }
  }
  /// A fault already found in a block is reported for that block, not for directions over all parameters.
  static void note(CheckResult& result, double error, const Direction& d, const std::string& what) {
    if (d.whole && result.worst > result.bound) return;
    note(result, error, d.name + what);
  }
  static void skip(CheckResult& result, const std::string& why) {
    result.run = false;
    result.where = why;
  }

  /// Records the largest |a - b| relative to the element, for sums over paths, whose terms are non-negative.
  template <class Where>
  static void compare_elements(CheckResult& result, const Vector& got, const Vector& expected, double floor,
                               Where&& where) {
    const double least = floor * magnitude(expected) + 1e-300;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double error = error_of(got[i] - expected[i]) / std::max(std::fabs(expected[i]), least);
      if (error > result.worst || result.where.empty())
        note(result, error, where(i) + ": " + number(got[i]) + ", reference " + number(expected[i]));
    }
  }

  // ---- checks

  double difference_error(const Direction& d, double exact, double* best) {
    // A typical derivative along d; relative to it, a value that happens to be near zero does not cause a failure.
    Vector inside = gradient_;
    for (std::size_t i = 0; i < inside.size(); ++i)
      if (d.v[i] == 0) inside[i] = 0;
    const double typical = 0.1 * norm(inside) / std::sqrt(static_cast<double>(d.count));
    double least = INFINITY;
    for (const double h : kSteps) {
      const double slope = difference(d.v, h).total;
      const double scale = std::max({std::fabs(slope), std::fabs(exact), typical, 1e-6 * (1 + std::fabs(total_))});
      const double error = error_of(exact - slope) / scale;
      if (error < least) least = error, *best = slope;
    }
    return least;
  }

  void check_gradient() {
    CheckResult& result = open("gradient", "backward pass = central difference of the nats", options_.tolerance);
    std::string guilty;
    for (const Direction& d : directions()) {
      const double exact = inner(gradient_, d.v);
      double slope = NAN;
      const double error = difference_error(d, exact, &slope);
      if (error > result.worst) guilty = d.name;
      note(result, error, d, ": " + number(exact) + ", difference " + number(slope));
    }
    if (result.worst > result.bound) result.where += locate(guilty);
    restore();
  }

  /// Returns the worst element of the faulty block, for the message.
  std::string locate(const std::string& block) {
    constexpr Index kMost = 64;
    std::string text;
    double worst = 0;
    for (const ParameterInfo& p : passes_.circuit().parameters()) {
      if (p.name != block) continue;
      for (Index i = 0; i < std::min(p.size(), kMost); ++i) {
        Vector v(theta_.size());
        v[at(p.offset + i)] = 1;
        const double slope = difference(v, kSteps[1]).total, exact = gradient_[at(p.offset + i)];
        if (error_of(exact - slope) <= worst) continue;
        worst = error_of(exact - slope);
        text = "; worst element " + element(p.offset + i) + ": " + number(exact) + ", difference " + number(slope);
      }
    }
    return text;
  }

  void check_tangent() {
    CheckResult& result = open("tangent", "tangent pass = central difference of the outputs", options_.tolerance);
    for (const Direction& d : directions()) {
      restore();
      const Vector exact = passes_.tangent(d.v);
      double least = INFINITY;
      std::size_t place = 0;
      for (const double h : kSteps) {
        const Vector slope = difference(d.v, h).outputs;
        const double scale = std::max({magnitude(exact), magnitude(slope), 1e-6 * (1 + magnitude(outputs_))});
        double error = 0;
        std::size_t worst = 0;
        for (std::size_t i = 0; i < exact.size(); ++i)
          if (error_of(exact[i] - slope[i]) > error) error = error_of(exact[i] - slope[i]), worst = i;
        if (error / scale < least) least = error / scale, place = worst;
      }
      note(result, least, d, " at " + output_element(place));
    }
    restore();
  }

  void check_transpose() {
    CheckResult& result = open("transpose", "<u, J v> = <J'u, v>", kExact);
    const auto m = static_cast<double>(outputs_.size());
    for (const Direction& d : directions()) {
      const Vector u = random_normals(static_cast<Index>(outputs_.size()));
      const Vector forward = passes_.tangent(d.v);
      const double left = inner(u, forward), right = inner(passes_.transposed(u, Algebra::linear), d.v);
      const double scale =
          std::max({std::fabs(left), std::fabs(right), 0.1 * norm(u) * norm(forward) / std::sqrt(m), 1e-12});
      note(result, error_of(left - right) / scale, d, ": " + number(left) + ", " + number(right));
    }
  }

  Vector gauss_newton_product(std::span<const double> v) {
    Vector own;
    const Vector through = passes_.gauss_newton_product(v, [&](std::span<const double> t) {
      AtLosses curved = objective_.curvature(outputs_, theta_, t, v);
      own = std::move(curved.own);
      return std::move(curved.outputs);
    });
    return sum(through, own);
  }

  void check_gauss_newton() {
    CheckResult& result = open("gauss-newton", "v'Gv >= 0, u'Gv = v'Gu", kExact);
    if (const std::string name = objective_.lacks<LossCurvature<double>>(); !name.empty())
      return skip(result, "the loss " + name + " has no curvature");
    const std::vector<Direction> all = directions();
    std::vector<Vector> products;
    double typical = 1e-12;  // along a direction in which G vanishes, only rounding errors remain
    for (const Direction& d : all) {
      products.push_back(gauss_newton_product(d.v));
      typical = std::max(typical, 1e-2 * norm(products.back()));
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::size_t j = (i + 1) % all.size();
      const Direction &v = all[i], &u = all[j];
      const double left = inner(u.v, products[i]), right = inner(v.v, products[j]), square = inner(v.v, products[i]);
      note(result, error_of(left - right) / std::max(norm(u.v) * norm(products[i]), typical), v,
           " and " + u.name + ": not symmetric");
      note(result, error_of(std::min(square, 0.0)) / std::max(norm(v.v) * norm(products[i]), typical), v,
           ": negative curvature");
    }
    if (result.worst <= result.bound) result.where = std::to_string(all.size()) + " directions";
  }

  void check_dense() {
    CheckResult& jacobian = open("jacobian", "columns by tangent pass = by central differences", options_.tolerance);
    CheckResult& product = open("dense", "Gauss-Newton product = J'HJ column by column", 1e-9);
    const auto n = static_cast<Index>(theta_.size());
    if (n > options_.dense_parameters) {
      const std::string why = std::to_string(n) + " parameters are too many for a dense matrix";
      skip(jacobian, why);
      return skip(product, why);
    }
    const std::string flat = objective_.lacks<LossCurvature<double>>();
    if (!flat.empty()) skip(product, "the loss " + flat + " has no curvature");
    std::vector<Vector> columns, products;
    std::vector<AtLosses> curved;
    double scale = 1e-12, scale_g = 1e-12;
    for (Index j = 0; j < n; ++j) {
      Vector e(at(n));
      e[at(j)] = 1;
      columns.push_back(passes_.tangent(e));
      scale = std::max(scale, magnitude(columns.back()));
      if (!product.run) continue;
      curved.push_back(objective_.curvature(outputs_, theta_, columns.back(), e));
      products.push_back(gauss_newton_product(e));
      scale_g = std::max(scale_g, magnitude(products.back()));
    }
    for (Index j = 0; j < n && product.run; ++j)
      for (Index i = 0; i < n; ++i) {
        const AtLosses& h = curved[at(j)];
        const double error =
            error_of(products[at(j)][at(i)] - inner(columns[at(i)], h.outputs) - h.own[at(i)]) / scale_g;
        if (error > product.worst || product.where.empty()) note(product, error, element(i) + " by " + element(j));
      }
    for (Index j = 0; j < n; ++j) compare_column(jacobian, columns[at(j)], j, scale);
    restore();
  }

  void compare_column(CheckResult& result, const Vector& column, Index j, double scale) {
    Vector e(theta_.size());
    e[at(j)] = 1;
    double least = INFINITY;
    std::size_t place = 0;
    for (const double h : kSteps) {
      const Vector slope = difference(e, h).outputs;
      double error = 0;
      std::size_t worst = 0;
      for (std::size_t i = 0; i < column.size(); ++i)
        if (error_of(column[i] - slope[i]) > error) error = error_of(column[i] - slope[i]), worst = i;
      if (error < least) least = error, place = worst;
      if (least <= 0.01 * result.bound * scale) break;
    }
    note(result, least / scale, element(j) + " at " + output_element(place));
  }

  void check_graph() {
    CheckResult& forward = open("forward", "outputs = scalar graph", kExact);
    CheckResult& adjoint = open("adjoint", "backward pass = sums over paths", 1e-9);
    CheckResult& modulus = open("modulus", "squared pass = sums over paths of squares", 1e-9);
    const double edges = ScalarGraph::count_edges(passes_.circuit(), passes_.structure());
    const std::string reason = edges > options_.graph_edges ? number(edges) + " edges are too many for the scalar graph"
                               : has_vector_maps()          ? "the scalar graph does not support vector maps"
                                                            : "";
    if (!reason.empty()) {
      for (CheckResult* result : {&forward, &adjoint, &modulus}) skip(*result, reason);
      return;
    }
    const ScalarGraph graph(passes_.circuit(), passes_.structure(), theta_, passes_.inputs());
    const auto by_parameter = [&](std::size_t i) { return element(static_cast<Index>(i)); };
    const auto by_output = [&](std::size_t i) { return output_element(i); };
    Vector values;
    for (const Index node : output_nodes(graph)) values.push_back(graph.value(node));
    compare_elements(forward, outputs_, values, 1, by_output);

    const Vector u = random_normals(static_cast<Index>(outputs_.size()));
    compare_elements(adjoint, passes_.transposed(u, Algebra::linear), reference(graph, u, false), 1, by_parameter);
    if (const std::string name = without_squares(); !name.empty())
      return skip(modulus, "the parameters of " + name + " are not weights of units");
    Vector positive(u.size());
    for (double& x : positive) x = random_.uniform(0.1, 1);
    std::vector<Vector> seeds = {positive};
    if (objective_.lacks<LossFisher<double>>().empty()) seeds.push_back(objective_.fisher(outputs_));
    for (const Vector& seed : seeds)
      compare_elements(modulus, passes_.transposed(seed, Algebra::squared), reference(graph, seed, true), 1e-9,
                       by_parameter);
  }

  bool has_vector_maps() const {
    for (const Node& node : passes_.circuit().nodes())
      for (const auto& term : node.terms())
        if (!term.dense() && !unit_weights(term.op.get()) && !as_attention(term.op.get()) &&
            !as_concatenation(term.op.get()) && !is_known(term.op.get(), ExportableOperator::Kind::share))
          return true;
    return false;
  }

  /// Returns the first operator without squared rules; empty if all have them.
  std::string without_squares() const {
    for (const Node& node : passes_.circuit().nodes())
      for (const auto& term : node.terms())
        if (!term.dense() && !term.op->has_squared()) return std::string(term.op->name());
    return {};
  }

  std::vector<Index> output_nodes(const ScalarGraph& graph) const {
    std::vector<Index> nodes;
    for (const int output : passes_.circuit().outputs())
      for (Index r = 0; r < passes_.structure().positions(); ++r)
        for (Index c = 0; c < passes_.circuit().nodes()[at(output)].size; ++c)
          nodes.push_back(graph.node(output, r, c));
    return nodes;
  }

  Vector reference(const ScalarGraph& graph, const Vector& seeds, bool squared) const {
    Vector all(at(graph.nodes()));
    const std::vector<Index> nodes = output_nodes(graph);
    for (std::size_t i = 0; i < nodes.size(); ++i) all[at(nodes[i])] += seeds[i];
    all = graph.backward(all, squared);
    all.resize(theta_.size());
    return all;
  }

  void check_path() {
    CheckResult& result = open("path", "path pass = enumeration of all paths", 1e-9);
    if (passes_.structure().kind() != Structure::Kind::chains) return skip(result, "path norms are defined on chains");
    for (const Node& node : passes_.circuit().nodes()) {
      const bool dropped = node.kind() == Node::Kind::pointwise && node.pointwise().map == Map::mul &&
                           passes_.circuit().nodes()[at(node.pointwise().operands[1])].kind() == Node::Kind::mask;
      if (node.kind() == Node::Kind::pointwise && !map_info(node.pointwise().map).homogeneous && !dropped)
        return skip(result, node.name + " is not positively homogeneous");
      for (const auto& term : node.terms())
        if (as_mixed_sparse(term.op.get()) != nullptr)
          return skip(result, node.name + " has weights mixed by a vector");
    }
    if (has_vector_maps()) return skip(result, "vector maps have no paths");
    if (objective_.owns_parameters()) return skip(result, "the loss has parameters that are not on any path");
    for (const Node& node : passes_.circuit().nodes())
      if (node.part > 0) return skip(result, node.name + " runs over a separate chain");
    for (Index length = 1; length <= 4; ++length)
      for (const bool every_step : {true, false})
        if (!compare_paths(result, length, every_step)) return;
  }

  /// Returns false if there are too many paths.
  bool compare_paths(CheckResult& result, Index length, bool every_step) {
    const Structure chain = Structure::chains(1, length);
    if (ScalarGraph::count_edges(passes_.circuit(), chain) > options_.graph_edges) return too_many(result, length);
    const ScalarGraph graph(passes_.circuit(), chain, theta_, {}, ScalarGraph::Reading::paths);
    std::vector<Index> ends;
    for (const int output : passes_.circuit().outputs())
      for (Index r = every_step ? 0 : length - 1; r < length; ++r)
        for (Index c = 0; c < passes_.circuit().nodes()[at(output)].size; ++c) ends.push_back(graph.node(output, r, c));
    if (graph.count_paths(ends) > options_.paths) return too_many(result, length);
    const ScalarGraph::PathSums expected = graph.sum_paths(ends);
    Vector kappa(theta_.size());
    const double total = passes_.path(length, every_step, kappa);
    const std::string where = "length " + std::to_string(length) + (every_step ? ", all steps: " : ", last step: ");
    compare_elements(result, {total}, {expected.total}, 1, [&](std::size_t) { return where + "sum over paths"; });
    compare_elements(result, kappa, expected.kappa, 1e-9,
                     [&](std::size_t i) { return where + element(static_cast<Index>(i)); });
    return true;
  }
  static bool too_many(CheckResult& result, Index length) {
    if (length == 1) skip(result, "too many paths to enumerate");
    return false;
  }

  Passes& passes_;
  const CheckOptions& options_;
  CheckedLosses objective_;
  const Vector theta_;
  Random random_;
  Vector outputs_, gradient_;
  double total_ = 0;
  CheckReport report_;
};

}  // namespace

bool CheckReport::passed() const {
  return std::all_of(results.begin(), results.end(), [](const CheckResult& r) { return r.passed(); });
}

std::string CheckReport::text() const {
  std::string text;
  for (const CheckResult& r : results) {
    char line[160];
    if (r.run)
      std::snprintf(line, sizeof line, "%-8s %-13s %-50s %8.1e of %7.0e  ", r.passed() ? "ok" : "FAILED",
                    r.name.c_str(), r.what.c_str(), r.worst, r.bound);
    else
      std::snprintf(line, sizeof line, "%-8s %-13s %-50s %19s  ", "not run", r.name.c_str(), r.what.c_str(), "");
    text += line + r.where + "\n";
  }
  return text + summary() + "\n";
}

std::string CheckReport::summary() const {
  std::size_t ran = 0;
  std::string failed, skipped;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const CheckResult& r = results[i];
    if (r.run) {
      ++ran;
      if (!r.passed()) failed += (failed.empty() ? "" : ", ") + r.name;
      continue;
    }
    skipped += (skipped.empty() ? "" : ", ") + r.name;
    const bool same_reason = i + 1 < results.size() && !results[i + 1].run && results[i + 1].where == r.where;
    if (!same_reason) skipped += " (" + r.where + ")";
  }
  return std::to_string(ran) + " of " + std::to_string(results.size()) + " checks ran, " +
         (failed.empty() ? "all passed" : "FAILED: " + failed) + (skipped.empty() ? "" : "; not run: " + skipped);
}

CheckReport check_derivatives(Passes& passes, const OutputLosses& losses, const CheckOptions& options) {
  return Checker(passes, losses, options).run();
}

CheckReport check_derivatives(Passes& passes, const Loss<double>& loss, const CheckOptions& options) {
  return check_derivatives(passes, OutputLosses(passes.circuit().outputs().size(), &loss), options);
}

CheckReport check_derivatives(const Circuit& circuit, const Loss<double>& loss, const Structure& structure,
                              const CheckOptions& options) {
  Passes passes(circuit, structure, options.seed);
  return check_derivatives(passes, loss, options);
}

CheckReport check_derivatives(const Network<double>& network, const Structure& structure, const CheckOptions& options) {
  const Circuit& circuit = network.circuit();
  OutputLosses losses;
  for (const int output : circuit.outputs()) {
    const auto head = std::find_if(network.heads.begin(), network.heads.end(),
                                   [&](const Head<double>& h) { return h.signal.id == output; });
    if (head == network.heads.end())
      throw UsageError("derivative check: the output " + circuit.nodes()[at(output)].name +
                       " does not belong to a head");
    losses.push_back(head->loss.get());
  }
  Passes passes(circuit, structure, options.seed);
  return check_derivatives(passes, losses, options);
}

}  // namespace unfold
