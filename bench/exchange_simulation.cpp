/// Checks the cost model of `unfold bench --distributed` against a simulation of every message of an exchange, in up to
/// 4,096 processes. The ranges of the messages are those of the program (Slices). Prints a table in Markdown for
/// docs/processes.md.
///
///   build/release/bin/bench_exchange_simulation

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "app/bench/distributed.h"
#include "unfold/distributed/slices.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

constexpr Index kGrain = 4096;  // as in training

/// A group that only knows its size.
class CountedProcesses final : public Processes {
 public:
  explicit CountedProcesses(int count) : count_(count) {}
  int count() const override { return count_; }
  int number() const override { return 0; }
  void exchange(std::span<const Sending>, std::span<const Receiving>) override {}
  void gather_bytes(std::span<const std::byte>, std::span<std::byte>) override {}

 private:
  int count_;
};

/// Processes whose messages take alpha + bytes / B; both directions of a link are used at the same time. One message in
/// `slow_every` takes ten times alpha; 0: none.
class ExchangeSimulation {
 public:
  ExchangeSimulation(LinkSpeed link, Index parameters, int processes, Index slow_every)
      : link_(link), slow_every_(slow_every), clocks_(static_cast<std::size_t>(processes)) {
    CountedProcesses group(processes);
    const Slices slices({.shards = processes, .processes = &group}, parameters, kGrain);
    rounds_.reserve(clocks_.size());
    for (int p = 0; p < processes; ++p) rounds_.push_back(slices.halves({0, parameters}, p));
  }

  /// Returns the time at which the last process has the whole sum and the small gather is over.
  double seconds() {
    const std::size_t rounds = rounds_.front().size();
    for (std::size_t r = 0; r < rounds; ++r) trade(r, true);
    for (std::size_t r = rounds; r-- > 0;) trade(r, false);
    for (std::size_t r = 0; r < rounds; ++r) send_all(r, [](std::size_t) { return 64; });
    return *std::ranges::max_element(clocks_);
  }

 private:
  /// Halving sends what the partner keeps; spreading returns what this process has.
  void trade(std::size_t round, bool halving) {
    send_all(round, [&](std::size_t p) {
      const auto& [kept, given] = rounds_[p][round];
      return (halving ? given : kept).size() * Index{sizeof(float)};
    });
  }
  template <class Bytes>
  void send_all(std::size_t round, const Bytes& bytes) {
    std::vector<double> after = clocks_;
    for (std::size_t p = 0; p < clocks_.size(); ++p) {
      const Index size = bytes(p);
      if (size == 0) continue;
      const std::size_t partner = p ^ (std::size_t{1} << round);
      const double sent = clocks_[p] + static_cast<double>(size) / link_.bytes_per_second;
      after[p] = std::max(after[p], sent);
      // A message is received after the partner has called the exchange.
      after[partner] = std::max({after[partner], sent + latency(), clocks_[partner]});
    }
    clocks_ = std::move(after);
  }
  double latency() {
    const bool slow = slow_every_ > 0 && random_.below(static_cast<std::uint64_t>(slow_every_)) == 0;
    return link_.latency * (slow ? 10 : 1);
  }

  LinkSpeed link_;
  Index slow_every_;
  std::vector<double> clocks_;
  std::vector<std::vector<std::pair<Range, Range>>> rounds_;
  Random random_{1, "slow messages"};
};

/// The steps of one process in docs/processes.md (batch 32, two threads).
struct MeasuredStep {
  const char* model;
  Index parameters;
  double seconds;
};
struct NamedLink {
  const char* name;
  LinkSpeed speed;
};

void print_rows() {
  const NamedLink links[] = {{"10 Gbit/s, 100 us", {100e-6, 1.25e9}},
                             {"25 Gbit/s, 20 us", {20e-6, 3.125e9}},
                             {"100 Gbit/s, 5 us", {5e-6, 12.5e9}}};
  const MeasuredStep steps[] = {
      {"lstm:256", 350'000, 21e-3}, {"lstm:1024", 4'500'000, 296e-3}, {"lstm:2048", 17'400'000, 1.111}};
  fmt::print(
      "| link | model | processes | cost model, ms | simulated, ms | with slow messages, ms | efficiency |\n"
      "| --- | --- | ---: | ---: | ---: | ---: | ---: |\n");
  for (const NamedLink& link : links)
    for (const MeasuredStep& step : steps)
      for (const int processes : {64, 1024, 4096}) {
        const auto simulated = [&](Index slow_every) {
          return ExchangeSimulation(link.speed, step.parameters, processes, slow_every).seconds();
        };
        const double even = simulated(0);
        fmt::print("| {} | `{}` | {} | {:.2f} | {:.2f} | {:.2f} | {:.0f} % |\n", link.name, step.model, processes,
                   1e3 * exchange_cost(link.speed, step.parameters, processes).seconds(), 1e3 * even,
                   1e3 * simulated(1000), 100 * step.seconds / (step.seconds + even));
      }
}

}  // namespace
}  // namespace unfold

int main() { unfold::print_rows(); }
