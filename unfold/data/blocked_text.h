#pragma once
/// The symbols of a text that is read block by block (block_file.h), with random access: a symbol is found by how many
/// each block has, its block is read and tokenised, and the blocks that were read last are kept.

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "unfold/data/block_file.h"

namespace unfold {

using BlockSymbols = std::shared_ptr<const std::vector<Symbol>>;

/// Blocks of several texts that were read last. Safe from several threads.
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
  /// `marks`: of every block of the file, where all tokens are symbols of the alphabet that reads them.
  BlockedText(BlockFile file, std::span<const BlockMark> marks, std::shared_ptr<BlockCache> cache);

  const std::string& name() const { return file_.name(); }
  Index symbols() const { return first_.back(); }
  Index bytes() const { return file_.size(); }

  /// Throws RuntimeFailure where the file is no longer, or here not, what the marks were made of.
  void read(const Alphabet& alphabet, Index begin, std::span<Symbol> out) const;
  /// Bytes that the symbols before this one took, up to the end of the last of them.
  Index bytes_before(const Alphabet& alphabet, Index symbol) const;

 private:
  Index block_of(Index symbol) const;
  TextBlock checked(Index block) const;
  BlockSymbols symbols_of(const Alphabet& alphabet, Index block) const;

  BlockFile file_;
  std::vector<Index> first_;  // symbol of each block, and behind the last
  std::vector<std::uint64_t> digests_;
  std::shared_ptr<BlockCache> cache_;
};

}  // namespace unfold
