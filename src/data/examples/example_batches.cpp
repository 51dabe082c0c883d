#include "unfold/data/examples/example_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "data/text/example_weights.h"
#include "graph/structure/whole_chains.h"
#include "unfold/base/error.h"
#include "unfold/data/text/lanes.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using Type = FieldSpecification::Type;

/// A field of the batches and its column.
struct Use {
  std::string name;  ///< name in the batch
  const FieldSpecification* field;
  const FieldColumn* column;  ///< null: missing in every row
  Index back;
  bool predicted;
  bool target = false;  ///< both read and predicted
};

/// The rows of a field in a batch, of one of the two kinds.
struct FieldRows {
  FieldRows(const Use& use, Batch& out) {
    if (use.field->type == Type::symbols)
      symbols = &out.symbol_field(use.name);
    else
      values = &out.value_field(use.name);
  }
  void clear(Index positions, Index size) const {
    if (symbols != nullptr)
      symbols->clear(positions);
    else
      values->clear(positions, size);
  }

  SymbolRows* symbols = nullptr;
  ValueRows* values = nullptr;
};

/// The contents of a batch: one segment of each example, as a chain, and how the state is carried.
struct Cut {
  struct Stretch {
    Index example, first, length;
  };
  std::vector<Stretch> stretches;
  Carry carry;  ///< unused if `whole` is set
  bool whole = true;
};

/// Batches of `batch` examples in the given order: whole, or with a window in lanes. A pass of a curriculum reads only
/// prefixes of examples.
std::vector<Cut> cut(const ExampleSet& examples, std::span<const Index> all, const ExampleBatchOptions& options,
                     const Curriculum::Pass& pass = {}) {
  std::vector<Cut> cuts;
  std::vector<Index> order;
  std::ranges::copy_if(all, std::back_inserter(order), [&](Index e) { return pass.reads(examples.length(e)); });
  const auto length = [&](Index e) { return pass.prefix(examples.length(e)); };
  const auto whole = [&](Index e) { return Cut::Stretch{.example = e, .first = 0, .length = length(e)}; };
  if (options.window == 0) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i % at(options.batch) == 0) cuts.emplace_back();
      cuts.back().stretches.push_back(whole(order[i]));
    }
    return cuts;
  }
  std::vector<Index> lengths(order.size());
  std::ranges::transform(order, lengths.begin(), length);
  std::vector<std::vector<Index>> dealt = deal(lengths, options.batch), items(dealt.size());
  for (std::size_t lane = 0; lane < dealt.size(); ++lane) {
    std::ranges::sort(dealt[lane]);  // restores the given order
    for (const Index number : dealt[lane]) items[lane].push_back(lengths[at(number)]);
  }
  Lanes lanes(std::move(items));
  std::vector<Lanes::Stretch> stretches;
  for (Cut next; lanes.next(options.window, stretches, next.carry); next = {}) {
    for (const Lanes::Stretch& s : stretches) {
      const Index example = order[at(dealt[s.lane][s.item])];
      next.stretches.push_back({.example = example, .first = s.first, .length = s.length});
      next.whole &= s.length == length(example);
    }
    cuts.push_back(std::move(next));
  }
  return cuts;
}

/// Splits a batch into several batches of limited size: consecutive chains of the batch, or pieces of one chain. Every
/// chain keeps its slot, which is reset before its first piece; streams are passed on after the last piece.
class DividedCut {
 public:
  DividedCut(const Cut& whole, Index most, bool may_cut_chains)
      : whole_(whole),
        most_(most),
        cuts_chains_(may_cut_chains),
        fresh_(whole.carry.fresh.begin(), whole.carry.fresh.end()) {}

