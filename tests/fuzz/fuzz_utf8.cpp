#include "base/utf8.h"
#include "check.h"
#include "unfold/data/text/alphabet.h"

using namespace unfold;

/// Valid text survives decoding and encoding, directly and through its own alphabet; in other text, the part before the
/// offset of the first invalid byte is valid.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text = as_text(data, size);
  const Index invalid = find_invalid_utf8(text);
  if (invalid >= 0) {
    check(find_invalid_utf8(text.substr(0, static_cast<std::size_t>(invalid))) == -1);
    Index position = invalid;
    check(next_code_point(text, position) == kNoCodePoint && position == invalid);
    return 0;
  }
  std::string encoded;
  for (const char32_t code : decode_utf8(text)) append_utf8(encoded, code);
  check(encoded == text);
  if (text.empty()) return 0;
  const Alphabet chars = Alphabet::chars_of(text);
  check(chars.decode(chars.encode(text)) == text);
  const Input input = Input::from_bytes("text", std::string(text));
  try {
    const Alphabet words = build_alphabet({&input, 1}, {SymbolKind::words, 5});
    const std::vector<Symbol> symbols = words.encode(text);
    check(words.encode(words.decode(symbols)) == symbols);
  } catch (const DataError&) {  // only blanks
  }
  return 0;
}
