#pragma once
/// Stores symbols in the smallest width that holds them, in memory or, above a limit, in an unnamed temporary file.

#include <memory>
#include <span>
#include <vector>

#include "base/storage/temporary_file.h"
#include "unfold/base/formats/file.h"
#include "unfold/base/types.h"

namespace unfold {

/// Filled by `append`, closed by `finish`, then read.
class SymbolStore {
 public:
  /// For symbols 0 .. alphabet_size - 1. Spills to the file above `memory_limit` bytes.
  SymbolStore(Index alphabet_size, Index memory_limit);

  void append(Symbol symbol);  ///< throws RuntimeFailure if the file cannot be written
  void finish();               ///< throws RuntimeFailure

  Index size() const { return size_; }
  Index memory() const { return static_cast<Index>(buffer_.size()); }  ///< bytes held in memory
  void read(Index begin, std::span<Symbol> out) const;

 private:
  void spill();

  Index width_, memory_limit_, size_ = 0;
  std::vector<char> buffer_;
  std::unique_ptr<UnnamedFile> file_;  // exists from the first spill until `finish`
  MappedFile mapping_;
};

}  // namespace unfold