  std::vector<Cut> parts() {
    for (std::size_t c = 0; c < whole_.stretches.size(); ++c) {
      const Cut::Stretch& stretch = whole_.stretches[c];
      if (parts_.empty() || positions_ + stretch.length > most_) begin();
      if (!cuts_chains_ || stretch.length <= most_) {
        add(c, stretch);
        continue;
      }
      for (Index done = 0; done < stretch.length; done += most_) {
        if (done > 0) begin();
        const Index length = std::min(most_, stretch.length - done);
        add(c, {.example = stretch.example, .first = stretch.first + done, .length = length}, done == 0);
        parts_.back().whole = false;
      }
    }
    if (!whole_.whole) parts_.back().carry.moves = whole_.carry.moves;  // whole examples pass nothing on
    return std::move(parts_);
  }

 private:
  void begin() {
    positions_ = 0;
    Cut& part = parts_.emplace_back();
    part.whole = whole_.whole;
    part.carry.slots_needed = whole_.carry.slots_needed;
  }
  void add(std::size_t chain, const Cut::Stretch& stretch, bool starts = true) {
    positions_ += stretch.length;
    Cut& part = parts_.back();
    part.stretches.push_back(stretch);
    if (whole_.carry.slots.empty()) return;  // whole examples carry no state
    const Index slot = whole_.carry.slots[chain];
    part.carry.slots.push_back(slot);
    if (starts && fresh_.contains(slot)) part.carry.fresh.push_back(slot);
  }

  const Cut& whole_;
  Index most_;
  bool cuts_chains_;
  std::set<Index> fresh_;
  std::vector<Cut> parts_;
  Index positions_ = 0;  // positions of the last part
};

/// Divides the cuts of a reader that have too many positions.
std::vector<Cut> divided(std::vector<Cut> cuts, const ExampleBatchOptions& options) {
  if (options.most_positions == 0) return cuts;
  std::vector<Cut> result;
  for (Cut& cut : cuts) {
    Index positions = 0;
    for (const Cut::Stretch& stretch : cut.stretches) positions += stretch.length;
    if (positions <= options.most_positions)
      result.push_back(std::move(cut));
    else
      std::ranges::move(DividedCut(cut, options.most_positions, options.window > 0).parts(),
                        std::back_inserter(result));
  }
  return result;
}

std::vector<Index> symbol_counts(const FieldColumn& column, Index size) {
  std::vector<Index> counts(at(size));
  for (const Symbol x : column.symbols)
    if (x != kNoSymbol) ++counts[at(x)];
  return counts;
}

/// Assembles batches of examples given by their numbers.
class ExampleFiller {
 public:
  ExampleFiller(const ExampleSet& examples, const ExampleBatchOptions& options)
      : examples_(examples), options_(options), pools_chains_(options.patches == std::vector<Index>{kWholeChains}) {
    if (pools_chains_ && (examples.has_sources() || examples.has_trees() || examples.has_grids()))
      throw UsageError(
          fmt::format("random kernels read sequences of numbers, but the data contains {}; use a different model",
                      examples.has_sources() ? "pairs"
                      : examples.has_trees() ? "trees"
                                             : "grids"));
    if (options.window > 0 && pools_chains_)
      throw UsageError("random kernels read whole sequences; leave out --window");
    if (options.batch < 1) throw UsageError(fmt::format("batch {}: must be at least 1", options.batch));
    if (options.window > 0 && examples.has_sources())
      throw UsageError("examples with a source and a target are read as a whole; leave out --window");
    if (options.window > 0 && (examples.has_trees() || examples.has_grids()))
      throw UsageError(
          fmt::format("{} are read as a whole; leave out --window", examples.has_trees() ? "trees" : "grids"));
    if (options.window < 0) throw UsageError(fmt::format("window {}: must be 0 or more positions", options.window));
    if (!(options.word_dropout >= 0 && options.word_dropout < 1))
      throw UsageError(fmt::format("word dropout {}: must be a probability below 1", options.word_dropout));
    if (options.shift < 0 || (options.shift > 0 && !examples.has_grids()))
      throw UsageError(
          fmt::format("shift {}: must be 0 or more positions, and requires grids, such as images", options.shift));
    for (const std::string& name : options.reads) {
      const FieldRead read = parse_read(name);
      add(name, read.field, read.back, false);
    }
    if (examples.has_trees() || examples.has_grids()) require_sequences();
    (void)examples.spelt();  // throws if there are several
    for (const std::string& name : options.predicts) {
      const auto used = std::ranges::find(uses_, name, &Use::name);
      if (std::ranges::find(options.reads, name) != options.reads.end()) {
        if (!examples.has_grids())
          throw UsageError(fmt::format(
              "field {} is both read and predicted at the same position; leave it out of one of them", name));
        used->target = true;  // networks over grids ensure that no position sees itself
        counts_[at(used - uses_.begin())].clear();
      } else if (used == uses_.end()) {
        add(name, name, 0, true);
      }
    }
    if (examples.has(kExampleWeights)) scale_weights();
  }

