#include "graph/offload/device_passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "unfold/numerics/random.h"

namespace unfold {
namespace {

[[noreturn]] void refuse(const Node& node, std::string_view what) {
  throw UsageError(fmt::format("{} {}, which devices do not support yet; leave out --device", node.name, what));
}

}  // namespace

void check_device_support(const Plan& plan) {
  const Programs programs(plan);
  for (int i = 0; i < static_cast<int>(plan.nodes().size()); ++i) {
    const Node& n = plan.nodes()[at(i)];
    if (!plan.live(i)) continue;
    if (n.part > 0) refuse(n, "belongs to a deeper part (encoder, characters of words, attention)");
    if (n.kind() == Node::Kind::affine && n.affine().awake >= 0) refuse(n, "is not computed at every position");
    for (const auto& term : n.terms())
      if (!term.dense()) refuse(n, fmt::format("has a {} term", term.op->name()));
    if (n.kind() == Node::Kind::link &&
        (n.link().delay.reads_children() || n.link().delay.along == Delay::Along::parent))
      refuse(n, "runs over trees");
  }
  for (std::size_t g = 0; g < plan.segments().size(); ++g)
    for (std::size_t k = 0; k < plan.segments()[g].items.size(); ++k) {
      const Item& item = plan.segments()[g].items[k];
      if (item.kind == Item::Kind::pointwise && programs.forward(g, k).overlaps)
        refuse(plan.nodes()[at(item.nodes.front())], "reads a shifted view of the signal that it writes");
      if (item.kind == Item::Kind::reorder) refuse(plan.nodes()[at(item.node)], "runs over grids");
    }
}

// --------------------------------------------------------------------------------------------------------- memory

template <class T>
DevicePasses<T>::DevicePasses(std::shared_ptr<Device> device, const OffloadOptions& options, Parts<T>& parts)
    : device_(std::move(device)),
      precision_(options.precision),
      loops_(options.loops),
      times_(options.times),
      parts_(parts),
      plan_(*parts.plan),
      layout_(parts.layout) {
  check_device_support(plan_);
  const std::size_t n = plan_.nodes().size();
  for (std::size_t w = 0; w < 3; ++w) {
    buffers_[w].resize(n);
    stale_[w].assign(n, 0);
    expected_[w].assign(n, 0);
  }
  symbols_.resize(n);
  keys_.resize(n);
  symbol_lists_.resize(n);
  targets_.resize(n);
  for (auto& set : programs_)
    for (const Segment& s : plan_.segments()) set.emplace_back(s.items.size());
  for (auto& set : loop_kernels_) set.resize(plan_.segments().size());
  fixed_ = device_->compile(number_prelude(sizeof(T) == 8) + fixed_kernels(), fixed_kernel_names());
  settings_.reserve(device_, 16);
}

template <class T>
DevicePasses<T>::~DevicePasses() {
  if (lent_ != nullptr) try {
      static_cast<void>(lent_->flat());
    } catch (const std::exception&) {  // the device failed, so the host copy is not changed
    }
  forget_recordings();
}

template <class T>
void DevicePasses<T>::forget_recordings() {
  const auto forget = [&](Recording& r) {
    if (r.id >= 0) device_->forget(r.id);
    r = {};
  };
  forget(forward_);
  forget(tangent_);
  for (auto& [options, recording] : backward_) forget(recording);
}

template <class T>
void DevicePasses<T>::lay() {
  if (layout_.structure().kind() != Structure::Kind::chains)
    throw UsageError("devices support only sequences, not grids or trees; leave out --device");
  for (bool& roomy : roomy_) roomy = false;
  for (auto& set : loop_kernels_)
    for (Loop& loop : set) loop.laid = false;
  lists_.clear();
  for (auto& targets : targets_) targets.reset();
  forget_recordings();
  // Divides the rows of all positions into parts, for sums over rows.
  const Index rows = layout_.rows();
  std::vector<Index> begin;
  for (Index r = 0; r < rows; r += kPartRows) begin.push_back(r);
  begin.push_back(rows);
  row_parts_count_ = static_cast<Index>(begin.size()) - 1;
  row_parts_.reserve(device_, bytes_of<Index>(static_cast<Index>(begin.size())));
  device_->upload(row_parts_.address(), begin.data(), bytes_of<Index>(static_cast<Index>(begin.size())));
  const Index ends[] = {0, row_parts_count_};
  row_ends_.reserve(device_, sizeof ends);
  device_->upload(row_ends_.address(), ends, sizeof ends);
  make_room(What::value);
}

template <class T>
void DevicePasses<T>::make_room(What what) {
  const auto w = static_cast<std::size_t>(what);
  if (std::exchange(roomy_[w], true)) return;
  layout_.make_room(what);
  bool moved = false;
  for (int root = 0; root < static_cast<int>(plan_.nodes().size()); ++root)
    if (const Index size = layout_.buffer(what, root).size(); size > 0)
      moved |= buffer(what, root).reserve(device_, bytes_of<T>(size));
  std::fill(stale_[w].begin(), stale_[w].end(), 0);
  if (moved) forget_recordings();
}

template <class T>
Address DevicePasses<T>::address(What what, int i, const T* host) {
  const int root = position_in_total(plan_, what, i).root;
  return buffer(what, root).address() + sizeof(T) * at(host - layout_.buffer(what, root).data());
}

template <class T>
Address DevicePasses<T>::parameter(int p, const DeviceMemory& in) const {
  return in.address() + sizeof(T) * at(plan_.parameters()[at(p)].offset);
}

template <class T>
Address DevicePasses<T>::list(const std::vector<Index>& numbers) {
  DeviceMemory& memory = lists_[{numbers.data(), numbers.size()}];
  if (memory.bytes() == 0) {
    memory.reserve(device_, bytes_of<Index>(static_cast<Index>(numbers.size())));
    device_->upload(memory.address(), numbers.data(), bytes_of<Index>(static_cast<Index>(numbers.size())));
  }
  return memory.address();
}

template <class T>
void DevicePasses<T>::fetch(What what, int node) {
  const Place place = position_in_total(plan_, what, node);
  const auto w = static_cast<std::size_t>(what);
  if (place.scratch() || !std::exchange(stale_[w][at(place.root)], 0)) return;
  Buffer<T>& host = layout_.buffer(what, place.root);
  device_->download(host.data(), buffer(what, place.root).address(), bytes_of<T>(host.size()));
}

template <class T>
void DevicePasses<T>::expect(What what, int node) {
  const Place place = position_in_total(plan_, what, node);
  if (place.scratch()) return;
  expected_[static_cast<std::size_t>(what)][at(place.root)] = 1;
  stale_[static_cast<std::size_t>(what)][at(place.root)] = 0;
}

template <class T>
void DevicePasses<T>::upload_parameters() {
  if (!std::exchange(parameters_stale_, false)) return;
  if (parameters_.reserve(device_, bytes_of<T>(plan_.parameter_count()))) forget_recordings();
  device_->upload(parameters_.address(), parts_.parameters->flat().data(), bytes_of<T>(plan_.parameter_count()));
}

/// Uploads inputs, symbols, and the keys of dropout masks.
template <class T>
void DevicePasses<T>::upload_inputs() {
  bool moved = false;
  for (int i = 0; i < static_cast<int>(plan_.nodes().size()); ++i) {
    const Node& n = node(i);
    if (!plan_.live(i)) continue;
    if (n.kind() == Node::Kind::input) {
      const Buffer<T>& host = layout_.buffer(What::value, i);
      device_->upload(buffer(What::value, i).address(), host.data(), bytes_of<T>(host.size()));
      expected_[0][at(i)] = 0;
    } else if (n.kind() == Node::Kind::symbols) {
      const auto& host = layout_.symbols(i);
      moved |= symbols_[at(i)].reserve(device_, host.size() * sizeof(Symbol));
      device_->upload(symbols_[at(i)].address(), host.data(), host.size() * sizeof(Symbol));
    } else if (n.kind() == Node::Kind::mask) {
      moved |= keys_[at(i)].reserve(device_, bytes_of<std::uint64_t>(layout_.rows()));
      if (!parts_.masks.drawn()) continue;
      const auto& keys = parts_.masks.keys(n.mask().lasts, n.part);
      device_->upload(keys_[at(i)].address(), keys.data(), keys.size() * sizeof(std::uint64_t));
    }
  }
  const std::uint64_t settings[] = {parts_.masks.drawn() ? 1u : 0u, parts_.masks.seed()};
  device_->upload(settings_.address(), settings, sizeof settings);
  if (moved) forget_recordings();
}

/// Uploads the values before the first position from the host.
template <class T>
void DevicePasses<T>::upload_history(What what) {
  for (const Plan::Carried& c : plan_.carried()) {
    if (what != What::value && !plan_.needs_adjoint(c.source)) continue;
    const int root = position_in_total(plan_, what, c.source).root;
    const Index numbers = plan_.history(root) * layout_.places() * node(root).size;
    device_->upload(buffer(what, root).address(), layout_.buffer(what, root).data(), bytes_of<T>(numbers));
  }
}

// --------------------------------------------------------------------------------------------------------- kernels

template <class T>
void DevicePasses<T>::launch(int kernel, Index elements, const Arguments& arguments) {
  if (elements <= 0) return;
  constexpr Index kThreads = 256;
  const Index most = 16 * device_->processors();
  device_->launch(kernel, {.blocks = std::clamp<Index>((elements + kThreads - 1) / kThreads, 1, most)}, arguments);
}

template <class T>
void DevicePasses<T>::launch(FixedKernel kernel, Index elements, const Arguments& arguments) {
  launch(fixed_[static_cast<std::size_t>(kernel)], elements, arguments);
}

/// Compiles the programs of all items of a pass as a single source string.
template <class T>
void DevicePasses<T>::compile(Kind kind) {
  if (std::exchange(is_compiled_[static_cast<std::size_t>(kind)], true)) return;
  std::string source = number_prelude(sizeof(T) == 8);
  std::vector<std::string> names;
  std::vector<Compiled*> made;
  for (std::size_t g = 0; g < plan_.segments().size(); ++g)
    for (std::size_t k = 0; k < segment(g).items.size(); ++k) {
      if (segment(g).items[k].kind != Item::Kind::pointwise) continue;
      const Programs& programs = parts_.programs;
      const Program& program = kind == Kind::forward   ? programs.forward(g, k)
                               : kind == Kind::tangent ? programs.tangent(g, k)
                                                       : programs.backward(g, k, kind == Kind::squared);
      if (program.instructions.empty()) continue;
      names.push_back(fmt::format("program_{}_{}", g, k));
      auto& slot = compiled(kind, g, k);
      slot.emplace(Compiled{.kernel = -1, .of = program_kernel(plan_, program, names.back())});
      source += slot->of.source;
      made.push_back(&*slot);
    }
  if (names.empty()) return;
  const std::vector<int> kernels = device_->compile(source, names);
  for (std::size_t k = 0; k < made.size(); ++k) made[k]->kernel = kernels[k];
}

template <class T>
void DevicePasses<T>::multiply(DeviceProduct p, bool reused) {
  if (p.m <= 0 || p.n <= 0) return;
  p.doubles = sizeof(T) == 8;
  p.precision = precision_;
  if (reused && supports_bf16_copy(p)) {
    const Index rows_a = p.transposed_a ? p.k : p.m, cols_a = p.transposed_a ? p.m : p.k;
    const Index rows_b = p.transposed_b ? p.n : p.k, cols_b = p.transposed_b ? p.k : p.n;
    p.a = halves(p.a, p.lda, rows_a, cols_a), p.lda = cols_a;
    p.b = halves(p.b, p.ldb, rows_b, cols_b), p.ldb = cols_b;
    p.halves = true;
  }
  device_->multiply(p);
}

/// Returns whether bfloat16 copies can be made: elements are copied and multiplied in units of 16 bytes.
template <class T>
bool DevicePasses<T>::supports_bf16_copy(const DeviceProduct& p) const {
  const auto whole = [](Address from, Index ld) { return from % 16 == 0 && ld % 4 == 0; };
  return sizeof(T) == 4 && precision_ == DevicePrecision::bf16 && p.m % 8 == 0 && p.n % 8 == 0 && p.k % 8 == 0 &&
         whole(p.a, p.lda) && whole(p.b, p.ldb);
}

template <class T>
Address DevicePasses<T>::halves(Address from, Index ld, Index rows, Index cols) {
  Halves& copy = halves_[{static_cast<Index>(from), ld, rows, cols}];
  copy.memory.reserve(device_, at(rows * cols) * 2);
  if (std::exchange(copy.made, true)) return copy.memory.address();
  copy.of_backward = in_backward_;
  launch(FixedKernel::to_halves, rows * cols / 4,
         Arguments().add(copy.memory.address()).add(from).add(ld).add(rows).add(cols));
  return copy.memory.address();
}

/// Invalidates bfloat16 copies. Copies made by a forward pass stay valid for the backward pass that follows it.
template <class T>
void DevicePasses<T>::invalidate_bf16_copies(bool of_backward) {
  for (auto& [of, copy] : halves_)
    if (!of_backward || copy.of_backward) copy.made = false;
  in_backward_ = of_backward;
}

template <class T>
void DevicePasses<T>::start_rows(What what, int i, const Rows& rows, Address bias) {
  launch(FixedKernel::start_rows, rows.range.size() * node(i).size,
         Arguments()
             .add(address(what, i, rows))
             .add(layout_.stride(what, i))
             .add(rows.range.size())
             .add(node(i).size)
             .add(bias));
}

// --------------------------------------------------------------------------------------------------------- passes

template <class T>
void DevicePasses<T>::forward(State<T>* state) {
  make_room(What::value);
  compile(Kind::forward);
  upload_parameters();
  parts_.team.run([&](Member& me) {
    parts_.boundary.load(me, state, *parts_.parameters);
    parts_.masks.number(me, layout_);
  });
  for (const Plan::Kept& k : plan_.kept())
    for (Index p = 0; p < layout_.places(); ++p)
      if (!parts_.boundary.fresh(p)) refuse(node(k.link), "reads the first position of an earlier window");
  upload_inputs();
  upload_history(What::value);
  prepare_loops(false);
  play(forward_, &DeviceTimes::forward, [&] {
    invalidate_bf16_copies(false);
    run(Kind::forward);
  });
  std::fill(stale_[0].begin(), stale_[0].end(), 1);
  if (state == nullptr) return;
  for (const Plan::Carried& c : plan_.carried()) {
    const int root = plan_.value_place(c.source).root;
    T* first = layout_.rectangular() && layout_.steps() >= c.steps
                   ? layout_.address(What::value, root, 0, layout_.first_row(layout_.steps() - c.steps))
                   : nullptr;
    if (first == nullptr) {
      fetch(What::value, c.source);
    } else {
      device_->download(first, address(What::value, root, first),
                        bytes_of<T>(c.steps * layout_.places() * node(root).size));
    }
  }
  for (const Plan::Kept& k : plan_.kept()) fetch(What::value, k.link);
  parts_.boundary.store(*state);
}

template <class T>
void DevicePasses<T>::run(Kind kind) {
  const bool back = kind == Kind::backward || kind == Kind::squared;
  const std::size_t n = plan_.segments().size();
  for (std::size_t s = 0; s < n; ++s) {
    const std::size_t g = back ? n - 1 - s : s;
    stage(fmt::format("{} segment {}{}", back ? "backward" : "forward", g, segment(g).loop ? " (loop)" : ""),
          [&] { segment(g).loop ? run_loop(kind, g) : run_batched(kind, g); });
  }
}

/// Like Schedule::walk_batched: shifted views are contiguous over all rows only in rectangular batches.
template <class T>
void DevicePasses<T>::run_batched(Kind kind, std::size_t g) {
  const bool back = kind == Kind::backward || kind == Kind::squared;
  const auto n = segment(g).items.size();
  const bool stepwise = !segment(g).rows_independent && !layout_.rectangular();
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t index = back ? n - 1 - k : k;
    if (!stepwise) {
      run_item(kind, g, index, {0, {0, layout_.rows()}});
      continue;
    }
    for (Index s = 0; s < layout_.steps(); ++s) {
      const Index step = back ? layout_.steps() - 1 - s : s;
      run_item(kind, g, index, {step, layout_.order(segment(g).corner).step(step)});
    }
  }
}

