#include "model/decoding/expression.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "model/decoding/nondeterministic.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr Index kMostRepetitions = 10'000;  // maximum repetition count
constexpr Index kMostSteps = 300'000;       // maximum number of states of an expanded expression
constexpr int kMostDepth = 100;             // maximum nesting depth of groups and repetitions
constexpr char32_t kEnd = 0xFFFFFFFE;       // end of the expression

/// The syntax tree of an expression.
struct Phrase {
  enum class Kind { nothing, set, sequence, choice, repeat };
  Kind kind = Kind::nothing;
  SymbolSet set = {};
  std::vector<Phrase> parts = {};
  Index least = 0, most = Automaton::kUnbounded;
};

bool is_word_character(char32_t c) {
  return (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z') || (c >= U'0' && c <= U'9') || c == U'_' || c >= 0x80;
}

bool is_blank_character(char32_t c) { return c == U' ' || (c >= U'\t' && c <= U'\r'); }
bool is_digit_character(char32_t c) { return c >= U'0' && c <= U'9'; }

class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, const Alphabet& alphabet, const ExpressionOptions& options)
      : text_(text),
        alphabet_(alphabet),
        options_(options),
        by_characters_(
            options.spelling.value_or(alphabet.kind() == SymbolKind::bytes || alphabet.kind() == SymbolKind::chars
                                          ? ExpressionSpelling::characters
                                          : ExpressionSpelling::symbols) == ExpressionSpelling::characters) {
    if (const Index bad = find_invalid_utf8(text); bad >= 0)
      throw UsageError(fmt::format(
          "the expression is not valid UTF-8 at byte {}; write such bytes in hexadecimal, for example \\xE9", bad + 1));
    code_ = decode_utf8(text);
  }

  Phrase parse() {
    Phrase all = choice();
    if (peek() == U')') fail("unmatched ); write a literal ) as \\)");
    return all;
  }

 private:
  // --- characters of the expression
  char32_t peek() const { return place_ < code_.size() ? code_[place_] : kEnd; }
  char32_t take() { return code_[place_++]; }
  bool take_if(char32_t c) {
    if (peek() != c) return false;
    ++place_;
    return true;
  }
  void skip_blanks() {
    while (!by_characters_ && is_blank_character(peek())) ++place_;
  }
  [[noreturn]] void fail_at(std::size_t place, const std::string& what) const {
    throw UsageError(fmt::format("expression \"{}\", position {}: {}", text_, place + 1, what));
  }
  [[noreturn]] void fail(const std::string& what) const { fail_at(place_, what); }

  // --- grammar
  Phrase choice() {
    if (++depth_ > kMostDepth)
      fail(fmt::format("groups are nested {} deep; at most {} levels are supported", depth_, kMostDepth));
    Phrase all{.kind = Phrase::Kind::choice};
    do all.parts.push_back(sequence());
    while (take_if(U'|'));
    --depth_;
    return all.parts.size() == 1 ? std::move(all.parts.front()) : all;
  }

  Phrase sequence() {
    Phrase all{.kind = Phrase::Kind::sequence};
    for (skip_blanks(); peek() != kEnd && peek() != U'|' && peek() != U')'; skip_blanks())
      all.parts.push_back(repeated());
    return all;
  }

  Phrase repeated() {
    Phrase term = atom();
    for (int depth = 0;; ++depth) {
      if (depth > kMostDepth) fail("too many nested repetitions");
      Phrase more{.kind = Phrase::Kind::repeat};
      if (take_if(U'*'))
        more.least = 0;
      else if (take_if(U'+'))
        more.least = 1;
      else if (take_if(U'?'))
        more.most = 1;
      else if (peek() == U'{')
        read_count(more);
      else
        return term;
      more.parts.push_back(std::move(term));
      term = std::move(more);
    }
  }

  void read_count(Phrase& into) {
    const std::size_t open = place_++;
    into.least = number(open);
    into.most = into.least;
    if (take_if(U',')) into.most = peek() == U'}' ? Automaton::kUnbounded : number(open);
    if (!take_if(U'}')) fail_at(open, "invalid count; a count is {3}, {2,} or {2,5}; write a literal { as \\{");
    if (into.most < into.least) fail_at(open, "the upper count is below the lower count");
  }

  Index number(std::size_t open) {
    Index value = 0;
    const std::size_t begin = place_;
    while (is_digit_character(peek()) && value <= kMostRepetitions)
      value = 10 * value + static_cast<Index>(take() - U'0');
    if (place_ == begin) fail_at(open, "invalid count; a count is {3}, {2,} or {2,5}; write a literal { as \\{");
    if (value > kMostRepetitions) fail_at(open, fmt::format("a count is at most {}", kMostRepetitions));
    return value;
  }

  Phrase atom() {
    const std::size_t begin = place_;
    const char32_t c = peek();
    if (c == U'*' || c == U'+' || c == U'?' || c == U'{')
      fail("there is nothing to repeat; write a literal character with a \\ before it");
    if (c == U']' || c == U'}') fail("unmatched closing bracket; write a \\ before a literal one");
    if (take_if(U'(')) {
      Phrase group = choice();
      if (!take_if(U')')) fail_at(begin, "unmatched (");
      return group;
    }
    if (take_if(U'[')) return set_term(brackets(begin));
    return by_characters_ ? character(begin) : named(begin);
  }

  // --- characters
  Phrase character(std::size_t begin) {
    const char32_t c = take();
    if (c == U'.') return set_term(any());
    if (c != U'\\') return literal(c, begin);
    if (const auto kind = kind_of_characters()) return set_term(*kind);
    if (alphabet_.kind() == SymbolKind::bytes && peek() == U'x') return set_term(one(byte_named(begin), begin));
    return literal(escaped(begin), begin);
  }

  /// In byte alphabets, a character beyond ASCII is several symbols.
  Phrase literal(char32_t c, std::size_t begin) {
    if (alphabet_.kind() != SymbolKind::bytes) return set_term(one(c, begin));
    std::string bytes;
    append_utf8(bytes, c);
    Phrase all{.kind = Phrase::Kind::sequence};
    for (const char byte : bytes) all.parts.push_back(set_term(one(static_cast<unsigned char>(byte), begin)));
    return all;
  }

  /// Parses \d and similar classes, after the backslash.
  std::optional<SymbolSet> kind_of_characters() {
    const std::size_t begin = place_;
    bool (*is_one)(char32_t) = nullptr;
    switch (peek()) {
      case U'd':
      case U'D': is_one = is_digit_character; break;
      case U'w':
      case U'W': is_one = is_word_character; break;
      case U's':
      case U'S': is_one = is_blank_character; break;
      default: return std::nullopt;
    }
    const char32_t sign = take();
    const bool others = sign == U'D' || sign == U'W' || sign == U'S';
    SymbolSet set = nothing();
    for (Symbol x = 0; x < alphabet_.size(); ++x)
      if (const char32_t c = code_of(x); c != kNoCodePoint && may_be_meant(x)) set[at(x)] = is_one(c) != others ? 1 : 0;
    return some(std::move(set), begin - 1);
  }

  /// Parses the rest of an escape sequence, after the backslash.
  char32_t escaped(std::size_t begin) {
    if (peek() == kEnd) fail_at(begin, "a \\ at the end; write a literal \\ as \\\\");
    const char32_t c = take();
    switch (c) {
      case U'n': return U'\n';
      case U't': return U'\t';
      case U'r': return U'\r';
      case U'x': return hexadecimal(2, begin);
      case U'u': {
        if (!take_if(U'{')) fail_at(begin, "write a character by its code point as \\u{1F600}");
        const char32_t value = hexadecimal(6, begin);
        if (!take_if(U'}') || !is_scalar_value(value))
          fail_at(begin, "write a character by its code point as \\u{1F600}");
        return value;
      }
      default: break;
    }
    if (is_word_character(c))
      fail_at(
          begin,
          "unknown escape; use \\d \\w \\s \\D \\W \\S \\n \\t \\r \\xE9 \\u{1F600}, or \\ before a literal character");
    return c;
  }
  char32_t byte_named(std::size_t begin) {
    ++place_;
    return hexadecimal(2, begin);
  }
  char32_t hexadecimal(int most, std::size_t begin) {
    char32_t value = 0;
    int digits = 0;
    for (; digits < most; ++digits) {
      const char32_t c = peek();
      const int digit = c >= U'0' && c <= U'9'   ? static_cast<int>(c - U'0')
                        : c >= U'a' && c <= U'f' ? static_cast<int>(c - U'a') + 10
                        : c >= U'A' && c <= U'F' ? static_cast<int>(c - U'A') + 10
                                                 : -1;
      if (digit < 0) break;
      value = 16 * value + static_cast<char32_t>(digit);
      ++place_;
    }
    if (digits == 0 || (most == 2 && digits != 2))
      fail_at(begin, "invalid escape; \\x is followed by two hexadecimal digits, \\u{ by up to six");
    return value;
  }

  // --- sets
  SymbolSet brackets(std::size_t begin) {
    const bool others = take_if(U'^');
    SymbolSet set = nothing();
    bool anything = false;
    for (skip_blanks(); peek() != U']'; skip_blanks()) {
      if (peek() == kEnd) fail_at(begin, "unmatched [");
      anything = true;
      by_characters_ ? add_range(set) : add_named(set);
    }
    ++place_;
    if (!anything) fail_at(begin, "empty brackets; write the characters in them, a literal ] as \\]");
    if (!others) return some(std::move(set), begin);
    SymbolSet rest = any();
    for (std::size_t x = 0; x < set.size(); ++x) rest[x] = rest[x] != 0 && set[x] == 0 ? 1 : 0;
    return some(std::move(rest), begin);
  }

  /// a, a-z, \d
  void add_range(SymbolSet& set) {
    const std::size_t begin = place_;
    if (peek() == U'\\') {
      ++place_;
      if (const auto kind = kind_of_characters()) return join(set, *kind);
      --place_;
    }
    const char32_t first = bracketed_character(begin);
    const bool range = peek() == U'-' && place_ + 1 < code_.size() && code_[place_ + 1] != U']';
    if (!range) return join(set, one(first, begin));
    ++place_;
    const char32_t last = bracketed_character(begin);
    if (last < first) fail_at(begin, "the range ends before it begins");
    SymbolSet between = nothing();
    for (Symbol x = 0; x < alphabet_.size(); ++x)
      if (const char32_t c = code_of(x); c != kNoCodePoint && c >= first && c <= last && may_be_meant(x))
        between[at(x)] = 1;
    join(set, some(std::move(between), begin));
  }
  char32_t bracketed_character(std::size_t begin) {
    if (peek() == kEnd) fail_at(begin, "unmatched [");
    const bool escape = take_if(U'\\');
    const bool byte = escape && peek() == U'x' && alphabet_.kind() == SymbolKind::bytes;
    const char32_t c = byte ? byte_named(begin) : escape ? escaped(begin) : take();
    if (!byte && c >= 0x80 && alphabet_.kind() == SymbolKind::bytes)
      fail_at(begin,
              "in a byte model, a non-ASCII character is several symbols; use alternatives, (é|è), or single bytes "
              "such as \\xE9");
    return c;
  }

  /// Adds a name, or all names with the prefix before three dots.
  void add_named(SymbolSet& set) {
    const std::size_t begin = place_;
    const Name name = read_name();
    if (!name.plain || name.text.size() <= 3 || !name.text.ends_with("...")) return join(set, one(name.text, begin));
    const std::string_view start = std::string_view(name.text).substr(0, name.text.size() - 3);
    SymbolSet found = nothing();
    for (Symbol x = 0; x < alphabet_.size(); ++x)
      if (may_be_meant(x) && alphabet_.text(x).starts_with(start)) found[at(x)] = 1;
    join(set, some(std::move(found), begin));
  }

  // --- names
  struct Name {
    std::string text = {};
    bool plain = true;  // neither quoted nor escaped: dots may be a wildcard
  };

  Phrase named(std::size_t begin) {
    const Name name = read_name();
    return set_term(name.plain && name.text == "." ? any() : one(name.text, begin));
  }

  static bool ends_name(char32_t c) {
    return c == kEnd || is_blank_character(c) || std::u32string_view(U"()[]|*+?{}").find(c) != std::u32string::npos;
  }

  /// In quotes and after \, special characters are part of the name.
  Name read_name() {
    Name name;
    const std::size_t begin = place_;
    const bool quotes = take_if(U'\'');
    name.plain = !quotes;
    while (quotes ? peek() != U'\'' : !ends_name(peek())) {
      if (peek() == kEnd) fail_at(begin, "unmatched '; write a literal ' as \\'");
      char32_t c = take();
      if (c == U'\\') {
        if (peek() == kEnd) fail_at(place_ - 1, "a \\ at the end; write a literal \\ as \\\\");
        name.plain = false;
        c = take();
        if (c == U'n') c = U'\n';
      }
      append_utf8(name.text, c);
    }
    if (quotes) ++place_;
    if (name.text.empty()) fail_at(begin, "an empty name; write a literal ' as \\'");
    return name;
  }

  // --- symbols
  SymbolSet nothing() const { return SymbolSet(at(alphabet_.size())); }
  bool may_be_meant(Symbol x) const { return std::ranges::find(options_.never, x) == options_.never.end(); }
  SymbolSet any() const {
    SymbolSet set = nothing();
    for (Symbol x = 0; x < alphabet_.size(); ++x) set[at(x)] = may_be_meant(x) && x != alphabet_.line_end() ? 1 : 0;
    return set;
  }
  static void join(SymbolSet& set, const SymbolSet& more) {
    for (std::size_t x = 0; x < set.size(); ++x) set[x] = set[x] != 0 || more[x] != 0 ? 1 : 0;
  }
  SymbolSet some(SymbolSet set, std::size_t begin) const {
    if (std::ranges::find(set, 1) == set.end()) fail_at(begin, "none of these symbols is in the alphabet of the model");
    return set;
  }
  static Phrase set_term(SymbolSet set) { return {.kind = Phrase::Kind::set, .set = std::move(set)}; }

  /// Returns the character of a symbol; for bytes, its value.
  char32_t code_of(Symbol x) const {
    const std::string_view text = alphabet_.text(x);
    if (alphabet_.kind() == SymbolKind::bytes) return static_cast<unsigned char>(text.front());
    Index end = 0;
    const char32_t c = next_code_point(text, end);
    return end == static_cast<Index>(text.size()) ? c : kNoCodePoint;
  }
  SymbolSet one(char32_t c, std::size_t begin) const {
    std::string text;
    if (alphabet_.kind() == SymbolKind::bytes)
      text.push_back(static_cast<char>(c));
    else
      append_utf8(text, c);
    return one(text, begin);
  }
  SymbolSet one(const std::string& text, std::size_t begin) const {
    const Symbol x = alphabet_.find(text);
    if (x == kNoSymbol || !may_be_meant(x)) {
      const char* kind = by_characters_ ? "character" : "name";
      fail_at(begin, fmt::format("the {} \"{}\" is not in the alphabet of the model, which has {} symbols", kind,
                                 text == "\n" ? "\\n" : replace_invalid_utf8(text), alphabet_.size()));
    }
    SymbolSet set = nothing();
    set[at(x)] = 1;
    return set;
  }

  std::string_view text_;
  const Alphabet& alphabet_;
  const ExpressionOptions& options_;
  bool by_characters_;
  std::u32string code_;
  std::size_t place_ = 0;
  int depth_ = 0;
};

