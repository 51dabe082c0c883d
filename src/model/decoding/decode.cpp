#include "model/decoding/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <queue>
#include <unordered_map>

#include "model/decoding/length_factor.h"
#include "model/decoding/predictor_tree.h"
#include "model/markov.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr double kNoScore = -std::numeric_limits<double>::infinity();
constexpr Index kMostLength = 10'000;
/// Maximum number of open prefixes; each takes about 100 bytes.
constexpr std::size_t kMostOpen = 4'000'000;

/// A prefix: its last symbol and its parent.
struct Beginning {
  std::shared_ptr<const Beginning> before = nullptr;
  Symbol symbol = kNoSymbol;
  float log_p = 0;
  double total = 0;  // log p of all its symbols
  Index state = 0, length = 0;
  mutable PredictorTree::Pointer node = nullptr;  // created on demand
};

using BeginningPointer = std::shared_ptr<const Beginning>;

/// The state shared by the search algorithms: the model, the automaton, bounds on completions, and the results so far.
class Search {
 public:
  Search(Predictor& predictor, const Automaton& allowed, const DecodeOptions& options)
      : allowed_(allowed), options_(options), predictors_(primed(predictor, options.prime)) {
    root_ = std::make_shared<const Beginning>(Beginning{.state = allowed.start(), .node = predictors_.root()});
    find_factors();
    bound_completions();
  }

  const DecodeOptions& options() const { return options_; }
  const BeginningPointer& root() const { return root_; }
  Index expanded() const { return expanded_; }

  /// Returns the predictor after a prefix, valid until the next call.
  Predictor& predictor_of(const Beginning& b) { return predictors_.after(node_of(b)); }
  /// Releases the predictor of a prefix that will not be extended again.
  void forget(const BeginningPointer& b) {
    if (b != root_) PredictorTree::forget(node_of(*b));
  }

  /// Calls use(child) for every extension by one symbol that is allowed or can still be completed within the limit.
  template <class Use>
  void expand(const BeginningPointer& from, const Use& use) {
    ++expanded_;
    const std::span<const float> logs = predictor_of(*from).log_probabilities();
    for (std::size_t x = 0; x < logs.size(); ++x) {
      const auto symbol = static_cast<Symbol>(x);
      const Index state = allowed_.next(from->state, symbol);
      if (state == Automaton::kDead || !(logs[x] > -std::numeric_limits<float>::infinity())) continue;
      if (allowed_.least(state) > options_.length - from->length - 1) continue;
      Beginning child{.before = from,
                      .symbol = symbol,
                      .log_p = logs[x],
                      .total = from->total + std::min(0.0, static_cast<double>(logs[x])),
                      .state = state,
                      .length = from->length + 1};
      use(std::move(child));
    }
  }

  bool is_allowed(const Beginning& b) const { return allowed_.accepts(b.state); }
  double score(const Beginning& b) const { return b.total * factor_[at(b.length)]; }
  /// Returns an upper bound on the score of all extensions of a prefix; -inf if it cannot be extended.
  double bound(const Beginning& b) const {
    const Index left = options_.length - b.length;
    const Index more = std::min(left, allowed_.most(b.state));
    if (more == 0) return kNoScore;
    const double rest = rest_.empty() ? 0 : rest_[at(left * allowed_.states() + b.state)];
    return (b.total + rest) * factor_[at(b.length + more)];
  }

  /// Returns the score that a further result must exceed.
  double worst() const { return static_cast<Index>(found_.size()) < options_.count ? kNoScore : found_.back().score; }

  /// Returns the results; those that no other sequence can beat are marked as proved.
  Decoded take(double best_of_others) {
    for (FoundSequence& each : found_) each.proved = each.score >= best_of_others;
    return {.found = std::move(found_), .expanded = expanded_};
  }

  /// Adds an allowed prefix to the results, unless it is already among them.
  void answer(const Beginning& b) {
    if (score(b) < worst()) return;
    FoundSequence found{.symbols = std::vector<Symbol>(at(b.length)),
                        .log_probabilities = std::vector<float>(at(b.length)),
                        .log_probability = b.total,
                        .score = score(b)};
    for (const Beginning* each = &b; each->length > 0; each = each->before.get()) {
      found.symbols[at(each->length - 1)] = each->symbol;
      found.log_probabilities[at(each->length - 1)] = each->log_p;
    }
    const auto before = [](const FoundSequence& a, const FoundSequence& c) {
      return a.score != c.score ? a.score > c.score : a.symbols < c.symbols;
    };
    const auto place = std::lower_bound(found_.begin(), found_.end(), found, before);
    if (place != found_.end() && place->symbols == found.symbols) return;
    found_.insert(place, std::move(found));
    if (static_cast<Index>(found_.size()) > options_.count) found_.pop_back();
  }

