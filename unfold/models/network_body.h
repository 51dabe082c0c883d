#pragma once
/// The part that all models of networks share: a circuit made from a SPEC for the fields that it reads and the heads
/// that predict, with its plan and its parameters.
///
///   DataSpecification data = ...;                                      // fields "word", "tag"
///   NetworkBody<float> body(parse_model_spec("lstm:64"), data, {.reads = {"word"}, .heads = {{"tag"}}});
///
/// A field named "previous F" is the field F one position earlier: a language model reads "previous symbol" and
/// predicts "symbol". Where a field that is read is a source, the network is an encoder and a decoder
/// (encoder_decoder.h). Several fields that are read are embedded together, b + sum of one term a field.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "unfold/capabilities/model.h"
#include "unfold/circuit/listed.h"
#include "unfold/circuit/parameters.h"
#include "unfold/losses/network.h"
#include "unfold/models/spec.h"

namespace unfold {

struct HeadSpecification {
  std::string field;
  std::string loss = {};  ///< by name (losses/registry.h); empty: softmax of symbols, Gaussian of values
  double weight = 1;
  /// Of a model without layers (linear.h): which symbols that are read have weights for which labels. Null: all.
  std::shared_ptr<const Listing> listing = nullptr;
};

struct NetworkLayout {
  std::vector<std::string> reads;
  std::vector<HeadSpecification> heads;

  nlohmann::json heads_to_json() const;
  /// Throws ModelError.
  static NetworkLayout from_file(const ModelFile& file);
  static NetworkLayout language_model();
  /// The signal that a head reads, by its place among the heads.
  std::string output_name(std::size_t head) const;
  /// Tensors of a model file beside the parameters.
  std::vector<std::string> listing_tensors() const;
  void add_listings(SafetensorsWriter& writer) const;
};

/// How the network that is trained differs from the one that is kept; parameters lie alike.
struct NetworkVariant {
  bool watch_hidden = false;  ///< what each layer gives is an output too, for penalties
  Index candidates = 0;       ///< > 0: so many outputs instead of one a symbol, for a sampled softmax
  bool feedback = false;      ///< numbers read as "previous F" may be its own (feedback.h)
  bool merges = false;        ///< of trees that it finds: a head more, of their merges (losses/merges.h)
};

/// Adds the network to an empty circuit, which must outlive the result. Throws UsageError: a field that the data do not
/// have, a loss that does not fit its field.
template <class T>
Network<T> build_network(const ModelSpec& spec, const DataSpecification& data, const NetworkLayout& layout,
                         Circuit& circuit, const NetworkVariant& variant = {});

/// Throws UsageError: an option that would have no effect, such as pool where every position is predicted, condition
/// without a source, dropouth of one layer. Asked before training; what was trained so is read all the same.
void require_options_used(const ModelSpec& spec, const DataSpecification& data, const NetworkLayout& layout);

template <class T>
class NetworkBody {
 public:
  /// Parameters are zero until initialised. Throws UsageError.
  NetworkBody(const ModelSpec& spec, const DataSpecification& data, const NetworkLayout& layout);
  /// The SPEC of the card, and the parameters. Throws ModelError: a card that cannot be built, a tensor missing, extra
  /// or of the wrong shape or type, a value that is not finite.
  NetworkBody(const ModelFile& file, const DataSpecification& data, const NetworkLayout& layout);

  const ModelSpec& spec() const { return spec_; }
  const Circuit& circuit() const { return *circuit_; }
  const std::shared_ptr<const Plan>& plan() const { return network_.plan; }
  const Network<T>& network() const { return network_; }  ///< valid as long as the body
  Parameters<T>& parameters() { return parameters_; }
  const Parameters<T>& parameters() const { return parameters_; }

 private:
  ModelSpec spec_;
  std::unique_ptr<Circuit> circuit_;  // signals and plan point to it
  Network<T> network_;
  Parameters<T> parameters_;
};

/// The capability of models that are a network.
class NetworkHolder {
 public:
  static constexpr const char* kWhat = "a network";
  virtual ~NetworkHolder() = default;
  virtual const ModelSpec& spec() const = 0;
  virtual const Circuit& circuit() const = 0;
  virtual std::shared_ptr<const Plan> plan() const = 0;
};

}  // namespace unfold
