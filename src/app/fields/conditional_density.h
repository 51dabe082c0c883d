#pragma once
/// Internal: density models with the names of their columns, and conditional distributions of some numbers given the
/// others.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/fields/density_data.h"
#include "app/fields/field_model.h"
#include "base/options/suggestions.h"
#include "loss/density/vector_density.h"
#include "model/network/density_model.h"
#include "model/network/order_agnostic.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"
#include "unfold/graph/engine/stepper.h"
#include "unfold/loss/registry.h"

namespace unfold {

/// A partially known vector, in the scale of the model.
template <class T>
struct PartialVector {
  std::vector<char> known;
  std::vector<T> values;
};

/// The distribution of a density model over standardized vectors.
template <class T>
class VectorDistribution {
 public:
  virtual ~VectorDistribution() = default;
  virtual bool any_order() const = 0;
  /// Returns the conditional mean of number d. The result is exact. REQUIRES any_order(), or that exactly the numbers
  /// before d are known.
  virtual double mean(const PartialVector<T>& part, std::size_t d) = 0;
  /// Like the function above, for a bit or a class: returns the probability of each value.
  virtual std::vector<double> probabilities(const PartialVector<T>& part, std::size_t d) = 0;
  /// Draws the unknown numbers and returns the log weight of the draw (VectorDensity::sample).
  virtual double sample(PartialVector<T>& part, Random& random) = 0;
  /// Returns -log p of a complete vector. REQUIRES !any_order().
  virtual double nats(const std::vector<T>& values) = 0;
};

/// A distribution defined by the loss, for a model without inputs.
template <class T>
class LossDistribution final : public VectorDistribution<T> {
 public:
  LossDistribution(const NetworkModel<T>& model, const Head<T>& head)
      : density_(head.loss->template need<VectorDensity<T>>("this")), parameters_(model.parameters().flat()) {
    Stepper<T> stepper(model.plan(), model.parameters(), team_);
    stepper.input(model.network().inputs.front().signal)(0, 0) = T{1};
    stepper.step();
    const Matrix<const T> signal = stepper.value(head.signal);
    signal_.assign(signal.row(0), signal.row(0) + signal.cols);
  }
  bool any_order() const override { return density_.any_order(); }
  double mean(const PartialVector<T>& part, std::size_t d) override {
    return density_.mean({signal_, parameters_}, part.known, part.values, static_cast<Index>(d));
  }
  std::vector<double> probabilities(const PartialVector<T>& part, std::size_t d) override {
    return density_.probabilities({signal_, parameters_}, part.known, part.values, static_cast<Index>(d));
  }
  double sample(PartialVector<T>& part, Random& random) override {
    return density_.sample({signal_, parameters_}, random, part.known, std::span<T>(part.values));
  }
  double nats(const std::vector<T>& values) override {
    const auto n = static_cast<Index>(values.size()), s = static_cast<Index>(signal_.size());
    T result = 0;
    density_.negative_log_likelihood({.structure = one_,
                                      .signal = {signal_.data(), 1, s, s},
                                      .targets = {nullptr, {values.data(), 1, n, n}, nullptr},
                                      .parameters = parameters_},
                                     team_, &result);
    return static_cast<double>(result);
  }

 private:
  const VectorDensity<T>& density_;
  std::span<const T> parameters_;
  std::vector<T> signal_;
  Structure one_ = Structure::chains(1, 1);
  Team team_{1};
};

/// A distribution defined by a network that predicts the unknown numbers from the known ones
/// (model/network/order_agnostic.h).
template <class T>
class NetworkDistribution final : public VectorDistribution<T> {
 public:
  NetworkDistribution(const NetworkModel<T>& model, const Head<T>& head)
      : head_(head),
        each_(head.loss->template need<MarginalDistributions<T>>("this")),
        shape_(each_.shape_of(head.signal.size())),
        input_(model.network().inputs.front().signal),
        stepper_(model.plan(), model.parameters(), team_) {}
  bool any_order() const override { return true; }
  double mean(const PartialVector<T>& part, std::size_t d) override {
    return each_.mean_of(outputs(part, d), static_cast<Index>(d));
  }
  std::vector<double> probabilities(const PartialVector<T>& part, std::size_t d) override {
    return each_.probabilities_of(outputs(part, d), static_cast<Index>(d));
  }
  /// Uses a new random order for each draw.
  double sample(PartialVector<T>& part, Random& random) override {
    std::vector<std::size_t> left;
    for (std::size_t d = 0; d < part.known.size(); ++d)
      if (part.known[d] == 0) left.push_back(d);
    const std::vector<char> known = part.known;
    for (std::size_t i = 0; i < left.size(); ++i) {
      std::swap(left[i], left[i + random.below(left.size() - i)]);
      part.values[left[i]] = each_.draw(outputs(part, left[i]), static_cast<Index>(left[i]), random);
      part.known[left[i]] = 1;
    }
    part.known = known;
    return 0;
  }
  double nats(const std::vector<T>&) override {
    throw UsageError("an order-agnostic model does not define a single probability");
  }