 private:
  static std::unique_ptr<Predictor> primed(Predictor& predictor, const std::vector<Symbol>& prime) {
    predictor.reset();
    for (const Symbol symbol : prime) predictor.observe(symbol);
    return predictor.clone();
  }

  static const PredictorTree::Pointer& node_of(const Beginning& b) {
    if (b.node == nullptr) b.node = PredictorTree::child(node_of(*b.before), b.symbol);
    return b.node;
  }

  void find_factors() {
    factor_.reserve(at(options_.length) + 1);
    for (Index n = 0; n <= options_.length; ++n) factor_.push_back(length_factor(n, options_.normalization));
  }

  /// rest_[left][state]: the maximum sum of symbol bounds along an allowed path of at most `left` symbols.
  void bound_completions() {
    const std::vector<double>& bounds = options_.symbol_bounds;
    if (bounds.empty()) return;
    const Index states = allowed_.states();
    std::vector<double> of_column(at(allowed_.width()), kNoScore);
    for (std::size_t x = 0; x < bounds.size(); ++x) {
      double& most = of_column[at(allowed_.column(static_cast<Symbol>(x)))];
      most = std::max(most, bounds[x]);
    }
    rest_.assign(at((options_.length + 1) * states), kNoScore);
    for (Index left = 0; left <= options_.length; ++left)
      for (Index s = 0; s < states; ++s) {
        double& most = rest_[at(left * states + s)];
        if (allowed_.accepts(s)) most = 0;
        for (Index c = 0; c < allowed_.width() && left > 0; ++c)
          if (const Index to = allowed_.next_in_column(s, c); to != Automaton::kDead)
            most = std::max(most, of_column[at(c)] + rest_[at((left - 1) * states + to)]);
      }
  }

  const Automaton& allowed_;
  const DecodeOptions& options_;
  PredictorTree predictors_;
  BeginningPointer root_;
  std::vector<double> factor_, rest_;
  std::vector<FoundSequence> found_;
  Index expanded_ = 0;
};

/// Beam search in groups.
class BeamSearch {
 public:
  explicit BeamSearch(Search& search) : search_(search), groups_(at(search.options().groups), {search.root()}) {}

  /// Returns the best score that any dropped prefix could have reached.
  double run() {
    for (Index length = 1; length <= search_.options().length; ++length) {
      chosen_.clear();
      bool grows = false;
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        step(g);
        grows = grows || !groups_[g].empty();
      }
      if (!grows) break;
    }
    return dropped_;
  }

 private:
  struct Candidate {
    Beginning beginning;
    double rank;
  };

  void step(std::size_t group) {
    std::vector<Candidate> all = candidates(groups_[group]);
    const DecodeOptions& options = search_.options();
    const Index more = static_cast<Index>(group) < options.beam % options.groups ? 1 : 0;
    const std::size_t width = at(options.beam / options.groups + more);
    std::vector<BeginningPointer> kept;
    for (std::size_t k = 0; k < all.size(); ++k) {
      Beginning& each = all[k].beginning;
      if (search_.is_allowed(each)) {
        // A single group adds every candidate to the results. With several groups, each group adds only the candidates
        // that it selects; otherwise the first group would leave no candidates for the others.
        if (groups_.size() == 1 || k < width)
          search_.answer(each);
        else
          dropped_ = std::max(dropped_, search_.score(each));
      }
      const double bound = search_.bound(each);
      if (bound == kNoScore || bound < search_.worst()) continue;  // upper bound over all extensions
      if (kept.size() >= width) {
        dropped_ = std::max(dropped_, bound);
        continue;
      }
      ++chosen_[each.symbol];
      kept.push_back(std::make_shared<const Beginning>(std::move(each)));
    }
    // Computes the predictors of the selected prefixes; their parents are not needed again.
    for (const BeginningPointer& each : kept) search_.predictor_of(*each);
    for (const BeginningPointer& from : groups_[group]) search_.forget(from);
    groups_[group] = std::move(kept);
  }

  /// Returns all extensions by one symbol, ranked; ties are ordered by parent, then by symbol.
  std::vector<Candidate> candidates(const std::vector<BeginningPointer>& group) {
    std::vector<Candidate> all;
    for (const BeginningPointer& from : group)
      search_.expand(from, [&](Beginning child) {
        const double chosen = static_cast<double>(times_chosen(child.symbol));
        const double rank = child.total - search_.options().diversity * chosen;
        all.push_back({std::move(child), rank});
      });
    std::ranges::stable_sort(all, std::ranges::greater(), &Candidate::rank);
    return all;
  }

  Index times_chosen(Symbol symbol) const {
    const auto found = chosen_.find(symbol);
    return found == chosen_.end() ? 0 : found->second;
  }

  Search& search_;
  std::vector<std::vector<BeginningPointer>> groups_;
  std::unordered_map<Symbol, Index> chosen_;  // symbols selected by the preceding groups at this length
  double dropped_ = kNoScore;
};