  /// `random`: for replacing symbols with `<unk>`, or null.
  void fill(const Cut& cut, Random* random, Batch& out) {
    cut_ = &cut;
    lengths_.clear();
    for (const Cut::Stretch& stretch : cut.stretches) lengths_.push_back(stretch.length);
    out.structure = examples_.has_trees() ? trees() : examples_.has_grids() ? grids() : chains();
    if (examples_.has_sources()) out.structure = out.structure.with_source(sources());
    const auto spelt = std::ranges::find_if(uses_, [](const Use& use) { return use.field->spelt; });
    if (spelt != uses_.end()) add_spelling_chains(*spelt, out);
    carry(out);
    out.symbols = out.structure.positions();
    predicted_.assign(at(out.structure.positions()), 0);
    unread_.assign(at(out.structure.part(read_part(out)).positions()), 0);
    if (random != nullptr && options_.word_dropout > 0)
      for (char& unread : unread_) unread = static_cast<char>(random->uniform() < options_.word_dropout);
    draw_shifts(random);
    for (const Use& use : uses_) put(use, random, out);
    put_weights(out);
    out.predicted = std::accumulate(predicted_.begin(), predicted_.end(), Index{0});
  }

 private:
  /// Throws for fields that exist only in sequences: fields of preceding positions, and the characters of words.
  void require_sequences() const {
    for (const Use& use : uses_) {
      if (use.back > 0)
        throw UsageError(fmt::format("{} is read, but there is no previous position in a {}; read {}", use.name,
                                     examples_.has_trees() ? "tree" : "grid", use.field->name));
      if (use.field->spelt)
        throw UsageError(
            fmt::format("{} is a character-level field, which is supported only for sequences; for other data, use "
                        ".prefix3, .suffix3 and similar fields",
                        use.name));
    }
  }

  Structure chains() const {
    if (!pools_chains_) return Structure::chains(lengths_);
    return Structure::chains(static_cast<Index>(lengths_.size()), 1).with_source(Structure::chains(lengths_));
  }

  Structure grids() const {
    std::vector<std::pair<Index, Index>> shapes;
    shapes.reserve(cut_->stretches.size());
    for (const Cut::Stretch& stretch : cut_->stretches) shapes.push_back(examples_.shape(stretch.example));
    return Structure::grids(shapes, options_.patches);
  }

  void draw_shifts(Random* random) {
    shifts_.clear();
    if (random == nullptr || options_.shift == 0) return;
    const auto draw = [&] {
      return static_cast<Index>(random->below(static_cast<std::uint64_t>(2 * options_.shift + 1))) - options_.shift;
    };
    for (std::size_t i = 0; i < cut_->stretches.size(); ++i) {
      const Index rows = draw();
      shifts_.emplace_back(rows, draw());
    }
  }

  /// Returns the position of a grid that is read at `position` after the random shift.
  Index shown(std::size_t i, Index position) const {
    if (shifts_.empty()) return position;
    const auto [height, width] = examples_.shape(cut_->stretches[i].example);
    const Index row = std::clamp<Index>(position / width + shifts_[i].first, 0, height - 1);
    return row * width + std::clamp<Index>(position % width + shifts_[i].second, 0, width - 1);
  }

