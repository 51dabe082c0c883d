#pragma once
/// A device: a processor with memory of its own that runs kernels. What the engine asks of a GPU, and no more.
///
///   auto gpu = open_device("cuda:0");
///   Address x = gpu->allocate(bytes);
///   gpu->upload(x, host, bytes);
///   const int twice = gpu->compile(source, {"twice"})[0];
///   gpu->launch(twice, {.blocks = 8, .threads = 256}, Arguments().add(x).add(n));
///   gpu->download(host, x, bytes);                       // waits for all that was asked before
///
/// Everything asked of a device is done in the order in which it was asked. Not thread-safe.
///
/// Kernels. Their source is written in the words of kernel_words.h, which a device defines in its own way: CUDA's
/// compiler, or threads that are simulated (tests). A kernel is `KERNEL(name) { ... }` and sees its arguments as
/// `a.pointer(i)`, `a.integer(i)` and `a.number(i)`.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// Where something is in the memory of a device; arithmetic in bytes. 0: nowhere.
using Address = std::uint64_t;

/// The arguments of a kernel, in order; each takes one place of 8 bytes.
class Arguments {
 public:
  static constexpr std::size_t kMost = 120;
  Arguments& add(Address pointer) { return put(pointer); }
  Arguments& add(Index integer) { return put(static_cast<std::uint64_t>(integer)); }
  Arguments& add(double number);
  std::size_t count() const { return count_; }
  const std::uint64_t* words() const { return words_; }

 private:
  Arguments& put(std::uint64_t word);
  std::uint64_t words_[kMost] = {};
  std::size_t count_ = 0;
};

/// How many threads run a kernel, and how.
struct Launch {
  Index blocks = 1, threads = 256;
  Index shared_bytes = 0;  ///< of a block, seen by the kernel as `shared_memory()`
  bool together = false;   ///< all blocks run at once, so that they may wait for each other
};

/// Of the products of single-precision numbers; their sums are always in single precision.
enum class DevicePrecision : unsigned char { exact, tf32, bf16 };

/// c (=|+=) op(a) op(b), row-major: c [m x n], op(a) [m x k], op(b) [k x n]; `ld`: numbers from one row to the next.
struct DeviceProduct {
  Index m = 0, n = 0, k = 0;
  Address a = 0, b = 0, c = 0;
  Index lda = 0, ldb = 0, ldc = 0;
  bool transposed_a = false, transposed_b = false;  ///< stored [k x m], [n x k]
  bool accumulate = false;
  bool doubles = false;  ///< numbers of 8 bytes; precision has no meaning then
  bool halves = false;   ///< a and b are bfloat16 numbers, c single ones; likewise
  DevicePrecision precision = DevicePrecision::exact;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;    ///< "NVIDIA H100 80GB HBM3"
  virtual Index processors() const = 0;    ///< blocks that certainly run at once, one on each
  virtual Index shared_bytes() const = 0;  ///< that a block may have at most

  /// Zeroed. Throws RuntimeFailure when there is no more, saying how much was asked for and how much is free.
  virtual Address allocate(std::size_t bytes) = 0;
  virtual void release(Address memory) noexcept = 0;
  virtual std::size_t allocated_bytes() const = 0;

  /// `from` may change as soon as it returns.
  virtual void upload(Address to, const void* from, std::size_t bytes) = 0;
  virtual void download(void* to, Address from, std::size_t bytes) = 0;
  virtual void clear(Address memory, std::size_t bytes) = 0;
  virtual void copy(Address to, Address from, std::size_t bytes) = 0;

  /// Compiles a source and gives its kernels, in the order of their names. Throws RuntimeFailure with what the compiler
  /// said. The same source twice is compiled once.
  virtual std::vector<int> compile(const std::string& source, const std::vector<std::string>& kernels) = 0;
  virtual void launch(int kernel, const Launch& how, const Arguments& arguments) = 0;
  virtual void multiply(const DeviceProduct& product) = 0;

  /// What is asked from `record` to `recorded` is not done but kept, to be done by `replay` as often as wanted, at less
  /// cost. Allocations, uploads, downloads and `compile` may not be asked in between.
  virtual void record() = 0;
  virtual int recorded() = 0;
  virtual void replay(int recording) = 0;
  virtual void forget(int recording) noexcept = 0;

  /// Waits until all is done. Throws RuntimeFailure when something went wrong.
  virtual void wait() = 0;
  /// Seconds between two calls of `mark`, of the device's own clock.
  virtual int mark() = 0;
  virtual double seconds_between(int first, int second) = 0;
};

/// "cuda", "cuda:1". UsageError for another name; RuntimeFailure where there is no such device or driver, and in builds
/// without CUDA, saying what to do.
std::shared_ptr<Device> open_device(std::string_view name);
/// Whether this build could open one at all.
bool devices_are_built();

}  // namespace unfold
