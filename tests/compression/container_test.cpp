#include "unfold/compression/container.h"

#include <gtest/gtest.h>

#include "tests/compression/memory.h"
#include "unfold/base/error.h"

namespace unfold::test {
namespace {

std::string small_container() {
  std::string bytes;
  ContainerWriter writer(into(bytes), {.model = "cm:1", .identity = 77, .bytes = "abc", .block = 10});
  writer.write({.bytes = 10, .symbols = 10, .content_crc = 123456, .code = "code", .side = ""});
  writer.write({.bytes = 3, .symbols = 1, .content_crc = 7, .code = std::string(300, '\0'), .side = "side"});
  writer.end();
  EXPECT_EQ(writer.bytes(), static_cast<Index>(bytes.size()));
  return bytes;
}

/// Reads everything and returns the number of blocks.
int read_all(std::string bytes) {
  ContainerReader reader(from(std::move(bytes)), "test");
  ContainerBlock block;
  int blocks = 0;
  while (reader.next(block)) ++blocks;
  return blocks;
}

TEST(Container, container_round_trips) {
  ContainerReader reader(from(small_container()), "test");
  EXPECT_EQ(reader.header().model, "cm:1");
  EXPECT_EQ(reader.header().identity, 77u);
  EXPECT_EQ(reader.header().bytes, "abc");
  EXPECT_EQ(reader.header().block, 10);
  ContainerBlock block;
  ASSERT_TRUE(reader.next(block));
  EXPECT_EQ(block.code, "code");
  EXPECT_EQ(block.content_crc, 123456u);
  ASSERT_TRUE(reader.next(block));
  EXPECT_EQ(block.side, "side");
  EXPECT_EQ(block.symbols, 1);
  EXPECT_FALSE(reader.next(block));
}

TEST(Container, every_truncation_is_detected) {
  const std::string whole = small_container();
  ASSERT_EQ(read_all(whole), 2);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THROW(read_all(whole.substr(0, size)), VerificationError) << size;
  EXPECT_THROW(read_all(whole + "x"), VerificationError);
}

TEST(Container, every_flipped_byte_and_bit_is_detected) {
  const std::string whole = small_container();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const int flip : {0x01, 0x10, 0x80, 0xFF}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      try {
        read_all(damaged);
        ADD_FAILURE() << "byte " << i << " flipped by " << flip << " was not noticed";
      } catch (const VerificationError&) {
      } catch (const ModelError&) {
      }
    }
  }
}

TEST(Container, swapped_or_duplicated_blocks_are_detected) {
  std::string bytes;
  ContainerWriter writer(into(bytes), {.model = "cm:1"});
  const auto header = bytes.size();
  writer.write({.bytes = 1, .symbols = 1, .content_crc = 1, .code = "a", .side = ""});
  const auto one = bytes.size();
  writer.write({.bytes = 1, .symbols = 1, .content_crc = 2, .code = "b", .side = ""});
  const auto two = bytes.size();
  writer.end();
  const std::string h = bytes.substr(0, header), a = bytes.substr(header, one - header),
                    b = bytes.substr(one, two - one), end = bytes.substr(two);
  EXPECT_EQ(read_all(h + a + b + end), 2);
  EXPECT_THROW(read_all(h + b + a + end), VerificationError);
  EXPECT_THROW(read_all(h + a + a + b + end), VerificationError);
  EXPECT_THROW(read_all(h + b + end), VerificationError);
  EXPECT_THROW(read_all(h + a + end), VerificationError);
}

TEST(Container, other_container_version_is_named_in_the_error) {
  // A complete container that differs only in its version; the CRC of its header is correct.
  std::string bytes;
  ContainerWriter writer(into(bytes), {.model = "cm:1"});
  bytes[4] = 3;
  const std::size_t end = bytes.size() - 4;
  const std::uint32_t crc = crc32_of(std::string_view(bytes).substr(0, end));
  for (std::size_t i = 0; i < 4; ++i) bytes[end + i] = static_cast<char>(crc >> (8 * i));
  EXPECT_THROW(ContainerReader(from(bytes), "test"), ModelError);
}

class KeyedContainer : public ::testing::Test {
 protected:
  std::string container(const Key& key, const std::string& code = "code") const {
    std::string bytes;
    ContainerWriter writer(into(bytes), {.model = "cm:1"}, &key);
    for (const char* side : {"a", "b"})
      writer.write({.bytes = 10, .symbols = 10, .content_crc = 1, .code = code, .side = side});
    writer.end();
    return bytes;
  }
  /// Reads everything and returns the code of the last block.
  static std::string read(const std::string& bytes, const Key* key) {
    ContainerReader reader(from(bytes), "test", key);
    ContainerBlock block;
    while (reader.next(block)) {
    }
    return block.code;
  }
  const Key key_ = Key::of_bytes("0123456789abcdef"), other_ = Key::of_bytes("0123456789abcdeg");
};

TEST_F(KeyedContainer, keyed_container_requires_its_key) {
  const std::string bytes = container(key_);
  EXPECT_EQ(read(bytes, &key_), "code");
  EXPECT_THROW(read(bytes, &other_), VerificationError);
  EXPECT_THROW(read(bytes, nullptr), VerificationError);
  EXPECT_THROW(read(small_container(), &key_), VerificationError);
}

TEST_F(KeyedContainer, any_change_of_a_keyed_container_is_detected) {
  const std::string whole = container(key_);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THROW(read(whole.substr(0, size), &key_), VerificationError) << size;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    EXPECT_THROW(read(damaged, &key_), VerificationError) << i;
  }
}

TEST_F(KeyedContainer, records_of_two_containers_with_one_key_cannot_be_mixed) {
  const std::string a = container(key_), b = container(key_, "edoc");
  ASSERT_EQ(a.size(), b.size());
  const std::size_t half = a.rfind("code") - 5;  // start of the second block
  EXPECT_THROW(read(a.substr(0, half) + b.substr(half), &key_), VerificationError);
}

}  // namespace
}  // namespace unfold::test
