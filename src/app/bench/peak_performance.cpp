#include "app/bench/peak_performance.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <vector>

#include "unfold/base/views.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "app/bench/peak_performance.cpp"
// clang-format off
#include "numerics/targets-inl.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Twelve independent chains of multiply-adds in registers, enough to hide the latency on all known processors.
float multiply_add_chains(Index rounds) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, 0.999f), term = hn::Set(d, 0.001f);
  // The chains must differ, because the compiler would merge equal chains.
  auto a = hn::Set(d, 1.0f), b = hn::Set(d, 2.0f), c = hn::Set(d, 3.0f), e = hn::Set(d, 4.0f), f = hn::Set(d, 5.0f);
  auto g = hn::Set(d, 6.0f), h = hn::Set(d, 7.0f), i = hn::Set(d, 8.0f), j = hn::Set(d, 9.0f), k = hn::Set(d, 10.0f);
  auto l = hn::Set(d, 11.0f), m = hn::Set(d, 12.0f);
  for (Index round = 0; round < rounds; ++round) {
    a = hn::MulAdd(a, factor, term), b = hn::MulAdd(b, factor, term), c = hn::MulAdd(c, factor, term);
    e = hn::MulAdd(e, factor, term), f = hn::MulAdd(f, factor, term), g = hn::MulAdd(g, factor, term);
    h = hn::MulAdd(h, factor, term), i = hn::MulAdd(i, factor, term), j = hn::MulAdd(j, factor, term);
    k = hn::MulAdd(k, factor, term), l = hn::MulAdd(l, factor, term), m = hn::MulAdd(m, factor, term);
  }
  a = hn::Add(hn::Add(hn::Add(a, b), hn::Add(c, e)), hn::Add(hn::Add(f, g), hn::Add(h, i)));
  return hn::GetLane(hn::Add(a, hn::Add(hn::Add(j, k), hn::Add(l, m))));
}

Index multiply_add_chain_flops() { return 12 * 2 * static_cast<Index>(hn::Lanes(hn::ScalableTag<float>())); }

/// Reads the numbers and returns a part of their sum. REQUIRES `count` to be a multiple of 64 and `x` to be aligned to
/// 64 bytes.
float read_floats(const float* x, Index count) {
  const hn::ScalableTag<float> d;
  const auto step = static_cast<Index>(hn::Lanes(d));
  auto a = hn::Zero(d), b = a, c = a, e = a;
  for (Index at = 0; at < count; at += 4 * step) {
    a = hn::Add(a, hn::Load(d, x + at)), b = hn::Add(b, hn::Load(d, x + at + step));
    c = hn::Add(c, hn::Load(d, x + at + 2 * step)), e = hn::Add(e, hn::Load(d, x + at + 3 * step));
  }
  return hn::GetLane(hn::Add(hn::Add(a, b), hn::Add(c, e)));
}

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfold {
namespace {

HWY_EXPORT(multiply_add_chains);
HWY_EXPORT(multiply_add_chain_flops);
HWY_EXPORT(read_floats);

constexpr double kSeconds = 0.03;
constexpr int kRepeats = 5;

/// Wall-clock time of the measuring threads, and the CPU time that they received.
struct Presence {
  std::atomic<double> seconds = 0, had = 0;
};

/// Returns the best total rate over several repetitions with all threads; `work` returns the amount of work done by one
/// call on one thread.
double best_rate(Team& team, double (*clock)(), Presence& presence, const std::function<double(int)>& work) {
  double best = 0;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    std::vector<double> done(static_cast<std::size_t>(team.size()));
    const double start = clock();
    team.run([&](Member& me) {
      double mine = 0;  // on this thread's stack: adjacent entries of `done` share a cache line
      const double began = seconds_now(), before = processor_seconds_now();
      while (clock() - start < kSeconds) mine += work(me.id());
      presence.seconds += seconds_now() - began;
      presence.had += processor_seconds_now() - before;
      done[static_cast<std::size_t>(me.id())] = mine;
    });
    const double seconds = clock() - start;
    double total = 0;
    for (const double part : done) total += part;
    best = std::max(best, total / seconds);
  }
  return best;
}

}  // namespace

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double processor_seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double seconds_to_read(Index floats) {
  constexpr Index kGrain = 64, kLeast = Index{1} << 22;  // kLeast: floats read per timing sample
  const Index size = (floats + kGrain - 1) / kGrain * kGrain, times = std::max<Index>(1, kLeast / size);
  Buffer<float> buffer(size);
  std::fill(buffer.begin(), buffer.end(), 1.0f);
  volatile float sink = 0;
  double best = 0;
  for (int repeat = 0; repeat < 8 * kRepeats; ++repeat) {
    const double start = seconds_now();
    for (Index i = 0; i < times; ++i) sink = HWY_DYNAMIC_DISPATCH(read_floats)(buffer.data(), size);
    const double took = (seconds_now() - start) / static_cast<double>(times);
    if (repeat == 0 || took < best) best = took;
  }
  static_cast<void>(sink);
  return best;
}

