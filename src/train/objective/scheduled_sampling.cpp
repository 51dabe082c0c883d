#include "unfold/train/objective/scheduled_sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "loss/distribution.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/numerics/random.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

double share_from(std::string_view text, std::string_view whole) {
  double share = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
  if (error != std::errc() || end != text.data() + text.size() || !(share >= 0 && share <= 1))
    throw UsageError(
        fmt::format("teacher forcing \"{}\": expected one or two shares between 0 and 1, such as 1..0.2", whole));
  return share;
}

/// Uses exp and log of this library, so the schedule is the same on every machine.
double power(double base, double exponent) {
  vector_log(&base, &base, 1);
  double result = base * exponent;
  vector_exp(&result, &result, 1);
  return result;
}

double logistic(double x) {
  vector_sigmoid(&x, &x, 1);
  return x;
}

}  // namespace

double TeacherForcing::at(double fraction) const {
  constexpr double kSteepness = 10;  // steepness of the sigmoid, which decreases from sigmoid(5) to sigmoid(-5)
  switch (shape) {
    case Shape::linear: return from + (to - from) * fraction;
    case Shape::exponential: return from * power(to / from, fraction);
    case Shape::inverse_sigmoid: {
      const double first = logistic(kSteepness / 2), last = logistic(-kSteepness / 2);
      return to + (from - to) * (logistic(kSteepness * (0.5 - fraction)) - last) / (first - last);
    }
  }
  return from;
}

TeacherForcing TeacherForcing::parse(std::string_view shares, Shape shape) {
  TeacherForcing forcing{.shape = shape};
  const std::size_t dots = shares.find("..");
  forcing.from = share_from(shares.substr(0, dots), shares);
  forcing.to = dots == std::string_view::npos ? forcing.from : share_from(shares.substr(dots + 2), shares);
  if (shape == Shape::exponential && (forcing.from == 0 || forcing.to == 0))
    throw UsageError(fmt::format("teacher forcing \"{}\": an exponential schedule never reaches 0", shares));
  return forcing;
}

template <class T>
ScheduledSampling<T>::ScheduledSampling(const Network<T>& network, Team& team, std::uint64_t seed)
    : network_(network), seed_(seed), pass_(network, team), state_(*network.plan, 1) {
  for (const NetworkInput& input : network.inputs) {
    const FieldRead read = parse_read(input.field);
    for (std::size_t h = 0; h < network.heads.size() && read.back > 0; ++h) {
      const Head<T>& head = network.heads[h];
      if (head.field != read.field) continue;
      if (!head.loss->template as<Categorical<T>>() && !head.loss->template as<ValueDistribution<T>>())
        throw UsageError(
            fmt::format("scheduled sampling requires a loss with samples of single positions, which the loss {} of {} "
                        "does not provide; remove --teacher-forcing",
                        head.loss->name(), head.field));
      uses_.push_back({input.field, h, read.back});
    }
  }
  if (uses_.empty())
    throw UsageError(
        "scheduled sampling needs a network that reads its predictions as \"previous F\"; leave out --teacher-forcing");
}

template <class T>
const Batch& ScheduledSampling<T>::mix(const Batch& batch, const State<T>& state, const Parameters<T>& parameters,
                                       double forcing, Index step) {
  mixed_ = batch;
  if (forcing >= 1) return mixed_;
  pass_.set_parameters(parameters);
  copy_state(state, state_);
  pass_.forward(batch, state_);
  const std::vector<Matrix<const T>> outputs = pass_.outputs();
  Random random(seed_, stream_of("training/own-outputs") + static_cast<std::uint64_t>(step));
  for (const Use& use : uses_) replace(use, outputs[use.head], forcing, random);
  return mixed_;
}

template <class T>
void ScheduledSampling<T>::replace(const Use& use, Matrix<const T> output, double forcing, Random& random) {
  Field& field = mixed_.fields.find(use.field)->second;
  auto* const symbols = std::get_if<SymbolRows>(&field);
  auto* const values = std::get_if<ValueRows>(&field);
  const Loss<T>& loss = *network_.heads[use.head].loss;
  std::vector<T> logits(at(output.cols)), mean(values != nullptr ? at(values->cols()) : 0);
  const Structure& structure = mixed_.structure;
  for (Index c = 0; c < structure.sequences(); ++c)
    for (Index t = use.back; t < structure.size(c); ++t) {
      const Index row = structure.row(c, t), earlier = structure.row(c, t - use.back);
      const bool own = random.uniform() >= forcing;
      if (!own || !is_present(field, row)) continue;
      const std::span<const T> given(output.row(earlier), at(output.cols));
      if (symbols != nullptr) {
        log_softmax(given.data(), logits.data(), output.cols);
        symbols->symbols[at(row)] = sample_symbol<T>(logits, random);
      } else {
        loss.template need<ValueDistribution<T>>("scheduled sampling").mean(given, mean);
        for (std::size_t i = 0; i < mean.size(); ++i)
          values->set(row, static_cast<Index>(i), static_cast<float>(mean[i]));
      }
    }
}

template class ScheduledSampling<float>;
template class ScheduledSampling<double>;

}  // namespace unfold
