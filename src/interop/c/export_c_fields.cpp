#include "interop/c/export_c_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "interop/c/export_c_file.h"
#include "interop/c/export_c_functions.h"
#include "interop/c/export_c_outputs.h"
#include "interop/c/export_c_step.h"
#include "interop/steps/step_fields.h"
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
 * C99 and C++11. A state is plain data of fixed size, to be copied at will; nothing is allocated. With a processor's fused
 * multiply-add (-march=native) a step is fast; without, exact and slow. Link with -lm.
 * To include the declarations alone: #define @@_DECLARATIONS before #include. */

#ifndef @@_%
#include <stddef.h>
)";

template <class T>
class FieldsFile {
 public:
  FieldsFile(const NetworkModel<T>& model, const ExportCRequest& request)
      : model_(model),
        text_(request.name, sizeof(T) == sizeof(double)),
        read_(reads_of(model)),
        head_(exported_head(model.network(), "export --to c")),
        field_(model.data().field(head_.field)),
        outputs_(field_, given_by(head_.loss->name())) {}

  void write(const std::function<void(std::string_view)>& write) {
    CStep step = write_c_step(*model_.plan(), model_.parameters(), head_.signal.id, text_, read_.signals);
    step.functions.merge(outputs_.functions());
    write("/* " +
          comment_text(fmt::format("{}, which reads {} and predicts {}{}, written by Unfold.\n", model_.spec_text(),
                                   list_of(all_names()), field_.name, field_.once ? " at the end" : "")));
    write(text_(head_text()));
    write(text_(declarations(step)));
    write(c_guards(text_));
    if (step.uses_places) write(text_("typedef uint32_t @place;\n"));
    write(c_functions(text_, step.functions));
    write("\n");
    if (!read_.names.empty())
      write(text_(c_table("input_mean", read_.mean) + c_table("input_deviation", read_.deviation)));
    write(text_(outputs_.tables()));
    write(step.constants);
    write(text_("\nvoid @init(@state *s) {\n  memset(s, 0, sizeof *s);\n"));
    write(step.begin);
    write(text_(step_text(step)));
    if (outputs_.given() == FieldOutput::labels) write(c_alphabet(*field_.alphabet, text_));
    if (!read_.texts.empty()) {
      std::vector<const Alphabet*> alphabets;
      for (const FieldSpecification* field : read_.fields) alphabets.push_back(field->alphabet.get());
      write(c_find_read(alphabets, text_));
    }
    write("#endif\n");
  }

 private:
  bool has_numbers() const { return !read_.names.empty(); }
  bool has_texts() const { return !read_.texts.empty(); }
  std::vector<std::string> all_names() const {
    std::vector<std::string> names = read_.names;
    names.insert(names.end(), read_.texts.begin(), read_.texts.end());
    return names;
  }
  /// The inputs of a step as a C list: parameters, arguments or placeholders for missing input.
  std::string given(const char* numbers, const char* texts, const char* between = ", ") const {
    return fmt::format("{}{}{}", has_numbers() ? numbers : "", has_numbers() && has_texts() ? between : "",
                       has_texts() ? texts : "");
  }
  std::string parameters() const { return given("const double *numbers", "const int *read"); }
  std::string head_text() const {
    std::string head = kUse, use;
    if (read_.looks_back)
      use = fmt::format(" *   @step(&state, {}, {});   before the first position\n", given("NULL", "NULL"),
                        outputs_.arguments(false));
    use +=
        fmt::format(" *   @step(&state, {}, {});   {}", given("numbers", "read"), outputs_.arguments(false),
                    read_.looks_back ? "after each position, for the prediction of the next one" : "of this position");
    head.replace(head.rfind('%'), 1, has_numbers() ? "INPUTS" : "TEXTS");
    return head.replace(head.find('%'), 1, use);
  }

