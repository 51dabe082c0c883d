// Coding with every kind of model, end to end: the data is restored, and the size matches the model.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "compression/byte_symbols.h"
#include "compression/symbol_coder.h"
#include "model/adaptive/learning.h"
#include "tests/compression/memory.h"
#include "unfold/base/formats/file.h"
#include "unfold/compression/compress.h"
#include "unfold/model/network/language_model.h"
#include "unfold/model/registry/registry.h"
#include "unfold/numerics/random.h"

namespace unfold::test {
namespace {

/// Returns words of an artificial language, some of which are frequent.
std::string babble(std::size_t n) {
  Random random(n, "babble");
  std::string text;
  while (text.size() < n) {
    Random word(random.below(2) == 0 ? random.below(8) : random.below(2000), "word");
    for (std::uint64_t left = 1 + word.below(8); left > 0; --left) text += static_cast<char>('a' + word.below(20));
    text += random.below(12) == 0 ? ".\n" : " ";
  }
  return text;
}

/// Returns a model of the bytes of `text`, briefly trained or fitted.
std::shared_ptr<SymbolModel> trained(const std::string& spec, const std::string& text) {
  const Corpus corpus = Corpus::from_text(text, Alphabet::all_bytes());
  if (!is_fitted_model(spec)) {
    auto network = std::make_shared<LanguageModel<float>>(spec, corpus.alphabet());
    network->initialize(1);
    return network;
  }
  std::shared_ptr<FittedModel> model = make_fitted_model(spec, corpus.alphabet());
  Team team(1);
  model->fit({.corpus = corpus, .training = whole_corpus(corpus, "all")}, {}, team);
  return model;
}

double bits_of(Predictor& predictor, const std::string& bytes) {
  double bits = 0;
  for (const char c : bytes) {
    const auto symbol = static_cast<Symbol>(static_cast<std::uint8_t>(c));
    bits -= static_cast<double>(predictor.log_probability(symbol)) / std::log(2.0);
    predictor.observe(symbol);
  }
  return bits;
}

/// Compresses, decompresses, and compares the size with the cost according to `predictor`.
void expect_cost(const std::string& what, Predictor& predictor, const std::string& bytes, CompressOptions options) {
  options.verify = false;
  std::string packed, restored;
  compress(from(bytes), into(packed), options);
  decompress(from(packed), into(restored),
             {.find_model = [&](const std::string&, std::uint64_t) { return options.file; }});
  EXPECT_EQ(restored, bytes) << what;
  Index code = 0;
  ContainerReader reader(from(packed), what);
  for (ContainerBlock block; reader.next(block);) code += static_cast<Index>(block.code.size());
  const double bits = bits_of(predictor, bytes);
  EXPECT_LE(8 * static_cast<double>(code), 1.001 * bits + 24) << what;
}

TEST(AnyModel, online_model_round_trips_at_its_predicted_size) {
  for (const char* spec :
       {"cm:1", "cm:1,level=fast", "cm:memory=2M,row=3", "ppm", "ppm:2", "ppm:4,memory=1", "ctw:24", "lstm:7",
        "gru:5,layers=2", "gru:5,loss=adaptive-softmax:40", "mix:ppm:2+lstm:5", "mix:cm:1+ctw:16"})
    for (const std::string& bytes : {babble(8000), std::string(), std::string("x"), std::string(2000, '\0')})
      expect_cost(spec, *make_learner(spec, Alphabet::all_bytes()), bytes, {.model = spec});
}

TEST(AnyModel, trained_model_round_trips_at_its_predicted_size) {
  for (const char* spec : {"uniform", "frequency", "ngram:4", "hmm:3,restarts=1,iterations=5", "rnn:6", "lstm:6",
                           "gru:6,embedding=4,loss=adaptive-softmax:40"}) {
    const auto model = trained(spec, babble(3000));
    CompressOptions options{.model = spec, .trained = model, .file = model->bytes(), .learns = false};
    for (const std::string& bytes : {babble(8000), std::string(), std::string("x"), std::string(300, '\0')})
      expect_cost(spec, *model->predictor(), bytes, options);
    if (is_fitted_model(spec)) continue;
    options.learns = true;
    const auto learner = learning_predictor(*model);
    expect_cost(spec, *learner, babble(8000), options);
  }
}

/// Checksums of archives written by earlier builds. A model that does not adapt codes all bytes as one sequence, even
/// if its data consists of lines; ppm initializes contexts on their first occurrence.
TEST(AnyModel, ArchivesOfTrainedModelsKeepTheirBytes) {
  const std::vector<std::pair<std::string, std::uint32_t>> expected = {
      {"ppm:3", 2879249459U},
      {"ppm:3,memory=1", 1455360362U},
      {"mix:ppm:2+lstm:5", 1267777137U},
      {"cm:1", 1765621270U},
      {"ctw:24", 151115914U},
      {"ngram:4", 1777646948U},
      {"hmm:3,start=uniform,restarts=1,iterations=5,tolerance=1e-05", 686741642U}};
  for (const auto& [spec, checksum] : expected) {
    const auto model = trained(spec, babble(3000));
    model->configuration()["lines"] = true;
    std::string packed;
    compress(from(babble(8000)), into(packed),
             {.model = spec, .trained = model, .file = model->bytes(), .learns = false});
    EXPECT_EQ(crc32_of(packed), checksum) << spec;
  }
}

TEST(AnyModel, million_word_model_codes_texts_exactly) {
  std::vector<std::string> words{std::string(kLineEndWord), std::string(kUnknownWord)};
  while (words.size() < 1'000'000) words.push_back("w" + std::to_string(words.size()));
  const Alphabet alphabet(SymbolKind::words, std::move(words));
  const std::shared_ptr<FittedModel> model = make_fitted_model("frequency", alphabet);
  const Corpus corpus = Corpus::from_text("w7 w7 w999999\n", alphabet);
  Team team(1);
  model->fit({.corpus = corpus, .training = whole_corpus(corpus, "all")}, {}, team);
  const auto predictor = model->predictor();
  for (std::uint64_t seed = 0; seed < 15; ++seed) {
    Random random(seed, "million");
    std::string bytes;
    for (std::uint64_t n = random.below(12); n > 0; --n) {
      const char* const blanks[] = {" ", "\n", "  ", "\t", " x\xFF "};
      bytes += "w" + std::to_string(random.below(3) == 0 ? random.below(10) : random.below(1'200'000));
      bytes += blanks[random.below(5)];
    }
    const SymbolText text = to_symbols(alphabet, bytes);
    SymbolEncoder encoder(*predictor);
    for (const Symbol symbol : text.symbols) encoder.encode(symbol);
    const std::string code = encoder.finish();
    SymbolDecoder decoder(*predictor, code);
    SymbolText back{.symbols = {}, .corrections = text.corrections};
    for (std::size_t i = 0; i < text.symbols.size(); ++i) back.symbols.push_back(decoder.decode());
    EXPECT_EQ(back.symbols, text.symbols);
    EXPECT_EQ(to_bytes(alphabet, back), bytes);
  }
}

/// Of a long file only the first three blocks, which are short; with UNFOLD_THOROUGH in the environment, all of it.
TEST(Corpora, every_corpus_file_round_trips) {
  const bool thorough = std::getenv("UNFOLD_THOROUGH") != nullptr;
  const Index block = thorough ? 1 << 18 : 1 << 16;
  const char* named = std::getenv("UNFOLD_DATA");
  const std::filesystem::path data = named != nullptr ? named : UNFOLD_SOURCE_DIR "/../shared/data";
  if (!std::filesystem::is_directory(data / "corpora")) GTEST_SKIP() << "corpora is not there (UNFOLD_DATA)";
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data / "corpora")) {
    if (!entry.is_regular_file()) continue;
    ++files;
    std::string bytes = read_file(entry.path().string());
    if (!thorough) bytes.resize(std::min(bytes.size(), static_cast<std::size_t>(2 * block + 1000)));
    const bool independent = static_cast<Index>(bytes.size()) > block;
    for (const char* spec : {"cm:1,level=fast", "ppm:4"}) {
      if (bytes.size() > 16'000 && std::string(spec) == "ppm:4") continue;
      std::string packed, restored;
      compress(from(bytes), into(packed),
               {.model = spec, .block = block, .independent = independent, .threads = 2, .verify = false});
      decompress(from(packed), into(restored), {.threads = 2});
      EXPECT_TRUE(restored == bytes) << entry.path() << " with " << spec;
    }
  }
  EXPECT_GT(files, 0);
}

}  // namespace
}  // namespace unfold::test
