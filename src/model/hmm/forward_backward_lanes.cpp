#include "model/hmm/forward_backward_lanes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "numerics/functions.h"
#include "numerics/hmm/hmm_rows.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr double kLeastProbability = 1e-290;  // below this the division by c_t would not be exact
constexpr double kSameStates = 1e-12;         // L1 distance of two distributions that count as equal
constexpr Index kGroupSymbols = 90'000, kMostSymbolGroups = 16;
constexpr Index kLaneSymbols = 2048, kLeastStretch = 512;  // minimum length of a lane, and of a segment after a cut
constexpr Index kLongestWarmUp = 4096;
constexpr Index kHistoryBytes = Index{64} << 20;  // size of the history per group
constexpr Index kWindow = 32;                     // steps whose transitions are counted by one matrix product

/// For each cut, the results of the lanes on both sides: the states before the first symbol after the cut, and the
/// backward message of this symbol and the following symbols (w in the equations of hmm_inference), which is known only
/// up to a factor.
struct Cuts {
  Cuts(Index count, Index width) : rows(count), columns(width) {
    for (Buffer<double>* x : {&guessed, &reached, &expected, &found}) x->resize(count * width);
  }
  double* row(Buffer<double>& x, Index cut) const { return x.data() + cut * columns; }
  bool agree() {
    for (Index i = 0; i < rows; ++i)
      if (!same(row(guessed, i), row(reached, i)) || !same(row(expected, i), row(found, i))) return false;
    return true;
  }

  Index rows, columns;
  Buffer<double> guessed, reached;  ///< forward pass: guessed by the lane after the cut, reached by the lane before the
                                    ///< cut
  Buffer<double> expected, found;   ///< backward pass: expected by the lane before the cut, found by the lane after the
                                    ///< cut

 private:
  bool same(const double* x, const double* y) const {
    const double of_x = std::accumulate(x, x + columns, 0.0), of_y = std::accumulate(y, y + columns, 0.0);
    double apart = 0;
    for (Index j = 0; j < columns; ++j) apart += std::abs(x[j] * of_y - y[j] * of_x);
    return apart <= kSameStates * of_x * of_y;  // both are 0 if there was no pass in that direction
  }
};

/// The forward and backward passes over one group of lanes.
class Walk {
 public:
  Walk(const HmmTables& tables, std::span<const std::vector<Stretch>> lanes, const std::vector<Index>& lengths,
       const SequenceReader& read, const HmmPassOptions& work, Cuts& cuts, Buffer<double>& history, HmmSums& sums)
      : t_(tables),
        lanes_(lanes),
        lengths_(lengths),
        read_(read),
        work_(work),
        cuts_(cuts),
        history_(history),
        sums_(sums) {
    sums_.initial.resize(t_.width);
    sums_.steps.resize(t_.states * t_.width);
    sums_.symbols.resize(t_.alphabet * t_.width);
    f_.resize(count() * t_.width);
    beta_.resize(count() * t_.width);
    lay_out();
  }

  void run(Index warm_up) {
    const Index row = count() * t_.width;
    const Index most = std::max<Index>(kHistoryBytes / (row * static_cast<Index>(sizeof(double))), kWindow);
    const Index segment = std::min(work_.backward ? most : kWindow, steps_);
    const Index segments = (steps_ + segment - 1) / segment;
    const auto part = [&](Index s) { return Range{s * segment, std::min((s + 1) * segment, steps_)}; };
    if (history_.size() < segment * row) history_.resize(segment * row);
    c_.resize(steps_ * count());
    std::vector<Buffer<double>> starts;
    warm_up_forward(warm_up);
    for (Index s = 0; s < segments; ++s) {
      if (work_.backward && s + 1 < segments) starts.push_back(f_);
      forward(part(s));
    }
    add_logs();
    if (!work_.backward) return;
    warm_up_backward(warm_up);
    later_.resize((kWindow + 1) * row);
    for (Index s = segments; s-- > 0;) {
      stop_if_asked();
      if (s + 1 < segments) {  // the history of the last segment is still in memory
        f_ = starts[at(s)];
        forward(part(s));
      }
      backward(part(s));
    }
  }

 private:
  void stop_if_asked() const {
    if (work_.stop != nullptr && *work_.stop) throw InterruptedError("interrupted");
  }
  struct Event {
    Index step, lane;
    const Stretch* stretch;
  };

