/// Arrays of NumPy: .npy (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html, versions 1 to 3) and
/// .npz, a zip archive of them. [T] and [T, n] are one example, [N, T, n] are N.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>

#include "unfold/base/error.h"
#include "unfold/readers/npy_arrays.h"
#include "unfold/readers/reader_text.h"
#include "unfold/readers/zip_members.h"

namespace unfold {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr const char* kHowToSave = "save it with numpy.save as an array of float32, float64 or whole numbers";

/// How an element is stored.
struct NpyElement {
  char kind = 'f';  ///< f, i, u, b
  std::size_t size = 0;
  bool big_endian = false;
};

struct NpyHeader {
  NpyElement element = {};
  bool fortran = false;
  std::vector<Index> shape = {};
  std::size_t end = 0;  ///< where the elements begin
};

/// Reads the header of an array, which is the text of a Python dictionary.
class NpyHeaderReader {
 public:
  NpyHeaderReader(const std::string& source, std::string_view bytes) : source_(source) {
    const std::size_t fixed = kNpyMagic.size() + 2;
    if (bytes.size() < fixed + 4 || !bytes.starts_with(kNpyMagic)) refuse("this is no array of NumPy");
    const auto version = static_cast<std::uint8_t>(bytes[kNpyMagic.size()]);
    if (version < 1 || version > 3) refuse(fmt::format("version {} of the format is not known", version));
    const std::size_t digits = version == 1 ? 2 : 4;
    const std::uint64_t length = little_endian(bytes, fixed, digits);
    if (length > bytes.size() - fixed - digits) refuse("it is cut short in its header");
    text_ = bytes.substr(fixed + digits, length);
    header_.end = fixed + digits + length;
    read_element();
    header_.fortran = value_of("fortran_order").starts_with("True");
    read_shape();
  }
  const NpyHeader& header() const { return header_; }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    refuse_data(source_, 0, fmt::format("{}; {}", what, kHowToSave));
  }

  /// What stands behind a key.
  std::string_view value_of(std::string_view key) const {
    const std::size_t found = text_.find(fmt::format("'{}':", key));
    if (found == std::string_view::npos) refuse(fmt::format("its header has no {}", key));
    const std::string_view value = text_.substr(found + key.size() + 3);
    return value.substr(std::min(value.find_first_not_of(' '), value.size()));
  }

  void read_element() {
    std::string_view value = value_of("descr");
    if (value.size() < 5 || value[0] != '\'') refuse("its elements are records");
    value = value.substr(1, value.find('\'', 1) - 1);
    const bool sized = value.size() == 3 && std::string_view("<>|=").find(value[0]) != std::string_view::npos;
    constexpr std::string_view kKnown = "f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1 ";
    if (!sized || kKnown.find(fmt::format("{} ", value.substr(1))) == std::string_view::npos) {
      refuse(fmt::format("its elements are of type \"{}\"", value));
    }
    header_.element = {.kind = value[1], .size = at(value[2] - '0'), .big_endian = value[0] == '>'};
  }

  void read_shape() {
    std::string_view value = value_of("shape");
    const std::size_t close = value.find(')');
    if (!value.starts_with('(') || close == std::string_view::npos) refuse("its header has no shape");
    value = value.substr(1, close - 1);
    std::vector<std::string_view> parts;
    split_at(value, ',', parts);
    for (std::string_view part : parts) {
      part = without_blanks(part);
      if (part.ends_with('L')) part.remove_suffix(1);  // of Python 2
      if (part.empty()) continue;
      Index size = -1;
      const auto [stopped, error] = std::from_chars(part.data(), part.data() + part.size(), size);
      if (error != std::errc() || stopped != part.data() + part.size() || size < 0) refuse("its shape is no shape");
      header_.shape.push_back(size);
    }
  }

  const std::string& source_;
  std::string_view text_;
  NpyHeader header_;
};

/// The number of elements, as far as `most` allows; empty beyond.
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

