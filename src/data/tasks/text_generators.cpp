#include "unfold/data/tasks/text_generators.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "numerics/functions.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

/// log2 x for x > 0, bit-identical on all machines.
double log2_of(double x) {
  constexpr double kLog2E = 1.44269504088896340736;
  double log = 0;
  vector_log(&x, &log, 1);
  return kLog2E * log;
}

/// Bits of an event of probability p; 0 for p = 0, since an impossible event never occurs.
double bits_of(double p) { return p > 0 ? -log2_of(p) : 0; }
double binary_entropy(double p) { return p * bits_of(p) + (1 - p) * bits_of(1 - p); }

class NestedAlphabet final : public TextSource {
 public:
  explicit NestedAlphabet(const NestedAlphabetOptions& options)
      : options_(options), yes_(bits_of(options.nesting)), no_(bits_of(1 - options.nesting)) {
    if (!(options.nesting >= 0 && options.nesting <= 1))
      throw UsageError(fmt::format("alphabet: nesting {} is not a probability", options.nesting));
    if (options.capitals < 0)
      throw UsageError(fmt::format("alphabet: capitals {}: must be 0 or more", options.capitals));
  }
  std::string_view name() const override { return "alphabet"; }
  std::string_view unit() const override { return "line"; }

  double append(Random& random, Index, std::string& text) const override {
    double bits = 0;
    const auto nests = [&] {
      const bool yes = random.uniform() < options_.nesting;
      bits += yes ? yes_ : no_;
      return yes;
    };
    for (char letter = 'a'; letter <= 'z'; ++letter) {
      text += letter;
      if (!nests()) continue;
      text += '(';
      for (char digit = '0'; digit <= '9'; ++digit) {
        text += digit;
        if (!nests()) continue;
        text += '[';
        for (Index i = 0; i < options_.capitals; ++i) text += static_cast<char>('A' + random.below(26));
        text += ']';
        bits += static_cast<double>(options_.capitals) * kCapitalBits;
      }
      text += ')';
    }
    text += '\n';
    return bits;
  }

  UnitMeans means() const override {
    const double outer = 26 * options_.nesting, inner = 10 * outer * options_.nesting;  // brackets per line
    const auto capitals = static_cast<double>(options_.capitals);
    const double bits = (26 + 10 * outer) * binary_entropy(options_.nesting) + inner * capitals * kCapitalBits;
    const double symbols = 27 + outer * 12 + inner * (capitals + 2);
    return {.bits = bits, .symbols = symbols, .predicted_bits = bits, .predicted = symbols};
  }

 private:
  inline static const double kCapitalBits = log2_of(26);
  NestedAlphabetOptions options_;
  double yes_, no_;
};

class DistantXor final : public TextSource {
 public:
  explicit DistantXor(Index length)
      : length_(length),
        bits_(static_cast<double>(length) +
              log2_of(static_cast<double>(length) * static_cast<double>(length - 1) / 2)) {}
  std::string_view name() const override { return "xor"; }
  std::string_view unit() const override { return "line"; }
  char predicted_after() const override { return '='; }

  double append(Random& random, Index, std::string& text) const override {
    auto first = static_cast<Index>(random.below(static_cast<std::uint64_t>(length_)));
    auto second = static_cast<Index>(random.below(static_cast<std::uint64_t>(length_ - 1)));
    if (second >= first) ++second;
    bool answer = false;
    for (Index i = 0; i < length_; ++i) {
      const bool marked = i == first || i == second, bit = random.below(2) != 0;
      if (marked) text += 'X';
      text += bit ? '1' : '0';
      answer = answer != (marked && bit);
    }
    text += '=';
    text += answer ? '1' : '0';
    text += '\n';
    return bits_;
  }

  UnitMeans means() const override {
    return {.bits = bits_, .symbols = static_cast<double>(length_ + 5), .predicted_bits = 0, .predicted = 1};
  }

 private:
  Index length_;
  double bits_;
};

class Waltz final : public TextSource {
 public:
  std::string_view name() const override { return "music"; }
  std::string_view unit() const override { return "bar"; }

  double append(Random& random, Index number, std::string& text) const override {
    const std::string_view pitches = harmony(number);
    const auto& rhythm = rhythms()[random.below(rhythms().size())];
    for (const std::string_view value : rhythm) {
      text += pitches[random.below(pitches.size())];
      text += value;
      text += ' ';
    }
    text += "| ";
    return bits(pitches, rhythm);
  }

