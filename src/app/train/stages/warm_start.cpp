#include "app/train/stages/warm_start.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/registry/run_folder.h"
#include "unfold/base/error.h"

namespace unfold {

template <class T>
std::string copy_matching_parameters(const std::string& run, NetworkModel<T>& model) {
  if (is_linear(model.spec()))
    throw UsageError(fmt::format(
        "--start-from {}: a crf without layers has a unique optimum, so initial parameters have no effect", run));
  const ModelFile file = ModelFile::open(model_file(run)).expect(NetworkModel<T>::kKind);
  if (file.data().to_json() != model.data().to_json())
    throw UsageError(
        fmt::format("--start-from {}: fields, alphabets or scales differ from those of the data; start from a run that "
                    "was trained on the same data, read in the same way",
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
