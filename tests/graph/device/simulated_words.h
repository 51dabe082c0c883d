/// The primitives of graph/device/kernel_prelude.h for simulated kernels, prepended to their source for the system's
/// compiler (simulated_device.cpp). Each thread of a block is a fiber; a fiber runs until it must wait for others.

#include <math.h>

#include <cmath>
#include <cstdint>
#include <cstring>

#include <sys/mman.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

typedef unsigned u32;
typedef long long i64;
typedef unsigned long long u64;

struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) uint4 {
  u32 x, y, z, w;
};
struct alignas(8) uint2 {
  u32 x, y;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) double2 {
  double x, y;
};
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline double2 make_double2(double x, double y) { return {x, y}; }
inline uint4 make_uint4(u32 x, u32 y, u32 z, u32 w) { return {x, y, z, w}; }
inline uint2 make_uint2(u32 x, u32 y) { return {x, y}; }

#define DEVICE inline
#define KERNEL(name) extern "C" __attribute__((visibility("default"))) void name(const ArgumentWords& a)
#define KERNEL_OF(name, most_threads) KERNEL(name)

struct AnyPointer {
  u64 address;
  template <class T>
  operator T*() const {
    return reinterpret_cast<T*>(address);
  }
};

struct ArgumentWords {
  u64 words[120];
  AnyPointer pointer(int i) const { return AnyPointer{words[i]}; }
  template <class T>
  T* pointer(int i) const {
    return reinterpret_cast<T*>(words[i]);
  }
  i64 integer(int i) const { return static_cast<i64>(words[i]); }
  double number(int i) const {
    double x;
    std::memcpy(&x, &words[i], sizeof x);
    return x;
  }
};

namespace simulation {

using Kernel = void (*)(const ArgumentWords&);

constexpr int kLanes = 32;
/// Not a multiple of the page size, so that the tops of the stacks do not share cache lines.
constexpr std::size_t kStack = (std::size_t{64} << 10) + 9 * 64;
constexpr u64 kStackEnd = 0x5a5a1234dead5a5aull;
constexpr int kOperands = 6;

/// A barrier; `round` counts how often all threads have arrived.
struct Meeting {
  u32 alive, here, round;
};

struct Operands {
  u32 round;
  u32 words[kOperands];
};

struct Warp {
  Meeting meeting;
  Operands operands[2][kLanes];  ///< of this and of the previous exchange, which some lanes may still be reading
};

struct Block {
  Meeting meeting;
  int number;
  char* shared;
};

/// A thread; it waits until *counter >= until.
struct Fiber {
  const u32* counter;
  u32 until;
  bool ended;
  int thread;
  u32 exchanges;
  Block* block;
  Warp* warp;
#if defined(__x86_64__)
  void* stack;
#else
  ucontext_t context;
#endif
};

static Fiber* now;
static Kernel kernel;
static const ArgumentWords* arguments;
static int all_blocks, all_threads;

#if defined(__x86_64__)
extern "C" __attribute__((visibility("hidden"))) void unfold_switch(void** from, void* to);
asm(R"(
.text
.hidden unfold_switch
.globl unfold_switch
.type unfold_switch, @function
unfold_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmp *%rcx
.size unfold_switch, .-unfold_switch
)");
static void* main_stack;
static void resume(Fiber& fiber) { unfold_switch(&main_stack, fiber.stack); }
static void pause() { unfold_switch(&now->stack, main_stack); }
#else
static ucontext_t main_context;
static void resume(Fiber& fiber) { swapcontext(&main_context, &fiber.context); }
static void pause() { swapcontext(&now->context, &main_context); }
#endif

static void wait(const u32* counter, u32 until) {
  if (*static_cast<const volatile u32*>(counter) >= until) return;
  now->counter = counter;
  now->until = until;
  pause();
}

static void open(Meeting& meeting) {
  meeting.here = 0;
  ++meeting.round;
}

static void meet(Meeting& meeting) {
  const u32 round = meeting.round;
  if (++meeting.here == meeting.alive) return open(meeting);
  wait(&meeting.round, round + 1);
}

/// Releases the threads that wait for a thread that has ended.
static void leave(Meeting& meeting) {
  if (--meeting.alive == meeting.here && meeting.here > 0) open(meeting);
}

/// Publishes the words of this lane to its warp; `shown` then returns those of all lanes.
template <class T>
static void show(const T& words) {
  Operands& mine = now->warp->operands[++now->exchanges % 2][now->thread % kLanes];
  mine.round = now->exchanges;
  static_assert(sizeof words <= sizeof mine.words);
  std::memcpy(mine.words, &words, sizeof words);
  meet(now->warp->meeting);
}

/// The words of a lane that published none are NaN.
static const u32* shown(int lane) {
  static const u32 nothing[kOperands] = {~0u, ~0u, ~0u, ~0u, ~0u, ~0u};
  const Operands& its = now->warp->operands[now->exchanges % 2][lane % kLanes];
  return its.round == now->exchanges ? its.words : nothing;
}

static void run_thread() {
  kernel(*arguments);
  now->ended = true;
  leave(now->warp->meeting);
  leave(now->block->meeting);
  pause();
  __builtin_trap();
}

static char* stack_of(char* stacks, i64 fiber) { return stacks + static_cast<std::size_t>(fiber) * kStack; }

static void start(Fiber& fiber, char* stack) {
  static const u32 always = 0;
  fiber.counter = &always;
  fiber.until = 0;
  fiber.ended = false;
  fiber.exchanges = 0;
  std::memcpy(stack, &kStackEnd, sizeof kStackEnd);
#if defined(__x86_64__)
  constexpr int kSaved = 6;
  // As after a call: the stack is 8 bytes off a multiple of 16 when run_thread begins.
  auto top = reinterpret_cast<u64>(stack + kStack) / 16 * 16 - 16;
  u64* frame = reinterpret_cast<u64*>(top) - kSaved;
  for (int i = 0; i < kSaved; ++i) frame[i] = 0;
  frame[kSaved] = reinterpret_cast<u64>(&run_thread);
  frame[kSaved + 1] = 0;
  fiber.stack = frame;
#else
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = stack + sizeof(u64);
  fiber.context.uc_stack.ss_size = kStack - sizeof(u64);
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, run_thread, 0);
#endif
}

