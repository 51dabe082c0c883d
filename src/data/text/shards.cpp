#include "data/text/shards.h"

#include "data/text/example_weights.h"
#include "graph/structure/subset.h"

namespace unfold {

std::vector<Index> shards_of_chains(const Batch& batch, Index shards) {
  const Index chains = batch.structure.sequences();
  std::vector<Index> result(at(chains));
  for (Index c = 0; c < chains; ++c) {
    if (batch.whole) {
      result[at(c)] = batch.structure.place(c) % shards;
      continue;
    }
    Index slot = batch.carry.slots[at(c)];
    for (const auto& [from, to] : batch.carry.moves)
      if (from == slot) {
        slot = to;
        break;
      }
    result[at(c)] = shard_of_slot(slot, shards);
  }
  return result;
}

template <class T>
BatchShards::BatchShards(const Network<T>& network) {
  for (const NetworkInput& input : network.inputs)
    parts_[input.field] = input.signal.circuit->nodes()[at(input.signal.id)].part;
  for (const Head<T>& head : network.heads) {
    parts_.try_emplace(head.field, 0);
    predicted_.push_back(head.field);
  }
}

void BatchShards::divide(const Batch& batch, Index shards) {
  whole_ = &batch;
  chains_.assign(at(shards), {});
  const std::vector<Index> of_chains = shards_of_chains(batch, shards);
  for (std::size_t c = 0; c < of_chains.size(); ++c) chains_[at(of_chains[c])].push_back(static_cast<Index>(c));
}

const Batch* BatchShards::take(Index shard, Batch& room) const {
  const std::vector<Index>& chains = chains_[at(shard)];
  if (chains.empty()) return nullptr;
  std::vector<std::vector<Index>> rows;
  room.structure = subset(whole_->structure, chains, rows);
  room.carry.slots.clear();
  for (const Index c : chains) room.carry.slots.push_back(whole_->carry.slots[at(c)]);
  room.carry.slots_needed = whole_->carry.slots_needed;
  room.whole = whole_->whole;
  room.fields.clear();
  for (const auto& [name, part] : parts_) {
    const auto field = whole_->fields.find(name);  // the network may have inputs that its plan does not use
    if (field != whole_->fields.end() && at(static_cast<Index>(part)) < rows.size())
      room.fields.emplace(name, rows_of_field(field->second, rows[at(static_cast<Index>(part))]));
  }
  if (const auto weights = whole_->fields.find(kExampleWeights); weights != whole_->fields.end())
    room.fields.emplace(kExampleWeights, rows_of_field(weights->second, rows.front()));
  room.symbols = room.structure.positions();
  room.predicted = 0;
  for (Index r = 0; r < room.structure.positions(); ++r) {
    bool predicted = false;
    for (const std::string& field : predicted_) predicted = predicted || is_present(room.field(field), r);
    room.predicted += predicted ? 1 : 0;
  }
  return &room;
}

Field rows_of_field(const Field& field, std::span<const Index> rows) {
  if (const auto* from = std::get_if<SymbolRows>(&field)) {
    SymbolRows result;
    result.symbols.reserve(rows.size());
    for (const Index row : rows) result.symbols.push_back(from->symbols[at(row)]);
    return result;
  }
  const auto& from = std::get<ValueRows>(field);
  ValueRows result;
  result.clear(static_cast<Index>(rows.size()), from.cols());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (!from.present(rows[r])) continue;
    const float* values = from.values<float>(rows[r], 1).data;
    for (Index i = 0; i < from.cols(); ++i) result.set(static_cast<Index>(r), i, values[i]);
  }
  return result;
}

template BatchShards::BatchShards(const Network<float>&);
template BatchShards::BatchShards(const Network<double>&);

}  // namespace unfold
