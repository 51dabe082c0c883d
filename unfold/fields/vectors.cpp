#include "unfold/fields/vectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "unfold/base/text_distance.h"
#include "unfold/engine/stepper.h"
#include "unfold/fields/density_data.h"
#include "unfold/fields/field_model.h"
#include "unfold/losses/vector_density.h"
#include "unfold/models/density_model.h"
#include "unfold/models/orderless.h"
#include "unfold/numerics/functions.h"

namespace unfold {
namespace {

/// The place of a number by its name, or as "x3".
std::size_t place_of(const std::vector<std::string>& names, const std::string& name) {
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  Index place = 0;
  const char *begin = name.data() + 1, *end = name.data() + name.size();
  if (name.starts_with('x') && std::from_chars(begin, end, place).ptr == end && place >= 1 &&
      place <= static_cast<Index>(names.size()))
    return at(place - 1);
  throw UsageError(fmt::format("there is no number {}: the model has {} of them, x1 to x{}{}", name, names.size(),
                               names.size(), did_you_mean(name, names)));
}

/// A vector of which some numbers are known, as the model sees them.
template <class T>
struct PartOfVector {
  std::vector<char> known;
  std::vector<T> values;
};

template <class T>
PartOfVector<T> parse_part(const std::vector<std::string>& given, const std::vector<std::string>& names,
                           const FieldSpecification& field, bool bits) {
  PartOfVector<T> part{std::vector<char>(names.size()), std::vector<T>(names.size())};
  for (const std::string& text : given) {
    const std::size_t equals = text.rfind('=');
    double x = 0;
    const char* end = text.data() + text.size();
    if (equals == std::string::npos || equals == 0 || std::from_chars(text.data() + equals + 1, end, x).ptr != end ||
        equals + 1 == text.size())
      throw UsageError(fmt::format("--given {}: write NAME=NUMBER", text));
    if (bits && x != 0 && x != 1) throw UsageError(fmt::format("--given {}: the model is of bits, 0 or 1", text));
    const std::size_t place = place_of(names, text.substr(0, equals));
    if (part.known[place] != 0) throw UsageError(fmt::format("--given says {} twice", names[place]));
    part.known[place] = 1;
    if (!field.mean.empty()) x = (x - field.mean[place]) / field.deviation[place];
    part.values[place] = static_cast<T>(x);
  }
  return part;
}

/// What a model says of vectors, standardised.
template <class T>
class VectorLaw {
 public:
  virtual ~VectorLaw() = default;
  virtual std::string_view name() const = 0;
  virtual bool any_order() const = 0;
  /// Of number d.
  virtual double mean(const PartOfVector<T>& part, std::size_t d) = 0;
  /// Draws what is not known.
  virtual void sample(PartOfVector<T>& part, Random& random) = 0;
};

/// The loss says it, of the signal of a model that reads nothing.
template <class T>
class LawOfLoss final : public VectorLaw<T> {
 public:
  LawOfLoss(const NetworkModel<T>& model, const Head<T>& head)
      : density_(head.loss->template need<VectorDensity<T>>("this")), parameters_(model.parameters().flat()) {
    Team team(1);
    Stepper<T> stepper(model.plan(), model.parameters(), team);
    stepper.input(model.network().inputs.front().signal)(0, 0) = T{1};
    stepper.step();
    const Matrix<const T> signal = stepper.value(head.signal);
    signal_.assign(signal.row(0), signal.row(0) + signal.cols);
  }
  std::string_view name() const override { return density_.name(); }
  bool any_order() const override { return density_.any_order(); }
  double mean(const PartOfVector<T>& part, std::size_t d) override {
    return density_.mean({signal_, parameters_}, part.known, part.values, static_cast<Index>(d));
  }
  void sample(PartOfVector<T>& part, Random& random) override {
    density_.sample({signal_, parameters_}, random, part.known, std::span<T>(part.values));
  }

 private:
  const VectorDensity<T>& density_;
  std::span<const T> parameters_;
  std::vector<T> signal_;
};

/// The network says it, which knows some bits and predicts the others (models/orderless.h).
template <class T>
class LawOfNetwork final : public VectorLaw<T> {
 public:
  LawOfNetwork(const NetworkModel<T>& model, const Head<T>& head)
      : head_(head), input_(model.network().inputs.front().signal), stepper_(model.plan(), model.parameters(), team_) {}
  std::string_view name() const override { return head_.loss->name(); }
  bool any_order() const override { return true; }
  double mean(const PartOfVector<T>& part, std::size_t d) override {
    T* known = stepper_.input(input_).row(0);
    for (std::size_t i = 0; i < part.known.size(); ++i) {
      known[i] = part.known[i] != 0 ? part.values[i] : T{0};
      known[part.known.size() + i] = part.known[i] != 0 ? T{1} : T{0};
    }
    stepper_.step();
    auto p = static_cast<double>(stepper_.value(head_.signal)(0, static_cast<Index>(d)));
    vector_sigmoid(&p, &p, 1);
    return p;
  }
  /// In an order of its own for every draw.
  void sample(PartOfVector<T>& part, Random& random) override {
    std::vector<std::size_t> left;
    for (std::size_t d = 0; d < part.known.size(); ++d)
      if (part.known[d] == 0) left.push_back(d);
    const std::vector<char> known = part.known;
    for (std::size_t i = 0; i < left.size(); ++i) {
      std::swap(left[i], left[i + random.below(left.size() - i)]);
      const double p = mean(part, left[i]);
      part.values[left[i]] = random.uniform() < p ? T{1} : T{0};
      part.known[left[i]] = 1;
    }
    part.known = known;
  }

