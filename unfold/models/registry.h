#pragma once
/// All models there are: by SPEC, and by the kind that a file says it holds. An explicit list.
///
/// A kind of fitted model is a class with
///   static constexpr const char* kName, kHelp;                // "ngram", also its kind; one line
///   static std::string canonical(std::string_view spec);      // UsageError
///   static std::vector<OptionHelp> options();
///   Model(std::string_view spec, Alphabet alphabet);
///   explicit Model(const ModelFile& file);                    // ModelError
/// and one line in registry.cpp.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/capabilities/symbol_model.h"
#include "unfold/models/spec.h"

namespace unfold {

/// The canonical SPEC of any model. Throws UsageError: unknown (with the nearest name), not built yet, a wrong option.
std::string canonical_model(std::string_view spec);
/// True for a model that is fitted, false for one that is trained by gradient. REQUIRES a valid SPEC.
bool is_fitted_model(std::string_view spec);
/// Of fitted models: whether several processes may fit one together, within a limit of memory (FitOptions).
bool is_counted_model(std::string_view spec);
/// A fitted model that was not fitted yet. Throws UsageError.
std::unique_ptr<FittedModel> make_fitted_model(std::string_view spec, Alphabet alphabet);

/// Throws ModelError: missing, damaged, of an unknown format, version or kind, a tensor that does not fit.
std::unique_ptr<Model> load_model_file(const std::string& path);
std::unique_ptr<Model> model_from_bytes(std::string bytes, std::string name);
/// The same, also of a run folder; ModelError for one that is no model of symbols.
std::unique_ptr<SymbolModel> load_symbol_model(const std::string& path);
std::unique_ptr<SymbolModel> symbol_model_from_bytes(std::string bytes, std::string name);

/// All models there are, recurrent ones first, for help texts.
std::vector<ModelHelp> all_models();

}  // namespace unfold