  /// Returns the part of the structure that contains the rows of fields that are read at positions.
  int read_part(const Batch& out) const {
    return examples_.has_grids() || pools_chains_ ? out.structure.parts() - 1 : 0;
  }

  Structure trees() {
    trees_.clear();
    for (const Cut::Stretch& stretch : cut_->stretches) trees_.push_back(examples_.tree(stretch.example));
    return Structure::trees(trees_);
  }

  /// Returns the structure of the sources: one position per example, which attends to the source of the example.
  Structure sources() {
    sources_.clear();
    for (const Cut::Stretch& stretch : cut_->stretches) sources_.push_back(examples_.source_length(stretch.example));
    return Structure::chains(static_cast<Index>(sources_.size()), 1).with_source(Structure::chains(sources_));
  }

  void add(const std::string& name, const std::string& field, Index back, bool predicted) {
    const bool there = predicted ? examples_.has(field) : true;
    uses_.push_back({.name = name,
                     .field = &examples_.data().field(field),
                     .column = there ? &examples_.column(field) : nullptr,
                     .back = back,
                     .predicted = predicted});
    const Use& use = uses_.back();
    const bool counted = !predicted && options_.unknown_rate > 0 && use.field->type == Type::symbols;
    counts_.push_back(counted ? symbol_counts(*use.column, use.field->size) : std::vector<Index>());
  }

  void carry(Batch& out) const {
    out.passages.clear();
    out.places.clear();
    for (const Cut::Stretch& stretch : cut_->stretches) {
      out.passages.push_back(stretch.example);
      out.places.push_back(examples_.begin(stretch.example) + stretch.first);
    }
    out.reset_all_chains();
    out.whole = cut_->whole;
    if (!out.whole) out.carry = cut_->carry;
  }

  void put(const Use& use, Random* random, Batch& out) {
    if (use.field->spelt) return put_spelling(use, random, out);
    const int part = use.field->source ? kSourcePart : use.predicted ? 0 : read_part(out);
    const FieldRows to(use, out);
    to.clear(out.structure.part(part).positions(), use.field->size);
    if (use.column == nullptr) return;
    if (use.field->source) return put_source(use, random, out, to);
    if (part == 0 && use.field->once && use.predicted) return put_at_ends(use, random, out, to);
    const Structure& own = out.structure.part(part);
    for (std::size_t i = 0; i < cut_->stretches.size(); ++i) {
      const Cut::Stretch& stretch = cut_->stretches[i];
      const Index* rows = own.order().rows.data() + own.item(static_cast<Index>(i), 0);
      for (Index t = 0; t < stretch.length; ++t) {
        const Index entry = entry_at(use, stretch.example, stretch.first + shown(i, t));
        if (entry < 0 || (!use.predicted && !use.target && unread_[at(rows[t])] != 0)) continue;
        const bool present = put_entry(use, entry, rows[t], random, to);
        if ((use.predicted || use.target) && present) predicted_[at(rows[t])] = 1;
      }
    }
  }

  /// Returns whether a position of an example has an entry to predict.
  bool predicts(Index example, Index position) const {
    return std::ranges::any_of(uses_, [&](const Use& use) {
      if ((!use.predicted && !use.target) || use.column == nullptr || use.field->source) return false;
      if (use.field->once && position + 1 < examples_.length(example)) return false;
      const Index entry = entry_at(use, example, position);
      if (entry < 0) return false;
      return use.field->type == Type::symbols ? use.column->symbols[at(entry)] != kNoSymbol
                                              : use.column->present[at(entry)] != 0;
    });
  }

  /// Returns the number of predicted positions of each example, divided by the largest number. 1 for all if no position
  /// is predicted.
  std::vector<double> predicted_shares() const {
    std::vector<double> shares(weights_.size());
    for (Index e = 0; e < examples_.count(); ++e)
      for (Index t = 0; t < examples_.length(e); ++t) shares[at(e)] += predicts(e, t) ? 1 : 0;
    const double most = shares.empty() ? 0 : *std::ranges::max_element(shares);
    for (double& share : shares) share = most > 0 ? share / most : 1;
    return shares;
  }

