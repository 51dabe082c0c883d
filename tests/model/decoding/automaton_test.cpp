#include "model/decoding/automaton.h"

#include <gtest/gtest.h>

#include <set>

#include "model/decoding/nondeterministic.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using Symbols = std::vector<Symbol>;

/// Returns all sequences of up to `length` symbols.
std::vector<Symbols> all_sequences(Index alphabet, std::size_t length) {
  std::vector<Symbols> all{{}};
  for (std::size_t k = 0; k < all.size(); ++k)
    for (Symbol x = 0; x < alphabet && all[k].size() < length; ++x) {
      all.push_back(all[k]);
      all.back().push_back(x);
    }
  return all;
}

/// Returns a random table that includes unreachable states and dead ends.
Automaton::Table random_table(Index states, Index alphabet, std::uint64_t seed) {
  Random random(seed, "automaton");
  Automaton::Table table{.columns = {}, .width = alphabet, .next = {}, .accepting = {}};
  for (Index x = 0; x < alphabet; ++x) table.columns.push_back(x);
  for (Index s = 0; s < states; ++s) {
    table.accepting.push_back(random.uniform() < 0.3 ? 1 : 0);
    for (Index x = 0; x < alphabet; ++x)
      table.next.push_back(random.uniform() < 0.4 ? Automaton::kDead : static_cast<Index>(random.below(at(states))));
  }
  return table;
}

bool table_matches(const Automaton::Table& table, const Symbols& symbols) {
  Index state = table.accepting.empty() ? Automaton::kDead : 0;
  for (const Symbol x : symbols)
    if (state != Automaton::kDead) state = table.next[at(state * table.width + table.columns[at(x)])];
  return state != Automaton::kDead && table.accepting[at(state)] != 0;
}

TEST(Automaton, automaton_matches_its_table_for_every_sequence) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Automaton::Table table = random_table(1 + static_cast<Index>(seed % 6), 2, seed);
    const Automaton automaton(table), least = automaton.minimized();
    EXPECT_LE(least.states(), automaton.states());
    EXPECT_EQ(least.minimized(), least);
    for (const Symbols& x : all_sequences(2, 6)) {
      EXPECT_EQ(automaton.matches(x), table_matches(table, x)) << seed;
      EXPECT_EQ(least.matches(x), table_matches(table, x)) << seed;
    }
  }
}

TEST(Automaton, number_of_remaining_symbols_is_bounded) {
  const std::vector<Symbols> longer = all_sequences(2, 9);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Automaton automaton(random_table(5, 2, seed));
    for (const Symbols& begun : all_sequences(2, 3)) {
      Index state = automaton.start();
      for (const Symbol x : begun) state = automaton.next(state, x);
      if (state == Automaton::kDead) continue;
      Index fewest = Automaton::kUnbounded, most = -1;
      for (const Symbols& more : longer) {
        Index end = state;
        for (const Symbol x : more) end = automaton.next(end, x);
        if (!automaton.accepts(end)) continue;
        fewest = std::min(fewest, static_cast<Index>(more.size()));
        most = std::max(most, static_cast<Index>(more.size()));
      }
      EXPECT_EQ(automaton.least(state), fewest) << seed;
      // With at most five states, the longest path without a cycle has four steps; one with a cycle of up to five can
      // be shortened to fewer than ten.
      EXPECT_EQ(automaton.most(state), most > 4 ? Automaton::kUnbounded : most) << seed;
      EXPECT_EQ(automaton.ends(state), most == 0);
    }
  }
}

TEST(Automaton, intersections_and_sequence_ends_accept_the_right_sequences) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Automaton a(random_table(4, 2, seed)), b(random_table(4, 2, seed + 1000)), both = intersection(a, b);
    for (const Symbols& x : all_sequences(2, 5)) {
      EXPECT_EQ(both.matches(x), a.matches(x) && b.matches(x)) << seed;
      Symbols whole{1, 0};
      whole.insert(whole.end(), x.begin(), x.end());
      EXPECT_EQ(a.after(Symbols{1, 0}).matches(x), a.matches(whole)) << seed;
    }
  }
}

TEST(Automaton, accepted_lengths_are_counted) {
  const Automaton three = Automaton::of_length(4, 2, 3), more = Automaton::of_length(4, 2);
  for (const Symbols& x : all_sequences(4, 5)) {
    EXPECT_EQ(three.matches(x), x.size() == 2 || x.size() == 3);
    EXPECT_EQ(more.matches(x), x.size() >= 2);
  }
  EXPECT_EQ(three.states(), 4);
  EXPECT_EQ(three.width(), 1);
}

TEST(Automaton, determinization_follows_all_paths) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed, "nondeterministic");
    NondeterministicAutomaton automaton(2);
    constexpr Index kStates = 5;
    for (Index s = 0; s < kStates; ++s) automaton.add_state();
    struct Step {
      Index from, to;
      int symbol;  // -1: none
    };
    std::vector<Step> steps;
    for (int k = 0; k < 8; ++k) {
      steps.push_back({static_cast<Index>(random.below(kStates)), static_cast<Index>(random.below(kStates)),
                       static_cast<int>(random.below(3)) - 1});
      if (steps.back().symbol < 0)
        automaton.add_empty(steps.back().from, steps.back().to);
      else
        automaton.add_step(steps.back().from, steps.back().to,
                           {steps.back().symbol == 0 ? '\1' : '\0', steps.back().symbol == 1 ? '\1' : '\0'});
    }
    automaton.accept(kStates - 1);
    const Automaton found = automaton.determinise(0, 100);
    for (const Symbols& x : all_sequences(2, 5)) {
      // Computed with sets: the results of a step are added until nothing changes.
      std::vector<std::set<Index>> at_place(x.size() + 1);
      at_place[0] = {0};
      for (std::size_t t = 0; t <= x.size(); ++t) {
        for (std::size_t before = 0; before != at_place[t].size();) {
          before = at_place[t].size();
          for (const Step& step : steps)
            if (step.symbol < 0 && at_place[t].contains(step.from)) at_place[t].insert(step.to);
        }
        for (const Step& step : steps)
          if (t < x.size() && step.symbol == x[t] && at_place[t].contains(step.from)) at_place[t + 1].insert(step.to);
      }
      EXPECT_EQ(found.matches(x), at_place.back().contains(kStates - 1)) << seed;
    }
  }
}

}  // namespace
}  // namespace unfold
