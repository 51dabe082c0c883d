#include "app/bench/profile.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>

#include "app/bench/peak_performance.h"
#include "graph/engine/memory.h"
#include "graph/engine/pass_timing.h"
#include "numerics/functions.h"
#include "unfold/model/network/language_model.h"
#include "unfold/numerics/pointwise.h"
#include "unfold/numerics/product.h"
#include "unfold/numerics/vector.h"
#include "unfold/optim/direction/direction.h"

namespace unfold {
namespace {

constexpr double kFloat = sizeof(float);

/// Attainable times of operations by all threads of a team, measured on sample data.
class Rates {
 public:
  /// Samples are about as long as a step, within limits, so that other load affects both equally.
  Rates(Team& team, double seconds, double step_seconds)
      : team_(team), seconds_(seconds), sample_seconds_(std::clamp(step_seconds, 2e-4, 2e-2)) {}

  /// One product with packed weights. The threads divide the columns, followed by a barrier if `meet`, or divide the
  /// rows without a barrier; the faster variant is used. With `meet`, a product waits for the result of the previous
  /// one, as in a loop over steps: because of the barrier or, for a single thread, because an operand depends on it.
  double product(Index m, Index k, Index n, bool meet);
  /// Returns the time of the gradient of k x n weights from `rows` positions.
  double outer(Index rows, Index k, Index n);
  /// Returns the time of a function applied to `elements` numbers in the L1 cache.
  double function(Map map, double elements);
  /// Returns the time of an Adam update of this number of parameters: the larger of its computing time and its memory
  /// traffic.
  double adam(Index parameters);
  /// Returns the time to transfer `bytes` to or from data of size `footprint`, at the bandwidth of the cache or memory
  /// that holds them.
  double traffic(double bytes, double footprint);

 private:
  /// Returns the seconds of one call of body(member) by all threads in parallel.
  double time(const std::function<void(Member&)>& body) const {
    return seconds_per_call([&](Index calls) {
      team_.run([&](Member& me) {
        for (Index i = 0; i < calls; ++i) body(me);
      });
    });
  }
  double seconds_per_call(const std::function<void(Index)>& run) const;

