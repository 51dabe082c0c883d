#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <sstream>

#include "app/reproduce/reproduction.h"
#include "data/files/idx.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

constexpr Index kRowFolds = 10;

/// Numbers in named columns, in the order of the file.
struct NumberTable {
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> rows;
};

std::vector<std::string> cells_of(const std::string& line, char separator) {
  std::vector<std::string> cells(1);
  for (const char c : line) {
    if (c == separator)
      cells.emplace_back();
    else if (c != '"' && c != '\r')
      cells.back() += c;
  }
  return cells;
}

/// Reads the columns of measurements; skips strings, classes and columns with few distinct values.
NumberTable read_numbers(const std::string& path, char separator, bool heading,
                         const std::vector<std::size_t>& left_out) {
  const Input input = Input::open(path);
  std::istringstream stream{std::string(input.bytes())};
  NumberTable table;
  for (std::string line; std::getline(stream, line);) {
    if (line.empty()) continue;
    std::vector<std::string> cells = cells_of(line, separator), kept;
    for (std::size_t c = 0; c < cells.size(); ++c)
      if (std::ranges::find(left_out, c) == left_out.end()) kept.push_back(cells[c]);
    if (table.names.empty() && heading)
      table.names = kept;
    else
      table.rows.push_back(kept);
  }
  for (std::size_t c = table.names.size(); !table.rows.empty() && c < table.rows.front().size(); ++c)
    table.names.push_back(fmt::format("x{}", c + 1));
  return table;
}

std::vector<double> numbers_of(const NumberTable& table, std::size_t column) {
  std::vector<double> numbers;
  for (const std::vector<std::string>& row : table.rows) {
    double x = 0;
    const std::string& text = row.at(column);
    if (std::from_chars(text.data(), text.data() + text.size(), x).ec != std::errc())
      throw DataError(fmt::format("column {1}: \"{0}\" is not a number", text, table.names.at(column)));
    numbers.push_back(x);
  }
  return numbers;
}

double correlation(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  const double mx = std::accumulate(x.begin(), x.end(), 0.0) / n, my = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mx) * (y[i] - my);
    xx += (x[i] - mx) * (x[i] - mx);
    yy += (y[i] - my) * (y[i] - my);
  }
  return xx * yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

/// Removes the second column of each pair whose correlation is above 0.98 (Uria, Murray & Larochelle 2013).
void drop_twins(NumberTable& table) {
  constexpr double kTwin = 0.98;
  std::vector<std::vector<double>> kept;
  NumberTable result{{}, std::vector<std::vector<std::string>>(table.rows.size())};
  for (std::size_t c = 0; c < table.names.size(); ++c) {
    std::vector<double> numbers = numbers_of(table, c);
    const auto is_twin = [&](const std::vector<double>& other) {
      return std::abs(correlation(numbers, other)) > kTwin;
    };
    if (std::ranges::any_of(kept, is_twin)) continue;
    kept.push_back(std::move(numbers));
    result.names.push_back(table.names[c]);
    for (std::size_t r = 0; r < table.rows.size(); ++r) result.rows[r].push_back(table.rows[r][c]);
  }
  table = std::move(result);
}

/// Shuffles the rows with seed 1 and writes ten folds, STEM-F.train.csv, STEM-F.valid.csv and STEM-F.test.csv for F = 1
/// ... 10. Fold f tests on every tenth row starting with f, validates on a tenth of the other rows and trains on the
/// rest.
void write_row_folds(NumberTable table, const std::string& stem) {
  drop_twins(table);
  Random random(1, "folds");
  for (std::size_t i = table.rows.size(); i > 1; --i) std::swap(table.rows[i - 1], table.rows[random.below(i)]);
  for (Index fold = 0; fold < kRowFolds; ++fold) {
    std::string parts[3];
    for (std::string& part : parts) part = fmt::format("{}\n", fmt::join(table.names, ","));
    Index others = 0;
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
      const bool tested = static_cast<Index>(r) % kRowFolds == fold;
      const std::size_t part = tested ? 2 : others++ % kRowFolds == 0 ? 1 : 0;
      parts[part] += fmt::format("{}\n", fmt::join(table.rows[r], ","));
    }
    write_file_atomically(fmt::format("{}-{}.train.csv", stem, fold + 1), parts[0]);
    write_file_atomically(fmt::format("{}-{}.valid.csv", stem, fold + 1), parts[1]);
    write_file_atomically(fmt::format("{}-{}.test.csv", stem, fold + 1), parts[2]);
  }
}