  std::string declarations(const CStep& step) const {
    std::string text = "\n";
    if (has_numbers()) text += fmt::format("#define @@_INPUTS {}\n", read_.names.size());
    if (has_texts()) text += fmt::format("#define @@_TEXTS {}\n", read_.texts.size());
    if (has_texts() || outputs_.given() == FieldOutput::labels) text += "#define @@_NO_SYMBOL (-1)\n";
    text +=
        fmt::format("#define @@_{} {}\n", outputs_.given() == FieldOutput::labels ? "SYMBOLS" : "OUTPUTS", field_.size);
    text += fmt::format("typedef {} @real;\ntypedef struct {{\n{}}} @state;\n", text_.wide() ? "double" : "float",
                        step.fields.empty() ? "  char nothing;\n" : step.fields);
    text += fmt::format(R"(
#ifdef __cplusplus
extern "C" {{
#endif
/* The state before the first step. */
void @init(@state *state);
/* Reads {}{}; what it gives may be NULL: {}. Returns 0, or -1
 * for numbers that are not finite, or are no symbols{}: nothing is done. */
int @step(@state *state, {}, {});
)",
                        what_is_read(), read_.looks_back ? ", or NULL before the first position" : "",
                        outputs_.what_is_given(), read_.looks_back ? "" : ", or NULL", parameters(),
                        outputs_.arguments(true));
    if (outputs_.given() == FieldOutput::labels)
      text += R"(/* The text of a label, and how many bytes it has. */
extern const char *const @texts[@@_SYMBOLS];
extern const unsigned char @text_sizes[@@_SYMBOLS];
/* The label with this text; @@_NO_SYMBOL if there is none. */
int @find(const char *text, size_t size);
)";
    if (has_texts())
      text += fmt::format(
          R"(/* The symbol of a text read: field 0 is {}. A text that was never seen: the symbol that stands for
 * such, where there is one, or @@_NO_SYMBOL, which is also that of a missing one. */
int @find_read(int field, const char *text, size_t size);
)",
          comment_text(fmt::format("{}", fmt::join(read_.texts, ", then "))));
    return text + "#ifdef __cplusplus\n}\n#endif\n#endif\n\n#ifndef @@_DECLARATIONS\n";
  }

  std::string what_is_read() const {
    std::string text = has_numbers() ? list_of(read_.names) + " as the data had them" : "";
    if (has_numbers() && has_texts()) text += "; ";
    return has_texts() ? text + "the symbols of " + list_of(read_.texts) : text;
  }

  std::string step_text(const CStep& step) const {
    std::string text = fmt::format("}}\n\nint @step(@state *s, {}, {}) {{\n", parameters(), outputs_.arguments(true));
    if (has_numbers()) text += "  @real x[@@_INPUTS];\n";
    if (has_texts()) {
      text += "  static const int sizes[@@_TEXTS] = {";
      for (const FieldSpecification* field : read_.fields) text += fmt::format("{}, ", field->size);
      text += "};\n";
      if (read_.looks_back) text += "  static const int none[@@_TEXTS] = {" + repeated("-1, ") + "};\n";
    }
    text += "  int i;\n";
    if (!read_.looks_back)
      text += given("  if (numbers == NULL) return -1;\n", "  if (read == NULL) return -1;\n", "");
    else if (has_texts())
      text += "  if (read == NULL) read = none;\n";
    if (has_numbers())
      text += fmt::format(
          "  for (i = 0; i < @@_INPUTS; ++i) {{\n"
          "    x[i] = {}(float)((numbers[i] - @input_mean[i]) / @input_deviation[i]);\n"
          "    if (!isfinite(x[i])) return -1;\n  }}\n",
          read_.looks_back ? "numbers == NULL ? 0 : " : "");
    if (has_texts())
      text += "  for (i = 0; i < @@_TEXTS; ++i)\n    if (read[i] < @@_NO_SYMBOL || read[i] >= sizes[i]) return -1;\n";
    return text + step.statements + outputs_.text(step.output_statements, step.output) + "  return 0;\n}\n";
  }
  std::string repeated(const char* piece) const {
    std::string text;
    for (std::size_t k = 0; k < read_.texts.size(); ++k) text += piece;
    return text;
  }

  const NetworkModel<T>& model_;
  CText text_;
  FieldReads read_;
  const Head<T>& head_;
  const FieldSpecification& field_;
  COutputs outputs_;
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