  Index count() const { return static_cast<Index>(lanes_.size()); }
  Matrix<double> rows(Buffer<double>& x, Index step = 0) const {
    return {x.data() + step * count() * t_.width, count(), t_.width, t_.width};
  }
  Matrix<const double> states(Matrix<double> m) const { return {m.data, m.rows, t_.states, m.stride}; }
  void step_on(Matrix<double> g, const PackedMatrix<double>& a, Matrix<double> out) const {
    multiply<double>(states(g), a, out.cols_from(0, t_.columns), Panels(0, a.panels()), Start::zero);
  }
  void set_row(double* row, const double* from) const { std::copy_n(from, t_.width, row); }
  void set_uniform(double* row, double value) const {
    std::fill_n(row, t_.width, 0.0);
    std::fill_n(row, t_.states, value);
  }
  const Symbol* symbols(Index step) const { return symbols_.data() + step * count(); }

  void lay_out();
  void add_logs();
  void forward(Range part);
  void backward(Range part);
  void end_chains(Index step, Matrix<double> g, Matrix<double> later);
  void begin_chains(Index step, Matrix<double> g, Matrix<double> sooner);
  void report_posteriors(Index step, Matrix<double> g) const;
  void warm_up_forward(Index warm_up);
  void warm_up_backward(Index warm_up);

  const HmmTables& t_;
  std::span<const std::vector<Stretch>> lanes_;
  const std::vector<Index>& lengths_;
  const SequenceReader& read_;
  const HmmPassOptions& work_;
  Cuts& cuts_;
  Buffer<double>& history_;  // g of the steps of a segment
  HmmSums& sums_;
  Index steps_ = 0;
  std::vector<Symbol> symbols_;       // [steps x lanes]
  std::vector<Event> begins_, ends_;  // beginnings and ends of segments, by step
  // The state distributions before the current symbol, and the backward messages of the later symbols, [lanes x width].
  Buffer<double> f_, beta_;
  Buffer<double> c_;      // c_t of all steps
  Buffer<double> later_;  // w after each step of a window, and after the step before it
};

void Walk::lay_out() {
  for (const std::vector<Stretch>& lane : lanes_) {
    Index length = 0;
    for (const Stretch& s : lane) length += s.range.size();
    steps_ = std::max(steps_, length);
  }
  symbols_.assign(at(steps_ * count()), kNoSymbol);
  for (Index m = 0; m < count(); ++m) {
    Index step = 0;
    for (const Stretch& s : lanes_[at(m)]) {
      stop_if_asked();
      begins_.push_back({step, m, &s});
      for (const Symbol x : read_(s.text, s.range)) symbols_[at(step++ * count() + m)] = x;
      ends_.push_back({step - 1, m, &s});
    }
  }
  for (std::vector<Event>* events : {&begins_, &ends_})
    std::ranges::stable_sort(*events, {}, [](const Event& e) { return e.step; });
}

void Walk::add_logs() {
  Buffer<double> logs = c_;
  vector_log(logs.data(), logs.data(), logs.size());
  for (const double x : logs) sums_.log_likelihood += x;
}

void Walk::forward(Range part) {
  stop_if_asked();
  const auto before = [](const Event& e, Index step) { return e.step < step; };
  auto begin = std::lower_bound(begins_.begin(), begins_.end(), part.begin, before);
  auto end = std::lower_bound(ends_.begin(), ends_.end(), part.begin, before);
  for (Index step = part.begin; step < part.end; ++step) {
    const Matrix<double> f = rows(f_), g = rows(history_, work_.backward ? step - part.begin : 0);
    for (; begin != begins_.end() && begin->step == step; ++begin)
      set_row(f.row(begin->lane), begin->stretch->cut_before < 0
                                      ? t_.initial.data()
                                      : cuts_.row(cuts_.guessed, begin->stretch->cut_before));
    forward_symbols(f, t_.emissions(), symbols(step), kLeastProbability, g, c_.data() + step * count());
    step_on(g, t_.a, f);
    for (; end != ends_.end() && end->step == step; ++end)
      if (end->stretch->cut_after >= 0) set_row(cuts_.row(cuts_.reached, end->stretch->cut_after), f.row(end->lane));
  }
}

/// Sets w after a step at which segments end, and the resulting backward message.
void Walk::end_chains(Index step, Matrix<double> g, Matrix<double> later) {
  const auto first = std::ranges::lower_bound(ends_, step, {}, &Event::step);
  const auto last = std::ranges::upper_bound(ends_, step, {}, &Event::step);
  for (auto e = first; e != last; ++e) {
    double* const w = later.row(e->lane);
    if (e->stretch->cut_after < 0)
      std::fill_n(w, t_.width, 0.0);
    else
      set_row(w, cuts_.row(cuts_.expected, e->stretch->cut_after));
  }
  step_on(later, t_.a_back, rows(beta_));
  for (auto e = first; e != last; ++e) {
    double *const w = later.row(e->lane), *const beta = rows(beta_).row(e->lane);
    if (e->stretch->cut_after < 0) {
      set_uniform(beta, 1);
      continue;
    }
    double sum = 0;  // sum of gamma, which is 1 with the right factor
    for (Index j = 0; j < t_.states; ++j) sum += g.row(e->lane)[j] * beta[j];
    const double factor = sum > 0 ? 1 / sum : 1;
    for (Index j = 0; j < t_.width; ++j) w[j] *= factor, beta[j] *= factor;
  }
}

