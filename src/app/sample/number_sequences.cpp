#include "app/sample/number_sequences.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/fields/evaluation/field_metrics.h"
#include "app/fields/evaluation/transduction_metrics.h"
#include "app/fields/field_model.h"
#include "loss/density/sample_numbers.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

/// A sequence that is being generated.
struct Growing {
  Index chain = 0;
  Index length = 0;  ///< the length if known in advance, otherwise 0
  Random random;
  std::vector<float> numbers = {};  ///< numbers in the scale of the network input
  DrawnNumbers drawn = {};
};

template <class T>
class NumberDecoder {
 public:
  NumberDecoder(const NetworkModel<T>& model, const DrawOptions& options, Team& team)
      : model_(model),
        options_(options),
        lengths_(length_model_of(model)),
        decoder_(model.network(), model.data(), ends(), team),
        head_(decoder_.target_head()),
        field_(model.data().field(head_.field)),
        team_(team),
        values_(at(field_.size)) {
    if (decoder_.has_length_input() && !lengths_)
      throw ModelError("the model reads the number of remaining steps, but its file has no length distribution");
    if (!decoder_.has_length_input()) lengths_.reset();
    decoder_.set_parameters(model.parameters());
  }

  /// Returns one sequence per chain of the batch, in order.
  std::vector<DrawnNumbers> run(const Batch& batch) {
    std::vector<Growing> growing = begin(batch);
    std::vector<DrawnNumbers> complete(growing.size());
    while (!growing.empty()) {
      std::vector<TargetRow> rows;
      rows.reserve(growing.size());
      for (const Growing& g : growing)
        rows.push_back({.chain = g.chain, .slot = g.chain, .length = g.length, .numbers = g.numbers});
      decoder_.enter(rows);
      std::vector<Growing> kept;
      for (std::size_t k = 0; k < growing.size(); ++k) {
        if (go_on(growing[k], static_cast<Index>(k)))
          kept.push_back(std::move(growing[k]));
        else
          complete[at(growing[k].chain)] = std::move(growing[k].drawn);
      }
      growing = std::move(kept);
    }
    return complete;
  }

 private:
  TargetEnds ends() const {
    TargetEnds ends = target_ends(lengths_);
    ends.numbers = true;
    return ends;
  }

  std::vector<Growing> begin(const Batch& batch) {
    std::vector<Growing> growing;
    for (Index c = 0; c < batch.structure.sequences(); ++c) {
      const Index passage = batch.passages.empty() ? c : batch.passages[at(c)];
      growing.push_back({.chain = c, .random = Random(options_.seed, stream_of(fmt::format("draw/{}", passage)))});
      if (!lengths_) continue;
      growing.back().length = lengths_->draw(growing.back().random);
      growing.back().drawn.nats = -lengths_->log_probability(growing.back().length);
    }
    decoder_.begin(batch, batch.structure.sequences());
    return growing;
  }

  /// Generates the next position of a sequence in row k. Returns false if the sequence is complete.
  bool go_on(Growing& g, Index k) {
    if (decoder_.stop_head() != nullptr) {
      const std::array<T, 2> log_p = decoder_.log_stop(k);
      g.drawn.ended = sample_symbol<T>(std::span<const T>(log_p), g.random) == 1;
      g.drawn.nats -= static_cast<double>(log_p[g.drawn.ended ? 1 : 0]);
      if (g.drawn.ended) return false;
    }
    const std::span<const T> parameters = model_.parameters().flat();
    draw_numbers<T>(*head_.loss, {decoder_.output(k), parameters}, "sample", g.random, values_);
    for (Index i = 0; i < field_.size; ++i) {
      const auto z = static_cast<float>(values_[at(i)]);
      if (!std::isfinite(z))
        throw ModelError(fmt::format(
            "sampled values of {} are not finite; train the model again with a smaller learning rate", field_.name));
      values_[at(i)] = static_cast<T>(z);  // the next input, and the value at which the density is evaluated
      g.numbers.push_back(z);
      g.drawn.values.push_back(restored(field_, i, static_cast<double>(z)));
    }
    g.drawn.nats += nats_of_values(k) + log_scale(field_);
    const auto positions = static_cast<Index>(g.numbers.size()) / field_.size;
    const Index limit = g.length > 0 ? g.length : options_.longest > 0 ? options_.longest : kMaxGeneratedLength;
    g.drawn.ended = positions == g.length;
    return positions < limit;
  }

  double nats_of_values(Index k) {
    const std::span<const T> signal = decoder_.output(k);
    const auto width = static_cast<Index>(signal.size());
    T nats = 0;
    head_.loss->negative_log_likelihood({.structure = Structure::chains(1, 1),
                                         .signal = {signal.data(), 1, width, width},
                                         .targets = {nullptr, {values_.data(), 1, field_.size, field_.size}, nullptr},
                                         .parameters = model_.parameters().flat()},
                                        team_, &nats);
    return static_cast<double>(nats);
  }

  const NetworkModel<T>& model_;
  const DrawOptions& options_;
  std::optional<LengthModel> lengths_;
  TargetDecoder<T> decoder_;
  const Head<T>& head_;
  const FieldSpecification& field_;
  Team& team_;
  std::vector<T> values_;
};

}  // namespace

bool holds_number_sequences(const std::string& model) {
  const std::unique_ptr<Model> loaded = load_model_file(model_file(model));
  const auto of_numbers = [&]<class T>(const NetworkModel<T>& network) {
    return predicts_whole_sequences(*loaded) &&
           network.data().field(target_field(network)).type == FieldSpecification::Type::values;
  };
  if (const auto* single = loaded->as<NetworkModel<float>>()) return of_numbers(*single);
  if (const auto* exact = loaded->as<NetworkModel<double>>()) return of_numbers(*exact);
  return false;
}

template <class T>
void draw_number_sequences(const NetworkModel<T>& model, const ExampleSet& examples, const DrawOptions& options,
                           Team& team, const std::function<void(Index example, DrawnNumbers& drawn)>& use) {
  NumberDecoder<T> decoder(model, options, team);
  for_each_batch_of_sources(model, examples, [&](const Batch& batch) {
    std::vector<DrawnNumbers> drawn = decoder.run(batch);
    for (std::size_t c = 0; c < drawn.size(); ++c) use(batch.passages[c], drawn[c]);
  });
}

template void draw_number_sequences(const NetworkModel<float>&, const ExampleSet&, const DrawOptions&, Team&,
                                    const std::function<void(Index, DrawnNumbers&)>&);
template void draw_number_sequences(const NetworkModel<double>&, const ExampleSet&, const DrawOptions&, Team&,
                                    const std::function<void(Index, DrawnNumbers&)>&);

}  // namespace unfold