/// Where elements lie whose indices run in the usual order, when the first index runs fastest in the file.
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
    refuse_data(source, 0,
                fmt::format("its header speaks of [{}] elements and {} bytes of elements follow; it was cut short or "
                            "changed, save it again",
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

/// How arrays stand to each other: with a [N, T, n] among them there are N examples, otherwise one.
class ArrayExamples {
 public:
  ArrayExamples(const std::string& source, std::vector<NpyArray> arrays) {
    examples_.source = source;
    for (const NpyArray& array : arrays) require_shape(array);
    for (const NpyArray& array : arrays) find_lengths(array);
    for (Index e = 1; e <= count_; ++e) examples_.ends.push_back(e * length_);
    for (NpyArray& array : arrays) add(array);
  }
  Examples take() { return std::move(examples_); }

 private:
  [[noreturn]] void refuse(const NpyArray& array, const std::string& what) const {
    refuse_data(examples_.source, 0,
                fmt::format("array \"{}\" of shape [{}]: {}", array.name, fmt::join(array.shape, ", "), what));
  }

  void require_shape(const NpyArray& array) const {
    if (array.shape.empty() || array.shape.size() > 3) {
      refuse(array, "there are [positions], [positions, numbers] and [examples, positions, numbers]");
    }
    if (array.values.empty()) refuse(array, "it is empty; leave it out");
  }

  void find_lengths(const NpyArray& array) {
    const bool many = array.shape.size() == 3;
    if (!many && several_) return;
    const Index count = many ? array.shape[0] : 1, length = array.shape[many ? 1 : 0];
    if (several_ == many && length_ > 0 && (count != count_ || length != length_)) {
      refuse(array, fmt::format("another array has {} examples of {} positions; all must agree", count_, length_));
    }
    several_ = many;
    count_ = count;
    length_ = length;
  }

  void add(NpyArray& array) {
    const auto dimensions = array.shape.size();
    const bool at_positions = !several_ || dimensions == 3 || (dimensions == 2 && array.shape[1] == length_);
    const Index entries = at_positions ? count_ * length_ : count_;
    if (several_ && array.shape[0] != count_) {
      refuse(array, fmt::format("another array has {} examples; the first index must run over them", count_));
    }
    ExampleColumn column{.name = array.name, .once = !at_positions};
    column.width = static_cast<Index>(array.values.size()) / entries;
    column.numbers = std::move(array.values);
    mark_missing(array, column);
    examples_.columns.push_back(std::move(column));
  }

  /// A vector of NaN is a missing one.
  void mark_missing(const NpyArray& array, ExampleColumn& column) const {
    const Index width = column.width, entries = column.entries();
    for (Index entry = 0; entry < entries; ++entry) {
      const auto begin = column.numbers.begin() + entry * width, end = begin + width;
      const Index missing = std::count_if(begin, end, [](double value) { return std::isnan(value); });
      if (std::any_of(begin, end, [](double value) { return std::isinf(value); })) {
        refuse(array, fmt::format("entry {} is not finite; give nan for what is missing", entry));
      }
      if (missing > 0 && missing < width) {
        refuse(array, fmt::format("entry {} is nan in {} of {} numbers; a vector is missing as a whole", entry, missing,
                                  width));
      }
      if (missing == 0) continue;
      if (column.missing.empty()) column.missing.resize(at(entries), 0);
      column.missing[at(entry)] = 1;
      std::fill(begin, end, 0);
    }
  }

  Examples examples_;
  bool several_ = false;
  Index count_ = 1, length_ = 0;
};

Examples read_npy(const Input& input, const ReaderOptions&) {
  return ArrayExamples(input.name(), npy_arrays(input)).take();
}

std::string guess_npy(const DataSample& sample) {
  if (sample.bytes.starts_with(kNpyMagic)) return "an array of NumPy";
  const bool first_is_array = sample.bytes.substr(0, 512).find(".npy") != std::string_view::npos;
  return is_zip(sample.bytes) && (first_is_array || ends_in(sample.name, {".npz"})) ? "an archive of arrays of NumPy"
                                                                                    : "";
}

}  // namespace

std::vector<NpyArray> npy_arrays(const Input& input) {
  std::vector<NpyArray> arrays;
  if (!is_zip(input.bytes())) {
    arrays.push_back(read_array(input.name(), "values", input.bytes()));
    return arrays;
  }
  constexpr std::string_view kEnding = ".npy";
  for (const ZipMember& member : zip_members(input.name(), input.bytes())) {
    const std::string source = fmt::format("{}: {}", input.name(), member.name);
    if (!member.name.ends_with(kEnding)) refuse_data(source, 0, "no array of NumPy; an .npz file holds only these");
    const std::string bytes = member.unpack(input.bytes());
    arrays.push_back(read_array(source, member.name.substr(0, member.name.size() - kEnding.size()), bytes));
  }
  return arrays;
}

ReaderEntry npy_reader() {
  return {.name = "npy",
          .help = "arrays of NumPy (.npy, .npz): [positions], [positions, numbers], [examples, positions, numbers]",
          .guess = guess_npy,
          .read = read_npy};
}

}  // namespace unfold
