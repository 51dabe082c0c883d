#include "model/decoding/target_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/decoding/edit_distance.h"
#include "numerics/functions.h"
#include "unfold/loss/loss.h"

namespace unfold {

TargetSearch::TargetSearch(const SequenceObjective& objective, std::vector<Symbol> truth, Symbol end, Index longest,
                           std::vector<Random> draws)
    : objective_(objective),
      target_(std::move(truth)),
      end_(end),
      longest_(std::max(at(longest), target_.size())),
      draws_(std::move(draws)),
      beam_(std::max<std::size_t>(1, draws_.size())),
      truth_weights_(target_.size()) {
  truth_.complete = !follows_truth();
  list_open();
}

bool TargetSearch::is_next(const Beginning& beginning, Symbol symbol) const {
  return beginning.is_true && symbol == target_[beginning.symbols.size()];
}

/// `open` keeps the index of the parent among the open prefixes.
void TargetSearch::append(Symbol symbol, double score, Beginning& to) const {
  to.is_true = is_next(to, symbol);
  to.symbols.push_back(symbol);
  to.score = score;
  to.complete = symbol == end_ || to.symbols.size() == longest_;
}

void TargetSearch::step(LogP log_p) {
  const auto undefined = [](const std::vector<double>& row) {
    return std::ranges::any_of(row, [](double x) { return std::isnan(x); });
  };
  if (std::ranges::any_of(log_p, undefined)) {  // training has diverged
    value_ = std::numeric_limits<double>::quiet_NaN();
    done_ = true;
    return;
  }
  if (!truth_.complete) {
    const Symbol symbol = target_[truth_.symbols.size()];
    append(symbol, truth_.score + log_p[at(truth_.open)][at(symbol)], truth_);
  }
  using Kind = SequenceObjective::Kind;
  if (!draws_.empty())
    draw(log_p);
  else if (objective_.kind == Kind::perceptron)
    update_early(extended(log_p));
  else if (objective_.kind == Kind::beam_search)
    find_violation(extended(log_p));
  else
    keep_best(extended(log_p));
  list_open();
  if (done_ || open_.empty()) finish();
}

/// Returns all extensions of the prefixes in the beam, best first; ties are ordered by parent, then by symbol.
std::vector<TargetSearch::Longer> TargetSearch::extended(LogP log_p) const {
  std::vector<Longer> all;
  for (std::size_t k = 0; k < beam_.size(); ++k) {
    const Beginning& b = beam_[k];
    if (b.complete) {
      all.push_back({b.score, k, kNoSymbol, b.is_true});
      continue;
    }
    const std::vector<double>& next = log_p[at(b.open)];
    for (std::size_t x = 0; x < next.size(); ++x)
      all.push_back({b.score + next[x], k, static_cast<Symbol>(x), is_next(b, static_cast<Symbol>(x))});
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &Longer::score);
  return all;
}

TargetSearch::Beginning TargetSearch::made(const Longer& longer) const {
  Beginning result = beam_[longer.from];
  if (longer.symbol != kNoSymbol) append(longer.symbol, longer.score, result);
  return result;
}

void TargetSearch::keep_best(const std::vector<Longer>& all) {
  std::vector<Beginning> kept;
  for (std::size_t k = 0; k < std::min(all.size(), at(objective_.beam)); ++k) kept.push_back(made(all[k]));
  beam_ = std::move(kept);
}

/// Scores never increase, so a complete sequence that is best remains best.
void TargetSearch::update_early(const std::vector<Longer>& all) {
  const auto own = std::ranges::find(all, true, &Longer::is_true);
  const Beginning best = made(all.front()), right = made(*own);
  const bool lost = own - all.begin() >= objective_.beam;
  done_ = lost || (best.complete && right.complete);
  if (done_ && own != all.begin()) pay(best, right, 0);
  if (!done_) keep_best(all);
}

void TargetSearch::find_violation(const std::vector<Longer>& all) {
  constexpr double kMargin = 1;
  const auto own = std::ranges::find(all, true, &Longer::is_true);
  const Beginning right = made(*own);
  done_ = right.complete;
  std::size_t rank = done_ ? 0 : at(objective_.beam - 1);  // rank among the prefixes other than the true prefix
  if (rank >= at(own - all.begin())) ++rank;
  if (rank < all.size() && kMargin + all[rank].score - own->score > 0) {
    pay(made(all[rank]), right, kMargin);
    beam_ = {right};
    return;
  }
  keep_best(all);
}

void TargetSearch::draw(LogP log_p) {
  for (std::size_t k = 0; k < beam_.size(); ++k) {
    Beginning& b = beam_[k];
    if (b.complete) continue;
    const std::vector<double>& next = log_p[at(b.open)];
    const Symbol symbol = sample_symbol<double>(next, draws_[k]);
    append(symbol, b.score + next[at(symbol)], b);
  }
}

/// Numbers the open prefixes: first the prefixes in the beam, then the true prefix.
void TargetSearch::list_open() {
  open_.clear();
  const auto list = [&](Beginning& b) {
    if (b.complete) return;
    open_.push_back({b.symbols, b.open});
    b.open = static_cast<Index>(open_.size()) - 1;
  };
  std::ranges::for_each(beam_, list);
  list(truth_);
}

void TargetSearch::finish() {
  done_ = true;
  open_.clear();
  if (objective_.kind == SequenceObjective::Kind::margin) pay_margin();
  if (objective_.kind == SequenceObjective::Kind::risk) add_risk();
  if (std::ranges::any_of(truth_weights_, [](double w) { return w != 0; }))
    chosen_.push_back({target_, truth_weights_});
}

void TargetSearch::pay_margin() {
  const Beginning* worst = nullptr;
  double most = truth_.score, edits = 0;
  for (const Beginning& b : beam_) {
    const double cost = objective_.cost * static_cast<double>(edit_distance(b.symbols, target_));
    if (b.is_true || b.score + cost <= most) continue;
    most = b.score + cost;
    worst = &b;
    edits = cost;
  }
  if (worst != nullptr) pay(*worst, truth_, edits);
}

/// Computes the risk over the sequences found and the true sequence, with p renormalized: sum p cost. Its derivative
/// with respect to log p of a sequence is p (cost - mean cost).
void TargetSearch::add_risk() {
  std::vector<const Beginning*> all = {&truth_};
  for (const Beginning& b : beam_)
    if (!b.is_true && std::ranges::none_of(all, [&](const Beginning* other) { return other->symbols == b.symbols; }))
      all.push_back(&b);
  std::vector<double> p, cost;
  for (const Beginning* b : all) {
    p.push_back(b->score);
    cost.push_back(static_cast<double>(edit_distance(b->symbols, target_)));
  }
  log_softmax(p.data(), p.data(), static_cast<Index>(p.size()));
  vector_exp(p.data(), p.data(), static_cast<Index>(p.size()));
  for (std::size_t k = 0; k < p.size(); ++k) value_ += p[k] * cost[k];
  for (std::size_t k = 0; k < p.size(); ++k) {
    const double weight = -p[k] * (cost[k] - value_);
    if (k == 0)
      truth_weights_.assign(target_.size(), weight);
    else if (weight != 0)
      chosen_.push_back({all[k]->symbols, std::vector<double>(all[k]->symbols.size(), weight)});
  }
}

/// The common prefix cancels.
void TargetSearch::pay(const Beginning& found, const Beginning& truth, double more) {
  value_ += more + found.score - truth.score;
  const auto [one, other] = std::ranges::mismatch(found.symbols, truth.symbols);
  const auto common = static_cast<std::size_t>(one - found.symbols.begin());
  chosen_.push_back({found.symbols, std::vector<double>(found.symbols.size(), -1)});
  std::fill_n(chosen_.back().weights.begin(), common, 0.0);
  for (std::size_t t = common; t < truth.symbols.size(); ++t) truth_weights_[t] += 1;
}

}  // namespace unfold
