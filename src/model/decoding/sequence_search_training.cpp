#include "model/decoding/sequence_search_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "model/decoding/objective.h"
#include "unfold/base/error.h"
#include "unfold/data/examples/example_set.h"

namespace unfold {
namespace {

/// A chosen sequence and the chain of the batch to which it belongs.
struct ChosenChain {
  Index of;
  const ChosenSequence* sequence;
};

template <class T>
class SequenceChooser final : public BatchChooser<T> {
 public:
  SequenceChooser(const Network<T>& network, const DataSpecification& data, const TargetEnds& ends, Team& team,
                  const SequenceObjective& objective, std::string_view name, Index longest, std::uint64_t seed)
      : network_(network),
        data_(data),
        objective_(objective),
        name_(fmt::format("--objective {}", name)),
        longest_(longest),
        seed_(seed),
        decoder_(network, data, ends, team) {
    if (decoder_.has_length_input())
      throw UsageError(
          fmt::format("{} searches for sequences with their ends, but their lengths are known in advance; train with "
                      "--ends symbol or --ends stop, or leave out --objective",
                      name_));
  }

  std::string_view name() const override { return name_; }

  void choose(const Batch& batch, const Parameters<T>& parameters, std::uint64_t draw,
              WeightedSequences& out) override {
    decoder_.set_parameters(parameters);
    start(batch, draw);
    while (step()) {
    }
    out.value = 0;
    std::vector<ChosenChain> chains;
    for (std::size_t k = 0; k < searches_.size(); ++k) {
      out.value += searches_[k].value();
      for (const ChosenSequence& sequence : searches_[k].chosen()) chains.push_back({chain_of_[k], &sequence});
    }
    out.weights.clear();
    if (!chains.empty()) lay(batch, chains, out);
  }

 private:
  void start(const Batch& batch, std::uint64_t draw) {
    searches_.clear();
    chain_of_.clear();
    for (Index c = 0; c < batch.structure.sequences(); ++c) {
      std::vector<Symbol> truth = truth_of(batch, c);
      if (std::ranges::find(truth, kNoSymbol) != truth.end()) continue;
      const Index longest = longest_ > 0 ? longest_ : 2 * static_cast<Index>(truth.size()) + 4;
      searches_.emplace_back(objective_, std::move(truth), decoder_.end(), longest, draws(batch, c, draw));
      chain_of_.push_back(c);
    }
    decoder_.begin(batch, static_cast<Index>(searches_.size()) * objective_.width());
  }

  /// Returns all symbols to be predicted, including the end.
  std::vector<Symbol> truth_of(const Batch& batch, Index chain) const {
    const auto& symbols = std::get<SymbolRows>(batch.field(decoder_.target_head().field)).symbols;
    std::vector<Symbol> truth;
    truth.reserve(at(batch.structure.size(chain)));
    for (Index t = 0; t < batch.structure.size(chain); ++t) truth.push_back(symbols[at(batch.structure.row(chain, t))]);
    if (decoder_.stop_head() != nullptr) truth.back() = decoder_.end();
    return truth;
  }

  std::vector<Random> draws(const Batch& batch, Index chain, std::uint64_t draw) const {
    std::vector<Random> result;
    const Index passage = batch.passages.empty() ? chain : batch.passages[at(chain)];
    for (Index s = 0; s < objective_.samples; ++s)
      result.emplace_back(seed_, stream_of(fmt::format("objective/{}/{}/{}", draw, passage, s)));
    return result;
  }

  /// Extends all open searches by one symbol; returns false if no search is open.
  bool step() {
    rows_.clear();
    for (std::size_t k = 0; k < searches_.size(); ++k)
      for (std::size_t i = 0; !searches_[k].done() && i < searches_[k].open().size(); ++i)
        rows_.push_back({.chain = chain_of_[k], .slot = slot(k, i), .before = searches_[k].open()[i].symbols});
    if (rows_.empty()) return false;
    const std::vector<std::vector<T>> found = decoder_.step(rows_);
    std::vector<std::vector<double>> log_p;
    for (std::size_t k = 0, first = 0; k < searches_.size(); ++k) {
      TargetSearch& search = searches_[k];
      if (search.done()) continue;
      log_p.clear();
      for (std::size_t i = 0; i < search.open().size(); ++i, ++first)
        log_p.emplace_back(found[first].begin(), found[first].end());
      search.step(log_p);
      for (std::size_t i = 0; i < search.open().size(); ++i)
        decoder_.keep(slot(k, at(search.open()[i].from)), slot(k, i));
    }
    decoder_.advance();
    return true;
  }
  Index slot(std::size_t search, std::size_t open) const {
    return static_cast<Index>(search) * objective_.width() + static_cast<Index>(open);
  }

