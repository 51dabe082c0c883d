#pragma once
/// Abstract device: a processor with separate memory that runs kernels. The interface contains only the functions that
/// the engine needs from a GPU.
///
///   auto gpu = open_device("cuda:0");
///   Address x = gpu->allocate(bytes);
///   gpu->upload(x, host, bytes);
///   const int twice = gpu->compile(source, {"twice"})[0];
///   gpu->launch(twice, {.blocks = 8, .threads = 256}, Arguments().add(x).add(n));
///   gpu->download(host, x, bytes);                       // waits for all operations before it
///
/// Operations run in the order in which they are issued. Not thread-safe.
///
/// Kernels are written with the functions of kernel_prelude.h, which each kind of device implements: GPUs through the
/// CUDA compiler, and simulated threads in tests. A kernel is `KERNEL(name) { ... }` and reads its arguments as
/// `a.pointer(i)`, `a.integer(i)` and `a.number(i)`.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// Address in device memory; arithmetic is in bytes. 0 is the null address.
using Address = std::uint64_t;

/// The arguments of a kernel, in order; each takes 8 bytes.
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

/// Launch configuration of a kernel.
struct Launch {
  Index blocks = 1, threads = 256;
  Index shared_bytes = 0;  ///< bytes per block, available as `shared_memory()`
  bool together = false;   ///< all blocks are resident at the same time, so they may wait for each other
};

/// Precision of products of float matrices; accumulation is always in single precision.
enum class DevicePrecision : unsigned char { exact, tf32, bf16 };

/// c (=|+=) op(a) op(b), row-major: c [m x n], op(a) [m x k], op(b) [k x n]. `ld` is the number of elements between
/// rows.
struct DeviceProduct {
  Index m = 0, n = 0, k = 0;
  Address a = 0, b = 0, c = 0;
  Index lda = 0, ldb = 0, ldc = 0;
  bool transposed_a = false, transposed_b = false;  ///< stored as [k x m], [n x k]
  bool accumulate = false;
  bool doubles = false;  ///< elements are double; `precision` is then ignored
  bool halves = false;   ///< a and b are bfloat16, c is float; `precision` is then ignored
  DevicePrecision precision = DevicePrecision::exact;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;    ///< "NVIDIA H100 80GB HBM3"
  virtual Index processors() const = 0;    ///< number of blocks that are guaranteed to run at the same time, one per
                                           ///< multiprocessor
  virtual Index shared_bytes() const = 0;  ///< maximum shared memory per block

  /// Allocates zeroed memory. Throws a RuntimeFailure that states the requested and the free size if there is not
  /// enough.
  virtual Address allocate(std::size_t bytes) = 0;
  virtual void release(Address memory) noexcept = 0;
  virtual std::size_t allocated_bytes() const = 0;

  /// `from` may be modified as soon as the call returns.
  virtual void upload(Address to, const void* from, std::size_t bytes) = 0;
  virtual void download(void* to, Address from, std::size_t bytes) = 0;
  virtual void clear(Address memory, std::size_t bytes) = 0;
  virtual void copy(Address to, Address from, std::size_t bytes) = 0;

  /// Compiles a source and returns the handles of its kernels in the order of `kernels`. Throws RuntimeFailure with the
  /// message of the compiler. The same source is compiled only once.
  virtual std::vector<int> compile(const std::string& source, const std::vector<std::string>& kernels) = 0;
  virtual void launch(int kernel, const Launch& how, const Arguments& arguments) = 0;
  virtual void multiply(const DeviceProduct& product) = 0;

  /// Operations between `record` and `recorded` are not executed but stored; `replay` then runs them any number of
  /// times with less overhead. Allocations, uploads, downloads and `compile` are not allowed in between.
  virtual void record() = 0;
  virtual int recorded() = 0;
  virtual void replay(int recording) = 0;
  virtual void forget(int recording) noexcept = 0;

  /// Waits until all operations are complete. Throws RuntimeFailure if one failed.
  virtual void wait() = 0;
  /// `mark` records a timestamp on the device clock; `seconds_between` returns the seconds between two marks.
  virtual int mark() = 0;
  virtual double seconds_between(int first, int second) = 0;
};

/// Opens "cuda", "cuda:1", .... Throws UsageError for any other name. Throws RuntimeFailure with a remedy if the device
/// or driver is missing, or if this build has no CUDA support.
std::shared_ptr<Device> open_device(std::string_view name);
/// Returns whether this build supports any device.
bool has_device_support();

}  // namespace unfold
