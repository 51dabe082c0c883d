#include "unfold/data/files/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/options/suggestions.h"
#include "base/utf8.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/authentication_key.h"
#include "unfold/base/formats/json.h"

namespace unfold {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are copied to and from the file without conversion");

constexpr std::uint64_t kMaxHeader = 100'000'000;  // as in the reference implementation
constexpr std::size_t kMaxRank = 16;
constexpr Index kMaxElements = Index{1} << 48;
constexpr std::size_t kLengthBytes = 8, kAlignment = 64;
constexpr std::size_t kStep = std::size_t{4} << 20;  // bytes that are read before their pages are dropped

/// The position of the checksum in our files: these bytes directly after the length, then eight digits.
constexpr std::string_view kChecksumStart = R"({"__metadata__":{"checksum":"crc32:)";
constexpr std::size_t kChecksumAt = kLengthBytes + kChecksumStart.size(), kChecksumDigits = 8;
constexpr std::string_view kNoDigits = "00000000";

/// In files written with a key, the checksum is followed by these bytes and the digits of a tag.
constexpr std::string_view kMacStart = R"(","mac":"blake2b:)";
constexpr std::size_t kMacAt = kChecksumAt + kChecksumDigits + kMacStart.size(), kMacDigits = 2 * kTagBytes;

struct DtypeInfo {
  std::string_view name;
  Index width;
};

constexpr std::array<DtypeInfo, 7> kDtypes{
    {{"F32", 4}, {"F64", 8}, {"U8", 1}, {"I32", 4}, {"U32", 4}, {"I64", 8}, {"U64", 8}}};

std::uint32_t crc(std::uint32_t start, std::string_view bytes) {
  if (bytes.empty()) return start;  // zlib resets the checksum if it is given a null pointer
  return static_cast<std::uint32_t>(crc32_z(start, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::string hexadecimal(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) out += fmt::format("{:02x}", static_cast<std::uint8_t>(byte));
  return out;
}

/// Computes the tag of a file in pieces; the first one must contain the digits of both checksum and tag.
class FileTag {
 public:
  FileTag(const Key& key, std::string_view begin) : tag_(key, "unfold model") {
    std::string blank(begin);
    blank.replace(kChecksumAt, kChecksumDigits, kChecksumDigits, '0');
    blank.replace(kMacAt, kMacDigits, kMacDigits, '0');
    tag_.add(blank);
  }
  void add(std::string_view bytes) { tag_.add(bytes); }
  std::string digits() { return hexadecimal(tag_.finish()); }

 private:
  Authenticator tag_;
};

std::string json_string(const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    throw ModelError("safetensors: names and metadata must be valid UTF-8");
  }
}

/// Returns the product of a shape times `factor`; -1 if a dimension is negative or the product exceeds any file size.
Index product(const std::vector<Index>& shape) {
  Index elements = 1;
  for (const Index n : shape) {
    if (n < 0 || n > kMaxElements) return -1;
    if (n == 0) return 0;
  }
  for (const Index n : shape) {
    if (elements > kMaxElements / n) return -1;
    elements *= n;
  }
  return elements;
}

/// Replaces unprintable bytes with question marks, for messages: a damaged file may contain arbitrary bytes.
std::string question_marked(std::string_view bytes) {
  std::string out(bytes);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return out;
}

std::string shown(const std::vector<Index>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

}  // namespace

std::string_view to_string(Dtype dtype) { return kDtypes[static_cast<std::size_t>(dtype)].name; }
Index width(Dtype dtype) { return kDtypes[static_cast<std::size_t>(dtype)].width; }
Index Tensor::elements() const { return product(shape); }

bool begins_as_safetensors(std::string_view bytes) {
  const std::string_view begin = bytes.substr(0, 64);
  const Index invalid = find_invalid_utf8(begin);
  const bool cut_within_a_character = invalid > 64 - 4;
  const bool text = begin.find('\0') == std::string_view::npos && (invalid < 0 || cut_within_a_character);
  return !text || begin.find("\"__metadata__\"") != std::string_view::npos;
}

void SafetensorsWriter::add_bytes(Tensor tensor) {
  if (tensor.name.empty() || tensor.name == "__metadata__") {
    throw ModelError(fmt::format("safetensors: a tensor cannot be named \"{}\"", tensor.name));
  }
  const Index elements = product(tensor.shape);
  if (elements < 0 || elements * width(tensor.dtype) != static_cast<Index>(tensor.bytes.size()) ||
      tensor.shape.size() > kMaxRank) {
    throw ModelError(fmt::format("safetensors: tensor \"{}\" of shape {} does not match {} bytes", tensor.name,
                                 shown(tensor.shape), tensor.bytes.size()));
  }
  const std::string name = tensor.name;
  if (!tensors_.emplace(name, std::move(tensor)).second) {
    throw ModelError(fmt::format("safetensors: two tensors are named \"{}\"", name));
  }
}

void SafetensorsWriter::set_metadata(const std::string& key, std::string value) {
  if (key == "checksum" || key == "mac")
    throw ModelError(fmt::format("safetensors: the metadata key \"{}\" is reserved", key));
  metadata_[key] = std::move(value);
}

std::vector<const Tensor*> SafetensorsWriter::data_order() const {
  std::vector<const Tensor*> order;
  for (const auto& [name, tensor] : tensors_) order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(),
                   [](const Tensor* a, const Tensor* b) { return width(a->dtype) > width(b->dtype); });
  return order;
}

