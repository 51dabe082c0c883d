#include <algorithm>
#include <cmath>

#include "loss/density/ordered_net.h"

namespace unfold {
namespace {

/// The masked autoencoder MADE (Germain, Gregor, Murray & Larochelle 2015). Every unit has a degree from 1 to D - 1 and
/// reads the units of the layer below with an equal or smaller degree. The degree of an input is its number; the
/// outputs of number d read units of a degree below d. Here units are sorted by degree, in the same way in all layers,
/// so a row of weights always reads a prefix of the layer below. Matrices are stored as staircases, row by row without
/// the zeros of a mask.
///
/// The biases of all hidden units are part of the signal. Stored per row: h of all layers, then the adjoints of the
/// ReLU inputs and, if some numbers are classes, the inputs.
template <class T>
class MadeNet final : public RowByRowNet<T> {
 public:
  MadeNet(Index units, Index layers) : units_(units), layers_(layers) {}

  Index beside_biases() const override { return units_ * layers_; }

  std::vector<NetBlock> blocks(const VectorShape& shape) const override {
    const Steps steps(shape, units_);
    Index read_of_x = 0, read_of_units = 0, read_by_outputs = 0;
    for (Index k = 0; k < units_; ++k) {
      read_of_x += reads_of(steps, 0, k);
      read_of_units += steps.up_to(steps.degree(k));
    }
    for (Index d = 0; d < shape.numbers(); ++d) read_by_outputs += shape.outputs(d) * steps.up_to(d);
    const auto scale = [](double gain, Index inputs) {
      return Init::normal(std::sqrt(gain / static_cast<double>(inputs)));
    };
    std::vector<NetBlock> blocks = {{"V", 1, std::max<Index>(1, read_by_outputs), scale(1, units_)},
                                    {"W1", 1, read_of_x, scale(2, shape.numbers())}};
    for (Index layer = 1; layer < layers_; ++layer)
      blocks.push_back({kNames[at(layer)], 1, read_of_units, scale(2, units_)});
    return blocks;
  }
  Index kept(const NetWeights<T>& w, const T*) const override {
    return 2 * layers_ * units_ + (w.shape->has_classes() ? w.shape->all_inputs() : 0);
  }

  void value(const NetWeights<T>& w, const T* signal, const T* x, T* kept, T* o) const override {
    if (w.shape->has_classes()) w.shape->put_inputs(x, w.numbers(), kept + 2 * layers_ * units_);
    put_layers(w, signal, inputs_of(w, x, kept), kept);
    const Steps steps(*w.shape, units_);
    const T *row = w.blocks[0], *top = kept + (layers_ - 1) * units_;
    for (Index d = 0; d < w.numbers(); ++d)
      for (Index j = w.first(d); j < w.first(d + 1); ++j, row += steps.up_to(d))
        o[j] = signal[j] + product(row, top, steps.up_to(d));
  }

  void tangent(const NetWeights<T>& w, const NetWeights<T>& direction, const T* signal, const T* x, const T* kept,
               T* out) const override {
    const Steps steps(*w.shape, units_);
    T *moved = row_scratch<T, kMoved>(2 * units_), *next = moved + units_;
    const T* c = signal + w.all_outputs();
    for (Index layer = 0; layer < layers_; ++layer, c += units_) {
      const T *row = w.blocks[at(1 + layer)], *along = direction.blocks[at(1 + layer)];
      const T* below = layer == 0 ? inputs_of(w, x, kept) : kept + (layer - 1) * units_;
      for (Index k = 0; k < units_; ++k) {
        const Index reads = reads_of(steps, layer, k);
        T sum = c[k] + product(along, below, reads);
        if (layer > 0) sum += product(row, moved, reads);  // the numbers themselves have no tangent
        next[k] = kept[layer * units_ + k] > 0 ? sum : T{0};
        row += reads, along += reads;
      }
      std::swap(moved, next);
    }
    const T *row = w.blocks[0], *along = direction.blocks[0], *top = kept + (layers_ - 1) * units_;
    for (Index d = 0; d < w.numbers(); ++d) {
      const Index reads = steps.up_to(d);
      for (Index j = w.first(d); j < w.first(d + 1); ++j, row += reads, along += reads)
        out[j] = signal[j] + (product(along, top, reads) + product(row, moved, reads));
    }
  }

  void adjoint(const NetWeights<T>& w, const T*, const T* slopes, T* kept, T* adjoint) const override {
    const Steps steps(*w.shape, units_);
    T* of_sums = kept + layers_ * units_;
    std::fill_n(of_sums, layers_ * units_, T{0});
    T* of_top = of_sums + (layers_ - 1) * units_;
    const T* row = w.blocks[0];
    for (Index d = 0; d < w.numbers(); ++d)
      for (Index j = w.first(d); j < w.first(d + 1); ++j, row += steps.up_to(d))
        add_scaled(slopes[j], row, of_top, steps.up_to(d));
    for (Index layer = layers_ - 1; layer >= 0; --layer) {
      T* here = of_sums + layer * units_;
      for (Index k = 0; k < units_; ++k)
        if (!(kept[layer * units_ + k] > 0)) here[k] = 0;
      row = w.blocks[at(1 + layer)];
      for (Index k = 0; k < units_ && layer > 0; ++k) {
        const Index reads = reads_of(steps, layer, k);
        add_scaled(here[k], row, here - units_, reads);
        row += reads;
      }
    }
    std::copy_n(slopes, w.all_outputs(), adjoint);
    std::copy_n(of_sums, layers_ * units_, adjoint + w.all_outputs());
  }

