#include "compression/byte_symbols.h"

#include <algorithm>

#include "base/utf8.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

enum Kind : std::uint64_t { kInstead = 0, kBefore = 1 };

class Corrections {
 public:
  void add(Index token, Kind kind, std::string_view bytes) {
    if (kind == kBefore && open_ && token == last_) {  // extend the correction before the same token
      pending_ += bytes;
      return;
    }
    flush();
    gap_ = token - last_;
    last_ = token;
    kind_ = kind;
    pending_ = bytes;
    open_ = kind == kBefore;
    has_ = true;
  }
  std::string finish() {
    flush();
    return std::move(out_);
  }

 private:
  void number(std::uint64_t n) {
    for (; n >= 0x80; n >>= 7) out_ += static_cast<char>(n | 0x80);
    out_ += static_cast<char>(n);
  }
  void flush() {
    if (!has_) return;
    number(static_cast<std::uint64_t>(gap_));
    number(2 * pending_.size() + kind_);
    out_ += pending_;
    has_ = open_ = false;
  }

  std::string out_, pending_;
  Index last_ = 0, gap_ = 0;
  Kind kind_ = kInstead;
  bool has_ = false, open_ = false;
};

/// Reads the corrections one at a time.
class CorrectionReader {
 public:
  explicit CorrectionReader(std::string_view bytes) : bytes_(bytes) { advance(); }
  bool at(Index token, Kind kind) const { return has_ && token_ == token && kind_ == kind; }
  std::string_view take() {
    const std::string_view taken = text_;
    advance();
    return taken;
  }
  bool done() const { return !has_; }

 private:
  [[noreturn]] static void fail() { throw VerificationError("the corrections of a block do not match its symbols"); }
  std::uint64_t number() {
    std::uint64_t n = 0;
    for (int shift = 0; shift < 63 && !bytes_.empty(); shift += 7) {
      const auto byte = static_cast<std::uint8_t>(bytes_.front());
      bytes_.remove_prefix(1);
      n |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return n;
    }
    fail();
  }
  void advance() {
    has_ = !bytes_.empty();
    if (!has_) return;
    const std::uint64_t gap = number(), head = number();
    if (gap > (std::uint64_t{1} << 40) || head / 2 > bytes_.size()) fail();
    token_ += static_cast<Index>(gap);
    kind_ = static_cast<Kind>(head % 2);
    text_ = bytes_.substr(0, head / 2);
    bytes_.remove_prefix(head / 2);
  }

  std::string_view bytes_, text_;
  Index token_ = 0;
  Kind kind_ = kInstead;
  bool has_ = false;
};

/// Reads a span of valid text that starts at `begin`.
void read_valid_text(const Alphabet& alphabet, std::string_view text, SymbolText& out, Corrections& corrections) {
  for (Index position = 0; position < static_cast<Index>(text.size());) {
    const Index begin = position;
    const Alphabet::Token token = alphabet.next_token(text, position);
    const std::string_view source =
        text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(position - begin));
    const auto place = static_cast<Index>(out.symbols.size());
    if (token.symbol == kNoSymbol) {
      corrections.add(place, kBefore, source);
      continue;
    }
    const Symbol previous = out.symbols.empty() ? kNoSymbol : out.symbols.back();
    if (alphabet.kind() == SymbolKind::words) {
      if (alphabet.decode(std::span(&token.symbol, 1), previous) != source) corrections.add(place, kInstead, source);
    }
    out.symbols.push_back(token.symbol);
  }
}

}  // namespace

SymbolText to_symbols(const Alphabet& alphabet, std::string_view bytes) {
  SymbolText out;
  out.symbols.reserve(bytes.size());
  Corrections corrections;
  while (!bytes.empty()) {
    const Index invalid = alphabet.kind() == SymbolKind::bytes ? -1 : find_invalid_utf8(bytes);
    const std::size_t valid = invalid < 0 ? bytes.size() : static_cast<std::size_t>(invalid);
    read_valid_text(alphabet, bytes.substr(0, valid), out, corrections);
    bytes.remove_prefix(valid);
    if (bytes.empty()) break;
    corrections.add(static_cast<Index>(out.symbols.size()), kBefore, bytes.substr(0, 1));
    bytes.remove_prefix(1);
  }
  out.corrections = corrections.finish();
  return out;
}

std::string to_bytes(const Alphabet& alphabet, const SymbolText& text) {
  CorrectionReader corrections(text.corrections);
  std::string out;
  Symbol previous = kNoSymbol;
  const auto tokens = static_cast<Index>(text.symbols.size());
  for (Index place = 0; place <= tokens; ++place) {
    if (corrections.at(place, kBefore)) out += corrections.take();
    if (place == tokens) break;
    const Symbol symbol = text.symbols[static_cast<std::size_t>(place)];
    if (corrections.at(place, kInstead))
      out += corrections.take();
    else if (alphabet.kind() == SymbolKind::words)
      out += alphabet.decode(std::span(&symbol, 1), previous);
    else
      out += alphabet.text(symbol);
    previous = symbol;
  }
  if (!corrections.done()) throw VerificationError("the corrections of a block do not match its symbols");
  return out;
}

std::size_t block_end(const Alphabet& alphabet, std::string_view bytes) {
  if (alphabet.kind() == SymbolKind::bytes || bytes.empty()) return bytes.size();
  const std::size_t line = bytes.rfind('\n');
  if (line != std::string_view::npos) return line + 1;
  std::size_t end = bytes.size();
  for (int back = 0; back < 3 && end > 1 && (static_cast<std::uint8_t>(bytes[end - 1]) & 0xC0) == 0x80; ++back) --end;
  return end > 1 ? end - 1 : bytes.size();
}

}  // namespace unfold
