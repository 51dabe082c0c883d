#pragma once
/// The container of compressed data: a header that says how to decode, blocks, an end. Every record ends in a CRC-32
/// that goes on from the record before, so that truncation, any flipped byte, and blocks lost, doubled or exchanged are
/// all found; every block also carries the CRC-32 of its contents, which finds a decoder that went astray.
///
///   magic 8F 55 4E 46, version 01
///   header   length, payload, crc            lengths and numbers are LEB128, crcs 4 bytes, low byte first
///   block    01, bytes, symbols, code length, side length, code, side, crc of the contents, crc
///   end      02, bytes in all, blocks, crc
///
/// With a key the version is 02 and every record ends, instead of in a CRC-32, in a tag of 32 bytes (base/key.h) of the
/// tag before and the record: nothing is handed out that was not written by somebody who knows the key.
///
/// Errors: VerificationError for anything damaged and for a key that is wrong, missing or too much; ModelError for a
/// version that this program does not know.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "unfold/base/key.h"
#include "unfold/base/types.h"

namespace unfold {

/// Fills up to `size` bytes; returns how many, 0 at the end.
using ByteSource = std::function<std::size_t(char* out, std::size_t size)>;
using ByteSink = std::function<void(std::string_view)>;

/// Reads exactly `size` bytes, fewer only at the end.
std::string read_up_to(const ByteSource& source, std::size_t size);

std::uint32_t crc32_of(std::string_view bytes, std::uint32_t start = 0);
/// 64-bit FNV-1a: which model file this is.
std::uint64_t identity_of(std::string_view bytes);

enum class ModelSource : std::uint8_t {
  spec = 1,      ///< a model that knows nothing before it reads
  embedded = 2,  ///< the model file is in the container
  external = 3   ///< a model file that the reader must have
};

/// How to decode.
struct ContainerHeader {
  ModelSource source = ModelSource::spec;
  std::string model = {};      ///< the SPEC; the model file; its name
  std::uint64_t identity = 0;  ///< of the external model file
  bool learns = true;          ///< the model goes on learning while it reads
  std::string optimizer = {};  ///< of a network that learns, with `window`; else empty
  Index window = 0;
  std::string bytes = {};    ///< the alphabet of a SPEC: these bytes, in rising order; empty: all 256
  Index block = 1 << 20;     ///< bytes per block at most
  bool independent = false;  ///< every block starts anew
};

struct ContainerBlock {
  Index bytes = 0, symbols = 0;
  std::uint32_t content_crc = 0;
  std::string code = {};  ///< of the symbols
  std::string side = {};  ///< what the symbols do not tell (byte_symbols.h), coded
};

inline constexpr Index kMostBlock = Index{1} << 28;

/// What records end in; it goes on from the record before. Internal to reader and writer.
class RecordSeal {
 public:
  explicit RecordSeal(std::optional<Key> key) : key_(std::move(key)) {}
  std::size_t size() const;
  std::string next(std::string_view record);

 private:
  std::optional<Key> key_;
  std::string tag_;  ///< of the record before
  std::uint32_t crc_ = 0;
};

class ContainerWriter {
 public:
  ContainerWriter(ByteSink sink, const ContainerHeader& header, const Key* key = nullptr);
  void write(const ContainerBlock& block);
  void end();
  Index bytes() const { return written_; }  ///< so far

 private:
  void record(std::string bytes);
  ByteSink sink_;
  RecordSeal seal_;
  Index written_ = 0, contents_ = 0, blocks_ = 0;
};

class ContainerReader {
 public:
  /// Reads the header. `name` is for messages.
  ContainerReader(ByteSource source, std::string name, const Key* key = nullptr);
  const ContainerHeader& header() const { return header_; }
  /// False after the end, which must be the end of the source too.
  bool next(ContainerBlock& block);
  Index bytes() const { return read_; }  ///< so far
  [[noreturn]] void damaged(const std::string& what) const;

 private:
  std::string take(std::size_t size);
  std::uint64_t number();
  void choose_seal(char version, const Key* key);
  void check_seal();

  ByteSource source_;
  std::string name_, record_;  // the present record, for its seal
  ContainerHeader header_;
  RecordSeal seal_;
  Index read_ = 0, contents_ = 0, blocks_ = 0;
};

}  // namespace unfold
