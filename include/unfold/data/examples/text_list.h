#pragma once
/// A list of texts in one block of memory: the bytes of all texts, one text after another, and the end of each text.
/// A text takes four bytes in addition to its own; a `std::string` takes at least 32.
///
///   TextList texts = {"red", "green"};
///   texts.push_back("blue");
///   for (const std::string_view text : texts) ...
///
/// Texts are returned as views, which are valid until the list changes.

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "unfold/base/raw_memory.h"

namespace unfold {

/// `End`: the unsigned type of the stored ends. If all texts together have more bytes than it can represent, the list
/// also stores where its values start again at zero.
template <class End>
class BasicTextList {
 public:
  class Iterator {
   public:
    using iterator_concept = std::random_access_iterator_tag;
    using iterator_category = std::random_access_iterator_tag;
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = std::string_view;

    Iterator() = default;
    Iterator(const BasicTextList& list, std::size_t place) : list_(&list), place_(place) {}

    std::string_view operator*() const { return (*list_)[place_]; }
    std::string_view operator[](difference_type n) const { return *(*this + n); }
    Iterator& operator+=(difference_type n) {
      place_ += static_cast<std::size_t>(n);
      return *this;
    }
    Iterator& operator-=(difference_type n) { return *this += -n; }
    Iterator& operator++() { return *this += 1; }
    Iterator& operator--() { return *this += -1; }
    Iterator operator++(int) { return std::exchange(*this, *this + 1); }
    Iterator operator--(int) { return std::exchange(*this, *this - 1); }
    friend Iterator operator+(Iterator i, difference_type n) { return i += n; }
    friend Iterator operator+(difference_type n, Iterator i) { return i += n; }
    friend Iterator operator-(Iterator i, difference_type n) { return i -= n; }
    friend difference_type operator-(Iterator a, Iterator b) {
      return static_cast<difference_type>(a.place_) - static_cast<difference_type>(b.place_);
    }
    friend bool operator==(Iterator a, Iterator b) { return a.place_ == b.place_; }
    friend auto operator<=>(Iterator a, Iterator b) { return a.place_ <=> b.place_; }

   private:
    const BasicTextList* list_ = nullptr;
    std::size_t place_ = 0;
  };

  using value_type = std::string_view;
  using iterator = Iterator;
  using const_iterator = Iterator;

