#pragma once
/// Examples as numbers: what batches of them are made of. A specification says what each field is; it is made once from
/// the examples that a model is trained on.
///
///   DataSpecification data = specify(examples, {.reads = {"word", "word.suffix3"}, .predicts = {"chunk"}});
///   ExampleSet training(examples, data);
///
/// Fields of text become symbols of an alphabet of their own. One that is read knows `<unk>`, for what was never seen;
/// one that is predicted does not. Fields of numbers are standardised, unless all their numbers are 0 or 1 or the
/// caller wants them as they are.

#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/data/examples.h"
#include "unfold/data/specification.h"

namespace unfold {

/// A field as a network reads it: itself, or what it was some positions earlier.
struct FieldRead {
  std::string field;
  Index back = 0;

  /// "word"; "previous word" for one position earlier; "previous(3) word" for three.
  std::string name() const;
};
FieldRead parse_read(std::string_view name);

struct FieldChoice {
  std::vector<std::string>
      reads = {},
      predicts = {};  ///< by name; those read may be derived (data/derived.h) or templates (data/templates.h)
  std::set<std::string, std::less<>> once = {};         ///< predicted once an example: at its end
  std::set<std::string, std::less<>> as_they_are = {};  ///< numbers that are not to be standardised
  /// Of a field, flags of those of its numbers that are not.
  std::map<std::string, std::vector<char>, std::less<>> kept = {};
  /// How often a text that is read must occur to be a symbol of its own; 0: twice where there are many.
  Index least = 0;
  Index hash_bits = 0;  ///< above 0: texts that are read share so many symbols by their hash (Alphabet::hashed)
};

/// What the fields of some examples are. Throws DataError: no examples, a field that is not there (with the nearest
/// name), holds nothing, or numbers too large to be standardised. UsageError: a field that is predicted once an example
/// and read too.
DataSpecification specify(const Examples& examples, const FieldChoice& choice, std::string source);

/// One field of all examples, by their positions in order, or by examples where they have it once.
struct FieldColumn {
  std::vector<Symbol> symbols = {};          ///< kNoSymbol: missing, or predicted and never seen in training
  std::map<Index, std::string> unseen = {};  ///< what these are, by entry
  std::vector<float> values = {};            ///< standardised, `size` an entry
  std::vector<char> present = {};            ///< of values: one flag an entry
  /// Of a source: one an example, entries up to its end. Of a field that is spelt: one an entry.
  std::vector<Index> ends = {};
  Range chain(Index i) const {
    return {i == 0 ? 0 : ends[static_cast<std::size_t>(i - 1)], ends[static_cast<std::size_t>(i)]};
  }
};

class ExampleSet {
 public:
  /// Fields of the specification that the examples lack have no column. `predicts`: fields whose symbols must all be
  /// known; with `UnknownPolicy::skip` others are kept apart (FieldColumn::unseen). Throws DataError naming file, line
  /// and field: a text where numbers should be, numbers of another size or too large for floats, a field that stands
  /// once an example and not at every position, a symbol that must be known and was never seen in training.
  ExampleSet(const Examples& examples, std::shared_ptr<const DataSpecification> data,
             std::span<const std::string> predicts, UnknownPolicy unknown = UnknownPolicy::error);

  const DataSpecification& data() const { return *data_; }
  const std::shared_ptr<const DataSpecification>& shared_data() const { return data_; }
  Index count() const { return static_cast<Index>(ends_.size()); }
  Index positions() const { return ends_.empty() ? 0 : ends_.back(); }
  Index begin(Index example) const { return example == 0 ? 0 : ends_[static_cast<std::size_t>(example - 1)]; }
  Index length(Index example) const { return ends_[static_cast<std::size_t>(example)] - begin(example); }
  Index longest() const;
  /// Whether positions look at sources; all sources of an example have one length.
  bool has_sources() const;
  Index source_length(Index example) const;
  /// The field that is spelt; null: none is.
  const FieldSpecification* spelt() const;
  bool has(std::string_view field) const { return columns_.contains(field); }
  /// Throws DataError when the examples lack it.
  const FieldColumn& column(std::string_view field) const;
  const std::string& source() const { return source_; }

  /// Whether positions are the nodes of trees, the root the last one.
  bool has_trees() const { return !parents_.empty(); }
  /// REQUIRES has_trees().
  Tree tree(Index example) const;
  /// Other trees over the same nodes, as Examples::parents. REQUIRES has_trees().
  void set_parents(std::vector<Index> parents) { parents_ = std::move(parents); }
  /// The most children that a node has.
  Index most_children() const;

  /// Whether positions are those of grids, row by row.
  bool has_grids() const { return !shapes_.empty(); }
  /// Height and width. REQUIRES has_grids().
  std::pair<Index, Index> shape(Index example) const { return shapes_[static_cast<std::size_t>(example)]; }

  /// Positions at the start of an example that are read and not predicted.
  Index warmup(Index example) const { return warmup_.empty() ? 0 : warmup_[static_cast<std::size_t>(example)]; }

  /// Some of the examples, in the given order.
  ExampleSet subset(std::span<const Index> examples) const;
  /// Positions [from, to) of one example, which is a sequence, and up to `warmup` before them that are read only. No
  /// example when there are no positions.
  ExampleSet part(Index example, Index from, Index to, Index warmup) const;

 private:
  ExampleSet() = default;
  std::string source_;
  std::shared_ptr<const DataSpecification> data_;
  std::vector<Index> ends_;
  std::vector<Index> warmup_;                    // empty: none
  std::vector<Index> parents_;                   // as Examples::parents
  std::vector<std::pair<Index, Index>> shapes_;  // as Examples::shapes
  std::map<std::string, FieldColumn, std::less<>> columns_;
};

/// What a number of a field was before it was standardised.
double restored(const FieldSpecification& field, Index component, double z);

}  // namespace unfold
