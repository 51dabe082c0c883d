#include "data/tasks/grid_tasks.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {

template <class Visitor>
void describe(Visitor& v, TextureOptions& o) {
  v("size", o.size, "rows and columns of a grid", range(4, 1024));
  v("room", o.room, "minimum rows and columns of a room", range(2, 1024));
  v("marks", o.marks, "number of kinds of marks, and of labels", range(2, 10));
}

namespace {

constexpr std::string_view kGridMain = "size";

struct GridTaskEntry : Entry {};

const Registry<GridTaskEntry>& registry_of_grids() {
  static const Registry<GridTaskEntry> list(
      "task", {{{"texture", "rooms with textures, each labeled by one mark, as grids", TextureOptions()}}});
  return list;
}

/// Generates grids one after another.
class Textures {
 public:
  Textures(const TextureOptions& options, std::uint64_t seed) : options_(options), random_(seed, "task/texture") {}

  void append(GeneratedGrids& out) {
    const Index side = options_.size;
    texts_.assign(at(side), std::string(at(side), kWall));
    labels_.assign(at(side), std::string(at(side), '_'));
    divide({1, side - 1}, {1, side - 1}, out);
    for (std::size_t i = 0; i < at(side); ++i) out.text += texts_[i] + '\t' + labels_[i] + '\n';
    out.text += '\n';
    out.positions += side * side;
  }

 private:
  static constexpr char kWall = '#';
  static constexpr Index kTextures = 3;

  Index draw(Index n) { return static_cast<Index>(random_.below(static_cast<std::uint64_t>(n))); }

  /// Divides the area by a wall across the longer side if it is large enough, and recurses into both parts.
  void divide(Range rows, Range columns, GeneratedGrids& out) {
    const bool across_rows = rows.size() > columns.size() || (rows.size() == columns.size() && draw(2) == 0);
    Range& longer = across_rows ? rows : columns;
    const Index choices = longer.size() - 2 * options_.room;
    if (choices < 1) return fill(rows, columns, out);
    const Index wall = longer.begin + options_.room + draw(choices), end = longer.end;
    longer.end = wall;
    divide(rows, columns, out);
    longer = {wall + 1, end};
    divide(rows, columns, out);
  }

  void fill(Range rows, Range columns, GeneratedGrids& out) {
    const Index texture = draw(kTextures), mark = draw(options_.marks), phase = draw(2);
    const Index row = rows.begin + draw(rows.size()), column = columns.begin + draw(columns.size());
    const auto label = static_cast<char>('0' + mark);
    for (Index i = rows.begin; i < rows.end; ++i)
      for (Index j = columns.begin; j < columns.end; ++j) {
        const Index stripe = texture == 0 ? i : texture == 1 ? j : i + j;
        texts_[at(i)][at(j)] = (stripe + phase) % 2 == 0 ? '.' : ':';
        labels_[at(i)][at(j)] = label;
        out.within += std::max(std::abs(i - row), std::abs(j - column)) <= kTextureNear ? 1 : 0;
      }
    texts_[at(row)][at(column)] = static_cast<char>('a' + mark);
    out.labels += rows.size() * columns.size();
  }

  TextureOptions options_;
  Random random_;
  std::vector<std::string> texts_, labels_;
};

}  // namespace

bool is_grid_task(std::string_view spec) { return registry_of_grids().find(parse_spec(spec).name) != nullptr; }

GeneratedGrids generate_grids(std::string_view text, std::uint64_t seed, Index count) {
  const Spec spec = parse_spec(text);
  AnyOptions options = registry_of_grids().get(spec.name).options;
  parse_options(spec, options, kGridMain);
  const auto& chosen = options.as<TextureOptions>();
  if (chosen.room > chosen.size - 2)
    throw UsageError("task texture: rooms of " + std::to_string(chosen.room) +
                     " positions do not fit between the walls of " + std::to_string(chosen.size) +
                     "; make size larger or room smaller");
  Textures textures(chosen, seed);
  GeneratedGrids result;
  for (Index i = 0; i < count; ++i) textures.append(result);
  return result;
}

std::vector<EntryHelp> grid_tasks() { return registry_of_grids().help(); }

}  // namespace unfold
