#include "unfold/exchange/arpa_file.h"

#include <fmt/format.h>

#include "unfold/classical/arpa.h"
#include "unfold/runs/run_folder.h"

namespace unfold {

void export_arpa(const std::string& model, const std::function<void(std::string_view)>& write) {
  const std::unique_ptr<SymbolModel> loaded = load_model(model);
  const auto* ngrams = dynamic_cast<const NgramModel*>(loaded.get());
  if (ngrams == nullptr)
    throw UsageError(
        fmt::format("only n-gram models can be written as ARPA files, and {} is {}; --to names another format", model,
                    loaded->spec_text()));
  write_arpa(*ngrams, write);
}

ImportOutcome import_arpa(const std::string& file, const std::string& symbols, const std::string& out) {
  const SymbolKind kind = parse_symbol_kind(symbols);
  const NgramModel model = read_arpa(Input::open(file), kind);
  model.save(out);
  return {model.spec_text(), model.alphabet().size()};
}

}  // namespace unfold
