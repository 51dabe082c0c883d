#pragma once
/// SPECs of fitted models. The options are a struct with `describe(visitor, options)`; a bare number in a SPEC sets the
/// option named `main`, so `ngram:6` and `ngram:order=6` are equivalent.

#include "unfold/base/error.h"
#include "unfold/base/options/options.h"
#include "unfold/model/symbol_model.h"

namespace unfold {

/// `main` is empty if the model does not accept a bare number. Throws UsageError.
template <class Options>
Options parse_fitted_spec(std::string_view text, std::string_view main) {
  Options options;
  parse_options(parse_spec(text), options, main);
  return options;
}

/// Reads the options from the card of a file. Throws ModelError.
template <class Options>
Options read_fitted_spec(const ModelFile& file, std::string_view name, std::string_view main) {
  const auto text = file.value<std::string>("model");
  try {
    if (parse_spec(text).name != name) throw UsageError("\"" + text + "\" is not of the file's format");
    return parse_fitted_spec<Options>(text, main);
  } catch (const UsageError& error) {
    file.fail(std::string("the model in the card cannot be built: ") + error.what());
  }
}

/// Formats a SPEC: the main number, then the options that differ from their defaults.
inline std::string fitted_spec(std::string_view name, const AnyOptions& options, const AnyOptions& defaults,
                               std::string_view main) {
  const std::vector<OptionHelp> values = help_of(options);
  Spec spec{.name = std::string(name), .size = {}, .values = non_default_values(values, help_of(defaults))};
  std::erase_if(spec.values, [&](const auto& value) { return value.first == main; });
  for (const OptionHelp& option : values)
    if (option.name == main) spec.size = option.value;
  return to_string(spec);
}

template <class Options>
std::string fitted_spec(std::string_view name, const Options& options, std::string_view main) {
  return fitted_spec(name, options, Options(), main);
}

}  // namespace unfold
