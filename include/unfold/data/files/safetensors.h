#pragma once
/// The safetensors format: 8 bytes of little-endian header length, a JSON header, and the tensors. Reading executes no
/// code. https://github.com/huggingface/safetensors
///
///   SafetensorsWriter writer;
///   writer.add("W", {2, 3}, weights);         // std::vector<float>; must stay valid until `write`
///   writer.write("model.safetensors");
///   const auto file = SafetensorsFile::open("model.safetensors");   // verifies the checksum
///
/// Our files contain as the first entry of `__metadata__` "checksum": "crc32:HHHHHHHH", the CRC-32 of the whole file
/// with zeros in place of these eight digits. Any change is therefore detected. Writing is deterministic: equal
/// contents give equal bytes. With a key (`authentication_key`) a second entry follows, "mac": "blake2b:" and the 64
/// digits of a tag (base/formats/authentication_key.h) of the file with zeros in place of both. A reader with a key
/// accepts only files with that tag, and a reader without a key rejects files that have one. The data begins at a
/// multiple of 64; wide element types come first, sorted by name within a width, so every tensor is aligned to the size
/// of its elements although the format does not allow gaps.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/formats/file.h"
#include "unfold/base/types.h"

namespace unfold {

enum class Dtype { f32, f64, u8, i32, u32, i64, u64 };
std::string_view to_string(Dtype dtype);  ///< "F32", ...
Index width(Dtype dtype);                 ///< bytes per element

template <class T>
struct DtypeOf;
template <>
struct DtypeOf<float> {
  static constexpr Dtype value = Dtype::f32;
};
template <>
struct DtypeOf<double> {
  static constexpr Dtype value = Dtype::f64;
};
template <>
struct DtypeOf<std::uint8_t> {
  static constexpr Dtype value = Dtype::u8;
};
template <>
struct DtypeOf<std::int32_t> {
  static constexpr Dtype value = Dtype::i32;
};
template <>
struct DtypeOf<std::uint32_t> {
  static constexpr Dtype value = Dtype::u32;
};
template <>
struct DtypeOf<std::int64_t> {
  static constexpr Dtype value = Dtype::i64;
};
template <>
struct DtypeOf<std::uint64_t> {
  static constexpr Dtype value = Dtype::u64;
};

/// A tensor in a file: row-major, little-endian. The bytes belong to the file.
struct Tensor {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<Index> shape;
  std::string_view bytes;

  Index elements() const;  ///< product of the shape
};

/// Collects tensors and metadata, then writes them. Tensor data is not copied and must stay valid until it is written.
class SafetensorsWriter {
 public:
  /// Throws ModelError if the name is taken, empty or `__metadata__`, or if the shape does not match the values.
  template <class T>
  void add(std::string name, std::vector<Index> shape, std::span<const T> values) {
    add_bytes({std::move(name),
               DtypeOf<T>::value,
               std::move(shape),
               {reinterpret_cast<const char*>(values.data()), values.size_bytes()}});
  }
  template <class T>
  void add(std::string name, std::vector<Index> shape, const std::vector<T>& values) {
    add(std::move(name), std::move(shape), std::span<const T>(values));
  }
  void add_bytes(Tensor tensor);
  /// Sets a function that is called whenever a part of this tensor was read, so that its pages can be dropped.
  void after_reading(const std::string& name, std::function<void()> drop) { drops_[name] = std::move(drop); }
  /// The value must be valid UTF-8; the key "checksum" is reserved. Throws ModelError.
  void set_metadata(const std::string& key, std::string value);

  const std::map<std::string, Tensor>& tensors() const { return tensors_; }
  std::string bytes() const;
  void write(const std::string& path) const;  ///< atomic; throws RuntimeFailure

 private:
  std::vector<const Tensor*> data_order() const;
  std::string header(const std::vector<const Tensor*>& order) const;
  template <class Use>
  void read_in_steps(const Tensor& tensor, const Use& use) const;

  std::map<std::string, Tensor> tensors_;
  std::map<std::string, std::function<void()>> drops_;
  std::map<std::string, std::string> metadata_;
};

enum class Checksum {
  required,  ///< files without our checksum are rejected
  optional   ///< for files written by other programs: the checksum is verified if present
};

/// Returns whether the bytes look like the beginning of a safetensors file, damaged or not, rather than like text: some
/// of the first 64 bytes, which contain the header length, are 0 or invalid UTF-8, or they contain the first key of the
/// header.
bool begins_as_safetensors(std::string_view bytes);

/// A file that is completely verified before any of it is returned; the checksum is verified before parsing. Every
/// error is a ModelError that names the file and, if applicable, the byte offset. A missing or unreadable file is a
/// ModelError, too; a file that is truncated during reading raises RuntimeFailure.
class SafetensorsFile {
 public:
  static SafetensorsFile open(const std::string& path, Checksum checksum = Checksum::required);
  static SafetensorsFile from_bytes(std::string bytes, std::string name, Checksum checksum = Checksum::required);

  const std::string& name() const { return name_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }  ///< sorted by name; copy their bytes with `read`
  const Tensor* find(std::string_view name) const;                 ///< nullptr if there is none
  /// Throws a ModelError that suggests the nearest name.
  const Tensor& tensor(std::string_view name) const;
  /// Copies the values of a tensor, which must have this type and shape. Throws ModelError.
  template <class T>
  void read(std::string_view name, const std::vector<Index>& shape, std::span<T> out) const {
    read_bytes(name, DtypeOf<T>::value, shape, reinterpret_cast<char*>(out.data()), out.size_bytes());
  }
  /// Returns the values of a tensor of this type and any shape.
  template <class T>
  std::vector<T> values(std::string_view name) const {
    const Tensor& found = tensor(name);
    std::vector<T> out(static_cast<std::size_t>(found.elements()));
    read(name, found.shape, std::span<T>(out));
    return out;
  }
  /// Returns the metadata without the checksum.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// Throws ModelError if the key is missing.
  const std::string& metadata(const std::string& key) const;

 private:
  SafetensorsFile(FileBytes content, std::string name, Checksum checksum);
  std::string_view header() const;
  void check_sum(Checksum checksum) const;
  void check_tag(std::string_view header) const;
  void parse(std::string_view header);
  void read_bytes(std::string_view name, Dtype dtype, const std::vector<Index>& shape, char* out,
                  std::size_t size) const;
  [[noreturn]] void fail(const std::string& what) const;

  std::string name_;
  std::shared_ptr<const FileBytes> content_;
  std::string_view bytes_;
  std::vector<Tensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace unfold
