#include "unfold/numerics/pointwise.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "numerics/bound_program.h"
#include "numerics/functions.h"
#include "numerics/simd.h"
#include "unfold/numerics/random.h"

namespace unfold::pointwise_test {
namespace {

constexpr double kConstant = 0.75;

std::vector<Map> all_maps() {
  std::vector<Map> maps;
  for (int m = 0; m < kMapCount; ++m) maps.push_back(static_cast<Map>(m));
  return maps;
}

TEST(MapInfo, map_info_names_equal_enumerators) {
  EXPECT_EQ(map_info(Map::add).name, "add");
  EXPECT_EQ(map_info(Map::one_minus).name, "one_minus");
  EXPECT_EQ(map_info(Map::copy).name, "copy");
  EXPECT_EQ(map_info(Map::mul).arity, 2);
  EXPECT_EQ(map_info(Map::tanh).arity, 1);
  EXPECT_TRUE(map_info(Map::scale).has_constant);
}

TEST(MapPartial, partials_agree_with_central_differences) {
  for (const Map map : all_maps()) {
    for (const double x0 : {-2.3, -0.4, 0.3, 1.7}) {
      if (map == Map::log && x0 < 0) continue;
      for (const double x1 : {-1.1, 0.6}) {
        const double y = map_value(map, x0, x1, kConstant), h = 1e-5;
        for (int input = 0; input < map_info(map).arity; ++input) {
          const double h0 = input == 0 ? h : 0, h1 = input == 1 ? h : 0;
          const double slope =
              (map_value(map, x0 + h0, x1 + h1, kConstant) - map_value(map, x0 - h0, x1 - h1, kConstant)) / (2 * h);
          EXPECT_NEAR(map_partial(map, input, x0, x1, y, kConstant), slope, 1e-9 * (1 + std::fabs(slope)))
              << map_info(map).name << " by input " << input << " at " << x0 << ", " << x1;
        }
      }
    }
  }
}

TEST(MapPartial, partials_read_only_the_values_in_the_table) {
  const double x0 = 0.7, x1 = -0.3, other = 123;
  for (const Map map : all_maps()) {
    const MapInfo& info = map_info(map);
    const double y = map_value(map, x0, x1, kConstant);
    for (int input = 0; input < info.arity; ++input) {
      const double want = map_partial(map, input, x0, x1, y, kConstant);
      const bool input_seen = want != map_partial(map, input, other, other, y, kConstant);
      const bool output_seen =
          want != map_partial(map, input, x0, x1, other, kConstant) && map != Map::relu && map != Map::hard_sigmoid;
      EXPECT_TRUE(info.needs_input || !input_seen) << info.name;
      EXPECT_TRUE(info.needs_output || !output_seen) << info.name;
    }
    EXPECT_EQ(info.has_constant, y != map_value(map, x0, x1, 5)) << info.name;
  }
}

TEST(MapPartial, relu_partial_is_zero_at_zero) {
  EXPECT_EQ(map_partial(Map::relu, 0, 0, 0, 0, 0), 0);
  EXPECT_TRUE(std::isnan(map_value(Map::relu, std::nan(""), 0, 0)));
}

TEST(MapPartial, hard_sigmoid_partial_is_zero_where_clipped) {
  for (const double x : {-1e30, -2.0, 2.0, 1e30}) {
    const double y = map_value(Map::hard_sigmoid, x, 0, 0);
    EXPECT_EQ(y, x < 0 ? 0 : 1) << x;
    EXPECT_EQ(map_partial(Map::hard_sigmoid, 0, x, 0, y, 0), 0) << x;
  }
  EXPECT_EQ(map_value(Map::hard_sigmoid, 1, 0, 0), 0.75);
  EXPECT_TRUE(std::isnan(map_value(Map::hard_sigmoid, std::nan(""), 0, 0)));
}

TEST(PathReading, path_reading_exists_for_homogeneous_maps_and_is_the_squared_slope) {
  for (const Map map : all_maps()) {
    const MapInfo& info = map_info(map);
    bool homogeneous = true;
    for (const double x0 : {-1.3, 0.8}) {
      for (const double x1 : {-0.6, 2.1}) {
        for (const double a : {0.5, 3.0}) {
          if (map == Map::log && x0 < 0) continue;
          const double scaled = map_value(map, a * x0, a * x1, kConstant), y = map_value(map, x0, x1, kConstant);
          homogeneous = homogeneous && std::fabs(scaled - a * y) < 1e-12;
        }
      }
    }
    EXPECT_EQ(info.homogeneous, homogeneous) << info.name;
    ASSERT_EQ(info.path_coefficient != nullptr, homogeneous) << info.name;
    if (!homogeneous) continue;
    for (int input = 0; input < info.arity; ++input) {
      const double slope = map_partial(map, input, 1.0, 1.0, map_value(map, 1.0, 0.5, kConstant), kConstant);
      EXPECT_EQ(info.path_coefficient(input, kConstant), slope * slope) << info.name;
    }
  }
}

/// Slots of the tests: all memory that an instruction can access.
enum Slot { kOut, kX0, kX1, kY, kSeed, kSlots };

/// A matrix with a custom stride, in memory whose gaps hold canaries.
template <class T>
struct Field {
  Index rows, cols, stride;
  std::vector<T> memory;
  Operand<T> operand() { return {memory.data(), stride}; }
  T at(Index r, Index c) const { return memory[static_cast<std::size_t>(r * stride + c)]; }
};

template <class T>
Field<T> field(Index rows, Index cols, Index stride, Random& random, bool positive) {
  Field<T> f{rows, cols, stride, std::vector<T>(static_cast<std::size_t>(rows * std::max(stride, cols) + cols))};
  for (T& v : f.memory) {
    v = static_cast<T>(2 * random.normal());
    if (positive) v = std::fabs(v) + T{0.01};
  }
  return f;
}

/// Partial derivatives that read the stored y need a y that is a value of the map, as in the reference.
template <class T>
T plausible_output(Map map, T x) {
  return static_cast<T>(map_value(map, x, x, kConstant));
}

template <class T>
std::vector<Instruction> every_instruction() {
  std::vector<Instruction> all;
  for (const Map map : all_maps()) {
    for (const Rule rule : {Rule::value, Rule::linear, Rule::squared}) {
      const int inputs = rule == Rule::value ? 1 : map_info(map).arity;
      for (int input = 0; input < inputs; ++input) {
        for (const bool accumulate : {false, true}) {
          Instruction i{.map = map,
                        .rule = rule,
                        .input = static_cast<unsigned char>(input),
                        .accumulate = accumulate,
                        .out = kOut,
                        .x0 = kX0,
                        .x1 = kX1,
                        .y = kY,
                        .seed = kSeed,
                        .k = kConstant};
          if (map_info(map).arity == 1) i.x1 = -1;
          if (rule == Rule::value) i.y = i.seed = -1;
          all.push_back(i);
        }
      }
    }
  }
  return all;
}

template <class T>
double reference(const Instruction& i, T x0, T x1, T y, T seed, T before) {
  double term = 0;
  if (i.rule == Rule::value) {
    term = map_value(i.map, x0, x1, i.k);
  } else {
    const double slope = map_partial(i.map, i.input, x0, x1, y, i.k);
    term = (i.rule == Rule::linear ? slope : slope * slope) * seed;
  }
  return i.accumulate ? before + term : term;
}

template <class T>
void check_against_reference(Index rows, Index cols, Index gap, bool repeat_x1) {
  Random random(1, "reference");
  PointwiseScratch<T> scratch;
  for (const Instruction& i : every_instruction<T>()) {
    const bool positive = i.map == Map::log;
    Field<T> out = field<T>(rows, cols, cols + gap, random, false),
             x0 = field<T>(rows, cols, cols + 2 * gap, random, positive),
             x1 = field<T>(rows, cols, repeat_x1 ? 0 : cols, random, false),
             y = field<T>(rows, cols, cols, random, false), seed = field<T>(rows, cols, cols + gap, random, false);
    for (T& v : y.memory) v = plausible_output(i.map, positive ? std::fabs(v) + T{0.01} : v);
    if (!i.accumulate) std::fill(out.memory.begin(), out.memory.end(), std::numeric_limits<T>::quiet_NaN());
    const Field<T> before = out;
    const Operand<T> operands[] = {out.operand(), x0.operand(), x1.operand(), y.operand(), seed.operand()};
    run_pointwise<T>(std::span(&i, 1), operands, rows, {0, cols}, scratch);
    for (Index r = 0; r < rows; ++r) {
      for (Index c = 0; c < out.stride; ++c) {
        const T got = out.at(r, c), old = before.at(r, c);
        if (c >= cols) {
          ASSERT_EQ(std::memcmp(&got, &old, sizeof(T)), 0) << "wrote between the rows";
          continue;
        }
        const double want = reference<T>(i, x0.at(r, c), x1.at(r, c), y.at(r, c), seed.at(r, c), old);
        const double size = std::fabs(want) + (i.accumulate ? std::fabs(old) : 0);
        const double slack = i.rule == Rule::value ? 0 : std::fabs(seed.at(r, c));
        ASSERT_NEAR(got, want, 8 * std::numeric_limits<T>::epsilon() * size + std::numeric_limits<T>::epsilon() * slack)
            << map_info(i.map).name << " rule " << static_cast<int>(i.rule) << " input " << int{i.input}
            << " accumulate " << i.accumulate << " at " << r << ", " << c;
      }
    }
  }
}

template <class T>
void check_shapes() {
  check_against_reference<T>(1, 1, 0, false);
  check_against_reference<T>(3, 5, 2, true);
  check_against_reference<T>(5, 16, 0, false);
  check_against_reference<T>(4, 23, 1, true);
  check_against_reference<T>(2, 70, 3, false);
}

TEST(Pointwise, every_instruction_agrees_with_the_reference_on_every_instruction_set) {
  for (const std::string& target : simd_available()) {
    simd_limit(target);
    check_shapes<float>();
    check_shapes<double>();
  }
  simd_limit(simd_available().front());
}

/// An LSTM-like program with scratch slots, accumulation, a repeated row and an output in place.
enum Net { kZi, kZf, kZg, kBias, kCell, kHidden, kI, kF, kG, kT, kGrad, kNetSlots };
const Instruction kNet[] = {
    {.map = Map::add, .out = kI, .x0 = kZi, .x1 = kBias},
    {.map = Map::sigmoid, .out = kI, .x0 = kI},
    {.map = Map::sigmoid, .out = kF, .x0 = kZf},
    {.map = Map::tanh, .out = kG, .x0 = kZg},
    {.map = Map::mul, .out = kCell, .x0 = kCell, .x1 = kF},
    {.map = Map::mul, .accumulate = true, .out = kCell, .x0 = kI, .x1 = kG},
    {.map = Map::tanh, .out = kT, .x0 = kCell},
    {.map = Map::softplus, .out = kHidden, .x0 = kT},
    {.map = Map::tanh, .rule = Rule::linear, .out = kGrad, .y = kT, .seed = kHidden},
    {.map = Map::mul, .rule = Rule::squared, .input = 1, .accumulate = true, .out = kGrad, .x0 = kI, .seed = kG},
};

template <class T>
struct NetRun {
  Index rows, cols, stride;
  std::vector<T> memory[kNetSlots];
  std::vector<Operand<T>> operands;

