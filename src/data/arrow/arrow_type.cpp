#include "data/arrow/arrow_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "data/cells/numeric_cell.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using ArrowKind = ArrowType::Kind;

constexpr Index kNanoseconds = 1'000'000'000;

template <class Stored>
Stored stored(const void* buffer, Index i) {
  Stored value;
  std::memcpy(&value, static_cast<const char*>(buffer) + i * static_cast<Index>(sizeof value), sizeof value);
  return value;
}

bool bit_of(const void* buffer, Index i) { return (stored<unsigned char>(buffer, i / 8) >> (i % 8) & 1) != 0; }

Index units_per_second(char unit) {
  switch (unit) {
    case 's': return 1;
    case 'm': return 1000;
    case 'u': return 1'000'000;
    default: return kNanoseconds;
  }
}

ArrowType of_bytes(ArrowKind kind, Index bytes) { return {.kind = kind, .bytes = bytes}; }

/// Parses "d:PRECISION,SCALE" or "d:PRECISION,SCALE,BITS".
ArrowType decimal_type(std::string_view format) {
  ArrowType type = of_bytes(ArrowKind::decimal, 16);
  const std::size_t first = format.find(','), second = format.find(',', first + 1);
  const auto number = [&](std::size_t begin, std::size_t end, Index& value) {
    std::from_chars(format.data() + begin, format.data() + std::min(end, format.size()), value);
  };
  number(first + 1, second, type.scale);
  if (second == std::string_view::npos) return type;
  Index bits = 128;
  number(second + 1, format.size(), bits);
  type.bytes = bits / 8;
  return type;
}

/// Parses "tdD", "tdm", "tts", "tsu:ZONE", "tDn" and so on.
ArrowType time_type(std::string_view format) {
  const char what = format.size() > 2 ? format[1] : ' ', unit = format.size() > 2 ? format[2] : ' ';
  ArrowType type = of_bytes(ArrowKind::timestamp, 8);
  type.per_second = units_per_second(unit);
  if (what == 'd') {
    type.kind = ArrowKind::date;
    type.bytes = unit == 'D' ? 4 : 8;
    type.per_second = unit == 'D' ? 0 : 1000;
  } else if (what == 't') {
    type.kind = ArrowKind::time;
    type.bytes = unit == 's' || unit == 'm' ? 4 : 8;
  } else if (what == 'D') {
    type.kind = ArrowKind::duration;
  } else {
    type.zoned = format.size() > 4;
  }
  return type;
}

std::optional<ArrowType> nested_type(std::string_view format) {
  if (format == "+l" || format == "+m") return of_bytes(ArrowKind::list, 4);
  if (format == "+L") return of_bytes(ArrowKind::list, 8);
  if (format == "+vl") return of_bytes(ArrowKind::list_view, 4);
  if (format == "+vL") return of_bytes(ArrowKind::list_view, 8);
  if (format == "+s") return of_bytes(ArrowKind::structure, 0);
  if (!format.starts_with("+w:")) return {};
  ArrowType type = of_bytes(ArrowKind::fixed_list, 0);
  std::from_chars(format.data() + 3, format.data() + format.size(), type.size);
  return type;
}

std::optional<ArrowType> simple_type(std::string_view format) {
  if (format.starts_with("d:")) return decimal_type(format);
  if (format.starts_with("t")) return time_type(format);
  if (format.starts_with("+")) return nested_type(format);
  if (format == "vu" || format == "vz") return of_bytes(ArrowKind::text_view, 16);
  if (format.starts_with("w:")) {
    ArrowType type = of_bytes(ArrowKind::fixed_bytes, 0);
    std::from_chars(format.data() + 2, format.data() + format.size(), type.bytes);
    return type;
  }
  switch (format.size() == 1 ? format[0] : ' ') {
    case 'n': return of_bytes(ArrowKind::null, 0);
    case 'b': return of_bytes(ArrowKind::boolean, 0);
    case 'c': return of_bytes(ArrowKind::signed_integer, 1);
    case 's': return of_bytes(ArrowKind::signed_integer, 2);
    case 'i': return of_bytes(ArrowKind::signed_integer, 4);
    case 'l': return of_bytes(ArrowKind::signed_integer, 8);
    case 'C': return of_bytes(ArrowKind::unsigned_integer, 1);
    case 'S': return of_bytes(ArrowKind::unsigned_integer, 2);
    case 'I': return of_bytes(ArrowKind::unsigned_integer, 4);
    case 'L': return of_bytes(ArrowKind::unsigned_integer, 8);
    case 'e': return of_bytes(ArrowKind::floating, 2);
    case 'f': return of_bytes(ArrowKind::floating, 4);
    case 'g': return of_bytes(ArrowKind::floating, 8);
    case 'u':
    case 'z': return of_bytes(ArrowKind::text, 4);
    case 'U':
    case 'Z': return of_bytes(ArrowKind::text, 8);
    default: return {};
  }
}