void Walk::begin_chains(Index step, Matrix<double> g, Matrix<double> sooner) {
  const auto first = std::ranges::lower_bound(begins_, step, {}, &Event::step);
  const auto last = std::ranges::upper_bound(begins_, step, {}, &Event::step);
  for (auto e = first; e != last; ++e) {
    if (e->stretch->cut_before >= 0) {
      set_row(cuts_.row(cuts_.found, e->stretch->cut_before), sooner.row(e->lane));
      continue;
    }
    for (Index j = 0; j < t_.states; ++j) sums_.initial[j] += g.row(e->lane)[j] * rows(beta_).row(e->lane)[j];
  }
}

void Walk::report_posteriors(Index step, Matrix<double> g) const {
  for (Index m = 0; m < count(); ++m) {
    Index begin = 0;
    for (const Stretch& s : lanes_[at(m)]) {
      if (step < begin + s.range.size()) {
        work_.posterior(s.text, s.range.begin + step - begin, g.row(m), beta_.data() + m * t_.width);
        break;
      }
      begin += s.range.size();
    }
  }
}

void Walk::backward(Range part) {
  for (Index end = part.end; end > part.begin; end -= std::min(kWindow, end - part.begin)) {
    const Index begin = std::max(part.begin, end - kWindow);
    const auto later = [&](Index step) { return rows(later_, step - begin + 1); };
    // The message after the last step was computed by the next window; after the last window there is none.
    if (end == steps_)
      std::fill_n(later(end - 1).data, count() * t_.width, 0.0);
    else
      std::copy_n(later_.data(), count() * t_.width, later(end - 1).data);
    for (Index step = end; step-- > begin;) {
      const Matrix<double> g = rows(history_, step - part.begin);
      end_chains(step, g, later(step));
      if (work_.posterior) report_posteriors(step, g);
      look_back(rows(beta_), g, t_.emissions(), symbols(step), c_.data() + step * count(),
                {sums_.symbols.data(), t_.alphabet, t_.width, t_.width}, later(step - 1));
      begin_chains(step, g, later(step - 1));
    }
    const Index all = (end - begin) * count();
    accumulate_outer<double>({history_.data() + (begin - part.begin) * count() * t_.width, all, t_.states, t_.width},
                             {later(begin).data, all, t_.columns, t_.width},
                             {sums_.steps.data(), t_.states, t_.columns, t_.width}, {0, t_.states}, Start::accumulate);
  }
}

void Walk::warm_up_forward(Index warm_up) {
  std::vector<Symbol> x(at(warm_up * count()), kNoSymbol);
  std::vector<Index> starts(at(count()), warm_up);
  for (Index m = 0; m < count(); ++m) {
    const Stretch& s = lanes_[at(m)].front();
    if (s.cut_before < 0) continue;
    Index step = starts[at(m)] = std::max<Index>(warm_up - s.range.begin, 0);
    for (const Symbol symbol : read_(s.text, {s.range.begin - warm_up + step, s.range.begin}))
      x[at(step++ * count() + m)] = symbol;
  }
  Buffer<double> g(f_.size()), c(count());
  for (Index step = *std::ranges::min_element(starts); step < warm_up; ++step) {
    for (Index m = 0; m < count(); ++m)
      if (step == starts[at(m)]) set_row(rows(f_).row(m), t_.initial.data());
    for (Index m = 0; m < count(); ++m)
      if (step == starts[at(m)] && lanes_[at(m)].front().range.begin > warm_up)
        set_uniform(rows(f_).row(m), 1 / static_cast<double>(t_.states));
    forward_symbols(rows(f_), t_.emissions(), x.data() + step * count(), kLeastProbability, rows(g), c.data());
    step_on(rows(g), t_.a, rows(f_));
  }
  for (Index m = 0; m < count(); ++m)
    if (const Index cut = lanes_[at(m)].front().cut_before; cut >= 0)
      set_row(cuts_.row(cuts_.guessed, cut), rows(f_).row(m));
}

