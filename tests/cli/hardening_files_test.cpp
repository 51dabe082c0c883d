// Tests of files that claim implausible sizes.
#include <fmt/format.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "tests/cli/fixture.h"
#include "unfold/compression/container.h"
#include "unfold/data/files/safetensors.h"

namespace unfold::test {
namespace {

constexpr long kMostKilobytes = 64'000;

/// Returns an archive with this header and one block whose header claims this many bytes and symbols.
std::string archive(const ContainerHeader& header, Index bytes, Index symbols) {
  std::string out;
  ContainerWriter writer([&](std::string_view piece) { out += piece; }, header);
  writer.write({.bytes = bytes, .symbols = symbols, .content_crc = 0, .code = "x", .side = {}});
  writer.end();
  return out;
}

class HostileFile : public CommandTest {
 protected:
  HostileFile() : file_(folder_ / "hostile") {}

  /// Expects the command to fail quickly, with little memory and with this message.
  void expect_cheap_refusal(const Arguments& arguments, int code, const std::string& message) const {
    Process process(arguments);
    const Finished finished = process.finish(20);
    EXPECT_EQ(finished.code, code) << finished.err;
    EXPECT_THAT(finished.err, HasSubstr(message));
    if (!UNFOLD_SANITIZED) {  // otherwise mostly the sanitizer's memory
      EXPECT_LT(finished.peak_kilobytes, kMostKilobytes);
    }
  }

