#include "unfold/data/tasks/text_generators.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tests/base/scratch.h"

namespace unfold {
namespace {

using testing_support::message_of;

/// The choices of the generator cannot be prescribed. Instead, the probability of every text is computed independently,
/// by an automaton that reads it. Entropy rate = sum over states of the frequency of the state times the entropy of the
/// next symbol.
struct Automaton {
  struct Arc {
    double p;
    char symbol;
    int to;
  };
  std::vector<std::vector<Arc>> states;
  int add() {
    states.emplace_back();
    return static_cast<int>(states.size()) - 1;
  }

  /// Returns the expected bits and symbols until state 0 is reached again.
  std::pair<double, double> bits_and_symbols() const {
    std::vector<std::pair<double, double>> known(states.size(), {-1, -1});
    return rest(0, known);
  }
  std::pair<double, double> rest(int state, std::vector<std::pair<double, double>>& known) const {
    auto& result = known[static_cast<std::size_t>(state)];
    if (result.first >= 0) return result;
    double bits = 0, symbols = 1;
    for (const Arc& arc : states[static_cast<std::size_t>(state)]) {
      const auto after = arc.to == 0 ? std::pair(0.0, 0.0) : rest(arc.to, known);
      bits += arc.p * (after.first - std::log2(arc.p));
      symbols += arc.p * after.second;
    }
    return result = {bits, symbols};
  }