  /// Scales the weights so that their mean over the predicted positions is 1.
  void scale_weights() {
    weights_ = examples_.column(kExampleWeights).values;
    const std::vector<double> shares = predicted_shares();
    const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
    double sum = 0;
    for (std::size_t e = 0; e < weights_.size(); ++e) sum += shares[e] * static_cast<double>(weights_[e]);
    if (!(sum > 0) && !weights_.empty())
      throw DataError(fmt::format(
          "{}: the weights of all {} examples of the training or validation part are 0; increase one of them",
          examples_.source(), weights_.size()));
    remainders_.reserve(weights_.size());
    for (float& weight : weights_) {
      const double scaled = static_cast<double>(weight) * all / sum;
      weight = static_cast<float>(scaled);
      remainders_.push_back(static_cast<float>(scaled - static_cast<double>(weight)));
    }
  }

  /// Writes the weight of each example at all its positions.
  void put_weights(Batch& out) const {
    for (const auto& [name, numbers] : {std::pair{kExampleWeights, &weights_}, {kWeightRemainders, &remainders_}}) {
      if (weights_.empty()) {
        if (const auto earlier = out.fields.find(name); earlier != out.fields.end()) out.fields.erase(earlier);
        continue;
      }
      ValueRows& rows = out.value_field(name);
      rows.clear(out.structure.positions(), 1);
      for (std::size_t i = 0; i < cut_->stretches.size(); ++i) {
        const auto chain = static_cast<Index>(i);
        for (Index t = 0; t < out.structure.size(chain); ++t)
          rows.set(out.structure.row(chain, t), 0, (*numbers)[at(cut_->stretches[i].example)]);
      }
    }
  }

  /// Writes fields that are predicted once per example, at its last position.
  void put_at_ends(const Use& use, Random* random, const Batch& out, const FieldRows& to) {
    for (std::size_t i = 0; i < cut_->stretches.size(); ++i) {
      const Cut::Stretch& stretch = cut_->stretches[i];
      const Index last = examples_.length(stretch.example);
      if (stretch.first + stretch.length < last || last - 1 < examples_.warmup(stretch.example)) continue;
      const Index row = out.structure.row(static_cast<Index>(i), out.structure.size(static_cast<Index>(i)) - 1);
      if (put_entry(use, stretch.example, row, random, to)) predicted_[at(row)] = 1;
    }
  }

  /// Adds chains of characters, one for each distinct word. A missing word is one missing character.
  void add_spelling_chains(const Use& use, Batch& out) {
    spellings_.clear();
    std::map<std::vector<Symbol>, Index> known;
    std::vector<Index> looked, lengths;
    for (const Cut::Stretch& stretch : cut_->stretches)
      for (Index t = 0; t < stretch.length; ++t) {
        const Index entry = entry_at(use, stretch.example, stretch.first + t);
        std::vector<Symbol> spelling;
        if (entry >= 0) {
          const Range own = use.column->chain(entry);
          spelling.assign(use.column->symbols.begin() + own.begin, use.column->symbols.begin() + own.end);
        }
        if (spelling.empty()) spelling.push_back(kNoSymbol);
        const auto [place, added] = known.try_emplace(std::move(spelling), static_cast<Index>(lengths.size()));
        looked.push_back(place->second);
        if (!added) continue;
        lengths.push_back(static_cast<Index>(place->first.size()));
        spellings_.push_back(place->first);
      }
    out.structure = out.structure.with_source(Structure::chains(lengths), looked);
  }

  void put_spelling(const Use& use, Random* random, Batch& out) {
    const Structure& characters = out.structure.part(kSpellingPart);
    SymbolRows& rows = out.symbol_field(use.name);
    rows.clear(characters.positions());
    const std::vector<Index>& counts = counts_[at(&use - uses_.data())];
    for (std::size_t c = 0; c < spellings_.size(); ++c)
      for (std::size_t t = 0; t < spellings_[c].size(); ++t)
        rows.symbols[at(characters.row(static_cast<Index>(c), static_cast<Index>(t)))] =
            seen_symbol(spellings_[c][t], *use.field, counts, random);
  }

