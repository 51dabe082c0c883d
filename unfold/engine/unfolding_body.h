#pragma once
/// The memory of an unfolding and the walk over its plan. Internal to engine/.
///
/// The passes are in forward.cpp, backward.cpp and tangent.cpp; each says what an item does for some rows. This file
/// says where the numbers are (`operand`, `matrix`) and in which order items run (`walk`); division.cpp says which
/// member of the team does what.

#include <map>

#include "unfold/engine/account.h"
#include "unfold/engine/trial.h"
#include "unfold/engine/unfolding.h"

namespace unfold {

/// The three kinds of numbers of a signal.
enum class What : unsigned char { value, adjoint, tangent };

/// A run of maps made into a program, with the signal behind each of its slots.
struct Program {
  struct Slot {
    What what;
    int node;
  };
  std::vector<Instruction> instructions;
  std::vector<Slot> slots;
  bool overlaps = false;  ///< two slots are overlapping slices of one signal: columns cannot be divided
};

/// Some rows of one step (or of a run of steps whose shifts agree) for one item, for one member of the team.
struct Work {
  Member* member;
  Index step;  ///< of the first row
  Range rows;
  bool by_columns;  ///< all members have the same rows and divide columns instead
  Index unit = 0;   ///< not 0: of every block of so many columns, members own the same part, in whole panels

  /// My part of the n columns of an element-wise map (with `unit` one block: all maps have this width).
  Range columns(Index n, Index grain) const {
    return !by_columns ? Range{0, n} : member->share(n, unit > 0 ? kUnitGrain : grain);
  }
  /// My panels of the n columns of a product.
  Panels panels(Index n, Index panel) const {
    const Index count = ((unit > 0 ? unit : n) + panel - 1) / panel;
    if (!by_columns) return {0, (n + panel - 1) / panel};
    if (unit == 0) return member->share(count);
    const Range mine = member->share(unit, kUnitGrain);
    return {{mine.begin / panel, mine.end / panel}, n / unit, count};
  }
  static constexpr Index kUnitGrain = 32;  ///< a multiple of every panel
};

/// How the members of a team divide a segment.
enum class Division : unsigned char {
  rows,     ///< members own rows (in a loop: sequences) and need not meet inside the segment
  columns,  ///< members own columns and meet after every item
  units,    ///< members own units: the same columns of every block; they meet before products only (loops only)
  alone     ///< the first member does everything (loops only): members that share a processor cannot meet often
};
inline bool by_columns(Division how) { return how == Division::columns || how == Division::units; }

/// How the segments are divided, found by trying: the results have the same bits either way.
struct Divisions {
  struct Choice {
    std::vector<Division> candidates;
    Trial trial;
    Division now() const { return candidates[trial.now()]; }
  };
  std::vector<Choice> segments;
};

template <class T>
struct Unfolding<T>::Body {
  Body(std::shared_ptr<const Plan> plan_, Team& team_, Precision precision_);

  // --- set-up (unfolding.cpp)
  void lay(const Structure& structure, std::span<const Index> slots);
  void allocate(std::vector<Buffer<T>>& buffers, What what);
  void make_programs();
  Program forward_program(const Item& item) const;
  Program backward_program(const Item& item, Rule rule) const;
  Program tangent_program(const Item& item) const;
  bool share_memory(const Program::Slot& a, const Program::Slot& b) const;
  void pack(Member& me, const T* flat, std::vector<PackedMatrix<T>>& into, std::vector<char>& stale, bool transposed,
            bool squared);

  // --- where numbers are
  const Node& node(int i) const { return plan->nodes()[static_cast<std::size_t>(i)]; }
  const Structure::Order& order(Corner corner) const { return structure->order(corner); }
  Index first_row(Index step, Corner corner) const { return order(corner).step_begin[static_cast<std::size_t>(step)]; }
  Index step_rows(Index step, Corner corner) const;  ///< 0 beyond the last step
  Place place(What what, int i) const { return what == What::value ? plan->value_place(i) : plan->adjoint_place(i); }
  std::vector<Buffer<T>>& buffers(What what);
  /// The address of column 0 of node i at `row` of `step`; nullptr for scratch.
  T* address(What what, int i, Index step, Index row);
  Index stride(What what, int i) const;
  Matrix<T> matrix(What what, int i, Index step, Range rows);
  /// Row `steps_back` before the first position, of the sequence at a place (steps_back >= 1).
  T* history_row(What what, int i, Index steps_back, Index place);
  void run_program(const Program& program, const Work& work);

  // --- the walk
  template <class Do>
  void walk_batched(Member& me, const Segment& segment, bool reverse, Do&& run_item);
  template <class Do, class Begin>
  void walk_loop(Member& me, const Segment& segment, Division how, bool reverse, Do&& run_item, Begin&& begin_step);