  std::string file_;
};

/// Writes a model file of 93 MB whose header holds more than ten million entries; returns its correct checksum. Writes
/// piece by piece, because the memory of this process counts for forked processes.
unsigned long write_large_header(const std::string& path, const std::string& digits) {
  std::string piece = "{}";
  while (piece.size() < 1'000'000) piece += R"(,{},"abcde",[])";
  const std::string start = R"({"__metadata__":{"checksum":"crc32:)" + digits + R"("},"z":[)", between = ",";
  constexpr std::uint64_t kPieces = 93;
  const std::uint64_t length = start.size() + kPieces * piece.size() + (kPieces - 1) + 2;
  std::ofstream file(path, std::ios::binary);
  uLong sum = 0;
  const auto put = [&](const std::string& bytes) {
    file << bytes;
    sum = crc32_z(sum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  };
  put(std::string(reinterpret_cast<const char*>(&length), 8) + start);
  for (std::uint64_t i = 0; i < kPieces; ++i) put(i == 0 ? piece : between + piece);
  put("]}");
  return sum;
}

TEST_F(HostileFile, header_of_ten_million_entries_is_rejected_cheaply) {
  const unsigned long sum = write_large_header(file_, "00000000");
  expect_cheap_refusal({"info", file_}, 4, "checksum");
  write_large_header(file_, fmt::format("{:08x}", sum));
  expect_cheap_refusal({"info", file_}, 4, "more than 100000 lists and objects");
}

TEST_F(HostileFile, archive_with_a_huge_model_is_rejected_before_allocation) {
  std::string twenty = "mix:cm:4G";
  for (int i = 1; i < 20; ++i) twenty += "+cm:4G";
  for (const std::string& model : {std::string("lstm:16384"), std::string("cm:4G"), twenty}) {
    for (const bool independent : {false, true}) {
      write_bytes(file_, archive({.model = model, .independent = independent}, 10, 10));
      expect_cheap_refusal({"decompress", file_, "-o", folder_ / "out"}, 1, "--memory-limit");
    }
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

TEST_F(HostileFile, archive_with_a_huge_claimed_size_is_rejected_before_decoding) {
  write_bytes(file_, archive({.model = "ppm:2"}, Index{1} << 26, Index{1} << 26));
  expect_cheap_refusal({"decompress", file_, "-o", folder_ / "out"}, 1, "--max-output");
  write_bytes(file_, archive({.model = "ppm:2"}, 10, Index{1} << 26));
  expect_cheap_refusal({"decompress", file_, "-o", folder_ / "out"}, 6, "more symbols than bytes");
}

TEST_F(HostileFile, limits_can_be_raised) {
  ASSERT_EQ(unfold_command({"compress", text_, "--model", "cm:1", "-o", file_}).code, 0);
  const Arguments back = {"decompress", file_, "-o", folder_ / "out"};
  expect_failure(back + Arguments{"--max-output", "3999"}, 1, "--max-output");
  expect_failure(back + Arguments{"--memory-limit", "1M"}, 1, "--memory-limit");
  expect_failure(back + Arguments{"--max-output", "much"}, 2, "--max-output must be a number of bytes");
  EXPECT_EQ(unfold_command(back + Arguments{"--max-output", "5K", "--memory-limit", "100M"}).code, 0);
  EXPECT_EQ(read_bytes(folder_ / "out"), read_bytes(text_));
}

TEST_F(HostileFile, highly_compressible_data_decompress_without_options) {
  write_bytes(text_, std::string(1'500'000, '\0'));
  ASSERT_EQ(unfold_command({"compress", text_, "--model", "ctw:8", "-o", file_}).code, 0);
  EXPECT_LT(read_bytes(file_).size(), 400u);
  EXPECT_EQ(unfold_command({"decompress", file_, "-o", folder_ / "out"}).code, 0);
  EXPECT_EQ(read_bytes(folder_ / "out"), read_bytes(text_));
}

TEST_F(HostileFile, data_that_exceed_the_decompression_limit_are_rejected) {
  const std::string packed = folder_ / "text.gz";
  const gzFile file = gzopen(packed.c_str(), "wb");
  const std::string zeros(300'000, 'a');
  for (int i = 0; i < 1000; ++i) ASSERT_GT(gzwrite(file, zeros.data(), static_cast<unsigned>(zeros.size())), 0);
  gzclose(file);
  expect_failure({"train", packed, "--out", folder_ / "new"}, 3, "--max-unpacked");
  expect_failure({"train", packed, "--out", folder_ / "new", "--max-unpacked", "1M"}, 3, "--max-unpacked");
}

TEST_F(HostileFile, impossible_model_in_an_archive_is_a_model_error) {
  for (const bool independent : {false, true})
    for (const char* model : {"ppm:99", "ctw:200", "lstm:5,layers=0", "nonsense"}) {
      write_bytes(file_, archive({.model = model, .independent = independent}, 10, 10));
      expect_failure({"decompress", file_, "-o", folder_ / "out"}, 4, "cannot be built:");
    }
}

TEST_F(HostileFile, long_spec_is_not_a_file_name_and_errors_are_reported) {
  std::string spec = "mix:ppm:2";
  while (spec.size() < 260) spec += "+ppm:2";
  ASSERT_EQ(unfold_command({"compress", text_, "--model", spec, "-o", file_}).code, 0);
  expect_failure({"compress", text_, "--model", std::string(300, 'x'), "-o", file_}, 2, "xxx");
}

TEST_F(HostileFile, fitted_models_are_stored_in_the_archive) {
  for (const char* model : {"ngram:3", "hmm:3,iterations=3", "frequency"}) {
    const Finished packed = unfold_command({"compress", text_, "--model", model, "-o", file_, "--json"});
    ASSERT_EQ(packed.code, 0) << packed.err;
    ASSERT_EQ(unfold_command({"decompress", file_, "-o", folder_ / "out"}).code, 0);
    EXPECT_EQ(read_bytes(folder_ / "out"), read_bytes(text_)) << model;
  }
  expect_failure({"compress", "-", "--model", "ngram:3", "-o", file_}, 2, "name a non-empty file");
}

TEST_F(HostileFile, damaged_task_model_is_a_model_error) {
  ASSERT_EQ(unfold_command({"train", "--task", "adding:10", "--model", "rnn:4", "--steps", "3", "--out", run_}).code,
            0);
  std::string bytes = read_bytes(run_ + "/model.safetensors");
  bytes[bytes.size() - 3] ^= 1;
  write_bytes(run_ + "/model.safetensors", bytes);
  write_bytes(file_, bytes);
  expect_failure({"eval", run_}, 4, "damaged");
  expect_failure({"eval", file_}, 4, "damaged");
  for (const auto& [from, to] :
       {std::pair("metadata__", "metadatav_"), std::pair("unfold", "unf\"ld"), std::pair("{", "\xAD")}) {
    std::string changed = read_bytes(file_);
    changed.replace(changed.find(from), std::string_view(to).size(), to);
    write_bytes(run_ + "/model.safetensors", changed);
    expect_failure({"eval", run_ + "/model.safetensors"}, 4, "model.safetensors");
  }
  const std::string neither_length_nor_key = "\xE0\x58\x97\x75\x72\x83\xD6\x11{\"__mDtadata__\":{\"card\":\"{";
  for (const std::string& begin :
       {std::string(), bytes.substr(0, 13), std::string("length") + bytes.substr(6), neither_length_nor_key}) {
    write_bytes(run_ + "/model.safetensors", begin);
    expect_failure({"eval", run_ + "/model.safetensors"}, 4, "model.safetensors");
  }
  train({"--overwrite"});
  expect_failure({"eval", run_}, 2, "eval needs MODEL DATA");
  expect_failure({"eval", text_}, 2, "eval needs MODEL DATA");
  write_bytes(file_, std::string(63, '.') + "\xC3\xA9 and no more");
  expect_failure({"eval", file_}, 2, "eval needs MODEL DATA");
}

/// Writes the same model with its card modified by `change`.
void write_with_card(const std::string& from, const std::string& to,
                     const std::function<void(nlohmann::json& card)>& change) {
  const SafetensorsFile model = SafetensorsFile::open(from);
  nlohmann::json card = nlohmann::json::parse(model.metadata("card"));
  change(card);
  SafetensorsWriter writer;
  for (const Tensor& tensor : model.tensors()) writer.add_bytes(tensor);
  writer.set_metadata("card", card.dump());
  writer.write(to);
}

TEST_F(HostileFile, task_model_with_an_invalid_card_is_a_model_error) {
  ASSERT_EQ(unfold_command({"train", "--task", "adding:10", "--model", "rnn:4", "--steps", "3", "--out", run_}).code,
            0);
  const std::string good = run_ + "/model.safetensors";
  write_with_card(good, file_, [](nlohmann::json& card) { card["data"] = 7; });
  expect_failure({"eval", file_}, 4, "\"data\" in the card");
  write_with_card(good, file_, [](nlohmann::json& card) { card["data"]["source"] = "t+sk adding:10"; });
  expect_failure({"eval", file_}, 4, "which reads t+sk adding:10");
  for (const char* task : {"task adding:length10", "task adding:le gth=10", "task ading"}) {
    write_with_card(good, file_, [&](nlohmann::json& card) { card["data"]["source"] = task; });
    for (const char* verb : {"eval", "info"}) expect_failure({verb, file_}, 4, "names an unknown task:");
  }
}

TEST_F(HostileFile, card_with_invalid_training_settings_is_a_model_error) {
  const std::string data = folder_ / "tags.conll";
  write_bytes(data, "a\tx\nb\ty\n\nb\ty\na\tx\n\n");
  ASSERT_EQ(unfold_command({"train", data, "--predict", "2", "--model", "rnn:4", "--steps", "3", "--out", run_}).code,
            0);
  const std::string good = run_ + "/model.safetensors";
  write_with_card(good, file_, [](nlohmann::json& card) { card["data"]["source"] = "coumns"; });
  for (const char* verb : {"eval", "score", "predict"}) expect_failure({verb, file_, data}, 4, "coumns");
  for (const nlohmann::json& symbols : {nlohmann::json("1e400"), nlohmann::json(7)}) {
    write_with_card(good, file_, [&](nlohmann::json& card) { card["configuration"]["symbols"] = symbols; });
    for (const char* verb : {"eval", "score", "predict"})
      expect_failure({verb, file_, data}, 4, "the model card: configuration");
  }
}

TEST_F(HostileFile, file_names_that_are_not_utf8_are_accepted) {
  const std::string odd = folder_ / "na\xFFme.txt";
  write_bytes(odd, read_bytes(text_));
  text_ = odd;
  train();
  EXPECT_THAT(read_bytes(run_ + "/config.toml"), HasSubstr("na\xEF\xBF\xBDme.txt"));
  ASSERT_EQ(unfold_command({"eval", run_, odd, "--json"}).code, 0);
  train({"--resume", "--steps", "25"});
}

}  // namespace
}  // namespace unfold::test