/// Compiles the loop kernels for the current structure, which is not allowed while recording.
template <class T>
void DevicePasses<T>::prepare_loops(bool back) {
  for (std::size_t g = 0; g < plan_.segments().size() && loops_; ++g) {
    Loop& loop = loop_kernels_[back ? 1 : 0][g];
    if (!std::exchange(loop.read, true)) loop.kernel = DeviceLoop<T>::make(device_, precision_, parts_, g, back);
    if (!std::exchange(loop.laid, true)) loop.usable = loop.kernel != nullptr && loop.kernel->lay();
  }
}

template <class T>
void DevicePasses<T>::run_loop(Kind kind, std::size_t g) {
  const bool back = kind == Kind::backward || kind == Kind::squared;
  if (Loop& loop = loop_kernels_[back ? 1 : 0][g]; loop.usable && (kind == Kind::forward || kind == Kind::backward))
    return loop.kernel->run(parameters_.address(), [&](What what, int root) { return buffer(what, root).address(); });
  const auto n = segment(g).items.size();
  const Index last = layout_.steps();
  for (Index s = 0; s < last; ++s) {
    const Index step = back != segment(g).descending ? last - 1 - s : s;
    if (back) clear_tails(g, step);
    for (std::size_t k = 0; k < n; ++k)
      run_item(kind, g, back ? n - 1 - k : k, {step, layout_.order(segment(g).corner).step(step)});
  }
}

