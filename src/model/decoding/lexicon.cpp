#include "model/decoding/lexicon.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

/// A prefix tree of words; node 0 is the state between words.
class WordTree {
 public:
  explicit WordTree(Index alphabet) : used_(at(alphabet)), next_(1) {}

  void add(const std::vector<Symbol>& word) {
    Index node = 0;
    for (const Symbol x : word) {
      used_[at(x)] = 1;
      const auto [place, fresh] = next_[at(node)].try_emplace(x, static_cast<Index>(next_.size()));
      node = place->second;
      if (fresh) next_.emplace_back();
    }
    ends_.resize(next_.size());
    ends_[at(node)] = 1;
  }

  /// Returns the automaton, with one column for each symbol of words, one for all separators, and one for all other
  /// symbols.
  Automaton automaton(const std::vector<char>& separates) const {
    Automaton::Table table;
    constexpr Index kSeparators = 0, kOthers = 1;
    table.width = 2;
    for (std::size_t x = 0; x < used_.size(); ++x)
      table.columns.push_back(used_[x] != 0 ? table.width++ : separates[x] != 0 ? kSeparators : kOthers);
    table.next.assign(next_.size() * at(table.width), Automaton::kDead);
    for (std::size_t node = 0; node < next_.size(); ++node) {
      Index* row = table.next.data() + static_cast<Index>(node) * table.width;
      for (const auto& [x, to] : next_[node]) row[table.columns[at(x)]] = to;
      const bool between = node == 0 || ends_[node] != 0;
      if (between) row[kSeparators] = 0;
      table.accepting.push_back(between ? 1 : 0);
    }
    return Automaton(table);
  }
  bool uses(Symbol x) const { return used_[at(x)] != 0; }

 private:
  std::vector<char> used_, ends_ = std::vector<char>(1);
  std::vector<std::map<Symbol, Index>> next_;
};

bool is_sign(std::string_view text) {
  if (text.size() != 1 || static_cast<unsigned char>(text.front()) >= 0x80) return false;
  const char c = text.front();
  return !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9');
}

/// Returns the symbols of a word; empty if a symbol is not in the alphabet.
std::vector<Symbol> spell(const std::string& word, const Alphabet& alphabet) {
  std::vector<Symbol> symbols;
  for (Index place = 0; place < static_cast<Index>(word.size());) {
    const Alphabet::Token token = alphabet.next_token(word, place);
    if (token.symbol == kNoSymbol || !token.known) return {};
    symbols.push_back(token.symbol);
  }
  return symbols;
}

Automaton of_words(const std::vector<Symbol>& words, const Alphabet& alphabet) {
  Automaton::Table table{.columns = std::vector<Index>(at(alphabet.size()), 1),
                         .width = 2,
                         .next = {0, Automaton::kDead},
                         .accepting = {1}};
  for (const Symbol word : words) table.columns[at(word)] = 0;
  if (alphabet.line_end() != kNoSymbol) table.columns[at(alphabet.line_end())] = 0;
  return Automaton(table);
}

}  // namespace

WordList WordList::read(const std::string& file) {
  const Input input = Input::open(file);
  WordList list;
  const std::string_view text = input.bytes();
  Index line = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    ++line;
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view word = text.substr(begin, end - begin);
    begin = end + 1;
    constexpr std::string_view kBlanks = " \t\r";
    word.remove_prefix(std::min(word.find_first_not_of(kBlanks), word.size()));
    word = word.substr(0, word.find_last_not_of(kBlanks) + 1);
    if (word.empty()) continue;
    if (word.find_first_of(kBlanks) != std::string_view::npos)
      throw DataError(
          fmt::format("{}:{}: \"{}\" is more than one word; write one word per line", input.name(), line, word));
    list.words.emplace_back(word);
  }
  input.require_whole();
  if (list.words.empty()) throw DataError(fmt::format("{} contains no words; write one word per line", input.name()));
  return list;
}

Lexicon lexicon_of(const WordList& list, const Alphabet& alphabet) {
  WordTree tree(alphabet.size());
  std::vector<Symbol> known;
  Index left_out = 0;
  for (const std::string& word : list.words) {
    const std::vector<Symbol> symbols = spell(word, alphabet);
    if (symbols.empty()) {
      ++left_out;
      continue;
    }
    tree.add(symbols);
    known.push_back(symbols.front());
  }
  if (known.empty())
    throw UsageError(fmt::format("the alphabet of the model, {} {}, can spell none of the {} words of the list",
                                 alphabet.size(), to_string(alphabet.kind()), list.words.size()));
  if (alphabet.kind() == SymbolKind::words) return {of_words(known, alphabet), left_out};
  std::vector<char> separates(at(alphabet.size()));
  for (Symbol x = 0; x < alphabet.size(); ++x) separates[at(x)] = !tree.uses(x) && is_sign(alphabet.text(x)) ? 1 : 0;
  return {tree.automaton(separates), left_out};
}

Automaton continue_lexicon(const Automaton& lexicon, std::span<const Symbol> text) {
  if (lexicon.states() == 1) return lexicon;  // the symbols are words, which cannot be incomplete
  std::size_t begin = text.size();            // start of the last word; separators lead from the start state to itself
  while (begin > 0 && lexicon.next(lexicon.start(), text[begin - 1]) != lexicon.start()) --begin;
  Automaton rest = lexicon.after(text.subspan(begin));
  if (rest.empty())
    throw UsageError("no word of the list begins with the last word of the text; remove or complete that word");
  return rest;
}

}  // namespace unfold
