#include "model/stored_cell/circuit_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/printable.h"
#include "graph/stored/operator_record.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/json.h"

namespace unfold {
namespace {

using Json = nlohmann::json;

constexpr int kCircuitVersion = 1;
constexpr std::size_t kMostName = 256;
constexpr Index kMostParts = 16;

constexpr std::array<std::string_view, 16> kAlong = {
    "previous", "next",         "left",        "up",           "right",    "down",       "child",  "first",
    "last",     "source-first", "source-last", "source-start", "children", "each-child", "parent", "block"};
constexpr std::array<std::string_view, 10> kInits = {"constant",   "uniform",  "positive", "normal",     "glorot",
                                                     "orthogonal", "identity", "sparse",   "normalized", "chrono"};

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw UsageError(fmt::format("circuit: {} {}", where, what));
}

template <std::size_t count>
Index index_of(const std::array<std::string_view, count>& names, std::string_view name, const std::string& where) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) fail(where, fmt::format("has an unknown value {}", in_quotes(name)));
  return found - names.begin();
}

Map map_named(std::string_view name, const std::string& where) {
  for (int m = 0; m < kMapCount; ++m)
    if (map_info(static_cast<Map>(m)).name == name) return static_cast<Map>(m);
  fail(where, fmt::format("has an unknown map {}", in_quotes(name)));
}

double finite(double x, const std::string& where) {
  if (!std::isfinite(x)) fail(where, "has a number that is not finite, which cannot be stored");
  return x;
}

// ---------------------------------------------------------------------------------------------------------- reading

/// An object of the file whose members are read one by one; all members must be read.
class Members {
 public:
  Members(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) fail(where_, "is not an object");
  }

  const std::string& where() const { return where_; }
  const Json* find(const char* key) {
    const auto found = json_.find(key);
    if (found == json_.end()) return nullptr;
    ++read_;
    return &*found;
  }
  const Json& get(const char* key) {
    if (const Json* found = find(key)) return *found;
    fail(where_, fmt::format("has no \"{}\"", key));
  }
  std::string text(const char* key, const char* fallback = nullptr) {
    const Json* found = fallback == nullptr ? &get(key) : find(key);
    if (found == nullptr) return fallback;
    if (!found->is_string() || found->get_ref<const std::string&>().size() > kMostName)
      fail(where_, fmt::format("has a \"{}\" that is not a text of at most {} bytes", key, kMostName));
    return found->get<std::string>();
  }
  Index whole(const char* key, Index low, Index high) { return whole(get(key), key, low, high); }
  Index whole(const char* key, Index low, Index high, Index fallback) {
    const Json* found = find(key);
    return found == nullptr ? fallback : whole(*found, key, low, high);
  }
  double number(const char* key, double fallback) {
    const Json* found = find(key);
    if (found == nullptr) return fallback;
    if (!found->is_number()) fail(where_, fmt::format("has a \"{}\" that is not a number", key));
    return finite(found->get<double>(), where_);
  }
  bool flag(const char* key) {
    const Json* found = find(key);
    if (found != nullptr && !found->is_boolean())
      fail(where_, fmt::format("has a \"{}\" that is not true or false", key));
    return found != nullptr && found->get<bool>();
  }
  const Json& list(const char* key) {
    const Json& found = get(key);
    if (!found.is_array()) fail(where_, fmt::format("has a \"{}\" that is not a list", key));
    return found;
  }
  /// Returns a list of node indices; empty if it is optional and missing.
  std::vector<int> ids(const char* key, bool is_optional = false) {
    std::vector<int> result;
    if (is_optional && !json_.contains(key)) return result;
    for (const Json& id : list(key)) result.push_back(static_cast<int>(whole(id, key, 0, kMostStoredNodes)));
    return result;
  }
  void require_all_read() const {
    if (read_ != json_.size()) fail(where_, "has members that do not belong to it");
  }

 private:
  Index whole(const Json& value, const char* key, Index low, Index high) const {
    const auto number = whole_number<Index>(value);
    if (!number || *number < low || *number > high)
      fail(where_, fmt::format("has a \"{}\" that is not an integer from {} to {}", key, low, high));
    return *number;
  }

  const Json& json_;
  std::string where_;
  std::size_t read_ = 0;
};

