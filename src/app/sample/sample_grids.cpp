#include "app/sample/sample_grids.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/fields/evaluation/field_metrics.h"
#include "app/fields/field_model.h"
#include "base/options/integer_range.h"
#include "loss/density/sample_numbers.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"
#include "unfold/train/passes/batch_pass.h"

namespace unfold {
namespace {

constexpr Index kLargestSide = 1024, kMostGrids = 1'000'000;

/// Returns the head whose field the network also reads; null if there is none.
template <class T>
const Head<T>* generated_head(const NetworkModel<T>& model) {
  if (!model.data().grids) return nullptr;
  for (const Head<T>& head : model.network().heads)
    if (std::ranges::find(model.layout().reads, head.field) != model.layout().reads.end()) return &head;
  return nullptr;
}

template <class T>
class GridSampler {
 public:
  GridSampler(const NetworkModel<T>& model, const GridSampleRequest& request, Team& team)
      : model_(model),
        request_(request),
        head_(*generated_head(model)),
        field_(model.data().field(head_.field)),
        symbols_(field_.type == FieldSpecification::Type::symbols),
        team_(team),
        pass_(model.network(), team),
        drawn_(at(request.count)) {
    if (model.network().inputs.size() > 1 || model.network().heads.size() > 1)
      throw UsageError(
          fmt::format("sample draws grids of {0} only from a network that reads and predicts {0} alone", field_.name));
    if (symbols_) head_.loss->template need<Categorical<T>>("sample");
    pass_.set_parameters(model.parameters());
    for (Index n = 0; n < request.count; ++n) random_.emplace_back(request.seed, stream_of(fmt::format("grid/{}", n)));
  }

  std::vector<SampledGrid> run() {
    for (Index row = 0; row < request_.height; ++row) draw_row(row);
    std::vector<SampledGrid> grids;
    grids.reserve(drawn_.size());
    for (const Drawn& drawn : drawn_) grids.push_back(finished(drawn));
    return grids;
  }

 private:
  struct Drawn {
    std::vector<Symbol> symbols = {};
    std::vector<float> values = {};  ///< standardized
    double nats = 0;
  };

  /// Draws the positions of a row of all grids, from left to right. Positions below the row do not affect it.
  void draw_row(Index row) {
    Batch batch;
    const std::vector<std::pair<Index, Index>> shapes(drawn_.size(), {row + 1, request_.width});
    batch.structure = Structure::grids(shapes);
    batch.whole = true;
    batch.reset_all_chains();
    const Index positions = batch.structure.positions();
    if (symbols_)
      batch.symbol_field(field_.name).clear(positions);
    else
      batch.value_field(field_.name).clear(positions, field_.size);
    for (Index n = 0; n < request_.count; ++n)
      for (Index t = 0; t < row * request_.width; ++t) put(n, t, batch);
    State<T> state(*model_.plan(), batch.structure.sequences());
    for (Index column = 0; column < request_.width; ++column) {
      enter_batch(batch, *model_.plan(), state);
      pass_.forward(batch, state);
      const Matrix<const T> signal = pass_.outputs().front();
      for (Index n = 0; n < request_.count; ++n) {
        const Index t = row * request_.width + column;
        draw(n, {signal.row(batch.structure.row(n, t)), at(signal.cols)});
        put(n, t, batch);
      }
    }
  }

  /// Writes a drawn position into the batch.
  void put(Index n, Index position, Batch& batch) const {
    const Index row = batch.structure.row(n, position);
    if (symbols_) {
      batch.symbol_field(field_.name).symbols[at(row)] = drawn_[at(n)].symbols[at(position)];
      return;
    }
    for (Index i = 0; i < field_.size; ++i)
      batch.value_field(field_.name).set(row, i, drawn_[at(n)].values[at(position * field_.size + i)]);
  }

  void draw(Index n, std::span<const T> signal) {
    Drawn& drawn = drawn_[at(n)];
    if (symbols_) {
      std::vector<T> log_p(signal.size());
      log_softmax(signal.data(), log_p.data(), static_cast<Index>(signal.size()));
      require_finite(log_p.front());
      drawn.symbols.push_back(sample_symbol<T>(std::span<const T>(log_p), random_[at(n)]));
      drawn.nats -= static_cast<double>(log_p[at(drawn.symbols.back())]);
      return;
    }
    std::vector<T> values(at(field_.size));
    const std::span<const T> parameters = model_.parameters().flat();
    draw_numbers<T>(*head_.loss, {signal, parameters}, "sample", random_[at(n)], values);
    for (T& x : values) {
      const auto z = static_cast<float>(x);
      require_finite(z);
      x = static_cast<T>(z);  // the next input, and the value at which the density is evaluated
      drawn.values.push_back(z);
    }
    const auto width = static_cast<Index>(signal.size());
    T nats = 0;
    head_.loss->negative_log_likelihood({.structure = Structure::chains(1, 1),
                                         .signal = {signal.data(), 1, width, width},
                                         .targets = {nullptr, {values.data(), 1, field_.size, field_.size}, nullptr},
                                         .parameters = parameters},
                                        team_, &nats);
    drawn.nats += static_cast<double>(nats) + log_scale(field_);
  }

  template <class U>
  void require_finite(U x) const {
    if (!std::isfinite(x))
      throw ModelError(fmt::format(
          "sampled values of {} are not finite; train the model again with a smaller learning rate", field_.name));
  }

  SampledGrid finished(const Drawn& drawn) const {
    SampledGrid grid{.field = field_.name, .height = request_.height, .width = request_.width, .nats = drawn.nats};
    for (const Symbol x : drawn.symbols) grid.texts.emplace_back(field_.alphabet->text(x));
    for (std::size_t i = 0; i < drawn.values.size(); ++i)
      grid.values.push_back(
          restored(field_, static_cast<Index>(i) % field_.size, static_cast<double>(drawn.values[i])));
    return grid;
  }

  const NetworkModel<T>& model_;
  const GridSampleRequest& request_;
  const Head<T>& head_;
  const FieldSpecification& field_;
  bool symbols_;
  Team& team_;
  BatchPass<T> pass_;
  std::vector<Drawn> drawn_;
  std::vector<Random> random_;
};

}  // namespace

bool generates_grids(const std::string& model) {
  const std::unique_ptr<Model> loaded = load_model_file(model_file(model));
  if (const auto* single = loaded->as<NetworkModel<float>>()) return generated_head(*single) != nullptr;
  if (const auto* exact = loaded->as<NetworkModel<double>>()) return generated_head(*exact) != nullptr;
  return false;
}

std::vector<SampledGrid> sample_grids(const GridSampleRequest& request) {
  require_in_range("height", request.height, 1, kLargestSide);
  require_in_range("width", request.width, 1, kLargestSide);
  require_in_range("count", request.count, 1, kMostGrids);
  return with_network_model(request.model, [&]<class T>(const NetworkModel<T>& model) {
    if (generated_head(model) == nullptr)
      throw UsageError(fmt::format(
          "{} does not predict grids from their earlier positions; train with --predict pixels", model.spec_text()));
    Team team(thread_count(request.threads));
    return GridSampler<T>(model, request, team).run();
  });
}

}  // namespace unfold
