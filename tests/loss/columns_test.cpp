/// Distributions of vectors with binary, class and real columns, compared with explicit equations, sums over all
/// vectors, and finite differences.

#include "loss/density/columns.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <utility>

#include "tests/loss/density_checks.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

TEST(Columns, column_specification_round_trips) {
  for (const char* text : {"", "b", "n*3", "b*2+c4+n", "c2+c3+c2", "b+n+b*7+c1000*2"})
    EXPECT_EQ(to_string(parse_columns(text)), text);
  EXPECT_EQ(to_string(parse_columns("b+b+n*1")), "b*2+n");
  for (const char* text :
       {"x", "b*", "b*0", "c", "c0", "c1001", "b++n", "+", "b+", "b*-1", "b n", "c4x", "b*9999999999999"})
    EXPECT_THROW((void)parse_columns(text), UsageError) << text;
}

/// A row of columns as in the equations: concatenated inputs, with classes one-hot.
struct WrittenRow {
  std::vector<Column> columns;
  Index each;  // outputs of a number that is neither a bit nor a class
  Numbers inputs = {};
  std::vector<Index> first_input = {0}, first_output = {0};

  WrittenRow(const std::string& text, Index outputs, const double* x) : columns(parse_columns(text)), each(outputs) {
    for (std::size_t d = 0; d < columns.size(); ++d) {
      const bool is_class = columns[d].kind == Column::Kind::classes;
      for (Index k = 0; k < columns[d].inputs(); ++k)
        inputs.push_back(is_class ? (static_cast<double>(k) == x[d] ? 1 : 0) : x[d]);
      first_input.push_back(first_input.back() + columns[d].inputs());
      first_output.push_back(first_output.back() + outputs_of(d));
    }
  }
  Index outputs_of(std::size_t d) const { return columns[d].kind == Column::Kind::number ? each : columns[d].inputs(); }
  /// Returns -log p(x_d) from its outputs.
  double nats(std::size_t d, const Numbers& o, double x) const {
    switch (columns[d].kind) {
      case Column::Kind::bit: return bit_nats(o[0], x);
      case Column::Kind::number: return each == 2 ? normal_nats(x, o[0], o[1]) : mixture(o, x);
      case Column::Kind::classes: break;
    }
    double total = 0;
    for (const double each_o : o) total += std::exp(each_o);
    return std::log(total) - o[static_cast<std::size_t>(x)];
  }
  static double mixture(const Numbers& o, double x) {
    const std::size_t k = o.size() / 3;
    double total = 0, p = 0;
    for (std::size_t c = 0; c < k; ++c) {
      total += std::exp(o[c]);
      p += std::exp(o[c] - normal_nats(x, o[k + c], o[2 * k + c]));
    }
    return std::log(total / p);
  }
};

/// Returns o_d as the network of a model computes it, from the row and the signal.
using WrittenNet = std::function<Numbers(const DensityRows<double>&, const WrittenRow&, const double* signal, Index d)>;

Numbers biases_of(const WrittenRow& row, const double* signal, Index d) {
  return {signal + row.first_output[at(d)], signal + row.first_output[at(d + 1)]};
}

WrittenNet nade_written(Index units, bool relu) {
  return [=](const DensityRows<double>& f, const WrittenRow& row, const double* signal, Index d) {
    Numbers o = biases_of(row, signal, d);
    for (Index h = 0; h < units; ++h) {
      double a = signal[row.first_output.back() + h];
      for (Index j = 0; j < row.first_input[at(d)]; ++j) a += f.own(1)[j * units + h] * row.inputs[at(j)];
      const double unit = relu ? std::max(a, 0.0) : logistic(a);
      for (std::size_t i = 0; i < o.size(); ++i)
        o[i] += f.own(0)[(row.first_output[at(d)] + static_cast<Index>(i)) * units + h] * unit;
    }
    return o;
  };
}

Numbers linear_written(const DensityRows<double>& f, const WrittenRow& row, const double* signal, Index d) {
  Numbers o = biases_of(row, signal, d);
  const auto moved = [&](Index i) {
    return row.columns[at(i)].kind == Column::Kind::classes ? row.outputs_of(at(i)) : Index{1};
  };
  const double* u = f.own(0);
  for (Index i = 0; i < d; ++i) u += moved(i) * row.first_input[at(i)];
  for (Index i = 0; i < moved(d); ++i)
    for (Index j = 0; j < row.first_input[at(d)]; ++j) o[at(i)] += *u++ * row.inputs[at(j)];
  return o;
}

