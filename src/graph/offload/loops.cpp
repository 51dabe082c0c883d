#include "graph/offload/loops.h"

#include <algorithm>
#include <numeric>

namespace unfold {

bool LoopPlan::has_products() const {
  return std::any_of(phases.begin(), phases.end(), [](const Phase& p) { return !p.products.empty(); });
}

namespace {

/// Translates a segment item by item, in the order of one direction.
class LoopReader {
 public:
  LoopReader(const Plan& plan, const Programs& programs, std::size_t segment, bool backward)
      : plan_(plan), programs_(programs), g_(segment), backward_(backward) {}

  std::optional<LoopPlan> read() {
    const Segment& in = plan_.segments()[g_];
    if (!in.loop || in.descending || in.part > 0 || in.corner != Corner::top_left || !find_units()) return {};
    const auto n = in.items.size();
    for (std::size_t k = 0; k < n && fits_; ++k) read_item(backward_ ? n - 1 - k : k);
    if (!fits_ || loop_.phases.empty()) return {};
    if (loop_.has_products() && loop_.units % 8 != 0) return {};
    return std::move(loop_);
  }

 private:
  const Node& node(int i) const { return plan_.nodes()[at(i)]; }

  /// Sets the number of units: the greatest common divisor of the sizes of everything that the loop computes.
  bool find_units() {
    Index units = 0;
    for (const Item& item : plan_.segments()[g_].items) {
      if (item.kind != Item::Kind::affine && item.kind != Item::Kind::pointwise) return false;
      if (item.kind == Item::Kind::affine) {
        units = std::gcd(units, node(item.node).size);
        for (const auto& part : item.parts)
          units = std::gcd(units, node(node(item.node).terms()[at(part.term)].source).size);
      }
      for (const int i : item.nodes) units = std::gcd(units, node(i).size);
    }
    loop_.units = units;
    return units > 0;
  }

  void read_item(std::size_t k) {
    const Item& item = plan_.segments()[g_].items[k];
    if (item.kind == Item::Kind::pointwise) {
      const Program& program = backward_ ? programs_.backward(g_, k, false) : programs_.forward(g_, k);
      if (program.instructions.empty()) return;
      for (const Program::Slot& slot : program.slots) check(position_in_total(plan_, slot.what, slot.node));
      if (loop_.phases.empty()) loop_.phases.emplace_back();
      loop_.phases.back().programs.push_back(&program);
      return;
    }
    backward_ ? read_backward(item) : read_forward(item);
  }

  void read_forward(const Item& item) {
    const Node& n = node(item.node);
    LoopPlan::Product product{
        .to = variable(What::value, item.node),
        .blocks = n.size / loop_.units,
        .adds = !item.start,
        .bias = item.start && n.affine().bias >= 0 ? plan_.parameters()[at(n.affine().bias)].offset : -1,
        .sources = {}};
    for (const auto& part : item.parts) {
      const auto& t = n.terms()[at(part.term)];
      if (!t.dense() || node(t.source).kind() == Node::Kind::symbols) return void(fits_ = false);
      fits_ &= plan_.value_place(t.source).shift <= 1;
      product.sources.push_back({.place = variable(What::value, t.source),
                                 .inputs = node(t.source).size,
                                 .parameter = plan_.parameters()[at(t.parameter)].offset,
                                 .ld = n.size});
    }
    add(std::move(product));
  }

  void read_backward(const Item& item) {
    const Node& n = node(item.node);
    for (auto part = item.parts.rbegin(); part != item.parts.rend(); ++part) {
      const auto& t = n.terms()[at(part->term)];
      if (!t.dense()) return void(fits_ = false);
      if (!plan_.needs_adjoint(t.source)) continue;
      add({.to = variable(What::adjoint, t.source),
           .blocks = node(t.source).size / loop_.units,
           .adds = !part->adjoint_sets,
           .bias = -1,
           .sources = {{.place = variable(What::adjoint, item.node),
                        .inputs = n.size,
                        .parameter = plan_.parameters()[at(t.parameter)].offset,
                        .ld = n.size,
                        .transposed = true}}});
    }
  }

  /// Adds a product. Products of one phase read only values from before the phase; otherwise a new phase begins.
  void add(LoopPlan::Product product) {
    const auto writes = [&](const LoopPlan::Phase& phase, const LoopPlan::Variable& place) {
      return std::any_of(phase.products.begin(), phase.products.end(),
                         [&](const auto& p) { return p.to.what == place.what && p.to.root == place.root; });
    };
    const auto waits = [&](const LoopPlan::Phase& phase) {
      return !phase.programs.empty() || std::any_of(product.sources.begin(), product.sources.end(),
                                                    [&](const auto& s) { return writes(phase, s.place); });
    };
    if (loop_.phases.empty() || waits(loop_.phases.back())) loop_.phases.emplace_back();
    loop_.phases.back().products.push_back(std::move(product));
  }

  LoopPlan::Variable variable(What what, int i) {
    const Place place = position_in_total(plan_, what, i);
    check(place);
    fits_ &= !place.scratch();
    return {.what = what, .root = place.root, .column = place.column, .shift = place.shift};
  }

  /// Checks that columns are multiples of the number of units, so that a unit is at the same offset everywhere.
  void check(const Place& place) {
    if (place.scratch()) return;
    fits_ &= place.column % loop_.units == 0 && node(place.root).size % loop_.units == 0;
  }

