#include "unfold/graph/circuit/circuit.h"

#include <algorithm>
#include <utility>

#include "unfold/base/checks.h"

namespace unfold {
namespace {

/// Largest size of a signal and of either side of a parameter: products of two of them fit in an Index.
constexpr Index kMostSize = Index{1} << 31;

/// The parameters of a node under construction. They are placed all at once, because a map of many fields has many
/// parameters; if `place` is not called, for example after an exception, they are removed again.
class NewParameters {
 public:
  explicit NewParameters(std::vector<ParameterInfo>& all) : all_(all), before_(all.size()) {}
  NewParameters(const NewParameters&) = delete;
  NewParameters& operator=(const NewParameters&) = delete;
  ~NewParameters() {
    if (!placed_) all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(before_), all_.end());
  }

  /// Inserts the parameters in the order of names. Throws UsageError if two parameters have the same name.
  void place() {
    if (all_.size() > before_) place_all();
    placed_ = true;
  }

 private:
  void place_all() {
    std::vector<ParameterInfo*> by_name;
    by_name.reserve(all_.size());
    for (ParameterInfo& p : all_) by_name.push_back(&p);
    std::sort(by_name.begin(), by_name.end(), [](auto* a, auto* b) { return a->name < b->name; });
    const auto same = [](auto* a, auto* b) { return a->name == b->name; };
    const auto twice = std::adjacent_find(by_name.begin(), by_name.end(), same);
    if (twice != by_name.end())
      throw UsageError("circuit: parameter " + (*twice)->name + " already exists; use a scope or another name");
    Index offset = 0;
    for (ParameterInfo* p : by_name) p->offset = std::exchange(offset, offset + p->size());
  }

  std::vector<ParameterInfo>& all_;
  std::size_t before_;
  bool placed_ = false;
};

/// Calls `visit` with a reference to the index of every node that `node` (Node or const Node) reads; an operand or an
/// input of a term that is absent has the index -1.
template <class AnyNode, class Visit>
void visit_reads(AnyNode& node, const Visit& visit) {
  switch (node.kind()) {
    case Node::Kind::input:
    case Node::Kind::symbols:
    case Node::Kind::mask: return;
    case Node::Kind::link: return visit(std::get<Node::Link>(node.operation).source);
    case Node::Kind::slice: return visit(std::get<Node::Slice>(node.operation).operand);
    case Node::Kind::reorder: return visit(std::get<Node::Reorder>(node.operation).operand);
    case Node::Kind::pointwise:
      for (auto& operand : std::get<Node::Pointwise>(node.operation).operands) visit(operand);
      return;
    case Node::Kind::affine: {
      auto& affine = std::get<Node::Affine>(node.operation);
      for (auto& term : affine.terms) {
        for (auto* input : {&term.source, &term.gate, &term.keys, &term.values}) visit(*input);
        for (auto& symbols : term.symbols) visit(symbols);
      }
      return visit(affine.awake);
    }
  }
}

}  // namespace

std::vector<int> Node::reads() const {
  std::vector<int> result;
  result.reserve(kind() == Kind::pointwise ? 2 : terms().size());
  visit_reads(*this, [&](int read) {
    if (read >= 0) result.push_back(read);
  });
  return result;
}

void Node::replace_read(int from, int to) {
  visit_reads(*this, [&](int& read) {
    if (read == from) read = to;
  });
}

void Node::throw_other_operation() const {
  throw UsageError("circuit: " + name + " was read as a node with another operation");
}

Index Signal::size() const {
  if (!valid()) throw UsageError("circuit: a signal that belongs to no circuit was used");
  Index size = 0;
  for (const Signal& part : circuit->parts(*this)) size += circuit->own(part, "size").size;
  return size;
}

