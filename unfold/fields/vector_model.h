#pragma once
/// Internal: a model that is a distribution of vectors by itself, with what its numbers are called, and what it says of
/// numbers when others are given.

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "unfold/engine/stepper.h"
#include "unfold/fields/density_data.h"
#include "unfold/fields/field_model.h"
#include "unfold/losses/registry.h"
#include "unfold/losses/vector_density.h"
#include "unfold/models/density_model.h"
#include "unfold/models/orderless.h"
#include "unfold/numerics/functions.h"

namespace unfold {

/// A vector of which some numbers are known, as the model sees them.
template <class T>
struct PartOfVector {
  std::vector<char> known;
  std::vector<T> values;
};

/// What a model says of vectors, standardised.
template <class T>
class VectorLaw {
 public:
  virtual ~VectorLaw() = default;
  virtual bool any_order() const = 0;
  /// Of number d, where it is exact: any_order(), or the known ones are those before d.
  virtual double mean(const PartOfVector<T>& part, std::size_t d) = 0;
  /// Draws what is not known; the logarithm of the draw's weight (VectorDensity::sample).
  virtual double sample(PartOfVector<T>& part, Random& random) = 0;
  /// -log p of a whole vector. REQUIRES !any_order().
  virtual double nats(const std::vector<T>& values) = 0;
};

/// The loss says it, of the signal of a model that reads nothing.
template <class T>
class LawOfLoss final : public VectorLaw<T> {
 public:
  LawOfLoss(const NetworkModel<T>& model, const Head<T>& head)
      : density_(head.loss->template need<VectorDensity<T>>("this")), parameters_(model.parameters().flat()) {
    Stepper<T> stepper(model.plan(), model.parameters(), team_);
    stepper.input(model.network().inputs.front().signal)(0, 0) = T{1};
    stepper.step();
    const Matrix<const T> signal = stepper.value(head.signal);
    signal_.assign(signal.row(0), signal.row(0) + signal.cols);
  }
  bool any_order() const override { return density_.any_order(); }
  double mean(const PartOfVector<T>& part, std::size_t d) override {
    return density_.mean({signal_, parameters_}, part.known, part.values, static_cast<Index>(d));
  }
  double sample(PartOfVector<T>& part, Random& random) override {
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

/// The network says it, which knows some numbers and predicts the others (models/orderless.h).
template <class T>
class LawOfNetwork final : public VectorLaw<T> {
 public:
  LawOfNetwork(const NetworkModel<T>& model, const Head<T>& head)
      : head_(head),
        each_(head.loss->template need<EachNumber<T>>("this")),
        input_(model.network().inputs.front().signal),
        stepper_(model.plan(), model.parameters(), team_) {}
  bool any_order() const override { return true; }
  double mean(const PartOfVector<T>& part, std::size_t d) override {
    return each_.mean_of(signal(part), static_cast<Index>(d));
  }
  /// In an order of its own for every draw.
  double sample(PartOfVector<T>& part, Random& random) override {
    std::vector<std::size_t> left;
    for (std::size_t d = 0; d < part.known.size(); ++d)
      if (part.known[d] == 0) left.push_back(d);
    const std::vector<char> known = part.known;
    for (std::size_t i = 0; i < left.size(); ++i) {
      std::swap(left[i], left[i + random.below(left.size() - i)]);
      part.values[left[i]] = each_.draw(signal(part), static_cast<Index>(left[i]), random);
      part.known[left[i]] = 1;
    }
    part.known = known;
    return 0;
  }
  double nats(const std::vector<T>&) override { throw UsageError("a model of all orders has no one probability"); }

 private:
  std::span<const T> signal(const PartOfVector<T>& part) {
    T* known = stepper_.input(input_).row(0);
    for (std::size_t i = 0; i < part.known.size(); ++i) {
      known[i] = part.known[i] != 0 ? part.values[i] : T{0};
      known[part.known.size() + i] = part.known[i] != 0 ? T{1} : T{0};
    }
    stepper_.step();
    const Matrix<const T> said = stepper_.value(head_.signal);
    return {said.row(0), at(said.cols)};
  }

  const Head<T>& head_;
  const EachNumber<T>& each_;
  Signal input_;
  Team team_{1};
  Stepper<T> stepper_;
};

/// A model that is a distribution of vectors.
template <class T>
class VectorModel {
 public:
  explicit VectorModel(const NetworkModel<T>& model)
      : names_(vector_parts(model)),
        field_(model.data().field(kVector)),
        of_bits_(observes_bits(losses().get(spec_name(model.spec().density)).density)) {
    const Head<T>& head = model.network().only_head("a distribution of vectors");
    if (is_orderless(model.spec()))
      law_ = std::make_unique<LawOfNetwork<T>>(model, head);
    else
      law_ = std::make_unique<LawOfLoss<T>>(model, head);
  }

  const std::vector<std::string>& names() const { return names_; }
  const FieldSpecification& field() const { return field_; }
  VectorLaw<T>& law() const { return *law_; }
  bool of_bits() const { return of_bits_; }  ///< 0 and 1, or other numbers, which the model sees standardised
  double in_units(std::size_t place, double z) const { return restored(field_, static_cast<Index>(place), z); }
  double unit(std::size_t place) const { return field_.deviation.empty() ? 1 : field_.deviation[place]; }
  T standardised(std::size_t place, double x) const {
    return static_cast<T>(field_.mean.empty() ? x : (x - field_.mean[place]) / field_.deviation[place]);
  }

 private:
  std::vector<std::string> names_;
  const FieldSpecification& field_;
  bool of_bits_;
  std::unique_ptr<VectorLaw<T>> law_;
};

/// What is said of the numbers of a vector that are not given. Exact where the model answers it by itself; of up to
/// kMostEnumerated unknown bits by summing over all they can be; else by `draws` draws, weighted.
template <class T>
class GivenOthers {
 public:
  GivenOthers(const VectorModel<T>& model, PartOfVector<T> part, Index draws, std::uint64_t seed)
      : model_(model), part_(std::move(part)), draws_(draws), seed_(seed) {}

  struct Mean {
    double value = 0, error = 0;  ///< standardised; error: standard, 0 where the mean is exact
  };
  Mean mean(std::size_t d) {
    if (model_.law().any_order() || (is_prefix(part_.known) && at(known_at_front(part_.known)) == d))
      return {model_.law().mean(part_, d), 0};
    gather();
    Mean m;
    for (const Draw& draw : drawn_) m.value += draw.weight * static_cast<double>(draw.values[d]);
    for (const Draw& draw : drawn_) {
      const double off = draw.weight * (static_cast<double>(draw.values[d]) - m.value);
      m.error += off * off;
    }
    m.error = exact_ ? 0 : std::sqrt(m.error);
    return m;
  }
  /// The whole vector.
  std::vector<T> sample(Random& random) {
    if (model_.law().any_order() || is_prefix(part_.known)) {
      PartOfVector<T> part = part_;
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
  static constexpr std::size_t kMostEnumerated = 10;
  struct Draw {
    std::vector<T> values;
    double weight;  ///< first its logarithm; in the end all sum to one
  };

  void gather() {
    if (!drawn_.empty()) return;
    std::vector<std::size_t> unknown;
    for (std::size_t d = 0; d < part_.known.size(); ++d)
      if (part_.known[d] == 0) unknown.push_back(d);
    exact_ = model_.of_bits() && unknown.size() <= kMostEnumerated;
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
    for (std::size_t code = 0; code < (std::size_t{1} << unknown.size()); ++code) {
      Draw draw{part_.values, 0};
      for (std::size_t i = 0; i < unknown.size(); ++i) draw.values[unknown[i]] = static_cast<T>((code >> i) & 1U);
      draw.weight = -model_.law().nats(draw.values);
      drawn_.push_back(std::move(draw));
    }
  }
  void draw() {
    Random random(seed_, "vectors");
    PartOfVector<T> part = part_;
    for (Index i = 0; i < draws_; ++i) {
      const double log_weight = model_.law().sample(part, random);
      drawn_.push_back({part.values, log_weight});
    }
  }

  const VectorModel<T>& model_;
  PartOfVector<T> part_;
  Index draws_;
  std::uint64_t seed_;
  bool exact_ = false;
  std::vector<Draw> drawn_;
};

}  // namespace unfold