std::int64_t signed_value(const void* buffer, Index bytes, Index i) {
  switch (bytes) {
    case 1: return stored<std::int8_t>(buffer, i);
    case 2: return stored<std::int16_t>(buffer, i);
    case 4: return stored<std::int32_t>(buffer, i);
    default: return stored<std::int64_t>(buffer, i);
  }
}

std::uint64_t unsigned_value(const void* buffer, Index bytes, Index i) {
  switch (bytes) {
    case 1: return stored<std::uint8_t>(buffer, i);
    case 2: return stored<std::uint16_t>(buffer, i);
    case 4: return stored<std::uint32_t>(buffer, i);
    default: return stored<std::uint64_t>(buffer, i);
  }
}

/// Converts a number from IEEE 754 binary16.
double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const double fraction = bits & 1023;
  const double magnitude = exponent == 31  ? (fraction == 0 ? std::numeric_limits<double>::infinity()
                                                            : std::numeric_limits<double>::quiet_NaN())
                           : exponent == 0 ? std::ldexp(fraction, -24)
                                           : std::ldexp(fraction + 1024, exponent - 25);
  return (bits >> 15) != 0 ? -magnitude : magnitude;
}

double floating_value(const void* buffer, Index bytes, Index i) {
  if (bytes == 2) return half_value(stored<std::uint16_t>(buffer, i));
  return bytes == 4 ? static_cast<double>(stored<float>(buffer, i)) : stored<double>(buffer, i);
}

std::string_view text_value(const ArrowType& type, const ArrowArray& array, Index i) {
  const auto characters = [&](const void* buffer, Index begin, Index size) {
    return size == 0 ? std::string_view() : std::string_view(static_cast<const char*>(buffer) + begin, at(size));
  };
  if (type.kind == ArrowKind::fixed_bytes) return characters(array.buffers[1], i * type.bytes, type.bytes);
  if (type.kind == ArrowKind::text) {
    const Index begin = signed_value(array.buffers[1], type.bytes, i);
    return characters(array.buffers[2], begin, signed_value(array.buffers[1], type.bytes, i + 1) - begin);
  }
  // A view consists of its length, followed by up to 12 characters, or by four characters, the index of a buffer and an
  // offset in it.
  constexpr Index kInline = 12;
  const char* view = static_cast<const char*>(array.buffers[1]) + i * type.bytes;
  const Index size = stored<std::int32_t>(view, 0);
  if (size <= kInline) return characters(view, 4, size);
  return characters(array.buffers[2 + stored<std::int32_t>(view, 2)], stored<std::int32_t>(view, 3), size);
}

template <class Integer>
ArrowCell integer_cell(Integer value) {
  ArrowCell cell{.number = static_cast<double>(value)};
  const bool small = value <= static_cast<Integer>(kLargestExactInteger);
  cell.inexact = !small || (std::is_signed_v<Integer> && value < static_cast<Integer>(-kLargestExactInteger));
  if (cell.inexact) cell.text = fmt::format("{}", value);
  return cell;
}

ArrowCell decimal_cell(const ArrowType& type, const ArrowArray& array, Index i) {
  ArrowCell cell;
  cell.text =
      decimal_text(static_cast<const unsigned char*>(array.buffers[1]) + i * type.bytes, type.bytes, type.scale);
  std::from_chars(cell.text.data(), cell.text.data() + cell.text.size(), cell.number);
  cell.inexact = type.scale <= 0 && std::abs(cell.number) > static_cast<double>(kLargestExactInteger);
  return cell;
}

}  // namespace

ArrowType arrow_type(const ArrowSchema& schema, const std::string& where) {
  std::optional<ArrowType> type = simple_type(schema.format);
  if (!type)
    throw DataError(
        fmt::format("{}: the Arrow type \"{}\" is not supported; convert it to numbers, strings, dates or lists", where,
                    schema.format));
  if (schema.dictionary != nullptr) {
    const ArrowType indices = *type;
    type = ArrowType{.kind = ArrowKind::dictionary, .bytes = indices.bytes, .index = indices.kind};
    type->inner.push_back(arrow_type(*schema.dictionary, where));
    return *type;
  }
  for (Index c = 0; c < schema.n_children; ++c) type->inner.push_back(arrow_type(*schema.children[c], where));
  return *type;
}

