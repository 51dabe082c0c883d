// A training step of a character language model, compared with oneDNN's RNN primitives in one run.
//
//   bench_rnn_primitives [--threads N] [--rounds R] [--seconds S] [CELL:UNITSxBATCH...]     CELL: lstm, gru, rnn
//
// Both use 64 symbols, windows of 64, float, and forward + backward + Adam. The result is thousand symbols/s, the
// median over alternating rounds.
// - oneDNN: its LSTM, linear-before-reset GRU or vanilla RNN on one-hot vectors (it has no lookup), forward_training
//   and backward, weights reordered once per step into the layouts that it requests; dnnl_sgemm for the readout; our
//   softmax and Adam with the same number of threads. The better result of one and N threads is shown.
// - Ours: the measurement of `unfold bench`.
//
// Every measurement runs in a separate process, because spinning threads of one library would slow down the other.

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <oneapi/dnnl/dnnl.hpp>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "app/bench/measurements.h"
#include "app/bench/peak_performance.h"
#include "bench/in_a_process.h"
#include "numerics/simd.h"
#include "unfold/loss/loss.h"
#include "unfold/numerics/random.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

constexpr Index kSymbols = 64, kWindow = 64;
constexpr auto kForward = dnnl::prop_kind::forward_training, kBackward = dnnl::prop_kind::backward;
constexpr auto kDirection = dnnl::rnn_direction::unidirectional_left2right;

struct Shape {
  std::string cell;
  Index units, batch;
};

/// Tensor shapes of a cell in the layouts of the caller; weights in the layout that oneDNN prefers.
struct Tensors {
  Tensors(const Shape& s, Index gates, Index biases)
      : x(md({kWindow, s.batch, kSymbols}, Tag::tnc)),
        h(md({kWindow, s.batch, s.units}, Tag::tnc)),
        state(md({1, 1, s.batch, s.units}, Tag::ldnc)),
        w(md({1, 1, kSymbols, gates, s.units}, Tag::any)),
        u(md({1, 1, s.units, gates, s.units}, Tag::any)),
        bias(md({1, 1, biases, s.units}, Tag::ldgo)) {}
  static memory::desc md(const memory::dims& dims, Tag tag) { return {dims, memory::data_type::f32, tag}; }
  memory::desc x, h, state, w, u, bias;
};