std::string describe(const Delay& delay) {
  static constexpr const char* kNames[] = {
      "previous", "next",         "left",        "up",           "right",    "down",       "child",  "first",
      "last",     "source_first", "source_last", "source_start", "children", "each_child", "parent", "block"};
  const std::string name = kNames[static_cast<int>(delay.along)];
  const bool counts = delay.along == Delay::Along::block ||
                      (delay.along != Delay::Along::children && delay.along != Delay::Along::parent &&
                       !delay.to_end() && !delay.crosses());
  return counts ? name + "(" + std::to_string(delay.steps) + ")" : name;
}

Delay opposite(const Delay& delay) {
  using Along = Delay::Along;
  if (delay.crosses()) return delay;
  for (const auto& [one, other] : {std::pair{Along::previous, Along::next},
                                   {Along::left, Along::right},
                                   {Along::up, Along::down},
                                   {Along::first, Along::last}}) {
    if (delay.along == one) return {other, delay.steps};
    if (delay.along == other) return {one, delay.steps};
  }
  throw UsageError("circuit: a link along " + describe(delay) + " cannot be reversed");
}

Circuit::Scope::Scope(Circuit& c, std::string_view name) : circuit_(c), length_(c.prefix_.size()) {
  c.prefix_ += name;
  c.prefix_ += '/';
}

Circuit::Scope::~Scope() { circuit_.prefix_.resize(length_); }

std::string Circuit::path(std::string_view name) const { return prefix_ + std::string(name); }

Signal Circuit::add(Node node) {
  if (node.size <= 0 || node.size > kMostSize)
    throw UsageError("circuit: " + node.name + " has size " + std::to_string(node.size) + "; sizes must be from 1 to " +
                     std::to_string(kMostSize));
  nodes_.push_back(std::move(node));
  return {this, static_cast<int>(nodes_.size()) - 1};
}

const Node& Circuit::own(Signal s, std::string_view who) const {
  if (s.circuit != this) throw UsageError("circuit: " + path(who) + " reads a signal of another circuit (or none)");
  if (s.id < 0)
    throw UsageError("circuit: " + path(who) + " reads joined signals; only a term of an affine map can read them");
  require_index("circuit: signal", s.id, static_cast<Index>(nodes_.size()));
  return nodes_[static_cast<std::size_t>(s.id)];
}

/// Does not place the parameter among the others; NewParameters of the caller does.
int Circuit::add_parameter(std::string name, Index rows, Index cols, const Init& init) {
  check(init, name, cols);
  parameters_.push_back({std::move(name), rows, cols, init, 0});
  return static_cast<int>(parameters_.size()) - 1;
}

int Circuit::parameter(std::string_view name, Index rows, Index cols, const Init& init) {
  if (rows < 1 || cols < 1 || rows > kMostSize || cols > kMostSize)
    throw UsageError("circuit: parameter " + path(name) + " of " + std::to_string(rows) + " x " + std::to_string(cols) +
                     " needs at least one row and one column, and at most " + std::to_string(kMostSize) + " of each");
  NewParameters added(parameters_);
  const int number = add_parameter(path(name), rows, cols, init);
  added.place();
  return number;
}

Index Circuit::parameter_count() const {
  Index count = 0;
  for (const ParameterInfo& p : parameters_) count += p.size();
  return count;
}

Circuit::Beginning Circuit::with_initial_state(Signal signal) {
  if (signal.circuit != nullptr) own(signal, "with_initial_state");
  return Beginning(*this, signal);
}

Circuit::InPart Circuit::in_part(int part) {
  if (part < 0) throw UsageError("circuit: there is no part " + std::to_string(part));
  return InPart(*this, part);
}

/// Checks that a node reads a signal of the same part.
void Circuit::check_part(const Node& node, Signal read) const {
  const Node& source = nodes_[static_cast<std::size_t>(read.id)];
  if (source.part != node.part)
    throw UsageError(
        "circuit: " + node.name + " belongs to part " + std::to_string(node.part) + " and reads " + source.name +
        " of part " + std::to_string(source.part) +
        "; use a link along source_first, source_last or source_start, or attention, to read another part");
}

Signal Circuit::input(std::string_view name, Index size) {
  return add({.name = path(name), .size = size, .part = part_, .operation = Node::Input{}});
}