  void put_source(const Use& use, Random* random, const Batch& out, const FieldRows& to) {
    const Structure& source = out.structure.part(kSourcePart);
    for (std::size_t i = 0; i < cut_->stretches.size(); ++i) {
      const Range chain = use.column->chain(cut_->stretches[i].example);
      for (Index t = use.back; t < chain.size(); ++t) {
        const Index row = source.row(static_cast<Index>(i), t), entry = chain.begin + t - use.back;
        put_entry(use, entry, row, random, to);
      }
    }
  }

  /// Returns the entry of a column at a position of an example; -1: there is none.
  Index entry_at(const Use& use, Index example, Index position) const {
    if (use.predicted && position < examples_.warmup(example)) return -1;
    if (use.field->once) return example;
    return position < use.back ? -1 : examples_.begin(example) + position - use.back;
  }

  /// Writes an entry of a column to a row. Returns whether it is present.
  bool put_entry(const Use& use, Index entry, Index row, Random* random, const FieldRows& to) const {
    if (to.values != nullptr) return put_values(use, entry, row, *to.values);
    const Symbol symbol =
        seen_symbol(use.column->symbols[at(entry)], *use.field, counts_[at(&use - uses_.data())], random);
    to.symbols->symbols[at(row)] = symbol;
    return symbol != kNoSymbol;
  }

  /// Returns the symbol; in training it is sometimes replaced by the unknown symbol.
  Symbol seen_symbol(Symbol symbol, const FieldSpecification& field, const std::vector<Index>& counts,
                     Random* random) const {
    const bool may_hide = random != nullptr && symbol != kNoSymbol && !counts.empty();
    if (!may_hide || field.alphabet->unknown() == kNoSymbol) return symbol;
    const double rate = options_.unknown_rate;
    const bool hidden = random->uniform() * (rate + static_cast<double>(counts[at(symbol)])) < rate;
    return hidden ? field.alphabet->unknown() : symbol;
  }

  static bool put_values(const Use& use, Index entry, Index row, ValueRows& to) {
    if (use.column->present[at(entry)] == 0) return false;
    const float* from = use.column->values.data() + entry * use.field->size;
    for (Index i = 0; i < use.field->size; ++i) to.set(row, i, from[i]);
    return true;
  }

  const ExampleSet& examples_;
  ExampleBatchOptions options_;
  bool pools_chains_;  // the structure has one position per chain
  std::vector<Use> uses_;
  std::vector<float> weights_;                   // weights of the examples; empty: all are 1
  std::vector<float> remainders_;                // their rounding errors
  std::vector<std::vector<Index>> counts_;       // symbol counts for each use; empty: no symbol is replaced by `<unk>`
  const Cut* cut_ = nullptr;                     // cut of the current batch
  std::vector<Index> lengths_;                   // positions of the current batch
  std::vector<Index> sources_;                   // source positions of the current batch
  std::vector<Tree> trees_;                      // trees of the current batch
  std::vector<std::vector<Symbol>> spellings_;   // chains of characters of the current batch
  std::vector<std::pair<Index, Index>> shifts_;  // shift (rows, columns) of each grid of the batch; empty: no shift
  std::vector<char> predicted_, unread_;
};

class ExampleBatches final : public BatchSource {
 public:
  ExampleBatches(const ExampleSet& examples, const ExampleBatchOptions& options, std::uint64_t seed)
      : examples_(examples),
        options_(options),
        filler_(examples, options),
        seed_(seed),
        by_chance_(options.unknown_rate > 0 || options.word_dropout > 0 || options.shift > 0) {
    if (examples.count() == 0)
      throw DataError(fmt::format("{}: there are no training examples; use more data, or a larger training share",
                                  examples.source()));
    if (options.curriculum.on()) require_prefixes();
    seek(0, 0);
  }

