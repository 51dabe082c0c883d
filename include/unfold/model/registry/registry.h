#pragma once
/// The registry of models: by SPEC, and by the kind that a file contains.
///
/// A kind of fitted model is a class with
///   static constexpr const char* kName, kHelp;                // "ngram", also its kind; one line
///   static std::string canonical(std::string_view spec);      // UsageError
///   static std::vector<OptionHelp> options();
///   Model(std::string_view spec, Alphabet alphabet);
///   explicit Model(const ModelFile& file);                    // ModelError
/// and one line in src/model/registry/registry.cpp.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/model/network/spec.h"
#include "unfold/model/symbol_model.h"

namespace unfold {

/// Returns the canonical SPEC of any model. Throws UsageError for an unknown model (suggesting the nearest name), for a
/// model that is not part of this version, and for an invalid option.
std::string canonical_model(std::string_view spec);
/// Returns true for a model that is fitted and false for a model that is trained by gradient descent. REQUIRES a valid
/// SPEC.
bool is_fitted_model(std::string_view spec);
/// For fitted models: returns whether several processes can fit the model together, within a memory limit (FitOptions).
bool is_counted_model(std::string_view spec);
/// Creates a fitted model; it must be fitted before use. Throws UsageError.
std::unique_ptr<FittedModel> make_fitted_model(std::string_view spec, Alphabet alphabet);

/// Loads a model of any kind. Throws ModelError if the file is missing, damaged, or of an unknown format, version or
/// kind, or if a tensor does not match the model.
std::unique_ptr<Model> load_model_file(const std::string& path);
std::unique_ptr<Model> model_from_bytes(std::string bytes, std::string name);
/// Like load_model_file, but also accepts a run folder. Throws ModelError if the model is not a symbol model.
std::unique_ptr<SymbolModel> load_symbol_model(const std::string& path);
std::unique_ptr<SymbolModel> symbol_model_from_bytes(std::string bytes, std::string name);

/// Returns all models, recurrent ones first, for help texts.
std::vector<ModelHelp> all_models();

}  // namespace unfold
