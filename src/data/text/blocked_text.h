#pragma once
/// Random access to the symbols of a text that is read block by block (block_file.h). A symbol is located by the number
/// of symbols per block; its block is read and tokenized, and the most recently read blocks are cached.

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "unfold/data/text/block_file.h"

namespace unfold {

using BlockSymbols = std::shared_ptr<const std::vector<Symbol>>;

/// A cache of the most recently read blocks of several texts. Thread-safe.
class BlockCache {
 public:
  explicit BlockCache(std::size_t most) : most_(most) {}
  BlockSymbols find(const void* text, Index block);
  void put(const void* text, Index block, BlockSymbols symbols);

 private:
  struct Entry {
    const void* text;
    Index block;
    BlockSymbols symbols;
    std::uint64_t used;
  };
  std::mutex mutex_;
  std::size_t most_;
  std::uint64_t clock_ = 0;
  std::vector<Entry> entries_;
};

class BlockedText {
 public:
  /// `marks`: one for every block of the file; the alphabet used for reading must contain all tokens.
  BlockedText(BlockFile file, std::span<const BlockMark> marks, std::shared_ptr<BlockCache> cache);

  const std::string& name() const { return file_.name(); }
  Index symbols() const { return first_.back(); }
  Index bytes() const { return file_.size(); }

  /// Throws RuntimeFailure if the file has changed since the marks were computed.
  void read(const Alphabet& alphabet, Index begin, std::span<Symbol> out) const;
  /// Returns the number of bytes of the symbols before this one, up to the end of the last symbol before it.
  Index bytes_before(const Alphabet& alphabet, Index symbol) const;

 private:
  Index block_of(Index symbol) const;
  TextBlock checked(Index block) const;
  BlockSymbols symbols_of(const Alphabet& alphabet, Index block) const;

  BlockFile file_;
  std::vector<Index> first_;  // first symbol of each block, and the end
  std::vector<std::uint64_t> digests_;
  std::shared_ptr<BlockCache> cache_;
};

}  // namespace unfold
