#pragma once
/// Loops as one kernel: blocks that stay on the device for all steps, each with the weights of some units in its
/// registers and the same units of every gate. Internal to offload/.
///
/// Units are divided among the blocks of a group, sequences among groups. A step is a few phases: products of rows that
/// all blocks of the group have written, then element-wise maps of the own units. A block raises its flag when it has
/// written what others multiply with, and only then writes the rest; before products every warp waits for the flags of
/// its group. Groups never wait for each other. A warp multiplies with a part of the inputs, for all columns of its
/// block; the parts are added up in shared memory in the order of the warps.
///
/// Products are those of tensor cores: bfloat16, tf32, or (exact) three products of tf32 halves, as accurate as single
/// precision.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "unfold/devices/device.h"
#include "unfold/engine/parts.h"
#include "unfold/offload/device_memory.h"
#include "unfold/offload/program_source.h"

namespace unfold {

/// How the work of a loop is divided.
struct LoopShape {
  Index row_tiles = 1;   ///< of 16 sequences, multiplied at once
  Index row_passes = 1;  ///< so often, one after the other
  Index units = 8;       ///< of a block
  Index members = 1;     ///< blocks of a group
  Index rows() const { return 16 * row_tiles * row_passes; }
  bool operator<(const LoopShape& other) const {
    const auto order = [](const LoopShape& s) { return std::tie(s.row_tiles, s.row_passes, s.units, s.members); };
    return order(*this) < order(other);
  }
};

/// A loop of a plan, read for one direction.
struct LoopReading {
  using Variable = ElementCode::Variable;
  struct Source {
    Variable place;  ///< of its first component
    Index inputs = 0;
    Index parameter = 0;  ///< offset of the weights
    Index ld = 0;
    bool transposed = false;  ///< the weights of an output are a row
  };
  struct Product {
    Variable to;       ///< of its first component
    Index blocks = 1;  ///< it is so many times the units wide
    bool adds = true;  ///< to what is there; otherwise to the bias
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
/// Nothing where a loop does not divide into units, or has more in it than products and maps.
std::optional<LoopReading> read_loop(const Plan& plan, const Programs& programs, std::size_t segment, bool backward);

inline constexpr Index kFlagsOfGroup = 256;  ///< room for the flags of a group's blocks
inline constexpr Index kLoopThreads = 256, kLoopWarps = kLoopThreads / 32;
/// Inputs of a row that four threads read at once, 16 bytes each.
inline Index chunk_of(DevicePrecision precision) { return precision == DevicePrecision::bf16 ? 32 : 16; }
/// Such chunks for each warp.
inline Index chunks_of_warp(Index inputs, DevicePrecision precision) {
  const Index all = kLoopWarps * chunk_of(precision);
  return (inputs + all - 1) / all;
}
/// Registers of a thread for the weights of a chunk and 8 outputs.
inline constexpr Index kChunkRegisters = 4;
/// Numbers from one row of sums in shared memory to the next: rows of a tile then lie in different banks.
inline Index sums_stride(Index columns) { return columns + 8; }
/// Numbers of shared memory that the sums of a phase take.
Index sums_of(const LoopReading::Phase& phase, const LoopShape& shape);

/// The best shape by a count of bytes and products; nothing where weights do not fit into registers.
std::optional<LoopShape> loop_shape(const LoopReading& loop, DevicePrecision precision, Index places, Index processors,
                                    Index shared_bytes);

struct LoopSource {
  std::string text;
  /// Buffers in the order of the arguments that follow the first ones (see DeviceLoop::run).
  std::vector<std::pair<What, int>> roots;
  Index shared_bytes = 0, exchange_numbers = 0;  ///< of a block; of a group, of 2 bytes
};
LoopSource loop_source(const Plan& plan, const LoopReading& loop, const LoopShape& shape, DevicePrecision precision,
                       bool backward);

template <class T>
class DeviceLoop {
 public:
  /// Null where a loop is to go step by step.
  static std::unique_ptr<DeviceLoop<T>> make(const std::shared_ptr<Device>& device, DevicePrecision precision,
                                             Parts<T>& parts, std::size_t segment, bool backward);
  /// Readies it for the structure that is laid; false: this one goes step by step. Not while recording.
  bool lay();
  /// `address(what, root)`: where a buffer is on the device.
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
  LoopReading loop_;
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
