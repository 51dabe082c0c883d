#include "unfold/models/spec.h"

#include <fmt/format.h>

#include <array>

#include "unfold/base/error.h"
#include "unfold/base/text_distance.h"

namespace unfold {
namespace {

constexpr double kMostUnits = 65536, kMostLayers = 64;
constexpr Index kMostTensorUnits = 4096;

template <class Visitor>
void describe_common(Visitor& v, ModelSpec& s) {
  v("layers", s.layers, "cells stacked on each other", range(1, kMostLayers));
  v("dropout", s.dropout, "share of each layer's output that is dropped in training", from_to_below(0, 1));
  v("embedding", s.embedding, "size of a learned vector per symbol; 0: none", range(0, kMostUnits));
  v("trained-initial", s.trained_initial, "learn the state before the first symbol");
}

// One entry per cell: its name, its options, what is wrong with their values together (if anything can be), and how it
// is added to a circuit. The list follows below.

template <class Visitor>
void describe_activation(Visitor& v, ModelSpec& s) {
  v("activation", s.activation, "of the units",
    {{Map::tanh, "tanh"}, {Map::relu, "relu"}, {Map::sigmoid, "sigmoid"}, {Map::softplus, "softplus"}});
}

struct RnnEntry {
  static constexpr const char* kName = "rnn";
  static constexpr const char* kHelp = "simple recurrent network (Elman 1990)";
  static constexpr CellKind kKind = CellKind::rnn;
  template <class Visitor>
  static void describe(Visitor& v, ModelSpec& s) {
    describe_activation(v, s);
    v("init", s.init, "of the recurrent matrix",
      {{RecurrentInit::orthogonal, "orthogonal"},
       {RecurrentInit::uniform, "uniform"},
       {RecurrentInit::identity, "identity"},
       {RecurrentInit::sparse, "sparse"},
       {RecurrentInit::normalised, "normalised"}});
    v("scale", s.scale, "factor of the recurrent start; uniform: +-scale; 0: 1, uniform 1/sqrt(inputs)", at_least(0));
    v("input-scale", s.input_scale, "inputs and outputs start in +-this; 0: 1/sqrt(inputs)", at_least(0));
  }
  static Init recurrent(RecurrentInit init, double scale) {
    const double factor = scale > 0 ? scale : 1;
    switch (init) {
      case RecurrentInit::uniform: return Init::uniform(scale);
      case RecurrentInit::identity: return Init::identity(1, factor);
      case RecurrentInit::sparse: return Init::sparse(15, factor);
      case RecurrentInit::normalised: return Init::normalised(1, factor);
      case RecurrentInit::orthogonal: break;
    }
    return Init::orthogonal(1, factor);
  }
  static Signal add(Circuit& c, Signal x, const ModelSpec& s) {
    RnnOptions options;
    options.activation = s.activation;
    options.recurrent = recurrent(s.init, s.scale);
    options.input = Init::uniform(s.input_scale);
    options.trained_initial = s.trained_initial;
    return rnn(c, x, s.units, options);
  }
};

struct LstmEntry {
  static constexpr const char* kName = "lstm";
  static constexpr const char* kHelp = "long short-term memory with forget gate";
  static constexpr CellKind kKind = CellKind::lstm;
  template <class Visitor>
  static void describe(Visitor& v, ModelSpec& s) {
    v("forget-bias", s.forget_bias, "start of the forget gate's bias", range(-100, 100));
    v("chrono", s.chrono, "start the gates from time scales up to so many steps; 0: off", at_least(0));
  }
  static std::string fault(const ModelSpec& s) {
    return s.chrono > 0 && !(s.chrono > 2) ? "chrono must be 0 or above 2 steps" : "";
  }
  static Signal add(Circuit& c, Signal x, const ModelSpec& s) {
    LstmOptions options;
    options.forget_bias = s.forget_bias;
    options.chrono = s.chrono;
    options.trained_initial = s.trained_initial;
    return lstm(c, x, s.units, options);
  }
};

struct GruEntry {
  static constexpr const char* kName = "gru";
  static constexpr const char* kHelp = "gated recurrent unit";
  static constexpr CellKind kKind = CellKind::gru;
  template <class Visitor>
  static void describe(Visitor& v, ModelSpec& s) {
    v("reset", s.reset, "the reset gate acts before or after the recurrent product",
      {{ResetGate::before, "before"}, {ResetGate::after, "after"}});
  }
  static Signal add(Circuit& c, Signal x, const ModelSpec& s) {
    GruOptions options;
    options.reset_after = s.reset == ResetGate::after;
    options.trained_initial = s.trained_initial;
    return gru(c, x, s.units, options);
  }
};

struct MrnnEntry {
  static constexpr const char* kName = "mrnn";
  static constexpr const char* kHelp = "multiplicative: the input changes the recurrent matrix, through factors";
  static constexpr CellKind kKind = CellKind::mrnn;
  template <class Visitor>
  static void describe(Visitor& v, ModelSpec& s) {
    v("factors", s.factors, "between input and recurrent matrix; 0: as many as units", range(0, kMostUnits));
    describe_activation(v, s);
  }
  static Signal add(Circuit& c, Signal x, const ModelSpec& s) {
    return mrnn(c, x, s.units,
                {.factors = s.factors, .activation = s.activation, .trained_initial = s.trained_initial});
  }
};

struct TensorRnnEntry {
  static constexpr const char* kName = "tensor-rnn";
  static constexpr const char* kHelp = "one dense recurrent matrix for each symbol; one layer";
  static constexpr CellKind kKind = CellKind::tensor_rnn;
  template <class Visitor>
  static void describe(Visitor& v, ModelSpec& s) {
    describe_activation(v, s);
  }
  static std::string fault(const ModelSpec& s) {
    if (s.layers > 1 || s.embedding > 0)
      return "tensor-rnn reads the symbols themselves: it has one layer and no embedding";
    if (s.units > kMostTensorUnits)
      return fmt::format("a tensor-rnn has at most {} units: each symbol has a matrix of them", kMostTensorUnits);
    return "";
  }
  static Signal add(Circuit& c, Signal x, const ModelSpec& s) {
    return tensor_rnn(c, x, s.units, {.activation = s.activation, .trained_initial = s.trained_initial});
  }
};

struct UrnnEntry {
  static constexpr const char* kName = "urnn";
  static constexpr const char* kHelp = "unitary: so many complex units (a power of two)";
  static constexpr CellKind kKind = CellKind::urnn;
  template <class Visitor>
  static void describe(Visitor& v, ModelSpec& s) {
    v("permutation", s.permutation, "seed of the fixed permutation", range(0, 1e15));
  }
  static std::string fault(const ModelSpec& s) {
    const bool power = s.units >= 2 && (s.units & (s.units - 1)) == 0;
    return power ? "" : fmt::format("a urnn has a power of two of complex units, at least 2; {} is none", s.units);
  }
  static Signal add(Circuit& c, Signal x, const ModelSpec& s) {
    return urnn(c, x, s.units,
                {.permutation = static_cast<std::uint64_t>(s.permutation), .trained_initial = s.trained_initial});
  }
};

/// gnn, glnn and sparse-rnn.
template <CellKind kind>
struct SparseEntry {
  static constexpr const char* kName = kind == CellKind::gnn ? "gnn" : kind == CellKind::glnn ? "glnn" : "sparse-rnn";
  static constexpr const char* kHelp = kind == CellKind::gnn    ? "gated network on a random graph"
                                       : kind == CellKind::glnn ? "gated leaky network on a random graph"
                                                                : "simple recurrent network on a random graph";
  static constexpr CellKind kKind = kind;
  template <class Visitor>
  static void describe(Visitor& v, ModelSpec& s) {
    v("edges", s.edges, "leaving each unit, its loop among them", range(1, kMostUnits));
    v("graph", s.graph, "seed of the random graph; 0: that of the run", range(0, 1e15));
    v("activation", s.activation, "of the units",
      {{Map::tanh, "tanh"}, {Map::relu, "relu"}, {Map::sigmoid, "sigmoid"}});
  }
  static std::string fault(const ModelSpec& s) {
    if (s.layers == 1 && s.embedding == 0 && !s.trained_initial) return "";
    return fmt::format(
        "{} reads the symbols themselves (one layer, no embedding) and its start is always trained; "
        "leave layers, embedding and trained-initial out",
        kName);
  }
  static Signal add(Circuit& c, Signal x, const ModelSpec& s) {
    const SparseOptions options{.edges = s.edges, .graph = s.graph, .activation = s.activation};
    if (kind == CellKind::gnn) return gnn(c, x, s.units, options);
    return kind == CellKind::glnn ? glnn(c, x, s.units, options) : sparse_rnn(c, x, s.units, options);
  }
};

template <class Visit>
void for_each_entry(Visit&& visit) {
  visit(RnnEntry{});
  visit(LstmEntry{});
  visit(GruEntry{});
  visit(MrnnEntry{});
  visit(TensorRnnEntry{});
  visit(UrnnEntry{});
  visit(SparseEntry<CellKind::gnn>{});
  visit(SparseEntry<CellKind::glnn>{});
  visit(SparseEntry<CellKind::sparse_rnn>{});
}

/// Other spellings: a model with some options already given.
struct Spelling {
  std::string_view name, model, options;
};
constexpr std::array kSpellings = {Spelling{"irnn", "rnn", "activation=relu,init=identity"},
                                   Spelling{"np-rnn", "rnn", "activation=relu,init=normalised"}};

/// The same model under its own name. What is given explicitly overrides the spelling.
Spec plain_spelling(Spec spec) {
  for (const Spelling& spelling : kSpellings) {
    if (spec.name != spelling.name) continue;
    Spec plain = parse_spec(fmt::format("{}:{}", spelling.model, spelling.options));
    plain.size = spec.size;
    for (const auto& given : spec.values) {
      std::erase_if(plain.values, [&](const auto& preset) { return preset.first == given.first; });
      plain.values.push_back(given);
    }
    return plain;
  }
  return spec;
}

constexpr std::array kNotBuilt = {"esn"};

template <class Entry>
OptionTable table_of(ModelSpec& spec) {
  OptionTable table;
  Entry::describe(table, spec);
  describe_common(table, spec);
  return table;
}

Index parse_units(const Spec& spec) {
  ModelSpec sizes;
  OptionTable table;
  table("units", sizes.units, "", range(1, kMostUnits));
  if (spec.size.empty())
    throw UsageError(
        fmt::format("model {}: the number of units is missing; write for example {}:128", spec.name, spec.name));
  table.set(spec.name, "units", spec.size);
  return sizes.units;
}

}  // namespace

ModelSpec parse_model_spec(std::string_view text, const std::vector<std::string>& others) {
  const Spec spec = plain_spelling(parse_spec(text));
  ModelSpec result;
  bool found = false;
  std::string fault;
  std::vector<std::string> names;
  for_each_entry([&]<class Entry>(Entry) {
    names.emplace_back(Entry::kName);
    if (spec.name != Entry::kName) return;
    found = true;
    result.cell = Entry::kKind;
    OptionTable table = table_of<Entry>(result);
    for (const auto& [key, value] : spec.values) table.set(spec.name, key, value);
    result.units = parse_units(spec);
    if constexpr (requires { Entry::fault(result); }) fault = Entry::fault(result);
  });
  if (!found) {
    for (const Spelling& spelling : kSpellings) names.emplace_back(spelling.name);
    names.insert(names.end(), others.begin(), others.end());
    for (const char* name : kNotBuilt)
      if (spec.name == name)
        throw UsageError(
            fmt::format("model {} is not built yet in this version; there are {}", spec.name, fmt::join(names, ", ")));
    throw UsageError(fmt::format("there is no model \"{}\"{} (models: {})", spec.name, did_you_mean(spec.name, names),
                                 fmt::join(names, ", ")));
  }
  if (!fault.empty()) throw UsageError(fmt::format("model \"{}\": {}", text, fault));
  return result;
}

std::string to_string(const ModelSpec& spec) {
  Spec result;
  for_each_entry([&]<class Entry>(Entry) {
    if (spec.cell != Entry::kKind) return;
    result.name = Entry::kName;
    ModelSpec set = spec, plain;
    const auto values = table_of<Entry>(set).help(), defaults = table_of<Entry>(plain).help();
    for (std::size_t i = 0; i < values.size(); ++i)
      if (values[i].value != defaults[i].value) result.values.emplace_back(values[i].name, values[i].value);
  });
  result.size = std::to_string(spec.units);
  return to_string(result);
}

bool has_random_graph(const ModelSpec& spec) {
  return spec.cell == CellKind::gnn || spec.cell == CellKind::glnn || spec.cell == CellKind::sparse_rnn;
}

ModelSignals build_model(const ModelSpec& spec, Index alphabet, Circuit& circuit) {
  return build_model(spec, circuit.symbols("symbols", alphabet), alphabet, circuit);
}

ModelSignals build_model(const ModelSpec& spec, Signal input, Index outputs, Circuit& circuit) {
  Signal x = input;
  if (spec.embedding > 0)
    x = circuit.affine("embedding", spec.embedding, {{"W", input, Init::normal(1)}}, Init::zero(), false);
  std::vector<Signal> hidden;
  for (Index layer = 1; layer <= spec.layers; ++layer) {
    const auto scope = circuit.scope(fmt::format("layer{}", layer));
    for_each_entry([&]<class Entry>(Entry) {
      if (spec.cell == Entry::kKind) x = Entry::add(circuit, x, spec);
    });
    hidden.push_back(x);
    if (spec.dropout > 0) x = circuit.dropout(x, spec.dropout);
  }
  const Signal output = circuit.affine("output", outputs, {{"V", x, Init::uniform(spec.input_scale)}});
  circuit.output(output);
  return {input, output, hidden};
}

std::vector<ModelHelp> models() {
  std::vector<ModelHelp> result;
  for_each_entry([&]<class Entry>(Entry) {
    ModelSpec plain;
    result.push_back({Entry::kName, Entry::kHelp, table_of<Entry>(plain).help()});
  });
  return result;
}

}  // namespace unfold