  Team& team_;
  double seconds_;  // duration of the measurement of each rate
  double sample_seconds_;
  std::map<std::string, double> known_;
};

/// Returns the number of fastest samples, out of n, to average; these are least affected by other load.
std::size_t quiet(std::size_t n) { return std::max<std::size_t>(n / 10, std::min<std::size_t>(n, 2)); }

double Rates::seconds_per_call(const std::function<void(Index)>& run) const {
  constexpr std::size_t kLeast = 7;
  const auto sample = [&](Index calls) {
    const double start = seconds_now();
    run(calls);
    return (seconds_now() - start) / static_cast<double>(calls);
  };
  const auto long_enough = [&](Index calls) {  // whether each of kLeast samples takes long enough
    for (std::size_t i = 0; i < kLeast; ++i)
      if (sample(calls) * static_cast<double>(calls) < sample_seconds_) return false;
    return true;
  };
  Index calls = 1;
  while (!long_enough(calls)) calls *= 2;
  std::vector<double> samples;
  for (const double start = seconds_now(); samples.size() < kLeast || seconds_now() - start < seconds_;)
    samples.push_back(sample(calls));
  std::ranges::sort(samples);
  const auto n = quiet(samples.size());
  return std::accumulate(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(n), 0.0) /
         static_cast<double>(n);
}

Buffer<float> filled(Index size) {
  Buffer<float> values(size);
  for (Index i = 0; i < size; ++i) values[i] = static_cast<float>(i % 251) / 251 - 0.5F;
  return values;
}

double Rates::product(Index m, Index k, Index n, bool meet) {
  const auto name =
      "product " + std::to_string(m) + " " + std::to_string(k) + " " + std::to_string(n) + (meet ? " in a loop" : "");
  if (const auto it = known_.find(name); it != known_.end()) return it->second;
  const Buffer<float> w = filled(k * n);
  Buffer<float> a = filled(m * k), c(m * n);
  PackedMatrix<float> b;
  b.pack(Matrix<const float>{w.data(), k, n, n});
  const Matrix<const float> x{a.data(), m, k, k};
  const Matrix<float> y{c.data(), m, n, n};
  const bool depends = meet && team_.size() == 1;
  double best = time([&](Member& me) {
    if (depends)
      for (Index r = 0; r < m; ++r) a[r * k] = 0.01F * c[r * n];
    multiply(x, b, y, me.share(b.panels()), Start::zero);
    if (meet) me.sync();
  });
  if (team_.size() > 1 && m >= team_.size()) {
    const double by_rows = time([&](Member& me) {
      const Range mine = me.share(m);
      multiply(x.rows_from(mine.begin, mine.size()), b, y.rows_from(mine.begin, mine.size()), {0, b.panels()},
               Start::zero);
    });
    best = std::min(best, by_rows);
  }
  return known_[name] = best;
}

double Rates::outer(Index rows, Index k, Index n) {
  const auto name = "outer " + std::to_string(rows) + " " + std::to_string(k) + " " + std::to_string(n);
  if (const auto it = known_.find(name); it != known_.end()) return it->second;
  const Buffer<float> a = filled(rows * k), d = filled(rows * n);
  Buffer<float> g(k * n);
  return known_[name] = time([&](Member& me) {
           accumulate_outer<float>({a.data(), rows, k, k}, {d.data(), rows, n, n}, {g.data(), k, n, n}, me.share(k, 8),
                                   Start::zero);
         });
}

double Rates::function(Map map, double elements) {
  constexpr Index kElements = 1024;
  const std::string name(map_info(map).name);
  if (!known_.contains(name)) {
    std::vector<Buffer<float>> x, y;
    for (int i = 0; i < team_.size(); ++i) x.push_back(filled(kElements)), y.emplace_back(kElements);
    known_[name] = time([&](Member& me) {
                     const auto id = static_cast<std::size_t>(me.id());
                     const auto apply = map == Map::tanh       ? vector_tanh<float>
                                        : map == Map::sigmoid  ? vector_sigmoid<float>
                                        : map == Map::softplus ? vector_softplus<float>
                                        : map == Map::log      ? vector_log<float>
                                                               : vector_exp<float>;
                     apply(x[id].data(), y[id].data(), kElements);
                   }) /
                   static_cast<double>(kElements) / team_.size();
  }
  return known_[name] * elements;
}

double Rates::adam(Index parameters) {
  constexpr Index kElements = 1024;
  const AdamStep step{.rate = 1e-3,
                      .beta1 = 0.9,
                      .beta2 = 0.999,
                      .epsilon = 1e-8,
                      .correction1 = 1,
                      .correction2 = 1,
                      .decay = 0,
                      .gradient_scale = 1};
  std::vector<Buffer<float>> x;
  x.reserve(4 * static_cast<std::size_t>(team_.size()));
  for (int i = 0; i < 4 * team_.size(); ++i) x.push_back(filled(kElements));
  const double arithmetic = time([&](Member& me) {
                              Buffer<float>* of = x.data() + 4 * me.id();
                              adam_step<float>(of[0].span(), of[1].span(), of[2].span(), of[3].span(), step);
                            }) /
                            static_cast<double>(kElements) / team_.size();
  const auto p = static_cast<double>(parameters);
  return std::max(arithmetic * p, traffic(7 * kFloat * p, 4 * kFloat * p));
}

double Rates::traffic(double bytes, double footprint) {
  Index size = 1 << 12;  // powers of two are fine enough
  while (static_cast<double>(size) * kFloat < footprint && size < (1 << 26)) size *= 2;
  const auto name = "traffic " + std::to_string(size);
  if (!known_.contains(name)) {
    Buffer<float> from(size / 2), to(size / 2);
    const double once = time([&](Member& me) {
      const Range mine = me.share(size / 2, 16);
      std::copy_n(from.data() + mine.begin, mine.size(), to.data() + mine.begin);
    });
    known_[name] = once / (static_cast<double>(size) * kFloat);
  }
  return known_[name] * bytes;
}

/// Returns the seconds that a timer of a stage records although no work is done; the smallest mean of several samples.
double seconds_of_empty_timer() {
  constexpr int kTimings = 20, kTimers = 500;
  double least = 1;
  for (int i = 0; i < kTimings; ++i) {
    Account account(1);
    for (int k = 0; k < kTimers; ++k) const StageTimer timer(&account, 0, Stage::moves);
    least = std::min(least, account.seconds(Stage::moves) / kTimers);
  }
  return least;
}

// ------------------------------------------------------------------------------------------------------- lower bounds

/// Computes operations, bytes and attainable time of the stages of an unfolding from its plan.
class Floors {
 public:
  Floors(const Plan& plan, const TrainingShape& shape, Rates& rates)
      : plan_(plan),
        shape_(shape),
        rows_(shape.batch * shape.window),
        all_(static_cast<double>(planned_bytes(plan, shape.batch, shape.window, sizeof(float)))),
        rates_(rates) {
    for (const Segment& segment : plan.segments())
      for (const Item& item : segment.items) {
        if (item.kind == Item::Kind::affine) affine(segment, item);
        if (item.kind == Item::Kind::pointwise) maps(item);
      }
    for (std::size_t i = 0; i < plan.nodes().size(); ++i)
      if (plan.live(static_cast<int>(i))) gradients(static_cast<int>(i));
  }
  const ProfileLine& of(Stage stage) const { return lines_[static_cast<std::size_t>(stage)]; }

