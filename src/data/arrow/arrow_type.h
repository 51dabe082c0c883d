#pragma once
/// Internal: the types of Arrow columns, and the cells of arrays.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/arrow/arrow_abi.h"
#include "unfold/base/types.h"

namespace unfold {

struct ArrowType {
  enum class Kind {
    null,
    boolean,
    signed_integer,
    unsigned_integer,
    floating,
    decimal,
    text,
    text_view,
    fixed_bytes,
    date,
    timestamp,
    time,
    duration,
    list,
    list_view,
    fixed_list,
    structure,
    dictionary
  };
  Kind kind = Kind::null;
  Index bytes = 0;                    ///< size of a value, or of an offset of strings and lists
  Index scale = 0;                    ///< number of digits of decimals after the point
  Index per_second = 1;               ///< units of times
  Index size = 0;                     ///< entries of a fixed list
  bool zoned = false;                 ///< a timestamp with a time zone
  std::vector<ArrowType> inner = {};  ///< types of the elements of a list, the members of a structure or the values of
                                      ///< a dictionary
  Kind index = Kind::null;            ///< index type of a dictionary

  bool is_list() const { return kind == Kind::list || kind == Kind::list_view || kind == Kind::fixed_list; }
  bool is_moment() const { return kind == Kind::date || kind == Kind::timestamp || kind == Kind::time; }
};

/// Throws a DataError that begins with `where` for types that are not supported.
ArrowType arrow_type(const ArrowSchema& schema, const std::string& where);

/// Returns the type of the values; for a dictionary, the type of its values instead of its indices.
const ArrowType& value_type(const ArrowType& type);

/// Returns whether entry i, counted without the offset of the array, has a value. For dictionaries, this is the value
/// that the index refers to.
bool arrow_present(const ArrowType& type, const ArrowArray& array, Index i);
/// Returns the entries of a list. REQUIRES: type.is_list(), and the entry is present.
Range arrow_list(const ArrowType& type, const ArrowArray& array, Index i);

/// A value that is not a list or a structure.
struct ArrowCell {
  double number = 0;
  Index units = 0;        ///< value of a date or time
  std::string text = {};  ///< text of a string, or all digits of an integer beyond 2^53
  bool inexact = false;   ///< whether the value is such an integer
};
/// REQUIRES: the entry is present.
ArrowCell arrow_cell(const ArrowType& type, const ArrowArray& array, Index i);

/// Returns the decimal text of an integer in two's complement, little-endian, divided by 10^scale.
std::string decimal_text(const unsigned char* bytes, Index size, Index scale);

}  // namespace unfold
