/// Terms of affine maps and operators as C (export_c_writer.h).

#include <algorithm>
#include <cmath>

#include "graph/circuit/concatenation.h"
#include "graph/circuit/known_operator.h"
#include "interop/c/export_c_writer.h"
#include "unfold/base/error.h"
#include "unfold/graph/circuit/sparse_operator.h"

namespace unfold {
namespace {

constexpr Index kColumns = 64;  // columns per call of a product function

/// Formats `numbers` in lines.
template <class Write>
std::string listing(std::size_t count, Write write) {
  std::string text;
  std::size_t line = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::string number = write(i) + ",";
    if (line + number.size() + 1 > 120) text += "\n", line = 0;
    text += (line == 0 ? "  " : " ") + number;
    line += number.size() + (line == 0 ? 2 : 1);
  }
  return text;
}

/// Buffers to apply an operator to one row.
template <class T>
struct OneRow {
  OneRow(const Operator& op, Matrix<const T> w, Index ones)
      : x(at(op.inputs()), T{0}), y(at(op.outputs()), T{0}), scratch(at(op.scratch()), T{0}) {
    std::fill_n(x.begin(), ones, T{1});
    rows.w = w;
    rows.x = {x.data(), 1, op.inputs(), op.inputs()};
    rows.scratch = scratch.data();
  }
  std::vector<T> x, y, scratch;
  OperatorRows<T> rows;
};

}  // namespace

template <class T>
std::string CStepWriter<T>::array(const std::string& name, std::span<const T> numbers) {
  std::string full = text_("@" + name);
  out_.constants +=
      text_(fmt::format("static const @real {}[{}] @@_ALIGNED = {{\n", full, numbers.size())) +
      listing(numbers.size(), [&](std::size_t i) { return text_.number(static_cast<double>(numbers[i])); }) + "};\n";
  return full;
}

template <class T>
std::string CStepWriter<T>::places(const std::string& name, std::span<const std::int32_t> numbers) {
  std::string full = text_("@" + name);
  out_.uses_places = true;
  out_.constants += text_(fmt::format("static const @place {}[{}] = {{\n", full, numbers.size())) +
                    listing(numbers.size(), [&](std::size_t i) { return fmt::format("{}", numbers[i]); }) + "};\n";
  return full;
}

/// Adds working memory to the state.
template <class T>
std::string CStepWriter<T>::room(Index size) {
  const std::string name = fresh("t");
  out_.fields += text_(fmt::format("  @real {}[{}];\n", name, padded_to_lanes(size)));
  return "s->" + name;
}

/// The initial value of an affine map: its bias, plus the row of a symbol. The table has the sum for every symbol,
/// followed by the bias alone for a missing symbol.
template <class T>
std::string CStepWriter<T>::looked_up(const Node& n, const Node::AffineTerm* term) {
  const auto tiling = tilings_.find(static_cast<int>(&n - plan_.nodes().data()));
  std::vector<Index> components;
  if (tiling != tilings_.end())
    for (Index t = 0; t * tiling->second.width < tiling->second.units; ++t)
      std::ranges::copy(tiling->second.components(t), std::back_inserter(components));
  else
    for (Index j = 0; j < padded_to_lanes(n.size); ++j) components.push_back(j < n.size ? j : -1);
  const auto width = static_cast<Index>(components.size());
  const T* bias = n.affine().bias >= 0 ? parameters_[n.affine().bias].data : nullptr;
  const Matrix<const T> w = term != nullptr ? Matrix<const T>(parameters_[term->parameter]) : Matrix<const T>{};
  const Index symbols = term != nullptr ? w.rows : 0;
  std::vector<T> table(at((symbols + 1) * width), T{0});
  for (Index r = 0; r <= symbols; ++r)
    for (Index k = 0; k < width; ++k) {
      const Index j = components[at(k)];
      if (j < 0) continue;
      const T start = bias != nullptr ? bias[j] : T{0};
      table[at(r * width + k)] = r < symbols ? start + w(r, j) : start;
    }
  std::string name = array(fresh("b"), table);
  if (symbols == 0) return name;
  const std::string symbol = symbol_of(term->source);
  const std::string row = inputs_.texts.empty() ? "row" : fmt::format("({0} < 0 ? {1} : {0})", symbol, symbols);
  return fmt::format("{} + {} * {}", name, row, width);
}

/// A C expression for the input symbol of a node.
template <class T>
std::string CStepWriter<T>::symbol_of(int i) const {
  if (inputs_.texts.empty()) return "symbol";
  const auto found = std::ranges::find(inputs_.texts, i);
  if (found == inputs_.texts.end()) throw UsageError("it reads symbols at other positions: " + node(i).name);
  return fmt::format("read[{}]", found - inputs_.texts.begin());
}