WrittenNet neural_written(Index units, Index layers = 1) {
  return [=](const DensityRows<double>& f, const WrittenRow& row, const double* signal, Index d) {
    Numbers o = biases_of(row, signal, d), groups;
    const double* w = f.own(1);
    for (Index g = 0; g < d; ++g) {
      const Index reads = row.first_input[at(g + 1)];
      for (Index h = 0; h < units; ++h) {
        double a = f.own(2)[g * units + h];
        for (Index j = 0; j < reads; ++j) a += w[j * units + h] * row.inputs[at(j)];
        groups.push_back(std::tanh(a));
      }
      w += reads * units;
    }
    for (Index layer = 1; layer < layers; ++layer) {
      const Numbers below = groups;
      w = f.own(at(2 * layer + 1));
      for (Index i = 0; i < d * units; ++i) {
        double a = f.own(at(2 * layer + 2))[i];
        for (Index j = 0; j < (i / units + 1) * units; ++j) a += *w++ * below[at(j)];
        groups[at(i)] = std::tanh(a);
      }
    }
    const double* v = f.own(0);
    for (Index i = 0; i < d; ++i) v += row.outputs_of(at(i)) * i * units;
    for (double& each : o)
      for (const double h : groups) each += *v++ * h;
    return o;
  };
}

WrittenNet made_written(Index units, Index layers) {
  return [=](const DensityRows<double>& f, const WrittenRow& row, const double* signal, Index d) {
    const auto n = static_cast<Index>(row.columns.size());
    Numbers below = row.inputs;
    std::vector<Index> degrees;
    for (Index j = 0; j < n; ++j) degrees.insert(degrees.end(), at(row.columns[at(j)].inputs()), j + 1);
    const double* bias = signal + row.first_output.back();
    for (Index layer = 0; layer < layers; ++layer) {
      const double* w = f.own(at(1 + layer));
      Numbers here;
      std::vector<Index> here_degrees;
      for (Index k = 0; k < units; ++k) {
        here_degrees.push_back(1 + k * (n - 1) / units);
        double a = *bias++;
        for (std::size_t j = 0; j < below.size(); ++j)
          if (degrees[j] <= here_degrees.back()) a += *w++ * below[j];
        here.push_back(std::max(a, 0.0));
      }
      below = here;
      degrees = here_degrees;
    }
    const double* v = f.own(0);
    Numbers o;
    for (Index i = 0; i <= d; ++i) {
      o = biases_of(row, signal, i);
      for (double& each : o)
        for (std::size_t k = 0; k < below.size(); ++k)
          if (degrees[k] <= i) each += *v++ * below[k];
    }
    return o;
  };
}

struct ColumnsCase {
  std::string model, columns;
  Index each;  // outputs of a number
  WrittenNet net;
  std::string spec() const { return model + (model.find(':') == std::string::npos ? ":" : ",") + "columns=" + columns; }
};

void PrintTo(const ColumnsCase& c, std::ostream* out) { *out << c.spec(); }

std::vector<ColumnsCase> all_columns() {
  return {{"nade:3", "c3+b*2+c2+c4", 0, nade_written(3, false)},
          {"nade:2", "c5", 0, nade_written(2, false)},
          {"made:7,layers=2", "b+c3+c2+b", 0, made_written(7, 2)},
          {"made:5", "c3+c4", 0, made_written(5, 1)},
          {"neural-ar:2", "c3+b+c4+b", 0, neural_written(2)},
          {"neural-ar:2,layers=3", "c3+b+c4+b", 0, neural_written(2, 3)},
          {"logistic-ar", "c3+b+c4+b*2+c2", 0, linear_written},
          {"linear-ar", "n+c3+n*2+c2", 2, linear_written},
          {"rnade:4,components=2", "n+c3+b+n*2+c4", 6, nade_written(4, true)},
          {"rnade:3,components=1,activation=sigmoid", "c2+n*2+b", 3, nade_written(3, false)}};
}