 private:
  /// Runs the network and returns its outputs for number d.
  const T* outputs(const PartialVector<T>& part, std::size_t d) {
    T* known = stepper_.input(input_).row(0);
    std::fill_n(known, shape_.all_inputs() + shape_.numbers(), T{0});
    for (Index i = 0; i < shape_.numbers(); ++i) {
      if (part.known[at(i)] == 0) continue;
      const auto [place, value] = shape_.input(i, part.values[at(i)]);
      known[place] = value;
      known[shape_.all_inputs() + i] = 1;
    }
    stepper_.step();
    return stepper_.value(head_.signal).row(0) + shape_.first_output(static_cast<Index>(d));
  }

  const Head<T>& head_;
  const MarginalDistributions<T>& each_;
  VectorShape shape_;
  Signal input_;
  Team team_{1};
  Stepper<T> stepper_;
};

/// A density model with column names, units and class names.
template <class T>
class VectorModel {
 public:
  explicit VectorModel(const NetworkModel<T>& model)
      : names_(vector_parts(model)),
        field_(model.data().field(kVector)),
        columns_(density_columns(model.spec(), field_.size)),
        classes_(names_.size()) {
    name_classes(vector_classes(model));
    const Head<T>& head = model.network().only_head("a distribution of vectors");
    if (is_orderless(model.spec()))
      law_ = std::make_unique<NetworkDistribution<T>>(model, head);
    else
      law_ = std::make_unique<LossDistribution<T>>(model, head);
  }

  const std::vector<std::string>& names() const { return names_; }
  const FieldSpecification& field() const { return field_; }
  VectorDistribution<T>& law() const { return *law_; }
  /// Returns the number of values of number d, or 0 if it is neither a bit nor a class.
  Index values_of(std::size_t d) const {
    if (columns_[d].kind == Column::Kind::bit) return 2;
    return columns_[d].classes;
  }
  bool is_bit(std::size_t d) const { return columns_[d].kind == Column::Kind::bit; }
  bool is_class(std::size_t d) const { return columns_[d].kind == Column::Kind::classes; }
  /// Returns the class names of number d.
  const std::vector<std::string>& classes(std::size_t d) const { return classes_[d]; }
  /// Returns the index of a class. Throws UsageError for an unknown name.
  std::size_t class_place(std::size_t d, const std::string& name) const {
    const auto found = std::ranges::find(classes_[d], name);
    if (found == classes_[d].end())
      throw UsageError(fmt::format("{} has no class {}; its classes are {}{}", names_[d], name,
                                   fmt::join(classes_[d], ", "), did_you_mean(name, classes_[d])));
    return static_cast<std::size_t>(found - classes_[d].begin());
  }
  double in_data_units(std::size_t place, double z) const { return restored(field_, static_cast<Index>(place), z); }
  double unit(std::size_t place) const { return field_.deviation.empty() ? 1 : field_.deviation[place]; }
  T standardized(std::size_t place, double x) const {
    return static_cast<T>(field_.mean.empty() ? x : (x - field_.mean[place]) / field_.deviation[place]);
  }

 private:
  void name_classes(const ColumnClasses& known) {
    for (std::size_t d = 0; d < names_.size(); ++d) {
      if (!is_class(d)) continue;
      const auto found = known.find(names_[d]);
      if (found == known.end() || static_cast<Index>(found->second.size()) != columns_[d].classes)
        throw ModelError(fmt::format("the model card: configuration: \"{}\" does not list the {} classes of {}",
                                     kClassesKey, columns_[d].classes, names_[d]));
      classes_[d] = found->second;
    }
  }

  std::vector<std::string> names_;
  const FieldSpecification& field_;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> classes_;
  std::unique_ptr<VectorDistribution<T>> law_;
};

/// Conditional distribution of the unknown numbers of a vector. Exact if the model provides it directly, or by
/// enumeration if the unknown numbers are bits and classes with at most kMostEnumerated joint values. Otherwise
/// estimated from `draws` weighted samples.
template <class T>
class ConditionalDistribution {
 public:
  ConditionalDistribution(const VectorModel<T>& model, PartialVector<T> part, Index draws, std::uint64_t seed)
      : model_(model), part_(std::move(part)), draws_(draws), seed_(seed) {}

