#include "train/objective/table_rows.h"

#include <algorithm>
#include <map>

namespace unfold {
namespace {

constexpr Index kLeastElements = 16384;  // smaller tables are updated faster as a whole
constexpr double kMostRead = 0.5;        // share of the elements of all tables that a batch may read

/// The uses of one parameter.
struct Uses {
  std::vector<std::string> fields = {};
  bool other = false;  ///< whether something other than a lookup of an input field reads the parameter
};

template <class T>
std::map<int, Uses> uses_of(const Network<T>& network) {
  std::map<int, std::string> field_of;
  for (const NetworkInput& input : network.inputs) field_of[input.signal.id] = input.field;
  std::map<int, Uses> uses;
  const std::vector<Node>& nodes = network.plan->nodes();
  for (const Node& node : nodes) {
    if (node.kind() == Node::Kind::affine && node.affine().bias >= 0) uses[node.affine().bias].other = true;
    if (node.trained_initial() >= 0) uses[node.trained_initial()].other = true;
    for (const Node::AffineTerm& term : node.terms()) {
      Uses& use = uses[term.parameter];
      const auto field = field_of.find(term.source);
      if (term.dense() && field != field_of.end() && nodes[at(term.source)].kind() == Node::Kind::symbols)
        use.fields.push_back(field->second);
      else
        use.other = true;
    }
  }
  for (const Head<T>& head : network.heads)
    for (const int parameter : head.loss->parameter_indices()) uses[parameter].other = true;
  return uses;
}

}  // namespace

template <class T>
TableRows::TableRows(const Network<T>& network) {
  const std::vector<ParameterInfo>& parameters = network.circuit().parameters();
  std::vector<std::pair<RowTable, std::vector<std::string>>> found;
  for (const auto& [parameter, use] : uses_of(network)) {
    const ParameterInfo& info = parameters[at(parameter)];
    if (!use.other && info.size() >= kLeastElements)
      found.push_back({{.offset = info.offset, .rows = info.rows, .cols = info.cols}, use.fields});
  }
  std::ranges::sort(found, {}, [](const auto& table) { return table.first.offset; });
  for (auto& [table, fields] : found) {
    tables_.push_back(std::move(table));
    fields_.push_back(std::move(fields));
  }
}

/// Sets the rows of one table that the batch reads.
void TableRows::mark(const Batch& batch, std::size_t table) {
  RowTable& t = tables_[table];
  seen_.resize(std::max(seen_.size(), at(t.rows)), 0);
  t.read.clear();
  for (const std::string& field : fields_[table])
    for (const Symbol symbol : std::get<SymbolRows>(batch.field(field)).symbols)
      if (symbol != kNoSymbol && std::exchange(seen_[at(symbol)], 1) == 0) t.read.push_back(symbol);
  for (const Index row : t.read) seen_[at(row)] = 0;
  std::ranges::sort(t.read);
}

const RowTables* TableRows::read(const Batch& batch) {
  double elements = 0, all = 0;
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    mark(batch, t);
    elements += static_cast<double>(tables_[t].read.size()) * static_cast<double>(tables_[t].cols);
    all += static_cast<double>(tables_[t].rows) * static_cast<double>(tables_[t].cols);
  }
  return elements <= kMostRead * all ? &tables_ : nullptr;
}

template TableRows::TableRows(const Network<float>&);
template TableRows::TableRows(const Network<double>&);

}  // namespace unfold
