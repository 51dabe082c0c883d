#include "model/ngram/ngram.h"

#include <nlohmann/json.hpp>

#include "model/fitted_spec.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr const char* kNgramMain = "order";

NgramOptions read_options(std::string_view spec, const Alphabet& alphabet) {
  const auto options = parse_fitted_spec<NgramOptions>(spec, kNgramMain);
  if (options.sentences == Sentences::yes && alphabet.line_end() == kNoSymbol)
    throw UsageError("ngram: sentences=yes requires an alphabet with a line ending; leave it out");
  return options;
}

}  // namespace

std::string NgramModel::canonical(std::string_view spec) {
  return fitted_spec(kName, parse_fitted_spec<NgramOptions>(spec, kNgramMain), kNgramMain);
}

std::vector<OptionHelp> NgramModel::options() { return help_of(NgramOptions()); }

NgramModel::NgramModel(std::string_view spec, const Alphabet& alphabet)
    : FittedModel(alphabet),
      options_(read_options(spec, this->alphabet())),
      trie_(options_.order, this->alphabet().size()) {}

NgramModel::NgramModel(const NgramOptions& options, const Alphabet& alphabet, NgramTrie trie)
    : FittedModel(alphabet), options_(options), trie_(std::move(trie)) {
  if (trie_.order() != options_.order || trie_.alphabet() != this->alphabet().size())
    throw UsageError("ngram: the n-grams have a different order or alphabet from the model");
}

NgramModel::NgramModel(const ModelFile& file)
    : FittedModel(file),
      options_(read_fitted_spec<NgramOptions>(file, kName, kNgramMain)),
      trie_(NgramTrie::read(file, options_.order, alphabet().size())) {}

std::string NgramModel::spec_text() const { return fitted_spec(kName, options_, kNgramMain); }

Symbol NgramModel::sentence_end() const {
  const bool sentences = options_.sentences == Sentences::yes ||
                         (options_.sentences == Sentences::automatic && alphabet().kind() == SymbolKind::words);
  return sentences ? alphabet().line_end() : kNoSymbol;
}

std::unique_ptr<Predictor> NgramModel::make_predictor() const {
  return std::make_unique<NgramPredictor>(trie_, sentence_end());
}

nlohmann::json NgramModel::fit(const TrainingData& data, const FitOptions& options, Team& team) {
  check_alphabet(data.corpus);
  trie_ =
      estimate_ngrams(data.corpus, data.training, options_.order, options_.smoothing, sentence_end(), options, team);
  nlohmann::json ngrams = nlohmann::json::array();
  for (Index n = 1; n <= trie_.order(); ++n) ngrams.push_back(trie_.size(n));
  return {{"symbols", data.training.symbols()}, {"ngrams", std::move(ngrams)}};
}

void NgramModel::fit(const std::vector<CountedSentence>& sentences, const FitOptions& options, Team& team) {
  if (sentence_end() == kNoSymbol) throw UsageError("ngram: sentences=no cannot be fitted to single sentences");
  trie_ = estimate_ngrams(sentences, alphabet().size(), options_.order, options_.smoothing, options, team);
}

}  // namespace unfold
