#include "interop/onnx/onnx_message.h"

#include <algorithm>

namespace unfold {
namespace {

constexpr std::uint64_t kVarint = 0, kBytes = 2;
enum AttributeType : std::uint64_t { kInt = 2, kGraph = 5, kInts = 7 };

ProtoMessage named_attribute(const std::string& name, AttributeType type) {
  ProtoMessage attribute;
  attribute.text(1, name);
  attribute.number(20, type);
  return attribute;
}

}  // namespace

void ProtoMessage::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
  bytes_ += static_cast<char>(value);
}

void ProtoMessage::number(int field, std::uint64_t value) {
  varint(static_cast<std::uint64_t>(field) << 3 | kVarint);
  varint(value);
}

void ProtoMessage::text(int field, std::string_view bytes) {
  varint(static_cast<std::uint64_t>(field) << 3 | kBytes);
  varint(bytes.size());
  bytes_ += bytes;
}

ProtoMessage onnx_tensor(const std::string& name, OnnxType type, const std::vector<Index>& shape,
                         std::string_view numbers) {
  ProtoMessage tensor;
  for (const Index size : shape) tensor.number(1, static_cast<std::uint64_t>(size));
  tensor.number(2, static_cast<std::uint64_t>(type));
  tensor.text(8, name);
  tensor.text(9, numbers);
  return tensor;
}

ProtoMessage onnx_value(const std::string& name, OnnxType type, const std::vector<std::string>& shape) {
  ProtoMessage sizes;
  for (const std::string& size : shape) {
    ProtoMessage dimension;
    if (!size.empty() && std::ranges::all_of(size, [](char c) { return c >= '0' && c <= '9'; }))
      dimension.number(1, std::stoull(size));
    else
      dimension.text(2, size);
    sizes.message(1, dimension);
  }
  ProtoMessage tensor, kind, value;
  tensor.number(1, static_cast<std::uint64_t>(type));
  tensor.message(2, sizes);
  kind.message(1, tensor);
  value.text(1, name);
  value.message(2, kind);
  return value;
}

std::string OnnxGraph::add(const std::string& op, const std::vector<std::string>& inputs,
                           const std::vector<ProtoMessage>& attributes) {
  std::string output = prefix_ + "n" + std::to_string(++names_);
  add_named(op, inputs, {output}, attributes);
  return output;
}

void OnnxGraph::add_named(const std::string& op, const std::vector<std::string>& inputs,
                          const std::vector<std::string>& outputs, const std::vector<ProtoMessage>& attributes) {
  ProtoMessage node;
  for (const std::string& name : inputs) node.text(1, name);
  for (const std::string& name : outputs) node.text(2, name);
  node.text(3, op + " " + outputs.front());
  node.text(4, op);
  for (const ProtoMessage& attribute : attributes) node.message(5, attribute);
  graph_.message(1, node);
}

std::string OnnxGraph::numbers(std::initializer_list<std::int64_t> values) {
  return constant(OnnxType::i64, {static_cast<Index>(values.size())}, std::vector<std::int64_t>(values));
}

std::string OnnxGraph::number(std::int64_t value) {
  return constant(OnnxType::i64, {}, std::vector<std::int64_t>{value});
}

ProtoMessage OnnxGraph::finish(const std::string& name) {
  graph_.text(2, name);
  return std::move(graph_);
}

ProtoMessage onnx_attribute(const std::string& name, std::int64_t value) {
  ProtoMessage attribute = named_attribute(name, kInt);
  attribute.number(3, static_cast<std::uint64_t>(value));
  return attribute;
}

ProtoMessage onnx_attribute(const std::string& name, const std::vector<Index>& values) {
  ProtoMessage attribute = named_attribute(name, kInts);
  for (const Index value : values) attribute.number(8, static_cast<std::uint64_t>(value));
  return attribute;
}

ProtoMessage onnx_attribute(const std::string& name, const ProtoMessage& graph) {
  ProtoMessage attribute = named_attribute(name, kGraph);
  attribute.message(6, graph);
  return attribute;
}

}  // namespace unfold