  const Batch& batch() const override { return current_; }
  void advance() override {
    if (position_ + 1 == static_cast<Index>(cuts_.size()))
      seek(epoch_ + 1, 0);
    else
      go_to(position_ + 1);
  }
  void seek(Index epoch, Index position) override {
    if (epoch < 0) throw UsageError(fmt::format("epoch {} does not exist", epoch));
    epoch_ = epoch;
    order_.resize(at(examples_.count()));
    std::iota(order_.begin(), order_.end(), Index{0});
    Random random(seed_, stream_of("examples/order") + static_cast<std::uint64_t>(epoch));
    for (std::size_t i = order_.size(); i > 1 && !options_.in_order; --i)
      std::swap(order_[i - 1], order_[random.below(i)]);
    cuts_.clear();
    for (const Curriculum::Pass& pass : options_.curriculum.passes(epoch, examples_.longest()))
      std::ranges::move(cut(examples_, order_, options_, pass), std::back_inserter(cuts_));
    if (position < 0 || position >= static_cast<Index>(cuts_.size()))
      throw UsageError(fmt::format("epoch {1} has no batch {0}", position, epoch));
    go_to(position);
  }
  Index epoch() const override { return epoch_; }
  Index position() const override { return position_; }
  double epochs_done() const override {
    return static_cast<double>(epoch_) + static_cast<double>(position_) / static_cast<double>(cuts_.size());
  }
  Index streams() const override { return std::min(options_.batch, examples_.count()); }
  bool shortened() const override { return options_.curriculum.shortens(epoch_, examples_.longest()); }
  bool unchanging() const override {
    return options_.in_order && !by_chance_ && cuts_.size() == 1 && !options_.curriculum.on();
  }

 private:
  /// Throws UsageError for examples whose prefixes are not examples.
  void require_prefixes() const {
    if (examples_.has_sources() || examples_.has_trees() || examples_.has_grids())
      throw UsageError(fmt::format("{} are read as a whole; leave out --curriculum",
                                   examples_.has_sources() ? "examples with a source or a condition"
                                   : examples_.has_trees() ? "trees"
                                                           : "grids"));
    for (const std::string& name : options_.predicts)
      if (examples_.data().field(name).once)
        throw UsageError(
            fmt::format("{} is predicted once per sequence, at its end, which shorter prefixes do not contain; leave "
                        "out --curriculum",
                        name));
  }

  void go_to(Index position) {
    position_ = position;
    if (std::exchange(filled_, true) && unchanging()) return;
    const auto batch = (static_cast<std::uint64_t>(epoch_) << 32U) + static_cast<std::uint64_t>(position);
    Random random(seed_, stream_of("examples/unknown") + batch);
    filler_.fill(cuts_[at(position)], &random, current_);
  }

  const ExampleSet& examples_;
  ExampleBatchOptions options_;
  ExampleFiller filler_;
  Index epoch_ = 0, position_ = 0;
  std::uint64_t seed_;
  bool by_chance_, filled_ = false;
  std::vector<Index> order_;
  std::vector<Cut> cuts_;
  Batch current_;
};

class ExampleReader final : public BatchReader {
 public:
  ExampleReader(const ExampleSet& examples, const ExampleBatchOptions& options) : filler_(examples, options) {
    std::vector<Index> order(at(examples.count()));
    std::iota(order.begin(), order.end(), Index{0});
    cuts_ = divided(cut(examples, order, options), options);
  }
  bool next(Batch& out) override {
    if (next_ == cuts_.size()) return false;
    filler_.fill(cuts_[next_++], nullptr, out);
    return true;
  }

 private:
  ExampleFiller filler_;
  std::vector<Cut> cuts_;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<BatchSource> example_batches(const ExampleSet& examples, const ExampleBatchOptions& options,
                                             std::uint64_t seed) {
  return std::make_unique<ExampleBatches>(examples, options, seed);
}

std::unique_ptr<BatchReader> example_reader(const ExampleSet& examples, const ExampleBatchOptions& options) {
  return std::make_unique<ExampleReader>(examples, options);
}

}  // namespace unfold