  /// Makes each sequence a chain with a copy of its source.
  void lay(const Batch& from, const std::vector<ChosenChain>& chains, WeightedSequences& out) const {
    Batch& batch = out.batch;
    std::vector<Index> lengths;
    lengths.reserve(chains.size());
    for (const ChosenChain& chain : chains) lengths.push_back(static_cast<Index>(chain.sequence->symbols.size()));
    batch.structure = Structure::chains(lengths);
    if (from.structure.source() != nullptr) batch.structure = batch.structure.with_source(sources(from, chains));
    batch.passages.clear();
    for (Index c = 0; c < static_cast<Index>(chains.size()); ++c) batch.passages.push_back(c);
    batch.places.assign(chains.size(), 0);
    batch.reset_all_chains();
    batch.whole = true;
    batch.predicted = batch.symbols = batch.structure.positions();
    for (const NetworkInput& input : network_.inputs) put_input(input, from, chains, batch);
    put_targets(chains, out);
  }

  static Structure sources(const Batch& from, const std::vector<ChosenChain>& chains) {
    const Structure& source = from.structure.part(kSourcePart);
    const std::vector<Index> seen = from.structure.source_chains(kSourcePart);
    std::vector<Index> lengths;
    lengths.reserve(chains.size());
    for (const ChosenChain& chain : chains) lengths.push_back(source.size(seen[at(from.structure.row(chain.of, 0))]));
    return Structure::chains(static_cast<Index>(lengths.size()), 1).with_source(Structure::chains(lengths));
  }

  void put_input(const NetworkInput& input, const Batch& from, const std::vector<ChosenChain>& chains,
                 Batch& to) const {
    if (data_.field(parse_read(input.field).field).source) {
      if (const auto* symbols = std::get_if<SymbolRows>(&from.field(input.field)))
        copy_source(*symbols, from, chains, to, to.symbol_field(input.field));
      else
        copy_source(std::get<ValueRows>(from.field(input.field)), from, chains, to, to.value_field(input.field));
      return;
    }
    SymbolRows& previous = to.symbol_field(input.field);
    previous.clear(to.structure.positions());
    for (std::size_t c = 0; c < chains.size(); ++c)
      for (std::size_t t = 1; t < chains[c].sequence->symbols.size(); ++t)
        previous.symbols[at(to.structure.row(static_cast<Index>(c), static_cast<Index>(t)))] =
            chains[c].sequence->symbols[t - 1];
  }

  template <class Rows>
  static void copy_source(const Rows& rows, const Batch& from, const std::vector<ChosenChain>& chains, const Batch& to,
                          Rows& out) {
    const Structure &source = from.structure.part(kSourcePart), &copy = to.structure.part(kSourcePart);
    const std::vector<Index> seen = from.structure.source_chains(kSourcePart);
    if constexpr (std::is_same_v<Rows, SymbolRows>)
      out.clear(copy.positions());
    else
      out.clear(copy.positions(), rows.cols());
    for (std::size_t c = 0; c < chains.size(); ++c) {
      const Index chain = seen[at(from.structure.row(chains[c].of, 0))];
      for (Index t = 0; t < source.size(chain); ++t)
        copy_row(rows, source.row(chain, t), out, copy.row(static_cast<Index>(c), t));
    }
  }
  static void copy_row(const SymbolRows& from, Index row, SymbolRows& to, Index other) {
    to.symbols[at(other)] = from.symbols[at(row)];
  }
  static void copy_row(const ValueRows& from, Index row, ValueRows& to, Index other) {
    if (!from.present(row)) return;
    const Matrix<const float> values = from.values<float>(row, 1);
    for (Index i = 0; i < from.cols(); ++i) to.set(other, i, values(0, i));
  }

