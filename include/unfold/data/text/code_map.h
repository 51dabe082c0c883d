#pragma once
/// A table from code points (or bytes) to symbols, stored in pages of 256, so its size depends on the scripts in use.

#include <cstddef>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

class CodeMap {
 public:
  /// Returns kNoSymbol if nothing was set, and for any number beyond Unicode.
  Symbol find(std::size_t code) const {
    const std::size_t page = code / kPage;
    return page < pages_.size() ? symbols_[pages_[page] + code % kPage] : kNoSymbol;
  }

  void set(std::size_t code, Symbol symbol) {
    const std::size_t page = code / kPage;
    if (page >= pages_.size()) pages_.resize(page + 1, 0);
    if (pages_[page] == 0) {
      pages_[page] = symbols_.size();
      symbols_.resize(symbols_.size() + kPage, kNoSymbol);
    }
    symbols_[pages_[page] + code % kPage] = symbol;
  }

  /// Returns all code points that are set, in ascending order.
  std::vector<char32_t> codes() const {
    std::vector<char32_t> out;
    for (std::size_t page = 0; page < pages_.size(); ++page) {
      for (std::size_t code = page * kPage; pages_[page] != 0 && code < (page + 1) * kPage; ++code) {
        if (find(code) != kNoSymbol) out.push_back(static_cast<char32_t>(code));
      }
    }
    return out;
  }

 private:
  static constexpr std::size_t kPage = 256;
  std::vector<std::size_t> pages_;  ///< offset of the symbols of a page; 0, the empty page, for unused ones
  std::vector<Symbol> symbols_ = std::vector<Symbol>(kPage, kNoSymbol);
};

}  // namespace unfold
