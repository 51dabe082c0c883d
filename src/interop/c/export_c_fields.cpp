#include "interop/c/export_c_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "interop/c/export_c_functions.h"
#include "interop/c/export_c_shared.h"
#include "interop/c/export_c_step.h"
#include "interop/c/exported_model.h"
#include "unfold/base/error.h"
#include "unfold/data/examples/example_set.h"

namespace unfold {
namespace {

std::string list_of(const std::vector<std::string>& names) {
  return comment_text(fmt::format("{}", fmt::join(names, ", ")));
}

constexpr const char* kUse = R"( *
 *   @state state;
 *   @init(&state);
%
 *
 * This file is valid C99 and C++11. A state is plain data of fixed size and can be copied. Nothing is allocated. A step
 * is fast if the compiler may use fused multiply-add instructions (-march=native); otherwise it is exact but slow. Link
 * with -lm. To include only the declarations, #define @@_DECLARATIONS before #include. */

#ifndef @@_%
#include <stddef.h>
)";

template <class T>
class FieldsFile {
 public:
  FieldsFile(const NetworkModel<T>& model, const ExportCRequest& request) : of_(model, request) {}

  void write(const std::function<void(std::string_view)>& write) {
    CStep step =
        write_c_step(*of_.model.plan(), of_.model.parameters(), of_.head.signal.id, of_.text, of_.read.signals);
    step.functions.merge(of_.outputs.functions());
    write("/* " +
          comment_text(fmt::format("{}, which reads {} and predicts {}{}, written by Unfold.\n", of_.model.spec_text(),
                                   list_of(all_names()), of_.field.name, of_.field.once ? " at the end" : "")));
    write(of_.text(head_text()));
    write(of_.text(declarations(step)));
    write(c_guards(of_.text));
    if (step.uses_places) write(of_.text("typedef uint32_t @place;\n"));
    write(c_functions(of_.text, step.functions));
    write("\n");
    if (!of_.read.names.empty())
      write(of_.text(c_table("input_mean", of_.read.mean) + c_table("input_deviation", of_.read.deviation)));
    write(of_.text(of_.outputs.tables()));
    write(step.constants);
    write(of_.text("\nvoid @init(@state *s) {\n  memset(s, 0, sizeof *s);\n"));
    write(step.begin);
    write(of_.text(step_text(step)));
    if (of_.outputs.given() == FieldOutput::labels) write(c_alphabet(*of_.field.alphabet, of_.text));
    if (!of_.read.texts.empty()) {
      std::vector<const Alphabet*> alphabets;
      for (const FieldSpecification* field : of_.read.fields) alphabets.push_back(field->alphabet.get());
      write(c_find_read(alphabets, of_.text));
    }
    write("#endif\n");
  }

 private:
  bool has_numbers() const { return !of_.read.names.empty(); }
  bool has_texts() const { return !of_.read.texts.empty(); }
  std::vector<std::string> all_names() const {
    std::vector<std::string> names = of_.read.names;
    names.insert(names.end(), of_.read.texts.begin(), of_.read.texts.end());
    return names;
  }
  /// Returns the inputs of a step as a C list: parameters, arguments or placeholders for missing input.
  std::string given(const char* numbers, const char* texts, const char* between = ", ") const {
    return fmt::format("{}{}{}", has_numbers() ? numbers : "", has_numbers() && has_texts() ? between : "",
                       has_texts() ? texts : "");
  }
  std::string parameters() const { return given("const double *numbers", "const int *read"); }
  std::string head_text() const {
    std::string head = kUse, use;
    if (of_.read.looks_back)
      use = fmt::format(" *   @step(&state, {}, {});   before the first position\n", given("NULL", "NULL"),
                        of_.outputs.arguments(false));
    use += fmt::format(" *   @step(&state, {}, {});   {}", given("numbers", "read"), of_.outputs.arguments(false),
                       of_.read.looks_back ? "after each position, for the next one" : "for this position");
    head.replace(head.rfind('%'), 1, has_numbers() ? "INPUTS" : "TEXTS");
    return head.replace(head.find('%'), 1, use);
  }

