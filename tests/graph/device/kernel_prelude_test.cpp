#include "graph/device/kernel_prelude.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/graph/device/every_device.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

class KernelWords : public EveryDevice {};
INSTANTIATE_TEST_SUITE_P(On, KernelWords, testing::Values("simulated", "cuda"),
                         [](const auto& on) { return std::string(on.param); });

std::uint32_t bits_of(float x) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

float float_of(std::uint32_t bits) {
  float x = 0;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

TEST_P(KernelWords, kernels_number_blocks_and_threads) {
  const int number = kernel(R"(
KERNEL(number) {
  int* to = a.pointer(0);
  const int i = block() * threads() + thread();
  to[2 * i] = 1000 * block() + thread();
  to[2 * i + 1] = 1000 * blocks() + threads();
}
)",
                            "number");
  const Address to = device->allocate(2 * 7 * 33 * sizeof(int));
  device->launch(number, {.blocks = 7, .threads = 33}, Arguments().add(to));
  const auto found = downloaded<int>(to, 2 * 7 * 33);
  for (int b = 0; b < 7; ++b)
    for (int t = 0; t < 33; ++t) {
      EXPECT_EQ(found[at(2 * (b * 33 + t))], 1000 * b + t);
      EXPECT_EQ(found[at(2 * (b * 33 + t) + 1)], 7033);
    }
}

TEST_P(KernelWords, threads_of_a_block_share_memory) {
  const int sum = kernel(R"(
KERNEL(sum) {
  float* shared = (float*)shared_memory();
  const float* x = a.pointer(0);
  shared[thread()] = x[block() * threads() + thread()];
  sync_block();
  for (int half = threads() / 2; half > 0; half /= 2) {
    if (thread() < half) shared[thread()] += shared[thread() + half];
    sync_block();
  }
  if (thread() == 0) a.pointer<float>(1)[block()] = shared[0];
}
)",
                         "sum");
  std::vector<float> x(3 * 256);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  const Address from = uploaded(x), to = device->allocate(3 * sizeof(float));
  for (const Index shared : {Index{1024}, Index{60} << 10})  // the second needs to be enabled
    for (int again = 0; again < 2; ++again) {
      device->clear(to, 3 * sizeof(float));
      device->launch(sum, {.blocks = 3, .threads = 256, .shared_bytes = shared}, Arguments().add(from).add(to));
      EXPECT_EQ(downloaded<float>(to, 3), (std::vector<float>{32640, 98176, 163712}));
    }
}

TEST_P(KernelWords, lanes_of_a_warp_exchange_numbers) {
  const int exchange = kernel(R"(
KERNEL(exchange) {
  float* to = a.pointer(0);
  double* doubles = a.pointer(1);
  const int lane = thread() % 32;
  float sum = thread();
  for (int mask = 16; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
  to[thread()] = sum;
  doubles[thread()] = shuffle(thread() + 0.1, (lane + 5) % 32);
  sync_warp();
}
)",
                              "exchange");
  const Address to = device->allocate(64 * sizeof(float)), doubles = device->allocate(64 * sizeof(double));
  device->launch(exchange, {.blocks = 1, .threads = 64}, Arguments().add(to).add(doubles));
  const auto sums = downloaded<float>(to, 64);
  const auto neighbors = downloaded<double>(doubles, 64);
  for (std::size_t t = 0; t < 64; ++t) {
    EXPECT_EQ(sums[t], t < 32 ? 496 : 1520);
    EXPECT_EQ(neighbors[t], static_cast<double>(t / 32 * 32 + (t + 5) % 32) + 0.1);
  }
}

TEST_P(KernelWords, warps_exchange_through_shared_memory) {
  const int turn = kernel(R"(
KERNEL(turn) {
  int* mine = (int*)shared_memory() + thread() / 32 * 32;
  const int lane = thread() % 32;
  int x = thread();
  for (int round = 0; round < 10; ++round) {
    mine[lane] = x;
    sync_warp();
    x = mine[(lane + 1) % 32] + 1;
    sync_warp();
  }
  a.pointer<int>(0)[thread()] = x;
}
)",
                          "turn");
  const Address to = device->allocate(64 * sizeof(int));
  device->launch(turn, {.blocks = 1, .threads = 64, .shared_bytes = 256}, Arguments().add(to));
  const auto found = downloaded<int>(to, 64);
  for (int t = 0; t < 64; ++t) EXPECT_EQ(found[at(t)], t / 32 * 32 + (t + 10) % 32 + 10);
}

