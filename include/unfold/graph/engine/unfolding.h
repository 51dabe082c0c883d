#pragma once
/// An unfolding: a plan applied to a structure, together with its memory. All computations with a circuit are passes
/// over an unfolding.
///
///   auto plan = std::make_shared<const Plan>(circuit);
///   Unfolding<float> u(plan, team);
///   u.lay(Structure::chains(32, 64));          // 32 sequences of 64 positions
///   u.set_parameters(parameters);              // packs the weights; call once per update
///   ... fill u.symbols(x) or u.input(x) ...
///   u.forward(&state);                         // activations; the state carries over to the next window
///   ... read u.value(logits), write u.adjoint(logits) ...
///   u.backward(gradient);                      // gradient = J^T adjoint
///
/// Shapes: signals are [positions x size], rows in the structure's main order (see structure.h). Invariant 2: the
/// results for a sequence are bit-identical whether it is processed alone, in any batch, on any number of threads or by
/// the stepper. The unfolding owns its memory and reuses it between calls; after `lay`, no pass allocates. It can also
/// work directly on memory owned by the caller, such as the tensors of another library, without copies (see "Memory
/// owned by the caller"). Not thread-safe; the passes run on the given team.

#include <functional>
#include <memory>
#include <string>

#include "unfold/base/checks.h"
#include "unfold/base/threads/team.h"
#include "unfold/graph/circuit/parameters.h"
#include "unfold/graph/plan/plan.h"
#include "unfold/graph/structure/structure.h"
#include "unfold/numerics/product.h"

namespace unfold {

class Account;
class Offload;
template <class T>
class StoredActivations;
template <class T>
class Resident;

/// The values that links along `previous` carry from one window to the next: one slot per stream.
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

  /// Return the raw contents, for checkpoints: the values, and one byte per slot that indicates whether the slot is
  /// fresh.
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

/// The local rules of a backward pass: the transposed Jacobian, or the Jacobian with every entry squared (the modulus
/// pass).
enum class Algebra { linear, squared };

/// Callback after each segment of a backward pass, run by the first thread: the gradients of the affine maps whose last
/// segment this was (Plan::last_segment) are complete. Called once before the pass with the number of segments.
using SegmentDone = std::function<void(int segment)>;

struct BackwardOptions {
  Algebra algebra = Algebra::linear;
  bool accumulate = false;  ///< add to the gradient instead of setting it
  bool weights = true;  ///< false: computes only adjoints and the gradients of trained initial values; the rest of the
                        ///< gradient is left unchanged
  bool keep_gradient_on_device = false;  ///< with `resident`: the gradient is not copied to the host
  /// If this is set, weight gradients are computed segment by segment instead of all at the end. The results are
  /// bit-identical.
  const SegmentDone* done = nullptr;
};

template <class T>
class Unfolding {
 public:
  /// `precision`: the precision of the products in forward, backward and tangent passes. bf16 requires T = float
  /// (UsageError otherwise) and hardware support; without hardware support products are exact. `offload`: where passes
  /// run instead of on the team (a GPU), with its own precision; if it is null, they run on the team. With an offload,
  /// `step`, windows divided into pieces, `affine_adjoint` and the functions below it are not available, and results
  /// are not bit-identical to those of the team.
  Unfolding(std::shared_ptr<const Plan> plan, Team& team, Precision precision = Precision::exact,
            std::shared_ptr<const Offload> offload = nullptr);
  ~Unfolding();
  Unfolding(Unfolding&&) noexcept;

  const Plan& plan() const;
  const Structure& structure() const;

  /// Applies the plan to a structure. Chains read and write the given state slots (default: slot i for sequence i).
  /// Cheap if the structure equals the current one.
  void lay(const Structure& structure, std::span<const Index> slots = {});
  /// Must be called after every change of the parameters; the next pass packs them. Keeps a reference: the parameters
  /// must stay alive and unchanged until the next call.
  void set_parameters(const Parameters<T>& parameters);
  void set_parameters(Parameters<T>&&) = delete;
  /// Enables dropout with a seed; dropout is off (evaluation) until this is called. The mask of a position is a
  /// function of (seed, state slot, position), where positions are counted from `first_position` (for a piece of a
  /// longer window).
  void set_dropout_seed(std::uint64_t seed, Index first_position = 0);
  void disable_dropout();

  Matrix<T> input(Signal signal);            ///< filled by the caller, [positions x size]
  std::span<Symbol> symbols(Signal signal);  ///< filled by the caller; kNoSymbol adds nothing

  /// Forward pass. With a state, sequences start from their slots and store their last values there. `source_stays`:
  /// deeper parts keep the values of the previous pass (REQUIRES: the same source and the same parameters). This allows
  /// a decoder to be stepped over encoder values that are computed once.
  void forward(State<T>* state = nullptr, bool source_stays = false);
  /// Like `forward`, but for steppers: runs over one chain of one position. Setup is done once and stays valid until
  /// the parameters change. REQUIRES: only links along `previous` and `first`, no dropout.
  void step(State<T>& state);
  Matrix<const T> value(Signal signal) const;  ///< of an output or input; UsageError for others that are not kept
  /// `keep` stores the values of the last forward pass, rounded (stored_activations.h). `recall` restores them for
  /// `backward` after other passes. `recall` REQUIRES the structure, state and dropout seed of that pass; the caller
  /// must supply its inputs again. Not available with an offload.
  void keep(StoredActivations<T>& into) const;
  void recall(const StoredActivations<T>& from, const State<T>* state = nullptr);