template <class T>
void DevicePasses<T>::run_item(Kind kind, std::size_t g, std::size_t index, const Rows& rows) {
  const Item& item = segment(g).items[index];
  const bool back = kind == Kind::backward || kind == Kind::squared;
  switch (item.kind) {
    case Item::Kind::affine:
      return back                    ? affine_backward(item, rows, kind == Kind::squared)
             : kind == Kind::tangent ? affine_tangent(item, rows)
                                     : affine_forward(item, rows);
    case Item::Kind::pointwise: return run_program(kind, g, index, rows);
    case Item::Kind::gather: {
      if (back) {
        if (plan_.needs_adjoint(item.node)) scatter(item.node, segment(g).loop, rows);
        return;
      }
      if (kind == Kind::tangent && !plan_.needs_adjoint(item.node)) return;
      const int initial = node(item.node).link().initial;
      return gather(kind == Kind::tangent ? What::tangent : What::value, item.node, rows,
                    initial >= 0 ? parameter(initial, kind == Kind::tangent ? direction_ : parameters_) : 0);
    }
    case Item::Kind::reorder: return;
    case Item::Kind::mask:
      if (kind == Kind::forward) mask(item.node, rows);
  }
}

template <class T>
void DevicePasses<T>::run_program(Kind kind, std::size_t g, std::size_t index, const Rows& rows) {
  const auto& program = compiled(kind, g, index);
  if (!program) return;
  Arguments arguments;
  arguments.add(rows.range.size());
  for (const ElementCode::Variable& v : program->of.places) {
    const T* host = layout_.address(v.what, Place{v.root, v.column, v.shift}, rows.step, rows.range.begin);
    arguments.add(address(v.what, v.root, host)).add(node(v.root).size);
  }
  launch(program->kernel, rows.range.size() * program->of.width, arguments);
}