  struct Mean {
    double value = 0, error = 0;  ///< standardized; error: standard error, 0 if the mean is exact
  };
  /// Returns the mean of a number that is not a class.
  Mean mean(std::size_t d) {
    if (answers(d)) return {model_.law().mean(part_, d), 0};
    return over_draws([d](const std::vector<T>& values) { return static_cast<double>(values[d]); });
  }
  /// Returns the probability of each value of a class.
  std::vector<Mean> shares(std::size_t d) {
    std::vector<Mean> result;
    if (answers(d)) {
      for (const double p : model_.law().probabilities(part_, d)) result.push_back({p, 0});
      return result;
    }
    for (Index k = 0; k < model_.values_of(d); ++k)
      result.push_back(
          over_draws([&](const std::vector<T>& values) { return values[d] == static_cast<T>(k) ? 1. : 0.; }));
    return result;
  }
  /// Returns the most probable class.
  std::size_t best_class(std::size_t d) {
    const std::vector<Mean> all = shares(d);
    return static_cast<std::size_t>(std::ranges::max_element(all, {}, &Mean::value) - all.begin());
  }
  /// Draws the complete vector.
  std::vector<T> sample(Random& random) {
    if (model_.law().any_order() || is_prefix(part_.known)) {
      PartialVector<T> part = part_;
      model_.law().sample(part, random);
      return part.values;
    }
    gather();
    double left = random.uniform();
    for (const Draw& draw : drawn_)
      if ((left -= draw.weight) < 0) return draw.values;
    return drawn_.back().values;
  }

 private:
  static constexpr Index kMostEnumerated = 1024;
  struct Draw {
    std::vector<T> values;
    double weight;  ///< the logarithm while collecting, finally normalized to sum to 1
  };

  /// Returns whether the model provides the distribution of number d directly.
  bool answers(std::size_t d) const {
    return model_.law().any_order() || (is_prefix(part_.known) && at(known_at_front(part_.known)) == d);
  }
  template <class Value>
  Mean over_draws(const Value& value) {
    gather();
    Mean m;
    for (const Draw& draw : drawn_) m.value += draw.weight * value(draw.values);
    for (const Draw& draw : drawn_) {
      const double off = draw.weight * (value(draw.values) - m.value);
      m.error += off * off;
    }
    m.error = exact_ ? 0 : std::sqrt(m.error);
    return m;
  }

  void gather() {
    if (!drawn_.empty()) return;
    std::vector<std::size_t> unknown;
    Index all = 1;  // joint values; 0: infinitely many
    for (std::size_t d = 0; d < part_.known.size(); ++d) {
      if (part_.known[d] != 0) continue;
      unknown.push_back(d);
      all = all > kMostEnumerated ? all : all * model_.values_of(d);
    }
    exact_ = all > 0 && all <= kMostEnumerated;
    exact_ ? enumerate(unknown) : draw();
    double most = drawn_.front().weight;
    for (const Draw& d : drawn_) most = std::max(most, d.weight);
    double sum = 0;
    for (Draw& d : drawn_) {
      d.weight -= most;
      vector_exp(&d.weight, &d.weight, 1);
      sum += d.weight;
    }
    for (Draw& d : drawn_) d.weight /= sum;
  }
  void enumerate(const std::vector<std::size_t>& unknown) {
    Index all = 1;
    for (const std::size_t d : unknown) all *= model_.values_of(d);
    drawn_.reserve(at(all));
    for (Index code = 0; code < all; ++code) {
      Draw draw{part_.values, 0};
      Index left = code;
      for (const std::size_t d : unknown) {
        draw.values[d] = static_cast<T>(left % model_.values_of(d));
        left /= model_.values_of(d);
      }
      draw.weight = -model_.law().nats(draw.values);
      drawn_.push_back(std::move(draw));
    }
  }
  void draw() {
    Random random(seed_, "vectors");
    PartialVector<T> part = part_;
    for (Index i = 0; i < draws_; ++i) {
      const double log_weight = model_.law().sample(part, random);
      drawn_.push_back({part.values, log_weight});
    }
  }

  const VectorModel<T>& model_;
  PartialVector<T> part_;
  Index draws_;
  std::uint64_t seed_;
  bool exact_ = false;
  std::vector<Draw> drawn_;
};

}  // namespace unfold