Signal Circuit::symbols(std::string_view name, Index alphabet) {
  return add({.name = path(name), .size = alphabet, .part = part_, .operation = Node::Symbols{}});
}

Signal Circuit::link(Index size, Delay delay, bool trained_initial) {
  if (delay.along == Delay::Along::child ? delay.steps < 0 : delay.steps < 1)
    throw UsageError("circuit: a link along " + describe(delay) + " needs a number of steps of at least " +
                     (delay.along == Delay::Along::child ? "0" : "1"));
  const bool is_block = delay.along == Delay::Along::block;
  if ((delay.to_end() || delay.crosses()) && (trained_initial || (delay.steps != 1 && !is_block)))
    throw UsageError("circuit: a link along " + describe(delay) +
                     " never reads beyond the boundary; it cannot have a trained initial state or a number of steps");
  if (is_block && size % delay.width() != 0)
    throw UsageError("circuit: a link along " + describe(delay) + " has size " + std::to_string(size) +
                     ", which must be a multiple of the number of positions of the block");
  if (delay.along == Delay::Along::each_child && (trained_initial || size % delay.steps != 0))
    throw UsageError("circuit: a link along " + describe(delay) +
                     (trained_initial ? " cannot have a trained initial state"
                                      : " has size " + std::to_string(size) +
                                            ", which must be a multiple of the number of children"));
  if ((delay.along == Delay::Along::children || delay.along == Delay::Along::parent) && delay.steps != 1)
    throw UsageError("circuit: a link along " + describe(delay) + " cannot have a number of steps");
  const std::string name = path("link" + std::to_string(nodes_.size()));
  Node::Link link{.delay = turned(delay)};
  NewParameters added(parameters_);
  if (trained_initial) link.initial = add_parameter(name + "/start", 1, size, Init::zero());
  added.place();
  const bool begins = start_.valid() && part_ == 0 && !trained_initial && link.delay == Delay::previous();
  const Signal signal = add({.name = name, .size = size, .part = part_, .operation = link});
  return begins ? add_initial_state(signal) : signal;
}

/// Applies reversed() and mirrored() to a delay.
Delay Circuit::turned(const Delay& delay) const {
  using Along = Delay::Along;
  const bool in_row = delay.along == Along::left || delay.along == Along::right;
  const bool in_column = delay.along == Along::up || delay.along == Along::down;
  const bool mirrored = (in_row && mirrored_rows_) || (in_column && mirrored_columns_);
  return reversed_ != mirrored ? opposite(delay) : delay;
}

/// Returns the link plus a map of start_ that is zero except at the first position. The map has the activation of
/// start_ if this is ReLU, so that a homogeneous circuit stays homogeneous, and otherwise tanh.
Signal Circuit::add_initial_state(Signal link) {
  const Node& node = nodes_[static_cast<std::size_t>(link.id)];
  const Index size = node.size;
  const std::string name = node.name.substr(prefix_.size()) + "/start";
  const Node& given = nodes_[static_cast<std::size_t>(start_.id)];
  const bool rectified = given.kind() == Node::Kind::pointwise && given.pointwise().map == Map::relu;
  const Signal z = affine(name, size, {{.parameter = "Q", .source = start_}});
  const Signal start = map(rectified ? Map::relu : Map::tanh, z);
  const Signal first =
      add({.name = path(name + "/first"), .size = size, .operation = Node::Link{.delay = Delay::source_start()}});
  feed(first, start);
  const Signal begun = link + first;
  begun_.emplace_back(begun.id, link.id);
  return begun;
}

Signal Circuit::link_like(const Node& node, const std::vector<ParameterInfo>& parameters) {
  if (node.kind() != Node::Kind::link) throw UsageError("circuit: link_like: " + node.name + " is not a link");
  Node::Link copy{.delay = node.link().delay};
  const int initial = node.link().initial;
  if (initial >= 0) require_index("circuit: link_like: parameter", initial, static_cast<Index>(parameters.size()));
  NewParameters added(parameters_);
  if (initial >= 0)
    copy.initial = add_parameter(parameters[static_cast<std::size_t>(initial)].name, 1, node.size, Init::zero());
  added.place();
  return add({.name = node.name, .size = node.size, .part = part_, .operation = copy});
}