  /// A number owns the weights of its outputs and of the units of its degree.
  void gradient(const NetWeights<T>& w, std::span<const NetPass<T>> rows, Range numbers,
                const std::vector<T*>& out) const override {
    const Steps steps(*w.shape, units_);
    T* row = out[0];
    for (Index d = 0; d < numbers.end; ++d)
      for (Index j = w.first(d); j < w.first(d + 1); ++j, row += steps.up_to(d))
        for (std::size_t r = 0; d >= numbers.begin && r < rows.size(); ++r)
          add_scaled(rows[r].slopes[j], rows[r].kept + (layers_ - 1) * units_, row, steps.up_to(d));
    for (Index layer = 0; layer < layers_; ++layer) {
      row = out[at(1 + layer)];
      for (Index k = 0; k < units_; ++k) {
        const Index reads = reads_of(steps, layer, k), number = steps.degree(k) - 1;
        for (std::size_t r = 0; number >= numbers.begin && number < numbers.end && r < rows.size(); ++r)
          add_scaled(rows[r].kept[(layers_ + layer) * units_ + k],
                     layer == 0 ? inputs_of(w, rows[r].x, rows[r].kept) : rows[r].kept + (layer - 1) * units_, row,
                     reads);
        row += reads;
      }
    }
  }

  /// Also computes units that read number d or later numbers; their values are not used.
  void outputs_of(const NetWeights<T>& w, const T* signal, const T* x, Index d, T* o) const override {
    const Steps steps(*w.shape, units_);
    T* memory = row_scratch<T, kMoved>(layers_ * units_ + w.shape->all_inputs());
    T* before = memory + layers_ * units_;  // the values beyond are arbitrary, possibly NaN
    w.shape->put_inputs(x, d, before);
    std::fill(before + w.shape->first_input(d), before + w.shape->all_inputs(), T{0});
    put_layers(w, signal, before, memory);
    const T* row = w.blocks[0];
    for (Index i = 0; i < d; ++i) row += w.shape->outputs(i) * steps.up_to(i);
    for (Index j = w.first(d); j < w.first(d + 1); ++j, row += steps.up_to(d))
      *o++ = signal[j] + product(row, memory + (layers_ - 1) * units_, steps.up_to(d));
  }

 private:
  static constexpr int kMoved = 11;                                                          // `user` of row_scratch
  static constexpr const char* kNames[] = {"W1", "W2", "W3", "W4", "W5", "W6", "W7", "W8"};  // NOLINT: names
  static_assert(std::size(kNames) == kMostMadeLayers);

  /// Degrees of units, increasing from 1 to D - 1.
  struct Steps {
    const VectorShape& shape;
    Index numbers, units;
    Steps(const VectorShape& s, Index u) : shape(s), numbers(s.numbers()), units(u) {}
    Index degree(Index unit) const { return 1 + unit * (numbers - 1) / units; }
    /// Returns the number of units of a degree up to t.
    Index up_to(Index t) const {
      if (t < 1) return 0;
      if (t >= numbers - 1) return units;
      return (t * units + numbers - 2) / (numbers - 1);
    }
  };
  const T* inputs_of(const NetWeights<T>& w, const T* x, const T* kept) const {
    return w.shape->has_classes() ? kept + 2 * layers_ * units_ : x;
  }
  Index reads_of(const Steps& steps, Index layer, Index unit) const {
    return layer == 0 ? steps.shape.first_input(steps.degree(unit)) : steps.up_to(steps.degree(unit));
  }

  void put_layers(const NetWeights<T>& w, const T* signal, const T* x, T* h) const {
    const Steps steps(*w.shape, units_);
    const T* c = signal + w.all_outputs();
    for (Index layer = 0; layer < layers_; ++layer, c += units_, x = h, h += units_) {
      const T* row = w.blocks[at(1 + layer)];
      for (Index k = 0; k < units_; ++k) {
        const Index reads = reads_of(steps, layer, k);
        const T sum = c[k] + product(row, x, reads);
        h[k] = sum > 0 ? sum : T{0};
        row += reads;
      }
    }
  }

  Index units_, layers_;
};

}  // namespace

template <class T>
std::unique_ptr<AutoregressiveNet<T>> made_net(Index units, Index layers) {
  return std::make_unique<MadeNet<T>>(units, layers);
}

template std::unique_ptr<AutoregressiveNet<float>> made_net(Index, Index);
template std::unique_ptr<AutoregressiveNet<double>> made_net(Index, Index);

}  // namespace unfold