  /// Returns minus log2 of the probability of a text read from state 0; infinite if it is impossible.
  double bits_of(const std::string& text) const {
    double bits = 0;
    int state = 0;
    for (const char c : text) {
      const auto& arcs = states[static_cast<std::size_t>(state)];
      const auto arc = std::find_if(arcs.begin(), arcs.end(), [&](const Arc& a) { return a.symbol == c; });
      if (arc == arcs.end()) return std::numeric_limits<double>::infinity();
      bits -= std::log2(arc->p);
      state = arc->to;
    }
    return bits;
  }
};

/// Letters: the state after letter i; inside brackets: one state per (letter, digit, capitals read).
Automaton alphabet_automaton(double p) {
  Automaton a;
  a.add();
  std::vector<int> letter(27), open(26);
  for (int i = 0; i < 26; ++i) letter[static_cast<std::size_t>(i)] = a.add();
  letter[26] = 0;
  a.states[0] = {{1, 'a', letter[0]}};
  for (std::size_t i = 0; i < 26; ++i) {
    const char following = i + 1 < 26 ? static_cast<char>('b' + i) : '\n';
    const int enter = a.add(), closed = a.add();
    a.states[static_cast<std::size_t>(letter[i])] = {{p, '(', enter}, {1 - p, following, letter[i + 1]}};
    a.states[static_cast<std::size_t>(closed)] = {{1, following, letter[i + 1]}};
    int from = enter, from_nested = -1;
    for (int d = 0; d < 10; ++d) {
      const int digit = a.add(), after_bracket = a.add();
      const char name = static_cast<char>('0' + d);
      if (d == 0) a.states[static_cast<std::size_t>(from)] = {{1, name, digit}};
      if (d > 0) {
        a.states[static_cast<std::size_t>(from)].push_back({1 - p, name, digit});
        a.states[static_cast<std::size_t>(from_nested)] = {{1, name, digit}};
      }
      int inner = a.add();
      a.states[static_cast<std::size_t>(digit)].push_back({p, '[', inner});
      for (int k = 0; k < 9; ++k) {
        const int next = a.add();
        for (char c = 'A'; c <= 'Z'; ++c) a.states[static_cast<std::size_t>(inner)].push_back({1.0 / 26, c, next});
        inner = next;
      }
      a.states[static_cast<std::size_t>(inner)] = {{1, ']', after_bracket}};
      from = digit;
      from_nested = after_bracket;
    }
    a.states[static_cast<std::size_t>(from)].push_back({1 - p, ')', closed});
    a.states[static_cast<std::size_t>(from_nested)] = {{1, ')', closed}};
  }
  return a;
}

TEST(TextSources, alphabet_source_has_the_entropy_of_its_automaton) {
  const auto source = nested_alphabet();
  const Automaton automaton = alphabet_automaton(0.1);
  const auto [bits, symbols] = automaton.bits_and_symbols();
  EXPECT_NEAR(source->means().bits, bits, 1e-9);
  EXPECT_NEAR(source->means().symbols, symbols, 1e-9);
  EXPECT_NEAR(entropy(*source), 1.548, 5e-4);
  EXPECT_DOUBLE_EQ(entropy(*source), entropy_of_predicted(*source));

  const GeneratedText made = generate(*source, {.seed = 3, .units = 200});
  EXPECT_NEAR(made.source_bits, automaton.bits_of(made.text), 1e-6);
  EXPECT_EQ(made.predicted, static_cast<Index>(made.text.size()));
}

/// Returns the entropy of all texts of a unit, whose probabilities are listed independently of the generator.
double entropy_of(const std::map<std::string, double>& texts) {
  double bits = 0;
  for (const auto& [text, p] : texts) bits -= p * std::log2(p);
  return bits;
}

double mean_length(const std::map<std::string, double>& texts) {
  double length = 0;
  for (const auto& [text, p] : texts) length += p * static_cast<double>(text.size());
  return length;
}

std::map<std::string, double> bar_texts(const std::string& pitches) {
  const std::vector<std::vector<std::string>> rhythms = {{"2."},          {"2", "4"},       {"4", "2"},
                                                         {"4", "4", "4"}, {"4.", "8", "4"}, {"4", "8", "8", "4"}};
  std::map<std::string, double> texts;
  for (const auto& rhythm : rhythms) {
    std::map<std::string, double> bars = {{"", 1.0 / 6}};
    for (const std::string& value : rhythm) {
      std::map<std::string, double> longer;
      for (const auto& [text, p] : bars)
        for (const char pitch : pitches) longer[text + pitch + value + " "] += p / static_cast<double>(pitches.size());
      bars = longer;
    }
    for (const auto& [text, p] : bars) texts[text + "| "] += p;
  }
  return texts;
}

TEST(TextSources, music_source_has_the_entropy_of_all_bars) {
  const auto source = waltz();
  const std::vector<std::map<std::string, double>> cycle = {bar_texts("ceg"), bar_texts("fac"), bar_texts("ceg"),
                                                            bar_texts("gbdf")};
  double bits = 0, symbols = 0;
  for (const auto& texts : cycle) {
    bits += entropy_of(texts) / 4;
    symbols += mean_length(texts) / 4;
  }
  EXPECT_NEAR(source->means().bits, bits, 1e-9);
  EXPECT_NEAR(entropy(*source), bits / symbols, 1e-12);

  const GeneratedText made = generate(*source, {.seed = 1, .units = 400});
  double own = 0;
  std::size_t begin = 0;
  for (std::size_t bar = 0; bar < 400; ++bar) {
    const std::size_t end = made.text.find("| ", begin) + 2;
    const auto found = cycle[bar % 4].find(made.text.substr(begin, end - begin));
    ASSERT_NE(found, cycle[bar % 4].end()) << "bar " << bar << " is impossible";
    own -= std::log2(found->second);
    begin = end;
  }
  EXPECT_EQ(begin, made.text.size());
  EXPECT_NEAR(made.source_bits, own, 1e-7);
  EXPECT_NEAR(made.source_bits / static_cast<double>(made.text.size()), entropy(*source), 0.03);
}

TEST(TextSources, xor_source_has_the_entropy_of_all_lines) {
  constexpr Index kLength = 5;
  std::map<std::string, double> texts;
  for (int bits = 0; bits < 1 << kLength; ++bits) {
    for (int i = 0; i < kLength; ++i) {
      for (int j = i + 1; j < kLength; ++j) {
        std::string line;
        for (int k = 0; k < kLength; ++k)
          line += std::string(k == i || k == j ? "X" : "") + (bits >> k & 1 ? "1" : "0");
        line += (bits >> i & 1) != (bits >> j & 1) ? "=1\n" : "=0\n";
        texts[line] += 1.0 / (1 << kLength) / (kLength * (kLength - 1) / 2.0);
      }
    }
  }
  const auto source = distant_xor({.length = kLength});
  EXPECT_NEAR(source->means().bits, entropy_of(texts), 1e-9);
  EXPECT_NEAR(source->means().symbols, mean_length(texts), 1e-12);
  EXPECT_EQ(entropy_of_predicted(*source), 0);

  const GeneratedText made = generate(*source, {.seed = 9, .units = 3000});
  std::map<std::string, int> seen;
  for (std::size_t begin = 0; begin < made.text.size(); begin += kLength + 5) {
    const std::string line = made.text.substr(begin, kLength + 5);
    ASSERT_TRUE(texts.count(line)) << line;
    ++seen[line];
    EXPECT_EQ(made.mask.substr(begin, kLength + 5), "0000000010");
  }
  EXPECT_EQ(seen.size(), texts.size());  // 320 different lines, 3000 samples
  EXPECT_EQ(made.predicted, 3000);
}

TEST(TextSources, anbn_blocks_cover_every_length_in_range) {
  const auto source = anbn({.low = 2, .high = 9});
  EXPECT_NEAR(source->means().bits, 3, 1e-12);
  EXPECT_NEAR(entropy(*source), 3.0 / 12, 1e-12);
  const GeneratedText made = generate(*source, {.seed = 1, .units = 500});
  std::map<std::size_t, int> lengths;
  std::size_t begin = 0;
  while (begin < made.text.size()) {
    const std::size_t b = made.text.find('b', begin), end = made.text.find('\n', begin), n = b - begin;
    EXPECT_EQ(made.text.substr(begin, end - begin), std::string(n, 'a') + std::string(n, 'b'));
    ++lengths[n];
    begin = end + 1;
  }
  EXPECT_EQ(lengths.size(), 8u);
  EXPECT_EQ(lengths.begin()->first, 2u);
  EXPECT_EQ(lengths.rbegin()->first, 9u);
}

TEST(TextSources, text_depends_on_its_seed_and_longer_texts_extend_shorter_ones) {
  for (const auto& source : {nested_alphabet(), distant_xor(), waltz(), anbn()}) {
    const std::string ten = generate(*source, {.seed = 4, .units = 10}).text;
    EXPECT_EQ(ten, generate(*source, {.seed = 4, .units = 10}).text);
    EXPECT_NE(ten, generate(*source, {.seed = 5, .units = 10}).text);
    EXPECT_EQ(generate(*source, {.seed = 4, .units = 20}).text.substr(0, ten.size()), ten);
    const std::string sized = generate(*source, {.seed = 4, .symbols = static_cast<Index>(ten.size())}).text;
    EXPECT_EQ(sized, ten) << source->name();
  }
}

TEST(TextSources, invalid_options_are_rejected) {
  EXPECT_NE(message_of<UsageError>([] { nested_alphabet({.nesting = 1.5}); }), "");
  EXPECT_NE(message_of<UsageError>([] { distant_xor({.length = 1}); }), "");
  EXPECT_NE(message_of<UsageError>([] { anbn({.low = 5, .high = 4}); }), "");
  EXPECT_NE(message_of<UsageError>([] { generate(*waltz(), {}); }), "");
}

}  // namespace
}  // namespace unfold