void Walk::warm_up_backward(Index warm_up) {
  std::vector<Symbol> x(at(warm_up * count()), kNoSymbol);
  std::vector<Index> starts(at(count()), -1);  // the backward pass counts down
  for (Index m = 0; m < count(); ++m) {
    const Stretch& s = lanes_[at(m)].back();
    if (s.cut_after < 0) continue;
    Index step = 0;
    for (const Symbol symbol : read_(s.text, {s.range.end, std::min(s.range.end + warm_up, lengths_[at(s.text)])}))
      x[at(step++ * count() + m)] = symbol;
    starts[at(m)] = step - 1;
  }
  Buffer<double> w(f_.size()), c(count());
  for (Index step = *std::ranges::max_element(starts); step >= 0; --step) {
    for (Index m = 0; m < count(); ++m)
      if (step == starts[at(m)]) set_uniform(rows(beta_).row(m), 1);
    forward_symbols(rows(beta_), t_.emissions(), x.data() + step * count(), kLeastProbability, rows(w), c.data());
    step_on(rows(w), t_.a_back, rows(beta_));
  }
  for (Index m = 0; m < count(); ++m)
    if (const Index cut = lanes_[at(m)].back().cut_after; cut >= 0)
      set_row(cuts_.row(cuts_.expected, cut), rows(w).row(m));
}

}  // namespace

HmmTables::HmmTables(const HmmParameters& hmm)
    : states(hmm.states),
      width((hmm.states + 7) / 8 * 8),
      columns((hmm.states + 3) / 4 * 4),
      alphabet(hmm.alphabet),
      initial(width),
      b(alphabet * width) {
  std::ranges::copy(hmm.initial, initial.begin());
  Buffer<double> forward(states * width), back(states * width);
  for (Index i = 0; i < states; ++i) {
    for (Index j = 0; j < states; ++j)
      forward[i * width + j] = back[j * width + i] = hmm.transitions[at(i * states + j)];
    for (Index x = 0; x < alphabet; ++x) b[x * width + i] = hmm.emissions[at(i * alphabet + x)];
  }
  a.pack({forward.data(), states, columns, width});
  a_back.pack({back.data(), states, columns, width});
}

LaneAssignment::LaneAssignment(const std::vector<Index>& lengths, bool may_cut) {
  const Index total = std::accumulate(lengths.begin(), lengths.end(), Index{0});
  const Index groups = std::clamp<Index>(total / kGroupSymbols, 1, kMostSymbolGroups);
  const Index count = std::clamp<Index>(total / kLaneSymbols, 1, kLanes * groups);
  lanes.resize(at(count));
  Index lane = 0, before = 0;  // number of symbols in the preceding sequences
  for (Index text = 0; text < static_cast<Index>(lengths.size()); ++text) {
    const Index length = lengths[at(text)];
    Stretch rest{.text = text, .range = {0, length}};
    while (!rest.range.empty()) {
      const auto border = [&] { return total * (lane + 1) / count - before; };
      while (border() - rest.range.begin < (length < kLeastStretch || !may_cut ? 1 : kLeastStretch)) ++lane;
      std::vector<Stretch>& mine = lanes[at(lane)];
      mine.push_back(rest);
      if (!may_cut || length - border() < kLeastStretch) break;
      mine.back().range.end = rest.range.begin = border();
      mine.back().cut_after = rest.cut_before = cuts++;
      ++lane;
    }
    before += length;
  }
  std::erase_if(lanes, [](const std::vector<Stretch>& stretches) { return stretches.empty(); });
}

std::vector<HmmSums> run_lanes(const HmmTables& tables, const std::vector<Index>& lengths, const SequenceReader& read,
                               const HmmPassOptions& work, Team& team, HmmMemory& memory) {
  memory.histories.resize(at(team.size()));
  for (;; memory.warm_up *= 4) {
    const LaneAssignment deal(lengths, memory.warm_up <= kLongestWarmUp);
    Cuts cuts(deal.cuts, tables.width);
    std::vector<HmmSums> sums(at(deal.groups()));
    team.run([&](Member& me) {
      for (Index k = me.id(); k < deal.groups(); k += me.size()) {
        const auto first = at(k * LaneAssignment::kLanes);
        const std::span<const std::vector<Stretch>> lanes =
            std::span(deal.lanes).subspan(first, std::min(at(LaneAssignment::kLanes), deal.lanes.size() - first));
        Walk(tables, lanes, lengths, read, work, cuts, memory.histories[at(me.id())], sums[at(k)]).run(memory.warm_up);
      }
    });
    if (cuts.agree()) return sums;
  }
}

}  // namespace unfold