/// Calls `use` with the bytes of a tensor, in steps.
template <class Use>
void SafetensorsWriter::read_in_steps(const Tensor& tensor, const Use& use) const {
  const auto drop = drops_.find(tensor.name);
  for (std::string_view rest = tensor.bytes; !rest.empty(); rest.remove_prefix(std::min(rest.size(), kStep))) {
    use(rest.substr(0, kStep));
    if (drop != drops_.end()) drop->second();
  }
}

std::string SafetensorsWriter::header(const std::vector<const Tensor*>& order) const {
  std::string json(kChecksumStart);
  json += kNoDigits;
  const Key* secret = authentication_key();
  if (secret != nullptr) json += fmt::format("{}{:0>{}}", kMacStart, "", kMacDigits);
  json += '"';
  for (const auto& [key, value] : metadata_) json += fmt::format(",{}:{}", json_string(key), json_string(value));
  json += '}';
  std::size_t begin = 0;
  for (const Tensor* tensor : order) {
    const std::size_t end = begin + tensor->bytes.size();
    json += fmt::format(R"(,{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", json_string(tensor->name),
                        to_string(tensor->dtype), fmt::join(tensor->shape, ","), begin, end);
    begin = end;
  }
  json += '}';
  while ((kLengthBytes + json.size()) % kAlignment != 0) json += ' ';
  if (json.size() > kMaxHeader) throw ModelError("safetensors: names and metadata exceed 100 MB");
  const std::uint64_t length = json.size();
  std::string out(reinterpret_cast<const char*>(&length), kLengthBytes);
  out += json;
  if (secret != nullptr) {
    FileTag tag(*secret, out);
    for (const Tensor* tensor : order) read_in_steps(*tensor, [&](std::string_view step) { tag.add(step); });
    out.replace(kMacAt, kMacDigits, tag.digits());
  }
  std::uint32_t sum = crc(0, out);
  for (const Tensor* tensor : order) read_in_steps(*tensor, [&](std::string_view step) { sum = crc(sum, step); });
  out.replace(kChecksumAt, kChecksumDigits, fmt::format("{:08x}", sum));
  return out;
}

std::string SafetensorsWriter::bytes() const {
  const auto order = data_order();
  std::string out = header(order);
  for (const Tensor* tensor : order) out += tensor->bytes;
  return out;
}

void SafetensorsWriter::write(const std::string& path) const {
  const auto order = data_order();
  const std::string head = header(order);
  AtomicFile file(path);
  file.write(head);
  for (const Tensor* tensor : order) read_in_steps(*tensor, [&](std::string_view step) { file.write(step); });
  file.commit();
}

void SafetensorsFile::fail(const std::string& what) const { throw ModelError(fmt::format("{}: {}", name_, what)); }

SafetensorsFile::SafetensorsFile(FileBytes content, std::string name, Checksum checksum)
    : name_(std::move(name)),
      content_(std::make_shared<const FileBytes>(std::move(content))),
      bytes_(content_->bytes()) {
  const std::string_view json = header();
  check_sum(checksum);
  check_tag(json);
  parse(json);
  content_->mapping().require_whole();
}

SafetensorsFile SafetensorsFile::open(const std::string& path, Checksum checksum) {
  try {
    return {FileBytes(path), path, checksum};
  } catch (const DataError& error) {
    throw ModelError(error.what());
  }
}

SafetensorsFile SafetensorsFile::from_bytes(std::string bytes, std::string name, Checksum checksum) {
  return {FileBytes::in_memory(std::move(bytes)), std::move(name), checksum};
}

namespace {

/// Reads the tensor entries of a header; its error messages do not contain the file name.
class HeaderReader {
 public:
  HeaderReader(const nlohmann::json& header, std::string_view data, Index data_at)
      : header_(header), data_(data), data_at_(data_at) {}

  std::map<std::string, std::string> metadata() const {
    std::map<std::string, std::string> out;
    const auto found = header_.find("__metadata__");
    if (found == header_.end()) return out;
    require(found->is_object(), "__metadata__", "must be an object");
    for (const auto& [key, value] : found->items()) {
      require(value.is_string(), "__metadata__", "may contain only strings");
      out[key] = value.get<std::string>();
    }
    return out;
  }