  const Plan& plan_;
  const Programs& programs_;
  std::size_t g_;
  bool backward_, fits_ = true;
  LoopPlan loop_;
};

Index round_up(Index n, Index multiple) { return (n + multiple - 1) / multiple * multiple; }

Index shared_bytes_of(const LoopPlan& loop, const LoopShape& shape) {
  Index most = 0;
  for (const auto& phase : loop.phases) most = std::max(most, sums_of(phase, shape));
  return 4 * most;
}

/// Returns the number of registers per thread that hold weights.
Index registers_of(const LoopPlan& loop, const LoopShape& shape, DevicePrecision precision) {
  Index sum = 0;
  for (const auto& phase : loop.phases)
    for (const auto& p : phase.products)
      for (const auto& s : p.sources)
        sum += chunks_of_warp(s.inputs, precision) * (p.blocks * shape.units / 8) * kChunkRegisters;
  return sum;
}

/// Estimates the nanoseconds per step: synchronization, rows read from the second-level cache, products.
double cost_of(const LoopPlan& loop, const LoopShape& shape, DevicePrecision precision) {
  const bool small = precision == DevicePrecision::bf16;
  const double rate = small ? 900 : precision == DevicePrecision::tf32 ? 450 : 150;
  const auto rows = static_cast<double>(shape.rows());
  double sum = 0;
  for (const auto& phase : loop.phases) {
    if (!phase.products.empty()) sum += 900;
    for (const auto& p : phase.products)
      for (const auto& s : p.sources)
        sum += rows * static_cast<double>(s.inputs) * (small ? 2 : 4) / 70 +
               rows * static_cast<double>(s.inputs * p.blocks * shape.units) / rate +
               static_cast<double>(shape.row_passes * (400 + 150 * shape.row_tiles));
  }
  return sum;
}

}  // namespace

Index sums_of(const LoopPlan::Phase& phase, const LoopShape& shape) {
  Index numbers = 0;
  for (const auto& p : phase.products)
    numbers += kLoopWarps * 16 * shape.row_tiles * sums_stride(p.blocks * shape.units);
  return numbers;
}

std::optional<LoopPlan> analyze_loop(const Plan& plan, const Programs& programs, std::size_t segment, bool backward) {
  return LoopReader(plan, programs, segment, backward).read();
}

std::optional<LoopShape> loop_shape(const LoopPlan& loop, DevicePrecision precision, Index places, Index processors,
                                    Index shared_bytes) {
  if (!loop.has_products()) return LoopShape{.units = 16, .members = (loop.units + 15) / 16};
  constexpr Index kRegisters = 128;
  std::optional<LoopShape> best;
  for (const Index tiles : {1, 2, 4})
    for (const Index passes : {1, 2, 4, 8, 16}) {
      LoopShape shape{.row_tiles = tiles, .row_passes = passes};
      const Index groups = (places + shape.rows() - 1) / shape.rows();
      const Index members = std::min(processors / groups, loop.units / 8);
      if (members < 1 || members > kFlagsOfGroup) continue;
      shape.units = round_up((loop.units + members - 1) / members, 8);
      shape.members = (loop.units + shape.units - 1) / shape.units;
      bool wide = false;
      for (const auto& phase : loop.phases)
        for (const auto& p : phase.products) wide |= p.blocks * shape.units / 8 > 16;
      if (wide || registers_of(loop, shape, precision) > kRegisters || shared_bytes_of(loop, shape) > shared_bytes)
        continue;
      if (!best || cost_of(loop, shape, precision) < cost_of(loop, *best, precision)) best = shape;
    }
  return best;
}

template <class T>
std::unique_ptr<DeviceLoop<T>> DeviceLoop<T>::make(const std::shared_ptr<Device>& device, DevicePrecision precision,
                                                   Parts<T>& parts, std::size_t segment, bool backward) {
  auto loop = analyze_loop(*parts.plan, parts.programs, segment, backward);
  if (!loop || (sizeof(T) == 8 && loop->has_products())) return nullptr;
  auto result = std::make_unique<DeviceLoop<T>>();
  result->device_ = device;
  result->precision_ = precision;
  result->parts_ = &parts;
  result->loop_ = std::move(*loop);
  result->backward_ = backward;
  return result;
}

template <class T>
bool DeviceLoop<T>::lay() {
  const Layout<T>& layout = parts_->layout;
  const auto shape = loop_shape(loop_, precision_, layout.places(), device_->processors(), device_->shared_bytes());
  now_ = nullptr;
  if (!shape) return false;
  shape_ = *shape;
  auto made = made_.find(shape_);
  if (made == made_.end()) {
    LoopSource source = loop_source(*parts_->plan, loop_, shape_, precision_, backward_);
    const int kernel = device_->compile(
        number_prelude(sizeof(T) == 8, precision_ != DevicePrecision::exact) + source.text, {"loop"})[0];
    made = made_.emplace(shape_, Made{std::move(source), kernel}).first;
  }
  now_ = &made->second;
  const auto& begin = layout.order().step_begin;
  begin_.reserve(device_, begin.size() * sizeof(Index));
  device_->upload(begin_.address(), begin.data(), begin.size() * sizeof(Index));
  const auto groups = at((layout.places() + shape_.rows() - 1) / shape_.rows());
  flags_.reserve(device_, groups * kFlagsOfGroup * sizeof(std::uint32_t));
  exchange_.reserve(device_, groups * at(now_->source.exchange_numbers) * 2);
  return true;
}

template class DeviceLoop<float>;
template class DeviceLoop<double>;

}  // namespace unfold
