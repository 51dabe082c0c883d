#include "interop/onnx/export_onnx.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "interop/onnx/circuit_to_onnx.h"
#include "interop/steps/step_fields.h"
#include "model/registry/run_folder.h"
#include "unfold/base/error.h"
#include "unfold/model/network/language_model.h"

namespace unfold {
namespace {

constexpr std::uint64_t kIrVersion = 8, kOpset = 17;
constexpr Index kMostBytes = (Index{1} << 31) - (Index{1} << 20);  // the size limit of Protocol Buffers messages, with
                                                                   // a margin

void add_property(ProtoMessage& model, const std::string& key, const std::string& value) {
  ProtoMessage property;
  property.text(1, key);
  property.text(2, value);
  model.message(14, property);
}

/// An input that varies over time: its name in the graph, and the name of one step of it in the body of the scan.
struct Scanned {
  std::string given, seen;
  OnnxType type;
  std::vector<std::string> shape;  // shape of the input of one step
};

/// An ONNX graph with a scan: its inputs are the time-dependent inputs, lengths and initial states; its outputs are the
/// output of the scan and the final states.
template <class T>
class OnnxFile {
 public:
  static constexpr OnnxType kType = OnnxStep<T>::kType;

  /// `given` are the inputs of the graph, followed by "lengths".
  OnnxFile(const Plan& plan, const Parameters<T>& parameters, int output, const StepInputs& inputs,
           const std::vector<Scanned>& given)
      : size_(plan.nodes()[static_cast<std::size_t>(output)].size) {
    for (const Scanned& input : given) {
      std::vector<std::string> shape = {"time"};
      shape.insert(shape.end(), input.shape.begin(), input.shape.end());
      graph.input(input.given, input.type, shape);
    }
    graph.input("lengths", OnnxType::i64, {"batch"});
    step_.emplace(plan, parameters, output, inputs, graph);
  }
  OnnxFile(const OnnxFile&) = delete;  // step_ refers to graph_
  OnnxFile& operator=(const OnnxFile&) = delete;

  /// Adds the scan over `over`, which may be computed from the inputs of the graph. `output` [time x batch x size]
  /// holds log-probabilities if `softmax` is true.
  void scan(const std::vector<Scanned>& over, const std::string& output, bool softmax) {
    std::vector<std::string> inputs, outputs;
    for (const OnnxState& state : step_->states()) {
      const std::vector<std::string> shape = {"batch", std::to_string(state.size)};
      graph.input(state.name, kType, shape);
      graph.output(state.name + "_out", kType, shape);
      inputs.push_back(state.name), outputs.push_back(state.name + "_out");
    }
    const std::string time = graph.add("Gather", {graph.add("Shape", {over.front().given}), graph.number(0)});
    inputs.push_back(graph.add("Range", {graph.number(0), time, graph.number(1)}));
    for (const Scanned& input : over) inputs.push_back(input.given);
    outputs.push_back(output);
    graph.add_named("Scan", inputs, outputs,
                    {onnx_attribute("body", body(over, softmax)),
                     onnx_attribute("num_scan_inputs", static_cast<std::int64_t>(1 + over.size()))});
  }

  /// Returns the file. The metadata contains the initial values of states that do not start from zero.
  ProtoMessage finish(const std::string& name) {
    nlohmann::json starts = nlohmann::json::object();
    for (const OnnxState& state : step_->states())
      if (!state.start.empty()) starts[state.name] = state.start;
    ProtoMessage result, opset;
    opset.number(2, kOpset);
    result.number(1, kIrVersion);
    result.text(2, "Unfold");
    result.message(7, graph.finish(name));
    result.message(8, opset);
    add_property(result, "start", starts.dump());
    return result;
  }

  OnnxGraph graph;

