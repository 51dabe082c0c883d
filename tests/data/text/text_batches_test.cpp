#include "unfold/data/text/text_batches.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "tests/optim/small_network.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

/// Tracks what a reader of windows remembers in each state slot: the last symbol that it read, or nothing if it was
/// reset. A numbered corpus is self-describing: within a sequence, x is followed by x + 1.
class Follower {
 public:
  Follower(const Corpus& corpus, const Split& part) {
    Symbol next = 0;
    for (Index s = 0; s < corpus.sequences(); ++s) {
      first_[s] = next;
      next += static_cast<Symbol>(corpus.length(s));
    }
    for (const Piece& piece : part.pieces)
      starts_.insert(first_[piece.sequence] + static_cast<Symbol>(piece.range.begin));
  }

  /// Reads a window and asserts that inputs, targets and states are consistent.
  void read(const Batch& window) {
    for (const Index slot : window.carry.fresh) memory_.erase(slot);
    std::set<Index> used(window.carry.slots.begin(), window.carry.slots.end());
    RC_ASSERT(used.size() == window.carry.slots.size());
    Index symbols = 0, predicted = 0;
    for (Index c = 0; c < window.structure.sequences(); ++c) {
      const Index slot = window.carry.slots[at(c)];
      RC_ASSERT(slot < window.carry.slots_needed);
      for (Index t = 0; t < window.structure.size(c); ++t) {
        const auto row = at(window.structure.row(c, t));
        const Symbol input = read_symbols(window)[row], target = predicted_symbols(window)[row];
        if (t == 0 && memory_.count(slot) == 0) ++fresh_starts;
        if (t == 0 && memory_.count(slot) > 0) RC_ASSERT(memory_[slot] == input);  // carried state
        // Before the first symbol of a sequence, nothing is known, and its state is an initial state.
        const Symbol here = target == kNoSymbol ? unpredicted(input) : target;
        if (starts_.count(here) > 0) {
          RC_ASSERT(input == kNoSymbol);
          RC_ASSERT(t == 0);
          RC_ASSERT(memory_.count(slot) == 0);
        } else {
          RC_ASSERT(input == here - 1);
        }
        ++seen[here];
        ++symbols;
        predicted += target != kNoSymbol;
        memory_[slot] = here;
      }
    }
    RC_ASSERT(window.predicted == predicted);
    total += symbols;
    for (const auto& [from, to] : window.carry.moves) {
      RC_ASSERT(memory_.count(from) > 0);
      memory_[to] = memory_[from];
    }
  }

  std::map<Symbol, int> seen;
  Index fresh_starts = 0, total = 0;

 private:
  Symbol unpredicted(Symbol input) const {
    RC_ASSERT(input != kNoSymbol);  // only later symbols are unpredicted in these tests
    return input + 1;
  }
  std::map<Index, Symbol> memory_, first_;
  std::set<Symbol> starts_;
};

std::vector<Index> random_lengths() {
  return *rc::gen::resize(6, rc::gen::nonEmpty(rc::gen::container<std::vector<Index>>(rc::gen::inRange<Index>(1, 40))));
}

RC_GTEST_PROP(TextBatches, epoch_reads_every_symbol_once_with_the_correct_past, ()) {
  const Corpus corpus = numbered_corpus(random_lengths());
  const Split part = whole_corpus(corpus, "training");
  const BatchOptions options{.window = *rc::gen::inRange<Index>(1, 20),
                             .batch = *rc::gen::inRange<Index>(1, 9),
                             .whole_sequences = *rc::gen::arbitrary<bool>()};
  TextBatches batches(corpus, part, options, *rc::gen::inRange<std::uint64_t>(0, 1000));
  for (int epoch = 0; epoch < 3; ++epoch) {
    Follower follower(corpus, part);
    const Index windows = batches.batches_per_epoch();
    for (Index w = 0; w < windows; ++w) {
      RC_ASSERT(batches.epoch() == epoch);
      RC_ASSERT(batches.position() == w);
      follower.read(batches.batch());
      batches.advance();
    }
    RC_ASSERT(batches.epoch() == epoch + 1);
    RC_ASSERT(static_cast<Index>(follower.seen.size()) == corpus.symbols());
    RC_ASSERT(follower.total == corpus.symbols());
    // At most one reset per sequence, and one per lane for the segments of this epoch.
    RC_ASSERT(follower.fresh_starts <= corpus.sequences() + options.batch);
  }
}

