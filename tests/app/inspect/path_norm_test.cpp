/// The path norm that `info` shows, compared with sums over all paths.

#include "app/inspect/path_norm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "app/fields/evaluation/field_evaluation.h"
#include "model/registry/run_folder.h"
#include "tests/app/small_runs.h"
#include "tests/base/scratch.h"
#include "unfold/gradcheck/scalar_graph.h"
#include "unfold/model/network/language_model.h"
#include "unfold/model/network/network_model.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using testing_support::message_of;
using testing_support::ScratchFolder;
using testing_support::train_small;

/// The sum of squared products over the paths that end in the unit `j` at step `t`: enumerated edge by edge.
double paths_into(Parameters<double>& p, Index t, Index j) {
  const Matrix<double> w = p.at("layer1/z/W"), u = p.at("layer1/z/U"), b = p.at("layer1/z/bias");
  double sum = b(0, j) * b(0, j);
  for (Index x = 0; x < w.rows; ++x) sum += w(x, j) * w(x, j);
  for (Index i = 0; t > 0 && i < u.rows; ++i) sum += u(i, j) * u(i, j) * paths_into(p, t - 1, i);
  return sum;
}

TEST(PathNorm, path_norm_of_a_model_is_the_sum_over_all_paths) {
  const ScratchFolder folder;
  LanguageModel<double> model("rnn:3,activation=relu", Alphabet::chars_of("ab"));
  Random random(1, "weights");
  for (double& w : model.parameters().flat()) w = random.normal();
  model.save(folder.path("model"));
  for (const Index steps : {1, 2, 4}) {
    const Matrix<double> v = model.parameters().at("output/V"), c = model.parameters().at("output/bias");
    double wanted = 0;
    for (Index t = 0; t < steps; ++t)
      for (Index y = 0; y < v.cols; ++y) {
        wanted += c(0, y) * c(0, y);
        for (Index j = 0; j < v.rows; ++j) wanted += v(j, y) * v(j, y) * paths_into(model.parameters(), t, j);
      }
    const PathNorm found = path_norm(folder.path("model"), steps);
    EXPECT_EQ(found.steps, steps);
    EXPECT_NEAR(found.value, wanted, 1e-9 * wanted);
    EXPECT_NEAR(found.logarithm, std::log(wanted), 1e-9);
  }
  EXPECT_GT(path_norm(folder.path("model"), 3000).logarithm, 700);
}

TEST(PathNorm, path_norm_needs_homogeneous_units) {
  const ScratchFolder folder;
  LanguageModel<float> model("lstm:3", Alphabet::chars_of("ab"));
  model.save(folder.path("model"));
  EXPECT_THAT(message_of<UsageError>([&] { path_norm(folder.path("model"), 5); }), testing::HasSubstr("path"));
}

/// Sums the paths of a model over a structure one by one; `ends`: rows at which its only output is read.
double enumerated(const NetworkModel<float>& model, const Structure& structure, const std::vector<Index>& rows) {
  const std::vector<double> p(model.parameters().flat().begin(), model.parameters().flat().end());
  const ScalarGraph graph(model.circuit(), structure, p, {}, ScalarGraph::Reading::paths);
  const Signal output = model.network().heads.front().signal;
  std::vector<Index> ends;
  for (const Index row : rows)
    for (Index k = 0; k < output.size(); ++k) ends.push_back(graph.node(output.id, row, k));
  return graph.sum_paths(ends).total;
}

std::unique_ptr<Model> trained(const std::string& file, const std::string& format, const std::string& spec,
                               const std::string& out) {
  train_small(out, file, spec, "path", 2, [&](TrainRequest& request) {
    request.settings.format = format;
    request.given.insert("format");
  });
  return load_model_file(model_file(out));
}

TEST(PathNorm, trees_grids_and_pairs_have_a_path_norm_over_an_example_and_over_data) {
  const ScratchFolder folder;
  const std::vector<Tree> shapes = {{{{}, {}, {0, 1}}}, {{{}, {}, {}, {1, 2}, {0, 3}}}};
  std::string trees, grids, pairs;
  for (int i = 0; i < 8; ++i) {
    trees += "(1 (0 bad) (1 film))\n(0 (1 good) (0 (1 film) (0 bad)))\n";
    grids += "ab\txy\nba\tyx\n\n";
    pairs += "ab\tba\n";
  }
  {
    const auto model =
        trained(folder.write("t.trees", trees), "trees", "recursive:2,activation=relu", folder.path("t"));
    const auto& network = model->need<NetworkModel<float>>("test");
    const PathNorm found = path_norm(folder.path("t"), 2);
    const bool once = network.data().field(network.layout().heads[0].field).once;
    std::vector<double> wanted;
    for (const Tree& shape : shapes) {
      const Structure tree = Structure::trees(std::vector<Tree>{shape});
      std::vector<Index> rows;
      for (Index row = once ? tree.positions() - 1 : 0; row < tree.positions(); ++row) rows.push_back(row);
      wanted.push_back(enumerated(network, tree, rows));
    }
    EXPECT_NEAR(found.value, wanted[0], 1e-5 * wanted[0]);
    const FieldFigures figures =
        evaluate_on_fields({.model = folder.path("t"), .data = {folder.path("t.trees")}, .path_norm = true});
    EXPECT_NEAR(figures.log_path_norm.value_or(0), std::log((wanted[0] + wanted[1]) / 2), 1e-4);
  }
  {
    const auto model =
        trained(folder.write("g.grids", grids), "grids", "grid-rnn:2,directions=1,activation=relu", folder.path("g"));
    const auto& network = model->need<NetworkModel<float>>("test");
    const std::vector<std::pair<Index, Index>> shape = {{2, 2}};
    const bool once = network.data().field(network.layout().heads[0].field).once;
    const double wanted =
        enumerated(network, Structure::grids(shape), once ? std::vector<Index>{3} : std::vector<Index>{0, 1, 2, 3});
    EXPECT_NEAR(path_norm(folder.path("g"), 2).value, wanted, 1e-5 * wanted);
  }
  const auto model = trained(folder.write("p.pairs", pairs), "pairs", "rnn:2,activation=relu,embedding=2,summary=relu",
                             folder.path("p"));
  const auto& network = model->need<NetworkModel<float>>("test");
  const Structure source = Structure::chains(1, 1).with_source(Structure::chains(1, 2));
  const double wanted = enumerated(network, Structure::chains(1, 2).with_source(source), {0, 1});
  EXPECT_NEAR(path_norm(folder.path("p"), 2).value, wanted, 1e-5 * wanted);
}

}  // namespace
}  // namespace unfold
