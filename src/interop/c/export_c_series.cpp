#include "interop/c/export_c_series.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "graph/circuit/random_kernels.h"
#include "interop/c/export_c_functions.h"
#include "interop/c/export_c_shared.h"
#include "interop/c/exported_model.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr const char* kUseSeries = R"( *
 *   double series[positions * @@_INPUTS];            one row per position, in units of the data
 *   float work[@@_WORK(positions)];
 *   @predict(series, positions, work, %);
 *
 * This file is valid C99 and C++11. Nothing is allocated. The function is fast if the compiler may use fused multiply-add
 * instructions (-march=native); otherwise it is exact but slow. Link with -lm.
 * To include only the declarations, #define @@_DECLARATIONS before #include. */

#ifndef @@_INPUTS
#include <stddef.h>
)";

constexpr const char* kKernelFunctions = R"(
/* Computes the outputs of a kernel at its centers. Positions beyond the ends are zero. */
static void @convolve(const float *x, int rows, const @group *g, const unsigned char *highs, const unsigned char *reads,
                      int begin, int end, float *out) {
  int t, tap, c;
  for (t = begin; t < end; ++t) {
    float sum = 0;
    for (tap = 0; tap < 9; ++tap) {
      const int position = t + (tap - 4) * g->dilation;
      const float weight = tap == highs[0] || tap == highs[1] || tap == highs[2] ? 2.0f : -1.0f;
      if (position < 0 || position >= rows) continue;
      for (c = 0; c < @@_INPUTS; ++c)
        if (reads[c]) sum = fmaf(x[position * @@_INPUTS + c], weight, sum);
    }
    out[t - begin] = sum;
  }
}

/* Computes the share of outputs above a threshold, their mean excess and position, and the longest run of them. */
static void @pool(const float *out, int n, float threshold, float *features, int stride) {
  float count = 0, excess = 0, position = 0, run = 0, longest = 0, place = 0;
  int t;
  for (t = 0; t < n; ++t) {
    place = place + 1.0f;
    if (out[t] > threshold) {
      count = count + 1.0f;
      excess = excess + (out[t] - threshold);
      position = position + place;
      run = run + 1.0f;
      if (run > longest) longest = run;
    } else {
      run = 0;
    }
  }
  if (n > 0) {
    const float divisor = count > 1.0f ? count : 1.0f;
    features[0] = count / (float)n;
    features[stride] = excess / divisor;
    features[2 * stride] = position / (divisor * (float)n);
    features[3 * stride] = longest / (float)n;
  } else {
    features[0] = features[stride] = features[2 * stride] = features[3 * stride] = 0;
  }
}
)";

constexpr const char* kStandardize = R"(
/* Standardizes a channel of a series to mean 0 and deviation 1. */
static void @standardize(float *x, int rows) {
  double sum = 0, squares = 0, mean, deviation;
  int t;
  for (t = 0; t < rows; ++t) sum += (double)x[t * @@_INPUTS];
  mean = sum / rows;
  for (t = 0; t < rows; ++t) squares += ((double)x[t * @@_INPUTS] - mean) * ((double)x[t * @@_INPUTS] - mean);
  deviation = sqrt(squares / rows);
  for (t = 0; t < rows; ++t)
    x[t * @@_INPUTS] = deviation > 1e-8 ? (float)(((double)x[t * @@_INPUTS] - mean) / deviation) : 0.0f;
}
)";

constexpr const char* kFeatures = R"({
  float *x = work, *differences = x + (size_t)positions * @@_INPUTS;
  float *out = differences + (size_t)positions * @@_INPUTS, *features = out + positions;
  @real outputs[(@@_SIGNALS + 15) / 16 * 16] = {0};
  int i, k, c, n, group;
  if (series == NULL || positions < 1) return -1;
  for (i = 0; i < positions * @@_INPUTS; ++i) {
    x[i] = (float)((series[i] - @input_mean[i % @@_INPUTS]) / @input_deviation[i % @@_INPUTS]);
    if (!isfinite(x[i])) return -1;
  }
