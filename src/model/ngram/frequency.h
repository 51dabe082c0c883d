#pragma once
/// Baselines that every other model should beat: the uniform distribution, and the symbol frequencies of the training
/// part.

#include "unfold/base/options/options.h"
#include "unfold/model/symbol_model.h"

namespace unfold {

/// `uniform`: p(x) = 1 / symbols.
class UniformModel final : public FittedModel {
 public:
  static constexpr const char *kName = "uniform", *kHelp = "the uniform distribution, a baseline";
  static std::string canonical(std::string_view spec);
  static std::vector<OptionHelp> options() { return {}; }
  UniformModel(std::string_view spec, const Alphabet& alphabet);
  explicit UniformModel(const ModelFile& file);

  std::string spec_text() const override { return kName; }
  nlohmann::json fit(const TrainingData& data, const FitOptions& options, Team& team) override;

 protected:
  std::unique_ptr<Predictor> make_predictor() const override;
  std::string kind() const override { return kName; }
  void add_tensors(SafetensorsWriter&) const override {}
};

struct FrequencyOptions {
  double add = 0.5;  ///< added to every count
};
template <class Visitor>
void describe(Visitor& v, FrequencyOptions& o) {
  v("add", o.add, "added to the count of every symbol", above(0));
}

/// `frequency`: p(x) = (count(x) + add) / (all counts + add * symbols); add = 1/2 is the Krichevsky-Trofimov estimator.
class FrequencyModel final : public FittedModel {
 public:
  static constexpr const char *kName = "frequency", *kHelp = "symbol frequencies of the training part, a baseline";
  static std::string canonical(std::string_view spec);
  static std::vector<OptionHelp> options();
  FrequencyModel(std::string_view spec, const Alphabet& alphabet);
  explicit FrequencyModel(const ModelFile& file);

  std::string spec_text() const override;
  nlohmann::json fit(const TrainingData& data, const FitOptions& options, Team& team) override;

 protected:
  std::unique_ptr<Predictor> make_predictor() const override;
  std::string kind() const override { return kName; }
  void add_tensors(SafetensorsWriter& writer) const override;

 private:
  FrequencyOptions options_;
  std::vector<Index> counts_;
};

}  // namespace unfold