// Each block adds its neighbor's numbers of the previous round to its own; two halves of memory alternate.
TEST_P(KernelWords, blocks_wait_for_each_other) {
  const int pass = kernel(R"(
KERNEL_OF(pass, 64) {
  float4* halves = a.pointer(0);
  u32* counter = a.pointer(1);
  const i64 rounds = a.integer(2);
  const int width = threads(), all = blocks() * width;
  for (i64 r = 0; r < rounds; ++r) {
    const float4* from = halves + r % 2 * all;
    float4* to = halves + (r + 1) % 2 * all;
    const float4 own = load_far(from + block() * width + thread());
    const float4 other = load_far(from + (block() + 1) % blocks() * width + (thread() + 1) % width);
    const float4 next = {own.x + 1, own.y + other.y, other.z + 1, other.w};
    to[block() * width + thread()] = next.y > 1000000 ? float4{next.x, next.y - 1000000, next.z, next.w} : next;
    sync_block();
    if (thread() == 0) {
      arrive(counter);
      await(counter, (u32)(blocks() * (r + 1)));
    }
    sync_block();
  }
}
)",
                          "pass");
  constexpr int kBlocks = 4, kWidth = 64, kAll = kBlocks * kWidth, kRounds = 500;
  struct Four {
    float x, y, z, w;
    bool operator==(const Four&) const = default;
  };
  std::vector<Four> halves(2 * kAll);
  for (int i = 0; i < kAll; ++i) halves[at(i)] = {float(i), float(i % 17), float(2 * i), float(3 * i)};
  const Address memory = uploaded(halves), counter = device->allocate(sizeof(std::uint32_t));
  for (int r = 0; r < kRounds; ++r)
    for (int b = 0; b < kBlocks; ++b)
      for (int t = 0; t < kWidth; ++t) {
        const Four own = halves[at(r % 2 * kAll + b * kWidth + t)];
        const Four other = halves[at(r % 2 * kAll + (b + 1) % kBlocks * kWidth + (t + 1) % kWidth)];
        const float y = own.y + other.y;
        halves[at((r + 1) % 2 * kAll + b * kWidth + t)] = {own.x + 1, y > 1000000 ? y - 1000000 : y, other.z + 1,
                                                           other.w};
      }
  device->launch(pass, {.blocks = kBlocks, .threads = kWidth, .together = true},
                 Arguments().add(memory).add(counter).add(Index{kRounds}));
  EXPECT_TRUE(downloaded<Four>(memory, 2 * kAll) == halves);
}

TEST_P(KernelWords, kernels_round_to_reduced_precision) {
  const int rounds = kernel(R"(
KERNEL(rounds) {
  const float* x = a.pointer(0);
  u32* to = a.pointer(1);
  if (thread() >= a.integer(2)) return;
  to[2 * thread()] = pack_bf16(x[thread()], x[thread() + 1]);
  to[2 * thread() + 1] = as_tf32(x[thread()]);
}
)",
                            "rounds");
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {
      1,           1 + 0x1p-8f,  1 + 3 * 0x1p-8f, 1 + 0x1.01p-8f, -1 - 0x1p-8f, 1 + 0x1p-11f, 1 - 0x1p-9f,
      3.14159274f, -2.71828175f, 1e-40f,          infinity,       -infinity,    3e38f,        0};
  const std::vector<float> halves = {1,
                                     1,
                                     1 + 0x1p-6f,
                                     1 + 0x1p-7f,
                                     -1,
                                     1,
                                     1,
                                     3.140625f,
                                     -2.71875f,
                                     float_of(0x00010000u),
                                     infinity,
                                     -infinity,
                                     float_of(0x7f620000u),
                                     0};
  const std::size_t count = x.size() - 1;
  const Address from = uploaded(x), to = device->allocate(2 * count * sizeof(std::uint32_t));
  device->launch(rounds, {.blocks = 1, .threads = 32}, Arguments().add(from).add(to).add(static_cast<Index>(count)));
  const auto found = downloaded<std::uint32_t>(to, 2 * count);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(float_of(found[2 * i] << 16), halves[i]) << x[i];
    EXPECT_EQ(float_of(found[2 * i] & 0xffff0000u), halves[i + 1]) << x[i + 1];
    const std::uint32_t bits = bits_of(x[i]);
    const std::uint32_t tf32 = std::isinf(x[i]) ? bits : (bits + 0x1000u) & ~0x1fffu;  // ties away from zero
    EXPECT_EQ(found[2 * i + 1], tf32) << x[i];
  }
}