static bool can_go(const Fiber& fiber) {
  return !fiber.ended && *static_cast<const volatile u32*>(fiber.counter) >= fiber.until;
}

enum Outcome { kDone, kStuck, kStackTooSmall, kNoMemory };

/// Runs the fibers of some blocks to completion. `backwards`: last thread first, which detects missing waits.
static Outcome run(Fiber* fibers, i64 count, char* stacks, bool backwards) {
  i64 left = count;
  while (left > 0) {
    bool any = false;
    for (i64 first = 0; first < count; first += kLanes) {
      const i64 begin = backwards ? (count - 1) / kLanes * kLanes - first : first;
      const i64 lanes = count - begin < kLanes ? count - begin : kLanes;
      for (bool more = true; more;) {  // each warp runs as far as possible
        more = false;
        for (i64 lane = 0; lane < lanes; ++lane) {
          Fiber& fiber = fibers[begin + (backwards ? lanes - 1 - lane : lane)];
          if (!can_go(fiber)) continue;
          now = &fiber;
          resume(fiber);
          any = more = true;
          left -= fiber.ended;
        }
      }
    }
    if (!any) return kStuck;
  }
  for (i64 i = 0; i < count; ++i)
    if (std::memcmp(stack_of(stacks, i), &kStackEnd, sizeof kStackEnd) != 0) return kStackTooSmall;
  return kDone;
}

/// A memory pool that grows and is never freed.
struct Pool {
  char* memory = nullptr;
  std::size_t bytes = 0;
  char* at_least(std::size_t wanted) {
    if (wanted <= bytes) return memory;
    if (memory != nullptr) munmap(memory, bytes);
    void* got = mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    memory = got == MAP_FAILED ? nullptr : static_cast<char*>(got);
    bytes = memory == nullptr ? 0 : wanted;
    return memory;
  }
};

}  // namespace simulation

