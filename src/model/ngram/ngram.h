#pragma once
/// n-gram models: interpolated modified Kneser-Ney and Witten-Bell smoothing.
///
/// h denotes the last n-1 symbols, h' is h without its first symbol, and c(hx) are the counts. In Kneser-Ney, all
/// orders except the highest replace c(hx) by a(hx), the number of different symbols before hx (n-grams that begin a
/// sentence keep c):
///
///   Kneser-Ney   p(x|h) = (a(hx) - D(a(hx))) / a(h) + gamma(h) p(x|h'),   gamma(h) = sum_x D(a(hx)) / a(h)
///                D(1), D(2), D(3+) of each order from its numbers n_k of n-grams seen k times:
///                D(k) = k - (k+1) Y n_{k+1} / n_k,  Y = n_1 / (n_1 + 2 n_2); 0.5, 1, 1.5 where that is not defined
///   Witten-Bell  p(x|h) = (c(hx) + t(h) p(x|h')) / (c(h) + t(h)),  t(h) = number of different symbols after h
///
/// The lowest order is interpolated with 1 / symbols. Chen & Goodman 1998; Witten & Bell 1991.
///
/// Sentences: in word alphabets, every line is a separate sentence, as in the literature: the context is cleared after
/// `<eos>`, which is predicted like a word. In byte and character alphabets, the context continues across line endings.
/// The option `sentences` overrides this.
///
/// Estimation counts the n-grams of the highest order within a memory limit, in several processes if available
/// (data/counts/corpus_counts.h), and needs about 32 additional bytes for each distinct n-gram, in memory or, if they
/// may exceed the limit, in temporary files.

#include "model/ngram/ngram_trie.h"
#include "unfold/base/options/options.h"

namespace unfold {

enum class Smoothing { kneser_ney, witten_bell };
enum class Sentences { automatic, yes, no };

struct NgramOptions {
  Index order = 5;
  Smoothing smoothing = Smoothing::kneser_ney;
  Sentences sentences = Sentences::automatic;
};
template <class Visitor>
void describe(Visitor& v, NgramOptions& o) {
  v("order", o.order, "maximum n-gram order", range(1, static_cast<double>(NgramTrie::kMaxOrder)));
  v("smoothing", o.smoothing, "smoothing of unseen n-grams",
    {{Smoothing::kneser_ney, "kneser-ney"}, {Smoothing::witten_bell, "witten-bell"}});
  v("sentences", o.sentences, "clear the context after a line ending; auto: for words",
    {{Sentences::automatic, "auto"}, {Sentences::yes, "yes"}, {Sentences::no, "no"}});
}

/// Estimates the n-grams of a part of a corpus; empty in all processes but the first. `line_end`: the symbol that ends
/// a sentence, or kNoSymbol. Throws InterruptedError, and DataError for more than 2^32 - 2 symbols.
NgramTrie estimate_ngrams(const Corpus& corpus, const Split& part, Index order, Smoothing smoothing, Symbol line_end,
                          const FitOptions& options, Team& team);

/// A sentence, including the symbol that ends it, and its number of occurrences.
struct CountedSentence {
  std::vector<Symbol> symbols;
  Index count = 1;
};

/// Like above, for sentences that occur several times. The result equals that for a corpus with all occurrences.
/// `alphabet`: number of symbols.
NgramTrie estimate_ngrams(const std::vector<CountedSentence>& sentences, Index alphabet, Index order,
                          Smoothing smoothing, const FitOptions& options, Team& team);

class NgramModel final : public FittedModel {
 public:
  static constexpr const char *kName = "ngram", *kHelp = "n-grams with interpolated modified Kneser-Ney smoothing";
  static std::string canonical(std::string_view spec);
  static std::vector<OptionHelp> options();
  NgramModel(std::string_view spec, const Alphabet& alphabet);
  /// Constructs a model from n-grams that were estimated elsewhere (arpa.h).
  NgramModel(const NgramOptions& options, const Alphabet& alphabet, NgramTrie trie);
  explicit NgramModel(const ModelFile& file);

  std::string spec_text() const override;
  nlohmann::json fit(const TrainingData& data, const FitOptions& options, Team& team) override;
  /// Fits the model to sentences. Throws UsageError for a model that does not distinguish sentences.
  void fit(const std::vector<CountedSentence>& sentences, const FitOptions& options, Team& team);

  const NgramTrie& trie() const { return trie_; }
  /// Returns the symbol that ends a sentence, or kNoSymbol if the model does not distinguish sentences.
  Symbol sentence_end() const;

 protected:
  std::unique_ptr<Predictor> make_predictor() const override;
  std::string kind() const override { return kName; }
  void add_tensors(SafetensorsWriter& writer) const override { trie_.add_tensors(writer); }

 private:
  NgramOptions options_;
  NgramTrie trie_;
};

}  // namespace unfold
