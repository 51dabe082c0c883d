#include "model/states/layer_states.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "model/network/transduce.h"
#include "unfold/data/examples/example_batches.h"
#include "unfold/train/objective/latent_trees.h"

namespace unfold {
namespace {

/// Positions that are read at once; does not affect the result.
constexpr Index kPositions = 4096;
constexpr Index kExamples = 64;

/// A copy of a network whose layers are outputs.
template <class T>
class StatesNetwork {
 public:
  StatesNetwork(const ModelSpec& spec, const DataSpecification& data, const NetworkLayout& layout,
                const Parameters<T>& parameters, const StateOptions& options, Team& team)
      : network_(build_network<T>(spec, data, layout, circuit_, {.output_hidden = true})),
        every_position_(options.every_position),
        mean_(data.grids),
        whole_(data.trees || data.grids || input_part(spec) > 0) {
    const auto all = static_cast<Index>(network_.hidden.size());
    if (all == 0)
      throw UsageError(
          fmt::format("{} has no layers with states; train a network, such as --model lstm:128", to_string(spec)));
    if (options.layer < 0 || options.layer > spec.layers)
      throw UsageError(fmt::format("layer {}: {} has the layers 1 to {}", options.layer, to_string(spec), spec.layers));
    const Index parts = all / spec.layers, layer = options.layer > 0 ? options.layer : spec.layers;
    signals_.assign(network_.hidden.begin() + (layer - 1) * parts, network_.hidden.begin() + layer * parts);
    backward_ = spec.both_directions;
    if (reads_source(data) && !every_position_) read_summary();
    for (const Signal signal : signals_)
      if (!crosses_ && network_.plan->nodes()[at(signal.id)].part != 0)
        throw UsageError(fmt::format("layer {} of {} runs over finer blocks than the last layer; choose the last layer",
                                     layer, to_string(spec)));
    unfolding_ = std::make_unique<Unfolding<T>>(network_.plan, team);
    unfolding_->set_parameters(parameters);
  }

  bool needs_whole_examples() const { return whole_ || crosses_ || !network_.plan->recomputable(); }

  /// `begin` and `end` return the first position of an example and the position after its last, as numbered in the
  /// batches.
  template <class Begin, class End>
  void read(BatchReader& reader, const Begin& begin, const End& end, const UseState<T>& use) {
    State<T> state(*network_.plan, 1);
    Batch batch;
    while (reader.next(batch)) {
      enter_batch(batch, *network_.plan, state);
      unfolding_->lay(batch.structure, batch.carry.slots);
      upload_inputs(batch, 0, batch.structure.positions(), network_, *unfolding_);
      unfolding_->forward(&state);
      leave_batch(batch, state);
      if (crosses_) summaries_ = batch.structure.source_chains(kSummaryPart);
      for (Index c = 0; c < batch.structure.sequences(); ++c) {
        const Index example = batch.passages[at(c)], first = batch.places[at(c)] - begin(example);
        const Index size = batch.structure.size(c), length = end(example) - begin(example);
        for (Index t = 0; every_position_ && t < size; ++t) pass(batch, c, t, t, {example, first + t, {}}, use);
        if (!every_position_ && (batch.whole || first + size == length))
          pass(batch, c, size - 1, 0, {example, length - 1, {}}, use);
      }
    }
  }

 private:
  /// Replaces the states with the summary of the source.
  void read_summary() {
    for (std::size_t i = 0; i < circuit_.nodes().size(); ++i) {
      const Node& node = circuit_.nodes()[i];
      if (node.part == kSummaryPart && node.kind() == Node::Kind::pointwise && node.pointwise().map == Map::tanh)
        signals_ = {Signal{&circuit_, static_cast<int>(i)}};
    }
    crosses_ = true;
    circuit_.output(signals_.front());
    network_.plan = std::make_shared<const Plan>(circuit_);
  }

  /// Passes the state of a chain at position t; the state of a backward direction is read at `backward`.
  void pass(const Batch& batch, Index chain, Index t, Index backward, LayerState<T> found, const UseState<T>& use) {
    values_.clear();
    for (std::size_t s = 0; s < signals_.size(); ++s) {
      const Matrix<const T> value = unfolding_->value(signals_[s]);
      const auto row = [&](Index position) { return batch.structure.row(chain, position); };
      if (crosses_) {
        append(value, batch.structure.part(kSummaryPart).row(summaries_[at(row(0))], 0));
      } else if (mean_ && !every_position_) {
        append_mean(batch.structure, chain, value);
      } else {
        append(value, row(backward_ && s % 2 == 1 ? backward : t));
      }
    }
    if (!std::ranges::all_of(values_, [](T x) { return std::isfinite(x); }))
      throw ModelError(fmt::format("the state of example {} is not finite", found.example + 1));
    found.values = values_;
    use(found);
  }

  void append(Matrix<const T> value, Index row) {
    values_.insert(values_.end(), value.row(row), value.row(row) + value.cols);
  }
  void append_mean(const Structure& structure, Index chain, Matrix<const T> value) {
    for (Index i = 0; i < value.cols; ++i) {
      double sum = 0;
      for (Index t = 0; t < structure.size(chain); ++t)
        sum += static_cast<double>(value.row(structure.row(chain, t))[i]);
      values_.push_back(static_cast<T>(sum / static_cast<double>(structure.size(chain))));
    }
  }

