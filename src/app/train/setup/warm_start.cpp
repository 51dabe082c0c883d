#include "app/train/setup/warm_start.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "data/readers/memory_data.h"
#include "model/registry/run_folder.h"
#include "unfold/base/error.h"

namespace unfold {

namespace {

ModelFile initial_file(const std::string& run) {
  if (const MemoryData* memory = MemoryFiles::find(run))
    return ModelFile::from_bytes(std::string(memory->texts.front().bytes()), run);
  return ModelFile::open(model_file(run));
}

/// Returns whether two fields can have the same parameters: they differ at most in their alphabets or scales.
bool are_alike(const FieldSpecification& a, const FieldSpecification& b) {
  return a.name == b.name && a.type == b.type && a.once == b.once && a.spelt == b.spelt && a.source == b.source &&
         (a.type == FieldSpecification::Type::symbols || a.size == b.size);
}

}  // namespace

DataSpecification initial_specification(const std::string& run, DataSpecification own) {
  std::error_code ignored;
  if (MemoryFiles::find(run) == nullptr && !std::filesystem::exists(model_file(run), ignored)) return own;
  DataSpecification known = initial_file(run).data();
  const bool same = known.trees == own.trees && known.found == own.found && known.grids == own.grids &&
                    known.source == own.source && std::ranges::equal(known.fields, own.fields, are_alike);
  return same ? std::move(known) : std::move(own);
}

void require_known_labels(const std::string& run, const ExampleSet& training, std::span<const std::string> predicts) {
  for (const std::string& field : predicts)
    if (training.has(field) && !training.column(field).unseen.empty())
      throw DataError(
          fmt::format("--start-from {}: {} is {}, which is not a label of that model; leave these examples out, or "
                      "train a new model",
                      run, field, in_quotes(training.column(field).unseen.begin()->second)));
}

template <class T>
std::string copy_matching_parameters(const std::string& run, NetworkModel<T>& model) {
  if (is_linear(model.spec()))
    throw UsageError(fmt::format(
        "--start-from {}: a crf without layers has a unique optimum, so initial parameters have no effect", run));
  const ModelFile opened = initial_file(run);
  const ModelFile& file = opened.expect(NetworkModel<T>::kKind);
  if (file.data().to_json() != model.data().to_json())
    throw UsageError(
        fmt::format("--start-from {}: the fields of that model differ from those of the data; start from a model whose "
                    "data was read in the same way",
                    run));
  std::vector<std::string> own;
  Index taken = 0;
  for (const ParameterInfo& p : model.parameters().info()) {
    if (std::ranges::find(file.tensors().tensors(), p.name, &Tensor::name) == file.tensors().tensors().end()) {
      own.push_back(p.name);
      continue;
    }
    file.tensors().read<T>(p.name, {p.rows, p.cols}, model.parameters().flat().subspan(at(p.offset), at(p.size())));
    taken += p.size();
  }
  if (taken == 0)
    throw UsageError(fmt::format("--start-from {}: the model shares no parameters with {}", run, model.spec_text()));
  return fmt::format("starts with {} parameters of {}{}", taken, run,
                     own.empty() ? "" : fmt::format("; newly initialized: {}", fmt::join(own, ", ")));
}

template std::string copy_matching_parameters(const std::string&, NetworkModel<float>&);
template std::string copy_matching_parameters(const std::string&, NetworkModel<double>&);

}  // namespace unfold
