#pragma once
/// Persistent kernels for loops: the blocks stay resident for all steps. Each block keeps the weights of some units in
/// registers and computes these units of every gate. Internal to offload/.
///
/// Units are divided among the blocks of a group, and sequences among groups. A step consists of a few phases: products
/// with rows that all blocks of the group have written, followed by element-wise maps for the units of this block. A
/// block first writes the values that other blocks multiply, then sets its flag, and only then writes the other values.
/// Before products, every warp waits for the flags of its group. Groups never wait for each other. A warp multiplies a
/// part of the inputs for all columns of its block; the parts are added in shared memory in the order of the warps.
///
/// Products use tensor cores: bfloat16, tf32, or, for `exact`, three tf32 products of split operands, which are as
/// accurate as single precision.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/device/device.h"
#include "graph/engine/pass_base.h"
#include "graph/offload/device_memory.h"
#include "graph/offload/program_source.h"

namespace unfold {

/// The division of the work of a loop.
struct LoopShape {
  Index row_tiles = 1;   ///< number of tiles of 16 sequences, multiplied together
  Index row_passes = 1;  ///< number of passes over row tiles, one after another
  Index units = 8;       ///< number of units per block
  Index members = 1;     ///< number of blocks per group
  Index rows() const { return 16 * row_tiles * row_passes; }
  bool operator<(const LoopShape& other) const {
    const auto order = [](const LoopShape& s) { return std::tie(s.row_tiles, s.row_passes, s.units, s.members); };
    return order(*this) < order(other);
  }
};

/// A loop of a plan, translated for one direction.
struct LoopPlan {
  using Variable = ElementCode::Variable;
  struct Source {
    Variable place;  ///< first component
    Index inputs = 0;
    Index parameter = 0;  ///< offset of the weights
    Index ld = 0;
    bool transposed = false;  ///< if true, the weights of one output form a row
  };
  struct Product {
    Variable to;       ///< first component
    Index blocks = 1;  ///< width in multiples of the number of units
    bool adds = true;  ///< adds to the current value; otherwise starts from the bias
    Index bias = -1;   ///< offset, or -1
    std::vector<Source> sources;
  };
  struct Phase {
    std::vector<Product> products;
    std::vector<const Program*> programs;
  };
  Index units = 0;
  std::vector<Phase> phases;
  bool has_products() const;
};
/// Returns std::nullopt if a loop cannot be divided into units, or contains anything except products and maps.
std::optional<LoopPlan> analyze_loop(const Plan& plan, const Programs& programs, std::size_t segment, bool backward);

inline constexpr Index kFlagsOfGroup = 256;  ///< maximum number of blocks of a group, each with a flag
inline constexpr Index kLoopThreads = 256, kLoopWarps = kLoopThreads / 32;
/// Returns the number of inputs of a row that four threads load together, 16 bytes each.
inline Index chunk_of(DevicePrecision precision) { return precision == DevicePrecision::bf16 ? 32 : 16; }
/// Returns the number of chunks per warp.
inline Index chunks_of_warp(Index inputs, DevicePrecision precision) {
  const Index all = kLoopWarps * chunk_of(precision);
  return (inputs + all - 1) / all;
}
/// Registers per thread for the weights of one chunk and 8 outputs.
inline constexpr Index kChunkRegisters = 4;
/// Distance between rows of sums in shared memory, chosen so that the rows of a tile are in different banks.
inline Index sums_stride(Index columns) { return columns + 8; }
/// Returns the number of shared-memory elements for the sums of a phase.
Index sums_of(const LoopPlan::Phase& phase, const LoopShape& shape);

/// Returns the best shape according to a cost model; std::nullopt if the weights do not fit in registers.
std::optional<LoopShape> loop_shape(const LoopPlan& loop, DevicePrecision precision, Index places, Index processors,
                                    Index shared_bytes);

struct LoopSource {
  std::string text;
  /// Buffers in the order of the kernel arguments that follow the fixed arguments (see DeviceLoop::run).
  std::vector<std::pair<What, int>> roots;
  Index shared_bytes = 0, exchange_numbers = 0;  ///< bytes per block; 2-byte elements per group
};
LoopSource loop_source(const Plan& plan, const LoopPlan& loop, const LoopShape& shape, DevicePrecision precision,
                       bool backward);

template <class T>
class DeviceLoop {
 public:
  /// Returns nullptr if the loop must run step by step.
  static std::unique_ptr<DeviceLoop<T>> make(const std::shared_ptr<Device>& device, DevicePrecision precision,
                                             Parts<T>& parts, std::size_t segment, bool backward);
  /// Prepares the kernel for the current structure. Returns false if this structure must run step by step. Not allowed
  /// while recording.
  bool lay();
  /// `address(what, root)` returns the device address of a buffer.
  template <class AddressOf>
  void run(Address parameters, AddressOf&& address);

 private:
  struct Made {
    LoopSource source;
    int kernel;
  };
  std::shared_ptr<Device> device_;
  DevicePrecision precision_;
  Parts<T>* parts_ = nullptr;
  LoopPlan loop_;
  bool backward_ = false;
  std::map<LoopShape, Made> made_;
  const Made* now_ = nullptr;
  LoopShape shape_;
  DeviceMemory begin_, flags_, exchange_;
};

template <class T>
template <class AddressOf>
void DeviceLoop<T>::run(Address parameters, AddressOf&& address) {
  const Index places = parts_->layout.places(), groups = (places + shape_.rows() - 1) / shape_.rows();
  device_->clear(flags_.address(), sizeof(std::uint32_t) * static_cast<std::size_t>(groups * kFlagsOfGroup));
  Arguments arguments;
  arguments.add(parts_->layout.steps())
      .add(places)
      .add(begin_.address())
      .add(flags_.address())
      .add(exchange_.address())
      .add(parameters);
  for (const auto& [what, root] : now_->source.roots) arguments.add(address(what, root));
  device_->launch(now_->kernel,
                  {.blocks = groups * shape_.members,
                   .threads = kLoopThreads,
                   .shared_bytes = now_->source.shared_bytes,
                   .together = loop_.has_products()},
                  arguments);
}

}  // namespace unfold
