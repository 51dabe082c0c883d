#include "unfold/distributed/processes.h"

#include <algorithm>
#include <cstring>

namespace unfold {
namespace {

class OneProcess final : public Processes {
 public:
  int count() const override { return 1; }
  int number() const override { return 0; }
  void exchange(std::span<const Sending>, std::span<const Receiving>) override {}
  void gather_bytes(std::span<const std::byte> mine, std::span<std::byte> all) override {
    std::ranges::copy(mine, all.begin());
  }
};

}  // namespace

std::vector<double> Processes::gather(double mine) {
  std::vector<double> all(static_cast<std::size_t>(count()));
  gather_bytes(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

std::vector<std::string> Processes::gather(const std::string& mine) {
  const std::vector<double> sizes = gather(static_cast<double>(mine.size()));
  const auto longest = static_cast<std::size_t>(*std::ranges::max_element(sizes));
  std::string padded = mine, all(longest * sizes.size(), '\0');
  padded.resize(longest);
  if (longest > 0) gather_bytes(std::as_bytes(std::span(padded)), std::as_writable_bytes(std::span(all)));
  std::vector<std::string> result;
  result.reserve(sizes.size());
  for (std::size_t p = 0; p < sizes.size(); ++p)
    result.push_back(all.substr(p * longest, static_cast<std::size_t>(sizes[p])));
  return result;
}

bool Processes::any(bool mine) {
  if (alone()) return mine;
  return std::ranges::any_of(gather(mine ? 1.0 : 0.0), [](double x) { return x > 0; });
}

double Processes::of_first(double mine) { return alone() ? mine : gather(mine).front(); }

Processes& single_process() {
  static OneProcess process;
  return process;
}

Range share_of_process(Index n, int number, int count, Index grain) {
  const Index grains = (n + grain - 1) / grain;
  const auto edge = [&](Index k) { return std::min(n, grains * k / count * grain); };
  return {edge(number), edge(number + 1)};
}

}  // namespace unfold