 private:
  /// Returns the body of the scan. Its inputs are states, the step number and the inputs of the step; its outputs are
  /// states and output. Beyond the end of a sequence its state stays constant.
  ProtoMessage body(const std::vector<Scanned>& over, bool softmax) {
    OnnxGraph body("step_");
    for (const OnnxState& state : step_->states()) body.input(state.name, kType, {"batch", std::to_string(state.size)});
    body.input("t", OnnxType::i64, {});
    for (const Scanned& input : over) body.input(input.seen, input.type, input.shape);
    std::vector<std::string> next;
    const std::string output = step_->write(body, next);
    const std::string running = body.add("Unsqueeze", {body.add("Less", {"t", "lengths"}), graph.numbers({1})});
    for (std::size_t k = 0; k < next.size(); ++k) {
      const OnnxState& state = step_->states()[k];
      body.add_named("Where", {running, next[k], state.name}, {"next_" + state.name});
      body.output("next_" + state.name, kType, {"batch", std::to_string(state.size)});
    }
    if (softmax)
      body.add_named("LogSoftmax", {output}, {"p"}, {onnx_attribute("axis", -1)});
    else
      body.add_named("Identity", {output}, {"p"});
    body.output("p", kType, {"batch", std::to_string(size_)});
    return body.finish("step");
  }

