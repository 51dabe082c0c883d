/// Operations that move rows between positions, in all passes: gathered links and reordered signals.

#include <algorithm>
#include <cmath>
#include <vector>

#include "graph/engine/passes.h"

namespace unfold {

template <class T>
void LinkPass<T>::gather(What what, int link, const Work& work, const T* initial) {
  const Node& n = node(link);
  const Node::Link& read = n.link();
  if (read.delay.along == Delay::Along::children) return add_children(what, link, work, initial);
  if (read.delay.along == Delay::Along::each_child) return join_children(what, link, work);
  if (read.delay.along == Delay::Along::block) return join_block(what, link, work);
  const Range columns = work.columns(n.size, 16);
  const bool known = what == What::value || plan_.needs_adjoint(read.source);
  const Index from_stride = known ? layout_.stride(what, read.source) : 0, to_stride = layout_.stride(what, link);
  const T* from = known ? layout_.address(what, read.source, 0, 0) : nullptr;
  T* to = layout_.address(what, link, 0, 0);
  const auto& end = parts_.boundary.end(link);
  const Matrix<const T> beyond = what == What::tangent ? end.tangents : end.values;
  for (Index r = work.rows.begin; r < work.rows.end; ++r) {
    const Index before = layout_.predecessors(link)[at(r)], place = parts_.boundary.place_begun_earlier(link, r);
    const T* source = before < 0 || !begins(link, r) ? initial : known ? from + before * from_stride : nullptr;
    if (before < 0 && beyond.data != nullptr) source = beyond.row(parts_.boundary.sequence_of(r));
    if (place >= 0) source = what == What::value ? parts_.boundary.kept(link, place) : nullptr;
    if (source != nullptr)
      std::copy(source + columns.begin, source + columns.end, to + r * to_stride + columns.begin);
    else
      std::fill(to + r * to_stride + columns.begin, to + r * to_stride + columns.end, T{0});
  }
}

/// Returns false for a link that reads only at the start of a sequence if the sequence began in an earlier window.
template <class T>
bool LinkPass<T>::begins(int link, Index row) const {
  if (node(link).link().delay.along != Delay::Along::source_start || node(link).part > 0) return true;
  const Structure& structure = layout_.structure();
  return parts_.boundary.fresh(structure.place(structure.sequence_of_item(layout_.order().items[at(row)])));
}

/// The sum is bit-identical for any order of the children: with three or more children, the terms of each component are
/// added from smallest to largest.
template <class T>
void LinkPass<T>::add_children(What what, int link, const Work& work, const T* initial) {
  const Node& n = node(link);
  const Node::Link& read = n.link();
  const Range columns = work.columns(n.size, 16);
  const bool known = what == What::value || plan_.needs_adjoint(read.source);
  const Structure& structure = layout_.structure(n.part);
  std::vector<const T*> rows;
  std::vector<T> terms;
  for (Index r = work.rows.begin; r < work.rows.end; ++r) {
    T* to = layout_.address(what, link, 0, r);
    rows.clear();
    for (const Index child : structure.child_rows(r))
      if (child >= 0 && known) rows.push_back(layout_.address(what, read.source, 0, child));
    const bool leaf = layout_.predecessors(link)[at(r)] < 0;
    terms.resize(rows.size());
    for (Index j = columns.begin; j < columns.end; ++j) {
      if (leaf || rows.size() < 3) {
        to[j] = leaf               ? (initial != nullptr ? initial[j] : T{0})
                : rows.empty()     ? T{0}
                : rows.size() == 1 ? rows[0][j]
                                   : rows[0][j] + rows[1][j];
        continue;
      }
      for (std::size_t k = 0; k < rows.size(); ++k) terms[k] = rows[k][j];
      std::sort(terms.begin(), terms.end(), [](T a, T b) { return a < b || (std::isnan(b) && !std::isnan(a)); });
      to[j] = terms[0];
      for (std::size_t k = 1; k < terms.size(); ++k) to[j] += terms[k];
    }
  }
}

/// Each child has a separate block of columns. Each thread of the team processes a range of rows, or the
/// same range of columns in every block.
template <class T>
void LinkPass<T>::join_children(What what, int link, const Work& work) {
  const Node& n = node(link);
  const Node::Link& read = n.link();
  const Index width = node(read.source).size;
  const Range columns = work.columns(width, 16);
  const bool known = what == What::value || plan_.needs_adjoint(read.source);
  const Structure& structure = layout_.structure(n.part);
  for (Index r = work.rows.begin; r < work.rows.end; ++r) {
    const std::span<const Index> children = structure.child_rows(r);
    T* to = layout_.address(what, link, 0, r);
    for (Index k = 0; k < read.delay.steps; ++k, to += width) {
      const Index child = k < static_cast<Index>(children.size()) ? children[at(k)] : -1;
      const T* from = child >= 0 && known ? layout_.address(what, read.source, 0, child) : nullptr;
      if (from != nullptr)
        std::copy(from + columns.begin, from + columns.end, to + columns.begin);
      else
        std::fill(to + columns.begin, to + columns.end, T{0});
    }
  }
}

/// Like join_children, for the positions of a block, which are rows of a finer grid.
template <class T>
void LinkPass<T>::join_block(What what, int link, const Work& work) {
  const Node& n = node(link);
  const Node::Link& read = n.link();
  const Index width = node(read.source).size, members = read.delay.width();
  const Range columns = work.columns(width, 16);
  const bool known = what == What::value || plan_.needs_adjoint(read.source);
  const Index stride = layout_.stride(what, link), from_stride = known ? layout_.stride(what, read.source) : 0;
  const T* source = known ? layout_.address(what, read.source, 0, 0) : nullptr;
  const Index* seen = layout_.predecessors(link).data();
  for (Index r = work.rows.begin; r < work.rows.end; ++r) {
    T* to = layout_.address(what, link, 0, 0) + r * stride;
    for (Index k = 0; k < members; ++k, to += width) {
      const Index row = seen[r * members + k];
      if (row >= 0 && known)
        std::copy(source + row * from_stride + columns.begin, source + row * from_stride + columns.end,
                  to + columns.begin);
      else
        std::fill(to + columns.begin, to + columns.end, T{0});
    }
  }
}

/// Every row of the finer grid belongs to exactly one block.
template <class T>
void LinkPass<T>::scatter_to_block(int link, const Work& work, Range rows) {
  const Node& n = node(link);
  const Node::Link& read = n.link();
  const Index width = node(read.source).size, members = read.delay.width();
  const Range columns = work.columns(width, 16);
  const Index* seen = layout_.predecessors(link).data();
  for (Index r = rows.end; r-- > rows.begin;) {
    const T* from = layout_.address(What::adjoint, link, 0, r);
    for (Index k = 0; k < members; ++k, from += width) {
      if (seen[r * members + k] < 0) continue;
      T* to = layout_.address(What::adjoint, read.source, 0, seen[r * members + k]);
      for (Index j = columns.begin; j < columns.end; ++j) to[j] += from[j];
    }
  }
}

/// For links to all children: each child receives its own part of the adjoint, or all of it if the link is a sum.
template <class T>
void LinkPass<T>::scatter_to_children(int link, const Work& work, Range rows) {
  const Node& n = node(link);
  const Node::Link& read = n.link();
  const Index width = node(read.source).size;
  const Range columns = work.columns(width, 16);
  const bool sum = read.delay.along == Delay::Along::children;
  const Structure& structure = layout_.structure(n.part);
  for (Index r = rows.end; r-- > rows.begin;) {
    const std::span<const Index> children = structure.child_rows(r);
    const T* from = layout_.address(What::adjoint, link, 0, r);
    for (std::size_t k = 0; k < children.size() && (sum || k < at(read.delay.steps)); ++k) {
      if (children[k] < 0) continue;
      T* to = layout_.address(What::adjoint, read.source, 0, children[k]);
      const T* mine = sum ? from : from + static_cast<Index>(k) * width;
      for (Index j = columns.begin; j < columns.end; ++j) to[j] += mine[j];
    }
  }
}

template <class T>
void LinkPass<T>::scatter(int link, bool in_loop, const Work& work) {
  const Node& n = node(link);
  const Node::Link& read = n.link();
  if (!plan_.needs_adjoint(read.source)) return;
  Range part = work.rows;
  if (!in_loop && !work.by_columns) {  // rows of other threads may be written, so one thread does all the work
    if (work.member->id() != 0 || part.begin != 0) return;
    part = {0, layout_.rows(n.part)};
  }
  if (read.delay.along != Delay::Along::child && read.delay.reads_children())
    return scatter_to_children(link, work, part);
  if (read.delay.along == Delay::Along::block) return scatter_to_block(link, work, part);
  const Range columns = work.columns(n.size, 16);
  const Matrix<T> beyond = parts_.boundary.end(link).adjoints;
  for (Index r = part.end; r-- > part.begin;) {
    const Index before = layout_.predecessors(link)[at(r)];
    const T* from = layout_.address(What::adjoint, link, 0, r);
    if (before < 0 && beyond.data != nullptr)
      std::copy(from + columns.begin, from + columns.end, beyond.row(parts_.boundary.sequence_of(r)) + columns.begin);
    if (before < 0 || !begins(link, r)) continue;
    const Index place = parts_.boundary.place_begun_earlier(link, r);
    T* to =
        place < 0 ? layout_.address(What::adjoint, read.source, 0, before) : parts_.boundary.kept_adjoint(link, place);
    for (Index j = columns.begin; j < columns.end; ++j) to[j] += from[j];
  }
}

template <class T>
void LinkPass<T>::reorder(What what, int i, const Work& work) {
  const int source = node(i).reorder().operand;
  const auto& from_row = layout_.reorder_from(i);
  if (layout_.lookup(i) != nullptr) {
    if (what == What::value && (!work.by_columns || work.member->id() == 0))
      for (Index r = work.rows.begin; r < work.rows.end; ++r)
        layout_.symbols(i)[at(r)] = layout_.symbols(source)[at(from_row[at(r)])];
    return;
  }
  const Range columns = work.columns(node(i).size, 16);
  const Index from_stride = layout_.stride(what, source), to_stride = layout_.stride(what, i);
  const T* from = layout_.address(what, source, 0, 0);
  T* to = layout_.address(what, i, 0, 0);
  for (Index r = work.rows.begin; r < work.rows.end; ++r)
    std::copy_n(from + from_row[at(r)] * from_stride + columns.begin, columns.size(),
                to + r * to_stride + columns.begin);
}

template <class T>
void LinkPass<T>::reorder_back(int i, bool sets, const Work& work) {
  const int source = node(i).reorder().operand;
  if (!plan_.needs_adjoint(source)) return;
  const Range columns = work.columns(node(i).size, 16);
  for (Index r = work.rows.begin; r < work.rows.end; ++r) {
    const T* from = layout_.address(What::adjoint, i, 0, r);
    T* to = layout_.address(What::adjoint, source, 0, layout_.reorder_from(i)[at(r)]);
    for (Index j = columns.begin; j < columns.end; ++j) to[j] = sets ? from[j] : to[j] + from[j];
  }
}

template class LinkPass<float>;
template class LinkPass<double>;

}  // namespace unfold
