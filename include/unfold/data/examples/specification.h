#pragma once
/// The specification of a model's data: named fields with their types, alphabets and standardization. It is created
/// once from a reader and its data, stored in the card of the model, and checked at every use.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/data/text/alphabet.h"
#include "unfold/data/text/batch.h"

namespace unfold {

struct FieldSpecification {
  enum class Type { symbols, values };

  std::string name;
  Type type = Type::symbols;
  Index size = 0;       ///< number of symbols in the alphabet, or of components of the vector
  bool once = false;    ///< one entry per example instead of per position
  bool spelt = false;   ///< every position has a separate chain: the characters of a word
  bool source = false;  ///< a separate chain, which the positions attend to
  /// Symbols: their names. If null, they are numbers from 0.
  std::shared_ptr<const Alphabet> alphabet = nullptr;
  /// Values: z = (x - mean) / deviation, per component. Empty: not standardized.
  std::vector<double> mean = {}, deviation = {};

  bool operator==(const FieldSpecification& other) const;
};

struct DataSpecification {
  std::string source;  ///< how data of this kind is read: "text", "task adding:100"
  std::vector<FieldSpecification> fields;
  bool trees = false;  ///< positions are nodes of trees
  bool found = false;  ///< the model finds the shape of the trees (loss/tree_merges.h)
  bool grids = false;  ///< positions form grids; if neither trees nor grids: sequences

  /// Returns the specification for models that read symbol streams: the single field kSymbol.
  static DataSpecification text(const Alphabet& alphabet);

  /// Throws UsageError with the nearest name if there is no such field.
  const FieldSpecification& field(std::string_view name) const;
  /// Throws a DataError that names the first field of a batch that does not match the specification. Additional fields
  /// are ignored.
  void check(const Batch& batch) const;

  nlohmann::json to_json() const;
  /// Throws a ModelError that says what is invalid.
  static DataSpecification from_json(const nlohmann::json& json);
  bool operator==(const DataSpecification&) const = default;
};

}  // namespace unfold
