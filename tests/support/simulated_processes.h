#pragma once
/// Simulates several processes as threads of one process, for tests of collective functions without MPI.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "unfold/distributed/processes.h"

namespace unfold {

/// Data shared by the simulated processes: messages in transit.
class SimulatedNetwork {
 public:
  explicit SimulatedNetwork(int processes) : count(processes) {}

  void send(int from, int to, std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    mail_[{from, to}].emplace_back(bytes.begin(), bytes.end());
    sent_[static_cast<std::size_t>(from)] += bytes.size();
    ++messages_[static_cast<std::size_t>(from)];
    changed_.notify_all();
  }
  void receive(int from, int to, std::span<std::byte> bytes, const Pace* pace = nullptr) {
    std::unique_lock lock(mutex_);
    auto& box = mail_[{from, to}];
    const auto ended = [&] { return broken_ || !box.empty() || (pace != nullptr && pace->is_canceled); };
    while (!changed_.wait_for(lock, std::chrono::milliseconds(10), ended)) continue;
    if (box.empty()) throw std::runtime_error("another process has ended");
    if (box.front().size() != bytes.size())
      throw std::logic_error("the size of a message differs from the awaited size");
    std::ranges::copy(box.front(), bytes.begin());
    box.pop_front();
  }
  void break_off() {
    const std::lock_guard lock(mutex_);
    broken_ = true;
    changed_.notify_all();
  }
  std::size_t sent(int from) const { return sent_[static_cast<std::size_t>(from)]; }  ///< bytes
  std::size_t messages(int from) const { return messages_[static_cast<std::size_t>(from)]; }
  /// Return the number of calls of gather_bytes and of exchange_in_background.
  std::size_t gatherings(int process) const { return gatherings_[static_cast<std::size_t>(process)]; }
  std::size_t exchanges_beside(int process) const { return beside_[static_cast<std::size_t>(process)]; }
  void count_gathering(int process) { ++gatherings_[static_cast<std::size_t>(process)]; }
  void count_beside(int process) { ++beside_[static_cast<std::size_t>(process)]; }

  const int count;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> mail_;
  std::vector<std::size_t> sent_ = std::vector<std::size_t>(static_cast<std::size_t>(count)), messages_ = sent_;
  std::vector<std::size_t> gatherings_ = sent_, beside_ = sent_;
  bool broken_ = false;
};

class SimulatedProcess final : public Processes {
 public:
  SimulatedProcess(SimulatedNetwork& network, int number) : network_(network), number_(number) {}
  int count() const override { return network_.count; }
  int number() const override { return number_; }
  std::string machine() const override { return "machine" + std::to_string(number_); }
  void exchange(std::span<const Sending> sendings, std::span<const Receiving> receivings) override {
    for (const Sending& s : sendings) network_.send(number_, s.to, s.bytes);
    for (const Receiving& r : receivings) network_.receive(r.from, number_, r.bytes);
  }
  void exchange_in_background(std::span<const Sending> sendings, std::span<const Receiving> receivings,
                              const Pace& pace) override {
    network_.count_beside(number_);
    for (const Sending& s : sendings) network_.send(number_, s.to, s.bytes);
    for (const Receiving& r : receivings) network_.receive(r.from, number_, r.bytes, &pace);
  }
  void gather_bytes(std::span<const std::byte> mine, std::span<std::byte> all) override {
    network_.count_gathering(number_);
    for (int p = 0; p < count(); ++p) network_.send(number_, p, mine);
    for (int p = 0; p < count(); ++p)
      network_.receive(p, number_, all.subspan(static_cast<std::size_t>(p) * mine.size(), mine.size()));
  }

 private:
  SimulatedNetwork& network_;
  int number_;
};

/// Runs `body` in every process of the network; rethrows the first exception in the order of the processes.
inline void run_in_processes(SimulatedNetwork& network, const std::function<void(Processes&)>& body) {
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(network.count));
  std::vector<std::thread> threads;
  for (int p = 0; p < network.count; ++p)
    threads.emplace_back([&, p] {
      SimulatedProcess process(network, p);
      try {
        body(process);
      } catch (...) {
        errors[static_cast<std::size_t>(p)] = std::current_exception();
        network.break_off();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}
inline void run_in_processes(int count, const std::function<void(Processes&)>& body) {
  SimulatedNetwork network(count);
  run_in_processes(network, body);
}

}  // namespace unfold
