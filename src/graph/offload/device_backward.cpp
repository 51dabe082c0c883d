/// Backward pass on a device, and gradients of weights.

#include "graph/offload/device_passes.h"

#include <algorithm>
#include <utility>

namespace unfold {

template <class T>
void DevicePasses<T>::backward(std::span<T> gradient, const BackwardOptions& options, const State<T>* end,
                               State<T>* start) {
  if (end != nullptr || start != nullptr)
    throw UsageError("a memory limit cannot be combined with --device; leave out one of them");
  const bool squared = options.algebra == Algebra::squared;
  const Kind kind = squared ? Kind::squared : Kind::backward;
  make_room(What::adjoint);
  compile(kind);
  upload_parameters();
  for (const int i : plan_.outputs()) {
    const int root = plan_.needs_adjoint(i) ? plan_.adjoint_place(i).root : -1;
    if (root < 0 || !std::exchange(expected_[1][at(root)], 0)) continue;
    const Buffer<T>& host = layout_.buffer(What::adjoint, root);
    device_->upload(buffer(What::adjoint, root).address(), host.data(), bytes_of<T>(host.size()));
  }
  if (gradient_.reserve(device_, bytes_of<T>(plan_.parameter_count()))) forget_recordings();
  upload_symbol_lists();
  prepare_loops(true);
  if (squared) {
    Index widest = 0;
    for (const Node& n : plan_.nodes()) widest = std::max(widest, n.size);
    bool moved = squared_parameters_.reserve(device_, bytes_of<T>(plan_.parameter_count()));
    moved |= squares_.reserve(device_, bytes_of<T>(layout_.rows() * widest));
    if (moved) forget_recordings();
  }
  const int key = (squared ? 1 : 0) + (options.weights ? 2 : 0);
  play(backward_[key], &DeviceTimes::backward, [&] {
    invalidate_bf16_copies(true);
    if (squared) {
      launch(FixedKernel::square_rows, plan_.parameter_count(),
             Arguments()
                 .add(squared_parameters_.address())
                 .add(Index{0})
                 .add(parameters_.address())
                 .add(Index{0})
                 .add(Index{1})
                 .add(plan_.parameter_count()));
    }
    stage("backward start", [&] { prepare(); });
    run(kind);
    if (options.weights) stage("weight gradients", [&] { gradients(squared, false); });
  });
  std::fill(stale_[1].begin(), stale_[1].end(), 1);
  if (options.done != nullptr) (*options.done)(static_cast<int>(plan_.segments().size()));
  if (options.keep_gradient_on_device) return;
  if (options.weights) {
    Buffer<T> all(plan_.parameter_count());
    device_->download(all.data(), gradient_.address(), bytes_of<T>(all.size()));
    for (int i = 0; i < static_cast<int>(plan_.nodes().size()); ++i) {
      const Node& n = node(i);
      if (n.kind() != Node::Kind::affine) continue;
      const auto take = [&](int p) {
        const ParameterInfo& info = plan_.parameters()[at(p)];
        for (Index k = info.offset; k < info.offset + info.size(); ++k) {
          const T g = plan_.live(i) ? all[k] : T{0};
          gradient[at(k)] = options.accumulate ? gradient[at(k)] + g : g;
        }
      };
      for (const auto& term : n.terms()) take(term.parameter);
      if (n.affine().bias >= 0) take(n.affine().bias);
    }
  }
  for (int i = 0; i < static_cast<int>(plan_.nodes().size()); ++i) {
    if (node(i).kind() != Node::Kind::link || !plan_.live(i)) continue;
    const Node::Link& link = node(i).link();
    if (link.initial >= 0) fetch(What::adjoint, link.delay.along == Delay::Along::previous ? link.source : i);
  }
  parts_.boundary.initial_gradients(*parts_.parameters, gradient.data(), options.accumulate, false);
  if (options.done != nullptr)
    for (std::size_t g = plan_.segments().size(); g-- > 0;) (*options.done)(static_cast<int>(g));
}

/// Clears the adjoints that are accumulated into, and those before the first position: no adjoint comes from a later
/// window.
template <class T>
void DevicePasses<T>::prepare() {
  const auto& outputs = plan_.outputs();
  for (int root = 0; root < static_cast<int>(plan_.nodes().size()); ++root) {
    const AdjointBuffer& b = plan_.adjoint_buffer(root);
    if (!b.exists) continue;
    const bool seeded = std::find(outputs.begin(), outputs.end(), root) != outputs.end();
    const Index n = node(root).size, history = plan_.history(root) * layout_.places();
    const Index numbers = b.zeroed               ? (history + layout_.rows()) * n
                          : b.ring               ? layout_.buffer(What::adjoint, root).size()
                          : seeded || b.tail > 0 ? history * n
                                                 : 0;
    if (numbers > 0) device_->clear(buffer(What::adjoint, root).address(), bytes_of<T>(numbers));
  }
}

/// Clears rows of this step that no later step writes to.
template <class T>
void DevicePasses<T>::clear_tails(std::size_t g, Index step) {
  const Corner corner = segment(g).corner;
  for (const int root : parts_.schedule.tail_roots(g)) {
    const Index first = layout_.step_rows(step + plan_.adjoint_buffer(root).tail, corner, 0);
    const Index last = layout_.step_rows(step, corner, 0), begin = layout_.first_row(step, corner);
    if (first < last) start_rows(What::adjoint, root, {step, {begin + first, begin + last}}, 0);
  }
}

// --------------------------------------------------------------------------------------------------------- gradients

/// Uploads, for each symbol, the list of rows that contain it, divided into parts. The number of parts depends only on
/// the number of rows and the size of the alphabet, so a recording stays valid for other symbols.
template <class T>
void DevicePasses<T>::upload_symbol_lists() {
  bool moved = false;
  std::vector<char> done(plan_.nodes().size(), 0);
  for (int i = 0; i < static_cast<int>(plan_.nodes().size()); ++i)
    for (const auto& term : node(i).terms()) {
      if (!plan_.live(i) || layout_.lookup(term.source) == nullptr || std::exchange(done[at(term.source)], 1)) continue;
      const auto& symbols = layout_.symbols(term.source);
      const Index alphabet = node(term.source).size;
      std::vector<Index> count(at(alphabet) + 1, 0);
      for (const Symbol s : symbols)
        if (s >= 0) ++count[at(s) + 1];
      for (Index s = 0; s < alphabet; ++s) count[at(s) + 1] += count[at(s)];
      std::vector<Index> rows(symbols.size()), next(count.begin(), count.end() - 1);
      for (std::size_t r = 0; r < symbols.size(); ++r)
        if (symbols[r] >= 0) rows[at(next[at(symbols[r])]++)] = static_cast<Index>(r);
      std::vector<Index> begin, ends = {0};
      for (Index s = 0; s < alphabet; ++s) {
        for (Index r = count[at(s)]; r < count[at(s) + 1]; r += kPartRows) begin.push_back(r);
        ends.push_back(static_cast<Index>(begin.size()));
      }
      SymbolLists& lists = symbol_lists_[at(term.source)];
      const Index parts = static_cast<Index>(symbols.size()) / kPartRows + alphabet;
      begin.resize(at(parts) + 1, count.back());
      moved |= lists.parts != parts;
      lists.parts = parts;
      const auto keep = [&](DeviceMemory& memory, const std::vector<Index>& numbers) {
        moved |= memory.reserve(device_, bytes_of<Index>(static_cast<Index>(numbers.size())));
        device_->upload(memory.address(), numbers.data(), bytes_of<Index>(static_cast<Index>(numbers.size())));
      };
      keep(lists.rows, rows), keep(lists.begin, begin), keep(lists.ends, ends);
    }
  Index most = 0;
  for (int i = 0; i < static_cast<int>(plan_.nodes().size()); ++i) {
    if (node(i).kind() != Node::Kind::affine || !plan_.live(i)) continue;
    most = std::max(most, row_parts_count_ * node(i).size);
    for (const auto& term : node(i).terms())
      if (layout_.lookup(term.source) != nullptr)
        most = std::max(most, symbol_lists_[at(term.source)].parts * node(i).size);
  }
  moved |= partial_.reserve(device_, bytes_of<T>(most));
  if (moved) forget_recordings();
}

template <class T>
void DevicePasses<T>::sum_lists(Address d, Index ld, Index cols, Address begin, Address rows, Index parts, Address ends,
                                Index count, Address g, bool sets) {
  launch(FixedKernel::sum_parts, parts * cols,
         Arguments().add(partial_.address()).add(cols).add(d).add(ld).add(begin).add(rows).add(parts));
  launch(FixedKernel::join_parts, count * cols,
         Arguments().add(g).add(cols).add(partial_.address()).add(ends).add(count).add(Index{sets ? 1 : 0}));
}

template <class T>
void DevicePasses<T>::gradients(bool squared, bool accumulate) {
  for (int i = 0; i < static_cast<int>(plan_.nodes().size()); ++i) {
    const Node& affine = node(i);
    if (affine.kind() != Node::Kind::affine || !plan_.live(i)) continue;
    for (const auto& term : affine.terms()) gradient_of_rows(i, term, squared, accumulate);
    if (affine.affine().bias >= 0)
      sum_lists(address(What::adjoint, i, {0, {0, 0}}), layout_.stride(What::adjoint, i), affine.size,
                row_parts_.address(), 0, row_parts_count_, row_ends_.address(), 1,
                parameter(affine.affine().bias, gradient_), !accumulate);
  }
}

template <class T>
void DevicePasses<T>::gradient_of_rows(int i, const Node::AffineTerm& term, bool squared, bool accumulate) {
  const Address g = parameter(term.parameter, gradient_);
  const Index n = node(i).size, ld = layout_.stride(What::adjoint, i);
  if (layout_.lookup(term.source) != nullptr) {
    const SymbolLists& lists = symbol_lists_[at(term.source)];
    return sum_lists(address(What::adjoint, i, {0, {0, 0}}), ld, n, lists.begin.address(), lists.rows.address(),
                     lists.parts, lists.ends.address(), node(term.source).size, g, !accumulate);
  }
  const Index k = node(term.source).size;
  for (const auto& [step, range] : layout_.runs(plan_.value_place(term.source), 0)) {
    const Rows rows{step, range};
    Address x = address(What::value, term.source, rows);
    Index x_ld = layout_.stride(What::value, term.source);
    if (squared) {
      launch(FixedKernel::square_rows, range.size() * k,
             Arguments().add(squares_.address()).add(k).add(x).add(x_ld).add(range.size()).add(k));
      x = squares_.address();
      x_ld = k;
    }
    multiply({.m = k,
              .n = n,
              .k = range.size(),
              .a = x,
              .b = address(What::adjoint, i, rows),
              .c = g,
              .lda = x_ld,
              .ldb = ld,
              .ldc = n,
              .transposed_a = true,
              .accumulate = accumulate},
             range.size() == layout_.rows() && !squared);
    accumulate = true;
  }
}

template class DevicePasses<float>;
template class DevicePasses<double>;

}  // namespace unfold