 private:
  void add(Stage stage, double operations, double bytes, double seconds) {
    ProfileLine& line = lines_[static_cast<std::size_t>(stage)];
    line.operations += operations;
    line.bytes += bytes;
    line.attainable_seconds += seconds;
  }

  void product(bool loop, Index k, Index n) {
    const Index m = loop ? shape_.batch : rows_, times = loop ? shape_.window : 1;
    const double bytes = kFloat * static_cast<double>(times * (k * n + m * (k + n)));
    add(loop ? Stage::recurrent : Stage::hoisted, 2.0 * static_cast<double>(rows_ * k * n), bytes,
        static_cast<double>(times) * rates_.product(m, k, n, loop));
  }

  /// Counts only the memory traffic of an operator: none of the measured rates describes the arithmetic of its loops.
  void operated(bool loop, const Operator& op, bool back) {
    const double passes = back ? 2 : 1;
    const double row = kFloat * static_cast<double>(op.inputs() + op.outputs());
    const double bytes = passes * static_cast<double>(rows_) * row;
    add(loop ? Stage::recurrent : Stage::hoisted, passes * op.operations() * static_cast<double>(rows_), bytes,
        rates_.traffic(bytes, static_cast<double>(loop ? shape_.batch : rows_) * row));
  }

  void affine(const Segment& segment, const Item& item) {
    const Node& node = plan_.nodes()[static_cast<std::size_t>(item.node)];
    for (const auto& part : item.parts) {
      const auto& term = node.terms()[static_cast<std::size_t>(part.term)];
      const Index k = plan_.nodes()[static_cast<std::size_t>(term.source)].size, n = node.size;
      if (plan_.is_symbols(term.source)) {
        const double bytes = 2 * kFloat * static_cast<double>(rows_ * n);
        const double near = kFloat * static_cast<double>((segment.loop ? shape_.batch : rows_) * n);
        add(segment.loop ? Stage::recurrent : Stage::hoisted, 0, bytes, rates_.traffic(bytes, near));
        continue;
      }
      const bool back = plan_.needs_adjoint(term.source);
      if (!term.dense()) {
        operated(segment.loop, *term.op, back);
        continue;
      }
      product(segment.loop, k, n);
      if (back) product(segment.loop, n, k);
      const double weights = kFloat * static_cast<double>(k * n),
                   packed = weights * 4;  // read and written, in both directions
      add(Stage::pack, 0, packed, rates_.traffic(packed, 2 * weights));
    }
  }

