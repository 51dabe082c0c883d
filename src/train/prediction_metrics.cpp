#include "train/prediction_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <tuple>

#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

double ratio_or(double otherwise, double above, double below) { return below > 0 ? above / below : otherwise; }

bool is_special(std::string_view label) { return label == kLineEndWord || label == kUnknownWord; }

bool is_chunk_label(std::string_view label) {
  return label.size() > 2 && label[1] == '-' && std::string_view("BIES").find(label[0]) != std::string_view::npos;
}

std::vector<std::string> texts_of(const Alphabet& alphabet) {
  std::vector<std::string> texts;
  texts.reserve(at(alphabet.size()));
  for (Symbol s = 0; s < alphabet.size(); ++s)
    texts.emplace_back(s == alphabet.line_end() ? kLineEndWord : alphabet.text(s));
  return texts;
}

void add(std::vector<Index>& sum, const std::vector<Index>& other) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
}

void add(MatchCounts& sum, const MatchCounts& other) {
  sum.wanted += other.wanted;
  sum.found += other.found;
  sum.right += other.right;
}

}  // namespace

double part_of(Index part, Index all) { return ratio_or(0, static_cast<double>(part), static_cast<double>(all)); }

double median_of_values(std::vector<double> values) {
  if (values.empty()) return kNotANumber;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double MatchCounts::precision() const { return part_of(right, found); }
double MatchCounts::recall() const { return part_of(right, wanted); }
double MatchCounts::f1() const { return part_of(2 * right, found + wanted); }

/// Positions [first, last] of an example.
struct LabelMetrics::Chunk {
  std::size_t first, last;
  std::string type;
  bool operator<(const Chunk& other) const {
    return std::tie(first, last, type) < std::tie(other.first, other.last, other.type);
  }
};

LabelMetrics::LabelMetrics(const Alphabet& alphabet) : LabelMetrics(texts_of(alphabet)) {}

LabelMetrics::LabelMetrics(std::vector<std::string> labels)
    : labels_(std::move(labels)),
      tags_(labels_.size()),
      right_(labels_.size()),
      wanted_(labels_.size()),
      best_(labels_.size()) {
  bool others = false;
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    if (is_chunk_label(labels_[i])) {
      tags_[i] = {.place = labels_[i][0], .type = labels_[i].substr(2)};
      has_chunks_ = true;
    } else {
      others = others || (labels_[i] != "O" && !is_special(labels_[i]));
    }
  }
  has_chunks_ = has_chunks_ && !others;
}

void LabelMetrics::see(std::span<const Symbol> wanted, std::span<const Symbol> best) {
  if (wanted.size() != best.size())
    throw UsageError(fmt::format("label metrics: there are {} reference labels, but {} predicted labels", wanted.size(),
                                 best.size()));
  const auto is_label = [&](Symbol s) { return s >= 0 && at(s) < labels_.size(); };
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i] != kNoSymbol && (!is_label(wanted[i]) || !is_label(best[i])))
      throw UsageError(
          fmt::format("label metrics: reference {} and prediction {} at position {} must be among {} labels", wanted[i],
                      best[i], i, labels_.size()));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == kNoSymbol) continue;
    ++seen_;
    ++wanted_[at(wanted[i])];
    ++best_[at(best[i])];
    if (wanted[i] == best[i])
      ++right_[at(wanted[i])];
    else
      ++mistakes_[{wanted[i], best[i]}];
  }
  if (has_chunks_) see_chunks(wanted, best);
}

/// Processes each contiguous range of counted positions separately.
void LabelMetrics::see_chunks(std::span<const Symbol> wanted, std::span<const Symbol> best) {
  for (std::size_t begin = 0; begin < wanted.size();) {
    std::size_t end = begin;
    while (end < wanted.size() && wanted[end] != kNoSymbol) ++end;
    const std::vector<Chunk> right = chunks_of(wanted.subspan(begin, end - begin));
    const std::vector<Chunk> found = chunks_of(best.subspan(begin, end - begin));
    std::vector<Chunk> both;
    std::set_intersection(right.begin(), right.end(), found.begin(), found.end(), std::back_inserter(both));
    for (const Chunk& chunk : right) ++chunks_[chunk.type].wanted;
    for (const Chunk& chunk : found) ++chunks_[chunk.type].found;
    for (const Chunk& chunk : both) ++chunks_[chunk.type].right;
    begin = end + 1;
  }
}

std::vector<LabelMetrics::Chunk> LabelMetrics::chunks_of(std::span<const Symbol> labels) const {
  std::vector<Chunk> chunks;
  const Tag none;
  const Tag* before = &none;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const Tag& now = tags_[at(labels[i])];
    const bool can_resume = before->place != 'O' && before->place != 'E' && before->place != 'S' && now.place != 'B' &&
                            now.place != 'S' && before->type == now.type;
    if (now.place != 'O') {
      if (can_resume)
        chunks.back().last = i;
      else
        chunks.push_back({.first = i, .last = i, .type = now.type});
    }
    before = &now;
  }
  return chunks;
}

void LabelMetrics::merge(const LabelMetrics& other) {
  if (other.labels_ != labels_) throw UsageError("label metrics: the labels of two parts differ");
  seen_ += other.seen_;
  add(right_, other.right_);
  add(wanted_, other.wanted_);
  add(best_, other.best_);
  for (const auto& [pair, count] : other.mistakes_) mistakes_[pair] += count;
  for (const auto& [type, counts] : other.chunks_) add(chunks_[type], counts);
}