double seconds_to_fetch_a_line(Index bytes, double (*clock)()) {
  constexpr Index kLine = 64 / sizeof(std::uint64_t);
  constexpr int kFetches = 1 << 17;
  const auto lines = std::bit_ceil(static_cast<std::uint64_t>(std::max<Index>(bytes / 64, 1)));
  Buffer<std::uint64_t> buffer(static_cast<Index>(lines) * kLine);
  std::fill(buffer.begin(), buffer.end(), 1);
  volatile std::uint64_t sink = 0;
  double best = 0;
  for (int repeat = 0; repeat < 8 * kRepeats; ++repeat) {
    std::uint64_t place = 1, sum = 0;
    const double start = clock();
    for (int i = 0; i < kFetches; ++i) {
      place = place * 0xD1342543DE82EF95ULL + 1;  // the next address does not depend on the value read
      sum += buffer[static_cast<Index>((place >> 32) & (lines - 1)) * kLine];
    }
    const double took = (clock() - start) / kFetches;
    sink = sum;
    if (repeat == 0 || took < best) best = took;
  }
  static_cast<void>(sink);
  return best;
}

Floor measure_peak_rates(Team& team, double (*clock)()) {
  Floor floor;
  Presence presence;
  volatile float sink = 0;  // keeps the compiler from removing the computation
  floor.flops = best_rate(team, clock, presence, [&](int) {
    constexpr Index kRounds = 20000;
    const float value = HWY_DYNAMIC_DISPATCH(multiply_add_chains)(kRounds);
    if (value < 0) sink = value;
    return static_cast<double>(kRounds * HWY_DYNAMIC_DISPATCH(multiply_add_chain_flops)());
  });
  const auto read = [&](const Buffer<float>& buffer, Index begin, Index count) {
    const float value = HWY_DYNAMIC_DISPATCH(read_floats)(buffer.data() + begin, count);
    if (value < 0) sink = value;
    return static_cast<double>(count) * sizeof(float);
  };
  constexpr Index kNear = Index{256} * 1024 / sizeof(float), kFar = Index{256} * 1024 * 1024 / sizeof(float);
  std::vector<Buffer<float>> near(static_cast<std::size_t>(team.size()));
  for (Buffer<float>& buffer : near) buffer.resize(kNear);
  floor.bytes_from_l2 =
      best_rate(team, clock, presence, [&](int id) { return read(near[static_cast<std::size_t>(id)], 0, kNear); }) /
      team.size();
  Buffer<float> far(kFar);
  std::fill(far.begin(), far.end(), 1.0f);  // pages that were never written may all map to a single zero page
  std::vector<Index> next(static_cast<std::size_t>(team.size()) * 16);
  const Index share = kFar / team.size() / 64 * 64, piece = std::min<Index>(share, Index{1} << 18);
  floor.bytes_from_memory = best_rate(team, clock, presence, [&](int id) {
    Index& at = next[static_cast<std::size_t>(id) * 16];
    const double bytes = read(far, id * share + at, piece);
    at = at + 2 * piece <= share ? at + piece : 0;
    return bytes;
  });
  floor.processors = std::min(1.0, presence.had / std::max(presence.seconds.load(), 1e-9));
  return floor;
}

}  // namespace unfold
#endif
