#include "unfold/exchange/export_c_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "unfold/base/error.h"
#include "unfold/data/derived.h"
#include "unfold/data/example_set.h"
#include "unfold/exchange/export_c_file.h"
#include "unfold/exchange/export_c_functions.h"
#include "unfold/exchange/export_c_step.h"
#include "unfold/models/density_model.h"

namespace unfold {
namespace {

/// What a step takes.
struct NumbersRead {
  std::vector<int> signals = {};
  std::vector<std::string> names = {};  ///< of all numbers, in their order
  std::vector<double> mean = {}, deviation = {};
  bool looks_back = false;  ///< a step reads the numbers of the position before the one that it speaks of
};

/// What a step gives of its field.
enum class Given { labels, means, probabilities, means_and_deviations };

void add_field(const FieldSpecification& field, std::vector<std::string>& names, std::vector<double>& mean,
               std::vector<double>& deviation) {
  for (Index i = 0; i < field.size; ++i) {
    const auto k = static_cast<std::size_t>(i);
    names.push_back(field.size == 1 ? field.name : fmt::format("{}[{}]", field.name, i));
    mean.push_back(field.mean.empty() ? 0 : field.mean[k]);
    deviation.push_back(field.mean.empty() ? 1 : field.deviation[k]);
  }
}

template <class T>
NumbersRead numbers_read(const NetworkModel<T>& model) {
  NumbersRead result;
  for (const NetworkInput& input : model.network().inputs) {
    const FieldRead read = parse_read(input.field);
    if (parse_derived(read.field)) throw UsageError("it reads " + input.field + ", which is derived from a text");
    const FieldSpecification& field = model.data().field(read.field);
    if (field.type != FieldSpecification::Type::values) throw UsageError("it reads texts, " + input.field);
    const bool back = read.back == 1;
    if (read.back > 1 || (!result.signals.empty() && back != result.looks_back))
      throw UsageError("it reads " + input.field + ", and other positions too");
    result.looks_back = back;
    result.signals.push_back(input.signal.id);
    add_field(field, result.names, result.mean, result.deviation);
  }
  return result;
}

Given given_by(std::string_view loss) {
  if (loss == "softmax") return Given::labels;
  if (loss == "gaussian") return Given::means;
  if (loss == "bernoulli") return Given::probabilities;
  if (loss == "normal") return Given::means_and_deviations;
  throw UsageError(fmt::format("its loss is {}; there are softmax, gaussian, bernoulli and normal", loss));
}

std::string list_of(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

std::string table(const char* name, const std::vector<double>& numbers) {
  std::string text = fmt::format("static const double @{}[] = {{", name);
  for (const double x : numbers) text += fmt::format("{:a}, ", x);
  return text + "};\n";
}

constexpr const char* kUse = R"( *
 *   @state state;
 *   @init(&state);
%
 *
 * C99. A state is plain data of fixed size, to be copied at will; nothing is allocated. With a processor's fused
 * multiply-add (-march=native) a step is fast; without, exact and slow. Link with -lm.
 * To include the declarations alone: #define @@_DECLARATIONS before #include. */

#ifndef @@_INPUTS
#include <stddef.h>
)";

template <class T>
class FieldsFile {
 public:
  FieldsFile(const NetworkModel<T>& model, const ExportCRequest& request)
      : model_(model),
        text_(request.name, sizeof(T) == sizeof(double)),
        read_(numbers_read(model)),
        head_(model.network().only_head("export --to c")),
        field_(model.data().field(head_.field)),
        given_(given_by(head_.loss->name())) {}

  void write(const std::function<void(std::string_view)>& write) {
    CStep step = write_c_step(*model_.plan(), model_.parameters(), head_.signal.id, text_, read_.signals);
    if (given_ == Given::labels) step.functions.insert("log_sum_exp");
    if (given_ == Given::probabilities) step.functions.insert("sigmoid");
    if (given_ == Given::means_and_deviations) step.functions.insert({"exp", "tanh"});
    write("/* " +
          comment_text(fmt::format("{}, which reads {} and predicts {}{}, written by Unfold.\n", model_.spec_text(),
                                   list_of(read_.names), field_.name, field_.once ? " at the end" : "")));
    write(text_(head_text()));
    write(text_(declarations(step)));
    write(c_guards(text_));
    if (step.uses_places) write(text_("typedef uint32_t @place;\n"));
    write(c_functions(text_, step.functions));
    write("\n");
    write(text_(table("input_mean", read_.mean) + table("input_deviation", read_.deviation) + output_tables()));
    write(step.constants);
    write(text_("\nvoid @init(@state *s) {\n  memset(s, 0, sizeof *s);\n"));
    write(step.begin);
    write(text_(step_text(step)));
    if (given_ == Given::labels) write(c_alphabet(*field_.alphabet, text_));
    write("#endif\n");
  }

 private:
  std::string arguments(bool types) const {
    switch (given_) {
      case Given::labels: return types ? "@real *log_probabilities" : "log_probabilities";
      case Given::means:
      case Given::probabilities: return types ? "double *means" : "means";
      case Given::means_and_deviations: return types ? "double *means, double *deviations" : "means, deviations";
    }
    return "";
  }
  std::string head_text() const {
    std::string head = kUse, use;
    if (read_.looks_back)
      use = fmt::format(" *   @step(&state, NULL, {});      before the first numbers\n", arguments(false));
    use += fmt::format(" *   @step(&state, numbers, {});   {}", arguments(false),
                       read_.looks_back ? "after them: what comes next" : "of these numbers");
    return head.replace(head.find('%'), 1, use);
  }

