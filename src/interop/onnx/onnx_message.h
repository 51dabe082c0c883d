#pragma once
/// A minimal writer for ONNX messages in Protocol Buffers encoding. Field numbers: onnx/onnx.proto of
/// https://github.com/onnx/onnx. Internal to interop/.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// A serialized message to which fields are appended.
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

/// Returns a tensor; `raw_data` holds its numbers in little-endian byte order.
ProtoMessage onnx_tensor(const std::string& name, OnnxType type, const std::vector<Index>& shape,
                         std::string_view numbers);
/// Returns an input or output. Sizes given as names are dynamic, numbers are fixed: {"time", "batch", "7"}.
ProtoMessage onnx_value(const std::string& name, OnnxType type, const std::vector<std::string>& shape);

/// A graph under construction: nodes and constants.
class OnnxGraph {
 public:
  /// Names in nested graphs must be unique; `prefix` distinguishes them.
  explicit OnnxGraph(std::string prefix = "") : prefix_(std::move(prefix)) {}

  /// Adds a node with one output; returns the name of the output.
  std::string add(const std::string& op, const std::vector<std::string>& inputs,
                  const std::vector<ProtoMessage>& attributes = {});
  void add_named(const std::string& op, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                 const std::vector<ProtoMessage>& attributes = {});
  /// Adds a constant; returns its name.
  template <class Number>
  std::string constant(OnnxType type, const std::vector<Index>& shape, const std::vector<Number>& numbers) {
    std::string name = prefix_ + "c" + std::to_string(++names_);
    graph_.message(5, onnx_tensor(name, type, shape,
                                  {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)}));
    return name;
  }
  std::string numbers(std::initializer_list<std::int64_t> values);  ///< an integer vector
  std::string number(std::int64_t value);                           ///< an integer scalar
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