/// Runs a kernel. Returns 0: done; 1: deadlock; 2: a thread needs more stack; 3: out of memory.
extern "C" __attribute__((visibility("default"))) int unfold_simulate(simulation::Kernel what, const u64* words,
                                                                      i64 blocks, i64 threads, i64 shared_bytes,
                                                                      bool together, bool backwards) {
  using namespace simulation;
  static Pool stack_pool, fiber_pool, warp_pool, block_pool, shared_pool;
  const i64 at_once = together ? blocks : 1;
  const i64 warps = (threads + kLanes - 1) / kLanes;
  const i64 room = (shared_bytes + 127) / 128 * 128 + 128;
  char* stacks = stack_pool.at_least(static_cast<std::size_t>(at_once * threads) * kStack);
  auto* fibers =
      reinterpret_cast<Fiber*>(fiber_pool.at_least(static_cast<std::size_t>(at_once * threads) * sizeof(Fiber)));
  auto* warp = reinterpret_cast<Warp*>(warp_pool.at_least(static_cast<std::size_t>(at_once * warps) * sizeof(Warp)));
  auto* block = reinterpret_cast<Block*>(block_pool.at_least(static_cast<std::size_t>(at_once) * sizeof(Block)));
  char* shared = shared_pool.at_least(static_cast<std::size_t>(at_once * room));
  if (!stacks || !fibers || !warp || !block || !shared) return kNoMemory;

  kernel = what;
  arguments = reinterpret_cast<const ArgumentWords*>(words);
  all_blocks = static_cast<int>(blocks);
  all_threads = static_cast<int>(threads);
  for (i64 first = 0; first < blocks; first += at_once) {
    std::memset(shared, 0xff, static_cast<std::size_t>(at_once * room));  // NaN until written
    for (i64 b = 0; b < at_once; ++b) {
      const i64 number = together || !backwards ? first + b : blocks - 1 - first;
      block[b] = Block{{static_cast<u32>(threads), 0, 0}, static_cast<int>(number), shared + b * room};
      for (i64 w = 0; w < warps; ++w) {
        const i64 lanes = threads - w * kLanes < kLanes ? threads - w * kLanes : kLanes;
        Warp& its = warp[b * warps + w];
        its.meeting = {static_cast<u32>(lanes), 0, 0};
        for (auto& half : its.operands)
          for (Operands& operands : half) operands.round = 0;
      }
      for (i64 t = 0; t < threads; ++t) {
        Fiber& fiber = fibers[b * threads + t];
        fiber.thread = static_cast<int>(t);
        fiber.block = &block[b];
        fiber.warp = &warp[b * warps + t / kLanes];
        start(fiber, stack_of(stacks, b * threads + t));
      }
    }
    if (const Outcome outcome = run(fibers, at_once * threads, stacks, backwards); outcome != kDone) return outcome;
  }
  return kDone;
}

inline int block() { return simulation::now->block->number; }
inline int blocks() { return simulation::all_blocks; }
inline int thread() { return simulation::now->thread; }
inline int threads() { return simulation::all_threads; }
inline void sync_block() { simulation::meet(simulation::now->block->meeting); }
inline void sync_warp() { simulation::meet(simulation::now->warp->meeting); }
inline char* shared_memory() { return simulation::now->block->shared; }

template <class T>
T shuffle(T x, int lane) {
  T other;
  simulation::show(x);
  std::memcpy(&other, simulation::shown(lane), sizeof other);
  return other;
}
template <class T>
T shuffle_xor(T x, int mask) {
  return shuffle(x, (simulation::now->thread % simulation::kLanes) ^ mask);
}

template <class T>
T load_far(const T* p) {
  return *p;
}
inline void arrive(u32* counter) { ++*static_cast<volatile u32*>(counter); }
inline void publish(u32* flag, u32 n) { *static_cast<volatile u32*>(flag) = n; }
inline void await(const u32* counter, u32 n) { simulation::wait(counter, n); }

