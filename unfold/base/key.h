#pragma once
/// Keyed authentication: who knows a key makes files that nobody else can make, or change unnoticed. Tags are of
/// BLAKE2b with a key (RFC 7693), computed by libsodium. Nothing is encrypted.
///
///   Authenticator tag(Key::of_file("secret"), "what kind of thing this is");
///   tag.add(bytes);
///   std::string proof = tag.finish();   // kTagBytes of them; compare with `same_tag`

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace unfold {

inline constexpr std::size_t kTagBytes = 32;

/// A secret. Erased from memory when it goes.
class Key {
 public:
  /// The bytes of a file as they are, 16 to 1,048,576 of them; a pipe is read to its end. Throws UsageError for fewer
  /// or more, DataError for a file that cannot be read.
  static Key of_file(const std::string& path);
  /// `name` is for messages.
  static Key of_bytes(std::string_view secret, const std::string& name = "the key");
  Key(const Key&) = default;
  Key& operator=(const Key&) = default;
  ~Key();

 private:
  friend class Authenticator;
  Key() = default;
  std::array<unsigned char, 32> hash_{};
};

/// The tag of bytes that come in pieces. Things of different purposes never have equal tags.
class Authenticator {
 public:
  Authenticator(const Key& key, std::string_view purpose);
  void add(std::string_view bytes);
  std::string finish();  ///< to be called once

 private:
  static constexpr std::size_t kStateBytes = 384, kStateAlignment = 64;
  alignas(kStateAlignment) std::array<unsigned char, kStateBytes> state_{};
};

/// In a time that does not depend on where they differ.
bool same_tag(std::string_view a, std::string_view b);

/// What this process authenticates the model files and checkpoints with that it writes, and demands of those it reads;
/// none at the start.
void set_authentication_key(std::optional<Key> key);
const Key* authentication_key();

}  // namespace unfold
