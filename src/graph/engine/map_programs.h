#pragma once
/// Sequences of element-wise maps, compiled into programs for values, adjoints (linear and squared) and tangents.
/// Internal to engine/.

#include <vector>

#include "graph/engine/work.h"
#include "unfold/graph/engine/layout.h"
#include "unfold/numerics/pointwise.h"

namespace unfold {

/// A compiled sequence of maps, with the signal that each of its slots refers to.
struct Program {
  struct Slot {
    What what;
    int node;
  };
  std::vector<Instruction> instructions;
  std::vector<Slot> slots;
  std::size_t number = 0;  ///< among all programs of a plan
  bool overlaps = false;   ///< two slots are overlapping slices of one signal, so columns cannot be divided
};

/// The programs of all items of a plan; empty for items that are not maps.
class Programs {
 public:
  explicit Programs(const Plan& plan);

  const Program& forward(std::size_t segment, std::size_t item) const { return forward_[segment][item]; }
  const Program& backward(std::size_t segment, std::size_t item, bool squared) const {
    return (squared ? squared_ : backward_)[segment][item];
  }
  const Program& tangent(std::size_t segment, std::size_t item) const { return tangent_[segment][item]; }
  std::size_t most_slots() const { return most_slots_; }
  std::size_t count() const { return count_; }

 private:
  using Set = std::vector<std::vector<Program>>;  // programs by segment and item
  const Node& node(int i) const { return plan_.nodes()[static_cast<std::size_t>(i)]; }
  Program forward_program(const Item& item) const;
  Program backward_program(const Item& item, Rule rule) const;
  Program tangent_program(const Item& item) const;
  bool share_memory(const Program::Slot& a, const Program::Slot& b) const;
  bool overlap(const Program::Slot& a, const Program::Slot& b) const;

  const Plan& plan_;
  Set forward_, backward_, squared_, tangent_;
  std::size_t most_slots_ = 0, count_ = 0;
};

/// The addresses of the rows of a signal in one pass.
template <class T>
struct Track {
  T* base = nullptr;  ///< nullptr for scratch
  Index stride = 0;
  Index ring = 0, places = 0, shift = 0;  ///< number of steps of a ring, or 0; its rows per step; its shift
  bool general = false;                   ///< the rows do not lie at equal distances; only Layout knows them

  /// Returns the address of column 0 at `row` of `step`.
  T* at(Index step, Index row) const {
    if (ring == 0) return base + row * stride;
    const Index from = step - shift + ring, slot = ring <= 2 ? from & (ring - 1) : from % ring;
    return base + (slot * places + row - step * places) * stride;
  }
};

/// Runs programs over a layout; holds the scratch memory of each thread.
template <class T>
class ProgramRunner {
 public:
  /// Keeps a reference to the plan.
  ProgramRunner(int members, const Plan& plan, const Programs& programs);
  /// Called by one thread before each pass: rows may have moved since the last pass.
  void begin_pass() { ++pass_; }
  void run(const Program& program, Layout<T>& layout, const Work& work);

 private:
  /// The rows of the slots of a program.
  struct Bound {
    Index pass = -1;
    std::vector<Track<T>> slots;
  };
  struct OfMember {
    PointwiseScratch<T> scratch;
    std::vector<Operand<T>> operands;
    std::vector<Bound> bound;  // for each program
  };
  Track<T> track(Layout<T>& layout, const Program::Slot& slot) const;

  const Plan& plan_;
  Index pass_ = 0;
  std::vector<OfMember> members_;
};

}  // namespace unfold
