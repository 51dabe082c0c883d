#include "unfold/base/formats/authentication_key.h"

#include <gtest/gtest.h>

#include "tests/base/scratch.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

std::string digits(const std::string& bytes) {
  std::string out;
  for (const char byte : bytes)
    for (const int nibble : {static_cast<std::uint8_t>(byte) >> 4, byte & 15}) out += "0123456789abcdef"[nibble];
  return out;
}

std::string tag_of(const Key& key, std::string_view purpose, std::initializer_list<std::string_view> pieces) {
  Authenticator tag(key, purpose);
  for (const std::string_view piece : pieces) tag.add(piece);
  return tag.finish();
}

/// Computed in Python: k = hashlib.blake2b(b"0123456789abcdef", digest_size=32).digest();
/// hashlib.blake2b(b"test\0hello", key=k, digest_size=32).hexdigest()
TEST(Authenticator, authenticator_is_keyed_blake2b_of_purpose_and_bytes) {
  EXPECT_EQ(digits(tag_of(Key::of_bytes("0123456789abcdef"), "test", {"hello"})),
            "8cb1bbd8e26563a62a81735ca2813d91547ebb0aa8f2a46993d3bb247ae27ec0");
}

TEST(Authenticator, authentication_code_depends_on_key_purpose_and_bytes_but_not_on_pieces) {
  const Key key = Key::of_bytes("0123456789abcdef"), other = Key::of_bytes("0123456789abcdeg");
  const std::string tag = tag_of(key, "test", {"hello"});
  EXPECT_TRUE(tags_equal(tag_of(key, "test", {"he", "", "llo"}), tag));
  EXPECT_FALSE(tags_equal(tag_of(other, "test", {"hello"}), tag));
  EXPECT_FALSE(tags_equal(tag_of(key, "tests", {"hello"}), tag));
  EXPECT_FALSE(tags_equal(tag_of(key, "test", {"hellp"}), tag));
  EXPECT_FALSE(tags_equal(tag.substr(1), tag));
}

TEST(Key, key_file_has_a_bounded_size) {
  const testing_support::ScratchFolder scratch;
  const auto tag = [](const Key& key) { return tag_of(key, "test", {}); };
  const std::string file = scratch.write("key", "0123456789abcdef\n");
  EXPECT_EQ(tag(Key::of_file(file)), tag(Key::of_bytes("0123456789abcdef\n")));
  EXPECT_NE(tag(Key::of_file(file)), tag(Key::of_bytes("0123456789abcdef")));
  EXPECT_THROW(Key::of_file(scratch.write("short", "0123456789abcde")), UsageError);
  EXPECT_THROW(Key::of_file(scratch.write("empty", "")), UsageError);
  EXPECT_NO_THROW(Key::of_file(scratch.write("long", std::string(1 << 20, 'x'))));
  EXPECT_THROW(Key::of_file(scratch.write("longer", std::string((1 << 20) + 1, 'x'))), UsageError);
  EXPECT_THROW(Key::of_file("/dev/zero"), UsageError);
  EXPECT_THROW(Key::of_file(scratch.path("none")), DataError);
}

}  // namespace
}  // namespace unfold
