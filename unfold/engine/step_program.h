#pragma once
/// A plan at one position as a list of things to do. What the forward pass finds out anew for every item (where numbers
/// are, which kernel of which instruction set, how members divide the work) is settled once; one member does all. The
/// sums are those of the passes in the same order, so the bits are those of the unfolding. Internal to engine/.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "unfold/base/checks.h"
#include "unfold/engine/parts.h"

namespace unfold {

/// Throws UsageError unless all links of a plan look back in time along one chain.
void require_steppable(const Plan& plan);

template <class T>
class StepProgram : private PassOver<T> {
 public:
  /// REQUIRES: laid over one chain of one position, parameters set, links along `previous` and `first` alone.
  explicit StepProgram(Parts<T>& parts);
  StepProgram(const StepProgram&) = delete;  // its steps refer to it

  void run(State<T>& state);

 private:
  using Step = std::function<void()>;
  using Steps = std::vector<Step>;
  /// What a link along `previous` reads, and the state carries.
  struct History {
    T* row;
    Index offset, size;  ///< in the state
    const T* initial;    ///< null: zero
    const T* next;       ///< what the state holds after the step
  };

  using PassOver<T>::parts_, PassOver<T>::plan_, PassOver<T>::layout_;
  using PassOver<T>::node, PassOver<T>::term_of, PassOver<T>::parameters, PassOver<T>::operator_rows;
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

  static constexpr Symbol kNothing = kNoSymbol;  // is read where a circuit reads no symbols
  Read read_ = {&kNothing, 0, -1};               // the first one: most circuits have no other
  Index width_;
  Steps steps_;
  std::vector<History> history_;
  std::map<int, std::vector<const Node::AffineTerm*>> waiting_;  // of affine maps that are not whole, while compiling
  T* state_row_ = nullptr;                                       // of the step that runs
  bool begins_ = false;                                          // it is the first of its sequence
};

}  // namespace unfold
