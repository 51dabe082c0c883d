#include "unfold/graph/engine/stored_activations.h"

#include <algorithm>

#include "unfold/numerics/bf16.h"

namespace unfold {
namespace {

constexpr Index kGrain = 1024;  ///< values that a thread processes at a time

template <class T>
void round_into(const T* from, Range range, std::uint16_t* into) {
  for (Index i = range.begin; i < range.end; ++i)
    into[i] = static_cast<std::uint16_t>(to_bf16(static_cast<float>(from[i])));
}

template <class T>
void widen_into(const std::uint16_t* from, Range range, T* into) {
  for (Index i = range.begin; i < range.end; ++i) into[i] = static_cast<T>(from_bf16(from[i]));
}

/// Returns whether the buffer of a root holds values of an output.
bool holds_output(const Plan& plan, int root) {
  return std::ranges::any_of(plan.outputs(), [&](int i) { return plan.value_place(i).root == root; });
}

}  // namespace

template <class T>
std::vector<typename StoredActivations<T>::Part> StoredActivations<T>::parts_of(const Plan& plan,
                                                                                const Layout<T>& layout, Index& exact,
                                                                                Index& rounded) {
  std::vector<Part> parts;
  exact = rounded = 0;
  for (int root = 0; root < static_cast<int>(plan.nodes().size()); ++root) {
    const Node::Kind kind = layout.node(root).kind();
    if (!plan.live(root) || plan.value_place(root).root != root) continue;
    if (kind == Node::Kind::symbols || kind == Node::Kind::input || kind == Node::Kind::mask) continue;
    const bool whole = holds_output(plan, root);
    Index& end = whole ? exact : rounded;
    const Index rows = plan.history(root) * layout.places(layout.part(root)) + layout.rows(layout.part(root));
    parts.push_back({root, whole, end, rows * layout.node(root).size});
    end += parts.back().count;
  }
  return parts;
}

template <class T>
void StoredActivations<T>::require_for(const Plan& plan, const Layout<T>& layout) const {
  Index exact = 0, rounded = 0;
  if (parts_.empty() || parts_ != parts_of(plan, layout, exact, rounded))
    throw UsageError(
        "unfolding: recall: the values were not kept over this structure; call keep after the forward pass");
}

template <class T>
void StoredActivations<T>::take(const Plan& plan, Layout<T>& layout, Team& team) {
  Index exact = 0, rounded = 0;
  parts_ = parts_of(plan, layout, exact, rounded);
  if (exact_.size() != exact) exact_.resize(exact);
  if (rounded_.size() != rounded) rounded_.resize(rounded);
  team.run([&](Member& me) {
    for (const Part& part : parts_) {
      const Range mine = me.share(part.count, kGrain);
      const T* from = layout.buffer(What::value, part.root).data();
      if (part.exact)
        std::copy(from + mine.begin, from + mine.end, exact_.data() + part.begin + mine.begin);
      else
        round_into(from, mine, rounded_.data() + part.begin);
    }
  });
}

template <class T>
void StoredActivations<T>::give(Layout<T>& layout, Team& team) const {
  team.run([&](Member& me) {
    for (const Part& part : parts_) {
      const Range mine = me.share(part.count, kGrain);
      T* into = layout.buffer(What::value, part.root).data();
      if (part.exact)
        std::copy_n(exact_.data() + part.begin + mine.begin, mine.size(), into + mine.begin);
      else
        widen_into(rounded_.data() + part.begin, mine, into);
    }
  });
}

template <class T>
std::size_t StoredActivations<T>::memory_bytes() const {
  return at(exact_.size()) * sizeof(T) + at(rounded_.size()) * sizeof(std::uint16_t);
}

template class StoredActivations<float>;
template class StoredActivations<double>;

}  // namespace unfold
