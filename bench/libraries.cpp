// Matrix products at recurrent shapes, compared with OpenBLAS and oneDNN in one run.
//
//   bench_libraries [--threads N] [--seconds S]
//
// Computes x [M x K] W [K x N] in float. The result is GFLOP/s, the median over rounds; in each round, all libraries
// are measured in turn, each in a separate process. Our product uses packed weights, as in training, where weights are
// packed once per window of 64 steps. The other libraries use their preferred layout of W (for OpenBLAS and dnnl_sgemm,
// the better of row-major and transposed). With several threads, our product divides the panels and ends with a
// barrier, as the columns of a recurrent step do.

#include <cblas.h>
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "bench/in_a_process.h"
#include "numerics/simd.h"
#include "unfold/base/threads/team.h"
#include "unfold/numerics/product.h"

extern "C" void openblas_set_num_threads(int threads);

namespace unfold {
namespace {

struct Shape {
  Index m, n, k;
};

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Returns the calls per second of body(calls), measured for about `seconds`.
double rate(double seconds, const std::function<void(Index)>& body) {
  Index calls = 1;
  for (;; calls *= 2) {
    const double start = seconds_now();
    body(calls);
    const double took = seconds_now() - start;
    if (took >= seconds / 4) return static_cast<double>(calls) / took;
  }
}

class Products {
 public:
  Products(const Shape& shape, Team& team)
      : s_(shape), team_(team), a_(s_.m * s_.k), w_(s_.k * s_.n), t_(s_.k * s_.n), c_(s_.m * s_.n) {
    for (Index i = 0; i < a_.size(); ++i) a_[i] = static_cast<float>(i % 7) / 7 - 0.4F;
    for (Index i = 0; i < w_.size(); ++i) w_[i] = t_[i] = static_cast<float>(i % 11) / 11 - 0.4F;
    packed_.pack(Matrix<const float>{w_.data(), s_.k, s_.n, s_.n});
  }

  void ours(Index calls) {
    team_.run([&](Member& me) {
      const Range mine = me.share(packed_.panels());
      for (Index i = 0; i < calls; ++i) {
        multiply<float>({a_.data(), s_.m, s_.k, s_.k}, packed_, {c_.data(), s_.m, s_.n, s_.n}, mine, Start::zero);
        me.sync();
      }
    });
  }
  void openblas(Index calls, bool transposed) {
    const auto m = static_cast<int>(s_.m), n = static_cast<int>(s_.n), k = static_cast<int>(s_.k);
    for (Index i = 0; i < calls; ++i) {
      if (m == 1)
        cblas_sgemv(CblasRowMajor, transposed ? CblasNoTrans : CblasTrans, transposed ? n : k, transposed ? k : n, 1,
                    transposed ? t_.data() : w_.data(), transposed ? k : n, a_.data(), 1, 0, c_.data(), 1);
      else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, transposed ? CblasTrans : CblasNoTrans, m, n, k, 1, a_.data(), k,
                    transposed ? t_.data() : w_.data(), transposed ? k : n, 0, c_.data(), n);
    }
  }
  void onednn(Index calls, bool transposed) {
    for (Index i = 0; i < calls; ++i)
      dnnl_sgemm('N', transposed ? 'T' : 'N', s_.m, s_.n, s_.k, 1, a_.data(), s_.k, transposed ? t_.data() : w_.data(),
                 transposed ? s_.k : s_.n, 0, c_.data(), s_.n);
  }

 private:
  Shape s_;
  Team& team_;
  Buffer<float> a_, w_, t_, c_;
  PackedMatrix<float> packed_;
};

constexpr int kRounds = 5, kWays = 5;

/// Returns the GFLOP/s of one library, measured in a separate process.
double measured_apart(const Shape& shape, int way, int threads, double seconds) {
  const double calls = in_a_process([&] {
    omp_set_num_threads(threads);
    openblas_set_num_threads(threads);
    Team team(way == 0 ? threads : 1, Attendance::all);
    Products products(shape, team);
    return rate(seconds, [&](Index n) {
      if (way == 0) products.ours(n);
      if (way == 1 || way == 2) products.openblas(n, way == 2);
      if (way == 3 || way == 4) products.onednn(n, way == 4);
    });
  });
  return calls * 2.0 * static_cast<double>(shape.m * shape.n * shape.k) / 1e9;
}

void compare(const Shape& shape, int threads, double seconds) {
  std::vector<double> found[kWays];
  for (int round = 0; round < kRounds; ++round)
    for (int way = 0; way < kWays; ++way)
      found[way].push_back(measured_apart(shape, way, threads, seconds / kWays / kRounds));
  const double own = median(found[0]), blas = std::max(median(found[1]), median(found[2])),
               dnn = std::max(median(found[3]), median(found[4]));
  std::printf("| %4ld | %5ld | %5ld | %7.1f | %8.1f | %7.1f | %5.0f %% |\n", static_cast<long>(shape.m),
              static_cast<long>(shape.n), static_cast<long>(shape.k), own, blas, dnn, 100 * own / std::max(blas, dnn));
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  int threads = 1;
  double seconds = 0.25;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--threads") threads = std::max(1, std::atoi(argv[i + 1]));
    if (std::string(argv[i]) == "--seconds") seconds = std::atof(argv[i + 1]);
  }
  std::printf(
      "%s, %d thread%s, GFLOP/s\n| M | N | K | ours | OpenBLAS | oneDNN | ours / best "
      "|\n|---|---|---|---|---|---|---|\n",
      simd_name().c_str(), threads, threads == 1 ? "" : "s");
  constexpr Index kWeights[][2] = {{128, 128},  {512, 128},   {512, 512},  {1024, 1024},
                                   {2048, 512}, {2048, 2048}, {4096, 1024}};
  for (const Index m : {1, 8, 32, 64, 128})
    for (const auto& [n, k] : kWeights) compare({m, n, k}, threads, seconds);
  return 0;
}

}  // namespace
}  // namespace unfold

int main(int argc, char** argv) { return unfold::run(argc, argv); }
