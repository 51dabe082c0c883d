#include "model/decoding/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <regex>

#include "tests/base/scratch.h"

namespace unfold {
namespace {

using testing::HasSubstr;
using testing_support::message_of;

const Alphabet kLetters = Alphabet::chars_of("abc\n");

bool matches(const std::string& expression, const std::string& text, const Alphabet& alphabet = kLetters) {
  return compile_expression(expression, alphabet).matches(alphabet.encode(text));
}

std::string error_of(const std::string& expression, const Alphabet& alphabet = kLetters) {
  return message_of<UsageError>([&] { compile_expression(expression, alphabet); });
}

TEST(Expression, expression_matches_whole_character_texts) {
  EXPECT_TRUE(matches("", ""));
  EXPECT_FALSE(matches("", "a"));
  EXPECT_TRUE(matches("a(b|c)*", "abcbc"));
  EXPECT_FALSE(matches("a(b|c)*", "abca"));
  EXPECT_TRUE(matches("a{2}b{1,}c{0,2}", "aabbcc"));
  EXPECT_FALSE(matches("a{2}b{1,}c{0,2}", "aabbccc"));
  EXPECT_TRUE(matches("[^a]+", "bcb"));
  EXPECT_FALSE(matches("[^a]+", "b\n"));  // no newline unless explicit
  EXPECT_FALSE(matches(".", "\n"));
  EXPECT_TRUE(matches(".\\n", "a\n"));
  EXPECT_TRUE(matches("(|a)b", "b"));
  EXPECT_TRUE(matches("(a*)*b", "aab"));
  EXPECT_TRUE(matches("[a-b]\\w\\D", "abc"));
  EXPECT_TRUE(matches("\\s", "\n"));
}

TEST(Expression, backslash_escapes_special_characters) {
  const Alphabet alphabet = Alphabet::chars_of("a.*+?()[]{}|\\-^ é\t7");
  EXPECT_TRUE(matches("\\.\\*\\+\\?\\(\\)\\[\\]\\{\\}\\|\\\\", ".*+?()[]{}|\\", alphabet));
  EXPECT_TRUE(matches("[\\]\\-\\\\^.]+", "]-\\^.", alphabet));
  EXPECT_TRUE(matches("[.-]+", ".-", alphabet));
  EXPECT_TRUE(matches("a é\\t\\xE9\\u{e9}\\d", "a é\téé7", alphabet));
  EXPECT_TRUE(matches("\\w", "é", alphabet));
  EXPECT_FALSE(matches("\\W", "é", alphabet));
}

TEST(Expression, non_ascii_bytes_are_matched_in_sequence) {
  const Alphabet bytes = Alphabet::all_bytes();
  EXPECT_TRUE(matches("(é|\\xE9){2}", "é\xE9", bytes));
  EXPECT_TRUE(matches("[\\x80-\\xFF]{2}", "é", bytes));
  EXPECT_THAT(error_of("a[é]", bytes),
              HasSubstr("position 3: in a byte model, a non-ASCII character is several symbols"));
}

TEST(Expression, expression_matches_names_of_labels_and_words) {
  const Alphabet labels(SymbolKind::entries, {"O", "B-NP", "I-NP", "B-VP", "I-VP", ".", "''", "a*b", "x y"});
  const auto match = [&](const std::string& expression, const std::vector<Symbol>& symbols) {
    return compile_expression(expression, labels).matches(symbols);
  };
  EXPECT_TRUE(match("O* B-NP I-NP* (O|B-VP)+", {0, 1, 2, 2, 3, 0}));
  EXPECT_FALSE(match("O* B-NP I-NP* (O|B-VP)+", {0, 2}));
  EXPECT_TRUE(match("[B-... O]+", {1, 3, 0}));
  EXPECT_FALSE(match("[B-... O]+", {1, 2}));
  EXPECT_TRUE(match("[^ B-... I-...]{5}", {0, 5, 6, 7, 8}));
  EXPECT_TRUE(match(". '.' \\. \\'\\' 'a*b' 'x y'", {3, 5, 5, 6, 7, 8}));
  EXPECT_FALSE(match("'.'", {3}));
  EXPECT_THAT(error_of("O  B-XP", labels),
              HasSubstr("position 4: the name \"B-XP\" is not in the alphabet of the model"));
  EXPECT_THAT(error_of("[Q-...]", labels), HasSubstr("position 2: none of these symbols"));
  const Alphabet words(SymbolKind::words, {"<eos>", "the", "cat"});
  EXPECT_TRUE(compile_expression("(the|cat)+ \\n", words).matches(std::vector<Symbol>{1, 2, 0}));
  EXPECT_FALSE(compile_expression(".+", words).matches(std::vector<Symbol>{1, 0}));
}

TEST(Expression, unintended_symbols_are_excluded) {
  const Alphabet targets(SymbolKind::entries, {"a", "b", "</s>"});
  EXPECT_TRUE(spells_characters(targets, {2}));
  EXPECT_FALSE(spells_characters(targets));
  const ExpressionOptions options{.spelling = ExpressionSpelling::characters, .never = {2}};
  const Automaton any = compile_expression(".*", targets, options);
  EXPECT_TRUE(any.matches(std::vector<Symbol>{0, 1, 1}));
  EXPECT_FALSE(any.matches(std::vector<Symbol>{0, 2}));
}

TEST(Expression, errors_name_the_position) {
  EXPECT_THAT(error_of("ab(c"), HasSubstr("position 3: unmatched ("));
  EXPECT_THAT(error_of("ab)c"), HasSubstr("position 3: unmatched )"));
  EXPECT_THAT(error_of("a[bc"), HasSubstr("position 2: unmatched ["));
  EXPECT_THAT(error_of("a[]"), HasSubstr("position 2: empty brackets"));
  EXPECT_THAT(error_of("*a"), HasSubstr("position 1: there is nothing to repeat"));
  EXPECT_THAT(error_of("a{x}"), HasSubstr("position 2: invalid count; a count is {3}, {2,} or {2,5}"));
  EXPECT_THAT(error_of("a{3,2}"), HasSubstr("position 2: the upper count is below the lower count"));
  EXPECT_THAT(error_of("a{99999}"), HasSubstr("position 2: a count is at most 10000"));
  EXPECT_THAT(error_of("abz"),
              HasSubstr("position 3: the character \"z\" is not in the alphabet of the model, which has 4 symbols"));
  EXPECT_THAT(error_of("[c-a]"), HasSubstr("position 2: the range ends before it begins"));
  EXPECT_THAT(error_of("a\\q"), HasSubstr("position 2: unknown escape"));
  EXPECT_THAT(error_of("a\\"), HasSubstr("position 2: a \\ at the end"));
  EXPECT_THAT(error_of("\\d"), HasSubstr("position 1: none of these symbols"));
  EXPECT_THAT(error_of("a\xFF"), HasSubstr("not valid UTF-8 at byte 2"));
  EXPECT_THAT(error_of("a}"), HasSubstr("position 2: unmatched closing bracket"));
  EXPECT_THAT(error_of(std::string(200, '(')), HasSubstr("groups are nested"));
  EXPECT_THAT(error_of(std::string("a") + std::string(200, '*')), HasSubstr("too many nested repetitions"));
  EXPECT_THAT(error_of("(a{1000}){1000}"), HasSubstr("too large after its counts are expanded; use"));
  EXPECT_THAT(error_of("(a|b)*a(a|b){30}"), HasSubstr("more than 20000 states"));
}

TEST(Expression, repetition_counts_use_the_minimal_number_of_states) {
  EXPECT_EQ(compile_expression("(a|b|c)*", kLetters).states(), 1);
  EXPECT_EQ(compile_expression("a{3}", kLetters).states(), 4);
  EXPECT_EQ(compile_expression("(a|b)*a(a|b){5}", kLetters).states(), 64);  // is each of the last six an a?
}

/// Generates a random expression that std::regex also accepts.
rc::Gen<std::string> expressions(int depth) {
  if (depth == 0) return rc::gen::element<std::string>("a", "b", "c", ".", "[ab]", "[^b]", "[a-c]");
  return rc::gen::apply(
      [](int kind, const std::string& x, const std::string& y) -> std::string {
        switch (kind) {
          case 0: return x + y;
          case 1: return "(" + x + "|" + y + ")";
          case 2: return "(" + x + ")*";
          case 3: return "(" + x + ")+";
          case 4: return "(" + x + ")?" + y;
          case 5: return "(" + x + "){1,2}";
          default: return "(" + x + "){2}|" + y;
        }
      },
      rc::gen::inRange(0, 7), expressions(depth - 1), expressions(depth - 1));
}

/// With nested stars std::regex takes minutes for twelve characters.
#ifdef __GLIBCXX__
constexpr auto kNoBacktracking = std::regex_constants::__polynomial;
#else
constexpr auto kNoBacktracking = std::regex::flag_type();
#endif

RC_GTEST_PROP(Expressions, expressions_agree_with_the_standard_library, ()) {
  const std::string expression = *expressions(3);
  const Automaton automaton = compile_expression(expression, kLetters);
  const std::regex reference(expression, std::regex::ECMAScript | kNoBacktracking);
  for (int k = 0; k < 20; ++k) {
    const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("abc")));
    if (text.size() > 12) continue;
    RC_ASSERT(automaton.matches(kLetters.encode(text)) == std::regex_match(text, reference));
  }
}

RC_GTEST_PROP(Expressions, any_text_is_parsed_or_rejected_with_a_message, (const std::string& text)) {
  for (const ExpressionSpelling spelling : {ExpressionSpelling::characters, ExpressionSpelling::symbols}) try {
      compile_expression(text, kLetters, {.spelling = spelling, .most_states = 200});
    } catch (const UsageError& e) {
      RC_ASSERT(std::string(e.what()).size() > 10U);
    }
}

TEST(Expressions, repeated_empty_expression_matches_once) {
  const Automaton nothing = compile_expression("((((){9999}){9999}){9999}){9999}a", kLetters, {});
  const Automaton a = compile_expression("a", kLetters, {});
  EXPECT_EQ(nothing.states(), a.states());
}

}  // namespace
}  // namespace unfold
