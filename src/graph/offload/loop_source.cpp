/// Generates the source of loop kernels.

#include <fmt/format.h>

#include <algorithm>

#include "graph/offload/loops.h"

namespace unfold {
namespace {

using Variable = ElementCode::Variable;

/// Common prelude of all loop kernels.
constexpr const char* kLoopPrelude = R"(
struct Tile { float x[4]; };

// Adds the contributions of 8 warps to a number, in order.
template <int kRows, int kStride>
DEVICE float part_sum(const float* sums, int row, int column) {
  float sum = 0.0f;
#pragma unroll
  for (int w = 0; w < 8; ++w) sum += sums[(w * kRows + row) * kStride + column];
  return sum;
}
DEVICE int clamped(int x, int most) { return x < 0 ? 0 : x > most ? most : x; }
DEVICE float4 zero4() {
  float4 z;
  z.x = z.y = z.z = z.w = 0.0f;
  return z;
}
DEVICE uint4 zero_bits() {
  uint4 z;
  z.x = z.y = z.z = z.w = 0u;
  return z;
}
DEVICE float rest_of_tf32(float x) { return x - float_of_bits(as_tf32(x)); }
)";

class LoopWriter {
 public:
  LoopWriter(const Plan& plan, const LoopPlan& loop, const LoopShape& shape, DevicePrecision precision, bool backward)
      : plan_(plan),
        loop_(loop),
        shape_(shape),
        precision_(precision),
        backward_(backward),
        persists_(shape.row_passes == 1),
        code_(plan, "[e]") {
    for (const auto& phase : loop.phases)
      for (const auto& p : phase.products)
        for (const auto& s : p.sources) add_exchange(s);
  }

  LoopSource write() {
    find_touched();
    std::string body;
    for (std::size_t k = 0; k < loop_.phases.size(); ++k) body += phase(k);
    body += carry_out();
    body = prologue() + step_begin() + body + "  }\n}\n";
    LoopSource result;
    result.text = kLoopPrelude + head() + weights() + carried_ + body;
    result.roots = roots_;
    result.exchange_numbers = exchange_numbers_;
    Index shared = 0;
    for (const auto& phase : loop_.phases) shared = std::max(shared, sums_of(phase, shape_));
    result.shared_bytes = shared * 4;
    return result;
  }

 private:
  const Node& node(int i) const { return plan_.nodes()[at(i)]; }
  Index rows_at_once() const { return 16 * shape_.row_tiles; }
  bool is_bf16() const { return precision_ == DevicePrecision::bf16; }
  Index columns(const LoopPlan::Product& p) const { return p.blocks * shape_.units; }
  /// Returns the index of a buffer among the arguments.
  std::size_t buffer(What what, int root) {
    const std::pair<What, int> wanted{what, root};
    const auto known = std::find(roots_.begin(), roots_.end(), wanted);
    if (known != roots_.end()) return static_cast<std::size_t>(known - roots_.begin());
    roots_.push_back(wanted);
    return roots_.size() - 1;
  }

  /// Returns the pointer to the group's first row of a buffer, shifted back by the shift of the variable.
  std::string pointer(const Variable& v) {
    const std::tuple<What, int, Index> wanted{v.what, v.root, v.shift};
    auto known = std::find(pointers_.begin(), pointers_.end(), wanted);
    if (known == pointers_.end()) known = pointers_.insert(pointers_.end(), wanted);
    return fmt::format("q{}", known - pointers_.begin());
  }
  std::string element(const Variable& v) {
    return fmt::format("{}[(pass * {} + r) * {} + {} + u]", pointer(v), rows_at_once(), node(v.root).size, v.column);
  }

  // --- exchange between blocks in bfloat16

