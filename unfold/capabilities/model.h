#pragma once
/// A model of whatever kind: one file, one card. What it can do are capabilities, classes that a model derives from
/// too, asked for by type and refused by name:
///
///   auto model = load_model_file("model.safetensors");                  // models/registry.h
///   const auto& speaker = model->need<SymbolModel>("sample");           // capabilities/symbol_model.h
///
///   SymbolModel      distribution of the next symbol of a stream; every verb for text is written against it
///   NetworkHolder    a network with parameters (models/network_body.h)
///
/// File: safetensors with the model's tensors and metadata "card": a JSON object with the keys format ("unfold-model"),
/// format_version, kind, model (SPEC), data (data/specification.h), configuration, history, and those of the kind.
/// Files of version 0.1 had a format for each kind; they are read as ever. Loading executes nothing and checks every
/// tensor. Equal models give equal bytes. A model may be read by several threads at once.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/error.h"
#include "unfold/base/json.h"
#include "unfold/data/safetensors.h"
#include "unfold/data/specification.h"

namespace unfold {

/// A model file that is open and whose card was read; what the models make themselves from.
class ModelFile {
 public:
  /// Throws ModelError: missing, damaged, without a card, of an unknown format or version.
  static ModelFile open(const std::string& path);
  static ModelFile from_bytes(std::string bytes, std::string name);

  const std::string& name() const { return tensors_.name(); }
  const SafetensorsFile& tensors() const { return tensors_; }
  std::string kind() const { return value<std::string>("kind"); }
  /// What the data of the model are. Throws ModelError.
  DataSpecification data() const;
  /// The file itself; ModelError when it holds another kind of model.
  const ModelFile& expect(std::string_view kind) const;
  /// Throws ModelError unless the file holds exactly these tensors.
  void expect_tensors(const std::vector<std::string>& names) const;
  bool has(const char* key) const;
  /// A key of the card; ModelError when it is missing or of another type.
  template <class Value>
  Value value(const char* key) const;
  [[noreturn]] void fail(const std::string& what) const;  ///< ModelError naming the file

 private:
  explicit ModelFile(SafetensorsFile tensors);
  void modernise();
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
  virtual std::string spec_text() const = 0;  ///< canonical
  virtual std::string kind() const = 0;       ///< "language-model", "ngram", ...
  const DataSpecification& data() const { return data_; }

  /// A capability, or null.
  template <class Capability>
  const Capability* as() const {
    return dynamic_cast<const Capability*>(this);
  }
  template <class Capability>
  Capability* as() {
    return dynamic_cast<Capability*>(this);
  }
  /// The same; UsageError naming who asks, what the model is and what it lacks.
  template <class Capability>
  const Capability& need(std::string_view who) const {
    if (const auto* found = as<Capability>()) return *found;
    throw UsageError(std::string(who) + " needs " + Capability::kWhat + "; " + spec_text() + ", which reads " +
                     data_.source + ", is none");
  }

  /// What the card tells about training. Anything that depends on the clock, the threads or the names of folders does
  /// not belong here: equal training shall give equal files. Both are JSON values of the caller's choice.
  nlohmann::json& configuration() { return *configuration_; }
  const nlohmann::json& configuration() const { return *configuration_; }
  nlohmann::json& history() { return *history_; }  ///< an array, one object per training run
  const nlohmann::json& history() const { return *history_; }
  nlohmann::json card() const;

  void save(const std::string& path) const;  ///< atomically; throws RuntimeFailure
  std::string bytes() const;                 ///< what `save` writes
  std::vector<TensorShape> tensors() const;  ///< of the file, by name
  Index parameter_count() const;             ///< numbers in all tensors together

 protected:
  explicit Model(DataSpecification data);
  /// Data, configuration and history of a file. Throws ModelError.
  explicit Model(const ModelFile& file);
  Model(const Model&) = default;
  Model(Model&&) = default;
  Model& operator=(const Model&) = default;
  Model& operator=(Model&&) = default;

  /// Tensors of rank 1 or 2. What they refer to must live until they are written: in the model.
  virtual void add_tensors(SafetensorsWriter& writer) const = 0;
  /// Further keys of the card.
  virtual void add_to_card(nlohmann::json& /*card*/) const {}
  void write(SafetensorsWriter& writer, const std::string& path) const;

 private:
  DataSpecification data_;
  JsonBox configuration_, history_;
};

}  // namespace unfold
