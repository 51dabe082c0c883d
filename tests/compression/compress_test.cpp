#include "unfold/compression/compress.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/compression/memory.h"
#include "unfold/base/error.h"
#include "unfold/model/registry/registry.h"
#include "unfold/numerics/random.h"

namespace unfold::test {
namespace {

std::string random_bytes(std::size_t n, std::uint64_t below = 256) {
  Random random(n, "bytes");
  std::string bytes;
  for (std::size_t i = 0; i < n; ++i) bytes += static_cast<char>(random.below(below));
  return bytes;
}

std::string text_of(std::size_t n) {
  static const char* const kWords[] = {"the ", "cat ", "sat ", "on ", "a ", "mat.\n", "and ", "then "};
  Random random(n, "text");
  std::string text;
  while (text.size() < n) text += kWords[random.below(8)];
  return text;
}

std::string packed(const std::string& bytes, const CompressOptions& options) {
  std::string out;
  const CompressResult result = compress(from(bytes, 1000), into(out), options);
  EXPECT_EQ(result.bytes_in, static_cast<Index>(bytes.size()));
  EXPECT_EQ(result.bytes_out, static_cast<Index>(out.size()));
  return out;
}

std::string unpacked(const std::string& bytes, const DecompressOptions& options = {}) {
  std::string out;
  decompress(from(bytes, 777), into(out), options);
  return out;
}

const std::vector<std::string> kModels = {"cm:1", "cm:1,level=fast"};

TEST(Compress, anything_comes_back_bit_for_bit) {
  for (const std::string& model : kModels)
    for (const std::string& bytes : {std::string(), std::string("x"), std::string(3000, '\0'), random_bytes(1500),
                                     random_bytes(1500, 2), text_of(4000)})
      EXPECT_EQ(unpacked(packed(bytes, {.model = model})), bytes) << model << ", " << bytes.size();
}

TEST(Compress, blocks_and_threads_change_nothing_but_the_time) {
  const std::string bytes = text_of(5000);
  for (const bool independent : {false, true}) {
    CompressOptions options{.model = "cm:1,level=fast", .block = 700, .independent = independent, .threads = 1};
    const std::string one = packed(bytes, options);
    options.threads = 3;
    EXPECT_EQ(packed(bytes, options), one);
    options.verify = false;
    EXPECT_EQ(packed(bytes, options), one);
    for (const int threads : {1, 2, 5}) EXPECT_EQ(unpacked(one, {.threads = threads}), bytes);
  }
}

TEST(Compress, damage_of_whole_files_is_never_silent) {
  const std::string bytes = text_of(300), whole = packed(bytes, {.model = "cm:1,level=fast"});
  Random random(1, "damage");
  for (int i = 0; i < 60; ++i) {
    std::string damaged = whole;
    if (i % 2 == 0)
      damaged.resize(random.below(whole.size()));
    else
      damaged[random.below(whole.size())] ^= static_cast<char>(1 + random.below(255));
    if (damaged == whole) continue;
    try {
      unpacked(damaged);
      ADD_FAILURE() << "damage " << i << " was not noticed";
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ExitCode::verification || error.code() == ExitCode::bad_model) << error.what();
    }
  }
}

TEST(Compress, OptionsOutOfRangeAndEmptyStreamsAreRefused) {
  const ByteSource source = [](char*, std::size_t) { return std::size_t{0}; };
  const ByteSource boasting = [](char*, std::size_t size) { return size + 1; };
  const ByteSink sink = [](std::string_view) {};
  const CompressOptions valid{.model = "cm:1"};
  EXPECT_THROW(compress(nullptr, sink, valid), UsageError);
  EXPECT_THROW(compress(source, nullptr, valid), UsageError);
  EXPECT_THROW(compress(boasting, sink, valid), UsageError);
  EXPECT_THROW(compress(source, sink, {.model = "cm:1", .window = -1}), UsageError);
  EXPECT_THROW(compress(source, sink, {.model = "cm:1", .block = 0}), UsageError);
  EXPECT_THROW(compress(source, sink, {.model = "cm:1", .independent = true, .threads = 0}), UsageError);
  EXPECT_THROW(decompress(nullptr, sink, {}), UsageError);
  EXPECT_THROW(decompress(source, nullptr, {}), UsageError);
  EXPECT_THROW(decompress(source, sink, {.threads = 0}), UsageError);
  EXPECT_THROW(decompress(source, sink, {.limits = {.memory = -1}}), UsageError);
  EXPECT_THROW(PieceCompressor(nullptr, valid), UsageError);
  PieceCompressor pieces(source, {.model = "cm:1", .independent = true});
  EXPECT_THROW(pieces.piece({2, 1}), UsageError);
  EXPECT_THROW(pieces.piece({-1, 1}), UsageError);
}

/// A trained model of words or characters, and text with unknown ones, which needs a side stream.
TEST(Compress, trained_models_of_other_alphabets_restore_the_exact_bytes) {
  const std::string training = "the cat sat on the mat\nthe dog sat\n";
  const std::string bytes = " the  cat sat\r\non a \xFF m\xC3\xA9t\n\n\nthe end";
  for (const SymbolKind kind : {SymbolKind::words, SymbolKind::chars, SymbolKind::bytes}) {
    const std::vector<Input> inputs = {Input::from_bytes("t", training)};
    const Alphabet alphabet = build_alphabet(inputs, {.kind = kind, .with_unknown = kind == SymbolKind::words});
    const std::shared_ptr<FittedModel> model = make_fitted_model("frequency", alphabet);
    const Corpus corpus = Corpus::from_text(training, alphabet);
    const Split part = whole_corpus(corpus, "all");
    Team team(1);
    model->fit({.corpus = corpus, .training = part}, {}, team);
    CompressOptions options{.model = "name", .trained = model, .file = model->bytes(), .learns = false};
    for (const bool embed : {false, true}) {
      options.embed = embed;
      const std::string whole = packed(bytes, options);
      DecompressOptions with;
      if (!embed) {
        EXPECT_THROW(unpacked(whole), ModelError);
        with.find_model = [&](const std::string& name, std::uint64_t) {
          EXPECT_EQ(name, "name");
          return model->bytes();
        };
      }
      EXPECT_EQ(unpacked(whole, with), bytes);
      with.find_model = [](const std::string&, std::uint64_t) { return std::string("another file"); };
      if (!embed) {
        EXPECT_THROW(unpacked(whole, with), ModelError);
      }
    }
  }
}

TEST(Compress, a_stop_is_obeyed) {
  const std::atomic<bool> stop{true};
  std::string out;
  EXPECT_THROW(compress(from("text"), into(out), {.model = "cm:1", .stop = &stop}), InterruptedError);
}

}  // namespace
}  // namespace unfold::test
