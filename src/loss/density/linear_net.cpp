#include <algorithm>

#include "loss/density/ordered_net.h"

namespace unfold {
namespace {

/// o_d = b_d + U_d (inputs of the numbers before d) for the first output of each number; the other outputs equal their
/// biases. For a class, the linear map applies to all outputs. For bits this is logistic autoregression (Frey, Hinton &
/// Dayan 1996) with D (D - 1) / 2 weights, stored number by number; for normal numbers it is a Gaussian with a factored
/// inverse covariance.
template <class T>
class LinearNet final : public RowByRowNet<T> {
 public:
  Index beside_biases() const override { return 0; }
  std::vector<NetBlock> blocks(const VectorShape& shape) const override {
    return {{"U", 1, std::max<Index>(1, before(shape, shape.numbers())), Init::zero()}};
  }
  /// Stores the inputs if some numbers are classes.
  Index kept(const NetWeights<T>& w, const T*) const override {
    return w.shape->has_classes() ? w.shape->all_inputs() : 0;
  }

  void value(const NetWeights<T>& w, const T* signal, const T* x, T* kept, T* o) const override {
    if (w.shape->has_classes()) w.shape->put_inputs(x, w.numbers(), kept);
    apply(w, signal, inputs_of(w, x, kept), o);
  }
  void tangent(const NetWeights<T>& w, const NetWeights<T>& direction, const T* signal, const T* x, const T* kept,
               T* out) const override {
    apply(direction, signal, inputs_of(w, x, kept), out);
  }
  void adjoint(const NetWeights<T>& w, const T*, const T* slopes, T*, T* adjoint) const override {
    std::copy_n(slopes, w.all_outputs(), adjoint);
  }
  void gradient(const NetWeights<T>& w, std::span<const NetPass<T>> rows, Range numbers,
                const std::vector<T*>& out) const override {
    T* u = out[0] + before(*w.shape, numbers.begin);
    for (Index d = numbers.begin; d < numbers.end; ++d) {
      const Index reads = w.shape->first_input(d);
      for (Index i = 0; i < moved(*w.shape, d); ++i, u += reads)
        for (const NetPass<T>& row : rows)
          add_scaled(row.slopes[w.first(d) + i], inputs_of(w, row.x, row.kept), u, reads);
    }
  }
  void outputs_of(const NetWeights<T>& w, const T* signal, const T* x, Index d, T* o) const override {
    T* inputs = row_scratch<T, kInputs>(w.shape->first_input(d) + 1);
    w.shape->put_inputs(x, d, inputs);
    put_outputs(w, signal, inputs, d, w.blocks[0] + before(*w.shape, d), o);
  }

 private:
  static constexpr int kInputs = 11;  // `user` of row_scratch

  static Index moved(const VectorShape& shape, Index d) { return shape.is_class(d) ? shape.outputs(d) : 1; }
  /// Returns the number of weights of the numbers before d.
  static Index before(const VectorShape& shape, Index d) {
    Index weights = 0;
    for (Index i = 0; i < d; ++i) weights += moved(shape, i) * shape.first_input(i);
    return weights;
  }
  static const T* inputs_of(const NetWeights<T>& w, const T* x, const T* kept) {
    return w.shape->has_classes() ? kept : x;
  }
  void apply(const NetWeights<T>& w, const T* signal, const T* inputs, T* o) const {
    const T* u = w.blocks[0];
    for (Index d = 0; d < w.numbers(); ++d) {
      put_outputs(w, signal, inputs, d, u, o + w.first(d));
      u += moved(*w.shape, d) * w.shape->first_input(d);
    }
  }
  void put_outputs(const NetWeights<T>& w, const T* signal, const T* inputs, Index d, const T* u, T* o) const {
    const Index reads = w.shape->first_input(d);
    std::copy_n(signal + w.first(d), w.shape->outputs(d), o);
    for (Index i = 0; i < moved(*w.shape, d); ++i, u += reads) o[i] += product(u, inputs, reads);
  }
};

}  // namespace

template <class T>
std::unique_ptr<AutoregressiveNet<T>> linear_net() {
  return std::make_unique<LinearNet<T>>();
}

template std::unique_ptr<AutoregressiveNet<float>> linear_net();
template std::unique_ptr<AutoregressiveNet<double>> linear_net();

}  // namespace unfold
