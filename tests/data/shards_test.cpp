/// Batches divided into shards: every chain is in one, with its fields, its slot and its lane.

#include "unfold/data/shards.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "unfold/cells/cells.h"
#include "unfold/data/lanes.h"
#include "unfold/data/text_batches.h"

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
  batch.start_afresh();
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
          EXPECT_EQ(batch.structure.row(shard->carry.slots[at(c)], p), number);  // afresh: slots are chains
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

TEST(BatchShards, whole_sequences_are_dealt_by_falling_length) {
  const Batch batch = numbered_batch({4, 2, 7, 1, 5}, true);
  EXPECT_EQ(shards_of_chains(batch, 2), (std::vector<Index>{0, 1, 0, 0, 1}));  // 7, 4, 1 and 5, 2
}

TEST(BatchShards, a_shard_without_chains_is_none) {
  const LanguageNetwork net;
  const Batch batch = numbered_batch({3, 3}, true);
  BatchShards shards(net.network);
  shards.divide(batch, 4);
  Batch room;
  EXPECT_NE(shards.take(1, room), nullptr);
  EXPECT_EQ(shards.take(2, room), nullptr);
}

/// What a lane reads next must find the state that it left: its shard has it.
TEST(BatchShards, the_state_of_a_lane_stays_in_its_shard) {
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

TEST(BatchShards, rows_of_numbers_keep_what_is_missing) {
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