std::vector<double> numbers_of(const Json& json, const std::string& where) {
  if (!json.is_array()) fail(where, "has a value that is not a list of numbers");
  std::vector<double> result;
  result.reserve(json.size());
  for (const Json& x : json) {
    if (!x.is_number()) fail(where, "has a list of values that are not numbers");
    result.push_back(finite(x.get<double>(), where));
  }
  return result;
}

Init init_of(const Json& json, const std::string& where) {
  constexpr Index kMost = Index{1} << 31;
  Members members(json, where);
  Init init;
  init.kind = static_cast<Init::Kind>(index_of(kInits, members.text("kind"), where));
  init.scale = members.number("scale", init.scale);
  init.count = members.whole("count", 0, kMost, init.count);
  init.blocks = members.whole("blocks", 1, kMost, init.blocks);
  if (const Json* values = members.find("values")) init.values = numbers_of(*values, where);
  members.require_all_read();
  return init;
}

/// Counts the components of a circuit to enforce the bounds.
class Budget {
 public:
  void spend(Index numbers, const std::string& where) {
    if (numbers > left_) fail(where, fmt::format("exceeds the limit of {} numbers per position", kMostStoredNumbers));
    left_ -= numbers;
  }

 private:
  Index left_ = kMostStoredNumbers;
};

class CircuitReader {
 public:
  CircuitData read(const Json& json) {
    Members all(json, "the circuit");
    if (const Index version = all.whole("version", 0, kMostStoredNodes); version != kCircuitVersion)
      fail(all.where(), fmt::format("is of version {}, but this program reads {}; use a later version of Unfold",
                                    version, kCircuitVersion));
    const Json& nodes = all.list("nodes");
    if (static_cast<Index>(nodes.size()) > kMostStoredNodes)
      fail(all.where(), fmt::format("has {} nodes; at most {} are allowed", nodes.size(), kMostStoredNodes));
    for (const Json& node : nodes) read_node(node);
    data_.outputs = all.ids("outputs");
    if (const Json* parameters = all.find("parameters")) read_parameters(*parameters);
    all.require_all_read();
    return std::move(data_);
  }

 private:
  void read_node(const Json& json) {
    Members m(json, fmt::format("node {}", data_.nodes.size()));
    const std::string kind = m.text("kind");
    Node node;
    node.name = m.text("name", "");
    node.part = static_cast<int>(m.whole("part", 0, kMostParts, 0));
    if (kind == "input" || kind == "symbols") {
      if (kind == "symbols") node.operation = Node::Symbols{};
      node.size = size(m);
      if (kind == "input") spend(node.size, m);
    } else if (kind == "link") {
      node.operation = read_link(m, node);
    } else if (kind == "affine") {
      node.operation = read_affine(m, node);
    } else if (kind == "map") {
      Node::Pointwise map{.map = map_named(m.text("map"), m.where()), .operands = read_operands(m)};
      map.constant = m.number("constant", 0);
      node.size = spend(read_size(map.operands[0]), m);
      node.operation = map;
    } else if (kind == "slice") {
      const int operand = read_operands(m)[0];
      node.operation = Node::Slice{.operand = operand, .offset = m.whole("offset", 0, kMostSize)};
      node.size = size(m);
    } else if (kind == "mask") {
      const double rate = m.number("rate", 0);
      node.operation = Node::Mask{.rate = rate, .lasts = m.flag("variational") ? Lasts::sequence : Lasts::position};
      node.size = 1;  // size of the signal that the next node masks
    } else {
      fail(m.where(), fmt::format("is of an unknown kind {}", in_quotes(kind)));
    }
    m.require_all_read();
    data_.nodes.push_back(std::move(node));
  }

