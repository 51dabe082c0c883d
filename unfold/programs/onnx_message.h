#pragma once
/// The few messages of ONNX that a graph needs, in the encoding of Protocol Buffers. Field numbers: onnx/onnx.proto of
/// https://github.com/onnx/onnx. Internal to programs/.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// A message as bytes, field by field.
class ProtoMessage {
 public:
  void number(int field, std::uint64_t value);
  void text(int field, std::string_view bytes);
  void message(int field, const ProtoMessage& part) { text(field, part.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value);
  std::string bytes_;
};

enum class OnnxType { f32 = 1, i64 = 7, boolean = 9, f64 = 11 };

/// A tensor with its numbers as they lie in memory (little-endian).
ProtoMessage onnx_tensor(const std::string& name, OnnxType type, const std::vector<Index>& shape,
                         std::string_view numbers);
/// An input or output; sizes that are names are not fixed. {"time", "batch", "7"}
ProtoMessage onnx_value(const std::string& name, OnnxType type, const std::vector<std::string>& shape);

/// A graph while it grows: nodes, and constants of its own.
class OnnxGraph {
 public:
  /// Names of a graph and of those inside it must differ: they begin with `prefix`.
  explicit OnnxGraph(std::string prefix = "") : prefix_(std::move(prefix)) {}

  /// Adds a node with one output, and returns the output's name.
  std::string add(const std::string& op, const std::vector<std::string>& inputs,
                  const std::vector<ProtoMessage>& attributes = {});
  void add_named(const std::string& op, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                 const std::vector<ProtoMessage>& attributes = {});
  /// A constant; returns its name.
  template <class Number>
  std::string constant(OnnxType type, const std::vector<Index>& shape, const std::vector<Number>& numbers) {
    std::string name = prefix_ + "c" + std::to_string(++names_);
    graph_.message(5, onnx_tensor(name, type, shape,
                                  {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)}));
    return name;
  }
  std::string numbers(std::initializer_list<std::int64_t> values);  ///< a vector of whole numbers
  std::string number(std::int64_t value);                           ///< one
  void input(const std::string& name, OnnxType type, const std::vector<std::string>& shape) {
    graph_.message(11, onnx_value(name, type, shape));
  }
  void output(const std::string& name, OnnxType type, const std::vector<std::string>& shape) {
    graph_.message(12, onnx_value(name, type, shape));
  }
  ProtoMessage finish(const std::string& name);

 private:
  ProtoMessage graph_;
  std::string prefix_;
  int names_ = 0;
};

ProtoMessage onnx_attribute(const std::string& name, std::int64_t value);
ProtoMessage onnx_attribute(const std::string& name, const std::vector<Index>& values);
ProtoMessage onnx_attribute(const std::string& name, const ProtoMessage& graph);

}  // namespace unfold
