#include "unfold/data/files/safetensors.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>

#include "tests/base/scratch.h"
#include "unfold/base/formats/authentication_key.h"

namespace unfold {
namespace {

using testing_support::contains;
using testing_support::message_of;
using testing_support::ScratchFolder;

/// The tensors of the golden file.
struct Golden {
  std::vector<float> weights{1, -2.5F, 3e-8F, 0, 5, 6};
  std::vector<double> loss{0.1};
  std::vector<std::uint8_t> state{7, 8, 9};
  std::vector<std::int64_t> steps{-1, std::int64_t{1} << 40};
  std::vector<std::uint64_t> random{0xFFFFFFFFFFFFFFFF};
  std::vector<std::uint32_t> counts{1, 2, 3};
  std::vector<std::int32_t> symbols{-1};
  std::vector<float> nothing;

  SafetensorsWriter writer() const {
    SafetensorsWriter out;
    out.add("state", {3}, state);
    out.add("lstm/W", {2, 3}, weights);
    out.add("loss", {}, loss);
    out.add("steps", {2, 1}, steps);
    out.add("random", {1}, random);
    out.add("counts", {3}, counts);
    out.add("symbols", {1}, symbols);
    out.add("nothing", {0, 4}, nothing);
    out.set_metadata("card", R"({"alphabet":"é\n","unfold":1})");
    out.set_metadata("note", "\"checksum\":\"crc32:00000000\"");
    return out;
  }
};

std::string golden_path() { return UNFOLD_SOURCE_DIR "/tests/data/golden.safetensors"; }

SafetensorsFile read_bytes(std::string bytes, Checksum checksum = Checksum::required) {
  return SafetensorsFile::from_bytes(std::move(bytes), "file", checksum);
}

/// Returns a file with this header, padded to 8 bytes as other programs do, and `data` bytes of data.
std::string foreign(const std::string& header, std::size_t data) {
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + std::string(data, 'd');
}

TEST(Safetensors, file_format_bytes_are_stable) {
  const Golden golden;
  if (std::getenv("UNFOLD_WRITE_GOLDEN") != nullptr) golden.writer().write(golden_path());
  EXPECT_EQ(golden.writer().bytes(), read_file(golden_path()));
}

TEST(Safetensors, golden_file_is_read) {
  const Golden golden;
  const SafetensorsFile file = SafetensorsFile::open(golden_path());
  ASSERT_EQ(file.tensors().size(), 8u);
  EXPECT_EQ(file.tensors()[0].name, "counts");
  EXPECT_EQ(file.values<float>("lstm/W"), golden.weights);
  EXPECT_EQ(file.values<double>("loss"), golden.loss);
  EXPECT_EQ(file.values<std::uint8_t>("state"), golden.state);
  EXPECT_EQ(file.values<std::int64_t>("steps"), golden.steps);
  EXPECT_EQ(file.values<std::uint64_t>("random"), golden.random);
  EXPECT_EQ(file.values<std::uint32_t>("counts"), golden.counts);
  EXPECT_EQ(file.values<std::int32_t>("symbols"), golden.symbols);
  EXPECT_EQ(file.values<float>("nothing"), golden.nothing);
  EXPECT_EQ(file.tensor("lstm/W").shape, (std::vector<Index>{2, 3}));
  EXPECT_EQ(file.metadata("card"), R"({"alphabet":"é\n","unfold":1})");
  EXPECT_EQ(file.metadata().size(), 2u);
}

TEST(Safetensors, every_truncation_is_a_model_error) {
  const std::string bytes = Golden().writer().bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(read_bytes(bytes.substr(0, size)), ModelError) << size;
    EXPECT_THROW(read_bytes(bytes.substr(0, size), Checksum::optional), ModelError) << size;
  }
  EXPECT_THROW(read_bytes(bytes + '\0'), ModelError);
}

TEST(Safetensors, every_changed_byte_is_a_model_error) {
  const std::string bytes = Golden().writer().bytes();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    // All values of the bytes of the length and the checksum digits; elsewhere, flipped bits and inverted bytes.
    const bool thorough = i < 8 || (i >= 43 && i < 51);
    for (int change = 1; change < 256; ++change) {
      const bool single_bit = (change & (change - 1)) == 0;
      if (!thorough && !single_bit && change != 0xFF) continue;
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ change);
      ASSERT_THROW(read_bytes(std::move(changed)), ModelError) << i << ' ' << change;
    }
  }
}