  BasicTextList() = default;
  BasicTextList(std::initializer_list<std::string_view> texts) : BasicTextList(texts.begin(), texts.end()) {}
  BasicTextList(const std::vector<std::string>& texts) : BasicTextList(texts.begin(), texts.end()) {}
  template <std::forward_iterator Position>
  BasicTextList(Position first, Position last) {
    ends_.reserve(static_cast<std::size_t>(std::distance(first, last)));
    for (; first != last; ++first) push_back(*first);
  }
  BasicTextList(const BasicTextList& other) { append(other, 0, other.size()); }
  BasicTextList(BasicTextList&& other) noexcept { swap(other); }
  BasicTextList& operator=(BasicTextList other) noexcept {
    swap(other);
    return *this;
  }
  ~BasicTextList() = default;

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  std::string_view operator[](std::integral auto i) const {
    const auto place = static_cast<std::size_t>(i);
    const std::size_t begin = begin_of(place);
    return {bytes_.data() + begin, end_of(place) - begin};
  }
  std::string_view front() const { return (*this)[0]; }
  std::string_view back() const { return (*this)[size_ - 1]; }
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size_}; }

  /// Reserves memory for a number of texts, and for the bytes of all of them if they can be estimated.
  void reserve(std::size_t texts, std::size_t bytes = 0) {
    ends_.reserve(texts);
    bytes_.reserve(bytes);
  }
  std::size_t bytes() const { return used_; }  ///< the number of bytes of all texts

  /// The text may be a part of this list.
  void push_back(std::string_view text) {
    if (text.size() > bytes_.capacity() - used_) return push_after_growth(text);
    std::copy_n(text.data(), text.size(), bytes_.data() + used_);
    add_end(text.size());
  }
  /// The same for a text of which all bytes before `readable` can be read, even those after its end.
  void push_back(std::string_view text, const char* readable) {
    constexpr std::ptrdiff_t kCopied = 16;
    const auto free = static_cast<std::ptrdiff_t>(bytes_.capacity() - used_);
    const bool fits = static_cast<std::ptrdiff_t>(text.size()) <= kCopied && readable - text.data() >= kCopied;
    if (!fits || free < kCopied) return push_back(text);
    std::memcpy(bytes_.data() + used_, text.data(), kCopied);
    add_end(text.size());
  }
  /// Appends a text that is constructed from the arguments of a std::string.
  template <class... Arguments>
  void emplace_back(Arguments&&... arguments) {
    push_back(std::string(std::forward<Arguments>(arguments)...));
  }
  /// Appends the texts [begin, end) of another list.
  void append(const BasicTextList& other, std::size_t begin, std::size_t end) {
    if (begin == end) return;
    const std::size_t from = other.begin_of(begin), bytes = other.end_of(end - 1) - from;
    if (bytes > bytes_.capacity() - used_) bytes_.grow(used_ + bytes);
    if (size_ + end - begin > ends_.capacity()) ends_.grow(size_ + end - begin);
    std::copy_n(other.bytes_.data() + from, bytes, bytes_.data() + used_);
    if (crosses(used_ + bytes) || !other.carries_.empty()) {
      for (std::size_t i = begin; i < end; ++i) add_end(other.end_of(i) - other.begin_of(i));
      return;
    }
    const auto shift = static_cast<End>(used_ - from);
    std::transform(other.ends_.data() + begin, other.ends_.data() + end, ends_.data() + size_,
                   [&](End stored) { return static_cast<End>(stored + shift); });
    used_ += bytes;
    size_ += end - begin;
  }
  /// Removes the last texts, or appends empty ones.
  void resize(std::size_t size) {
    if (size < size_) {
      used_ = begin_of(size);
      size_ = size;
      while (!carries_.empty() && carries_.back() >= size) carries_.pop_back();
    }
    while (size_ < size) add_end(0);
  }
  void assign(std::size_t size, std::string_view text) {
    BasicTextList texts;
    texts.reserve(size, size * text.size());
    for (std::size_t i = 0; i < size; ++i) texts.push_back(text);
    swap(texts);
  }
  void clear() { resize(0); }
  /// Replaces a text, in time linear in the size of the list.
  void replace(std::size_t i, std::string_view text) {
    BasicTextList texts;
    texts.append(*this, 0, i);
    texts.push_back(text);
    texts.append(*this, i + 1, size_);
    swap(texts);
  }

  bool operator==(const BasicTextList& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

 private:
  static constexpr int kEndBits = std::numeric_limits<End>::digits;
  static_assert(std::is_unsigned_v<End> && kEndBits < std::numeric_limits<std::size_t>::digits);

  std::size_t begin_of(std::size_t i) const { return i == 0 ? 0 : end_of(i - 1); }
  std::size_t end_of(std::size_t i) const {
    const std::size_t end = ends_.data()[i];
    return carries_.empty() ? end : end + carried(i);
  }
  std::size_t carried(std::size_t i) const {
    const auto passed = std::upper_bound(carries_.begin(), carries_.end(), i) - carries_.begin();
    return static_cast<std::size_t>(passed) << kEndBits;
  }
  /// Returns whether an end has higher bits than the last one.
  bool crosses(std::size_t end) const { return end >> kEndBits > carries_.size(); }
  /// Adds a text whose bytes follow those of the last one.
  [[gnu::always_inline]] void add_end(std::size_t bytes) {
    used_ += bytes;
    if (size_ == ends_.capacity() || crosses(used_)) prepare_end();
    ends_.data()[size_++] = static_cast<End>(used_);
  }
  [[gnu::noinline]] void prepare_end() {
    while (crosses(used_)) carries_.push_back(size_);
    if (size_ == ends_.capacity()) ends_.grow(size_ + kFewest);
  }
  [[gnu::noinline]] void push_after_growth(std::string_view text) {
    const std::string copy(text);
    bytes_.grow(used_ + text.size() + kFewest);
    push_back(copy);
  }
  void swap(BasicTextList& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(ends_, other.ends_);
    std::swap(used_, other.used_);
    std::swap(size_, other.size_);
    std::swap(carries_, other.carries_);
  }

  static constexpr std::size_t kFewest = 16;  ///< bytes or texts for which memory is allocated at first

  RawMemory<char> bytes_;
  RawMemory<End> ends_;  ///< the ends of the texts in `bytes_`, without their higher bits
  std::size_t used_ = 0, size_ = 0;
  std::vector<std::size_t> carries_;  ///< the texts at whose ends the higher bits increase by one
};

using TextList = BasicTextList<std::uint32_t>;

}  // namespace unfold
