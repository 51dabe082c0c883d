#include "app/bench/distributed.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>

#include "distributed/shard_sum.h"

namespace unfold {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr int kMostProcesses = 4096;
constexpr double kGatheringsOfStep = 1;

double elapsed_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

/// Returns the minimum of several times, which is least affected by other load on the machine.
template <class Work>
double least_time(int times, const Work& work) {
  double least = 0;
  for (int i = 0; i < times; ++i) {
    const auto start = SteadyClock::now();
    work();
    const double taken = elapsed_since(start);
    least = i == 0 ? taken : std::min(least, taken);
  }
  return least;
}

/// Returns half the round-trip time between process 0 and another one. Only these two processes call this function.
double one_way(Processes& all, int other, std::span<std::byte> bytes, int times) {
  const int peer = all.first() ? other : 0;
  const Sending sending{peer, bytes};
  const Receiving receiving{peer, bytes};
  return least_time(times,
                    [&] {
                      if (all.first()) all.exchange(std::span(&sending, 1), {});
                      all.exchange({}, std::span(&receiving, 1));
                      if (!all.first()) all.exchange(std::span(&sending, 1), {});
                    }) /
         2;
}

std::vector<StepPrediction> predict(const StepEstimate& cost, const LinkSpeed& link, Index batch, bool divided) {
  std::vector<StepPrediction> result;
  const double alone = cost.seconds(static_cast<double>(batch));
  for (int k = 1; k <= kMostProcesses; k *= 2) {
    if (divided && k > batch) break;
    const double each = static_cast<double>(batch) / (divided ? k : 1);
    StepPrediction step{
        .processes = k, .computing = cost.seconds(each), .exchange = exchange_cost(link, cost.parameters, k)};
    step.efficiency = alone / step.seconds() / (divided ? k : 1);
    result.push_back(step);
  }
  return result;
}

}  // namespace

LinkSpeed measure_links(Processes& all) {
  constexpr std::size_t kFew = 8, kMany = std::size_t{4} << 20;
  std::vector<std::byte> bytes(kMany);
  LinkSpeed slowest{0, 0};
  for (int other = 1; other < all.count(); ++other) {
    double latency = 0, whole = 0;
    if (all.first() || all.number() == other) {
      latency = one_way(all, other, std::span(bytes).first(kFew), 200);
      whole = one_way(all, other, bytes, 10);
    }
    latency = all.of_first(latency), whole = all.of_first(whole);
    const double speed = static_cast<double>(kMany) / std::max(1e-9, whole - latency);
    slowest.latency = std::max(slowest.latency, latency);
    slowest.bytes_per_second = other == 1 ? speed : std::min(slowest.bytes_per_second, speed);
  }
  return slowest;
}

double measure_exchange(Processes& all, Index parameters) {
  Team team(1);
  ShardSum<float> sum({.shards = all.count(), .processes = &all}, parameters);
  std::vector<float> result(static_cast<std::size_t>(parameters));
  double least = 0;
  for (int i = 0; i < 10; ++i) {
    std::ranges::fill(sum.next(), 1.0F);
    sum.add_next(team);
    all.any(false);
    const double taken = all.of_first(least_time(1, [&] { sum.total(team, result); }));
    least = i == 0 ? taken : std::min(least, taken);
  }
  return least;
}

StepEstimate measure_step(const TrainingShape& shape, Team& team, double seconds, Processes& all) {
  const auto slowest = [&](Index batch) {
    all.any(false);
    const TrainingSpeed speed = measure_training({shape.model, batch, shape.window, shape.symbols}, team, seconds);
    const std::vector<double> of_all = all.gather(speed.seconds_per_step);
    return std::pair(*std::ranges::max_element(of_all), speed.parameters);
  };
  const Index half = std::max<Index>(1, shape.batch / 2);
  const auto [whole_seconds, parameters] = slowest(shape.batch);
  if (half == shape.batch) return {.per_sequence = whole_seconds, .fixed = 0, .parameters = parameters};
  const double slope = std::max(0.0, whole_seconds - slowest(half).first) / static_cast<double>(shape.batch - half);
  return {.per_sequence = slope,
          .fixed = std::max(0.0, whole_seconds - slope * static_cast<double>(shape.batch)),
          .parameters = parameters};
}

double measure_step_together(const TrainingShape& shape, Team& team, double seconds, Processes& all,
                             Timeline& timeline) {
  const TrainingShape together{shape.model, shape.batch * all.count(), shape.window, shape.symbols};
  const Sharding sharding{.shards = all.count(), .processes = &all, .timeline = &timeline};
  all.any(false);
  timeline.start();
  const std::vector<double> of_all = all.gather(measure_training(together, team, seconds, sharding).seconds_per_step);
  return *std::ranges::max_element(of_all);
}

ExchangeCost exchange_cost(const LinkSpeed& link, Index parameters, int processes) {
  if (processes == 1) return {};
  const double k = processes, bytes = static_cast<double>(parameters) * sizeof(float);
  const double doublings = std::ceil(std::log2(k));
  const double messages = 2 * (std::has_single_bit(static_cast<unsigned>(processes)) ? doublings : k - 1);
  return {.bytes = 2 * (k - 1) / k * bytes / link.bytes_per_second,
          .messages = (messages + kGatheringsOfStep * doublings) * link.latency};
}

std::vector<StepPrediction> predict_divided(const StepEstimate& cost, const LinkSpeed& link, Index batch) {
  return predict(cost, link, batch, true);
}

std::vector<StepPrediction> predict_growing(const StepEstimate& cost, const LinkSpeed& link, Index batch) {
  return predict(cost, link, batch, false);
}

/// Solves (a b + c) / (a b + c + e) = efficiency for b.
double sequences_for(const StepEstimate& cost, const LinkSpeed& link, int processes, double efficiency) {
  const double exchange = exchange_cost(link, cost.parameters, processes).seconds();
  return std::max(1.0, (exchange * efficiency / (1 - efficiency) - cost.fixed) / cost.per_sequence);
}

}  // namespace unfold