/// Rows whose values match their columns.
template <class T>
struct ColumnRows : DensityRows<T> {
  ColumnRows(const ColumnsCase& c, Index rows)
      : DensityRows<T>(c.spec(), static_cast<Index>(parse_columns(c.columns).size()), rows, true) {
    const std::vector<Column> columns = parse_columns(c.columns);
    Random random(5, "columns");
    for (std::size_t i = 0; i < this->values.size(); ++i) {
      const Column column = columns[i % columns.size()];
      const std::uint64_t many = column.kind == Column::Kind::bit ? 2 : static_cast<std::uint64_t>(column.classes);
      this->values[i] = static_cast<T>(column.kind == Column::Kind::number ? random.normal()
                                                                           : static_cast<double>(random.below(many)));
    }
  }
};

class EveryColumns : public testing::TestWithParam<ColumnsCase> {
 protected:
  std::vector<Column> columns() const { return parse_columns(GetParam().columns); }
  Index count() const { return static_cast<Index>(columns().size()); }
  bool is_discrete() const { return GetParam().columns.find('n') == std::string::npos; }
  ColumnRows<double> rows() const { return {GetParam(), 6}; }
  /// Enumerates all values of bits and classes, some of them fixed; numbers keep the values of row 0.
  std::vector<Numbers> all_vectors(const DensityRows<double>& f) const {
    std::vector<Numbers> all = {{}};
    for (Index d = 0; d < count(); ++d) {
      const Column column = columns()[at(d)];
      std::vector<Numbers> longer;
      for (const Numbers& before : all)
        for (Index k = 0; k < (column.kind == Column::Kind::bit ? 2 : std::max<Index>(1, column.classes)); ++k) {
          longer.push_back(before);
          longer.back().push_back(column.kind == Column::Kind::number ? f.values[at(d)] : static_cast<double>(k));
        }
      all = longer;
    }
    return all;
  }
  static double probability(const DensityRows<double>& f, const Numbers& x) {
    Team team(1);
    const Structure one = Structure::chains(std::vector<Index>{1});
    double nats = 0;
    f.loss->negative_log_likelihood(
        {one, {f.signal.data(), 1, f.size, f.size}, {nullptr, {x.data(), 1, f.n, f.n}, nullptr}, f.parameters}, team,
        &nats);
    return std::exp(-nats);
  }
};

TEST_P(EveryColumns, columns_have_the_nats_of_their_equations) {
  const ColumnRows<double> f = rows();
  const Numbers found = f.nats();
  for (Index r = 0; r < f.rows(); ++r) {
    if (f.predicted[at(r)] == 0) continue;
    const double *signal = f.signal.data() + r * f.size, *x = f.values.data() + r * f.n;
    const WrittenRow row(GetParam().columns, GetParam().each, x);
    double sum = 0;
    for (Index d = 0; d < f.n; ++d) sum += row.nats(at(d), GetParam().net(f, row, signal, d), x[d]);
    EXPECT_NEAR(found[at(r)], sum, 1e-11) << r;
  }
}

TEST_P(EveryColumns, bit_and_class_probabilities_sum_to_one) {
  if (!is_discrete()) return;
  const ColumnRows<double> f = rows();
  double sum = 0;
  for (const Numbers& x : all_vectors(f)) sum += probability(f, x);
  EXPECT_NEAR(sum, 1, 1e-12);
}

TEST_P(EveryColumns, conditional_probabilities_equal_sums_over_all_vectors) {
  if (!is_discrete()) return;
  const ColumnRows<double> f = rows();
  const std::vector<Numbers> all = all_vectors(f);
  for (Index d = 0; d < f.n; ++d) {
    std::vector<char> known(at(f.n));
    for (Index j = 0; j < d; ++j) known[at(j)] = 1;
    const Numbers given(f.values.begin(), f.values.begin() + f.n);
    Numbers wanted(at(std::max<Index>(2, columns()[at(d)].classes)));
    double total = 0;
    for (const Numbers& x : all) {
      if (!std::equal(x.begin(), x.begin() + d, given.begin())) continue;
      const double p = probability(f, x);
      wanted[static_cast<std::size_t>(x[at(d)])] += p;
      total += p;
    }
    const Numbers found = f.density().probabilities(f.question(0), known, given, d);
    ASSERT_LE(found.size(), wanted.size());
    for (std::size_t k = 0; k < found.size(); ++k) EXPECT_NEAR(found[k], wanted[k] / total, 1e-12) << d << " " << k;
  }
}

