#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "numerics/simd.h"
#include "tests/cli/fixture.h"

namespace unfold::test {
namespace {

TEST_F(CommandTest, compressed_data_round_trip) {
  const std::string packed = folder_ / "packed", restored = folder_ / "restored";
  for (const std::string& bytes : {std::string(), std::string("x"), std::string(2000, '\0'), small_text(3000)}) {
    write_bytes(text_, bytes);
    for (const Arguments& more :
         {Arguments{"--fast"}, Arguments{"--model", "ppm:4"}, Arguments{"--model", "ctw:16", "--block", "700"},
          Arguments{"--model", "mix:ppm:2+lstm:5", "--window", "7"}}) {
      const Finished compressed = unfold_command(Arguments{"compress", text_, "-o", packed, "--json"} + more);
      ASSERT_EQ(compressed.code, 0) << compressed.err;
      const nlohmann::json json = only_object(compressed.out);
      EXPECT_EQ(json["bytes_in"], bytes.size());
      EXPECT_EQ(json["bytes_out"], read_bytes(packed).size());
      const Finished decompressed = unfold_command({"decompress", packed, "-o", restored},
                                                   {.environment = {{"UNFOLD_SIMD", simd_available().back()}}});
      ASSERT_EQ(decompressed.code, 0) << decompressed.err;
      EXPECT_EQ(read_bytes(restored), bytes) << more.back();
    }
  }
}

TEST_F(CommandTest, pipe_output_equals_file_output) {
  const std::string packed = folder_ / "packed", pipe = folder_ / "pipe";
  ASSERT_EQ(unfold_command({"compress", text_, "-o", packed, "-3"}).code, 0);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string through;
  std::thread reader([&] { through = read_bytes(pipe); });
  const Finished compressed = unfold_command({"compress", text_, "-o", pipe, "-3"});
  reader.join();
  EXPECT_EQ(compressed.code, 0) << compressed.err;
  EXPECT_EQ(through, read_bytes(packed));
  for (const char* size : {"16777216T", "18014398509482G"})
    expect_failure({"compress", text_, "-o", packed, "--block", size}, 2, "--block: " + std::string(size));
}

TEST_F(CommandTest, every_compression_level_round_trips) {
  const std::string packed = folder_ / "packed", restored = folder_ / "restored";
  write_bytes(text_, small_text(5000));
  const auto model = [&](const Arguments& more) {
    const Finished compressed = unfold_command(Arguments{"compress", text_, "-o", packed, "--json"} + more);
    EXPECT_EQ(compressed.code, 0) << compressed.err;
    EXPECT_EQ(unfold_command({"decompress", packed, "-o", restored}).code, 0);
    EXPECT_EQ(read_bytes(restored), read_bytes(text_));
    return only_object(compressed.out)["model"].get<std::string>();
  };
  for (const char* level : {"1", "4", "5", "6", "9"})
    EXPECT_EQ(model({std::string("-") + level}), model({"--level", level})) << level;
  EXPECT_EQ(model({"--fast"}), model({"-4"}));
  EXPECT_EQ(model({"--best"}), model({"-9"}));
  EXPECT_EQ(model({}), model({"-6"}));
  expect_failure({"compress", text_, "-o", packed, "-3", "-5"}, 2, "one level");
  expect_failure({"compress", text_, "-o", packed, "-3", "--best"}, 2, "cannot be combined");
  expect_failure({"compress", text_, "-o", packed, "--level", "10"}, 2, "level");
}

TEST_F(CommandTest, compression_detects_records_and_genomes) {
  const std::string packed = folder_ / "packed", restored = folder_ / "restored";
  const auto model = [&](const std::string& bytes) {
    write_bytes(text_, bytes);
    const Finished compressed = unfold_command({"compress", text_, "-o", packed, "--json"});
    EXPECT_EQ(compressed.code, 0) << compressed.err;
    EXPECT_EQ(unfold_command({"decompress", packed, "-o", restored}).code, 0);
    EXPECT_EQ(read_bytes(restored), bytes);
    return only_object(compressed.out)["model"].get<std::string>();
  };
  std::string records, noise, genome = ">a genome of NNN\n";
  for (int i = 0; i < 200; ++i) records += "12345678901" + std::to_string(100000 + i * i * i % 99991);
  for (unsigned i = 0, x = 1; i < 5000; ++i, x = x * 1103515245 + 12345) {
    genome += i % 61 == 60 ? '\n' : "ACGT"[x >> 20 & 3];
    noise += static_cast<char>('a' + (x >> 16) % 20);
  }
  EXPECT_NE(model(records).find("row=17"), std::string::npos);
  EXPECT_EQ(model(noise).find("row="), std::string::npos);
  EXPECT_TRUE(model(genome).starts_with("dna:"));
}

TEST_F(CommandTest, compression_selects_contexts_by_content) {
  const std::string packed = folder_ / "packed";
  const auto model = [&](const std::string& bytes) {
    write_bytes(text_, bytes);
    const Finished compressed = unfold_command({"compress", text_, "-o", packed, "--json", "--no-verify"});
    EXPECT_EQ(compressed.code, 0) << compressed.err;
    return only_object(compressed.out)["model"].get<std::string>();
  };
  constexpr std::size_t kNotSmall = 66000;
  std::string text = small_text(kNotSmall), noise;
  text.resize(kNotSmall, '.');
  for (unsigned i = 0, x = 1; i < kNotSmall; ++i, x = x * 1103515245 + 12345) noise += static_cast<char>(x >> 16);
  EXPECT_NE(model(text).find("level=text"), std::string::npos);
  EXPECT_NE(model(noise).find("level=binary"), std::string::npos);
  EXPECT_EQ(model(text.substr(0, 5000)).find("level="), std::string::npos);
  std::string records;  // compressed with all contexts, too, up to twice the size
  for (std::size_t i = 0; i < kNotSmall / 4; ++i)
    records += std::string({noise[i], '\0', static_cast<char>(i / 999), 7});
  EXPECT_NE(model(records).find("row=4"), std::string::npos);
  EXPECT_EQ(model(records).find("level="), std::string::npos);
  EXPECT_NE(model(records + records).find("level=binary"), std::string::npos);
}

TEST_F(CommandTest, ppm_selects_its_order_by_content) {
  const auto model = [&](const Arguments& how) {
    const Finished compressed = unfold_command(Arguments{"compress", text_, "-o", folder_ / "packed", "--json"} + how);
    EXPECT_EQ(compressed.code, 0) << compressed.err;
    return only_object(compressed.out)["model"].get<std::string>();
  };
  EXPECT_EQ(model({"--model", "ppm"}), "ppm:7,memory=10");
  EXPECT_EQ(model({"--model", "ppm"}), model({"--fast"}));
  EXPECT_EQ(model({"--model", "ppm:3"}), "ppm:3,memory=64");
  write_bytes(text_, std::string(3000, '\1'));
  EXPECT_EQ(model({"--model", "ppm"}), "ppm:32,memory=10");
}

TEST_F(CommandTest, compression_streams_through_standard_input_and_output) {
  const std::string bytes = small_text(3000);
  const Finished packed = unfold_command({"compress", "-", "--fast"}, {.input = bytes});
  ASSERT_EQ(packed.code, 0) << packed.err;
  const Finished restored = unfold_command({"decompress", "-", "--quiet"}, {.input = packed.out});
  EXPECT_EQ(restored.code, 0) << restored.err;
  EXPECT_EQ(restored.out, bytes);
}

TEST_F(CommandTest, damaged_archives_leave_no_output) {
  const std::string packed = folder_ / "packed", restored = folder_ / "restored";
  ASSERT_EQ(unfold_command({"compress", text_, "--fast", "-o", packed}).code, 0);
  const std::string whole = read_bytes(packed);
  for (const std::size_t at : {std::size_t{0}, std::size_t{4}, std::size_t{12}, whole.size() / 2, whole.size() - 1}) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    for (const std::string& bytes : {damaged, whole.substr(0, at)}) {
      write_bytes(packed, bytes);
      const Finished finished = unfold_command({"decompress", packed, "-o", restored});
      EXPECT_TRUE(finished.code == 6 || finished.code == 4) << finished.code << " " << finished.err;
      EXPECT_FALSE(std::ifstream(restored).good());
    }
  }
}

TEST_F(CommandTest, trained_models_compress_and_decompress) {
  train();
  const std::string packed = folder_ / "packed", restored = folder_ / "restored";
  write_bytes(text_, small_text(700) + "\xC3\xA9 and a byte \xFF");
  for (const Arguments& more : {Arguments{}, Arguments{"--online"}, Arguments{"--embed"}}) {
    const Finished compressed = unfold_command(Arguments{"compress", text_, "--model", run_, "-o", packed} + more);
    ASSERT_EQ(compressed.code, 0) << compressed.err;
    ASSERT_EQ(unfold_command({"decompress", packed, "-o", restored, "--threads", "1"}).code, 0);
    EXPECT_EQ(read_bytes(restored), read_bytes(text_));
  }
  ASSERT_EQ(unfold_command({"compress", text_, "--model", run_, "-o", packed}).code, 0);
  write_bytes(text_, small_text(700));
  train({"--overwrite", "--seed", "9"});
  expect_failure({"decompress", packed, "-o", restored + "2"}, 4, "was compressed with a different model");
  expect_failure({"decompress", packed, "-o", restored + "2", "--model", folder_ / "none"}, 4,
                 "does not exist; name its location with --model");
}

TEST_F(CommandTest, online_learning_models_can_be_trained_evaluated_and_sampled) {
  for (const char* model : {"ppm:3", "ctw:16", "mix:ppm:2+ctw:16"}) {
    ASSERT_EQ(
        unfold_command({"train", text_, "--out", run_, "--model", model, "--overwrite", "--split", "80/10/10"}).code,
        0);
    const Arguments eval = {"eval", run_, text_, "--split", "80/10/10", "--json"};
    const nlohmann::json fixed = only_object(unfold_command(eval).out),
                         dynamic = only_object(unfold_command(eval + Arguments{"--dynamic"}).out);
    EXPECT_LT(fixed["bits_per_symbol"].get<double>(), 3) << model;
    EXPECT_NE(fixed["bits_per_symbol"], dynamic["bits_per_symbol"]) << model;
    EXPECT_EQ(unfold_command({"sample", run_, "--length", "20"}).code, 0);
  }
}

TEST_F(CommandTest, dynamic_evaluation_learns_reproducibly) {
  train();
  const Arguments eval = {"eval", run_, text_, "--dynamic", "--window", "8", "--optimizer", "adam:rate=0.01", "--json"};
  const Finished once = unfold_command(eval);
  ASSERT_EQ(once.code, 0) << once.err;
  EXPECT_EQ(unfold_command(eval).out, once.out);
  const nlohmann::json fixed = only_object(unfold_command({"eval", run_, text_, "--json"}).out);
  EXPECT_LT(only_object(once.out)["bits_per_symbol"].get<double>(), fixed["bits_per_symbol"].get<double>());
  expect_failure({"eval", run_, text_, "--dynamic", "--segments", "3"}, 2, "--dynamic");
}

TEST_F(CommandTest, unsupported_compression_options_are_named) {
  expect_failure({"compress", text_, "--model", "lzma"}, 2, "frequency, ngram, hmm");
  expect_failure({"compress", folder_ / "nothing"}, 3, "cannot read");
  expect_failure({"compress", text_, "--model", "pmp:5"}, 2, "ppm");
  expect_failure({"compress", text_, "--fast", "--best"}, 2, "cannot be combined");
  expect_failure({"compress", text_, "--json"}, 2, "standard output");
  expect_failure({"decompress", text_}, 6, "not written by unfold compress");
  const std::string before = read_bytes(text_);
  for (const char* verb : {"compress", "decompress"}) expect_failure({verb, text_, "-o", text_}, 2, "is also an input");
  EXPECT_EQ(read_bytes(text_), before);
}

}  // namespace
}  // namespace unfold::test
