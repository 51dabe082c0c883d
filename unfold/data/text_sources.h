#pragma once
/// Sources of text whose entropy is known, so that a model's score can be read as excess bits over its source: the four
/// examples of Ollivier, "Riemannian metrics for neural networks II" (2015), section "Examples".
///
///   auto source = nested_alphabet();
///   GeneratedText made = generate(*source, {.seed = 1, .symbols = 260000});
///   made.text, made.source_bits, entropy(*source) ...
///
/// A source draws *units* (lines, bars, blocks) one after another, each from random numbers of its own: unit n is a
/// function of (seed, n). Units are independent, except that a unit may depend on its number. Every choice can be read
/// off the text, so the bits of the choices are the bits of the text.

#include <memory>
#include <string>
#include <string_view>

#include "unfold/base/types.h"
#include "unfold/numerics/random.h"

namespace unfold {

/// Means over all units.
struct UnitMeans {
  double bits = 0;            ///< of the choices
  double symbols = 0;         ///< one symbol is one byte (ASCII)
  double predicted_bits = 0;  ///< of the symbols that are to be predicted, given all symbols before them
  double predicted = 0;       ///< symbols that are to be predicted
};

class TextSource {
 public:
  virtual ~TextSource() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view unit() const = 0;  ///< "line", "bar", "block"
  /// Appends unit `number`. Returns the bits of its choices, minus log2 of their probability.
  virtual double append(Random& random, Index number, std::string& text) const = 0;
  /// From the tables that `append` draws from.
  virtual UnitMeans means() const = 0;
  /// Only symbols that follow this one are to be predicted; '\0': all are.
  virtual char predicted_after() const { return '\0'; }
};

/// Entropy of a source in bits per symbol, and per symbol to be predicted.
double entropy(const TextSource& source);
double entropy_of_predicted(const TextSource& source);

struct GenerateOptions {
  std::uint64_t seed = 1;
  Index units = 0;    ///< > 0: so many
  Index symbols = 0;  ///< > 0: units until there are at least so many symbols
};

struct GeneratedText {
  std::string text;
  std::string mask;  ///< '1' for each symbol to be predicted, '0' for the others
  Index units = 0;
  Index predicted = 0;
  double source_bits = 0;  ///< minus log2 of the probability of this very text: what the source itself would score
};

/// Throws UsageError unless one of units and symbols is above 0.
GeneratedText generate(const TextSource& source, const GenerateOptions& options);

/// A line is a..z; after each letter comes, with probability `nesting`, "(" 0..9 ")"; after each digit, with
/// probability `nesting`, "[", `capitals` random capitals, "]".
struct NestedAlphabetOptions {
  double nesting = 0.1;
  Index capitals = 9;
};
/// Throws UsageError: nesting outside [0, 1], negative capitals.
std::unique_ptr<TextSource> nested_alphabet(const NestedAlphabetOptions& options = {});

/// A line is `length` random bits with "X" before two of them, chosen at random, then "=" and the exclusive or of the
/// two. Only the symbol after "=" is to be predicted.
struct DistantXorOptions {
  Index length = 10;
};
/// Throws UsageError for a length below 2.
std::unique_ptr<TextSource> distant_xor(const DistantXorOptions& options = {});

/// Bars of a waltz: "c4 e8 g8 c4 | ". The hidden harmony of bar n is number n mod 4 of the cycle C F C G and says which
/// pitches may occur; one of six rhythms says how long the notes last. Both are chosen uniformly and independently.
std::unique_ptr<TextSource> waltz();

/// Blocks a^n b^n and a newline, n uniform in [low, high].
struct AnBnOptions {
  Index low = 1, high = 1000;
};
/// Throws UsageError unless 1 <= low <= high.
std::unique_ptr<TextSource> anbn(const AnBnOptions& options = {});

}  // namespace unfold