  Circuit circuit_;
  Network<T> network_;
  bool every_position_, mean_, whole_, backward_ = false, crosses_ = false;
  std::vector<Signal> signals_;
  std::vector<Index> summaries_;  // number of the summary of each row
  std::unique_ptr<Unfolding<T>> unfolding_;
  std::vector<T> values_;
};

/// Reads the pieces of a text in order. A chain begins with a position before its first symbol, as in training, and
/// ends with the position that has read its last symbol. Long pieces are read window by window.
class PieceReader final : public BatchReader {
 public:
  PieceReader(const Corpus& corpus, const Split& part) : corpus_(corpus), pieces_(part.pieces) {
    ends_.reserve(pieces_.size());
    for (const Piece& piece : pieces_) ends_.push_back((ends_.empty() ? 0 : ends_.back()) + piece.range.size() + 1);
  }
  Index begin(Index piece) const { return piece == 0 ? 0 : ends_[at(piece - 1)]; }
  Index end(Index piece) const { return ends_[at(piece)]; }

  bool next(Batch& batch) override {
    if (piece_ == static_cast<Index>(pieces_.size())) return false;
    lengths_.clear(), batch.passages.clear(), batch.places.clear(), batch.carry = {};
    Index room = kPositions;
    while (room > 0 && piece_ < static_cast<Index>(pieces_.size()) && (lengths_.empty() || place_ == 0)) {
      const Index here = std::min(room, end(piece_) - begin(piece_) - place_);
      if (place_ == 0) batch.carry.fresh.push_back(static_cast<Index>(lengths_.size()));
      batch.carry.slots.push_back(static_cast<Index>(lengths_.size()));
      batch.passages.push_back(piece_);
      batch.places.push_back(begin(piece_) + place_);
      lengths_.push_back(here);
      room -= here;
      place_ += here;
      if (place_ == end(piece_) - begin(piece_)) ++piece_, place_ = 0;
    }
    batch.carry.slots_needed = static_cast<Index>(lengths_.size());
    // A piece that continues is the last chain; the next batch has its state in slot 0.
    if (place_ > 0 && lengths_.size() > 1) batch.carry.moves.emplace_back(batch.carry.slots.back(), 0);
    batch.structure = Structure::chains(lengths_);
    batch.symbols = batch.predicted = batch.structure.positions();
    fill(batch);
    return true;
  }

 private:
  void fill(Batch& batch) {
    SymbolRows& read = batch.symbol_field(kPreviousSymbol);
    read.clear(batch.structure.positions());
    for (Index c = 0; c < batch.structure.sequences(); ++c) {
      const Piece& piece = pieces_[at(batch.passages[at(c)])];
      const Index place = batch.places[at(c)] - begin(batch.passages[at(c)]), skipped = place == 0 ? 1 : 0;
      symbols_.resize(at(lengths_[at(c)] - skipped));
      corpus_.read(piece.sequence, piece.range.begin + place + skipped - 1, symbols_);
      for (Index t = 0; t < lengths_[at(c)]; ++t)
        read.symbols[at(batch.structure.row(c, t))] = t < skipped ? kNoSymbol : symbols_[at(t - skipped)];
    }
  }

  const Corpus& corpus_;
  const std::vector<Piece>& pieces_;
  std::vector<Index> ends_, lengths_;
  std::vector<Symbol> symbols_;
  Index piece_ = 0, place_ = 0;
};

}  // namespace

template <class T>
void example_states(const NetworkModel<T>& model, const ExampleSet& examples, const StateOptions& options, Team& team,
                    const UseState<T>& use) {
  StatesNetwork<T> states(model.spec(), model.data(), model.layout(), model.parameters(), options, team);
  ExampleBatchOptions batches{.reads = model.layout().reads};
  for (const HeadSpecification& head : model.layout().heads) batches.predicts.push_back(head.field);
  const bool whole = states.needs_whole_examples();
  batches.batch = whole ? kExamples : 1;
  batches.window = whole ? 0 : kPositions;
  batches.most_positions = kPositions * kExamples;
  batches.patches = patches_of(model.spec());
  ExampleSet set = examples;
  if (model.data().found)
    set.set_parents(found_parents(model.network(), model.parameters(), *example_reader(examples, batches), team));
  states.read(
      *example_reader(set, batches), [&](Index e) { return set.begin(e); },
      [&](Index e) { return set.begin(e) + set.length(e); }, use);
}

template <class T>
void text_states(const LanguageModel<T>& model, const Corpus& corpus, const Split& part, const StateOptions& options,
                 Team& team, const UseState<T>& use) {
  StatesNetwork<T> states(model.spec(), model.data(), NetworkLayout::language_model(), model.parameters(), options,
                          team);
  PieceReader reader(corpus, part);
  states.read(
      reader, [&](Index p) { return reader.begin(p); }, [&](Index p) { return reader.end(p); },
      [&](LayerState<T> state) {
        if (--state.position >= 0) use(state);  // the first position has not read a symbol
      });
}

template void example_states(const NetworkModel<float>&, const ExampleSet&, const StateOptions&, Team&,
                             const UseState<float>&);
template void example_states(const NetworkModel<double>&, const ExampleSet&, const StateOptions&, Team&,
                             const UseState<double>&);
template void text_states(const LanguageModel<float>&, const Corpus&, const Split&, const StateOptions&, Team&,
                          const UseState<float>&);
template void text_states(const LanguageModel<double>&, const Corpus&, const Split&, const StateOptions&, Team&,
                          const UseState<double>&);

}  // namespace unfold
