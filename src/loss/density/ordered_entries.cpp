/// Registry entries of the autoregressive distributions of vectors (loss/density/ordered_net.h).

#include <memory>

#include "loss/density/columns_option.h"
#include "loss/density/mean_gradient.h"
#include "loss/density/ordered_density.h"
#include "unfold/loss/registry.h"

namespace unfold {
namespace {

constexpr double kMostNadeUnits = 65536, kMostNadeComponents = 1000, kMostGroupUnits = 4096, kMostRounds = 100;

/// Returns the distributions of the columns given by the option `columns`. If this is empty, all numbers have the
/// distribution `of_numbers`, or are bits if `of_numbers` is null.
template <class T>
ColumnDistributions<T> laws_of(const std::string& columns, std::unique_ptr<ComponentDistribution<T>> of_numbers,
                               const char* who) {
  if (columns.empty()) return ColumnDistributions<T>(of_numbers ? std::move(of_numbers) : bit_distribution<T>());
  return ColumnDistributions<T>(parse_columns(columns), std::move(of_numbers), who);
}

struct NadeOptions {
  Index units = 100, rounds = 1;
  std::string columns = {};
};

template <class Visitor>
void describe(Visitor& v, NadeOptions& o) {
  v("units", o.units, "hidden units", range(1, kMostNadeUnits));
  v("rounds", o.rounds, "rounds of re-estimating the unknown bits; 1: none (NADE)", range(1, kMostRounds));
  describe_columns(v, o.columns);
}

struct RnadeOptions {
  Index units = 50, components = 10;
  MixtureShape shape = MixtureShape::gaussian;
  NadeActivation activation = NadeActivation::relu;
  double background = 0;
  MeanGradient means = MeanGradient::exact;
  std::string columns = {};
};

template <class Visitor>
void describe(Visitor& v, RnadeOptions& o) {
  v("units", o.units, "hidden units", range(1, kMostNadeUnits));
  v("components", o.components, "number of components in the mixture of each number", range(1, kMostNadeComponents));
  v("shape", o.shape, "distribution of the components",
    {{MixtureShape::gaussian, "gaussian"}, {MixtureShape::laplace, "laplace"}});
  v("activation", o.activation, "activation function of the units",
    {{NadeActivation::sigmoid, "sigmoid"}, {NadeActivation::relu, "relu"}});
  describe_background(v, o.background);
  describe_mean_gradient(v, o.means);
  describe_columns(v, o.columns);
}

struct MadeOptions {
  Index units = 100, layers = 1;
  std::string columns = {};
};

template <class Visitor>
void describe(Visitor& v, MadeOptions& o) {
  v("units", o.units, "hidden units of a layer", range(1, kMostNadeUnits));
  v("layers", o.layers, "number of hidden layers", range(1, static_cast<double>(kMostMadeLayers)));
  describe_columns(v, o.columns);
}

struct NeuralArOptions {
  Index units = 5, layers = 1;
  std::string columns = {};
};

template <class Visitor>
void describe(Visitor& v, NeuralArOptions& o) {
  v("units", o.units, "hidden units in the group of each bit", range(1, kMostGroupUnits));
  v("layers", o.layers, "number of layers of groups", range(1, static_cast<double>(kMostGroupLayers)));
  describe_columns(v, o.columns);
}

struct LinearArOptions {
  std::string columns = {};
};

template <class Visitor>
void describe(Visitor& v, LinearArOptions& o) {
  describe_columns(v, o.columns);
}

/// neural-ar: numbers are normal; without columns, all numbers are bits.
template <class T>
std::unique_ptr<ComponentDistribution<T>> numbers_of_columns(const std::string& columns) {
  return columns.empty() ? nullptr : normal_distribution<T>();
}

template <class T>
std::unique_ptr<Loss<T>> make(const NadeOptions& o) {
  if (o.rounds > 1 && !o.columns.empty())
    throw UsageError("nade: rounds= supports only bits; leave it out for categorical columns");
  return ordered_density<T>(
      "nade", o.rounds > 1 ? nade_k_net<T>(o.units, o.rounds) : nade_net<T>(o.units, NadeActivation::sigmoid),
      laws_of<T>(o.columns, nullptr, "nade"));
}

template <class T>
std::unique_ptr<Loss<T>> make(const RnadeOptions& o) {
  return ordered_density<T>(
      "rnade", nade_net<T>(o.units, o.activation),
      laws_of<T>(o.columns, mixture_distribution<T>(o.components, o.shape, o.background, o.means), "rnade"));
}

template <class T>
std::unique_ptr<Loss<T>> make(const MadeOptions& o) {
  return ordered_density<T>("made", made_net<T>(o.units, o.layers), laws_of<T>(o.columns, nullptr, "made"));
}

template <class T>
std::unique_ptr<Loss<T>> make(const NeuralArOptions& o) {
  return ordered_density<T>("neural-ar", group_net<T>(o.units, o.layers),
                            laws_of<T>(o.columns, numbers_of_columns<T>(o.columns), "neural-ar"));
}

template <class T>
std::unique_ptr<Loss<T>> logistic_ar(const AnyOptions& any) {
  const std::string& columns = any.as<LinearArOptions>().columns;
  return ordered_density<T>("logistic-ar", linear_net<T>(), laws_of<T>(columns, nullptr, "logistic-ar"));
}

template <class T>
std::unique_ptr<Loss<T>> linear_ar(const AnyOptions& any) {
  const std::string& columns = any.as<LinearArOptions>().columns;
  return ordered_density<T>("linear-ar", linear_net<T>(), laws_of<T>(columns, normal_distribution<T>(), "linear-ar"));
}

/// Returns the signal size for n numbers: all outputs of their distributions plus `beside`.
Index signal_size(const std::string& columns, Index n, std::unique_ptr<ComponentDistribution<float>> of_numbers,
                  Index beside) {
  return laws_of<float>(columns, std::move(of_numbers), "").shape(n).all_outputs() + beside;
}

Index signal_size(const NadeOptions& o, Index n) { return signal_size(o.columns, n, nullptr, o.units); }
Index signal_size(const RnadeOptions& o, Index n) {
  return signal_size(o.columns, n, mixture_distribution<float>(o.components, o.shape, o.background), o.units);
}

Index signal_size(const MadeOptions& o, Index n) { return signal_size(o.columns, n, nullptr, o.units * o.layers); }
Index signal_size(const NeuralArOptions& o, Index n) {
  return signal_size(o.columns, n, numbers_of_columns<float>(o.columns), 0);
}

template <class Options>
LossEntry ordered_entry(const char* name, const char* help, Density density) {
  return {.name = name,
          .help = help,
          .of_symbols = false,
          .make_float = [](const AnyOptions& any) { return make<float>(any.as<Options>()); },
          .make_double = [](const AnyOptions& any) { return make<double>(any.as<Options>()); },
          .options = Options(),
          .main_option = "units",
          .size_of_signal = [](Index n, const AnyOptions& any) { return signal_size(any.as<Options>(), n); },
          .density = density};
}

}  // namespace

LossEntry nade_entry() {
  return ordered_entry<NadeOptions>(
      "nade", "bits in order, each conditioned on the previous ones: h_d = sigmoid(c + sum_{j<d} x_j W_j)",
      Density::bits);
}

LossEntry rnade_entry() {
  return ordered_entry<RnadeOptions>("rnade", "numbers in order, each a mixture conditioned on the previous ones",
                                     Density::numbers);
}

LossEntry made_entry() {
  return ordered_entry<MadeOptions>(
      "made", "bits in order, predicted by layers in which weights from later bits are masked", Density::bits);
}

LossEntry neural_ar_entry() {
  return ordered_entry<NeuralArOptions>(
      "neural-ar", "bits in order, each predicted from the previous ones by a network with separate units",
      Density::bits);
}

LossEntry logistic_ar_entry() {
  return {
      .name = "logistic-ar",
      .help = "bits in order, each by logistic regression on the previous ones",
      .of_symbols = false,
      .make_float = logistic_ar<float>,
      .make_double = logistic_ar<double>,
      .options = LinearArOptions(),
      .size_of_signal =
          [](Index n, const AnyOptions& any) { return signal_size(any.as<LinearArOptions>().columns, n, nullptr, 0); },
      .density = Density::bits};
}

LossEntry linear_ar_entry() {
  return {.name = "linear-ar",
          .help = "numbers in order, each normal around a linear map of the previous ones",
          .of_symbols = false,
          .make_float = linear_ar<float>,
          .make_double = linear_ar<double>,
          .options = LinearArOptions(),
          .size_of_signal =
              [](Index n, const AnyOptions& any) {
                return signal_size(any.as<LinearArOptions>().columns, n, normal_distribution<float>(), 0);
              },
          .density = Density::numbers};
}

}  // namespace unfold