RC_GTEST_PROP(TextBatches, only_the_given_part_is_read, ()) {
  const Corpus corpus = numbered_corpus({30, 50});
  Split part;
  part.pieces = {{0, {20, 30}}, {1, {0, 25}}};
  TextBatches batches(corpus, part, {.window = *rc::gen::inRange<Index>(1, 9), .batch = 3}, 1);
  Follower follower(corpus, part);
  for (Index w = batches.batches_per_epoch(); w > 0; --w, batches.advance()) follower.read(batches.batch());
  RC_ASSERT(static_cast<Index>(follower.seen.size()) == 35);
  RC_ASSERT(follower.seen.begin()->first == 20);
  RC_ASSERT(follower.seen.rbegin()->first == 54);
}

RC_GTEST_PROP(TextBatches, seeking_equals_walking, ()) {
  const Corpus corpus = numbered_corpus(random_lengths());
  const Split part = whole_corpus(corpus, "training");
  const BatchOptions options{.window = *rc::gen::inRange<Index>(1, 20),
                             .batch = *rc::gen::inRange<Index>(1, 9),
                             .whole_sequences = *rc::gen::arbitrary<bool>()};
  TextBatches walking(corpus, part, options, 5), seeking(corpus, part, options, 5);
  for (Index n = *rc::gen::inRange<Index>(0, 60); n > 0; --n) walking.advance();
  seeking.seek(walking.epoch(), walking.position());
  for (int i = 0; i < 5; ++i) {
    RC_ASSERT(read_symbols(walking.batch()) == read_symbols(seeking.batch()));
    RC_ASSERT(predicted_symbols(walking.batch()) == predicted_symbols(seeking.batch()));
    RC_ASSERT(walking.batch().carry.slots == seeking.batch().carry.slots);
    RC_ASSERT(walking.batch().carry.moves == seeking.batch().carry.moves);
    RC_ASSERT(walking.batch().carry.fresh == seeking.batch().carry.fresh);
    walking.advance();
    seeking.advance();
  }
}

TEST(TextBatches, epochs_are_cut_at_different_positions) {
  const Corpus corpus = numbered_corpus({500});
  const Split part = whole_corpus(corpus, "training");
  TextBatches batches(corpus, part, {.window = 10, .batch = 5}, 1);
  std::set<Symbol> first;
  for (int epoch = 0; epoch < 8; ++epoch) {
    first.insert(predicted_symbols(batches.batch())[0]);
    batches.seek(epoch + 1, 0);
  }
  EXPECT_GE(first.size(), 6u);
}

TEST(TextBatches, lanes_of_a_long_sequence_restart_at_different_times) {
  const Corpus corpus = numbered_corpus({12000});
  const Split part = whole_corpus(corpus, "training");
  constexpr Index kStretch = 128;  // windows
  TextBatches batches(corpus, part, {.window = 4, .batch = 4}, 1);
  std::vector<Index> started(4);
  for (Index w = 0; w < batches.batches_per_epoch(); ++w, batches.advance()) {
    if (w == 0) continue;
    Index starts = 0;
    for (Index slot : batches.batch().carry.fresh) {
      for (const auto& [from, to] : batches.batch().carry.moves)  // where the sequence restarts within a window
        if (slot == from) slot = to;
      started[at(slot)] = w;
      ++starts;
    }
    EXPECT_LE(starts, 2);
    for (const Index start : started) EXPECT_LE(w - start, kStretch);
  }
}

