#pragma once
/// What data a model is for: named fields with their types, alphabets and standardisation. Made once from a reader and
/// its data, kept in the card of the model, checked at every use.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/data/alphabet.h"
#include "unfold/data/batch.h"

namespace unfold {

struct FieldSpecification {
  enum class Type { symbols, values };

  std::string name;
  Type type = Type::symbols;
  Index size = 0;       ///< symbols in the alphabet, or numbers in a vector
  bool once = false;    ///< an example has it once, not at every position
  bool spelt = false;   ///< every position has a chain of its own: the characters of a word
  bool source = false;  ///< it lies along a chain of its own, which the positions look at
  /// Symbols: what they are called. Without it they are numbers from 0.
  std::shared_ptr<const Alphabet> alphabet = nullptr;
  /// Values: z = (x - mean) / deviation, number by number. Empty: as they are.
  std::vector<double> mean = {}, deviation = {};

  bool operator==(const FieldSpecification& other) const;
};

struct DataSpecification {
  std::string source;  ///< how data of this kind are read: "text", "task adding:100"
  std::vector<FieldSpecification> fields;
  bool trees = false;  ///< positions are the nodes of trees
  bool found = false;  ///< whose shape the model finds (losses/merges.h)
  bool grids = false;  ///< positions are those of grids; of neither: of sequences

  /// The data of models of symbol streams: the one field kSymbol.
  static DataSpecification text(const Alphabet& alphabet);

  /// Throws UsageError with the nearest name when there is none.
  const FieldSpecification& field(std::string_view name) const;
  /// Throws DataError naming the first field of a batch that is not as it is specified here. Fields that are not
  /// specified are left alone.
  void check(const Batch& batch) const;

  nlohmann::json to_json() const;
  /// Throws ModelError naming what is wrong.
  static DataSpecification from_json(const nlohmann::json& json);
  bool operator==(const DataSpecification&) const = default;
};

}  // namespace unfold