void Circuit::feed(Signal link, Signal source) {
  for (const auto& [begun, original] : begun_)
    if (link.circuit == this && link.id == begun) link.id = original;
  const Node& l = own(link, "feed");
  const Node& s = own(source, "feed");
  if (l.kind() != Node::Kind::link) throw UsageError("circuit: feed: " + l.name + " is not a link");
  const Delay delay = l.link().delay;
  const bool trained_initial = l.link().initial >= 0;
  if (l.link().source >= 0) throw UsageError("circuit: feed: " + l.name + " is already fed");
  if (s.kind() == Node::Kind::symbols) throw UsageError("circuit: feed: " + s.name + " contains symbols, not numbers");
  if (l.size != s.size * delay.width())
    throw UsageError("circuit: feed: " + l.name + " has size " + std::to_string(l.size) + ", but its source " + s.name +
                     " has " + std::to_string(s.size));
  if (!delay.crosses()) check_part(l, source);
  if (delay.crosses() && s.part <= l.part)
    throw UsageError("circuit: feed: " + l.name + " reads along " + describe(delay) + " from part " +
                     std::to_string(l.part) + ", but " + s.name + " belongs to part " + std::to_string(s.part) +
                     ", which is not deeper");
  // Links that share a source share its memory beyond the boundary. A link of a link, or a second link with a trained
  // initial state, gets a separate source. So does a link with a trained initial state whose source does not depend on
  // parameters, because its adjoint needs memory.
  bool own_source = s.kind() == Node::Kind::link ||
                    (trained_initial && (s.kind() == Node::Kind::input || s.kind() == Node::Kind::slice));
  for (const Node& other : nodes_)
    if (other.kind() == Node::Kind::link && other.link().source == source.id &&
        (other.link().initial >= 0 || trained_initial))
      own_source = true;
  const int id = own_source ? map(Map::copy, source).id : source.id;
  std::get<Node::Link>(nodes_[static_cast<std::size_t>(link.id)].operation).source = id;
}

Node::AffineTerm Circuit::add_term(const Node& affine, const Term& term) {
  if (term.op != nullptr) return add_operator(affine, term);
  const std::string name = affine.name + "/" + std::string(term.parameter);
  const Node& source = own(term.source, affine.name);
  if (term.gate.valid())
    throw UsageError("circuit: the matrix " + name + " has a gate; only operators read one, such as sparse ones");
  if (term.keys.valid() || term.values.valid())
    throw UsageError("circuit: the matrix " + name + " has a memory; only operators read one, such as attention");
  return {.parameter = add_parameter(name, source.size, affine.size, term.init), .source = term.source.id};
}

