#include "data/files/npy_arrays.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>

#include "data/files/line_parts.h"
#include "data/files/zip_members.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr const char* kHowToSave = "save it with numpy.save as an array of float32, float64 or integers";

/// The storage type of an element.
struct NpyElement {
  char kind = 'f';  ///< f, i, u, b
  std::size_t size = 0;
  bool big_endian = false;
};

struct NpyHeader {
  NpyElement element = {};
  bool fortran = false;
  std::vector<Index> shape = {};
  std::size_t end = 0;  ///< offset of the elements
};

/// Parses the header of an array, which is a Python dictionary literal.
class NpyHeaderReader {
 public:
  NpyHeaderReader(const std::string& source, std::string_view bytes) : source_(source) {
    const std::size_t fixed = kNpyMagic.size() + 2;
    if (bytes.size() < fixed + 4 || !bytes.starts_with(kNpyMagic)) refuse("not a NumPy array");
    const auto version = static_cast<std::uint8_t>(bytes[kNpyMagic.size()]);
    if (version < 1 || version > 3) refuse(fmt::format("version {} of the format is not supported", version));
    const std::size_t digits = version == 1 ? 2 : 4;
    const std::uint64_t length = little_endian(bytes, fixed, digits);
    if (length > bytes.size() - fixed - digits) refuse("the header is truncated");
    text_ = bytes.substr(fixed + digits, length);
    header_.end = fixed + digits + length;
    read_element();
    header_.fortran = value_of("fortran_order").starts_with("True");
    read_shape();
  }
  const NpyHeader& header() const { return header_; }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw_data_error(source_, 0, fmt::format("{}; {}", what, kHowToSave));
  }

  /// Returns the rest of the header from the value of a key on.
  std::string_view value_of(std::string_view key) const {
    const std::size_t found = text_.find(fmt::format("'{}':", key));
    if (found == std::string_view::npos) refuse(fmt::format("the header has no {}", key));
    const std::string_view value = text_.substr(found + key.size() + 3);
    return value.substr(std::min(value.find_first_not_of(' '), value.size()));
  }

  void read_element() {
    std::string_view value = value_of("descr");
    if (value.size() < 5 || value[0] != '\'') refuse("structured arrays are not supported");
    value = value.substr(1, value.find('\'', 1) - 1);
    const bool sized = value.size() == 3 && std::string_view("<>|=").find(value[0]) != std::string_view::npos;
    constexpr std::string_view kKnown = "f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1 ";
    if (!sized || kKnown.find(fmt::format("{} ", value.substr(1))) == std::string_view::npos) {
      refuse(fmt::format("elements of type \"{}\" are not supported", value));
    }
    header_.element = {.kind = value[1], .size = at(value[2] - '0'), .big_endian = value[0] == '>'};
  }

  void read_shape() {
    std::string_view value = value_of("shape");
    const std::size_t close = value.find(')');
    if (!value.starts_with('(') || close == std::string_view::npos) refuse("the header has no shape");
    value = value.substr(1, close - 1);
    std::vector<std::string_view> parts;
    split_at(value, ',', parts);
    for (std::string_view part : parts) {
      part = without_blanks(part);
      if (part.ends_with('L')) part.remove_suffix(1);  // long integers of Python 2
      if (part.empty()) continue;
      Index size = -1;
      const auto [stopped, error] = std::from_chars(part.data(), part.data() + part.size(), size);
      if (error != std::errc() || stopped != part.data() + part.size() || size < 0)
        refuse("the shape in the header is invalid");
      header_.shape.push_back(size);
    }
  }

  const std::string& source_;
  std::string_view text_;
  NpyHeader header_;
};

/// Returns the number of elements if it is at most `most`, otherwise an empty optional.
std::optional<Index> elements_of(const std::vector<Index>& shape, Index most) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  Index count = 1;
  for (const Index size : shape) {
    if (size > most / count) return std::nullopt;
    count *= size;
  }
  return count;
}

double element_at(std::string_view bytes, std::size_t offset, const NpyElement& element) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < element.size; ++i) {
    const std::size_t place = element.big_endian ? i : element.size - 1 - i;
    bits = (bits << 8) | static_cast<std::uint8_t>(bytes[offset + place]);
  }
  if (element.kind == 'f') {
    return element.size == 4 ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))
                             : std::bit_cast<double>(bits);
  }
  if (element.kind != 'i') return static_cast<double>(bits);
  const int unused = 64 - 8 * static_cast<int>(element.size);
  return static_cast<double>(static_cast<std::int64_t>(bits << unused) >> unused);
}

/// Returns the offsets, in C order of the indices, of elements stored in Fortran order.
std::vector<Index> fortran_order(const std::vector<Index>& shape, Index count) {
  std::vector<Index> order(at(count)), index(shape.size(), 0), stride(shape.size(), 1);
  for (std::size_t d = 1; d < shape.size(); ++d) stride[d] = stride[d - 1] * shape[d - 1];
  Index place = 0;
  for (Index& entry : order) {
    entry = place;
    for (std::size_t d = shape.size(); d-- > 0;) {
      place += stride[d];
      if (++index[d] < shape[d]) break;
      place -= stride[d] * shape[d];
      index[d] = 0;
    }
  }
  return order;
}

NpyArray read_array(const std::string& source, std::string name, std::string_view bytes) {
  const NpyHeader header = NpyHeaderReader(source, bytes).header();
  const std::string_view elements = bytes.substr(header.end);
  const auto stored = static_cast<Index>(elements.size() / header.element.size);
  const std::optional<Index> count = elements_of(header.shape, stored);
  if (!count || at(*count) * header.element.size != elements.size()) {
    throw_data_error(source, 0,
                     fmt::format("the header specifies the shape [{}], but {} bytes of elements follow; the file was "
                                 "truncated or modified: save it again",
                                 fmt::join(header.shape, ", "), elements.size()));
  }
  NpyArray array{.name = std::move(name), .shape = header.shape};
  array.values.reserve(at(*count));
  if (header.fortran && header.shape.size() > 1) {
    for (const Index place : fortran_order(header.shape, *count)) {
      array.values.push_back(element_at(elements, at(place) * header.element.size, header.element));
    }
  } else {
    for (Index i = 0; i < *count; ++i) {
      array.values.push_back(element_at(elements, at(i) * header.element.size, header.element));
    }
  }
  return array;
}

}  // namespace

bool is_npy(std::string_view bytes) { return bytes.starts_with(kNpyMagic); }

std::vector<NpyArray> read_npy_arrays(const Input& input) {
  std::vector<NpyArray> arrays;
  if (!is_zip(input.bytes())) {
    arrays.push_back(read_array(input.name(), "values", input.bytes()));
    return arrays;
  }
  constexpr std::string_view kEnding = ".npy";
  for (const ZipMember& member : zip_members(input.name(), input.bytes())) {
    const std::string source = fmt::format("{}: {}", input.name(), member.name);
    if (!member.name.ends_with(kEnding))
      throw_data_error(source, 0, "not a NumPy array; an .npz file may contain only arrays");
    const std::string bytes = member.unpack(input.bytes());
    arrays.push_back(read_array(source, member.name.substr(0, member.name.size() - kEnding.size()), bytes));
  }
  return arrays;
}

}  // namespace unfold