%  for (i = 0; i < (positions - 1) * @@_INPUTS; ++i) differences[i] = x[i + @@_INPUTS] - x[i];
  for (group = 0; group < @@_GROUPS; ++group) {
    const @group *g = &@groups[group];
    const int rows = g->differences ? positions - 1 : positions, reach = 4 * g->dilation;
    const int all = g->padded || rows <= 2 * reach;
    const int begin = all ? 0 : reach, end = all ? rows : rows - reach;
    for (n = 0; n < 42; ++n) {
      @convolve(g->differences ? differences : x, rows, g, @highs[g->parity + 2 * n],
                @reads[group] + n * @@_INPUTS, begin, end, out);
      for (k = 0; k < g->each; ++k)
        @pool(out, end - begin, @thresholds[g->first + k * 42 + n], features + 4 * g->first + k * 42 + n, g->each * 42);
    }
  }
  for (c = 0; c < @@_SIGNALS; ++c) outputs[c] = @biases[c];
  for (i = 0; i < @@_FEATURES; ++i)
    for (c = 0; c < @@_SIGNALS; ++c) outputs[c] = fma$((@real)features[i], @weights[i * @@_SIGNALS + c], outputs[c]);
)";

/// Returns the operator of the kernels, and its parameter; null if there is none.
template <class T>
const Node::AffineTerm* kernels_of(const NetworkModel<T>& model) {
  for (const Node& node : model.network().circuit().nodes())
    for (const Node::AffineTerm& term : node.terms())
      if (as_random_kernels(term.op.get()) != nullptr) return &term;
  return nullptr;
}

template <class T>
class SeriesFile {
 public:
  SeriesFile(const NetworkModel<T>& model, const ExportCRequest& request)
      : of_(model, request), term_(*kernels_of(model)), bank_(*as_random_kernels(term_.op.get())) {
    if (!of_.read.texts.empty()) throw UsageError("it reads symbols besides numbers");
  }

  void write(const std::function<void(std::string_view)>& write) const {
    std::string head = kUseSeries;
    head.replace(head.find('%'), 1, of_.outputs.arguments(false));
    write("/* " + comment_text(fmt::format("{}, which reads whole series of {} and predicts {}, written by Unfold.\n",
                                           of_.model.spec_text(), fmt::join(of_.read.names, ", "), of_.field.name)));
    write(of_.text(head));
    write(of_.text(declarations()));
    write(c_guards(of_.text));
    write(c_functions(of_.text, of_.outputs.functions()));
    write(of_.text(c_table("input_mean", of_.read.mean) + c_table("input_deviation", of_.read.deviation) +
                   of_.outputs.tables()));
    write(of_.text(kernel_tables()));
    write(of_.text(kKernelFunctions));
    if (bank_.options().standardized) write(of_.text(kStandardize));
    write(of_.text("\nint @predict(const double *series, int positions, float *work, " + of_.outputs.arguments(true) +
                   ") "));
    std::string features = kFeatures;
    features.replace(
        features.find("\n%") + 1, 1,
        bank_.options().standardized ? "  for (c = 0; c < @@_INPUTS; ++c) @standardize(x + c, positions);\n" : "");
    write(of_.text(features + of_.outputs.text("", "outputs") + "  return 0;\n}\n"));
    if (of_.outputs.given() == FieldOutput::labels) write(c_alphabet(*of_.field.alphabet, of_.text));
    write("#endif\n");
  }

 private:
  std::string declarations() const {
    const bool labels = of_.outputs.given() == FieldOutput::labels;
    std::string text = fmt::format(R"(
#define @@_INPUTS {}
#define @@_{} {}
#define @@_SIGNALS {}
#define @@_FEATURES {}
#define @@_GROUPS {}
{}/* The size of the working memory for a series. */
#define @@_WORK(positions) ((size_t)(positions) * (2 * @@_INPUTS + 1) + @@_FEATURES)
typedef {} @real;

#ifdef __cplusplus
extern "C" {{
#endif
/* Reads a series of {}, and writes
 * {}; outputs may be NULL.
 * Returns 0; or -1, without any effect, if there are no positions or a number is not finite. */
int @predict(const double *series, int positions, float *work, {});
)",
                                   of_.read.names.size(), labels ? "SYMBOLS" : "OUTPUTS", of_.field.size, signals(),
                                   bank_.features(), bank_.groups().size(), labels ? "#define @@_NO_SYMBOL (-1)\n" : "",
                                   of_.text.wide() ? "double" : "float",
                                   comment_text(fmt::format("{}", fmt::join(of_.read.names, ", "))),
                                   of_.outputs.what_is_given(), of_.outputs.arguments(true));
    if (labels)
      text += R"(/* The text of each label, and its number of bytes. */
extern const char *const @texts[@@_SYMBOLS];
extern const unsigned char @text_sizes[@@_SYMBOLS];
/* The label with this text; @@_NO_SYMBOL if there is none. */
int @find(const char *text, size_t size);
)";
    return text + "#ifdef __cplusplus\n}\n#endif\n#endif\n\n#ifndef @@_DECLARATIONS\n";
  }

