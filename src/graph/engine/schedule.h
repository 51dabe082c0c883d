#pragma once
/// The order in which items run, and the division of the work among threads: by rows, by columns, by units, or all work
/// on one thread. For loops, all applicable divisions are timed and the fastest is kept (autotuner.h). Internal to
/// engine/.

#include <map>

#include "graph/engine/autotuner.h"
#include "graph/engine/map_programs.h"
#include "graph/engine/pass_timing.h"

namespace unfold {

enum class Pass : unsigned char { forward, backward };

class Schedule {
 public:
  /// `number_bytes`: size of one number, used to determine which weights fit into a cache. Keeps references.
  Schedule(const Plan& plan, const Programs& programs, int members, Index number_bytes);

  /// Prepares the schedule for the structure of a layout.
  template <class T>
  void lay(const Layout<T>& layout) {
    laid_.resize(static_cast<std::size_t>(layout.parts()));
    for (int p = 0; p < layout.parts(); ++p) lay(laid_[static_cast<std::size_t>(p)], layout.structure(p));
    choose_ways();
  }
  void set_account(Account* account) { account_ = account; }
  Account* account() const { return account_; }
  void sync(Member& me) const {
    const StageTimer timer(account_, me.id(), Stage::waiting);
    me.sync();
  }

  /// Calls run_item(item index, work) for each item over all rows. Threads synchronize where an item reads rows of
  /// other threads.
  template <class Do>
  void walk_batched(Member& me, const Segment& segment, bool reverse, Do&& run_item) const;
  /// Like the function above, but step by step, calling begin_step(step, division) before each step.
  template <class Do, class Begin>
  void walk_loop(Member& me, const Segment& segment, Division how, bool reverse, Do&& run_item,
                 Begin&& begin_step) const;
  /// Calls walk_loop with the division chosen for the pass and records the time.
  template <class Do, class Begin>
  void walk_timed(Member& me, std::size_t segment, Pass pass, Do&& run_item, Begin&& begin_step);

  Division division(const Segment& segment) const;  ///< the division that is used without timing
  void choose(Pass pass);                           ///< called before a pass: chooses the divisions of its loops
  bool settled() const;                             ///< whether every loop has tried all its divisions

  /// Returns the rows of a step that a thread owns when threads divide rows.
  Range my_places(const Member& me, int part) const {
    const auto& bounds = laid_[static_cast<std::size_t>(part)].place_bounds;
    return {bounds[static_cast<std::size_t>(me.id())], bounds[static_cast<std::size_t>(me.id()) + 1]};
  }
  /// Adjoint buffers of a loop that are initialized with a tail (AdjointBuffer::tail).
  const std::vector<int>& tail_roots(std::size_t segment) const { return tail_roots_[segment]; }

 private:
  struct Choice {
    std::vector<Division> candidates;
    Trial trial;
    Division now() const { return candidates[trial.now()]; }
  };
  using Choices = std::vector<Choice>;  // one choice per segment

  const Node& node(int i) const { return plan_.nodes()[static_cast<std::size_t>(i)]; }
  /// The layout of one part of the structure.
  struct Laid {
    const Structure* structure = nullptr;
    Index rows = 0, places = 0;
    bool rectangular = false;
    std::vector<Index> place_bounds;  // boundaries of the sequences of each thread when rows are divided
  };
  const Laid& laid(const Segment& segment) const { return laid_[static_cast<std::size_t>(segment.part)]; }
  const Structure::Order& order(const Segment& segment) const { return laid(segment).structure->order(segment.corner); }
  void lay(Laid& part, const Structure& structure) const;
  void choose_ways();
  void find_tails();
  bool has_operators(const Segment& segment) const;
  Index unit_of(std::size_t segment) const;
  bool in_data_units(const Item& item, Index unit) const;
  bool in_data_units(const Program& program, Index unit) const;
  std::vector<Division> candidates(std::size_t segment) const;
  Range my_rows(const Segment& segment, Division how, Member& me, Range step) const;
  Choices& choices(Pass pass) { return (pass == Pass::forward ? forward_ : backward_).at(laid_[0].places); }
  static void note(Choice& choice, double seconds, Index rows);

  const Plan& plan_;
  const Programs& programs_;
  int members_;
  Index number_bytes_;
  Account* account_ = nullptr;
  std::vector<Laid> laid_;                       // one layout per part
  std::vector<std::vector<int>> tail_roots_;     // roots by segment
  std::vector<Index> units_;                     // unit width of each segment, or 0
  std::map<Index, Choices> forward_, backward_;  // choices by number of places
};

template <class Do>
void Schedule::walk_batched(Member& me, const Segment& segment, bool reverse, Do&& run_item) const {
  const Division how = division(segment);
  const auto n = segment.items.size();
  // Shifted views are contiguous over all rows only in rectangular batches; otherwise proceed step by step.
  const bool stepwise = !segment.rows_independent && laid(segment).structure->kind() == Structure::Kind::chains &&
                        !laid(segment).rectangular;
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t index = reverse ? n - 1 - k : k;
    const Range mine = my_rows(segment, how, me, {0, laid(segment).rows});
    const Index last = stepwise ? order(segment).steps() : 1;
    for (Index s = 0; s < last; ++s) {
      const Index step = reverse ? last - 1 - s : s;
      Range part = mine;
      if (stepwise) {
        const Range range = order(segment).step(step);
        part = {std::max(range.begin, mine.begin), std::min(range.end, mine.end)};
      }
      if (!part.empty()) run_item(index, Work{&me, stepwise ? step : 0, part, by_columns(how)});
    }
    if (how != Division::rows) sync(me);
  }
  sync(me);
}

template <class Do, class Begin>
void Schedule::walk_loop(Member& me, const Segment& segment, Division how, bool reverse, Do&& run_item,
                         Begin&& begin_step) const {
  if (how == Division::alone && me.id() != 0) return sync(me);
  const Index unit = how == Division::units ? units_[static_cast<std::size_t>(&segment - plan_.segments().data())] : 0;
  const auto n = segment.items.size();
  const Index last = order(segment).steps();
  for (Index s = 0; s < last; ++s) {
    const Index step = reverse != segment.descending ? last - 1 - s : s;
    begin_step(step, how);
    const Range mine = my_rows(segment, how, me, order(segment).step(step));
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t index = reverse ? n - 1 - k : k;
      // Maps read only columns of the same units; products read all columns.
      if (unit > 0 && segment.items[index].kind == Item::Kind::affine) sync(me);
      if (!mine.empty()) run_item(index, Work{&me, step, mine, by_columns(how), unit});
      if (how == Division::columns) sync(me);
    }
  }
  sync(me);
}

template <class Do, class Begin>
void Schedule::walk_timed(Member& me, std::size_t segment, Pass pass, Do&& run_item, Begin&& begin_step) {
  using Clock = std::chrono::steady_clock;
  Choice& choice = choices(pass)[segment];
  // A step of a small network takes barely longer than reading the clock.
  const bool timed = choice.candidates.size() > 1;
  const auto start = timed ? Clock::now() : Clock::time_point();
  walk_loop(me, plan_.segments()[segment], choice.now(), pass == Pass::backward, std::forward<Do>(run_item),
            std::forward<Begin>(begin_step));
  if (timed && me.id() == 0 && me.size() == members_)  // with a single thread all divisions are the same
    note(choice, std::chrono::duration<double>(Clock::now() - start).count(), laid(plan_.segments()[segment]).rows);
}

}  // namespace unfold
