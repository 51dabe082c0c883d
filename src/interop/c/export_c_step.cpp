#include "interop/c/export_c_step.h"

#include <algorithm>
#include <utility>

#include "interop/c/export_c_shared.h"
#include "interop/c/export_c_writer.h"
#include "unfold/base/error.h"

namespace unfold {

template <class T>
CStep CStepWriter<T>::write(int output) {
  for (const Segment& segment : plan_.segments())
    for (const Item& item : segment.items)
      if (item.kind == Item::Kind::affine || item.kind == Item::Kind::pointwise) items_.push_back(&item);
  find_tiles(output);
  declare_values();
  begin_histories();
  take_inputs();
  if (turns_) say("s->turn = !s->turn;");
  const std::size_t end = items_.size() - (last_is_of_output(output) ? 1 : 0);
  for (std::size_t k = 0; k < end;) k = step_from(k);
  push_histories();
  const std::string before = std::exchange(out_.statements, "");
  for (std::size_t k = end; k < items_.size();) k = step_from(k);
  out_.output_statements = std::exchange(out_.statements, before);
  out_.output = pointer(output);
  return std::move(out_);
}

/// Returns whether the last item of a step is used only by its output and can run after the state is updated.
template <class T>
bool CStepWriter<T>::last_is_of_output(int output) const {
  const Item& last = *items_.back();
  const int base = places_.find(output).base;
  return last.kind == Item::Kind::affine && last.node == base && !places_.history().contains(base) &&
         std::ranges::all_of(last.parts, [&](const Item::Part& part) {
           const int source = node(base).terms()[at(part.term)].source;
           return node(source).kind() == Node::Kind::symbols || places_.find(source).shift == 0;
         });
}

/// Writes item k and the items that are fused with it; returns the index of the next item.
template <class T>
std::size_t CStepWriter<T>::step_from(std::size_t k) {
  if (const std::size_t next = tiles_from(k); next > k) return next;
  if (items_[k]->kind == Item::Kind::affine)
    affine(*items_[k]);
  else
    pointwise(*items_[k]);
  return k + 1;
}

/// A C expression for a pointer to the first number of a node.
template <class T>
std::string CStepWriter<T>::pointer(int i) const {
  const ValueLocation place = places_.find(i);
  if (place.shift == 0) return fmt::format("s->v{} + {}", place.base, place.offset);
  const Index steps = places_.history().at(place.base), size = node(place.base).size;
  if (steps == 1) return fmt::format("s->p{} + {}", place.base, place.offset);
  return fmt::format("s->p{0} + (s->at{0} + {1}) % {2} * {3} + {4}", place.base, place.shift - 1, steps, size,
                     place.offset);
}

/// Declares the members of the state: first the values carried between steps, then working memory.
template <class T>
void CStepWriter<T>::declare_values() {
  if (turns_) out_.fields += "  int turn;\n";
  for (const auto& [base, steps] : places_.history()) {
    out_.fields += text_(fmt::format("  @real p{}[{}]; /* {}: the last {} */\n", base, steps * node(base).size,
                                     comment_text(node(base).name), steps));
    if (steps > 1) out_.fields += fmt::format("  int at{};\n", base);
  }
  for (int i = 0; i < static_cast<int>(plan_.nodes().size()); ++i) {
    const bool given = std::ranges::find(inputs_.numbers, i) != inputs_.numbers.end();
    const bool computed = node(i).kind() == Node::Kind::affine || places_.stored(i);
    if (state_size_of(i) > 0 && (given || (plan_.live(i) && computed)))
      out_.fields += text_(fmt::format("  @real v{}[{}]; /* {} */\n", i, state_size_of(i), comment_text(node(i).name)));
  }
}

template <class T>
void CStepWriter<T>::begin_histories() {
  for (const Plan::Carried& carried : plan_.carried()) {
    if (carried.initial < 0) continue;
    const ValueLocation place = places_.find(carried.source);
    const std::string start = array(fmt::format("start{}", carried.source),
                                    {parameters_[carried.initial].data, at(node(carried.source).size)});
    const Index size = node(place.base).size;
    for (Index row = 0; row < carried.steps; ++row)
      out_.begin += text_(
          fmt::format("  memcpy(s->p{} + {}, {}, sizeof {});\n", place.base, row * size + place.offset, start, start));
  }
}

template <class T>
void CStepWriter<T>::push_histories() {
  for (const auto& [base, steps] : places_.history()) {
    const Index size = node(base).size;
    if (steps == 1) {
      say("memcpy(s->p{0}, s->v{0}, {1} * sizeof(@real));", base, size);
    } else {
      say("s->at{0} = (s->at{0} + {1}) % {2};", base, steps - 1, steps);
      say("memcpy(s->p{0} + s->at{0} * {1}, s->v{0}, {1} * sizeof(@real));", base, size);
    }
  }
}

template <class T>
void CStepWriter<T>::take_inputs() {
  Index first = 0;
  for (const int i : inputs_.numbers) {
    say("for (i = 0; i < {}; ++i) s->v{}[i] = x[{} + i];", node(i).size, i, first);
    first += node(i).size;
  }
}

/// Bias, lookups, other terms, in the order of the plan.
template <class T>
void CStepWriter<T>::affine(const Item& item) {
  const Node& n = node(item.node);
  const std::string to = fmt::format("s->v{}", item.node);
  std::string from = to;
  std::size_t first = 0;
  if (item.parts.empty() && !item.start) return;
  say("/* {} */", comment_text(n.name));
  const auto term_of = [&](std::size_t k) -> const Node::AffineTerm& { return n.terms()[at(item.parts[k].term)]; };
  if (item.start) {
    const bool lookup = !item.parts.empty() && is_lookup(term_of(0));
    from = looked_up(n, lookup ? &term_of(0) : nullptr);
    first = lookup ? 1 : 0;
  }
  const auto settle = [&] {
    if (from != to) say("memcpy({}, {}, {} * sizeof(@real));", to, from, n.size);
    from = to;
  };
  for (std::size_t k = first; k < item.parts.size(); ++k) {
    const Node::AffineTerm& term = term_of(k);
    if (is_lookup(term_of(k))) {
      settle();
      const Matrix<const T> w = parameters_[term.parameter];
      const std::string table = array(fresh("w"), {w.data, at(w.rows * w.cols)});
      const std::string symbol = symbol_of(term.source);
      say("if ({} >= 0)", symbol);
      say("  for (i = 0; i < {0}; ++i) {1}[i] = {1}[i] + {2}[{3} * {0} + i];", n.size, to, table, symbol);
    } else if (term.dense()) {
      product(parameters_[term.parameter], pointer(term.source), from, to);
      from = to;
    } else {
      settle();
      apply_operator(term, to, n);
    }
  }
  settle();
}

/// Writes an element-wise program over all components, or over the components of a tile.
template <class T>
void CStepWriter<T>::pointwise(const Item& item, const CTile* tile) {
  const std::string first = tile != nullptr ? tile->first + " + " : "";
  const auto operand = [&](int i, const CVectors& vectors) -> std::string {
    if (i < 0) return "";
    const ValueLocation place = places_.find(i);
    if (place.ones) return "@@_ALL(1)";
    const bool here = place.shift == 0 && place.offset == 0 && places_.mapped(place.base) &&
                      std::find(item.nodes.begin(), item.nodes.end(), place.base) != item.nodes.end();
    if (here) return fmt::format("x{}", place.base);
    return vectors.load(tile != nullptr ? pointer(i, *tile) : pointer(i));
  };
  const auto body = [&](const CVectors& vectors) {
    std::string text;
    for (const int i : item.nodes) {
      if (plan_.is_exit(i)) continue;
      const Node& n = node(i);
      const auto& operands = n.pointwise().operands;
      text += fmt::format("{}  const @vector x{} = {};\n", indent_, i,
                          map_text(n, operand(operands[0], vectors), operand(operands[1], vectors)));
      if (places_.stored(i))
        text += fmt::format("{}  {};\n", indent_,
                            vectors.store(fmt::format("s->v{} + {}0", i, first), fmt::format("x{}", i)));
    }
    return text;
  };
  by_vectors(tile != nullptr ? tile->count : node(item.nodes.front()).size, body);
}

/// Writes a loop over `size` numbers, one vector at a time, followed by the remaining numbers.
template <class T>
void CStepWriter<T>::by_vectors(Index size, const std::function<std::string(const CVectors&)>& body) {
  const std::string whole = body(CVectors{});
  if (whole.empty()) return;
  call("vectors");
  say("for (i = 0; i + @@_LANES <= {0}; i += @@_LANES) {{", size);
  out_.statements += text_(whole);
  say("}}");
  if (size % 16 == 0) return;
  const std::string rest = body(CVectors{.part = fmt::format("{} - i", size)});
  for (const char* function : {"load_part", "store_part"})
    if (rest.find(function) != std::string::npos) call(function);
  out_.statements += text_("#if @@_LANES > 1\n");
  say("if (i < {}) {{", size);
  out_.statements += text_(rest);
  say("}}");
  out_.statements += "#endif\n";
}

/// The C expression of an element-wise function; corresponds to the table in numerics/maps-inl.h.
template <class T>
std::string CStepWriter<T>::map_text(const Node& n, const std::string& x, const std::string& y) {
  const std::string all =
      fmt::format("@@_ALL({})", text_.number(static_cast<double>(static_cast<T>(n.pointwise().constant))));
  const auto function = [&](const char* name) {
    call(name);
    return fmt::format("@{}({})", name, x);
  };
  switch (n.pointwise().map) {
    case Map::add: return x + " + " + y;
    case Map::sub: return x + " - " + y;
    case Map::mul: return x + " * " + y;
    case Map::scale: return all + " * " + x;
    case Map::shift: return x + " + " + all;
    case Map::one_minus: return "@@_ALL(1) - " + x;
    case Map::sigmoid: return function("sigmoid");
    case Map::tanh: return function("tanh");
    case Map::hard_sigmoid: return function("hard_sigmoid");
    case Map::relu: return function("relu");
    case Map::softplus: return function("softplus");
    case Map::exp: return function("exp");
    case Map::log: return function("log");
    case Map::square: return x + " * " + x;
    case Map::copy: return x;
    default:
      throw UsageError("it has the map " + std::string(map_info(n.pointwise().map).name) + ", which is not supported");
  }
}

template <class T>
CStep write_c_step(const Plan& plan, const Parameters<T>& parameters, int output, const CText& text,
                   const StepInputs& inputs) {
  return CStepWriter<T>(plan, parameters, output, text, inputs).write(output);
}

template void CStepWriter<float>::by_vectors(Index, const std::function<std::string(const CVectors&)>&);
template void CStepWriter<double>::by_vectors(Index, const std::function<std::string(const CVectors&)>&);
template CStep write_c_step(const Plan&, const Parameters<float>&, int, const CText&, const StepInputs&);
template CStep write_c_step(const Plan&, const Parameters<double>&, int, const CText&, const StepInputs&);

}  // namespace unfold
