#include "model/forecast/segments/segment_network.h"

#include <string>

#include "loss/quantiles.h"
#include "unfold/base/error.h"
#include "unfold/model/parameter_tensors.h"

namespace unfold::forecasting {
namespace {

void check_shape(const SegmentShape& shape) {
  constexpr Index kMost = 1'000'000;
  const auto require = [](const char* what, Index value) {
    if (value < 1 || value > kMost)
      throw UsageError("segments: the " + std::string(what) + " is " + std::to_string(value) +
                       "; it must be from 1 to " + std::to_string(kMost));
  };
  require("length of a segment", shape.segment);
  require("length of the window", shape.window);
  require("horizon", shape.horizon);
  require("number of units", shape.units);
  if (shape.series < 0 || shape.series > kMost || !(shape.dropout >= 0 && shape.dropout < 1) || shape.levels.empty())
    throw UsageError("segments: " + std::to_string(shape.series) + " series, a dropout of " +
                     std::to_string(shape.dropout) + " and " + std::to_string(shape.levels.size()) +
                     " levels are not supported; use 0 to " + std::to_string(kMost) +
                     " series, a dropout of at least 0 and less than 1, and at least one level");
  if (shape.window % shape.segment != 0)
    throw UsageError("segments: the window of " + std::to_string(shape.window) + " values is not a multiple of the " +
                     std::to_string(shape.segment) + " values of a segment");
}

/// The recurrent layer, with the state of the parent node: z, r = sigmoid(x W + h U + b),
/// g = tanh(x W_g + r * (h U_g + b_g)) and h + z * (g - h).
Signal parent_gru(Circuit& c, Signal x, Index n) {
  const auto h = c.link(n, Delay::parent());
  const auto w = c.affine("w", 3 * n, {{"W", x, Init::glorot(3)}});
  const auto u = c.affine("u", 3 * n, {{"U", h, Init::orthogonal(3)}});
  const auto [wz, wr, wg] = c.split<3>(w);
  const auto [uz, ur, ug] = c.split<3>(u);
  const auto g = tanh(wg + sigmoid(wr + ur) * ug);
  const auto next = h + sigmoid(wz + uz) * (g - h);
  c.feed(h, next);
  return next;
}

}  // namespace

Tree SegmentShape::tree() const {
  Tree result;
  result.children.resize(at(nodes()));
  for (Index i = 0; i + 1 < read(); ++i) result.children[at(i)] = {i + 1};
  for (Index k = 0; k < predicted(); ++k) result.children[at(read() - 1)].push_back(read() + k);
  return result;
}

double SegmentShape::gradient_operations() const {
  constexpr double kPasses = 3;  // forward, adjoints and gradients
  const double d = static_cast<double>(units), w = static_cast<double>(segment);
  const double node = d * (6 * d + w + w * static_cast<double>(levels.size()));
  return 2 * kPasses * node * static_cast<double>(nodes());
}

template <class T>
Network<T> add_segment_network(Circuit& c, const SegmentShape& shape) {
  check_shape(shape);
  Network<T> network;
  const Index d = shape.units;
  const auto x = c.input(kSegmentValues, shape.segment);
  const auto place = c.symbols(kSegmentPlace, shape.predicted());
  std::vector<Term> query = {{"P", place, Init::normal(1)}};
  Signal series;
  if (shape.series > 0) {
    series = c.symbols(kSegmentSeries, shape.series);
    query.push_back({"C", series, Init::normal(1)});
  }
  const auto z = relu(c.affine("read", d, {{"W", x}})) + c.affine("query", d, query, Init::zero(), false);
  auto state = parent_gru(c, z, d);
  if (shape.dropout > 0) state = c.dropout(state, shape.dropout);
  const auto forecast = c.affine("forecast", shape.segment * static_cast<Index>(shape.levels.size()), {{"V", state}});
  c.output(forecast);
  network.inputs = {{kSegmentValues, x}, {kSegmentPlace, place}};
  if (series.valid()) network.inputs.push_back({kSegmentSeries, series});
  network.heads.push_back({kSegmentTarget, forecast, quantile_loss<T>(shape.levels)});
  network.dropout = shape.dropout > 0;
  return network;
}

template <class T>
SegmentNetwork<T>::SegmentNetwork(const SegmentShape& shape) : shape_(shape), circuit_(std::make_unique<Circuit>()) {
  network_ = add_segment_network<T>(*circuit_, shape_);
  network_.plan = std::make_shared<const Plan>(*circuit_);
  parameters_ = Parameters<T>(*circuit_);
}

template <class T>
SegmentNetwork<T>::SegmentNetwork(const SegmentShape& shape, const SafetensorsFile& file) : SegmentNetwork(shape) {
  check_tensors<T>(*circuit_, file);
  read_tensors(file, parameters_);
}

template Network<float> add_segment_network(Circuit&, const SegmentShape&);
template Network<double> add_segment_network(Circuit&, const SegmentShape&);
template class SegmentNetwork<float>;
template class SegmentNetwork<double>;

}  // namespace unfold::forecasting
