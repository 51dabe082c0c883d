#pragma once
/// Lossless conversion between bytes and the symbols of an alphabet. Information that the symbols do not carry
/// (characters outside the alphabet, words mapped to `<unk>`, white space other than a single blank, bytes that are not
/// valid UTF-8) is stored in a list of corrections. Each correction holds the number of tokens since the previous
/// correction, 2 length + kind (0: replaces the token; 1: precedes it), and the bytes.

#include <string>
#include <string_view>
#include <vector>

#include "unfold/data/text/alphabet.h"

namespace unfold {

struct SymbolText {
  std::vector<Symbol> symbols;
  std::string corrections;
};

SymbolText to_symbols(const Alphabet& alphabet, std::string_view bytes);

/// Returns exactly the bytes that `to_symbols` read. Throws VerificationError if the corrections do not fit.
std::string to_bytes(const Alphabet& alphabet, const SymbolText& text);

/// Returns where to cut a block: after its last complete line, otherwise after its last complete character. For byte
/// alphabets this is the size of the block.
std::size_t block_end(const Alphabet& alphabet, std::string_view bytes);

}  // namespace unfold
