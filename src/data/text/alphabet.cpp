#include "unfold/data/text/alphabet.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

#include "base/options/suggestions.h"
#include "base/printable.h"
#include "base/utf8.h"
#include "data/text/words.h"
#include "unfold/base/checks.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

const std::vector<std::string> kTextKinds{"bytes", "chars", "words"};
const std::vector<std::string> kKindNames{"bytes", "chars", "words", "entries", "hashed"};
const std::vector<std::string> kPolicyNames{"error", "skip"};

/// Returns the index of `name` in `names`.
Index choose(std::string_view name, const std::vector<std::string>& names, std::string_view option) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return found - names.begin();
  throw UsageError(fmt::format("{}: {} is not one of {}{}", option, in_quotes(name), fmt::join(names, ", "),
                               did_you_mean(name, names)));
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// Code points that are invisible or displayed as a gap, or that affect the display of the surrounding text.
bool is_invisible(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0xA0) || c == 0xAD || c == 0x61C || c == 0x1680 || c == 0x180E ||
         (c >= 0x2000 && c <= 0x200F) || (c >= 0x2028 && c <= 0x202F) || (c >= 0x205F && c <= 0x206F) || c == 0x3000 ||
         c == 0xFEFF || (c >= 0xFFF9 && c <= 0xFFFB) || (c & 0xFFFE) == 0xFFFE;
}

/// Returns the escape sequence of `c`, common to all kinds of alphabets; empty if `c` needs none.
std::string_view common_escape(char32_t c) {
  switch (c) {
    case '\n': return "\\n";
    case '\t': return "\\t";
    case '\r': return "\\r";
    case ' ': return "\\s";
    case '\\': return "\\\\";
    default: return {};
  }
}

std::string printable_byte(std::uint8_t byte) {
  const std::string_view escape = common_escape(byte);
  if (!escape.empty()) return std::string(escape);
  return byte > 0x20 && byte < 0x7F ? std::string(1, static_cast<char>(byte)) : fmt::format("\\x{:02X}", byte);
}

std::string printable(std::string_view text) {
  std::string out;
  for (Index position = 0; position < static_cast<Index>(text.size());) {
    const char32_t c = next_code_point(text, position);
    const std::string_view escape = common_escape(c);
    if (!escape.empty()) {
      out += escape;
    } else if (is_invisible(c)) {
      out += fmt::format("\\u{{{:X}}}", static_cast<std::uint32_t>(c));
    } else {
      append_utf8(out, c);
    }
  }
  return out;
}

Index line_of(std::string_view text, Index offset) { return 1 + std::count(text.begin(), text.begin() + offset, '\n'); }

[[noreturn]] void fail_utf8(std::string_view text, Index offset, std::string_view prefix) {
  throw invalid_utf8_error(prefix, text[static_cast<std::size_t>(offset)], offset, line_of(text, offset));
}

[[noreturn]] void fail_symbol(std::string_view text, std::string_view why) {
  throw ModelError(fmt::format("alphabet: symbol \"{}\" {}", find_invalid_utf8(text) < 0 ? printable(text) : "?", why));
}

/// Returns the key by which a bytes or chars alphabet looks up a symbol.
std::size_t code_of(SymbolKind kind, const std::string& text) {
  if (kind == SymbolKind::bytes) {
    if (text.size() != 1) fail_symbol(text, "is not one byte");
    return static_cast<std::uint8_t>(text[0]);
  }
  Index position = 0;
  const char32_t code = text.empty() ? kNoCodePoint : next_code_point(text, position);
  if (code == kNoCodePoint || position != static_cast<Index>(text.size())) {
    fail_symbol(text, "is not one character of UTF-8");
  }
  return code;
}

void require_word(const std::string& text) {
  Index position = 0;
  if (find_invalid_utf8(text) >= 0) fail_symbol(text, "is not valid UTF-8");
  if (text.empty() || text == "\n" || next_word(text, position) != text) fail_symbol(text, "is not one word");
}

void require_entry(const std::string& text) {
  if (text.empty() || find_invalid_utf8(text) >= 0) fail_symbol(text, "is empty or not valid UTF-8");
}

/// Returns whether symbols are looked up by their text instead of by byte or code point.
bool by_text(SymbolKind kind) { return kind == SymbolKind::words || kind == SymbolKind::entries; }

}  // namespace