  void add_exchange(const LoopPlan::Source& s) {
    if (!is_bf16()) return;
    for (const auto& known : exchanges_)
      if (known.place.what == s.place.what && known.place.root == s.place.root &&
          known.place.column == s.place.column && known.inputs == s.inputs)
        return;
    exchanges_.push_back({s.place, s.inputs, exchange_numbers_});
    exchange_numbers_ += 2 * shape_.rows() * s.inputs;
  }
  struct Exchange {
    Variable place;
    Index inputs, offset;
  };
  const Exchange& exchange_of(const LoopPlan::Source& s) const {
    return *std::find_if(exchanges_.begin(), exchanges_.end(), [&](const Exchange& x) {
      return x.place.what == s.place.what && x.place.root == s.place.root && x.place.column == s.place.column &&
             x.inputs == s.inputs;
    });
  }
  /// Returns code that stores an element of a variable in the exchange buffers; empty if no product reads the variable.
  std::string hand_over(const Variable& v, const std::string& value, const std::string& step) const {
    std::string result;
    for (const Exchange& x : exchanges_)
      if (x.place.what == v.what && x.place.root == v.root && x.place.column <= v.column &&
          v.column < x.place.column + x.inputs)
        result += fmt::format(
            "      exchange[{} + ((({}) & 1) * {} + pass * {} + r) * {} + {} + u] = (unsigned short)pack_bf16({}, "
            "0.0f);\n",
            x.offset, step, shape_.rows(), rows_at_once(), x.inputs, v.column - x.place.column, value);
    return result;
  }

  /// Returns whether products of other blocks read a variable directly from its buffer.
  bool is_read_directly(const Variable& v) const {
    for (const auto& phase : loop_.phases)
      for (const auto& p : phase.products)
        for (const auto& x : p.sources)
          if (!is_bf16() && x.place.what == v.what && x.place.root == v.root && x.place.column <= v.column &&
              v.column < x.place.column + x.inputs)
            return true;
    return false;
  }

  // --- the kernel

  std::string head() const {
    std::string result = fmt::format(R"(
KERNEL_OF(loop, {threads}) {{
  const i64 steps = a.integer(0), places = a.integer(1);
  const i64* begin = (const i64*)a.pointer(2);
  const int group = (int)(block() / {members}), first = group * {rows}, u0 = (int)(block() % {members}) * {units};
  u32* flags = (u32*)a.pointer(3) + group * {flags};
  unsigned short* exchange = (unsigned short*)a.pointer(4) + (i64)group * {exchange};
  const T* parameters = (const T*)a.pointer(5);
  float* sums = (float*)shared_memory();
  const int tid = (int)thread(), warp = tid / 32, tile_row = tid % 32 / 4, quad = tid % 4;
  u32 handed = 0;
)",
                                     fmt::arg("threads", kLoopThreads), fmt::arg("members", shape_.members),
                                     fmt::arg("rows", shape_.rows()), fmt::arg("units", shape_.units),
                                     fmt::arg("exchange", exchange_numbers_), fmt::arg("flags", kFlagsOfGroup));
    for (std::size_t k = 0; k < roots_.size(); ++k)
      result += fmt::format("  T* const b{} = (T*)a.pointer({});\n", k, 6 + k);
    return result;
  }

  /// Tiles of 16 inputs and 8 columns; each thread holds 4 inputs of one column.
  std::string weights() const {
    std::string result;
    for (std::size_t f = 0; f < loop_.phases.size(); ++f)
      for (std::size_t p = 0; p < loop_.phases[f].products.size(); ++p) {
        const auto& product = loop_.phases[f].products[p];
        for (std::size_t s = 0; s < product.sources.size(); ++s) {
          const auto& source = product.sources[s];
          result += fmt::format(
              R"(
  {type} w{f}_{p}_{s}[{chunks}][{tiles}][4];
#pragma unroll
  for (int c = 0; c < {chunks}; ++c)
#pragma unroll
    for (int j = 0; j < {tiles}; ++j) {{
      const int k = ((c * {warps} + warp) * 4 + quad) * {mine}, unit = u0 + j * 8 % {units} + tile_row;
      const int n = j * 8 / {units} * {all} + unit;
      float x[{mine}];
#pragma unroll
      for (int i = 0; i < {mine}; ++i)
        x[i] = unit < {all} && k + i < {inputs} ? (float)parameters[{offset} + {index}] : 0.0f;
      {keep}
    }}
)",
              fmt::arg("type", precision_ == DevicePrecision::exact ? "float" : "u32"), fmt::arg("f", f),
              fmt::arg("p", p), fmt::arg("s", s), fmt::arg("chunks", chunks_of_warp(source.inputs, precision_)),
              fmt::arg("tiles", columns(product) / 8), fmt::arg("mine", chunk_of(precision_) / 4),
              fmt::arg("warps", kLoopWarps), fmt::arg("units", shape_.units), fmt::arg("all", loop_.units),
              fmt::arg("inputs", source.inputs), fmt::arg("offset", source.parameter),
              fmt::arg("index", source.transposed ? fmt::format("(i64)n * {} + k + i", source.ld)
                                                  : fmt::format("(i64)(k + i) * {} + n", source.ld)),
              fmt::arg("keep", keep_weights(fmt::format("w{}_{}_{}", f, p, s))));
        }
      }
    return result;
  }
  std::string keep_weights(const std::string& w) const {
    const char* kept = is_bf16()                             ? "pack_bf16(x[2 * i], x[2 * i + 1])"
                       : precision_ == DevicePrecision::tf32 ? "as_tf32(x[i])"
                                                             : "x[i]";
    return fmt::format("for (int i = 0; i < 4; ++i) {}[c][j][i] = {};", w, kept);
  }

