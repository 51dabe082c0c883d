#include "unfold/data/text/alphabet.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/utf8.h"
#include "tests/base/scratch.h"
#include "unfold/base/formats/json.h"

namespace unfold {
namespace {

using testing_support::contains;
using testing_support::message_of;

Alphabet words_in(const std::string& text, Index vocabulary = 0, bool with_unknown = false) {
  const std::vector<Input> inputs{Input::from_bytes("text", text)};
  return build_alphabet(inputs, {SymbolKind::words, vocabulary, with_unknown});
}

std::vector<std::string> texts_of(const Alphabet& alphabet) {
  std::vector<std::string> out;
  for (Symbol s = 0; s < alphabet.size(); ++s) {
    out.emplace_back(s == alphabet.line_end() && alphabet.kind() == SymbolKind::words ? "<eos>" : alphabet.text(s));
  }
  return out;
}

using Texts = std::vector<std::string>;

RC_GTEST_PROP(Alphabets, bytes_round_trip, (const std::string& text)) {
  const Alphabet alphabet = Alphabet::all_bytes();
  RC_ASSERT(alphabet.decode(alphabet.encode(text)) == text);
}

RC_GTEST_PROP(Alphabets, unicode_text_round_trips, ()) {
  std::string text = "a";
  for (const auto code :
       *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, 0x110000))) {
    if (is_scalar_value(code)) append_utf8(text, code);
  }
  const Alphabet alphabet = Alphabet::chars_of(text);
  RC_ASSERT(alphabet.decode(alphabet.encode(text)) == text);
  RC_ASSERT(Alphabet::from_json(parse_json(alphabet.to_json().dump(), "card")) == alphabet);
}

RC_GTEST_PROP(Alphabets, words_round_trip, ()) {
  const Alphabet alphabet = words_in("the cat sat on <unk> é\n");
  const auto symbols =
      *rc::gen::container<std::vector<Symbol>>(rc::gen::inRange<Symbol>(0, static_cast<Symbol>(alphabet.size())));
  RC_ASSERT(alphabet.encode(alphabet.decode(symbols)) == symbols);
  // Piece by piece gives the same text as all at once.
  std::string pieces;
  Symbol previous = kNoSymbol;
  for (const Symbol s : symbols) {
    pieces += alphabet.decode({&s, 1}, previous);
    previous = s;
  }
  RC_ASSERT(pieces == alphabet.decode(symbols));
}

RC_GTEST_PROP(Alphabets, every_name_is_printable_unique_and_finds_its_symbol, ()) {
  std::string text = "\n \\nsx";
  for (const auto code : *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, 0x3100))) {
    if (is_scalar_value(code)) append_utf8(text, code);
  }
  const Alphabet alphabet = Alphabet::chars_of(text);
  std::set<std::string> names;
  for (Symbol s = 0; s < alphabet.size(); ++s) {
    const std::string name = alphabet.name(s);
    RC_ASSERT(names.insert(name).second);
    RC_ASSERT(find_invalid_utf8(name) == -1);
    RC_ASSERT(name.find_first_of(" \n\t\r") == std::string::npos);
    RC_ASSERT(alphabet.parse(name) == s);
    RC_ASSERT(alphabet.find(alphabet.text(s)) == s);
  }
}

TEST(Alphabets, bytes_are_all_256_by_value) {
  const std::vector<Input> inputs{Input::from_bytes("text", "ba")};
  const Alphabet alphabet = build_alphabet(inputs, {SymbolKind::bytes});
  ASSERT_EQ(alphabet.size(), 256);
  EXPECT_EQ(alphabet.encode("\xFF\n"), (std::vector<Symbol>{255, 10}));
  EXPECT_EQ(alphabet.line_end(), 10);
  EXPECT_EQ(alphabet.name(255), "\\xFF");
  EXPECT_EQ(alphabet.name(' '), "\\s");
  EXPECT_EQ(alphabet.parse("\\x00"), 0);
  EXPECT_EQ(alphabet.find("ab"), kNoSymbol);
}

TEST(Alphabets, characters_are_ordered_by_code_point) {
  const Alphabet alphabet = Alphabet::chars_of("zé\na€a😀");
  EXPECT_EQ(texts_of(alphabet), (Texts{"\n", "a", "z", "é", "€", "😀"}));
  EXPECT_EQ(alphabet.unknown(), kNoSymbol);
  EXPECT_EQ(alphabet.line_end(), 0);
  EXPECT_EQ(alphabet.find("\xC3"), kNoSymbol);
  EXPECT_EQ(Alphabet::chars_of("abc").line_end(), kNoSymbol);
}