RC_GTEST_PROP(Safetensors, written_file_round_trips, ()) {
  const auto names = *rc::gen::unique<std::vector<std::string>>(
      rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange('!', '~'))));
  SafetensorsWriter forwards, backwards;
  std::vector<std::vector<float>> values;
  std::vector<std::vector<std::uint8_t>> bytes;
  for (std::size_t i = 0; i < names.size(); ++i) {
    values.push_back(*rc::gen::arbitrary<std::vector<float>>());
    bytes.push_back(*rc::gen::arbitrary<std::vector<std::uint8_t>>());
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t j = names.size() - 1 - i;
    forwards.add(names[i], {static_cast<Index>(values[i].size())}, values[i]);
    forwards.add(names[i] + "\x7F", {1, static_cast<Index>(bytes[i].size())}, bytes[i]);
    backwards.add(names[j] + "\x7F", {1, static_cast<Index>(bytes[j].size())}, bytes[j]);
    backwards.add(names[j], {static_cast<Index>(values[j].size())}, values[j]);
  }
  RC_ASSERT(forwards.bytes() == backwards.bytes());
  const SafetensorsFile file = read_bytes(forwards.bytes());
  RC_ASSERT(file.tensors().size() == 2 * names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string_view stored = file.tensor(names[i]).bytes;
    RC_ASSERT(stored.size() == 4 * values[i].size());
    RC_ASSERT((values[i].empty() || std::memcmp(stored.data(), values[i].data(), stored.size()) == 0));
    RC_ASSERT(file.values<std::uint8_t>(names[i] + "\x7F") == bytes[i]);
  }
}

TEST(Safetensors, data_are_aligned_in_the_file) {
  const std::string bytes = Golden().writer().bytes();
  const SafetensorsFile file = read_bytes(bytes);
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  EXPECT_EQ((8 + header) % 64, 0u);
  const char* data = bytes.data() + 8 + header;
  for (const Tensor& tensor : file.tensors()) {
    const char* first = file.tensor("loss").bytes.data();
    for (const Tensor& other : file.tensors()) first = std::min(first, other.bytes.data());
    EXPECT_EQ((tensor.bytes.data() - first) % width(tensor.dtype), 0) << tensor.name;
  }
  EXPECT_NE(data, nullptr);
}

TEST(Safetensors, files_of_other_programs_are_read_without_a_checksum) {
  const std::string bytes =
      foreign(R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[4,6]},"__metadata__":{"format":"pt"},)"
              R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}   )",
              6);
  EXPECT_EQ(read_bytes(bytes, Checksum::optional).values<std::uint8_t>("b").size(), 2u);
  EXPECT_TRUE(contains(message_of<ModelError>([&] { read_bytes(bytes); }), "the checksum is missing"));
}

TEST(Safetensors, file_written_by_the_python_library_is_read) {
  const SafetensorsFile file =
      SafetensorsFile::open(UNFOLD_SOURCE_DIR "/tests/data/python.safetensors", Checksum::optional);
  EXPECT_EQ(file.values<float>("a"), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(file.tensor("a").shape, (std::vector<Index>{2, 3}));
  EXPECT_EQ(file.values<std::int64_t>("q"), (std::vector<std::int64_t>{5}));
  EXPECT_EQ(file.values<std::uint8_t>("z"), (std::vector<std::uint8_t>{0, 1, 2}));
  EXPECT_EQ(file.metadata("who"), "python");
}

TEST(Safetensors, every_violation_of_the_format_is_a_model_error) {
  const std::vector<std::pair<std::string, std::size_t>> headers{
      {R"([])", 0},
      {R"( {})", 0},
      {R"({}x)", 0},
      {R"({})", 1},                                                       // data without a tensor
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 5},   // data after the last tensor
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 3},   // truncated
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8},   // a gap
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4},   // shape does not match size
      {R"({"a":{"dtype":"F64","shape":[1],"data_offsets":[0,4]}})", 4},   // type does not match size
      {R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})", 4},  // unsupported type
      {R"({"a":{"dtype":7,"shape":[1],"data_offsets":[0,4]}})", 4},
      {R"({"a":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})", 4},
      {R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4},
      {R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", 4},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}})", 8},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551615]}})", 4},
      {R"({"a":{"dtype":"F32","shape":[1]}})", 4},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"extra":1}})", 4},
      {R"({"a":1})", 0},
      {R"({"":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4},
      {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,4]}})", 4},
      {R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}})", 4},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
       6},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
       8},
      {R"({"__metadata__":{"a":1}})", 0},
      {R"({"__metadata__":[]})", 0},
      {"{\"\xFF\":1}", 0},
      {"{" + std::string(200000, '['), 0}};
  for (const auto& [header, data] : headers) {
    EXPECT_NE(message_of<ModelError>([&, h = header, d = data] { read_bytes(foreign(h, d), Checksum::optional); }), "")
        << header.substr(0, 100);
  }
  EXPECT_EQ(read_bytes(foreign("{}", 0), Checksum::optional).tensors().size(), 0u);
  std::string huge(100, ' ');
  huge[6] = 1;
  EXPECT_TRUE(contains(message_of<ModelError>([&] { read_bytes(huge); }), "not a model file"));
}