template <class T>
void DevicePasses<T>::affine_forward(const Item& item, const Rows& rows) {
  const Node& n = node(item.node);
  const Address bias = n.affine().bias >= 0 ? parameter(n.affine().bias, parameters_) : 0,
                y = address(What::value, item.node, rows);
  const Index ld = layout_.stride(What::value, item.node), count = rows.range.size();
  bool sets = item.start;
  for (const auto& part : item.parts) {
    const auto& t = term_of(item, part);
    const Address w = parameter(t.parameter, parameters_);
    if (layout_.lookup(t.source) != nullptr) {
      launch(FixedKernel::look_up, count * n.size,
             Arguments()
                 .add(w)
                 .add(n.size)
                 .add(symbols_[at(t.source)].address() + sizeof(Symbol) * at(rows.range.begin))
                 .add(y)
                 .add(ld)
                 .add(count)
                 .add(Index{sets ? 1 : 0})
                 .add(bias));
    } else {
      if (sets && bias != 0) start_rows(What::value, item.node, rows, bias), sets = false;
      multiply({.m = count,
                .n = n.size,
                .k = node(t.source).size,
                .a = address(What::value, t.source, rows),
                .b = w,
                .c = y,
                .lda = layout_.stride(What::value, t.source),
                .ldb = n.size,
                .ldc = ld,
                .accumulate = !sets},
               count == layout_.rows());
    }
    sets = false;
  }
  if (sets) start_rows(What::value, item.node, rows, bias);
}