void make_red_wine(const std::string& data, const std::string& stem) {
  write_row_folds(read_numbers(data + "/density/winequality-red.csv", ';', true, {11}), stem);
}

void make_white_wine(const std::string& data, const std::string& stem) {
  write_row_folds(read_numbers(data + "/density/winequality-white.csv", ';', true, {11}), stem);
}

/// Writes folds of 195 rows with the 16 columns that remain after drop_twins. The published results are for a different
/// version with 15 columns: a single Gaussian is 2.4 nats worse on this one, while the results on the other three data
/// sets agree within 0.1 (docs/results/density.md).
void make_parkinsons(const std::string& data, const std::string& stem) {
  write_row_folds(read_numbers(data + "/density/parkinsons.data", ',', true, {0, 17}), stem);
}

void make_ionosphere(const std::string& data, const std::string& stem) {
  write_row_folds(read_numbers(data + "/density/ionosphere.data", ',', false, {0, 1, 34}), stem);
}

/// Returns a byte array in the format of numpy.save, version 1.
std::string npy_of_bytes(Index rows, Index cols, const std::string& bytes) {
  std::string header = fmt::format("{{'descr': '|u1', 'fortran_order': False, 'shape': ({}, {}), }}", rows, cols);
  constexpr std::size_t kFixed = 10, kAligned = 64;
  header.append(kAligned - 1 - (kFixed + header.size()) % kAligned, ' ');
  header += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size() & 0xFFU);
  out += static_cast<char>(header.size() >> 8U);
  return out + header + bytes;
}

/// Writes binarized digits: each pixel is 1 with the probability of its gray level, drawn once with seed 1. The first
/// 50,000 images are for training, the following 10,000 for validation, and the 10,000 test images for testing.
void make_binary_digits(const std::string& data, const std::string& stem) {
  constexpr Index kTrain = 50'000;
  constexpr double kWhite = 255;
  Random random(1, "binarised mnist");
  const auto binarized = [&](const char* file) {
    const Idx images = Idx::open(data + "/mnist/" + file);
    std::string bits;
    for (const std::uint8_t grey : images.bytes()) bits += static_cast<char>(kWhite * random.uniform() < grey);
    return bits;
  };
  const std::string training = binarized("train-images-idx3-ubyte.gz"), test = binarized("t10k-images-idx3-ubyte.gz");
  constexpr Index kPixels = 28 * 28;
  const auto write = [&](const char* part, const std::string& bits) {
    const auto rows = static_cast<Index>(bits.size()) / kPixels;
    write_file_atomically(fmt::format("{}.{}.npy", stem, part), npy_of_bytes(rows, kPixels, bits));
  };
  write("train", training.substr(0, kTrain * kPixels));
  write("valid", training.substr(kTrain * kPixels));
  write("test", test);
}

Variant of_bits(const std::string& set, double success) {
  const std::string file = "{data}/nade/" + set;
  return {.label = set,
          .arguments =
              fmt::format("{0}.train.data.gz --valid {0}.valid.data.gz --test {0}.test.data.gz --format table", file),
          .success = success};
}

Reproduction tables_of_bits() {
  const std::vector<Variant> all = {of_bits("nltcs", 6.05),  of_bits("mushrooms", 9.7), of_bits("dna", 82.3),
                                    of_bits("plants", 12.9), of_bits("jester", 52.9),   of_bits("nips", 272.4)};
  return {.name = "density",
          .title = "Rows of bits",
          .source = "Larochelle and Murray 2011 (mushrooms, dna, nips); Lowd and Davis 2010 (nltcs, plants, jester)",
          .measure = "/test/heads/values/nats_per_example",
          .measure_text = "nats per row on the test set",
          .curve = "nats_per_symbol",
          .curve_text = "validation, nats",
          .rows = {{"independent bits", "--model bernoulli-mixture:1"},
                   {"mixture", "--model bernoulli-mixture:50"},
                   {"logistic regression", "--model logistic-ar"},
                   {"NADE", "--model nade:200"},
                   {"MADE", "--model made:200"},
                   {"deep NADE, 16 orders", "--model deep-nade:500"},
                   {"one layer, direct connections, 16 orders", "--model deep-nade:500,layers=1,direct=true"}},
          .small = {.columns = {all[0], all[1], all[2]}, .seeds = 1, .budget = "--epochs 10"},
          .full = {.columns = all, .seeds = 1, .budget = ""},
          .theirs = {{{"NADE", "mushrooms"}, "9.81 (Uria et al. 2014)"},
                     {{"NADE", "dna"}, "84.81 (Uria et al. 2014)"},
                     {{"NADE", "nips"}, "273.08 (Uria et al. 2014)"},
                     {{"deep NADE, 16 orders", "mushrooms"}, "9.68 (EoNADE, Uria et al. 2014)"},
                     {{"deep NADE, 16 orders", "dna"}, "82.31 (EoNADE, Uria et al. 2014)"},
                     {{"deep NADE, 16 orders", "nips"}, "272.39 (EoNADE, Uria et al. 2014)"}},
          .data = "nade"};
}

