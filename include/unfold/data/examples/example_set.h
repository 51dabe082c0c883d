#pragma once
/// Examples encoded as numbers, the source of batches. A specification defines each field; it is created once, from the
/// training examples of a model.
///
///   DataSpecification data = specify(examples, {.reads = {"word", "word.suffix3"}, .predicts = {"chunk"}});
///   ExampleSet training(examples, data);
///
/// Text fields become symbols, with a separate alphabet for each field. The alphabet of a field that is read contains
/// `<unk>` for strings that did not occur; the alphabet of a predicted field does not. Numeric fields are standardized,
/// unless all their numbers are 0 or 1 or the caller disables it.

#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/data/examples/examples.h"
#include "unfold/data/examples/specification.h"

namespace unfold {

/// A field as a network reads it: the current entry, or an entry some positions earlier.
struct FieldRead {
  std::string field;
  Index back = 0;

  /// "word"; "previous word" for one position earlier; "previous(3) word" for three.
  std::string name() const;
};
FieldRead parse_read(std::string_view name);

struct FieldChoice {
  std::vector<std::string> reads = {},
                           /// The fields, by name; those in `reads` may be derived (word.lower) or templates
                           /// (word[-1]|pos[0]).
      predicts = {};
  std::set<std::string, std::less<>> once = {};            ///< predicted once per example, at its end
  std::set<std::string, std::less<>> unstandardized = {};  ///< numeric fields that are not standardized
  std::set<std::string, std::less<>> scaled =
      {};  ///< fields of positive numbers that are divided by their geometric mean
  /// Flags of the components of a field that are not standardized, by field.
  std::map<std::string, std::vector<char>, std::less<>> kept = {};
  /// Minimum number of occurrences for a string of a field that is read to become a separate symbol; 0: 2 if there are
  /// many different strings, otherwise 1.
  Index least = 0;
  Index hash_bits =
      0;  ///< if above 0: the strings of fields that are read are hashed into 2^hash_bits symbols (Alphabet::hashed)
};

/// Creates the specification of the fields of some examples. Throws DataError if there are no examples, if a field does
/// not exist (the message suggests the nearest name) or has no entries, or if numbers are too large to be standardized.
/// Throws UsageError for a field that is both read and predicted once per example.
DataSpecification specify(const Examples& examples, const FieldChoice& choice, std::string source);

/// The entries of one field in all examples: one entry per position, in order, or one per example.
struct FieldColumn {
  std::vector<Symbol> symbols = {};          ///< kNoSymbol: missing, or predicted and not seen in training
  std::map<Index, std::string> unseen = {};  ///< the strings of unseen symbols, by entry
  std::vector<float> values = {};            ///< standardized, `size` per entry
  std::vector<char> present = {};            ///< for values: one flag per entry, 0 if it is missing
  /// For a source: for each example, the end of its source in the entries. For a character-level field: for each entry,
  /// the end of its characters.
  std::vector<Index> ends = {};
  Range chain(Index i) const {
    return {i == 0 ? 0 : ends[static_cast<std::size_t>(i - 1)], ends[static_cast<std::size_t>(i)]};
  }
};

class ExampleSet {
 public:
  /// Fields of the specification that the examples do not contain have no column. `predicts`: fields whose symbols must
  /// all be known; with `UnknownPolicy::skip` unknown ones are recorded instead (FieldColumn::unseen). Throws DataError
  /// with the file, the line and the field: a text in a numeric field, a wrong number of values, numbers too large for
  /// float, a field with one entry per example instead of per position, a required symbol that did not occur in
  /// training.
  ExampleSet(const Examples& examples, std::shared_ptr<const DataSpecification> data,
             std::span<const std::string> predicts, UnknownPolicy unknown = UnknownPolicy::error);

  const DataSpecification& data() const { return *data_; }
  const std::shared_ptr<const DataSpecification>& shared_data() const { return data_; }
  Index count() const { return static_cast<Index>(ends_.size()); }
  Index positions() const { return ends_.empty() ? 0 : ends_.back(); }
  Index begin(Index example) const { return example == 0 ? 0 : ends_[static_cast<std::size_t>(example - 1)]; }
  Index length(Index example) const { return ends_[static_cast<std::size_t>(example)] - begin(example); }
  Index longest() const;
  /// Returns whether positions attend to sources. All sources of an example have the same length.
  bool has_sources() const;
  Index source_length(Index example) const;
  /// Returns the character-level field; null if there is none.
  const FieldSpecification* spelt() const;
  bool has(std::string_view field) const { return columns_.contains(field); }
  /// Throws DataError if the examples do not contain the field.
  const FieldColumn& column(std::string_view field) const;
  const std::string& source() const { return source_; }

  /// Returns whether positions are nodes of trees, with the root last.
  bool has_trees() const { return !parents_.empty(); }
  /// REQUIRES has_trees().
  Tree tree(Index example) const;
  /// Replaces the trees with others over the same nodes, in the format of Examples::parents. REQUIRES: has_trees().
  void set_parents(std::vector<Index> parents) { parents_ = std::move(parents); }
  /// Returns the maximum number of children of a node.
  Index most_children() const;

  /// Returns whether positions form grids, row by row.
  bool has_grids() const { return !shapes_.empty(); }
  /// Height and width. REQUIRES has_grids().
  std::pair<Index, Index> shape(Index example) const { return shapes_[static_cast<std::size_t>(example)]; }

  /// Returns the number of positions at the start of an example that are read but not predicted.
  Index warmup(Index example) const { return warmup_.empty() ? 0 : warmup_[static_cast<std::size_t>(example)]; }

  /// Returns a subset of the examples, in the given order.
  ExampleSet subset(std::span<const Index> examples) const;
  /// Returns positions [from, to) of one example, which must be a sequence, preceded by up to `warmup` positions that
  /// are only read. Empty if there are no positions.
  ExampleSet part(Index example, Index from, Index to, Index warmup) const;

 private:
  ExampleSet() = default;
  std::string source_;
  std::shared_ptr<const DataSpecification> data_;
  std::vector<Index> ends_;
  std::vector<Index> warmup_;                    // empty: none
  std::vector<Index> parents_;                   // parents of nodes, in the format of Examples::parents
  std::vector<std::pair<Index, Index>> shapes_;  // sizes of grids, in the format of Examples::shapes
  std::map<std::string, FieldColumn, std::less<>> columns_;
};

/// Undoes the standardization of a number.
double restored(const FieldSpecification& field, Index component, double z);

}  // namespace unfold