 private:
  const Head<T>& head_;
  Signal input_;
  Team team_{1};
  Stepper<T> stepper_;
};

/// A model that is a distribution of vectors, with what its numbers are called.
template <class T>
class VectorModel {
 public:
  explicit VectorModel(const NetworkModel<T>& model)
      : names_(vector_parts(model)), field_(model.data().field(kVector)) {
    const Head<T>& head = model.network().only_head("a distribution of vectors");
    if (is_orderless(model.spec()))
      law_ = std::make_unique<LawOfNetwork<T>>(model, head);
    else
      law_ = std::make_unique<LawOfLoss<T>>(model, head);
  }

  const std::vector<std::string>& names() const { return names_; }
  PartOfVector<T> parse(const std::vector<std::string>& given) const {
    return parse_part<T>(given, names_, field_, field_.mean.empty());
  }
  VectorLaw<T>& law() const { return *law_; }
  double in_units(std::size_t place, double z) const { return restored(field_, static_cast<Index>(place), z); }
  double unit(std::size_t place) const { return field_.deviation.empty() ? 1 : field_.deviation[place]; }

 private:
  std::vector<std::string> names_;
  const FieldSpecification& field_;
  std::unique_ptr<VectorLaw<T>> law_;
};

template <class Use>
auto with_vector_model(const std::string& name, const Use& use) {
  return with_network_model(name, [&]<class T>(const NetworkModel<T>& model) {
    if (!is_density(model.spec()))
      throw UsageError(fmt::format("{}: {} is no distribution of vectors by itself", name, model.spec_text()));
    return use(VectorModel<T>(model));
  });
}

/// Means of numbers that only draws tell.
template <class T>
void draw_means(const VectorModel<T>& model, const VectorRequest& request, PartOfVector<T> part,
                const std::vector<std::size_t>& places, std::vector<CompletedNumber>& out) {
  std::vector<double> sums(places.size()), squares(places.size());
  Random random(request.seed, "vectors");
  for (Index draw = 0; draw < request.count; ++draw) {
    model.law().sample(part, random);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto z = static_cast<double>(part.values[places[i]]);
      sums[i] += z;
      squares[i] += z * z;
    }
  }
  const auto n = static_cast<double>(request.count);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const double mean = sums[i] / n, variance = std::max(0.0, squares[i] / n - mean * mean);
    out.push_back(
        {model.names()[places[i]], model.in_units(places[i], mean), model.unit(places[i]) * std::sqrt(variance / n)});
  }
}

}  // namespace

bool holds_density(const std::string& model) {
  const std::unique_ptr<Model> loaded = load_model_file(model_file(model));
  const auto* network = loaded->as<NetworkHolder>();
  return network != nullptr && is_density(network->spec());
}

VectorTable sample_vectors(const VectorRequest& request) {
  return with_vector_model(request.model, [&]<class T>(const VectorModel<T>& model) {
    const PartOfVector<T> given = model.parse(request.given);
    VectorTable table{.names = model.names(), .rows = {}};
    table.rows.reserve(at(request.count));
    for (Index i = 0; i < request.count; ++i) {
      Random random(request.seed, fmt::format("vectors/{}", i));
      PartOfVector<T> part = given;
      model.law().sample(part, random);
      std::vector<double>& row = table.rows.emplace_back();
      for (std::size_t d = 0; d < part.values.size(); ++d)
        row.push_back(model.in_units(d, static_cast<double>(part.values[d])));
    }
    return table;
  });
}

std::vector<CompletedNumber> complete_vector(const VectorRequest& request) {
  return with_vector_model(request.model, [&]<class T>(const VectorModel<T>& model) {
    const PartOfVector<T> part = model.parse(request.given);
    VectorLaw<T>& law = model.law();
    const bool any = law.any_order();
    const std::size_t next = any ? 0 : at(known_prefix(law.name(), part.known));
    std::vector<std::size_t> places;
    for (const std::string& name : request.wanted) {
      places.push_back(place_of(model.names(), name));
      if (part.known[places.back()] != 0) throw UsageError(fmt::format("{} is given, and wanted too", name));
    }
    for (std::size_t d = 0; d < part.known.size() && request.wanted.empty(); ++d)
      if (part.known[d] == 0) places.push_back(d);
    std::vector<CompletedNumber> result;
    std::vector<std::size_t> drawn;
    for (const std::size_t d : places) {
      if (!any && d != next) {
        drawn.push_back(d);
        continue;
      }
      result.push_back({model.names()[d], model.in_units(d, law.mean(part, d)), 0});
    }
    if (!drawn.empty()) draw_means(model, request, part, drawn, result);
    return result;
  });
}

}  // namespace unfold