Node::AffineTerm Circuit::add_operator(const Node& affine, const Term& term) {
  const Operator& op = *term.op;
  const std::string name = affine.name + "/" + std::string(term.parameter);
  const std::string who = "circuit: the " + std::string(op.name()) + " term " + name;
  if (op.reads_symbols() > 0) return add_symbol_operator(affine, term, name, who);
  const Node& source = own(term.source, affine.name);
  if (source.kind() == Node::Kind::symbols)
    throw UsageError(who + " reads symbols " + source.name + "; a lookup needs no operator");
  if (op.inputs() != source.size || op.outputs() != affine.size)
    throw UsageError(who + " maps " + std::to_string(op.inputs()) + " components to " + std::to_string(op.outputs()) +
                     ", but " + source.name + " has " + std::to_string(source.size) + " and " + affine.name + " " +
                     std::to_string(affine.size));
  if (op.reads_gate() != term.gate.valid())
    throw UsageError(who + (op.reads_gate() ? " has no gate, which its operator reads"
                                            : " has a gate, which its operator does not read"));
  Node::AffineTerm result{.parameter = -1, .source = term.source.id, .op = term.op};
  Index alphabet = 0;
  if (term.gate.valid()) {
    const Node& gate = own(term.gate, affine.name);
    if (gate.kind() != Node::Kind::symbols)
      throw UsageError("circuit: the gate of " + name + " is " + gate.name + ", which does not contain symbols");
    result.gate = term.gate.id;
    alphabet = gate.size;
  }
  if (op.has_memory() != term.keys.valid() || op.has_memory() != term.values.valid())
    throw UsageError(who + (op.has_memory() ? " has no keys or no values, which its operator reads"
                                            : " has keys or values, which its operator does not read"));
  if (op.has_memory()) {
    const Node &keys = own(term.keys, affine.name), &values = own(term.values, affine.name);
    if (keys.size != op.key_size() || values.size != op.value_size())
      throw UsageError(who + " reads keys of " + std::to_string(op.key_size()) + " and values of " +
                       std::to_string(op.value_size()) + " components, but " + keys.name + " has " +
                       std::to_string(keys.size) + " and " + values.name + " " + std::to_string(values.size));
    if (keys.kind() == Node::Kind::symbols || values.kind() == Node::Kind::symbols)
      throw UsageError(who + " has keys or values that are symbols; it needs vectors");
    if (keys.part != values.part || keys.part <= source.part)
      throw UsageError(who + " reads " + keys.name + " and " + values.name +
                       ", which must belong to the same part, deeper than that of " + source.name);
    result.keys = term.keys.id;
    result.values = term.values.id;
  }
  const ParameterShape shape = op.parameter_shape(alphabet);
  result.parameter = add_parameter(name, shape.rows, shape.cols, term.init);
  return result;
}

Node::AffineTerm Circuit::add_symbol_operator(const Node& affine, const Term& term, const std::string& name,
                                              const std::string& who) {
  const Operator& op = *term.op;
  if (static_cast<Index>(term.symbols.size()) != op.reads_symbols() || term.symbols.front().id != term.source.id)
    throw UsageError(who + " reads " + std::to_string(op.reads_symbols()) +
                     " symbol signals, the first of which must be its source, but gets " +
                     std::to_string(term.symbols.size()));
  if (op.outputs() != affine.size)
    throw UsageError(who + " gives " + std::to_string(op.outputs()) + " components, but " + affine.name + " has " +
                     std::to_string(affine.size));
  Node::AffineTerm result{.parameter = -1, .source = term.source.id, .op = term.op};
  for (const Signal symbols : term.symbols) {
    const Node& node = own(symbols, affine.name);
    if (node.kind() != Node::Kind::symbols)
      throw UsageError(who + " reads symbols, but " + node.name + " contains none");
    result.symbols.push_back(symbols.id);
  }
  const ParameterShape shape = op.parameter_shape(0);
  result.parameter = add_parameter(name, shape.rows, shape.cols, term.init);
  return result;
}

Signal Circuit::affine(std::string_view name, Index size, const std::vector<Term>& terms, const Init& bias,
                       bool with_bias) {
  Node node{.name = path(name), .size = size};
  if (terms.empty()) throw UsageError("circuit: affine " + node.name + " has no terms");
  Node::Affine map;
  NewParameters added(parameters_);
  for (const Term& term : terms) {
    if (term.source.circuit != this || term.source.id >= 0) {
      map.terms.push_back(add_term(node, term));
      continue;
    }
    int number = 0;
    for (const Signal& part : parts(term.source)) {
      const std::string parameter = std::string(term.parameter) + std::to_string(++number);
      Term one = term;
      one.parameter = parameter;
      one.source = part;
      map.terms.push_back(add_term(node, one));
    }
  }
  node.part = nodes_[static_cast<std::size_t>(map.terms.front().source)].part;
  for (const Node::AffineTerm& term : map.terms) {
    check_part(node, {this, term.source});
    if (term.gate >= 0) check_part(node, {this, term.gate});
    for (const int symbols : term.symbols) check_part(node, {this, symbols});
  }
  if (with_bias) map.bias = add_parameter(node.name + "/bias", 1, size, bias);
  added.place();
  node.operation = std::move(map);
  return add(std::move(node));
}