  std::string declarations(const CStep& step) const {
    std::string text = fmt::format("\n#define @@_INPUTS {}\n", read_.names.size());
    text += given_ == Given::labels ? fmt::format("#define @@_SYMBOLS {}\n#define @@_NO_SYMBOL (-1)\n", field_.size)
                                    : fmt::format("#define @@_OUTPUTS {}\n", field_.size);
    text += fmt::format("typedef {} @real;\ntypedef struct {{\n{}}} @state;\n", text_.wide() ? "double" : "float",
                        step.fields.empty() ? "  char nothing;\n" : step.fields);
    text += fmt::format(R"(
/* The state before the first step. */
void @init(@state *state);
/* Reads {} as the data had {}{}; what it gives may be NULL: {}. Returns 0, or -1
 * for numbers that are not finite{}: nothing is done. */
int @step(@state *state, const double *numbers, {});
)",
                        list_of(read_.names), read_.names.size() == 1 ? "it" : "them",
                        read_.looks_back ? ", or NULL before the first" : "", what_is_given(),
                        read_.looks_back ? "" : " or NULL", arguments(true));
    if (given_ == Given::labels)
      text += R"(/* The text of a label, and how many bytes it has. */
extern const char *const @texts[@@_SYMBOLS];
extern const unsigned char @text_sizes[@@_SYMBOLS];
/* The label with this text; @@_NO_SYMBOL if there is none. */
int @find(const char *text, size_t size);
)";
    return text + "#endif\n\n#ifndef @@_DECLARATIONS\n";
  }

  std::string what_is_given() const {
    switch (given_) {
      case Given::labels: return "natural logarithms of the probabilities of the labels";
      case Given::means: return "the mean of " + field_.name + " in units of the data";
      case Given::probabilities: return "the probability that " + field_.name + " is 1";
      case Given::means_and_deviations:
        return "mean and standard deviation of " + field_.name + " in units of the data";
    }
    return "";
  }

  std::string output_tables() const {
    if (given_ == Given::labels) return "";
    std::vector<std::string> names;
    std::vector<double> mean, deviation;
    add_field(field_, names, mean, deviation);
    return table("output_mean", mean) + table("output_deviation", deviation);
  }

  std::string step_text(const CStep& step) const {
    std::string text = fmt::format(
        "}}\n\nint @step(@state *s, const double *numbers, {}) {{\n  @real x[@@_INPUTS];\n  int i;\n", arguments(true));
    const char* standardise =
        "(float)((numbers[i] - @input_mean[i]) / @input_deviation[i]);\n    if (!isfinite(x[i])) return -1;\n  }\n";
    if (read_.looks_back)
      text += fmt::format("  for (i = 0; i < @@_INPUTS; ++i) {{\n    x[i] = numbers == NULL ? 0 : {}", standardise);
    else
      text += fmt::format("  if (numbers == NULL) return -1;\n  for (i = 0; i < @@_INPUTS; ++i) {{\n    x[i] = {}",
                          standardise);
    return text + step.statements + output_text(step) + "  return 0;\n}\n";
  }

  std::string output_text(const CStep& step) const {
    const std::string& at = step.output;
    if (given_ == Given::labels)
      return fmt::format(R"(  if (log_probabilities != NULL) {{
{}    const @real *logits = {};
    const @real normaliser = @log_sum_exp(logits);
    for (i = 0; i < @@_SYMBOLS; ++i) log_probabilities[i] = logits[i] - normaliser;
  }}
)",
                         step.output_statements, at);
    const std::string value =
        given_ == Given::probabilities ? fmt::format("@sigmoid(({})[i])", at) : fmt::format("({})[i]", at);
    const bool two = given_ == Given::means_and_deviations;
    std::string text =
        two ? "  if (means == NULL && deviations == NULL) return 0;\n" : "  if (means == NULL) return 0;\n";
    text += step.output_statements;
    text += fmt::format(
        "  {}for (i = 0; i < @@_OUTPUTS; ++i)\n"
        "      means[i] = @output_mean[i] + @output_deviation[i] * (double){};\n",
        two ? "if (means != NULL)\n    " : "", value);
    if (two)
      text += fmt::format(
          "  if (deviations != NULL)\n    for (i = 0; i < @@_OUTPUTS; ++i)\n"
          "      deviations[i] = @output_deviation[i] * (double)@exp(10 * @tanh(({})[@@_OUTPUTS + i] / 10));\n",
          at);
    return text;
  }

  const NetworkModel<T>& model_;
  CText text_;
  NumbersRead read_;
  const Head<T>& head_;
  const FieldSpecification& field_;
  Given given_;
};

}  // namespace

template <class T>
void export_c_fields(const NetworkModel<T>& model, const ExportCRequest& request,
                     const std::function<void(std::string_view)>& write) {
  if (is_density(model.spec())) throw UsageError("it is a distribution of vectors");
  FieldsFile<T>(model, request).write(write);
}

template void export_c_fields(const NetworkModel<float>&, const ExportCRequest&,
                              const std::function<void(std::string_view)>&);
template void export_c_fields(const NetworkModel<double>&, const ExportCRequest&,
                              const std::function<void(std::string_view)>&);

}  // namespace unfold
