#include "unfold/data/text_source_spec.h"

#include <fmt/format.h>

#include "unfold/base/error.h"

namespace unfold {

template <class Visitor>
void describe(Visitor& v, NestedAlphabetOptions& o) {
  v("nesting", o.nesting, "probability of a bracket after a letter or digit", range(0, 1));
  v("capitals", o.capitals, "random capitals in an inner bracket", range(0, 1e6));
}

template <class Visitor>
void describe(Visitor& v, DistantXorOptions& o) {
  v("length", o.length, "random bits in a line", range(2, 1e9));
}

template <class Visitor>
void describe(Visitor& v, AnBnOptions& o) {
  v("low", o.low, "shortest run of a", range(1, 1e9));
  v("high", o.high, "longest run of a", range(1, 1e9));
}

namespace {

struct NoOptions {};

template <class Visitor>
void describe(Visitor&, NoOptions&) {}

// One entry per source: name, the option that a bare number sets, help, options, how it is made.

struct AlphabetEntry {
  static constexpr const char *kName = "alphabet", *kSize = "", *kHelp = "lines a..z with nested (0..9) and [RANDOM]";
  using Options = NestedAlphabetOptions;
  static std::unique_ptr<TextSource> make(const Options& o) { return nested_alphabet(o); }
};
struct XorEntry {
  static constexpr const char *kName = "xor", *kSize = "length", *kHelp = "the exclusive or of two marked bits";
  using Options = DistantXorOptions;
  static std::unique_ptr<TextSource> make(const Options& o) { return distant_xor(o); }
};
struct MusicEntry {
  static constexpr const char *kName = "music", *kSize = "", *kHelp = "bars of a waltz: hidden harmony, free rhythm";
  using Options = NoOptions;
  static std::unique_ptr<TextSource> make(const Options&) { return waltz(); }
};
struct AnBnEntry {
  static constexpr const char *kName = "anbn", *kSize = "high", *kHelp = "blocks of n a, then n b, n uniform";
  using Options = AnBnOptions;
  static std::unique_ptr<TextSource> make(const Options& o) { return anbn(o); }
};

template <class Visit>
void for_each_source(Visit&& visit) {
  visit(AlphabetEntry{});
  visit(XorEntry{});
  visit(MusicEntry{});
  visit(AnBnEntry{});
}

template <class Entry>
std::unique_ptr<TextSource> make(const Spec& spec) {
  typename Entry::Options options;
  OptionTable table;
  describe(table, options);
  if (!spec.size.empty()) {
    if (*Entry::kSize == '\0')
      throw UsageError(fmt::format("{} has no size \"{}\"; write key=value", spec.name, spec.size));
    table.set(spec.name, Entry::kSize, spec.size);
  }
  for (const auto& [key, value] : spec.values) table.set(spec.name, key, value);
  return Entry::make(options);
}

}  // namespace

std::unique_ptr<TextSource> make_text_source(std::string_view text) {
  const Spec spec = parse_spec(text);
  std::unique_ptr<TextSource> source;
  for_each_source([&]<class Entry>(Entry) {
    if (spec.name == Entry::kName) source = make<Entry>(spec);
  });
  return source;
}

std::vector<SourceHelp> text_sources() {
  std::vector<SourceHelp> result;
  for_each_source([&]<class Entry>(Entry) {
    result.push_back({Entry::kName, Entry::kHelp, help_of(typename Entry::Options{})});
  });
  return result;
}

}  // namespace unfold
