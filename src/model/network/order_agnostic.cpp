#include "model/network/order_agnostic.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "model/network/density_model.h"
#include "unfold/loss/registry.h"

namespace unfold {
namespace {

/// Masks numbers in rows of some columns.
class Hiding {
 public:
  Hiding(std::string field, const std::vector<Column>& columns)
      : field_(std::move(field)), shape_(columns, std::vector<Index>(columns.size(), 1)) {}

  /// Draws the known numbers of every row.
  void hide(Batch& batch, Random random) const {
    const ValueRows all = std::get<ValueRows>(batch.field(field_));
    const Index numbers = shape_.numbers();
    ValueRows &known = batch.value_field(kKnown), &target = batch.value_field(kVector);
    known.clear(all.rows(), shape_.all_inputs() + numbers);
    target.clear(all.rows(), 2 * numbers);
    std::vector<Index> order(at(numbers));
    for (Index r = 0; r < all.rows(); ++r) {
      const auto count = static_cast<Index>(random.below(static_cast<std::uint64_t>(numbers)));
      draw_order(random, order, count);
      // The numbers after `count` need not be in random order, because they all have the same weight.
      const float *x = all.values<float>(r, 1).row(0),
                  weight = static_cast<float>(static_cast<double>(numbers) / static_cast<double>(numbers - count));
      known.set(r, 0, 0);  // marks the row as present even if all its numbers are zero
      for (Index d = 0; d < numbers; ++d) target.set(r, d, x[d]);
      for (Index i = 0; i < numbers; ++i) {
        const Index d = order[at(i)];
        if (i < count)
          tell(known, r, d, x[d]);
        else
          target.set(r, numbers + d, weight);
      }
    }
  }

 private:
  void tell(ValueRows& known, Index row, Index d, float x) const {
    const auto [place, value] = shape_.input(d, x);
    known.set(row, place, value);
    known.set(row, shape_.all_inputs() + d, 1);
  }

  std::string field_;
  VectorShape shape_;
};

class HidingSource final : public BatchSource {
 public:
  HidingSource(std::unique_ptr<BatchSource> inner, Hiding hiding, std::uint64_t seed)
      : inner_(std::move(inner)), hiding_(std::move(hiding)), seed_(seed) {
    take();
  }
  const Batch& batch() const override { return batch_; }
  void advance() override {
    inner_->advance();
    take();
  }
  void seek(Index epoch, Index batch) override {
    inner_->seek(epoch, batch);
    take();
  }
  Index epoch() const override { return inner_->epoch(); }
  Index position() const override { return inner_->position(); }
  double epochs_done() const override { return inner_->epochs_done(); }
  Index streams() const override { return inner_->streams(); }
  bool shortened() const override { return inner_->shortened(); }

 private:
  void take() {
    batch_ = inner_->batch();
    hiding_.hide(batch_, Random(seed_, fmt::format("orderless/{}/{}", inner_->epoch(), inner_->position())));
  }

  std::unique_ptr<BatchSource> inner_;
  Hiding hiding_;
  std::uint64_t seed_;
  Batch batch_;
};

class HidingReader final : public BatchReader {
 public:
  HidingReader(std::unique_ptr<BatchReader> inner, Hiding hiding)
      : inner_(std::move(inner)), hiding_(std::move(hiding)) {}
  bool next(Batch& batch) override {
    if (!inner_->next(batch)) return false;
    hiding_.hide(batch, Random(kValidationSeed, fmt::format("orderless/validation/{}", number_++)));
    return true;
  }

 private:
  static constexpr std::uint64_t kValidationSeed = 1;
  std::unique_ptr<BatchReader> inner_;
  Hiding hiding_;
  Index number_ = 0;
};

}  // namespace

void draw_order(Random& random, std::vector<Index>& order, Index count) {
  std::iota(order.begin(), order.end(), Index{0});
  for (Index i = 0; i < count; ++i)
    std::swap(order[at(i)],
              order[at(i + static_cast<Index>(random.below(static_cast<std::uint64_t>(order.size()) - at(i))))]);
}

bool is_orderless(const ModelSpec& spec) {
  return is_density(spec) && is_orderless(losses().get(spec_name(spec.density)).density);
}

OrderlessOptions orderless_options(const ModelSpec& spec) {
  const ChosenLoss chosen = choose_loss(spec.density);
  return chosen.entry.density == Density::orderless_bits ? chosen.options.as<OrderlessOptions>()
                                                         : chosen.options.as<OrderlessNumbersOptions>().net;
}

Signal add_orderless(const ModelSpec& spec, Index numbers, Circuit& circuit, std::vector<NetworkInput>& inputs) {
  const OrderlessOptions options = orderless_options(spec);
  Index inputs_of_all = numbers;  // plus a flag for each number
  for (const Column& column : density_columns(spec, numbers)) inputs_of_all += column.inputs();
  Signal x = circuit.input(kKnown, inputs_of_all);
  inputs.push_back({kKnown, x});
  for (Index layer = 1; layer <= options.layers; ++layer) {
    const auto scope = circuit.scope(fmt::format("layer{}", layer));
    x = relu(circuit.affine("z", options.units, {{"W", x, Init::glorot()}}));
  }
  return x;
}

template <class T>
TrainingSources<T> orderless_sources(TrainingSources<T> sources, const std::string& field,
                                     const std::vector<Column>& columns, std::uint64_t seed) {
  const Hiding hiding(field, columns);
  sources.training = std::make_unique<HidingSource>(std::move(sources.training), hiding, seed);
  if (sources.validation)
    sources.validation = [inner = sources.validation, hiding] {
      return std::make_unique<HidingReader>(inner(), hiding);
    };
  return sources;
}

template TrainingSources<float> orderless_sources(TrainingSources<float>, const std::string&,
                                                  const std::vector<Column>&, std::uint64_t);
template TrainingSources<double> orderless_sources(TrainingSources<double>, const std::string&,
                                                   const std::vector<Column>&, std::uint64_t);

}  // namespace unfold
