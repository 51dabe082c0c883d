#include "graph/cells/activations.h"
#include "graph/cells/delays.h"
#include "graph/circuit/concatenation.h"
#include "unfold/graph/cells/cell.h"
#include "unfold/graph/cells/cells.h"

namespace unfold {
namespace {

/// Returns 1 where `period` divides the position, counted from the beginning of a sequence, else 0. The signal is 1 at
/// the first position, which has no predecessor, and wherever it was 1 one period earlier.
Signal awake(Circuit& c, Index n, Index period) {
  const auto plain = c.with_initial_state({});  // clocks start with the sequence, regardless of the initial state
  auto begun = c.link(n), earlier = c.link(n, Delay::previous(period));
  c.feed(begun, 0.0 * begun + 1.0);
  auto now = one_minus(begun) + earlier;
  c.feed(earlier, now);
  return now;
}

/// A group of units and its position among all units.
struct Group {
  Index first, size, period;
  Signal before;
};

/// Divides the units into groups of nearly equal size; omits empty groups.
std::vector<Group> divide(Circuit& c, Index n, const ClockworkOptions& options) {
  const auto count = static_cast<Index>(options.periods.size());
  std::vector<Group> groups;
  groups.reserve(options.periods.size());
  for (Index g = 0; g < count; ++g) {
    const Index first = n * g / count, size = n * (g + 1) / count - first;
    if (size > 0) groups.push_back({first, size, options.periods[at(g)], c.link(size, {}, options.trained_initial)});
  }
  return groups;
}

/// Returns the new state of group `own`, which reads itself and slower groups.
Signal move(Circuit& c, Signal x, const std::vector<Group>& groups, std::size_t own, Map activation) {
  const Group& g = groups[own];
  std::vector<std::string> names;
  names.reserve(groups.size());
  std::vector<Term> terms = {{"W", x}};
  terms.reserve(groups.size() + 1);
  for (std::size_t j = own; j < groups.size(); ++j) {
    names.push_back("U" + std::to_string(j + 1));
    terms.push_back({names.back(), groups[j].before, j == own ? Init::orthogonal() : Init::uniform()});
  }
  const Signal z = c.affine("z" + std::to_string(own + 1), g.size, terms);
  if (g.period == 1) return activated(c, activation, z);
  const Signal now = awake(c, g.size, g.period);
  c.compute_only_where(z, now, g.period);
  return g.before + now * (activated(c, activation, z) - g.before);
}

}  // namespace

/// Groups of units with periods p_1 < p_2 < ..: where p_g divides t = 0, 1, ..
///   h^g_t = s(x_t W_g + sum over j >= g of h^j_{t-1} U_gj + b_g),   elsewhere h^g_t = h^g_{t-1}
/// and no products of inactive groups are computed. The output concatenates all groups.        Koutnik et al. 2014
Signal clockwork(Circuit& c, Signal x, Index n, const ClockworkOptions& options) {
  if (options.periods.empty()) throw UsageError("clockwork: at least one period is needed");
  const std::vector<Group> groups = divide(c, n, options);
  std::vector<Signal> states;
  states.reserve(groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    states.push_back(move(c, x, groups, g, options.activation));
    c.feed(groups[g].before, states.back());
  }
  return concatenate(c, "out", states);
}

namespace {

/// The options as strings of a SPEC.
struct ClockworkSpec {
  Map activation = Map::tanh;
  std::string periods = "1+2+4+8";
  bool trained_initial = false;
};

template <class Visitor>
void describe(Visitor& v, ClockworkSpec& o) {
  describe_all_activations(v, o.activation);
  v.add({.name = "periods",
         .target = &o.periods,
         .help = "update periods of the groups of units, in steps",
         .fallback = OptionValue(std::string("1+2+4+8"))});
}

std::string clockwork_fault(const StackOptions& stack, const ClockworkSpec& o) {
  const std::vector<Index> periods = parse_delays(o.periods);
  if (periods.empty())
    return "periods are ascending integers from 1 to 10000 with + between them, such as 1+2+4+8; \"" + o.periods +
           "\" is not";
  if (static_cast<Index>(periods.size()) > stack.units)
    return "there are " + std::to_string(periods.size()) + " periods (one per group), but only " +
           std::to_string(stack.units) + " units";
  return "";
}

Signal clockwork_in_words(Circuit& c, Signal x, Index n, const ClockworkSpec& o) {
  return clockwork(
      c, x, n, {.activation = o.activation, .periods = parse_delays(o.periods), .trained_initial = o.trained_initial});
}

/// Reduces the groups to at most the number of units, keeping the fastest.
void keep_fastest(StackOptions&, ClockworkSpec& o, Index most) {
  std::size_t end = 0;
  for (Index kept = 0; kept < most && end != std::string::npos; ++kept)
    end = o.periods.find('+', end + (kept > 0 ? 1 : 0));
  if (end != std::string::npos) o.periods.resize(end);
}

}  // namespace

CellEntry clockwork_cell() {
  CellOf<ClockworkSpec> cell;  // assigned member by member: GCC 12 warns about the string in a temporary
  cell.name = "clockwork";
  cell.help = "groups of units that are updated only at multiples of their periods (Koutnik et al. 2014)";
  cell.add = clockwork_in_words;
  cell.fault = clockwork_fault;
  cell.with_max_units = keep_fastest;
  return cell;
}

}  // namespace unfold