  /// Returns the seed of the backward pass. REQUIRES: the caller fills the adjoint of every output before `backward`.
  Matrix<T> adjoint(Signal output);
  void clear_adjoints();  ///< sets the seeds of all outputs to zero
  /// With an offload, computes the negative log-probabilities of symbols (0 for kNoSymbol) under the softmax of an
  /// output's rows; with `seed`, sets the output's adjoint to scale * d nats / d output. Without an offload, or for
  /// symbols out of range, does nothing and returns false.
  bool softmax(Signal output, std::span<const Symbol> targets, T scale, bool seed, T* nats);
  /// Returns the object that takes optimizer steps on the parameters of the last pass; null if steps run on the host.
  Resident<T>* resident();
  /// Backward pass: gradient [parameters] = sum over positions of (d outputs / d parameters)^T adjoint. `end`: adjoints
  /// of the state that `forward` stored (from a later window). `start`: receives the adjoints of the state that
  /// `forward` started from (zero for fresh slots, whose adjoints are added to the gradient of the trained initial
  /// values). Throws UsageError for squared rules of an operator that does not support them, and for attention where
  /// sequences share a source.
  void backward(std::span<T> gradient, const BackwardOptions& options = {}, const State<T>* end = nullptr,
                State<T>* start = nullptr);
  /// After `backward`: returns the adjoint (or modulus) of an affine pre-activation, for the metrics of
  /// optim/riemannian/.
  Matrix<const T> affine_adjoint(Signal affine) const;
  /// Returns the row of a term's source (a node of the plan) for a row of a step; for a link, the row of its
  /// predecessor.
  const T* source_row(int node, Index step, Index row) const;
  /// Returns the data that a term with an operator reads at a row of an affine map, without scratch memory. REQUIRES:
  /// the values of the source are kept.
  OperatorRows<T> rows_read(const Node& affine, const Node::AffineTerm& term, Index step, Index row) const;
  std::span<const Symbol> symbols_read(int node) const;  ///< symbols read by a term source or gate
  /// After `backward`: sets the block of every trained initial value to the sum of the squared adjoint over the
  /// sequences that start from it.
  void squares_at_starts(std::span<T> result) const;

  /// Tangent pass: computes the derivative of every output in the parameter direction [parameters]. Inputs and carried
  /// state are held fixed. REQUIRES `forward`.
  void tangent(std::span<const T> direction);
  Matrix<const T> tangent_of(Signal output) const;

  // --- Derivatives with respect to inputs. REQUIRES PlanOptions::input_derivatives.
  Matrix<const T> input_adjoint(Signal input) const;  ///< after `backward`
  Matrix<T> input_tangent(Signal input);              ///< filled by the caller before `tangent`
  /// Like `tangent`, but the direction also includes the carried state (held fixed if `state` is null) and the inputs
  /// (`input_tangent`). `end` receives the tangents of the state that `forward` stored.
  void tangent(std::span<const T> direction, const State<T>* state, State<T>* end);

  // --- Memory owned by the caller, on the host. Calling `lay` with a different structure ends all bindings except
  // those of weights. Throws UsageError with an offload.
  /// Reads an input from, or writes an output to, the given rows. Returns false if the signal shares its memory with
  /// other signals or if links read it; the caller must then copy the rows.
  bool bind_value(Signal signal, Matrix<T> rows);
  /// Reads the seed of an output from, or writes the adjoint of an input to, the given rows. Returns false like
  /// bind_value.
  bool bind_adjoint(Signal signal, Matrix<T> rows);
  /// Reads the weights of dense terms from output-major memory [outputs x inputs], and writes their gradients to
  /// `gradient` instead of the gradient vector (if its data is null, to the vector). Call `set_parameters` after every
  /// change. Throws UsageError if no product reads the parameter.
  void bind_weights(int parameter, Matrix<const T> weights, Matrix<T> gradient);
  /// Sets the values of a link along `next` beyond the last position, one row per sequence, which replace the initial
  /// value (null: the initial value is used). `backward` sets `adjoints`; `tangent` reads `tangents` (null: zero).
  /// REQUIRES: one step.
  void bind_end(Signal link, Matrix<const T> values, Matrix<T> adjoints, Matrix<const T> tangents);
  /// If on, all values that are not bound are in one block owned by the caller, of at least `outside_numbers` elements.
  /// Bind it after `lay` and after the values. A block keeps the values of one forward pass: passes over other blocks
  /// may follow, and `backward` works after the block and the values are bound again and `resume` is called.
  void keep_values_outside(bool on);
  Index outside_numbers() const;
  void bind_outside(std::span<T> block);
  /// Continues from bound values of an earlier forward pass over this structure with these parameters. `state` is the
  /// state given to that forward pass; only which slots are fresh is read.
  void resume(const State<T>* state = nullptr);

  /// Records the time of the following passes; nullptr stops recording. The account must have an entry for every thread
  /// of the team.
  void set_account(Account* account);

  /// Returns whether tuning is complete: every loop has tried all ways to divide its work for the current number of
  /// sequences. Benchmarks wait for this.
  bool settled() const;

  std::size_t memory_bytes() const;
  /// Returns the first signal and position whose value is not finite, in plan order, for example "cell at position 17
  /// of sequence 3"; empty if all values are finite.
  std::string first_non_finite() const;

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

/// Gauss-Newton product: result = J^T H J direction. `curvature(u)` multiplies the tangents of the outputs by the loss
/// Hessian: it reads u.value and u.tangent_of and writes u.adjoint for every output. REQUIRES forward.
template <class T, class Curvature>
void gauss_newton(Unfolding<T>& u, std::span<const T> direction, Curvature&& curvature, std::span<T> result) {
  u.tangent(direction);
  curvature(u);
  u.backward(result);
}

}  // namespace unfold