  /// The functions of the forward pass at their measured rate, and the traffic between tiles and caches. Adjoints in a
  /// ring buffer are read again in the next step. Values, and adjoints needed for the weight gradients, are read again
  /// only after the pass has gone through all other data.
  void maps(const Item& item) {
    constexpr double kNear = 256 << 10;
    for (const int i : item.nodes) {
      const Node& node = plan_.nodes()[static_cast<std::size_t>(i)];
      const auto elements = static_cast<double>(rows_ * node.size);
      const Map map = node.pointwise().map;
      const bool costly =
          map == Map::tanh || map == Map::sigmoid || map == Map::exp || map == Map::log || map == Map::softplus;
      if (costly) add(Stage::pointwise, elements, 0, rates_.function(map, elements));
      // Forward: one write. Backward: value and adjoint are read, and the adjoint is written.
      const double once = kFloat * elements;
      if (!plan_.value_place(i).scratch()) add(Stage::pointwise, 0, 2 * once, rates_.traffic(2 * once, all_));
      if (!plan_.needs_adjoint(i) || plan_.adjoint_place(i).scratch()) continue;
      const bool ring = plan_.adjoint_buffer(plan_.adjoint_place(i).root).ring;
      add(Stage::pointwise, 0, 2 * once, rates_.traffic(2 * once, ring ? kNear : all_));
    }
  }

  void gradients(int i) {
    const Node& node = plan_.nodes()[static_cast<std::size_t>(i)];
    if (node.kind() != Node::Kind::affine) return;
    for (const auto& term : node.terms()) {
      const Index k = plan_.nodes()[static_cast<std::size_t>(term.source)].size, n = node.size;
      const double adjoint = kFloat * static_cast<double>(rows_ * n);
      if (plan_.is_symbols(term.source)) {
        add(Stage::deferred, 0, 3 * adjoint, rates_.traffic(adjoint, adjoint));
      } else if (!term.dense()) {
        const double bytes = adjoint + kFloat * static_cast<double>(rows_ * k);
        add(Stage::deferred, term.op->operations() * static_cast<double>(rows_), bytes, rates_.traffic(bytes, bytes));
      } else {
        add(Stage::deferred, 2.0 * static_cast<double>(rows_ * k * n),
            adjoint + kFloat * static_cast<double>(rows_ * k + k * n), rates_.outer(rows_, k, n));
      }
    }
  }

