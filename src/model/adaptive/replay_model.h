#pragma once
/// Model files for models that learn online (model/adaptive/learning.h). A file contains the SPEC and the symbols that
/// were read; loading a model reads the symbols again. Files are therefore small and exact and contain no code, and
/// loading takes as long as fitting.
///
/// Their predictors do not keep learning unless requested (`set_learning`; `eval --dynamic`, `compress --online`).

#include "model/adaptive/learning.h"

namespace unfold {

class ReplayModel : public FittedModel {
 public:
  std::string spec_text() const override { return spec_; }
  nlohmann::json fit(const TrainingData& data, const FitOptions& options, Team& team) override;

 protected:
  std::unique_ptr<Predictor> make_predictor() const override { return prototype_->clone(); }
  ReplayModel(std::string_view spec, const Alphabet& alphabet);
  ReplayModel(const ModelFile& file, std::string_view name);
  void add_tensors(SafetensorsWriter& writer) const override;

 private:
  void replay(const FitOptions& options);

  std::string spec_;
  std::vector<std::int32_t> symbols_;  // symbols of all sequences, one after another
  std::vector<std::int64_t> lengths_;  // lengths of the sequences
  std::unique_ptr<Predictor> prototype_;
};

/// One kind of replay model, with the interface that the registry requires.
template <class Kind>
class ReplayKind final : public ReplayModel {
 public:
  static constexpr const char *kName = Kind::kName, *kHelp = Kind::kHelp;
  static std::string canonical(std::string_view spec) { return canonical_learner(spec); }
  static std::vector<OptionHelp> options() { return learner_options(kName); }
  ReplayKind(std::string_view spec, const Alphabet& alphabet) : ReplayModel(spec, alphabet) {}
  explicit ReplayKind(const ModelFile& file) : ReplayModel(file, kName) {}

 protected:
  std::string kind() const override { return kName; }
};

struct CmKind {
  static constexpr const char *kName = "cm", *kHelp = "context mixing: many context models, mixed bit by bit";
};
struct DnaKind {
  static constexpr const char *kName = "dna", *kHelp = "context mixing for genomes, read on both strands";
};
struct PpmKind {
  static constexpr const char *kName = "ppm", *kHelp = "prediction by partial matching";
};
struct CtwKind {
  static constexpr const char *kName = "ctw", *kHelp = "context tree weighting";
};
struct MixKind {
  static constexpr const char *kName = "mix", *kHelp = "a mixture of several models: mix:lstm:128+ppm:5";
};
using CmModel = ReplayKind<CmKind>;
using DnaModel = ReplayKind<DnaKind>;
using PpmModel = ReplayKind<PpmKind>;
using CtwModel = ReplayKind<CtwKind>;
using MixModel = ReplayKind<MixKind>;

}  // namespace unfold