  std::string declarations(const CStep& step) const {
    std::string text = "\n";
    if (has_numbers()) text += fmt::format("#define @@_INPUTS {}\n", of_.read.names.size());
    if (has_texts()) text += fmt::format("#define @@_TEXTS {}\n", of_.read.texts.size());
    if (has_texts() || of_.outputs.given() == FieldOutput::labels) text += "#define @@_NO_SYMBOL (-1)\n";
    text += fmt::format("#define @@_{} {}\n", of_.outputs.given() == FieldOutput::labels ? "SYMBOLS" : "OUTPUTS",
                        of_.field.size);
    text += fmt::format("typedef {} @real;\ntypedef struct {{\n{}}} @state;\n", of_.text.wide() ? "double" : "float",
                        step.fields.empty() ? "  char nothing;\n" : step.fields);
    text += fmt::format(R"(
#ifdef __cplusplus
extern "C" {{
#endif
/* The state before the first step. */
void @init(@state *state);
/* Reads {}{}, and writes
 * {}; outputs may be NULL. Returns 0;
 * or -1, without any effect, if a number is not finite or a symbol is invalid{}. */
int @step(@state *state, {}, {});
)",
                        what_is_read(), of_.read.looks_back ? ", or NULL before the first position" : "",
                        of_.outputs.what_is_given(), of_.read.looks_back ? "" : ", or an input is NULL", parameters(),
                        of_.outputs.arguments(true));
    if (of_.outputs.given() == FieldOutput::labels)
      text += R"(/* The text of each label, and its number of bytes. */
extern const char *const @texts[@@_SYMBOLS];
extern const unsigned char @text_sizes[@@_SYMBOLS];
/* The label with this text; @@_NO_SYMBOL if there is none. */
int @find(const char *text, size_t size);
)";
    if (has_texts())
      text += fmt::format(
          R"(/* The symbol of a text in an input field; field 0 is {}. For unseen texts, the symbol for unknown texts,
 * if there is one, otherwise @@_NO_SYMBOL, which also stands for a missing text. */
int @find_read(int field, const char *text, size_t size);
)",
          comment_text(fmt::format("{}", fmt::join(of_.read.texts, ", then "))));
    return text + "#ifdef __cplusplus\n}\n#endif\n#endif\n\n#ifndef @@_DECLARATIONS\n";
  }

  std::string what_is_read() const {
    std::string text = has_numbers() ? list_of(of_.read.names) + " in units of the data" : "";
    if (has_numbers() && has_texts()) text += "; ";
    return has_texts() ? text + "the symbols of " + list_of(of_.read.texts) : text;
  }

  std::string step_text(const CStep& step) const {
    std::string text =
        fmt::format("}}\n\nint @step(@state *s, {}, {}) {{\n", parameters(), of_.outputs.arguments(true));
    if (has_numbers()) text += "  @real x[@@_INPUTS];\n";
    if (has_texts()) {
      text += "  static const int sizes[@@_TEXTS] = {";
      for (const FieldSpecification* field : of_.read.fields) text += fmt::format("{}, ", field->size);
      text += "};\n";
      if (of_.read.looks_back) text += "  static const int none[@@_TEXTS] = {" + repeated("-1, ") + "};\n";
    }
    text += "  int i;\n";
    if (!of_.read.looks_back)
      text += given("  if (numbers == NULL) return -1;\n", "  if (read == NULL) return -1;\n", "");
    else if (has_texts())
      text += "  if (read == NULL) read = none;\n";
    if (has_numbers())
      text += fmt::format(
          "  for (i = 0; i < @@_INPUTS; ++i) {{\n"
          "    x[i] = {}(float)((numbers[i] - @input_mean[i]) / @input_deviation[i]);\n"
          "    if (!isfinite(x[i])) return -1;\n  }}\n",
          of_.read.looks_back ? "numbers == NULL ? 0 : " : "");
    if (has_texts())
      text += "  for (i = 0; i < @@_TEXTS; ++i)\n    if (read[i] < @@_NO_SYMBOL || read[i] >= sizes[i]) return -1;\n";
    return text + step.statements + of_.outputs.text(step.output_statements, step.output) + "  return 0;\n}\n";
  }
  std::string repeated(const char* piece) const {
    std::string text;
    for (std::size_t k = 0; k < of_.read.texts.size(); ++k) text += piece;
    return text;
  }

  const ExportedModel<T> of_;
};

}  // namespace

template <class T>
void export_c_fields(const NetworkModel<T>& model, const ExportCRequest& request,
                     const std::function<void(std::string_view)>& write) {
  FieldsFile<T>(model, request).write(write);
}

template void export_c_fields(const NetworkModel<float>&, const ExportCRequest&,
                              const std::function<void(std::string_view)>&);
template void export_c_fields(const NetworkModel<double>&, const ExportCRequest&,
                              const std::function<void(std::string_view)>&);

}  // namespace unfold