  void put_targets(const std::vector<ChosenChain>& chains, WeightedSequences& out) const {
    const Structure& structure = out.batch.structure;
    SymbolRows& targets = out.batch.symbol_field(decoder_.target_head().field);
    SymbolRows* const stops =
        decoder_.stop_head() == nullptr ? nullptr : &out.batch.symbol_field(decoder_.stop_head()->field);
    targets.clear(structure.positions());
    if (stops != nullptr) stops->clear(structure.positions());
    out.weights.assign(at(structure.positions()), 0);
    for (std::size_t c = 0; c < chains.size(); ++c) {
      const ChosenSequence& sequence = *chains[c].sequence;
      for (std::size_t t = 0; t < sequence.symbols.size(); ++t) {
        const std::size_t row = at(structure.row(static_cast<Index>(c), static_cast<Index>(t)));
        const Symbol symbol = sequence.symbols[t];
        const bool ends = stops != nullptr && symbol == decoder_.end();
        if (!ends) targets.symbols[row] = symbol;
        if (stops != nullptr) stops->symbols[row] = ends ? decoder_.stop() : static_cast<Symbol>(decoder_.stop() == 0);
        out.weights[row] = sequence.weights[t];
      }
    }
  }

  const Network<T>& network_;
  const DataSpecification& data_;
  SequenceObjective objective_;
  std::string name_;
  Index longest_;
  std::uint64_t seed_;
  TargetDecoder<T> decoder_;
  std::vector<TargetSearch> searches_;
  std::vector<Index> chain_of_;  // chain of each search
  std::vector<TargetRow> rows_;
};

}  // namespace

template <class T>
bool supports_sequence_objectives(const Network<T>& network, const DataSpecification& data, const TargetEnds& ends) {
  for (const Head<T>& head : network.heads) {
    if (head.loss->template as<Categorical<T>>() == nullptr) continue;
    const FieldSpecification& field = data.field(head.field);
    const bool stops = !ends.stop_field.empty() && head.field.ends_with(ends.stop_field);
    const bool end = field.alphabet != nullptr && field.alphabet->find(ends.symbol) != kNoSymbol;
    const bool told = std::ranges::any_of(network.inputs, [&](const NetworkInput& input) {
      return !ends.left_field.empty() && input.field.ends_with(ends.left_field);
    });
    if (stops || end || told) return true;
  }
  return false;
}

template <class T>
std::unique_ptr<BatchChooser<T>> sequence_chooser(const Network<T>& network, const DataSpecification& data,
                                                  const TargetEnds& ends, std::string_view objective,
                                                  std::uint64_t seed, Team& team) {
  return std::make_unique<SequenceChooser<T>>(network, data, ends, team, sequence_objective(objective),
                                              canonical_objective(objective), 0, seed);
}

template <class T>
std::unique_ptr<BatchChooser<T>> sequence_chooser(const Network<T>& network, const DataSpecification& data,
                                                  const TargetEnds& ends, const SequenceObjective& objective,
                                                  Index longest, std::uint64_t seed, Team& team) {
  return std::make_unique<SequenceChooser<T>>(network, data, ends, team, objective, "", longest, seed);
}

template bool supports_sequence_objectives(const Network<float>&, const DataSpecification&, const TargetEnds&);
template bool supports_sequence_objectives(const Network<double>&, const DataSpecification&, const TargetEnds&);
template std::unique_ptr<BatchChooser<float>> sequence_chooser(const Network<float>&, const DataSpecification&,
                                                               const TargetEnds&, std::string_view, std::uint64_t,
                                                               Team&);
template std::unique_ptr<BatchChooser<double>> sequence_chooser(const Network<double>&, const DataSpecification&,
                                                                const TargetEnds&, std::string_view, std::uint64_t,
                                                                Team&);
template std::unique_ptr<BatchChooser<float>> sequence_chooser(const Network<float>&, const DataSpecification&,
                                                               const TargetEnds&, const SequenceObjective&, Index,
                                                               std::uint64_t, Team&);
template std::unique_ptr<BatchChooser<double>> sequence_chooser(const Network<double>&, const DataSpecification&,
                                                                const TargetEnds&, const SequenceObjective&, Index,
                                                                std::uint64_t, Team&);

}  // namespace unfold
