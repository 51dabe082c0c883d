#include "unfold/data/text/corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "data/text/blocked_text.h"
#include "data/text/symbol_store.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr Index kMarkEvery = 4096;

/// The progress of a scan over a source: the byte offset, and the number of bytes of its symbols so far.
struct Mark {
  Index position = 0, bytes = 0;
};

/// Returns the next token of a source; its bytes are counted unless it is left out.
Alphabet::Token advance(const Alphabet& alphabet, std::string_view text, Mark& mark) {
  const Index begin = mark.position;
  const Alphabet::Token token = alphabet.next_token(text, mark.position);
  if (token.symbol != kNoSymbol) mark.bytes += mark.position - begin;
  return token;
}

using ByteTable = std::array<Symbol, 256>;

/// Returns the table through which a source can be read byte by byte; empty if it has to be tokenized.
std::optional<ByteTable> byte_table(const Alphabet& alphabet, std::string_view text) {
  if (alphabet.kind() == SymbolKind::words) return std::nullopt;
  ByteTable table;
  table.fill(kNoSymbol);
  for (Symbol s = 0; s < alphabet.size(); ++s) {
    const std::string_view symbol = alphabet.text(s);
    if (symbol.size() == 1) table[static_cast<std::uint8_t>(symbol[0])] = s;
  }
  std::array<bool, 256> seen{};
  if (alphabet.size() < 256 || alphabet.kind() == SymbolKind::chars) {
    for (const char byte : text) seen[static_cast<std::uint8_t>(byte)] = true;
  }
  for (std::size_t byte = 0; byte < 256; ++byte) {
    if (seen[byte] && table[byte] == kNoSymbol) return std::nullopt;
  }
  return table;
}

}  // namespace

/// The symbols of one file: its bytes through a table, a store with marks into the text, or blocks read on demand.
struct Corpus::Source {
  explicit Source(Input opened) : input(std::move(opened)) {}
  explicit Source(std::unique_ptr<BlockedText> text)
      : blocks(std::move(text)), length(blocks->symbols()), bytes(blocks->bytes()) {}

  std::optional<Input> input;
  std::unique_ptr<BlockedText> blocks;
  std::optional<ByteTable> table;
  std::unique_ptr<SymbolStore> store;
  std::vector<Mark> marks;  ///< positions before symbol 0, kMarkEvery, 2 kMarkEvery, ...
  Index length = 0, bytes = 0, unknown = 0;

  const std::string& name() const { return blocks ? blocks->name() : input->name(); }
  void tokenize(const Alphabet& alphabet, UnknownPolicy policy, Index memory_limit);
  void read(const Alphabet& alphabet, Index begin, std::span<Symbol> out) const;
  Index bytes_before(const Alphabet& alphabet, Index symbol) const;
};

void Corpus::Source::tokenize(const Alphabet& alphabet, UnknownPolicy policy, Index memory_limit) {
  const std::string_view text = input->bytes();
  store = std::make_unique<SymbolStore>(alphabet.size(), memory_limit);
  bool open_line = false;
  Mark mark;
  const auto append = [&](Symbol symbol) {
    store->append(symbol);
    if (store->size() % kMarkEvery == 0) marks.push_back(mark);
  };
  marks.push_back(mark);
  while (mark.position < static_cast<Index>(text.size())) {
    const Index begin = mark.position;
    const Alphabet::Token token = advance(alphabet, text, mark);
    if (token.text.empty()) {
      mark.bytes += mark.position - begin;  // blanks at the very end
      break;
    }
    if (!token.known) ++unknown;
    if (token.symbol == kNoSymbol && policy == UnknownPolicy::error) {
      throw alphabet.unknown_symbol_error(token, text, input->name());
    }
    open_line = token.text != "\n";
    if (token.symbol != kNoSymbol) append(token.symbol);
  }
  if (alphabet.kind() == SymbolKind::words && open_line) append(alphabet.line_end());
  store->finish();
  length = store->size();
  bytes = mark.bytes;
}

void Corpus::Source::read(const Alphabet& alphabet, Index begin, std::span<Symbol> out) const {
  if (blocks) return blocks->read(alphabet, begin, out);
  if (!table) {
    store->read(begin, out);
    return;
  }
  const char* from = input->bytes().data() + begin;
  for (Symbol& symbol : out) symbol = (*table)[static_cast<std::uint8_t>(*from++)];
  input->require_whole();
}

Index Corpus::Source::bytes_before(const Alphabet& alphabet, Index symbol) const {
  if (blocks) return blocks->bytes_before(alphabet, symbol);
  if (table) return symbol;
  if (symbol == length) return bytes;
  Mark mark = marks[static_cast<std::size_t>(symbol / kMarkEvery)];
  for (Index left = symbol % kMarkEvery; left > 0;) {
    if (advance(alphabet, input->bytes(), mark).symbol != kNoSymbol) --left;
  }
  return mark.bytes;
}

Corpus::Corpus() = default;
Corpus::Corpus(Corpus&&) noexcept = default;
Corpus& Corpus::operator=(Corpus&&) noexcept = default;
Corpus::~Corpus() = default;

