/// Checks that rows without an order are distinguished from series: for independent, autocorrelated, periodic and
/// sorted data.

#include "data/schema/inference/serial_dependence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "unfold/numerics/random.h"

namespace unfold {
namespace {

SerialDependence of_numbers(const std::vector<double>& values) {
  SerialDependence result;
  for (const double x : values) result.add(std::isnan(x) ? 0 : static_cast<std::uint64_t>(1000 + std::llround(x)), x);
  return result;
}

SerialDependence of_classes(const std::vector<Index>& classes) {
  SerialDependence result;
  for (const Index c : classes) result.add(static_cast<std::uint64_t>(c + 1), std::nan(""));
  return result;
}

std::vector<double> autoregression(Index count, double coefficient, std::uint64_t seed) {
  Random random(seed, "test");
  std::vector<double> values;
  double x = 0;
  for (Index i = 0; i < count; ++i) values.push_back(x = coefficient * x + random.normal());
  return values;
}

TEST(SerialDependence, FewOfManyIndependentColumnsSeemDependent) {
  Index found = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed)
    found += of_numbers(autoregression(50 + static_cast<Index>(seed), 0, seed)).depends({}) ? 1 : 0;
  EXPECT_LE(found, 15);  // 3 %, of single columns
}

TEST(SerialDependence, AutocorrelatedAndPeriodicNumbersDepend) {
  Index found = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) found += of_numbers(autoregression(100, 0.9, seed)).depends({});
  EXPECT_GE(found, 95);
  std::vector<double> sine, wave;
  for (Index i = 0; i < 60; ++i) {
    sine.push_back(100 * std::sin(0.3 * static_cast<double>(i)));
    wave.push_back(static_cast<double>(i % 4));
  }
  EXPECT_TRUE(of_numbers(sine).depends({}));
  EXPECT_TRUE(of_numbers(wave).depends({}));
}

TEST(SerialDependence, NumbersSortedByAClassAreIndependent) {
  Index found = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    std::vector<double> values = autoregression(150, 0, seed);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += 10.0 * static_cast<double>(i / 50);
    found += of_numbers(values).depends({.borders = 2}) ? 1 : 0;
  }
  EXPECT_LE(found, 3);
}

TEST(SerialDependence, StrictComparisonsSeldomErr) {
  Index independent = 0, dependent = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed)
    independent += of_numbers(autoregression(25 + static_cast<Index>(seed % 100), 0, seed)).depends({.strictly = true});
  for (std::uint64_t seed = 0; seed < 100; ++seed)
    dependent += of_numbers(autoregression(200, 0.9, seed)).depends({.strictly = true});
  EXPECT_LE(independent, 15);
  EXPECT_GE(dependent, 97);
}

/// Rows that are sorted by a number, to which the column is related.
TEST(SerialDependence, TrendsDoNotCount) {
  Index sorted = 0, series = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::vector<double> values = autoregression(100, 0, seed), walk = autoregression(200, 0.95, seed);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += 0.04 * static_cast<double>(i);
    sorted += of_numbers(values).depends({.trend = true}) ? 1 : 0;
    series += of_numbers(walk).depends({.trend = true}) ? 1 : 0;
  }
  EXPECT_LE(sorted, 8);
  EXPECT_GE(series, 160);
}

TEST(SerialDependence, ClassesInRunsDependAndShuffledClassesDoNot) {
  Random random(3, "test");
  std::vector<Index> runs, shuffled;
  for (Index i = 0; i < 200; ++i) {
    runs.push_back(i / 8 % 3);
    shuffled.push_back(static_cast<Index>(random.below(3)));
  }
  EXPECT_TRUE(of_classes(runs).depends({.numbers = false}));
  EXPECT_FALSE(of_classes(runs).sorted(false));
  EXPECT_FALSE(of_classes(shuffled).depends({.numbers = false}));
}

TEST(SerialDependence, SortedEntriesAreRecognized) {
  EXPECT_TRUE(of_numbers({1, 2, 2, 5}).sorted(true));
  EXPECT_TRUE(of_numbers({5, 2, std::nan(""), 1}).sorted(true));
  EXPECT_FALSE(of_numbers({5, 2, 3}).sorted(true));
  EXPECT_TRUE(of_classes({2, 2, 0, 0, 1}).sorted(false));
  EXPECT_FALSE(of_classes({2, 0, 2}).sorted(false));
}

TEST(SerialDependence, TooFewOrMissingEntriesDecideNothing) {
  EXPECT_FALSE(of_numbers({1, 2, 3, 4, 5, 6}).depends({}));
  EXPECT_FALSE(of_numbers(std::vector<double>(100, std::nan(""))).depends({}));
}

}  // namespace
}  // namespace unfold