  NetRun(Index r, Index c, Index gap) : rows(r), cols(c), stride(c + gap), operands(kNetSlots) {
    Random random(3, "net");
    for (const int slot : {kZi, kZf, kZg, kBias, kCell, kHidden, kGrad}) {
      auto& m = memory[slot];
      m.resize(static_cast<std::size_t>(rows * stride));
      for (T& v : m) v = static_cast<T>(random.normal());
      operands[static_cast<std::size_t>(slot)] = {m.data(), slot == kBias ? 0 : stride};
    }
  }
  void run(Range row_range, Range col_range) {
    std::vector<Operand<T>> part = operands;
    for (Operand<T>& o : part) {
      if (o.base) o.base += row_range.begin * o.stride;
    }
    PointwiseScratch<T> scratch;
    run_pointwise<T>(kNet, part, row_range.size(), col_range, scratch);
  }
  void run_bound() { BoundProgram<T>(kNet, operands, cols)(); }
  bool same(const NetRun& other) const {
    for (int slot = 0; slot < kNetSlots; ++slot) {
      if (memory[slot] != other.memory[slot]) return false;
    }
    return true;
  }
};

template <class T>
void check_splits() {
  const Index rows = *rc::gen::inRange<Index>(1, 40), cols = *rc::gen::inRange<Index>(1, 150);
  const Index gap = *rc::gen::inRange<Index>(0, 3);
  NetRun<T> whole(rows, cols, gap), parts(rows, cols, gap);
  whole.run({0, rows}, {0, cols});
  const Index row_cut = *rc::gen::inRange<Index>(0, rows + 1), col_cut = *rc::gen::inRange<Index>(0, cols + 1);
  for (const Range r : {Range{0, row_cut}, Range{row_cut, rows}}) {
    for (const Range c : {Range{0, col_cut}, Range{col_cut, cols}}) parts.run(r, c);
  }
  RC_ASSERT(whole.same(parts));
}

RC_GTEST_PROP(Pointwise, float_results_do_not_depend_on_division_into_tiles, ()) { check_splits<float>(); }
RC_GTEST_PROP(Pointwise, double_results_do_not_depend_on_division_into_tiles, ()) { check_splits<double>(); }

template <class T>
void check_targets_agree() {
  for (const auto& [rows, cols] : {std::pair<Index, Index>{1, 2500}, {37, 64}, {5, 19}, {600, 3}}) {
    simd_limit(simd_available().front());
    NetRun<T> want(rows, cols, 0);
    want.run({0, rows}, {0, cols});
    for (const std::string& target : simd_available()) {
      simd_limit(target);
      NetRun<T> got(rows, cols, 0);
      got.run({0, rows}, {0, cols});
      EXPECT_TRUE(want.same(got)) << target << " " << rows << "x" << cols;
    }
  }
  simd_limit(simd_available().front());
}

TEST(Pointwise, pointwise_bits_do_not_depend_on_the_instruction_set) {
  check_targets_agree<float>();
  check_targets_agree<double>();
}

template <class T>
void check_bound() {
  for (const std::string& target : simd_available()) {
    simd_limit(target);
    for (const Index cols : {1, 3, 16, 17, 64, 100, 2500}) {
      NetRun<T> want(1, cols, 0), got(1, cols, 0);
      want.run({0, 1}, {0, cols});
      got.run_bound();
      EXPECT_TRUE(want.same(got)) << target << " " << cols;
    }
  }
  simd_limit(simd_available().front());
}

TEST(BoundProgram, bound_program_has_the_bits_of_the_program) {
  check_bound<float>();
  check_bound<double>();
}

/// Adjacent gates, as in an LSTM: one is read before the next is activated in place, and one must wait because an
/// earlier instruction reads its memory.
TEST(BoundProgram, adjacent_instructions_are_joined_only_if_independent) {
  constexpr Index kGate = 5;
  enum { kA, kB, kC, kProduct, kOld, kTile, kCount };
  const Instruction program[] = {
      {.map = Map::sigmoid, .out = kA, .x0 = kA},          {.map = Map::mul, .out = kTile, .x0 = kA, .x1 = kA},
      {.map = Map::sigmoid, .out = kB, .x0 = kB},          {.map = Map::mul, .out = kProduct, .x0 = kTile, .x1 = kB},
      {.map = Map::add, .out = kOld, .x0 = kC, .x1 = kB},  {.map = Map::sigmoid, .out = kC, .x0 = kC},
      {.map = Map::add, .out = kTile, .x0 = kC, .x1 = kA}, {.map = Map::copy, .out = kA, .x0 = kTile}};
  const auto run = [&](bool bound) {
    std::vector<float> memory;
    for (Index i = 0; i < 5 * kGate; ++i) memory.push_back(0.37f * static_cast<float>(i) - 4);
    std::vector<Operand<float>> operands(kCount);
    for (Index slot = 0; slot < 5; ++slot)
      operands[static_cast<std::size_t>(slot)] = {memory.data() + slot * kGate, kGate};
    PointwiseScratch<float> scratch;
    if (bound)
      BoundProgram<float>(program, operands, kGate)();
    else
      run_pointwise<float>(program, operands, 1, {0, kGate}, scratch);
    return memory;
  };
  EXPECT_EQ(run(true), run(false));
}

template <class T>
void check_through() {
  constexpr Index kRows = 3, kCols = 21;
  constexpr int kBetween = kX1;  // stays in the tile
  Random random(5, "through");
  std::vector<T> memory[kSlots];
  for (auto& m : memory)
    for (Index i = 0; i < kRows * kCols; ++i) m.push_back(static_cast<T>(random.normal()));
  const auto run = [&](std::vector<Instruction> program) {
    std::vector<T> out = memory[kOut];
    std::vector<Operand<T>> operands;
    for (auto& m : memory) operands.push_back({m.data(), kCols});
    operands[kBetween] = {};
    operands[kOut].base = out.data();
    PointwiseScratch<T> scratch;
    run_pointwise<T>(program, operands, kRows, {0, kCols}, scratch);
    return out;
  };
  for (const Map map : {Map::sigmoid, Map::tanh})
    for (const unsigned char input : {0, 1})
      for (const bool accumulate : {false, true}) {
        Instruction product{.map = Map::mul, .rule = Rule::linear, .input = input, .out = kBetween};
        product.x0 = product.x1 = kX0, product.seed = kSeed;
        Instruction gate{.map = map, .rule = Rule::linear, .accumulate = accumulate, .out = kOut};
        gate.y = kY, gate.seed = kBetween;
        Instruction fused = product;
        fused.through = map, fused.y = kY, fused.out = kOut, fused.accumulate = accumulate;
        EXPECT_EQ(run({fused}), run({product, gate}));
      }
  const Instruction sum{.map = Map::add, .out = kBetween, .x0 = kX0, .x1 = kY};
  const Instruction product{.map = Map::mul, .out = kBetween, .x0 = kX0, .x1 = kY};
  const Instruction added{.map = Map::add, .out = kBetween, .x0 = kBetween, .x1 = kSeed};
  for (const Map map : {Map::sigmoid, Map::tanh, Map::copy}) {
    const Instruction gate{.map = map, .out = kOut, .x0 = kBetween};
    Instruction fused = product;
    fused.seed = kSeed, fused.through = map, fused.out = kOut;
    EXPECT_EQ(run({fused}), run({product, added, gate}));
    if (map == Map::copy) continue;
    fused = sum;
    fused.through = map, fused.out = kOut;
    EXPECT_EQ(run({fused}), run({sum, gate}));
  }
}

TEST(Pointwise, fused_steps_have_the_bits_of_two_instructions) {
  for (const std::string& target : simd_available()) {
    simd_limit(target);
    check_through<float>();
    check_through<double>();
  }
  simd_limit(simd_available().front());
}

TEST(Pointwise, instructions_run_in_order_on_each_element) {
  NetRun<double> net(2, 3, 0);
  const NetRun<double> before = net;
  net.run({0, 2}, {0, 3});
  for (std::size_t e = 0; e < 6; ++e) {
    const auto value = [&](Map map, double x0, double x1 = 0) { return map_value(map, x0, x1, 0); };
    const double i = value(Map::sigmoid, before.memory[kZi][e] + before.memory[kBias][e % 3]);
    const double f = value(Map::sigmoid, before.memory[kZf][e]), g = value(Map::tanh, before.memory[kZg][e]);
    const double cell = before.memory[kCell][e] * f + i * g, t = std::tanh(cell), hidden = value(Map::softplus, t);
    EXPECT_NEAR(net.memory[kCell][e], cell, 1e-15);
    EXPECT_NEAR(net.memory[kHidden][e], hidden, 1e-15);
    EXPECT_NEAR(net.memory[kGrad][e], (1 - t * t) * hidden + i * i * g, 1e-15);
  }
}

TEST(Pointwise, pointwise_uses_functions_h) {
  Random random(4, "functions");
  std::vector<float> x(77), got(77), want(77);
  for (float& v : x) v = static_cast<float>(random.normal());
  const Instruction tanh_of = {.map = Map::tanh, .out = 1, .x0 = 0};
  const Operand<float> operands[] = {{x.data(), 77}, {got.data(), 77}};
  PointwiseScratch<float> scratch;
  run_pointwise<float>(std::span(&tanh_of, 1), operands, 1, {0, 77}, scratch);
  vector_tanh(x.data(), want.data(), 77);
  EXPECT_EQ(got, want);
}

TEST(Pointwise, empty_program_does_nothing) {
  PointwiseScratch<float> scratch;
  const Instruction copy = {.map = Map::copy, .out = 0, .x0 = 0};
  const Operand<float> operands[] = {{}};
  run_pointwise<float>(std::span(&copy, 1), operands, 0, {0, 5}, scratch);
  run_pointwise<float>(std::span(&copy, 1), operands, 5, {3, 3}, scratch);
}

}  // namespace
}  // namespace unfold::pointwise_test