TEST(Alphabets, words_are_ordered_by_frequency_then_bytes) {
  EXPECT_EQ(texts_of(words_in("b b b c a\nc a\n")), (Texts{"b", "<eos>", "a", "c"}));
  EXPECT_EQ(texts_of(words_in("x")), (Texts{"<eos>", "x"}));
  EXPECT_EQ(texts_of(words_in(" x\r\n\n\t ")), (Texts{"<eos>", "x"}));
  EXPECT_EQ(texts_of(words_in("x y y", 0, true)), (Texts{"y", "<eos>", "x", "<unk>"}));
}

TEST(Alphabets, LiteralLineEndWordDiffersFromLineEnds) {
  try {
    words_in("a b\nc <eos> d\n", 4);
    ADD_FAILURE() << "the text was read";
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("line 2: the word <eos> is reserved for line endings"), std::string::npos)
        << error.what();
  }
  const Alphabet closed(SymbolKind::words, {"<eos>", "a"}), open(SymbolKind::words, {"<eos>", "<unk>", "a"});
  EXPECT_THROW(closed.encode("a\n<eos>"), DataError);
  EXPECT_EQ(closed.encode("a <eos>\n", UnknownPolicy::skip), (std::vector<Symbol>{1, 0}));
  EXPECT_EQ(open.encode("a <eos>\n"), (std::vector<Symbol>{2, 1, 0}));
  EXPECT_EQ(open.parse("<eos>"), 0);  // as the name of a symbol
}

TEST(Alphabets, a_vocabulary_limit_counts_all_symbols_and_cuts_the_rarest) {
  const std::string text = "d d d d c c c b b a\n";
  EXPECT_EQ(texts_of(words_in(text, 5)), (Texts{"d", "c", "b", "<eos>", "a"}));  // nothing is cut
  EXPECT_EQ(texts_of(words_in(text, 4)), (Texts{"d", "<unk>", "c", "<eos>"}));   // 3 for b b a
  EXPECT_EQ(texts_of(words_in(text, 2)), (Texts{"<unk>", "<eos>"}));
  EXPECT_EQ(texts_of(words_in("<unk> a a b b\n", 4)), (Texts{"a", "b", "<eos>", "<unk>"}));       // the literal word
  EXPECT_EQ(texts_of(words_in("<unk> <unk> <unk> a a b\n", 3)), (Texts{"<unk>", "a", "<eos>"}));  // 3 + 1 for b
  const Alphabet cut = words_in(text, 4);
  EXPECT_EQ(cut.decode(cut.encode("d a new\n")), "d <unk> <unk>\n");
  EXPECT_EQ(cut.unknown(), 1);
}

TEST(Alphabets, wrong_options_are_usage_errors) {
  const std::vector<Input> inputs{Input::from_bytes("text", "a b")};
  EXPECT_THROW(build_alphabet(inputs, {SymbolKind::chars, 10}), UsageError);
  EXPECT_THROW(build_alphabet(inputs, {SymbolKind::words, 1}), UsageError);
  EXPECT_TRUE(contains(message_of<UsageError>([] { parse_symbol_kind("char"); }), "did you mean \"chars\"?"));
  EXPECT_TRUE(contains(message_of<UsageError>([] { parse_unknown_policy("skp"); }), "did you mean \"skip\"?"));
  EXPECT_EQ(parse_symbol_kind("words"), SymbolKind::words);
  EXPECT_THROW(Alphabet::chars_of("abc").parse("d"), UsageError);
}

TEST(Alphabets, invalid_text_names_the_byte_the_line_and_the_remedy) {
  const std::vector<Input> inputs{Input::from_bytes("poem.txt", "ab\nc\xFF")};
  for (const SymbolKind kind : {SymbolKind::chars, SymbolKind::words}) {
    const std::string message = message_of<DataError>([&] { build_alphabet(inputs, {kind}); });
    EXPECT_TRUE(contains(message, "poem.txt: byte 0xFF at offset 4 (line 2) is not valid UTF-8; use --symbols bytes"))
        << message;
  }
  const std::vector<Input> wide{Input::from_bytes("wide.txt", std::string("\xFF\xFE"
                                                                          "a\0",
                                                                          4))};
  EXPECT_TRUE(contains(message_of<DataError>([&] { build_alphabet(wide, {}); }), "begins like UTF-16"));
  EXPECT_THROW(words_in("  \t"), DataError);
  EXPECT_THROW(Alphabet::chars_of(""), DataError);
}

TEST(Alphabets, an_unknown_symbol_is_named_or_skipped) {
  const Alphabet alphabet = Alphabet::chars_of("ab\n");
  const std::string message = message_of<DataError>([&] { alphabet.encode("ab\nac"); });
  EXPECT_TRUE(contains(message, "\"c\" at offset 4 (line 2) is not in the alphabet of 3 chars")) << message;
  EXPECT_TRUE(contains(message, "--unknown skip"));
  EXPECT_EQ(alphabet.decode(alphabet.encode("caxb", UnknownPolicy::skip)), "ab");
  EXPECT_THROW(alphabet.encode("\xFF", UnknownPolicy::skip), DataError);
}