std::string_view next_word(std::string_view text, Index& position) {
  std::size_t begin = static_cast<std::size_t>(position);
  while (begin < text.size() && is_blank(text[begin])) ++begin;
  std::size_t end = begin;
  while (end < text.size() && !is_blank(text[end]) && text[end] != '\n') ++end;
  if (end == begin && end < text.size()) ++end;
  position = static_cast<Index>(end);
  return text.substr(begin, end - begin);
}

SymbolKind parse_symbol_kind(std::string_view name) {
  return static_cast<SymbolKind>(choose(name, kTextKinds, "--symbols"));
}

std::string_view to_string(SymbolKind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

UnknownPolicy parse_unknown_policy(std::string_view name) {
  return static_cast<UnknownPolicy>(choose(name, kPolicyNames, "--unknown"));
}

Alphabet::Alphabet(SymbolKind kind, std::vector<std::string> texts) : kind_(kind), texts_(std::move(texts)) {
  if (texts_.empty()) throw ModelError("alphabet: there are no symbols");
  for (Symbol s = 0; s < size(); ++s) {
    std::string& text = texts_[static_cast<std::size_t>(s)];
    bool fresh = true;
    if (by_text(kind_)) {
      kind_ == SymbolKind::words ? require_word(text) : require_entry(text);
      fresh = words_.add(text, texts_).second;
    } else {
      const std::size_t code = code_of(kind_, text);
      fresh = by_code_.find(code) == kNoSymbol;
      by_code_.set(code, s);
    }
    if (!fresh) fail_symbol(text, "occurs twice");
  }
  if (by_text(kind_)) unknown_ = find(kUnknownWord);
  if (kind_ == SymbolKind::entries) return;
  line_end_ = find("\n");
  if (kind_ == SymbolKind::words && line_end_ == kNoSymbol)
    throw ModelError("alphabet: a words alphabet must contain <eos>");
}

Alphabet Alphabet::all_bytes() {
  std::vector<std::string> texts;
  texts.reserve(256);
  for (int byte = 0; byte < 256; ++byte) texts.emplace_back(1, static_cast<char>(byte));
  return Alphabet(SymbolKind::bytes, std::move(texts));
}

Alphabet Alphabet::hashed(Index bits) {
  if (bits < 1 || bits > kMostHashBits)
    throw ModelError(
        fmt::format("alphabet: the number of hash bits is {}, but must be from 1 to {}", bits, kMostHashBits));
  Alphabet result;
  result.kind_ = SymbolKind::hashed;
  for (Index s = 0; s < Index{1} << bits; ++s) result.texts_.push_back(fmt::format("#{}", s));
  return result;
}

namespace {

/// Returns the text of a symbol.
const std::string& text_at(const std::vector<std::string>& texts, Symbol symbol) {
  if (symbol < 0 || static_cast<std::size_t>(symbol) >= texts.size())
    throw UsageError(fmt::format("symbol {} is not in an alphabet of {}", symbol, texts.size()));
  return texts[static_cast<std::size_t>(symbol)];
}

}  // namespace

std::string_view Alphabet::text(Symbol symbol) const {
  if (kind_ == SymbolKind::words && symbol == line_end_) return "\n";
  return text_at(texts_, symbol);
}

std::string Alphabet::name(Symbol symbol) const {
  const std::string& text = text_at(texts_, symbol);
  return kind_ == SymbolKind::bytes ? printable_byte(static_cast<std::uint8_t>(text[0])) : printable(text);
}

Symbol Alphabet::find(std::string_view text) const {
  if (kind_ == SymbolKind::hashed) return static_cast<Symbol>(stream_of(text) & (texts_.size() - 1));
  if (by_text(kind_)) {
    const bool line_end = kind_ == SymbolKind::words && text == "\n";
    const std::uint32_t found = words_.find(line_end ? kLineEndWord : text, texts_);
    return found == TextIndex::kNone ? kNoSymbol : static_cast<Symbol>(found);
  }
  if (text.empty() || (kind_ == SymbolKind::bytes && text.size() != 1)) return kNoSymbol;
  Index position = 0;
  const std::size_t code = kind_ == SymbolKind::bytes ? static_cast<std::uint8_t>(text[0])
                                                      : static_cast<std::size_t>(next_code_point(text, position));
  if (kind_ == SymbolKind::chars && position != static_cast<Index>(text.size())) return kNoSymbol;
  return by_code_.find(code);
}

Symbol Alphabet::parse(std::string_view text_or_name) const {
  const Symbol exact = find(text_or_name);
  if (exact != kNoSymbol) return exact;
  std::vector<std::string> names;
  for (Symbol s = 0; s < size(); ++s) {
    names.push_back(name(s));
    if (names.back() == text_or_name) return s;
  }
  throw UsageError(fmt::format("\"{}\" is not one of the {} symbols ({}) of the alphabet{}", text_or_name, size(),
                               to_string(kind_), did_you_mean(text_or_name, names)));
}

Alphabet::Token Alphabet::next_token(std::string_view text, Index& position) const {
  const bool at_end_of_words = kind_ == SymbolKind::words && position == static_cast<Index>(text.size());
  if (!at_end_of_words) require_index("alphabet: position in the text", position, static_cast<Index>(text.size()));
  const std::size_t begin = static_cast<std::size_t>(position);
  if (kind_ == SymbolKind::words) {
    const std::string_view word = next_word(text, position);
    if (word.empty()) return {kNoSymbol, word, true};
    const Symbol found = word == kLineEndWord ? kNoSymbol : find(word);  // a newline is "\n"
    return {found == kNoSymbol ? unknown_ : found, word, found != kNoSymbol};
  }
  const std::size_t code = kind_ == SymbolKind::bytes ? static_cast<std::uint8_t>(text[begin])
                                                      : static_cast<std::size_t>(next_code_point(text, position));
  if (kind_ == SymbolKind::bytes) ++position;
  const Symbol found = by_code_.find(code);
  return {found, text.substr(begin, static_cast<std::size_t>(position) - begin), found != kNoSymbol};
}

std::vector<Symbol> Alphabet::encode(std::string_view text, UnknownPolicy policy) const {
  if (kind_ != SymbolKind::bytes) {
    const Index invalid = find_invalid_utf8(text);
    if (invalid >= 0) fail_utf8(text, invalid, "");
  }
  std::vector<Symbol> out;
  for (Index position = 0; position < static_cast<Index>(text.size());) {
    const Token token = next_token(text, position);
    if (token.symbol != kNoSymbol) {
      out.push_back(token.symbol);
    } else if (!token.text.empty() && policy == UnknownPolicy::error) {
      throw unknown_symbol_error(token, text, "the text");
    }
  }
  return out;
}

std::string Alphabet::shown(const Token& token) const {
  return kind_ == SymbolKind::bytes ? printable_byte(static_cast<std::uint8_t>(token.text[0]))
                                    : printable(replace_invalid_utf8(token.text));
}

DataError Alphabet::unknown_symbol_error(const Token& token, std::string_view text, const std::string& where) const {
  const Index offset = token.text.data() - text.data();
  if (kind_ == SymbolKind::words && token.text == kLineEndWord)
    return line_end_word_error(where + ": ", line_of(text, offset));
  return DataError(
      fmt::format("{}: \"{}\" at offset {} (line {}) is not in the alphabet of {} {}; skip such symbols (--unknown "
                  "skip) or train on data that contains it",
                  where, shown(token), offset, line_of(text, offset), size(), to_string(kind_)));
}

std::string Alphabet::decode(std::span<const Symbol> symbols, Symbol previous) const {
  std::string out;
  for (const Symbol symbol : symbols) {
    const bool inside_line = previous != kNoSymbol && previous != line_end_;
    if (kind_ == SymbolKind::words && inside_line && symbol != line_end_) out += ' ';
    out += text(symbol);
    previous = symbol;
  }
  return out;
}

nlohmann::json Alphabet::to_json() const {
  nlohmann::json symbols;
  if (kind_ == SymbolKind::hashed) {
    symbols = static_cast<std::uint64_t>(std::countr_zero(texts_.size()));
  } else if (by_text(kind_)) {
    symbols = texts_;
  } else if (kind_ == SymbolKind::chars) {
    symbols = fmt::format("{}", fmt::join(texts_, ""));
  } else {
    symbols = nlohmann::json::array();
    for (const std::string& text : texts_) symbols.push_back(static_cast<std::uint8_t>(text[0]));
  }
  return {{"kind", to_string(kind_)}, {"symbols", std::move(symbols)}};
}

namespace {

std::vector<std::string> texts_from_json(SymbolKind kind, const nlohmann::json& symbols) {
  std::vector<std::string> texts;
  const auto require = [&](bool condition, std::string_view what) {
    if (!condition) throw ModelError(fmt::format("alphabet: key \"symbols\" must be {}", what));
  };
  if (kind == SymbolKind::chars) {
    require(symbols.is_string(), "a string of all characters");
    const std::string& all = symbols.get_ref<const std::string&>();
    require(find_invalid_utf8(all) < 0, "valid UTF-8");
    for (Index position = 0; position < static_cast<Index>(all.size());) {
      const std::size_t begin = static_cast<std::size_t>(position);
      next_code_point(all, position);
      texts.push_back(all.substr(begin, static_cast<std::size_t>(position) - begin));
    }
    return texts;
  }
  require(symbols.is_array(), "a list");
  for (const nlohmann::json& symbol : symbols) {
    if (by_text(kind)) {
      require(symbol.is_string(), "a list of strings");
      texts.push_back(symbol.get<std::string>());
    } else {
      require(symbol.is_number_unsigned() && symbol.get<std::uint64_t>() < 256, "a list of numbers from 0 to 255");
      texts.emplace_back(1, static_cast<char>(symbol.get<std::uint64_t>()));
    }
  }
  return texts;
}

}  // namespace

Alphabet Alphabet::from_json(const nlohmann::json& json) {
  if (!json.is_object()) throw ModelError("alphabet: must be an object with the keys \"kind\" and \"symbols\"");
  for (const auto& [key, value] : json.items()) {
    if (key != "kind" && key != "symbols") throw ModelError(fmt::format("alphabet: unknown key \"{}\"", key));
  }
  for (const char* key : {"kind", "symbols"}) {
    if (!json.contains(key)) throw ModelError(fmt::format("alphabet: key \"{}\" is missing", key));
  }
  const nlohmann::json& kind = json.at("kind");
  const auto found =
      kind.is_string() ? std::find(kKindNames.begin(), kKindNames.end(), kind.get<std::string>()) : kKindNames.end();
  if (found == kKindNames.end())
    throw ModelError("alphabet: key \"kind\" must be \"bytes\", \"chars\", \"words\", \"entries\" or \"hashed\"");
  const SymbolKind parsed = static_cast<SymbolKind>(found - kKindNames.begin());
  const nlohmann::json& symbols = json.at("symbols");
  if (parsed != SymbolKind::hashed) return Alphabet(parsed, texts_from_json(parsed, symbols));
  if (!symbols.is_number_unsigned() || symbols.get<std::uint64_t>() > kMostHashBits)
    throw ModelError(fmt::format("alphabet: key \"symbols\" must be the number of hash bits, 1 to {}", kMostHashBits));
  return hashed(symbols.get<Index>());
}

namespace {

void mark_chars(std::string_view text, CodeMap& seen) {
  for (Index position = 0; position < static_cast<Index>(text.size());) {
    const char32_t code = next_code_point(text, position);
    if (seen.find(code) == kNoSymbol) seen.set(code, 0);
  }
}

/// Counts the words in the inputs, with line endings as `<eos>`. The keys point into the inputs.
std::unordered_map<std::string_view, Index> count_words(std::span<const Input> inputs) {
  TextCounts<std::string_view> counts;
  for (const Input& input : inputs) {
    bool open_line = false;
    Index position = 0;
    for (auto word = next_word(input.bytes(), position); !word.empty(); word = next_word(input.bytes(), position)) {
      open_line = word != "\n";
      if (word == kLineEndWord)
        throw line_end_word_error(input.name() + ": ", line_of(input.bytes(), word.data() - input.bytes().data()));
      ++counts[open_line ? word : kLineEndWord];
    }
    if (open_line) ++counts[kLineEndWord];
  }
  return counts.by_text();
}

}  // namespace

void require_alphabet_options(const AlphabetOptions& options) {
  if (options.kind != SymbolKind::words && (options.vocabulary != 0 || options.with_unknown)) {
    throw UsageError("--vocabulary requires --symbols words");
  }
  if (options.vocabulary < 0 || options.vocabulary == 1) {
    throw UsageError(
        fmt::format("--vocabulary {}: must be at least 2, because <eos> and <unk> are part of it", options.vocabulary));
  }
}

DataError invalid_utf8_error(std::string_view where, char byte, Index offset, Index line) {
  const bool mark_of_utf16 = offset == 0 && (byte == '\xFF' || byte == '\xFE');
  if (mark_of_utf16)
    return DataError(fmt::format(
        "{}the text begins like UTF-16 and is read as UTF-8; convert it: iconv -f UTF-16 -t UTF-8 FILE", where));
  return DataError(fmt::format(
      "{}byte 0x{:02X} at offset {} (line {}) is not valid UTF-8; use --symbols bytes or convert it (iconv)", where,
      static_cast<std::uint8_t>(byte), offset, line));
}

DataError line_end_word_error(std::string_view where, Index line) {
  return DataError(fmt::format(
      "{}line {}: the word {} is reserved for line endings, so text that is read as words cannot contain it; "
      "replace the word with another one or a line ending, or use --symbols chars",
      where, line, kLineEndWord));
}

Alphabet alphabet_of_chars(const CodeMap& seen) {
  std::vector<std::string> texts;
  for (const char32_t code : seen.codes()) append_utf8(texts.emplace_back(), code);
  return Alphabet(SymbolKind::chars, std::move(texts));
}

Alphabet alphabet_of_words(std::unordered_map<std::string_view, Index> counts, const AlphabetOptions& options) {
  using Counted = std::pair<std::string_view, Index>;
  require_alphabet_options(options);
  if (counts.empty()) throw DataError("the inputs contain only blanks and no words; check the files");
  counts.try_emplace(kLineEndWord, 0);
  if (options.with_unknown) counts.try_emplace(kUnknownWord, 0);
  const auto order = [](const Counted& a, const Counted& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  };
  if (options.vocabulary > 0 && static_cast<Index>(counts.size()) > options.vocabulary) {
    const Counted line_end{kLineEndWord, counts[kLineEndWord]};
    Counted unknown{kUnknownWord, counts[kUnknownWord]};
    counts.erase(kLineEndWord);
    counts.erase(kUnknownWord);
    std::vector<Counted> ordered(counts.begin(), counts.end());
    std::sort(ordered.begin(), ordered.end(), order);
    const std::size_t kept = std::min(ordered.size(), static_cast<std::size_t>(options.vocabulary - 2));
    for (std::size_t i = kept; i < ordered.size(); ++i) unknown.second += ordered[i].second;
    ordered.resize(kept);
    counts = {ordered.begin(), ordered.end()};
    counts.insert(line_end);
    counts.insert(unknown);
  }
  std::vector<Counted> ordered(counts.begin(), counts.end());
  std::sort(ordered.begin(), ordered.end(), order);
  std::vector<std::string> texts;
  texts.reserve(ordered.size());
  for (const Counted& word : ordered) texts.emplace_back(word.first);
  return Alphabet(SymbolKind::words, std::move(texts));
}

Alphabet Alphabet::chars_of(std::string_view text) {
  const Index invalid = find_invalid_utf8(text);
  if (invalid >= 0) fail_utf8(text, invalid, "");
  if (text.empty()) throw DataError("the text is empty, so no alphabet can be built from it");
  CodeMap seen;
  mark_chars(text, seen);
  return alphabet_of_chars(seen);
}

void require_utf8(const Input& input) {
  const Index invalid = find_invalid_utf8(input.bytes());
  if (invalid >= 0) fail_utf8(input.bytes(), invalid, input.name() + ": ");
}

Alphabet build_alphabet(std::span<const Input> inputs, const AlphabetOptions& options) {
  require_alphabet_options(options);
  const auto empty = [](const Input& input) { return input.bytes().empty(); };
  if (std::all_of(inputs.begin(), inputs.end(), empty)) throw DataError("there is no input to build an alphabet from");
  if (options.kind == SymbolKind::bytes) return Alphabet::all_bytes();
  for (const Input& input : inputs) require_utf8(input);
  if (options.kind == SymbolKind::words) return alphabet_of_words(count_words(inputs), options);
  CodeMap seen;
  for (const Input& input : inputs) mark_chars(input.bytes(), seen);
  return alphabet_of_chars(seen);
}

Alphabet build_alphabet(const std::vector<std::string>& files, const AlphabetOptions& options) {
  return build_alphabet(open_inputs(files), options);
}

}  // namespace unfold
