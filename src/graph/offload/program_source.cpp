#include "graph/offload/program_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "unfold/base/error.h"

namespace unfold {
namespace {

UsageError no_device_code(Map map) {
  return UsageError(
      fmt::format("the operation '{}' has no code for GPUs (graph/offload/program_source.cpp)", map_info(map).name));
}

/// Returns the value of a map as an expression of the given names.
std::string value_of(Map map, const std::string& x0, const std::string& x1, double k) {
  switch (map) {
    case Map::add: return fmt::format("({} + {})", x0, x1);
    case Map::sub: return fmt::format("({} - {})", x0, x1);
    case Map::mul: return fmt::format("({} * {})", x0, x1);
    case Map::scale: return fmt::format("(T({:.17g}) * {})", k, x0);
    case Map::shift: return fmt::format("({} + T({:.17g}))", x0, k);
    case Map::one_minus: return fmt::format("(T(1) - {})", x0);
    case Map::sigmoid: return fmt::format("sigmoid_of({})", x0);
    case Map::hard_sigmoid: return fmt::format("hard_sigmoid_of({})", x0);
    case Map::tanh: return fmt::format("tanh_of({})", x0);
    case Map::relu: return fmt::format("relu_of({})", x0);
    case Map::softplus: return fmt::format("softplus_of({})", x0);
    case Map::exp: return fmt::format("exp_of({})", x0);
    case Map::log: return fmt::format("log_of({})", x0);
    case Map::square: return fmt::format("({} * {})", x0, x0);
    case Map::copy: return x0;
    default: throw no_device_code(map);
  }
}

/// Returns the partial derivative of a map with respect to one of its inputs as an expression.
std::string partial_of(Map map, int input, const InstructionNames& n, double k) {
  switch (map) {
    case Map::add:
    case Map::copy: return "T(1)";
    case Map::sub: return input == 0 ? "T(1)" : "T(-1)";
    case Map::mul: return input == 0 ? n.x1 : n.x0;
    case Map::scale: return fmt::format("T({:.17g})", k);
    case Map::shift: return "T(1)";
    case Map::one_minus: return "T(-1)";
    case Map::sigmoid: return fmt::format("({0} - {0} * {0})", n.y);
    case Map::hard_sigmoid: return fmt::format("hard_slope_of({})", n.y);
    case Map::tanh: return fmt::format("(T(1) - {0} * {0})", n.y);
    case Map::relu: return fmt::format("({} > T(0) ? T(1) : T(0))", n.y);
    case Map::softplus: return fmt::format("sigmoid_of({})", n.x0);
    case Map::exp: return n.y;
    case Map::log: return fmt::format("(T(1) / {})", n.x0);
    case Map::square: return fmt::format("({0} + {0})", n.x0);
    default: throw no_device_code(map);
  }
}

}  // namespace

std::string number_prelude(bool doubles, bool quick) {
  return std::string(doubles ? "typedef double T;\n#define UF(name) name\n"
                             : "typedef float T;\n#define UF(name) name##f\n") +
         R"(
DEVICE T exp_of(T x) { return UF(exp)(x); }
DEVICE T log_of(T x) { return UF(log)(x); }
DEVICE T relu_of(T x) { return x <= T(0) ? T(0) : x; }
DEVICE T softplus_of(T x) { return (x > T(0) ? x : T(0)) + UF(log1p)(UF(exp)(-UF(fabs)(x))); }
DEVICE T hard_sigmoid_of(T x) {
  const T u = UF(fma)(T(0.25), x, T(0.5));
  return u <= T(0) ? T(0) : u >= T(1) ? T(1) : u;
}
DEVICE T hard_slope_of(T y) { return y > T(0) && y < T(1) ? T(0.25) : T(0); }
)" +
         (quick && !doubles ? R"(
DEVICE T sigmoid_of(T x) { return divide_fast(1.0f, 1.0f + exp_fast(-x)); }
DEVICE T tanh_of(T x) { return 1.0f - divide_fast(2.0f, 1.0f + exp_fast(2.0f * x)); }
)"
                            : R"(
DEVICE T tanh_of(T x) { return UF(tanh)(x); }
DEVICE T sigmoid_of(T x) { return T(1) / (T(1) + UF(exp)(-x)); }
)");
}

