#include "model/ppm/packed_ppm.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "compression/symbol_coder.h"
#include "model/context_mixing/integer_decision.h"
#include "model/ppm/ppm.h"
#include "numerics/simd.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

constexpr Index kMemory = Index{1} << 22;

/// Words of a small, growing vocabulary, so that contexts of all lengths recur.
std::vector<Symbol> wordy_text(std::size_t length, Index alphabet, std::uint64_t seed) {
  Random random(seed, "packed ppm test");
  std::vector<Symbol> text;
  std::vector<std::vector<Symbol>> words;
  while (text.size() < length) {
    if (words.empty() || random.below(6) == 0) {
      std::vector<Symbol>& word = words.emplace_back();
      for (std::uint64_t i = 1 + random.below(7); i > 0; --i)
        word.push_back(static_cast<Symbol>(random.below(static_cast<std::uint64_t>(alphabet))));
    }
    const auto& word = words[random.below(words.size())];
    text.insert(text.end(), word.begin(), word.end());
  }
  text.resize(length);
  return text;
}

std::string encoded(Predictor& model, const std::vector<Symbol>& text) {
  SymbolEncoder encoder(model);
  for (const Symbol x : text) encoder.encode(x);
  return encoder.finish();
}

TEST(PackedPpm, texts_of_every_alphabet_and_order_round_trip) {
  for (const Index alphabet : {1, 2, 5, 256})
    for (const Index order : {0, 1, 4, 32}) {
      const auto text = wordy_text(3000, alphabet, static_cast<std::uint64_t>(7 * alphabet + order));
      PackedPpm writer(alphabet, order, kMemory), reader(alphabet, order, kMemory);
      const std::string code = encoded(writer, text);
      SymbolDecoder decoder(reader, code);
      for (std::size_t i = 0; i < text.size(); ++i) ASSERT_EQ(decoder.decode(), text[i]) << alphabet << " " << order;
    }
}

TEST(PackedPpm, code_length_equals_the_normalized_distribution) {
  const auto text = wordy_text(1500, 40, 3);
  PackedPpm asked(40, 5, kMemory), coding(40, 5, kMemory);
  double nats = 0;
  for (const Symbol x : text) {
    const auto logs = asked.log_probabilities();
    double sum = 0;
    for (const float l : logs) sum += std::exp(static_cast<double>(l));
    ASSERT_NEAR(sum, 1, 1e-5);
    nats -= static_cast<double>(logs[static_cast<std::size_t>(x)]);
    asked.observe(x);
  }
  EXPECT_NEAR(static_cast<double>(encoded(coding, text).size()), nats / std::log(2.0) / 8, 4);
}

TEST(PackedPpm, packed_ppm_is_as_good_as_the_eager_model) {
  const auto text = wordy_text(20000, 60, 4);
  PackedPpm packed(60, 5, kMemory);
  PpmPredictor slow(60, {.order = 5});
  EXPECT_LT(static_cast<double>(encoded(packed, text).size()), 1.02 * static_cast<double>(encoded(slow, text).size()));
}

TEST(PackedPpm, reading_the_distribution_changes_nothing) {
  const auto text = wordy_text(2000, 30, 5);
  PackedPpm plain(30, 3, kMemory), curious(30, 3, kMemory);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i % 3 == 0) curious.log_probabilities();
    plain.observe(text[i]);
    curious.observe(text[i]);
  }
  const auto a = plain.log_probabilities(), b = curious.log_probabilities();
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
}

TEST(PackedPpm, model_restarts_when_memory_is_full_and_still_round_trips) {
  const auto text = wordy_text(120000, 256, 6);
  PackedPpm small(256, 6, Index{1} << 20), reader(256, 6, Index{1} << 20), large(256, 6, Index{1} << 26);
  const std::string code = encoded(small, text);
  EXPECT_GT(code.size(), encoded(large, text).size());  // memory was cleared at least once
  SymbolDecoder decoder(reader, code);
  for (std::size_t i = 0; i < text.size(); ++i) ASSERT_EQ(decoder.decode(), text[i]) << i;
}

TEST(PackedPpm, sequences_after_a_reset_round_trip) {
  const auto text = wordy_text(20000, 30, 13);
  PackedPpm writer(30, 6, kMemory), reader(30, 6, kMemory);
  SymbolEncoder encoder(writer);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i % 7 == 3) writer.reset();
    encoder.encode(text[i]);
  }
  const std::string code = encoder.finish();
  SymbolDecoder decoder(reader, code);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i % 7 == 3) reader.reset();
    ASSERT_EQ(decoder.decode(), text[i]) << i;
  }
}