  /// walk_loop as chosen for forward or backward (`reverse`), noting how long it took.
  template <class Do, class Begin>
  void walk_timed(Member& me, std::size_t segment, bool reverse, Do&& run_item, Begin&& begin_step);

  // --- division.cpp
  bool has_whole_terms(const Segment& segment) const;
  Division division(const Segment& segment, int members) const;  ///< without trying
  Range my_rows(const Segment& segment, Division how, Member& me, Range step) const;
  Index unit_of(std::size_t segment) const;
  std::vector<Division> candidates(std::size_t segment) const;
  void choose(std::map<Index, Divisions>& of_places);
  void note(Member& me, std::size_t segment, std::map<Index, Divisions>& of_places, double seconds);

  void sync(Member& me) const {
    const StageTimer timer(account, me.id(), Stage::waiting);
    me.sync();
  }

  // --- forward.cpp
  void forward(Member& me, const State<T>* state);
  void load_history(Member& me, const State<T>* state);
  void load_kept(Index place, const State<T>* state);
  void number_masks(Member& me);
  void store_state(State<T>& state);
  void forward_item(std::size_t segment, std::size_t index, const Work& work);
  void forward_affine(const Item& item, const Work& work);
  const Symbol* lookup(int source) const;  ///< the symbols behind a term's source, or nullptr for a dense one
  void gather(What what, int link, const Work& work, const T* initial);
  Index begun_before(int link, Index row) const;
  void reorder(What what, int i, const Work& work);
  // --- backward.cpp
  void backward(Member& me, T* gradient, const BackwardOptions& options, const State<T>* end);
  void prepare_adjoints(Member& me, const State<T>* end);
  void prepare_kept(const State<T>* end);
  void start_tail(Member& me, std::size_t segment, Index step, Division how, const State<T>* end);
  void backward_item(std::size_t segment, std::size_t index, const Work& work, Algebra algebra);
  void scatter(int link, bool in_loop, const Work& work);
  void weight_gradients(Member& me, T* gradient, const BackwardOptions& options);
  static constexpr Index kGradientRows = 256;  ///< rows whose adjoints are read once from far
  static Range my_gradient_columns(const Member& me, Index columns);
  void lookup_gradient(Member& me, int i, const Symbol* symbols, Matrix<T> g, Range part,
                       const BackwardOptions& options);
  void dense_gradient(Member& me, int i, int source, Matrix<T> g, Range part, const BackwardOptions& options);
  std::vector<std::pair<Index, Index>> runs(
      Index shift) const;  ///< (first step, last step + 1), contiguous when shifted
  void initial_gradients(T* gradient, bool accumulate, bool squared = false);
  // --- operators.cpp
  void prepare_operators();
  OperatorRows<T> operator_rows(const Member& me, const Node::AffineTerm& term, Index step, Range part);
  const Symbol* gates_of(const Node::AffineTerm& term, Index row) const;
  bool whole_item(const Item& item, const Work& work) const;
  void operator_gradient(Member& me, int i, const Node::AffineTerm& term, Matrix<T> g, const BackwardOptions& options);
  // --- chain_loop.cpp
  void find_chain_loops();
  bool runs_as_chain(std::size_t segment) const;
  Recurrence<T> recurrence_of(const Node::AffineTerm& term);
  void forward_chain(Member& me, std::size_t segment);
  void backward_chain(Member& me, std::size_t segment, Algebra algebra, const State<T>* end);
  void store_start(State<T>& start);
  // --- tangent.cpp
  void tangent(Member& me, const T* direction);
  void tangent_item(std::size_t segment, std::size_t index, const Work& work, const T* direction);
  void tangent_affine(const Item& item, const Work& work, const T* direction);

  std::shared_ptr<const Plan> plan;
  Team& team;
  Precision precision;  ///< of all products but those of squares
  std::unique_ptr<Structure> structure;
  std::vector<Index> slots;  ///< state slot of each place
  Index rows = 0, places = 0, steps = 0;
  bool rectangular = false;  ///< chains of one length: shifted views are contiguous over steps

  Account* account = nullptr;
  const Parameters<T>* parameters = nullptr;
  std::vector<Buffer<T>> values, adjoints, tangents;  ///< per root
  Index tangent_rows = -1, adjoint_rows = -1;         ///< for which size they were allocated
  std::vector<std::vector<Symbol>> symbols;           ///< per symbols (or reordered symbols) node
  std::vector<std::vector<Index>> predecessors;       ///< per gathered link
  std::vector<std::vector<Index>> reorder_from;       ///< per reorder node: source row of each row
  std::vector<Buffer<T>> kept, kept_adjoints;         ///< per link along `first`: a row for each place
  std::vector<char> fresh;                            ///< per place: the last forward started from the initial values
  std::vector<std::uint64_t> mask_keys;
  std::uint64_t dropout_seed = 0;
  Index dropout_origin = 0;
  bool dropout = false;

