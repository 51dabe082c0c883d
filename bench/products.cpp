// GFLOP/s of the matrix products at the shapes of recurrent networks, and as a fraction of the peak rate of fused
// multiply-adds on this machine.
//
//   bench_products [--threads N] [--double] [--seconds S]
//
// Each row is a shape and each column a batch size M (for outer products, a number of rows R). A cell is the best of
// several repetitions: GFLOP/s (fraction of the peak). UNFOLD_SIMD selects the instruction set.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "numerics/simd.h"
#include "unfold/base/threads/team.h"
#include "unfold/numerics/product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/products.cpp"
#include "numerics/targets-inl.h"  // must be first: defines the Highway targets

#include "hwy/foreach_target.h"  // includes this file again for each target

#include "numerics/fma-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {

/// Runs twelve independent chains of fused multiply-adds for `steps` steps; returns the number of operations.
template <class T>
double fused_chains(Index steps) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const V a = hn::Set(d, T(0.5)), b = hn::Set(d, T(0.25));
  // The chains differ because the compiler would merge equal chains.
  const auto start = [&](int chain) HWY_ATTR { return hn::Set(d, static_cast<T>(chain)); };
  V c0 = start(0), c1 = start(1), c2 = start(2), c3 = start(3), c4 = start(4), c5 = start(5);
  V c6 = start(6), c7 = start(7), c8 = start(8), c9 = start(9), c10 = start(10), c11 = start(11);
  for (Index i = 0; i < steps; ++i) {
    c0 = Fma(d, c0, a, b), c1 = Fma(d, c1, a, b), c2 = Fma(d, c2, a, b), c3 = Fma(d, c3, a, b);
    c4 = Fma(d, c4, a, b), c5 = Fma(d, c5, a, b), c6 = Fma(d, c6, a, b), c7 = Fma(d, c7, a, b);
    c8 = Fma(d, c8, a, b), c9 = Fma(d, c9, a, b), c10 = Fma(d, c10, a, b), c11 = Fma(d, c11, a, b);
  }
  const V sum = c0 + c1 + c2 + c3 + c4 + c5 + c6 + c7 + c8 + c9 + c10 + c11;
  volatile T kept = hn::GetLane(sum);  // keeps the compiler from removing the chains
  static_cast<void>(kept);
  return 24.0 * static_cast<double>(steps) * static_cast<double>(hn::Lanes(d));
}
double FusedChainsFloat(Index steps) { return fused_chains<float>(steps); }
double FusedChainsDouble(Index steps) { return fused_chains<double>(steps); }

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfold {
HWY_EXPORT(FusedChainsFloat);
HWY_EXPORT(FusedChainsDouble);

namespace {

struct Options {
  int threads = 1;
  double seconds = 0.1;
  bool use_double = false;
};

/// Returns the best rate of body(repetitions) within `seconds`; `body` returns the number of operations.
template <class Body>
double best_rate(double seconds, const Body& body) {
  using Clock = std::chrono::steady_clock;
  const auto elapsed = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  Index repetitions = 1;
  for (auto start = Clock::now(); body(repetitions), elapsed(start) < 2e-4; start = Clock::now()) repetitions *= 2;
  double best = 0;
  const auto begin = Clock::now();
  while (elapsed(begin) < seconds) {
    const auto start = Clock::now();
    const double operations = body(repetitions);
    best = std::max(best, operations / elapsed(start));
  }
  return best / 1e9;
}

template <class T>
double peak(Team& team, const Options& options) {
  return best_rate(10 * options.seconds, [&](Index repetitions) {
    double operations = 0;
    team.run([&](Member& me) {
      double mine = 0;
      if constexpr (sizeof(T) == 4) {
        mine = HWY_DYNAMIC_DISPATCH(FusedChainsFloat)(10000 * repetitions);
      } else {
        mine = HWY_DYNAMIC_DISPATCH(FusedChainsDouble)(10000 * repetitions);
      }
      if (me.id() == 0) operations = mine * me.size();
    });
    return operations;
  });
}

template <class T>
Buffer<T> numbers(Index size) {
  Buffer<T> values(size);
  std::uint32_t state = 1;
  for (T& value : values) value = static_cast<T>((state = state * 1664525u + 1013904223u) >> 8) / T(1 << 24) - T(0.5);
  return values;
}

template <class T>
double multiply_rate(Team& team, Index m, Index k, Index n, const Options& options) {
  const Buffer<T> a = numbers<T>(m * k), w = numbers<T>(k * n);
  Buffer<T> c(m * n);
  PackedMatrix<T> b;
  b.pack(Matrix<const T>{w.data(), k, n, n});
  return best_rate(options.seconds, [&](Index repetitions) {
    team.run([&](Member& me) {
      const Range mine = me.share(b.panels());
      for (Index i = 0; i < repetitions; ++i) {
        multiply<T>({a.data(), m, k, k}, b, {c.data(), m, n, n}, mine, Start::zero);
        me.sync();
      }
    });
    return 2.0 * static_cast<double>(repetitions * m * k * n);
  });
}

template <class T>
double outer_rate(Team& team, Index rows, Index k, Index n, const Options& options) {
  const Buffer<T> a = numbers<T>(rows * k), d = numbers<T>(rows * n);
  Buffer<T> g(k * n);
  return best_rate(options.seconds, [&](Index repetitions) {
    team.run([&](Member& me) {
      const Range mine = me.share(k);
      for (Index i = 0; i < repetitions; ++i) {
        accumulate_outer<T>({a.data(), rows, k, k}, {d.data(), rows, n, n}, {g.data(), k, n, n}, mine, Start::zero);
        me.sync();
      }
    });
    return 2.0 * static_cast<double>(repetitions * rows * k * n);
  });
}

double barrier_nanoseconds(Team& team, const Options& options) {
  const double per_second = best_rate(options.seconds, [&](Index repetitions) {
    team.run([&](Member& me) {
      for (Index i = 0; i < 1000 * repetitions; ++i) me.sync();
    });
    return 1000.0 * static_cast<double>(repetitions);
  });
  return 1 / per_second;
}

template <class T>
void print_tables(const Options& options) {
  constexpr Index kShapes[][2] = {{128, 128}, {128, 512}, {512, 512}, {512, 2048}, {1024, 1024}, {1024, 4096}};
  Team team(options.threads, Attendance::all);
  const double ceiling = peak<T>(team, options);
  std::printf("%s, %s, threads %d: fused multiply-add peak %.1f GFLOP/s, barrier %.0f ns\n", simd_name().c_str(),
              sizeof(T) == 4 ? "float" : "double", options.threads, ceiling, barrier_nanoseconds(team, options));
  const auto cell = [&](double rate) {
    std::printf(" %7.1f (%3.0f%%)", rate, 100 * rate / ceiling), std::fflush(stdout);
  };

  std::printf("\nmultiply, K x N by M\n%12s", "");
  for (const Index m : {1, 2, 4, 8, 16, 32, 64, 128, 256}) std::printf(" %14d", static_cast<int>(m));
  for (const auto& [k, n] : kShapes) {
    std::printf("\n%5d x %-4d", static_cast<int>(k), static_cast<int>(n));
    for (const Index m : {1, 2, 4, 8, 16, 32, 64, 128, 256}) cell(multiply_rate<T>(team, m, k, n, options));
  }
  std::printf("\n\naccumulate_outer, K x N by R\n%12s", "");
  for (const Index rows : {64, 512, 2048}) std::printf(" %14d", static_cast<int>(rows));
  for (const auto& [k, n] : kShapes) {
    std::printf("\n%5d x %-4d", static_cast<int>(k), static_cast<int>(n));
    for (const Index rows : {64, 512, 2048}) cell(outer_rate<T>(team, rows, k, n, options));
  }
  std::printf("\n");
}

int run(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--double") {
      options.use_double = true;
    } else if (option == "--threads" && i + 1 < argc) {
      options.threads = std::max(1, std::atoi(argv[++i]));
    } else if (option == "--seconds" && i + 1 < argc) {
      options.seconds = std::atof(argv[++i]);
    } else {
      std::fprintf(stderr, "usage: bench_products [--threads N] [--double] [--seconds S]\n");
      return 2;
    }
  }
  options.use_double ? print_tables<double>(options) : print_tables<float>(options);
  return 0;
}

}  // namespace
}  // namespace unfold

int main(int argc, char** argv) { return unfold::run(argc, argv); }
#endif
