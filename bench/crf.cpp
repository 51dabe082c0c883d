// Time of a conditional random field, compared with a lower bound, the time of its matrix products and exponentials
// alone.
//
//   bench_crf [LABELS [CHAINS [SECONDS]]]        default: 22 labels, 512 chains of 1 to 47 positions, 0.5 seconds per
//   row bench_crf LABELS CHAINS SECONDS THREADS      one JSON object for bench/peers/pytorch_crf.py: wall-clock time of
//   a step
//
// Rows:
// - the lower bound: products and exponentials of `crf`, run separately on data in the L1 cache, both with as many
//   columns as labels and padded to whole vectors as in `crf`;
// - value and gradient of the loss, in float and double;
// - the same loss in log space, the textbook implementation.
//
// Each result is the CPU time per position in nanoseconds, the minimum over several repetitions, on one thread.
//
// For 22 labels, a position needs 3 x 22 x 22 multiply-adds (3 x 22 x 24 with whole vectors) and 24 exponentials. Each
// of these numbers is read and written once in the L2 cache: exp of the scores, alpha, beta and the incoming sums have
// 192 bytes each, the signal and its gradient 88 bytes each in float.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "bench/best_seconds.h"
#include "loss/crf/chain.h"
#include "loss/crf/chain_block.h"
#include "numerics/functions.h"
#include "unfold/loss/registry.h"

namespace unfold {
namespace {

/// A batch of chains, and a loss over a signal of matching size.
template <class T>
struct Chains {
  Circuit circuit;
  std::unique_ptr<Loss<T>> loss = choose_loss("crf").make<T>();
  Structure structure = Structure::chains(std::vector<Index>{1});
  Index labels;
  std::vector<T> signal, parameters, nats, adjoint, own;
  std::vector<Symbol> targets;

  Chains(Index labels_given, Index count) : labels(labels_given) {
    const Signal o = circuit.affine("o", labels, {{"W", circuit.input("x", 2)}});
    loss->declare(circuit, o);
    Random random(1, "chains");
    std::vector<Index> lengths;
    for (Index k = 0; k < count; ++k) lengths.push_back(1 + static_cast<Index>(random.below(47)));
    structure = Structure::chains(lengths);
    for (Index i = 0; i < rows() * labels; ++i) signal.push_back(static_cast<T>(2 * random.normal()));
    for (Index i = 0; i < circuit.parameter_count(); ++i) parameters.push_back(static_cast<T>(random.normal()));
    for (Index r = 0; r < rows(); ++r) targets.push_back(static_cast<Symbol>(random.below(at(labels))));
    nats.resize(at(rows()));
    adjoint.resize(signal.size());
    own.resize(parameters.size());
  }
  Index rows() const { return structure.positions(); }

  void judge(Team& team) {
    const Observed<T> observed{structure,
                               {signal.data(), rows(), labels, labels},
                               {.symbols = targets.data(), .values = {}, .predicted = nullptr},
                               parameters};
    loss->gradient(observed, T{1}, team, nats.data(), {adjoint.data(), rows(), labels, labels}, own);
  }
};

/// The lower bound: products of the recursions and of the expected transition counts, and one exponential per score,
/// for 16 chains in parallel. `columns`: columns of the products, at least the number of labels; larger values pad to
/// whole vectors.
class Floor {
 public:
  Floor(const Structure& structure, Index labels, Index columns)
      : labels_(labels), columns_(columns), stride_((labels + 7) / 8 * 8) {
    for (Index first = 0; first < structure.sequences(); first += kChains)
      for (Index t = 0; t < structure.size(structure.sequence_at(first)); ++t)
        running_.push_back(
            std::min(kChains, std::min(structure.sequences(), structure.order().step(t).size()) - first));
    rows_.resize(kChains * stride_);
    more_.resize(kChains * stride_);
    for (Index i = 0; i < kChains * stride_; ++i) rows_[i] = 1.0 / static_cast<double>(i + 1);
    std::vector<double> matrix(at(labels * columns), 0.5);
    matrix_.pack({matrix.data(), labels, columns, columns});
    sum_.assign(at(labels * columns), 0);
  }
  void run() {
    const Matrix<double> sum{sum_.data(), labels_, columns_, columns_};
    for (const Index now : running_) {
      const Matrix<double> x{rows_.data(), now, labels_, stride_}, y{more_.data(), now, columns_, stride_};
      vector_exp(rows_.data(), more_.data(), now * stride_);
      multiply<double>(x, matrix_, y, {0, matrix_.panels()}, Start::zero);
      multiply<double>(x, matrix_, y, {0, matrix_.panels()}, Start::zero);
      accumulate_outer<double>(x, y, sum, {0, labels_}, Start::accumulate);
    }
  }

