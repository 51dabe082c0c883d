#include "compression/byte_symbols.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "unfold/base/error.h"

namespace unfold::test {
namespace {

Alphabet words() { return {SymbolKind::words, {"<eos>", "<unk>", "the", "cat", "sat", "\xC3\xA9t\xC3\xA9"}}; }
Alphabet closed_words() { return {SymbolKind::words, {"<eos>", "the", "cat"}}; }
Alphabet chars() { return Alphabet::chars_of("the cat\n\xC3\xA9"); }
Alphabet some_bytes() { return {SymbolKind::bytes, {"a", "b", " "}}; }

void expect_exact(const Alphabet& alphabet, const std::string& bytes) {
  const SymbolText text = to_symbols(alphabet, bytes);
  for (const Symbol x : text.symbols) RC_ASSERT(x >= 0 && x < alphabet.size());
  RC_ASSERT(to_bytes(alphabet, text) == bytes);
}

RC_GTEST_PROP(ByteSymbols, any_text_of_words_and_blanks_round_trips, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("the", "cat", "dog", " ", "  ", "\n", "\t", "\r\n", "<unk>", "<eos>",
                                    "\xC3\xA9t\xC3\xA9", "\xFF", "\xC3", "\xE2\x80\xA8"));
  std::string bytes;
  for (const std::string& piece : pieces) bytes += piece;
  for (const Alphabet& alphabet : {words(), closed_words(), chars(), some_bytes(), Alphabet::all_bytes()})
    expect_exact(alphabet, bytes);
}

RC_GTEST_PROP(ByteSymbols, any_bytes_round_trip, (const std::string& bytes)) {
  for (const Alphabet& alphabet : {words(), closed_words(), chars(), some_bytes(), Alphabet::all_bytes()})
    expect_exact(alphabet, bytes);
}

TEST(ByteSymbols, text_of_the_alphabet_needs_no_correction) {
  EXPECT_EQ(to_symbols(words(), "the cat\nsat the\n").corrections, "");
  EXPECT_EQ(to_symbols(chars(), "the cat\n").corrections, "");
  EXPECT_EQ(to_symbols(Alphabet::all_bytes(), "\xFF any").corrections, "");
  EXPECT_NE(to_symbols(words(), "the dog\n").corrections, "");
}

TEST(ByteSymbols, invalid_corrections_are_rejected) {
  SymbolText text = to_symbols(words(), "the dog\n");
  text.symbols.resize(1);
  EXPECT_THROW(to_bytes(words(), text), VerificationError);
  text.corrections = "\xFF\xFF";
  EXPECT_THROW(to_bytes(words(), text), VerificationError);
}

}  // namespace
}  // namespace unfold::test
