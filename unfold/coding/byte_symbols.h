#pragma once
/// Bytes as symbols of an alphabet, and exactly back. What the symbols do not tell (characters that the alphabet lacks,
/// words behind `<unk>`, blanks that are not single, bytes that are no UTF-8) goes into a list of corrections:
///   tokens since the last correction, 2 length + kind (0: instead of the token; 1: before it), the bytes.

#include <string>
#include <string_view>
#include <vector>

#include "unfold/data/alphabet.h"

namespace unfold {

struct SymbolText {
  std::vector<Symbol> symbols;
  std::string corrections;
};

SymbolText to_symbols(const Alphabet& alphabet, std::string_view bytes);

/// Exactly the bytes that `to_symbols` read. Throws VerificationError when the corrections do not fit.
std::string to_bytes(const Alphabet& alphabet, const SymbolText& text);

/// Where to cut a block: the end of its last line, else of its last character; its size for alphabets of bytes.
std::size_t block_end(const Alphabet& alphabet, std::string_view bytes);

}  // namespace unfold
