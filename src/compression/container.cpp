#include "unfold/compression/container.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <utility>

#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::string_view kMagic = "\x8FUNF";
constexpr char kVersion = 1, kKeyedVersion = 2, kBlockTag = 1, kEndTag = 2;
constexpr std::size_t kCrcBytes = 4;
constexpr std::uint64_t kMostHeader = std::uint64_t{1} << 32;

void put_number(std::string& out, std::uint64_t n) {
  for (; n >= 0x80; n >>= 7) out += static_cast<char>(n | 0x80);
  out += static_cast<char>(n);
}

void put_text(std::string& out, std::string_view text) {
  put_number(out, text.size());
  out += text;
}

void put_crc(std::string& out, std::uint32_t crc) {
  for (std::size_t i = 0; i < kCrcBytes; ++i) out += static_cast<char>(crc >> (8 * i));
}

std::uint32_t get_crc(std::string_view bytes) {
  std::uint32_t crc = 0;
  for (std::size_t i = kCrcBytes; i-- > 0;) crc = crc << 8 | static_cast<std::uint8_t>(bytes[i]);
  return crc;
}

std::optional<Key> copy_of(const Key* key) { return key != nullptr ? std::optional<Key>(*key) : std::nullopt; }

std::string payload_of(const ContainerHeader& h) {
  std::string out;
  out += static_cast<char>(h.source);
  out += static_cast<char>((h.learns ? 1 : 0) | (h.independent ? 2 : 0));
  put_number(out, static_cast<std::uint64_t>(h.block));
  put_text(out, h.model);
  put_number(out, h.identity);
  put_text(out, h.optimizer);
  put_number(out, static_cast<std::uint64_t>(h.window));
  put_text(out, h.bytes);
  return out;
}

/// Reads a payload whose CRC is correct: an inconsistency means that it was written by a different program.
class PayloadReader {
 public:
  PayloadReader(std::string_view bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}
  std::uint64_t number() {
    std::uint64_t n = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(take(1)[0]);
      n |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return n;
    }
    fail();
  }
  std::string text() { return std::string(take(number())); }
  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size()) fail();
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  void end() const {
    if (!bytes_.empty()) fail();
  }
  [[noreturn]] void fail() const {
    throw ModelError(fmt::format("{}: the container header is invalid for this version", name_));
  }

 private:
  std::string_view bytes_;
  std::string name_;
};

ContainerHeader parse_payload(std::string_view bytes, const std::string& name) {
  PayloadReader in(bytes, name);
  ContainerHeader h;
  const int source = in.take(1)[0], flags = in.take(1)[0];
  if (source < 1 || source > 3 || flags < 0 || flags > 3) in.fail();
  h.source = static_cast<ModelSource>(source);
  h.learns = (flags & 1) != 0;
  h.independent = (flags & 2) != 0;
  const std::uint64_t block = in.number();
  if (block < 1 || block > static_cast<std::uint64_t>(kMostBlock)) in.fail();
  h.block = static_cast<Index>(block);
  h.model = in.text();
  h.identity = in.number();
  h.optimizer = in.text();
  const std::uint64_t window = in.number();
  if (window > (1U << 20)) in.fail();
  h.window = static_cast<Index>(window);
  h.bytes = in.text();
  for (std::size_t i = 1; i < h.bytes.size(); ++i)
    if (static_cast<std::uint8_t>(h.bytes[i]) <= static_cast<std::uint8_t>(h.bytes[i - 1])) in.fail();
  in.end();
  return h;
}

}  // namespace

std::string read_up_to(const ByteSource& source, std::size_t size) {
  constexpr std::size_t kStep = 1 << 20;  // memory grows with the data actually present, not with a claimed length
  std::string bytes;
  while (bytes.size() < size) {
    const std::size_t before = bytes.size();
    bytes.resize(std::min(size, before + kStep));
    const std::size_t got = source(bytes.data() + before, bytes.size() - before);
    if (got > bytes.size() - before) throw UsageError("a source returned more bytes than were requested");
    bytes.resize(before + got);
    if (got == 0) break;
  }
  return bytes;
}

std::uint32_t crc32_of(std::string_view bytes, std::uint32_t start) {
  uLong crc = start;
  while (!bytes.empty()) {
    const auto step = static_cast<uInt>(std::min<std::size_t>(bytes.size(), 1U << 30));
    crc = ::crc32(crc, reinterpret_cast<const Bytef*>(bytes.data()), step);
    bytes.remove_prefix(step);
  }
  return static_cast<std::uint32_t>(crc);
}

std::uint64_t identity_of(std::string_view bytes) {
  std::uint64_t h = 0xCBF29CE484222325ULL;
  for (const char byte : bytes) h = (h ^ static_cast<std::uint8_t>(byte)) * 0x100000001B3ULL;
  return h;
}

std::size_t RecordSeal::size() const { return key_ ? kTagBytes : kCrcBytes; }

std::string RecordSeal::next(std::string_view record) {
  if (key_) {
    Authenticator authenticator(*key_, "unfold archive");
    authenticator.add(tag_);
    authenticator.add(record);
    return tag_ = authenticator.finish();
  }
  crc_ = crc32_of(record, crc_);
  std::string bytes;
  put_crc(bytes, crc_);
  return bytes;
}