class Primitives {
 public:
  explicit Primitives(const Shape& shape) : s_(shape), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    if (s_.cell == "lstm") make_lstm();
    if (s_.cell == "gru") make_gru();
    if (s_.cell == "rnn") make_rnn();
    const Index rows = kWindow * s_.batch;
    fill(args_.at(DNNL_ARG_SRC_LAYER),
         [&](Index i) { return i % kSymbols == i / kSymbols * 7 % kSymbols ? 1.F : 0.F; });
    v_.resize(s_.units * kSymbols), dv_.resize(v_.size()), logits_.resize(rows * kSymbols), nats_.resize(rows);
    Random random(1, "primitives");
    const double scale = 1 / std::sqrt(static_cast<double>(s_.units));
    const auto small = [&](Index) { return static_cast<float>(random.uniform(-scale, scale)); };
    for (Index i = 0; i < v_.size(); ++i) v_[i] = small(i);
    for (Index r = 0; r < rows; ++r) targets_.push_back(static_cast<Symbol>(r * 11 % kSymbols));
    add_parameters(v_.data(), dv_.data(), v_.size());
    for (const int arg : {DNNL_ARG_WEIGHTS_LAYER, DNNL_ARG_WEIGHTS_ITER, DNNL_ARG_BIAS}) {
      memory& p = plain_.at(arg);
      fill(p, small);
      add_parameters(data(p), data(plain_.at(DNNL_ARG_DIFF_WEIGHTS_LAYER - DNNL_ARG_WEIGHTS_LAYER + arg)), size(p));
    }
  }

  void step() {
    for (auto& [from, to] : reorders_) dnnl::reorder(from, to).execute(stream_, from, to);
    forward_.execute(stream_, args_);
    readout();
    for (memory& m : cleared_) std::fill_n(data(m), size(m), 0.F);  // oneDNN accumulates into gradients of weights
    backward_.execute(stream_, args_);
    for (auto& [from, to] : gradient_reorders_) dnnl::reorder(from, to).execute(stream_, from, to);
    stream_.wait();
    adam();
  }

  /// Returns the mean loss of the last step.
  double nats() const {
    double sum = 0;
    for (const float x : nats_.span()) sum += static_cast<double>(x);
    return sum / static_cast<double>(nats_.size());
  }

 private:
  static float* data(const memory& m) { return static_cast<float*>(m.get_data_handle()); }
  static Index size(const memory& m) { return static_cast<Index>(m.get_desc().get_size() / sizeof(float)); }
  template <class F>
  static void fill(const memory& m, const F& f) {
    for (Index i = 0; i < size(m); ++i) data(m)[i] = f(i);
  }
  void add_parameters(float* p, float* g, Index n) {
    parameters_.push_back(
        {{p, static_cast<std::size_t>(n)}, {g, static_cast<std::size_t>(n)}, Buffer<float>(n), Buffer<float>(n)});
  }

  void make_lstm() {
    const Tensors t(s_, 4, 4);
    const dnnl::lstm_forward::primitive_desc forward(
        {kForward, kDirection, t.x, t.state, t.state, t.w, t.u, t.bias, t.h, t.state, t.state}, engine_);
    const dnnl::lstm_backward::primitive_desc backward(
        {kBackward, kDirection, t.x,     t.state, t.state, t.w, t.u,    t.bias, t.h,     t.state,
         t.state,   t.x,        t.state, t.state, t.w,     t.u, t.bias, t.h,    t.state, t.state},
        engine_, forward);
    forward_ = dnnl::lstm_forward(forward), backward_ = dnnl::lstm_backward(backward);
    make_memories(forward, backward);
  }
  void make_gru() {
    const Tensors t(s_, 3, 4);
    const dnnl::lbr_gru_forward::primitive_desc forward(
        {kForward, kDirection, t.x, t.state, t.w, t.u, t.bias, t.h, t.state}, engine_);
    const dnnl::lbr_gru_backward::primitive_desc backward({kBackward, kDirection, t.x, t.state, t.w, t.u, t.bias, t.h,
                                                           t.state, t.x, t.state, t.w, t.u, t.bias, t.h, t.state},
                                                          engine_, forward);
    forward_ = dnnl::lbr_gru_forward(forward), backward_ = dnnl::lbr_gru_backward(backward);
    make_memories(forward, backward);
  }
  void make_rnn() {
    const Tensors t(s_, 1, 1);
    constexpr auto kTanh = dnnl::algorithm::eltwise_tanh;
    const dnnl::vanilla_rnn_forward::primitive_desc forward(
        {kForward, kTanh, kDirection, t.x, t.state, t.w, t.u, t.bias, t.h, t.state}, engine_);
    const dnnl::vanilla_rnn_backward::primitive_desc backward(
        {kBackward, kTanh, kDirection, t.x, t.state, t.w, t.u, t.bias, t.h, t.state, t.x, t.state, t.w, t.u, t.bias,
         t.h, t.state},
        engine_, forward);
    forward_ = dnnl::vanilla_rnn_forward(forward), backward_ = dnnl::vanilla_rnn_backward(backward);
    make_memories(forward, backward);
  }

  /// Creates one memory object per argument; for weights and their gradients, also one in the caller's layout.
  template <class Forward, class Backward>
  void make_memories(const Forward& forward, const Backward& backward) {
    const auto desc = [](const auto& of, int arg) { return of.query_md(dnnl::query::exec_arg_md, arg); };
    for (const int arg : {DNNL_ARG_SRC_LAYER, DNNL_ARG_SRC_ITER, DNNL_ARG_SRC_ITER_C, DNNL_ARG_BIAS, DNNL_ARG_DST_LAYER,
                          DNNL_ARG_DST_ITER, DNNL_ARG_DST_ITER_C, DNNL_ARG_WORKSPACE})
      make(args_, arg, desc(forward, arg));
    for (const int arg : {DNNL_ARG_DIFF_SRC_LAYER, DNNL_ARG_DIFF_SRC_ITER, DNNL_ARG_DIFF_SRC_ITER_C, DNNL_ARG_DIFF_BIAS,
                          DNNL_ARG_DIFF_DST_LAYER, DNNL_ARG_DIFF_DST_ITER, DNNL_ARG_DIFF_DST_ITER_C,
                          DNNL_ARG_DIFF_WEIGHTS_LAYER, DNNL_ARG_DIFF_WEIGHTS_ITER})
      make(args_, arg, desc(backward, arg));
    plain_[DNNL_ARG_BIAS] = args_.at(DNNL_ARG_BIAS), plain_[DNNL_ARG_DIFF_BIAS] = args_.at(DNNL_ARG_DIFF_BIAS);
    cleared_ = {args_.at(DNNL_ARG_DIFF_BIAS)};
    for (const int arg : {DNNL_ARG_WEIGHTS_LAYER, DNNL_ARG_WEIGHTS_ITER}) {
      const memory::desc plain(desc(forward, arg).dims(), memory::data_type::f32, Tag::ldigo);
      make(plain_, arg, plain);
      make(args_, arg, desc(forward, arg));
      reorders_.emplace_back(plain_.at(arg), args_.at(arg));
      // If the layouts of the two passes differ, the backward pass has a separate copy under the same name.
      if (desc(backward, arg) != desc(forward, arg)) {
        for_backward_.emplace_back(arg, memory(desc(backward, arg), engine_));
        reorders_.emplace_back(plain_.at(arg), for_backward_.back().second);
      }
      const int diff = arg - DNNL_ARG_WEIGHTS_LAYER + DNNL_ARG_DIFF_WEIGHTS_LAYER;
      make(plain_, diff, plain);
      gradient_reorders_.emplace_back(args_.at(diff), plain_.at(diff));
      cleared_.push_back(args_.at(diff));
    }
    backward_ = BackwardWithItsWeights{backward_.primitive, for_backward_};
  }
  void make(std::unordered_map<int, memory>& into, int arg, const memory::desc& md) {
    if (md.get_size() == 0) return;
    into[arg] = memory(md, engine_);
    std::fill_n(data(into[arg]), size(into[arg]), 0.F);
  }

  /// Computes dlogits, dh and dV of the softmax over h V.
  void readout() {
    const Index rows = kWindow * s_.batch, n = s_.units;
    const float* h = data(args_.at(DNNL_ARG_DST_LAYER));
    dnnl_sgemm('N', 'N', rows, kSymbols, n, 1, h, n, v_.data(), kSymbols, 0, logits_.data(), kSymbols);
#pragma omp parallel for
    for (Index from = 0; from < rows; from += 64) {
      const Matrix<float> block{logits_.data() + from * kSymbols, std::min<Index>(64, rows - from), kSymbols, kSymbols};
      softmax_->need<RowLoss<float>>("bench").row_gradients(
          block, {.symbols = targets_.data() + from, .values = {}, .predicted = nullptr},
          1.0F / static_cast<float>(rows), nats_.data() + from, block);
    }
    dnnl_sgemm('N', 'T', rows, n, kSymbols, 1, logits_.data(), kSymbols, v_.data(), kSymbols, 0,
               data(args_.at(DNNL_ARG_DIFF_DST_LAYER)), n);
    dnnl_sgemm('T', 'N', n, kSymbols, rows, 1, h, n, logits_.data(), kSymbols, 0, dv_.data(), kSymbols);
  }

  void adam() {
    const AdamStep step{.rate = 1e-6,  // so small that every step must decrease the loss
                        .beta1 = 0.9,
                        .beta2 = 0.999,
                        .epsilon = 1e-8,
                        .correction1 = 1,
                        .correction2 = 1,
                        .decay = 0,
                        .gradient_scale = 1};
    for (Moments& m : parameters_) {
      constexpr std::size_t kBlock = 16384;
#pragma omp parallel for
      for (std::size_t at = 0; at < m.p.size(); at += kBlock) {
        const std::size_t count = std::min(kBlock, m.p.size() - at);
        adam_step<float>(m.p.subspan(at, count), m.g.subspan(at, count), m.mean.span().subspan(at, count),
                         m.square.span().subspan(at, count), step);
      }
    }
  }

  struct Moments {
    std::span<float> p, g;
    Buffer<float> mean, square;
  };
  struct BackwardWithItsWeights {
    BackwardWithItsWeights() = default;
    BackwardWithItsWeights(dnnl::primitive p, std::vector<std::pair<int, memory>> own = {})
        : primitive(std::move(p)), weights(std::move(own)) {}
    void execute(dnnl::stream& stream, std::unordered_map<int, memory> args) const {
      for (const auto& [arg, m] : weights) args[arg] = m;
      primitive.execute(stream, args);
    }
    dnnl::primitive primitive;
    std::vector<std::pair<int, memory>> weights;
  };

  Shape s_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::primitive forward_;
  BackwardWithItsWeights backward_;
  std::unordered_map<int, memory> args_, plain_;
  std::vector<std::pair<int, memory>> for_backward_;
  std::vector<std::pair<memory, memory>> reorders_, gradient_reorders_;
  std::vector<memory> cleared_;
  std::vector<Moments> parameters_;
  Buffer<float> v_, dv_, logits_, nats_;
  std::vector<Symbol> targets_;
  std::unique_ptr<Loss<float>> softmax_ = softmax_loss<float>();
};