 private:
  static constexpr Index kChains = 16;
  Index labels_, columns_, stride_;
  std::vector<Index> running_;
  Buffer<double> rows_, more_;
  std::vector<double> sum_;
  PackedMatrix<double> matrix_;
};

/// Computes forward and backward recursions and marginals of each chain in log space.
void by_logarithms(const Chains<double>& c) {
  ChainScores scores{.labels = c.labels,
                     .transitions = std::vector<double>(at(c.labels * c.labels), 0.25),
                     .start = std::vector<double>(at(c.labels)),
                     .stop = std::vector<double>(at(c.labels))};
  ChainScratch scratch;
  std::vector<double> first(at(c.labels)), last(at(c.labels)), pairs(at(c.labels * c.labels));
  for (Index s = 0; s < c.structure.sequences(); ++s) {
    const Index length = c.structure.size(s);
    std::vector<double> e(at(length * c.labels)), alpha(e.size()), beta(e.size()), counts(e.size());
    const auto matrix = [&](std::vector<double>& x) { return Matrix<double>{x.data(), length, c.labels, c.labels}; };
    for (Index t = 0; t < length; ++t)
      std::copy_n(c.signal.data() + c.structure.row(s, t) * c.labels, c.labels, matrix(e).row(t));
    const double log_z = chain_forward(scores, matrix(e), matrix(alpha), scratch);
    chain_backward(scores, matrix(e), matrix(beta), scratch);
    chain_marginals(scores, matrix(e), matrix(alpha), matrix(beta), log_z, 1,
                    {matrix(counts), pairs.data(), first.data(), last.data()}, scratch);
  }
}

void run(Index labels, Index count, double seconds) {
  Team team(1);
  Chains<float> single(labels, count);
  Chains<double> exact(labels, count);
  Floor floor(exact.structure, labels, labels), whole(exact.structure, labels, (labels + 7) / 8 * 8);
  const double each = 1e9 / static_cast<double>(exact.rows());
  // The variants run alternately because the speed of a shared machine varies over time.
  double in_float = 1e9, in_double = 1e9, least = 1e9, least_whole = 1e9;
  for (int turn = 0; turn < 5; ++turn) {
    in_float = std::min(in_float, best_seconds(seconds / 5, [&] { single.judge(team); }));
    least = std::min(least, best_seconds(seconds / 5, [&] { floor.run(); }));
    least_whole = std::min(least_whole, best_seconds(seconds / 5, [&] { whole.run(); }));
    in_double = std::min(in_double, best_seconds(seconds / 5, [&] { exact.judge(team); }));
  }
  const double logarithms = best_seconds(seconds, [&] { by_logarithms(exact); });
  std::printf(
      "%lld labels, %lld chains, %lld positions; ns per position, share of the lower bound, and of that of whole "
      "vectors\n",
      static_cast<long long>(labels), static_cast<long long>(count), static_cast<long long>(exact.rows()));
  const auto row = [&](const char* name, double found) {
    std::printf("%-22s %8.1f  %5.1f %%  %5.1f %%\n", name, each * found, 100 * least / found,
                100 * least_whole / found);
  };
  row("floor", least);
  row("floor, whole vectors", least_whole);
  row("crf, float", in_float);
  row("crf, double", in_double);
  row("by logarithms", logarithms);
}

void run_on_the_clock(Index labels, Index count, double seconds, int threads) {
  Team team(threads, Attendance::all);
  Chains<float> chains(labels, count);
  const double step = best_seconds(
      seconds, [&] { chains.judge(team); }, CLOCK_MONOTONIC);
  std::printf("{\"step_us\": %.2f, \"lengths\": [", 1e6 * step);
  for (Index s = 0; s < count; ++s)
    std::printf("%s%lld", s > 0 ? ", " : "", static_cast<long long>(chains.structure.size(s)));
  std::printf("]}\n");
}

}  // namespace
}  // namespace unfold

int main(int argc, char** argv) {
  const auto number = [&](int i, double otherwise) { return argc > i ? std::atof(argv[i]) : otherwise; };
  const auto labels = static_cast<unfold::Index>(number(1, 22)), count = static_cast<unfold::Index>(number(2, 512));
  if (argc > 4)
    unfold::run_on_the_clock(labels, count, number(3, 0.5), std::atoi(argv[4]));
  else
    unfold::run(labels, count, number(3, 0.5));
}