std::string statement(const Instruction& i, const InstructionNames& n) {
  if (i.rule == Rule::value) {
    std::string result = value_of(i.map, n.x0, n.x1, i.k);
    if (i.map == Map::mul && i.seed >= 0) result = fmt::format("UF(fma)({}, {}, {})", n.x0, n.x1, n.seed);
    if (i.through != Map::copy) result = value_of(i.through, result, {}, 0);
    return i.accumulate ? fmt::format("{0} = {0} + {1};", n.out, result) : fmt::format("{} = {};", n.out, result);
  }
  std::string slope = partial_of(i.map, i.input, n, i.k), seed = n.seed;
  if (i.through != Map::copy) {
    seed = fmt::format("({} * {})", slope, seed);
    slope = partial_of(i.through, 0, {.out = {}, .x0 = {}, .x1 = {}, .y = n.y, .seed = {}}, 0);
  }
  if (i.rule == Rule::squared) slope = fmt::format("({0} * {0})", slope);
  return i.accumulate ? fmt::format("{0} = UF(fma)({1}, {2}, {0});", n.out, slope, seed)
                      : fmt::format("{} = {} * {};", n.out, slope, seed);
}

// ---------------------------------------------------------------------------------------------------- element code

ElementCode::Variable ElementCode::variable(const Program::Slot& slot, Index block) const {
  const Place place = position_in_total(*plan_, slot.what, slot.node);
  if (place.scratch()) return {.what = slot.what, .root = -1, .column = block, .shift = program_, .scratch = slot.node};
  return {.what = slot.what, .root = place.root, .column = place.column + block, .shift = place.shift};
}

std::string ElementCode::name(const Variable& variable) {
  const auto known = std::find(variables_.begin(), variables_.end(), variable);
  const auto index = known - variables_.begin();
  if (known == variables_.end()) variables_.push_back(variable);
  return fmt::format("v{}", index);
}

std::string ElementCode::element(const Variable& variable) { return name(variable) + suffix_; }

void ElementCode::read(const Variable& variable) {
  if (variable.root >= 0 && !stores_.contains(variable)) loads_.insert(variable);
}

void ElementCode::written(const Variable& variable) {
  if (variable.root >= 0) stores_.insert(variable);
}

void ElementCode::append(const Instruction& i, const std::vector<Program::Slot>& slots, Index block) {
  const auto reads = [&](int slot) -> std::string {
    if (slot < 0) return {};
    const Variable v = variable(slots[at(slot)], block);
    read(v);
    return element(v);
  };
  InstructionNames names{.out = {}, .x0 = reads(i.x0), .x1 = reads(i.x1), .y = reads(i.y), .seed = reads(i.seed)};
  names.out = i.accumulate ? reads(i.out) : element(variable(slots[at(i.out)], block));
  text_ += "    " + statement(i, names) + "\n";
  written(variable(slots[at(i.out)], block));
}

void ElementCode::append(const Program& program, Index block) {
  begin_program();
  for (const Instruction& i : program.instructions) append(i, program.slots, block);
}

ProgramKernel program_kernel(const Plan& plan, const Program& program, const std::string& name) {
  ProgramKernel result;
  result.width = plan.nodes()[at(program.slots.front().node)].size;
  ElementCode code(plan);
  code.append(program, 0);
  std::string pointers, loads, stores, declared;
  for (const ElementCode::Variable& v : code.variables()) {
    const std::string variable = code.name(v);
    declared += (declared.empty() ? "    T " : ", ") + variable + " = T(0)";
    if (v.root < 0) continue;
    const std::size_t k = 1 + 2 * result.places.size();
    result.places.push_back(v);
    pointers +=
        fmt::format("  T* p{0} = (T*)a.pointer({1});\n  const i64 d{0} = a.integer({2});\n", variable, k, k + 1);
    if (code.loads().contains(v)) loads += fmt::format("    {0} = p{0}[r * d{0} + c];\n", variable);
    if (code.stores().contains(v)) stores += fmt::format("    p{0}[r * d{0} + c] = {0};\n", variable);
  }
  result.source = fmt::format(R"(
KERNEL({0}) {{
  const u32 total = (u32)(a.integer(0) * {1});
{2}  for (u32 e = (u32)(block() * threads() + thread()); e < total; e += (u32)(blocks() * threads())) {{
    const u32 r = e / {1}u, c = e % {1}u;
{3};
{4}{5}{6}  }}
}}
)",
                              name, result.width, pointers, declared, loads, code.text(), stores);
  return result;
}

}  // namespace unfold
