#pragma once
/// An unfolding: a plan laid over a structure, with its memory. Everything that is done with a circuit is a pass over
/// it.
///
///   auto plan = std::make_shared<const Plan>(circuit);
///   Unfolding<float> u(plan, team);
///   u.lay(Structure::chains(32, 64));          // 32 sequences of 64 positions
///   u.set_parameters(parameters);              // packs the weights: once per update
///   ... fill u.symbols(x) or u.input(x) ...
///   u.forward(&state);                         // activities; state carries over to the next window
///   ... read u.value(logits), write u.adjoint(logits) ...
///   u.backward(gradient);                      // gradient = J^T adjoint
///
/// Shapes: signals are [positions x size], rows in the structure's main order (see structure.h).
/// Law 2: the row of a sequence has the same bits alone, in any batch, on any number of threads, in the stepper.
/// Memory belongs to the unfolding and is reused between calls: after `lay` no pass allocates.
/// Not thread-safe; the passes use the team given.
/// Errors: UsageError for a signal of another circuit, a symbol outside its alphabet, a vector of the wrong length, a
/// state of another plan, and for calls out of order: everything needs `lay` first, `forward` needs the parameters,
/// `backward` and `tangent` need `forward` since the last `lay` or `set_parameters`.

#include <functional>
#include <memory>
#include <string>

#include "unfold/base/checks.h"
#include "unfold/base/team.h"
#include "unfold/circuit/parameters.h"
#include "unfold/engine/plan.h"
#include "unfold/engine/structure.h"
#include "unfold/numerics/product.h"

namespace unfold {

class Account;
class Offload;
template <class T>
class KeptValues;
template <class T>
class Resident;

/// What links along `previous` carry from one window to the next: one slot per stream.
template <class T>
class State {
 public:
  State() = default;
  State(const Plan& plan, Index slots);
  Index slots() const { return slots_; }
  void reset(Index slot) { fresh_[checked(slot)] = 1; }  ///< the next window starts at the initial values
  void reset_all() { fresh_.assign(fresh_.size(), 1); }
  bool fresh(Index slot) const { return fresh_[checked(slot)] != 0; }
  void copy_slot(const State& from, Index from_slot, Index to_slot);

  /// Raw contents, for checkpoints: values, then one byte per slot that says whether it is fresh.
  std::span<T> values() { return values_.span(); }
  std::span<const T> values() const { return values_.span(); }
  std::span<char> fresh_flags() { return fresh_; }
  std::span<const char> fresh_flags() const { return fresh_; }
  Index width() const { return width_; }
  T* row(Index slot) { return values_.data() + static_cast<Index>(checked(slot)) * width_; }
  const T* row(Index slot) const { return values_.data() + static_cast<Index>(checked(slot)) * width_; }
  void mark_carried(Index slot) { fresh_[checked(slot)] = 0; }

 private:
  std::size_t checked(Index slot) const {
    require_index("state: slot", slot, slots_);
    return static_cast<std::size_t>(slot);
  }

  Index slots_ = 0, width_ = 0;
  Buffer<T> values_;
  std::vector<char> fresh_;
};

/// Which local rules a backward pass uses: the transposed Jacobian, or every entry of it squared (the modulus pass).
enum class Algebra { linear, squared };

/// Called by the first member of the team when a backward pass has done a segment: the gradients of the affine maps
/// that it is the last segment of (Plan::last_segment) are complete. Once before, with the number of segments.
using SegmentDone = std::function<void(int segment)>;

struct BackwardOptions {
  Algebra algebra = Algebra::linear;
  bool accumulate = false;      ///< add to the gradient instead of setting it
  bool weights = true;          ///< false: adjoints and trained starts only, the rest of the gradient is left alone
  bool gradient_stays = false;  ///< with `resident`: it is not brought home
  const SegmentDone* done = nullptr;  ///< weight gradients segment by segment, not all in the end; the same bits
};

template <class T>
class Unfolding {
 public:
  /// `precision`: of the products of forward, backward and tangent; bf16 is for float (UsageError) and only where the
  /// processor has it: elsewhere products are exact. `offload`: where passes run instead of on the team (backend.h), in
  /// a precision of its own; null: on the team. Then `step`, pieces of windows, what `affine_adjoint` and the functions
  /// below it see, and law 2 are the host's alone.
  Unfolding(std::shared_ptr<const Plan> plan, Team& team, Precision precision = Precision::exact,
            std::shared_ptr<const Offload> offload = nullptr);
  ~Unfolding();
  Unfolding(Unfolding&&) noexcept;

  const Plan& plan() const;
  const Structure& structure() const;