Corpus Corpus::load(std::vector<Input> inputs, Alphabet alphabet, const CorpusOptions& options) {
  Corpus corpus;
  corpus.alphabet_ = std::move(alphabet);
  Index memory_left = options.memory_limit;
  for (Input& input : inputs) {
    const std::string_view text = input.bytes();
    if (text.empty()) throw DataError(fmt::format("{} is empty; there is nothing to read", input.name()));
    auto source = std::make_unique<Source>(std::move(input));
    source->table = byte_table(corpus.alphabet_, text);
    if (source->table) {
      source->length = source->bytes = static_cast<Index>(text.size());
    } else {
      if (corpus.alphabet_.kind() != SymbolKind::bytes) require_utf8(*source->input);
      source->tokenize(corpus.alphabet_, options.unknown, memory_left);
      memory_left -= source->store->memory();
    }
    source->input->require_whole();
    corpus.add_source(std::move(source), options.lines);
  }
  if (corpus.sources_.empty()) throw DataError("there are no input files; specify at least one");
  return corpus;
}

Corpus Corpus::of_blocks(std::vector<BlockFile> files, std::span<const BlockMark> marks, Alphabet alphabet,
                         Index kept_blocks) {
  Corpus corpus;
  corpus.alphabet_ = std::move(alphabet);
  const auto cache = std::make_shared<BlockCache>(static_cast<std::size_t>(kept_blocks));
  for (BlockFile& file : files) {
    const auto blocks = static_cast<std::size_t>(file.blocks());
    corpus.add_source(
        std::make_unique<Source>(std::make_unique<BlockedText>(std::move(file), marks.first(blocks), cache)), false);
    marks = marks.subspan(blocks);
  }
  return corpus;
}

void Corpus::add_source(std::unique_ptr<Source> source, bool lines) {
  if (source->length == 0)
    throw DataError(fmt::format("{} contains none of the {} {} of the alphabet; check the file", source->name(),
                                alphabet_.size(), to_string(alphabet_.kind())));
  symbols_ += source->length;
  unknown_ += source->unknown;
  sources_.push_back(std::move(source));
  add_sequences(lines);
}

/// Adds the sequences of the last source.
void Corpus::add_sequences(bool lines) {
  const Source& source = *sources_.back();
  const Index number = static_cast<Index>(sources_.size()) - 1, first = symbols_ - source.length;
  Index begin = 0;
  if (lines) {
    std::vector<Symbol> block(std::min<Index>(source.length, 65536));
    for (Index at = 0; at < source.length; at += static_cast<Index>(block.size())) {
      block.resize(static_cast<std::size_t>(std::min<Index>(source.length - at, static_cast<Index>(block.size()))));
      source.read(alphabet_, at, block);
      for (std::size_t i = 0; i < block.size(); ++i) {
        if (block[i] != alphabet_.line_end()) continue;
        const Index end = at + static_cast<Index>(i) + 1;
        sequences_.push_back({number, {begin, end}, first + begin});
        begin = end;
      }
    }
  }
  if (begin < source.length) sequences_.push_back({number, {begin, source.length}, first + begin});
}

Corpus Corpus::load(const std::vector<std::string>& files, Alphabet alphabet, const CorpusOptions& options) {
  return load(open_inputs(files), std::move(alphabet), options);
}

Corpus Corpus::from_text(std::string text, Alphabet alphabet) {
  return load({Input::from_bytes("text", std::move(text))}, std::move(alphabet));
}

const std::string& Corpus::source(Index sequence) const {
  return sources_[static_cast<std::size_t>(sequence_at(sequence).source)]->name();
}

void Corpus::read(Index sequence, Index begin, std::span<Symbol> out) const {
  const Sequence& s = sequence_at(sequence);
  require_range("corpus: position", begin, static_cast<Index>(out.size()), s.range.size());
  sources_[static_cast<std::size_t>(s.source)]->read(alphabet_, s.range.begin + begin, out);
}

std::vector<Symbol> Corpus::read(Index sequence, Range range) const {
  require_range("corpus: position", range.begin, range.size(), length(sequence));
  std::vector<Symbol> out(static_cast<std::size_t>(range.size()));
  read(sequence, range.begin, out);
  return out;
}

void Corpus::set_mask(const Input& mask) {
  std::vector<bool> bits;
  bits.reserve(static_cast<std::size_t>(symbols_));
  bool any = false;
  const std::string_view text = mask.bytes();
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') continue;
    if (c != '0' && c != '1')
      throw DataError(fmt::format(
          "{}: byte {} is neither 0 nor 1; a mask contains a 0 or 1 for every symbol of the data", mask.name(), i));
    bits.push_back(c == '1');
    any = any || c == '1';
  }
  mask.require_whole();
  if (static_cast<Index>(bits.size()) != symbols_)
    throw DataError(fmt::format("{} masks {} symbols, but the data has {}; it must contain one 0 or 1 for each symbol",
                                mask.name(), bits.size(), symbols_));
  if (!any) throw DataError(fmt::format("{} contains no 1, so there is nothing to predict", mask.name()));
  mask_ = std::move(bits);
}

Index Corpus::bytes() const {
  Index total = 0;
  for (const auto& source : sources_) total += source->bytes;
  return total;
}

Index Corpus::bytes(Index sequence, Range range) const {
  require_range("corpus: position", range.begin, range.size(), length(sequence));
  return bytes(sequence, range.begin, sequence, range.end);
}

Index Corpus::bytes(Index first, Index begin, Index last, Index end) const {
  const Sequence &a = sequence_at(first), &b = sequence_at(last);
  if (a.source != b.source) throw UsageError("corpus: bytes are counted within one source");
  require_range("corpus: position", begin, 0, a.range.size());
  require_range("corpus: position", end, 0, b.range.size());
  const Source& source = *sources_[static_cast<std::size_t>(a.source)];
  return source.bytes_before(alphabet_, b.range.begin + end) - source.bytes_before(alphabet_, a.range.begin + begin);
}

}  // namespace unfold