const ArrowType& value_type(const ArrowType& type) {
  return type.kind == ArrowKind::dictionary ? value_type(type.inner.front()) : type;
}

namespace {

Index dictionary_index(const ArrowType& type, const ArrowArray& array, Index i) {
  return type.index == ArrowKind::signed_integer
             ? signed_value(array.buffers[1], type.bytes, i + array.offset)
             : static_cast<Index>(unsigned_value(array.buffers[1], type.bytes, i + array.offset));
}

}  // namespace

bool arrow_present(const ArrowType& type, const ArrowArray& array, Index i) {
  if (type.kind == ArrowKind::null) return false;
  if (array.null_count != 0 && array.n_buffers > 0 && array.buffers[0] != nullptr &&
      !bit_of(array.buffers[0], i + array.offset))
    return false;
  if (type.kind != ArrowKind::dictionary) return true;
  return arrow_present(type.inner.front(), *array.dictionary, dictionary_index(type, array, i));
}

Range arrow_list(const ArrowType& type, const ArrowArray& array, Index i) {
  i += array.offset;
  if (type.kind == ArrowKind::fixed_list) return {i * type.size, (i + 1) * type.size};
  const Index begin = signed_value(array.buffers[1], type.bytes, i);
  if (type.kind == ArrowKind::list) return {begin, signed_value(array.buffers[1], type.bytes, i + 1)};
  return {begin, begin + signed_value(array.buffers[2], type.bytes, i)};
}

ArrowCell arrow_cell(const ArrowType& type, const ArrowArray& array, Index i) {
  if (type.kind == ArrowKind::dictionary)
    return arrow_cell(type.inner.front(), *array.dictionary, dictionary_index(type, array, i));
  i += array.offset;
  switch (type.kind) {
    case ArrowKind::boolean: return {.text = bit_of(array.buffers[1], i) ? "True" : "False"};
    case ArrowKind::signed_integer: return integer_cell(signed_value(array.buffers[1], type.bytes, i));
    case ArrowKind::unsigned_integer: return integer_cell(unsigned_value(array.buffers[1], type.bytes, i));
    case ArrowKind::floating: return {.number = floating_value(array.buffers[1], type.bytes, i)};
    case ArrowKind::decimal: return decimal_cell(type, array, i);
    case ArrowKind::date:
    case ArrowKind::time:
    case ArrowKind::timestamp: return {.units = signed_value(array.buffers[1], type.bytes, i)};
    case ArrowKind::duration:
      return {.number = static_cast<double>(signed_value(array.buffers[1], type.bytes, i)) /
                        static_cast<double>(type.per_second)};
    default: return {.text = std::string(text_value(type, array, i))};
  }
}

std::string decimal_text(const unsigned char* bytes, Index size, Index scale) {
  std::vector<unsigned char> magnitude(bytes, bytes + size);
  const bool negative = size > 0 && (bytes[size - 1] & 0x80) != 0;
  if (negative) {
    unsigned carry = 1;
    for (unsigned char& byte : magnitude) {
      const unsigned sum = static_cast<unsigned char>(~byte) + carry;
      byte = static_cast<unsigned char>(sum & 0xFF);
      carry = sum >> 8;
    }
  }
  std::string digits;  // digits in reverse order
  while (std::any_of(magnitude.begin(), magnitude.end(), [](unsigned char byte) { return byte != 0; })) {
    unsigned rest = 0;
    for (auto byte = magnitude.rbegin(); byte != magnitude.rend(); ++byte) {
      const unsigned value = rest << 8 | *byte;
      *byte = static_cast<unsigned char>(value / 10);
      rest = value % 10;
    }
    digits += static_cast<char>('0' + rest);
  }
  for (Index zeros = scale; zeros < 0; ++zeros) digits.insert(0, 1, '0');
  while (static_cast<Index>(digits.size()) <= std::max<Index>(scale, 0)) digits += '0';
  std::reverse(digits.begin(), digits.end());
  if (scale > 0) digits.insert(digits.size() - at(scale), 1, '.');
  return negative ? "-" + digits : digits;
}

}  // namespace unfold
