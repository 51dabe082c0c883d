#pragma once
/// Text sources with known entropy, so the score of a model can be given as excess bits over the source. They are the
/// four examples of Ollivier, "Riemannian metrics for neural networks II" (2015), section "Examples".
///
///   auto source = nested_alphabet();
///   GeneratedText made = generate(*source, {.seed = 1, .symbols = 260000});
///   made.text, made.source_bits, entropy(*source) ...
///
/// A source draws *units* (lines, bars, blocks) one after another, each from a separate random stream: unit n is a
/// function of (seed, n). Units are independent, except that a unit may depend on its number. Every random choice can
/// be recovered from the text, so the choices and the text have the same information content.

#include <memory>
#include <string>
#include <string_view>

#include "unfold/base/types.h"
#include "unfold/numerics/random.h"

namespace unfold {

/// Means over all units.
struct UnitMeans {
  double bits = 0;            ///< bits of the random choices
  double symbols = 0;         ///< one symbol is one byte (ASCII)
  double predicted_bits = 0;  ///< bits of the predicted symbols, given all symbols before them
  double predicted = 0;       ///< number of predicted symbols
};

class TextSource {
 public:
  virtual ~TextSource() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view unit() const = 0;  ///< "line", "bar", "block"
  /// Appends unit `number`. Returns the information content of its choices in bits: minus log2 of their probability.
  virtual double append(Random& random, Index number, std::string& text) const = 0;
  /// Returns the exact means, computed from the tables that `append` draws from.
  virtual UnitMeans means() const = 0;
  /// Only symbols after this one are predicted; '\0': all symbols.
  virtual char predicted_after() const { return '\0'; }
};

/// Return the entropy of a source in bits per symbol, and per predicted symbol.
double entropy(const TextSource& source);
double entropy_of_predicted(const TextSource& source);

struct GenerateOptions {
  std::uint64_t seed = 1;
  Index units = 0;    ///< > 0: number of units
  Index symbols = 0;  ///< > 0: draws units until there are at least this many symbols
};

struct GeneratedText {
  std::string text;
  std::string mask;  ///< '1' for each symbol to be predicted, '0' for the others
  Index units = 0;
  Index predicted = 0;
  double source_bits = 0;  ///< minus log2 of the probability of this text, the score of the source itself
};

/// Throws UsageError unless at least one of units and symbols is above 0.
GeneratedText generate(const TextSource& source, const GenerateOptions& options);

/// A line is a..z. Each letter is followed, with probability `nesting`, by "(" 0..9 ")". Each digit is followed, with
/// probability `nesting`, by "[", `capitals` random capitals, "]".
struct NestedAlphabetOptions {
  double nesting = 0.1;
  Index capitals = 9;
};
/// Throws UsageError if nesting is outside [0, 1] or capitals is negative.
std::unique_ptr<TextSource> nested_alphabet(const NestedAlphabetOptions& options = {});

/// A line is `length` random bits with "X" before two randomly chosen bits, then "=" and the exclusive or of the two.
/// Only the symbol after "=" is predicted.
struct DistantXorOptions {
  Index length = 10;
};
/// Throws UsageError for a length below 2.
std::unique_ptr<TextSource> distant_xor(const DistantXorOptions& options = {});

/// Bars of a waltz: "c4 e8 g8 c4 | ". The hidden harmony of bar n is number n mod 4 of the cycle C F C G and determines
/// the possible pitches; one of six rhythms determines the durations. Pitches and rhythm are uniform and independent.
std::unique_ptr<TextSource> waltz();

/// Blocks a^n b^n and a newline, n uniform in [low, high].
struct AnBnOptions {
  Index low = 1, high = 1000;
};
/// Throws UsageError unless 1 <= low <= high.
std::unique_ptr<TextSource> anbn(const AnBnOptions& options = {});

}  // namespace unfold
