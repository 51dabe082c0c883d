#pragma once
/// The passes of an unfolded network on a device. The items of the plan become kernels and matrix products over buffers
/// with the same layout as on the host. Internal to offload/.
///
/// The second run of a pass over a structure is recorded; all later runs replay the recording.

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/device/device.h"
#include "graph/engine/backend.h"
#include "graph/engine/pass_base.h"
#include "graph/offload/device_memory.h"
#include "graph/offload/kernels.h"
#include "graph/offload/loops.h"
#include "graph/offload/offload.h"
#include "graph/offload/program_source.h"

namespace unfold {

inline constexpr Index kPartRows = 128;  ///< number of rows that one thread sums for a column
template <class T>
std::size_t bytes_of(Index numbers) {
  return static_cast<std::size_t>(numbers) * sizeof(T);
}

/// Throws a UsageError that names the node if a plan contains something that devices do not support.
void check_device_support(const Plan& plan);

template <class T>
class DevicePasses final : public Backend<T>, private Resident<T> {
 public:
  DevicePasses(std::shared_ptr<Device> device, const OffloadOptions& options, Parts<T>& parts);
  ~DevicePasses() override;

  void lay() override;
  void parameters_changed() override { parameters_stale_ |= !parts_.parameters->is_attached_to(*this); }
  void forward(State<T>* state) override;
  void backward(std::span<T> gradient, const BackwardOptions& options, const State<T>* end, State<T>* start) override;
  void tangent(std::span<const T> direction) override;
  void fetch(What what, int node) override;
  void expect(What what, int node) override;
  bool softmax(int node, std::span<const Symbol> targets, T scale, bool adjoint, T* nats) override;
  Resident<T>* resident() override;

 private:
  // --- Optimizer steps (device_steps.cpp)
  double gradient_norm() override;
  void adam(Parameters<T>& parameters, std::span<T> mean, std::span<T> square, const AdamStep& step) override;
  void bring(std::span<T> home) override;
  /// Returns the device address of a vector; uploads the host copy unless the device copy is newer.
  Address vector(std::span<T> home);

  struct Recording {
    bool ran = false;
    int id = -1;
  };
  /// A compiled program and its arguments.
  struct Compiled {
    int kernel = -1;
    ProgramKernel of;
  };
  enum class Kind : unsigned char { forward, backward, squared, tangent };
  /// The rows of one step, or all rows.
  struct Rows {
    Index step;
    Range range;
  };

  const Node& node(int i) const { return layout_.node(i); }
  const Segment& segment(std::size_t g) const { return plan_.segments()[g]; }
  const Node::AffineTerm& term_of(const Item& item, const Item::Part& part) const {
    return node(item.node).terms()[at(part.term)];
  }

  // --- memory
  DeviceMemory& buffer(What what, int root) { return buffers_[static_cast<std::size_t>(what)][at(root)]; }
  /// Returns the device address that corresponds to a host address.
  Address address(What what, int i, const T* host);
  Address address(What what, int i, const Rows& rows) {
    return address(what, i, layout_.address(what, i, rows.step, rows.range.begin));
  }
  Address parameter(int p, const DeviceMemory& in) const;
  void make_room(What what);
  void forget_recordings();
  Address list(const std::vector<Index>& numbers);  ///< uploaded once per structure

  // --- passes
  template <class Do>
  void play(Recording& recording, double DeviceTimes::*time, Do&& run);
  template <class Do>
  void stage(const std::string& name, Do&& run);
  void upload_parameters();
  void upload_inputs();
  void upload_history(What what);
  void run(Kind kind);
  void run_batched(Kind kind, std::size_t g);
  void prepare_loops(bool back);
  void run_loop(Kind kind, std::size_t g);
  void run_item(Kind kind, std::size_t g, std::size_t index, const Rows& rows);
  void run_program(Kind kind, std::size_t g, std::size_t index, const Rows& rows);
  void affine_forward(const Item& item, const Rows& rows);
  void affine_tangent(const Item& item, const Rows& rows);
  void affine_backward(const Item& item, const Rows& rows, bool squared);
  void gather(What what, int link, const Rows& rows, Address initial);
  void scatter(int link, bool in_loop, const Rows& rows);
  void mask(int i, const Rows& rows);
  void clear_tails(std::size_t g, Index step);
  void prepare();
  void gradients(bool squared, bool accumulate);
  void gradient_of_rows(int i, const Node::AffineTerm& term, bool squared, bool accumulate);
  void sum_lists(Address d, Index ld, Index cols, Address begin, Address rows, Index parts, Address ends, Index count,
                 Address g, bool sets);
  void upload_symbol_lists();