/// Best-first search.
class BestFirst {
 public:
  explicit BestFirst(Search& search) : search_(search) {}

  /// Returns the best score that any open prefix could still reach.
  double run() {
    search_.expand(search_.root(), [&](Beginning child) { open(std::move(child)); });
    for (Index expansions = 1; !queue_.empty(); ++expansions) {
      const Open top = queue_.top();
      if (top.bound <= search_.worst()) return top.bound;
      if (expansions >= search_.options().expansions || queue_.size() > kMostOpen) return top.bound;
      queue_.pop();
      if (is_known(*top.beginning)) continue;
      search_.expand(top.beginning, [&](Beginning child) { open(std::move(child)); });
    }
    return kNoScore;
  }

 private:
  struct Open {
    double bound;
    Index order;
    BeginningPointer beginning;
    /// Orders by bound; ties are resolved in favor of the longer prefix, then of the prefix found first.
    bool operator<(const Open& other) const {
      if (bound != other.bound) return bound < other.bound;
      if (beginning->length != other.beginning->length) return beginning->length < other.beginning->length;
      return order > other.order;
    }
  };

  void open(Beginning child) {
    if (search_.is_allowed(child)) search_.answer(child);
    const double bound = search_.bound(child);
    if (bound <= search_.worst()) return;
    queue_.push({bound, order_++, std::make_shared<const Beginning>(std::move(child))});
  }

  /// Returns whether a prefix does not need to be extended. Among prefixes with the same length, automaton state and
  /// model context, only the best `count` need to be extended.
  bool is_known(const Beginning& b) {
    const auto* markov = dynamic_cast<const MarkovContext*>(&search_.predictor_of(b));
    if (markov == nullptr) return false;
    std::string key = fmt::format("{}/{}/", b.length, b.state);
    markov->append_context(key);
    return ++met_[key] > search_.options().count;
  }

  Search& search_;
  std::priority_queue<Open> queue_;
  std::unordered_map<std::string, Index> met_;
  Index order_ = 0;
};

void validate(const Predictor& predictor, const Automaton& allowed, const DecodeOptions& o) {
  if (o.length < 1 || o.length > kMostLength)
    throw UsageError(fmt::format("length {}: must be from 1 to {} with a constraint", o.length, kMostLength));
  if (o.count < 1) throw UsageError(fmt::format("count {}: must be at least 1", o.count));
  if (o.groups < 1) throw UsageError(fmt::format("diverse {}: must be at least 1 group", o.groups));
  if (o.beam < o.groups)
    throw UsageError(fmt::format("beam {}: must be at least 1 for each of {} groups", o.beam, o.groups));
  if (o.expansions < 1) throw UsageError(fmt::format("expansions {}: must be at least 1", o.expansions));
  if (!(o.diversity >= 0) || !std::isfinite(o.diversity))
    throw UsageError(fmt::format("diversity {}: must be at least 0", o.diversity));
  require_length_normalization(o.normalization);
  if (allowed.alphabet() != predictor.alphabet())
    throw UsageError(
        fmt::format("the automaton has {} symbols, but the model has {}", allowed.alphabet(), predictor.alphabet()));
  if (!o.symbol_bounds.empty() && static_cast<Index>(o.symbol_bounds.size()) != predictor.alphabet())
    throw UsageError(fmt::format("there are {} symbol bounds, but the alphabet has {} symbols", o.symbol_bounds.size(),
                                 predictor.alphabet()));
  if (allowed.empty() || allowed.least(allowed.start()) > o.length ||
      (allowed.least(allowed.start()) == 0 && allowed.most(allowed.start()) == 0))
    throw UsageError(fmt::format(
        "no sequence of 1 to {} symbols is allowed{}", o.length,
        allowed.empty() ? "" : fmt::format(": the shortest allowed one has {}", allowed.least(allowed.start()))));
}

}  // namespace

Decoded decode(Predictor& predictor, const Automaton& allowed, const DecodeOptions& options) {
  validate(predictor, allowed, options);
  Search search(predictor, allowed, options);
  double others = BeamSearch(search).run();
  if (options.prove && others > search.worst()) others = BestFirst(search).run();
  return search.take(others);
}

}  // namespace unfold