TEST_P(EveryColumns, column_gradient_matches_signal_and_parameters) { expect_gradient_of_nats(rows(), 2e-8); }

TEST_P(EveryColumns, linear_column_curvature_equals_differences_of_the_gradient) {
  if (!GetParam().spec().starts_with("logistic-ar")) return;  // for other models it is not the Hessian
  ColumnRows<double> f = rows();
  const Numbers v = random_direction(f, 3), found = curved(f, v);
  const std::size_t n = f.signal.size();
  constexpr double kStep = 1e-5;
  const auto moved = [&](double step) {
    for (std::size_t i = 0; i < v.size(); ++i) (i < n ? f.signal[i] : f.parameters[i - n]) += step * v[i];
    return slopes_of(f);
  };
  const Slopes<double> above = moved(kStep), below = moved(-2 * kStep);
  for (std::size_t i = 0; i < v.size(); ++i) {
    const double difference = i < n ? above.adjoint[i] - below.adjoint[i] : above.own[i - n] - below.own[i - n];
    EXPECT_NEAR(found[i], difference / (2 * kStep), 1e-7) << i;
  }
}

TEST_P(EveryColumns, column_curvature_is_symmetric_and_nonnegative) {
  const ColumnRows<double> f = rows();
  const Numbers u = random_direction(f, 7), v = random_direction(f, 8), gu = curved(f, u), gv = curved(f, v);
  EXPECT_NEAR(inner(gu, v), inner(gv, u), 1e-10 * std::fabs(inner(gu, v)) + 1e-10);
  EXPECT_GE(inner(gu, u), 0);
}

TEST_P(EveryColumns, column_bits_do_not_depend_on_threads) {
  const ColumnRows<float> f(GetParam(), 23);
  EXPECT_EQ(slopes_of(f, 1.0F, 1), slopes_of(f, 1.0F, 3));
}

TEST_P(EveryColumns, classes_are_sampled_with_their_probabilities) {
  const ColumnRows<double> f = rows();
  const std::vector<char> known(at(f.n));
  const Numbers found = f.density().probabilities(f.question(0), known, Numbers(at(f.n)), 0);
  Random random(11, "draws");
  Numbers counts(std::max<std::size_t>(1, found.size()));
  constexpr int kDraws = 4000;
  for (int i = 0; i < kDraws; ++i) {
    Numbers x(at(f.n));
    EXPECT_EQ(f.density().sample(f.question(0), random, known, x), 0);
    for (Index d = 0; d < f.n; ++d)
      if (columns()[at(d)].kind == Column::Kind::classes) {
        EXPECT_GE(x[at(d)], 0);
        EXPECT_LT(x[at(d)], static_cast<double>(columns()[at(d)].classes));
      }
    if (!found.empty()) counts[static_cast<std::size_t>(x[0])] += 1.0 / kDraws;
  }
  for (std::size_t k = 0; k < found.size(); ++k) EXPECT_NEAR(counts[k], found[k], 0.04) << k;
}

INSTANTIATE_TEST_SUITE_P(All, EveryColumns, testing::ValuesIn(all_columns()));

TEST(Columns, values_outside_the_classes_are_rejected) {
  DensityRows<double> f("nade:2,columns=c3+b", 2, 1, true);
  f.predicted = {1};
  f.values = {2, 1};
  EXPECT_NO_THROW((void)f.nats());
  for (const double x : {3.0, -1.0, 0.5, std::nan("")}) {
    f.values[0] = x;
    EXPECT_THROW((void)f.nats(), DataError) << x;
  }
  EXPECT_THROW((void)choose_loss("nade:2,columns=n+b").make<float>(), UsageError);
  EXPECT_THROW((void)choose_loss("nade:2,rounds=2,columns=c3").make<float>(), UsageError);
  EXPECT_THROW((void)choose_loss("nade:2,columns=c3+q").make<float>(), UsageError);
}

}  // namespace
}  // namespace unfold
