#pragma once
/// What lies beyond the first position of every sequence: the rows of history that links along `previous` see, what
/// links along `first` have kept of an earlier window, their adjoints, and the state that carries all of it. Chains of
/// deeper parts are whole: they begin afresh and leave nothing behind. Internal to engine/.

#include "unfold/circuit/parameters.h"
#include "unfold/engine/layout.h"
#include "unfold/engine/unfolding.h"

namespace unfold {

template <class T>
class Boundary {
 public:
  Boundary(const Plan& plan, Layout<T>& layout);

  void lay();  ///< over the structure that the layout has

  /// Whether the last forward pass started the sequence at a place from the initial values.
  bool fresh(Index place, int part = 0) const { return part > 0 || fresh_[static_cast<std::size_t>(place)] != 0; }
  /// The place of the sequence of a row, if a link along `first` finds its position in an earlier window; else -1.
  Index begun_before(int link, Index row) const;
  T* kept(int link, Index place) { return row_of(kept_, link, place); }
  T* kept_adjoint(int link, Index place) { return row_of(kept_adjoints_, link, place); }

  /// What links see before the first position: the carried state, or the initial values. By all members.
  void load(Member& me, const State<T>* state, const Parameters<T>& parameters);
  void store(State<T>& state);
  /// Adds the adjoints of the state that a later window handed back (null: none), except where tails start with them.
  /// REQUIRES: the adjoints that it adds to are zeroed.
  void load_adjoints(const State<T>* end);
  void store_adjoints(State<T>& start);
  /// Tangents of what lies before the first position, in a direction of the parameters. Carried state is held fixed.
  void load_tangents(const Parameters<T>& parameters, const T* direction);
  /// Gradients of trained initial values: the adjoints of what sequences that started afresh saw before their first
  /// position, summed, or their squares.
  void initial_gradients(const Parameters<T>& parameters, T* gradient, bool accumulate, bool squared);

  std::size_t memory_bytes() const;

 private:
  const Node& node(int i) const { return layout_.node(i); }
  T* row_of(std::vector<Buffer<T>>& of_links, int link, Index place) {
    return of_links[static_cast<std::size_t>(link)].data() + place * node(link).size;
  }
  int part(const Plan::Carried& c) const { return node(c.source).part; }
  void load_history(const Plan::Carried& c, Index place, const T* state, const Parameters<T>& parameters);
  void load_kept_adjoints(const State<T>* end);

  const Plan& plan_;
  Layout<T>& layout_;
  std::vector<char> fresh_;                      // per place
  std::vector<Buffer<T>> kept_, kept_adjoints_;  // per link along `first`: a row for each place
};

}  // namespace unfold
