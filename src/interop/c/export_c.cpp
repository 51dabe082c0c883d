#include "interop/c/export_c.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "interop/c/export_c_fields.h"
#include "interop/c/export_c_functions.h"
#include "interop/c/export_c_series.h"
#include "interop/c/export_c_shared.h"
#include "interop/c/export_c_step.h"
#include "model/registry/run_folder.h"
#include "unfold/base/error.h"
#include "unfold/model/network/language_model.h"

namespace unfold {
namespace {

constexpr std::size_t kLongestName = 200;

/// Returns what is wrong with a prefix of C and C++ identifiers; empty if it is valid. Every identifier continues with
/// `_` and more characters, so it cannot hide a keyword or a library function.
std::string fault_of(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto allowed = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  if (name.empty()) return "it is empty";
  if (!std::ranges::all_of(name, allowed)) return "only the letters a-z and A-Z, digits and _ are allowed";
  if (!letter(name.front())) return "it must begin with a letter";
  if (name.back() == '_' || name.find("__") != std::string_view::npos)
    return "names with __ are reserved, and the prefix is followed by _";
  if (name.size() > kLongestName) return fmt::format("it is longer than {} characters", kLongestName);
  return {};
}

constexpr const char* kHead = R"( *
 *   @state state;
 *   @real log_probabilities[@@_SYMBOLS];
 *   @init(&state);
 *   @step(&state, @@_NO_SYMBOL, log_probabilities);  before the first symbol
 *   @step(&state, symbol, log_probabilities);        after each symbol, for the next one
 *
 * This file is valid C99 and C++11. A state is plain data of fixed size and can be copied. Nothing is allocated. The
 * log-probabilities are bit-identical to those of the library on every machine with IEEE 754 arithmetic. A step is fast
 * if the compiler may use fused multiply-add instructions (-march=native); otherwise it is exact but slow. Link with -lm.
 * To include only the declarations, #define @@_DECLARATIONS before #include. */

#ifndef @@_SYMBOLS
#include <stddef.h>
)";

constexpr const char* kDeclarations = R"(
#ifdef __cplusplus
extern "C" {
#endif
/* The state before the first symbol. */
void @init(@state *state);
/* Reads a symbol, or @@_NO_SYMBOL before the first one, and writes the natural logarithms of the probabilities of the
 * following symbol to log_probabilities (@@_SYMBOLS numbers), unless it is NULL. Returns 0; or -1, without any effect,
 * if the number is not a symbol. */
int @step(@state *state, int symbol, @real *log_probabilities);
/* The text of each symbol, and its number of bytes. */
extern const char *const @texts[@@_SYMBOLS];
extern const unsigned char @text_sizes[@@_SYMBOLS];
/* The symbol with this text; @@_NO_SYMBOL if there is none. */
int @find(const char *text, size_t size);
#ifdef __cplusplus
}
#endif
#endif

#ifndef @@_DECLARATIONS
)";

constexpr const char* kInit = R"(
void @init(@state *s) {
  memset(s, 0, sizeof *s);
)";

constexpr const char* kStepBegin = R"(}

int @step(@state *s, int symbol, @real *log_probabilities) {
  int i;
)";
constexpr const char* kStepChecks = R"(  if (symbol < @@_NO_SYMBOL || symbol >= @@_SYMBOLS) return -1;
)";

template <class T>
void write_model(const LanguageModel<T>& model, const ExportCRequest& request,
                 const std::function<void(std::string_view)>& write) {
  const bool wide = sizeof(T) == 8;
  const CText text(request.name, wide);
  const Alphabet& alphabet = model.alphabet();
  if (const Loss<T>& loss = *model.network().heads.front().loss; loss.template as<Categorical<T>>() == nullptr)
    throw UsageError(
        fmt::format("export to C supports only the softmax, but the loss of the model is {}; train a "
                    "model without loss=",
                    loss.name()));
  CStep step = write_c_step(*model.plan(), model.parameters(), model.logits().id, text);
  const std::string symbols = c_alphabet(alphabet, text);
  step.functions.insert("log_sum_exp");
  write("/* " + comment_text(fmt::format("{} over {} {}, written by Unfold.\n", model.spec_text(), alphabet.size(),
                                         to_string(alphabet.kind()))));
  write(text(kHead));
  write(text(fmt::format("\n#define @@_SYMBOLS {}\n#define @@_NO_SYMBOL (-1)\ntypedef {} @real;\ntypedef struct {{\n",
                         alphabet.size(), wide ? "double" : "float")));
  write(step.fields.empty() ? "  char nothing;\n" : step.fields);
  write(text("} @state;\n"));
  write(text(kDeclarations));
  write(c_guards(text));
  if (step.uses_places) write(text("typedef uint32_t @place;\n"));
  write(c_functions(text, step.functions));
  write("\n");
  write(step.constants);
  write(text(kInit));
  write(step.begin);
  write(text(kStepBegin));
  if ((step.statements + step.output_statements).find(" row * ") != std::string::npos)
    write(text("  const int row = symbol < 0 ? @@_SYMBOLS : symbol;\n"));
  write(text(kStepChecks));
  write(step.statements);
  write("  if (log_probabilities != NULL) {\n");
  write(step.output_statements);
  write(text(fmt::format("    const @real *logits = {};\n", step.output)));
  write(
      text("    const @real normalizer = @log_sum_exp(logits);\n"
           "    for (i = 0; i < @@_SYMBOLS; ++i) log_probabilities[i] = logits[i] - normalizer;\n  }\n"
           "  return 0;\n}\n"));
  write(symbols);
  write("#endif\n");
}

}  // namespace

void export_c(const ExportCRequest& request, const std::function<void(std::string_view)>& write) {
  if (const std::string fault = fault_of(request.name); !fault.empty())
    throw UsageError(fmt::format("--name {} is not a valid prefix of names in C: {}; use for example --name model",
                                 in_quotes(request.name), fault));
  const std::unique_ptr<Model> model = load_model_file(model_file(request.model));
  try {
    if (const auto* narrow = model->as<LanguageModel<float>>()) return write_model(*narrow, request, write);
    if (const auto* wide = model->as<LanguageModel<double>>()) return write_model(*wide, request, write);
    const auto of_network = [&](const auto& network) {
      return reads_whole_series(network) ? export_c_series(network, request, write)
                                         : export_c_fields(network, request, write);
    };
    if (const auto* narrow = model->as<NetworkModel<float>>()) return of_network(*narrow);
    if (const auto* wide = model->as<NetworkModel<double>>()) return of_network(*wide);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {} cannot be written as C: {}", request.model, model->spec_text(), error.what()));
  }
  throw UsageError(fmt::format("{}: {}, which reads {}, cannot be written as C: only networks are supported",
                               request.model, model->spec_text(), model->data().source));
}

}  // namespace unfold
