#include "optim/riemannian/unit_metric.h"

#include <algorithm>
#include <cmath>

#include "optim/riemannian/damped_cholesky.h"

namespace unfold {
namespace {

constexpr Index kTile = 512;  // positions whose inputs fit into the second-level cache
// positions per tile if inputs are sorted by symbol; large because ranges of equal symbols should be long
constexpr Index kSortedTile = 2048;

/// Returns the symbol node to which the weights of a term belong, or -1.
int symbols_of(const Plan& plan, const Node::AffineTerm& term) {
  return plan.is_symbols(term.source) ? term.source : term.gate;
}

}  // namespace

template <class T>
UnitMetric<T>::UnitMetric(const CorePass<T>& core, Reduction reduction, double damping, bool averages)
    : reduction_(reduction), damping_(damping), others_(core, reduction == Reduction::full, damping, averages) {
  const Plan& plan = core.plan();
  for (int i = 0; i < static_cast<int>(plan.nodes().size()); ++i)
    if (plan.live(i) && plan.nodes()[at(i)].kind() == Node::Kind::affine) add_maps(plan, i);
  adjoints_.resize(maps_.size());
  squares_.resize(maps_.size());
  inputs_.resize(at(core.team().size()));
  Index widest = 0, widest_read = 0, columns = 0;
  for (const Map& map : maps_) {
    columns = std::max(columns, map.columns);
    for (const auto& source : map.sources) {
      widest = std::max(widest, source.size);
      widest_read = std::max(widest_read, source.read);
    }
  }
  for (Unit& unit : units_) {
    if (!averages) break;
    averages_.emplace_back(unit.moments.by_symbol().size() + unit.moments.by_all().size() + 1, T{0});
  }
  for (Inputs& inputs : inputs_) {
    inputs.values.resize(kTile * columns);
    inputs.row.resize(kSortedTile * widest);
    inputs.read.resize(kSortedTile * widest_read);
  }
}

template <class T>
void UnitMetric<T>::add_maps(const Plan& plan, int i) {
  const Node& node = plan.nodes()[at(i)];
  std::vector<int> kinds;
  bool has_weights = node.affine().bias >= 0;
  for (const auto& term : node.terms()) {
    if (MapMetric<T>::takes(term)) continue;
    has_weights = true;
    const int symbols = symbols_of(plan, term);
    if (symbols >= 0 && std::find(kinds.begin(), kinds.end(), symbols) == kinds.end()) kinds.push_back(symbols);
  }
  if (!has_weights) return;
  if (kinds.empty()) kinds.push_back(-1);
  for (const int symbols : kinds) add_map(plan, i, symbols, symbols == kinds.front());
}

/// Adds the terms of one kind of symbols; with `with_shared`, also the terms that belong to no symbol.
template <class T>
void UnitMetric<T>::add_map(const Plan& plan, int i, int symbols, bool with_shared) {
  const Node& node = plan.nodes()[at(i)];
  Map map{.node = i, .size = node.size, .columns = 1, .symbols = symbols};  // column 0 is the constant 1
  const auto offset = [&](int parameter) { return plan.parameters()[at(parameter)].offset; };
  const auto belongs = [&](const Node::AffineTerm& term) {
    if (MapMetric<T>::takes(term)) return false;
    const int kind = symbols_of(plan, term);
    return kind < 0 ? with_shared : kind == symbols;
  };
  for (std::size_t k = 0; k < node.terms().size(); ++k) {
    const auto& term = node.terms()[k];
    if (!belongs(term) || plan.is_symbols(term.source)) continue;
    const Index size = plan.nodes()[at(term.source)].size;
    const Index inputs = term.dense() ? size : unit_weights(term.op.get())->unit_edges().inputs();
    map.sources.push_back({k, map.columns, inputs, size});
    map.columns += inputs;
  }
  const Index alphabet = map.symbols < 0 ? 0 : plan.nodes()[at(map.symbols)].size;
  map.units = {static_cast<Index>(units_.size()), static_cast<Index>(units_.size()) + node.size};
  map.all_gated = true;
  for (Index c = 0; c < node.size; ++c) {
    std::vector<std::int32_t> gated, shared;
    std::vector<std::pair<Index, Index>> gated_places;
    std::vector<Index> shared_places;
    const bool has_bias = with_shared && node.affine().bias >= 0;
    if (has_bias) shared.push_back(0), shared_places.push_back(offset(node.affine().bias) + c);
    bool lookup = false;
    for (const auto& term : node.terms())
      if (belongs(term) && plan.is_symbols(term.source)) {
        gated.push_back(0), gated_places.emplace_back(offset(term.parameter) + c, node.size);
        lookup = true;
      }
    for (const auto& source : map.sources) {
      const auto& term = node.terms()[source.term];
      const Index first = offset(term.parameter);
      if (term.dense()) {
        for (Index j = 0; j < source.size; ++j)
          shared.push_back(static_cast<std::int32_t>(source.column + j)),
              shared_places.push_back(first + j * node.size + c);
        continue;
      }
      const bool by_symbol = term.gate >= 0 && plan.parameters()[at(term.parameter)].rows > 1;
      const Edges& edges = unit_weights(term.op.get())->unit_edges();
      for (std::int32_t e = edges.entering()[at(c)]; e < edges.entering()[at(c + 1)]; ++e) {
        const auto column = static_cast<std::int32_t>(source.column) + edges.from()[at(e)];
        if (by_symbol)
          gated.push_back(column), gated_places.emplace_back(first + e, edges.count());
        else
          shared.push_back(column), shared_places.push_back(first + e);
      }
    }
    units_.push_back(
        {.map = maps_.size(),
         .component = c,
         .moments = UnitMoments(std::move(gated), std::move(shared), alphabet, reduction_ == Reduction::full),
         .gated = std::move(gated_places),
         .shared = std::move(shared_places),
         .gated_first = lookup,
         .shared_first = has_bias});
  }
  for (Index u = map.units.begin; u < map.units.end; ++u)
    map.all_gated = map.all_gated && units_[at(u)].moments.shared() == 0 && units_[at(u)].moments.gated() > 0;
  lanes_of_.resize(units_.size());
  for (Index u = map.units.begin; u < map.units.end && map.all_gated; ++u) {
    lanes_of_[at(u)] = lanes_.size();
    lanes_.emplace_back(units_[at(u)].moments);
  }
  maps_.push_back(std::move(map));
}

template <class T>
void UnitMetric<T>::keep_adjoints(const CorePass<T>& core) {
  others_.measure(core);
  for (std::size_t m = 0; m < maps_.size(); ++m) {
    const Matrix<const T> b = core.unfolding().affine_adjoint(core.signal(maps_[m].node));
    if (adjoints_[m].size() != b.rows * b.cols) adjoints_[m].resize(b.rows * b.cols);
    core.team().run([&](Member& me) {
      const Range mine = me.share(b.rows, 64);
      if (b.stride == b.cols) {
        std::copy_n(b.row(mine.begin), mine.size() * b.cols, adjoints_[m].data() + mine.begin * b.cols);
        return;
      }
      for (Index r = mine.begin; r < mine.end; ++r) std::copy_n(b.row(r), b.cols, adjoints_[m].data() + r * b.cols);
    });
  }
}

template <class T>
void UnitMetric<T>::add_squares(const CorePass<T>& core, double share, bool first) {
  others_.add_squares(core, share, first);
  for (std::size_t m = 0; m < maps_.size(); ++m) {
    const Matrix<const T> b = core.unfolding().affine_adjoint(core.signal(maps_[m].node));
    if (squares_[m].size() != b.rows * b.cols) squares_[m].resize(b.rows * b.cols);
    const T k = static_cast<T>(share);
    core.team().run([&](Member& me) {
      const Range mine = me.share(b.rows, 64);
      for (Index r = mine.begin; r < mine.end; ++r) {
        T* square = squares_[m].data() + r * b.cols;
        for (Index c = 0; c < b.cols; ++c) square[c] = (first ? T{0} : square[c]) + k * (b(r, c) * b(r, c));
      }
    });
  }
}

template <class T>
Matrix<const T> UnitMetric<T>::moduli(const CorePass<T>& core, std::size_t m, Modulus modulus) const {
  if (modulus == Modulus::adjoints) return core.unfolding().affine_adjoint(core.signal(maps_[m].node));
  const Index size = maps_[m].size;
  return {squares_[m].data(), squares_[m].size() / size, size, size};
}

/// Returns the positions that a map runs over: those of its part.
template <class T>
const Structure& UnitMetric<T>::structure_of(const CorePass<T>& core, const Map& map) const {
  return core.unfolding().structure().part(core.plan().nodes()[at(map.node)].part);
}

/// Returns the values that the weights of a source multiply, [rows x size]: its values, or the result of an operator,
/// stored in inputs.row.
template <class T>
Matrix<T> UnitMetric<T>::source_rows(const CorePass<T>& core, const Map& map, const typename Map::Source& source,
                                     Range range, Inputs& inputs) const {
  const auto& order = structure_of(core, map).order();
  const auto& term = core.plan().nodes()[at(map.node)].terms()[source.term];
  const Matrix<T> rows{inputs.row.data(), range.size(), source.size, source.size};
  const Matrix<T> read = term.dense() ? rows : Matrix<T>{inputs.read.data(), range.size(), source.read, source.read};
  Index step =
      std::upper_bound(order.step_begin.begin(), order.step_begin.end(), range.begin) - order.step_begin.begin() - 1;
  const T* from = nullptr;  // rows that follow each other in memory are copied together
  Index first = 0;
  for (Index r = 0; r < rows.rows; ++r) {
    while (order.step_begin[at(step + 1)] <= range.begin + r) ++step;
    const T* row = core.unfolding().source_row(term.source, step, range.begin + r);
    if (from != nullptr && row == from + (r - first) * source.read) continue;
    if (from != nullptr) std::copy_n(from, (r - first) * source.read, read.row(first));
    from = row, first = r;
  }
  if (from != nullptr) std::copy_n(from, (rows.rows - first) * source.read, read.row(first));
  if (!term.dense()) {
    const Symbol* gates = term.gate >= 0 ? core.unfolding().symbols_read(term.gate).data() + range.begin : nullptr;
    unit_weights(term.op.get())->unit_inputs(OperatorRows<T>{.x = read, .gates = gates}, rows);
  }
  return rows;
}

/// inputs.values [rows x columns]: 1, followed by every source.
template <class T>
void UnitMetric<T>::load_inputs(const CorePass<T>& core, const Map& map, Range range, Inputs& inputs) const {
  const Matrix<double> values{inputs.values.data(), range.size(), map.columns, map.columns};
  for (Index r = 0; r < values.rows; ++r) values(r, 0) = 1;
  for (const auto& source : map.sources) {
    const Matrix<const T> rows = source_rows(core, map, source, range, inputs);
    for (Index r = 0; r < values.rows; ++r)
      for (Index j = 0; j < source.size; ++j) values(r, source.column + j) = static_cast<double>(rows(r, j));
  }
}

template <class T>
void UnitMetric<T>::accumulate(const CorePass<T>& core, Modulus modulus) {
  if (modulus == Modulus::adjoints) others_.measure_moduli(core);
  core.team().run([&](Member& me) {
    const Range mine = me.share(static_cast<Index>(units_.size()));
    for (std::size_t m = 0; m < maps_.size(); ++m) {
      const Range units{std::max(mine.begin, maps_[m].units.begin), std::min(mine.end, maps_[m].units.end)};
      if (units.begin >= units.end) continue;
      for (Index u = units.begin; u < units.end; ++u) units_[at(u)].moments.clear();
      Inputs& inputs = inputs_[at(me.id())];
      maps_[m].all_gated ? accumulate_sorted(core, m, units, modulus, inputs)
                         : accumulate_rows(core, m, units, modulus, inputs);
    }
  });
}

template <class T>
void UnitMetric<T>::accumulate_rows(const CorePass<T>& core, std::size_t m, Range units, Modulus modulus,
                                    Inputs& inputs) {
  const Map& map = maps_[m];
  const Index positions = structure_of(core, map).positions();
  for (Index begin = 0; begin < positions; begin += kTile) {
    const Range range{begin, std::min(positions, begin + kTile)};
    load_inputs(core, map, range, inputs);
    for (Index u = units.begin; u < units.end; ++u) {
      Unit& unit = units_[at(u)];
      const T* b = adjoints_[m].data() + begin * map.size + unit.component;
      const T* phi = nullptr;
      if (modulus != Modulus::outer) phi = moduli(core, m, modulus).row(begin) + unit.component;
      const Symbol* symbols = map.symbols < 0 ? nullptr : core.unfolding().symbols_read(map.symbols).data() + begin;
      unit.moments.template add<T>({inputs.values.data(), range.size(), map.columns, map.columns}, symbols, b, phi,
                                   map.size);
    }
  }
}

/// If every weight belongs to a symbol, positions are sorted by symbol so that vector instructions run over them.
template <class T>
void UnitMetric<T>::accumulate_sorted(const CorePass<T>& core, std::size_t m, Range units, Modulus modulus,
                                      Inputs& inputs) {
  const Map& map = maps_[m];
  const Index positions = structure_of(core, map).positions();
  const std::span<const Symbol> symbols = core.unfolding().symbols_read(map.symbols);
  const Index alphabet = core.plan().nodes()[at(map.symbols)].size;
  if (inputs.sorted.empty()) inputs.sorted.resize(maps_.size());
  SortedTile<T>& tile = inputs.sorted[m];
  if (const Index needed = map.columns + 2 * units.size(); tile.columns().rows < needed) {
    tile = SortedTile<T>(needed, kSortedTile, alphabet);
    tile.fill(0, T{1});
  }
  const Range components{units.begin - map.units.begin, units.end - map.units.begin};
  const Index first_b = map.columns, first_phi = map.columns + components.size();
  for (Index begin = 0; begin < positions; begin += kSortedTile) {
    const Range range{begin, std::min(positions, begin + kSortedTile)};
    const Index rows = range.size();
    tile.sort(symbols.subspan(at(begin), at(rows)));
    for (const auto& source : map.sources)
      tile.put(source_rows(core, map, source, range, inputs), {0, source.size}, source.column);
    tile.put({adjoints_[m].data() + begin * map.size, rows, map.size, map.size}, components, first_b);
    if (modulus == Modulus::outer) {
      tile.square(first_b, first_phi, components.size());
    } else {
      const Matrix<const T> phi = moduli(core, m, modulus);
      tile.put({phi.row(begin), rows, phi.cols, phi.stride}, components, first_phi);
    }
    for (Index u = units.begin; u < units.end; ++u) {
      const Index k = u - units.begin;
      lanes_[lanes_of_[at(u)]].add(tile.columns(), tile.runs(), tile.column(first_b + k), tile.column(first_phi + k));
    }
  }
  for (Index u = units.begin; u < units.end; ++u) lanes_[lanes_of_[at(u)]].move_to(units_[at(u)].moments);
}

template <class T>
void UnitMetric<T>::take_matrices(UnitMetric& other, double share, bool first) {
  others_.take_matrices(other.others_, share, first);
  for (std::size_t u = 0; u < units_.size(); ++u) {
    UnitMoments &to = units_[u].moments, &from = other.units_[u].moments;
    const auto take = [&](double& m, double n) { m = (first ? 0 : m) + share * n; };
    for (std::size_t i = 0; i < to.by_symbol().size(); ++i)
      if (static_cast<Index>(i) % to.symbol_block() < to.symbol_gradient())
        take(to.by_symbol()[i], from.by_symbol()[i]);
    for (Index i = 0; i < to.shared_gradient_begin(); ++i) take(to.by_all()[at(i)], from.by_all()[at(i)]);
  }
}

/// Replaces M by its running average; G is not averaged.
template <class T>
void UnitMetric<T>::average(std::size_t u, double keep) {
  UnitMoments& m = units_[u].moments;
  const std::span<double> by_symbol = m.by_symbol(), by_all = m.by_all();
  std::vector<T>& average = averages_[u];
  const auto mix = [&](T& mean, double present) {
    mean = static_cast<T>(keep * static_cast<double>(mean) + (1 - keep) * present);
  };
  mix(average.back(), 1);
  const auto blend = [&](double& present, T& mean) {
    mix(mean, present);
    present = static_cast<double>(mean) / static_cast<double>(average.back());
  };
  for (std::size_t i = 0; i < by_symbol.size(); ++i)
    if (static_cast<Index>(i) % m.symbol_block() < m.symbol_gradient()) blend(by_symbol[i], average[i]);
  for (std::size_t i = 0; i < by_all.size(); ++i)
    if (static_cast<Index>(i) < m.shared_gradient_begin()) blend(by_all[i], average[by_symbol.size() + i]);
}

template <class T>
void UnitMetric<T>::direction(double keep, std::span<double> direction, std::span<double> gradient) {
  others_.direction(keep, direction, gradient);
  // Where moduli are infinite, M^-1 G is 0, so such a parameter is not changed.
  for (std::size_t u = 0; u < units_.size(); ++u) {
    Unit& unit = units_[u];
    const UnitMoments& m = unit.moments;
    for (Index x = 0; x < m.alphabet(); ++x)
      for (Index j = 0; j < m.gated(); ++j)
        gradient[at(unit.gated[at(j)].first + x * unit.gated[at(j)].second)] = m.gated_gradient(x, j);
    for (Index j = 0; j < m.shared(); ++j) gradient[at(unit.shared[at(j)])] = m.shared_gradient(j);
    if (keep > 0) average(u, keep);
    switch (reduction_) {
      case Reduction::full: solve_full(unit, direction); break;
      case Reduction::quasi_diagonal: solve_quasi_diagonal(unit, direction); break;
      case Reduction::diagonal: solve_diagonal(unit, direction); break;
    }
    const auto stand_still_if_infinite = [&](Index place) {
      if (!std::isfinite(direction[at(place)])) direction[at(place)] = 0;
    };
    for (const auto& [first, step] : unit.gated)
      for (Index x = 0; x < m.alphabet(); ++x) stand_still_if_infinite(first + x * step);
    for (const Index place : unit.shared) stand_still_if_infinite(place);
  }
}

template <class T>
void UnitMetric<T>::visit_averages(StateVisitor<T>& visitor) {
  for (std::size_t u = 0; u < averages_.size(); ++u)
    visitor("average/unit" + std::to_string(u), std::span<T>(averages_[u]));
  others_.visit_averages(visitor);
}

/// Solves P delta = G for the gated weights of each symbol; with shared weights, solves the bordered system by its
/// Schur complement:
///   (S - sum_x C_x^T P_x^-1 C_x) delta = G - sum_x C_x^T P_x^-1 G_x,  delta_x = P_x^-1 (G_x - C_x delta).
template <class T>
void UnitMetric<T>::solve_full(Unit& unit, std::span<double> direction) const {
  const UnitMoments& m = unit.moments;
  const Index p = m.gated(), s = m.shared(), a = m.alphabet();
  std::vector<double> factors(at(a * p * p)), borders(at(a * p * s)), tops(at(a * p)), column(at(p));
  std::vector<double> schur(at(s * s)), right(at(s));
  for (Index i = 0; i < s; ++i) {
    for (Index j = 0; j <= i; ++j) schur[at(i * s + j)] = m.shared_moment(i, j) + (i == j ? damping_ : 0);
    right[at(i)] = m.shared_gradient(i);
  }
  for (Index x = 0; x < a && p > 0; ++x) {
    double* l = factors.data() + x * p * p;
    double* top = tops.data() + x * p;
    double* border = borders.data() + x * p * s;  // L^-1 C, by columns
    for (Index i = 0; i < p; ++i) {
      for (Index j = 0; j <= i; ++j) l[i * p + j] = m.gated_moment(x, i, j) + (i == j ? damping_ : 0);
      top[i] = m.gated_gradient(x, i);
    }
    raised_factor(l, p);
    solve_lower(l, p, p, top);
    for (Index j = 0; j < s; ++j) {
      for (Index i = 0; i < p; ++i) border[j * p + i] = m.mixed_moment(x, i, j);
      solve_lower(l, p, p, border + j * p);
      for (Index i = 0; i < p; ++i) right[at(j)] -= border[j * p + i] * top[i];
      for (Index k = 0; k <= j; ++k)
        for (Index i = 0; i < p; ++i) schur[at(j * s + k)] -= border[j * p + i] * border[k * p + i];
    }
  }
  if (s > 0) {
    raised_factor(schur.data(), s);
    solve_lower(schur.data(), s, s, right.data());
    solve_upper(schur.data(), s, s, right.data());
    for (Index j = 0; j < s; ++j) direction[at(unit.shared[at(j)])] = right[at(j)];
  }
  for (Index x = 0; x < a && p > 0; ++x) {
    double* top = tops.data() + x * p;
    for (Index j = 0; j < s; ++j)
      for (Index i = 0; i < p; ++i) top[i] -= borders[at((x * s + j) * p + i)] * right[at(j)];
    solve_upper(factors.data() + x * p * p, p, p, top);
    for (Index i = 0; i < p; ++i) direction[at(unit.gated[at(i)].first + x * unit.gated[at(i)].second)] = top[i];
  }
}

/// Assumes that all inputs are orthogonal to each other except for one that is always 1: the bias or, without a bias,
/// the weight looked up for the symbol (a set of inputs of which exactly one is 1).
template <class T>
void UnitMetric<T>::solve_quasi_diagonal(Unit& unit, std::span<double> direction) const {
  const UnitMoments& m = unit.moments;
  const Index p = m.gated(), s = m.shared(), a = m.alphabet();
  const auto gated_place = [&](Index x, Index j) { return at(unit.gated[at(j)].first + x * unit.gated[at(j)].second); };
  const Index all = a + 1;  // all symbols, plus one for no symbol
  if (unit.shared_first) {
    const double m00 = m.shared_moment(0, 0) + damping_, g0 = m.shared_gradient(0);
    double d0 = g0 / m00;
    const auto add = [&](double m0, double mjj, double g) {
      const double d = (g - g0 * m0 / m00) / std::max(mjj + damping_ - m0 * m0 / m00, damping_);
      d0 -= m0 / m00 * d;
      return d;
    };
    for (Index j = 1; j < s; ++j) {
      double m0 = 0;
      for (Index x = 0; x < all; ++x) m0 += m.first_shared(x, j);
      direction[at(unit.shared[at(j)])] = add(m0, m.shared_moment(j, j), m.shared_gradient(j));
    }
    for (Index x = 0; x < a; ++x)
      for (Index j = 0; j < p; ++j)
        direction[gated_place(x, j)] = add(m.first_gated(x, j), m.gated_moment(x, j, j), m.gated_gradient(x, j));
    direction[at(unit.shared[0])] = d0;
    return;
  }
  const bool first = unit.gated_first;
  const auto own = [&](Index x) { return m.gated_moment(x, 0, 0) + damping_; };
  std::vector<double> d_first(at(a), 0);
  for (Index x = 0; x < a && first; ++x) d_first[at(x)] = m.gated_gradient(x, 0) / own(x);
  for (Index x = 0; x < a; ++x)
    for (Index j = first ? 1 : 0; j < p; ++j) {
      const double share = first ? m.first_gated(x, j) / own(x) : 0;
      const double g = m.gated_gradient(x, j) - (first ? share * m.gated_gradient(x, 0) : 0);
      const double v = m.gated_moment(x, j, j) + damping_ - (first ? share * m.first_gated(x, j) : 0);
      const double d = g / std::max(v, damping_);
      direction[gated_place(x, j)] = d;
      d_first[at(x)] -= share * d;
    }
  for (Index j = 0; j < s; ++j) {
    double g = m.shared_gradient(j), v = m.shared_moment(j, j) + damping_;
    for (Index x = 0; x < a && first; ++x) {
      const double share = m.first_shared(x, j) / own(x);
      g -= share * m.gated_gradient(x, 0);
      v -= share * m.first_shared(x, j);
    }
    const double d = g / std::max(v, damping_);
    direction[at(unit.shared[at(j)])] = d;
    for (Index x = 0; x < a && first; ++x) d_first[at(x)] -= m.first_shared(x, j) / own(x) * d;
  }
  for (Index x = 0; x < a && first; ++x) direction[gated_place(x, 0)] = d_first[at(x)];
}

/// Assumes that all inputs are orthogonal to each other.
template <class T>
void UnitMetric<T>::solve_diagonal(Unit& unit, std::span<double> direction) const {
  const UnitMoments& m = unit.moments;
  for (Index j = 0; j < m.shared(); ++j)
    direction[at(unit.shared[at(j)])] = m.shared_gradient(j) / (m.shared_moment(j, j) + damping_);
  for (Index x = 0; x < m.alphabet(); ++x)
    for (Index j = 0; j < m.gated(); ++j)
      direction[at(unit.gated[at(j)].first + x * unit.gated[at(j)].second)] =
          m.gated_gradient(x, j) / (m.gated_moment(x, j, j) + damping_);
}

template class UnitMetric<float>;
template class UnitMetric<double>;

}  // namespace unfold