/// Stores a matrix in blocks of 64 columns; the remaining columns form a block of 16, 32 or 48, padded with zeros.
template <class T>
std::string CStepWriter<T>::columns(const Matrix<const T>& w) {
  std::vector<T> packed;
  packed.reserve(at(w.rows * padded_to_lanes(w.cols)));
  for (Index begin = 0; begin < w.cols; begin += kColumns) {
    const Index width = std::min(kColumns, padded_to_lanes(w.cols - begin));
    for (Index i = 0; i < w.rows; ++i)
      for (Index j = begin; j < begin + width; ++j) packed.push_back(j < w.cols ? w(i, j) : T{0});
  }
  return array(fresh("w"), packed);
}

template <class T>
void CStepWriter<T>::columns_calls(Index rows, Index cols, const std::string& w, const std::string& x,
                                   const std::string& from, const std::string& to) {
  const Index whole = padded_to_lanes(cols) / kColumns, rest = padded_to_lanes(cols) % kColumns;
  if (whole > 0) {
    call("columns64");
    say("for (i = 0; i < {0}; i += 64) @columns64({1}, {2} + i * {3}, {4} + i, {5} + i, {3});", whole * kColumns, x, w,
        rows, from, to);
  }
  if (rest > 0) {
    call(fmt::format("columns{}", rest));
    say("@columns{0}({1}, {2} + {3}, {4} + {5}, {6} + {5}, {7});", rest, x, w, whole * kColumns * rows, from,
        whole * kColumns, to, rows);
  }
}

template <class T>
void CStepWriter<T>::product(const Matrix<const T>& w, const std::string& x, const std::string& from,
                             const std::string& to) {
  columns_calls(w.rows, w.cols, columns(w), x, from, to);
}

/// f(w, x) for an x whose first `ones` components are 1 and whose other components are 0.
template <class T>
std::vector<T> CStepWriter<T>::response_to(const Node::AffineTerm& term, Index ones) const {
  const Operator& op = *term.op;
  OneRow<T> row(op, parameters_[term.parameter], ones);
  op.apply(row.rows, {row.y.data(), 1, op.outputs(), op.outputs()});
  return row.y;
}

template <class T>
void CStepWriter<T>::apply_operator(const Node::AffineTerm& term, const std::string& to, const Node& n) {
  using Kind = ExportableOperator::Kind;
  const Operator& op = *term.op;
  if (as_sparse(&op) != nullptr) return apply_sparse(term, to);
  const auto* known = dynamic_cast<const ExportableOperator*>(&op);
  if (known == nullptr)
    throw UsageError(fmt::format("{} has the operator \"{}\", which is not supported", n.name, op.name()));
  const std::string x = pointer(term.source);
  const Matrix<const T> w = parameters_[term.parameter];
  const auto weights = [&] { return array(fresh("w"), {w.data, at(w.rows * w.cols)}); };
  switch (known->known_kind()) {
    case Kind::layer_norm:
      call("layer_norm");
      return say("@layer_norm({}, {}, {}, {}, {});", weights(), x, to, room(n.size), n.size);
    case Kind::leak: {  // the rates do not depend on x; read off from the response
      const std::string rates = array(fresh("w"), response_to(term, op.inputs()));
      return say("for (i = 0; i < {0}; ++i) {1}[i] = {1}[i] + {2}[i] * ({3})[i];", n.size, to, rates, x);
    }
    case Kind::complex_gain: {
      const std::string gains = array(fresh("w"), response_to(term, op.inputs()));
      return say("for (i = 0; i < {0}; ++i) {1}[i] = {1}[i] + {2}[i] * ({3})[i];", n.size, to, gains, x);
    }
    case Kind::complex_decay:
      call("complex_turn");
      return say("@complex_turn({}, {}, {}, {});", array(fresh("w"), response_to(term, op.inputs() / 2)), x, to,
                 n.size / 2);
    case Kind::modulus_relu:
      call("modulus_relu");
      return say("@modulus_relu({}, {}, {}, {});", weights(), x, to, n.size / 2);
    case Kind::share: call("share"); return say("@share({}, {}, {});", x, to, n.size);
    case Kind::placed:
      return say("for (i = 0; i < {0}; ++i) {1}[{2} + i] = {1}[{2} + i] + ({3})[i];", op.inputs(), to,
                 as_concatenation(&op)->offset(), x);
    case Kind::unitary: return apply_unitary(term, to);
  }
}