Signal Circuit::map(Map map, Signal x, double k) {
  const MapInfo& info = map_info(map);
  const Node& a = own(x, info.name);
  if (info.arity != 1) throw UsageError("circuit: map " + std::string(info.name) + " needs two operands");
  if (a.kind() == Node::Kind::symbols)
    throw UsageError("circuit: map " + std::string(info.name) + " reads symbols " + a.name +
                     "; only an affine term can read them");
  return add({.name = path(std::string(info.name) + std::to_string(nodes_.size())),
              .size = a.size,
              .part = a.part,
              .operation = Node::Pointwise{.map = map, .operands = {x.id, -1}, .constant = k}});
}

Signal Circuit::map(Map map, Signal x, Signal y) {
  const MapInfo& info = map_info(map);
  const Node& a = own(x, info.name);
  const Node& b = own(y, info.name);
  if (info.arity != 2) throw UsageError("circuit: map " + std::string(info.name) + " takes one operand");
  if (a.kind() == Node::Kind::symbols || b.kind() == Node::Kind::symbols)
    throw UsageError("circuit: map " + std::string(info.name) + " reads symbols; only an affine term can read them");
  if (a.size != b.size)
    throw UsageError("circuit: map " + std::string(info.name) + ": " + a.name + " has size " + std::to_string(a.size) +
                     ", but " + b.name + " has " + std::to_string(b.size));
  Node node{.name = path(std::string(info.name) + std::to_string(nodes_.size())),
            .size = a.size,
            .part = a.part,
            .operation = Node::Pointwise{.map = map, .operands = {x.id, y.id}}};
  check_part(node, y);
  return add(std::move(node));
}

Signal Circuit::slice(Signal x, Index offset, Index size) {
  const Node& a = own(x, "slice");
  if (a.kind() == Node::Kind::symbols) throw UsageError("circuit: slice: " + a.name + " contains symbols, not numbers");
  if (offset < 0 || size < 1 || offset > a.size || size > a.size - offset)
    throw UsageError("circuit: slice of " + std::to_string(size) + " components from " + std::to_string(offset) +
                     " on is not within " + a.name + ", which has size " + std::to_string(a.size));
  return add({.name = a.name + "[" + std::to_string(offset) + "]",
              .size = size,
              .part = a.part,
              .operation = Node::Slice{.operand = x.id, .offset = offset}});
}

Signal Circuit::dropout(Signal x, double rate, Lasts lasts) {
  if (!(rate >= 0 && rate < 1)) throw UsageError("circuit: dropout rate " + std::to_string(rate) + " is not in [0, 1)");
  if (rate == 0) return x;
  const Node& a = own(x, "dropout");
  const Signal mask = add({.name = path("mask" + std::to_string(nodes_.size())),
                           .size = a.size,
                           .part = a.part,
                           .operation = Node::Mask{.rate = rate, .lasts = lasts}});
  return map(Map::mul, x, mask);
}

Signal Circuit::mask_like(const Node& mask) {
  if (mask.kind() != Node::Kind::mask) throw UsageError("circuit: mask_like: " + mask.name + " is not a mask");
  return add({.name = mask.name, .size = mask.size, .operation = mask.mask()});
}

void Circuit::compute_only_where(Signal affine, Signal awake, Index period) {
  const Node& a = own(awake, "only_where");
  const Node& wanted = own(affine, "only_where");
  if (wanted.kind() != Node::Kind::affine || wanted.affine().awake >= 0)
    throw UsageError("circuit: only_where: " + wanted.name + " is not an affine map, or already has a condition");
  for (const Node::AffineTerm& term : wanted.terms())
    if (!term.dense())
      throw UsageError("circuit: only_where: " + wanted.name + " has a " + std::string(term.op->name()) +
                       " map, which is computed everywhere");
  if (period < 1) throw UsageError("circuit: only_where: invalid period of " + std::to_string(period) + " positions");
  check_part(wanted, awake);
  if (a.kind() == Node::Kind::symbols) throw UsageError("circuit: only_where: " + a.name + " contains symbols");
  auto& map = std::get<Node::Affine>(nodes_[static_cast<std::size_t>(affine.id)].operation);
  map.awake = awake.id;
  map.period = period;
}