  static constexpr Index kMostSize = Index{1} << 31;
  Index size(Members& m) { return m.whole("size", 1, kMostSize); }
  Index spend(Index numbers, const Members& m) {
    budget_.spend(numbers, m.where());
    return numbers;
  }
  /// Returns the size of a node that has been read; 0 if there is no such node.
  Index read_size(int id) const {
    return id >= 0 && static_cast<std::size_t>(id) < data_.nodes.size() ? data_.nodes[static_cast<std::size_t>(id)].size
                                                                        : 0;
  }
  Index size_of_symbols(int id) const {
    return read_size(id) > 0 && data_.nodes[static_cast<std::size_t>(id)].kind() == Node::Kind::symbols ? read_size(id)
                                                                                                        : 0;
  }

  std::array<int, 2> read_operands(Members& m) {
    const std::vector<int> ids = m.ids("of");
    std::array<int, 2> operands = {-1, -1};
    if (ids.empty() || ids.size() > operands.size()) fail(m.where(), "reads the wrong number of nodes");
    std::ranges::copy(ids, operands.begin());
    return operands;
  }

  Node::Link read_link(Members& m, Node& node) {
    node.size = size(m);
    const auto along = static_cast<Delay::Along>(index_of(kAlong, m.text("along"), m.where()));
    const Index steps = m.whole("steps", 0, kMostStoredNumbers, 1);
    if (steps > 0 && node.size > kMostStoredNumbers / steps)
      fail(m.where(), "reads positions that are too far back for its size");
    spend(node.size * steps, m);
    Node::Link link{.delay = {along, steps}, .source = static_cast<int>(m.whole("source", 0, kMostStoredNodes))};
    if (m.flag("trained-initial")) {
      link.initial = static_cast<int>(data_.parameters.size());
      data_.parameters.push_back({.name = node.name + "/start", .rows = 1, .cols = node.size, .init = Init::zero()});
    }
    return link;
  }

  Node::Affine read_affine(Members& m, Node& node) {
    node.size = size(m);
    spend(node.size, m);
    Node::Affine map;
    for (const Json& term : m.list("terms"))
      map.terms.push_back(read_term(Members(term, m.where() + ": a term"), node));
    if (const Json* bias = m.find("bias")) {
      map.bias = static_cast<int>(data_.parameters.size());
      data_.parameters.push_back({.name = node.name + "/bias",
                                  .rows = 1,
                                  .cols = node.size,
                                  .init = init_of(*bias, m.where() + ": the bias")});
    }
    if (const Json* only = m.find("only-where")) {
      Members condition(*only, m.where() + ": only-where");
      map.awake = static_cast<int>(condition.whole("nonzero", 0, kMostStoredNodes));
      map.period = condition.whole("period", 1, kMostSize);
      condition.require_all_read();
    }
    return map;
  }

  Node::AffineTerm read_term(Members m, const Node& node) {
    Node::AffineTerm term{.parameter = static_cast<int>(data_.parameters.size()),
                          .source = static_cast<int>(m.whole("source", 0, kMostStoredNodes))};
    ParameterInfo p{.name = node.name + "/" + m.text("name"), .init = Init::uniform()};
    if (const Json* init = m.find("init")) p.init = init_of(*init, m.where() + ": init");
    const auto id = [&](const char* key) { return static_cast<int>(m.whole(key, 0, kMostStoredNodes, -1)); };
    term.gate = id("gate"), term.keys = id("keys"), term.values = id("values");
    std::vector<Index> alphabets;
    term.symbols = m.ids("symbols", true);
    for (const int read : term.symbols) alphabets.push_back(size_of_symbols(read));
    if (const Json* op = m.find("operator"))
      term.op = read_operator(Members(*op, m.where() + ": operator"), node, term, alphabets);
    m.require_all_read();
    data_.parameters.push_back(std::move(p));
    return term;
  }

