#pragma once
/// Internal: the history of context mixing, and the contexts derived from it: symbols, words, columns.

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "model/context_mixing/context_mixing_parts.h"

namespace unfold {

struct ContextHistory {
  std::uint64_t recent = 0;                             ///< the last eight symbols
  std::uint64_t word = 0, before = 0, before_that = 0;  ///< hashes of the current word and of the two words before it
  std::uint64_t column = 0;                             ///< symbols since the beginning of the line

  /// `byte`: the byte that represents the symbol.
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
  /// Calls add(value) for each of the eight contexts for text (seven without the column); the line contexts are
  /// additional.
  template <class Add>
  void text_contexts(bool with_column, Add&& add) const {
    add(0);
    for (const int order : {1, 2, 3, 4}) add(last(order));
    add(hash(word, last(1)));
    add(hash(word, before));
    if (with_column) add(hash(column, last(1)));
  }
  /// Calls add(value) for each of the ten contexts selected for files other than text.
  template <class Add>
  void binary_contexts(Add&& add) const {
    add(0);
    for (int order = 1; order <= 6; ++order) add(last(order));
    for (const std::uint64_t mask : {0xFFFF00ULL, 0xFF00FF00ULL, 0xF8F8F8F8ULL}) add(recent & mask);
  }
  /// Calls add(value) for each of the sixteen contexts of the full level; fifteen without the column.
  template <class Add>
  void full_contexts(bool with_column, Add&& add) const {
    add(0);
    for (int order = 1; order <= 7; ++order) add(last(order));
    add(hash(word, last(1)));
    add(hash(word, before));
    add(hash(word, before_that));
    add(hash(hash(word, before), before_that));
    // For tables and binary files: the symbols two to four positions ago, symbols without their low bits, the column.
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

/// The history of text in addition to words: its lines, and its letters without regard to case and to the white space
/// between them.
struct LineHistory {
  /// The last eight symbols, with letters in lower case and each sequence of blanks and newlines as one blank.
  std::uint64_t plain = 0;
  std::uint64_t letters = 0;                   ///< hash of the letters since the last symbol that is not a letter
  std::uint8_t first = 0;                      ///< first symbol of the current line
  std::vector<std::uint8_t> line, line_above;  ///< the beginnings of the current line and of the previous one

  /// `byte`: the byte that represents the symbol.
  void advance(std::uint8_t byte) {
    const bool capital = byte >= 'A' && byte <= 'Z',
               blank = byte == '\n' || byte == '\r' || byte == '\t' || byte == ' ';
    letters = capital || (byte >= 'a' && byte <= 'z') ? letters + 1 : 0;
    if (!blank || (plain & 0xFF) != ' ')
      plain = plain << 8 | static_cast<std::uint64_t>(blank ? ' ' : capital ? byte | 0x20 : byte);
    if (byte == '\n') {
      line_above.swap(line);
      line.clear();
      return;
    }
    if (line.empty()) first = byte;
    if (line.size() < kLongest) line.push_back(byte);
  }
  std::uint64_t above() const { return line.size() < line_above.size() ? line_above[line.size()] : 0; }

  /// Calls add(value) for each of the four line contexts.
  template <class Add>
  void contexts(const ContextHistory& past, Add&& add) const {
    add(hash(above(), past.last(1)));
    add(hash(first, past.word));
    add(hash(plain & 0xFFFFFF, past.before));
    add(plain);
  }

 private:
  static constexpr std::size_t kLongest = 1 << 12;
};

}  // namespace unfold