  // --- kernels
  void launch(FixedKernel kernel, Index elements, const Arguments& arguments);
  void launch(int kernel, Index elements, const Arguments& arguments);
  void compile(Kind kind);
  std::optional<Compiled>& compiled(Kind kind, std::size_t g, std::size_t index) {
    return programs_[static_cast<std::size_t>(kind)][g][index];
  }
  /// `reused`: operands are used in several products, or are large; bfloat16 copies are then worthwhile.
  void multiply(DeviceProduct product, bool reused = false);
  bool supports_bf16_copy(const DeviceProduct& product) const;
  /// Returns a packed bfloat16 copy of a float matrix; it is made on the first use after `invalidate_bf16_copies`.
  Address halves(Address from, Index ld, Index rows, Index cols);
  void invalidate_bf16_copies(bool of_backward);
  void start_rows(What what, int i, const Rows& rows, Address bias);

  std::shared_ptr<Device> device_;
  DevicePrecision precision_;
  bool loops_;
  std::shared_ptr<DeviceTimes> times_;
  Parts<T>& parts_;
  const Plan& plan_;
  Layout<T>& layout_;

  std::vector<DeviceMemory> buffers_[3];      // one buffer per root
  std::vector<char> stale_[3], expected_[3];  // for each root: whether the device copy is newer, and whether the host
                                              // copy must be uploaded
  bool roomy_[3] = {};
  DeviceMemory parameters_, gradient_, direction_, squared_parameters_, squares_, partial_, settings_;
  std::vector<DeviceMemory> symbols_, keys_;  // symbols of each node; keys of each mask
  std::map<std::pair<const void*, std::size_t>, DeviceMemory> lists_;
  struct SymbolLists {
    DeviceMemory rows, begin, ends;
    Index parts = 0;
  };
  std::vector<SymbolLists> symbol_lists_;  // one list for each symbol node that a lookup gradient needs
  struct Targets {
    DeviceMemory targets, begin, sources;
    Index count = 0;
  };
  std::vector<std::optional<Targets>> targets_;  // targets of each gathered link
  DeviceMemory row_parts_, row_ends_;
  Index row_parts_count_ = 0;
  bool parameters_stale_ = true;
  Parameters<T>* lent_ = nullptr;  // parameters whose current values are on the device
  /// Optimizer vectors, by their host addresses.
  struct Vector {
    DeviceMemory memory;
    bool here = false;  // the device copy is newer than the host copy
  };
  std::map<const T*, Vector> vectors_;
  DeviceMemory targets_of_rows_, nats_, sums_;

  /// A bfloat16 copy of a matrix; `halves_` maps each source (address, stride, rows, columns) to its copy.
  struct Halves {
    DeviceMemory memory;
    bool made = false, of_backward = false;
  };
  std::map<std::array<Index, 4>, Halves> halves_;
  bool in_backward_ = false;

  std::vector<int> fixed_;
  std::vector<std::vector<std::optional<Compiled>>> programs_[4];
  bool is_compiled_[4] = {};
  /// Per segment, forward and backward.
  struct Loop {
    std::unique_ptr<DeviceLoop<T>> kernel;  // null: runs step by step
    bool read = false, laid = false, usable = false;
  };
  std::vector<Loop> loop_kernels_[2];
  Recording forward_, tangent_;
  std::map<int, Recording> backward_;  // recordings by the options of the pass
};

/// Recording starts with the second run: libraries load their modules during the first one.
template <class T>
template <class Do>
void DevicePasses<T>::play(Recording& recording, double DeviceTimes::*time, Do&& run) {
  const bool timed = times_ != nullptr && !times_->by_stage && recording.id >= 0;
  const int begin = timed ? device_->mark() : 0;
  if (recording.id >= 0) {
    device_->replay(recording.id);
  } else if (!std::exchange(recording.ran, true) || (times_ != nullptr && times_->by_stage)) {
    run();
  } else {
    device_->record();
    run();
    recording.id = device_->recorded();
    device_->replay(recording.id);
  }
  if (timed) (*times_).*time += device_->seconds_between(begin, device_->mark());
}

template <class T>
template <class Do>
void DevicePasses<T>::stage(const std::string& name, Do&& run) {
  if (times_ == nullptr || !times_->by_stage) return run();
  const int begin = device_->mark();
  run();
  times_->stages[name] += device_->seconds_between(begin, device_->mark());
}

}  // namespace unfold