TEST(Safetensors, missing_tensor_error_lists_available_ones) {
  const SafetensorsFile file = read_bytes(Golden().writer().bytes());
  std::vector<float> six(6), five(5);
  EXPECT_TRUE(contains(message_of<ModelError>([&] { file.tensor("lstm/w"); }), "did you mean \"lstm/W\"?"));
  EXPECT_TRUE(contains(message_of<ModelError>([&] {
                         file.read("lstm/W", {3, 2}, std::span(six));
                       }),
                       "tensor \"lstm/W\" is F32 [2, 3], expected F32 [3, 2]"));
  EXPECT_THROW(file.read("lstm/W", {2, 3}, std::span(five)), ModelError);
  EXPECT_THROW(file.values<double>("lstm/W"), ModelError);
  EXPECT_THROW(file.metadata("no"), ModelError);
  EXPECT_EQ(file.find("no"), nullptr);
  file.read("lstm/W", {2, 3}, std::span(six));
  EXPECT_EQ(six, Golden().weights);
}

TEST(Safetensors, writer_rejects_unreadable_content) {
  const std::vector<float> two(2);
  SafetensorsWriter writer;
  writer.add("a", {2}, two);
  EXPECT_THROW(writer.add("a", {2}, two), ModelError);
  EXPECT_THROW(writer.add("b", {3}, two), ModelError);
  EXPECT_THROW(writer.add("b", {-2, -1}, two), ModelError);
  EXPECT_THROW(writer.add("", {2}, two), ModelError);
  EXPECT_THROW(writer.add("__metadata__", {2}, two), ModelError);
  EXPECT_THROW(writer.set_metadata("checksum", "x"), ModelError);
  EXPECT_THROW(writer.set_metadata("mac", "x"), ModelError);
  writer.set_metadata("bad", "\xFF");
  EXPECT_THROW(writer.bytes(), ModelError);
}

/// Writes the correct checksum into a file that begins like a model file.
std::string with_checksum(std::string bytes) {
  bytes.replace(43, 8, "00000000");
  const auto sum = static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
  return bytes.replace(43, 8, fmt::format("{:08x}", sum));
}

TEST(Safetensors, parsing_a_header_of_ten_million_entries_stops_at_the_limit) {
  std::string header = R"({"__metadata__":{"checksum":"crc32:00000000"},"z":[)";
  while (header.size() < 93'000'000) header += R"({},"abcde",[],)";
  header += "0]";  // without the closing brace: a parser would report this
  const std::string wrong = foreign(header, 0), right = with_checksum(wrong);
  const ScratchFolder folder;
  const std::string path = folder.write("header", right);
  EXPECT_TRUE(contains(message_of<ModelError>([&] { SafetensorsFile::open(path); }), "more than"));
  EXPECT_TRUE(contains(message_of<ModelError>([&] { read_bytes(right); }), "more than"));
  EXPECT_TRUE(contains(message_of<ModelError>([&] { read_bytes(wrong); }), "checksum"));
}

