#include "app/fields/evaluation/decoded_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/fields/field_model.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

/// Replaces the earlier labels that a network reads.
class DecodedReader final : public BatchReader {
 public:
  DecodedReader(std::unique_ptr<BatchReader> reader, std::vector<LabelRead> reads, const ExampleSet& examples,
                const DecodedFields& labels)
      : reader_(std::move(reader)), reads_(std::move(reads)), examples_(examples), labels_(labels) {}

  bool next(Batch& batch) override {
    if (!reader_->next(batch)) return false;
    const Structure& structure = batch.structure;
    for (const LabelRead& read : reads_) {
      const std::vector<Symbol>& labels = labels_.at(read.read.field);
      SymbolRows& rows = batch.symbol_field(read.name);
      rows.clear(structure.positions());
      for (Index c = 0; c < structure.sequences(); ++c) {
        const Index first = examples_.begin(batch.passages[at(c)]);
        for (Index t = 0; t < structure.size(c); ++t) {
          const Index entry = batch.places[at(c)] + t - read.read.back;
          if (entry >= first) rows.symbols[at(structure.row(c, t))] = labels[at(entry)];
        }
      }
    }
    return true;
  }

 private:
  std::unique_ptr<BatchReader> reader_;
  std::vector<LabelRead> reads_;
  const ExampleSet& examples_;
  const DecodedFields& labels_;
};

}  // namespace

template <class T>
void require_decodable(const NetworkModel<T>& model, const ExampleSet& examples) {
  Team alone(1);
  const LabelDecoder<T> decoder(model.network(), model.parameters(), examples, alone);
}

template <class T>
void for_each_labeling(const NetworkModel<T>& model, const ExampleSet& examples, const LabelSearchOptions& options,
                       Index samples, std::uint64_t seed, Team& team,
                       const std::function<void(Index, const std::vector<DecodedLabels>&)>& use) {
  std::vector<std::vector<DecodedLabels>> found(at(examples.count()));
  team.run([&](Member& me) {
    Team alone(1);
    LabelDecoder<T> decoder(model.network(), model.parameters(), examples, alone);
    for (Index e = me.id(); e < examples.count(); e += me.size()) {
      if (samples == 0) found[at(e)] = decoder.best(e, options);
      for (Index s = 0; s < samples; ++s) {
        Random random(seed, stream_of(fmt::format("labels/{}/{}", e, s)));
        found[at(e)].push_back(decoder.sample(e, random));
      }
    }
  });
  for (Index e = 0; e < examples.count(); ++e) use(e, found[at(e)]);
}

template <class T>
DecodedFields decode_labels(const NetworkModel<T>& model, const ExampleSet& examples, Index beam, Team& team) {
  std::vector<std::vector<Symbol>*> columns;
  DecodedFields result;
  for (const LabelRead& read : label_reads(model.network())) {
    if (read.field < columns.size()) continue;
    columns.push_back(&result[read.read.field]);
    columns.back()->reserve(at(examples.positions()));
  }
  for_each_labeling<T>(
      model, examples, {.beam = beam}, 0, 0, team, [&](Index, const std::vector<DecodedLabels>& found) {
        for (std::size_t f = 0; f < columns.size(); ++f)
          columns[f]->insert(columns[f]->end(), found.front().labels[f].begin(), found.front().labels[f].end());
      });
  return result;
}

std::unique_ptr<BatchReader> decoded_reader(const ExampleSet& examples, ExampleBatchOptions options,
                                            const DecodedFields& labels) {
  std::vector<LabelRead> own = label_reads(options.reads, options.predicts);
  std::erase_if(options.reads,
                [&](const std::string& name) { return std::ranges::find(own, name, &LabelRead::name) != own.end(); });
  return std::make_unique<DecodedReader>(example_reader(examples, options), std::move(own), examples, labels);
}

template void require_decodable(const NetworkModel<float>&, const ExampleSet&);
template void require_decodable(const NetworkModel<double>&, const ExampleSet&);
template void for_each_labeling(const NetworkModel<float>&, const ExampleSet&, const LabelSearchOptions&, Index,
                                std::uint64_t, Team&,
                                const std::function<void(Index, const std::vector<DecodedLabels>&)>&);
template void for_each_labeling(const NetworkModel<double>&, const ExampleSet&, const LabelSearchOptions&, Index,
                                std::uint64_t, Team&,
                                const std::function<void(Index, const std::vector<DecodedLabels>&)>&);
template DecodedFields decode_labels(const NetworkModel<float>&, const ExampleSet&, Index, Team&);
template DecodedFields decode_labels(const NetworkModel<double>&, const ExampleSet&, Index, Team&);

}  // namespace unfold
