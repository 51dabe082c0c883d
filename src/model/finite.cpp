#include "model/finite.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace unfold {

NotFiniteError::NotFiniteError(Index position)
    : ModelError(fmt::format("the prediction at position {} is not finite", position)), position_(position) {}

void require_finite(std::span<const float> log_probabilities, Index position) {
  for (const float log : log_probabilities)
    if (!(log <= std::numeric_limits<float>::max())) throw NotFiniteError(position);
}

namespace {

struct Weight {
  std::string tensor;
  std::vector<Index> shape;
  Index element = 0;
  double value = 0;

  bool worse_than(const Weight& other) const {
    const bool finite = std::isfinite(value), other_finite = std::isfinite(other.value);
    return finite == other_finite ? finite && std::abs(value) > std::abs(other.value) : !finite;
  }
};

template <class T>
Weight largest_of(const SafetensorsFile& file, const Tensor& tensor) {
  Weight largest{.tensor = tensor.name, .shape = tensor.shape};
  const std::vector<T> values = file.values<T>(tensor.name);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Weight weight{.tensor = {}, .shape = {}, .element = static_cast<Index>(i), .value = values[i]};
    if (!weight.worse_than(largest)) continue;
    largest.element = weight.element;
    largest.value = weight.value;
  }
  return largest;
}

std::string position_in_total(const Weight& weight) {
  if (weight.shape.size() != 2) return fmt::format("[{}]", weight.element);
  return fmt::format("[{}, {}]", weight.element / weight.shape[1], weight.element % weight.shape[1]);
}

/// With weights above this value, a single product overflows or nearly overflows; below it, only a growing state can
/// overflow.
constexpr double kEnormous = 1e6;

/// Returns the cause and the remedy: the largest weight, its location, and the action to take.
std::string cause_and_remedy(const SymbolModel& model) {
  const SafetensorsFile file = SafetensorsFile::from_bytes(model.bytes(), "the model");
  Weight largest;
  for (const Tensor& tensor : file.tensors()) {
    if (tensor.dtype != Dtype::f32 && tensor.dtype != Dtype::f64) continue;
    Weight here = tensor.dtype == Dtype::f32 ? largest_of<float>(file, tensor) : largest_of<double>(file, tensor);
    if (largest.tensor.empty() || here.worse_than(largest)) largest = std::move(here);
  }
  if (largest.tensor.empty()) return "it has no weights; train the model again";
  const std::string where = fmt::format("the largest weight is {:.3g}, element {} of tensor {}", largest.value,
                                        position_in_total(largest), largest.tensor);
  if (std::abs(largest.value) < kEnormous)
    return where + ", so its states grow from symbol to symbol; train the model again with bounded units (tanh)";
  return where + "; train the model again";
}

}  // namespace

void fail_not_finite(const SymbolModel& model, const std::string& name, Index position, bool learning) {
  if (learning)
    throw DivergedError(
        fmt::format("{} diverged while it was learning online: its prediction at position {} is not finite or "
                    "implausible; lower the learning rate with --optimizer, for example adam:rate=0.0005,clip=1",
                    name, position));
  throw ModelError(
      fmt::format("{}: the prediction at position {} is not finite: {}", name, position, cause_and_remedy(model)));
}

namespace {

class FinitePredictor final : public Predictor {
 public:
  FinitePredictor(const SymbolModel& model, std::string name, std::unique_ptr<Predictor> predictor)
      : model_(model), name_(std::move(name)), predictor_(std::move(predictor)) {}

  Index alphabet() const override { return predictor_->alphabet(); }
  std::span<const float> log_probabilities() override {
    const std::span<const float> logs = predictor_->log_probabilities();
    try {
      require_finite(logs, position_);
    } catch (const NotFiniteError&) {
      fail_not_finite(model_, name_, position_, false);
    }
    return logs;
  }
  void set_learning(bool on) override { predictor_->set_learning(on); }
  bool clones_are_large() const override { return predictor_->clones_are_large(); }
  void reset() override {
    predictor_->reset();
    position_ = 0;
  }
  std::unique_ptr<Predictor> clone() const override {
    auto copy = std::make_unique<FinitePredictor>(model_, name_, predictor_->clone());
    copy->position_ = position_;
    return copy;
  }

 private:
  double surprisal_of(Symbol symbol) override {
    log_probabilities();
    return predictor_->surprisal(symbol);
  }
  void update(Symbol symbol) override {
    predictor_->observe(symbol);
    ++position_;
  }

  const SymbolModel& model_;
  std::string name_;
  std::unique_ptr<Predictor> predictor_;
  Index position_ = 0;
};

}  // namespace

std::unique_ptr<Predictor> finite_predictor(const SymbolModel& model, const std::string& name) {
  return std::make_unique<FinitePredictor>(model, name, model.predictor());
}

}  // namespace unfold