  /// Returns the tensors in the order of their data.
  std::vector<Tensor> tensors() const {
    std::vector<Tensor> out;
    for (const auto& [name, entry] : header_.items()) {
      if (name != "__metadata__") out.push_back(tensor(name, entry));
    }
    std::sort(out.begin(), out.end(), [](const Tensor& a, const Tensor& b) {
      return a.bytes.data() != b.bytes.data() ? a.bytes.data() < b.bytes.data() : a.bytes.size() < b.bytes.size();
    });
    const char* expected = data_.data();
    for (const Tensor& t : out) {
      require(t.bytes.data() == expected, t.name,
              fmt::format("begins at byte {} instead of {}: a gap or an overlap",
                          data_at_ + (t.bytes.data() - data_.data()), data_at_ + (expected - data_.data())));
      expected += t.bytes.size();
    }
    const Index used = expected - data_.data();
    if (used != static_cast<Index>(data_.size())) {
      throw ModelError(fmt::format("the tensors end at byte {}, the file at byte {}", data_at_ + used,
                                   data_at_ + static_cast<Index>(data_.size())));
    }
    return out;
  }

 private:
  static void require(bool condition, const std::string& entry, std::string_view what) {
    if (!condition) throw ModelError(fmt::format("entry \"{}\" {}", entry, what));
  }

  static std::vector<Index> sizes(const std::string& name, const nlohmann::json& list, std::string_view key) {
    require(list.is_array(), name, fmt::format("has no list of {}", key));
    std::vector<Index> out;
    for (const nlohmann::json& number : list) {
      const Index size = whole_number<Index>(number).value_or(-1);
      require(size >= 0 && size <= kMaxElements * 8, name, fmt::format("has a {} that is not a size", key));
      out.push_back(size);
    }
    return out;
  }

  Tensor tensor(const std::string& name, const nlohmann::json& entry) const {
    require(!name.empty(), name, "has no name");
    require(entry.is_object() && entry.size() == 3 && entry.contains("dtype") && entry.contains("shape") &&
                entry.contains("data_offsets"),
            name, "must have dtype, shape and data_offsets and nothing else");
    Tensor out;
    out.name = name;
    const nlohmann::json& type = entry["dtype"];
    const auto known = std::find_if(kDtypes.begin(), kDtypes.end(), [&](const DtypeInfo& info) {
      return type.is_string() && type.get_ref<const std::string&>() == info.name;
    });
    require(known != kDtypes.end(), name, fmt::format("has type {}, which is not supported", type.dump()));
    out.dtype = static_cast<Dtype>(known - kDtypes.begin());
    out.shape = sizes(name, entry["shape"], "shape");
    require(out.shape.size() <= kMaxRank, name, "has too many dimensions");
    const std::vector<Index> offsets = sizes(name, entry["data_offsets"], "data_offsets");
    require(offsets.size() == 2 && offsets[0] <= offsets[1], name, "must have two offsets in ascending order");
    if (offsets[1] > static_cast<Index>(data_.size())) {
      throw ModelError(fmt::format("truncated: tensor \"{}\" ends at byte {}, the file at byte {}", name,
                                   data_at_ + offsets[1], data_at_ + static_cast<Index>(data_.size())));
    }
    const Index elements = product(out.shape);
    require(elements >= 0 && elements * width(out.dtype) == offsets[1] - offsets[0], name,
            fmt::format("with shape {} and type {} does not match {} bytes", shown(out.shape), to_string(out.dtype),
                        offsets[1] - offsets[0]));
    out.bytes = data_.substr(static_cast<std::size_t>(offsets[0]), static_cast<std::size_t>(offsets[1] - offsets[0]));
    return out;
  }

  const nlohmann::json& header_;
  std::string_view data_;
  Index data_at_;
};

/// Reads a range of the file in steps and releases the pages of the mapping.
template <class Use>
void for_each_step(std::string_view stretch, const FileBytes& file, const Use& use) {
  while (!stretch.empty()) {
    const std::string_view step = stretch.substr(0, kStep);
    use(step);
    file.mapping().release(step);
    stretch.remove_prefix(step.size());
  }
}

/// Returns whether the header indicates that the file was written with a key.
bool has_tag(std::string_view header) {
  constexpr std::size_t kAt = kChecksumStart.size() + kChecksumDigits;
  return header.starts_with(kChecksumStart) && header.size() >= kAt + kMacStart.size() + kMacDigits &&
         header.substr(kAt).starts_with(kMacStart);
}

}  // namespace