  /// Lays the plan over a structure. Chains read and write the state slots given, each its own (default: slot i for
  /// sequence i).
  /// Cheap when the structure equals the current one.
  void lay(const Structure& structure, std::span<const Index> slots = {});
  /// To be called after every change of the parameters: they are packed at the next pass. Keeps a reference: the
  /// parameters must live, unchanged, until the next call.
  void set_parameters(const Parameters<T>& parameters);
  void set_parameters(Parameters<T>&&) = delete;
  /// Seeds dropout; rate 0 (evaluation) unless called. The mask of a position is a function of (seed, state slot,
  /// position), positions counted from `first_position` (of a piece of a longer window).
  void set_dropout_seed(std::uint64_t seed, Index first_position = 0);
  void disable_dropout();

  Matrix<T> input(Signal signal);            ///< to be filled by the caller, [positions x size]
  std::span<Symbol> symbols(Signal signal);  ///< to be filled by the caller; kNoSymbol adds nothing

  /// Forward pass. With a state: sequences start from their slots and leave their last values there. `source_stays`:
  /// deeper parts keep the values of the pass before (REQUIRES: over the same source, with the same parameters): a
  /// decoder is stepped this way over what its encoder found once.
  void forward(State<T>* state = nullptr, bool source_stays = false);
  /// The same for steppers, over one chain of one position: what the pass finds out anew each time is settled at the
  /// first of many steps with the same parameters. REQUIRES: links along `previous` and `first` alone, no dropout.
  void step(State<T>& state);
  Matrix<const T> value(Signal signal) const;  ///< of an output (or an input)
  /// Puts away the values of the last forward pass, rounded (kept_values.h); and has them back for `backward`, after
  /// other passes. REQUIRES then: the structure, state and dropout seed of that pass, and its inputs given anew. On the
  /// team alone.
  void keep(KeptValues<T>& into) const;
  void recall(const KeptValues<T>& from, const State<T>* state = nullptr);

  /// The seed of the backward pass: REQUIRES every output's adjoint to be filled by the caller before `backward`.
  Matrix<T> adjoint(Signal output);
  void clear_adjoints();  ///< zeroes the seeds of all outputs
  /// Minus the logarithms of the probabilities of symbols (kNoSymbol: 0), the softmax of an output's rows, where passes
  /// run elsewhere; with `seed` its adjoint becomes scale * d nats / d output. False, and nothing done: on the team, or
  /// for symbols that are not there.
  bool softmax(Signal output, std::span<const Symbol> targets, T scale, bool seed, T* nats);
  /// Where an optimiser may step with the parameters of the last pass; null: on the host alone.
  Resident<T>* resident();
  /// Backward pass: gradient [parameters] = sum over positions of (d outputs / d parameters)^T adjoint.
  /// `end`: adjoints of the state left behind by `forward` (from a later window); `start`: receives those of the state
  /// that `forward` started from (zero for fresh slots, whose share goes to the trained initial values). Throws
  /// UsageError: squared rules of an operator that has none; attention where sequences share a source.
  void backward(std::span<T> gradient, const BackwardOptions& options = {}, const State<T>* end = nullptr,
                State<T>* start = nullptr);
  /// After `backward`: the adjoint (or modulus) at every affine pre-activation, for the metrics of training/.
  Matrix<const T> affine_adjoint(Signal affine) const;
  /// The row of a term's source, of the plan's nodes, at a row of a step (its predecessor's row for a link).
  const T* source_row(int node, Index step, Index row) const;
  /// What a term with an operator reads at a row of an affine map, without a scratch. REQUIRES: its source is kept.
  OperatorRows<T> rows_read(const Node& affine, const Node::AffineTerm& term, Index step, Index row) const;
  std::span<const Symbol> symbols_read(int node) const;  ///< by term sources and gates that are symbols
  /// After `backward`: sets the block of every trained start to the sum over its sequences of the squared adjoint.
  void squares_at_starts(std::span<T> result) const;

  /// Tangent pass: the derivative of every output in the parameter direction [parameters]; inputs and carried state
  /// held fixed. REQUIRES forward.
  void tangent(std::span<const T> direction);
  Matrix<const T> tangent_of(Signal output) const;

  /// Notes from now on where the time goes; nullptr ends it. The account must have a place for every member.
  void set_account(Account* account);

  /// Whether every loop, over as many sequences as now, has tried the ways to divide it: what measures speed waits for
  /// it.
  bool settled() const;

  std::size_t memory_bytes() const;
  /// The first signal and position whose value is not finite, in plan order: "cell at position 17 of sequence 3"; empty
  /// if none.
  std::string first_non_finite() const;

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

/// Gauss-Newton product: result = J^T H J direction, where `curvature(rows...)` multiplies tangents of the outputs by
/// the loss Hessian: it reads u.value and u.tangent_of and writes u.adjoint for every output. REQUIRES forward.
template <class T, class Curvature>
void gauss_newton(Unfolding<T>& u, std::span<const T> direction, Curvature&& curvature, std::span<T> result) {
  u.tangent(direction);
  curvature(u);
  u.backward(result);
}

}  // namespace unfold
