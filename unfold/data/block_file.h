#pragma once
/// A text file of which only what is asked for is read, block by block, and nothing is held or mapped: several
/// processes read parts of one file that none of them holds.
///
///   const BlockFile file("corpus.txt", SymbolKind::words);
///   for (Index b = 0; b < file.blocks(); ++b) use(file.read(b).bytes);   // every byte once
///
/// A token (a byte, a character, a word, a line end) belongs to the block that its first byte lies in, so blocks are
/// read as whole tokens. Blanks before a word may end the block before.

#include <cstdint>
#include <string>
#include <string_view>

#include "unfold/base/types.h"
#include "unfold/data/alphabet.h"

namespace unfold {

inline constexpr Index kTextBlock = Index{1} << 16;  ///< bytes

/// The tokens that begin in a block.
struct TextBlock {
  Index begin = 0;  ///< byte of the file
  std::string bytes;
};

class BlockFile {
 public:
  /// Throws DataError: missing, empty, not a regular file.
  BlockFile(std::string path, SymbolKind kind);

  const std::string& name() const { return path_; }
  Index size() const { return size_; }  ///< bytes
  Index blocks() const { return (size_ + kTextBlock - 1) / kTextBlock; }

  /// Throws DataError for a word that goes on for more than a block behind the end of one, RuntimeFailure when the file
  /// has become shorter.
  TextBlock read(Index block) const;
  /// Whether words stand behind the last line end.
  bool ends_within_line() const;
  /// The line, from 1, that a byte lies in. Reads all before it.
  Index line_of(Index byte) const;

 private:
  Index token_begin(int descriptor, Index at) const;
  std::string read_bytes(int descriptor, Range range) const;

  std::string path_;
  SymbolKind kind_;
  Index size_ = 0;
};

/// What is known of a block before it is read again.
struct BlockMark {
  std::uint64_t symbols = 0, digest = 0;
};
std::uint64_t digest_of(std::string_view bytes);

}  // namespace unfold
