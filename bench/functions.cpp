// Throughput of the element-wise functions on data in the L1 cache, one thread. Prints one line per function: 10^9
// elements per second, the best of several runs.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "numerics/functions.h"
#include "numerics/simd.h"
#include "unfold/numerics/pointwise.h"
#include "unfold/numerics/random.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

template <class Run>
double best_rate(Index elements, Run run) {
  using Clock = std::chrono::steady_clock;
  const Index repeats = 200'000 / elements + 1;
  double best = 0;
  for (int trial = 0; trial < 100; ++trial) {
    const auto start = Clock::now();
    for (Index i = 0; i < repeats; ++i) run();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::max(best, static_cast<double>(elements * repeats) / seconds);
  }
  return best / 1e9;
}

template <class T>
void report(const char* name, double rate) {
  std::printf("%-24s %-6s %8.2f\n", name, sizeof(T) == sizeof(float) ? "float" : "double", rate);
}

template <class T>
Buffer<T> normal_numbers(Index n, std::string_view name) {
  Random random(1, name);
  Buffer<T> x(n);
  for (T& v : x) v = static_cast<T>(2 * random.normal());
  return x;
}

template <class T>
void measure_functions() {
  constexpr Index kElements = 1024;
  const Buffer<T> x = normal_numbers<T>(kElements, "x");
  Buffer<T> positive = x, y(kElements);
  for (T& v : positive) v = v * v + T{1e-3};
  const auto of = [&](const char* name, void (*f)(const T*, T*, Index), const Buffer<T>& from) {
    report<T>(name, best_rate(kElements, [&] { f(from.data(), y.data(), kElements); }));
  };
  of("exp", vector_exp<T>, x);
  of("log", vector_log<T>, positive);
  of("tanh", vector_tanh<T>, x);
  of("sigmoid", vector_sigmoid<T>, x);
  of("softplus", vector_softplus<T>, x);
  of("softmax of 1024", softmax<T>, x);
  of("log_softmax of 1024", log_softmax<T>, x);
}

/// The gates of an LSTM step for `rows` x `cols` units: computes the next cell state and output from z [rows x 4 cols]
/// and the cell state.
template <class T>
void measure_gates(Index rows, Index cols) {
  enum { i, f, o, g, cell, next, h, si, sf, so, tg, tn, kSlots };
  Buffer<T> z = normal_numbers<T>(rows * 4 * cols, "z"), c = normal_numbers<T>(rows * cols, "c"), n(rows * cols),
            out(rows * cols);
  const Index stride = 4 * cols;
  std::vector<Operand<T>> operands(kSlots);
  for (int gate = i; gate <= g; ++gate) operands[static_cast<std::size_t>(gate)] = {z.data() + gate * cols, stride};
  operands[cell] = {c.data(), cols};
  operands[next] = {n.data(), cols};
  operands[h] = {out.data(), cols};
  const Instruction program[] = {{.map = Map::sigmoid, .out = si, .x0 = i},
                                 {.map = Map::sigmoid, .out = sf, .x0 = f},
                                 {.map = Map::sigmoid, .out = so, .x0 = o},
                                 {.map = Map::tanh, .out = tg, .x0 = g},
                                 {.map = Map::mul, .out = next, .x0 = sf, .x1 = cell},
                                 {.map = Map::mul, .accumulate = true, .out = next, .x0 = si, .x1 = tg},
                                 {.map = Map::tanh, .out = tn, .x0 = next},
                                 {.map = Map::mul, .out = h, .x0 = so, .x1 = tn}};
  PointwiseScratch<T> scratch;
  char name[64];
  std::snprintf(name, sizeof name, "lstm gates %ldx%ld", static_cast<long>(rows), static_cast<long>(cols));
  report<T>(name, best_rate(rows * cols, [&] { run_pointwise<T>(program, operands, rows, {0, cols}, scratch); }));
}

template <class T>
void measure_vectors() {
  constexpr Index kElements = 1 << 20;
  Buffer<T> p = normal_numbers<T>(kElements, "p"), g = normal_numbers<T>(kElements, "g"), m(kElements), v(kElements);
  const AdamStep step = {1e-3, 0.9, 0.999, 1e-8, 0.1, 0.001, 0, 1};
  double checksum = 0;
  report<T>("sum_of_squares of 2^20", best_rate(kElements, [&] { checksum += sum_of_squares<T>(g.span()); }));
  report<T>("adam_step of 2^20",
            best_rate(kElements, [&] { adam_step<T>(p.span(), g.span(), m.span(), v.span(), step); }));
  if (checksum < 0) std::printf("impossible\n");
}

template <class T>
void measure() {
  measure_functions<T>();
  measure_gates<T>(1, 1024);
  measure_gates<T>(32, 64);
  measure_gates<T>(32, 512);
  measure_vectors<T>();
}

}  // namespace
}  // namespace unfold

/// functions [INSTRUCTION SET ...]; default: the best available instruction set.
int main(int argc, char** argv) {
  std::vector<std::string> targets(argv + 1, argv + argc);
  if (targets.empty()) targets.push_back(unfold::simd_available().front());
  for (const std::string& target : targets) {
    unfold::simd_limit(target);
    std::printf("%s, 10^9 elements per second\n", unfold::simd_name().c_str());
    unfold::measure<float>();
    unfold::measure<double>();
  }
}
