#pragma once
/// The base class of all models. A model is one file with one card. Its capabilities are additional base classes. They
/// are requested by type; a missing capability raises an error that names it:
///
///   auto model = load_model_file("model.safetensors");                  // model/registry/registry.h
///   const auto& symbols = model->need<SymbolModel>("sample");           // model/symbol_model.h
///
///   SymbolModel      distribution of the next symbol of a stream; every command for text is written against it
///   NetworkHolder    a network with parameters (model/network/network_body.h)
///
/// File: safetensors with the tensors of the model and metadata "card": a JSON object with the keys format
/// ("unfold-model"), format_version, kind, model (SPEC), data (data/examples/specification.h), configuration, history,
/// and the keys that are specific to the kind. Files of another format_version are refused. Loading executes no code
/// and checks every tensor. Equal models give equal bytes. Several threads may read a model at the same time.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/error.h"
#include "unfold/base/formats/json.h"
#include "unfold/data/examples/specification.h"
#include "unfold/data/files/safetensors.h"

namespace unfold {

/// An open model file whose card has been read; models construct themselves from it.
class ModelFile {
 public:
  /// Throws ModelError if the file is missing, damaged, without a card, or of an unknown format or version.
  static ModelFile open(const std::string& path);
  static ModelFile from_bytes(std::string bytes, std::string name);

  const std::string& name() const { return tensors_.name(); }
  const SafetensorsFile& tensors() const { return tensors_; }
  std::string kind() const { return value<std::string>("kind"); }
  /// Returns the data specification of the model. Throws ModelError.
  DataSpecification data() const;
  /// Returns the file itself. Throws ModelError if it holds a different kind of model.
  const ModelFile& expect(std::string_view kind) const;
  /// Throws ModelError unless the file holds exactly these tensors.
  void expect_tensors(const std::vector<std::string>& names) const;
  bool has(const char* key) const;
  /// Returns the value of a key of the card. Throws ModelError if it is missing or has a different type.
  template <class Value>
  Value value(const char* key) const;
  [[noreturn]] void fail(const std::string& what) const;  ///< throws ModelError with the file name

 private:
  explicit ModelFile(SafetensorsFile tensors);
  SafetensorsFile tensors_;
  JsonBox card_;
};

struct TensorShape {
  std::string name;
  Index rows, cols;
};

class Model {
 public:
  virtual ~Model() = default;
  virtual std::string spec_text() const = 0;  ///< canonical SPEC
  virtual std::string kind() const = 0;       ///< "language-model", "ngram", ...
  const DataSpecification& data() const { return data_; }

  /// Returns the capability, or null.
  template <class Capability>
  const Capability* as() const {
    return dynamic_cast<const Capability*>(this);
  }
  template <class Capability>
  Capability* as() {
    return dynamic_cast<Capability*>(this);
  }
  /// Returns the capability. If it is missing, throws a UsageError that names the caller, the kind of the model and the
  /// capability.
  template <class Capability>
  const Capability& need(std::string_view who) const {
    if (const auto* found = as<Capability>()) return *found;
    throw UsageError(std::string(who) + " needs " + Capability::kWhat + "; " + spec_text() + ", which reads " +
                     data_.source + ", is not one");
  }

  /// The training record in the card: configuration and history, JSON values of the caller's choice. They must not
  /// contain anything that depends on the clock, the threads or folder names, because identical training must give
  /// identical files.
  nlohmann::json& configuration() { return *configuration_; }
  const nlohmann::json& configuration() const { return *configuration_; }
  nlohmann::json& history() { return *history_; }  ///< an array, one object per training run
  const nlohmann::json& history() const { return *history_; }
  nlohmann::json card() const;

  void save(const std::string& path) const;  ///< atomic; throws RuntimeFailure
  std::string bytes() const;                 ///< the contents that `save` writes
  std::vector<TensorShape> tensors() const;  ///< tensors of the file, sorted by name
  Index parameter_count() const;             ///< number of elements in all tensors

 protected:
  explicit Model(DataSpecification data);
  /// Reads data, configuration and history from a file. Throws ModelError.
  explicit Model(const ModelFile& file);
  Model(const Model&) = default;
  Model(Model&&) = default;
  Model& operator=(const Model&) = default;
  Model& operator=(Model&&) = default;

  /// Adds tensors of rank 1 or 2. Their data must stay valid until they are written, so it must belong to the model.
  virtual void add_tensors(SafetensorsWriter& writer) const = 0;
  /// Adds further keys to the card.
  virtual void add_to_card(nlohmann::json& /*card*/) const {}
  void write(SafetensorsWriter& writer, const std::string& path) const;

 private:
  DataSpecification data_;
  JsonBox configuration_, history_;
};

}  // namespace unfold