Signal Circuit::join(std::vector<Signal> parts) {
  if (parts.empty()) throw UsageError("circuit: join requires at least one signal");
  for (const Signal& part : parts)
    if (own(part, "join").kind() == Node::Kind::symbols)
      throw UsageError("circuit: join: " + own(part, "join").name + " contains symbols, not numbers");
  joins_.push_back(std::move(parts));
  return {this, -static_cast<int>(joins_.size())};
}

std::vector<Signal> Circuit::parts(Signal x) const {
  if (x.circuit != this) throw UsageError("circuit: a signal of another circuit (or none) was used");
  if (x.id >= 0) return {x};
  require_index("circuit: joined signal", -1 - Index{x.id}, static_cast<Index>(joins_.size()));
  return joins_[static_cast<std::size_t>(-1 - x.id)];
}

bool Circuit::is_symbols(Signal x) const {
  return x.circuit == this && x.id >= 0 && x.id < static_cast<int>(nodes_.size()) &&
         nodes_[static_cast<std::size_t>(x.id)].kind() == Node::Kind::symbols;
}

bool Circuit::is_read(Signal x) const {
  return std::ranges::any_of(nodes_, [&](const Node& node) { return std::ranges::count(node.reads(), x.id) > 0; });
}

void Circuit::output(Signal x) {
  const Node& a = own(x, "output");
  if (a.kind() == Node::Kind::symbols) throw UsageError("circuit: symbols " + a.name + " cannot be an output");
  if (a.kind() == Node::Kind::link || a.kind() == Node::Kind::slice || a.kind() == Node::Kind::mask)
    throw UsageError("circuit: output " + a.name + " is a view of another signal; declare map(Map::copy, x) instead");
  if (std::find(outputs_.begin(), outputs_.end(), x.id) == outputs_.end()) outputs_.push_back(x.id);
}

void Circuit::validate() const {
  if (outputs_.empty()) throw UsageError("circuit: no output is declared; call output");
  for (const Node& node : nodes_)
    if (node.kind() == Node::Kind::link && node.link().source < 0)
      throw UsageError("circuit: " + node.name + " is never fed; call feed");
}

namespace {

Circuit& circuit_of(Signal x) {
  if (!x.valid()) throw UsageError("circuit: a signal that belongs to no circuit was used");
  return *x.circuit;
}

}  // namespace

Signal operator+(Signal x, Signal y) { return circuit_of(x).map(Map::add, x, y); }
Signal operator-(Signal x, Signal y) { return circuit_of(x).map(Map::sub, x, y); }
Signal operator*(Signal x, Signal y) { return circuit_of(x).map(Map::mul, x, y); }
Signal operator*(double k, Signal x) { return circuit_of(x).map(Map::scale, x, k); }
Signal operator+(Signal x, double k) { return circuit_of(x).map(Map::shift, x, k); }
Signal operator-(double k, Signal x) { return -1 * x + k; }
Signal sigmoid(Signal x) { return circuit_of(x).map(Map::sigmoid, x); }
Signal tanh(Signal x) { return circuit_of(x).map(Map::tanh, x); }
Signal hard_sigmoid(Signal x) { return circuit_of(x).map(Map::hard_sigmoid, x); }
Signal relu(Signal x) { return circuit_of(x).map(Map::relu, x); }
Signal softplus(Signal x) { return circuit_of(x).map(Map::softplus, x); }
Signal exp(Signal x) { return circuit_of(x).map(Map::exp, x); }
Signal log(Signal x) { return circuit_of(x).map(Map::log, x); }
Signal square(Signal x) { return circuit_of(x).map(Map::square, x); }
Signal one_minus(Signal x) { return circuit_of(x).map(Map::one_minus, x); }

}  // namespace unfold