template <class T>
void DevicePasses<T>::affine_backward(const Item& item, const Rows& rows, bool squared) {
  const Node& n = node(item.node);
  for (auto part = item.parts.rbegin(); part != item.parts.rend(); ++part) {
    const auto& t = term_of(item, *part);
    if (!plan_.needs_adjoint(t.source)) continue;
    multiply({.m = rows.range.size(),
              .n = node(t.source).size,
              .k = n.size,
              .a = address(What::adjoint, item.node, rows),
              .b = parameter(t.parameter, squared ? squared_parameters_ : parameters_),
              .c = address(What::adjoint, t.source, rows),
              .lda = layout_.stride(What::adjoint, item.node),
              .ldb = n.size,
              .ldc = layout_.stride(What::adjoint, t.source),
              .transposed_b = true,
              .accumulate = !part->adjoint_sets},
             rows.range.size() == layout_.rows() && !squared);
  }
}

template <class T>
void DevicePasses<T>::gather(What what, int link, const Rows& rows, Address initial) {
  const Node& n = node(link);
  const int source = n.link().source;
  const bool known = what == What::value || plan_.needs_adjoint(source);
  launch(FixedKernel::gather_rows, rows.range.size() * n.size,
         Arguments()
             .add(address(what, link, rows))
             .add(layout_.stride(what, link))
             .add(known ? address(what, source, {0, {0, 0}}) : Address{0})
             .add(known ? layout_.stride(what, source) : Index{0})
             .add(list(layout_.predecessors(link)) + sizeof(Index) * at(rows.range.begin))
             .add(rows.range.size())
             .add(n.size)
             .add(initial));
}