TEST(TextBatches, one_lane_and_short_sequences_are_not_interrupted) {
  const auto fresh_starts = [](const std::vector<Index>& lengths, Index lanes) {
    const Corpus corpus = numbered_corpus(lengths);
    const Split part = whole_corpus(corpus, "training");
    TextBatches batches(corpus, part, {.window = 4, .batch = lanes}, 1);
    std::size_t count = 0;
    for (Index w = batches.batches_per_epoch(); w > 0; --w, batches.advance())
      count += batches.batch().carry.fresh.size();
    return count;
  };
  EXPECT_LE(fresh_starts({12000}, 1), 2u);                    // the start of the epoch and that of the sequence
  EXPECT_LE(fresh_starts({512, 512, 512, 512, 512}, 2), 7u);  // five sequences, two lanes
}

TEST(TextBatches, full_windows_reuse_structure_and_memory) {
  const Corpus corpus = numbered_corpus({1000});
  const Split part = whole_corpus(corpus, "training");
  TextBatches batches(corpus, part, {.window = 10, .batch = 4}, 3);
  const Batch* window = &batches.batch();
  const Symbol* inputs = read_symbols(*window).data();
  int rectangular = 0;
  for (Index w = 0; w < batches.batches_per_epoch(); ++w, batches.advance()) {
    EXPECT_EQ(read_symbols(*window).data(), inputs);
    rectangular += window->structure.sequences() == 4 && window->symbols == 40;
  }
  EXPECT_GE(rectangular, 23);  // one lane wraps around the end of the text
}

TEST(TextBatches, curriculum_reads_growing_prefixes) {
  const Corpus corpus = numbered_corpus({10, 3, 7});
  const Split part = whole_corpus(corpus, "training");
  for (const bool whole : {false, true}) {
    TextBatches batches(corpus, part, {.window = 4, .batch = 2, .whole_sequences = whole, .curriculum = {4}}, 1);
    for (const Index expected : {4 + 3 + 4, 8 + 3 + 7, 10 + 3 + 7, 10 + 3 + 7}) {
      const Index epoch = batches.epoch();
      EXPECT_EQ(batches.shortened(), expected < 20);
      Index symbols = 0;
      for (; batches.epoch() == epoch; batches.advance()) symbols += batches.batch().symbols;
      EXPECT_EQ(symbols, expected);
    }
  }
}

/// Prefixes of 3, 6, 9 and 10 symbols; shorter sequences are left out after they have been read to their end.
TEST(TextBatches, curriculum_within_an_epoch_reads_all_prefixes_in_order) {
  const Corpus corpus = numbered_corpus({10, 3, 7});
  const Split part = whole_corpus(corpus, "training");
  const Curriculum curriculum{.step = 3, .each_epoch = true};
  TextBatches batches(corpus, part, {.batch = 1, .whole_sequences = true, .curriculum = curriculum}, 1);
  for (Index epoch = 0; epoch < 2; ++epoch) {
    EXPECT_EQ(batches.shortened(), epoch == 0);
    std::vector<Index> lengths;
    for (; batches.epoch() == epoch; batches.advance()) lengths.push_back(batches.batch().symbols);
    EXPECT_TRUE(std::ranges::is_sorted(std::span(lengths).first(5)));
    std::ranges::sort(lengths);
    EXPECT_EQ(lengths, (std::vector<Index>{3, 3, 3, 6, 6, 7, 9, 10}));
  }
  EXPECT_THROW(TextBatches(corpus, part, {.window = 4, .batch = 1, .curriculum = curriculum}, 1), UsageError);
  EXPECT_THROW(TextBatches(corpus, part, {.batch = 1, .curriculum = {.step = -1}}, 1), UsageError);
}

TEST(TextBatches, whole_sequences_are_separate_chains) {
  const Corpus corpus = numbered_corpus({5, 9, 2, 7, 1});
  const Split part = whole_corpus(corpus, "training");
  TextBatches batches(corpus, part, {.window = 3, .batch = 2, .whole_sequences = true}, 4);
  std::multiset<Index> lengths;
  for (; batches.epoch() == 0; batches.advance())
    for (Index c = 0; c < batches.batch().structure.sequences(); ++c) lengths.insert(batches.batch().structure.size(c));
  EXPECT_EQ(lengths, (std::multiset<Index>{1, 2, 5, 7, 9}));
}