std::string_view SafetensorsFile::header() const {
  if (bytes_.empty()) fail("empty; not a model file");
  if (bytes_.size() < kLengthBytes)
    fail(fmt::format("truncated after {} bytes, inside the header length", bytes_.size()));
  std::uint64_t length = 0;
  std::memcpy(&length, bytes_.data(), kLengthBytes);
  if (length > kMaxHeader)
    fail(
        begins_as_safetensors(bytes_)
            ? "not a model file: it does not begin with the length of a header"
            : "not a model file, but a text; the model is named before the data, `unfold train` makes a model of data, "
              "and `unfold inspect` shows what a file contains");
  if (length > bytes_.size() - kLengthBytes) {
    fail(fmt::format("truncated: the header ends at byte {}, the file at byte {}", kLengthBytes + length,
                     bytes_.size()));
  }
  const std::string_view header = bytes_.substr(kLengthBytes, length);
  if (!header.starts_with('{')) fail("no JSON object at byte 8; not a model file");
  return header;
}

/// Verifies the checksum. It is at a fixed position, so it can be checked before anything is parsed.
void SafetensorsFile::check_sum(Checksum checksum) const {
  if (!bytes_.substr(kLengthBytes).starts_with(kChecksumStart) || bytes_.size() < kChecksumAt + kChecksumDigits) {
    if (checksum == Checksum::required)
      fail("the checksum is missing; the file may have been written by a different program");
    return;
  }
  std::uint32_t sum = crc(0, bytes_.substr(0, kChecksumAt));
  sum = crc(sum, kNoDigits);
  for_each_step(bytes_.substr(kChecksumAt + kChecksumDigits), *content_,
                [&](std::string_view step) { sum = crc(sum, step); });
  const std::string expected = fmt::format("{:08x}", sum);
  const std::string_view stated = bytes_.substr(kChecksumAt, kChecksumDigits);
  if (stated != expected)
    fail(fmt::format("truncated or damaged: the checksum is crc32:{} instead of crc32:{}", expected,
                     question_marked(stated)));
}

/// Verifies the authentication tag. The tag is verified after the checksum, so accidental damage is reported as damage.
void SafetensorsFile::check_tag(std::string_view header) const {
  const Key* key = authentication_key();
  const bool tagged = has_tag(header);
  if (key == nullptr && tagged) fail("written with a key; name the key file with --key");
  if (key == nullptr) return;
  if (!tagged) fail("written without a key, so its origin cannot be verified; leave out --key to read it anyway");
  FileTag tag(*key, bytes_.substr(0, kMacAt + kMacDigits));
  for_each_step(bytes_.substr(kMacAt + kMacDigits), *content_, [&](std::string_view step) { tag.add(step); });
  if (!tags_equal(tag.digits(), bytes_.substr(kMacAt, kMacDigits))) fail("written with a different key");
}

void SafetensorsFile::parse(std::string_view header) {
  const nlohmann::json json = parse_json(header, name_ + ": header");
  const std::size_t data_at = kLengthBytes + header.size();
  try {
    const HeaderReader reader(json, bytes_.substr(data_at), static_cast<Index>(data_at));
    metadata_ = reader.metadata();
    tensors_ = reader.tensors();
  } catch (const ModelError& error) {
    fail(error.what());
  }
  std::sort(tensors_.begin(), tensors_.end(), [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
  if (header.starts_with(kChecksumStart)) metadata_.erase("checksum");
  if (has_tag(header)) metadata_.erase("mac");
}

const Tensor* SafetensorsFile::find(std::string_view name) const {
  const auto found =
      std::lower_bound(tensors_.begin(), tensors_.end(), name,
                       [](const Tensor& tensor, std::string_view wanted) { return tensor.name < wanted; });
  return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

const Tensor& SafetensorsFile::tensor(std::string_view name) const {
  if (const Tensor* found = find(name)) return *found;
  std::vector<std::string> names;
  for (const Tensor& tensor : tensors_) names.push_back(tensor.name);
  fail(fmt::format("there is no tensor \"{}\"{}", name, did_you_mean(name, names)));
}

const std::string& SafetensorsFile::metadata(const std::string& key) const {
  const auto found = metadata_.find(key);
  if (found == metadata_.end()) fail(fmt::format("the metadata does not contain \"{}\"", key));
  return found->second;
}

void SafetensorsFile::read_bytes(std::string_view name, Dtype dtype, const std::vector<Index>& shape, char* out,
                                 std::size_t size) const {
  const Tensor& found = tensor(name);
  if (found.dtype != dtype || found.shape != shape || found.bytes.size() != size) {
    fail(fmt::format("tensor \"{}\" is {} {}, expected {} {}", name, to_string(found.dtype), shown(found.shape),
                     to_string(dtype), shown(shape)));
  }
  for_each_step(found.bytes, *content_, [&](std::string_view step) {
    std::memcpy(out, step.data(), step.size());
    out += step.size();
  });
  content_->mapping().require_whole();
}

}  // namespace unfold
