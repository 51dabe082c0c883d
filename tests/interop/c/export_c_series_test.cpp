/// Exported C files of random kernels, which read whole series, compared with the predictions of the model.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "app/fields/evaluation/field_metrics.h"
#include "app/fields/field_model.h"
#include "app/train/train.h"
#include "interop/c/export_c.h"
#include "tests/base/scratch.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using testing_support::file_bytes;
using testing_support::ScratchFolder;

constexpr int kSeries = 24;

/// Series of two channels and different lengths, of which each has a label and a number.
std::string some_series(const std::string& target) {
  Random random(8, "series");
  std::string text;
  for (int e = 0; e < kSeries; ++e) {
    const int length = 20 + 3 * (e % 5);
    std::string x, y;
    for (int t = 0; t < length; ++t) {
      x += fmt::format("{}{:.5f}", t > 0 ? ", " : "", std::sin((0.4 + 0.3 * (e % 2)) * t) + 0.2 * random.normal());
      y += fmt::format("{}{:.5f}", t > 0 ? ", " : "", 30 + 5 * random.normal());
    }
    text += fmt::format(R"({{"x": [{}], "y": [{}], "{}": {}}})", x, y, target,
                        target == "label" ? (e % 2 == 0 ? "\"slow\"" : "\"fast\"") : fmt::format("{}", 3.5 * (e % 4)));
    text += "\n";
  }
  return text;
}

class ExportCSeries : public ::testing::Test {
 protected:
  void compare(const std::string& target, const std::string& spec) {
    SCOPED_TRACE(spec + " predicts " + target);
    const std::string file = folder_.write("series.jsonl", some_series(target.substr(0, target.find('='))));
    TrainRequest request{.out = folder_.path("run"), .overwrite = true};
    request.settings.data = {file};
    request.settings.read = "x,y";
    request.settings.predict = target;
    request.settings.model = spec;
    request.run.threads = 1;
    request.given = {"data", "read", "predict", "model", "threads"};
    train(request);
    const auto loaded = load_model_file(folder_.path("run") + "/model.safetensors");
    const auto* model = loaded->as<NetworkModel<float>>();
    ASSERT_NE(model, nullptr);
    const std::vector<std::vector<double>> expected = predicted(*model, file), found = by_c(*model, file);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t e = 0; e < found.size(); ++e)
      for (std::size_t k = 0; k < found[e].size(); ++k)
        EXPECT_NEAR(found[e][k], expected[e][k], 1e-5 * (1 + std::abs(expected[e][k]))) << e << " " << k;
  }

 private:
  static std::vector<std::vector<double>> predicted(const NetworkModel<float>& model, const std::string& file) {
    const Examples examples = read_for(model, {file});
    const ExampleSet set(examples, std::make_shared<const DataSpecification>(model.data()), {}, UnknownPolicy::skip);
    const FieldSpecification& field = model.data().field(model.network().heads.front().field);
    std::vector<std::vector<double>> result(at(set.count()));
    Team team(1);
    for_each_prediction<float>(model, set, team, [&](const PredictedRow<float>& row) {
      std::vector<double>& out = result[at(row.example)];
      if (field.type == FieldSpecification::Type::values) {
        out.push_back(restored(field, 0, static_cast<double>(row.signal[0])));
        return;
      }
      double sum = 0;
      for (const float x : row.signal) sum += std::exp(static_cast<double>(x));
      for (const float x : row.signal) out.push_back(static_cast<double>(x) - std::log(sum));
    });
    return result;
  }

  std::vector<std::vector<double>> by_c(const NetworkModel<float>& model, const std::string& file) {
    std::string text;
    export_c({.model = folder_.path("run") + "/model.safetensors", .name = "m"},
             [&](std::string_view piece) { text += piece; });
    folder_.write("m.c", text);
    const bool labels =
        model.data().field(model.network().heads.front().field).type == FieldSpecification::Type::symbols;
    folder_.write("driver.c", fmt::format(R"(#include <stdio.h>
#include <stdlib.h>
#include "m.c"
int main(void) {{
  double series[200 * M_INPUTS], bad[M_INPUTS] = {{HUGE_VAL}};
  float *work = malloc(M_WORK(200) * sizeof *work);
  {0} y[8] = {{0}};
  FILE *in = fopen("given", "rb"), *out = fopen("out", "wb");
  int length, k;
  if (m_predict(bad, 1, work, y{2}) != -1 || m_predict(series, 0, work, y{2}) != -1) return 1;
  while (fread(&length, sizeof length, 1, in) == 1) {{
    if (fread(series, sizeof(double) * M_INPUTS, (size_t)length, in) != (size_t)length) return 1;
    if (m_predict(series, length, work, y{2}) != 0) return 1;
    for (k = 0; k < {1}; ++k) {{
      const double z = y[k];
      fwrite(&z, sizeof z, 1, out);
    }}
  }}
  fclose(in);
  fclose(out);
  free(work);
  return 0;
}}
)",
                                          labels ? "m_real" : "double", labels ? "M_SYMBOLS" : "M_OUTPUTS",
                                          model.network().heads.front().loss->name() == "normal" ? ", NULL" : ""));
    const Examples examples = read_for(model, {file});
    std::string given;
    for (Index e = 0; e < examples.count(); ++e) {
      const auto length = static_cast<int>(examples.length(e));
      given.append(reinterpret_cast<const char*>(&length), sizeof length);
      for (Index p = examples.begin(e); p < examples.end(e); ++p)
        for (const char* name : {"x", "y"})
          given.append(reinterpret_cast<const char*>(&examples.column(name).numbers[at(p)]), sizeof(double));
    }
    folder_.write("given", given);
    EXPECT_EQ(std::system(("cd " + folder_.path(".") +
                           " && gcc -std=c99 -Wall -Wextra -pedantic -Werror -O2 driver.c -o driver -lm && ./driver")
                              .c_str()),
              0);
    const std::string bytes = file_bytes(folder_.path("out"));
    const std::size_t width = bytes.size() / sizeof(double) / at(examples.count());
    std::vector<std::vector<double>> result(at(examples.count()), std::vector<double>(width));
    for (std::size_t e = 0; e < result.size(); ++e)
      std::memcpy(result[e].data(), bytes.data() + e * width * sizeof(double), width * sizeof(double));
    return result;
  }

  ScratchFolder folder_;
};

TEST_F(ExportCSeries, WholeSeriesArePredictedAsByTheModel) {
  if (std::system("command -v gcc >/dev/null 2>&1") != 0) GTEST_SKIP() << "gcc is not here";
  compare("label", "kernels:700");
  compare("label", "kernels:2000,normalize=series");
  compare("value=gaussian", "kernels:700");
  compare("value=normal", "kernels:700");
}

}  // namespace
}  // namespace unfold
