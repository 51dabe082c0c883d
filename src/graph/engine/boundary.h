#pragma once
/// Values beyond the first position of every sequence: the history rows that links along `previous` read, the values
/// that links along `first` keep from an earlier window, their adjoints, and the state that carries all of them. Chains
/// of deeper parts are processed as a whole: they start from the initial values and carry no state. Internal to
/// engine/.

#include "unfold/graph/circuit/parameters.h"
#include "unfold/graph/engine/layout.h"
#include "unfold/graph/engine/unfolding.h"

namespace unfold {

template <class T>
class Boundary {
 public:
  Boundary(const Plan& plan, Layout<T>& layout);

  void lay();  ///< prepares the buffers for the structure of the layout

  /// Returns whether the last forward pass started the sequence at a place from the initial values.
  bool fresh(Index place, int part = 0) const { return part > 0 || fresh_[static_cast<std::size_t>(place)] != 0; }
  /// Returns the place of a row's sequence if a link along `first` refers to a position in an earlier window, otherwise
  /// -1.
  Index place_begun_earlier(int link, Index row) const;
  T* kept(int link, Index place) { return row_of(kept_, link, place); }
  T* kept_adjoint(int link, Index place) { return row_of(kept_adjoints_, link, place); }

  /// Loads the values that links read before the first position: the carried state or the initial values. Called by all
  /// threads.
  void load(Member& me, const State<T>* state, const Parameters<T>& parameters);
  void store(State<T>& state);
  /// Determines which sequences start from the initial values, without copying values.
  void mark(const State<T>* state);

  /// Values beyond the last position of a link along `next`, one row per sequence, which replace the initial value.
  /// `adjoints` receives their adjoints; `tangents` contains their tangents (null: zero).
  struct End {
    Matrix<const T> values;
    Matrix<T> adjoints;
    Matrix<const T> tangents;
  };
  void set_end(int link, const End& end) { ends_[static_cast<std::size_t>(link)] = end; }
  const End& end(int link) const { return ends_[static_cast<std::size_t>(link)]; }
  /// Returns the sequence of a row, which is the row in `End`.
  Index sequence_of(Index row) const {
    return layout_.structure().sequence_of_item(layout_.order().items[static_cast<std::size_t>(row)]);
  }
  /// Adds the state adjoints from a later window (null: none), except where tails start with them. REQUIRES: the
  /// destination adjoints have been zeroed.
  void load_adjoints(const State<T>* end);
  void store_adjoints(State<T>& start);
  /// Sets the tangents of the values before the first position for a parameter direction, and for a direction of the
  /// carried state (null: it is held fixed).
  void load_tangents(const Parameters<T>& parameters, const T* direction, const State<T>* state);
  void store_tangents(State<T>& state);  ///< stores the tangents of the values that `store` stores
  /// Computes the gradients of trained initial values: the sum of the adjoints (or of their squares) before the first
  /// position, over the sequences that started from the initial values.
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
  void store_rows(What what, State<T>& state);

  const Plan& plan_;
  Layout<T>& layout_;
  std::vector<char> fresh_;                      // indexed by place
  std::vector<Buffer<T>> kept_, kept_adjoints_;  // for each link along `first`: one row per place
  std::vector<End> ends_;                        // for each node that is a link along `next`
};

}  // namespace unfold
