#include "model/ngram/frequency.h"

#include <nlohmann/json.hpp>

#include "model/fitted_spec.h"
#include "model/markov.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

/// Predicts the same distribution at every step.
class ConstantPredictor final : public Predictor, public MarkovContext {
 public:
  explicit ConstantPredictor(const std::vector<double>& weights) {
    double total = 0;
    for (const double w : weights) total += w;
    std::vector<double> logs(weights.size());
    for (std::size_t x = 0; x < weights.size(); ++x) logs[x] = weights[x] / total;
    vector_log(logs.data(), logs.data(), static_cast<Index>(logs.size()));
    log_probabilities_ = std::make_shared<const std::vector<float>>(logs.begin(), logs.end());
  }
  Index alphabet() const override { return static_cast<Index>(log_probabilities_->size()); }
  std::span<const float> log_probabilities() override { return *log_probabilities_; }
  void reset() override {}
  void append_context(std::string&) const override {}
  std::unique_ptr<Predictor> clone() const override { return std::make_unique<ConstantPredictor>(*this); }

 private:
  void update(Symbol) override {}

  std::shared_ptr<const std::vector<float>> log_probabilities_;
};

}  // namespace

std::string UniformModel::canonical(std::string_view spec) {
  parse_fitted_spec<NoOptions>(spec, "");
  return kName;
}

UniformModel::UniformModel(std::string_view spec, const Alphabet& alphabet) : FittedModel(alphabet) { canonical(spec); }

UniformModel::UniformModel(const ModelFile& file) : FittedModel(file) {
  read_fitted_spec<NoOptions>(file, kName, "");
  file.expect_tensors({});
}

std::unique_ptr<Predictor> UniformModel::make_predictor() const {
  return std::make_unique<ConstantPredictor>(std::vector<double>(static_cast<std::size_t>(alphabet().size()), 1.0));
}

nlohmann::json UniformModel::fit(const TrainingData& data, const FitOptions&, Team&) {
  check_alphabet(data.corpus);
  return nlohmann::json::object();
}

std::string FrequencyModel::canonical(std::string_view spec) {
  return fitted_spec(kName, parse_fitted_spec<FrequencyOptions>(spec, ""), "");
}

std::vector<OptionHelp> FrequencyModel::options() { return help_of(FrequencyOptions()); }

FrequencyModel::FrequencyModel(std::string_view spec, const Alphabet& alphabet)
    : FittedModel(alphabet),
      options_(parse_fitted_spec<FrequencyOptions>(spec, "")),
      counts_(static_cast<std::size_t>(this->alphabet().size())) {}

FrequencyModel::FrequencyModel(const ModelFile& file)
    : FittedModel(file),
      options_(read_fitted_spec<FrequencyOptions>(file, kName, "")),
      counts_(static_cast<std::size_t>(alphabet().size())) {
  file.expect_tensors({"counts"});
  file.tensors().read<std::int64_t>("counts", {alphabet().size()}, std::span(counts_));
  Index total = 0;
  for (const Index n : counts_)
    if (n < 0 || (total += n) >= Index{1} << 52) file.fail("tensor \"counts\" contains a number that is not a count");
}

std::string FrequencyModel::spec_text() const { return fitted_spec(kName, options_, ""); }

std::unique_ptr<Predictor> FrequencyModel::make_predictor() const {
  std::vector<double> weights;
  for (const Index n : counts_) weights.push_back(static_cast<double>(n) + options_.add);
  return std::make_unique<ConstantPredictor>(weights);
}

nlohmann::json FrequencyModel::fit(const TrainingData& data, const FitOptions& options, Team&) {
  check_alphabet(data.corpus);
  std::fill(counts_.begin(), counts_.end(), 0);
  const Index symbols = data.training.symbols();
  std::size_t step = 0;
  for (const Piece& piece : data.training.pieces)
    for_each_symbol(data.corpus, piece, [&](Symbol x) {
      options.tick("counting", step++, static_cast<std::size_t>(symbols));
      ++counts_[static_cast<std::size_t>(x)];
    });
  return {{"symbols", symbols}};
}

void FrequencyModel::add_tensors(SafetensorsWriter& writer) const {
  writer.add<std::int64_t>("counts", {alphabet().size()}, std::span<const std::int64_t>(counts_));
}

}  // namespace unfold