TEST(TextBatches, only_symbols_after_a_given_one_are_predicted) {
  const std::string text = "ab=1;abc=2;=3";
  const Alphabet alphabet = Alphabet::chars_of(text);
  const Corpus corpus = Corpus::from_text(text, alphabet);
  const Split part = whole_corpus(corpus, "training");
  TextBatches batches(corpus, part, {.window = 5, .batch = 1, .predict_after = alphabet.parse("=")}, 1);
  std::multiset<std::string> predicted;
  Index counted = 0;
  for (; batches.epoch() == 0; batches.advance()) {
    counted += batches.batch().predicted;
    for (const Symbol target : predicted_symbols(batches.batch()))
      if (target != kNoSymbol) predicted.insert(std::string(alphabet.text(target)));
  }
  EXPECT_EQ(counted, 3);
  EXPECT_EQ(predicted, (std::multiset<std::string>{"1", "2", "3"}));
}

TEST(TextBatches, sizes_below_one_are_rejected) {
  const Corpus corpus = numbered_corpus({5});
  const Split part = whole_corpus(corpus, "training");
  EXPECT_THROW(TextBatches(corpus, part, {.window = 0}, 1), UsageError);
  EXPECT_THROW(TextBatches(corpus, part, {.batch = 0}, 1), UsageError);
  EXPECT_THROW(TextBatches(corpus, Split{}, {}, 1), UsageError);
}

RC_GTEST_PROP(ScoringLanes, scoring_lanes_score_every_symbol_once_after_warm_up, ()) {
  const Corpus corpus = numbered_corpus(random_lengths());
  const Split part = whole_corpus(corpus, "validation");
  const Index lanes = *rc::gen::inRange<Index>(1, 12), warmup = *rc::gen::inRange<Index>(0, 15);
  auto runs = scoring_streams(corpus, part, lanes, warmup);
  RC_ASSERT(static_cast<Index>(runs.size()) <= lanes);
  for (const auto& lane : runs)
    for (const Passage& run : lane) {
      const Index warmed = run.score_from - run.range.begin;
      RC_ASSERT(warmed <= warmup);
      RC_ASSERT(warmed == warmup || run.range.begin == 0);
      RC_ASSERT(run.has_previous == (run.range.begin > 0));
    }
  StreamReader reader(corpus, *rc::gen::inRange<Index>(1, 30));
  reader.start(runs);
  const Index windows = reader.batches();
  Batch window;
  std::map<Index, Symbol> scored;  // place -> symbol
  Index count = 0;
  while (reader.next(window)) {
    ++count;
    for (Index c = 0; c < window.structure.sequences(); ++c)
      for (Index t = 0; t < window.structure.size(c); ++t) {
        const Symbol target = predicted_symbols(window)[at(window.structure.row(c, t))];
        if (target == kNoSymbol) continue;
        RC_ASSERT(scored.emplace(window.places[at(c)] + t, target).second);
      }
  }
  RC_ASSERT(count == windows);
  RC_ASSERT(static_cast<Index>(scored.size()) == corpus.symbols());
  for (const auto& [place, symbol] : scored) RC_ASSERT(place == symbol);  // numbered: position and symbol are equal
}

TEST(ScoringLanes, warm_up_starts_at_the_first_line_end) {
  const std::string text = "abcdef\nghi\njklmnopqrstuv\n";
  const Corpus corpus = Corpus::from_text(text, Alphabet::chars_of(text));
  std::map<Index, Index> begins;  // first scored position -> first read position
  for (const auto& lane : scoring_streams(corpus, whole_corpus(corpus, "validation"), 3, 7))
    for (const auto& run : lane) {
      begins[run.score_from] = run.range.begin;
      EXPECT_EQ(run.place, run.range.begin);
    }
  EXPECT_EQ(begins, (std::map<Index, Index>{{0, 0}, {8, 7}, {16, 11}}));
}

}  // namespace
}  // namespace unfold
