#pragma once
/// Internal: the losses of a circuit's outputs in the form that the derivative checks use, as functions of plain
/// vectors with separate random targets for each output.

#include <algorithm>
#include <string>
#include <vector>

#include "unfold/gradcheck/derivative_check.h"
#include "unfold/numerics/random.h"

namespace unfold {

/// A vector over all outputs, and a vector over all parameters in which only the parameters owned by losses are set.
struct AtLosses {
  std::vector<double> outputs, own;
};

/// The total loss in nats over all outputs, each with its loss and random targets.
class CheckedLosses {
 public:
  using Vector = std::vector<double>;

  CheckedLosses(const Passes& passes, const OutputLosses& losses, std::uint64_t seed)
      : structure_(passes.structure()), parameters_(passes.parameters().size()) {
    const Index rows = structure_.positions();
    const auto& outputs = passes.circuit().outputs();
    if (losses.size() != outputs.size()) throw UsageError("derivative check: every output needs a loss");
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Node& node = passes.circuit().nodes()[at(outputs[i])];
      Random random(seed, "check/targets/" + node.name);
      Part part{.loss = losses[i], .size = node.size, .target_size = losses[i]->target_size(node.size)};
      for (Index r = 0; r < rows; ++r) {
        const bool predicted = random.below(6) != 0 || rows == 1;
        part.predicted.push_back(predicted);
        part.symbols.push_back(predicted ? static_cast<Symbol>(random.below(at(part.target_size))) : kNoSymbol);
        for (Index c = 0; c < part.target_size; ++c) part.values.push_back(static_cast<double>(random.below(2)));
      }
      parts_.push_back(std::move(part));
    }
  }

  /// Returns the name of a loss without the capability; empty if all losses have it.
  template <class Capability>
  std::string lacks() const {
    for (const Part& part : parts_)
      if (part.loss->as<Capability>() == nullptr) return std::string(part.loss->name());
    return {};
  }
  bool owns_parameters() const {
    return std::any_of(parts_.begin(), parts_.end(),
                       [](const Part& p) { return !p.loss->parameter_indices().empty(); });
  }

  double total(const Vector& outputs, std::span<const double> parameters) {
    double sum = 0;
    each(outputs, [&](const Part& part, Matrix<const double> signal, Matrix<double>, std::size_t, Vector&) {
      Vector nats(part.symbols.size());
      part.loss->negative_log_likelihood(observed(part, signal, parameters), team_, nats.data());
      for (const double v : nats) sum += v;
    });
    return sum;
  }

  AtLosses gradient(const Vector& outputs, std::span<const double> parameters) {
    return each(outputs,
                [&](const Part& part, Matrix<const double> signal, Matrix<double> out, std::size_t, Vector& own) {
                  Vector nats(part.symbols.size());
                  part.loss->gradient(observed(part, signal, parameters), 1, team_, nats.data(), out, own);
                });
  }

  AtLosses curvature(const Vector& outputs, std::span<const double> parameters, std::span<const double> tangents,
                     std::span<const double> direction) {
    return each(outputs, [&](const Part& part, Matrix<const double> signal, Matrix<double> out, std::size_t offset,
                             Vector& own) {
      part.loss->need<LossCurvature<double>>("derivative check")
          .curvature(observed(part, signal, parameters), 1, team_, matrix(tangents.data() + offset, part), direction,
                     out, own);
    });
  }

  Vector fisher(const Vector& outputs) {
    return each(outputs,
                [&](const Part& part, Matrix<const double> signal, Matrix<double> out, std::size_t, Vector&) {
                  part.loss->need<LossFisher<double>>("derivative check").fisher_diagonal(signal, targets(part), out);
                })
        .outputs;
  }

 private:
  struct Part {
    const Loss<double>* loss;
    Index size, target_size;  ///< sizes of the signal and of the predicted field
    std::vector<Symbol> symbols = {};
    Vector values = {};
    std::vector<char> predicted = {};
  };

  static Matrix<const double> matrix(const double* data, const Part& part) {
    return {data, static_cast<Index>(part.symbols.size()), part.size, part.size};
  }
  static Targets<double> targets(const Part& part) {
    const auto rows = static_cast<Index>(part.symbols.size());
    return {part.symbols.data(), {part.values.data(), rows, part.target_size, part.target_size}, part.predicted.data()};
  }
  Observed<double> observed(const Part& part, Matrix<const double> signal, std::span<const double> parameters) const {
    return {.structure = structure_, .signal = signal, .targets = targets(part), .parameters = parameters};
  }
  template <class F>
  AtLosses each(const Vector& outputs, F&& fill) {
    AtLosses result{Vector(outputs.size()), Vector(parameters_)};
    std::size_t offset = 0;
    for (const Part& part : parts_) {
      const Matrix<const double> signal = matrix(outputs.data() + offset, part);
      fill(part, signal, {result.outputs.data() + offset, signal.rows, signal.cols, signal.cols}, offset, result.own);
      offset += at(signal.rows * signal.cols);
    }
    return result;
  }

  const Structure& structure_;
  std::size_t parameters_;
  Team team_{1};
  std::vector<Part> parts_;
};

}  // namespace unfold
