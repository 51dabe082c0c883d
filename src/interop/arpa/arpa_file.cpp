#include "interop/arpa/arpa_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "model/ngram/arpa.h"
#include "model/registry/run_folder.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

/// An ARPA file holds probabilities of symbols; it does not record how symbols are read from files or which of them are
/// predicted. Throws UsageError for a model whose scores depend on that.
void require_plain_text(const NgramModel& model, const std::string& name) {
  const nlohmann::json& configuration = model.configuration();
  const auto refuse = [&](const char* what, const char* remedy) {
    throw UsageError(fmt::format(
        "{}: {}, which an ARPA file cannot represent, so the imported model would have different scores; {}", name,
        what, remedy));
  };
  const auto is_set = [&](const char* key) {  // the value may have any type, because a model file may contain anything
    const auto found = configuration.find(key);
    return found != configuration.end() && !found->is_null() && *found != nlohmann::json(false);
  };
  if (is_set("log"))
    refuse("the model reads lines of a log as templates", "train on the log with --format text --lines to export it");
  if (is_set("format") && configuration["format"] == "fasta")
    refuse("the model reads FASTA records",
           "train on the sequences as text, one per line, with --format text --lines to export it");
  if (is_set("label-column"))
    refuse("the first column of the data is a label", "train on lines without labels to export it");
  if (is_set("predict-after"))
    refuse("the model predicts only symbols after --predict-after", "train without that option to export it");
}

}  // namespace

void export_arpa(const std::string& model, const std::function<void(std::string_view)>& write) {
  const std::unique_ptr<SymbolModel> loaded = load_model(model);
  const auto* ngrams = dynamic_cast<const NgramModel*>(loaded.get());
  if (ngrams == nullptr)
    throw UsageError(
        fmt::format("only n-gram models can be written as ARPA files, and {} is {}; --to names another format", model,
                    loaded->spec_text()));
  require_plain_text(*ngrams, model);
  write_arpa(*ngrams, write);
}

ImportOutcome import_arpa(const std::string& file, const std::string& symbols, const std::string& out) {
  const SymbolKind kind = parse_symbol_kind(symbols);
  const NgramModel model = read_arpa(Input::open(file), kind);
  model.save(out);
  return {model.spec_text(), model.alphabet().size()};
}

}  // namespace unfold