  const Plan& plan_;
  const TrainingShape& shape_;
  Index rows_;
  double all_;  // bytes that a pass touches before it returns to the same address
  Rates& rates_;
  ProfileLine lines_[kStageCount];
};

}  // namespace

Profile measure_profile(const TrainingShape& shape, Team& team, double seconds) {
  LanguageModel<float> model = random_model(shape);
  const Network<float> network = model.network();
  Parameters<float>& parameters = model.parameters();
  Team as_in_training(team.size());
  Unfolding<float> unfolding(network.plan, as_in_training);
  unfolding.lay(Structure::chains(shape.batch, shape.window));
  Account account(team.size());
  unfolding.set_account(&account);
  State<float> state(*network.plan, shape.batch);
  const Index rows = shape.batch * shape.window;
  std::vector<Symbol> targets(static_cast<std::size_t>(rows));
  for (Index r = 0; r < rows; ++r) {
    unfolding.symbols(model.symbols())[static_cast<std::size_t>(r)] = static_cast<Symbol>(r * 7 % shape.symbols);
    targets[static_cast<std::size_t>(r)] = static_cast<Symbol>(r * 11 % shape.symbols);
  }
  Buffer<float> nats(rows), gradient(parameters.size());
  const auto adam = adam_direction<float>(parameters.size(), {}, 0, false);

  enum Row { kLosses = kStageCount, kOptimizer, kStep, kRows };
  using Sample = std::array<double, kRows>;  // seconds
  // Every other step runs without timers, which would take a tenth of the time of a small step. Only these steps
  // determine the step time.
  std::vector<Sample> steps, plain_steps;
  const double empty_timer = seconds_of_empty_timer();
  const auto step = [&](bool timed) {
    unfolding.set_account(timed ? &account : nullptr);
    account.clear();
    const double start = seconds_now();
    unfolding.set_parameters(parameters);
    unfolding.forward(&state);
    const double forward = seconds_now();
    const Head<float>& head = network.heads.front();
    const Observed<float> observed{.structure = unfolding.structure(),
                                   .signal = unfolding.value(head.signal),
                                   .targets = {.symbols = targets.data(), .values = {}, .predicted = nullptr},
                                   .parameters = parameters.flat()};
    head.loss->gradient(observed, 1.0F / static_cast<float>(rows), as_in_training, nats.data(),
                        unfolding.adjoint(head.signal), gradient.span());
    const double read = seconds_now();
    unfolding.backward(gradient.span());
    const double backward = seconds_now();
    adam->move(as_in_training, parameters.flat(), gradient.span(), 1, 1e-4);
    const double end = seconds_now();
    Sample sample{};
    for (int s = 0; s < kStageCount; ++s) {
      const auto stage = static_cast<Stage>(s);
      sample[static_cast<std::size_t>(s)] =
          std::max(0.0, account.seconds(stage) - empty_timer * account.intervals(stage));
    }
    sample[kLosses] = read - forward;
    sample[kOptimizer] = end - backward;
    sample[kStep] = end - start;
    (timed ? steps : plain_steps).push_back(sample);
  };
  constexpr std::size_t kLeast = 9;
  do step(true);
  while (!unfolding.settled());
  steps.clear();
  for (const double start = seconds_now(); plain_steps.size() < kLeast || seconds_now() - start < seconds;)
    step(true), step(false);
  for (auto* all : {&steps, &plain_steps}) {
    std::ranges::sort(*all, {}, [](const Sample& sample) { return sample[kStep]; });
    all->resize(quiet(all->size()));
  }
  const auto seconds_of = [&](std::size_t row) {
    const std::vector<Sample>& of = row == kStep ? plain_steps : steps;
    double sum = 0;
    for (const Sample& sample : of) sum += sample[row];
    return sum / static_cast<double>(of.size());
  };

  Rates rates(team, seconds / 20, seconds_of(kStep));
  const Floors floors(*network.plan, shape, rates);
  Profile profile;
  const auto add = [&](ProfileLine line, std::string_view stage, std::size_t row) {
    line.stage = stage;
    line.seconds = seconds_of(row);
    profile.attainable_seconds += line.attainable_seconds;
    profile.lines.push_back(std::move(line));
  };
  for (int s = 0; s < kStageCount; ++s)
    add(floors.of(static_cast<Stage>(s)), stage_name(static_cast<Stage>(s)), static_cast<std::size_t>(s));
  const auto logits = static_cast<double>(rows * shape.symbols), p = static_cast<double>(parameters.size());
  add({.operations = logits,
       .bytes = 2 * kFloat * logits,
       .attainable_seconds = 2 * rates.function(Map::exp, logits) +  // the normalizer, then the probabilities
                             rates.traffic(2 * kFloat * logits, kFloat * logits)},
      "losses", kLosses);
  add({.operations = p, .bytes = 7 * kFloat * p, .attainable_seconds = rates.adam(parameters.size())}, "optimizer",
      kOptimizer);
  const double stages = std::accumulate(profile.lines.begin(), profile.lines.end(), 0.0,
                                        [](double sum, const ProfileLine& line) { return sum + line.seconds; });
  profile.lines.push_back({.stage = "rest", .seconds = std::max(0.0, seconds_of(kStep) - stages)});
  profile.seconds_per_step = seconds_of(kStep);
  return profile;
}

}  // namespace unfold
