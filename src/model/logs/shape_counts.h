#pragma once
/// The shapes of the lines of a log with the number of their lines. An n-gram model of a log is determined by them,
/// because every line is a separate sentence: a model can therefore be fitted to the lines of earlier logs together
/// with those of a new one.
///
///   LogShapeCounts shapes;
///   shapes.add(line.shape);
///   shapes.decay(0.5);            // optional: earlier lines count less
///   shapes.add(later.shape);
///   for (const auto& [shape, lines] : shapes.sorted()) ...
///
/// At most kMost shapes are stored; beyond this, shapes with a single line are removed, and `removed` counts their
/// lines.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

class LogShapeCounts {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 20;
  void add(std::string_view shape, Index lines = 1);
  /// Multiplies all counts by a factor from 0 to 1 and rounds them; shapes without lines are removed.
  void decay(double factor);
  std::vector<std::pair<std::string_view, Index>> sorted() const;  ///< by shape
  Index lines() const { return lines_; }                           ///< number of lines of all stored shapes
  Index different() const { return static_cast<Index>(counts_.size()); }
  Index removed() const { return removed_; }

  nlohmann::json to_json() const;
  /// Throws ModelError for JSON that `to_json` cannot have produced.
  static LogShapeCounts from_json(const nlohmann::json& json);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  void make_room();

  std::unordered_map<std::string, Index, Hash, std::equal_to<>> counts_;
  Index lines_ = 0, removed_ = 0;
};

}  // namespace unfold