  /// Returns code that initializes the exchange buffers with the values from before the first step, which the first
  /// products read.
  std::string prologue() {
    if (loop_.phases.front().products.empty()) return {};
    std::string result;
    for (const Exchange& x : exchanges_) {
      if (x.place.shift == 0) continue;
      const std::string from = fmt::format("b{}", buffer(x.place.what, x.place.root));
      result += fmt::format(R"(  for (int k = tid; k < {rows} * {units}; k += {threads})
    for (int block_of = 0; block_of < {blocks}; ++block_of) {{
      const int r = k / {units}, u = u0 + k % {units}, column = block_of * {all} + u;
      if (first + r < places && u < {all})
        exchange[{offset} + (({rows}) + r) * {inputs} + column] = (unsigned short)pack_bf16(
            (float){from}[(({history} - 1) * places + first + r) * {width} + {column} + column], 0.0f);
    }}
)",
                            fmt::arg("rows", shape_.rows()), fmt::arg("units", shape_.units),
                            fmt::arg("threads", kLoopThreads), fmt::arg("blocks", x.inputs / loop_.units),
                            fmt::arg("all", loop_.units), fmt::arg("offset", x.offset), fmt::arg("inputs", x.inputs),
                            fmt::arg("from", from), fmt::arg("history", plan_.history(x.place.root)),
                            fmt::arg("width", node(x.place.root).size), fmt::arg("column", x.place.column));
    }
    return result + arrival();
  }

