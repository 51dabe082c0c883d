#pragma once
/// Argument checks of the library. They are also active in release builds, where a check that passes takes two
/// instructions. A check that fails throws a UsageError that names the invalid value and the valid range.
///
///   require_index("structure: sequence", s, sequences());
///   require_length("unfolding: the direction", direction.size(), parameter_count());

#include <cstdint>
#include <string_view>

#include "unfold/base/types.h"

namespace unfold {

/// Throws UsageError: "structure: sequence 7 is out of range: there are 3, numbered from 0".
[[noreturn]] void fail_index(std::string_view what, Index index, Index size);
/// Throws UsageError: "unfolding: the direction has 5 elements, 10 are needed".
[[noreturn]] void fail_length(std::string_view what, Index length, Index needed);
/// Throws UsageError: "symbol 27 is not in an alphabet of 26".
[[noreturn]] void fail_symbol(std::string_view where, Index symbol, Index alphabet);
/// Throws UsageError: "unfolding: forward: call lay first".
[[noreturn]] void fail_order(std::string_view what, std::string_view remedy);

/// Throws UsageError unless 0 <= index < size.
inline void require_index(std::string_view what, Index index, Index size) {
  if (static_cast<std::uint64_t>(index) >= static_cast<std::uint64_t>(size)) [[unlikely]]
    fail_index(what, index, size);
}
/// Throws UsageError unless [begin, begin + count) is a range of [0, size).
inline void require_range(std::string_view what, Index begin, Index count, Index size) {
  if (begin < 0 || begin > size) [[unlikely]]
    fail_index(what, begin, size);
  if (count < 0 || count > size - begin) [[unlikely]]
    fail_index(what, count < 0 ? count : begin + (count - 1), size);
}
/// Throws UsageError unless `length` equals `needed`.
inline void require_length(std::string_view what, Index length, Index needed) {
  if (length != needed) [[unlikely]]
    fail_length(what, length, needed);
}
inline void require_length(std::string_view what, std::size_t length, Index needed) {
  require_length(what, static_cast<Index>(length), needed);
}
/// Throws UsageError unless the symbol is in [0, alphabet). `where` is a prefix of the message: "field tag: ".
inline void require_symbol(Index symbol, Index alphabet, std::string_view where = {}) {
  if (static_cast<std::uint64_t>(symbol) >= static_cast<std::uint64_t>(alphabet)) [[unlikely]]
    fail_symbol(where, symbol, alphabet);
}
/// Throws UsageError unless `done`, the precondition of a call, is true.
inline void require_order(bool done, std::string_view what, std::string_view remedy) {
  if (!done) [[unlikely]]
    fail_order(what, remedy);
}

}  // namespace unfold
