#pragma once
/// The common part of all network models: a circuit that is built from a SPEC for given input fields and prediction
/// heads, with its plan and its parameters.
///
///   DataSpecification data = ...;                                      // fields "word", "tag"
///   NetworkBody<float> body(parse_model_spec("lstm:64"), data, {.reads = {"word"}, .heads = {{"tag"}}});
///
/// A field named "previous F" contains the field F one position earlier: a language model reads "previous symbol" and
/// predicts "symbol". Such an input can also be the network's own output (NetworkLayout::feedback): without other
/// inputs, the network is an autonomous dynamical system. If an input field is a source, the network is an
/// encoder-decoder. Several input fields are embedded together: the embedding is a bias plus one term per field.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "unfold/graph/circuit/parameters.h"
#include "unfold/graph/circuit/sparse_lookup.h"
#include "unfold/loss/network.h"
#include "unfold/model/model.h"
#include "unfold/model/network/spec.h"

namespace unfold {

struct HeadSpecification {
  std::string field;
  std::string loss = {};  ///< name of the loss (loss/registry.h); empty: softmax for symbols, Gaussian for values
  double weight = 1;
  /// For a linear model: the pairs of input symbols and labels that have weights. Null: all pairs.
  std::shared_ptr<const Listing> listing = nullptr;
};

struct NetworkLayout {
  std::vector<std::string> reads;
  std::vector<HeadSpecification> heads;
  /// Inputs "previous F" that are the network's own expected outputs of F at every position, in training and in use.
  /// They are not read from the data.
  std::vector<std::string> feedback = {};

  nlohmann::json heads_to_json() const;
  /// Throws ModelError.
  static NetworkLayout from_file(const ModelFile& file);
  static NetworkLayout language_model();
  /// Returns the name of the signal that the head with this index reads.
  std::string output_name(std::size_t head) const;
  /// Returns the names of the tensors of a model file that are not parameters.
  std::vector<std::string> listing_tensors() const;
  void add_listings(SafetensorsWriter& writer) const;
};

/// Variants of the network used in training; the layout of the parameters is the same.
struct NetworkVariant {
  bool output_hidden = false;  ///< the output of each layer is also an output of the network, for penalties
  Index candidates = 0;        ///< > 0: number of outputs for a sampled softmax, instead of one per symbol
  bool feedback = false;       ///< inputs "previous F" can be the network's own expected outputs
  bool merges = false;         ///< for trees that the network builds: an additional head for their merges
                               ///< (loss/tree_merges.h)
};

/// Adds the network to an empty circuit, which must outlive the result. Throws UsageError for a field that is not in
/// the data and for a loss that does not support its field.
template <class T>
Network<T> build_network(const ModelSpec& spec, const DataSpecification& data, const NetworkLayout& layout,
                         Circuit& circuit, const NetworkVariant& variant = {});

/// Throws UsageError for an option without effect, such as `pool` if every position is predicted, `condition` without a
/// source, or `dropouth` with one layer. Called before training; existing models with such options can still be read.
void require_options_used(const ModelSpec& spec, const DataSpecification& data, const NetworkLayout& layout);

template <class T>
class NetworkBody {
 public:
  /// Parameters are zero until initialized. Throws UsageError.
  NetworkBody(const ModelSpec& spec, const DataSpecification& data, const NetworkLayout& layout);
  /// Reads the SPEC of the card and the parameters. Throws ModelError for a SPEC that cannot be built, for a tensor
  /// that is missing, superfluous or of the wrong shape or type, and for a value that is not finite.
  NetworkBody(const ModelFile& file, const DataSpecification& data, const NetworkLayout& layout);

  const ModelSpec& spec() const { return spec_; }
  const Circuit& circuit() const { return *circuit_; }
  const std::shared_ptr<const Plan>& plan() const { return network_.plan; }
  const Network<T>& network() const { return network_; }  ///< valid during the lifetime of the body
  Parameters<T>& parameters() { return parameters_; }
  const Parameters<T>& parameters() const { return parameters_; }

 private:
  ModelSpec spec_;
  std::unique_ptr<Circuit> circuit_;  // signals and plan point to it
  Network<T> network_;
  Parameters<T> parameters_;
};

/// The capability of models that are networks.
class NetworkHolder {
 public:
  static constexpr const char* kWhat = "a network";
  virtual ~NetworkHolder() = default;
  virtual const ModelSpec& spec() const = 0;
  virtual const Circuit& circuit() const = 0;
  virtual std::shared_ptr<const Plan> plan() const = 0;
};

}  // namespace unfold