TEST(PackedPpm, copies_are_independent) {
  const auto text = wordy_text(800, 20, 8);
  PackedPpm model(20, 4, kMemory);
  for (const Symbol x : text) model.observe(x);
  const auto copy = model.clone();
  const auto before = model.log_probabilities();
  const std::vector<float> expected(before.begin(), before.end());
  for (const Symbol x : text) copy->observe(19 - x);
  model.set_learning(false);
  const auto after = model.log_probabilities();
  EXPECT_TRUE(std::equal(after.begin(), after.end(), expected.begin(), expected.end()));
}

TEST(PackedPpm, without_learning_only_the_context_changes) {
  const auto text = wordy_text(800, 20, 9);
  PackedPpm model(20, 4, kMemory);
  for (const Symbol x : text) model.observe(x);
  model.set_learning(false);
  model.reset();
  const auto first = model.log_probabilities();
  const std::vector<float> expected(first.begin(), first.end());
  for (const Symbol x : text) model.observe(x);
  model.reset();
  const auto again = model.log_probabilities();
  EXPECT_TRUE(std::equal(again.begin(), again.end(), expected.begin(), expected.end()));
}

TEST(PackedPpm, any_bytes_decode_to_symbols) {
  Random random(10, "damage");
  for (int trial = 0; trial < 300; ++trial) {
    std::string code(random.below(200), '\0');
    for (char& byte : code) byte = static_cast<char>(random.below(trial % 3 == 0 ? 2 : 256));
    const Index alphabet = trial % 2 == 0 ? 256 : 3;
    PackedPpm model(alphabet, 5, Index{1} << 20);
    SymbolDecoder decoder(model, code);
    for (int i = 0; i < 500; ++i) {
      const Symbol x = decoder.decode();
      ASSERT_TRUE(x >= 0 && x < alphabet);
    }
  }
}

TEST(PackedPpm, every_instruction_set_writes_the_same_code) {
  const auto text = wordy_text(5000, 256, 11);
  std::string expected;
  for (const std::string& simd : simd_available()) {
    simd_limit(simd);
    PackedPpm model(256, 6, kMemory);
    const std::string code = encoded(model, text);
    if (expected.empty()) expected = code;
    EXPECT_EQ(code, expected) << simd;
  }
  simd_limit(simd_available().front());
}

TEST(PackedPpm, unsupported_ppm_settings_are_rejected) {
  EXPECT_THROW(PackedPpm(257, 5, kMemory), UsageError);
  EXPECT_THROW(PackedPpm(0, 5, kMemory), UsageError);
  EXPECT_THROW(PackedPpm(4, 33, kMemory), UsageError);
  EXPECT_THROW(PackedPpm(4, 3, 1000), UsageError);
  EXPECT_THROW(PackedPpm(4, 3, kMemory).observe(4), UsageError);
}

TEST(IntegerDecision, estimates_approach_the_frequencies_of_each_hint) {
  IntegerDecision decision;
  Random random(14, "decisions");
  std::array<double, 2> sums{};
  for (int i = 0; i < 20000; ++i) {
    const auto kind = static_cast<std::uint32_t>(i % 2);
    decision.select({.hints = {kind, kind, 0}, .refine = kind, .gates = {kind, 0}});
    const std::uint32_t p = decision.estimate(30000);
    ASSERT_TRUE(p > 0 && p < 65536);
    if (i >= 10000) sums[kind] += p / 65536.0 / 5000;
    decision.learn(random.below(10) < (kind == 0 ? 1 : 7));
  }
  EXPECT_NEAR(sums[0], 0.1, 0.02);
  EXPECT_NEAR(sums[1], 0.7, 0.02);
}

TEST(RangeCoder, totals_other_than_powers_of_two_round_trip) {
  Random random(12, "shares");
  std::vector<std::array<std::uint32_t, 3>> shares;
  RangeEncoder encoder;
  for (int i = 0; i < 2000; ++i) {
    const auto total = static_cast<std::uint32_t>(1 + random.below((1 << 24) - 1));
    const auto first = static_cast<std::uint32_t>(random.below(total));
    const auto size = static_cast<std::uint32_t>(1 + random.below(total - first));
    shares.push_back({first, size, total});
    encoder.encode_share(first, size, total);
  }
  const std::string code = encoder.finish();
  RangeDecoder decoder(code);
  for (const auto& [first, size, total] : shares) {
    const std::uint32_t place = decoder.position_in_total(total);
    ASSERT_TRUE(place >= first && place < first + size);
    decoder.consume_share(first, size, total);
  }
}

}  // namespace
}  // namespace unfold