  std::vector<std::vector<Program>> forward_programs, backward_programs, squared_programs, tangent_programs;
  std::vector<PackedMatrix<T>> packed, packed_transposed, packed_squared, packed_direction;  ///< per parameter
  std::vector<char> dirty, dirty_transposed, dirty_squared, dirty_direction;
  std::vector<char> dense;                  ///< parameter is used by a dense term
  std::vector<Buffer<T>> operator_scratch;  ///< per member
  struct ChainLoop {
    int affine = -1, term = -1, lookup = -1, exit = -1;
  };
  std::vector<ChainLoop> chain_loops;        ///< per segment: a loop that one kernel runs (affine -1: it does not)
  std::vector<std::vector<int>> tail_roots;  ///< per segment: adjoint buffers that start with a tail
  std::vector<Index> units;                  ///< per segment: its unit, or 0
  std::map<Index, Divisions> forward_divisions, backward_divisions;  ///< by places
  std::vector<Index> place_bounds;                                   ///< sequences of each member when rows are divided
  std::vector<PointwiseScratch<T>> scratch;                          ///< per member
  std::vector<std::vector<Operand<T>>> operands;                     ///< per member
  Buffer<T> squares;  ///< squared sources and weights of the modulus pass
};

/// What an item counts as.
inline Stage stage_of(const Segment& segment, const Item& item) {
  switch (item.kind) {
    case Item::Kind::affine: return segment.loop ? Stage::recurrent : Stage::hoisted;
    case Item::Kind::pointwise: return Stage::pointwise;
    default: return Stage::moves;
  }
}

/// What an affine map starts from, where its first term does not know how to.
template <class T>
void start_rows(Matrix<T> y, Start start, const T* bias) {
  if (start == Start::accumulate) return;
  for (Index r = 0; r < y.rows; ++r)
    for (Index j = 0; j < y.cols; ++j) y(r, j) = start == Start::bias ? bias[j] : T{0};
}

template <class T>
template <class Do>
void Unfolding<T>::Body::walk_batched(Member& me, const Segment& segment, bool reverse, Do&& run_item) {
  const Division how = division(segment, me.size());
  const auto n = segment.items.size();
  // Shifted views are contiguous over all rows only in rectangular batches; otherwise go step by step.
  const bool stepwise = !segment.rows_independent && structure->kind() == Structure::Kind::chains && !rectangular;
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t index = reverse ? n - 1 - k : k;
    const Range mine = my_rows(segment, how, me, {0, rows});
    const Index last = stepwise ? steps : 1;
    for (Index s = 0; s < last; ++s) {
      const Index step = reverse ? last - 1 - s : s;
      Range part = mine;
      if (stepwise) {
        const Range range = order(segment.corner).step(step);
        part = {std::max(range.begin, mine.begin), std::min(range.end, mine.end)};
      }
      if (!part.empty()) run_item(index, Work{&me, stepwise ? step : 0, part, by_columns(how)});
    }
    if (how != Division::rows) sync(me);
  }
  sync(me);
}

template <class T>
template <class Do, class Begin>
void Unfolding<T>::Body::walk_loop(Member& me, const Segment& segment, Division how, bool reverse, Do&& run_item,
                                   Begin&& begin_step) {
  if (how == Division::alone && me.id() != 0) return sync(me);
  const Index unit = how == Division::units ? units[static_cast<std::size_t>(&segment - plan->segments().data())] : 0;
  const auto n = segment.items.size();
  const Index last = order(segment.corner).steps();
  for (Index s = 0; s < last; ++s) {
    const Index step = reverse != segment.descending ? last - 1 - s : s;
    begin_step(step, how);
    const Range mine = my_rows(segment, how, me, order(segment.corner).step(step));
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t index = reverse ? n - 1 - k : k;
      // Maps read columns of their own units; products read those of all.
      if (unit > 0 && segment.items[index].kind == Item::Kind::affine) sync(me);
      if (!mine.empty()) run_item(index, Work{&me, step, mine, by_columns(how), unit});
      if (how == Division::columns) sync(me);
    }
  }
  sync(me);
}

template <class T>
template <class Do, class Begin>
void Unfolding<T>::Body::walk_timed(Member& me, std::size_t segment, bool reverse, Do&& run_item, Begin&& begin_step) {
  using Clock = std::chrono::steady_clock;
  auto& divisions = reverse ? backward_divisions : forward_divisions;
  const Divisions::Choice& choice = divisions.at(places).segments[segment];
  const bool timed = choice.candidates.size() > 1;  // a step of a small net is not much longer than a look at the clock
  const auto start = timed ? Clock::now() : Clock::time_point();
  walk_loop(me, plan->segments()[segment], choice.now(), reverse, std::forward<Do>(run_item),
            std::forward<Begin>(begin_step));
  if (timed) note(me, segment, divisions, std::chrono::duration<double>(Clock::now() - start).count());
}

}  // namespace unfold
