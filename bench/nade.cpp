// Time of a NADE step (-log p of binary rows and its gradient with respect to all weights), compared with a lower
// bound.
//
//   bench_nade [NUMBERS [UNITS [ROWS [SECONDS]]]]        default: 784 numbers, 500 units, 100 rows, one second per row
//   bench_nade NUMBERS UNITS ROWS SECONDS THREADS        one JSON object for bench/peers/pytorch_nade.py, wall-clock
//   time
//
// Each bit is 1 with probability 0.13, as in binarized MNIST. Printed rows: the lower bound, and the step in float for
// 1/4, 1/2, 1 and 2 times as many numbers, because a step is O(numbers x units). Results are microseconds of CPU time
// per row, the minimum over several repetitions, on one thread.
//
// The lower bound consists of the sums alone, computed by the kernels that the step uses on data in the L1 cache. For
// each number: a dot product of length UNITS (in double, in fixed order), and two sums of UNITS fused multiply-adds,
// for the gradients of h and of V. For each bit that is 1: a sigmoid, its derivative, and one further sum for each of
// these. For 784 x 500, this is 1.2 million multiply-adds per row. V and its gradient are 1.6 MB each; the values
// stored per row take 4 bytes for each unit and each bit that is 1, 0.2 MB in total.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "bench/best_seconds.h"
#include "numerics/row_sums.h"
#include "unfold/loss/registry.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

constexpr double kOnes = 0.13;

/// A NADE with training data.
class NadeStep {
 public:
  NadeStep(Index numbers, Index units, Index rows)
      : loss_(choose_loss("nade:" + std::to_string(units)).make<float>()), rows_(rows), width_(numbers + units) {
    const Signal o = circuit_.affine("o", width_, {{"W", circuit_.input("x", 2)}});
    loss_->declare(circuit_, o);
    structure_ = Structure::chains(std::vector<Index>(at(rows), 1));
    Random random(1, "nade");
    for (Index i = 0; i < rows * numbers; ++i) bits_.push_back(random.uniform() < kOnes ? 1.0F : 0.0F);
    for (Index i = 0; i < circuit_.parameter_count(); ++i)
      parameters_.push_back(0.05F * static_cast<float>(random.normal()));
    signal_.assign(at(rows * width_), 0.1F);
    nats_.resize(at(rows));
    adjoint_.resize(signal_.size());
    own_.resize(parameters_.size());
  }
  void run(Team& team) {
    const Index numbers = static_cast<Index>(bits_.size()) / rows_;
    const Observed<float> observed{
        structure_,
        {signal_.data(), rows_, width_, width_},
        {.symbols = nullptr, .values = {bits_.data(), rows_, numbers, numbers}, .predicted = nullptr},
        parameters_};
    loss_->gradient(observed, 1.0F, team, nats_.data(), {adjoint_.data(), rows_, width_, width_}, own_);
  }

 private:
  Circuit circuit_;
  std::unique_ptr<Loss<float>> loss_;
  Structure structure_ = Structure::chains(std::vector<Index>{1});
  Index rows_, width_;
  std::vector<float> signal_, bits_, parameters_, nats_, adjoint_, own_;
};

/// The sums of one row, processed in segments of numbers; all segments use the same weights, which stay in the cache.
class RowFloor {
 public:
  RowFloor(Index numbers, Index units) : units_(units) {
    const auto ones = static_cast<Index>(kOnes * static_cast<double>(numbers));
    for (Index s = 0, d = 0; s <= ones; ++s) {
      const Index end = numbers * (s + 1) / (ones + 1);
      stretches_.push_back(end - d);
      d = end;
    }
    longest_ = std::ranges::max(stretches_);
    weights_.assign(at(longest_ * units), 0.05F);
    factors_.assign(at(longest_), 0.1F);
    for (Index j = 0; j < longest_; ++j) list_.push_back(weights_.data() + j * units);
    h_.assign(at(units), 0.5F);
    for (std::vector<float>* other : {&sum_, &of_h_, &of_w_}) other->assign(at(units), 0.0F);
    out_.assign(at(longest_), 0.0F);
  }
  void run() {
    for (const Index count : stretches_) {
      add_row_and_sigmoid(factors_.front(), weights_.data(), sum_.data(), h_.data(), units_);
      row_products(weights_.data(), count, h_.data(), units_, out_.data());
      for (int twice = 0; twice < 2; ++twice)
        add_scaled_rows(factors_.data(), list_.data(), count, sum_.data(), units_);
      add_sigmoid_slopes(h_.data(), of_h_.data(), sum_.data(), factors_.front(), of_w_.data(), units_);
    }
  }

 private:
  Index units_, longest_ = 0;
  std::vector<Index> stretches_;
  std::vector<float> weights_, factors_, h_, sum_, of_h_, of_w_, out_;
  std::vector<const float*> list_;
};

void run(Index numbers, Index units, Index rows, double seconds) {
  Team team(1);
  std::printf("%lld units, %lld rows; us per row, share of the lower bound\n", static_cast<long long>(units),
              static_cast<long long>(rows));
  for (const Index count : {numbers / 4, numbers / 2, numbers, 2 * numbers}) {
    NadeStep step(count, units, rows);
    RowFloor floor(count, units);
    double least = 1e9, found = 1e9;
    for (int turn = 0; turn < 5; ++turn) {  // alternately, because the speed of a shared machine varies over time
      found = std::min(found, best_seconds(seconds / 5, [&] { step.run(team); }));
      least = std::min(least, best_seconds(seconds / 25, [&] { floor.run(); }));
    }
    found /= static_cast<double>(rows);
    std::printf("%5lld numbers: bound %8.1f, step %8.1f  %5.1f %%\n", static_cast<long long>(count), 1e6 * least,
                1e6 * found, 100 * least / found);
  }
}

void run_on_the_clock(Index numbers, Index units, Index rows, double seconds, int threads) {
  Team team(threads, Attendance::all);
  NadeStep step(numbers, units, rows);
  const double found = best_seconds(
      seconds, [&] { step.run(team); }, CLOCK_MONOTONIC);
  std::printf("{\"step_us\": %.2f}\n", 1e6 * found);
}

}  // namespace
}  // namespace unfold

int main(int argc, char** argv) {
  const auto number = [&](int i, double otherwise) { return argc > i ? std::atof(argv[i]) : otherwise; };
  const auto whole = [&](int i, double otherwise) { return static_cast<unfold::Index>(number(i, otherwise)); };
  if (argc > 5)
    unfold::run_on_the_clock(whole(1, 0), whole(2, 0), whole(3, 0), number(4, 0), std::atoi(argv[5]));
  else
    unfold::run(whole(1, 784), whole(2, 500), whole(3, 100), number(4, 1));
}