// The fragments follow the PTX manual, indexed here by row and column.
TEST_P(KernelWords, kernels_multiply_tiles) {
  const char* source = R"(
KERNEL(tiles16) {
  const float *A = a.pointer(0), *B = a.pointer(1);
  float* C = a.pointer(2);
  const int lane = thread(), g = lane / 4, q = lane % 4;
  u32 x[4], y[2];
  for (int i = 0; i < 4; ++i) {
    const float* p = A + (g + i % 2 * 8) * 16 + 2 * q + i / 2 * 8;
    x[i] = pack_bf16(p[0], p[1]);
  }
  for (int i = 0; i < 2; ++i) y[i] = pack_bf16(B[(2 * q + 8 * i) * 8 + g], B[(2 * q + 8 * i + 1) * 8 + g]);
  float c[4];
  for (int i = 0; i < 4; ++i) c[i] = C[(g + i / 2 * 8) * 8 + 2 * q + i % 2];
  mma_bf16(c, x, y);
  for (int i = 0; i < 4; ++i) C[(g + i / 2 * 8) * 8 + 2 * q + i % 2] = c[i];
}
KERNEL(tiles8) {
  const float *A = a.pointer(0), *B = a.pointer(1);
  float* C = a.pointer(2);
  const int lane = thread(), g = lane / 4, q = lane % 4;
  u32 x[4], y[2];
  for (int i = 0; i < 4; ++i) x[i] = as_tf32(A[(g + i % 2 * 8) * 8 + q + i / 2 * 4]);
  for (int i = 0; i < 2; ++i) y[i] = as_tf32(B[(q + 4 * i) * 8 + g]);
  float c[4];
  for (int i = 0; i < 4; ++i) c[i] = C[(g + i / 2 * 8) * 8 + 2 * q + i % 2];
  mma_tf32(c, x, y);
  for (int i = 0; i < 4; ++i) C[(g + i / 2 * 8) * 8 + 2 * q + i % 2] = c[i];
}
)";
  const auto kernels = device->compile(source, {"tiles16", "tiles8"});
  for (const int depth : {16, 8}) {
    std::vector<float> a(at(16 * depth)), b(at(depth * 8)), c(16 * 8);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = float(i * 37 % 64) / 8 - 4;  // exact, as are their sums
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = float(i * 29 % 64) / 8 - 4;
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = float(i);
    std::vector<float> expected = c;
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 8; ++j)
        for (int k = 0; k < depth; ++k) expected[at(i * 8 + j)] += a[at(i * depth + k)] * b[at(k * 8 + j)];
    const Address pa = uploaded(a), pb = uploaded(b), pc = uploaded(c);
    device->launch(kernels[depth == 16 ? 0 : 1], {.blocks = 1, .threads = 32}, Arguments().add(pa).add(pb).add(pc));
    EXPECT_EQ(downloaded<float>(pc, c.size()), expected) << depth;
  }
}

TEST_P(KernelWords, kernel_random_numbers_equal_the_library) {
  const int draw = kernel(R"(
KERNEL(draw) {
  uint4* to = a.pointer(0);
  to[thread()] = philox((u64)a.integer(1), (u64)a.integer(2), (u64)thread() * 0x123456789abull);
}
)",
                          "draw");
  const std::uint64_t seed = 0x0123456789abcdefu, stream = 0x7edcba9876543210u;
  const Address to = device->allocate(64 * 16);
  device->launch(draw, {.blocks = 1, .threads = 64},
                 Arguments().add(to).add(static_cast<Index>(seed)).add(static_cast<Index>(stream)));
  const auto found = downloaded<std::array<std::uint32_t, 4>>(to, 64);
  for (std::uint64_t n = 0; n < 64; ++n) EXPECT_EQ(found[n], philox(seed, stream, n * 0x123456789abu));
}

TEST_P(KernelWords, kernels_load_and_compute_all_number_types) {
  const int load = kernel(R"(
DEVICE double sum_of(const uint4 x) { return (double)x.x + x.y + x.z + x.w; }
KERNEL(load) {
  double* to = a.pointer(0);
  const char* from = a.pointer(1);
  to[0] = load_far((const float*)from);
  to[1] = load_far((const double*)(from + 16));
  const uint2 two = load_far((const uint2*)(from + 32));
  to[2] = (double)two.x + two.y;
  to[3] = sum_of(load_far((const uint4*)(from + 48)));
  to[4] = float_of_bits(0x40490fdbu);
  to[5] = fma(2.0, 3.0, 1.0) + fmaf(2.0f, 3.0f, 1.0f) + rsqrt(4.0) + sqrt(4.0);
  to[6] = expf(0.0f) + tanhf(0.0f) + exp(0.0) + tanh(0.0) + log(1.0) + logf(1.0f);
}
)",
                          "load");
  std::vector<unsigned char> bytes(64);
  const float f = 1.5f;
  const double d = 2.25;
  const std::uint32_t words[] = {1, 2, 3, 4};
  std::memcpy(&bytes[0], &f, sizeof f);
  std::memcpy(&bytes[16], &d, sizeof d);
  std::memcpy(&bytes[32], words, 8);
  std::memcpy(&bytes[48], words, 16);
  const Address from = uploaded(bytes), to = device->allocate(7 * sizeof(double));
  device->launch(load, {.blocks = 1, .threads = 1}, Arguments().add(to).add(from));
  EXPECT_EQ(downloaded<double>(to, 7), (std::vector<double>{1.5, 2.25, 3, 10, double(float_of(0x40490fdbu)), 16.5, 2}));
}

}  // namespace
}  // namespace unfold
