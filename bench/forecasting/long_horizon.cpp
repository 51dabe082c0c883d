/// Accuracy of the segments network in the protocol of long-horizon forecasting: the series are standardized with the
/// mean and deviation of the training part, and every window of the test part (stride 1) is forecast. Prints the mean
/// squared and absolute error over windows, horizons and series.
///
///     zcat ETTh1.csv.gz > ETTh1.csv
///     bench_long_horizon ETTh1.csv 8640,2880,2880 --horizon 96 --window 96 --units 128
///
/// The first argument is a CSV table with a header, whose first column contains dates; the second argument gives the
/// numbers of rows of the training, validation and test parts.

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "model/forecast/segments/segment_training.h"

namespace {

using namespace unfold;
using namespace unfold::forecasting;

std::vector<std::vector<double>> read_columns(const char* path) {
  std::ifstream file(path);
  std::vector<std::vector<double>> columns;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    std::string cell;
    std::getline(cells, cell, ',');
    for (std::size_t c = 0; std::getline(cells, cell, ','); ++c) {
      if (c == columns.size()) columns.emplace_back();
      columns[c].push_back(std::strtod(cell.c_str(), nullptr));
    }
  }
  return columns;
}

void standardize(std::vector<double>& values, Index training) {
  double sum = 0, squares = 0;
  const double n = static_cast<double>(training);
  for (std::size_t t = 0; t < at(training); ++t) sum += values[t];
  for (std::size_t t = 0; t < at(training); ++t) squares += (values[t] - sum / n) * (values[t] - sum / n);
  for (double& x : values) x = (x - sum / n) / std::sqrt(squares / n);
}

void run(int argc, char** argv) {
  std::vector<std::vector<double>> series = read_columns(argv[1]);
  long long parts[3] = {};
  if (std::sscanf(argv[2], "%lld,%lld,%lld", &parts[0], &parts[1], &parts[2]) != 3)
    throw UsageError("the second argument has the numbers of rows of the training, validation and test parts");
  std::map<std::string, std::string> options = {{"--horizon", "96"},
                                                {"--window", "96"},
                                                {"--segment", "24"},
                                                {"--units", "128"},
                                                {"--steps", "2000"},
                                                {"--batch", "256"},
                                                {"--dropout", "0.1"},
                                                {"--seed", "1"},
                                                {"--threads", "1"},
                                                {"--patience", "0"},
                                                {"--optimizer", SegmentTraining().optimizer},
                                                {"--median", "0"}};
  for (int i = 3; i + 1 < argc; i += 2) options.at(argv[i]) = argv[i + 1];
  const auto number = [&](const char* name) {
    return static_cast<Index>(std::strtoll(options.at(name).c_str(), nullptr, 10));
  };
  const Index count = static_cast<Index>(series.size()), horizon = number("--horizon");
  const Index validation = parts[0] + parts[1], end = validation + parts[2];
  for (std::vector<double>& one : series) one.resize(at(end)), standardize(one, parts[0]);
  SegmentShape shape{.segment = number("--segment"),
                     .window = number("--window"),
                     .horizon = horizon,
                     .units = number("--units"),
                     .series = count,
                     .dropout = std::strtod(options.at("--dropout").c_str(), nullptr)};
  if (number("--median") > 0) shape.levels = {0.5};
  const std::vector<Index> ends(at(count), parts[0]);
  const SegmentPool pool(shape, series, ends);
  SegmentSplit split{.ends = ends, .validation_ends = std::vector<Index>(at(count), validation)};
  std::vector<SegmentWindow> test;
  for (Index s = 0; s < count; ++s) {
    pool.add_windows(s, 0, parts[0] - horizon + 1, split.training);
    pool.add_windows(s, parts[0], validation - horizon + 1, split.validation);
    pool.add_windows(s, validation, end - horizon + 1, test);
  }
  for (std::size_t i = 0; 4 * i < split.validation.size(); ++i) split.validation[i] = split.validation[4 * i];
  split.validation.resize((split.validation.size() + 3) / 4);  // every fourth window is enough for early stopping
  Team team(static_cast<int>(number("--threads")));
  SegmentNetwork<float> network(shape);
  const auto start = std::chrono::steady_clock::now();
  struct Progress final : Observer {
    void validation(const ValidationEvent& event) override {
      std::fprintf(stderr, "step %lld validation %.4f\n", static_cast<long long>(event.step), event.nats_per_symbol);
    }
  } progress;
  const TrainingResult result = train(network, pool, split,
                                      {.optimizer = options.at("--optimizer"),
                                       .batch = number("--batch"),
                                       .steps = number("--steps"),
                                       .patience = number("--patience"),
                                       .seed = static_cast<std::uint64_t>(number("--seed"))},
                                      team, &progress);
  double squares = 0, absolute = 0, terms = 0;
  forecast(network, pool, test, team, [&](std::size_t i, std::span<const double> quantiles) {
    const SegmentWindow& window = test[i];
    for (std::size_t h = 0; h < at(horizon); ++h) {
      const double error =
          quantiles[shape.median() * at(horizon) + h] - series[at(window.series)][at(window.origin) + h];
      squares += error * error, absolute += std::fabs(error), ++terms;
    }
  });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf(
      "horizon %lld  seed %s  parameters %lld  best step %lld of %lld  validation %.4f  test windows %zu  MSE %.4f  "
      "MAE %.4f  %.0f s\n",
      static_cast<long long>(horizon), options.at("--seed").c_str(),
      static_cast<long long>(network.parameters().size()), static_cast<long long>(result.best_step),
      static_cast<long long>(result.steps), result.best_nats_per_symbol, test.size(), squares / terms, absolute / terms,
      seconds.count());
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) throw UsageError("bench_long_horizon TABLE TRAINING,VALIDATION,TEST [--horizon H ...]");
  run(argc, argv);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
