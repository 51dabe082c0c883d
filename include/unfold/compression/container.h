#pragma once
/// The container format of compressed data: a header that describes how to decode, blocks, and an end record. Every
/// record ends with a CRC-32 that continues the CRC-32 of the previous record. Truncation, flipped bits, and lost,
/// repeated or reordered blocks are therefore all detected. Every block also carries the CRC-32 of its contents, which
/// detects a decoder that diverged from the encoder.
///
///   magic 8F 55 4E 46, version 01
///   header   length, payload, crc            lengths and numbers are LEB128, crcs 4 bytes, little-endian
///   block    01, bytes, symbols, code length, side length, code, side, crc of the contents, crc
///   end      02, total bytes, blocks, crc
///
/// With a key the version is 02, and every record ends with a 32-byte tag (base/formats/authentication_key.h) of the
/// previous tag and the record instead of a CRC-32. No data is returned before its tag has been verified.
///
/// Errors: VerificationError for damaged data and for a key that is wrong, missing or superfluous; ModelError for an
/// unsupported version.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "unfold/base/formats/authentication_key.h"
#include "unfold/base/types.h"

namespace unfold {

/// Writes up to `size` bytes to `out` and returns how many; 0 at the end.
using ByteSource = std::function<std::size_t(char* out, std::size_t size)>;
using ByteSink = std::function<void(std::string_view)>;

/// Reads exactly `size` bytes, or fewer at the end of the source.
std::string read_up_to(const ByteSource& source, std::size_t size);

std::uint32_t crc32_of(std::string_view bytes, std::uint32_t start = 0);
/// 64-bit FNV-1a hash that identifies a model file.
std::uint64_t identity_of(std::string_view bytes);

enum class ModelSource : std::uint8_t {
  spec = 1,      ///< a model that starts untrained
  embedded = 2,  ///< the model file is in the container
  external = 3   ///< a model file that the reader must provide
};

/// Describes how to decode the blocks.
struct ContainerHeader {
  ModelSource source = ModelSource::spec;
  std::string model = {};      ///< the SPEC, the bytes of the model file, or its name
  std::uint64_t identity = 0;  ///< hash of the external model file
  bool learns = true;          ///< the model keeps learning from the data it decodes
  std::string optimizer = {};  ///< optimizer of a network that learns, with `window`; otherwise empty
  Index window = 0;
  std::string bytes = {};    ///< for a SPEC, the byte values of the alphabet, in ascending order; empty: all 256
  Index block = 1 << 20;     ///< maximum bytes per block
  bool independent = false;  ///< every block starts from the initial state
};

struct ContainerBlock {
  Index bytes = 0, symbols = 0;
  std::uint32_t content_crc = 0;
  std::string code = {};  ///< encoded symbols
  std::string side = {};  ///< encoded corrections: the bytes that the symbols do not determine
};

inline constexpr Index kMostBlock = Index{1} << 28;

/// Computes the CRC or tag that ends each record; it continues the CRC or tag of the previous record. Internal to the
/// reader and the writer.
class RecordSeal {
 public:
  explicit RecordSeal(std::optional<Key> key) : key_(std::move(key)) {}
  std::size_t size() const;
  std::string next(std::string_view record);

 private:
  std::optional<Key> key_;
  std::string tag_;  ///< tag of the previous record
  std::uint32_t crc_ = 0;
};

class ContainerWriter {
 public:
  ContainerWriter(ByteSink sink, const ContainerHeader& header, const Key* key = nullptr);
  void write(const ContainerBlock& block);
  void end();
  Index bytes() const { return written_; }  ///< bytes written so far

 private:
  void record(std::string bytes);
  ByteSink sink_;
  RecordSeal seal_;
  Index written_ = 0, contents_ = 0, blocks_ = 0;
};

class ContainerReader {
 public:
  /// Reads the header. `name` is used in messages.
  ContainerReader(ByteSource source, std::string name, const Key* key = nullptr);
  const ContainerHeader& header() const { return header_; }
  /// Returns false after the end record, which must also be the end of the source.
  bool next(ContainerBlock& block);
  Index bytes() const { return read_; }  ///< bytes read so far
  [[noreturn]] void damaged(const std::string& what) const;

 private:
  std::string take(std::size_t size);
  std::uint64_t number();
  void choose_seal(char version, const Key* key);
  void check_seal();

  ByteSource source_;
  std::string name_, record_;  // the current record, for its seal
  ContainerHeader header_;
  RecordSeal seal_;
  Index read_ = 0, contents_ = 0, blocks_ = 0;
};

}  // namespace unfold