double LabelMetrics::accuracy() const {
  Index right = 0;
  for (const Index each : right_) right += each;
  return ratio_or(kNotANumber, static_cast<double>(right), static_cast<double>(seen_));
}

double LabelMetrics::macro_f1() const {
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    const Index occurs = wanted_[i] + best_[i];
    if (occurs == 0) continue;
    sum += part_of(2 * right_[i], occurs);
    ++count;
  }
  return ratio_or(kNotANumber, sum, count);
}

Index LabelMetrics::confusion(Symbol wanted, Symbol best) const {
  if (wanted == best) return right_.at(at(wanted));
  const auto found = mistakes_.find({wanted, best});
  return found == mistakes_.end() ? 0 : found->second;
}

std::vector<std::pair<Symbol, MatchCounts>> LabelMetrics::classes() const {
  std::vector<std::pair<Symbol, MatchCounts>> list;
  list.reserve(labels_.size());
  for (std::size_t i = 0; i < labels_.size(); ++i)
    if (wanted_[i] + best_[i] > 0)
      list.emplace_back(static_cast<Symbol>(i),
                        MatchCounts{.wanted = wanted_[i], .found = best_[i], .right = right_[i]});
  std::ranges::stable_sort(list, [](const auto& a, const auto& b) { return a.second.wanted > b.second.wanted; });
  return list;
}

std::vector<LabelMetrics::Mistake> LabelMetrics::mistakes() const {
  std::vector<Mistake> list;
  list.reserve(mistakes_.size());
  for (const auto& [pair, count] : mistakes_) list.push_back({pair.first, pair.second, count});
  std::ranges::stable_sort(list, [](const Mistake& a, const Mistake& b) { return a.count > b.count; });
  return list;
}

MatchCounts LabelMetrics::chunks() const {
  MatchCounts sum;
  for (const auto& [type, counts] : chunks_) add(sum, counts);
  return sum;
}

Measures LabelMetrics::measures() const {
  if (seen_ == 0) return {};
  Index wrong = 0;
  for (const auto& [pair, count] : mistakes_) wrong += count;
  Measures list = {{"accuracy", accuracy()}, {"error_rate", part_of(wrong, seen_)}, {"macro_f1", macro_f1()}};
  if (has_chunks_) {
    const MatchCounts counts = chunks();
    list.emplace_back("chunk_f1", counts.f1());
    list.emplace_back("chunk_precision", counts.precision());
    list.emplace_back("chunk_recall", counts.recall());
  }
  return list;
}

void ValueMetrics::check_same_kind(Index components, bool scored, bool banded) {
  if (rows_ == 0) {
    components_.resize(at(components));
    scored_ = scored;
    banded_ = banded;
  }
  if (at(components) != components_.size())
    throw UsageError(
        fmt::format("value metrics: a row has {} numbers, but others have {}", components, components_.size()));
  if (scored != scored_ || banded != banded_)
    throw UsageError("value metrics: either all rows or none must have a score or an interval");
}

void ValueMetrics::see(std::span<const double> observed, const ValuePrediction& predicted) {
  const bool banded = !predicted.low.empty() || !predicted.high.empty();
  for (const auto& other : {predicted.mean, banded ? predicted.low : observed, banded ? predicted.high : observed})
    if (other.size() != observed.size())
      throw UsageError(
          fmt::format("value metrics: {} numbers were observed, but {} were predicted", observed.size(), other.size()));
  check_same_kind(static_cast<Index>(observed.size()), predicted.crps.has_value(), banded);
  ++rows_;
  for (std::size_t i = 0; i < observed.size(); ++i) {
    const double y = observed[i], error = y - predicted.mean[i];
    squared_ += error * error;
    absolute_ += std::fabs(error);
    Spread& spread = components_[i];
    const double before = y - spread.average;
    spread.average += before / static_cast<double>(rows_);
    spread.squares += before * (y - spread.average);
    within_ += banded && predicted.low[i] <= y && y <= predicted.high[i] ? 1 : 0;
  }
  score_ += predicted.crps.value_or(0);
}

/// Merges averages and sums of squares by the method of Chan, Golub and LeVeque (1983).
void ValueMetrics::merge(const ValueMetrics& other) {
  if (other.rows_ == 0) return;
  check_same_kind(static_cast<Index>(other.components_.size()), other.scored_, other.banded_);
  const auto own = static_cast<double>(rows_), more = static_cast<double>(other.rows_), all = own + more;
  for (std::size_t i = 0; i < components_.size(); ++i) {
    Spread& spread = components_[i];
    const double apart = other.components_[i].average - spread.average;
    spread.squares += other.components_[i].squares + apart * apart * (own * more / all);
    spread.average += apart * (more / all);
  }
  rows_ += other.rows_;
  within_ += other.within_;
  squared_ += other.squared_;
  absolute_ += other.absolute_;
  score_ += other.score_;
}

Measures ValueMetrics::measures() const {
  if (seen() == 0) return {};
  const auto n = static_cast<double>(seen());
  double squares = 0;
  for (const Spread& spread : components_) squares += spread.squares;
  Measures list = {{"mean_squared_error", squared_ / n}, {"mean_absolute_error", absolute_ / n}};
  if (squares > 0) {
    list.emplace_back("nmse", squared_ / squares);
    list.emplace_back("nrmse", std::sqrt(squared_ / squares));
  }
  if (scored_) list.emplace_back("crps", score_ / n);
  if (banded_) list.emplace_back("coverage", part_of(within_, seen()));
  return list;
}

}  // namespace unfold