ContainerWriter::ContainerWriter(ByteSink sink, const ContainerHeader& header, const Key* key)
    : sink_(std::move(sink)), seal_(copy_of(key)) {
  std::string bytes(kMagic);
  bytes += key != nullptr ? kKeyedVersion : kVersion;
  put_text(bytes, payload_of(header));
  record(std::move(bytes));
}

void ContainerWriter::record(std::string bytes) {
  bytes += seal_.next(bytes);
  written_ += static_cast<Index>(bytes.size());
  sink_(bytes);
}

void ContainerWriter::write(const ContainerBlock& block) {
  std::string bytes;
  bytes.reserve(block.code.size() + block.side.size() + 40);
  bytes += kBlockTag;
  put_number(bytes, static_cast<std::uint64_t>(block.bytes));
  put_number(bytes, static_cast<std::uint64_t>(block.symbols));
  put_number(bytes, block.code.size());
  put_number(bytes, block.side.size());
  bytes += block.code;
  bytes += block.side;
  put_crc(bytes, block.content_crc);
  record(std::move(bytes));
  contents_ += block.bytes;
  ++blocks_;
}

void ContainerWriter::end() {
  std::string bytes;
  bytes += kEndTag;
  put_number(bytes, static_cast<std::uint64_t>(contents_));
  put_number(bytes, static_cast<std::uint64_t>(blocks_));
  record(std::move(bytes));
}

void ContainerReader::damaged(const std::string& what) const {
  throw VerificationError(
      fmt::format("{}: {} (at byte {}); the file is damaged or truncated: get a complete copy", name_, what, read_));
}

std::string ContainerReader::take(std::size_t size) {
  std::string bytes = read_up_to(source_, size);
  read_ += static_cast<Index>(bytes.size());
  if (bytes.size() < size) damaged("the compressed data ends too early");
  record_ += bytes;
  return bytes;
}

std::uint64_t ContainerReader::number() {
  std::uint64_t n = 0;
  for (int shift = 0; shift < 63; shift += 7) {
    const auto byte = static_cast<std::uint8_t>(take(1)[0]);
    n |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return n;
  }
  damaged("a length is invalid");
}

void ContainerReader::check_seal() {
  const std::string wanted = seal_.next(record_);
  if (!tags_equal(take(seal_.size()), wanted)) {
    if (seal_.size() == kCrcBytes) damaged("a checksum does not match");
    damaged("the file was not written with the given key, or was changed");
  }
  record_.clear();
}

/// The version byte can be read without the key and shows whether the container was written with one. A missing key can
/// therefore be distinguished from a wrong one.
void ContainerReader::choose_seal(char version, const Key* key) {
  if (version == kKeyedVersion && key == nullptr)
    throw VerificationError(fmt::format("{} was written with a key; name the key file with --key", name_));
  if (version != kKeyedVersion && key != nullptr)
    throw VerificationError(fmt::format(
        "{} was written without a key, so its origin cannot be verified; leave out --key to read it anyway", name_));
  seal_ = RecordSeal(copy_of(key));
}

ContainerReader::ContainerReader(ByteSource source, std::string name, const Key* key)
    : source_(std::move(source)), name_(std::move(name)), seal_(std::nullopt) {
  if (take(kMagic.size()) != kMagic)
    throw VerificationError(fmt::format("{} was not written by unfold compress", name_));
  const char version = take(1)[0];
  choose_seal(version, key);
  const std::uint64_t size = number();
  if (size > kMostHeader) damaged("the length of the header is invalid");
  const std::string payload = take(size);
  check_seal();
  if (version != kVersion && version != kKeyedVersion)
    throw ModelError(fmt::format("{}: container version {} is not supported; this program reads versions {} and {}",
                                 name_, static_cast<int>(version), static_cast<int>(kVersion),
                                 static_cast<int>(kKeyedVersion)));
  header_ = parse_payload(payload, name_);
}

bool ContainerReader::next(ContainerBlock& block) {
  const char tag = take(1)[0];
  if (tag == kEndTag) {
    const std::uint64_t contents = number(), blocks = number();
    check_seal();
    if (contents != static_cast<std::uint64_t>(contents_) || blocks != static_cast<std::uint64_t>(blocks_))
      damaged("blocks are missing");
    char extra = 0;
    if (source_(&extra, 1) != 0) damaged("there are bytes after the end");
    return false;
  }
  if (tag != kBlockTag) damaged("a block is expected here");
  const std::uint64_t bytes = number(), symbols = number(), code = number(), side = number();
  constexpr std::uint64_t kMost = 4 * static_cast<std::uint64_t>(kMostBlock);
  if (bytes > static_cast<std::uint64_t>(kMostBlock) || symbols > kMost || code > kMost || side > kMost)
    damaged("the length of a block is invalid");
  if (symbols > bytes) damaged("a block claims more symbols than bytes, but each symbol takes at least one byte");
  block.code = take(code);
  block.side = take(side);
  block.content_crc = get_crc(take(kCrcBytes));
  check_seal();
  block.bytes = static_cast<Index>(bytes);
  block.symbols = static_cast<Index>(symbols);
  contents_ += block.bytes;
  ++blocks_;
  return true;
}

}  // namespace unfold