/// Converts a syntax tree to states (Thompson 1968).
class PhraseBuilder {
 public:
  explicit PhraseBuilder(Index alphabet) : into_(alphabet) {}

  /// Adds states for `term`, starting at `from`, and returns its end state.
  Index build(const Phrase& term, Index from) {
    if (into_.states() > kMostSteps)
      throw UsageError("the expression is too large after its counts are expanded; use smaller counts");
    switch (term.kind) {
      case Phrase::Kind::nothing: return from;
      case Phrase::Kind::set: {
        const Index to = into_.add_state();
        into_.add_step(from, to, term.set);
        return to;
      }
      case Phrase::Kind::sequence:
        for (const Phrase& part : term.parts) from = build(part, from);
        return from;
      case Phrase::Kind::choice: {
        const Index to = into_.add_state();
        for (const Phrase& part : term.parts) {
          const Index begin = into_.add_state();
          into_.add_empty(from, begin);
          into_.add_empty(build(part, begin), to);
        }
        return to;
      }
      case Phrase::Kind::repeat: return repeat(term, from);
    }
    return from;
  }
  NondeterministicAutomaton& automaton() { return into_; }

 private:
  Index repeat(const Phrase& term, Index from) {
    const Phrase& part = term.parts.front();
    for (Index k = 0; k < term.least; ++k) {
      const Index to = build(part, from);
      if (to == from) break;  // matches only the empty sequence, for any count
      from = to;
    }
    if (term.least == term.most) return from;
    if (term.most == Automaton::kUnbounded) {
      const Index begin = into_.add_state();
      into_.add_empty(from, begin);
      into_.add_empty(build(part, begin), begin);
      return begin;
    }
    const Index to = into_.add_state();
    for (Index k = term.least; k < term.most; ++k) {
      into_.add_empty(from, to);
      // A separate state, so that the loop of `part` does not return to the state from which it can be skipped.
      const Index begin = into_.add_state();
      into_.add_empty(from, begin);
      from = build(part, begin);
    }
    into_.add_empty(from, to);
    return to;
  }

  NondeterministicAutomaton into_;
};

}  // namespace

Automaton compile_expression(std::string_view text, const Alphabet& alphabet, const ExpressionOptions& options) {
  const Phrase term = ExpressionParser(text, alphabet, options).parse();
  PhraseBuilder builder(alphabet.size());
  const Index start = builder.automaton().add_state();
  builder.automaton().accept(builder.build(term, start));
  return builder.automaton().determinise(start, options.most_states);
}

bool spells_characters(const Alphabet& alphabet, const std::vector<Symbol>& without) {
  for (Symbol x = 0; x < alphabet.size(); ++x) {
    if (std::ranges::find(without, x) != without.end() || x == alphabet.unknown()) continue;
    const std::string_view text = alphabet.text(x);
    Index end = 0;
    if (alphabet.kind() != SymbolKind::bytes &&
        (next_code_point(text, end) == kNoCodePoint || end != static_cast<Index>(text.size())))
      return false;
  }
  return true;
}

}  // namespace unfold