TEST(Safetensors, checksum_is_verified_before_parsing) {
  std::string bytes = Golden().writer().bytes();
  bytes[60] = '{';  // invalid JSON
  EXPECT_TRUE(contains(message_of<ModelError>([&] { read_bytes(bytes); }), "the checksum is crc32:"));
  EXPECT_TRUE(contains(message_of<ModelError>([&] { read_bytes(with_checksum(bytes)); }), "not valid JSON"));
}

/// Sets a process-wide key for the scope of a test.
struct WithKey {
  explicit WithKey(std::string_view secret) { set_authentication_key(Key::of_bytes(secret)); }
  ~WithKey() { set_authentication_key(std::nullopt); }
  WithKey(const WithKey&) = delete;
  WithKey& operator=(const WithKey&) = delete;
};

TEST(Safetensors, file_with_a_key_requires_that_key) {
  const std::vector<float> values = {1, 2, 3};
  SafetensorsWriter writer;
  writer.add("x", {3}, values);
  writer.set_metadata("card", "{}");
  const std::string plain = writer.bytes();
  std::string keyed;
  const auto read = [](const std::string& bytes) { return SafetensorsFile::from_bytes(bytes, "test"); };
  {
    const WithKey key("0123456789abcdef");
    keyed = writer.bytes();
    EXPECT_EQ(writer.bytes(), keyed);
    EXPECT_EQ(read(keyed).values<float>("x"), values);
    EXPECT_EQ(read(keyed).metadata(), (std::map<std::string, std::string>{{"card", "{}"}}));
    EXPECT_TRUE(contains(message_of<ModelError>([&] { read(plain); }), "without a key"));
  }
  EXPECT_TRUE(contains(message_of<ModelError>([&] { read(keyed); }), "--key"));
  const WithKey other("0123456789abcdeg");
  EXPECT_TRUE(contains(message_of<ModelError>([&] { read(keyed); }), "written with a different key"));
}

TEST(Safetensors, change_with_a_correct_checksum_is_detected_by_the_key) {
  const WithKey key("0123456789abcdef");
  const std::vector<float> values = {1, 2};
  SafetensorsWriter writer;
  writer.add("x", {2}, values);
  const std::string whole = writer.bytes();
  const std::size_t checksum_at = whole.find("crc32:") + 6;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (i >= checksum_at && i < checksum_at + 8) continue;
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    changed.replace(checksum_at, 8, "00000000");
    const auto bytes = reinterpret_cast<const Bytef*>(changed.data());
    changed.replace(checksum_at, 8, fmt::format("{:08x}", crc32_z(0, bytes, changed.size())));
    EXPECT_THROW(SafetensorsFile::from_bytes(changed, "test"), ModelError) << i;
  }
}

TEST(Safetensors, truncation_of_a_mapped_file_is_detected) {
  const ScratchFolder folder;
  const std::string path = folder.path("large");
  const std::vector<float> values(6'000'000, 1.5F);
  SafetensorsWriter writer;
  writer.add("a", {6'000'000}, values);
  writer.write(path);
  const SafetensorsFile file = SafetensorsFile::open(path);
  EXPECT_EQ(file.values<float>("a"), values);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  EXPECT_TRUE(contains(message_of<RuntimeFailure>([&] { file.values<float>("a"); }),
                       path + " was truncated while it was read"));
}

TEST(Safetensors, files_are_mapped_and_named_in_messages) {
  const ScratchFolder folder;
  const std::string path = folder.path("model.safetensors");
  Golden().writer().write(path);
  EXPECT_EQ(read_file(path), Golden().writer().bytes());
  EXPECT_EQ(SafetensorsFile::open(path).values<float>("lstm/W"), Golden().weights);
  EXPECT_TRUE(contains(message_of<ModelError>([&] { SafetensorsFile::open(folder.path("no")); }), "no such file"));
  EXPECT_TRUE(contains(message_of<ModelError>([&] { SafetensorsFile::open(folder.path("")); }), "is a directory"));
  const std::string cut = folder.write("cut", Golden().writer().bytes().substr(0, 300));
  EXPECT_TRUE(contains(message_of<ModelError>([&] { SafetensorsFile::open(cut); }), cut + ": truncated"));
}

}  // namespace
}  // namespace unfold