  std::shared_ptr<const Operator> read_operator(Members m, const Node& node, const Node::AffineTerm& term,
                                                const std::vector<Index>& alphabets) {
    OperatorRecord record{.kind = m.text("kind")};
    if (const Json* constants = m.find("constants")) {
      if (!constants->is_object()) fail(m.where(), "has constants that are not an object");
      for (const auto& [name, values] : constants->items())
        record.constants.emplace(name, numbers_of(values, m.where()));
    }
    m.require_all_read();
    const Index inputs = term.symbols.empty() ? read_size(term.source) : 1;
    if (inputs < 1) fail(m.where(), "reads a node that does not exist or comes later");
    if (term.symbols.empty() && size_of_symbols(term.source) > 0) fail(m.where(), "reads symbols, not numbers");
    spend(inputs + node.size, m);
    return operator_of(record, {.inputs = inputs, .outputs = node.size, .alphabets = alphabets});
  }

  void read_parameters(const Json& json) {
    if (!json.is_array()) fail("the circuit", "has parameters that are not a list");
    constexpr Index kMostSide = Index{1} << 31;
    for (const Json& one : json) {
      Members m(one, "a parameter");
      data_.parameters.push_back({.name = m.text("name"),
                                  .rows = m.whole("rows", 1, kMostSide),
                                  .cols = m.whole("cols", 1, kMostSide),
                                  .init = init_of(m.get("init"), "a parameter: init")});
      m.require_all_read();
    }
  }

  CircuitData data_;
  Budget budget_;
};

// ---------------------------------------------------------------------------------------------------------- writing

Json numbers_to_json(const std::vector<double>& values, const std::string& where) {
  constexpr double kExact = 9007199254740992.0;  // integers up to 2^53 are written without a fraction
  Json list = Json::array();
  for (const double x : values)
    if (x == std::floor(x) && std::fabs(finite(x, where)) < kExact && !(x == 0 && std::signbit(x)))
      list.push_back(static_cast<Index>(x));
    else
      list.push_back(finite(x, where));
  return list;
}

class CircuitWriter {
 public:
  explicit CircuitWriter(const CircuitData& data) : data_(data), is_written_(data.parameters.size(), 0) {}

  Json write() {
    if (static_cast<Index>(data_.nodes.size()) > kMostStoredNodes)
      fail("the circuit",
           fmt::format("has {} nodes; a file can store at most {}", data_.nodes.size(), kMostStoredNodes));
    Json nodes = Json::array();
    for (const Node& node : data_.nodes) nodes.push_back(node_json(node));
    Json result = {{"version", kCircuitVersion}, {"nodes", std::move(nodes)}, {"outputs", data_.outputs}};
    Json others = Json::array();
    for (std::size_t p = 0; p < data_.parameters.size(); ++p) {
      const ParameterInfo& info = data_.parameters[p];
      if (is_written_[p] == 0)
        others.push_back(
            {{"name", info.name}, {"rows", info.rows}, {"cols", info.cols}, {"init", init_to_json(info.init)}});
    }
    if (!others.empty()) result["parameters"] = std::move(others);
    return result;
  }

 private:
  const ParameterInfo& parameter(int id) {
    is_written_[static_cast<std::size_t>(id)] = 1;
    return data_.parameters[static_cast<std::size_t>(id)];
  }

  Json node_json(const Node& node) {
    Json json = {{"kind", kind_of(node)}};
    if (node.part != 0) json["part"] = node.part;
    // Other nodes keep only the scope of their names when they are added again.
    const std::size_t slash = node.name.rfind('/');
    const bool is_named =
        node.kind() == Node::Kind::input || node.kind() == Node::Kind::symbols || node.kind() == Node::Kind::affine;
    if (is_named)
      json["name"] = node.name;
    else if (node.kind() != Node::Kind::slice && slash != std::string::npos)
      json["name"] = node.name.substr(0, slash + 1);
    switch (node.kind()) {
      case Node::Kind::input:
      case Node::Kind::symbols: json["size"] = node.size; break;
      case Node::Kind::link: add_link(node, json); break;
      case Node::Kind::affine: add_affine(node, json); break;
      case Node::Kind::pointwise: add_map(node, json); break;
      case Node::Kind::slice:
        json["of"] = Json::array({node.slice().operand});
        json["offset"] = node.slice().offset;
        json["size"] = node.size;
        break;
      case Node::Kind::mask:
        json["rate"] = node.mask().rate;
        if (node.mask().lasts == Lasts::sequence) json["variational"] = true;
        break;
      case Node::Kind::reorder: fail(node.name, "is of a kind that occurs only in plans");
    }
    return json;
  }