  std::optional<OnnxStep<T>> step_;
  Index size_;
};

template <class T>
ProtoMessage onnx_file(const LanguageModel<T>& model) {
  const std::vector<Scanned> given = {{"symbols", "symbol", OnnxType::i64, {"batch"}}};
  const StepInputs inputs;
  if (const Loss<T>& loss = *model.network().heads.front().loss; loss.template as<Categorical<T>>() == nullptr)
    throw UsageError(
        fmt::format("export to ONNX supports only the softmax, but the loss of the model is {}; train a "
                    "model without loss=",
                    loss.name()));
  OnnxFile<T> file(*model.plan(), model.parameters(), model.logits().id, inputs, given);
  file.scan(given, "log_probabilities", true);
  file.graph.output("log_probabilities", OnnxFile<T>::kType,
                    {"time", "batch", std::to_string(model.alphabet().size())});
  ProtoMessage result = file.finish(model.spec_text());
  add_property(result, "alphabet", model.alphabet().to_json().dump());
  return result;
}

nlohmann::json alphabets_of(const FieldReads& reads) {
  nlohmann::json list = nlohmann::json::array();
  for (std::size_t k = 0; k < reads.texts.size(); ++k) {
    const auto& alphabet = reads.fields[k]->alphabet;
    list.push_back(
        {{"field", reads.texts[k]}, {"alphabet", alphabet != nullptr ? alphabet->to_json() : nlohmann::json(nullptr)}});
  }
  return list;
}

/// Standardizes numbers for the step; missing numbers become 0.
template <class T>
std::string standardized(OnnxGraph& graph, const FieldReads& reads) {
  const auto count = static_cast<Index>(reads.names.size());
  const auto cast = [&](const std::string& x, OnnxType type) {
    return graph.add("Cast", {x}, {onnx_attribute("to", static_cast<std::int64_t>(type))});
  };
  const std::string centered = graph.add("Sub", {"numbers", graph.constant(OnnxType::f64, {count}, reads.mean)});
  const std::string z = graph.add("Div", {centered, graph.constant(OnnxType::f64, {count}, reads.deviation)});
  const std::string there =
      graph.add("Where", {graph.add("IsNaN", {z}), graph.constant(OnnxType::f64, {}, std::vector<double>{0}), z});
  return cast(cast(there, OnnxType::f32), OnnxFile<T>::kType);
}

/// Converts the output of the scan to outputs of the graph in units of the data.
void restore(OnnxGraph& graph, const FieldSpecification& field, FieldOutput given) {
  std::vector<std::string> names;
  std::vector<double> mean, deviation;
  add_field(field, names, mean, deviation);
  const std::string size = std::to_string(field.size);
  const std::string wide =
      graph.add("Cast", {"told"}, {onnx_attribute("to", static_cast<std::int64_t>(OnnxType::f64))});
  const auto part = [&](Index from) {
    return graph.add("Slice", {wide, graph.numbers({from}), graph.numbers({from + field.size}), graph.numbers({2})});
  };
  const auto scalar = [&](double x) { return graph.constant(OnnxType::f64, {}, std::vector<double>{x}); };
  const std::string spread = graph.constant(OnnxType::f64, {field.size}, deviation);
  std::string value = part(0);
  if (given == FieldOutput::probabilities) value = graph.add("Sigmoid", {value});
  graph.add_named("Add", {graph.add("Mul", {value, spread}), graph.constant(OnnxType::f64, {field.size}, mean)},
                  {"means"});
  graph.output("means", OnnxType::f64, {"time", "batch", size});
  if (given != FieldOutput::means_and_deviations) return;
  const std::string bounded = graph.add("Tanh", {graph.add("Div", {part(field.size), scalar(10)})});
  graph.add_named("Mul", {graph.add("Exp", {graph.add("Mul", {bounded, scalar(10)})}), spread}, {"deviations"});
  graph.output("deviations", OnnxType::f64, {"time", "batch", size});
}

template <class T>
ProtoMessage onnx_file(const NetworkModel<T>& model) {
  const FieldReads reads = reads_of(model);
  const Head<T>& head = exported_head(model.network(), "export --to onnx");
  const FieldSpecification& field = model.data().field(head.field);
  const FieldOutput wanted = given_by(head.loss->name());
  const std::string numbers = std::to_string(reads.names.size()), texts = std::to_string(reads.texts.size());
  std::vector<Scanned> given, over;
  if (!reads.texts.empty()) given.push_back({"read", "read_now", OnnxType::i64, {"batch", texts}});
  over = given;
  if (!reads.names.empty()) given.push_back({"numbers", "", OnnxType::f64, {"batch", numbers}});
  OnnxFile<T> file(*model.plan(), model.parameters(), head.signal.id, reads.signals, given);
  if (!reads.names.empty())
    over.push_back({standardized<T>(file.graph, reads), "x", OnnxFile<T>::kType, {"batch", numbers}});
  const bool labels = wanted == FieldOutput::labels;
  file.scan(over, labels ? "log_probabilities" : "told", labels);
  if (labels)
    file.graph.output("log_probabilities", OnnxFile<T>::kType, {"time", "batch", std::to_string(field.size)});
  else
    restore(file.graph, field, wanted);
  ProtoMessage result = file.finish(model.spec_text());
  add_property(result, "predicts", field.name);
  if (field.alphabet != nullptr) add_property(result, "alphabet", field.alphabet->to_json().dump());
  add_property(result, "numbers", nlohmann::json(reads.names).dump());
  add_property(result, "read", alphabets_of(reads).dump());
  return result;
}

template <class AnyModel>
void write_onnx(const AnyModel& model, const std::string& name, const std::function<void(std::string_view)>& write) {
  const std::string bytes = onnx_file(model).bytes();
  if (static_cast<Index>(bytes.size()) > kMostBytes)
    throw UsageError(
        fmt::format("{} would take {} bytes as an ONNX file, but such files are limited to 2 GiB", name, bytes.size()));
  write(bytes);
}

}  // namespace

void export_onnx(const std::string& model, const std::function<void(std::string_view)>& write) {
  const std::unique_ptr<Model> loaded = load_model_file(model_file(model));
  try {
    if (const auto* narrow = loaded->as<LanguageModel<float>>()) return write_onnx(*narrow, model, write);
    if (const auto* wide = loaded->as<LanguageModel<double>>()) return write_onnx(*wide, model, write);
    if (const auto* narrow = loaded->as<NetworkModel<float>>()) return write_onnx(*narrow, model, write);
    if (const auto* wide = loaded->as<NetworkModel<double>>()) return write_onnx(*wide, model, write);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {} cannot be written as ONNX: {}", model, loaded->spec_text(), error.what()));
  }
  throw UsageError(fmt::format("{}: {}, which reads {}, cannot be written as ONNX: only networks are supported", model,
                               loaded->spec_text(), loaded->data().source));
}

}  // namespace unfold