  UnitMeans means() const override {
    UnitMeans m;
    const double share = 1 / static_cast<double>(kCycle.size() * rhythms().size());
    for (std::size_t bar = 0; bar < kCycle.size(); ++bar) {
      for (const auto& rhythm : rhythms()) {
        m.bits += share * bits(harmony(static_cast<Index>(bar)), rhythm);
        double symbols = 2;  // the bar line and the blank after it
        for (const std::string_view value : rhythm) symbols += 2 + static_cast<double>(value.size());
        m.symbols += share * symbols;
      }
    }
    m.predicted_bits = m.bits;
    m.predicted = m.symbols;
    return m;
  }

 private:
  using Rhythm = std::vector<std::string_view>;
  static constexpr std::array<std::string_view, 3> kHarmonies = {"ceg", "fac", "gbdf"};
  static constexpr std::array<std::size_t, 4> kCycle = {0, 1, 0, 2};

  static std::string_view harmony(Index bar) {
    return kHarmonies[kCycle[static_cast<std::size_t>(bar) % kCycle.size()]];
  }
  static const std::vector<Rhythm>& rhythms() {
    static const std::vector<Rhythm> list = {{"2."},          {"2", "4"},       {"4", "2"},
                                             {"4", "4", "4"}, {"4.", "8", "4"}, {"4", "8", "8", "4"}};
    return list;
  }
  static double bits(std::string_view pitches, const Rhythm& rhythm) {
    return log2_of(static_cast<double>(rhythms().size())) +
           static_cast<double>(rhythm.size()) * log2_of(static_cast<double>(pitches.size()));
  }
};

class AnBn final : public TextSource {
 public:
  explicit AnBn(const AnBnOptions& options)
      : options_(options), bits_(log2_of(static_cast<double>(options.high - options.low + 1))) {}
  std::string_view name() const override { return "anbn"; }
  std::string_view unit() const override { return "block"; }

  double append(Random& random, Index, std::string& text) const override {
    const auto n = static_cast<std::size_t>(options_.low) +
                   random.below(static_cast<std::uint64_t>(options_.high - options_.low + 1));
    text.append(n, 'a').append(n, 'b').append(1, '\n');
    return bits_;
  }

  UnitMeans means() const override {
    const auto symbols = static_cast<double>(options_.low + options_.high + 1);
    return {.bits = bits_, .symbols = symbols, .predicted_bits = bits_, .predicted = symbols};
  }

 private:
  AnBnOptions options_;
  double bits_;
};

}  // namespace

double entropy(const TextSource& source) {
  const UnitMeans m = source.means();
  return m.bits / m.symbols;
}

double entropy_of_predicted(const TextSource& source) {
  const UnitMeans m = source.means();
  return m.predicted_bits / m.predicted;
}

GeneratedText generate(const TextSource& source, const GenerateOptions& options) {
  if (options.units <= 0 && options.symbols <= 0)
    throw UsageError(
        fmt::format("{}: set the number of {}s or of symbols to a value above 0", source.name(), source.unit()));
  const std::uint64_t stream = stream_of(fmt::format("generate/{}", source.name()));
  const auto wanted = static_cast<std::size_t>(options.symbols);
  GeneratedText made;
  while (made.units < options.units || made.text.size() < wanted) {
    Random random(options.seed, stream + static_cast<std::uint64_t>(made.units));
    made.source_bits += source.append(random, made.units, made.text);
    ++made.units;
  }
  made.mask.assign(made.text.size(), '1');
  if (const char before = source.predicted_after(); before != '\0')
    for (std::size_t i = 0; i < made.text.size(); ++i)
      if (i == 0 || made.text[i - 1] != before) made.mask[i] = '0';
  made.predicted = std::count(made.mask.begin(), made.mask.end(), '1');
  return made;
}

std::unique_ptr<TextSource> nested_alphabet(const NestedAlphabetOptions& options) {
  return std::make_unique<NestedAlphabet>(options);
}

std::unique_ptr<TextSource> distant_xor(const DistantXorOptions& options) {
  if (options.length < 2) throw UsageError(fmt::format("xor: length {}: must be at least 2 bits", options.length));
  return std::make_unique<DistantXor>(options.length);
}

std::unique_ptr<TextSource> waltz() { return std::make_unique<Waltz>(); }

std::unique_ptr<TextSource> anbn(const AnBnOptions& options) {
  if (options.low < 1 || options.high < options.low)
    throw UsageError(fmt::format("anbn: low {} and high {}: must satisfy 1 <= low <= high", options.low, options.high));
  return std::make_unique<AnBn>(options);
}

}  // namespace unfold
