#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/train/train.h"
#include "arguments.h"
#include "base/options/option_json.h"
#include "base/options/suggestions.h"
#include "memory_data.h"
#include "stream.h"
#include "unfold/base/error.h"
#include "work.h"

namespace unfold::python {
namespace {

/// The name of a setting as a Python keyword.
std::string keyword_of(const OptionRow& row) {
  std::string name = row.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// Returns the descriptions of all settings of `train`, from which the package generates its signature and docstring.
nb::object setting_table() {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const OptionRow& row : SettingTable::defaults().rows) {
    nlohmann::ordered_json json = to_json(row);
    json["name"] = keyword_of(row);
    rows.push_back(std::move(json));
  }
  return to_python(rows);
}

std::vector<std::string> setting_names() {
  std::vector<std::string> names;
  for (const OptionRow& row : SettingTable::defaults().rows) names.push_back(keyword_of(row));
  return names;
}

/// Converts a Python value to the text of a setting.
std::string setting_text(nb::handle value) {
  if (const std::optional<bool> truth = truth_of(value)) return *truth ? "true" : "false";
  if (nb::hasattr(value.type(), "__fspath__")) return path_of(value, "a setting");
  return utf8_of(nb::str(value));
}

/// The name of a model file in memory to start from.
constexpr const char* kModelInMemory = "the given model";

using Memory = decltype(DataArgument::memory);

/// Assigns files, or data in memory, to a setting.
void assign_data(const std::string& name, nb::handle value, TrainRequest& request, Memory& memory) {
  const bool is_training = name == name_of(&TrainSettings::data),
             is_validation = name == name_of(&TrainSettings::valid);
  const char* stands_for = is_training ? kDataInMemory : is_validation ? kValidationInMemory : kTestInMemory;
  DataArgument data = data_of(value, ("train: " + name).c_str(), stands_for);
  memory.merge(data.memory);
  if (is_training) {
    request.settings.data = std::move(data.files);
    return;
  }
  if (data.files.size() != 1) throw UsageError("train: " + name + " must be one file");
  (is_validation ? request.settings.valid : request.settings.test) = std::move(data.files.front());
}

/// Assigns the model to start from: a path, a Model, or the bytes of a model file.
void assign_start(const std::string& name, nb::handle value, TrainRequest& request, Memory& memory) {
  if (nb::isinstance<nb::str>(value) || nb::hasattr(value.type(), "__fspath__")) {
    request.settings.copy_matching_parameters = path_of(value, ("train: " + name).c_str());
    return;
  }
  const bool is_model = nb::isinstance(value, nb::module_::import_("unfold._core").attr("Model"));
  const nb::object bytes = is_model ? value.attr("to_bytes")() : nb::borrow(value);
  if (!nb::isinstance<nb::bytes>(bytes))
    throw nb::type_error(("train: " + name + " must be a path, a Model, or the bytes of a model file").c_str());
  const auto contents = nb::borrow<nb::bytes>(bytes);
  auto model = std::make_shared<MemoryData>();
  model->texts.push_back(Input::from_bytes(kModelInMemory, std::string(contents.c_str(), contents.size())));
  memory.emplace(kModelInMemory, std::move(model));
  request.settings.copy_matching_parameters = kModelInMemory;
}

/// Assigns keyword arguments to settings; None is ignored. Throws UsageError.
void assign(const nb::dict& options, TrainRequest& request, Memory& memory) {
  const std::vector<std::string> names = setting_names();
  for (const auto& [key, value] : options) {
    const std::string name = utf8_of(key);
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw UsageError("train has no setting " + name + did_you_mean(name, names));
    if (value.is_none()) continue;
    std::string setting = name;
    std::replace(setting.begin(), setting.end(), '_', '-');
    if (setting == name_of(&TrainSettings::data) || setting == name_of(&TrainSettings::valid) ||
        setting == name_of(&TrainSettings::test)) {
      assign_data(setting, value, request, memory);
    } else if (setting == name_of(&TrainSettings::copy_matching_parameters)) {
      assign_start(name, value, request, memory);
    } else if (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value)) {
      std::string joined;
      for (nb::handle one : value) {
        if (!joined.empty()) joined += ',';
        joined += setting_text(one);
      }
      assign_text(setting, joined, request.settings, request.run);
    } else {
      assign_text(setting, setting_text(value), request.settings, request.run);
    }
    request.given.insert(setting);
  }
}

nb::object train_run(nb::handle out, nb::handle resume, nb::handle overwrite, const nb::dict& options,
                     nb::object progress) {
  TrainRequest request{.out = out.is_none() ? std::string() : path_of(out, "train: out"),
                       .resume = flag_of(resume, "train: resume"),
                       .overwrite = flag_of(overwrite, "train: overwrite")};
  const bool in_memory = out.is_none();
  Memory memory;
  assign(options, request, memory);
  std::vector<std::string> files = request.settings.data;
  for (const auto* file : {&request.settings.valid, &request.settings.test})
    if (*file) files.push_back(**file);
  PythonReporter reporter{std::move(progress)};
  nlohmann::ordered_json result;
  std::string model;
  with_os_errors(files, [&] {
    reporter.run([&] {
      const MemoryFiles data(std::move(memory));
      TrainedModel trained = in_memory ? train_in_memory(request, reporter)
                                       : TrainedModel{.outcome = train(request, reporter), .model = {}};
      result = to_json(trained.outcome);
      result["run"] = trained.outcome.run;
      model = std::move(trained.model);
    });
  });
  const nb::object bytes = in_memory ? nb::object(nb::bytes(model.data(), model.size())) : nb::object(nb::none());
  return nb::make_tuple(to_python(result), bytes);
}

}  // namespace

void add_training(nb::module_& module) {
  module.def("train", &train_run, nb::arg("out").none(), nb::arg("resume").none(), nb::arg("overwrite").none(),
             nb::arg("options"), nb::arg("progress").none());
  module.def("_setting_table", &setting_table);
  module.def("settings", &setting_names, "Return the names of all settings of `train`.");
}

}  // namespace unfold::python
