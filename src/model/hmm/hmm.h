#pragma once
/// Hidden Markov models (HMMs): a chain of hidden states s_1, s_2, ..., each of which emits one symbol.
///
///   pi(i) = p(s_1 = i),  a(i,j) = p(s_{t+1} = j | s_t = i),  b(j,x) = p(x_t = x | s_t = j)
///
/// The scaled forward algorithm, which never forms powers of small numbers (Rabiner 1989):
///   c_t = sum_j f_t(j) b(j,x_t),   f_1 = pi,   f_{t+1}(j) = sum_i f_t(i) b(i,x_t)/c_t a(i,j)
///   log p(x) = sum_t log c_t
/// f_t is the distribution of the state at t given the symbols before t, so c_t is the probability of the next symbol.
/// A symbol that no state can emit has infinite surprisal; the chain then continues as if it had not been observed.
///
/// Fitting is expectation maximization (Baum-Welch) over all sequences:
///   a(i,j) ~ expected number of steps i -> j,   b(j,x) ~ expected number of x in j + add,   pi(i) ~ expected starts in
///   i
/// It finds a local optimum near its initial parameters, so fitting begins with `starts` different initializations
/// (hmm_starts.h). Each of them runs for 20 iterations on a sample of the data, the best third for 60 more iterations,
/// and the best `restarts` of these on all data until convergence; the best result is kept. With add = 0 the likelihood
/// never decreases; with add > 0 this holds for the posterior under a Dirichlet prior. A state whose expected count is
/// 0 keeps its transitions and may be used again later.
///
/// An HMM is equivalent to a network with symbol-dependent linear transitions and a linear output: see set_hmm below.

#include "unfold/base/options/options.h"
#include "unfold/graph/circuit/parameters.h"
#include "unfold/model/symbol_model.h"

namespace unfold {

/// Parameters of an HMM, row-major; every row sums to 1.
struct HmmParameters {
  Index states = 0, alphabet = 0;
  std::vector<double> initial, transitions, emissions;  ///< [N], [N x N], [N x V]

  HmmParameters() = default;
  HmmParameters(Index states, Index alphabet);  ///< all distributions uniform
  /// Returns uniform distributions with every entry multiplied by a random factor between 1/2 and 3/2 before
  /// normalization.
  static HmmParameters random(Index states, Index alphabet, std::uint64_t seed, Index number);
};

/// State that is reused between steps of expectation maximization: how many symbols the chain remembers, and the
/// workspace of each thread of the team. It does not change results beyond rounding.
struct HmmMemory {
  Index warm_up = 128;
  std::vector<Buffer<double>> histories = {};
  const std::atomic<bool>* stop = nullptr;  ///< polled regularly; if set, InterruptedError is thrown
};

/// Makes one step of expectation maximization over the sequences of a part. Returns the objective at the parameters
/// passed in: log likelihood plus add * sum of log b. Threads share the work (forward_backward_lanes.h); the result
/// does not depend on their number. `memory` can be passed from one step to the next.
double reestimate(HmmParameters& hmm, const Corpus& corpus, const Split& part, double add, Team& team,
                  HmmMemory* memory = nullptr);

/// Returns log p(x) of a sequence.
double log_likelihood(const HmmParameters& hmm, std::span<const Symbol> symbols);
/// Returns the most probable sequence of states; ties are resolved in favor of the sequence that ends in the smallest
/// states (Viterbi 1967).
std::vector<Index> most_probable_states(const HmmParameters& hmm, std::span<const Symbol> symbols);
/// Returns p(s_t = j | x), [symbols x states], by the forward-backward algorithm.
std::vector<double> state_posteriors(const HmmParameters& hmm, std::span<const Symbol> symbols);

/// Converts an HMM to a gated network of linear units with a linear output, `linear-gnn` (graph/cells/linear_gnn.cpp;
/// section 1.2.2 of Ollivier's "Riemannian metrics for recurrent networks"):
///   V_i = sum_j tau_{j i x} a_j,  tau_{j i x} = b(j,x) a(j,i),  a_j = V_j / sum_k V_k,  p(x) ~ sum_j a_j b(j,x)
/// Sets the parameters of a network with as many units as states and the same alphabet. Throws UsageError if the sizes
/// differ, or if a state cannot emit some symbol, because the logarithm of 0 has no gradient.
void set_hmm(const HmmParameters& hmm, Parameters<double>& network);
/// The inverse conversion, possible if no weight is negative and, for each symbol x, the weights have the form above up
/// to a factor that depends on x, within `tolerance`. Units may be scaled: a unit with n times the activation and 1/n
/// times the weights is the same state. Throws a ModelError that names the violated condition.
HmmParameters hmm_of(const Parameters<double>& network, double tolerance = 1e-9);

/// How the parameters are initialized: HmmStarts, or HmmParameters::random.
enum class HmmStart { spread, uniform };

struct HmmOptions {
  Index states = 10;
  HmmStart start = HmmStart::spread;
  Index starts = 42;
  Index restarts = 4;
  Index iterations = 500;
  double tolerance = 1e-6;
  double add = 0.01;
};
template <class Visitor>
void describe(Visitor& v, HmmOptions& o) {
  v("states", o.states, "hidden states", range(1, 4096));
  v("start", o.start, "initialization: clusters of windows and of symbols and random states, or nearly uniform",
    {{HmmStart::spread, "spread"}, {HmmStart::uniform, "uniform"}});
  v("starts", o.starts, "start=spread: number of initializations that run for a few iterations on a sample",
    range(1, 10000));
  v("restarts", o.restarts, "number of initializations that are fitted completely, of which the best is kept",
    range(1, 10000));
  v("iterations", o.iterations, "maximum number of EM iterations per initialization", range(1, 1e6));
  v("tolerance", o.tolerance, "stops when an iteration improves by fewer nats per symbol, and by less than before",
    at_least(0));
  v("add", o.add, "added to the expected count of every symbol in every state", at_least(0));
}

class HmmModel final : public FittedModel {
 public:
  static constexpr const char *kName = "hmm", *kHelp = "hidden Markov model, fitted by Baum-Welch";
  static std::string canonical(std::string_view spec);
  static std::vector<OptionHelp> options();
  HmmModel(std::string_view spec, const Alphabet& alphabet);
  HmmModel(HmmParameters hmm, const Alphabet& alphabet);
  explicit HmmModel(const ModelFile& file);

  std::string spec_text() const override;
  nlohmann::json fit(const TrainingData& data, const FitOptions& options, Team& team) override;
  const HmmParameters& parameters() const { return hmm_; }

 protected:
  std::unique_ptr<Predictor> make_predictor() const override;
  std::string kind() const override { return kName; }
  void add_tensors(SafetensorsWriter& writer) const override;

 private:
  HmmOptions options_;
  HmmParameters hmm_;
};

}  // namespace unfold
