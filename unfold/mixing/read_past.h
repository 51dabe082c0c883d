#pragma once
/// Internal: what context mixing has read, and the contexts that it makes of that: symbols, words, columns.

#include <cstdint>
#include <initializer_list>

#include "unfold/mixing/context_parts.h"

namespace unfold {

struct ReadPast {
  std::uint64_t recent = 0;                             ///< the last eight symbols
  std::uint64_t word = 0, before = 0, before_that = 0;  ///< hashes of the present word and of those before it
  std::uint64_t column = 0;                             ///< symbols since the line began

  /// `byte`: what the symbol looks like.
  void advance(Symbol symbol, std::uint8_t byte) {
    recent = recent << 8 | static_cast<std::uint64_t>(symbol);
    if (makes_words(byte)) {
      word = hash(word, byte | 0x20U);
    } else if (word != 0) {
      before_that = before;
      before = word;
      word = 0;
    }
    column = byte == '\n' ? 0 : column + 1;
  }

  std::uint64_t last(int symbols) const { return recent & ((std::uint64_t{1} << (8 * symbols)) - 1); }

  /// Calls add(value) for each of the six contexts of the fast level.
  template <class Add>
  void few_contexts(Add&& add) const {
    for (const int order : {1, 2, 3, 4, 6}) add(last(order));
    add(hash(word, last(1)));
  }
  /// For each of the twelve that tell something of texts; eleven without the column.
  template <class Add>
  void text_contexts(bool with_column, Add&& add) const {
    add(0);
    for (const int order : {1, 2, 3, 4, 5, 7}) add(last(order));
    add(hash(word, last(1)));
    add(hash(word, before));
    add(hash(word, before_that));
    add(recent & 0xF8F8F8F8);
    if (with_column) add(hash(column, last(1)));
  }
  /// For each of ten that tell something of files that are no texts.
  template <class Add>
  void binary_contexts(Add&& add) const {
    add(0);
    for (int order = 1; order <= 6; ++order) add(last(order));
    for (const std::uint64_t mask : {0xFFFF00ULL, 0xFF00FF00ULL, 0xF8F8F8F8ULL}) add(recent & mask);
  }
  /// For each of the sixteen of the full one; fifteen without the column.
  template <class Add>
  void full_contexts(bool with_column, Add&& add) const {
    add(0);
    for (int order = 1; order <= 7; ++order) add(last(order));
    add(hash(word, last(1)));
    add(hash(word, before));
    add(hash(word, before_that));
    add(hash(hash(word, before), before_that));
    // For tables and binary files: what stood two to four symbols ago, symbols but for their low bits, the column.
    add(recent & 0xFFFF00);
    add(recent & 0xFF00FF00);
    add(recent & 0xF8F8F8F8);
    if (with_column) add(hash(column, last(1)));
  }

 private:
  static bool makes_words(std::uint8_t byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte >= 128;
  }
};

}  // namespace unfold
