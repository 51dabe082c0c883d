#include "unfold/models/orderless.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "unfold/losses/registry.h"
#include "unfold/models/density_model.h"

namespace unfold {
namespace {

/// Rows of which the first numbers of an order are known.
class KnownRows {
 public:
  explicit KnownRows(Batch& batch, Index rows, Index numbers)
      : known_(batch.value_field(kKnown)), target_(batch.value_field(kVector)), numbers_(numbers) {
    known_.clear(rows, 2 * numbers);
    target_.clear(rows, 2 * numbers);
  }
  /// `weight`: of the numbers order[count] .. order[end - 1].
  void put(Index row, const float* x, const std::vector<Index>& order, Index count, Index end, float weight) {
    known_.set(row, 0, 0);  // the row is there, though all of it may be zero
    for (Index i = 0; i < count; ++i) {
      const Index d = order[at(i)];
      known_.set(row, d, x[d]);
      known_.set(row, numbers_ + d, 1);
    }
    for (Index d = 0; d < numbers_; ++d) target_.set(row, d, x[d]);
    for (Index i = count; i < end; ++i) target_.set(row, numbers_ + order[at(i)], weight);
  }

 private:
  ValueRows &known_, &target_;
  Index numbers_;
};

/// Draws for every row what is known of it.
void hide(Batch& batch, const std::string& field, Random random) {
  const ValueRows all = std::get<ValueRows>(batch.field(field));
  const Index numbers = all.cols();
  KnownRows rows(batch, all.rows(), numbers);
  std::vector<Index> order(at(numbers));
  for (Index r = 0; r < all.rows(); ++r) {
    const auto count = static_cast<Index>(random.below(static_cast<std::uint64_t>(numbers)));
    draw_order(random, order, count);
    // What is behind `count` need not be in random order: all of it has one weight.
    rows.put(r, all.values<float>(r, 1).row(0), order, count, numbers,
             static_cast<float>(static_cast<double>(numbers) / static_cast<double>(numbers - count)));
  }
}

class HidingSource final : public BatchSource {
 public:
  HidingSource(std::unique_ptr<BatchSource> inner, std::string field, std::uint64_t seed)
      : inner_(std::move(inner)), field_(std::move(field)), seed_(seed) {
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
    hide(batch_, field_, Random(seed_, fmt::format("orderless/{}/{}", inner_->epoch(), inner_->position())));
  }

  std::unique_ptr<BatchSource> inner_;
  std::string field_;
  std::uint64_t seed_;
  Batch batch_;
};

class HidingReader final : public BatchReader {
 public:
  HidingReader(std::unique_ptr<BatchReader> inner, std::string field)
      : inner_(std::move(inner)), field_(std::move(field)) {}
  bool next(Batch& batch) override {
    if (!inner_->next(batch)) return false;
    hide(batch, field_, Random(kValidationSeed, fmt::format("orderless/validation/{}", number_++)));
    return true;
  }

 private:
  static constexpr std::uint64_t kValidationSeed = 1;
  std::unique_ptr<BatchReader> inner_;
  std::string field_;
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
  Signal x = circuit.input(kKnown, 2 * numbers);
  inputs.push_back({kKnown, x});
  for (Index layer = 1; layer <= options.layers; ++layer) {
    const auto scope = circuit.scope(fmt::format("layer{}", layer));
    x = relu(circuit.affine("z", options.units, {{"W", x, Init::glorot()}}));
  }
  return x;
}

template <class T>
TrainingSources<T> orderless_sources(TrainingSources<T> sources, const std::string& field, std::uint64_t seed) {
  sources.training = std::make_unique<HidingSource>(std::move(sources.training), field, seed);
  if (sources.validation)
    sources.validation = [inner = sources.validation, field] { return std::make_unique<HidingReader>(inner(), field); };
  return sources;
}

template TrainingSources<float> orderless_sources(TrainingSources<float>, const std::string&, std::uint64_t);
template TrainingSources<double> orderless_sources(TrainingSources<double>, const std::string&, std::uint64_t);

}  // namespace unfold