  static const char* kind_of(const Node& node) {
    switch (node.kind()) {
      case Node::Kind::input: return "input";
      case Node::Kind::symbols: return "symbols";
      case Node::Kind::link: return "link";
      case Node::Kind::affine: return "affine";
      case Node::Kind::pointwise: return "map";
      case Node::Kind::slice: return "slice";
      case Node::Kind::mask: return "mask";
      case Node::Kind::reorder: break;
    }
    return "reorder";
  }

  static void add_map(const Node& node, Json& json) {
    const auto& [map, operands, constant] = node.pointwise();
    json["map"] = map_info(map).name;
    json["of"] = Json::array({operands[0]});
    if (operands[1] >= 0) json["of"].push_back(operands[1]);
    if (constant != 0 || std::signbit(constant)) json["constant"] = finite(constant, node.name);
  }

  void add_link(const Node& node, Json& json) {
    const auto& [delay, source, initial] = node.link();
    json["size"] = node.size;
    json["along"] = kAlong.at(static_cast<std::size_t>(delay.along));
    if (delay.steps != 1) json["steps"] = delay.steps;
    json["source"] = source;
    if (initial >= 0) {
      parameter(initial);
      json["trained-initial"] = true;
    }
  }

  void add_affine(const Node& node, Json& json) {
    const auto& [terms, bias, awake, period] = node.affine();
    json["size"] = node.size;
    json["terms"] = Json::array();
    for (const Node::AffineTerm& term : terms) json["terms"].push_back(term_json(node, term));
    if (bias >= 0) json["bias"] = init_to_json(parameter(bias).init);
    if (awake >= 0) json["only-where"] = {{"nonzero", awake}, {"period", period}};
  }

  Json term_json(const Node& node, const Node::AffineTerm& term) {
    const ParameterInfo& p = parameter(term.parameter);
    Json json = {{"name", p.name.substr(node.name.size() + 1)}, {"source", term.source}};
    if (Json init = init_to_json(p.init); init != init_to_json(Init::uniform())) json["init"] = std::move(init);
    if (term.gate >= 0) json["gate"] = term.gate;
    if (term.keys >= 0) json["keys"] = term.keys;
    if (term.values >= 0) json["values"] = term.values;
    if (!term.symbols.empty()) json["symbols"] = term.symbols;
    if (term.op == nullptr) return json;
    const auto record = record_of(*term.op);
    if (!record)
      fail(node.name, fmt::format("has an operator of the program, {}, which cannot be stored", term.op->name()));
    Json constants = Json::object();
    for (const auto& [name, values] : record->constants) constants[name] = numbers_to_json(values, node.name);
    json["operator"] = {{"kind", record->kind}, {"constants", std::move(constants)}};
    return json;
  }

  const CircuitData& data_;
  std::vector<char> is_written_;
};

}  // namespace

Json init_to_json(const Init& init) {
  const Init plain;
  Json json = {{"kind", kInits.at(static_cast<std::size_t>(init.kind))}};
  if (init.scale != plain.scale) json["scale"] = finite(init.scale, "an initialization");
  if (init.count != plain.count) json["count"] = init.count;
  if (init.blocks != plain.blocks) json["blocks"] = init.blocks;
  if (init.values != plain.values) json["values"] = numbers_to_json(init.values, "an initialization");
  return json;
}

Init init_from_json(const Json& json) { return init_of(json, "an initialization"); }

Json circuit_to_json(const CircuitData& data) {
  Json json = CircuitWriter(data).write();
  circuit_from_json(json);  // checks that the circuit is within the limits of the reader
  return json;
}

CircuitData circuit_from_json(const Json& json) { return CircuitReader().read(json); }

}  // namespace unfold
