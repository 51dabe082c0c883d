/// Cells over grids: derivatives, identical bits alone and in a batch, equations written out position by position,
/// corners as mirrored grids, blocks, and one vector for a whole grid.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "tests/support/circuits.h"
#include "tests/support/runner.h"
#include "unfold/gradcheck/derivative_check.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/graph/cells/registry.h"
#include "unfold/model/network/spec.h"

namespace unfold {
namespace {

using Shape = std::pair<Index, Index>;
using GridVector = std::vector<double>;

constexpr Index kGridInputs = 2;
const char* const kGridCells[] = {"grid-rnn", "grid-lstm"};

/// A whole model over grids of vectors, with the outputs of its last layer at every position.
void add_grid_net(Circuit& c, const std::string& spec) {
  const ModelSpec model = parse_model_spec(spec);
  Signal x;
  {
    const auto part = c.in_part(input_part(model));
    x = c.input("x", kGridInputs);
  }
  const Layers layers = build_layers(model, x, c);
  c.output(c.affine("o", 3, {{"V", layers.top}, {"P", pooled(model, layers, c)}}));
}

TEST(GridCells, registry_lists_the_expected_grid_cells) {
  std::vector<std::string> names;
  for (const CellEntry& cell : cells())
    if (cell.reads_grids()) names.push_back(cell.name);
  EXPECT_EQ(names, std::vector<std::string>(std::begin(kGridCells), std::end(kGridCells)));
}

TEST(GridCells, grid_cells_have_correct_derivatives_with_corners_blocks_and_pools) {
  const Shape shapes[] = {{3, 4}, {1, 2}, {2, 2}};
  for (const char* name : kGridCells)
    for (const char* options : {"2,directions=1,pool=last", "2,directions=2,pool=mean", "2,pool=max", "1,pool=all",
                                "3,lines=true,directions=2,pool=all", "2,lines=true,layers=2,patch=1+2",
                                "1,layers=2,patch=2", "1,layers=2,patch=1+2,pool=mean", "1,layers=2,patch=2+2"}) {
      const std::string spec = std::string(name) + ":" + options;
      Circuit c;
      add_grid_net(c, spec);
      const CheckReport report = check_derivatives(
          c, *softmax_loss<double>(), Structure::grids(shapes, patches_of(parse_model_spec(spec))), {.seed = 2});
      EXPECT_TRUE(report.passed()) << spec << "\n" << report.text();
    }
}

template <class T>
bool equal_bits(std::span<const T> a, std::span<const T> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

TEST(GridCells, grid_cells_have_the_same_bits_alone_in_a_batch_and_on_any_number_of_threads) {
  const Shape shapes[] = {{5, 3}, {1, 1}, {2, 9}, {4, 4}, {3, 1}};
  for (const char* name : kGridCells)
    for (const char* options : {"16", "16,layers=2,patch=2+2", "3,layers=2,patch=1+3"}) {
      const std::string spec = std::string(name) + ":" + options;
      const std::vector<Index> sides = patches_of(parse_model_spec(spec));
      Circuit c;
      add_grid_net(c, spec);
      const Structure batch = Structure::grids(shapes, sides);
      test::Runner<float> runner(c), alone(c), threads(c, {}, 3);
      const auto all = runner.run(batch);
      for (Index s = 0; s < batch.sequences(); ++s) {
        const auto one = alone.run(Structure::grids(std::span(shapes).subspan(at(s), 1), sides), {.sequences = {s}});
        const auto part = [&](const std::vector<float>& x) {
          return std::span(x).subspan(at(3 * batch.item(s, 0)), at(3 * batch.size(s)));
        };
        EXPECT_TRUE(equal_bits<float>(one.outputs, part(all.outputs))) << spec;
        EXPECT_TRUE(equal_bits<float>(one.tangents, part(all.tangents))) << spec;
      }
      for (int pass = 0; pass < 4; ++pass) {
        const auto many = threads.run(batch);
        EXPECT_TRUE(equal_bits<float>(many.outputs, all.outputs)) << spec;
        EXPECT_TRUE(equal_bits<float>(many.tangents, all.tangents)) << spec;
        EXPECT_TRUE(equal_bits<float>(many.gradient, all.gradient)) << spec;
        EXPECT_TRUE(equal_bits<float>(many.squared, all.squared)) << spec;
      }
    }
}

/// A grid of vectors, by row and column.
using Field2 = std::vector<std::vector<GridVector>>;

/// One layer from one corner, position by position: the equations of the paper.
class GridReference {
 public:
  GridReference(const Circuit& c, const Parameters<double>& p, std::string prefix, Index n)
      : circuit_(c), parameters_(p), prefix_(std::move(prefix)), n_(n) {}

  Field2 run(const Field2& x, bool from_right, bool from_below, bool lstm) const {
    const auto height = static_cast<Index>(x.size()), width = static_cast<Index>(x[0].size());
    Field2 h(x.size(), std::vector<GridVector>(x[0].size())), cell = h;
    const GridVector zero(at(n_), 0.0);
    const auto value = [&](const Field2& of, Index i, Index j) {
      return i < 0 || j < 0 || i >= height || j >= width ? zero : of[at(i)][at(j)];
    };
    const Index beside = from_right ? 1 : -1, above = from_below ? 1 : -1;
    for (Index a = 0; a < height; ++a)
      for (Index b = 0; b < width; ++b) {
        const Index i = from_below ? height - 1 - a : a, j = from_right ? width - 1 - b : b;
        GridVector z = bias();
        add(x[at(i)][at(j)], "W", z);
        add(value(h, i, j + beside), "U", z);
        add(value(h, i + above, j), "V", z);
        step(z, value(cell, i, j + beside), value(cell, i + above, j), lstm, h[at(i)][at(j)], cell[at(i)][at(j)]);
      }
    return h;
  }

 private:
  static double squash(double x) { return 1 / (1 + std::exp(-x)); }
  void step(const GridVector& z, const GridVector& left, const GridVector& up, bool lstm, GridVector& h,
            GridVector& cell) const {
    h.assign(at(n_), 0), cell = h;
    for (Index k = 0; k < n_; ++k) {
      const auto gate = [&](Index g) { return z[at(g * n_ + k)]; };
      cell[at(k)] =
          lstm ? squash(gate(2)) * left[at(k)] + squash(gate(3)) * up[at(k)] + squash(gate(0)) * std::tanh(gate(4)) : 0;
      h[at(k)] = lstm ? squash(gate(1)) * std::tanh(cell[at(k)]) : std::tanh(gate(0));
    }
  }
  Matrix<const double> matrix(const std::string& name) const {
    for (std::size_t i = 0; i < circuit_.parameters().size(); ++i)
      if (circuit_.parameters()[i].name == prefix_ + name) return parameters_[static_cast<int>(i)];
    throw UsageError("no parameter " + prefix_ + name);
  }
  GridVector bias() const {
    const auto b = matrix("z/bias");
    return {b.row(0), b.row(0) + b.cols};
  }
  void add(const GridVector& x, const std::string& name, GridVector& z) const {
    const auto w = matrix("z/" + name);
    for (Index i = 0; i < w.rows; ++i)
      for (Index j = 0; j < w.cols; ++j) z[at(j)] += x[at(i)] * w(i, j);
  }

  const Circuit& circuit_;
  const Parameters<double>& parameters_;
  std::string prefix_;
  Index n_;
};

Field2 random_field(Index height, Index width, Index size, std::uint64_t seed) {
  Random random(seed, "field");
  Field2 field(at(height), std::vector<GridVector>(at(width), GridVector(at(size))));
  for (auto& row : field)
    for (GridVector& v : row)
      for (double& x : v) x = random.normal();
  return field;
}

/// k x k blocks side by side, with zeros beyond the edges.
Field2 blocks_of(const Field2& x, Index k) {
  const auto height = static_cast<Index>(x.size()), width = static_cast<Index>(x[0].size());
  Field2 result(at((height + k - 1) / k), std::vector<GridVector>(at((width + k - 1) / k)));
  for (Index i = 0; i < static_cast<Index>(result.size()); ++i)
    for (Index j = 0; j < static_cast<Index>(result[0].size()); ++j)
      for (Index a = i * k; a < i * k + k; ++a)
        for (Index b = j * k; b < j * k + k; ++b) {
          const bool inside = a < height && b < width;
          const GridVector v = inside ? x[at(a)][at(b)] : GridVector(x[0][0].size(), 0.0);
          result[at(i)][at(j)].insert(result[at(i)][at(j)].end(), v.begin(), v.end());
        }
  return result;
}

/// Returns the output of a model's layer for one grid: a field for each of its four corners.
std::vector<Field2> layer_of_model(const std::string& spec_text, const Field2& x, Circuit& c, Parameters<double>& p) {
  const ModelSpec spec = parse_model_spec(spec_text);
  Signal input;
  {
    const auto part = c.in_part(input_part(spec));
    input = c.input("x", static_cast<Index>(x[0][0].size()));
  }
  const Layers layers = build_layers(spec, input, c);
  for (const Signal& s : layers.last) c.output(s);
  p = test::some_parameters<double>(c);
  Team team(1);
  const Shape shape{static_cast<Index>(x.size()), static_cast<Index>(x[0].size())};
  const Structure structure = Structure::grids({&shape, 1}, patches_of(spec));
  Unfolding<double> u(std::make_shared<const Plan>(c), team);
  u.lay(structure);
  u.set_parameters(p);
  const Structure& fine = structure.part(input_part(spec));
  for (Index q = 0; q < fine.positions(); ++q) {
    const GridVector& v = x[at(q / shape.second)][at(q % shape.second)];
    std::copy(v.begin(), v.end(), u.input(input).row(fine.row(0, q)));
  }
  u.forward(nullptr);
  Index width = shape.second, height = shape.first;
  for (const Index side : patches_of(spec)) width = (width + side - 1) / side, height = (height + side - 1) / side;
  std::vector<Field2> result;
  for (const Signal& s : layers.last) {
    Field2 field(at(height), std::vector<GridVector>(at(width)));
    for (Index q = 0; q < height * width; ++q) {
      const double* row = u.value(s).row(structure.row(0, q));
      field[at(q / width)][at(q % width)].assign(row, row + s.size());
    }
    result.push_back(std::move(field));
  }
  return result;
}

const char* const kGridCorners[] = {"top-left", "top-right", "bottom-left", "bottom-right"};

void expect_near(const Field2& a, const Field2& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[i].size(); ++j)
      for (std::size_t k = 0; k < a[i][j].size(); ++k) EXPECT_NEAR(a[i][j][k], b[i][j][k], 1e-12) << what;
}

TEST(GridCells, grid_cells_equal_their_equations_from_every_corner) {
  const Field2 x = random_field(4, 3, 2, 7);
  for (const std::string& name : {std::string("grid-rnn"), std::string("grid-lstm")}) {
    Circuit c;
    Parameters<double> p(c);
    const std::vector<Field2> found = layer_of_model(name + ":3", x, c, p);
    ASSERT_EQ(found.size(), 4u);
    for (std::size_t corner = 0; corner < 4; ++corner) {
      const GridReference reference(c, p, std::string("layer1/") + kGridCorners[corner] + "/", 3);
      expect_near(found[corner], reference.run(x, (corner & 1) != 0, (corner & 2) != 0, name == "grid-lstm"),
                  name + " " + kGridCorners[corner]);
    }
  }
}

/// A plain recurrent network along one line of a field: h_t = tanh(x_t W + h_{t-1} U + b).
GridVector along_line(const Parameters<double>& p, const Circuit& c, const std::string& scope, const Field2& x,
                      const std::vector<Shape>& line) {
  const auto block = [&](const std::string& name) {
    for (std::size_t i = 0; i < c.parameters().size(); ++i)
      if (c.parameters()[i].name == scope + name) return p[static_cast<int>(i)];
    throw UsageError("no parameter " + scope + name);
  };
  const auto w = block("z/W"), u = block("z/U"), b = block("z/bias");
  GridVector h(at(u.rows), 0.0);
  for (const auto& [i, j] : line) {
    GridVector next(h.size());
    for (Index k = 0; k < u.cols; ++k) {
      double z = b(0, k);
      for (Index m = 0; m < w.rows; ++m) z += x[at(i)][at(j)][at(m)] * w(m, k);
      for (Index m = 0; m < u.rows; ++m) z += h[at(m)] * u(m, k);
      next[at(k)] = std::tanh(z);
    }
    h = next;
  }
  return h;
}

/// Four networks, one in each direction, at every corner two of them: along the row and along the column.
TEST(GridCells, networks_along_lines_are_recurrent_networks_of_rows_and_columns) {
  const Index height = 4, width = 3;
  const Field2 x = random_field(height, width, 2, 7);
  Circuit c;
  Parameters<double> p(c);
  const std::vector<Field2> found = layer_of_model("grid-rnn:5,lines=true", x, c, p);
  ASSERT_EQ(found.size(), 4u);
  for (std::size_t corner = 0; corner < 4; ++corner)
    for (Index i = 0; i < height; ++i)
      for (Index j = 0; j < width; ++j) {
        std::vector<Shape> row, column;
        const bool from_right = (corner & 1U) != 0, from_below = (corner & 2U) != 0;
        for (Index k = from_right ? width - 1 : 0; k != j; k += from_right ? -1 : 1) row.emplace_back(i, k);
        for (Index k = from_below ? height - 1 : 0; k != i; k += from_below ? -1 : 1) column.emplace_back(k, j);
        row.emplace_back(i, j), column.emplace_back(i, j);
        const std::string scope = std::string("layer1/") + kGridCorners[corner] + "/";
        GridVector wanted = along_line(p, c, scope + "rows/", x, row);
        const GridVector second = along_line(p, c, scope + "columns/", x, column);
        ASSERT_EQ(wanted.size(), 3u);
        ASSERT_EQ(second.size(), 2u);
        wanted.insert(wanted.end(), second.begin(), second.end());
        for (std::size_t k = 0; k < 5; ++k)
          EXPECT_NEAR(found[corner][at(i)][at(j)][k], wanted[k], 1e-12) << kGridCorners[corner] << i << j;
      }
}

TEST(GridCells, blocks_are_read_in_raster_order_with_zero_padding) {
  const Field2 x = random_field(5, 4, 2, 9);
  Circuit c;
  Parameters<double> p(c);
  const std::vector<Field2> found = layer_of_model("grid-lstm:3,patch=3", x, c, p);
  for (std::size_t corner = 0; corner < 4; ++corner) {
    const GridReference reference(c, p, std::string("layer1/") + kGridCorners[corner] + "/", 3);
    expect_near(found[corner], reference.run(blocks_of(x, 3), (corner & 1) != 0, (corner & 2) != 0, true),
                kGridCorners[corner]);
  }
}

/// Means, maxima and ends of given fields, at the last position.
TEST(GridPool, grid_pool_is_mean_maximum_and_direction_ends) {
  const Shape shapes[] = {{3, 5}, {1, 1}, {4, 2}, {1, 4}};
  const Structure s = Structure::grids(shapes);
  Circuit c;
  std::vector<Signal> layer;
  for (int corner = 0; corner < 4; ++corner) layer.push_back(c.input("x" + std::to_string(corner), 2));
  std::vector<Signal> parts;
  for (const Signal& part : grid_pool(c, layer, Pool::all))
    parts.push_back(c.map(Map::copy, part)), c.output(parts.back());
  ASSERT_EQ(parts.size(), 12u);
  Team team(1);
  Unfolding<double> u(std::make_shared<const Plan>(c), team);
  const Parameters<double> none(c);
  u.lay(s);
  u.set_parameters(none);
  const auto value = [](Index grid, Index corner, Index p, Index k) {
    Random random(3, std::to_string(grid) + "/" + std::to_string(corner) + "/" + std::to_string(p * 2 + k));
    return random.normal() - 3;  // mostly below zero
  };
  for (Index corner = 0; corner < 4; ++corner)
    for (Index g = 0; g < s.sequences(); ++g)
      for (Index p = 0; p < s.size(g); ++p)
        for (Index k = 0; k < 2; ++k) u.input(layer[at(corner)])(s.row(g, p), k) = value(g, corner, p, k);
  u.forward(nullptr);
  for (Index g = 0; g < s.sequences(); ++g) {
    const auto [height, width] = shapes[g];
    for (Index corner = 0; corner < 4; ++corner)
      for (Index k = 0; k < 2; ++k) {
        double sum = 0, most = -1e9;
        for (Index p = 0; p < height * width; ++p) {
          sum += value(g, corner, p, k);
          most = std::max(most, value(g, corner, p, k));
        }
        const Index end = ((corner & 2) != 0 ? 0 : height - 1) * width + ((corner & 1) != 0 ? 0 : width - 1);
        const Index last = s.row(g, height * width - 1);
        const auto at_end = [&](Index which) { return u.value(parts[at(3 * corner + which)])(last, k); };
        EXPECT_NEAR(at_end(0), sum / static_cast<double>(height * width), 1e-12);
        EXPECT_NEAR(at_end(1), most, 1e-12);
        EXPECT_NEAR(at_end(2), value(g, corner, end, k), 1e-12) << g << " " << corner;
      }
  }
}

/// Returns the positions whose outputs change when the input of one position does.
std::vector<Index> reached_from(const std::string& text, Index changed) {
  ModelSpec spec = parse_model_spec(text);
  spec.causal = true;
  Circuit c;
  const Signal x = c.input("x", 1);
  const Signal o = c.affine("o", 2, {{"V", build_layers(spec, x, c).top}});
  c.output(o);
  const Shape shape{4, 5};
  const Structure grid = Structure::grids({&shape, 1});
  Team team(1);
  Unfolding<double> u(std::make_shared<const Plan>(c), team);
  const Parameters<double> p = test::some_parameters<double>(c);
  u.lay(grid);
  u.set_parameters(p);
  const auto run = [&](double there) {
    for (Index q = 0; q < grid.positions(); ++q)
      u.input(x)(grid.row(0, q), 0) = q == changed ? there : 0.1 * static_cast<double>(q % 7);
    u.forward(nullptr);
    std::vector<double> found;
    for (Index q = 0; q < grid.positions(); ++q) found.push_back(u.value(o)(grid.row(0, q), 0));
    return found;
  };
  const std::vector<double> a = run(-1), b = run(2);
  std::vector<Index> reached;
  for (Index q = 0; q < grid.positions(); ++q)
    if (a[at(q)] != b[at(q)]) reached.push_back(q);
  return reached;
}

TEST(GridCells, autoregressive_grids_read_only_previous_positions) {
  for (const char* name : {"grid-lstm:3", "grid-rnn:3", "grid-lstm:3,layers=2", "grid-rnn:2,layers=3,directions=2"})
    for (Index changed = 0; changed < 20; ++changed) {
      std::vector<Index> after;
      for (Index q = changed + 1; q < 20; ++q) after.push_back(q);
      EXPECT_EQ(reached_from(name, changed), after) << name << " " << changed;
    }
  for (const Index q : reached_from("grid-lstm:3,layers=2,directions=1", 7)) EXPECT_GE(q % 5, 2);
  for (const char* name : {"grid-rnn:4,lines=true", "grid-lstm:2,lines=true,layers=2"})
    for (Index changed = 0; changed < 20; ++changed)
      for (const Index q : reached_from(name, changed)) EXPECT_GT(q, changed) << name;
}

TEST(GridCells, autoregressive_grids_have_correct_derivatives) {
  const Shape shapes[] = {{3, 2}, {1, 3}};
  for (const char* name : {"grid-lstm:2", "grid-rnn:2,layers=2"}) {
    ModelSpec spec = parse_model_spec(name);
    spec.causal = true;
    Circuit c;
    c.output(c.affine("o", 3, {{"V", build_layers(spec, c.symbols("x", 3), c).top}}));
    const CheckReport report = check_derivatives(c, *softmax_loss<double>(), Structure::grids(shapes), {.seed = 4});
    EXPECT_TRUE(report.passed()) << name << "\n" << report.text();
  }
}

TEST(GridCells, unsupported_grid_options_are_rejected) {
  for (const char* spec :
       {"grid-lstm:4,patch=0", "grid-lstm:4,patch=2+2", "grid-lstm:4,patch=2x", "grid-lstm:4,patch=65",
        "grid-lstm:4,directions=3", "bigrid-lstm:4", "grid-rnn:4,trained-initial=true", "grid-rnn:4,direct=2",
        "grid-rnn:4,direct=1,patch=2", "grid-rnn:4,directions=5", "grid-rnn:1,lines=true"})
    EXPECT_THROW(parse_model_spec(spec), UsageError) << spec;
  EXPECT_EQ(to_string(parse_model_spec("grid-lstm:4,layers=2,patch=2+2")), "grid-lstm:4,patch=2+2,layers=2");
  EXPECT_EQ(parse_patches("2+3+64"), (std::vector<Index>{2, 3, 64}));
}

TEST(GridStructure, invalid_blocks_and_structures_are_rejected) {
  const Shape fine[] = {{5, 4}}, coarse[] = {{3, 2}}, wrong[] = {{2, 2}};
  const Structure blocks = Structure::grids(coarse).with_source(Structure::grids(fine));
  EXPECT_EQ(blocks.rows_seen(Delay::block(2), 1).size(), 24u);
  EXPECT_THROW(Structure::grids(wrong).with_source(Structure::grids(fine)).rows_seen(Delay::block(2), 1), UsageError);
  EXPECT_THROW(Structure::grids(coarse).with_source(Structure::chains({3})), UsageError);
  EXPECT_THROW(blocks.rows_seen(Delay::source_last(), 1), UsageError);
  EXPECT_THROW(Structure::chains({6}).with_source(Structure::chains({3})).rows_seen(Delay::block(2), 1), UsageError);
  EXPECT_TRUE(blocks.same_layout(Structure::grids(fine, std::vector<Index>{2})));
  EXPECT_FALSE(blocks.same_layout(Structure::grids(coarse)));
  EXPECT_FALSE(Structure::grids(fine).same_layout(Structure::grids(coarse)));
}

}  // namespace
}  // namespace unfold
