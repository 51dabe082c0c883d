#pragma once
/// A plan compiled into a list of operations for one position. Addresses, kernels for the instruction set and the
/// division of the work are resolved once, whereas the forward pass resolves them for every item. One thread runs all
/// operations. The sums use the same order as the passes, so the results are bit-identical to those of the unfolding.
/// Internal to engine/.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "graph/engine/pass_base.h"
#include "unfold/base/checks.h"

namespace unfold {

/// Throws UsageError unless all links of a plan look back in time along one chain.
void require_steppable(const Plan& plan);

template <class T>
class StepProgram : private PassBase<T> {
 public:
  /// REQUIRES an unfolding over one chain of one position, with parameters set and only links along `previous` and
  /// `first`.
  explicit StepProgram(Parts<T>& parts);
  StepProgram(const StepProgram&) = delete;  // its steps refer to this object

  void run(State<T>& state);

 private:
  using Step = std::function<void()>;
  using Steps = std::vector<Step>;
  /// The value that a link along `previous` reads and the state carries.
  struct History {
    T* row;
    Index offset, size;  ///< location in the state
    const T* initial;    ///< null: zero
    const T* next;       ///< the value that the state holds after the step
  };

  using PassBase<T>::parts_, PassBase<T>::plan_, PassBase<T>::layout_;
  using PassBase<T>::node, PassBase<T>::term_of, PassBase<T>::parameters, PassBase<T>::operator_rows;
  T* row(int i) { return layout_.address(What::value, i, 0, 0); }
  void find_history();
  void load();
  void store();
  void compile(const Member& me, std::size_t g, std::size_t k);
  void affine(const Member& me, int i);
  Steps terms(const Member& me, int i, const std::vector<const Node::AffineTerm*>& terms);
  Step apply(const Member& me, const Node::AffineTerm& t, Matrix<T> y, const T* start);
  void maps(const Program& program);
  void keep_first(int link);

  /// A symbol that the caller gives before each step.
  struct Read {
    const Symbol* symbol;
    std::uint32_t alphabet;
    int node;
    bool is_valid() const { return static_cast<std::uint32_t>(*symbol) + 1 <= alphabet; }
  };
  void find_reads();
  void check(const State<T>& state) const {
    if (!read_.is_valid()) [[unlikely]]
      refuse(read_);
    if (state.width() != width_ || state.slots() < 1) [[unlikely]]
      refuse(state);
  }
  [[noreturn]] void refuse(const Read& read) const;
  [[noreturn]] void refuse(const State<T>& state) const;

  static constexpr Symbol kNothing = kNoSymbol;  // placeholder for circuits without symbol signals
  Read read_ = {&kNothing, 0, -1};               // the first symbol signal; most circuits have only one
  Index width_;
  Steps steps_;
  std::vector<History> history_;
  std::map<int, std::vector<const Node::AffineTerm*>>
      waiting_;             // terms of affine maps that are still incomplete; used only during compilation
  T* state_row_ = nullptr;  // state row of the current step
  bool begins_ = false;     // whether the current step is the first of its sequence
};

}  // namespace unfold
