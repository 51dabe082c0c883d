#pragma once
/// A text file that is read block by block on demand, without mapping it or keeping it in memory. Several processes can
/// each read a part of a file that does not fit into the memory of any of them.
///
///   const BlockFile file("corpus.txt", SymbolKind::words);
///   for (Index b = 0; b < file.blocks(); ++b) use(file.read(b).bytes);   // every byte once
///
/// A token (a byte, a character, a word, a line ending) belongs to the block that contains its first byte, so blocks
/// are read as whole tokens. Blanks before a word may belong to the preceding block.

#include <cstdint>
#include <string>
#include <string_view>

#include "unfold/base/types.h"
#include "unfold/data/text/alphabet.h"

namespace unfold {

inline constexpr Index kTextBlock = Index{1} << 16;  ///< bytes

/// The tokens that begin in a block.
struct TextBlock {
  Index begin = 0;  ///< offset in the file
  std::string bytes;
};

class BlockFile {
 public:
  /// Throws DataError if the file is missing, empty or not a regular file.
  BlockFile(std::string path, SymbolKind kind);

  const std::string& name() const { return path_; }
  Index size() const { return size_; }  ///< bytes
  Index blocks() const { return (size_ + kTextBlock - 1) / kTextBlock; }

  /// Throws DataError if a word extends more than one block past the end of its block, and RuntimeFailure if the file
  /// has become shorter.
  TextBlock read(Index block) const;
  /// Returns whether words follow the last line ending.
  bool ends_within_line() const;
  /// Returns the line number, from 1, of a byte. Reads everything before it.
  Index line_of(Index byte) const;

 private:
  Index token_begin(int descriptor, Index at) const;
  std::string read_bytes(int descriptor, Range range) const;

  std::string path_;
  SymbolKind kind_;
  Index size_ = 0;
};

/// The number of symbols and the digest of a block, known before it is read again.
struct BlockMark {
  std::uint64_t symbols = 0, digest = 0;
};
std::uint64_t digest_of(std::string_view bytes);

}  // namespace unfold
