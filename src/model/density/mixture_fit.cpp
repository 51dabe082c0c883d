#include "model/density/mixture_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "loss/density/bernoulli_mixture_fit.h"
#include "loss/density/mixture_options.h"
#include "loss/hmm/vector_hmm.h"
#include "model/network/density_model.h"
#include "model/network/fitting/hmm_fit.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"
#include "unfold/loss/registry.h"

namespace unfold {
namespace {

/// With 20 initializations, about one fit in 20 of overlapping components is 0.01 nats per row below the best.
constexpr Index kMixtureStarts = 40, kStartsOfManyRows = 20, kManyMixtureRows = 20'000;
constexpr const char *kGaussianMixture = "gaussian-mixture", *kBernoulliMixture = "bernoulli-mixture";

/// All rows, in double.
struct RowsOfExamples {
  explicit RowsOfExamples(const ExampleSet& examples) {
    const FieldColumn& column = examples.column(kVector);
    if (column.values.empty())
      throw DataError(
          fmt::format("{}: there is no training data; use more data, or a larger training share", examples.source()));
    const auto missing = std::ranges::find(column.present, char{0});
    if (missing != column.present.end())
      throw DataError(fmt::format("{}: a vector is missing at position {}; fill it in, or remove its row",
                                  examples.source(), missing - column.present.begin() + 1));
    numbers = examples.data().field(kVector).size;
    values.assign(column.values.begin(), column.values.end());
    weights = weights_of_positions(examples);
  }
  Matrix<const double> rows() const {
    return {values.data(), static_cast<Index>(values.size()) / numbers, numbers, numbers};
  }

  std::vector<double> values, weights;
  Index numbers = 0;
};

/// Appends the logits of the probabilities of bits.
void append_logits(const std::vector<double>& probabilities, std::vector<double>& out) {
  std::vector<double> ones = probabilities, zeros = probabilities;
  for (double& q : zeros) q = 1 - q;
  const auto n = static_cast<Index>(probabilities.size());
  vector_log(ones.data(), ones.data(), n);
  vector_log(zeros.data(), zeros.data(), n);
  for (std::size_t i = 0; i < ones.size(); ++i) out.push_back(ones[i] - zeros[i]);
}

void fit_gaussians(const GaussianMixtureOptions& o, const RowsOfExamples& data, MixtureFit& result, std::uint64_t seed,
                   const std::atomic<bool>* stop, Team& team) {
  const VectorHmmShape shape{.components = o.components,
                             .numbers = data.numbers,
                             .full = o.covariance == Covariance::full,
                             .prior = o.prior,
                             .pooled = o.pooled};
  const Index starts = data.rows().rows > kManyMixtureRows ? kStartsOfManyRows : kMixtureStarts;
  const VectorHmmFit fit = fit_vector_hmm(shape, rows_as_runs(data.rows(), data.weights),
                                          {.starts = starts, .restarts = 3, .seed = seed, .stop = stop}, team);
  result.signal = mixture_signal(fit.hmm);
  result.log_likelihood = fit.log_likelihood;
  result.iterations = fit.iterations;
}

void fit_bits(const BernoulliMixtureOptions& o, const RowsOfExamples& data, MixtureFit& result, std::uint64_t seed,
              const std::atomic<bool>* stop, Team& team) {
  const BernoulliMixtureFit fit =
      fit_bernoulli_mixture(data.rows(), o.components, {.seed = seed, .stop = stop, .weights = data.weights}, team);
  result.signal = fit.weights;
  vector_log(result.signal.data(), result.signal.data(), o.components);
  append_logits(fit.probabilities, result.signal);
  result.log_likelihood = fit.log_likelihood;
  result.iterations = fit.iterations;
}

}  // namespace

bool names_mixture(std::string_view spec) {
  const std::string_view name = spec_name(spec);
  return name == kGaussianMixture || name == kBernoulliMixture;
}

bool is_fitted_mixture(std::string_view spec) {
  if (!names_mixture(spec)) return false;
  const AnyOptions options = choose_loss(spec).options;
  const MixtureFitting fit = spec_name(spec) == kGaussianMixture ? options.as<GaussianMixtureOptions>().fit
                                                                 : options.as<BernoulliMixtureOptions>().fit;
  return fit == MixtureFitting::em;
}

std::string by_gradients(std::string_view text) {
  Spec spec = parse_spec(text);
  std::erase_if(spec.values, [](const auto& value) { return value.first == "fit"; });
  spec.values.emplace_back("fit", "gradients");
  return to_string(parse_model_spec(to_string(spec)));
}

std::string MixtureFit::remark() const {
  return fmt::format(
      "{}: fitted by expectation-maximization, {} iterations from the best initialization; {:.4f} nats per training "
      "row, standardized",
      model, iterations, -log_likelihood / weight);
}

nlohmann::json MixtureFit::history() const {
  return {{"fitted", "expectation-maximization"},
          {"log_likelihood", log_likelihood},
          {"iterations", iterations},
          {"rows", rows}};
}

MixtureFit fit_mixture(const ModelSpec& spec, const ExampleSet& training, std::uint64_t seed,
                       const std::atomic<bool>* stop, Team& team) {
  const RowsOfExamples data(training);
  const AnyOptions options = choose_loss(spec.density).options;
  MixtureFit result{.model = spec.density, .rows = data.rows().rows};
  result.weight = rows_as_runs(data.rows(), data.weights).total();
  if (spec_name(spec.density) == kGaussianMixture)
    fit_gaussians(options.as<GaussianMixtureOptions>(), data, result, seed, stop, team);
  else
    fit_bits(options.as<BernoulliMixtureOptions>(), data, result, seed, stop, team);
  return result;
}

template <class T>
TrainingResult train_mixture(const MixtureFit& fit, NetworkModel<T>& model, const std::string& model_file) {
  const std::string name = model.layout().output_name(0) + "/signal";
  const Matrix<T> into = model.parameters().at(name);
  if (into.rows != 1 || into.cols != static_cast<Index>(fit.signal.size()))
    throw UsageError(
        fmt::format("{} of {} has {} numbers instead of {}", name, fit.model, into.cols, fit.signal.size()));
  for (Index i = 0; i < into.cols; ++i) into(0, i) = static_cast<T>(fit.signal[at(i)]);
  model.history().push_back(fit.history());
  if (!model_file.empty()) model.save(model_file);
  return {.steps = fit.iterations, .epochs = 1, .symbols = fit.rows, .reason = "fitted"};
}

template TrainingResult train_mixture(const MixtureFit&, NetworkModel<float>&, const std::string&);
template TrainingResult train_mixture(const MixtureFit&, NetworkModel<double>&, const std::string&);

}  // namespace unfold
