#include "unfold/exchange/export_onnx.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "unfold/base/error.h"
#include "unfold/exchange/onnx_step.h"
#include "unfold/models/language_model.h"
#include "unfold/runs/run_folder.h"

namespace unfold {
namespace {

constexpr std::uint64_t kIrVersion = 8, kOpset = 17;
constexpr Index kMostBytes = (Index{1} << 31) - (Index{1} << 20);  // Protocol Buffers read no larger message

/// The body of the scan: states, the number of the step and its symbols in; states and log-probabilities out. Beyond
/// the end of a sequence its state stays.
template <class T>
ProtoMessage scan_body(OnnxStep<T>& step, OnnxGraph& graph, Index symbols) {
  OnnxGraph body("step_");
  const OnnxType type = OnnxStep<T>::kType;
  for (const OnnxState& state : step.states()) body.input(state.name, type, {"batch", std::to_string(state.size)});
  body.input("t", OnnxType::i64, {});
  body.input("symbol", OnnxType::i64, {"batch"});
  std::vector<std::string> next;
  const std::string logits = step.write(body, next);
  const std::string running = body.add("Unsqueeze", {body.add("Less", {"t", "lengths"}), graph.numbers({1})});
  for (std::size_t k = 0; k < next.size(); ++k) {
    const OnnxState& state = step.states()[k];
    body.add_named("Where", {running, next[k], state.name}, {"next_" + state.name});
    body.output("next_" + state.name, type, {"batch", std::to_string(state.size)});
  }
  body.add_named("LogSoftmax", {logits}, {"p"}, {onnx_attribute("axis", -1)});
  body.output("p", type, {"batch", std::to_string(symbols)});
  return body.finish("step");
}

void add_property(ProtoMessage& model, const std::string& key, const std::string& value) {
  ProtoMessage property;
  property.text(1, key);
  property.text(2, value);
  model.message(14, property);
}

template <class T>
std::string onnx_bytes(const LanguageModel<T>& model) {
  const OnnxType type = OnnxStep<T>::kType;
  const Index symbols = model.alphabet().size();
  OnnxGraph graph;
  graph.input("symbols", OnnxType::i64, {"time", "batch"});
  graph.input("lengths", OnnxType::i64, {"batch"});
  OnnxStep<T> step(*model.plan(), model.parameters(), model.logits().id, graph);
  std::vector<std::string> inputs, outputs;
  nlohmann::json starts = nlohmann::json::object();
  for (const OnnxState& state : step.states()) {
    const std::vector<std::string> shape = {"batch", std::to_string(state.size)};
    graph.input(state.name, type, shape);
    graph.output(state.name + "_out", type, shape);
    inputs.push_back(state.name), outputs.push_back(state.name + "_out");
    if (!state.start.empty()) starts[state.name] = state.start;
  }
  const std::string time = graph.add("Gather", {graph.add("Shape", {"symbols"}), graph.number(0)});
  inputs.push_back(graph.add("Range", {graph.number(0), time, graph.number(1)}));
  inputs.emplace_back("symbols");
  outputs.emplace_back("log_probabilities");
  graph.add_named("Scan", inputs, outputs,
                  {onnx_attribute("body", scan_body(step, graph, symbols)), onnx_attribute("num_scan_inputs", 2)});
  graph.output("log_probabilities", type, {"time", "batch", std::to_string(symbols)});
  ProtoMessage result, opset;
  opset.number(2, kOpset);
  result.number(1, kIrVersion);
  result.text(2, "Unfold");
  result.message(7, graph.finish(model.spec_text()));
  result.message(8, opset);
  add_property(result, "alphabet", model.alphabet().to_json().dump());
  add_property(result, "start", starts.dump());
  return result.bytes();
}

template <class T>
void write_onnx(const LanguageModel<T>& model, const std::string& name,
                const std::function<void(std::string_view)>& write) {
  const std::string bytes = onnx_bytes(model);
  if (static_cast<Index>(bytes.size()) > kMostBytes)
    throw UsageError(fmt::format("{} has {} bytes as ONNX, and files of that format end at 2 GiB", name, bytes.size()));
  write(bytes);
}

}  // namespace

void export_onnx(const std::string& model, const std::function<void(std::string_view)>& write) {
  const std::unique_ptr<Model> loaded = load_model_file(model_file(model));
  try {
    if (const auto* narrow = loaded->as<LanguageModel<float>>()) return write_onnx(*narrow, model, write);
    if (const auto* wide = loaded->as<LanguageModel<double>>()) return write_onnx(*wide, model, write);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {} cannot be written as ONNX: {}", model, loaded->spec_text(), error.what()));
  }
  throw UsageError(
      fmt::format("{}: {}, which reads {}, cannot be written as ONNX: only networks that predict the next symbol can",
                  model, loaded->spec_text(), loaded->data().source));
}

}  // namespace unfold