/// In a loop, the rows of a step have distinct predecessors; elsewhere several rows may share a predecessor.
template <class T>
void DevicePasses<T>::scatter(int link, bool in_loop, const Rows& rows) {
  const Node& n = node(link);
  const int source = n.link().source;
  if (!plan_.needs_adjoint(source)) return;
  const Index to_ld = layout_.stride(What::adjoint, source), from_ld = layout_.stride(What::adjoint, link);
  const Address to = address(What::adjoint, source, {0, {0, 0}});
  if (in_loop)
    return launch(FixedKernel::scatter_rows, rows.range.size() * n.size,
                  Arguments()
                      .add(to)
                      .add(to_ld)
                      .add(address(What::adjoint, link, rows))
                      .add(from_ld)
                      .add(list(layout_.predecessors(link)) + sizeof(Index) * at(rows.range.begin))
                      .add(rows.range.size())
                      .add(n.size));
  if (rows.range.begin != 0) return;  // the first call handles all rows
  if (!targets_[at(link)]) {
    std::map<Index, std::vector<Index>> sources;  // rows from the last to the first
    const auto& before = layout_.predecessors(link);
    for (Index r = layout_.rows(); r-- > 0;)
      if (before[at(r)] >= 0) sources[before[at(r)]].push_back(r);
    std::vector<Index> targets, begin = {0}, all;
    for (const auto& [target, from] : sources) {
      targets.push_back(target);
      all.insert(all.end(), from.begin(), from.end());
      begin.push_back(static_cast<Index>(all.size()));
    }
    Targets& made = targets_[at(link)].emplace();
    made.count = static_cast<Index>(targets.size());
    const auto keep = [&](DeviceMemory& memory, const std::vector<Index>& numbers) {
      memory.reserve(device_, bytes_of<Index>(static_cast<Index>(numbers.size())));
      device_->upload(memory.address(), numbers.data(), bytes_of<Index>(static_cast<Index>(numbers.size())));
    };
    keep(made.targets, targets), keep(made.begin, begin), keep(made.sources, all);
  }
  const Targets& lists = *targets_[at(link)];
  launch(FixedKernel::scatter_lists, lists.count * n.size,
         Arguments()
             .add(to)
             .add(to_ld)
             .add(address(What::adjoint, link, {0, {0, 0}}))
             .add(from_ld)
             .add(lists.targets.address())
             .add(lists.begin.address())
             .add(lists.sources.address())
             .add(lists.count)
             .add(n.size));
}

template <class T>
void DevicePasses<T>::mask(int i, const Rows& rows) {
  const Node& n = node(i);
  launch(FixedKernel::fill_mask, rows.range.size() * ((n.size + 3) / 4),
         Arguments()
             .add(address(What::value, i, rows))
             .add(layout_.stride(What::value, i))
             .add(rows.range.size())
             .add(n.size)
             .add(keys_[at(i)].address() + sizeof(std::uint64_t) * at(rows.range.begin))
             .add(settings_.address())
             .add(static_cast<Index>(stream_of(n.name)))
             .add(static_cast<Index>(std::nearbyint(n.mask().rate * 0x1p32)))
             .add(1 / (1 - n.mask().rate)));
}

template class DevicePasses<float>;
template class DevicePasses<double>;

}  // namespace unfold
