/// Batches divided into shards: every chain is in exactly one, with its fields, its slot and its lane.

#include "data/text/shards.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "unfold/data/text/lanes.h"
#include "unfold/data/text/text_batches.h"
#include "unfold/graph/cells/cells.h"

namespace unfold {
namespace {

struct LanguageNetwork {
  LanguageNetwork() {
    const Signal x = circuit.symbols("x", 9);
    const Signal o = circuit.affine("o", 9, {{"V", rnn(circuit, x, 2, {})}});
    circuit.output(o);
    network = text_network<float>(std::make_shared<const Plan>(circuit), x, o, false);
  }
  Circuit circuit;
  Network<float> network;
};

Batch numbered_batch(const std::vector<Index>& lengths, bool whole) {
  Batch batch;
  batch.structure = Structure::chains(lengths);
  batch.reset_all_chains();
  batch.whole = whole;
  for (Index r = 0; r < batch.structure.positions(); ++r) {
    batch.symbol_field(kPreviousSymbol).symbols.push_back(static_cast<Symbol>(r));
    batch.symbol_field(kSymbol).symbols.push_back(r % 3 == 0 ? kNoSymbol : static_cast<Symbol>(100 + r));
  }
  return batch;
}

TEST(BatchShards, every_row_is_in_one_shard_with_its_fields_and_slot) {
  const LanguageNetwork net;
  for (const bool whole : {true, false}) {
    const Batch batch = numbered_batch({4, 2, 7, 1, 5}, whole);
    BatchShards shards(net.network);
    shards.divide(batch, 3);
    std::set<Symbol> seen;
    Index predicted = 0;
    for (Index s = 0; s < 3; ++s) {
      Batch room;
      const Batch* shard = shards.take(s, room);
      ASSERT_NE(shard, nullptr);
      for (Index c = 0; c < shard->structure.sequences(); ++c)
        for (Index p = 0; p < shard->structure.size(c); ++p) {
          const Index row = shard->structure.row(c, p);
          const Symbol number = std::get<SymbolRows>(shard->field(kPreviousSymbol)).symbols[at(row)];
          const Symbol target = std::get<SymbolRows>(shard->field(kSymbol)).symbols[at(row)];
          EXPECT_TRUE(seen.insert(number).second);
          EXPECT_EQ(target, number % 3 == 0 ? kNoSymbol : 100 + number);
          EXPECT_EQ(batch.structure.row(shard->carry.slots[at(c)], p), number);  // fresh: slots are chains
          predicted += target != kNoSymbol;
        }
      EXPECT_EQ(shard->carry.slots_needed, batch.carry.slots_needed);
      EXPECT_EQ(shard->whole, whole);
    }
    EXPECT_EQ(static_cast<Index>(seen.size()), batch.structure.positions());
    EXPECT_EQ(predicted,
              std::accumulate(seen.begin(), seen.end(), Index{0}, [](Index n, Symbol x) { return n + (x % 3 != 0); }));
  }
}

TEST(BatchShards, whole_sequences_are_distributed_by_decreasing_length) {
  const Batch batch = numbered_batch({4, 2, 7, 1, 5}, true);
  EXPECT_EQ(shards_of_chains(batch, 2), (std::vector<Index>{0, 1, 0, 0, 1}));  // 7, 4, 1 and 5, 2
}

TEST(BatchShards, shard_without_chains_is_empty) {
  const LanguageNetwork net;
  const Batch batch = numbered_batch({3, 3}, true);
  BatchShards shards(net.network);
  shards.divide(batch, 4);
  Batch room;
  EXPECT_NE(shards.take(1, room), nullptr);
  EXPECT_EQ(shards.take(2, room), nullptr);
}

/// The next chain of a lane must find the state that the lane left, so it stays in the same shard.
TEST(BatchShards, lane_state_stays_in_its_shard) {
  Lanes lanes({{5, 3, 1, 9}, {20}, {2, 2, 2, 2}, {1, 1, 30}});
  std::vector<Lanes::Stretch> stretches;
  Batch batch;
  while (lanes.next(4, stretches, batch.carry)) {
    std::vector<Index> lengths;
    for (const Lanes::Stretch& s : stretches) lengths.push_back(s.length);
    batch.structure = Structure::chains(lengths);
    const std::vector<Index> shards = shards_of_chains(batch, 3);
    std::map<Index, Index> of_slot;
    for (std::size_t c = 0; c < shards.size(); ++c) of_slot[batch.carry.slots[c]] = shards[c];
    for (const auto& [from, to] : batch.carry.moves) EXPECT_EQ(of_slot.at(from), shard_of_slot(to, 3));
    for (std::size_t c = 0; c < shards.size(); ++c) {
      const auto lane = static_cast<Index>(stretches[c].lane);
      const bool carries = batch.carry.slots[c] == lane;
      EXPECT_TRUE(!carries || shards[c] == shard_of_slot(lane, 3));
    }
  }
}

const std::vector<Symbol>& symbols_of(const Batch& batch, const char* field) {
  return std::get<SymbolRows>(batch.field(field)).symbols;
}

/// Reading only the positions of one's shards gives the same shards, and only the targets of the others.
TEST(BatchShards, shards_read_separately_equal_those_of_the_whole_batch) {
  const LanguageNetwork net;
  std::string text;
  for (int i = 0; i < 400; ++i) text += static_cast<char>('a' + (i * i + i / 3) % 9);
  std::vector<Input> inputs = {Input::from_bytes("one", text), Input::from_bytes("two", text.substr(7, 31)),
                               Input::from_bytes("three", text.substr(2, 90))};
  const Alphabet alphabet = build_alphabet(inputs, {.kind = SymbolKind::chars});
  const Corpus corpus = Corpus::load(std::move(inputs), alphabet);
  const Split part = whole_corpus(corpus, "training");
  for (const bool whole : {false, true})
    for (const Range own : {Range{0, 2}, Range{2, 4}}) {
      BatchOptions options{.window = 6, .batch = 7, .whole_sequences = whole};
      TextBatches all(corpus, part, options, 3);
      options.own = {4, own};
      TextBatches ours(corpus, part, options, 3);
      for (; all.epoch() < 3; all.advance(), ours.advance()) {
        const Batch &expected = all.batch(), &found = ours.batch();
        EXPECT_EQ(found.predicted, expected.predicted);
        EXPECT_EQ(found.symbols, expected.symbols);
        EXPECT_EQ(found.carry.slots, expected.carry.slots);
        const PredictedRows predicted_there(expected, net.network), predicted_here(found, net.network);
        for (Index row = 0; row < expected.structure.positions(); ++row)
          EXPECT_EQ(predicted_here[row], predicted_there[row]);
        BatchShards of_all(net.network), of_ours(net.network);
        of_all.divide(expected, 4);
        of_ours.divide(found, 4);
        for (Index s = own.begin; s < own.end; ++s) {
          Batch room, other_room;
          const Batch *there = of_all.take(s, room), *here = of_ours.take(s, other_room);
          ASSERT_EQ(here == nullptr, there == nullptr);
          if (there == nullptr) continue;
          EXPECT_EQ(symbols_of(*here, kSymbol), symbols_of(*there, kSymbol));
          EXPECT_EQ(symbols_of(*here, kPreviousSymbol), symbols_of(*there, kPreviousSymbol));
          EXPECT_EQ(here->predicted, there->predicted);
        }
      }
    }
}

TEST(BatchShards, numeric_rows_keep_missing_values) {
  ValueRows values;
  values.clear(3, 2);
  values.set(0, 0, 0.5F), values.set(0, 1, -1);
  values.set(2, 1, 4);
  const Field field = rows_of_field(values, std::vector<Index>{2, 1, 0});
  const auto& rows = std::get<ValueRows>(field);
  EXPECT_TRUE(rows.present(0));
  EXPECT_FALSE(rows.present(1));
  EXPECT_EQ(rows.values<double>(0, 1)(0, 1), 4);
  EXPECT_EQ(rows.values<float>(2, 1)(0, 0), 0.5F);
}

}  // namespace
}  // namespace unfold
