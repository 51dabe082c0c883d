/// The path norm that `info` shows, compared with sums over all paths.

#include "app/inspect/path_norm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/base/scratch.h"
#include "unfold/model/network/language_model.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using testing_support::message_of;
using testing_support::ScratchFolder;

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

}  // namespace
}  // namespace unfold
