#include "unfold/model/registry/registry.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "model/adaptive/replay_model.h"
#include "model/forecast/segments/segment_model.h"
#include "model/hmm/hmm.h"
#include "model/ngram/frequency.h"
#include "model/ngram/ngram.h"
#include "unfold/base/error.h"
#include "unfold/model/network/language_model.h"
#include "unfold/model/network/network_model.h"

namespace unfold {
namespace {

/// A kind of fitted model. Its options are defined by its class.
struct FittedKind {
  const char *name, *help;
  std::string (*canonical)(std::string_view);
  std::vector<OptionHelp> (*options)();
  std::unique_ptr<FittedModel> (*make)(std::string_view, Alphabet);
  std::unique_ptr<FittedModel> (*read)(const ModelFile&);
};

template <class Model>
constexpr FittedKind kind() {
  return {Model::kName,
          Model::kHelp,
          Model::canonical,
          Model::options,
          [](std::string_view spec, Alphabet alphabet) -> std::unique_ptr<FittedModel> {
            return std::make_unique<Model>(spec, std::move(alphabet));
          },
          [](const ModelFile& file) -> std::unique_ptr<FittedModel> { return std::make_unique<Model>(file); }};
}

const Registry<FittedKind>& fitted_kinds() {
  static const Registry<FittedKind> list(
      "fitted model", {kind<UniformModel>(), kind<FrequencyModel>(), kind<NgramModel>(), kind<HmmModel>(),
                       kind<CmModel>(), kind<DnaModel>(), kind<CtwModel>(), kind<PpmModel>(), kind<MixModel>()});
  return list;
}

const FittedKind* find_kind(std::string_view spec) { return fitted_kinds().find(spec_name(spec)); }

/// Reads a network in the precision of its tensors.
template <template <class> class NetworkKind>
std::unique_ptr<Model> read_network(const ModelFile& file) {
  const auto& tensors = file.tensors().tensors();
  if (!tensors.empty() && tensors.front().dtype == Dtype::f64) return std::make_unique<NetworkKind<double>>(file);
  return std::make_unique<NetworkKind<float>>(file);
}

std::unique_ptr<Model> read_model(const ModelFile& file) {
  const std::string kind = file.kind();
  if (kind == LanguageModel<float>::kKind) return read_network<LanguageModel>(file);
  if (kind == NetworkModel<float>::kKind) return read_network<NetworkModel>(file);
  if (kind == forecasting::SegmentModel::kKind) return std::make_unique<forecasting::SegmentModel>(file);
  if (const FittedKind* fitted = fitted_kinds().find(kind)) return fitted->read(file);
  file.fail(fmt::format("\"{}\" is not a supported kind of model", kind));
}

/// Converts to a symbol model. Throws if the model is of a different type.
std::unique_ptr<SymbolModel> symbol_model(std::unique_ptr<Model> model, const std::string& name) {
  auto* symbols = model->as<SymbolModel>();
  if (symbols == nullptr)
    throw ModelError(fmt::format("{}: {}, which reads {}, is not a model of symbols; use it with {}", name,
                                 model->spec_text(), model->data().source,
                                 task_of(*model).empty() ? "predict, score, eval or info" : "eval or info"));
  (void)model.release();
  return std::unique_ptr<SymbolModel>(symbols);
}

}  // namespace

std::string canonical_model(std::string_view spec) {
  if (const FittedKind* kind = find_kind(spec)) return kind->canonical(spec);
  return to_string(parse_model_spec(spec, fitted_kinds().names()));
}

bool is_fitted_model(std::string_view spec) { return find_kind(spec) != nullptr; }

bool is_counted_model(std::string_view spec) { return spec_name(spec) == NgramModel::kName; }

std::unique_ptr<FittedModel> make_fitted_model(std::string_view spec, Alphabet alphabet) {
  const FittedKind* kind = find_kind(spec);
  if (kind == nullptr) throw UsageError(fmt::format("{} is not a fitted model", canonical_model(spec)));
  return kind->make(spec, std::move(alphabet));
}

std::unique_ptr<Model> load_model_file(const std::string& path) { return read_model(ModelFile::open(path)); }

std::unique_ptr<SymbolModel> load_symbol_model(const std::string& path) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  return symbol_model(load_model_file(folder ? path + "/model.safetensors" : path), path);
}

std::unique_ptr<Model> model_from_bytes(std::string bytes, std::string name) {
  return read_model(ModelFile::from_bytes(std::move(bytes), std::move(name)));
}

std::unique_ptr<SymbolModel> symbol_model_from_bytes(std::string bytes, std::string name) {
  const ModelFile file = ModelFile::from_bytes(std::move(bytes), std::move(name));
  return symbol_model(read_model(file), file.name());
}

std::vector<ModelHelp> all_models() {
  std::vector<ModelHelp> result = models();
  for (const FittedKind& kind : fitted_kinds()) result.push_back({kind.name, kind.help, kind.options()});
  return result;
}

}  // namespace unfold
