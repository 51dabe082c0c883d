#include "interop/c/export_c_outputs.h"

#include <fmt/format.h>

#include "interop/c/export_c_shared.h"

namespace unfold {
namespace {

/// Returns a C block that fills an array of results, in units of the data, from a function of the outputs.
std::string given_numbers(const std::string& name, const std::string& from, const std::string& function) {
  return fmt::format(R"(  {{
    @real y[(@@_OUTPUTS + 15) / 16 * 16] = {{0}};
    for (i = 0; i < @@_OUTPUTS; ++i) y[i] = {1};
    for (i = 0; i < @@_OUTPUTS; i += @@_LANES) @@_STORE(y + i, {2});
    for (i = 0; i < @@_OUTPUTS; ++i) {0}[i] = {3}@output_deviation[i] * (double)y[i];
  }}
)",
                     name, from, function, name == "means" ? "@output_mean[i] + " : "");
}

}  // namespace

std::string c_table(const char* name, const std::vector<double>& numbers) {
  std::string text = fmt::format("static const double @{}[] = {{", name);
  for (const double x : numbers)
    text += fmt::format("{:a}, ", x);  // CText converts the hexadecimal literals to decimal
  return text + "};\n";
}

std::string COutputs::arguments(bool types) const {
  switch (given_) {
    case FieldOutput::labels: return types ? "@real *log_probabilities" : "log_probabilities";
    case FieldOutput::means:
    case FieldOutput::probabilities: return types ? "double *means" : "means";
    case FieldOutput::means_and_deviations: return types ? "double *means, double *deviations" : "means, deviations";
  }
  return "";
}

std::string COutputs::what_is_given() const {
  switch (given_) {
    case FieldOutput::labels: return "the natural logarithms of the probabilities of the labels";
    case FieldOutput::means: return "the mean of " + comment_text(field_.name) + " in units of the data";
    case FieldOutput::probabilities: return "the probability that " + comment_text(field_.name) + " is 1";
    case FieldOutput::means_and_deviations:
      return "the mean and the standard deviation of " + comment_text(field_.name) + " in units of the data";
  }
  return "";
}

std::string COutputs::tables() const {
  if (given_ == FieldOutput::labels) return "";
  std::vector<std::string> names;
  std::vector<double> mean, deviation;
  add_field(field_, names, mean, deviation);
  return c_table("output_mean", mean) + c_table("output_deviation", deviation);
}

std::set<std::string> COutputs::functions() const {
  switch (given_) {
    case FieldOutput::labels: return {"log_sum_exp"};
    case FieldOutput::probabilities: return {"sigmoid"};
    case FieldOutput::means_and_deviations: return {"exp", "tanh"};
    case FieldOutput::means: break;
  }
  return {};
}

std::string COutputs::text(const std::string& statements, const std::string& at) const {
  if (given_ == FieldOutput::labels)
    return fmt::format(R"(  if (log_probabilities != NULL) {{
  {}    const @real *logits = {};
    const @real normalizer = @log_sum_exp(logits);
    for (i = 0; i < @@_SYMBOLS; ++i) log_probabilities[i] = logits[i] - normalizer;
  }}
)",
                       statements, at);
  const bool two = given_ == FieldOutput::means_and_deviations;
  std::string text =
      two ? "  if (means == NULL && deviations == NULL) return 0;\n" : "  if (means == NULL) return 0;\n";
  text += statements;
  if (two) text += "  if (means != NULL)\n";
  text += given_ == FieldOutput::probabilities
              ? given_numbers("means", fmt::format("({})[i]", at), "@sigmoid(@@_LOAD(y + i))")
              : fmt::format(
                    "  for (i = 0; i < @@_OUTPUTS; ++i)\n"
                    "    means[i] = @output_mean[i] + @output_deviation[i] * (double)({})[i];\n",
                    at);
  if (two)
    text += "  if (deviations != NULL)\n" + given_numbers("deviations", fmt::format("({})[@@_OUTPUTS + i] / 10", at),
                                                          "@exp(@@_ALL(10) * @tanh(@@_LOAD(y + i)))");
  return text;
}

}  // namespace unfold