inline float exp_fast(float x) { return std::exp(x); }
inline float divide_fast(float a, float b) { return a / b; }
inline float float_of_bits(u32 bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
namespace simulation {
inline u32 bits_of(float x) {
  u32 bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
inline u32 bf16_of(float x) {
  const u32 bits = bits_of(x);
  return x != x ? 0x7fffu : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}
inline float of_half(u32 pair, int half) { return float_of_bits(half == 0 ? pair << 16 : pair & 0xffff0000u); }
inline float of_tf32(u32 bits) { return float_of_bits(bits & ~0x1fffu); }
}  // namespace simulation

inline u32 pack_bf16(float a, float b) { return simulation::bf16_of(a) | simulation::bf16_of(b) << 16; }
/// Rounds to nearest, ties away from zero, like cvt.rna.
inline u32 as_tf32(float x) {
  const u32 bits = simulation::bits_of(x);
  return x != x ? 0x7fffffffu : (bits & 0x7f800000u) == 0x7f800000u ? bits : (bits + 0x1000u) & ~0x1fffu;
}

// Positions of the numbers in the fragments, with g = lane / 4 and q = lane % 4: c[i] is at row g + 8 (i / 2) and
// column 2 q + i % 2; see "Matrix fragments for mma.m16n8k16 with floating point type" in the PTX manual.
inline void mma_bf16(float* c, const u32* a, const u32* b) {
  using namespace simulation;
  const u32 mine[kOperands] = {a[0], a[1], a[2], a[3], b[0], b[1]};
  show(mine);
  const int g = now->thread % kLanes / 4, q = now->thread % 4;
  double sums[4] = {c[0], c[1], c[2], c[3]};
  for (int pair = 0; pair < 4; ++pair) {
    const u32 *x = shown(4 * g + pair), *left = shown(8 * q + pair) + 4, *right = shown(8 * q + 4 + pair) + 4;
    for (int far = 0; far < 2; ++far)
      for (int half = 0; half < 2; ++half) {
        const double up = of_half(x[2 * far], half), down = of_half(x[2 * far + 1], half);
        const double l = of_half(left[far], half), r = of_half(right[far], half);
        sums[0] += up * l, sums[1] += up * r, sums[2] += down * l, sums[3] += down * r;
      }
  }
  for (int i = 0; i < 4; ++i) c[i] = float(sums[i]);
}
inline void mma_tf32(float* c, const u32* a, const u32* b) {
  using namespace simulation;
  const u32 mine[kOperands] = {a[0], a[1], a[2], a[3], b[0], b[1]};
  show(mine);
  const int g = now->thread % kLanes / 4, q = now->thread % 4;
  double sums[4] = {c[0], c[1], c[2], c[3]};
  for (int k = 0; k < 4; ++k) {
    const u32 *x = shown(4 * g + k), *left = shown(8 * q + k) + 4, *right = shown(8 * q + 4 + k) + 4;
    for (int far = 0; far < 2; ++far) {
      const double up = of_tf32(x[2 * far]), down = of_tf32(x[2 * far + 1]);
      const double l = of_tf32(left[far]), r = of_tf32(right[far]);
      sums[0] += up * l, sums[1] += up * r, sums[2] += down * l, sums[3] += down * r;
    }
  }
  for (int i = 0; i < 4; ++i) c[i] = float(sums[i]);
}

inline uint4 philox(u64 seed, u64 stream, u64 n) {
  uint4 c = {u32(n), u32(n >> 32), u32(stream), u32(stream >> 32)};
  u32 k0 = u32(seed), k1 = u32(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const u64 p = u64{0xD2511F53u} * c.x, q = u64{0xCD9E8D57u} * c.z;
    c = {u32(q >> 32) ^ c.y ^ k0, u32(q), u32(p >> 32) ^ c.w ^ k1, u32(p)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

// CUDA functions that are not in the C library.
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline double rsqrt(double x) { return 1 / std::sqrt(x); }
template <class T>
T min(T x, T y) {
  return y < x ? y : x;
}
template <class T>
T max(T x, T y) {
  return x < y ? y : x;
}