Variant of_numbers(const std::string& label, void (*prepare)(const std::string&, const std::string&), double success) {
  return {.label = label,
          .arguments =
              "{made}-{seed}.train.csv --valid {made}-{seed}.valid.csv --test {made}-{seed}.test.csv "
              "--format table",
          .prepare = prepare,
          .success = success};
}

Reproduction tables_of_numbers() {
  const std::vector<Variant> all = {
      of_numbers("red wine", make_red_wine, 9.4), of_numbers("white wine", make_white_wine, 10.2),
      of_numbers("parkinsons", make_parkinsons, 0.9), of_numbers("ionosphere", make_ionosphere, 2.5)};
  return {.name = "density",
          .title = "Rows of numbers",
          .source =
              "Uria, Murray and Larochelle 2013 and 2014: ten folds, one per seed; without classes and counts, and "
              "without the second of two columns whose correlation exceeds 0.98",
          .measure = "/test/heads/values/standardised_nats",
          .measure_text = "nats per test row, standardized numbers",
          .curve = "nats_per_symbol",
          .curve_text = "validation, nats",
          .rows = {{"one Gaussian", "--model linear-ar"},
                   {"five Gaussians", "--model gaussian-mixture:5"},
                   {"RNADE", "--model rnade:50,components=20"},
                   {"deep RNADE, 128 orders", "--model deep-rnade:200,layers=2,orders=128"}},
          .small = {.columns = {all[0], all[2]}, .seeds = 1, .budget = "--epochs 30"},
          .full = {.columns = all, .seeds = kRowFolds, .budget = ""},
          .theirs = {{{"one Gaussian", "red wine"}, "13.18 (Uria et al. 2013)"},
                     {{"RNADE", "red wine"}, "9.36 (Uria et al. 2013)"},
                     {{"deep RNADE, 128 orders", "red wine"}, "8.76 (six layers, Uria et al. 2014)"},
                     {{"one Gaussian", "white wine"}, "13.20 (Uria et al. 2013)"},
                     {{"RNADE", "white wine"}, "10.23 (Uria et al. 2013)"},
                     {{"deep RNADE, 128 orders", "white wine"}, "9.67 (six layers, Uria et al. 2014)"},
                     {{"one Gaussian", "parkinsons"}, "10.85 on other data (Uria et al. 2013)"},
                     {{"RNADE", "parkinsons"}, "0.90 on other data (Uria et al. 2013)"},
                     {{"one Gaussian", "ionosphere"}, "41.24 (Uria et al. 2013)"},
                     {{"RNADE", "ionosphere"}, "2.50 (Uria et al. 2013)"}},
          .data = "density"};
}

Reproduction binary_digits() {
  const Variant column{.label = "binarized MNIST",
                       .arguments = "{made}.train.npy --valid {made}.valid.npy --test {made}.test.npy --format npy",
                       .prepare = make_binary_digits,
                       .success = 88.9};
  return {
      .name = "density",
      .title = "Binary digits",
      .source = "MNIST, binarized once at random by gray level with seed 1; 50,000 for training, 10,000 for validation",
      .measure = "/test/heads/values/nats_per_example",
      .measure_text = "test nats per digit",
      .curve = "nats_per_symbol",
      .curve_text = "validation, nats",
      .rows = {{"NADE", "--model nade:500"}, {"deep NADE", "--model deep-nade:500,orders=1"}},
      .small = {},
      .full = {.columns = {column}, .seeds = 1, .budget = "--epochs 30"},
      .theirs = {{{"NADE", column.label}, "88.33 (Uria et al. 2014)"},
                 {{"deep NADE", column.label}, "85.10 (128 orders, Uria et al. 2014)"}},
      .data = "mnist"};
}

}  // namespace

std::vector<Reproduction> density_reproductions() { return {tables_of_bits(), tables_of_numbers(), binary_digits()}; }

}  // namespace unfold
