#include "data/tasks/text_source_spec.h"

#include <fmt/format.h>

#include "unfold/base/error.h"

namespace unfold {

template <class Visitor>
void describe(Visitor& v, NestedAlphabetOptions& o) {
  v("nesting", o.nesting, "probability of a bracket after a letter or digit", range(0, 1));
  v("capitals", o.capitals, "random capitals in each inner bracket", range(0, 1e6));
}

template <class Visitor>
void describe(Visitor& v, DistantXorOptions& o) {
  v("length", o.length, "random bits per line", range(2, 1e9));
}

template <class Visitor>
void describe(Visitor& v, AnBnOptions& o) {
  v("low", o.low, "minimum number of a", range(1, 1e9));
  v("high", o.high, "maximum number of a", range(1, 1e9));
}

namespace {

struct SourceEntry : Entry {
  std::string main;  ///< the option that a bare number sets; empty: none
  std::unique_ptr<TextSource> (*make)(const AnyOptions&);
};

template <auto make>
SourceEntry source(std::string name, std::string main, std::string help) {
  return [&]<class Options>(std::unique_ptr<TextSource> (*)(const Options&)) -> SourceEntry {
    return {{std::move(name), std::move(help), Options()}, std::move(main), [](const AnyOptions& options) {
              return make(options.as<Options>());
            }};
  }(make);
}

std::unique_ptr<TextSource> plain_waltz(const NoOptions&) { return waltz(); }

const Registry<SourceEntry>& source_registry() {
  static const Registry<SourceEntry> list(
      "text source", {source<nested_alphabet>("alphabet", "", "lines a..z with nested (0..9) and [RANDOM CAPITALS]"),
                      source<distant_xor>("xor", "length", "the exclusive or of two marked bits"),
                      source<plain_waltz>("music", "", "bars of a waltz: hidden harmony, free rhythm"),
                      source<anbn>("anbn", "high", "blocks of n times a, then n times b, n uniform")});
  return list;
}

}  // namespace

std::unique_ptr<TextSource> make_text_source(std::string_view text) {
  const Spec spec = parse_spec(text);
  const SourceEntry* entry = source_registry().find(spec.name);
  if (entry == nullptr) return nullptr;
  if (!spec.size.empty() && entry->main.empty())
    throw UsageError(fmt::format("{} has no default option for \"{}\"; write key=value", spec.name, spec.size));
  AnyOptions options = entry->options;
  parse_options(spec, options, entry->main);
  return entry->make(options);
}

std::vector<SourceHelp> text_sources() { return source_registry().help(); }

}  // namespace unfold