TEST(Alphabets, the_card_reads_back_to_the_same_alphabet) {
  for (const Alphabet& alphabet : {Alphabet::all_bytes(), Alphabet::chars_of(std::string("\0\n é\x7F", 6)),
                                   words_in("the \"cat\" <unk> é\n"), Alphabet(SymbolKind::bytes, {"A", "\xFF"})}) {
    EXPECT_EQ(Alphabet::from_json(parse_json(alphabet.to_json().dump(), "card")), alphabet);
  }
}

TEST(Alphabets, hashed_texts_share_symbols_and_none_is_unknown) {
  const Alphabet alphabet = Alphabet::hashed(3);
  EXPECT_EQ(alphabet.size(), 8);
  EXPECT_EQ(alphabet.unknown(), kNoSymbol);
  std::set<Symbol> found;
  for (int i = 0; i < 100; ++i) found.insert(alphabet.find("text " + std::to_string(i)));
  EXPECT_EQ(found.size(), 8U);
  EXPECT_EQ(*found.begin(), 0);
  EXPECT_EQ(alphabet.text(5), "#5");
  EXPECT_EQ(Alphabet::from_json(alphabet.to_json()), alphabet);
  EXPECT_EQ(alphabet.find("of|the"), Alphabet::from_json(alphabet.to_json()).find("of|the"));
  EXPECT_THROW(Alphabet::hashed(0), ModelError);
  EXPECT_THROW(Alphabet::from_json({{"kind", "hashed"}, {"symbols", 60}}), ModelError);
}

TEST(Alphabets, a_bad_card_is_a_model_error_naming_the_key) {
  const auto message = [](const std::string& json) {
    return message_of<ModelError>([&] { Alphabet::from_json(nlohmann::json::parse(json)); });
  };
  EXPECT_TRUE(contains(message(R"([1])"), "must be an object"));
  EXPECT_TRUE(contains(message(R"({"symbols":"ab"})"), "\"kind\" is missing"));
  EXPECT_TRUE(contains(message(R"({"kind":"chars"})"), "\"symbols\" is missing"));
  EXPECT_TRUE(contains(message(R"({"kind":"chars","symbols":"ab","size":2})"), "unknown key \"size\""));
  EXPECT_TRUE(contains(message(R"({"kind":"runes","symbols":"ab"})"), "\"kind\" must be"));
  EXPECT_TRUE(contains(message(R"({"kind":3,"symbols":"ab"})"), "\"kind\" must be"));
  EXPECT_TRUE(contains(message(R"({"kind":"chars","symbols":["a"]})"), "\"symbols\" must be"));
  EXPECT_TRUE(contains(message(R"({"kind":"chars","symbols":""})"), "no symbols"));
  EXPECT_TRUE(contains(message(R"({"kind":"chars","symbols":"aba"})"), "\"a\" occurs twice"));
  EXPECT_TRUE(contains(message(R"({"kind":"bytes","symbols":[256]})"), "\"symbols\" must be"));
  EXPECT_TRUE(contains(message(R"({"kind":"bytes","symbols":[-1]})"), "\"symbols\" must be"));
  EXPECT_TRUE(contains(message(R"({"kind":"bytes","symbols":[1,1]})"), "occurs twice"));
  EXPECT_TRUE(contains(message(R"({"kind":"words","symbols":["a"]})"), "alphabet must contain <eos>"));
  EXPECT_TRUE(contains(message(R"({"kind":"words","symbols":["<eos>",1]})"), "\"symbols\" must be"));
  EXPECT_TRUE(contains(message(R"({"kind":"words","symbols":["<eos>","a b"]})"), "not one word"));
  EXPECT_TRUE(contains(message(R"({"kind":"words","symbols":["<eos>",""]})"), "not one word"));
  EXPECT_TRUE(contains(message(R"({"kind":"words","symbols":["<eos>","\n"]})"), "not one word"));
}

TEST(Alphabet, symbol_out_of_range_has_no_text) {
  const Alphabet alphabet = Alphabet::chars_of("abc");
  for (const Symbol x : {-1, 3, 99}) {
    EXPECT_THROW((void)alphabet.text(x), UsageError) << x;
    EXPECT_THROW((void)alphabet.name(x), UsageError) << x;
    EXPECT_THROW((void)alphabet.decode(std::vector<Symbol>{0, x}), UsageError) << x;
  }
}

}  // namespace
}  // namespace unfold