/// A gate selects a row of weights or keeps the state. A complete set of edges is stored as a matrix.
template <class T>
void CStepWriter<T>::apply_sparse(const Node::AffineTerm& term, const std::string& to) {
  const SparseOperator& op = *as_sparse(term.op.get());
  const Edges& edges = op.edges();
  const Matrix<const T> w = parameters_[term.parameter];
  const Index inputs = edges.inputs(), outputs = edges.outputs();
  const bool gated = op.reads_gate(), full = edges.count() == inputs * outputs;
  const std::string x = pointer(term.source), symbol = gated ? symbol_of(term.gate) : "";
  if (gated) {
    say("if ({} < 0)", symbol);
    say("  for (i = 0; i < {0}; ++i) {1}[i] = {1}[i] + ({2})[i];", outputs, to, x);
    say("else {{");
  }
  std::string s = x;
  if (op.form().activation != Map::copy) {
    const std::string function(map_info(op.form().activation).name);
    call(function);
    s = room(inputs);
    by_vectors(inputs, [&](const CVectors& v) {
      return fmt::format("    {};\n", v.store(s, fmt::format("@{}({})", function, v.load(x))));
    });
  }
  if (op.form().leaky) say("for (i = 0; i < {0}; ++i) {1}[i] = {1}[i] + ({2})[i];", outputs, to, x);
  const bool chosen = gated && w.rows > 1;
  std::string weights, entering, from;
  if (full) {
    std::vector<T> all;  // every row of weights in the layout of the product functions
    for (Index r = 0; r < w.rows; ++r)
      for (Index begin = 0; begin < outputs; begin += kColumns)
        for (Index j = 0; j < inputs; ++j)
          for (Index i = begin; i < begin + std::min(kColumns, padded_to_lanes(outputs - begin)); ++i)
            all.push_back(i < outputs ? w(r, i * inputs + j) : T{0});
    weights = array(fresh("w"), all);
  } else {
    weights = array(fresh("w"), {w.data, at(w.rows * w.cols)});
    entering = places(fresh("e"), edges.entering()), from = places(fresh("e"), edges.from());
    call("edges");
  }
  const Index stride = full ? inputs * padded_to_lanes(outputs) : edges.count();
  for (Index r = 0; r < (chosen ? 1 : w.rows); ++r) {
    const std::string row = fmt::format("{} + {} * {}", weights, chosen ? symbol : std::to_string(r), stride);
    if (full)
      columns_calls(inputs, outputs, row, s, to, to);
    else
      say("@edges({}, {}, {}, {}, {}, {});", row, entering, from, s, to, outputs);
  }
  if (gated) say("}}");
}

template <class T>
void CStepWriter<T>::apply_unitary(const Node::AffineTerm& term, const std::string& to) {
  const UnitaryShape& shape = *unitary_shape(*term.op);
  const Matrix<const T> w = parameters_[term.parameter];
  const Index n = shape.n;
  std::vector<T> turns, circle;
  for (Index d = 0; d < 3; ++d)
    for (const bool sine : {false, true})
      for (Index k = 0; k < n; ++k) {
        const CosSin turned = cos_sin(static_cast<double>(w(d, k)));
        turns.push_back(static_cast<T>(sine ? turned.sin : turned.cos));
      }
  for (const bool sine : {false, true})
    for (const CosSin& c : shape.twiddles) circle.push_back(static_cast<T>(sine ? c.sin : c.cos));
  T twice_inverse[2];
  for (Index r = 0; r < 2; ++r) {
    double squares = 0;
    for (Index k = 0; k < n; ++k) {
      const auto a = static_cast<double>(w(3 + 2 * r, k)), b = static_cast<double>(w(4 + 2 * r, k));
      squares += a * a + b * b;
    }
    twice_inverse[r] = static_cast<T>(2 / squares);
  }
  const std::vector<std::int32_t> order(shape.permutation.begin(), shape.permutation.end());
  const std::string turn_array = array(fresh("w"), turns), axes = array(fresh("w"), {w.row(3), at(4 * n)}),
                    circle_array = array(fresh("w"), circle), order_array = places(fresh("e"), order),
                    work = room(4 * n), name = fresh("u");
  call("unitary");
  const T root = T{1} / std::sqrt(static_cast<T>(n));
  say("{{");
  say("  static const @unitary_map {} = {{{}, {}, {}, {}, {}, {{{}, {}}}, {}}};", name, n, turn_array, axes,
      circle_array, order_array, text_.number(static_cast<double>(twice_inverse[0])),
      text_.number(static_cast<double>(twice_inverse[1])), text_.number(static_cast<double>(root)));
  say("  @unitary(&{}, {}, {}, {});", name, pointer(term.source), to, work);
  say("}}");
}

#define UNFOLD_INSTANTIATE(T)                                                                           \
  template std::string CStepWriter<T>::array(const std::string&, std::span<const T>);                   \
  template std::string CStepWriter<T>::symbol_of(int) const;                                            \
  template std::string CStepWriter<T>::looked_up(const Node&, const Node::AffineTerm*);                 \
  template void CStepWriter<T>::product(const Matrix<const T>&, const std::string&, const std::string&, \
                                        const std::string&);                                            \
  template void CStepWriter<T>::apply_operator(const Node::AffineTerm&, const std::string&, const Node&);
UNFOLD_INSTANTIATE(float)
UNFOLD_INSTANTIATE(double)
#undef UNFOLD_INSTANTIATE

}  // namespace unfold
