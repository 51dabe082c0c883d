#include "data/tasks/pair_tasks.h"

#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {

template <class Visitor>
void describe(Visitor& v, NoisyCopiesOptions& o) {
  v("length", o.length, "maximum length of a word; the minimum is half of it", range(1, 1000));
  v("symbols", o.symbols, "size of the alphabet", range(2, 26));
  v("copies", o.copies, "number of copies of the word, separated by /", range(1, 100));
  v("errors", o.errors, "probability of an error per letter: insertion, deletion, substitution", range(0, 1));
}

namespace {

constexpr std::string_view kPairMain = "length";

struct PairTaskEntry : Entry {};

const Registry<PairTaskEntry>& registry_of_pairs() {
  static const Registry<PairTaskEntry> list(
      "task", {{{"noisy-copies", "words from several noisy copies, as pairs", NoisyCopiesOptions()}}});
  return list;
}

class NoisyCopies {
 public:
  NoisyCopies(const NoisyCopiesOptions& options, std::uint64_t seed)
      : options_(options), random_(seed, "task/noisy-copies") {}

  void append(GeneratedPairs& out) {
    const Index least = (options_.length + 1) / 2, length = least + draw(options_.length - least + 1);
    std::string word, source;
    for (Index i = 0; i < length; ++i) word += letter(draw(options_.symbols));
    while (source.empty())  // if all symbols of the word were deleted, the empty source is drawn again
      for (Index k = 0; k < options_.copies; ++k) source += (k > 0 ? "/" : "") + copied(word);
    out.symbols += static_cast<Index>(source.size());
    out.labels += length;
    out.text += source + '\t' + word + '\n';
  }

 private:
  Index draw(Index n) { return static_cast<Index>(random_.below(static_cast<std::uint64_t>(n))); }
  static char letter(Index number) { return static_cast<char>('a' + number); }
  bool errs() { return random_.uniform() < options_.errors / 3; }

  std::string copied(const std::string& word) {
    std::string result;
    for (const char right : word) {
      if (errs()) result += letter(draw(options_.symbols));
      if (errs()) continue;
      const Index other = (right - 'a' + 1 + draw(options_.symbols - 1)) % options_.symbols;
      result += errs() ? letter(other) : right;
    }
    if (errs()) result += letter(draw(options_.symbols));
    return result;
  }

  NoisyCopiesOptions options_;
  Random random_;
};

}  // namespace

bool is_pair_task(std::string_view spec) { return registry_of_pairs().find(parse_spec(spec).name) != nullptr; }

GeneratedPairs generate_pairs(std::string_view text, std::uint64_t seed, Index count) {
  const Spec spec = parse_spec(text);
  AnyOptions options = registry_of_pairs().get(spec.name).options;
  parse_options(spec, options, kPairMain);
  NoisyCopies copies(options.as<NoisyCopiesOptions>(), seed);
  GeneratedPairs result;
  for (Index i = 0; i < count; ++i) copies.append(result);
  return result;
}

std::vector<EntryHelp> pair_tasks() { return registry_of_pairs().help(); }

}  // namespace unfold
