#include "unfold/base/formats/authentication_key.h"

#include <fmt/format.h>
#include <sodium.h>
#include <unistd.h>

#include <utility>

#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

constexpr std::size_t kShortestKey = 16, kLongestKey = std::size_t{1} << 20;

const unsigned char* data_of(std::string_view bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

/// Initializes libsodium, which selects its implementation for this processor.
void prepare() {
  static const bool ready = sodium_init() >= 0;
  if (!ready) throw RuntimeFailure("libsodium cannot be initialized; leave out --key");
}

crypto_generichash_state* state_of(unsigned char* bytes) { return reinterpret_cast<crypto_generichash_state*>(bytes); }

std::optional<Key>& present_key() {
  static std::optional<Key> key;
  return key;
}

/// Reads at most one byte more than the longest allowed key, because the file may be endless.
std::string read_beginning(const std::string& path) {
  const int descriptor = open_for_reading(path);
  std::string bytes(kLongestKey + 1, '\0');
  std::size_t size = 0;
  try {
    while (size < bytes.size()) {
      const std::size_t got = read_some(descriptor, path, bytes.data() + size, bytes.size() - size);
      if (got == 0) break;
      size += got;
    }
  } catch (...) {
    ::close(descriptor);
    throw;
  }
  ::close(descriptor);
  bytes.resize(size);
  return bytes;
}

}  // namespace

Key Key::of_file(const std::string& path) {
  std::string secret = read_beginning(path);
  const Key key = of_bytes(secret, path);
  sodium_memzero(secret.data(), secret.size());
  return key;
}

Key Key::of_bytes(std::string_view secret, const std::string& name) {
  if (secret.size() < kShortestKey || secret.size() > kLongestKey)
    throw UsageError(
        fmt::format("{}: the key is too {}; a key has {} to {} bytes; make one with `head -c 32 /dev/urandom > FILE`",
                    name, secret.size() < kShortestKey ? "short" : "long", kShortestKey, kLongestKey));
  prepare();
  Key key;
  crypto_generichash(key.hash_.data(), key.hash_.size(), data_of(secret), secret.size(), nullptr, 0);
  return key;
}

Key::~Key() { sodium_memzero(hash_.data(), hash_.size()); }

Authenticator::Authenticator(const Key& key, std::string_view purpose) {
  static_assert(sizeof(crypto_generichash_state) <= kStateBytes);
  static_assert(alignof(crypto_generichash_state) <= kStateAlignment);
  prepare();
  crypto_generichash_init(state_of(state_.data()), key.hash_.data(), key.hash_.size(), kTagBytes);
  add(purpose);
  add(std::string_view("\0", 1));
}

void Authenticator::add(std::string_view bytes) {
  crypto_generichash_update(state_of(state_.data()), data_of(bytes), bytes.size());
}

std::string Authenticator::finish() {
  std::string tag(kTagBytes, '\0');
  crypto_generichash_final(state_of(state_.data()), reinterpret_cast<unsigned char*>(tag.data()), tag.size());
  return tag;
}

bool tags_equal(std::string_view a, std::string_view b) {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

void set_authentication_key(std::optional<Key> key) { present_key() = std::move(key); }

const Key* authentication_key() { return present_key() ? &*present_key() : nullptr; }

}  // namespace unfold
