#pragma once
/// Keyed authentication of files: without the key, it is impossible to create a file that passes verification or to
/// change one without detection. Tags are keyed BLAKE2b (RFC 7693), computed by libsodium. Nothing is encrypted.
///
///   Authenticator tag(Key::of_file("secret"), "purpose of the file");
///   tag.add(bytes);
///   std::string proof = tag.finish();   // kTagBytes bytes; compare with `tags_equal`

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace unfold {

inline constexpr std::size_t kTagBytes = 32;

/// A secret key. Its memory is cleared on destruction.
class Key {
 public:
  /// Reads the key from a file: 16 to 1,048,576 raw bytes. A pipe is read to its end. Throws UsageError if the key is
  /// too short or too long, DataError if the file cannot be read.
  static Key of_file(const std::string& path);
  /// Creates a key from its bytes. `name` is used in messages.
  static Key of_bytes(std::string_view secret, const std::string& name = "the key");
  Key(const Key&) = default;
  Key& operator=(const Key&) = default;
  ~Key();

 private:
  friend class Authenticator;
  Key() = default;
  std::array<unsigned char, 32> hash_{};
};

/// Computes the tag of data that is added in pieces. The same data has a different tag for each purpose.
class Authenticator {
 public:
  Authenticator(const Key& key, std::string_view purpose);
  void add(std::string_view bytes);
  std::string finish();  ///< call once

 private:
  static constexpr std::size_t kStateBytes = 384, kStateAlignment = 64;
  alignas(kStateAlignment) std::array<unsigned char, kStateBytes> state_{};
};

/// Compares two tags in constant time.
bool tags_equal(std::string_view a, std::string_view b);

/// Sets the key that authenticates all model files and checkpoints that this process writes and reads. Reading a file
/// without a valid tag is then an error. Not set by default.
void set_authentication_key(std::optional<Key> key);
const Key* authentication_key();

}  // namespace unfold
