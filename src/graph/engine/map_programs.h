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
  bool overlaps = false;  ///< two slots are overlapping slices of one signal, so columns cannot be divided
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
  std::size_t most_slots_ = 0;
};

/// Runs programs over a layout; holds the scratch memory of each thread.
template <class T>
class ProgramRunner {
 public:
  ProgramRunner(int members, std::size_t slots);
  void run(const Program& program, Layout<T>& layout, const Work& work);

 private:
  std::vector<PointwiseScratch<T>> scratch_;
  std::vector<std::vector<Operand<T>>> operands_;
};

}  // namespace unfold
