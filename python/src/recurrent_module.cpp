/// Recurrent layers for unfold.torch: tensors are passed as addresses, which the layers have checked.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "recurrent.h"
#include "work.h"

namespace unfold::python {
namespace {

using Address = std::uintptr_t;  ///< 0: absent

RecurrentKind kind_named(const std::string& name) {
  constexpr std::array<std::pair<std::string_view, RecurrentKind>, 4> kNames = {{{"RNN_TANH", RecurrentKind::rnn_tanh},
                                                                                 {"RNN_RELU", RecurrentKind::rnn_relu},
                                                                                 {"LSTM", RecurrentKind::lstm},
                                                                                 {"GRU", RecurrentKind::gru}}};
  for (const auto& [known, kind] : kNames)
    if (known == name) return kind;
  throw UsageError("recurrent layer: unknown kind " + name);
}

/// (steps, sequences, address of the batch sizes or 0)
using Batch = std::tuple<Index, Index, Address>;
/// (weights, x, y, h_0, c_0, h_n, c_n)
using Tensors = std::tuple<std::vector<Address>, Address, Address, Address, Address, Address, Address>;
/// (address, numbers) of the block that keeps the values of a forward pass
using Block = std::pair<Address, std::size_t>;

RecurrentBatch batch_of(const Batch& given) {
  const auto [steps, sequences, sizes] = given;
  RecurrentBatch batch{.steps = steps, .sequences = sequences};
  if (sizes != 0) batch.batch_sizes = {reinterpret_cast<const std::int64_t*>(sizes), static_cast<std::size_t>(steps)};
  return batch;
}

template <class T>
RecurrentTensors<T> tensors_of(const Tensors& given) {
  const auto pointer = [](Address address) { return reinterpret_cast<T*>(address); };
  const auto& [weights, x, y, h_0, c_0, h_n, c_n] = given;
  RecurrentTensors<T> tensors{.x = pointer(x),
                              .y = pointer(y),
                              .h_0 = pointer(h_0),
                              .c_0 = pointer(c_0),
                              .h_n = pointer(h_n),
                              .c_n = pointer(c_n)};
  for (const Address weight : weights) tensors.weights.push_back(pointer(weight));
  return tensors;
}

template <class T>
std::span<T> block_of(const Block& given) {
  return {reinterpret_cast<T*>(given.first), given.second};
}

/// A Recurrent in single or double precision.
class AnyRecurrent {
 public:
  AnyRecurrent(const RecurrentStack& stack, bool in_double) {
    if (in_double)
      of_.emplace<std::unique_ptr<Recurrent<double>>>(std::make_unique<Recurrent<double>>(stack));
    else
      of_.emplace<std::unique_ptr<Recurrent<float>>>(std::make_unique<Recurrent<float>>(stack));
  }
  std::tuple<Index, Index, Index> block_size() const {
    return std::visit(
        [](const auto& r) {
          const auto size = r->block_size();
          return std::tuple(size.position, size.sequence, size.constant);
        },
        of_);
  }
  void forward(const Batch& batch, const Tensors& tensors, const Block& block, std::optional<std::uint64_t> seed,
               int threads) {
    visit([&]<class T>(Recurrent<T>& r) {
      r.forward(batch_of(batch), tensors_of<T>(tensors), block_of<T>(block), seed, threads);
    });
  }
  void backward(const Batch& batch, const Tensors& values, const Block& block, const Tensors& gradients, int threads) {
    visit([&]<class T>(Recurrent<T>& r) {
      r.backward(batch_of(batch), tensors_of<T>(values), block_of<T>(block), tensors_of<T>(gradients), threads);
    });
  }
  void tangent(const Batch& batch, const Tensors& values, const Block& block, const Tensors& tangents, int threads) {
    visit([&]<class T>(Recurrent<T>& r) {
      r.tangent(batch_of(batch), tensors_of<T>(values), block_of<T>(block), tensors_of<T>(tangents), threads);
    });
  }

 private:
  template <class Do>
  void visit(const Do& work) {
    const nb::gil_scoped_release unlocked;
    std::visit([&](auto& r) { work(*r); }, of_);
  }
  std::variant<std::unique_ptr<Recurrent<float>>, std::unique_ptr<Recurrent<double>>> of_;
};

}  // namespace

void add_recurrent(nb::module_& module) {
  nb::class_<AnyRecurrent>(module, "Recurrent",
                           "Layers of torch.nn.RNN, LSTM or GRU on memory given by addresses, for unfold.torch.")
      .def(
          "__init__",
          [](AnyRecurrent* self, const std::string& kind, Index input, Index hidden, Index layers, bool bidirectional,
             bool bias, double dropout, bool input_gradient, bool in_double) {
            new (self) AnyRecurrent({.kind = kind_named(kind),
                                     .input = input,
                                     .hidden = hidden,
                                     .layers = layers,
                                     .bidirectional = bidirectional,
                                     .bias = bias,
                                     .dropout = dropout,
                                     .input_gradient = input_gradient},
                                    in_double);
          },
          nb::arg("kind"), nb::arg("input"), nb::arg("hidden"), nb::arg("layers"), nb::arg("bidirectional"),
          nb::arg("bias"), nb::arg("dropout"), nb::arg("input_gradient"), nb::arg("in_double"))
      .def("block_size", &AnyRecurrent::block_size)
      .def("forward", &AnyRecurrent::forward, nb::arg("batch"), nb::arg("tensors"), nb::arg("block"),
           nb::arg("seed").none(), nb::arg("threads"))
      .def("backward", &AnyRecurrent::backward, nb::arg("batch"), nb::arg("values"), nb::arg("block"),
           nb::arg("gradients"), nb::arg("threads"))
      .def("tangent", &AnyRecurrent::tangent, nb::arg("batch"), nb::arg("values"), nb::arg("block"),
           nb::arg("tangents"), nb::arg("threads"));
}

}  // namespace unfold::python