  const Node& readout() const { return of_.model.network().circuit().nodes()[at(of_.head.signal.id)]; }
  Index signals() const { return readout().size; }

  std::string numbers(const char* type, const char* name, Index count, const auto& value) const {
    std::string text = fmt::format("static const {} @{}[] = {{", type, name);
    for (Index i = 0; i < count; ++i) text += fmt::format("{}{:a}$,", i % 8 == 0 ? "\n  " : " ", value(i));
    return text + "};\n";
  }

  std::string kernel_tables() const {
    std::string text =
        "typedef struct {\n  int differences, padded, dilation, first, each, parity;\n} @group;\n"
        "static const @group @groups[@@_GROUPS] = {\n";
    std::string reads = "static const unsigned char @reads[@@_GROUPS][42 * @@_INPUTS] = {\n";
    for (const KernelBank::Group& group : bank_.groups()) {
      text += fmt::format("  {{{}, {}, {}, {}, {}, {}}},\n", int{group.differences}, int{group.padded}, group.dilation,
                          group.first, group.each, group.kernels.front());
      reads += "  {";
      for (Index lane = 0; lane < static_cast<Index>(group.kernels.size()); ++lane)
        for (Index channel = 0; channel < bank_.options().channels; ++channel)
          reads += bank_.weight(group, lane, 0, channel) != 0 ? "1," : "0,";
      reads += "},\n";
    }
    text += "};\n" + reads + "};\nstatic const unsigned char @highs[84][3] = {\n";
    for (Index a = 0; a < kKernelTaps; ++a)
      for (Index b = a + 1; b < kKernelTaps; ++b)
        for (Index c = b + 1; c < kKernelTaps; ++c) text += fmt::format("  {{{}, {}, {}}},\n", a, b, c);
    const Parameters<T>& parameters = of_.model.parameters();
    const Matrix<const T> thresholds = parameters[term_.parameter];
    const Node& map = readout();
    if (map.terms().size() != 1 || !map.terms().front().dense()) throw UsageError("its readout has several terms");
    const Matrix<const T> weights = parameters[map.terms().front().parameter], biases = parameters[map.affine().bias];
    text += "};\n";
    std::string table = fmt::format("static const float @thresholds[] = {{");
    for (Index i = 0; i < thresholds.cols; ++i)
      table += fmt::format("{}{:a}f,", i % 8 == 0 ? "\n  " : " ", static_cast<double>(thresholds(0, i)));
    return text + table + "};\n" +
           numbers("@real", "biases", signals(), [&](Index i) { return static_cast<double>(biases(0, i)); }) +
           numbers("@real", "weights", weights.rows * weights.cols,
                   [&](Index i) { return static_cast<double>(weights(i / weights.cols, i % weights.cols)); });
  }

  const ExportedModel<T> of_;
  const Node::AffineTerm& term_;
  const KernelBank& bank_;
};

}  // namespace

template <class T>
bool reads_whole_series(const NetworkModel<T>& model) {
  return kernels_of(model) != nullptr;
}

template <class T>
void export_c_series(const NetworkModel<T>& model, const ExportCRequest& request,
                     const std::function<void(std::string_view)>& write) {
  SeriesFile<T>(model, request).write(write);
}

template bool reads_whole_series(const NetworkModel<float>&);
template bool reads_whole_series(const NetworkModel<double>&);
template void export_c_series(const NetworkModel<float>&, const ExportCRequest&,
                              const std::function<void(std::string_view)>&);
template void export_c_series(const NetworkModel<double>&, const ExportCRequest&,
                              const std::function<void(std::string_view)>&);

}  // namespace unfold