/// Returns the speed of oneDNN in thousand symbols/s. Checks that the loss on repeated data decreases, which shows that
/// the steps are complete.
double measure_primitives(const Shape& shape, int threads, double seconds) {
  omp_set_num_threads(threads);
  Primitives primitives(shape);
  primitives.step();
  const double first = primitives.nats();
  const double start = seconds_now();
  int steps = 0;
  do primitives.step();
  while (++steps < 2 || seconds_now() - start < seconds);
  const double speed = static_cast<double>(kWindow * shape.batch * steps) / 1000 / (seconds_now() - start);
  if (!(primitives.nats() < first)) throw std::runtime_error("oneDNN's network does not learn");
  return speed;
}

double measure_ours(const Shape& shape, int threads, double seconds) {
  const std::string spec = shape.cell + ":" + std::to_string(shape.units) + (shape.cell == "gru" ? ",reset=after" : "");
  Team team(threads, Attendance::all);
  return measure_training({spec, shape.batch, kWindow, kSymbols}, team, seconds).symbols_per_second / 1000;
}

void compare(const Shape& shape, int threads, int rounds, double seconds) {
  std::vector<double> one, all, ours;
  for (int round = 0; round < rounds; ++round) {
    one.push_back(in_a_process([&] { return measure_primitives(shape, 1, seconds); }));
    if (threads > 1) all.push_back(in_a_process([&] { return measure_primitives(shape, threads, seconds); }));
    ours.push_back(in_a_process([&] { return measure_ours(shape, threads, seconds); }));
  }
  const double best = std::max(median(one), threads > 1 ? median(all) : 0);
  std::printf("| %-4s | %5ld | %5ld | %9.1f | %9.1f | %5.2f |\n", shape.cell.c_str(), static_cast<long>(shape.units),
              static_cast<long>(shape.batch), best, median(ours), median(ours) / best);
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  int threads = 2, rounds = 3;
  double seconds = 0.2;
  std::vector<Shape> shapes;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const auto colon = option.find(':'), times = option.find('x');
    if (option == "--threads" && i + 1 < argc) {
      threads = std::max(1, std::atoi(argv[++i]));
    } else if (option == "--rounds" && i + 1 < argc) {
      rounds = std::max(1, std::atoi(argv[++i]));
    } else if (option == "--seconds" && i + 1 < argc) {
      seconds = std::atof(argv[++i]);
    } else if (colon != std::string::npos && times != std::string::npos) {
      shapes.push_back(
          {option.substr(0, colon), std::atoi(option.c_str() + colon + 1), std::atoi(option.c_str() + times + 1)});
    } else {
      std::fprintf(stderr,
                   "usage: bench_rnn_primitives [--threads N] [--rounds R] [--seconds S] [CELL:UNITSxBATCH...]\n");
      return 2;
    }
  }
  if (shapes.empty())
    for (const char* cell : {"rnn", "lstm", "gru"})
      for (const Index units : {64, 128, 256, 512, 1024})
        for (const Index batch : {1, 16, 32, 64}) shapes.push_back({cell, units, batch});
  std::printf(
      "%s, %d threads, thousand symbols/s\n| cell | units | batch | oneDNN | Unfold | ratio |\n"
      "|---|---|---|---|---|---|\n",
      simd_name().c_str(), threads);
  for (const Shape& shape : shapes) compare(shape, threads, rounds, seconds);
  return 0;
}

}  // namespace
}  // namespace unfold

int main(int argc, char** argv) {
  try {
    return unfold::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