  std::string step_begin() {
    std::string result = fmt::format(R"(  for (i64 s = 0; s < steps; ++s) {{
    const i64 t = {};
    const int now = clamped((int)(begin[t + 1] - begin[t]) - first, {});
)",
                                     backward_ ? "steps - 1 - s" : "s", shape_.rows());
    if (!backward_) result += "    if (now == 0) break;\n";
    for (const auto& [what, root, shift] : pointers_) {
      const Index history = plan_.history(root), width = node(root).size;
      const std::string step = shift == 0 ? "t" : fmt::format("(t - {})", shift);
      std::string row;
      if (what == What::adjoint && plan_.adjoint_buffer(root).ring)
        row = fmt::format("(({} + {}) % {}) * places", step, 1 + history, 1 + history);
      else
        row = fmt::format("{} * places + ({} >= 0 ? begin[{} >= 0 ? {} : 0] : {} * places)", history, step, step, step,
                          step);
      result += fmt::format("    T* const q{} = b{} + ({} + first) * {};\n", pointer_index(what, root, shift),
                            buffer(what, root), row, width);
    }
    if (persists_) result += declarations();
    return result;
  }
  std::size_t pointer_index(What what, int root, Index shift) const {
    return static_cast<std::size_t>(
        std::find(pointers_.begin(), pointers_.end(), std::tuple<What, int, Index>{what, root, shift}) -
        pointers_.begin());
  }
  Index elements() const { return (rows_at_once() * shape_.units + kLoopThreads - 1) / kLoopThreads; }
  std::string declarations() const {
    std::string result;
    for (std::size_t k = 0; k < code_.variables().size(); ++k) result += fmt::format("    T v{}[{}];\n", k, elements());
    return result;
  }
  /// Returns a loop over the elements of a thread.
  std::string each(const std::string& body) const {
    if (body.empty()) return {};
    return fmt::format(R"(#pragma unroll
    for (int e = 0; e < {elements}; ++e) {{
      const int k = tid + e * {threads}, r = k / {units}, u = u0 + k % {units};
      if (k >= {count} || pass * {rows} + r >= now || u >= {all}) continue;
{body}    }}
)",
                       fmt::arg("elements", elements()), fmt::arg("threads", kLoopThreads),
                       fmt::arg("units", shape_.units), fmt::arg("count", rows_at_once() * shape_.units),
                       fmt::arg("rows", rows_at_once()), fmt::arg("all", loop_.units), fmt::arg("body", body));
  }

  /// Collects all variables that a step reads or writes.
  void find_touched() {
    ElementCode all(plan_);
    for (const auto& phase : loop_.phases) {
      for (const auto& p : phase.products)
        for (Index b = 0; b < p.blocks; ++b) {
          Variable v = p.to;
          v.column += b * loop_.units;
          if (p.adds) all.read(v);
          all.written(v);
        }
      for (const Program* program : phase.programs)
        for (Index block = 0; block * loop_.units < node(program->slots.front().node).size; ++block)
          all.append(*program, block * loop_.units);
    }
    touched_ = all.loads();
    touched_.insert(all.stores().begin(), all.stores().end());
  }

  std::string phase(std::size_t f) {
    const auto& phase = loop_.phases[f];
    const std::set<Variable> loaded = persists_ ? code_.loads() : std::set<Variable>{};
    if (!persists_) code_ = ElementCode(plan_, "[e]");
    add_products(f);
    for (const Program* program : phase.programs)
      for (Index block = 0; block * loop_.units < node(program->slots.front().node).size; ++block)
        code_.append(*program, block * loop_.units);
    const std::string text = code_.take_text();
    std::string loads, handed, stores;
    for (const Variable& v : code_.loads())
      if (!loaded.contains(v)) loads += load(v);
    for (const Variable& v : written_) {
      handed += hand_over(v, code_.element(v), step_of(v));
      (is_read_directly(v) ? handed : stores) += fmt::format("      {} = {};\n", element(v), code_.element(v));
    }
    written_.clear();
    const bool awaited = !loop_.phases[(f + 1) % loop_.phases.size()].products.empty();

    std::string result = fmt::format("    // phase {}\n", f);
    const bool waits = !phase.products.empty();
    if (persists_) {
      result += "    {\n    const int pass = 0;\n" + each(loads);
      if (waits) result += waiting();
      for (std::size_t p = 0; p < phase.products.size(); ++p) result += multiply(f, p);
      if (waits) result += "    sync_block();\n";
      result += each(text + handed);
      if (awaited) result += arrival();
      result += each(stores) + "    }\n";
    } else {
      if (waits) result += waiting();
      result += fmt::format("    for (int pass = 0; pass < {} && pass * {} < now; ++pass) {{\n", shape_.row_passes,
                            rows_at_once());
      result += declarations() + each(loads);
      for (std::size_t p = 0; p < phase.products.size(); ++p) result += multiply(f, p);
      if (waits) result += "    sync_block();\n";
      result += each(text + handed + stores);
      if (waits) result += "    sync_block();\n";
      result += "    }\n";
      if (awaited) result += arrival();
    }
    return result;
  }

  std::string step_of(const Variable& v) const { return v.shift == 0 ? "t" : fmt::format("t - {}", v.shift); }

  /// Adds the sums of products, and collects the variables that a phase writes.
  void add_products(std::size_t f) {
    const auto& phase = loop_.phases[f];
    Index offset = 0;
    for (const auto& p : phase.products) {
      for (Index b = 0; b < p.blocks; ++b) {
        Variable v = p.to;
        v.column += b * loop_.units;
        const std::string sum = fmt::format("part_sum<{}, {}>(sums + {}, r, {} + u - u0)", rows_at_once(),
                                            sums_stride(columns(p)), offset, b * shape_.units);
        if (p.adds) {
          code_.read(v);
          code_.add_text(fmt::format("      {0} = {0} + {1};\n", code_.element(v), sum));
        } else if (p.bias >= 0) {
          code_.add_text(
              fmt::format("      {} = parameters[{} + u] + {};\n", code_.element(v), p.bias + b * loop_.units, sum));
        } else {
          code_.add_text(fmt::format("      {} = {};\n", code_.element(v), sum));
        }
        code_.written(v);
        written_.insert(v);
      }
      offset += kLoopWarps * rows_at_once() * sums_stride(columns(p));
    }
    for (const Program* program : phase.programs)
      for (Index block = 0; block * loop_.units < node(program->slots.front().node).size; ++block)
        for (const Instruction& i : program->instructions) {
          const Variable v = code_.variable(program->slots[at(i.out)], block * loop_.units);
          if (v.root >= 0) written_.insert(v);
        }
  }

  // --- values that a thread carries from step to step

  std::string load(const Variable& v) {
    const std::string to = code_.element(v), from = element(v);
    const bool tail = backward_ && v.what == What::adjoint && v.shift == 0 && plan_.adjoint_buffer(v.root).tail > 0;
    std::string value = from;
    Variable before = v;
    before.shift += backward_ ? 1 : -1;
    if (persists_ && before.shift >= 0 && before.shift <= 1 && v.shift <= 1 && touched_.contains(before)) {
      wanted_.push_back({before, v});
      // In the backward direction, sequences that begin at this step carry nothing.
      const std::string had =
          backward_ ? "s > 0 && r < clamped((int)(begin[t + 2] - begin[t + 1]) - first, 1 << 30)" : "s > 0";
      value = fmt::format("({}) ? carried{}[e] : {}", had, wanted_.size() - 1, from);
      carried_ += fmt::format("  T carried{}[{}] = {{}};\n", wanted_.size() - 1, elements());
    }
    if (!tail) return fmt::format("      {} = {};\n", to, value);
    const Index reach = plan_.adjoint_buffer(v.root).tail;
    return fmt::format(
        "      {0} = t + {1} < steps && pass * {2} + r < (int)(begin[t + {1} + 1] - begin[t + {1}]) - first ? ({3}) : "
        "T(0);\n",
        to, reach, rows_at_once(), value);
  }
  std::string carry_out() {
    std::string body;
    for (std::size_t k = 0; k < wanted_.size(); ++k)
      body += fmt::format("      carried{}[e] = {};\n", k, code_.element(wanted_[k].first));
    if (body.empty()) return {};
    return "    {\n    const int pass = 0;\n" + each(body) + "    }\n";
  }

  // --- synchronization, and products

  std::string arrival() const {
    return fmt::format("    ++handed;\n    sync_block();\n    if (tid == 0) publish(flags + block() % {}, handed);\n",
                       shape_.members);
  }
  std::string waiting() const {
    return fmt::format("    for (int m = tid % 32; m < {}; m += 32) await(flags + m, handed);\n    sync_warp();\n",
                       shape_.members);
  }

  std::string multiply(std::size_t f, std::size_t p) {
    const auto& product = loop_.phases[f].products[p];
    Index offset = 0;
    for (std::size_t k = 0; k < p; ++k)
      offset += kLoopWarps * rows_at_once() * sums_stride(columns(loop_.phases[f].products[k]));
    std::string sources;
    for (std::size_t s = 0; s < product.sources.size(); ++s)
      sources += is_bf16()
                     ? multiply_bf16(product.sources[s], fmt::format("w{}_{}_{}", f, p, s), columns(product) / 8)
                     : multiply_floats(product.sources[s], fmt::format("w{}_{}_{}", f, p, s), columns(product) / 8);
    return fmt::format(R"(#pragma unroll
    for (int mt = 0; mt < {row_tiles}; ++mt) {{
      Tile sum[{tiles}];
#pragma unroll
      for (int j = 0; j < {tiles}; ++j) sum[j].x[0] = sum[j].x[1] = sum[j].x[2] = sum[j].x[3] = 0.0f;
      const int r0 = pass * {rows} + mt * 16 + tile_row, r1 = r0 + 8;
      const bool on0 = r0 < now, on1 = r1 < now;
{sources}      float* to = sums + {offset} + (warp * {rows} + mt * 16 + tile_row) * {stride} + 2 * quad;
#pragma unroll
      for (int j = 0; j < {tiles}; ++j) {{
        to[j * 8] = sum[j].x[0], to[j * 8 + 1] = sum[j].x[1];
        to[8 * {stride} + j * 8] = sum[j].x[2], to[8 * {stride} + j * 8 + 1] = sum[j].x[3];
      }}
    }}
)",
                       fmt::arg("row_tiles", shape_.row_tiles), fmt::arg("tiles", columns(product) / 8),
                       fmt::arg("rows", rows_at_once()), fmt::arg("sources", sources), fmt::arg("offset", offset),
                       fmt::arg("stride", sums_stride(columns(product))));
  }

  std::string multiply_floats(const LoopPlan::Source& source, const std::string& w, Index tiles) {
    constexpr Index kStage = 4;
    const bool exact = precision_ == DevicePrecision::exact;
    const std::string one =
        exact ? fmt::format(R"(            const float wl = {w}[c][j][2 * h], wh = {w}[c][j][2 * h + 1];
            const u32 b[2] = {{as_tf32(wl), as_tf32(wh)}};
            const u32 rest_b[2] = {{as_tf32(rest_of_tf32(wl)), as_tf32(rest_of_tf32(wh))}};
            mma_tf32(sum[j].x, rest_a, b);
            mma_tf32(sum[j].x, a4, rest_b);
            mma_tf32(sum[j].x, a4, b);
)",
                            fmt::arg("w", w))
              : fmt::format(R"(            const u32 b[2] = {{{w}[c][j][2 * h], {w}[c][j][2 * h + 1]}};
            mma_tf32(sum[j].x, a4, b);
)",
                            fmt::arg("w", w));
    return fmt::format(
        R"(      {{
        const T* x0 = {from} + (i64)r0 * {width} + {column};
        const T* x1 = x0 + 8 * {width};
#pragma unroll
        for (int c0 = 0; c0 < {chunks}; c0 += {stage}) {{
          float4 f[{stage}][2];
#pragma unroll
          for (int i = 0; i < {stage}; ++i) {{
            const int k = (((c0 + i) * {warps} + warp) * 4 + quad) * 4;
            f[i][0] = on0 && c0 + i < {chunks} && k < {inputs} ? load_far((const float4*)(x0 + k)) : zero4();
            f[i][1] = on1 && c0 + i < {chunks} && k < {inputs} ? load_far((const float4*)(x1 + k)) : zero4();
          }}
#pragma unroll
          for (int i = 0; i < {stage}; ++i) {{
            const int c = c0 + i;
            if (c >= {chunks}) continue;
            const float l[4] = {{f[i][0].x, f[i][0].y, f[i][0].z, f[i][0].w}};
            const float m[4] = {{f[i][1].x, f[i][1].y, f[i][1].z, f[i][1].w}};
#pragma unroll
            for (int h = 0; h < 2; ++h) {{
              const u32 a4[4] = {{as_tf32(l[2 * h]), as_tf32(m[2 * h]), as_tf32(l[2 * h + 1]), as_tf32(m[2 * h + 1])}};
{rest}#pragma unroll
              for (int j = 0; j < {tiles}; ++j) {{
{one}              }}
            }}
          }}
        }}
      }}
)",
        fmt::arg("from", pointer(source.place)), fmt::arg("width", node(source.place.root).size),
        fmt::arg("column", source.place.column), fmt::arg("chunks", chunks_of_warp(source.inputs, precision_)),
        fmt::arg("stage", std::min(kStage, chunks_of_warp(source.inputs, precision_))), fmt::arg("warps", kLoopWarps),
        fmt::arg("inputs", source.inputs), fmt::arg("tiles", tiles), fmt::arg("one", one),
        fmt::arg("rest", exact ? "              const u32 rest_a[4] = {as_tf32(rest_of_tf32(l[2 * h])), "
                                 "as_tf32(rest_of_tf32(m[2 * h])),\n"
                                 "                                       as_tf32(rest_of_tf32(l[2 * h + "
                                 "1])), as_tf32(rest_of_tf32(m[2 * h + 1]))};\n"
                               : ""));
  }

  std::string multiply_bf16(const LoopPlan::Source& source, const std::string& w, Index tiles) {
    constexpr Index kStage = 8;
    const Exchange& x = exchange_of(source);
    return fmt::format(R"(      {{
        const unsigned short* x0 = exchange + {offset} + ((({step}) & 1) * {rows} + (i64)r0) * {inputs};
        const unsigned short* x1 = x0 + 8 * {inputs};
#pragma unroll
        for (int c0 = 0; c0 < {chunks}; c0 += {stage}) {{
          uint4 f[{stage}][2];
#pragma unroll
          for (int i = 0; i < {stage}; ++i) {{
            const int k = (((c0 + i) * {warps} + warp) * 4 + quad) * 8;
            f[i][0] = on0 && c0 + i < {chunks} && k < {inputs} ? load_far((const uint4*)(x0 + k)) : zero_bits();
            f[i][1] = on1 && c0 + i < {chunks} && k < {inputs} ? load_far((const uint4*)(x1 + k)) : zero_bits();
          }}
#pragma unroll
          for (int i = 0; i < {stage}; ++i) {{
            if (c0 + i >= {chunks}) continue;
            const u32 front[4] = {{f[i][0].x, f[i][1].x, f[i][0].y, f[i][1].y}};
            const u32 back[4] = {{f[i][0].z, f[i][1].z, f[i][0].w, f[i][1].w}};
#pragma unroll
            for (int j = 0; j < {tiles}; ++j) {{
              mma_bf16(sum[j].x, front, {w}[c0 + i][j]);
              mma_bf16(sum[j].x, back, {w}[c0 + i][j] + 2);
            }}
          }}
        }}
      }}
)",
                       fmt::arg("offset", x.offset), fmt::arg("step", step_of(source.place)),
                       fmt::arg("rows", shape_.rows()), fmt::arg("inputs", source.inputs),
                       fmt::arg("chunks", chunks_of_warp(source.inputs, precision_)),
                       fmt::arg("stage", std::min(kStage, chunks_of_warp(source.inputs, precision_))),
                       fmt::arg("warps", kLoopWarps), fmt::arg("tiles", tiles), fmt::arg("w", w));
  }

  const Plan& plan_;
  const LoopPlan& loop_;
  const LoopShape& shape_;
  DevicePrecision precision_;
  bool backward_, persists_;  // variables stay in registers during a whole step
  ElementCode code_;
  std::vector<std::pair<What, int>> roots_;
  std::vector<std::tuple<What, int, Index>> pointers_;
  std::vector<Exchange> exchanges_;
  Index exchange_numbers_ = 0;
  std::set<Variable> touched_;  // variables that a step reads or writes
  std::set<Variable> written_;  // variables that the current phase writes
  std::vector<std::pair<Variable, Variable>> wanted_;
  std::string carried_;
};

}  // namespace

LoopSource loop_source(const Plan& plan, const LoopPlan& loop, const LoopShape& shape, DevicePrecision precision,
                       bool backward) {
  return LoopWriter(plan, loop, shape, precision, backward).write();
}

}  // namespace unfold
